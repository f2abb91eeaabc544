// Package quake3master dissects the messages between Quake 3, its descendants and their
// master servers: getservers and getserversExt with their replies, and the heartbeats
// of servers.
//
// One request may have several replies. Most masters mark the end of the list in the
// last one. The layout of the entries differs from master to master; the first layout
// that fits is used. Addresses and ports are big-endian.
//
// A master queries a server that sent a heartbeat with getinfo, and the server answers
// with infoResponse. Package quake3 has these two messages.
//
// Sources: dpmaster's techinfo.txt; ioquake3 (cl_main.c, sv_main.c); Tremulous
// (cl_main.c); qstat and pyq3serverlist for the masters of Elite Force and Call of
// Duty; recorded traffic.
package quake3master

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

var style = wire.Style{Charset: dissect.Guessed}

const topicServers dissect.Topic = 1

var (
	mServersRequest = catalog.Message(dissect.MessageType{Name: "servers_request", Title: "servers request", Role: dissect.Request, Purpose: dissect.ServerList, Doc: "getservers or getserversExt: asks for the servers of a game. getserversExt lists IPv6 addresses as well."})
	mServersReply   = catalog.Message(dissect.MessageType{Name: "servers_reply", Title: "servers reply", Role: dissect.Reply, Doc: "getserversResponse or getserversExtResponse: one of the replies that make up the list."})
	mHeartbeat      = catalog.Message(dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Purpose: dissect.Heartbeat, Doc: "heartbeat: a server announces itself to its master. The master then queries it with getinfo."})
	mQuit           = catalog.Message(dissect.MessageType{Name: "quit", Title: "quit", Role: dissect.OneWay, Doc: "flatline, or a heartbeat with a special tag: a server shuts down."})

	unanswered  = finding.NoReply(catalog, "q3master.noreply", "The capture has no reply within the time that clients wait. The master is down or has another address, it does not know the game or its protocol, or the request or the reply was lost, dropped by a firewall or not captured.")
	unrequested = finding.Unrequested(catalog, "q3master.unrequested", "The capture has requests of this conversation, but none that this reply answers: the reply is late, a duplicate or forged, or the request is missing from the capture. Clients that accept replies from anybody can be given false servers that way.")
	list        = catalog.Finding(dissect.FindingType{ID: "q3master.list", Severity: dissect.Chat, Text: "the list has %d {server|servers} in %d {reply|replies}; its request is frame %d", Doc: "The end of a list that arrived in several replies. Entries that occur twice count twice."})
	endless     = finding.New(catalog, dissect.Warning, "q3master.noterm", "no reply ends the list (replies: %d, servers: %d)",
		"The last reply to a request ends with EOT or EOF, which tells clients that the list is complete. None of these replies does: the last one was lost, the capture ended too early, or the master sends no mark, so that clients have to wait.", finding.MissingParts)
	cut = finding.Length(catalog, "q3master.cut", "truncated entry: %d {byte is|bytes are} left",
		"The reply does not consist of whole entries: it was truncated, or it contains other data. Whole entries are shown; the rest is in the field data.", finding.CutList)
	fillers    = catalog.Finding(dissect.FindingType{ID: "q3master.filler", Severity: dissect.Chat, Text: "entries without an address or a port: %d", Doc: "Some masters fill their replies with entries of zeros. They are not servers and not in the list."})
	layoutUsed = catalog.Finding(dissect.FindingType{ID: "q3master.layout", Severity: dissect.Chat, Text: "entries %p", Doc: "The entries do not have the layout of Quake 3's master, in which each follows a backslash. Clients for other games misread them."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "quake3-master",
	Title:  "Quake 3 master servers",
	Group:  "Quake and Doom",
	Doc:    "Lists of servers and heartbeats of Quake 3 and its descendants: the masters of id, Raven, Infinity Ward and Tremulous, and dpmaster with its many games.",
	Source: "dpmaster techinfo.txt; ioquake3 and Tremulous (cl_main.c, sv_main.c); qstat; pyq3serverlist",
	Ports: []uint16{
		27950, // Quake 3, Wolfenstein, Enemy Territory, dpmaster
		27953, // Elite Force
		28060, // Jedi Outcast
		29060, // Jedi Academy
		20110, // Soldier of Fortune II
		20510, // Call of Duty and its successors
		20610,
		20710,
		20810,
		30700, // Tremulous
		30710,
	},
	Starts:  wire.Words("\xff\xff\xff\xff", "getservers", "heartbeat", "flatline"),
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: dissect.Pairing{
		Unanswered: unanswered, Endless: endless,
		OnReply: []dissect.Rule{finding.List(list)},
		OnStray: []dissect.Rule{finding.OtherKind(core.OtherKind), unrequested},
	},
}

// words are the first words of messages. A word follows those that begin with it.
var words = [...]struct {
	word   string
	forms  wire.Forms
	decode func(*decoder, *dissect.Reader, *dissect.Message, int)
}{
	{"getserversExtResponse", replied, (*decoder).decodeReply},
	{"getserversResponse", replied, (*decoder).decodeReply},
	{"getserversExt", asked, (*decoder).decodeRequest},
	{"getservers", asked, (*decoder).decodeRequest},
	{"heartbeat", tagged, (*decoder).decodeHeartbeat},
	{"flatline", tagged, (*decoder).decodeHeartbeat},
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < 5 || string(b[:4]) != "\xff\xff\xff\xff" {
		return dissect.No
	}
	b = b[4:]
	if c := b[0] | 0x20; c < 'f' || c > 'h' { // no word begins with another letter
		return dissect.No
	}
	for i := range words {
		if w := &words[i]; hasWord(b, w.word) {
			if v := w.forms.Judge(b[len(w.word):]); v != dissect.No {
				return v
			}
		}
	}
	return dissect.No
}

// hasWord reports whether b begins with a word, compared without case as the engines
// do. It does not look at what follows.
func hasWord(b []byte, word string) bool {
	return len(b) >= len(word) && wire.Same(b[:len(word)], word)
}

var (
	// replied: entries may begin with any byte.
	replied = wire.Forms{wire.Certain("", nil)}
	asked   = wire.Forms{wire.Certain("", quake.WordEnds)}
	// tagged: heartbeats of Quake 2 and QuakeWorld have no tag.
	tagged = wire.Forms{wire.Certain(" ", func(rest []byte) bool { return len(rest) > 0 && rest[0] > ' ' && rest[0] < 0x7f })}
)

func notBlank(b byte) bool { return b > ' ' }

// inLine reports whether a byte separates words of a line.
func inLine(b byte) bool { return quake.Blank(b) && !quake.Ender(b) }

// ofKey reports whether a byte belongs to a keyword before its value.
func ofKey(b byte) bool { return b > ' ' && b != '=' }

// A Message is one of *ServersRequest, *ServersReply and *Heartbeat.
type Message any

// ServersRequest is getservers or getserversExt.
type ServersRequest struct {
	// Extended reports whether it is getserversExt.
	Extended bool
	// Game is "" if the request names none.
	Game string
	// Protocol is a number in text.
	Protocol string
	// Filter is the text of all keywords. Keywords has them one by one, with the text
	// after an equals sign as the value.
	Filter   string
	Keywords []dissect.KeyValue
}

// ServersReply is one of the replies that make up a list.
type ServersReply struct {
	// Servers are the addresses, without fillers.
	Servers []netip.AddrPort
	// Fillers is the number of entries without an address or a port.
	Fillers int
	// End is EOT or EOF if the reply ends the list, else "".
	End string
	// Packet and Packets number the replies of a list, from 1 (Tremulous); 0 if the
	// reply has no numbers.
	Packet, Packets int
	// Label names what the servers have in common (Tremulous).
	Label string

	unread bool // no entries were found
}

// Heartbeat announces a server, or that it shuts down.
type Heartbeat struct {
	// Tag names the kind of server.
	Tag string
	// Quit reports whether the server shuts down.
	Quit bool
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request   ServersRequest
	reply     ServersReply
	heartbeat Heartbeat
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	r.I32(fHeader)
	for i := range words {
		if w := &words[i]; hasWord(r.Peek(), w.word) && w.forms.Judge(core.PeekFrom(r, len(w.word))) != dissect.No {
			w.decode(d, r, m, len(w.word))
			return
		}
	}
	wire.Message(m, mServersRequest, &d.request, ServersRequest{})
	r.Fail(fCommand, "no such message")
}

// begin reads a word of n bytes and the blank after it.
func begin(r *dissect.Reader, n int) {
	suf := 0
	if c := r.PeekByte(n); c == ' ' || c == '\t' {
		suf = 1
	}
	r.Span(fCommand, 0, 0, n, suf)
}

// skip reads the blanks before a word.
func skip(r *dissect.Reader) { core.BytesWhile(r, fBlanks, inLine) }

// argument reads the next word of the line and the blank after it. It returns "" at the
// end of the line.
func argument(r *dissect.Reader, f *dissect.Field) string {
	skip(r)
	n := core.While(r, 0, notBlank)
	if n == 0 {
		return ""
	}
	return r.Span(f, 0, 0, n, min(1, core.While(r, n, inLine)-n))
}

// line returns the length of the rest of the line without blanks at its end.
func line(r *dissect.Reader) int {
	return len(bytes.TrimRightFunc(core.PeekTo(r, r.Until("\n\r\x00")), func(c rune) bool { return c <= ' ' }))
}

// end reads line ends, zero bytes and blanks, if there are any.
func end(r *dissect.Reader) { core.BytesWhile(r, fEnd, quake.Blank) }

// decodeRequest reads getservers [game] protocol [keywords]; getserversExt always
// has the game (dpmaster techinfo, "getservers").
func (d *decoder) decodeRequest(r *dissect.Reader, m *dissect.Message, n int) {
	q := wire.Message(m, mServersRequest, &d.request, ServersRequest{Extended: n > len("getservers"), Keywords: d.request.Keywords[:0]})
	m.Pair = dissect.Pair{Asks: topicServers, Challenge: dissect.ChallengeAbsent}
	begin(r, n)
	skip(r)
	if q.Extended || r.More() && core.While(r, 0, quake.Digit) == 0 {
		q.Game = argument(r, fGame)
	}
	q.Protocol = argument(r, fProtocol)
	skip(r)
	n = line(r)
	filter := core.PeekTo(r, n)
	if n > 0 {
		q.Filter = r.Text(fFilter, n)
	}
	end(r)
	if q.Filter != "" {
		d.readFilter(r, filter)
	}
}

// readFilter reads the keywords one by one, as a source of their own.
func (d *decoder) readFilter(r *dissect.Reader, filter []byte) {
	q := &d.request
	core.Trail(r, fTrailing)
	r.Open("filter", filter)
	list := r.Begin(fFilters)
	for r.More() {
		open := r.Begin(fKeyword)
		n, equals := core.While(r, 0, ofKey), 0
		if r.PeekByte(n) == '=' {
			equals = 1
		}
		value := core.While(r, n+equals, notBlank)
		blanks := min(core.While(r, value, quake.Blank), value+quake.MaxBlanks)
		kv := dissect.KeyValue{Key: r.Span(fKey, 0, 0, n, equals)}
		kv.Value = r.Span(fValue, 0, 0, value-n-equals, blanks-value)
		r.End(open)
		q.Keywords = append(q.Keywords, kv)
		skip(r)
	}
	r.End(list)
}

// dead are the ends of the tags by which servers of some games announce that they shut
// down: WolfFlatline-1, ETFlatline-1, CoD4dead.
var dead = []string{"flatline-1", "dead"}

// decodeHeartbeat reads heartbeat TAG and flatline TAG.
func (d *decoder) decodeHeartbeat(r *dissect.Reader, m *dissect.Message, n int) {
	h := wire.Message(m, mHeartbeat, &d.heartbeat, Heartbeat{Quit: n == len("flatline")})
	begin(r, n)
	h.Tag = argument(r, fTag)
	if n := line(r); n > 0 {
		r.Text(fArguments, n)
	}
	end(r)
	for _, s := range dead {
		if i := len(h.Tag) - len(s); i >= 0 && strings.EqualFold(h.Tag[i:], s) {
			h.Quit = true
		}
	}
	if h.Quit {
		m.Type = mQuit
	}
}

// AppendSummary appends the game, the protocol and the keywords.
func (m *ServersRequest) AppendSummary(dst []byte) []byte {
	before := ""
	if m.Game != "" {
		dst = style.Text(dst, "", m.Game)
		before = ", "
	}
	if m.Protocol != "" {
		dst = style.Text(append(dst, before...), "protocol ", m.Protocol)
		before = ", "
	}
	if m.Filter != "" {
		dst = style.Text(dst, before, m.Filter)
	}
	return dst
}

// AppendSummary appends the number of servers and whether the list ends.
func (p *ServersReply) AppendSummary(dst []byte) []byte {
	if p.unread {
		return dst
	}
	dst = wire.Plural(dst, "", len(p.Servers), "server", "servers")
	if p.Label != "" {
		dst = style.Quoted(dst, ", ", p.Label)
	}
	if p.Packets > 0 {
		dst = wire.Number(dst, ", reply ", p.Packet)
		dst = wire.Number(dst, " of ", p.Packets)
	}
	if p.End != "" {
		dst = append(dst, ", end of the list"...)
	}
	return dst
}

// AppendSummary appends the tag.
func (m *Heartbeat) AppendSummary(dst []byte) []byte { return style.Text(dst, "", m.Tag) }

var catalog = dissect.NewCatalog("quake3-master")

// Every message.
var (
	fHeader    = catalog.Add("header", dissect.Int, "-1: the message belongs to no connection.", dissect.Framing)
	fCommand   = catalog.Add("command", dissect.String, "Word that names the message.", dissect.Public)
	fArguments = catalog.Add("arguments", dissect.String, "Text after the known arguments.", dissect.FreeText)
	fBlanks    = catalog.Add("blanks", dissect.Bytes, "Blanks between words.", dissect.Framing)
	fEnd       = catalog.Add("end", dissect.Bytes, "New lines and zero bytes.", dissect.Framing)
	fTrailing  = catalog.Lookup("quake3-master.trailing")

	// Requests, and heartbeats.
	fGame     = catalog.Add("request.game", dissect.String, "Name of the game. Masters of a single game omit it.", dissect.Public)
	fProtocol = catalog.Add("request.protocol", dissect.Decimal, "Network protocol version of the listed servers.")
	fFilter   = catalog.Add("filter", dissect.String, "The keywords: empty and full include such servers, ipv4 and ipv6 select addresses, gametype=N the kind of game.", dissect.Public)
	fFilters  = catalog.Add("filters", dissect.List, "The keywords, one by one.")
	fKeyword  = catalog.Add("filters.keyword", dissect.Group, "One keyword.")
	fKey      = catalog.Add("filters.key", dissect.String, "The keyword, up to an equals sign.", dissect.SettingName)
	fValue    = catalog.Add("filters.value", dissect.String, "Text after the equals sign.", dissect.Public)
	fTag      = catalog.Add("heartbeat.tag", dissect.String, "Kind of server: QuakeArena-1, DarkPlaces, EnemyTerritory-1, COD-4. Some games have another tag for a server that shuts down.", dissect.Public)

	// Replies.
	fPrelude  = catalog.Add("reply.prelude", dissect.Bytes, "Bytes between the word and the first entry.", dissect.Framing)
	fPacket   = catalog.Add("reply.packet", dissect.Decimal, "Tremulous: number of this reply, from 1.")
	fPackets  = catalog.Add("reply.packets", dissect.Decimal, "Tremulous: number of replies that make up the list.")
	fLabel    = catalog.Add("reply.label", dissect.String, "Tremulous: label of the servers in this reply.", dissect.Public)
	fHex      = catalog.Add("reply.hex", dissect.String, "Elite Force: the entries, in hexadecimal digits.", core.Becomes("decoded"), dissect.Framing)
	fServers  = catalog.Add("servers", dissect.List, "The servers.")
	fServer   = catalog.Add("servers.server", dissect.Endpoint, "Address and port of a server.")
	fFiller   = catalog.Add("servers.filler", dissect.Endpoint, "An entry without an address or a port: not a server.", dissect.Framing)
	fListEnds = catalog.Add("reply.end_of_list", dissect.String, "EOT or EOF: the list ends here.", dissect.Public)
)

// A layout is the format of the entries in a reply.
type layout struct {
	// mark reports whether a backslash precedes each entry, or a slash if it is an
	// IPv6 address.
	mark bool
	// prefix is between the mark and the address.
	prefix string
	// hex reports whether the address is in hexadecimal digits.
	hex bool
	// name describes all layouts but the first.
	name string
}

// layouts are the known layouts, in the order in which they are tried. Those with a
// mark come first because they are more certain.
var layouts = [...]layout{
	{mark: true},
	{mark: true, hex: true, name: "in hexadecimal digits, as from the master of Elite Force"},
	{mark: true, prefix: "\x00\x00\x00\x00\x04", name: "with five bytes before each address, as from the master of CoD4X"},
	{prefix: "\x00\x00\x00\x00\x04", name: "with five bytes before each address and no backslash"},
	{name: "without a backslash before each address"},
}

// The sizes of an address with its port.
const (
	size4 = 6
	size6 = 18
)

// entry returns the length of the entry at the start of b, and the offset of its
// address. Both are 0 if b has no whole entry; foreign then reports whether b does not
// even begin like one.
func (l *layout) entry(b []byte) (n, before int, foreign bool) {
	size := size4
	if l.mark {
		switch {
		case len(b) == 0 || b[0] != '\\' && b[0] != '/', b[0] == '/' && l.hex:
			return 0, 0, true
		case b[0] == '/':
			size = size6
		}
		before = 1
	}
	if l.hex {
		size *= 2
		for i, c := range b[before:min(len(b), before+size)] {
			if !hexDigit(c) && (c != ' ' || i%2 != 0) {
				return 0, 0, true
			}
		}
	}
	prefix := b[before:min(len(b), before+len(l.prefix))]
	if string(prefix) != l.prefix[:len(prefix)] {
		return 0, 0, true
	}
	before += len(l.prefix)
	if len(b) < before+size {
		return 0, 0, false
	}
	return before + size, before, false
}

// fits reports whether b consists of entries, of which the last one may be truncated.
// Without marks, only whole entries count, and text does not: masters explain in words
// why they send no list.
func (l *layout) fits(b []byte) bool {
	if !l.mark && len(b) > size4 && isText(b) {
		return false
	}
	entries := 0
	for len(b) > 0 && endOfList(b) == 0 {
		n, _, foreign := l.entry(b)
		if n == 0 {
			return !foreign && l.mark && (entries > 0 || !l.hex)
		}
		b = b[n:]
		entries++
	}
	return l.mark || entries > 0
}

// endOfList returns the length of the mark that ends the list, or 0 if b does not begin
// with one: \EOT, with zeros that complete an entry, or \EOF. Other bytes after the
// letters make them the address of a server.
func endOfList(b []byte) int {
	n := len("EOT")
	if len(b) > 0 && b[0] == '\\' {
		n++
	}
	if len(b) < n || string(b[n-3:n]) != "EOT" && string(b[n-3:n]) != "EOF" {
		return 0
	}
	zeros := b[n:min(len(b), n+maxZeros)]
	return nettext.Either(len(bytes.Trim(zeros, "\x00")) > 0, 0, n+len(zeros))
}

// maxZeros is the largest number of zeros after the mark that ends the list. Three
// complete an entry.
const maxZeros = 8

// maxPrelude is the largest number of bytes between the word and the first mark. The
// masters of Call of Duty send a new line and a zero byte there.
const maxPrelude = 4

// layoutOf returns the layout of the entries in b, or nil if it is unknown, and the
// number of bytes before them.
func layoutOf(b []byte) (prelude int, l *layout) {
	most := wire.While(b[:min(len(b), maxPrelude)], quake.Blank)
	for i := range layouts {
		l := &layouts[i]
		for n := 0; n <= most && (n == 0 || l.mark); n++ {
			if l.fits(b[n:]) {
				return n, l
			}
		}
	}
	return 0, nil
}

func isText(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return (c < ' ' || c >= 0x7f) && !quake.Ender(c) })
}

