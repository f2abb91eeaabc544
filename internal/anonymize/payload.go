package anonymize

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/dsnet/compress/bzip2"

	"github.com/qdissect/qdissect/dissect"
)

// A rewriter makes the payloads that stand for those of a message.
type rewriter struct {
	m      *mapping
	o      *Options
	counts *Counts
	check  dissect.Reader
	values []replaced
	// swapped says that the challenge of the message, used, is one whose bytes
	// were reversed.
	swapped bool
	used    uint64
	// texts are what stands for texts, decoders those that messages are
	// looked at with: they are used again.
	texts    map[styled]string
	decoders map[*dissect.Protocol]dissect.Decoder
}

func newRewriter(o *Options, counts *Counts) rewriter {
	return rewriter{
		m: newMapping(o.Key), o: o, counts: counts,
		texts: make(map[styled]string), decoders: make(map[*dissect.Protocol]dissect.Decoder),
	}
}

// decode reads a payload with check.
func (w *rewriter) decode(p *dissect.Protocol, payload []byte, m *dissect.Message) {
	d := w.decoders[p]
	if d == nil {
		d = p.New()
		w.decoders[p] = d
	}
	w.check.Reset(payload, 1, true)
	d.Decode(&w.check, m)
	w.check.Finish(p.Fields)
}

// replaced is a value and what stands for it.
type replaced struct {
	was, is []byte
	source  uint16
}

// maxReplaced bounds the values that are remembered for those that are cut.
const maxReplaced = 4096

// record returns the new payload of each source of a record that came in a
// datagram, nil for the others. It reports false if the message could not be
// put together again; then it must not be passed on.
func (w *rewriter) record(rec *dissect.Record) (payloads [][]byte, ok bool) {
	data := make([][]byte, len(rec.Sources))
	for i := range rec.Sources {
		data[i] = bytes.Clone(rec.Sources[i].Data)
	}
	w.values = w.values[:0]
	w.used = rec.Pair.Value
	w.swapped = slices.ContainsFunc(rec.Findings, func(f dissect.Finding) bool { return f.Type == dissect.ChallengeSwapped })
	lastKey := ""
	var cut []*dissect.Node
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if n.Field.Kind.Container() {
			lastKey = ""
			continue
		}
		r := roleOf(n.Field)
		was := n.Value(rec.Sources[n.Source].Data)
		switch {
		case r == key || n.Field.Path == "gamespy1.queries.query":
			lastKey = string(was)
			w.remember(n, was, n.Value(data[n.Source]))
		case r == again:
			cut = append(cut, n)
			continue
		}
		if r == part || r == packed || n.Field.Path == "a2s.chunks.data" {
			if unfolded(rec, r, n) {
				continue
			}
			if n.Field.Path == "a2s.packed" && int(n.Len) == len(was) {
				if b := w.repack(was); b != nil {
					data[n.Source] = b
					continue
				}
			}
			w.broken(n, data[n.Source])
			continue
		}
		if r == game {
			if r = about; knownGame(was) {
				r = fact
			}
		}
		if r == fact || len(was) == 0 {
			w.remember(n, was, was)
			continue
		}
		k := lastKey
		if r != setting && r != condition && r != argument {
			k = ""
		}
		is := n.Value(data[n.Source])
		w.value(n, is, r, k)
		w.remember(n, was, is)
	}
	for _, n := range cut {
		w.cut(n, n.Value(rec.Sources[n.Source].Data), n.Value(data[n.Source]))
	}
	for i := len(rec.Sources) - 1; i > 0; i-- {
		if rec.Sources[i].Frame == 0 && !w.fold(rec, data, i) {
			return nil, false
		}
	}
	for i := range rec.Sources {
		if rec.Sources[i].Frame == 0 {
			data[i] = nil
		}
	}
	return data, true
}

