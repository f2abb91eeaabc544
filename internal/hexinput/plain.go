package hexinput

import (
	"fmt"
	"strings"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// A block is plain hex that grows line by line.
type block struct {
	at     int    // where the first digit stands
	first  run    // the first row
	last   run    // the last row
	digits []byte // of all rows
	rows   int
	label  label
	sure   bool
	tab    bool // each row begins with a tab
	// closer is what should end a list or string of hex, "" for other hex. closed is
	// set once it did.
	closer string
	closed bool
}

// minWidth is the least number of digits of a row that continues on the next
// line. Shorter rows are datagrams of their own.
const minWidth = 16

// usualWidth divides the number of digits of most rows that continue.
const usualWidth = 16

// beside matches a row that repeats its bytes as text after a bar, in whatever
// way: "2E 31 00 | .1.".
var beside = lazyregexp.New(`^((?:[0-9a-fA-F]{2}[ \t]+)*[0-9a-fA-F]{2}[ \t]*)\|[ \t]*(.*[^ \t])`)

// plain reads a line that holds nothing but hex, with a time before it, and a
// comment or the same bytes as text after it.
func (p *parser) plain(l line) bool {
	start, kind := l.begin()
	text := p.s[:l.end()]
	if m := beside().FindStringSubmatch(text[start:]); m != nil && len(m[2]) <= len(strings.Fields(m[1]))+1 && !hasBytes(m[2]) {
		text = text[:start+len(m[1])]
	}
	if c := readColumns(p.s[:l.end()], start); c.confirmed && len(c.data) > 1 {
		text = text[:c.end]
	}
	r := readRun(text, start)
	if r.words == 0 || !r.ends(text) {
		return false
	}
	p.addRow(r, kind)
	return true
}

// scan reads the literals, lists, base64 and hex on a line that holds other
// things as well. They may go on in the lines after it.
func (p *parser) scan(l line) (found bool) {
	start, kind := l.begin()
	for i := start; i < p.last.end() && p.err == nil; {
		end, ok := i, false
		c := p.s[i]
		word := (isHex(c) || c == '\\') && (i == start || strings.IndexByte(" \t:=<>[](){}\"'`,;|", p.s[i-1]) >= 0)
		switch {
		case c == '"', c == '\'', c == '`', c == '\\' && word && !found:
			end, ok = p.literal(i)
		case c == '/':
			end, ok = p.base64Word(i)
		case !word:
			end, ok = p.list(i)
		}
		if end == i && word {
			end, ok = p.hex(i, start, kind)
		}
		found = found || ok
		for i = max(end, i+1); p.last.end() < i; {
			p.last, _ = p.after(p.last)
			start, kind = p.last.begin()
		}
	}
	return found || p.err != nil
}

// socketEnd matches the end of an address before its port.
var socketEnd = lazyregexp.New(`\b\d{1,3}(?:\.\d{1,3}){3}:$`)

// hex reads the run at i. kind is the label of the line, which begins at start
// after its time.
func (p *parser) hex(i, start int, kind label) (end int, found bool) {
	limit, quoted := p.last.end(), i < p.inside
	if quoted {
		limit = p.inside
	}
	text := p.s[:limit]
	r := readRun(text, i)
	isBroken := r.isBroken(text)
	switch {
	case i > 0 && text[i-1] == ':' && isDigit(text[i]) && socketEnd().MatchString(text[max(0, i-len(" 255.255.255.255:")):i]):
		return hexEnd(text, i), false
	case r.words == 0 && !isBroken && !quoted:
		return hexEnd(text, r.bad), false
	case quoted && isArgument(p.s[limit+1:], "hex"):
		kind = decoder
	default:
		kind = p.labelAt(start, i, kind)
	}
	if kind == decoder && r.bad >= 0 && (quoted || r.words > 0) && !r.cut && (quoted || strings.IndexByte(closers, text[r.bad]) < 0) {
		isBroken = true
	}
	switch {
	case isBroken && p.broken(text, &r, kind):
		return limit, true
	case r.words == 0:
		return hexEnd(text, r.bad), false
	}
	for _, at := range r.heads {
		if i > start && (kind == named || text[i-1] == '=') && !r.isQuery(0) && r.isQuery(at) {
			r.digits = r.digits[at:] // before it is a length or the like
			break
		}
	}
	sure, ok := r.judge(kind)
	ends := r.cut || r.ends(text) || kind == decoder || p.block.open() && r.start == start && strings.HasPrefix(text[r.bad:], p.block.closer)
	long := r.bytes() >= shortestList && len(r.digits)%2 == 0
	if !ok || !ends && !(sure && long) || quoted && kind != decoder && !long {
		return r.end, false
	}
	p.addRow(r, kind)
	if p.block.rows == 1 {
		p.block.closer = closing[strings.TrimRight(opening().FindString(left(text, i)), blanks)]
	}
	p.block.closed = strings.Contains(p.s[r.end:min(r.end+window, p.last.end())], p.block.closer)
	if !ends || quoted {
		p.endBlock()
	}
	return r.end, true
}

// broken is the error for a run that ends in a mistake. It reports whether the
// run certainly is hex.
func (p *parser) broken(text string, r *run, kind label) bool {
	digits := marks.Replace(right(text, r.start))
	begun := appendHex(nil, digits[:hexEnd(digits, 0)])
	partial := text[r.bad:hexEnd(text, r.bad)]
	sure := kind == decoder
	switch {
	case isQuery(begun):
		sure = sure || len(begun) > 4
	case r.words > 0:
		sure = sure || r.pairs >= 4 && hasLetters(r.digits) || r.pairs >= 3 && r.marked || r.pairs >= 2 && (kind == arrow || kind == message)
	default:
		sure = sure || len(partial) >= 16 && hasLetters([]byte(partial)) && kind != named
	}
	if sure || r.words > 1 || len(partial) >= 4 {
		at, problem := p.wrongDigit(r.bad, len(text))
		p.wrong(at, problem, sure)
	}
	return sure
}

// marks removes what is not a digit between bytes.
var marks = strings.NewReplacer("0x", "", "0X", "", `\x`, "", `\`, "", " ", "", "\t", "", ",", "", ":", "", ";", "", "-", "", "|", "")

// addRow adds a run to the block, or begins a new block with it.
func (p *parser) addRow(r run, kind label) {
	b := &p.block
	tab := strings.HasPrefix(p.last.text, "\t")
	if b.rows > 0 && !b.accepts(&r, kind, tab) {
		p.endBlock()
	}
	if b.rows == 0 {
		*b = block{at: r.start, first: r, label: kind, tab: tab}
	}
	sure, _ := r.judge(kind)
	b.rows++
	b.digits = append(b.digits, r.digits...)
	b.last = r
	b.sure = b.sure || sure || r.bytes() >= 4 && b.rows > 1
	if len(b.digits) > 2*MaxDatagram {
		p.tooLong(b.at)
	}
}

// short reports whether the last row has less than the first: none follows it.
func (b *block) short() bool { return len(b.last.digits) < len(b.first.digits) }

// open reports whether a list or string of hex may go on.
func (b *block) open() bool { return b.closer != "" && !b.closed }

// accepts reports whether a row continues the block: it has no label, does not
// begin like a query, is not longer than the first row, and all rows before are
// as long as that.
func (b *block) accepts(r *run, kind label, tab bool) bool {
	width, single := len(b.first.digits), b.first.words == 1
	switch {
	case b.open():
		return kind == unlabelled && !r.isQuery(0)
	case b.short() || width < minWidth || len(r.digits) > width || r.isQuery(0):
		return false
	case single && (r.words > 1 || tab != b.tab), !single && r.words == 1 && len(r.digits) > maxGroup:
		return false // tshark indents one direction
	case kind == arrow && b.label == arrow:
		// Lines that are quoted, rather than lines of a conversation.
		return width%usualWidth == 0 && b.first.isQuery(0)
	}
	return kind == unlabelled
}

// endBlock ends the datagram that the lines before this one make up.
func (p *parser) endBlock() {
	b := p.block
	p.block = block{}
	switch {
	case b.rows == 0:
		return
	case len(b.digits)%2 != 0:
		r := run{digits: b.digits[:len(b.digits)-1], words: 1}
		sure, _ := r.judge(b.label)
		p.wrong(b.at, fmt.Sprint(oddDigits, ": ", len(b.digits)),
			sure && (b.label == decoder || hasLetters(b.digits) && r.bytes() >= shortestList))
		return
	}
	d := Datagram{Data: appendHex(nil, b.digits), at: b.at}
	switch {
	case b.last.cut:
		d.note("an ellipsis follows: bytes are missing")
	case b.open():
		what := "list"
		if b.closer == `"` || b.closer == "'" {
			what = "string"
		}
		d.note("the %s is not closed: the end may be missing", what)
	}
	d.joined = b.rows == 2 && b.short() && len(b.first.digits)%usualWidth != 0 && b.first.words > 1 && b.closer == ""
	p.take(d, b.sure)
}
