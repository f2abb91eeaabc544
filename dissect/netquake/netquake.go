// Package netquake dissects the control packets of Quake's own network protocol, by
// which clients find servers and connect to them. They are spoken by NetQuake engines
// (WinQuake, GLQuake, ProQuake, QuakeSpasm, Mark V, DarkPlaces, FTE) and by Hexen II.
//
// A packet is the word 8000, its whole length in 16 bits, a number that says which
// message it is, and the body. The header is big-endian, numbers in the body are
// little-endian, texts end with a zero byte:
//
//	01 connect  02 server info  03 player info  04 rule info  05 rcon
//	81 accept   82 reject       83 server info  84 player info  85 rule info  86 rcon
//
// A request for a rule has the name of the rule before it, "" for the first. A reply
// without a rule ends the list.
//
// Sources: Quake (net_dgrm.c), QuakeSpasm, DarkPlaces (netconn.c), ProQuake, qstat,
// and recorded traffic; rcon and ProQuake's additions from the sources alone.
package netquake

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

var catalog = dissect.NewCatalog("netquake")

var text = core.InCharset(core.QuakeChars)

// Every packet.
var (
	fControl = catalog.Add("control", dissect.Uint, "8000: a control packet, not one of a running game.", dissect.Framing)
	fLength  = catalog.Add("length", dissect.Uint, "Length of the packet, this header included.", dissect.Framing)
	fOp      = catalog.Add("op", dissect.Uint, "Number of the message.", dissect.Framing)

	// Connecting.
	fGame     = catalog.Add("connect.game", dissect.String, "QUAKE or HEXENII.", dissect.Public)
	fVersion  = catalog.Add("connect.version", dissect.Uint, "Version of the network protocol: 3 in Quake, 4 and 5 in Hexen II.")
	fMod      = catalog.Add("connect.mod", dissect.Uint, "Engine with additions to the protocol: 1 is ProQuake.")
	fModVer   = catalog.Add("connect.mod_version", dissect.Uint, "Ten times its version: 34 is 3.4.")
	fFlags    = catalog.Add("connect.flags", dissect.Uint, "Additions that are in use.", dissect.Bits(dissect.Name{Value: 1, Name: "cheat-free"}))
	fPassword = catalog.Add("connect.password", dissect.Bytes, "Password for the game, a number.", dissect.Secret)
	fPort     = catalog.Add("connect.port", dissect.Uint, "Port on which the game goes on.")
	fReason   = catalog.Add("connect.reason", dissect.String, "Why the client may not connect.", dissect.FreeText, text)
	fMore     = catalog.Add("connect.more", dissect.Bytes, "What other engines add.")

	// A server.
	fAddress  = catalog.Add("server.address", dissect.String, "Address that the server knows of itself, often a useless one.", dissect.Address)
	fHost     = catalog.Add("server.name", dissect.String, "Name of the server.", dissect.ServerText, text)
	fMap      = catalog.Add("server.map", dissect.String, "Map.", dissect.Public)
	fPlayers  = catalog.Add("server.num_players", dissect.Uint, "Players on the server.")
	fMax      = catalog.Add("server.max_players", dissect.Uint, "Places on the server.")
	fProtocol = catalog.Add("server.protocol", dissect.Uint, "Version of the network protocol.")

	// A player, a rule, a command.
	fSlot    = catalog.Add("player.slot", dissect.Uint, "Slot of the player, counted from 0.")
	fName    = catalog.Add("player.name", dissect.String, "Name.", dissect.PersonName, text)
	fColours = catalog.Add("player.colours", dissect.Uint, "Colours: 16 times that of the shirt, and that of the pants.")
	fScore   = catalog.Add("player.score", dissect.Int, "Frags.")
	fTime    = catalog.Add("player.duration_s", dissect.Int, "Time on the server, in seconds.")
	fFrom    = catalog.Add("player.address", dissect.String, "Address of the player; botclient is a bot, private an address that the server does not tell.", dissect.Address)

	fAfter       = catalog.Add("rule.after", dissect.String, "Name of the rule before the one that is wanted, empty for the first.", dissect.Public)
	fKey         = catalog.Add("rule.key", dissect.String, "Name of the rule.", dissect.SettingName)
	fValue       = catalog.Add("rule.value", dissect.String, "Value of the rule.", dissect.Setting, text)
	fHiddenValue = fValue.Hidden()

	fRconPassword = catalog.Add("rcon.password", dissect.String, "Password of the remote console.", dissect.Secret)
	fCommand      = catalog.Add("rcon.command_line", dissect.String, "Command for the console of the server.", dissect.FreeText)
	fHiddenLine   = fCommand.Hidden()
	fOutput       = catalog.Add("rcon.text", dissect.String, "What the console prints.", dissect.FreeText, text)
	fHiddenOutput = fOutput.Hidden()

	mConnectRequest = catalog.Message(dissect.MessageType{Name: "connect_request", Title: "connect request", Role: dissect.Request, Doc: "A client that wants to play."})
	mServerRequest  = catalog.Message(dissect.MessageType{Name: "server_request", Title: "server request", Role: dissect.Request, Doc: "Asks for name, map and number of players."})
	mPlayerRequest  = catalog.Message(dissect.MessageType{Name: "player_request", Title: "player request", Role: dissect.Request, Unanswered: noPlayer, Doc: "Asks for the player in a slot."})
	mRuleRequest    = catalog.Message(dissect.MessageType{Name: "rule_request", Title: "rule request", Role: dissect.Request, Doc: "Asks for the rule after the one that it names."})
	mRcon           = catalog.Message(dissect.MessageType{Name: "rcon_request", Title: "rcon command", Role: dissect.Request, Unanswered: rconUnanswered, Doc: "A command for the console of the server, with its password in the clear (ProQuake, DarkPlaces, FTE)."})
	mAccept         = catalog.Message(dissect.MessageType{Name: "accept", Title: "accept", Role: dissect.Reply, Doc: "The client may play, on the port that is given."})
	mReject         = catalog.Message(dissect.MessageType{Name: "reject", Title: "reject", Role: dissect.Reply, Doc: "The client may not play, and why."})
	mServerReply    = catalog.Message(dissect.MessageType{Name: "server_reply", Title: "server", Role: dissect.Reply, Doc: "Name, map and number of players."})
	mPlayerReply    = catalog.Message(dissect.MessageType{Name: "player_reply", Title: "player", Role: dissect.Reply, Doc: "The player in a slot."})
	mRuleReply      = catalog.Message(dissect.MessageType{Name: "rule_reply", Title: "rule", Role: dissect.Reply, Doc: "One rule, or none at the end of the list."})
	mRconReply      = catalog.Message(dissect.MessageType{Name: "rcon_reply", Title: "rcon reply", Role: dissect.Reply, Doc: "What the console prints."})
	mUnknown        = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown", Role: dissect.OneWay, Doc: "A control packet with a number that is not known."})

	unanswered     = finding.NoReply(catalog, "netquake.noreply", "No reply came within the time that clients wait. The server is down, the port is another, or a packet was lost or dropped. A server also stays silent if it does not listen for clients or plays another game: Quake's servers ignore HEXENII, and the reverse.")
	noPlayer       = finding.Unanswered(catalog, "netquake.slot.noreply", "No reply came within the time that clients wait. Servers do not answer for slots that are empty. A client that asks for slots in order cannot tell that from a lost packet and stops when it has as many players as the server stated.")
	rconUnanswered = finding.Unanswered(catalog, "netquake.rcon.noreply", "No reply came within the time that clients wait. Servers without this command, without a password, or with another one may stay silent; so does DarkPlaces with rcon_secure set. Else the server is down or a packet was lost.")
	unrequested    = finding.Unrequested(catalog, "netquake.unrequested", "The conversation has requests in the capture, but none that this reply answers. It is a duplicate, a late reply or a forged packet, or the capture lost the request.")
	amplification  = catalog.Finding(dissect.FindingType{ID: "netquake.amplification", Severity: dissect.Note, Text: "a forged address would get at least %r times the request (%d bytes for %d)", Doc: "Queries need no challenge: whoever forges the address of a request makes the server send its reply to that address. Most replies are short; operators can limit their rate in the firewall."})
	length         = finding.New(catalog, dissect.Warning, "netquake.length", "length %d in the header, the packet has %d",
		"The length in the header must be that of the packet; servers and clients drop the packet otherwise. It was cut or padded on the way, or its sender is mistaken.", finding.WrongLength)
	elsewhere = catalog.Finding(dissect.FindingType{ID: "netquake.port", Severity: dissect.Chat, Text: "the game goes on at port %d", Doc: "The client has to send to this port from now on. A firewall or a NAT that forwards the port of the queries alone lets the connection time out."})
	rejected  = catalog.Finding(dissect.FindingType{ID: "netquake.rejected", Severity: dissect.Note, Class: core.OfRefusal, Text: "the server rejects the client", Doc: "The text says why: the server is full, the client speaks another version of the protocol, or it is banned."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "netquake",
	Title:  "NetQuake",
	Group:  "Quake and Doom",
	Doc:    "Queries, remote console and connecting of Quake in its own network protocol, not that of QuakeWorld (WinQuake, ProQuake, QuakeSpasm, DarkPlaces, FTE), and of Hexen II.",
	Source: "Quake (net_dgrm.c), QuakeSpasm, DarkPlaces (netconn.c), ProQuake, qstat; recorded traffic",
	Ports: []uint16{
		26000, 26001, 26002, 26003, 26004, 26005,
		26900, // Hexen II
	},
	Starts:  []string{"\x80\x00"},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, finding.Amplified(amplification, 10)),
}

// The topics of requests.
const (
	topicConnect dissect.Topic = 1 << iota
	topicServer
	topicPlayer
	topicRule
	topicRcon
)

const (
	opRcon      = 0x05
	opRuleReply = 0x85

	lenHeader  = 5
	lenDetect  = 64 // what Detect sees of a longer payload
	lenLongest = 1400
)

// A packet is a message. The shape says what the body consists of: g the name of a
// game, s a text, a digit so many bytes, + more that may follow.
type packet struct {
	op            byte
	shape         string
	asks, answers dissect.Topic
	decode        func(*decoder, *dissect.Reader, *dissect.Message)
}

var packets = [...]packet{
	{0x01, "g1+", topicConnect, 0, (*decoder).decodeConnect},
	{0x02, "g1", topicServer, 0, (*decoder).decodeConnect},
	{0x03, "1", topicPlayer, 0, (*decoder).decodePlayerRequest},
	{0x04, "s", topicRule, 0, (*decoder).decodeRuleRequest},
	{opRcon, "ss", topicRcon, 0, (*decoder).decodeRcon},
	{0x81, "4+", 0, topicConnect, (*decoder).decodeAccept},
	{0x82, "s", 0, topicConnect, (*decoder).decodeReject},
	{0x83, "sss3", 0, topicServer, (*decoder).decodeServer},
	{0x84, "1s48s", 0, topicPlayer, (*decoder).decodePlayer},
	{opRuleReply, "ss", 0, topicRule, (*decoder).decodeRule},
	{0x86, "s", 0, topicRcon, (*decoder).decodeRconReply},
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < lenHeader || b[0] != 0x80 || b[1] != 0 {
		return dissect.No
	}
	n := int(binary.BigEndian.Uint16(b[2:]))
	if n < lenHeader || n > lenLongest {
		return dissect.No
	}
	for _, p := range packets {
		switch {
		case p.op != b[4]:
		case n < len(b): // padded
			if p.fits(b[lenHeader:n], true) {
				return dissect.Possible
			}
		case n == len(b) && n < lenDetect:
			if p.fits(b[lenHeader:], true) {
				return dissect.Certain
			}
		case !p.fits(b[lenHeader:], false):
		case len(b) == lenDetect, p.op == opRcon:
			return dissect.Likely
		default: // cut
			return dissect.Possible
		}
	}
	return dissect.No
}

// fits reports whether a body has the shape: exactly if it is whole, otherwise as far
// as it goes, with printable text.
func (p *packet) fits(b []byte, whole bool) bool {
	if whole && len(b) == 0 {
		return p.op == opRuleReply // the end of the list
	}
	for i := range len(p.shape) {
		n := 0
		switch c := p.shape[i]; c {
		case '+':
			return len(b) <= 16
		case 'g':
			if !bytes.HasPrefix(b, []byte("QUAKE\x00")) && !bytes.HasPrefix(b, []byte("HEXENII\x00")) {
				return false
			}
			n = bytes.IndexByte(b, 0) + 1
		case 's':
			if n = bytes.IndexByte(b, 0) + 1; n == 0 {
				return !whole && printable(b)
			}
			if !whole && !printable(b[:n-1]) {
				return false
			}
		default:
			n = int(c - '0')
		}
		if n > len(b) {
			return !whole
		}
		b = b[n:]
	}
	return len(b) == 0
}

func printable(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f })
}

