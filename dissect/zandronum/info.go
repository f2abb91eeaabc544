package zandronum

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var style = wire.Style{Charset: dissect.Latin1, Codes: core.ZDoom}

var asText = dissect.InText(style.Charset, style.Codes)

// The flags of the first set.
const (
	flagName         = 0x1
	flagURL          = 0x2
	flagEmail        = 0x4
	flagMap          = 0x8
	flagMaxClients   = 0x10
	flagMaxPlayers   = 0x20
	flagPWADs        = 0x40
	flagGameType     = 0x80
	flagGameName     = 0x100
	flagIWAD         = 0x200
	flagPassword     = 0x400
	flagJoinPassword = 0x800
	flagSkill        = 0x1000
	flagBotSkill     = 0x2000
	flagDMFlags      = 0x4000
	flagLimits       = 0x10000
	flagTeamDamage   = 0x20000
	flagOldScores    = 0x40000
	flagNumPlayers   = 0x80000
	flagPlayers      = 0x100000
	flagNumTeams     = 0x200000
	flagTeamNames    = 0x400000
	flagTeamColors   = 0x800000
	flagTeamScores   = 0x1000000
	flagTesting      = 0x2000000
	flagMD5          = 0x4000000
	flagAllDMFlags   = 0x8000000
	flagSecurity     = 0x10000000
	flagOptionalWADs = 0x20000000
	flagDEH          = 0x40000000
	flagExtended     = 0x80000000

	known = 1<<32 - 1 - 0x8000 // bit 15 was never used

	// Servers leave these out unless players are in teams.
	teamFlags = flagOldScores | flagNumTeams | flagTeamNames | flagTeamColors | flagTeamScores

	// The flags of the second set.
	flagHashes    = 0x1
	flagCountry   = 0x2
	flagModeName  = 0x4
	flagShortName = 0x8
	flagVoiceChat = 0x10

	known2 = flagHashes | flagCountry | flagModeName | flagShortName | flagVoiceChat
)

var flagNames = [...]dissect.Name{
	{Value: flagName, Name: "name"}, {Value: flagURL, Name: "url"}, {Value: flagEmail, Name: "email"}, {Value: flagMap, Name: "map"},
	{Value: flagMaxClients, Name: "max clients"}, {Value: flagMaxPlayers, Name: "max players"}, {Value: flagPWADs, Name: "wads"},
	{Value: flagGameType, Name: "mode"}, {Value: flagGameName, Name: "game"}, {Value: flagIWAD, Name: "iwad"}, {Value: flagPassword, Name: "password"},
	{Value: flagJoinPassword, Name: "join password"}, {Value: flagSkill, Name: "skill"}, {Value: flagBotSkill, Name: "bot skill"},
	{Value: flagDMFlags, Name: "old dmflags"}, {Value: flagLimits, Name: "limits"}, {Value: flagTeamDamage, Name: "team damage"},
	{Value: flagOldScores, Name: "old team scores"}, {Value: flagNumPlayers, Name: "number of players"}, {Value: flagPlayers, Name: "players"},
	{Value: flagNumTeams, Name: "number of teams"}, {Value: flagTeamNames, Name: "team names"}, {Value: flagTeamColors, Name: "team colors"},
	{Value: flagTeamScores, Name: "team scores"}, {Value: flagTesting, Name: "testing"}, {Value: flagMD5, Name: "md5"}, {Value: flagAllDMFlags, Name: "dmflags"},
	{Value: flagSecurity, Name: "security"}, {Value: flagOptionalWADs, Name: "optional wads"}, {Value: flagDEH, Name: "dehacked"}, {Value: flagExtended, Name: "extended"},
}

var flagNames2 = [...]dissect.Name{
	{Value: flagHashes, Name: "wad hashes"}, {Value: flagCountry, Name: "country"}, {Value: flagModeName, Name: "mode name"},
	{Value: flagShortName, Name: "short mode name"}, {Value: flagVoiceChat, Name: "voice chat"},
}

