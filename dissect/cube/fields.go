package cube

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var style = wire.Style{Charset: core.CubeChars, Codes: core.Cube}

var catalog = dissect.NewCatalog("cube")

var asText = dissect.InText(style.Charset, style.Codes)

var (
	fMagic    = catalog.Add("magic", dissect.Bytes, "FF FF: a query on the port of the game (Tesseract).", dissect.Framing)
	fTime     = catalog.Add("time", dissect.Int, "Number that the client chose, usually its time in milliseconds. The reply repeats it.", dissect.Chosen)
	fExtended = catalog.Add("extended", dissect.Int, "0: a request for extended infos.", dissect.Framing)
	fCommand  = catalog.Add("command", dissect.Int, "What is asked for.", dissect.Names(
		dissect.Name{Value: askUptime, Name: "uptime"}, dissect.Name{Value: askPlayers, Name: "players"}, dissect.Name{Value: askTeams, Name: "teams"}))
	fClient = catalog.Add("client", dissect.Int, "Number of the player that is asked for, -1 for all.")
	fQuery  = catalog.Add("query", dissect.Int, "What AssaultCube is asked for besides. Other servers only repeat it.", dissect.Names(queries...))
	fToken  = catalog.Add("token", dissect.Bytes, "More of the request, which the reply repeats: a number of the client, or the language of the texts.", dissect.Public, dissect.Chosen)

	fNumPlayers = catalog.Add("num_players", dissect.Int, "Players on the server. Sauerbraten counts clients.")
	fNumbers    = catalog.Add("attributes", dissect.Int, "How many numbers follow before the map: 5 or 7 in Sauerbraten, 6 or more in Red Eclipse, 3 or 5 in Tesseract.")
	fProtocol   = catalog.Add("protocol", dissect.Int, "Version of the network protocol, or of the game. AssaultCube: negative for modifications.")
	fMode       = catalog.Add("mode", dissect.Int, "Number of the mode. Each version of Red Eclipse has its own list.")
	fSauerMode  = catalog.Add("sauerbraten.mode", dissect.Int, "Mode of Sauerbraten.", dissect.Names(modes(
		"free for all", "coop edit", "teamplay", "instagib", "insta team", "efficiency", "efficiency team", "tactics", "tactics team", "capture", "regen capture", "ctf",
		"insta ctf", "protect", "insta protect", "hold", "insta hold", "efficiency ctf", "efficiency protect", "efficiency hold", "collect", "insta collect", "efficiency collect")...))
	fAssaultMode = catalog.Add("assaultcube.mode", dissect.Int, "Mode of AssaultCube.", dissect.Names(modes(
		"team deathmatch", "coop edit", "deathmatch", "survivor", "team survivor", "ctf", "pistol frenzy", "bot team deathmatch", "bot deathmatch", "last swiss standing",
		"one shot one kill", "team one shot one kill", "bot one shot one kill", "hunt the flag", "team keep the flag", "keep the flag")...))
	fMutators   = catalog.Add("mutators", dissect.Int, "Mutators, a bit for each.")
	fTimeLeft   = catalog.Add("time_left_s", dissect.Int, "Time left in the match in seconds. Servers of Sauerbraten before 2010 send minutes.")
	fMinutes    = catalog.Add("time_left_min", dissect.Int, "Time left in the match in minutes.")
	fMaxPlayers = catalog.Add("max_players", dissect.Int, "Maximum number of players.")
	fMasterMode = catalog.Add("mastermode", dissect.Int, "Who may join and lead.", dissect.Names(
		dissect.Name{Value: 1<<64 - 1, Name: "auth"}, dissect.Name{Value: 0, Name: "open"}, dissect.Name{Value: 1, Name: "veto"},
		dissect.Name{Value: 2, Name: "locked"}, dissect.Name{Value: 3, Name: "private"}, dissect.Name{Value: withPassword, Name: "password"}))
	fPaused    = catalog.Add("paused", dissect.Int, "1 if the game is paused.")
	fSpeed     = catalog.Add("speed", dissect.Int, "Speed of the game in percent.")
	fVars      = catalog.Add("game_vars", dissect.Int, "Variables of the game.")
	fMods      = catalog.Add("game_mods", dissect.Int, "Variables that differ from the standard.")
	fVersion   = catalog.Add("version", dissect.Group, "Version of the server.")
	fMajor     = catalog.Add("version.major", dissect.Int, "Major version.")
	fMinor     = catalog.Add("version.minor", dissect.Int, "Minor version.")
	fPatch     = catalog.Add("version.patch", dissect.Int, "Patch.")
	fPlatform  = catalog.Add("platform", dissect.Int, "Operating system.", dissect.Names(modes("windows", "macOS", "linux")...))
	fArch      = catalog.Add("arch", dissect.Int, "Bits of the processor.")
	fState     = catalog.Add("game_state", dissect.Int, "State of the game.")
	fStateLeft = catalog.Add("state_left_s", dissect.Int, "Time left in this state in seconds.")
	fNumber    = catalog.Add("attribute", dissect.Int, "Further number.")
	fNumList   = catalog.Add("more_attributes", dissect.List, "Further numbers.")
	fMap       = catalog.Add("map", dissect.String, "Map being played.", dissect.Public, asText)
	fName      = catalog.Add("description", dissect.String, "Name of the server.", dissect.ServerText, asText)
	fBranch    = catalog.Add("branch", dissect.String, "Branch of the development.", dissect.Public, asText)
	fFlags     = catalog.Add("flags", dissect.Uint, "Flags of AssaultCube; the bits from 6 on are who may join.", dissect.Bits(
		dissect.Name{Value: flagPassword, Name: "password"}, dissect.Name{Value: 2, Name: "you are banned"}, dissect.Name{Value: 4, Name: "you are on the black list"}))
	fAnswer     = catalog.Add("answer", dissect.Int, "Which of the further queries is answered.", dissect.Names(queries...))
	fLanguage   = catalog.Add("language", dissect.String, "Language of the text, empty if there is no text.", dissect.Public, asText)
	fLines      = catalog.Add("info", dissect.List, "Lines about the server.")
	fLine       = catalog.Add("info.line", dissect.String, "A line.", dissect.ServerText, asText)
	fSettings   = catalog.Add("settings", dissect.Int, "Numbers for each map of the rotation.", dissect.Framing)
	fRotation   = catalog.Add("rotation", dissect.List, "The maps that follow each other.")
	fNext       = catalog.Add("rotation.map", dissect.Group, "A map.")
	fNextMap    = catalog.Add("rotation.name", dissect.String, "Name of the map.", dissect.Public, asText)
	fNextList   = catalog.Add("rotation.settings", dissect.List, "Its mode, minutes and limits.")
	fNextNumber = catalog.Add("rotation.settings.number", dissect.Int, "A setting.")
	fStats      = catalog.Add("uplink", dissect.Bytes, "Quality of the connection at different numbers of players.", dissect.Public)
	fEnd        = catalog.Add("end", dissect.String, "Empty: the end of the list.", dissect.Framing)

	fPlayers    = catalog.Add("players", dissect.List, "The players.")
	fEach       = catalog.Add("players.player", dissect.Group, "A player.")
	fPlayerName = catalog.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName, asText)
	fHandles    = catalog.Add("handles", dissect.List, "Accounts of the players in the same order, empty for those without.")
	fHandle     = catalog.Add("handles.handle", dissect.String, "An account.", dissect.PersonName, asText)

	fAck        = catalog.Add("ack", dissect.Int, "-1: a reply with extended infos.", dissect.Framing)
	fExtVersion = catalog.Add("extinfo_version", dissect.Int, "Version of the extended infos: 104 AssaultCube, 105 Sauerbraten.")
	fUptime     = catalog.Add("uptime_s", dissect.Int, "Time since the server was started, in seconds.")
	fMod        = catalog.Add("mod", dissect.Int, "Modification of the server.", dissect.Names(
		dissect.Name{Value: 1<<64 - 2, Name: "hopmod"}, dissect.Name{Value: 1<<64 - 3, Name: "oomod"}, dissect.Name{Value: 1<<64 - 4, Name: "spaghettimod"},
		dissect.Name{Value: 1<<64 - 5, Name: "suckerserv"}, dissect.Name{Value: 1<<64 - 6, Name: "remod"}, dissect.Name{Value: 1<<64 - 7, Name: "noobmod"},
		dissect.Name{Value: 1<<64 - 8, Name: "zeromod"}))
	fModData = catalog.Add("mod_data", dissect.Bytes, "What a modification of the server adds.")
	fError   = catalog.Add("error", dissect.Int, "Result.", core.Counted(0, "no error", "no such client or command, or no mode with teams"))
	fKind    = catalog.Add("kind", dissect.Int, "What follows.", dissect.Framing, dissect.Names(
		dissect.Name{Value: 1<<64 - 10, Name: "numbers of the players"}, dissect.Name{Value: 1<<64 - 11, Name: "a player"}))
	fIDs = catalog.Add("clients", dissect.List, "Numbers of the players. A datagram for each follows.")
	fID  = catalog.Add("clients.client", dissect.Int, "Number of a player.")

	fPlayer    = catalog.Add("player", dissect.Group, "A player.")
	fNum       = catalog.Add("player.id", dissect.Int, "Number of the player; bots have those from 128 on.")
	fPing      = catalog.Add("player.ping", dissect.Int, "Round-trip time in milliseconds.")
	fPName     = catalog.Add("player.name", dissect.String, "Name of the player.", dissect.PersonName, asText)
	fTeam      = catalog.Add("player.team", dissect.String, "Team.", dissect.PersonName, asText)
	fScore     = catalog.Add("player.score", dissect.Int, "Frags.")
	fPFlags    = catalog.Add("player.flags", dissect.Int, "Flags scored.")
	fDeaths    = catalog.Add("player.deaths", dissect.Int, "Deaths.")
	fTeamkills = catalog.Add("player.teamkills", dissect.Int, "Kills of players of the own team.")
	fAccuracy  = catalog.Add("player.accuracy", dissect.Int, "Hits in percent.")
	fHealth    = catalog.Add("player.health", dissect.Int, "Health.")
	fArmour    = catalog.Add("player.armour", dissect.Int, "Armour.")
	fGun       = catalog.Add("player.gun", dissect.Int, "Weapon.")
	fPrivilege = catalog.Add("player.privilege", dissect.Int, "0 none, 1 master (AssaultCube: admin), more for those with more rights.")
	fAlive     = catalog.Add("player.state", dissect.Int, "State.", dissect.Names(modes("alive", "dead", "spawning", "lagged", "editing", "spectator")...))
	fAddress   = catalog.Add("player.ip", dissect.Bytes, "The first three bytes of the address.")

	fTeams     = catalog.Add("teams", dissect.List, "The teams.")
	fTeamGroup = catalog.Add("teams.team", dissect.Group, "A team.")
	fTeamName  = catalog.Add("teams.name", dissect.String, "Name of the team.", dissect.PersonName, asText)
	fTeamScore = catalog.Add("teams.score", dissect.Int, "Score.")
	fTeamFlags = catalog.Add("teams.flags", dissect.Int, "Flags of AssaultCube, or how many bases follow; -1 if the mode has none.")
	fBases     = catalog.Add("teams.bases", dissect.List, "Bases that the team holds.")
	fBase      = catalog.Add("teams.bases.base", dissect.Int, "Number of a base.")
	fTeamEnd   = catalog.Add("teams.end", dissect.Int, "-1: the end of the team (AssaultCube).", dissect.Framing)
)