func hexDigit(c byte) bool { return quake.Digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// decodeReply reads the entries of one reply (dpmaster techinfo,
// "getserversResponse").
func (d *decoder) decodeReply(r *dissect.Reader, m *dissect.Message, n int) {
	p := wire.Message(m, mServersReply, &d.reply, ServersReply{Servers: d.reply.Servers[:0]})
	m.Pair.Answers = topicServers
	r.Span(fCommand, 0, 0, n, 0)
	p.readNumbers(r)
	prelude, l := layoutOf(r.Peek())
	if l == nil {
		p.unread = true
		r.Fail(fServers, "no entries in a format that is known")
		return
	}
	if l.name != "" {
		r.Note(layoutUsed, dissect.Str(l.name))
	}
	if prelude > 0 {
		r.Bytes(fPrelude, prelude)
	}
	if l.hex {
		p.readHex(r, l)
	} else {
		p.readEntries(r, l)
	}
	if p.Fillers > 0 {
		r.Note(fillers, dissect.Num(p.Fillers))
	}
	m.Pair.Entries, m.Pair.Last = len(p.Servers), p.End != "" || p.Packets > 0 && p.Packet == p.Packets
}

// readNumbers reads the data that Tremulous' masters send before the entries: the
// number of the reply, the number of replies, and a label of the servers, each after a
// zero byte (cl_main.c, CL_GSRSequenceInformation).
func (p *ServersReply) readNumbers(r *dissect.Reader) {
	packet := zeroAndDigits(r.Peek())
	packets := zeroAndDigits(core.PeekFrom(r, packet))
	if packet == 0 || packets == 0 || r.PeekByte(packet+packets) != 0 {
		return
	}
	if n, ok := nettext.ParseInt(r.Span(fPacket, 0, 1, packet-1, 0)); ok {
		p.Packet = int(n)
	}
	if n, ok := nettext.ParseInt(r.Span(fPackets, 0, 1, packets-1, 1)); ok {
		p.Packets = int(n)
	}
	if label := r.Until("\\/\x00"); label > 0 {
		p.Label = r.Text(fLabel, label)
	}
}

// zeroAndDigits returns the length of a zero byte and digits at the start of b, or 0 if
// b does not begin so.
func zeroAndDigits(b []byte) int {
	if len(b) < 2 || b[0] != 0 || !quake.Digit(b[1]) {
		return 0
	}
	return 1 + wire.While(b[1:min(len(b), 6)], quake.Digit)
}

// readEntries reads entries up to the end of the list or of the reply.
func (p *ServersReply) readEntries(r *dissect.Reader, l *layout) {
	open := r.Begin(fServers)
	for r.More() && endOfList(r.Peek()) == 0 {
		n, before, _ := l.entry(r.Peek())
		if n == 0 {
			break
		}
		p.readEntry(r, before, n-before)
	}
	r.End(open)
	p.readEnd(r)
	p.readRest(r)
}

// readRest reads data that is not a whole entry.
func (p *ServersReply) readRest(r *dissect.Reader) {
	if left := r.Left(); left > 0 && p.End == "" {
		r.Find(cut, nil, r.Offset(), left, dissect.Num(left))
		r.Rest(catalog.Data())
	}
}

// readEntry reads an entry: before bytes, and an address of size bytes.
func (p *ServersReply) readEntry(r *dissect.Reader, before, size int) {
	a := endpoint(core.PeekTo(r, before+size), size)
	f := nettext.Either(a.Port() == 0 || a.Addr().IsUnspecified(), fFiller, fServer)
	if r.Span(f, uint64(a.Port()), before, size, 0); r.Failed() {
		return
	}
	if f == fFiller {
		p.Fillers++
	} else {
		p.Servers = append(p.Servers, a)
	}
}

// endpoint returns the address and port in the last n bytes of b, or the zero value if
// b is shorter.
func endpoint(b []byte, n int) netip.AddrPort {
	if len(b) < n {
		return netip.AddrPort{}
	}
	b = b[len(b)-n:]
	addr, _ := netip.AddrFromSlice(b[:n-2])
	return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(b[n-2:]))
}

