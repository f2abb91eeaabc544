package hexinput

import (
	"fmt"
	"regexp"
	"strings"
)

// A block is plain hex that grows line by line.
type block struct {
	at      int    // where the first digit stands
	first   run    // the first row
	last    run    // the last row
	digits  []byte // of all rows
	rows    int
	label   label
	heading heading
	sure    bool
	tab     bool // each row begins with a tab
	// characters is set if below each row are its characters, awaits if those of
	// the last row may follow.
	characters, awaits bool
}

// minWidth is the least number of digits of a row that continues on the next
// line. Shorter rows are datagrams of their own.
const minWidth = 16

// usualWidth divides the number of digits of most rows that continue.
const usualWidth = 16

// beside matches a row that repeats its bytes as text after a bar, in whatever
// way: "2E 31 00 | .1.".
var beside = regexp.MustCompile(`^((?:[0-9a-fA-F]{2}[ \t]+)*[0-9a-fA-F]{2}[ \t]*)\|[ \t]*(.*[^ \t])`)

// plain reads a line that holds nothing but hex, with a time before it, and a
// comment or the same bytes as text after it.
func (p *parser) plain(l line) bool {
	start, kind := lineStart(l.text)
	text := l.text
	if m := beside.FindStringSubmatch(text[start:]); m != nil && len(m[2]) <= len(strings.Fields(m[1]))+1 && !hasBytes(m[2]) {
		text = text[:start+len(m[1])]
	}
	if c := readColumns(l.text, start); c.confirmed&asWritten != 0 && len(c.data) > 1 {
		text = l.text[:c.end]
	}
	r := readRun(text, start)
	if r.words == 0 || !r.ends(text) {
		return false
	}
	p.addRow(l, r, kind)
	return true
}

// lineStart returns where a line begins after its time.
func lineStart(text string) (int, label) {
	i, isTimed := afterTime(text)
	if isTimed {
		return i, timed
	}
	return i, unlabelled
}

// embedded reads the hex in a line that holds other things as well.
func (p *parser) embedded(l line) bool {
	start, _ := lineStart(l.text)
	return p.runs(l, start, unlabelled)
}

// runs reads the runs of a line from a column on. Their label is known, or
// stands before them.
func (p *parser) runs(l line, from int, known label) bool {
	start, kindOfLine := lineStart(l.text)
	found, escapes := false, true
	for i := from; i < len(l.text) && p.err == nil; i = wordAfter(l.text, i) {
		r := readRun(l.text, i)
		if l.text[i] == '\\' && r.bad >= 0 && escapes {
			if p.escaped(l, i) {
				return true
			}
			escapes = false
		}
		kind, isBroken := known, r.isBroken(l.text)
		if known == unlabelled && (isBroken || r.words > 0) {
			kind = labelAt(l.text, start, i, kindOfLine)
		}
		if isBroken && p.broken(l, &r, kind) {
			return true
		}
		if r.words == 0 {
			i = max(i, hexEnd(l.text, r.bad)-1)
			continue
		}
		if r.query > 0 && !r.isQuery() && i > start && (kind == prose || kind == named || l.text[i-1] == '=') {
			r.digits = r.digits[r.query:] // before it is a length or the like
		}
		ends := r.cut || r.ends(l.text)
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

// socketEnd matches the end of an address before its port.
var socketEnd = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}:$`)

// wordAfter returns where the next word begins in which hex may stand.
func wordAfter(text string, i int) int {
	for i++; i < len(text); i++ {
		switch c := text[i-1]; {
		case strings.IndexByte(" \t:=<>[](){}\"'`,;|", c) < 0:
		case c == ':' && isDigit(text[i]) && socketEnd.MatchString(left(text, i)):
			i = hexEnd(text, i)
		case !isBlank(text[i]):
			return i
		}
	}
	return i
}

