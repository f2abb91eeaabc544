// Package battleye dissects BattlEye RCon, the remote console of Arma, DayZ and other
// games with BattlEye.
//
// A packet is BE, the CRC-32 of what follows it, FF, and a type:
//
//	0  a login: the password; the reply is 1, or 0 for a wrong one
//	1  a command: its number and its text; the reply is the same number and a text.
//	   A long reply comes in several packets, with 0, their count and their index
//	   before the text
//	2  a message of the server: its number and a text, which the client has to
//	   acknowledge with the number
//
// A command without text keeps the session alive.
//
// Source: BattlEye RCon protocol specification. No recorded traffic was at hand.
package battleye

import (
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/reassembly"
)

var catalog = dissect.NewCatalog("battleye")

var (
	fMagic = catalog.Add("magic", dissect.String, "BE.", dissect.Framing)
	fSum   = catalog.Add("crc32", dissect.Uint, "CRC-32 of the bytes behind it.", core.Checksum, dissect.Framing)
	fMark  = catalog.Add("mark", dissect.Uint, "FF: the end of the header.", dissect.Framing)
	fType  = catalog.Add("type", dissect.Uint, "0 is a login, 1 a command, 2 a message of the server.", dissect.Framing)

	fPassword = catalog.Add("password", dissect.String, "Password of the remote console.", dissect.Secret)
	fAccepted = catalog.Add("accepted", dissect.Bool, "Whether the password is right.")
	fSeq      = catalog.Add("seq", dissect.Uint, "Number of the command or of the message; what answers it has the same.", dissect.Chosen)
	// One field, because the bytes do not tell a command from a reply.
	fText       = catalog.Add("text", dissect.String, "Command for the console of the server, or what the server prints.", dissect.FreeText)
	fHiddenText = fText.Hidden()

	fSeqAgain = catalog.Add("split.seq", dissect.Uint, "Number of the command again.", dissect.Framing, dissect.Chosen)

	fHead  = catalog.Add("split", dissect.Group, "Header of a part.", dissect.Framing)
	fZero  = catalog.Add("split.zero", dissect.Uint, "0: the reply is in several parts.", dissect.Framing)
	fTotal = catalog.Add("split.total", dissect.Uint, "Number of parts.", dissect.Framing)
	fIndex = catalog.Add("split.index", dissect.Uint, "Index of the part, from 0.", dissect.Framing)
	fPart  = catalog.Add("split.data", dissect.Bytes, "Part of the text.", core.Becomes("joined"), dissect.Framing)

	mLogin      = catalog.Message(dissect.MessageType{Name: "login_request", Title: "login request", Role: dissect.Request, Unanswered: noLogin, Doc: "A client that wants the remote console, with its password in the clear."})
	mLoginReply = catalog.Message(dissect.MessageType{Name: "login_reply", Title: "login reply", Role: dissect.Reply, Doc: "Whether the password is right."})
	mCommand    = catalog.Message(dissect.MessageType{Name: "command_request", Title: "command", Role: dissect.Request, Doc: "A command for the console of the server."})
	mKeepAlive  = catalog.Message(dissect.MessageType{Name: "keep_alive", Title: "keep alive", Role: dissect.Request, Doc: "A command without text, which keeps the session alive. Without one for 45 seconds the server ends it."})
	mReply      = catalog.Message(dissect.MessageType{Name: "command_reply", Title: "reply", Role: dissect.Reply, Doc: "What the server prints for a command."})
	mMessage    = catalog.Message(dissect.MessageType{Name: "server_message", Title: "server message", Role: dissect.OneWay, Doc: "What happens on the server: chat, players that join, other clients of the remote console. The server sends it again until it is acknowledged."})
	mAck        = catalog.Message(dissect.MessageType{Name: "acknowledgement", Title: "acknowledgement", Role: dissect.Reply, Doc: "A client has received a message of the server."})
	mUnknown    = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown", Role: dissect.OneWay, Doc: "A packet of a type that is not known."})

	unanswered  = finding.NoReply(catalog, "battleye.noreply", "No reply came within the time that clients wait. The client is not logged in any more: servers end a session without a command for 45 seconds, or when five tries of a message are not acknowledged. Or the server is down, or a packet was lost.")
	noLogin     = finding.Unanswered(catalog, "battleye.login.noreply", "No reply came within the time that clients wait. The server has no password for the remote console (RConPassword), listens on another port (RConPort), or is down; it ignores clients that it bans, or a firewall drops the packets.")
	refused     = catalog.Finding(dissect.FindingType{ID: "battleye.login.refused", Severity: dissect.Note, Class: core.OfRefusal, Text: "the server refuses the password", Doc: "The password of the login is wrong. Many in a row are somebody who tries passwords."})
	unrequested = finding.Unrequested(catalog, "battleye.unrequested", "The capture has requests of this conversation, but no pending one with this number. It is a duplicate, a late reply or a forged packet, or the capture lost what it answers.")
	badSum      = finding.New(catalog, dissect.Warning, "battleye.crc", "CRC-32 is %x, the header says %x",
		"Servers and clients drop a packet with a wrong checksum. It was damaged or rewritten on the way, or its sender computes the number differently.", "An own program should compute the CRC-32 over all bytes after the checksum, FF included, and write it little-endian. If other programs have it too, something on the way changes the packets.")

	partMissing = finding.New(catalog, dissect.Warning, "battleye.part.missing", "%d of %d {part|parts} of this reply arrived; missing: %p (%p)",
		"Some parts of a long reply are not in the capture. Clients wait for them or show a reply with holes; they do not come again unless the client repeats the command.", finding.MissingParts)
	partDuplicate = finding.Duplicate(catalog, "battleye.part.duplicate", "The network, the server or the capture duplicated parts of the reply. They are used once.")
	partReorder   = finding.Reordered(catalog, "battleye.part.reorder", "The network delivered the parts in another order. Clients that append them as they come show a jumbled reply.")
	partConflict  = finding.Conflict(catalog, "battleye.part.conflict", "Two parts have the same command number and index and different text: a number was used again too soon, or somebody forges packets.")
	partTotals    = finding.New(catalog, dissect.Warning, "battleye.part.totals", "parts that state different totals: %p",
		"The parts of one reply must state the same number of parts. Replies to two commands with the same number were mixed, or somebody forges packets.", finding.MixedParts)
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "battleye",
	Title:   "BattlEye RCon",
	Doc:     "The remote console of servers with BattlEye: Arma 2 and 3, DayZ and others.",
	Source:  "BattlEye RCon protocol specification",
	Ports:   []uint16{2301, 2302, 2303, 2304, 2305, 2306, 2307, 2308, 2309, 2310},
	Starts:  []string{magic},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Split: &dissect.Splitting{
		Read: readPart, Alone: true, Incomplete: partMissing, Duplicate: partDuplicate, Reordered: partReorder, Conflict: partConflict, Totals: partTotals,
	},
	Pairing: finding.Usual(unanswered, unrequested),
}

