package gamespy1

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/reassembly"
)

// A span is a range of a payload. n is 0 if it is absent.
type span struct{ at, n int }

func (s span) end() int { return s.at + s.n }

// of returns the bytes of the span, or nil if b does not have them.
func (s span) of(b []byte) []byte {
	if s.at < 0 || s.n < 0 || s.end() > len(b) {
		return nil
	}
	return b[s.at:s.end()]
}

// markers are the pairs by which a datagram identifies its reply and its place in it:
// queryid and final, in either order, at the end of all recorded datagrams. The
// AdminMod of SWAT 4 numbers datagrams with statusresponse, at the beginning, and ends
// them with eof.
type markers struct {
	number  span // \statusresponse\N
	queryID span // \queryid\N.M
	value   span // N.M
	final   span // \final\, or \final from Descent 3
	eof     span // \eof\
	body    int  // length without the zero bytes at the end
	order   [4]span
}

const statusResponse = `\statusresponse\`

// maxParts is the largest valid number of a datagram.
const maxParts = 255

func findMarkers(b []byte) (m markers) {
	s := bytes.TrimRight(b, "\x00")
	m.body = len(s)
	if bytes.HasPrefix(s, []byte(statusResponse)) {
		// A datagram may begin in the middle of a word, right after its number.
		rest := s[len(statusResponse):]
		if m.number.n = len(rest) - len(bytes.TrimLeft(rest, "0123456789")); m.number.n == 0 {
			m.number.n = wordLen(rest)
		}
		m.number.n += len(statusResponse)
		if end := bytes.TrimSuffix(s[m.number.n:], []byte(`\eof\`)); m.number.n+len(end) < len(s) {
			m.eof = span{m.number.n + len(end), len(`\eof\`)}
			s = s[:m.eof.at]
		}
	}
	if q := lastQueryID(s); q >= 0 {
		m.value.at = q + len(`\queryid\`)
		m.value.n = wordLen(s[m.value.at:])
		m.queryID = span{q, m.value.end() - q}
		if m.queryID.end() == len(s)-1 {
			m.queryID.n++ // a backslash closes the value
		}
		if isFinal(s[m.queryID.end():]) {
			m.final = span{m.queryID.end(), min(len(`\final\`), len(s)-m.queryID.end())}
			return m
		}
		m.final = finalBefore(s[:q])
	}
	// In \queryid\final\ the word final is the value.
	if f := finalBefore(s); m.final.n == 0 && f.at >= m.queryID.end() {
		m.final = f
	}
	return m
}

// lastQueryID returns the index of the last key queryid, or -1. Unlike
// [bytes.LastIndex] it hashes nothing on the way there, which is short.
func lastQueryID(s []byte) int {
	const key = `\queryid\`
	i := len(s) - len(key)
	for i >= 0 && (s[i] != '\\' || string(s[i:i+len(key)]) != key) {
		i--
	}
	return max(i, -1)
}

// isFinal reports whether s begins with the key final.
func isFinal(s []byte) bool {
	return len(s) >= len(`\final`) && string(s[:len(`\final`)]) == `\final` && (len(s) == len(`\final`) || s[len(`\final`)] == '\\')
}

// finalBefore returns the key final at the end of s. After the key of a name it is the
// name of a player.
func finalBefore(s []byte) span {
	n := len(`\final\`)
	if len(s) < n || string(s[len(s)-n:]) != `\final\` {
		if n--; len(s) < n || string(s[len(s)-n:]) != `\final` {
			return span{}
		}
	}
	at := len(s) - n
	if n == len(`\final`) {
		if key := s[bytes.LastIndexByte(s[:at], '\\')+1 : at]; isKnown(key) && bytes.HasPrefix(key, []byte("player")) {
			return span{}
		}
	}
	return span{at, n}
}

// readPart reads the place of a datagram in its reply. See [reassembly.ReadPart]. A
// datagram that is both first and last is not a part. Datagrams without a number are
// ordered by arrival.
func readPart(b []byte, variant uint8) (reassembly.Part, bool) {
	at := findMarkers(b)
	if kindOf(b, at) != aReply {
		return reassembly.Part{}, false
	}
	where := placeOf(b, at, variant)
	p := reassembly.Part{ID: where.id, Index: where.number - 1, Last: at.final.n > 0, Variant: where.variant}
	if where.how == byNothing || p.Last && p.Index == 0 || p.Index < 0 && !p.Last && at.queryID.n == 0 && alone(b, at.body) {
		return reassembly.Part{}, false
	}
	return p, true
}

// alone reports whether a reply without markers consists of one datagram: Unreal
// servers send such replies to a master, with nothing but one key.
func alone(b []byte, end int) bool {
	key, _, _ := bytes.Cut(b[1:end], []byte{'\\'})
	return string(key) == "validate" || string(key) == "echo"
}

// A numbering is the way in which the datagrams of a reply are numbered.
type numbering uint8

const (
	byNothing numbering = iota // the number is invalid
	byArrival                  // no numbers: no queryid, or one that only counts requests
	byQueryID                  // \queryid\N.M: datagram M of reply N
	byNumber                   // \queryid\M: the GS1 modification of SWAT 4
	byStatus                   // \statusresponse\M, from 0: the AdminMod of SWAT 4
)

// joinsPairs reports whether a pair may begin in one datagram and end in the next.
func (n numbering) joinsPairs() bool { return n >= byNumber }

func (n numbering) String() string {
	return [...]string{"arrival", "arrival", "queryid", "queryid", "statusresponse"}[n]
}

// maxNumber is the largest queryid without a dot that is taken for the number of a
// datagram.
const maxNumber = 32

// The variants of a set of parts.
const (
	numbered   = 1
	unnumbered = 2
)

// A place is the place of a datagram in its reply.
type place struct {
	how     numbering
	id      uint64 // number of the reply
	number  int    // of the datagram from 1, 0 if it has none
	variant uint8  // 0 if the other datagrams decide it
}

// placeOf returns the place of a datagram. variant is that of its set, 0 if unknown.
//
// A queryid without a dot counts either datagrams, or requests like the part before the
// dot. The first datagram of a reply decides which: its own number can only be 1.
func placeOf(b []byte, at markers, variant uint8) place {
	if at.number.n > 0 {
		n, _, ok := parseQueryID(b[len(statusResponse):at.number.n])
		if !ok || n >= maxParts {
			return place{}
		}
		return place{byStatus, 0, int(n) + 1, numbered}
	}
	if at.queryID.n == 0 {
		return place{how: byArrival, variant: unnumbered}
	}
	value := at.value.of(b)
	id, number, ok := parseQueryID(value)
	switch {
	case !ok:
		return place{}
	case number > 0:
		return place{byQueryID, id, number, numbered}
	case id == 0 || id > maxNumber || bytes.IndexByte(value, '.') >= 0:
		return place{byArrival, id, 0, unnumbered}
	}
	p := place{how: byNumber, number: int(id), variant: variant}
	if first := beginsReply(b); variant == unnumbered || first && id > 1 {
		p = place{how: byArrival, variant: unnumbered}
		if first {
			p.number = 1
		}
	} else if id == 1 {
		p.variant = numbered
	}
	return p
}

// beginsReply reports whether a datagram begins with a key that servers send first.
func beginsReply(b []byte) bool {
	return bytes.HasPrefix(b, []byte(`\hostname\`)) || bytes.HasPrefix(b, []byte(`\gamename\`)) || bytes.HasPrefix(b, []byte(`\location\`))
}

// parseQueryID parses N.M, or N alone, which gives the number 0.
func parseQueryID(s []byte) (id uint64, number int, ok bool) {
	n, m, dot := bytes.Cut(s, []byte{'.'})
	if len(n) == 0 || len(n) > 15 || len(m) > 3 {
		return 0, 0, false
	}
	for _, c := range n {
		if c < '0' || c > '9' {
			return 0, 0, false
		}
		id = id*10 + uint64(c-'0')
	}
	if dot {
		for _, c := range m {
			if c < '0' || c > '9' {
				return 0, 0, false
			}
			number = number*10 + int(c-'0')
		}
	}
	return id, number, number <= maxParts
}

// Join reads the markers of all datagrams and joins the data between them.
func (d *decoder) Join(r *dissect.Reader, variant uint8, m *dissect.Message) bool {
	d.segments, d.joined, d.numbered, d.final = d.segments[:0], true, true, false
	last, before, reported := 0, 0, false
	joined := core.Buffer(r)
	for i := range r.Parts() {
		r.Part(i)
		b := r.Peek()
		at := findMarkers(b)
		p := placeOf(b, at, variant)
		m.Variant = p.how.String()
		d.numbered = d.numbered && at.queryID.n+at.number.n > 0
		first := len(d.segments)
		for _, marker := range at.inOrder() {
			joined = d.readBody(r, joined, i, marker.at)
			readMarker(r, marker, at, &inPart, p.how, &reported)
		}
		joined = d.readBody(r, joined, i, at.body)
		core.Remaining(r, fPartEnd)
		d.final = d.final || at.final.n > 0
		last = max(last, p.number)
		if p.how.joinsPairs() && len(d.segments) > first {
			s := &d.segments[first]
			if s.goesOn, s.gap = p.number == before+1 && p.number > 1, p.number > before+1; s.gap && first > 0 {
				d.segments[first-1].open = true
			}
		}
		before = p.number
	}
	if n := len(d.segments); n > 0 && !d.final {
		d.segments[n-1].open = m.Variant == byStatus.String()
	}
	d.whole = d.final && last <= r.Parts()
	core.Keep(r, joined)
	r.Open("joined", joined)
	return true
}

// readBody reads the keys and values of a datagram up to an offset, and appends them to
// joined.
func (d *decoder) readBody(r *dissect.Reader, joined []byte, part, to int) []byte {
	n := to - r.Offset()
	if n <= 0 {
		return joined
	}
	d.segments = append(d.segments, segment{from: len(joined), to: len(joined) + n, part: part})
	return append(joined, r.Bytes(fPart, n)...)
}

// inOrder returns the markers that are present, in their order.
func (m *markers) inOrder() []span {
	n := 0
	second, third := m.queryID, m.final
	if third.at < second.at {
		second, third = third, second
	}
	for _, s := range [...]span{m.number, second, third, m.eof} {
		if s.n > 0 {
			m.order[n] = s
			n++
		}
	}
	return m.order[:n]
}

// markerFields are the fields of markers in a whole reply or in a part.
type markerFields struct{ number, queryID, final, eof *dissect.Field }

var (
	inPart  = markerFields{fPartNumber, fPartID, fPartFinal, fPartEOF}
	inWhole = markerFields{fNumber, fQueryID, fFinal, fEOF}
)

// readMarker reads a marker. A queryid that does not number the datagram is reported
// once per reply.
func readMarker(r *dissect.Reader, s span, at markers, f *markerFields, how numbering, reported *bool) (value string) {
	switch s {
	case at.number:
		v := r.Span(f.number, 0, len(statusResponse), s.n-len(statusResponse), 0)
		if how == byNothing {
			r.Find(statusNumber, f.number, s.at, s.n, dissect.Str(v))
		}
		return ""
	case at.eof:
		r.Span(f.eof, 0, s.n, 0, 0)
		return ""
	case at.final:
		r.Span(f.final, 0, s.n, 0, 0)
		if s.n == len(`\final`) && s.end() < at.body {
			r.Find(finalValue, f.final, s.at, s.n)
		}
		return ""
	}
	value = r.Span(f.queryID, 0, at.value.at-s.at, at.value.n, s.end()-at.value.end())
	if !*reported && how != byQueryID && how != byStatus && !(how == byNumber && f == &inPart) {
		*reported = true
		r.Find(queryIDShort, f.queryID, s.at, s.n, dissect.Str(value))
	}
	return value
}