var (
	fVersion    = catalog.Add("version", dissect.String, "Version of the server, and its system.", dissect.Public, asText)
	fName       = catalog.Add("name", dissect.String, "Name of the server.", dissect.ServerText, asText)
	fURL        = catalog.Add("url", dissect.String, "Website from which the files can be loaded.", dissect.ServerText, asText)
	fEmail      = catalog.Add("email", dissect.String, "Address of the operator.", dissect.ServerText, asText)
	fMap        = catalog.Add("map", dissect.String, "Map being played.", dissect.Public, asText)
	fMaxClients = catalog.Add("max_clients", dissect.Uint, "Maximum number of clients, spectators included.")
	fMaxPlayers = catalog.Add("max_players", dissect.Uint, "Maximum number of players.")
	fNumPWADs   = catalog.Add("pwads.count", dissect.Uint, "Number of files.", dissect.Framing)
	fPWADs      = catalog.Add("pwads", dissect.List, "Files that the server has loaded besides the game.")
	fPWAD       = catalog.Add("pwads.name", dissect.String, "Name of a file.", dissect.Public, asText)
	fMode       = catalog.Add("mode", dissect.Uint, "Mode of the game.", dissect.Names(modes[:]...))
	fInstagib   = catalog.Add("instagib", dissect.Bool, "Whether every hit kills.")
	fBuckshot   = catalog.Add("buckshot", dissect.Bool, "Whether there are only shotguns.")
	fGame       = catalog.Add("game", dissect.String, "Game: DOOM, DOOM II, Heretic, Hexen.", dissect.Public, asText)
	fIWAD       = catalog.Add("iwad", dissect.String, "File of the game.", dissect.Public, asText)
	fPassword   = catalog.Add("password", dissect.Bool, "Whether a password is needed to connect.")
	fJoin       = catalog.Add("join_password", dissect.Bool, "Whether a password is needed to play.")
	fSkill      = catalog.Add("skill", dissect.Uint, "Difficulty, from 0.")
	fBotSkill   = catalog.Add("bot_skill", dissect.Uint, "Difficulty of the bots, from 0.")

	fOldFlags    = catalog.Add("old_dmflags", dissect.List, "Settings of the game in the form of old versions: dmflags, dmflags2, compatflags.")
	fOldFlag     = catalog.Add("old_dmflags.flags", dissect.Uint, "A set of them.")
	fFragLimit   = catalog.Add("frag_limit", dissect.Uint, "Frags that end the map; 0 for no limit, like the others.")
	fTimeLimit   = catalog.Add("time_limit", dissect.Uint, "Minutes that a map takes.")
	fTimeLeft    = catalog.Add("time_left", dissect.Uint, "Minutes that are left.")
	fDuelLimit   = catalog.Add("duel_limit", dissect.Uint, "Duels that end the map.")
	fPointLimit  = catalog.Add("point_limit", dissect.Uint, "Points that end the map.")
	fWinLimit    = catalog.Add("win_limit", dissect.Uint, "Wins that end the map.")
	fTeamDamage  = catalog.Add("team_damage", dissect.Float, "Part of the damage that hits of the own team do.")
	fOldScores   = catalog.Add("old_team_scores", dissect.List, "Scores of the first two teams, in the form of old versions.")
	fOldScore    = catalog.Add("old_team_scores.score", dissect.Int, "Score of a team.")
	fNumPlayers  = catalog.Add("num_players", dissect.Uint, "Players on the server, bots and spectators included.")
	fTeamPlay    = catalog.Add("team_play", dissect.Bool, "Whether players are in teams.")
	fPlayers     = catalog.Add("players", dissect.List, "The players.")
	fPlayer      = catalog.Add("players.player", dissect.Group, "A player.")
	fPlayerName  = catalog.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName, asText)
	fScore       = catalog.Add("players.score", dissect.Int, "Points, wins, frags or kills, whichever the mode counts.")
	fPing        = catalog.Add("players.ping", dissect.Uint, "Ping in milliseconds.")
	fSpectator   = catalog.Add("players.spectator", dissect.Bool, "Whether the player only watches.")
	fBot         = catalog.Add("players.bot", dissect.Bool, "Whether the player is a bot.")
	fTeam        = catalog.Add("players.team", dissect.Uint, "Index of the team, 255 for none. Only in modes with teams.")
	fMinutes     = catalog.Add("players.minutes", dissect.Uint, "Minutes on the server.")
	fNumTeams    = catalog.Add("num_teams", dissect.Uint, "Number of teams.")
	fTeamNames   = catalog.Add("team_names", dissect.List, "Names of the teams.")
	fTeamName    = catalog.Add("team_names.name", dissect.String, "Name of a team.", dissect.ServerText, asText)
	fTeamColors  = catalog.Add("team_colors", dissect.List, "Colors of the teams.")
	fTeamColor   = catalog.Add("team_colors.color", dissect.Uint, "Red, green and blue, 8 bits each.")
	fTeamScores  = catalog.Add("team_scores", dissect.List, "Scores of the teams.")
	fTeamScore   = catalog.Add("team_scores.score", dissect.Int, "Score of a team.")
	fTesting     = catalog.Add("testing", dissect.Bool, "Whether this is a test build.")
	fBinary      = catalog.Add("testing_binary", dissect.String, "Where the test build can be loaded.", dissect.Public, asText)
	fMD5         = catalog.Add("md5", dissect.String, "Checksum of the data of Skulltag; empty since.", dissect.Public, asText)
	fNumFlags    = catalog.Add("dmflags.count", dissect.Uint, "Number of sets.", dissect.Framing)
	fDMFlags     = catalog.Add("dmflags", dissect.List, "Settings of the game: dmflags, dmflags2, zadmflags, compatflags, zacompatflags, compatflags2.")
	fDMFlag      = catalog.Add("dmflags.flags", dissect.Uint, "A set of them.")
	fSecurity    = catalog.Add("enforces_master_bans", dissect.Bool, "Whether the server enforces the ban list of the master.")
	fNumOptional = catalog.Add("optional_wads.count", dissect.Uint, "Number of optional files.", dissect.Framing)
	fOptional    = catalog.Add("optional_wads", dissect.List, "Files that players need not have, as indices of pwads.")
	fOptionalOne = catalog.Add("optional_wads.index", dissect.Uint, "Index of a file.")
	fNumDEH      = catalog.Add("dehacked.count", dissect.Uint, "Number of patches.", dissect.Framing)
	fDEH         = catalog.Add("dehacked", dissect.List, "DeHackEd patches that the server has loaded.")
	fDEHOne      = catalog.Add("dehacked.name", dissect.String, "Name of a patch.", dissect.Public, asText)

	fNumHashes = catalog.Add("pwad_hashes.count", dissect.Uint, "Number of hashes.", dissect.Framing)
	fHashes    = catalog.Add("pwad_hashes", dissect.List, "MD5 of each of pwads.")
	fHash      = catalog.Add("pwad_hashes.md5", dissect.String, "MD5 in hexadecimal digits.", dissect.Public, asText)
	fCountry   = catalog.Add("country", dissect.String, "Country in three letters (ISO 3166); XIP for that of the address, XUN for none.", dissect.Public, asText)
	fModeName  = catalog.Add("mode_text", dissect.String, "Name of the mode.", dissect.Public, asText)
	fShortName = catalog.Add("mode_short", dissect.String, "Short name of the mode.", dissect.Public, asText)
	fVoiceChat = catalog.Add("voice_chat", dissect.Uint, "Whether and to whom players may speak; 0 for no voice chat.")
)

