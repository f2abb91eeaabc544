// Package xash3d dissects the text queries of Xash3D: info, netinfo, ping and getchallenge.
// The engine answers those of package a2s as well.
//
// A request is FF FF FF FF and words: "info" and a version of the network protocol, or
// "netinfo", the version, a number that the client chose, and the kind of data. A reply
// is "info", a line end and settings, or "netinfo", the number, the kind, settings and a
// line end. The replies to "ping" and "getchallenge" are "ack", and "challenge" and a
// number, as those of Quake 2 are.
//
// Source: Xash3D FWGS (connectionless.md, sv_client.c, cl_main.c).
package xash3d

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var style = wire.Style{Charset: dissect.Guessed, Codes: dissect.Quake3}

var asText = core.InStyle(style.Codes)

var catalog = dissect.NewCatalog("xash3d")

var (
	words = quake.Fields{
		Header:    catalog.Add("header", dissect.Int, "-1: the message belongs to no connection.", dissect.Framing),
		Command:   catalog.Add("command", dissect.String, "info, netinfo, ping, ack, getchallenge or challenge.", dissect.Public),
		Blanks:    catalog.Add("blanks", dissect.Bytes, "Blanks between words.", dissect.Framing),
		Arguments: catalog.Add("arguments", dissect.String, "Words after those that the message has a meaning for.", dissect.ServerText),
		End:       catalog.Add("end", dissect.Bytes, "Line ends and zero bytes.", dissect.Framing),
	}
	fProtocol = catalog.Add("protocol", dissect.Decimal, "Version of the network protocol of the client: 49, or 48 in old versions.")
	fContext  = catalog.Add("context", dissect.Decimal, "Number that the client chose; the reply repeats it.", dissect.Public, dissect.Chosen)
	fKind     = catalog.Add("kind", dissect.Decimal, "Kind of data that is requested or sent.", kindNames())
	fToken    = catalog.Add("challenge", dissect.Decimal, "Number by which the server knows that the client receives what it sends there.", dissect.Token, dissect.Chosen)
	fName     = catalog.Add("name", dissect.String, "Name of the server that refuses to send settings.", dissect.ServerText, asText)
	fRefusal  = catalog.Add("refusal", dissect.String, "Why it refuses.", dissect.Public)
	pairs     = keyvalue.Declare(catalog, asText)

	fPlayers    = catalog.Add("players", dissect.List, "The players.")
	fPlayer     = catalog.Add("players.player", dissect.Group, "A player.")
	fPlayerName = catalog.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName, asText)
	fScore      = catalog.Add("players.score", dissect.Decimal, "Frags.")
	fDuration   = catalog.Add("players.duration_s", dissect.Decimal, "Seconds since the player connected.")
)

// A kind is what a netinfo request asks for. The index in kinds is its number.
type kind struct {
	name           string
	request, reply *dissect.MessageType
}

const other = 0 // any other number

var kinds = [...]kind{
	newKind("netinfo", "data of a kind that servers do not know"),
	newKind("ping", "whether the server responds"),
	newKind("rules", "the settings"),
	newKind("players", "the players"),
	newKind("details", "name, map and number of players"),
}

func newKind(name, what string) kind {
	return kind{
		name,
		catalog.Message(dissect.MessageType{Name: name + "_request", Title: name + " request", Role: dissect.Request, Doc: "netinfo: asks for " + what + "."}),
		catalog.Message(dissect.MessageType{Name: name + "_reply", Title: name, Role: dissect.Reply, Doc: "netinfo: the reply for " + what + ", or an error."}),
	}
}

func kindNames() dissect.Option {
	var list []dissect.Name
	for i := other + 1; i < len(kinds); i++ {
		list = append(list, dissect.Name{Value: uint64(i), Text: string(rune('0' + i)), Name: kinds[i].name})
	}
	return dissect.Names(list...)
}

var (
	mInfo      = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for name, map and number of players."})
	mInfoReply = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info", Role: dissect.Reply, Doc: "Name, map and number of players, or the name of the server and why it refuses."})
	mPing      = catalog.Message(dissect.MessageType{Name: "text_ping_request", Title: "ping request", Role: dissect.Request, Doc: "ping: asks whether the server responds."})
	mAck       = catalog.Message(dissect.MessageType{Name: "text_ping_reply", Title: "ping", Role: dissect.Reply, Doc: "ack: the reply to ping."})
	mToken     = catalog.Message(dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "getchallenge: the first step of a client that wants to play."})
	mChallenge = catalog.Message(dissect.MessageType{Name: "challenge_reply", Title: "challenge", Role: dissect.Reply, Doc: "The number that a client must return to connect."})
	mUnknown   = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Not a message of this protocol."})
)

