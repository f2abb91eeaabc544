package quake3master

import (
	"net/netip"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/judge"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

var style = summary.Style{Charset: dissect.Guessed}

const topicServers dissect.Topic = 1

var (
	mServersRequest = &dissect.MessageType{Name: "servers_request", Title: "servers request", Role: dissect.Request,
		Doc: "getservers or getserversExt: asks for the servers of a game. Ext gives IPv6 addresses as well."}
	mServersReply = &dissect.MessageType{Name: "servers_reply", Title: "servers reply", Role: dissect.Reply,
		Doc: "getserversResponse or getserversExtResponse: one of the replies that make the list."}
	mHeartbeat = &dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay,
		Doc: "heartbeat: a server tells its master that it is there. The master then asks it with getinfo."}
	mQuit = &dissect.MessageType{Name: "quit", Title: "quit", Role: dissect.OneWay,
		Doc: "flatline, or a heartbeat with a tag of its own: a server shuts down."}
)

var (
	unanswered = &dissect.FindingType{ID: "q3master.noreply", Severity: dissect.Note, Text: "%p unanswered%p",
		Doc: "No reply came within the time that clients wait. The master is down or another one, it knows neither the game nor its protocol, or a firewall drops the request or the reply."}
	unrequested = &dissect.FindingType{ID: "q3master.unrequested", Severity: dissect.Note, Text: "no request seen for this reply",
		Doc: "A reply in a conversation whose requests are in the capture, but none that it answers: one that came too late, or a forged one. Clients that take replies from anybody can be fed with servers that way."}
	list = &dissect.FindingType{ID: "q3master.list", Severity: dissect.Chat, Text: "the list has %d {server|servers} in %d {reply|replies}; its request is frame %d",
		Doc: "A list that came in several replies, at its end. Entries that came twice count twice."}
	endless = &dissect.FindingType{ID: "q3master.noterm", Severity: dissect.Warning, Text: "no reply ends the list (replies: %d, servers: %d)",
		Doc: "The last reply to a request ends with EOT or EOF, so that clients know that they have it all. Here none does: the last reply was lost, the capture ended too early, or it is one of the masters that send no mark, for which clients have to wait."}
	cut = &dissect.FindingType{ID: "q3master.cut", Severity: dissect.Warning, Text: "an entry is cut: %d {byte is|bytes are} left",
		Doc: "The entries do not fill the reply: it was cut, or what stands there is no entry. Whole entries are shown, the rest is the field data."}
	fillers = &dissect.FindingType{ID: "q3master.filler", Severity: dissect.Chat, Text: "entries without an address or a port: %d",
		Doc: "Some masters fill their replies with entries of zeros. They are no servers and not in the list."}
	layoutUsed = &dissect.FindingType{ID: "q3master.layout", Severity: dissect.Chat, Text: "entries %p",
		Doc: "The entries do not stand as Quake 3's master sends them, each behind a backslash. Clients for other games misread them."}
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "quake3-master",
	Title:  "Quake 3 master servers",
	Doc:    "Lists of servers and heartbeats of Quake 3 and its descendants: the masters of id, Raven, Infinity Ward and Tremulous, and dpmaster with its many games.",
	Source: "dpmaster techinfo.txt; ioquake3 and Tremulous (cl_main.c, sv_main.c); qstat; pyq3serverlist",
	Ports: []uint16{
		27950, // Quake 3, Wolfenstein, Enemy Territory, dpmaster
		27953, // Elite Force
		28060, // Jedi Outcast
		29060, // Jedi Academy
		20110, // Soldier of Fortune II
		20510, // Call of Duty, and the next ones
		20610,
		20710,
		20810,
		30700, // Tremulous
		30710,
	},
	Starts:   []byte{0xff},
	Fields:   fields,
	Messages: []*dissect.MessageType{mServersRequest, mServersReply, mHeartbeat, mQuit},
	Findings: []*dissect.FindingType{unanswered, unrequested, list, endless, cut, fillers, layoutUsed},
	Detect:   Detect,
	New:      func() dissect.Decoder { return new(decoder) },
	Pairing: dissect.Pairing{
		Unanswered: unanswered, Endless: endless,
		OnReply: []dissect.Rule{judge.List(list)},
		OnStray: []dissect.Rule{judge.OtherKind(dissect.OtherKind), judge.Unrequested(unrequested)},
	},
}

