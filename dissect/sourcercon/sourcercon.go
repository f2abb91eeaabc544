// Package sourcercon dissects the remote console of Source, over TCP, which Minecraft, Rust, ARK, Factorio and many other servers have as
// well.
//
// A packet is its size, an id that the client chose, a type, a text, and two zero bytes; numbers have 32 bits and are little-endian:
//
//	3  a login: the password. The reply has type 2 and the same id, or -1 for a wrong one; Source sends an empty packet of type 0 before
//	2  a command. What it prints comes back in packets of type 0 with its id, each of at most 4096 bytes of text
//	0  from a client: it has no meaning and is answered after the commands before it, so that the end of their output is known.
//	   Clients of Minecraft send any other type for that
//
// Servers may also send what nobody asked for, such as the chat (Rust: type 4), or Keep Alive (ARK: type 0).
//
// Sources: Valve Developer Community, Source RCON Protocol; wiki.vg, RCON.
package sourcercon

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("source-rcon")

var style = wire.Style{Charset: dissect.Guessed, Codes: core.Minecraft}

var (
	fSize     = catalog.Add("size", dissect.Uint, "Bytes of the packet behind the size.", dissect.Framing)
	fID       = catalog.Add("id", dissect.Int, "Number that the client chose; replies return it, but for a wrong password with -1.", dissect.Chosen)
	fType     = catalog.Add("type", dissect.Uint, "Type of the packet.")
	fPassword = catalog.Add("password", dissect.String, "Password of the remote console.", dissect.Secret)
	fCommand  = catalog.Add("command", dissect.String, "Command for the console of the server. It is masked, as passwords are.", dissect.Secret)
	fText     = catalog.Add("text", dissect.String, "What the server prints.", dissect.FreeText, dissect.InText(style.Charset, style.Codes))
	fHidden   = fText.Hidden()
	fMark     = catalog.Add("mark", dissect.String, "Text of a packet by which a client marks the end, mostly empty. It is masked where it is about a password.", dissect.FreeText)
	fHideMark = fMark.Hidden()
	fBehind   = catalog.Add("behind", dissect.Bytes, "What follows the end of the text. It is masked: passwords may be in it.", dissect.Secret)
	fEnd      = catalog.Add("end", dissect.Bytes, "Bytes behind the text, which end it and a second, empty text.", dissect.Framing, dissect.Public)

	mLogin   = catalog.Message(dissect.MessageType{Name: "login_request", Title: "login request", Role: dissect.Request, Unanswered: noLogin, Doc: "A client that wants the remote console, with its password in the clear."})
	mAnswer  = catalog.Message(dissect.MessageType{Name: "login_reply", Title: "login reply", Role: dissect.Reply, Doc: "Whether the password is right."})
	mCommand = catalog.Message(dissect.MessageType{Name: "command_request", Title: "command", Role: dissect.Request, Doc: "A command for the console of the server."})
	mReply   = catalog.Message(dissect.MessageType{Name: "command_reply", Title: "reply", Role: dissect.Reply, Doc: "What the server prints for a command, or a part of that; or an empty packet before the reply to a login."})
	mEnd     = catalog.Message(dissect.MessageType{Name: "end_request", Title: "end mark", Role: dissect.Request, Doc: "A packet without meaning, whose reply shows the client that the replies before it are complete."})
	mMessage = catalog.Message(dissect.MessageType{Name: "server_message", Title: "server message", Role: dissect.OneWay, Doc: "What the server prints without a command, such as the chat, or that it is there (ARK)."})

	unanswered = finding.New(catalog, dissect.Warning, "rcon.noreply", "%p unanswered%p",
		"The connection was made, and no reply came within the time that clients wait. The client is not logged in, the server is busy with the command, or it does not answer commands that print nothing.",
		"Log in first and wait for the reply. Wait longer for commands that take long, such as one that saves the world.")
	noLogin = finding.New(catalog, dissect.Warning, "rcon.login.noreply", "%p unanswered%p",
		"The connection was made, and the server does not answer the password. It has none (rcon_password, rcon.password), is still starting, bans the address after wrong passwords, or speaks another protocol on this port, such as Rust with rcon.web 1.",
		"Set a password on the server, and look for bans (listip of Source). For Rust, use a client of its WebSocket console, or set rcon.web 0.")
	refused     = catalog.Finding(dissect.FindingType{ID: "rcon.login.refused", Severity: dissect.Note, Class: core.OfRefusal, Text: "the server refuses the password", Doc: "The password of the login is wrong, or a command came before the login. Many in a row are somebody who tries passwords."})
	unrequested = finding.Unrequested(catalog, "rcon.unrequested", "The capture has requests of this connection, but no pending one with this id. The reply is late, or the capture lost what it answers.")
	full        = catalog.Finding(dissect.FindingType{ID: "rcon.full", Severity: dissect.Chat, Text: "%d bytes of text: the reply goes on in another packet", Doc: "Servers send at most 4096 bytes of text in a packet. The next packets have the same id, and none says that it is the last."})
	wrongSize   = finding.Length(catalog, "rcon.size", "the packet says %d bytes, %d are there", "The size of the packet is not that of its content.", finding.WrongLength)
	noEnd       = catalog.Finding(dissect.FindingType{ID: "rcon.end", Severity: dissect.Note, Text: "the text does not end with two zero bytes", Doc: "Clients that count on the zero bytes lose the last letters or wait for more. Some servers send one, or none."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "source-rcon",
	Title:   "Source RCON",
	Doc:     "The remote console of Source over TCP, and of the many servers that took it over: Minecraft, Rust, ARK, Palworld, Factorio and others.",
	Source:  "Valve Developer Community, Source RCON Protocol; wiki.vg, RCON",
	Ports:   []uint16{27015, 25575, 27016, 27017, 27020, 28016, 32330},
	Stream:  Stream,
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested),
}

const (
	lenSize   = 4
	lenHeader = 12
	minSize   = 10
	maxSize   = 1 << 20 // servers of others than Valve send more than 4096 bytes of text
	fullText  = 4096
	detected  = 64 // bytes of a payload that Detect gets

	typeReply   = 0
	typeCommand = 2
	typeLogin   = 3

	keepAlive   = "Keep Alive\x00\x00"               // what ARK sends while nothing happens
	endOfSource = "\x00\x00\x00\x01\x00\x00\x00\x00" // what Source sends after the reply to an end mark
)

// The topics of requests.
const (
	topicLogin dissect.Topic = 1 << iota
	topicCommand
	topicEnd
)

// Stream returns the length of the packet that b begins with. See [dissect.Protocol].
func Stream(b []byte) (length int, over bool) {
	if len(b) < lenSize {
		return 0, false
	}
	n := binary.LittleEndian.Uint32(b)
	if n < minSize-2 || n > maxSize { // some servers leave the zero bytes out
		return -1, false
	}
	return lenSize + int(n), false
}

// Detect judges a packet by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	switch {
	case len(b) == 0, len(b) > 2 && b[2] != 0, len(b) > 3 && b[3] != 0:
		return dissect.No
	case len(b) < lenSize:
		return dissect.Possible
	}
	n := int(binary.LittleEndian.Uint32(b))
	switch {
	case n < minSize || len(b) >= lenHeader && binary.LittleEndian.Uint32(b[8:]) > 0xff:
		return dissect.No
	case len(b) < lenHeader:
		return dissect.Possible
	}
	text := b[lenHeader:min(len(b), lenSize+n)]
	whole := len(b) >= lenSize+n
	end := []byte{0, 0}
	if !whole {
		end = end[:1] // the first of two may be there
	}
	text, ended := bytes.CutSuffix(text, end)
	if whole && !ended ||
		!readable(text) && (!strings.HasPrefix(endOfSource, string(text)) || whole && len(text) < len(endOfSource)) {
		return dissect.No
	}
	wrong := bytes.IndexRune(text, utf8.RuneError)
	switch kind := b[8]; {
	case kind != typeReply && kind != typeCommand && kind != typeLogin, !whole && len(b) < detected, wrong >= 0 && wrong <= len(text)-utf8.UTFMax:
		return dissect.Possible
	}
	return dissect.Likely
}

