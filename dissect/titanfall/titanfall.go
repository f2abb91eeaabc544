// Package titanfall dissects the queries of Titanfall 2 and Apex Legends.
//
// A message begins with FF FF FF FF, a letter (M asks, N answers) and a version, which
// decides what an answer holds. A request is padded to 1,200 bytes, so that the reply is
// never larger; it may have a key. Numbers are little-endian.
//
// Sources: recorded replies of versions 3 and 7; go-svrquery (protocol/titanfall).
package titanfall

import (
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("titanfall")

var (
	fHeader  = catalog.Add("header", dissect.Int, "-1: a message outside of a connection.", dissect.Framing)
	fLetter  = catalog.Add("letter", dissect.Char, "M asks, N answers.", dissect.Framing)
	fVersion = catalog.Add("query_version", dissect.Uint, "Version of the query.")
	fKey     = catalog.Add("key", dissect.String, "Key that the server expects.", dissect.Secret)
	fPadding = catalog.Add("padding", dissect.Bytes, "Zeros: they make the request longer than the reply.", dissect.Public, core.Ignored)

	fRetail       = catalog.Add("retail", dissect.Uint, "1: a released build.")
	fInstance     = catalog.Add("instance_type", dissect.Uint, "Kind of instance.")
	fCRC          = catalog.Add("client_crc", dissect.Uint, "Checksum of the client library.")
	fProtocol     = catalog.Add("net_protocol", dissect.Uint, "Version of the network protocol.")
	fServerID     = catalog.Add("server_id", dissect.ID, "Number that the server chose at random.")
	fHealth       = catalog.Add("health", dissect.Uint, "State of the server (version 8).", core.BitsFrom(1, "packet loss in", "packet loss out", "packets choked in", "packets choked out", "slow frames", "hitching", "flood"))
	fServerNumber = catalog.Add("server_number", dissect.Uint, "The same number in 32 bits (version 8).")
	fBuild        = catalog.Add("build", dissect.String, "Name of the build.", dissect.Public)
	fDatacenter   = catalog.Add("datacenter", dissect.String, "Place of the server.", dissect.ServerText)
	fMode         = catalog.Add("game_mode", dissect.String, "Game mode.", dissect.Public)
	fPort         = catalog.Add("port", dissect.Uint, "Port of the server.")
	fPlatform     = catalog.Add("platform", dissect.String, "Operating system.", dissect.Public)
	fListVersion  = catalog.Add("playlist_version", dissect.String, "Version of the playlists.", dissect.Public)
	fListNumber   = catalog.Add("playlist_number", dissect.Uint, "Number of the playlist.")
	fList         = catalog.Add("playlist", dissect.String, "Name of the playlist.", dissect.Public)
	fCount        = catalog.Add("platform_count", dissect.Uint, "Number of platforms that follow (version 7).", dissect.Framing)
	fPlatforms    = catalog.Add("platforms", dissect.List, "Players of each platform.")
	fOne          = catalog.Add("platforms.platform", dissect.Group, "A platform.")
	fOneName      = catalog.Add("platforms.name", dissect.String, "Name of the platform.", dissect.Public)
	fOnePlayers   = catalog.Add("platforms.num_players", dissect.Uint, "Players on it.")
	fNumPlayers   = catalog.Add("num_players", dissect.Uint, "Players on the server.")
	fBots         = catalog.Add("num_bots", dissect.Uint, "Bots (version 9).")
	fMaxPlayers   = catalog.Add("max_players", dissect.Uint, "Maximum number of players.")
	fEver         = catalog.Add("total_players", dissect.Uint, "Players since the server was started (version 9).")
	fMap          = catalog.Add("map", dissect.String, "Map being played.", dissect.Public)
	fFrame        = catalog.Add("average_frame_ms", dissect.Float, "Average time of a frame (version 5).")
	fFrameMax     = catalog.Add("max_frame_ms", dissect.Float, "Longest time of a frame.")
	fCommand      = catalog.Add("average_command_ms", dissect.Float, "Average time of a command of a player.")
	fCommandMax   = catalog.Add("max_command_ms", dissect.Float, "Longest time of a command.")
	fPhase        = catalog.Add("phase", dissect.Uint, "Phase of the match (version 3).")
	fMaxRounds    = catalog.Add("max_rounds", dissect.Uint, "Rounds of a match.")
	fWonIMC       = catalog.Add("rounds_won_imc", dissect.Uint, "Rounds that the IMC has won.")
	fWonMilitia   = catalog.Add("rounds_won_militia", dissect.Uint, "Rounds that the Militia has won.")
	fLimit        = catalog.Add("time_limit_s", dissect.Uint, "Length of the match in seconds.")
	fPassed       = catalog.Add("time_passed_s", dissect.Uint, "Time since its start in seconds.")
	fMaxScore     = catalog.Add("max_score", dissect.Uint, "Score at which the match ends.")
	fTeamsLeft    = catalog.Add("teams_left", dissect.Uint, "Teams that have players left (version 6).")
	fTeams        = catalog.Add("teams", dissect.List, "The teams.")
	fTeam         = catalog.Add("teams.team", dissect.Group, "A team.")
	fTeamID       = catalog.Add("teams.id", dissect.Uint, "Number of the team.")
	fTeamScore    = catalog.Add("teams.score", dissect.Uint, "Its score.")
	fTeamsEnd     = catalog.Add("teams_end", dissect.Uint, "255: the end of the teams.", dissect.Framing)
	fPlayers      = catalog.Add("players", dissect.List, "The players.")
	fPlayer       = catalog.Add("players.player", dissect.Group, "A player.")
	fID           = catalog.Add("players.id", dissect.ID, "Number of the player.")
	fName         = catalog.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName)
	fPlayerTeam   = catalog.Add("players.team", dissect.Uint, "Number of the team.")
	fAddress      = catalog.Add("players.address", dissect.String, "Address of the player (version 4).", dissect.Address)
	fPing         = catalog.Add("players.ping", dissect.Uint, "Round-trip time in milliseconds.")
	fReceived     = catalog.Add("players.received", dissect.Uint, "Packets received from the player.")
	fDropped      = catalog.Add("players.dropped", dissect.Uint, "Packets lost.")
	fScore        = catalog.Add("players.score", dissect.Uint, "Score (version 3).")
	fKills        = catalog.Add("players.kills", dissect.Uint, "Kills.")
	fDeaths       = catalog.Add("players.deaths", dissect.Uint, "Deaths.")
	fPlayersEnd   = catalog.Add("players_end", dissect.ID, "0: the end of the players.", dissect.Framing)
	fMore         = catalog.Add("more", dissect.Bytes, "What versions from 9 on have after the times of frames.")
)