// unfolded reports whether a source was made of a leaf, so that what is in it is
// known.
func unfolded(rec *dissect.Record, r role, n *dissect.Node) bool {
	for i := int(n.Source) + 1; i < len(rec.Sources); i++ {
		switch name := rec.Sources[i].Name; {
		case r == part && name == "joined":
			return true
		case r != part && (name == "decompressed" || name == "unpacked" || name == "unshifted" || name == "decoded" || name == "unescaped"):
			return true
		}
	}
	return false
}

// broken replaces what could not be unfolded, but for the marks by which it is
// known as what it is. A damaged bzip2 stream stays damaged in any case: the bit
// after its checksum says that it is randomised, which nobody makes or reads.
func (w *rewriter) broken(n *dissect.Node, data []byte) {
	const randomised = 14
	b := n.Bytes(data)
	w.counts.Bytes += len(b)
	w.m.bytes(b[marked(b):])
	if n.Field.Path == "a2s.packed" && len(b) > randomised && bytes.HasPrefix(b, []byte("BZh")) {
		b[randomised] |= 0x80
	}
}

// repack replaces what is in a compressed message that was not read because it
// is not what its header says: too long, or with another checksum. It returns
// nil if the stream itself is damaged.
func (w *rewriter) repack(packed []byte) []byte {
	const most = 2 << 20
	b, err := io.ReadAll(io.LimitReader(stdbzip2.NewReader(bytes.NewReader(packed)), most))
	if err != nil || len(b) == most {
		return nil
	}
	w.counts.Bytes += len(b)
	w.m.bytes(b[marked(b):])
	return pack(b, packed)
}

// pack compresses b as like was.
func pack(b, like []byte) []byte {
	level := bzip2.BestCompression
	if len(like) > 3 && like[3] >= '1' && like[3] <= '9' {
		level = int(like[3] - '0')
	}
	var out bytes.Buffer
	z, err := bzip2.NewWriter(&out, &bzip2.WriterConfig{Level: level})
	if err == nil {
		_, err = z.Write(b)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return nil
	}
	return out.Bytes()
}

// marked returns how many bytes of b say what it is: the header of a message in
// one piece and its letter, or that of bzip2.
func marked(b []byte) int {
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xff\xff\xff")):
		return min(5, len(b))
	case bytes.HasPrefix(b, []byte("BZh")):
		return min(10, len(b))
	}
	return 0
}

// remember notes what stands for a text.
func (w *rewriter) remember(n *dissect.Node, was, is []byte) {
	if len(w.values) < maxReplaced && (n.Field.Kind == dissect.String || n.Field.Kind == dissect.Decimal) {
		w.values = append(w.values, replaced{was, is, n.Source})
	}
}

// cut replaces a value of which a later part brings the whole: by as much of
// what stands for that. It may be the name of a setting and its value, the end
// of which is missing.
func (w *rewriter) cut(n *dissect.Node, was, is []byte) {
	for i, word := 0, 0; i <= len(was); i++ {
		if i < len(was) && was[i] != 0 {
			continue
		}
		if word < i && !w.cutWord(n.Source+1, was[word:i], is[word:i]) && !w.cutWord(0, was[word:i], is[word:i]) {
			w.text(is[word:i], n.Field.Style)
		}
		word = i + 1
	}
}

// cutWord looks for a value that begins with a word: the first one in one of the
// parts from source on.
func (w *rewriter) cutWord(source uint16, was, is []byte) bool {
	found := -1
	for i := range w.values {
		v := &w.values[i]
		if v.source >= source && bytes.HasPrefix(v.was, was) && (found < 0 || v.source < w.values[found].source) {
			found = i
		}
	}
	if found < 0 {
		return false
	}
	copy(is, w.values[found].is)
	return true
}