// readEnd reads the mark that ends the list, if there is one.
func (p *ServersReply) readEnd(r *dissect.Reader) {
	n := endOfList(r.Peek())
	if n == 0 {
		return
	}
	mark := nettext.Either(r.Next('\\'), 1, 0)
	p.End = r.Span(fListEnds, 0, mark, len("EOT"), n-mark-len("EOT"))
}

// readHex reads entries in hexadecimal digits: first the text, and then the decoded
// bytes as a source of their own.
func (p *ServersReply) readHex(r *dissect.Reader, l *layout) {
	decoded, text := l.unhex(core.Buffer(r), r.Peek())
	core.Keep(r, decoded)
	r.Text(fHex, text)
	p.readEnd(r)
	p.readRest(r)
	core.Trail(r, fTrailing)
	r.Open("decoded", decoded)
	open := r.Begin(fServers)
	for range len(decoded) / size4 {
		p.readEntry(r, 0, size4)
	}
	r.End(open)
}

// unhex appends the decoded entries at the start of b to dst, and returns the length of
// their text.
func (l *layout) unhex(dst, b []byte) (decoded []byte, text int) {
	for {
		n, before, _ := l.entry(b)
		if n == 0 {
			return dst, text
		}
		for i := before; i+1 < n; i += 2 {
			dst = append(dst, nibble(b[i])<<4|nibble(b[i+1]))
		}
		b, text = b[n:], text+n
	}
}

// nibble returns the value of a hexadecimal digit; a blank stands for a zero.
func nibble(c byte) byte {
	switch {
	case c == ' ':
		return 0
	case quake.Digit(c):
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