var (
	unanswered    = finding.NoReply(catalog, "xash3d.noreply", "The capture has no reply within the time that clients wait. Servers in single player mode do not answer, and old ones ignore netinfo with another version of the protocol. The server may also be down, the port may be another, or a packet was lost, dropped by a firewall or not captured.")
	unrequested   = finding.Unrequested(catalog, "xash3d.unrequested", "The capture has requests of this conversation, but no pending one that this reply answers. The request is missing from the capture, the reply is late, a duplicate or forged, or the server behind a NAT sends an info because the master asked for it.")
	several       = finding.Several(catalog, "xash3d.several", finding.Twice)
	amplification = finding.Amplification(catalog, "xash3d.amplification", "The request has no challenge, so its source address can be forged to flood somebody else with up to 4,096 bytes of settings. Limit the rate of queries in a firewall.")
	refused       = catalog.Finding(dissect.FindingType{ID: "xash3d.refused", Severity: dissect.Note, Class: core.OfRefusal, Text: "the server refuses: %s", Doc: "protocol: the request names another version of the network protocol. forbidden: the server does not tell its players, because it has a password or sv_expose_player_list is 0. undefined: the server does not know the kind of data."})
	wrongVersion  = catalog.Finding(dissect.FindingType{ID: "xash3d.version", Severity: dissect.Note, Text: "the server speaks another version of the network protocol than the request names", Doc: "Servers answer so if the request names another version of the network protocol than theirs: 48 in old versions, 49 in new ones. The client may ask again with the other one."})
	oddKey        = finding.OddKey(catalog, "xash3d.oddkv", "Keys and values do not pair up: the reply was truncated, or a value contains a backslash and everything after it is shifted.")
	noEnd         = finding.Length(catalog, "xash3d.noend", "no newline at the end",
		"Replies to netinfo end with a line end. Without it the reply was truncated, or another program than Xash3D sent it.", "Ask again; if the server is another program, it should end its reply with a line end.")
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "xash3d",
	Title:   "Xash3D queries",
	Doc:     "The text queries of Xash3D, info, netinfo, ping and getchallenge: from the source, not compared with recorded traffic. Servers answer those of a2s as well.",
	Group:   "Valve",
	Wire:    "quake",
	Source:  "Xash3D FWGS (connectionless.md, sv_client.c, cl_main.c)",
	Ports:   []uint16{27015, 27016, 27017, 27018, 27019, 27020},
	Starts:  wire.Words(quake.Header, "info\n", "info ", "netinfo", "ping", "ack", "getchallenge", "challenge "),
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, several, amplification),
}

const (
	info    = "info"
	netinfo = "netinfo "
	refusal = ": wrong version"

	// Those of netinfo are 1 << their number.
	topicInfo dissect.Topic = 1 << (len(kinds) + iota)
	topicPing
	topicChallenge
)

var infos = wire.Forms{
	// Quake 2's reply has text there, and Warsow's two backslashes.
	wire.Likely("\n\\", func(rest []byte) bool { return len(rest) == 0 || rest[0] != '\\' }),
	wire.No("\n\\", nil),
	wire.Possible("\n", func(rest []byte) bool {
		const most = 64 - len(quake.Header+info) - 1 // what is beyond is not here
		return bytes.Contains(rest, []byte(refusal)) || len(rest) == most
	}),
	// Quake 2 has versions below 40.
	wire.Likely(" 4", func(rest []byte) bool { return len(rest) > 0 && quake.Digit(rest[0]) && quake.Ends(rest[1:]) }),
}

// texts are the messages that Quake 2 has as well, but for the word steam.
var texts = wire.Forms{
	wire.Possible("ping", quake.Ends),
	wire.Possible("ack", quake.Ends),
	wire.Possible("getchallenge", quake.Ends),
	wire.Possible("getchallenge steam", quake.Ends),
	wire.Possible("challenge ", func(rest []byte) bool { return quake.Numbered(rest) && quake.Ends(bytes.TrimLeft(rest, "-0123456789")) }),
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < 7 || string(b[:4]) != quake.Header {
		return dissect.No
	}
	b = b[4:]
	switch {
	case bytes.HasPrefix(b, []byte(info)):
		return infos.Judge(b[len(info):])
	case len(b) > len(netinfo) && string(b[:len(netinfo)]) == netinfo:
		if n := numbers(b[len(netinfo):]); n >= 2 {
			return dissect.Likely
		}
		return dissect.No
	}
	if v := texts.Judge(b); v < dissect.Possible || b[0] != 'p' || len(b) == len("ping") || b[len("ping")] == 0 {
		return v
	}
	return dissect.Doubtful // Half-Life's, unless the server is known
}