// A Message is a pointer to one of the structs of this package.
type Message any

// Connect is what a client states that wants to play, or with a server request.
type Connect struct {
	// Game is QUAKE or HEXENII, Version that of the network protocol.
	Game    string
	Version uint8
	// ProQuake is ten times the version of ProQuake, 0 for other engines.
	ProQuake uint8
	// Password is for the game, 0 for none.
	Password uint32
}

// Accept says that a client may play.
type Accept struct {
	// Port is the one on which the game goes on.
	Port uint32
	// ProQuake is ten times the version of ProQuake, 0 for other engines.
	ProQuake uint8
}

// Text is a text for people: why a client may not connect, or output of the console.
type Text struct{ Text string }

// ServerReply states facts of a server.
type ServerReply struct {
	// Address is what the server knows of itself, and often useless.
	Address, Name, Map            string
	Players, MaxPlayers, Protocol uint8
}

// PlayerRequest asks for the player in a slot.
type PlayerRequest struct{ Slot uint8 }

// PlayerReply is the player in a slot.
type PlayerReply struct {
	Slot uint8
	// Name is in the character set of Quake.
	Name string
	// Colours are 16 times the colour of the shirt, and that of the pants.
	Colours uint32
	// Score is in frags, Seconds the time on the server.
	Score, Seconds int32
	// Address is the player's, or "botclient", or "private".
	Address string
}

