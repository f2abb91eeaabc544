package golden

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// A place is what a byte of a capture belongs to.
type place struct {
	// message is of type "message"; "frame" if the byte belongs to none;
	// "capture" if it belongs to no frame either.
	message Message
	// field is what it is a byte of: a2s.header, ipv4.ttl, pcap.snap_length.
	field string
	// hidden says that the byte is never shown.
	hidden bool
}

// A record is a frame in its file: with what stands before it there, back to the
// frame before. What is not before any frame, the head of a file and its end, is
// a record without a frame.
type record struct {
	at    int64 // in the file
	raw   []byte
	names container // of what is around the frame
	frame uint64    // its number, 0 for none
	link  uint16
	from  int // where its data is in raw
	to    int
	spans []span // of its data
}

// A span is what some bytes of a frame belong to.
type span struct {
	from, to int
	place
}

// data returns that of the frame.
func (r *record) data() []byte { return r.raw[r.from:r.to] }

// place returns what the byte at an offset of the file belongs to.
func (r *record) place(at int64) place {
	i := int(at - r.at)
	p := place{message: Message{Type: "frame", Frame: r.frame}}
	if r.frame == 0 {
		p.message.Type = "capture"
	}
	if len(r.spans) > 0 {
		p.message = r.spans[0].message
	}
	if i < r.from || i >= r.to {
		p.field = r.around(i)
		return p
	}
	i -= r.from
	for _, s := range r.spans {
		if i >= s.from && i < s.to {
			return s.place
		}
	}
	p.field, _ = headers(r.link, r.data(), i)
	p.hidden = i >= maskedFrom(r.data())
	return p
}

// maskedFrom returns where in bytes that nothing has understood a secret could
// begin, the length if nowhere.
func maskedFrom(b []byte) int {
	shown := dissect.ShownBytes(b, false)
	for i := range b {
		if shown[i] != b[i] {
			return i
		}
	}
	return len(b)
}

// survey returns the records of a capture that lie in an extent of its file, with
// what is in them. The capture is opened twice; it must not be packed.
func survey(open func() (io.ReadCloser, error), from, to int64) ([]record, error) {
	src, err := open()
	if err != nil {
		return nil, err
	}
	records := findRecords(src, from, to)
	src.Close()
	if src, err = open(); err != nil {
		return nil, err
	}
	defer src.Close()
	g := &surveyor{Counts: report.NewCounts(), records: make(map[uint64]*record)}
	for i := range records {
		if r := &records[i]; r.frame > 0 {
			g.records[r.frame] = r
		}
	}
	_, err = pipeline.Run(pipeline.Options{
		Inputs: []string{"-"}, Stdin: src, Out: io.Discard,
		Reporter: func() report.Reporter { return g },
		Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true},
		All:      true,
		Trouble:  func(error) {},
	})
	return records, err
}

// findRecords returns the records in an extent of a file.
func findRecords(src io.Reader, from, to int64) (records []record) {
	t := &trickle{src: bufio.NewReaderSize(src, 64<<10)}
	var names container
	take := func(f *capture.Frame) {
		if t.at < to && t.at+int64(t.n) > from {
			r := record{at: t.at + int64(t.n-len(t.raw)), raw: slices.Clone(t.raw), names: names, from: len(t.raw), to: len(t.raw)}
			if f != nil {
				r.frame, r.link = f.Number, f.LinkType
				r.from, r.to = names.data(t.raw, f.Data)
			}
			records = append(records, r)
		}
		names = names.next(t.raw)
		t.at, t.n, t.raw = t.at+int64(t.n), 0, t.raw[:0]
	}
	in, err := capture.NewReader(t, "capture")
	if err == nil {
		defer in.Close()
		names = names.begin(t.raw)
		take(nil)
		var f capture.Frame
		for t.at < to && in.Next(&f) == nil {
			take(&f)
		}
	}
	if t.at < to {
		_, _ = io.CopyN(io.Discard, t, to-t.at-int64(t.n)) // as far as there is any
		take(nil)
	}
	return records
}

// A trickle hands out one byte at a time: the reader of captures reads ahead no
// farther than one call takes it, and so its frames end where they do in the file.
type trickle struct {
	src *bufio.Reader
	at  int64  // where the record begins
	n   int    // how much of it has been read
	raw []byte // the last of it
}

// A record is no longer than what is kept of it, unless there is something before
// it that is skipped.
const maxRaw = 1 << 20

func (t *trickle) Read(p []byte) (int, error) {
	c, err := t.src.ReadByte()
	if err != nil || len(p) == 0 {
		return 0, err
	}
	p[0] = c
	if len(t.raw) == 2*maxRaw {
		t.raw = t.raw[:copy(t.raw, t.raw[maxRaw:])]
	}
	t.raw = append(t.raw, c)
	t.n++
	return 1, nil
}

// A surveyor notes what the bytes of some frames belong to.
type surveyor struct {
	*report.Counts
	records map[uint64]*record // by frame
}

// Record takes a message.
func (g *surveyor) Record(r *dissect.Record) {
	m := Message{Type: "message", Src: r.Src.String(), Dst: r.Dst.String(), Protocol: r.Protocol.Name, Name: r.Type.Name}
	for _, frame := range append([]uint64{r.Frame}, r.Frames...) {
		rec := g.records[frame]
		if rec == nil || len(rec.spans) > 0 {
			continue
		}
		m.Frame = frame
		for i := range r.Sources {
			if from, at, n := rec.find(r.Sources[i].Data); n > 0 {
				rec.leaves(r, m, i, from, at, n)
				break
			}
		}
	}
}