// readable reports whether b is text.
func readable(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != 0x1b || c == 0x7f })
}

// Packet is a packet of any type.
type Packet struct {
	// ID is the number that the client chose, -1 for a wrong password.
	ID   int32
	Type uint32
	// Text is the password, the command, or what the server prints.
	Text string
}

// Login asks for the remote console with a password.
type Login Packet

// LoginReply says by its ID whether the password is right.
type LoginReply Packet

// Command is a command.
type Command Packet

// Text is what a server prints, or an end mark.
type Text Packet

// A Message is a pointer to one of the structs of this package.
type Message any

// Parse reads one packet, of a client unless its type is one that only servers send. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there is returned with it.
func Parse(packet []byte) (Message, error) { return wire.Parse[Message](protocol, packet) }

type decoder struct {
	login   Login
	answer  LoginReply
	command Command
	text    Text
}

// Decode reads one packet.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	wire.Message(m, mMessage, &d.text, Text{})
	size := int(r.U32(fSize))
	finding.Differs(r, wrongSize, fSize, 0, lenSize, size, r.Left())
	p := Packet{ID: r.I32(fID), Type: r.U32(fType)}
	if r.Failed() {
		d.text = Text(p)
		return
	}
	n := strings.IndexByte(core.PeekText(r), 0)
	if n < 0 || core.PeekText(r) == endOfSource+"\x00\x00" {
		n = max(r.Left()-2, 0)
	}
	m.Pair.ID = uint64(uint32(p.ID)) + 1
	field, empty := fText, n == 0
	switch server := core.FromServer(r); {
	case p.Type == typeLogin:
		m.Type, m.Body, m.Pair.Asks = mLogin, &d.login, topicLogin
		field = fPassword
	case p.Type == typeCommand && (server || core.Awaited(r, topicLogin, m.Pair.ID)):
		m.Type, m.Body, m.Pair.Answers = mAnswer, &d.answer, topicLogin
		if p.ID == -1 {
			m.Pair.ID, m.Pair.Answers = dissect.AnyID, topicLogin|topicCommand
			r.Find(refused, fID, lenSize, lenSize)
		}
	case p.Type == typeCommand:
		m.Type, m.Body, m.Pair.Asks = mCommand, &d.command, topicCommand
		field = fCommand
	case p.Type == typeReply && core.PeekText(r) == keepAlive && !core.Awaited(r, topicCommand|topicEnd, m.Pair.ID): // what nobody asked for
	case p.Type == typeReply && (server || !empty):
		m.Type, m.Pair.Answers, m.Pair.Also = mReply, topicCommand|topicEnd, topicLogin
	case !server:
		m.Type, m.Pair.Asks = mEnd, topicEnd
		field = fMark
	}
	if n > 0 && r.More() {
		p.Text = r.Text(field, n)
		if core.Tree(r) && console.Secret(p.Text) < len(p.Text) {
			core.Hide(r, fHidden) // whichever it is
			core.Hide(r, fHideMark)
		}
	}
	if m.Type == mReply && n >= fullText {
		r.Note(full, dissect.Num(n))
	}
	rest := core.PeekTo(r, r.Left())
	zeros := len(rest) - len(bytes.TrimLeft(rest, "\x00"))
	if zeros > 0 {
		r.Bytes(fEnd, zeros)
	}
	if core.Remaining(r, fBehind); len(rest) != 2 && !r.Failed() {
		r.Note(noEnd)
	}
	d.login, d.answer, d.command, d.text = Login(p), LoginReply(p), Command(p), Text(p)
}

// AppendSummary gives nothing: the password is a secret.
func (*Login) AppendSummary(dst []byte) []byte { return dst }

// AppendSummary says whether the password is right.
func (a *LoginReply) AppendSummary(dst []byte) []byte {
	if a.ID == -1 {
		return append(dst, "refused"...)
	}
	return append(dst, "accepted"...)
}

// AppendSummary gives the id. The command is masked.
func (c *Command) AppendSummary(dst []byte) []byte {
	return append(wire.Number(dst, "", c.ID), "  ***"...)
}

// AppendSummary gives the id and the first line, never a password.
func (t *Text) AppendSummary(dst []byte) []byte {
	dst = wire.Number(dst, "", t.ID)
	text := strings.TrimRight(t.Text, "\r\n")
	if text == "" {
		return dst
	}
	line, rest, _ := strings.Cut(text, "\n")
	dst = style.Concealed(append(dst, ' ', ' '), line, console.Secret(line))
	if rest != "" {
		dst = append(dst, " …"...)
	}
	return dst
}