// RuleRequest asks for the rule after another, "" for the first.
type RuleRequest struct{ After string }

// RuleReply is a rule.
type RuleReply struct {
	Key, Value string
	// End says that there is no other rule.
	End bool
}

// Rcon is a command for the remote console.
type Rcon struct{ Password, Command string }

// Unknown is a message that is not known.
type Unknown struct{ Op uint8 }

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

// decoder owns what a message is read into.
type decoder struct {
	connect Connect
	accept  Accept
	text    Text
	server  ServerReply
	slot    PlayerRequest
	player  PlayerReply
	after   RuleRequest
	rule    RuleReply
	rcon    Rcon
	unknown Unknown
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	wire.Message(m, mUnknown, &d.unknown, Unknown{})
	whole := r.Left()
	r.U16BE(fControl)
	n := int(r.U16BE(fLength))
	if !r.Failed() && n != whole && !r.Cut() {
		r.Find(length, fLength, 2, 2, dissect.Num(n), dissect.Num(whole))
	}
	op := r.U8(fOp)
	for i := range packets {
		if p := &packets[i]; p.op == op && !r.Failed() {
			m.Pair.Asks, m.Pair.Answers = p.asks, p.answers
			p.decode(d, r, m)
			return
		}
	}
	d.unknown.Op = op
	r.Fail(fOp, "no such message")
}

