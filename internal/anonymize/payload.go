package anonymize

import (
	"bytes"
	"cmp"
	stdbzip2 "compress/bzip2"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/dsnet/compress/bzip2"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A rewriter replaces the values in the payloads of messages.
type rewriter struct {
	m          *mapping
	o          *Options
	counts     *Counts
	check      dissect.Reader
	values     []replaced
	data       [][]byte // of the sources of a message
	fromServer bool     // of the message, over TCP
	// swapped says that the bytes of the message's challenge, used, were reversed.
	swapped bool
	used    uint64
	// texts caches replacements of texts, kinds what the keys of settings mean.
	// Decoders and compressors are reused.
	texts     map[styled]string
	kinds     map[string]kind
	protocols map[string]*dissect.Protocol
	decoders  map[*dissect.Protocol]dissect.Decoder
	message   dissect.Message
	packers   [bzip2.BestCompression + 1]*bzip2.Writer
}

func newRewriter(o *Options, counts *Counts) rewriter {
	w := rewriter{
		m: newMapping(o.Key), o: o, counts: counts, texts: make(map[styled]string),
		kinds: make(map[string]kind), protocols: make(map[string]*dissect.Protocol), decoders: make(map[*dissect.Protocol]dissect.Decoder),
	}
	for _, p := range o.Analysis.Protocols {
		w.protocols[p.Name] = p
	}
	return w
}

// decode decodes a payload with the reader check.
func (w *rewriter) decode(p *dissect.Protocol, payload []byte, m *dissect.Message) {
	d := w.decoders[p]
	if d == nil {
		d = p.New()
		w.decoders[p] = d
	}
	core.Reset(&w.check, payload, 1, true)
	core.SetFromServer(&w.check, w.fromServer)
	d.Decode(&w.check, m)
	core.Finish(&w.check, p.Catalog.Catalog)
}

// replaced is a value and its replacement.
type replaced struct {
	was, is []byte
	source  uint16
}

// maxReplaced limits the values of a message that are remembered for cut copies of them.
const maxReplaced = 4096

// record returns the new payload of each source of a record that is a datagram, nil for
// other sources. It reports false if the message could not be rebuilt; then it must not be
// written.
func (w *rewriter) record(rec *dissect.Record) (payloads [][]byte, ok bool) {
	data := w.data[:0]
	for i := range rec.Sources {
		data = append(data, bytes.Clone(rec.Sources[i].Data))
	}
	w.data = data
	w.used = rec.Pair.Value
	w.swapped = slices.ContainsFunc(rec.Findings, func(f dissect.Finding) bool { return f.Type == core.ChallengeSwapped })
	var lastKey []byte
	var cut, sums []*dissect.Node
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if n.Field.Kind.Container() {
			lastKey = nil
			continue
		}
		r := n.Field.Privacy
		if r == dissect.Public {
			continue
		}
		was := n.Value(rec.Sources[n.Source].Data)
		switch r {
		case dissect.SettingName, core.Word:
			lastKey = was
		case core.Repeated:
			cut = append(cut, n)
			continue
		case core.Checksum:
			if n.Len == 4 {
				sums = append(sums, n)
			}
		case core.Carrier:
			if unfolded(rec, n) {
				continue
			}
			if n.Field.Becomes == "decompressed" && int(n.Len) == len(was) {
				if b := w.repack(was); b != nil {
					data[n.Source] = b
					continue
				}
			}
			w.broken(n, data[n.Source])
			continue
		}
		if r == core.Word || r == core.Checksum || len(was) == 0 || r == core.GameName && knownGame(was) {
			continue
		}
		w.value(n, n.Value(data[n.Source]), r, nettext.Either(r == dissect.Setting, lastKey, nil))
	}
	return data, w.conclude(rec, data, cut, sums)
}