const (
	header    = "\xff\xff\xff\xff"
	letterAsk = 'M'
	letterTo  = 'N'
	newest    = 9
	shortest  = 26 // a reply
	buildAt   = 22 // the name of the build, in all versions

	topicInfo dissect.Topic = 1
)

var (
	mInfo      = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for the state of the server."})
	mInfoReply = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info", Role: dissect.Reply, Doc: "The state of the server with its players."})
	mUnknown   = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Another message."})

	pairing = finding.Simple(catalog, "The capture has no reply within the time that clients wait. The server is down, does not know this version of the query, expects another key or a request of 1,200 bytes, or a packet was lost, dropped by a firewall or not captured.",
		"The request is not padded to 1,200 bytes, and the server answers it nevertheless, so its source address can be forged to flood somebody else. Limit the rate of queries in a firewall.")
	listed = catalog.Finding(dissect.FindingType{ID: "titanfall.players.count", Severity: dissect.Note, Text: "%d {player|players} announced, %d in the list", Doc: "The reply lists another number of players than it states: the server counts players that are joining or leaves some out, the reply was cut, or the numbers are invented."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "titanfall",
	Title:   "Titanfall 2, Apex Legends",
	Doc:     "Queries of servers of Titanfall 2 and Apex Legends, and of other games in the same format.",
	Source:  "recorded replies; go-svrquery (protocol/titanfall)",
	Ports:   []uint16{37005, 37015},
	Starts:  []string{header + string(rune(letterAsk)), header + string(rune(letterTo))},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: pairing,
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < 6 || string(b[:4]) != header || b[5] == 0 || b[5] > newest {
		return dissect.No
	}
	switch rest := b[6:]; {
	case b[4] == letterAsk:
		key := len(rest)
		for i, c := range rest {
			switch {
			case c == 0:
				key = min(key, i)
			case i > key || c < ' ' || c > '~':
				return dissect.No
			}
		}
		if len(b) < 64 || key > len(rest)-8 {
			return dissect.Possible
		}
		return dissect.Likely
	case b[4] == letterTo && len(b) >= shortest:
		if slices.ContainsFunc(b[buildAt:shortest], wire.Unprintable) {
			return dissect.Possible
		}
		return dissect.Likely
	case b[4] == letterTo && len(b) > 8:
		return dissect.Possible
	}
	return dissect.No
}

// A Message is one of *Request and *Info, or nil if its kind is not known.
type Message any

// Request asks for an Info.
type Request struct {
	Version uint8
	Key     string
	// Padding is its length.
	Padding int
}

// Info is the state of a server.
type Info struct {
	Version                      uint8
	Build, Datacenter, Mode      string
	Port                         uint16
	Platform, Playlist, Map      string
	NumPlayers, Bots, MaxPlayers uint8
	Teams                        []Team
	Players                      []Player
}

// A Team is a team.
type Team struct {
	ID    uint8
	Score uint16
}

// A Player is a player. Address and Ping are known from version 4 on, scores from 3 on.
type Player struct {
	ID            uint64
	Name          string
	Team          uint8
	Address       string
	Ping          uint32
	Score         uint32
	Kills, Deaths uint16
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	info    Info
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	m.Type = mUnknown
	r.I32(fHeader)
	switch letter := r.U8(fLetter); {
	case r.Failed():
	case letter == letterAsk:
		d.request = Request{}
		m.Type, m.Body, m.Pair.Asks, m.Pair.Challenge = mInfo, &d.request, topicInfo, dissect.ChallengeAbsent
		d.request.Version = r.U8(fVersion)
		if r.More() && !r.Next(0) {
			d.request.Key, _ = core.CStringOrRest(r, fKey)
		}
		d.request.Padding = len(core.Remaining(r, fPadding))
	case letter == letterTo:
		m.Type, m.Body, m.Pair.Answers = mInfoReply, &d.info, topicInfo
		d.decodeInfo(r, m)
	default:
		r.Fail(fLetter, "neither a request nor a reply")
	}
}

func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message) {
	p := &d.info
	*p = Info{Version: r.U8(fVersion), Teams: p.Teams[:0], Players: p.Players[:0]}
	v := p.Version
	r.U8(fRetail)
	r.U8(fInstance)
	r.U32(fCRC)
	r.U16(fProtocol)
	if v >= 8 {
		r.U32(fHealth)
		r.U32(fServerNumber)
	} else {
		r.U64(fServerID)
	}
	p.Build = r.CString(fBuild)
	p.Datacenter = r.CString(fDatacenter)
	p.Mode = r.CString(fMode)
	p.Port = r.U16(fPort)
	p.Platform = r.CString(fPlatform)
	r.CString(fListVersion)
	r.U32(fListNumber)
	p.Playlist = r.CString(fList)
	if v >= 7 {
		readPlatforms(r)
	}
	p.NumPlayers = r.U8(fNumPlayers)
	if v >= 9 {
		p.Bots = r.U8(fBots)
	}
	p.MaxPlayers = r.U8(fMaxPlayers)
	if v >= 9 {
		r.U32(fEver)
	}
	p.Map = r.CString(fMap)
	if r.Failed() {
		return
	}
	m.Server = dissect.Server{
		Map: dissect.Some(p.Map), Game: dissect.Some(p.Mode), Version: dissect.Some(p.Build),
		Players: dissect.Some(int(p.NumPlayers)), MaxPlayers: dissect.Some(int(p.MaxPlayers)),
	}
	if v >= 9 {
		m.Server.Bots = dissect.Some(int(p.Bots))
	}
	if v >= 5 {
		r.F32(fFrame)
		r.F32(fFrameMax)
		r.F32(fCommand)
		r.F32(fCommandMax)
	}
	if v >= 9 {
		r.Rest(fMore) // clients disagree about it
		return
	}
	if v >= 3 {
		r.U8(fPhase)
		r.U8(fMaxRounds)
		r.U8(fWonIMC)
		r.U8(fWonMilitia)
		r.U16(fLimit)
		r.U16(fPassed)
		r.U16(fMaxScore)
		if v >= 6 {
			r.U16(fTeamsLeft)
		}
		d.decodeTeams(r)
	}
	d.decodePlayers(r, v)
}

// readPlatforms reads how many play on each platform.
func readPlatforms(r *dissect.Reader) {
	n := int(r.U8(fCount))
	wire.Each(r, fPlatforms, fOne, wire.Times(r, n), func() {
		r.CString(fOneName)
		r.U8(fOnePlayers)
	})
}

func (d *decoder) decodeTeams(r *dissect.Reader) {
	p := &d.info
	more := func() bool { return r.More() && !r.Next(0xff) }
	p.Teams = wire.Records(r, fTeams, fTeam, p.Teams, more, func() Team { return Team{r.U8(fTeamID), r.U16(fTeamScore)} })
	r.U8(fTeamsEnd)
}

func (d *decoder) decodePlayers(r *dissect.Reader, v uint8) {
	p := &d.info
	more := func() bool { return r.More() && !r.HasPrefix("\x00\x00\x00\x00\x00\x00\x00\x00") }
	p.Players = wire.Records(r, fPlayers, fPlayer, p.Players, more, func() Player {
		one := Player{ID: r.U64(fID), Name: r.CString(fName), Team: r.U8(fPlayerTeam)}
		if v >= 4 {
			one.Address = r.CString(fAddress)
			one.Ping = r.U32(fPing)
			r.U32(fReceived)
			r.U32(fDropped)
		}
		if v >= 3 {
			one.Score, one.Kills, one.Deaths = r.U32(fScore), r.U16(fKills), r.U16(fDeaths)
		}
		return one
	})
	r.U64(fPlayersEnd)
	if n := len(p.Players); n != int(p.NumPlayers) && !r.Failed() {
		r.Note(listed, dissect.Num(int(p.NumPlayers)), dissect.Num(n))
	}
}

// AppendSummary appends the version.
func (q *Request) AppendSummary(dst []byte) []byte { return wire.Number(dst, "version ", q.Version) }