// fold puts what stands for a source that was made from others back into them.
func (w *rewriter) fold(rec *dissect.Record, data [][]byte, i int) bool {
	switch rec.Sources[i].Name {
	case "filter", "plugins":
		return w.foldCopy(rec, data, i)
	case "joined":
		return w.foldParts(rec, data, i)
	case "decompressed":
		return w.foldPacked(rec, data, i)
	case "unescaped":
		return w.foldEscaped(rec, data, i)
	case "unpacked":
		n := leaf(rec, i, "quake3.connect.packed")
		if n == nil {
			return false
		}
		// The engine takes what is not packed as well.
		to := data[n.Source]
		data[n.Source] = append(append(bytes.Clone(to[:n.Off]), data[i]...), to[n.Off+n.Len:]...)
		return true
	case "unshifted":
		return w.foldShifted(rec, data, i)
	case "decoded":
		return w.foldHex(rec, data, i)
	}
	return false
}

// leaf returns the leaf of a field in a source before source i.
func leaf(rec *dissect.Record, i int, path string) *dissect.Node {
	for k := range rec.Nodes {
		if n := &rec.Nodes[k]; int(n.Source) < i && n.Field.Path == path {
			return n
		}
	}
	return nil
}

// foldCopy serves sources that are the value of a leaf, read once more.
func (w *rewriter) foldCopy(rec *dissect.Record, data [][]byte, i int) bool {
	for k := range rec.Nodes {
		n := &rec.Nodes[k]
		if int(n.Source) >= i || n.Field.Kind != dissect.String {
			continue
		}
		if bytes.Equal(n.Value(rec.Sources[n.Source].Data), rec.Sources[i].Data) {
			copy(n.Value(data[n.Source]), data[i])
			return true
		}
	}
	return false
}

// foldParts cuts a joined message into its parts. If its length is another one,
// because it was packed again, all parts stay: as long as they were if possible,
// otherwise all a little shorter or longer.
func (w *rewriter) foldParts(rec *dissect.Record, data [][]byte, i int) bool {
	was := rec.Sources[i].Data
	var pieces []*dissect.Node
	at := 0
	for k := range rec.Nodes {
		n := &rec.Nodes[k]
		if int(n.Source) >= i || roleOf(n.Field) != part {
			continue
		}
		b := n.Bytes(rec.Sources[n.Source].Data)
		if !bytes.HasPrefix(was[at:], b) {
			w.m.bytes(n.Bytes(data[n.Source])) // a part that was left out
			continue
		}
		pieces = append(pieces, n)
		at += len(b)
	}
	if at != len(was) || len(pieces) == 0 {
		return false
	}
	rest := data[i]
	if len(rest) == len(was) {
		for _, n := range pieces {
			rest = rest[copy(n.Bytes(data[n.Source]), rest):]
		}
		return true
	}
	longest := 0
	for _, n := range pieces {
		longest = max(longest, int(n.Len))
	}
	if room := longest * len(pieces); room < len(rest) || longest*(len(pieces)-1) >= len(rest) {
		longest = (len(rest) + len(pieces) - 1) / len(pieces)
	}
	for k, n := range pieces {
		left := len(pieces) - 1 - k
		size := min(longest, len(rest)-left)
		if left == 0 {
			size = len(rest)
		}
		if size < 1 {
			return false
		}
		to := data[n.Source]
		data[n.Source] = append(append(bytes.Clone(to[:n.Off]), rest[:size]...), to[n.Off+n.Len:]...)
		rest = rest[size:]
	}
	return true
}

// foldPacked packs a message again, and states its new checksum.
func (w *rewriter) foldPacked(rec *dissect.Record, data [][]byte, i int) bool {
	n, sum := leaf(rec, i, "a2s.packed"), leaf(rec, i, "a2s.split.crc32")
	if n == nil || sum == nil || sum.Len != 4 {
		return false
	}
	out := pack(data[i], n.Bytes(rec.Sources[n.Source].Data))
	if out == nil {
		return false
	}
	data[n.Source] = out
	binary.LittleEndian.PutUint32(sum.Bytes(data[sum.Source]), crc32.ChecksumIEEE(data[i]))
	w.counts.Repacked++
	return true
}