// conclude replaces what depends on other leaves: values that were cut, sources that are folded, and checksums.
func (w *rewriter) conclude(rec *dissect.Record, data [][]byte, cut, sums []*dissect.Node) (ok bool) {
	if len(cut) > 0 {
		w.remember(rec, data)
	}
	for _, n := range cut {
		w.cut(n, n.Value(rec.Sources[n.Source].Data), n.Value(data[n.Source]))
	}
	for i := len(rec.Sources) - 1; i > 0; i-- {
		if rec.Sources[i].Frame == 0 && !w.fold(rec, data, i) {
			return false
		}
	}
	for _, n := range sums {
		sumUp(n, rec.Sources[n.Source].Data, data[n.Source])
	}
	for i := range rec.Sources {
		if rec.Sources[i].Frame == 0 {
			data[i] = nil
		}
	}
	return true
}

// sumUp corrects a checksum, unless it was wrong before.
func sumUp(n *dissect.Node, was, is []byte) {
	if binary.LittleEndian.Uint32(n.Bytes(was)) == crc32.ChecksumIEEE(was[n.Off+n.Len:]) {
		binary.LittleEndian.PutUint32(n.Bytes(is), crc32.ChecksumIEEE(is[n.Off+n.Len:]))
	}
}

// unfolded reports whether a source was made from a leaf, so that its contents are decoded
// there.
func unfolded(rec *dissect.Record, n *dissect.Node) bool {
	return slices.ContainsFunc(rec.Sources[n.Source+1:], func(s dissect.Source) bool { return s.Name == n.Field.Becomes })
}

// broken replaces the bytes of a leaf that could not be unpacked, except its magic bytes.
// A damaged bzip2 stream stays damaged: broken sets the bit that marks a randomised block,
// which no program writes or reads.
func (w *rewriter) broken(n *dissect.Node, data []byte) {
	const randomised = 14
	b := n.Bytes(data)
	w.counts.Bytes += len(b)
	w.m.bytes(b[marked(b):])
	if n.Field.Becomes == "decompressed" && len(b) > randomised && bytes.HasPrefix(b, []byte("BZh")) {
		b[randomised] |= 0x80
	}
}

// repack replaces the contents of a compressed message that was not decoded because its
// length or checksum differs from its header. It returns nil if the stream itself is
// damaged.
func (w *rewriter) repack(packed []byte) []byte {
	const most = 1<<20 + 1 // more than any message
	if len(packed) < 4 {
		return nil
	}
	// The level sizes the memory of the reader. Few messages need that of theirs.
	level := packed[3]
	lower := bytes.Clone(packed)
	lower[3] = min('1', level)
	b, err := io.ReadAll(io.LimitReader(stdbzip2.NewReader(bytes.NewReader(lower)), most))
	if err != nil && level > '1' || level > '9' {
		b, err = io.ReadAll(io.LimitReader(stdbzip2.NewReader(bytes.NewReader(packed)), most))
	}
	if err != nil || len(b) == most {
		return nil
	}
	w.counts.Bytes += len(b)
	w.m.bytes(b[marked(b):])
	return w.pack(b, packed)
}

// pack compresses b with the level of the stream like.
func (w *rewriter) pack(b, like []byte) []byte {
	level := bzip2.BestCompression
	if len(like) > 3 && like[3] >= '1' && like[3] <= '9' {
		level = int(like[3] - '0')
	}
	var out bytes.Buffer
	var err error
	z := w.packers[level]
	if z == nil {
		z, err = bzip2.NewWriter(&out, &bzip2.WriterConfig{Level: level})
		w.packers[level] = z
	} else {
		err = z.Reset(&out)
	}
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

// marked returns the length of the magic bytes of b: the header and type of an unsplit
// message, or the header of bzip2.
func marked(b []byte) int {
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xff\xff\xff")):
		return min(5, len(b))
	case bytes.HasPrefix(b, []byte("BZh")):
		return min(10, len(b))
	}
	return 0
}

// remember records the replacements of all texts.
func (w *rewriter) remember(rec *dissect.Record, data [][]byte) {
	w.values = w.values[:0]
	for _, n := range rec.Nodes {
		if k := n.Field.Kind; k != dissect.String && k != dissect.Decimal || n.Field.Privacy == core.Repeated {
			continue
		}
		if len(w.values) == maxReplaced {
			return
		}
		w.values = append(w.values, replaced{n.Value(rec.Sources[n.Source].Data), n.Value(data[n.Source]), n.Source})
	}
}

