package hexinput

import (
	"bytes"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A block is plain hex that grows line by line.
type block struct {
	rows    int
	line    line // the first one
	last    int  // the number of the last one
	start   int  // the column of the first digit
	digits  []byte
	width   int  // how many digits the first row has
	short   bool // the last row has less: nothing follows it
	sure    bool
	label   label
	single  bool // each row is one word
	tab     bool // each row begins with a tab
	twoRows bool // below each row are its characters
	heading heading
	cut     bool // an ellipsis follows
}

// minWidth is the least number of digits of a row that goes on in the next
// line. Shorter rows are datagrams of their own.
const minWidth = 16

// usualWidth divides the number of digits of most rows that go on.
const usualWidth = 16

// A heading is what the lines above a block say of it.
type heading struct {
	bytes    int
	src, dst netip.AddrPort
}

// A label is what stands before hex on its line.
type label uint8

const (
	unlabelled label = iota
	timed            // the time of a log
	arrow            // ->, <, and the like
	message          // a word that names a message, as in "reply:"
	content          // a word that may as well name a number, as in "received:"
	decoder          // a function that decodes hex
	named            // another word
	prose            // words, and nothing that separates them from the hex
)

// labels are the words that say something of the hex behind them.
var labels = map[string]label{
	"request": message, "response": message, "reply": message, "query": message, "answer": message,
	"payload": message, "raw": message, "hex": message, "rx": message, "tx": message, "recv": message,

	"received": content, "rcvd": content, "sent": content, "send": content, "data": content, "bytes": content,
	"byte": content, "udp": content, "message": content, "msg": content, "packet": content, "datagram": content,
	"buffer": content, "body": content, "content": content, "dump": content, "in": content, "out": content,
	"client": content, "server": content, "challenge": content,
}

// maxLabel is how much text before hex is looked at.
const maxLabel = 64

// stamp matches the time at the beginning of a line of a log.
var stamp = regexp.MustCompile(`^[ \t]*[\[(]?(?:` +
	`\d{4}[-/.]\d\d[-/.]\d\d(?:[T ]\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?)?|` +
	`\d\d?:\d\d:\d\d(?:[.,]\d+)?)` +
	`(?:Z| ?[+-]\d\d:?\d\d)?` +
	`(?:[\])][:,]?[ \t]*|:?[ \t]+|$)(?:[-|][ \t]+)?`)

// epochStart matches the seconds since 1970 that tcpdump -tt writes before a
// packet, and what Wireshark says of one.
var epochStart = regexp.MustCompile(`^[ \t]*(?:Epoch (?:Arrival )?Time: )?(\d{9,10}\.\d{3,9})(?: seconds| IP| eth|[: ]+\S)`)

// timeOf returns the time with which a line begins, zero if there is none.
func timeOf(text string) time.Time {
	i := skipBlanks(text, 0)
	if i == len(text) || !isDigit(text[i]) && text[i] != '[' && text[i] != '(' && text[i] != 'E' {
		return time.Time{}
	}
	if m := epochStart.FindStringSubmatch(text[:min(len(text), maxLabel)]); m != nil {
		return parseTime(m[1])
	}
	s := strings.Trim(stamp.FindString(text), " \t[](),:|-")
	return parseTime(strings.NewReplacer(",", ".", "T", " ").Replace(strings.Replace(s, " +", "+", 1)))
}

// lineStart returns where a line begins behind its time.
func lineStart(text string) (i int, kind label) {
	i = skipBlanks(text, 0)
	if i == len(text) || !isDigit(text[i]) && text[i] != '[' && text[i] != '(' {
		return i, unlabelled
	}
	if n := skipBlanks(text, len(stamp.FindString(text))); n > i && n < len(text) {
		return n, timed
	}
	return i, unlabelled
}

// labelAt returns what stands before i, in a line that begins at start.
func labelAt(text string, start, i int, kind label) label {
	if i <= start {
		return kind
	}
	s := text[max(start, i-maxLabel):i]
	trimmed := strings.TrimRight(s, " \t\"'`([{")
	call := strings.IndexByte(s[len(trimmed):], '(') >= 0
	s = trimmed
	if s == "" {
		return named // brackets, at the beginning of the line
	}
	switch last := s[len(s)-1]; {
	case strings.Trim(s, "-=<>") == "" && strings.ContainsAny(s, "<>"):
		return arrow
	case (last == '>' || last == '<') && text[i-1] == last:
		return named // a bracket
	case last == '>', last == '<', strings.HasSuffix(s, "<-"), strings.HasSuffix(s, "<="):
		return content
	case last != ':' && last != '=' && !call:
		return prose
	}
	s = strings.TrimRight(s, ":= \t\"'`")
	if open := strings.LastIndexByte(s, '('); open > 0 && strings.HasSuffix(s, ")") {
		s = strings.TrimRight(s[:open], " \t")
	}
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r >= 0x80 || !isWord(byte(r)) })
	found := named
	for n, w := range words {
		last := n == len(words)-1
		switch kind := labels[w]; {
		case call && last && (strings.Contains(w, "hex") || w == "decodestring"):
			return decoder
		case kind == message && last:
			found = message
		case kind != unlabelled:
			found = content // "payload length:" may be a number
		}
	}
	return found
}