// broken is the error for a run that ends in a mistake. It reports whether the
// run certainly is hex.
func (p *parser) broken(l line, r *run, kind label) bool {
	begun := firstBytes(l.text[r.start:])
	partial := l.text[r.bad:hexEnd(l.text, r.bad)]
	sure := kind == decoder || kind == python
	switch {
	case isQuery(begun):
		sure = len(begun) > 4
	case r.words > 0:
		sure = sure || r.pairs >= 4 && hasLetters(r.digits) || r.pairs >= 3 && r.marked || r.pairs >= 2 && (kind == arrow || kind == message)
	default:
		sure = sure || len(partial) >= 16 && hasLetters([]byte(partial)) && kind != named && kind != prose
	}
	if sure || r.words > 1 || len(partial) >= 4 {
		at, problem := p.wrongDigit(l, r.bad)
		p.wrong(at, problem, sure)
	}
	return sure
}

// addRow adds a run to the block, or begins a new block with it.
func (p *parser) addRow(l line, r run, kind label) {
	b := &p.block
	tab := strings.HasPrefix(l.text, "\t")
	if b.rows > 0 && !b.accepts(&r, kind, tab) {
		p.endBlock()
	}
	if b.rows == 0 {
		*b = block{at: l.start + r.start, first: r, label: kind, tab: tab, heading: p.flow, characters: p.flow.bytes > 0}
		p.flow = heading{}
	}
	sure, _ := r.judge(kind)
	b.rows++
	b.digits = append(b.digits, r.digits...)
	b.last, b.awaits = r, r.pairs == r.words
	b.sure = b.sure || sure || r.bytes() >= 4 && b.rows > 1
	if len(b.digits) > 2*MaxDatagram {
		p.tooLong(b.at)
	}
}

// short reports whether the last row has less than the first: none follows it.
func (b *block) short() bool { return len(b.last.digits) < len(b.first.digits) }

// accepts reports whether a row continues the block: it has no label, does not
// begin like a query, is not longer than the first row, and all rows before are
// as long as that.
func (b *block) accepts(r *run, kind label, tab bool) bool {
	width, single := len(b.first.digits), b.first.words == 1
	switch {
	case b.heading.bytes > 0:
		return kind == unlabelled && len(b.digits)/2 < b.heading.bytes
	case b.short() || width < minWidth || len(r.digits) > width || r.isQuery():
		return false
	case single && (r.words > 1 || tab != b.tab), !single && r.words == 1 && len(r.digits) > maxGroup:
		return false // tshark indents one direction
	case kind == arrow && b.label == arrow:
		// Lines that are quoted, rather than lines of a conversation.
		return width%usualWidth == 0 && b.first.isQuery()
	}
	return kind == unlabelled
}

// isCharacters reports whether a line shows the characters of the row above it,
// as gamedig prints them.
func (p *parser) isCharacters(l line) bool {
	b := &p.block
	if !b.awaits {
		return false
	}
	var shown strings.Builder
	for _, c := range appendHex(nil, b.last.digits) {
		if c > ' ' && c <= '~' {
			shown.WriteByte(c)
		}
	}
	if shown.Len() == 0 && !b.characters || noBlanks.Replace(l.text) != shown.String() {
		return false
	}
	b.awaits, b.characters = false, true
	return true
}

var noBlanks = strings.NewReplacer(" ", "", "\t", "")

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
			sure && (b.label == decoder || b.label == python || hasLetters(b.digits) && r.bytes() >= shortestList))
		return
	}
	d := Datagram{Data: appendHex(nil, b.digits), at: b.at, Src: b.heading.src, Dst: b.heading.dst}
	switch {
	case b.characters:
		d.Form = Gamedig
	case b.label == python:
		d.Form = Python
	}
	if b.last.cut {
		d.note("an ellipsis follows: bytes are missing")
	}
	if n := b.heading.bytes; n > 0 && n != len(d.Data) {
		d.note("%d bytes are announced, %d are here", n, len(d.Data))
	}
	d.joined = b.rows == 2 && b.short() && len(b.first.digits)%usualWidth != 0 && !b.characters && b.first.words > 1
	p.take(d, b.sure)
}