var queries = modes("nothing", "names of the players", "text about the server", "rotation of maps", "quality of the connection")

// modes are the names of the numbers from 0 on.
func modes(list ...string) (names []dissect.Name) {
	for i, name := range list {
		names = append(names, dissect.Name{Value: uint64(i), Name: name})
	}
	return names
}

var (
	mInfo    = request("info_request", "info request", "Asks for the data of the server, and in AssaultCube for more.", nil)
	mUptime  = request("uptime_request", "uptime request", "Asks how long the server has been running.", noExtended)
	mPlayers = request("players_request", "players request", "Asks for one player, or for all.", noExtended)
	mTeams   = request("teams_request", "teams request", "Asks for the scores of the teams.", noExtended)
	mCommand = request("extended_request", "extended request", "Asks for other extended infos.", noExtended)

	mInfoReply    = reply("info_reply", "info", "The data of the server.")
	mUptimeReply  = reply("uptime_reply", "uptime", "How long the server has been running.")
	mIDsReply     = reply("player_ids_reply", "player numbers", "The numbers of the players; the players follow in datagrams of their own.")
	mPlayerReply  = reply("player_reply", "player", "One player.")
	mTeamsReply   = reply("teams_reply", "teams", "The scores of the teams.")
	mRefusalReply = reply("refusal", "refusal", "There is no such player or command.")
	mUnknown      = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Another message, such as a packet of the game."})
)