// numbers returns how many numbers a line begins with, at most 3. A reply has two; a
// request has three and nothing else.
func numbers(b []byte) int {
	for n := range 3 {
		switch {
		case !quake.Numbered(b):
			return n
		case n == 2:
			if i := bytes.IndexByte(b, ' '); i >= 0 && !quake.Ends(b[i+1:]) {
				return n
			}
			return 3
		}
		i := bytes.IndexByte(b, ' ')
		if i < 0 {
			return n + 1
		}
		b = b[i+1:]
	}
	return 3
}

// A Message is one of *Request, *InfoReply, *NetInfo and *Text, or nil if its kind is not known.
type Message any

// Request is a request. Context and Kind are those of netinfo; Kind is 1 for a ping, 2
// for rules, 3 for players, 4 for details.
type Request struct{ Protocol, Context, Kind string }

// InfoReply is the reply to info: settings, or only the name of the server if it has
// another version.
type InfoReply struct {
	Rules   []dissect.KeyValue
	Refused bool
	Name    string

	server dissect.Server
}

// NetInfo is the reply to netinfo.
type NetInfo struct {
	Context, Kind string
	Rules         []dissect.KeyValue
	Players       []Player

	kind   int
	server dissect.Server
}

// A Player is a player. Score is in frags, Duration in seconds; both are text.
type Player struct{ Name, Score, Duration string }

// Text is a ping, its reply, a request for a challenge, or a challenge, which is a number.
type Text struct{ Challenge string }

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	info    InfoReply
	net     NetInfo
	text    Text
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	m.Type = mUnknown
	r.I32(words.Header)
	switch {
	case r.HasPrefix(netinfo):
		d.decodeNetInfo(r, m, numbers(core.PeekFrom(r, len(netinfo))))
	case r.HasPrefix(info + "\n"):
		d.decodeInfo(r, m)
	case r.HasPrefix(info + " "):
		d.request = Request{}
		m.Type, m.Body, m.Pair = mInfo, &d.request, dissect.Pair{Asks: topicInfo, Challenge: dissect.ChallengeAbsent}
		words.Word(r)
		d.request.Protocol = words.Argument(r, fProtocol)
		words.Finish(r)
	case texts.Judge(r.Peek()) > dissect.No:
		d.decodeText(r, m)
	default:
		r.Fail(words.Command, "no such message")
	}
}

func (d *decoder) decodeText(r *dissect.Reader, m *dissect.Message) {
	wire.Body(m, &d.text, Text{})
	switch words.Word(r) {
	case "ping":
		m.Type, m.Pair.Asks = mPing, topicPing
	case "ack":
		m.Type, m.Pair.Answers = mAck, topicPing
	case "getchallenge":
		m.Type, m.Pair.Asks = mToken, topicChallenge
	default:
		m.Type, m.Pair.Answers = mChallenge, topicChallenge
		d.text.Challenge = words.Argument(r, fToken)
	}
	words.Finish(r)
}

func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mInfoReply, &d.info, InfoReply{Rules: d.info.Rules[:0]})
	m.Pair.Answers = topicInfo
	words.Word(r)
	if r.Next('\\') {
		p.Rules = settings(r, p.Rules)
	} else if n := quake.TextLen(r.Peek()); n > 0 {
		at := r.Offset()
		p.Refused = true
		if i := bytes.Index(r.Peek(), []byte(refusal)); i >= 0 {
			p.Name = r.Text(fName, i)
			r.Text(fRefusal, n-i)
		} else {
			p.Name = r.Text(fName, n)
		}
		r.Find(wrongVersion, fName, at, n)
	}
	words.Ending(r)
	m.Server = dissect.Server{
		Name: keyvalue.Text(p.Rules, "host"), Map: keyvalue.Text(p.Rules, "map"), Game: keyvalue.Text(p.Rules, "gamedir"),
		Players: keyvalue.Number(p.Rules, "numcl"), MaxPlayers: keyvalue.Number(p.Rules, "maxcl"), Password: keyvalue.Flag(p.Rules, "password"),
		Charset: style.Charset, Style: style.Codes,
	}
	p.server = m.Server
}

// settings reads keys and values up to the end of the line.
func settings(r *dissect.Reader, dst []dissect.KeyValue) []dissect.KeyValue {
	return keyvalue.ReadPairs(r, pairs, quake.LineLen(r), oddKey, dst)
}

