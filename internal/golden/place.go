package golden

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// A place is what a byte of a capture belongs to.
type place struct {
	// message is of type "message"; "frame" if the byte belongs to none;
	// "capture" if it belongs to no frame either. Its frame is the one that
	// has the byte.
	message Message
	// own is the frame that the output gives the message: the last one of
	// those that carry it.
	own uint64
	// field is what it is a byte of: a2s.header, ipv4.ttl, pcap.snap_length.
	field string
	// value leads to the value of the message, or of the capture, that shows
	// the byte: fields.players[2].score, time; nil if there is none.
	value []step
	// hidden says that the byte is never shown.
	hidden bool
}

// A record is a frame in its file: with what stands before it there, back to the
// frame before. What is not before any frame, the head of a file and its end, is
// a record without a frame.
type record struct {
	at     int64     // in the file
	size   int64     // in bytes
	raw    []byte    // the last of them
	blocks []block   // of pcapng: those asked for, and the last
	names  container // of what is around the frame
	frame  uint64    // its number, 0 for none
	link   uint16
	from   int // where its data is in raw
	to     int
	spans  []span // of its data
}

// A span is what some bytes of a frame belong to.
type span struct {
	from, to int
	place
}

// rawAt returns where in the file it begins what is kept of the record.
func (r *record) rawAt() int64 { return r.at + r.size - int64(len(r.raw)) }

// data returns that of the frame.
func (r *record) data() []byte { return r.raw[r.from:r.to] }

// place returns what the byte at an offset of the file belongs to.
func (r *record) place(at int64) place {
	i := int(at-r.rawAt()) - r.from
	inFrame := i >= 0 && i < r.to-r.from
	if inFrame {
		for _, s := range r.spans {
			if i >= s.from && i < s.to {
				return s.place
			}
		}
	}
	p := place{message: Message{Type: "frame", Frame: r.frame}}
	if len(r.spans) > 0 {
		p.message, p.own = r.spans[0].message, r.spans[0].own
	}
	if !inFrame {
		var own bool
		if p.field, own, p.hidden = r.around(at); !own {
			p.message, p.own = Message{Type: "capture"}, 0
		}
	} else {
		var f payload
		p.field, f = headers(r.link, r.data(), i)
		// What nobody has understood may be anything, the rest of a password
		// too whose beginning was lost.
		lost := len(r.spans) == 0 && p.field != "arp.data" && (strings.HasSuffix(p.field, ".data") || f.at >= 0 && i >= f.from && i < f.to)
		p.hidden = lost || i >= maskedFrom(r.data())
	}
	switch p.field {
	case "pcap.seconds", "pcap.fraction", "pcapng.packet.time", "pcapng.obsolete_packet.time", "snoop.seconds", "snoop.microseconds":
		p.value = valuePath("time")
	case "ipv4.source", "ipv6.source", "udp.source_port":
		p.value = valuePath("src")
	case "ipv4.destination", "ipv6.destination", "udp.destination_port":
		p.value = valuePath("dst")
	case "pcap.link_type", "pcapng.interface.link_type", "snoop.link_type":
		p.value = valuePath("link_type")
	}
	return p
}

// valuePath leads to a value of a message.
func valuePath(name string) []step { return []step{{[]byte(name), noIndex}} }

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
	t := &trickle{src: bufio.NewReaderSize(src, 64<<10), from: from, to: to}
	var names container
	take := func(f *capture.Frame) {
		if t.at < to && t.at+t.n > from {
			r := record{at: t.at, size: t.n, raw: slices.Clone(t.raw), blocks: slices.Clone(t.blocks), names: names, from: len(t.raw), to: len(t.raw)}
			if f != nil {
				r.frame, r.link = f.Number, f.LinkType
				r.locate(f.Data)
			}
			records = append(records, r)
		}
		t.at, t.n, t.raw, t.blocks = t.at+t.n, 0, t.raw[:0], t.blocks[:0]
	}
	in, err := capture.NewReader(t, "capture")
	if err == nil {
		defer in.Close()
		names = containerOf(t.head)
		take(nil)
		var f capture.Frame
		for t.at < to && in.Next(&f) == nil {
			take(&f)
		}
	}
	if t.at < to {
		_, _ = io.CopyN(io.Discard, t, to-t.at-t.n) // as far as there is any
		take(nil)
	}
	return records
}

// A trickle hands out one byte at a time: the reader of captures reads ahead no
// farther than one call takes it, and so its frames end where they do in the file.
type trickle struct {
	src      *bufio.Reader
	from, to int64   // the extent of the file that is wanted
	at       int64   // where the record begins
	n        int64   // how much of it has been read
	raw      []byte  // the last of it
	blocks   []block // of it: those in the extent, and the last
	walker   walker
	head     []byte // the first bytes of the file
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
	if len(t.head) < 8 {
		t.head = append(t.head, c)
	}
	begins := t.walker.step(t.at+t.n, c)
	if n := len(t.blocks); n > 0 && (!begins || t.blocks[n-1].to <= t.from || t.blocks[n-1].from >= t.to) {
		t.blocks = t.blocks[:n-1]
	}
	t.blocks = append(t.blocks, t.walker.block)
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
	p := place{own: r.Frame, message: Message{Type: "message", Src: r.Src.String(), Dst: r.Dst.String(), Protocol: r.Protocol.Name, Name: r.Type.Name}}
	for _, frame := range append([]uint64{r.Frame}, r.Frames...) {
		rec := g.records[frame]
		if rec == nil || len(rec.spans) > 0 {
			continue
		}
		p.message.Frame = frame
		for i := range r.Sources {
			if from, at, n := rec.find(r.Sources[i].Data); n > 0 {
				rec.leaves(r, p, i, from, at, n)
				break
			}
		}
	}
}