// cut replaces a cut value that a later part repeats in full: by the beginning of the
// replacement of the full value. The value may be the name of a setting with its value, of
// which the end is missing.
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

// cutWord replaces a word by the beginning of the replacement of a value that begins with
// it: the first such value in the parts from source on.
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

// fold writes the replacement of a derived source back into the sources that it was made
// from.
func (w *rewriter) fold(rec *dissect.Record, data [][]byte, i int) bool {
	s := &rec.Sources[i]
	switch s.Name {
	case "filter", "plugins":
		return foldCopy(rec, data, i)
	case "joined":
		return w.foldParts(rec, data, i)
	case "unescaped":
		return foldEscaped(rec, data, i)
	case "unpacked":
		return foldUnpacked(rec, data, i)
	case "decrypted":
		return w.foldDecrypted(rec, data, i)
	}
	leaves := leavesOf(rec, i)
	if len(leaves) == 0 {
		return false
	}
	n := leaves[0]
	to := n.Bytes(data[n.Source])
	switch s.Name {
	case "decompressed":
		return w.foldPacked(rec, data, i, n)
	case "unshifted":
		return foldShifted(rec, data, i, n)
	case "decoded":
		return foldHex(to, s.Data, data[i])
	case "swapped":
		for j := 0; j+1 < len(to); j += 2 {
			to[j], to[j+1] = data[i][j+1], data[i][j]
		}
		return true
	case "unmasked":
		return foldUnmasked(n.Value(data[n.Source]), data[i])
	}
	if len(to) > 0 && to[0] == '{' {
		w.foldJSON(to, s.Data, data[i])
		return true
	}
	return foldUTF16(to, data[i])
}

// foldJSON replaces all texts in JSON but for keys and escapes: those that the source has as there, others by themselves.
func (w *rewriter) foldJSON(to, was, is []byte) {
	used, next := make([]bool, len(was)), 0
	for at := 0; at < len(to); at++ {
		if to[at] != '"' {
			word := to[at : len(to)-len(bytes.TrimLeftFunc(to[at:], unicode.IsLetter))]
			if at += max(len(word)-1, 0); !slices.Contains(jsonWords, string(word)) { // outside of a text only where the JSON is none
				w.m.text(word, dissect.NoStyle)
			}
			continue
		}
		end := at + 1
		for ; end < len(to) && to[end] != '"'; end++ {
			if to[end] == '\\' {
				end++
			}
		}
		end = min(end, len(to)) // it may be cut
		text := bytes.TrimPrefix(to[at+1:end], []byte("data:image/png;base64,"))
		at = end
		if after := bytes.TrimLeft(to[min(end+1, len(to)):], " \t\r\n"); len(after) > 0 && after[0] == ':' {
			continue
		}
		for from := 0; from < len(text); { // between escapes
			n := bytes.IndexByte(text[from:], '\\')
			if n < 0 {
				n = len(text) - from
			}
			next = w.foldText(text[from:from+n], was, is, used, next)
			if from += n + 2; from <= len(text) && text[from-1] == 'u' {
				from += 4
			}
		}
	}
}

var jsonWords = []string{"", "true", "false", "null"}

// foldText replaces a text as the source has it, where that is not used yet, from a place on or else from the beginning, or by itself. It
// returns the place behind it. Texts that are the same again and again must not take the square of their number.
func (w *rewriter) foldText(text, was, is []byte, used []bool, next int) int {
	const most = 16
	for at, tries := next, 0; len(text) > 0 && tries < most; tries++ {
		n := bytes.Index(was[at:], text)
		if n < 0 {
			if at == 0 {
				break
			}
			at = 0
			continue
		}
		if at += n; used[at] || bytes.ContainsAny(is[at:at+len(text)], "\"\\") {
			at++
			continue
		}
		copy(text, is[at:])
		for k := range text {
			used[at+k] = true
		}
		return at + len(text)
	}
	w.m.text(text, dissect.NoStyle)
	return next
}

// foldUTF16 writes text in UTF-16, big-endian.
func foldUTF16(to, is []byte) bool {
	var b []byte
	for _, u := range utf16.Encode([]rune(string(is))) {
		b = binary.BigEndian.AppendUint16(b, u)
	}
	copy(to, b)
	return len(b) == len(to)
}