// Unknown takes a datagram that nothing recognised.
func (g *surveyor) Unknown(u *dissect.Unknown) {
	m := Message{Type: "message", Src: u.Src.String(), Dst: u.Dst.String(), Protocol: "unknown"}
	for _, frame := range append([]uint64{u.Frame}, u.Frames...) {
		rec := g.records[frame]
		if rec == nil || len(rec.spans) > 0 {
			continue
		}
		m.Frame = frame
		if from, at, n := rec.find(u.Payload); n > 0 {
			rec.add(from, at, at+n, maskedFrom(u.Payload), place{message: m, field: "data"})
		}
	}
}

// find returns which bytes of a payload the frame carries: n from at on, and where
// they are in its data.
func (r *record) find(payload []byte) (from, at, n int) {
	if from = bytes.LastIndex(r.data(), payload); from >= 0 {
		return from, 0, len(payload)
	}
	_, f := headers(r.link, r.data(), len(r.data()))
	n = min(f.to-f.from, len(payload)-f.at)
	if f.at < 0 || n <= 0 || !bytes.Equal(r.data()[f.from:f.from+n], payload[f.at:f.at+n]) {
		return 0, 0, 0
	}
	return f.from, f.at, n
}

// add notes what the bytes from a to b of a payload belong to, which the frame has
// at from; masked is where a secret could begin.
func (r *record) add(from, a, b, masked int, p place) {
	if a < masked {
		end := min(b, masked)
		r.spans = append(r.spans, span{from, from + end - a, p})
		from, a = from+end-a, end
	}
	if a < b {
		p.hidden = true
		r.spans = append(r.spans, span{from, from + b - a, p})
	}
}

// leaves notes what n bytes of the source i belong to, from at on, which the frame
// has at from.
func (r *record) leaves(m *dissect.Record, message Message, i, from, at, n int) {
	data := m.Sources[i].Data
	masked := maskedFrom(data)
	// Of a message with several sources, what carries it may carry a secret.
	several := len(m.Sources) > 1 && slices.ContainsFunc(m.Nodes, func(n dissect.Node) bool { return n.Field.Secret })
	secret := -1 // depth of what is secret, with all that it holds
	for k := range m.Nodes {
		node := &m.Nodes[k]
		if secret >= 0 && int(node.Depth) <= secret {
			secret = -1
		}
		if secret < 0 && node.Field.Secret {
			secret = int(node.Depth)
		}
		a, b := max(int(node.Off), at), min(int(node.Off+node.Len), at+n)
		if int(node.Source) != i || node.Field.Kind.Container() || a >= b {
			continue
		}
		// What a part carries is a piece of what was joined.
		if j, to := joined(m.Sources[i+1:], data[a:b]); node.Field.Framing && node.Field.Kind == dissect.Bytes && j >= 0 {
			r.leaves(m, message, i+1+j, from+a-at, to, b-a)
			continue
		}
		// JSON shows what is no framing, but not all of what is opaque.
		p, limit := place{message, safe(string(short(node.Field.Path))), secret >= 0}, len(data)
		if node.Field.Framing || node.Field.Kind == dissect.Bytes {
			p.hidden, limit = p.hidden || several, masked
		}
		r.add(from+a-at, a, b, limit, p)
	}
}

// joined returns the source that holds a piece, and where. Pieces of a few bytes
// could be anywhere.
func joined(sources []dissect.Source, piece []byte) (source, at int) {
	for i := range sources {
		if at := bytes.Index(sources[i].Data, piece); at >= 0 && len(piece) >= 8 && sources[i].Name != "part" {
			return i, at
		}
	}
	return -1, 0
}

// A patched reads a file with one byte of it changed.
type patched struct {
	io.ReadCloser
	at   int64 // of the byte, from where the reading is
	mask byte
}

func (p *patched) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if p.at >= 0 && p.at < int64(n) {
		b[p.at] ^= p.mask
	}
	p.at -= int64(n)
	return n, err
}

// bytesDifference returns what a capture differs in from the one that has another
// sum. If that is one byte, what it was is named, and one is true.
func bytesDifference(name string, want, got uint64, n int64) (d Difference, one bool, err error) {
	d.Want.Type = "capture"
	f := Field{sumKey, "no value shows which bytes are others", `"` + formatSum(want) + `"`, `"` + formatSum(got) + `"`}
	if at, mask, ok := flippedByte(want, got, n); ok {
		records, err := survey(func() (io.ReadCloser, error) {
			r, err := openUnpacked(name)
			return &patched{r, at, mask}, err
		}, at, at+1)
		if err != nil {
			return d, false, err
		}
		for i := range records {
			r := &records[i]
			p := r.place(at)
			d.Want, one = p.message, true
			f = Field{p.field, fmt.Sprintf("offset %d of the capture", at), "***", "another ***"}
			if i := at - r.at; i >= 0 && !p.hidden {
				f.From, f.To = fmt.Sprintf("0x%02x", r.raw[i]), fmt.Sprintf("0x%02x", r.raw[i]^mask)
			}
		}
	}
	d.Got, d.Fields = d.Want, []Field{f}
	return d, one, nil
}