// besideText returns where the bar stands behind which a row repeats its bytes as
// text, in whatever way: "2E 31 00 | .1."; 0 if there is none.
func besideText(text string, start int) int {
	bar := strings.IndexByte(text, '|')
	if bar <= start {
		return 0
	}
	r := readRun(text[:bar], start)
	rest := strings.Trim(text[bar+1:], " \t")
	if r.wrong >= 0 || r.words == 0 || r.pairs != r.words || r.separator != 0 || rest == "" || len(rest) > r.words+1 || hasBytes(rest) {
		return 0
	}
	return bar
}

// plain reads a line that holds nothing but hex, with a time before it, and a
// comment or the same bytes as text behind it.
func (p *parser) plain(l line) bool {
	start, kind := lineStart(l.text)
	r := readRun(l.text, start)
	if bar := besideText(l.text, start); bar > 0 {
		r = readRun(l.text[:bar], start)
	}
	if c := readColumns(l.text, start); c.confirmed&asWritten != 0 && len(c.data) > 1 {
		r = readRun(l.text[:c.end], start)
	}
	if r.words == 0 || r.wrong >= 0 && !isComment(l.text, r.end) {
		return false
	}
	p.addRow(l, r, kind)
	return true
}

// ruler passes the line above a dump that numbers its columns.
func (p *parser) ruler(l line) bool {
	const shortest = 8
	i := strings.Index(l.text, "00 01 02 03")
	if i < 0 || i > maxLabel || strings.ContainsAny(l.text[:i], "0123456789") {
		return false
	}
	r := readRun(l.text, i)
	if r.bytes() < shortest || r.pairs != r.words {
		return false
	}
	for i, b := range appendHex(nil, r.digits) {
		if int(b) != i {
			return false
		}
	}
	ahead := p.in
	for range 2 { // there may be a line between
		next, _, ok := ahead.nextFull()
		if !ok {
			return false
		}
		if row, ok := readRow(next, 0); ok && row.groups > 0 {
			p.endBlock()
			return true
		}
	}
	return false
}

// embedded reads the hex in a line that holds other things as well.
func (p *parser) embedded(l line) bool {
	start, kindOfLine := lineStart(l.text)
	found, escapes := false, true
	for i := start; i < len(l.text) && p.err == nil; i = wordAfter(l.text, i) {
		r := readRun(l.text, i)
		if l.text[i] == '\\' && r.wrong >= 0 && escapes {
			if p.escaped(l, i) {
				return true
			}
			escapes = false
		}
		broken := (r.words > 0 || r.partial > 0) && r.isBroken(l.text)
		if r.words == 0 && !broken {
			i = max(i, r.wrong-1)
			continue
		}
		kind := labelAt(l.text, start, i, kindOfLine)
		if broken && p.broken(l, &r, kind) {
			return true
		}
		if r.words == 0 {
			i = max(i, r.wrong-1)
			continue
		}
		if r.query > 0 && !r.isQuery() && i > start && (kind == prose || kind == named || l.text[i-1] == '=') {
			r.digits = r.digits[r.query:] // before it is a length or the like
		}
		ends := r.wrong < 0 || isComment(l.text, r.end) || r.cut
		if sure, ok := r.judge(kind); ok && (ends || sure && r.bytes() >= shortestList) {
			p.addRow(l, r, kind)
			if !ends {
				p.endBlock()
			}
			found = true
		}
		i = r.end - 1
	}
	return found
}

// wordAfter returns where the next word begins in which hex may.
func wordAfter(text string, i int) int {
	for i++; i < len(text); i++ {
		switch c := text[i-1]; {
		case !isBlank(c) && strings.IndexByte(":=<>[](){}\"'`,;|", c) < 0:
		case c == ':' && i > 1 && isDigit(text[i-2]) && isDigit(text[i]) && isSocket(text[:i-1]):
			i = hexEnd(text, i) // a port
		case !isBlank(text[i]):
			return i
		}
	}
	return i
}