// foldUnmasked encodes bytes so that none is 0: a byte with a bit for each of the next 7 that are odd, and these, even ones plus 1.
func foldUnmasked(to, b []byte) bool {
	var out []byte
	for j, c := range b {
		if j%7 == 0 {
			out = append(out, 1)
		}
		out[j/7*8] |= c & 1 << (j%7 + 1)
		out = append(out, c|1)
	}
	return copy(to, out) == len(out)
}

// foldUnpacked writes what a leaf holds without packing it, which all receivers of the protocols accept too.
func foldUnpacked(rec *dissect.Record, data [][]byte, i int) bool {
	before := 0 // sources of the same name
	for _, s := range rec.Sources[:i] {
		if s.Name == rec.Sources[i].Name {
			before++
		}
	}
	var mark *dissect.Node
	for k := range rec.Nodes {
		n := &rec.Nodes[k]
		if n.Field.PackMark {
			mark = n
		}
		if n.Field.Becomes != rec.Sources[i].Name {
			continue
		}
		if before--; before < 0 {
			to := data[n.Source]
			out := append(append(bytes.Clone(to[:n.Off]), data[i]...), to[n.Off+n.Len:]...)
			if data[n.Source] = out; mark != nil && mark.Source == n.Source {
				out[mark.Off] = 0xff
			}
			return true
		}
	}
	return false
}

// leavesOf returns the leaves in sources before source i whose bytes that source was made from.
func leavesOf(rec *dissect.Record, i int) (leaves []*dissect.Node) {
	for k := range rec.Nodes {
		if n := &rec.Nodes[k]; int(n.Source) < i && n.Field.Becomes == rec.Sources[i].Name {
			leaves = append(leaves, n)
		}
	}
	return leaves
}