// decodeConnect reads what a client says of itself, to connect or to ask for the
// server.
func (d *decoder) decodeConnect(r *dissect.Reader, m *dissect.Message) {
	c := wire.Message(m, mServerRequest, &d.connect, Connect{})
	if m.Pair.Asks == topicConnect {
		m.Type = mConnectRequest
	}
	c.Game = r.CString(fGame)
	c.Version = r.U8(fVersion)
	if m.Type == mConnectRequest && r.More() {
		c.ProQuake = readMod(r)
		if r.More() {
			if b := r.Bytes(fPassword, 4); b != nil {
				c.Password = binary.LittleEndian.Uint32(b)
			}
		}
	}
	rest(r)
}

// readMod reads which additions to the protocol an engine speaks. It returns the
// version of ProQuake.
func readMod(r *dissect.Reader) uint8 {
	mod := r.U8(fMod)
	version := r.U8(fModVer)
	r.U8(fFlags)
	return nettext.Either(mod == 1, version, 0)
}

// rest reads what engines add that are not known.
func rest(r *dissect.Reader) {
	core.Remaining(r, fMore)
}

func (d *decoder) decodeAccept(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body = mAccept, &d.accept
	d.accept = Accept{Port: r.U32(fPort)}
	if !r.Failed() {
		r.Note(elsewhere, dissect.Num(d.accept.Port))
	}
	if r.More() {
		d.accept.ProQuake = readMod(r)
	}
	rest(r)
}

func (d *decoder) decodeReject(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body = mReject, &d.text
	at := r.Offset()
	d.text = Text{Text: r.CString(fReason)}
	r.Find(rejected, fReason, at, r.Offset()-at)
}