// isSocket reports whether a text ends in an IPv4 address.
func isSocket(text string) bool {
	const longest = len("255.255.255.255")
	text = text[max(0, len(text)-longest-1):]
	start := strings.LastIndexAny(text, " \t([{<>\"'`=,;|") + 1
	_, err := netip.ParseAddr(text[start:])
	return err == nil
}

// judge reports whether a run behind a label is a payload, and whether it
// certainly is. What it is mistaken for otherwise is numbers, times, hashes and
// hardware addresses.
func (r *run) judge(kind label) (sure, ok bool) {
	if r.isQuery() {
		return true, true
	}
	n := r.bytes()
	switch kind {
	case decoder:
		return true, true
	case arrow, message:
		return !r.isNumber() || n <= 1, true
	case content:
		return !r.isAddress() && (r.prefixed || r.letters && n >= 2 || r.words > 1 && n >= 4), true
	case unlabelled, timed:
		return r.prefixed && n >= 2 ||
			n >= 4 && !r.isAddress() && (r.letters || r.words > 1 && n >= 8 || n >= longestNumber/2), true
	}
	return r.pairs >= 4 && r.pairs == r.words && r.letters && !r.isAddress(), n >= 4 && r.letters
}

// broken is the error for a run that ends in a mistake. It reports whether the
// run certainly is hex.
func (p *parser) broken(l line, r *run, kind label) bool {
	begun := readWords(l.text[r.start:])
	sure := false
	switch {
	case isQuery(begun):
		sure = len(begun) > 4
	case kind == decoder:
		sure = true
	case r.words > 0:
		sure = r.pairs >= 4 && r.letters || r.pairs >= 3 && r.prefixed ||
			r.pairs >= 2 && (kind == arrow || kind == message)
	default:
		sure = r.partial >= 16 && r.partialLetters && kind != named && kind != prose
	}
	where, problem := r.mistake(&l)
	switch {
	case sure:
		p.wrong(l, where, "%s", problem)
	case r.words > 1 || r.partial >= 4:
		p.suspect(l, where, "%s", problem)
	}
	return sure
}

const oddDigits = "an odd number of hex digits"

// mistake says where a run goes wrong, and how.
func (r *run) mistake(l *line) (int, string) {
	if r.odd {
		return r.wrong, oddDigits
	}
	return wrongDigit(l, r.wrong)
}

// wrongDigit says what stands at i, or behind the hex digits there, instead of
// a byte.
func wrongDigit(l *line, i int) (int, string) {
	end := hexEnd(l.text, i)
	switch {
	case end == len(l.text), end > i && isWordEnd(l.text, end):
		return i, oddDigits
	}
	return end, strconv.Quote(string(l.bytes(end, end+1))) + " is not a hex digit"
}

// addRow adds a run to the block, or begins another one with it.
//
// A row goes on with the block if it has no label, does not begin like a query,
// is no longer than the first row, and all rows before are as long as that.
func (p *parser) addRow(l line, r run, kind label) {
	b := &p.block
	tab := strings.HasPrefix(l.text, "\t")
	sure, _ := r.judge(kind)
	if b.rows > 0 && !b.accepts(&r, kind, tab) {
		p.endBlock()
	}
	if b.rows == 0 {
		*b = block{line: l, start: r.start, width: len(r.digits), label: kind, single: r.words == 1, tab: tab, heading: p.flow}
		b.twoRows = p.flow.bytes > 0
		p.flow = heading{}
	}
	b.rows++
	b.last, b.cut = l.number, r.cut
	b.digits = append(b.digits, r.digits...)
	b.short = len(r.digits) < b.width
	b.sure = b.sure || sure || r.bytes() >= 4 && b.rows > 1
	p.characters(&r)
	switch {
	case len(b.digits) > 2*MaxDatagram:
		p.fail(b.line, -1, "a datagram of more than %d bytes", MaxDatagram)
	case b.heading.bytes > 0 && len(b.digits)/2 >= b.heading.bytes:
		p.endBlock()
	}
}

// accepts reports whether a row goes on with the block.
func (b *block) accepts(r *run, kind label, tab bool) bool {
	switch {
	case b.heading.bytes > 0:
		return kind == unlabelled
	case b.short || b.width < minWidth || len(r.digits) > b.width || r.isQuery():
		return false
	case b.single && (r.words > 1 || tab != b.tab):
		return false // tshark indents one direction
	case !b.single && r.words == 1 && len(r.digits) > maxGroup:
		return false
	case kind == arrow && b.label == arrow:
		// Lines that are quoted, rather than lines of a conversation.
		return b.width%usualWidth == 0 && isQuery(appendHex(nil, b.digits[:minWidth]))
	}
	return kind == unlabelled
}

