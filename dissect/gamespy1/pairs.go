package gamespy1

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
)

// A reply is read twice. The first pass finds all pairs and sorts them into rules,
// players and teams, because the keys of a player may be anywhere: adjacent in most
// games, all names before all scores in some, and in two datagrams where a reply is
// cut. The second pass reads each pair at its offset, in the order of the tables.

// A segment is a run of pairs in the current source: a datagram, or the data before or
// after its markers.
type segment struct {
	from, to, part int
	goesOn         bool // the last pair of the previous segment may end here
	gap, open      bool // the data before it is missing; the data after it is
}

// A token is the text between two backslashes.
type token struct {
	from, to int
	high     bool // it may have bytes that are not ASCII
}

// A pair is a key and its value.
type pair struct {
	at              int // offset of the backslash before the key
	key, keyEnd     int
	value, valueEnd int // value is -1 if there is none
	end             int // end of the pair, with the last backslash of a segment
	part            int
	split           bool // the value contains a backslash
	kind            belonging
	field           *dissect.Field
	column          column
	next            int // next pair of the same player or team, -1 if there is none
}

// belonging says to what a pair belongs.
type belonging uint8

const (
	ofRules belonging = iota
	ofPlayers
	ofTeams
	special // it has a field of its own
)

// segment finds the segments: those of the parts of a split reply, which Join has found,
// or those around the markers of a single payload.
func (d *decoder) segment(b string, at markers) {
	if d.joined {
		return
	}
	d.segments = d.segments[:0]
	from := 0
	for _, marker := range at.inOrder() {
		if marker.at > from {
			d.segments = append(d.segments, segment{from: from, to: marker.at})
		}
		from = marker.end()
	}
	if at.body > from {
		d.segments = append(d.segments, segment{from: from, to: at.body})
	}
	if n := len(d.segments); n > 0 && at.number.n > 0 {
		d.segments[0].gap = !strings.HasPrefix(b, statusResponse+`0\`)
		d.segments[n-1].open = at.final.n == 0
	}
}

// run returns segment i with those that continue its pairs, and the number of the next.
func (d *decoder) run(i int) (run segment, next int) {
	run = d.segments[i]
	for i++; i < len(d.segments) && d.segments[i].goesOn; i++ {
		run.to, run.open = d.segments[i].to, d.segments[i].open
	}
	return run, i
}

// find finds the pairs of all segments.
func (d *decoder) find(b string, r *dissect.Reader) {
	d.pairs = d.pairs[:0]
	for i := 0; i < len(d.segments); {
		run, next := d.run(i)
		if run.to > len(b) {
			return
		}
		d.tokenise(r.Peek(), run)
		d.pairUp(b, r, run, d.segments[i:next])
		i = next
	}
}

// tokenise finds the tokens of a segment of b, eight bytes at a time.
func (d *decoder) tokenise(b []byte, s segment) {
	const ones, low, tops = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f, 0x8080808080808080
	from, b := s.from, b[:s.to]
	if b[from] == '\\' {
		from++
	}
	count := 1 + bytes.Count(b[from:], []byte{'\\'})
	d.tokens = slices.Grow(d.tokens[:0], count)[:count]
	tokens, n, at, high := d.tokens, 0, from, uint64(0)
	for ; at <= len(b)-8; at += 8 {
		x := binary.LittleEndian.Uint64(b[at:at+8]) ^ '\\'*ones
		high |= x
		for found := ^((x&low + low) | x | low); found != 0; found &= found - 1 { // a bit for each backslash
			to := at + bits.TrailingZeros64(found)/8
			tokens[n] = token{from, to, high&tops != 0}
			n++
			from, high = to+1, x
		}
	}
	for ; at < len(b); at++ {
		if high |= uint64(b[at]); b[at] == '\\' {
			tokens[n] = token{from, at, high&tops != 0}
			n++
			from, high = at+1, 0
		}
	}
	tokens[n] = token{from, len(b), high&tops != 0}
}

// of returns the text of a token of b.
func (t *token) of(b string) string { return b[t.from:t.to] }

// pairUp makes pairs of the tokens of one segment, or of several adjacent ones.
func (d *decoder) pairUp(b string, r *dissect.Reader, s segment, parts []segment) {
	tokens, from, i := d.tokens, s.from, 0
	last := len(tokens) - 1
	d.pairs = slices.Grow(d.pairs, len(tokens)/2+1)
	c := classify(tokens[0].of(b))
	if k := &tokens[0]; s.gap && !c.known && (!canBeKey(k.of(b)) || last > 0 && classify(tokens[1].of(b)).known) {
		// The value of a key that is in a missing datagram.
		d.pairs = append(d.pairs, pair{at: from, key: k.from, keyEnd: k.from, value: k.from, valueEnd: k.to, end: k.to, part: parts[0].part, next: -1})
		from = k.to
		if i++; i <= last {
			c = classify(tokens[i].of(b))
		}
	}
	for ; i <= last; i++ {
		k := &tokens[i]
		if i > 0 && i == last && k.from == k.to {
			d.pairs[len(d.pairs)-1].end = s.to // a backslash closes the last value
			return
		}
		for len(parts) > 1 && from >= parts[0].to {
			parts = parts[1:]
		}
		n := len(d.pairs)
		d.pairs = d.pairs[:n+1]
		p := &d.pairs[n]
		*p = pair{}
		p.at, p.key, p.keyEnd, p.value, p.end, p.part, p.next = from, k.from, k.to, -1, k.to, parts[0].part, -1
		if i++; i > last {
			if !s.open {
				r.Find(oddKey, pairs.Key, p.key, p.keyEnd-p.key)
			}
			return
		}
		p.value, p.column = tokens[i].from, c
		name := c.id == colName
		for i < last {
			c = classify(tokens[i+1].of(b))
			// The last text before a missing datagram may be half a key.
			if c.known || s.open && i == last-1 || !d.goesOn(b, i, c.id != noColumn, name) {
				break
			}
			p.split = true
			i++
		}
		from = tokens[i].to
		p.valueEnd, p.end = from, from
	}
}

// keyOf returns the key of pair i in b.
func (d *decoder) keyOf(b string, i int) string { return b[d.pairs[i].key:d.pairs[i].keyEnd] }

// goesOn reports whether the value that ends with token i continues after the backslash
// there. The next token is not certainly a key; column reports whether it names one.
// Servers do not escape backslashes, so only the following tokens can tell. A
// key that every game has is not the value of an unknown key. If the next such key is
// an odd number of tokens away, one of these is a piece of a value. Like qstat, this
// takes a token that does not begin with a letter for such a piece, and after the name
// of a player any word that is not a key of players.
func (d *decoder) goesOn(b string, i int, column, name bool) bool {
	t := d.tokens[i+1:]
	if n := len(t); t[n-1].from == t[n-1].to {
		t = t[:n-1]
	}
	switch {
	case len(t) == 0:
		return false
	case len(t) > 1 && classify(t[1].of(b)).known:
		return true
	}
	next := t[0].of(b)
	if next == "" {
		return true // no game has a key without a name
	}
	if column {
		return false
	}
	plausible := canBeKey(next)
	if plausible && !name {
		return false
	}
	const far = 8
	n := 1
	for n < len(t) && n < far && !classify(t[n].of(b)).known {
		n++
	}
	if n == far {
		return !plausible
	}
	return n%2 == 1
}