const (
	magic     = "BE"
	mark      = 0xff
	lenHeader = 8  // with the type
	lenSplit  = 12 // with the header of a part
	lenDetect = 64 // what Detect sees of a longer payload

	typeLogin   = 0
	typeCommand = 1
	typeMessage = 2
)

// The topics of requests.
const (
	topicLogin dissect.Topic = 1 << iota
	topicCommand
	topicMessage
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	switch {
	case len(b) < lenHeader, string(b[:2]) != magic, b[6] != mark, b[7] > typeMessage, len(b) == lenHeader && b[7] != typeLogin:
		return dissect.No
	case len(b) >= lenDetect:
		return dissect.Likely // the checksum goes on behind them
	case binary.LittleEndian.Uint32(b[2:]) == crc32.ChecksumIEEE(b[6:]):
		return dissect.Certain
	}
	return dissect.Possible
}

// readPart reads the header of a part. See [reassembly.ReadPart].
func readPart(b []byte, _ uint8) (reassembly.Part, bool) {
	if len(b) < lenSplit || string(b[:2]) != magic || b[6] != mark || b[7] != typeCommand || b[9] != 0 || b[11] >= b[10] {
		return reassembly.Part{}, false
	}
	return reassembly.Part{ID: uint64(b[8]), Index: int(b[11]), Total: int(b[10]), Header: lenSplit, Variant: 1}, true
}

// A Message is a pointer to one of the structs of this package.
type Message any

// Login asks for the remote console.
type Login struct{ Password string }

// LoginReply says whether the password is right.
type LoginReply struct{ Accepted bool }

// Command is a command, "" to keep the session alive.
type Command struct {
	Seq  uint8
	Text string
}

// Text is a reply to a command, a message of the server, or what acknowledges one,
// without text.
type Text struct {
	Seq  uint8
	Text string
}

// Unknown is a packet of a type that is not known.
type Unknown struct{ Type uint8 }

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

// decoder owns what a message is read into.
type decoder struct {
	login   Login
	reply   LoginReply
	command Command
	text    Text
	unknown Unknown
}

// Join joins the text of all parts.
func (d *decoder) Join(r *dissect.Reader, _ uint8, m *dissect.Message) bool {
	m.Variant = "battleye"
	joined := core.Buffer(r)
	for i := range r.Parts() {
		r.Part(i)
		readHeader(r)
		if i == 0 {
			d.text = Text{Seq: r.U8(fSeq)}
		} else {
			r.U8(fSeqAgain)
		}
		readSplit(r)
		joined = append(joined, r.Rest(fPart)...) // text behind a missing part is text
	}
	core.Keep(r, joined)
	r.Open("joined", joined)
	return true
}

// readHeader reads the header of a packet and returns its type.
func readHeader(r *dissect.Reader) uint8 {
	r.Text(fMagic, len(magic))
	rest := core.PeekFrom(r, 4)
	if sum := r.U32(fSum); !r.Failed() && !r.Cut() {
		if is := crc32.ChecksumIEEE(rest); is != sum {
			r.Find(badSum, fSum, len(magic), 4, dissect.Num(is), dissect.Num(sum))
		}
	}
	r.U8(fMark)
	return r.U8(fType)
}