var modes = [...]dissect.Name{
	{Value: 0, Name: "cooperative"}, {Value: 1, Name: "survival"}, {Value: 2, Name: "invasion"}, {Value: 3, Name: "deathmatch"},
	{Value: teamPlay, Name: "team deathmatch"}, {Value: 5, Name: "duel"}, {Value: 6, Name: "terminator"}, {Value: 7, Name: "last man standing"},
	{Value: teamLMS, Name: "team last man standing"}, {Value: 9, Name: "possession"}, {Value: teamPossession, Name: "team possession"}, {Value: 11, Name: "team game"},
	{Value: 12, Name: "capture the flag"}, {Value: 13, Name: "one-flag capture the flag"}, {Value: 14, Name: "skulltag"}, {Value: 15, Name: "domination"},
}

// The modes from teamPossession on have teams.
const (
	teamPlay       = 4
	teamLMS        = 8
	teamPossession = 10
)

// Info is what a server says of itself; what Flags and Flags2 do not name is empty. Text
// is as on the wire.
type Info struct {
	// Time is that of the request.
	Time                    uint32
	Version                 string
	Flags, Flags2           uint32
	Name, URL, Email, Map   string
	MaxClients, MaxPlayers  uint8
	PWADs                   []string
	Mode                    uint8
	Instagib, Buckshot      bool
	Game, IWAD              string
	Password, JoinPassword  bool
	Skill, BotSkill         uint8
	OldDMFlags              [3]uint32
	FragLimit, TimeLimit    uint16
	TimeLeft                uint16
	DuelLimit               uint16
	PointLimit, WinLimit    uint16
	TeamDamage              float32
	OldTeamScores           [2]int16
	NumPlayers              uint8
	Players                 []Player
	NumTeams                uint8
	TeamNames               []string
	TeamColors              []uint32
	TeamScores              []int16
	Testing                 bool
	TestingBinary, MD5      string
	DMFlags                 []uint32
	EnforcesMasterBans      bool
	OptionalWADs            []uint8
	DeHackEd                []string
	PWADHashes              []string
	Country                 string
	ModeName, ModeShortName string
	VoiceChat               uint8
}