func (d *decoder) decodeNetInfo(r *dissect.Reader, m *dissect.Message, n int) {
	words.Word(r)
	if n == 3 {
		p := wire.Body(m, &d.request, Request{Protocol: words.Argument(r, fProtocol)})
		k := 0
		p.Context, p.Kind, k = d.context(r, m)
		m.Type, m.Pair.Asks, m.Pair.Challenge = kinds[k].request, 1<<k, dissect.ChallengeAbsent
		words.Ending(r)
		return
	}
	p := wire.Body(m, &d.net, NetInfo{Rules: d.net.Rules[:0], Players: d.net.Players[:0]})
	p.Context, p.Kind, p.kind = d.context(r, m)
	m.Type, m.Pair.Answers = kinds[p.kind].reply, 1<<p.kind
	if kinds[p.kind].name == "players" {
		p.Players = decodePlayers(r, p.Players)
	}
	if !quake.Ender(byte(max(r.PeekByte(0), 0))) {
		p.Rules = settings(r, p.Rules)
	}
	if !r.More() && !r.Failed() {
		r.Note(noEnd)
	}
	words.Ending(r)
	if why := keyvalue.Text(p.Rules, "neterror"); why.OK {
		r.Note(refused, dissect.Str(why.Value))
	}
	m.Server = dissect.Server{Players: keyvalue.Number(p.Rules, "current", "players"), Charset: style.Charset, Style: style.Codes}
	if kinds[p.kind].name == "details" {
		m.Server.Name, m.Server.Map, m.Server.Game = keyvalue.Text(p.Rules, "hostname"), keyvalue.Text(p.Rules, "map"), keyvalue.Text(p.Rules, "gamedir")
		m.Server.MaxPlayers = keyvalue.Number(p.Rules, "max")
	}
	p.server = m.Server
}

// context reads the client's number and the kind.
func (d *decoder) context(r *dissect.Reader, m *dissect.Message) (context, number string, k int) {
	context = words.Argument(r, fContext)
	m.Pair.ID = 1<<32 | uint64(uint32(keyvalue.Int(context).Value)) // 0 would be none
	number = words.Argument(r, fKind)
	if n := keyvalue.Int(number).Value; n > other && n < len(kinds) {
		k = n
		core.Explain(r, 0, uint64(k))
	}
	return context, number, k
}

// decodePlayers reads the settings p0name, p0frags, p0time, p1name and so on.
func decodePlayers(r *dissect.Reader, dst []Player) []Player {
	const stop = "\\\n\x00"
	return wire.Items(r, fPlayers, fPlayer, dst, func() bool { return keyLen(r, `name\`) > 0 }, func() Player {
		p := Player{Name: r.Delimited(fPlayerName, keyLen(r, `name\`), stop, 0)}
		if pre := keyLen(r, `frags\`); pre > 0 {
			p.Score = r.Delimited(fScore, pre, stop, 0)
		}
		if pre := keyLen(r, `time\`); pre > 0 {
			p.Duration = r.Delimited(fDuration, pre, stop, 0)
		}
		return p
	})
}

// keyLen returns the length of the next key with its backslashes if it is p, a number and
// a name, which ends with a backslash, and 0 if it is not.
func keyLen(r *dissect.Reader, name string) int {
	if !r.HasPrefix("\\p") {
		return 0
	}
	n := core.While(r, 2, quake.Digit)
	if n == 2 || !bytes.HasPrefix(core.PeekFrom(r, n), []byte(name)) {
		return 0
	}
	return n + len(name)
}

// AppendSummary appends the name, the map and the players.
func (p *InfoReply) AppendSummary(dst []byte) []byte {
	if p.Refused {
		return append(style.Quoted(dst, "", p.Name), "  wrong version"...)
	}
	return p.server.AppendSummary(dst)
}

// AppendSummary appends the name, the map and the players, or how many there are.
func (p *NetInfo) AppendSummary(dst []byte) []byte {
	switch {
	case keyvalue.Text(p.Rules, "neterror").OK || kinds[p.kind].name == "ping":
		return dst
	case kinds[p.kind].name == "players":
		return wire.Plural(dst, "", len(p.Players), "player", "players")
	case kinds[p.kind].name == "rules":
		n := len(p.Rules)
		if n > 0 && p.Rules[n-1].Key == "rules" {
			n-- // how many there are
		}
		return wire.Plural(dst, "", n, "rule", "rules")
	}
	return p.server.AppendSummary(dst)
}

// AppendSummary appends the challenge.
func (p *Text) AppendSummary(dst []byte) []byte { return style.Text(dst, "", p.Challenge) }
