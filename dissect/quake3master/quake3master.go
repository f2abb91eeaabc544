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
	"net/netip"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
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
	asked   = wire.Forms{wire.Certain("", func(rest []byte) bool { return len(rest) == 0 || blank(rest[0]) })}
	// tagged: heartbeats of Quake 2 and QuakeWorld have no tag.
	tagged = wire.Forms{wire.Certain(" ", func(rest []byte) bool { return len(rest) > 0 && rest[0] > ' ' && rest[0] < 0x7f })}
)

func digit(b byte) bool { return b >= '0' && b <= '9' }

// blank reports whether a byte ends a word, and ender whether it ends a line.
func blank(b byte) bool { return b <= ' ' }

func ender(b byte) bool { return b == '\n' || b == '\r' || b == 0 }

func notBlank(b byte) bool { return b > ' ' }

// inLine reports whether a byte separates words of a line.
func inLine(b byte) bool { return blank(b) && !ender(b) }

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
	d.request = ServersRequest{}
	m.Type, m.Body = mServersRequest, &d.request
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
func skip(r *dissect.Reader) {
	if n := core.While(r, 0, inLine); n > 0 {
		r.Bytes(fBlanks, n)
	}
}

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
func line(r *dissect.Reader) int { return wordsLen(core.PeekTo(r, r.Until("\n\r\x00"))) }

// wordsLen returns the length of b without the blanks at its end.
func wordsLen(b []byte) int {
	n := len(b)
	for n > 0 && blank(b[n-1]) {
		n--
	}
	return n
}

// end reads line ends, zero bytes and blanks, if there are any.
func end(r *dissect.Reader) {
	if n := core.While(r, 0, blank); n > 0 {
		r.Bytes(fEnd, n)
	}
}

// decodeRequest reads getservers [game] protocol [keywords]; getserversExt always
// has the game (dpmaster techinfo, "getservers").
func (d *decoder) decodeRequest(r *dissect.Reader, m *dissect.Message, n int) {
	q := &d.request
	*q = ServersRequest{Extended: n > len("getservers"), Keywords: q.Keywords[:0]}
	m.Type, m.Body, m.Pair = mServersRequest, q, dissect.Pair{Asks: topicServers, Challenge: dissect.ChallengeAbsent}
	begin(r, n)
	skip(r)
	if q.Extended || r.More() && core.While(r, 0, digit) == 0 {
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
	if n := r.Left(); n > 0 {
		// Reported here, because the filter becomes the current source.
		r.Find(core.Trailing, fTrailing, r.Offset(), n, dissect.Num(n))
		r.Rest(fTrailing)
	}
	r.Open("filter", filter)
	list := r.Begin(fFilters)
	for r.More() {
		open := r.Begin(fKeyword)
		n, equals := core.While(r, 0, ofKey), 0
		if r.PeekByte(n) == '=' {
			equals = 1
		}
		value := core.While(r, n+equals, notBlank)
		blanks := min(core.While(r, value, blank), value+maxBlanks)
		kv := dissect.KeyValue{Key: r.Span(fKey, 0, 0, n, equals)}
		kv.Value = r.Span(fValue, 0, 0, value-n-equals, blanks-value)
		r.End(open)
		q.Keywords = append(q.Keywords, kv)
		skip(r)
	}
	r.End(list)
}

// maxBlanks is the largest number of blanks in a leaf after its value.
const maxBlanks = 200

// dead are the ends of the tags by which servers of some games announce that they shut
// down: WolfFlatline-1, ETFlatline-1, CoD4dead.
var dead = []string{"flatline-1", "dead"}

// decodeHeartbeat reads heartbeat TAG and flatline TAG.
func (d *decoder) decodeHeartbeat(r *dissect.Reader, m *dissect.Message, n int) {
	h := &d.heartbeat
	*h = Heartbeat{Quit: n == len("flatline")}
	m.Type, m.Body = mHeartbeat, h
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
