package anonymize

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
)

// A Witness knows what in a capture tells of people and servers, and finds it in the anonymized copy. Each value is looked
// for at its place, whatever it is: in the message of the same time and ports, in the same field. Values that are too long to
// come about by chance are looked for everywhere, as words. Both are compared in Unicode's compatibility form (NFKC), and in
// small letters; words also in UTF-16 and in common code pages.
type Witness struct {
	rewriter rewriter // says what settings reveal
	seed     maphash.Seed
	places   map[uint64]struct{}
	words    map[string]bool // whether they name persons: those must not even stand in a field that is kept
	starts   [startBits / 64]uint64
	// sorted are the words, and those that name persons, without what begins with another one.
	sorted, persons []string
	// Unchecked is the number of values beyond the limits.
	Unchecked int
	folded    map[string]string // recent texts that are not ASCII
	key, text []byte            // scratch
	narrow    []byte
	leaks     []Leak
	// Leaks is the number of leaks, of which the first ones are kept.
	Leaks int
}

// A Leak is a value of a capture in its anonymized copy: the frame there, the field, and the value.
type Leak struct {
	Frame        uint64
	Field, Value string
}

// Limits, as in docs/limits.md.
const (
	maxPlaces = 1 << 19
	maxWords  = 1 << 15
	maxWord   = 64
	// longestForm is the length of the longest word in UTF-16 or in the compatibility form.
	longestForm = 4 * maxWord
	maxLeaks    = 20
	wordStart   = 8
	startLog    = 18
	startBits   = 1 << startLog
)

// A value is a word if it has so many letters, or so many bytes of characters that are not ASCII.
const leastLetters, leastHigh = 10, 12

var pages = []*charmap.Charmap{charmap.Windows1251, charmap.Windows1252, charmap.KOI8R}

// NewWitness returns a witness that knows nothing.
func NewWitness(o Options) *Witness {
	o.Key = make([]byte, leastKey) // replaces nothing
	return &Witness{rewriter: newRewriter(&o, &Counts{}), seed: maphash.MakeSeed(), places: make(map[uint64]struct{}), words: make(map[string]bool), folded: make(map[string]string)}
}

// Read makes the witness know a capture.
func (w *Witness) Read(in capture.Source) error {
	return w.walk(in, walker{w.note, func(*dissect.Unknown) {}})
}

// Search returns what it knows and finds in a capture.
func (w *Witness) Search(out capture.Source) ([]Leak, error) {
	w.sort()
	err := w.walk(out, walker{w.compare, func(u *dissect.Unknown) { w.search(u.Frame, u.Payload, nil, 0) }})
	return w.leaks, err
}

// A walker is a handler of messages and of datagrams that no protocol recognises.
type walker struct {
	record  func(*dissect.Record)
	unknown func(*dissect.Unknown)
}

func (w walker) Record(rec *dissect.Record)   { w.record(rec) }
func (w walker) Unknown(u *dissect.Unknown)   { w.unknown(u) }
func (w walker) Finding(*dissect.FlowFinding) {}

// walk dissects a capture.
func (w *Witness) walk(in capture.Source, h dissect.Handler) error {
	c := w.rewriter.o.Analysis
	c.KeepCopies = true
	trouble, err := pipeline.Walk(in, c, h, func(time.Time) error { return nil })
	if _, panicked := trouble.(pipeline.PanicError); panicked {
		trouble = nil // its frames are in no copy
	}
	return cmp.Or(err, trouble)
}

// note makes the witness know a message.
func (w *Witness) note(rec *dissect.Record) {
	w.endpoints(rec, func(at uint64, _ string, _ netip.Addr) { w.keep(at) })
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if n.Field.Privacy == dissect.Public {
			continue
		}
		data := rec.Sources[n.Source].Data
		v := n.Value(data)
		r := w.privacy(rec, i, v)
		if len(v) == 0 || !w.tells(n, r, v, data) {
			continue
		}
		text := w.plainText(n, data)
		if folded := w.fold(text); len(bytes.TrimSpace(folded)) > 0 {
			w.keep(w.place(rec, n, folded))
			if n.Field.Kind == dissect.String && r != core.Key {
				w.word(text, folded, r == dissect.PersonName || r == dissect.PersonID)
			}
		}
	}
}

// privacy returns what a leaf reveals. The leaf before a setting is its name.
func (w *Witness) privacy(rec *dissect.Record, i int, v []byte) dissect.Privacy {
	n := &rec.Nodes[i]
	var name []byte
	if i > 0 && n.Field.Privacy == dissect.Setting && !rec.Nodes[i-1].Field.Kind.Container() {
		name = rec.Nodes[i-1].Value(rec.Sources[rec.Nodes[i-1].Source].Data)
	}
	return w.rewriter.concreteRole(n.Field, v, n.Field.Privacy, name)
}