// foldCopy handles sources that are the value of a leaf, decoded a second time.
func foldCopy(rec *dissect.Record, data [][]byte, i int) bool {
	for _, n := range rec.Nodes {
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

// foldParts splits a joined message into its parts. If its length changed because it was
// compressed again, the number of parts stays. They keep their lengths if possible;
// otherwise all get shorter or longer.
func (w *rewriter) foldParts(rec *dissect.Record, data [][]byte, i int) bool {
	was := rec.Sources[i].Data
	var pieces []*dissect.Node
	at := 0
	for _, n := range leavesOf(rec, i) {
		b := n.Bytes(rec.Sources[n.Source].Data)
		if !bytes.HasPrefix(was[at:], b) {
			w.m.bytes(n.Bytes(data[n.Source])) // a part that is not in the joined message
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
	longest := int(slices.MaxFunc(pieces, func(a, b *dissect.Node) int { return cmp.Compare(a.Len, b.Len) }).Len)
	if room := longest * len(pieces); room < len(rest) || longest*(len(pieces)-1) >= len(rest) {
		longest = (len(rest) + len(pieces) - 1) / len(pieces)
	}
	for k, n := range pieces {
		left := len(pieces) - 1 - k
		size := nettext.Either(left == 0, len(rest), min(longest, len(rest)-left))
		if size < 1 {
			return false
		}
		to := data[n.Source]
		data[n.Source] = append(append(bytes.Clone(to[:n.Off]), rest[:size]...), to[n.Off+n.Len:]...)
		rest = rest[size:]
	}
	return true
}

// foldPacked compresses the message of a leaf again and updates its checksum.
func (w *rewriter) foldPacked(rec *dissect.Record, data [][]byte, i int, n *dissect.Node) bool {
	at := slices.IndexFunc(rec.Nodes, func(n dissect.Node) bool {
		return int(n.Source) < i && n.Field.Privacy == core.Checksum && n.Len == 4
	})
	if at < 0 {
		return false
	}
	out := w.pack(data[i], n.Bytes(rec.Sources[n.Source].Data))
	if out == nil {
		return false
	}
	data[n.Source] = out
	sum := &rec.Nodes[at]
	binary.LittleEndian.PutUint32(sum.Bytes(data[sum.Source]), crc32.ChecksumIEEE(data[i]))
	w.counts.Repacked++
	return true
}

// foldEscaped writes the binary rules of Arma 3 into their chunks. The three bytes that
// are escaped stay unchanged: they are not part of texts.
func foldEscaped(rec *dissect.Record, data [][]byte, i int) bool {
	from, at := data[i], 0
	for _, n := range leavesOf(rec, i) {
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
				b[j] = 2 // a byte that would need an escape
			}
			at++
		}
	}
	return at == len(from)
}

// foldShifted writes texts into a message of Quake Wars whose fields are not aligned to
// bytes. Texts are aligned.
func foldShifted(rec *dissect.Record, data [][]byte, i int, to *dissect.Node) bool {
	was, is, at := to.Bytes(rec.Sources[to.Source].Data), to.Bytes(data[to.Source]), 0
	for _, n := range rec.Nodes {
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

// foldHex writes bytes as hexadecimal digits, in which spaces mean zeros.
func foldHex(b, was, is []byte) bool {
	digit := 0
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

// foldDecrypted encrypts headers, which are public, and bodies as Ventrilo does. Their keys stay the same. Encryption adds a
// byte to each byte. The checksum is corrected, unless it was wrong before.
func (w *rewriter) foldDecrypted(rec *dissect.Record, data [][]byte, i int) bool {
	was, is := rec.Sources[i].Data, data[i]
	var heads, bodies []*dissect.Node
	text := 0 // where it begins, after the headers
	for k := range rec.Nodes {
		switch n := &rec.Nodes[k]; {
		case n.Field.Becomes != rec.Sources[i].Name:
			if int(n.Source) == i && n.Field.Privacy == core.Checksum && n.Len == 2 {
				if v := n.Bytes(was); text <= len(is) && binary.BigEndian.Uint16(v) == crc16(was[text:]) {
					binary.BigEndian.PutUint16(n.Bytes(is), crc16(is[text:]))
				}
			}
		case n.Field.Privacy == dissect.Public:
			heads = append(heads, n)
			text += int(n.Len)
		default:
			bodies = append(bodies, n)
		}
	}
	at := 0
	for _, n := range append(heads, bodies...) {
		to := n.Bytes(data[n.Source])
		if at == len(is) {
			w.m.bytes(to) // a body behind a missing part
			continue
		}
		if at+len(to) > len(is) {
			return false
		}
		for j := range to {
			to[j] += is[at+j] - was[at+j]
		}
		at += len(to)
	}
	return at == len(is)
}

// crc16 is the checksum of Ventrilo: CRC-16 without its zeros at the end.
func crc16(b []byte) (sum uint16) {
	for _, x := range b {
		top := sum & 0xff00
		for range 8 {
			if top&0x8000 != 0 {
				top = top<<1 ^ 0x1021
			} else {
				top <<= 1
			}
		}
		sum = top ^ uint16(x) ^ sum<<8
	}
	return sum
}

// reader returns the protocol that decoded a message. The record may have a related
// protocol: that of its request.
func (w *rewriter) reader(rec *dissect.Record) *dissect.Protocol {
	for i := range rec.Nodes {
		name, _, _ := strings.Cut(rec.Nodes[i].Field.Path, ".")
		if p := w.protocols[name]; p != nil {
			return p
		}
	}
	return rec.Protocol
}

// sameShape reports whether a replacement decodes to the same type and the same tree as
// the original. Parts are not checked: a single part does not decode.
func (w *rewriter) sameShape(rec *dissect.Record, payload []byte) bool {
	if len(rec.Sources) == 0 || rec.Sources[0].Name != "payload" {
		return true
	}
	m := &w.message
	*m = dissect.Message{}
	w.decode(w.reader(rec), payload, m)
	nodes := core.Nodes(&w.check)
	if m.Type != rec.Type && rec.RequestFrame == 0 {
		return false
	}
	if rec.Sources[len(rec.Sources)-1].Name == "unpacked" {
		return true // one source less
	}
	return slices.EqualFunc(nodes, rec.Nodes, func(a, b dissect.Node) bool {
		return (a.Field == b.Field || a.Field.Path == b.Field.Path) && a.Off == b.Off && a.Len == b.Len && a.Depth == b.Depth && a.Source == b.Source
	})
}