// A Player is a player, a spectator or a bot.
type Player struct {
	Name           string
	Score          int16
	Ping           uint16
	Spectator, Bot bool
	// Team is the index of the team, 255 for none, in modes with teams.
	Team    dissect.Opt[uint8]
	Minutes uint8
}

// decodeInfo reads what follows the code. byFields says that it is that of segments of
// the first design, which name the sets of flags.
func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message, byFields bool) {
	p := &d.info
	*p = Info{
		PWADs: p.PWADs[:0], Players: p.Players[:0], TeamNames: p.TeamNames[:0], TeamColors: p.TeamColors[:0], TeamScores: p.TeamScores[:0],
		DMFlags: p.DMFlags[:0], OptionalWADs: p.OptionalWADs[:0], DeHackEd: p.DeHackEd[:0], PWADHashes: p.PWADHashes[:0],
	}
	p.Time = r.U32(fTime)
	p.Version = r.CString(fVersion)
	m.Pair.Answers, m.Pair.ID = topicInfo, uint64(p.Time)
	if byFields {
		p.sets(r)
	} else if p.first(r, false); p.Flags&flagExtended != 0 && !r.Failed() {
		p.second(r)
	}
	m.Server = p.facts(r.Failed())
}

// sets reads fields in the form of the first design of segments.
func (p *Info) sets(r *dissect.Reader) {
	wire.Each(r, fSets, fGroup, r.More, func() {
		switch r.U8(fSet) {
		case 0:
			p.first(r, true)
		case 1:
			p.second(r)
		default:
			r.Fail(fSet, "no such set")
		}
	})
}

// first reads the first set of flags and its fields.
func (p *Info) first(r *dissect.Reader, byFields bool) {
	flags := r.U32(fFlags)
	p.Flags |= flags
	if n := flags &^ known; n != 0 {
		r.Note(unknownFlags, dissect.Num(n))
		core.Remaining(r, catalog.Data())
		return
	}
	p.identity(r, flags)
	p.settings(r, flags)
	when(r, flags&flagNumPlayers, r.U8, fNumPlayers, &p.NumPlayers)
	if byFields && flags&flagPlayers != 0 && !r.Failed() {
		p.rest(r, flags, r.Bool(fTeamPlay))
		return
	}
	p.restAsItFits(r, flags, byFields)
}

// identity reads what the server and its game are called.
func (p *Info) identity(r *dissect.Reader, flags uint32) {
	when(r, flags&flagName, r.CString, fName, &p.Name)
	when(r, flags&flagURL, r.CString, fURL, &p.URL)
	when(r, flags&flagEmail, r.CString, fEmail, &p.Email)
	when(r, flags&flagMap, r.CString, fMap, &p.Map)
	when(r, flags&flagMaxClients, r.U8, fMaxClients, &p.MaxClients)
	when(r, flags&flagMaxPlayers, r.U8, fMaxPlayers, &p.MaxPlayers)
	values(r, flags&flagPWADs, 0, fNumPWADs, fPWADs, fPWAD, &p.PWADs, r.CString)
}

