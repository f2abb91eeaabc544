// Package bzflag dissects the pings of BZFlag.
//
// A message begins with two 16-bit numbers, the length of what follows them and a code;
// all numbers are big-endian. A ping asks with the code 0404; the reply has the code 0303,
// the version of the protocol and the numbers of players in each team. Servers do not look
// at the length of a request, but ignore one that is shorter than 6 bytes. Names of servers
// and of players are asked for by TCP.
//
// Sources: recorded traffic of BZFlag 2.4.26; its source (Ping.cxx, Protocol.h, global.h).
package bzflag

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("bzflag")

var (
	fLength  = catalog.Add("length", dissect.Uint, "Length of what follows the code. Servers do not look at that of a request.", dissect.Framing)
	fCode    = catalog.Add("code", dissect.Uint, "Kind of message.", dissect.Framing, dissect.Names(dissect.Name{Value: codeRequest, Name: "ping"}, dissect.Name{Value: codeReply, Name: "reply to a ping"}))
	fPadding = catalog.Add("padding", dissect.Bytes, "Rest of a request, without a meaning.", dissect.Public, core.Ignored)

	fVersion  = catalog.Add("version", dissect.String, "Version of the protocol: BZFS and four digits.", dissect.Public)
	fServer   = catalog.Add("server_address", dissect.Endpoint, "Address of the server as it knows it.")
	fNumber   = catalog.Add("number", dissect.Uint, "Number of the server at its address.")
	fSource   = catalog.Add("source", dissect.Endpoint, "Address behind its length, without a port.")
	fGameType = catalog.Add("game_type", dissect.Uint, "Game.", core.Counted(0, "free for all", "capture the flag", "open free for all", "rabbit chase"))
	fOptions  = catalog.Add("options", dissect.Uint, "Options of the game.", dissect.Bits(
		dissect.Name{Value: 0x2, Name: "super flags"}, dissect.Name{Value: 0x8, Name: "jumping"}, dissect.Name{Value: 0x10, Name: "inertia"},
		dissect.Name{Value: 0x20, Name: "ricochet"}, dissect.Name{Value: 0x40, Name: "shaking"}, dissect.Name{Value: 0x80, Name: "antidote"}, dissect.Name{Value: 0x100, Name: "handicap"}))
	fShots       = catalog.Add("max_shots", dissect.Uint, "Shots of a player at a time.")
	fShakeWins   = catalog.Add("shake_wins", dissect.Uint, "Kills after which a bad flag is dropped.")
	fShakeTime   = catalog.Add("shake_timeout", dissect.Uint, "Time after which a bad flag is dropped, in tenths of a second.")
	fPlayerScore = catalog.Add("max_player_score", dissect.Uint, "Score of a player at which the game ends, 0 for none.")
	fTeamScore   = catalog.Add("max_team_score", dissect.Uint, "Score of a team at which the game ends, 0 for none.")
	fTime        = catalog.Add("max_time", dissect.Uint, "Time after which the game ends, 0 for none.")
	fMaxPlayers  = catalog.Add("max_players", dissect.Uint, "Maximum number of players.")
	fEnd         = catalog.Add("end", dissect.Bytes, "Zeros.", dissect.Framing)

	teams = [...]team{declare("rogue"), declare("red"), declare("green"), declare("blue"), declare("purple"), declare("observer")}
)

// A team is the fields of a team.
type team struct{ group, players, limit *dissect.Field }

func declare(name string) team {
	return team{
		catalog.Add(name, dissect.Group, "Team "+name+"."),
		catalog.Add(name+".players", dissect.Uint, "Players in the team.", core.InJSON("num_players")),
		catalog.Add(name+".max_players", dissect.Uint, "Maximum number of players in the team."),
	}
}

const (
	codeRequest = 0x0404
	codeReply   = 0x0303
	requestLen  = 6
	replyLen    = 60
	magic       = "BZFS"

	topicPing  dissect.Topic = 1
	topicShort dissect.Topic = 2 // nothing answers it
)

var (
	mRequest = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "Asks for the game and the numbers of players."})
	mShort   = catalog.Message(dissect.MessageType{Name: "short_request", Title: "short ping request", Role: dissect.Request, Doc: "Asks for the same in less than 6 bytes, which servers ignore."})
	mReply   = catalog.Message(dissect.MessageType{Name: "ping_reply", Title: "ping reply", Role: dissect.Reply, Doc: "The game and the numbers of players."})
	mUnknown = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Another message, such as a packet of the game."})
)