// words are those of the messages, those that others begin with behind them.
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
	if c := b[0] | 0x20; c < 'f' || c > 'h' { // no word begins so
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

// hasWord reports whether b begins with a word, compared without case as the
// engines do. What follows it is another question.
func hasWord(b []byte, word string) bool {
	return len(b) >= len(word) && wire.Same(b[:len(word)], word)
}

var (
	// replied: entries need not begin with a mark.
	replied = wire.Forms{wire.Certain("", nil)}
	asked   = wire.Forms{wire.Certain("", func(rest []byte) bool { return len(rest) == 0 || blank(rest[0]) })}
	// tagged: heartbeats of Quake 2 and QuakeWorld have no tag.
	tagged = wire.Forms{wire.Certain(" ", func(rest []byte) bool { return len(rest) > 0 && rest[0] > ' ' && rest[0] < 0x7f })}
)

func digit(b byte) bool { return b >= '0' && b <= '9' }

// blank reports whether a byte ends a word, ender whether it ends a line.
func blank(b byte) bool { return b <= ' ' }

func ender(b byte) bool { return b == '\n' || b == '\r' || b == 0 }

func notBlank(b byte) bool { return b > ' ' }

// inLine reports whether a byte stands between the words of a line.
func inLine(b byte) bool { return blank(b) && !ender(b) }

// ofKey reports whether a byte is one of a keyword before its value.
func ofKey(b byte) bool { return b > ' ' && b != '=' }

// A Message is one of *ServersRequest, *ServersReply and *Heartbeat.
type Message interface{ quake3master() }

// ServersRequest is getservers or getserversExt.
type ServersRequest struct {
	// Extended says that it is getserversExt.
	Extended bool
	// Game is "" if the request names none.
	Game string
	// Protocol is a number in text.
	Protocol string
	// Filter holds the keywords as they stand, Keywords one by one, with
	// what follows an equals sign as the value.
	Filter   string
	Keywords []dissect.KeyValue
}

// ServersReply is one of the replies that make a list.
type ServersReply struct {
	// Servers are the addresses, fillers left out.
	Servers []netip.AddrPort
	// Fillers is the number of entries without an address or a port.
	Fillers int
	// End is EOT or EOF if the reply ends the list, else "".
	End string
	// Packet and Packets number the replies of a list, from 1 (Tremulous);
	// 0 if the reply does not say.
	Packet, Packets int
	// Label is what the servers have in common (Tremulous).
	Label string

	unread bool // no entries were found
}

// Heartbeat is what a server tells its master: that it is there, or that it
// shuts down.
type Heartbeat struct {
	// Tag says what kind of server it is.
	Tag string
	// Quit says that it shuts down.
	Quit bool
}

func (*ServersRequest) quake3master() {}
func (*ServersReply) quake3master()   {}
func (*Heartbeat) quake3master()      {}

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](new(decoder), payload) }

type decoder struct {
	request   ServersRequest
	reply     ServersReply
	heartbeat Heartbeat
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	r.I32(fHeader)
	for i := range words {
		if w := &words[i]; hasWord(r.Peek(), w.word) && w.forms.Judge(r.PeekFrom(len(w.word))) != dissect.No {
			w.decode(d, r, m, len(w.word))
			return
		}
	}
	d.request = ServersRequest{}
	m.Type, m.Body = mServersRequest, &d.request
	r.Fail(fCommand, "no such message")
}

// begin reads a word of n bytes and the blank behind it.
func begin(r *dissect.Reader, n int) {
	suf := 0
	if c := r.PeekByte(n); c == ' ' || c == '\t' {
		suf = 1
	}
	r.Span(fCommand, 0, 0, n, suf)
}

// skip reads the blanks before a word.
func skip(r *dissect.Reader) {
	if n := r.While(0, inLine); n > 0 {
		r.Bytes(fBlanks, n)
	}
}