// settings reads the mode and the rules of the game.
func (p *Info) settings(r *dissect.Reader, flags uint32) {
	has := func(flag uint32) bool { return flags&flag != 0 && !r.Failed() }
	if has(flagGameType) {
		p.Mode = r.U8(fMode)
		p.Instagib = r.Bool(fInstagib)
		p.Buckshot = r.Bool(fBuckshot)
	}
	when(r, flags&flagGameName, r.CString, fGame, &p.Game)
	when(r, flags&flagIWAD, r.CString, fIWAD, &p.IWAD)
	when(r, flags&flagPassword, r.Bool, fPassword, &p.Password)
	when(r, flags&flagJoinPassword, r.Bool, fJoin, &p.JoinPassword)
	when(r, flags&flagSkill, r.U8, fSkill, &p.Skill)
	when(r, flags&flagBotSkill, r.U8, fBotSkill, &p.BotSkill)
	if has(flagDMFlags) {
		wire.Fill(r, fOldFlags, p.OldDMFlags[:], func() uint32 { return r.U32(fOldFlag) })
	}
	if has(flagLimits) {
		p.FragLimit = r.U16(fFragLimit)
		if p.TimeLimit = r.U16(fTimeLimit); p.TimeLimit != 0 {
			p.TimeLeft = r.U16(fTimeLeft)
		}
		p.DuelLimit = r.U16(fDuelLimit)
		p.PointLimit = r.U16(fPointLimit)
		p.WinLimit = r.U16(fWinLimit)
	}
	when(r, flags&flagTeamDamage, r.F32, fTeamDamage, &p.TeamDamage)
	if has(flagOldScores) {
		wire.Fill(r, fOldScores, p.OldTeamScores[:], func() int16 { return core.I16(r, fOldScore) })
	}
}

// restAsItFits reads the players and what follows. Players have a team in modes with
// teams, where the reply also has the flags of teams that were asked for. Mods can make
// other modes such; without those flags what fits decides.
func (p *Info) restAsItFits(r *dissect.Reader, flags uint32, byFields bool) {
	inTeams := flags&teamFlags != 0 || flags&flagGameType != 0 && (p.Mode == teamPlay || p.Mode == teamLMS || p.Mode >= teamPossession)
	if inTeams || flags&flagPlayers == 0 || p.NumPlayers == 0 || byFields || r.Cut() {
		p.rest(r, flags, inTeams)
		return
	}
	mark, before := core.Here(r), *p
	fits := func(inTeams bool) bool {
		if r.Failed() {
			core.Recover(r)
		}
		core.Return(r, mark)
		*p = before
		p.rest(r, flags, inTeams)
		if flags&flagExtended == 0 {
			return !r.Failed() && !r.More()
		}
		here := core.Here(r)
		p.second(r)
		ok := !r.Failed() && !r.More()
		if r.Failed() {
			core.Recover(r)
		}
		core.Return(r, here)
		return ok
	}
	if !fits(false) && !fits(true) {
		fits(false)
	}
}

// rest reads the players and the fields after them.
func (p *Info) rest(r *dissect.Reader, flags uint32, inTeams bool) {
	has := func(flag uint32) bool { return flags&flag != 0 && !r.Failed() }
	if has(flagPlayers) {
		p.Players = wire.Counted(r, fPlayers, fPlayer, p.Players, int(p.NumPlayers), func() Player { return readPlayer(r, inTeams) })
	}
	when(r, flags&flagNumTeams, r.U8, fNumTeams, &p.NumTeams)
	values(r, flags&flagTeamNames, p.NumTeams, nil, fTeamNames, fTeamName, &p.TeamNames, r.CString)
	values(r, flags&flagTeamColors, p.NumTeams, nil, fTeamColors, fTeamColor, &p.TeamColors, r.U32)
	values(r, flags&flagTeamScores, p.NumTeams, nil, fTeamScores, fTeamScore, &p.TeamScores, func(f *dissect.Field) int16 { return core.I16(r, f) })
	if has(flagTesting) {
		p.Testing = r.Bool(fTesting)
		p.TestingBinary = r.CString(fBinary)
	}
	when(r, flags&flagMD5, r.CString, fMD5, &p.MD5)
	values(r, flags&flagAllDMFlags, 0, fNumFlags, fDMFlags, fDMFlag, &p.DMFlags, r.U32)
	when(r, flags&flagSecurity, r.Bool, fSecurity, &p.EnforcesMasterBans)
	values(r, flags&flagOptionalWADs, 0, fNumOptional, fOptional, fOptionalOne, &p.OptionalWADs, r.U8)
	values(r, flags&flagDEH, 0, fNumDEH, fDEH, fDEHOne, &p.DeHackEd, r.CString)
}

