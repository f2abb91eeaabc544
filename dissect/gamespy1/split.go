package gamespy1

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/reassembly"
)

// A span is a piece of a payload; n is 0 if it is not there.
type span struct{ at, n int }

func (s span) end() int { return s.at + s.n }

// markers are where a datagram says which one of which reply it is: the pairs
// queryid and final, in either order, at its end in all recorded traffic.
type markers struct {
	queryID span // \queryid\N.M
	value   span // N.M
	final   span // \final\, or \final as Descent 3 writes it
	body    int  // where the zero bytes at the end begin
	order   [2]span
}

// maxParts is the highest number of a datagram within a reply that is believed.
const maxParts = 255

func findMarkers(b []byte) (m markers) {
	s := bytes.TrimRight(b, "\x00")
	m.body = len(s)
	if q := bytes.LastIndex(s, []byte(`\queryid\`)); q >= 0 {
		m.value.at = q + len(`\queryid\`)
		m.value.n = indexOr(s[m.value.at:], '\\')
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
	// With \queryid\final\ the word is the value.
	if f := finalBefore(s); m.final.n == 0 && f.at >= m.queryID.end() {
		m.final = f
	}
	return m
}

// isFinal reports whether the key final stands at the beginning of s.
func isFinal(s []byte) bool {
	return bytes.HasPrefix(s, []byte(`\final`)) && (len(s) == len(`\final`) || s[len(`\final`)] == '\\')
}

// finalBefore returns the key final at the end of s. Behind the key of a name
// it is a player who calls himself so.
func finalBefore(s []byte) span {
	n := len(`\final\`)
	if !bytes.HasSuffix(s, []byte(`\final\`)) {
		if n--; !bytes.HasSuffix(s, []byte(`\final`)) {
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

// readPart reads what a datagram says of its place in a reply. See
// [reassembly.ReadPart]. A datagram that is the first and the last is no part.
// Those without a number count as they come.
func readPart(b []byte, _ uint8) (reassembly.Part, bool) {
	at := findMarkers(b)
	if kindOf(b, at) != aReply {
		return reassembly.Part{}, false
	}
	p := reassembly.Part{Index: -1, Variant: 1}
	if at.queryID.n > 0 {
		var number int
		var ok bool
		if p.ID, number, ok = parseQueryID(b[at.value.at:at.value.end()]); !ok {
			return reassembly.Part{}, false
		}
		p.Index = number - 1
	}
	switch {
	case at.final.n > 0 && p.Index == 0:
		return reassembly.Part{}, false
	case at.final.n > 0:
		p.Last = true
	case at.queryID.n == 0 && alone(b, at.body):
		return reassembly.Part{}, false
	}
	return p, true
}

// alone reports whether a reply without any marker can be but one datagram:
// what Unreal servers send to a master, which asked for nothing else.
func alone(b []byte, end int) bool {
	key, _, _ := bytes.Cut(b[1:end], []byte{'\\'})
	return string(key) == "validate" || string(key) == "echo"
}

// parseQueryID reads N.M, or N alone: then the number of the datagram is 0.
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

// Join reads the markers of all datagrams and joins what stands between them.
func (d *decoder) Join(r *dissect.Reader, _ uint8, m *dissect.Message) bool {
	m.Variant = "queryid"
	d.segments, d.joined, d.numbered, d.final = d.segments[:0], true, true, false
	last, told := 0, false
	joined := r.Buffer()
	for i := range r.Parts() {
		r.Part(i)
		b := r.Peek()
		at := findMarkers(b)
		if at.queryID.n == 0 {
			m.Variant, d.numbered = "arrival", false
		}
		for _, marker := range at.inOrder() {
			joined = d.readBody(r, joined, i, marker.at)
			readMarker(r, b, marker, at, fPartID, fPartFinal, &told)
		}
		joined = d.readBody(r, joined, i, at.body)
		if r.More() {
			r.Rest(fPartEnd)
		}
		d.final = d.final || at.final.n > 0
		if _, number, ok := parseQueryID(b[at.value.at:at.value.end()]); ok {
			last = max(last, number)
		}
	}
	d.whole = d.final && last <= r.Parts()
	r.Keep(joined)
	r.Open("joined", joined)
	return true
}

// readBody reads the keys and values of a datagram up to an offset.
func (d *decoder) readBody(r *dissect.Reader, joined []byte, part, to int) []byte {
	n := to - r.Offset()
	if n <= 0 {
		return joined
	}
	d.segments = append(d.segments, segment{from: len(joined), to: len(joined) + n, part: part})
	return append(joined, r.Bytes(fPart, n)...)
}

// inOrder returns those of the two pairs that are there, as they stand.
func (m *markers) inOrder() []span {
	switch {
	case m.queryID.n == 0 && m.final.n == 0:
		return nil
	case m.final.n == 0:
		m.order[0] = m.queryID
		return m.order[:1]
	case m.queryID.n == 0:
		m.order[0] = m.final
		return m.order[:1]
	case m.queryID.at < m.final.at:
		m.order = [2]span{m.queryID, m.final}
	default:
		m.order = [2]span{m.final, m.queryID}
	}
	return m.order[:]
}

// readMarker reads one of the two pairs. That a queryid numbers no datagram is
// told once in a reply.
func readMarker(r *dissect.Reader, b []byte, s span, at markers, id, final *dissect.Field, told *bool) (value string) {
	if s == at.final {
		r.Span(final, 0, s.n, 0, 0)
		if s.n == len(`\final`) && s.end() < at.body {
			r.Find(finalValue, final, s.at, s.n)
		}
		return ""
	}
	value = r.Span(id, 0, at.value.at-s.at, at.value.n, s.end()-at.value.end())
	if _, number, ok := parseQueryID(b[at.value.at:at.value.end()]); !*told && (!ok || number == 0) {
		*told = true
		r.Find(queryIDShort, id, s.at, s.n, dissect.Str(value))
	}
	return value
}