// argument reads the next word of the line and the blank behind it. It is "" at
// the end of the line.
func argument(r *dissect.Reader, f *dissect.Field) string {
	skip(r)
	n := r.While(0, notBlank)
	if n == 0 {
		return ""
	}
	return r.Span(f, 0, 0, n, min(1, r.While(n, inLine)-n))
}

// line returns the length of what is left of the line, without blanks at its
// end.
func line(r *dissect.Reader) int {
	return wordsLen(r.PeekTo(r.Until("\n\r\x00")))
}

// wordsLen returns the length of b without the blanks at its end.
func wordsLen(b []byte) int {
	n := len(b)
	for n > 0 && blank(b[n-1]) {
		n--
	}
	return n
}

// end reads new lines, zero bytes and blanks, if there are any.
func end(r *dissect.Reader) {
	if n := r.While(0, blank); n > 0 {
		r.Bytes(fEnd, n)
	}
}

// decodeRequest reads getservers [game] protocol [keywords]; getserversExt always
// has the game (dpmaster techinfo, "getservers").
func (d *decoder) decodeRequest(r *dissect.Reader, m *dissect.Message, n int) {
	q := &d.request
	*q = ServersRequest{Extended: n > len("getservers"), Keywords: q.Keywords[:0]}
	m.Type, m.Body = mServersRequest, q
	m.Pair = dissect.Pair{Asks: topicServers, Challenge: dissect.ChallengeAbsent}
	begin(r, n)
	skip(r)
	if q.Extended || r.More() && r.While(0, digit) == 0 {
		q.Game = argument(r, fGame)
	}
	q.Protocol = argument(r, fProtocol)
	skip(r)
	n = line(r)
	filter := r.PeekTo(n)
	if n > 0 {
		q.Filter = r.Text(fFilter, n)
	}
	end(r)
	if q.Filter != "" {
		d.readFilter(r, filter)
	}
}

// readFilter reads the keywords once more, one by one, as a source of their own.
func (d *decoder) readFilter(r *dissect.Reader, filter []byte) {
	q := &d.request
	if n := r.Left(); n > 0 {
		// Said here, because another source follows.
		r.Find(dissect.Trailing, fTrailing, r.Offset(), n, dissect.Num(n))
		r.Rest(fTrailing)
	}
	r.Open("filter", filter)
	list := r.Begin(fFilters)
	for r.More() {
		open := r.Begin(fKeyword)
		n, equals := r.While(0, ofKey), 0
		if r.PeekByte(n) == '=' {
			equals = 1
		}
		value := r.While(n+equals, notBlank)
		blanks := min(r.While(value, blank), value+maxBlanks)
		kv := dissect.KeyValue{Key: r.Span(fKey, 0, 0, n, equals)}
		kv.Value = r.Span(fValue, 0, 0, value-n-equals, blanks-value)
		r.End(open)
		q.Keywords = append(q.Keywords, kv)
		skip(r)
	}
	r.End(list)
}

// maxBlanks is how many blanks a leaf can have behind its value.
const maxBlanks = 200

// dead are the ends of the tags with which servers of some games say that they
// shut down: WolfFlatline-1, ETFlatline-1, CoD4dead.
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

// AppendSummary gives the game, the protocol and the keywords.
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

// AppendSummary gives the number of servers and says whether more follow.
func (p *ServersReply) AppendSummary(dst []byte) []byte {
	if p.unread {
		return dst
	}
	dst = summary.Count(dst, "", len(p.Servers), "server", "servers")
	if p.Label != "" {
		dst = style.Quoted(dst, ", ", p.Label)
	}
	if p.Packets > 0 {
		dst = summary.Number(dst, ", reply ", p.Packet)
		dst = summary.Number(dst, " of ", p.Packets)
	}
	if p.End != "" {
		dst = append(dst, ", end of the list"...)
	}
	return dst
}

// AppendSummary gives the tag.
func (m *Heartbeat) AppendSummary(dst []byte) []byte {
	return style.Text(dst, "", m.Tag)
}