// tells reports whether a value must not stay.
func (w *Witness) tells(n *dissect.Node, r dissect.Privacy, v, data []byte) bool {
	if n.Field.Kind == dissect.String && v[0] >= '0' && v[0] <= '9' {
		text, _, _ := bytes.Cut(v, []byte(":"))
		if a, err := netip.ParseAddr(string(text)); err == nil && stays(a) {
			return false
		}
	}
	switch r {
	case dissect.PersonName, dissect.PersonID, core.HexAddress:
		return true
	case core.SteamID:
		return len(v) == 8 && binary.LittleEndian.Uint32(v) != 0
	case core.Key:
		return len(bytes.Trim(v, "x")) > 0
	case dissect.FreeText:
		return ofEngine(v) == 0
	case dissect.ServerText:
		return !w.rewriter.o.KeepServerText && !w.wordless(v)
	case dissect.Address:
		return n.Field.Kind != dissect.Endpoint || len(v) >= 4 && !stays(n.Endpoint(data).Addr())
	}
	return false
}

// wordless reports whether a value is JSON without texts, such as null, [] and {"n":1}, of which nothing is replaced.
func (w *Witness) wordless(v []byte) bool {
	if begins := strings.IndexByte(`{["n`, v[0]); begins < 0 || v[len(v)-1] != `}]"l`[begins] {
		return false
	}
	b := bytes.Clone(v)
	w.rewriter.foldJSON(b, nil, nil)
	return bytes.Equal(b, v)
}

// stays reports whether an address is one of those that are replaced by themselves.
func stays(a netip.Addr) bool {
	a = a.Unmap()
	return !a.IsValid() || a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || a.Is4() && (a.As4()[0] == 0 || a.As4()[0] >= 224)
}

// plainText returns a text in UTF-8, or as on the wire. It is borrowed.
func (w *Witness) plainText(n *dissect.Node, data []byte) []byte {
	w.narrow = n.Text(w.narrow[:0], data)
	return w.narrow
}

// fold returns a text in its compatibility form, in small letters. It is borrowed.
func (w *Witness) fold(text []byte) []byte {
	w.text = lower(append(w.text[:0], text...))
	if nettext.ASCIILen(w.text) == len(w.text) || !utf8.Valid(w.text) {
		return w.text
	}
	folded, ok := w.folded[string(w.text)]
	if !ok {
		folded = string(bytes.ToLower(norm.NFKC.Bytes(w.text)))
		if len(w.text) <= maxText {
			store(w.folded, maxTexts, string(w.text), folded)
		}
	}
	w.text = append(w.text[:0], folded...)
	return w.text
}

// place returns the key of a value at a place.
func (w *Witness) place(rec *dissect.Record, n *dissect.Node, folded []byte) uint64 {
	b := binary.LittleEndian.AppendUint64(w.key[:0], uint64(rec.Time.UnixNano()))
	b = binary.LittleEndian.AppendUint32(b, uint32(rec.Src.Port())<<16|uint32(rec.Dst.Port()))
	b = binary.LittleEndian.AppendUint32(b, n.Off)
	b = append(append(append(b, byte(n.Source)), n.Field.Path...), 0)
	w.key = append(b, folded...)
	return maphash.Bytes(w.seed, w.key)
}

func (w *Witness) keep(at uint64) {
	if len(w.places) < maxPlaces {
		w.places[at] = struct{}{}
	} else if _, ok := w.places[at]; !ok {
		w.Unchecked++
	}
}

// ends stand for the addresses of a message.
var ends = [...]*dissect.Field{{Path: "src"}, {Path: "dst"}}

// endpoints calls f for the addresses of a message that are not kept.
func (w *Witness) endpoints(rec *dissect.Record, f func(at uint64, name string, a netip.Addr)) {
	for i, end := range [...]netip.AddrPort{rec.Src, rec.Dst} {
		if a := end.Addr(); !stays(a) {
			w.text = a.AppendTo(w.text[:0])
			f(w.place(rec, &dissect.Node{Field: ends[i]}, w.text), ends[i].Path, a)
		}
	}
}

// word adds a value in all its forms if it is long enough.
func (w *Witness) word(text, folded []byte, person bool) {
	letters, high := 0, 0
	for _, c := range folded {
		if c >= utf8.RuneSelf {
			high++
		} else if c >= 'a' && c <= 'z' {
			letters++
		}
	}
	if letters < leastLetters && high < leastHigh {
		return
	}
	short := folded[:min(len(folded), maxWord)]
	if known, ok := w.words[string(short)]; ok && (known || !person) {
		return
	}
	if high == 0 {
		w.form(short, person)
		w.form(inUTF16(string(short)), person)
		return
	}
	plain := string(text[:min(len(text), maxWord)])
	forms := [][]byte{bytes.Clone(short), []byte(plain), inUTF16(plain)}
	for _, page := range pages {
		if b, err := page.NewEncoder().Bytes([]byte(plain)); err == nil {
			forms = append(forms, b)
		}
	}
	for _, b := range forms {
		w.form(b, person)
	}
}

