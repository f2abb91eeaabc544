// Package wire has functions for detecting, parsing and summing up messages that several
// protocols share.
package wire

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// Known returns a value that was just read, or none if reading failed.
func Known[T any](r *dissect.Reader, v T) dissect.Opt[T] {
	return dissect.Opt[T]{Value: v, OK: !r.Failed()}
}

// Fact returns a value that was just read, and sets what it says of the server unless reading failed.
func Fact[T any](r *dissect.Reader, fact *dissect.Opt[T], v T) T {
	*fact = Known(r, v)
	return v
}

// Count is [Fact] for numbers.
func Count[T uint8 | uint16](r *dissect.Reader, fact *dissect.Opt[int], v T) T {
	*fact = Known(r, int(v))
	return v
}

// Decimal returns a number in decimal digits, if it is one of 32 bits.
func Decimal(s string) dissect.Opt[int] {
	n, err := strconv.ParseInt(s, 10, 32)
	return dissect.Opt[int]{Value: int(n), OK: err == nil}
}

// Endpoint reads an address of IPv4, or of IPv6 if six is set, and a port. An IPv4 address that is mapped into IPv6 is returned as what it is.
func Endpoint(r *dissect.Reader, f *dissect.Field, six, portLE bool) netip.AddrPort {
	if six {
		addr, port := r.Endpoint6(f, portLE)
		return netip.AddrPortFrom(netip.AddrFrom16(addr).Unmap(), port)
	}
	addr, port := r.Endpoint4(f, portLE)
	return netip.AddrPortFrom(netip.AddrFrom4(addr), port)
}

// State sets what a message says of its server, unless reading failed.
func State(r *dissect.Reader, m *dissect.Message, s dissect.Server) {
	if !r.Failed() {
		m.Server = s
	}
}

// Body makes v the body of a message, in a place that belongs to the decoder, and returns the place.
func Body[T any](m *dissect.Message, place *T, v T) *T {
	*place = v
	m.Body = place
	return place
}

// Message is [Body] for a message whose type is known by now.
func Message[T any](m *dissect.Message, t *dissect.MessageType, place *T, v T) *T {
	m.Type = t
	return Body(m, place, v)
}

// Parse is [dissect.Parse] for the messages of one protocol, of which M is the interface.
func Parse[M any](p *dissect.Protocol, payload []byte) (M, error) {
	m, _, err := dissect.Parse(p, payload)
	body, _ := m.Body.(M) // nil if its kind is not known
	return body, err
}

// Records reads a list of records while more reports that another follows, and appends
// them to dst. A record that cannot be read completely ends the list, and its bytes
// become data.
func Records[T any](r *dissect.Reader, list, record *dissect.Field, dst []T, more func() bool, read func() T) []T {
	open := r.Begin(list)
	for more() {
		group := r.BeginRecord(record)
		v := read()
		if !r.EndRecord(group) {
			break
		}
		dst = append(dst, v)
	}
	r.End(open)
	return dst
}

// Counted is [Records] for a list of n records.
func Counted[T any](r *dissect.Reader, list, record *dissect.Field, dst []T, n int, read func() T) []T {
	return Records(r, list, record, dst, Times(r, n), read)
}

// Times reports n times that another value follows, unless reading failed.
func Times(r *dissect.Reader, n int) func() bool {
	return func() bool { n--; return n >= 0 && !r.Failed() }
}

// Items is [Records] for items that are shown as far as they can be read. They are groups, or values alone if item is nil.
func Items[T any](r *dissect.Reader, list, item *dissect.Field, dst []T, more func() bool, read func() T) []T {
	open := r.Begin(list)
	for more() {
		group := 0
		if item != nil {
			group = r.Begin(item)
		}
		v := read()
		if item != nil {
			r.End(group)
		}
		dst = append(dst, v)
	}
	r.End(open)
	return dst
}

// Each is [Items] for items of which nothing is kept.
func Each(r *dissect.Reader, list, item *dissect.Field, more func() bool, read func()) {
	Items(r, list, item, nil, more, func() (none struct{}) { read(); return none })
}

// Fill reads a list of as many values as to has.
func Fill[T any](r *dissect.Reader, list *dissect.Field, to []T, read func() T) {
	open := r.Begin(list)
	for i := range to {
		to[i] = read()
	}
	r.End(open)
}

// Ports returns the ports from one to another.
func Ports(from, to uint16) []uint16 {
	list := make([]uint16, int(to)-int(from)+1)
	for i := range list {
		list[i] = from + uint16(i)
	}
	return list
}

// List reads a list of n values that are no records, each whole or not at all, and appends them to dst.
func List[T any](r *dissect.Reader, list *dissect.Field, dst []T, n int, read func() T) []T {
	return Wholes(r, list, dst, Times(r, n), read)
}