// when reads a field if its flag is set.
func when[T any](r *dissect.Reader, flag uint32, read func(*dissect.Field) T, f *dissect.Field, v *T) {
	if flag != 0 && !r.Failed() {
		*v = read(f)
	}
}

// values reads a list of n values if its flag is set. Its number comes first if count is not nil.
func values[T any](r *dissect.Reader, flag uint32, n uint8, count, list, one *dissect.Field, dst *[]T, read func(*dissect.Field) T) {
	if flag == 0 || r.Failed() {
		return
	}
	if count != nil {
		n = r.U8(count)
	}
	*dst = wire.List(r, list, *dst, int(n), func() T { return read(one) })
}

// readPlayer reads a player.
func readPlayer(r *dissect.Reader, inTeams bool) Player {
	one := Player{Name: r.CString(fPlayerName), Score: core.I16(r, fScore), Ping: r.U16(fPing), Spectator: r.Bool(fSpectator), Bot: r.Bool(fBot)}
	if inTeams {
		one.Team = dissect.Some(r.U8(fTeam))
	}
	one.Minutes = r.U8(fMinutes)
	return one
}

// second reads the second set of flags and its fields.
func (p *Info) second(r *dissect.Reader) {
	p.Flags2 = r.U32(fFlags2)
	unknown := p.Flags2 &^ known2
	if unknown != 0 {
		r.Note(unknownFlags, dissect.Num(unknown))
	}
	values(r, p.Flags2&flagHashes, 0, fNumHashes, fHashes, fHash, &p.PWADHashes, r.CString)
	when(r, p.Flags2&flagCountry, func(f *dissect.Field) string { return r.Text(f, 3) }, fCountry, &p.Country)
	when(r, p.Flags2&flagModeName, r.CString, fModeName, &p.ModeName)
	when(r, p.Flags2&flagShortName, r.CString, fShortName, &p.ModeShortName)
	when(r, p.Flags2&flagVoiceChat, r.U8, fVoiceChat, &p.VoiceChat)
	if unknown != 0 && r.More() {
		r.Rest(catalog.Data())
	}
}

// facts returns the facts that the flags name, or what of them was read before reading
// failed.
func (p *Info) facts(failed bool) (s dissect.Server) {
	s.Charset, s.Style = style.Charset, style.Codes
	has := func(flag uint32) bool { return p.Flags&flag != 0 && !failed }
	s.Name = dissect.Opt[string]{Value: p.Name, OK: p.Name != "" || has(flagName)}
	s.Map = dissect.Opt[string]{Value: p.Map, OK: p.Map != "" || has(flagMap)}
	s.Game = dissect.Opt[string]{Value: p.Game, OK: p.Game != "" || has(flagGameName)}
	s.Version = dissect.Opt[string]{Value: p.Version, OK: p.Version != ""}
	if failed {
		return s
	}
	s.Password = dissect.Opt[bool]{Value: p.Password, OK: has(flagPassword)}
	s.Players = dissect.Opt[int]{Value: int(p.NumPlayers), OK: has(flagNumPlayers)}
	switch {
	case has(flagMaxClients): // spectators count as players
		s.MaxPlayers = dissect.Some(int(p.MaxClients))
	case has(flagMaxPlayers):
		s.MaxPlayers = dissect.Some(int(p.MaxPlayers))
	}
	if has(flagPlayers) {
		s.Bots.OK = true
		for i := range p.Players {
			if p.Players[i].Bot {
				s.Bots.Value++
			}
		}
	}
	return s
}