func readSplit(r *dissect.Reader) {
	head := r.Begin(fHead)
	r.U8(fZero)
	r.U8(fTotal)
	r.U8(fIndex)
	r.End(head)
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if r.Parts() > 0 {
		d.decodeReply(r, m)
		return
	}
	wire.Message(m, mUnknown, &d.unknown, Unknown{})
	switch d.unknown.Type = readHeader(r); {
	case r.Failed():
	case d.unknown.Type == typeLogin:
		d.decodeLogin(r, m)
	case d.unknown.Type == typeCommand:
		d.decodeCommand(r, m)
	case d.unknown.Type == typeMessage:
		d.decodeMessage(r, m)
	default:
		r.Fail(fType, "no such type")
	}
}

func (d *decoder) decodeLogin(r *dissect.Reader, m *dissect.Message) {
	if c := r.PeekByte(0); r.Left() == 1 && (c == 0 || c == 1) {
		m.Type, m.Body, m.Pair.Answers = mLoginReply, &d.reply, topicLogin
		at := r.Offset()
		if d.reply.Accepted = r.Bool(fAccepted); !d.reply.Accepted {
			r.Find(refused, fAccepted, at, 1)
		}
		return
	}
	m.Type, m.Body, m.Pair.Asks = mLogin, &d.login, topicLogin
	d.login = Login{}
	if r.More() {
		d.login.Password = r.Text(fPassword, r.Left())
	}
}

// decodeCommand reads a command or a reply. What is a reply shows the request that
// waits for it; without one, lines of text do.
func (d *decoder) decodeCommand(r *dissect.Reader, m *dissect.Message) {
	seq := r.U8(fSeq)
	if r.Next(0) || core.Awaited(r, topicCommand, uint64(seq)+1) || strings.Contains(core.PeekText(r), "\n") {
		d.text = Text{Seq: seq}
		if r.Next(0) {
			readSplit(r)
		}
		d.decodeReply(r, m)
		return
	}
	c := wire.Message(m, mCommand, &d.command, Command{Seq: seq})
	m.Pair.Asks, m.Pair.ID = topicCommand, uint64(seq)+1
	if !r.More() {
		m.Type = mKeepAlive
		return
	}
	c.Text = readText(r, console.CommandSecret)
}

// decodeReply reads the text of a reply, whose number is known.
func (d *decoder) decodeReply(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body = mReply, &d.text
	m.Pair.Answers, m.Pair.ID = topicCommand, uint64(d.text.Seq)+1
	d.text.Text = readText(r, secret)
}

// readText reads the rest as text in which secret finds passwords.
func readText(r *dissect.Reader, secret func(string) int) string {
	if !r.More() {
		return ""
	}
	s := r.Text(fText, r.Left())
	if core.Tree(r) && secret(s) < len(s) {
		core.Hide(r, fHiddenText)
	}
	return s
}

// secret returns the offset of a password in text that a server prints, or the length
// of the text if there is none.
func secret(s string) int {
	if strings.HasPrefix(s, "RCon admin #") {
		return len(s) // who logged in or says something, not the command rcon
	}
	return console.Secret(s)
}

// decodeMessage reads a message of the server or what acknowledges it.
func (d *decoder) decodeMessage(r *dissect.Reader, m *dissect.Message) {
	d.text = Text{Seq: r.U8(fSeq)}
	m.Body, m.Pair.ID = &d.text, uint64(d.text.Seq)+1
	if !r.More() {
		m.Type, m.Pair.Answers = mAck, topicMessage
		return
	}
	m.Type, m.Pair.May = mMessage, topicMessage
	d.text.Text = readText(r, secret)
}

var style = wire.Style{Charset: dissect.Guessed}

// AppendSummary says whether the password is right.
func (l *LoginReply) AppendSummary(dst []byte) []byte {
	if l.Accepted {
		return append(dst, "accepted"...)
	}
	return append(dst, "refused"...)
}

// AppendSummary gives the number and the command, never a password.
func (c *Command) AppendSummary(dst []byte) []byte {
	if dst = wire.Number(dst, "", c.Seq); c.Text == "" {
		return dst
	}
	return style.Concealed(append(dst, ' ', ' '), c.Text, console.CommandSecret(c.Text))
}

// AppendSummary gives the number and the first line, never a password.
func (t *Text) AppendSummary(dst []byte) []byte {
	if dst = wire.Number(dst, "", t.Seq); t.Text == "" {
		return dst
	}
	line, rest, _ := strings.Cut(t.Text, "\n")
	dst = style.Concealed(append(dst, ' ', ' '), line, secret(line))
	if rest != "" {
		dst = append(dst, " …"...)
	}
	return dst
}

// AppendSummary gives the type.
func (u *Unknown) AppendSummary(dst []byte) []byte { return wire.Number(dst, "type ", u.Type) }