// Wholes is [List] of values while more reports that another follows.
func Wholes[T any](r *dissect.Reader, list *dissect.Field, dst []T, more func() bool, read func() T) []T {
	open := r.Begin(list)
	for more() {
		mark := core.Here(r)
		v := read()
		if r.Failed() {
			core.Return(r, mark)
			break
		}
		dst = append(dst, v)
	}
	r.End(open)
	return dst
}

// Values reads a list of values up to the end of the message, and appends those that can be read to dst.
func Values[T any](r *dissect.Reader, list *dissect.Field, dst []T, read func() T) []T {
	open := r.Begin(list)
	for r.More() {
		if v := read(); !r.Failed() {
			dst = append(dst, v)
		}
	}
	r.End(open)
	return dst
}

// Texts reads the number of texts in a byte, and a list of them that end with zero bytes.
func Texts(r *dissect.Reader, count, list, one *dissect.Field, dst []string) []string {
	n := int(r.U8(count))
	return List(r, list, dst, n, func() string { return r.CString(one) })
}

// A Form is one form of a message after its letter or word, with the verdict for it.
type Form struct {
	prefix  string
	fits    func(rest []byte) bool
	verdict dissect.Verdict
}

// Certain returns a form that begins with a prefix and whose rest satisfies fits. A nil
// function accepts any rest.
func Certain(prefix string, fits func(rest []byte) bool) Form {
	return Form{prefix, fits, dissect.Certain}
}

// Likely is like [Certain] with another verdict.
func Likely(prefix string, fits func(rest []byte) bool) Form {
	return Form{prefix, fits, dissect.Likely}
}

// Possible is like [Certain] with another verdict.
func Possible(prefix string, fits func(rest []byte) bool) Form {
	return Form{prefix, fits, dissect.Possible}
}

// No is like [Certain] with another verdict. It excludes data that would match one of
// the next forms.
func No(prefix string, fits func(rest []byte) bool) Form { return Form{prefix, fits, dissect.No} }

// Forms are tried in order.
type Forms []Form

// Judge returns the verdict of the first form that matches b, or No if none does.
func (forms Forms) Judge(b []byte) dissect.Verdict {
	for i := range forms {
		f := &forms[i]
		n := len(f.prefix)
		if n > 0 && (len(b) < n || b[0] != f.prefix[0] || string(b[:n]) != f.prefix) {
			continue
		}
		if f.fits == nil || f.fits(b[n:]) {
			return f.verdict
		}
	}
	return dissect.No
}

// Empty reports whether rest is empty.
func Empty(rest []byte) bool { return len(rest) == 0 }

// Ends reports whether rest is empty or just the zero byte or line end with which some
// senders end commands.
func Ends(rest []byte) bool {
	switch string(rest) {
	case "", "\x00", "\n", "\n\x00", "\r\n", "\r\n\x00":
		return true
	}
	return false
}

// Length returns a function that reports whether the length of rest is one of n.
func Length(n ...int) func(rest []byte) bool {
	return func(rest []byte) bool { return slices.Contains(n, len(rest)) }
}

// AtLeast returns a function that reports whether rest has at least n bytes.
func AtLeast(n int) func(rest []byte) bool { return func(rest []byte) bool { return len(rest) >= n } }

// Text reports whether b begins with a text of 1 to most bytes after its length in a byte, as far as
// it is there, and returns what follows. A text has no control characters.
func Text(b []byte, most int) (rest []byte, ok bool) {
	if len(b) == 0 || b[0] == 0 || int(b[0]) > most {
		return nil, false
	}
	n := min(len(b), 1+int(b[0]))
	return b[n:], !slices.ContainsFunc(b[1:n], func(c byte) bool { return c < ' ' || c == 0x7f })
}

// Latin reads a text of Latin-1 after its length in a byte.
func Latin(r *dissect.Reader, f *dissect.Field) string {
	return core.Latin(r, f, 1, max(r.PeekByte(0), 0), 0)
}

// Unprintable reports whether c is not a printable character of ASCII.
func Unprintable(c byte) bool { return c < ' ' || c >= 0x7f }

// Varied reports whether at least three different bytes of b are neither -1 nor small numbers, as
// of a random number and not of counters and flags.
func Varied(b []byte) bool {
	first, second := byte(0), byte(0)
	for _, c := range b {
		switch {
		case c < 4 || c == 0xff || c == first || c == second:
		case first == 0:
			first = c
		case second == 0:
			second = c
		default:
			return true
		}
	}
	return false
}

