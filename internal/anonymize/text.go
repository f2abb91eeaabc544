package anonymize

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/dissect"
)

// What is searched for in every text, wherever it stands: addresses, and the
// ways to write a SteamID.
var (
	dotted   = regexp.MustCompile(`[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}`)
	colons   = regexp.MustCompile(`[0-9A-Fa-f]{0,4}(:[0-9A-Fa-f]{0,4}){2,7}(\.[0-9]{1,3}){0,3}`)
	steam64  = regexp.MustCompile(`7656119[0-9]{10}`)
	steam2   = regexp.MustCompile(`(STEAM_[0-9]:[01]:|U:[0-9]:)[0-9]{1,10}`)
	hexWhole = regexp.MustCompile(`^[0-9A-Fa-f]{12}$`)
)

// found replaces the addresses and SteamIDs of text in place, and returns where
// they stand. before is the text as it was.
func (w *rewriter) found(b []byte) (spans [][]int) {
	// Most texts have nothing of the kind.
	dots, colon, digit := bytes.Count(b, []byte(".")), bytes.Count(b, []byte(":")), bytes.ContainsAny(b, "0123456789")
	if !digit && colon < 2 || dots < 3 && colon < 2 && len(b) < len("7656119")+10 {
		return nil
	}
	for _, s := range steam64.FindAllIndex(b, -1) {
		if n, err := strconv.ParseUint(string(b[s[0]:s[1]]), 10, 64); err == nil {
			spans = append(spans, s)
			w.counts.IDs++
			copy(b[s[0]:s[1]], strconv.FormatUint(w.m.steamID(n), 10))
		}
	}
	for _, s := range findAll(steam2, b, colon >= 2) {
		spans = append(spans, s)
		w.counts.IDs++
		digits := b[s[0]+bytes.LastIndexByte(b[s[0]:s[1]], ':')+1 : s[1]]
		if n, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
			copy(digits, strconv.FormatInt(w.m.number(n), 10))
		}
	}
	for _, s := range findAll(dotted, b, dots >= 3) {
		if w.addressText(b[s[0]:s[1]]) {
			spans = append(spans, s)
		}
	}
	for _, s := range findAll(colons, b, colon >= 2) {
		if w.addressText(b[s[0]:s[1]]) {
			spans = append(spans, s)
		}
	}
	return spans
}

// findAll finds what an expression describes, if it can be there at all:
// expressions are slow.
func findAll(what *regexp.Regexp, b []byte, can bool) [][]int {
	if !can {
		return nil
	}
	return what.FindAllIndex(b, -1)
}

// addressText replaces an address in text, which keeps its length.
func (w *rewriter) addressText(b []byte) bool {
	a, err := netip.ParseAddr(string(b))
	if err != nil {
		return false
	}
	other := w.addr(a)
	for _, s := range [...]string{other.String(), other.StringExpanded(), strings.ToUpper(other.String()), strings.ToUpper(other.StringExpanded())} {
		if len(s) == len(b) && (strings.ToUpper(s) != s || strings.ToUpper(string(b)) == string(b)) {
			copy(b, s)
			return true
		}
	}
	return false // written in a way of its own: replaced like other text
}

// The texts that are remembered: they come again and again.
const (
	maxTexts = 1 << 14
	maxText  = 128
)

// styled is a text; what stands for it depends on its colour codes.
type styled struct {
	style dissect.Style
	text  string
}

// text replaces text and what is in it.
func (w *rewriter) text(b []byte, style dissect.Style) {
	if len(b) == 0 {
		return
	}
	if s, ok := w.texts[styled{style, string(b)}]; ok {
		copy(b, s)
		return
	}
	before := bytes.Clone(b)
	spans := w.found(b)
	if len(spans) == 0 && len(b) <= maxText {
		if len(w.texts) >= maxTexts {
			clear(w.texts)
		}
		w.m.text(b, style)
		w.texts[styled{style, string(before)}] = string(b)
		return
	}
	after := bytes.Clone(b)
	copy(b, before)
	w.m.text(b, style)
	for _, s := range spans {
		copy(b[s[0]:s[1]], after[s[0]:s[1]])
	}
}

// token replaces a number in text by another one, and text by text.
func (w *rewriter) token(b []byte) {
	trimmed := bytes.TrimSpace(b)
	if n, err := strconv.ParseInt(string(trimmed), 10, 64); err == nil {
		if s := strconv.FormatInt(w.m.number(n), 10); len(s) == len(trimmed) {
			copy(trimmed, s)
			return
		}
	}
	// Quake 3 sends a point back for a percent sign.
	v := bytes.ReplaceAll(b, []byte("%"), []byte("."))
	w.m.text(v, dissect.NoStyle)
	for i, c := range v {
		if b[i] != '%' {
			b[i] = c
		}
	}
}

// mask overwrites a secret.
func mask(b []byte) {
	for i := range b {
		b[i] = 'x'
	}
}

// sentences are the beginnings of texts that engines write themselves.
var sentences = []string{"Bad rcon", "No rcon", "Invalid password", "Server is full", "#str_"}

// ofEngine reports whether a text was written by an engine, not by a person.
func ofEngine(b []byte) bool {
	return slices.ContainsFunc(sentences, func(s string) bool { return bytes.HasPrefix(b, []byte(s)) })
}