var short = finding.New(catalog, dissect.Warning, "bzflag.short", "the request has %d bytes of at least 6",
	"Servers ignore requests without the two bytes after the code, although the length before it is that of the code alone. Send 00 02 04 04 00 00.", "An own client should send 00 02 04 04 00 00.")

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "bzflag",
	Title:   "BZFlag",
	Doc:     "Pings of BZFlag by UDP: the game and the numbers of players. Everything else is asked for by TCP.",
	Source:  "recorded traffic; BZFlag (Ping.cxx, Protocol.h, global.h)",
	Ports:   []uint16{5154},
	Starts:  []string{"\x00"},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Simple(catalog, "The capture has no reply within the time that clients wait. The server is down, the request is shorter than 6 bytes, or a packet was lost, dropped by a firewall or not captured. Most clients ask the list server and then the server by TCP.",
		"The request has 6 bytes and no challenge, so its source address can be forged to flood somebody else. Limit the rate of pings in a firewall."),
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	switch {
	case len(b) < 4 || b[0] != 0:
	case string(b[1:4]) == "\x02\x04\x04" && len(b) == requestLen:
		return dissect.Likely
	case string(b[1:4]) == "\x02\x04\x04" && len(b) <= 8:
		return dissect.Possible
	case string(b[1:4]) == "\x38\x03\x03" && len(b) >= 4+len(magic) && string(b[4:4+len(magic)]) == magic:
		if len(b) == replyLen {
			return dissect.Certain
		}
		return dissect.Possible
	}
	return dissect.No
}

// A Message is one of *Request and *Reply, or nil if its kind is not known.
type Message any

// Request asks for a Reply.
type Request struct{}

// Reply has the state of a server.
type Reply struct {
	// Version is BZFS and four digits.
	Version string
	// GameType is 0 free for all, 1 capture the flag, 2 open free for all, 3 rabbit chase.
	GameType, Options uint16
	MaxShots          uint16
	// ShakeTimeout is in tenths of a second.
	ShakeWins, ShakeTimeout                uint16
	MaxPlayerScore, MaxTeamScore, MaxTime  uint16
	MaxPlayers                             uint8
	Rogue, Red, Green, Blue, Purple, Watch Team

	server dissect.Server
}

// A Team is how many players a team has and can have. Watch are the observers.
type Team struct{ Players, MaxPlayers uint8 }

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	reply   Reply
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	m.Type = mUnknown
	size := r.Left()
	r.U16BE(fLength)
	switch code := r.U16BE(fCode); {
	case r.Failed():
	case code == codeRequest:
		m.Type, m.Body, m.Pair.Asks, m.Pair.Challenge = mRequest, &d.request, topicPing, dissect.ChallengeAbsent
		if size < requestLen && !r.Cut() {
			r.Find(short, fCode, 2, 2, dissect.Num(size))
			m.Type, m.Pair.Asks = mShort, topicShort
		}
		core.Remaining(r, fPadding)
	case code == codeReply:
		m.Type, m.Body, m.Pair.Answers = mReply, &d.reply, topicPing
		d.decodeReply(r, m)
	default:
		r.Fail(fCode, "neither a ping nor a reply to one")
	}
}

func (d *decoder) decodeReply(r *dissect.Reader, m *dissect.Message) {
	p := &d.reply
	*p = Reply{Version: r.Text(fVersion, 8)}
	r.Endpoint4(fServer, false)
	r.U16BE(fNumber)
	r.Span(fSource, 0, 1, 4, 0)
	p.GameType = r.U16BE(fGameType)
	p.Options = r.U16BE(fOptions)
	p.MaxShots = r.U16BE(fShots)
	p.ShakeWins = r.U16BE(fShakeWins)
	p.ShakeTimeout = r.U16BE(fShakeTime)
	p.MaxPlayerScore = r.U16BE(fPlayerScore)
	p.MaxTeamScore = r.U16BE(fTeamScore)
	p.MaxTime = r.U16BE(fTime)
	p.MaxPlayers = r.U8(fMaxPlayers)
	players := 0
	for i, to := range [len(teams)]*Team{&p.Rogue, &p.Red, &p.Green, &p.Blue, &p.Purple, &p.Watch} {
		f := &teams[i]
		group := r.Begin(f.group)
		*to = Team{r.U8(f.players), r.U8(f.limit)}
		r.End(group)
		players += int(to.Players)
	}
	r.Bytes(fEnd, 6)
	wire.State(r, m, dissect.Server{Version: dissect.Some(p.Version), Players: dissect.Some(players), MaxPlayers: dissect.Some(int(p.MaxPlayers))})
	p.server = m.Server
}

// AppendSummary appends the game, the players and the version.
func (p *Reply) AppendSummary(dst []byte) []byte {
	if name := fGameType.NameOf(uint64(p.GameType)); name != "" && p.server.Players.OK {
		dst = append(append(dst, name...), "  "...)
	}
	return p.server.AppendSummary(dst)
}