// Hash returns the FNV-1a hash of s.
func Hash[T string | []byte](s T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// Letters returns the number of letters at the start of b.
func Letters(b []byte) int {
	return While(b, func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' })
}

// While returns the number of bytes at the start of b for which is returns true.
func While[T string | []byte](b T, is func(byte) bool) int {
	n := 0
	for n < len(b) && is(b[n]) {
		n++
	}
	return n
}

// Same reports whether b is a word of letters, compared without case as the engines of
// id Software do.
func Same[T string | []byte](b T, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i := range len(word) {
		if b[i]|0x20 != word[i]|0x20 {
			return false
		}
	}
	return true
}

// maxWord is more than the length of the longest word of a command.
const maxWord = 32

// A Lexicon finds the commands of a protocol by the lengths of their words.
type Lexicon[T any] struct {
	of   [maxWord][]*T
	word func(*T) string
}

// NewLexicon returns the lexicon of commands, which word names.
func NewLexicon[T any](commands []T, word func(*T) string) *Lexicon[T] {
	l := &Lexicon[T]{word: word}
	for i := range commands {
		c := &commands[i]
		l.of[len(word(c))] = append(l.of[len(word(c))], c)
	}
	return l
}

// Find returns the command whose word is the same as one, which [Same] or [Exactly] says, or nil if there is none.
func (l *Lexicon[T]) Find(word []byte, same func(a []byte, b string) bool) *T {
	if len(word) < maxWord {
		for _, c := range l.of[len(word)] {
			if same(word, l.word(c)) {
				return c
			}
		}
	}
	return nil
}

// Exactly reports whether a is b.
func Exactly(a []byte, b string) bool { return string(a) == b }

// Starts returns every head followed by each byte of next, for [dissect.Protocol.Starts].
func Starts(next string, heads ...string) []string {
	var starts []string
	for _, head := range heads {
		for i := range len(next) {
			starts = append(starts, head+next[i:i+1])
		}
	}
	return starts
}

// Words returns a head followed by each of some words, for [dissect.Protocol.Starts].
func Words(head string, words ...string) []string {
	starts := make([]string, len(words))
	for i, word := range words {
		starts[i] = head + word
	}
	return starts
}

// Columns hold the fields of a table whose columns the messages name, as those of
// GameSpy do: those of the catalog, and others, whose
// fields are made when a message first names them. It is part of a decoder and
// not safe for concurrent use.
type Columns struct {
	open  *dissect.Field
	known map[string]*dissect.Field
	seen  map[string]*dissect.Field
}

// maxSeen bounds the fields that are kept: forged messages can name any number of
// columns. When it is reached all are evicted and made again as needed.
const maxSeen = 256

// NewColumns returns the columns of a table. open is the field that stands for columns
// outside the catalog. known maps names on the wire to fields of the catalog.
func NewColumns(open *dissect.Field, known map[string]*dissect.Field) *Columns {
	return &Columns{open: open, known: known, seen: make(map[string]*dissect.Field)}
}

// Field returns the field of a column, or nil if the name cannot be a key.
func (s *Columns) Field(name string) *dissect.Field {
	if f := s.known[name]; f != nil {
		return f
	}
	if f := s.seen[name]; f != nil {
		return f
	}
	f := s.open.AsColumn(name)
	if f == nil {
		return nil
	}
	if len(s.seen) >= maxSeen {
		clear(s.seen)
	}
	s.seen[f.Key()] = f
	return f
}

// A Style is the encoding of text in a protocol.
type Style struct {
	Charset dissect.Charset
	Codes   dissect.Style
}

// Text appends text; see [dissect.AppendText].
func (s Style) Text(dst []byte, before, text string) []byte {
	return core.AppendText(append(dst, before...), text, s.Charset, s.Codes)
}

// Quoted appends text in quotation marks; see [dissect.AppendQuoted].
func (s Style) Quoted(dst []byte, before, text string) []byte {
	return dissect.AppendQuoted(append(dst, before...), text, s.Charset, s.Codes)
}

// Concealed is like Quoted for text with a secret at n, or without one if n is its
// length. Three asterisks replace the secret and everything after it.
func (s Style) Concealed(dst []byte, text string, n int) []byte {
	dst = s.Quoted(dst, "", text[:n])
	if n < len(text) {
		dst = append(dst, " ***"...)
	}
	return dst
}

// Number appends a number.
func Number[N int | int32 | uint8 | uint16 | uint32](dst []byte, before string, n N) []byte {
	return strconv.AppendInt(append(dst, before...), int64(n), 10)
}

// Hex appends a number in hexadecimal digits.
func Hex[N uint8 | uint32](dst []byte, before string, n N) []byte {
	return strconv.AppendUint(append(append(dst, before...), "0x"...), uint64(n), 16)
}

// Plural appends a number and the noun that fits it.
func Plural(dst []byte, before string, n int, one, many string) []byte {
	dst = append(Number(dst, before, n), ' ')
	if n == 1 {
		return append(dst, one...)
	}
	return append(dst, many...)
}

// Gap appends the separator of two groups, unless the summary that began at start is
// still empty.
func Gap(dst []byte, start int) []byte {
	if len(dst) > start {
		dst = append(dst, "  "...)
	}
	return dst
}