// Unknown takes a datagram that nothing recognised.
func (g *surveyor) Unknown(u *dissect.Unknown) {
	p := place{own: u.Frame, field: "data", value: valuePath("data"), message: Message{Type: "message", Src: u.Src.String(), Dst: u.Dst.String(), Protocol: "unknown"}}
	for _, frame := range append([]uint64{u.Frame}, u.Frames...) {
		rec := g.records[frame]
		if rec == nil || len(rec.spans) > 0 {
			continue
		}
		p.message.Frame = frame
		if from, at, n := rec.find(u.Payload); n > 0 {
			rec.add(from, at, at+n, maskedFrom(u.Payload), p)
		}
	}
}

// find returns which bytes of a payload the frame carries: n from at on, and where
// they are in its data. The headers say where; what stands behind the payload may
// repeat it.
func (r *record) find(payload []byte) (from, at, n int) {
	_, f := headers(r.link, r.data(), len(r.data()))
	n = min(f.to-f.from, len(payload)-f.at)
	if f.at >= 0 && n > 0 && (f.fragment || n == len(payload)) && bytes.Equal(r.data()[f.from:f.from+n], payload[f.at:f.at+n]) {
		return f.from, f.at, n
	}
	// There are headers that are not known here: those of tunnels.
	if from = bytes.LastIndex(r.data(), payload); from >= 0 {
		return from, 0, len(payload)
	}
	return 0, 0, 0
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
// has at from; p is what all of them belong to.
func (r *record) leaves(m *dissect.Record, p place, i, from, at, n int) {
	data := m.Sources[i].Data
	masked := maskedFrom(data)
	// Of a message with several sources, what carries it may carry a secret.
	several := len(m.Sources) > 1 && slices.ContainsFunc(m.Nodes, func(n dissect.Node) bool { return n.Field.Secret })
	secret := -1 // depth of what is secret, with all that it holds
	var way trail
	for k := range m.Nodes {
		node := &m.Nodes[k]
		if secret >= 0 && int(node.Depth) <= secret {
			secret = -1
		}
		if secret < 0 && node.Field.Secret {
			secret = int(node.Depth)
		}
		shown := way.step(node)
		a, b := max(int(node.Off), at), min(int(node.Off+node.Len), at+n)
		if int(node.Source) != i || node.Field.Kind.Container() || a >= b {
			continue
		}
		// What a part carries is a piece of what was joined.
		if j, to := joined(m.Sources[i+1:], data[a:b]); node.Field.Framing && node.Field.Kind == dissect.Bytes && j >= 0 {
			r.leaves(m, p, i+1+j, from+a-at, to, b-a)
			continue
		}
		p.field, p.hidden, p.value = safe(string(short(node.Field.Path))), secret >= 0, nil
		if shown {
			p.value = slices.Clone(way.steps)
		}
		// JSON shows what is no framing, but not all of what is opaque.
		limit := len(data)
		if node.Field.Framing || node.Field.Kind == dissect.Bytes {
			p.hidden, limit = p.hidden || several, masked
		}
		r.add(from+a-at, a, b, limit, p)
	}
}

// A trail leads from node to node of a message: to each in its JSON.
type trail struct {
	steps   []step
	list    []bool // of each step but the last: it is into a list
	framing int    // depth of framing, which JSON leaves out with all that it holds, and 1; 0 for none
}

// step goes to the next node, and reports whether JSON shows it.
func (t *trail) step(n *dissect.Node) bool {
	depth := int(n.Depth)
	if t.steps == nil {
		t.steps, t.list = valuePath("fields"), []bool{false}
	}
	if t.framing > 0 && depth >= t.framing {
		return false
	}
	t.framing = 0
	if n.Field.Framing {
		t.framing = depth + 1
		return false
	}
	s := step{[]byte(n.Field.Key()), noIndex}
	if t.list[depth] {
		s = step{nil, 0}
		if len(t.steps) > depth+1 {
			s.index = t.steps[depth+1].index + 1
		}
	}
	t.steps, t.list = append(t.steps[:depth+1], s), append(t.list[:depth+1], n.Field.Kind == dissect.List)
	return true
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
	was  *byte // what the byte is in the file
}

func (p *patched) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if p.at >= 0 && p.at < int64(n) {
		*p.was = b[p.at]
		b[p.at] ^= p.mask
	}
	p.at -= int64(n)
	return n, err
}