func request(name, title, doc string, silence *dissect.FindingType) *dissect.MessageType {
	return catalog.Message(dissect.MessageType{Name: name, Title: title, Role: dissect.Request, Doc: doc, Unanswered: silence})
}

func reply(name, title, doc string) *dissect.MessageType {
	return catalog.Message(dissect.MessageType{Name: name, Title: title, Role: dissect.Reply, Doc: doc})
}

// A Message is one of *Request, *Info, *Uptime, *PlayerIDs, *Player, *Teams and *Refusal,
// or nil if its kind is not known. Replies have the Echo of their request. Text holds the bytes of the wire; see
// [dissect.CubeChars].
type Message any

// An Echo is what a request says and its replies repeat.
type Echo struct {
	// Time is the number that the client chose, 0 in requests for extended infos.
	Time int32
	// Extended is set in requests for extended infos. Command then says for which: 0
	// uptime, 1 players, 2 teams.
	Extended bool
	Command  int32
	// Client is the player asked for, -1 for all.
	Client dissect.Opt[int32]
	// Query is what AssaultCube is asked for besides: 1 names, 2 text, 3 rotation of maps, 4
	// quality of the connection.
	Query dissect.Opt[int32]
	// Token is what follows.
	Token []byte
}

// Request is any request.
type Request struct{ Echo }