// value replaces the value of a leaf, b, in place. k is the key that explains it,
// if there is one.
func (w *rewriter) value(n *dissect.Node, b []byte, r role, k string) {
	f := n.Field
	if n.Wide {
		w.wide(*n, b, r, k)
		return
	}
	switch r = concreteRole(f, b, r, k); r {
	case key:
		if !keyLike(b) {
			w.counts.Texts++
			w.text(b, f.Style)
		}
	case name:
		w.counts.Names++
		w.text(b, f.Style)
	case speech, about:
		if r == about && w.o.KeepServerText || r == speech && !f.Secret && ofEngine(b) {
			w.found(b)
			return
		}
		w.counts.Texts++
		w.text(b, f.Style)
	case ident:
		w.counts.IDs++
		w.text(b, f.Style)
	case steam:
		w.counts.IDs++
		w.steam(b)
	case token:
		w.counts.Tokens++
		w.tokenOf(n, b)
	case secret:
		w.counts.Secrets++
		mask(b)
	case address:
		w.address(n, b)
	case hexAddress:
		w.hexAddress(b, f.Style)
	case said:
		w.counts.Texts++
		w.said(b)
	case opaque:
		w.counts.Bytes += len(b)
		w.m.bytes(b)
	}
}

// wide replaces text in UTF-16 as if each character had one byte; those that have not
// are letters first.
func (w *rewriter) wide(n dissect.Node, b []byte, r role, k string) {
	narrow := make([]byte, len(b)/2)
	for i := range narrow {
		if narrow[i] = b[2*i]; b[2*i+1] != 0 {
			narrow[i] = 'x'
		}
	}
	n.Wide = false
	was := bytes.Clone(narrow)
	w.value(&n, narrow, r, k)
	if bytes.Equal(narrow, was) && (r == key || r == setting) {
		return // harmless
	}
	for i, c := range narrow {
		b[2*i], b[2*i+1] = c, 0
	}
}

// keyLike reports whether the name of a setting is one: what is no name may be
// a value that stands in the wrong place.
func keyLike(b []byte) bool {
	if len(b) > 64 || dotted.Match(b) || steam64.Match(b) {
		return false
	}
	for _, c := range b {
		if c >= 0x80 || c == '@' {
			return false
		}
	}
	return true
}

// steam replaces a SteamID of 8 bytes, or of fewer.
func (w *rewriter) steam(b []byte) {
	if len(b) != 8 {
		w.m.bytes(b)
		return
	}
	binary.LittleEndian.PutUint64(b, w.m.steamID(binary.LittleEndian.Uint64(b)))
}

// tokenOf replaces a token: a number in the byte order it has, or text.
func (w *rewriter) tokenOf(n *dissect.Node, b []byte) {
	switch {
	case n.Field.Kind != dissect.Int && n.Field.Kind != dissect.Uint:
		w.token(b)
	case len(b) == 4 && digits(b):
		w.m.text(b, dissect.NoStyle) // some clients send the text of a number
	case len(b) == 4:
		v := w.m.number(n.Int())
		if w.swapped && uint32(n.Num) == uint32(w.used) {
			v = w.m.swapped(n)
		}
		if n.Num == uint64(binary.BigEndian.Uint32(b)) || n.Int() == int64(int32(binary.BigEndian.Uint32(b))) {
			binary.BigEndian.PutUint32(b, uint32(v))
		} else {
			binary.LittleEndian.PutUint32(b, uint32(v))
		}
	default:
		w.m.bytes(b)
	}
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// hexAddress replaces the address in 12 hexadecimal digits of address and port.
func (w *rewriter) hexAddress(b []byte, style dissect.Style) {
	if !hexWhole.Match(b) {
		w.text(b, style)
		return
	}
	raw, _ := hex.DecodeString(string(b[:8]))
	a := w.addr(netip.AddrFrom4([4]byte(raw))).As4()
	s := hex.EncodeToString(a[:])
	if bytes.ContainsAny(b, "ABCDEF") {
		s = strings.ToUpper(s)
	}
	copy(b, s)
}

// address replaces an address in bytes or in text.
func (w *rewriter) address(n *dissect.Node, b []byte) {
	if n.Field.Kind != dissect.Endpoint {
		if len(w.found(b)) == 0 && bytes.ContainsAny(b, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			w.text(b, n.Field.Style) // the name of a host
		}
		return
	}
	invert := n.Field.Inverted && len(b) >= 4 && len(b) < 16
	if invert {
		flip(b[:4])
	}
	w.ends(b)
	if invert {
		flip(b[:4])
	}
}

// flip inverts all bits.
func flip(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// ends replaces addresses in bytes: each of 16 of them or more, or of 4.
func (w *rewriter) ends(list ...[]byte) {
	for _, b := range list {
		switch {
		case len(b) >= 16:
			a := w.addr(netip.AddrFrom16([16]byte(b))).As16()
			copy(b, a[:])
		case len(b) >= 4:
			a := w.addr(netip.AddrFrom4([4]byte(b))).As4()
			copy(b, a[:])
		}
	}
}

func (w *rewriter) addr(a netip.Addr) netip.Addr {
	b := w.m.addr(a)
	if a != b && len(w.counts.addresses) <= maxAddresses {
		w.counts.addresses[a] = struct{}{}
	}
	return b
}

// said replaces the text of a message of A2S behind what says which one it is:
// the date of a line of the log, the words before a challenge.
func (w *rewriter) said(b []byte) {
	const date = "L 01/02/2006 - 15:04:05"
	for _, before := range [...]string{"hallenge rcon ", "00000000 "} {
		rest, ok := bytes.CutPrefix(b, []byte(before))
		if !ok {
			continue
		}
		n := 0
		for n < len(rest) && rest[n] > ' ' {
			n++
		}
		w.token(rest[:n])
		if n < len(rest) {
			w.text(rest[n:], dissect.NoStyle)
		}
		return
	}
	if len(b) > len(date) && b[0] == 'L' && b[1] == ' ' && b[4] == '/' && b[7] == '/' {
		b = b[len(date):]
	}
	w.text(b, dissect.NoStyle)
}