// characters takes the line below a row that has the characters of it.
func (p *parser) characters(r *run) {
	if r.pairs != r.words {
		return
	}
	var visible []byte
	for _, c := range appendHex(nil, r.digits) {
		if c > ' ' && c <= '~' {
			visible = append(visible, c)
		}
	}
	const widest = 16 // bytes of the line, for one of the row
	ahead := p.in
	if len(visible) == 0 && !p.block.twoRows || !ahead.short(widest*len(r.digits)) {
		return
	}
	l, ok := ahead.next()
	if !ok {
		return
	}
	shown := strings.Map(func(c rune) rune {
		if c == ' ' || c == '\t' {
			return -1
		}
		return c
	}, l.text)
	if shown == string(visible) {
		p.in = ahead
		p.block.twoRows = true
	}
}

// endBlock ends the datagram that the lines before this one made up.
func (p *parser) endBlock() {
	b := p.block
	p.block = block{}
	if b.rows == 0 {
		return
	}
	if len(b.digits)%2 != 0 {
		const problem = oddDigits + ": %d"
		r := run{digits: b.digits[:len(b.digits)-1], words: 1, letters: bytes.ContainsAny(b.digits, "abcdefABCDEF")}
		if sure, _ := r.judge(b.label); sure && r.letters && r.bytes() >= shortestList {
			p.wrong(b.line, b.start, problem, len(b.digits))
		} else {
			p.suspect(b.line, b.start, problem, len(b.digits))
		}
		return
	}
	d := Datagram{
		Data: appendHex(nil, b.digits), Line: b.line.number, Form: PlainHex,
		Src: b.heading.src, Dst: b.heading.dst,
	}
	if b.twoRows {
		d.Form = Gamedig
	}
	if b.cut {
		note(&d.Note, "an ellipsis follows: bytes are missing")
	}
	if n := b.heading.bytes; n > 0 && n != len(d.Data) {
		note(&d.Note, "%d bytes are announced, %d are here", n, len(d.Data))
	}
	if b.rows == 2 && b.short && b.width%usualWidth != 0 && !b.twoRows && !b.single {
		note(&d.Note, "lines %d and %d are taken for one datagram: put a blank line between them if they are two", b.line.number, b.last)
	}
	p.take(d, b.sure)
}

// What the lines above a payload may say.
var (
	bufferLength = regexp.MustCompile(`Buffer length: (\d{1,5}) bytes`)
	udpTo        = regexp.MustCompile(`([\[\]0-9a-fA-F:.]+:\d+) UDP(?:\(\d+\))?-->`)
	udpFrom      = regexp.MustCompile(`([\[\]0-9a-fA-F:.]+:\d+) <--UDP`)
	frameNumber  = regexp.MustCompile(`^[ \t]*Frame \d+: `)
	frameData    = regexp.MustCompile(`^Data \((\d{1,5}) bytes?\)`)
	streamNode   = regexp.MustCompile(`^Node ([01]): (\S+)`)
)

// heading reads a line that says something of those below it.
func (p *parser) heading(l line) bool {
	p.base64 = strings.HasSuffix(strings.TrimRight(l.text, " \t"), base64Heading)
	if !strings.ContainsAny(l.text, "BUFND") { // as in the words below
		p.flow = heading{}
		return false
	}
	if m := bufferLength.FindStringSubmatch(l.text); m != nil {
		p.endBlock()
		p.flow.bytes, _ = strconv.Atoi(m[1])
		return true
	}
	if m := udpTo.FindStringSubmatch(l.text); m != nil {
		p.endBlock()
		p.flow = heading{dst: socket(m[1])}
		return true
	}
	if m := udpFrom.FindStringSubmatch(l.text); m != nil {
		p.endBlock()
		p.flow = heading{src: socket(m[1])}
		return true
	}
	if m := streamNode.FindStringSubmatch(l.text); m != nil {
		p.nodes[m[1][0]-'0'] = socket(m[2])
		p.streams = [2]stream{}
	}
	if frameNumber.MatchString(l.text) {
		p.endBlock()
		p.endFrame()
		p.frame = opened
	}
	if m := frameData.FindStringSubmatch(l.text); m != nil {
		p.frameData, _ = strconv.Atoi(m[1])
	}
	p.flow = heading{}
	return false
}

// socket returns an address with its port, or the zero value.
func socket(s string) netip.AddrPort {
	a, _ := netip.ParseAddrPort(s)
	return a
}