// foldEscaped writes the binary rules of Arma 3 into their pieces. The three
// bytes that are escaped stay as they are: they are no part of texts.
func (w *rewriter) foldEscaped(rec *dissect.Record, data [][]byte, i int) bool {
	from, at := data[i], 0
	for k := range rec.Nodes {
		n := &rec.Nodes[k]
		if int(n.Source) >= i || n.Field.Path != "a2s.chunks.data" {
			continue
		}
		b := n.Bytes(data[n.Source])
		for j := 0; j < len(b); j++ {
			if at >= len(from) {
				return false
			}
			if b[j] == 1 && j+1 < len(b) && b[j+1] >= 1 && b[j+1] <= 3 {
				j++
			} else if c := from[at]; c > 1 && c < 0xff {
				b[j] = c
			} else if b[j] > 1 {
				b[j] = 2 // what would have to be escaped
			}
			at++
		}
	}
	return at == len(from)
}

// foldShifted writes texts into a message of Quake Wars in which bits are
// shifted: texts are not, they begin with whole bytes.
func (w *rewriter) foldShifted(rec *dissect.Record, data [][]byte, i int) bool {
	to := leaf(rec, i, "doom3.info.bits")
	if to == nil {
		return false
	}
	was, is, at := to.Bytes(rec.Sources[to.Source].Data), to.Bytes(data[to.Source]), 0
	for k := range rec.Nodes {
		n := &rec.Nodes[k]
		if int(n.Source) != i || n.Field.Kind != dissect.String {
			continue
		}
		v := n.Bytes(rec.Sources[i].Data)
		found := bytes.Index(was[at:], v)
		if found < 0 {
			return false
		}
		at += found
		copy(is[at:], n.Bytes(data[i]))
		at += len(v)
	}
	return true
}

// foldHex writes bytes as hexadecimal digits. Blanks stand for zeros.
func (w *rewriter) foldHex(rec *dissect.Record, data [][]byte, i int) bool {
	to := leaf(rec, i, "quake3-master.reply.hex")
	if to == nil {
		return false
	}
	was, is := rec.Sources[i].Data, data[i]
	b, digit := to.Bytes(data[to.Source]), 0
	for j, c := range b {
		if digit == 2*len(was) {
			break
		}
		nibble := func(v []byte) byte { return v[digit/2] >> (4 - 4*(digit%2)) & 15 }
		if v := strings.IndexByte("0123456789abcdef", c|0x20); c != ' ' && v != int(nibble(was)) || c == ' ' && nibble(was) != 0 {
			continue
		}
		if nibble(was) != nibble(is) {
			b[j] = "0123456789abcdef"[nibble(is)]
		}
		digit++
	}
	return digit == 2*len(was)
}

// reader returns the protocol by which a message was read. It may be told under
// another one of its family: that of its request.
func (w *rewriter) reader(rec *dissect.Record) *dissect.Protocol {
	for i := range rec.Nodes {
		for _, p := range w.o.Analysis.Protocols {
			if strings.HasPrefix(rec.Nodes[i].Field.Path, p.Name+".") {
				return p
			}
		}
	}
	return rec.Protocol
}

// sameShape reports whether a payload says of itself what the message that it
// stands for said. Parts are not looked at: alone they say little.
func (w *rewriter) sameShape(rec *dissect.Record, payload []byte) bool {
	if len(rec.Sources) == 0 || rec.Sources[0].Name != "payload" {
		return true
	}
	var m dissect.Message
	w.decode(w.reader(rec), payload, &m)
	nodes := w.check.Nodes()
	if m.Type != rec.Type && rec.RequestFrame == 0 {
		return false
	}
	if rec.Sources[len(rec.Sources)-1].Name == "unpacked" {
		return true // one source less
	}
	if len(nodes) != len(rec.Nodes) {
		return false
	}
	for i := range nodes {
		a, b := &nodes[i], &rec.Nodes[i]
		if a.Field.Path != b.Field.Path || a.Off != b.Off || a.Len != b.Len || a.Depth != b.Depth || a.Source != b.Source {
			return false
		}
	}
	return true
}