func (d *decoder) decodeServer(r *dissect.Reader, m *dissect.Message) {
	s := &d.server
	m.Type, m.Body = mServerReply, s
	*s = ServerReply{
		Address: r.CString(fAddress), Name: r.CString(fHost), Map: r.CString(fMap),
		Players: r.U8(fPlayers), MaxPlayers: r.U8(fMax), Protocol: r.U8(fProtocol),
	}
	wire.State(r, m, dissect.Server{
		Charset: core.QuakeChars, Name: dissect.Some(s.Name), Map: dissect.Some(s.Map),
		Players: dissect.Some(int(s.Players)), MaxPlayers: dissect.Some(int(s.MaxPlayers)),
	})
}

func (d *decoder) decodePlayerRequest(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body = mPlayerRequest, &d.slot
	d.slot = PlayerRequest{Slot: r.U8(fSlot)}
	m.Pair.ID = uint64(d.slot.Slot) + 1
}

func (d *decoder) decodePlayer(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body = mPlayerReply, &d.player
	d.player = PlayerReply{
		Slot: r.U8(fSlot), Name: r.CString(fName), Colours: r.U32(fColours),
		Score: r.I32(fScore), Seconds: r.I32(fTime), Address: r.CString(fFrom),
	}
	m.Pair.ID = uint64(d.player.Slot) + 1
}

func (d *decoder) decodeRuleRequest(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body = mRuleRequest, &d.after
	d.after = RuleRequest{After: r.CString(fAfter)}
}

func (d *decoder) decodeRule(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body = mRuleReply, &d.rule
	if d.rule = (RuleReply{End: !r.More()}); d.rule.End {
		return
	}
	d.rule.Key = r.CString(fKey)
	d.rule.Value = r.CString(fValue)
	core.HideSetting(r, fHiddenValue, d.rule.Key, d.rule.Value)
}

func (d *decoder) decodeRcon(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body = mRcon, &d.rcon
	d.rcon = Rcon{Password: r.CString(fRconPassword), Command: r.CString(fCommand)}
	console.HideCommand(r, fHiddenLine, d.rcon.Command)
}

func (d *decoder) decodeRconReply(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body = mRconReply, &d.text
	d.text = Text{Text: r.CString(fOutput)}
	console.Hide(r, fHiddenOutput, d.text.Text)
}

var style = wire.Style{Charset: core.QuakeChars}

// AppendSummary gives the game and the version.
func (c *Connect) AppendSummary(dst []byte) []byte {
	dst = style.Text(dst, "", c.Game)
	dst = wire.Number(dst, " protocol ", c.Version)
	return appendProQuake(dst, c.ProQuake)
}

// AppendSummary gives the port.
func (a *Accept) AppendSummary(dst []byte) []byte {
	return appendProQuake(wire.Number(dst, "port ", a.Port), a.ProQuake)
}

func appendProQuake(dst []byte, version uint8) []byte {
	if version == 0 {
		return dst
	}
	dst = wire.Number(dst, "  ProQuake ", version/10)
	return wire.Number(dst, ".", version%10)
}

// AppendSummary gives the first line, never a password.
func (t *Text) AppendSummary(dst []byte) []byte { return quake.AppendText(dst, t.Text) }

// AppendSummary gives the slot.
func (p *PlayerRequest) AppendSummary(dst []byte) []byte { return wire.Number(dst, "slot ", p.Slot) }

// AppendSummary gives the player.
func (p *PlayerReply) AppendSummary(dst []byte) []byte {
	dst = wire.Number(dst, "slot ", p.Slot)
	dst = style.Quoted(dst, "  ", p.Name)
	dst = wire.Number(dst, "  ", p.Score)
	dst = append(dst, " frags"...)
	dst = wire.Number(dst, "  ", p.Seconds)
	return append(dst, " s"...)
}

// AppendSummary gives the rule before the one that is wanted.
func (q *RuleRequest) AppendSummary(dst []byte) []byte {
	if q.After == "" {
		return append(dst, "the first"...)
	}
	return style.Quoted(dst, "after ", q.After)
}

// AppendSummary gives the rule, never a password.
func (v *RuleReply) AppendSummary(dst []byte) []byte {
	if v.End {
		return append(dst, "no more"...)
	}
	dst = style.Text(dst, "", v.Key)
	if nettext.SecretSetting(v.Key, v.Value) {
		return append(dst, "  ***"...)
	}
	return style.Quoted(dst, "  ", v.Value)
}

// AppendSummary gives the command, never a password.
func (c *Rcon) AppendSummary(dst []byte) []byte {
	return style.Concealed(dst, c.Command, console.CommandSecret(c.Command))
}

// AppendSummary appends the number of the message.
func (u *Unknown) AppendSummary(dst []byte) []byte { return wire.Hex(dst, "0x", u.Op) }