func inUTF16(s string) (b []byte) {
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// form adds a form of a word.
func (w *Witness) form(b []byte, person bool) {
	b = lower(bytes.Clone(b[:min(len(b), longestForm)]))
	if len(b) < wordStart {
		return
	}
	known, ok := w.words[string(b)]
	if !ok && len(w.words) == maxWords {
		w.Unchecked++
		return
	}
	w.words[string(b)] = known || person
	at := startOf(b)
	w.starts[at/64] |= 1 << (at % 64)
}

func startOf(b []byte) uint64 {
	return binary.LittleEndian.Uint64(b) * 0x9e3779b97f4a7c15 >> (64 - startLog)
}

func lower(b []byte) []byte {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return b
}

// compare reports what of a message the witness knows.
func (w *Witness) compare(rec *dissect.Record) {
	w.endpoints(rec, func(at uint64, name string, a netip.Addr) {
		if _, ok := w.places[at]; ok {
			w.leak(rec.Frame, name, a.String())
		}
	})
	frame := func(source uint16) uint64 {
		if f := rec.Sources[source].Frame; f > 0 {
			return f
		}
		return rec.Frame
	}
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if n.Field.Privacy == dissect.Public {
			continue
		}
		text := w.plainText(n, rec.Sources[n.Source].Data)
		folded := w.fold(text)
		if _, ok := w.places[w.place(rec, n, folded)]; ok {
			w.leak(frame(n.Source), n.Field.Path, string(text))
		} else if n.Wide || nettext.ASCIILen(text) < len(text) {
			if found, _ := w.find(w.sorted, folded); found != "" {
				w.leak(frame(n.Source), n.Field.Path, found)
			}
		}
	}
	for i, s := range rec.Sources {
		w.search(frame(uint16(i)), s.Data, rec, uint16(i))
	}
}

// search looks for words in a source of a message, or in a datagram that nobody recognised.
func (w *Witness) search(number uint64, data []byte, rec *dissect.Record, source uint16) {
	w.text = lower(append(w.text[:0], data...))
	for at := 0; ; at++ {
		found, skipped := w.find(w.sorted, w.text[at:])
		if found == "" {
			return
		}
		at += skipped
		field, kept := "payload", false
		if rec != nil {
			field, kept = w.fieldAt(rec, source, uint32(at))
		}
		if _, where := w.find(w.persons, w.text[at:min(len(w.text), at+longestForm)]); !kept || where == 0 {
			w.leak(number, field, found)
		}
	}
}

// fieldAt returns the field that has a byte, and whether it is one that is kept.
func (w *Witness) fieldAt(rec *dissect.Record, source uint16, at uint32) (path string, kept bool) {
	path = "payload"
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if n.Source != source || n.Field.Kind != dissect.String || at < n.Off || at >= n.Off+n.Len {
			continue
		}
		r := w.privacy(rec, i, n.Value(rec.Sources[source].Data))
		path, kept = n.Field.Path, r == dissect.Public || r == dissect.SettingName || r == core.GameName
	}
	return path, kept
}

// find returns the first word in a text in small letters, and where it is; "" and -1 if there is none.
func (w *Witness) find(words []string, b []byte) (found string, at int) {
	for i := 0; len(words) > 0 && i <= len(b)-wordStart; i++ {
		if at := startOf(b[i:]); w.starts[at/64]>>(at%64)&1 == 0 {
			continue
		}
		start := string(b[i:min(len(b), i+longestForm)])
		k, found := slices.BinarySearch(words, start)
		if found {
			return start, i
		}
		if k > 0 && strings.HasPrefix(start, words[k-1]) {
			return words[k-1], i
		}
	}
	return "", -1
}

// sort makes the lists of words that find searches.
func (w *Witness) sort() {
	w.sorted, w.persons = nil, nil
	for _, text := range slices.Sorted(maps.Keys(w.words)) {
		for _, list := range [...]*[]string{&w.sorted, &w.persons} {
			if n := len(*list); (list == &w.sorted || w.words[text]) && (n == 0 || !strings.HasPrefix(text, (*list)[n-1])) {
				*list = append(*list, text)
			}
		}
	}
}

func (w *Witness) leak(frame uint64, field, value string) {
	if w.Leaks++; len(w.leaks) < maxLeaks {
		w.leaks = append(w.leaks, Leak{frame, field, value})
	}
}