// Info has the data of a server.
type Info struct {
	Echo
	// Game is the order of the data: Sauerbraten's also if a server of another game has it.
	Game                Game
	Players, MaxPlayers int32
	Protocol            int32
	Mode, Mutators      int32
	// TimeLeft is in seconds, in AssaultCube in minutes.
	TimeLeft   int32
	MasterMode int32
	// Numbers are all numbers between their count and the map; not in AssaultCube.
	Numbers          []int32
	Map, Description string
	Branch           string
	// Flags are those of AssaultCube: 1 password, 2 banned, 4 on the black list.
	Flags int32
	// Names are those of the players, Handles their accounts in the same order.
	Names, Handles []string
	// Lines are the text of AssaultCube about itself, Rotation its next maps.
	Lines, Rotation []string

	server dissect.Server
}

// A Game is one of the orders of data.
type Game uint8

const (
	Sauerbraten Game = iota + 1
	RedEclipse
	Tesseract
	AssaultCube
)

// Uptime is how long a server has been running.
type Uptime struct {
	Echo
	Seconds int32
	// Mod is the number of the modification of the server, negative.
	Mod dissect.Opt[int32]
}

// PlayerIDs are the numbers of players, each of which follows in a datagram of its own.
type PlayerIDs struct {
	Echo
	IDs []int32
}

// Player is one player.
type Player struct {
	Echo
	ID, Ping                        int32
	Name, Team                      string
	Frags, Flags, Deaths, Teamkills int32
	Accuracy                        int32
	Health, Armour, Gun             int32
	Privilege, State                int32
	// Address are the first three bytes of the address.
	Address []byte
}

// Teams are the scores of the teams.
type Teams struct {
	Echo
	// None is set if the mode has no teams.
	None       bool
	Mode, Left int32
	Teams      []Team
}

// A Team is a team.
type Team struct {
	Name  string
	Score int32
	// Flags are those of AssaultCube, and the number of bases of Sauerbraten; -1 is none.
	Flags int32
}

// Refusal says that there is no such player or command.
type Refusal struct{ Echo }

// AppendSummary appends the player asked for, or the number of an unknown command.
func (q *Request) AppendSummary(dst []byte) []byte {
	switch {
	case q.Extended && q.Command > askTeams:
		dst = wire.Number(dst, "command ", q.Command)
	case q.Client.OK && q.Client.Value >= 0:
		dst = wire.Number(dst, "number ", q.Client.Value)
	}
	return dst
}

// AppendSummary appends the name, the map and the players, and how much AssaultCube was
// asked for besides.
func (p *Info) AppendSummary(dst []byte) []byte {
	dst = p.server.AppendSummary(dst)
	if n := len(p.Lines); n > 0 {
		dst = wire.Plural(dst, "  ", n, "line of text", "lines of text")
	}
	if n := len(p.Rotation); n > 0 {
		dst = wire.Plural(dst, "  rotation of ", n, "map", "maps")
	}
	return dst
}

// AppendSummary appends the time.
func (p *Uptime) AppendSummary(dst []byte) []byte {
	return append(wire.Number(dst, "", p.Seconds), " s"...)
}

// AppendSummary appends how many there are.
func (p *PlayerIDs) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(p.IDs), "player", "players")
}

// AppendSummary appends the name, the team, the score and the ping.
func (p *Player) AppendSummary(dst []byte) []byte {
	dst = style.Quoted(dst, "", p.Name)
	if p.Team != "" {
		dst = style.Text(dst, "  ", p.Team)
	}
	return wire.Number(wire.Number(dst, "  score ", p.Frags), "  ping ", p.Ping)
}

// AppendSummary appends the scores.
func (p *Teams) AppendSummary(dst []byte) []byte {
	if p.None {
		return append(dst, "mode without teams"...)
	}
	start := len(dst)
	for _, t := range p.Teams {
		dst = style.Quoted(wire.Gap(dst, start), "", t.Name)
		dst = wire.Number(dst, " ", t.Score)
	}
	return dst
}
