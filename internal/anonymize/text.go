package anonymize

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// Patterns that are replaced in every text: addresses, and the notations of SteamIDs.
var (
	dotted   = lazyregexp.New(`[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}`)
	colons   = lazyregexp.New(`[0-9A-Fa-f]{0,4}(:[0-9A-Fa-f]{0,4}){2,7}(\.[0-9]{1,3}){0,3}`)
	steam64  = lazyregexp.New(`7656119[0-9]{10}`)
	steam2   = lazyregexp.New(`(STEAM_[0-9]:[01]:|U:[0-9]:)[0-9]{1,10}`)
	hexWhole = lazyregexp.New(`^[0-9A-Fa-f]{12}$`)
)

// found replaces the addresses and SteamIDs in a text in place and returns their
// positions.
func (w *rewriter) found(b []byte) (spans [][]int) {
	// Fast path: most texts contain none.
	dots, colon, digit := bytes.Count(b, []byte(".")), bytes.Count(b, []byte(":")), bytes.ContainsAny(b, "0123456789")
	if !digit && colon < 2 || dots < 3 && colon < 2 && len(b) < len("7656119")+10 {
		return nil
	}
	for _, s := range steam64().FindAllIndex(b, -1) {
		if n, err := strconv.ParseUint(string(b[s[0]:s[1]]), 10, 64); err == nil {
			spans = append(spans, s)
			w.counts.IDs++
			copy(b[s[0]:s[1]], strconv.FormatUint(w.m.steamID(n), 10))
		}
	}
	for _, s := range findAll(steam2(), b, colon >= 2) {
		spans = append(spans, s)
		w.counts.IDs++
		digits := b[s[0]+bytes.LastIndexByte(b[s[0]:s[1]], ':')+1 : s[1]]
		if n, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
			copy(digits, strconv.FormatInt(w.m.number(n), 10))
		}
	}
	for _, s := range findAll(dotted(), b, dots >= 3) {
		if w.addressText(b[s[0]:s[1]]) {
			spans = append(spans, s)
		}
	}
	for _, s := range findAll(colons(), b, colon >= 2) {
		if w.addressText(b[s[0]:s[1]]) {
			spans = append(spans, s)
		}
	}
	return spans
}

// findAll returns the matches of an expression. can says whether there may be any, because
// expressions are slow.
func findAll(what *regexp.Regexp, b []byte, can bool) [][]int {
	if !can {
		return nil
	}
	return what.FindAllIndex(b, -1)
}

// addressText replaces an address in text if the replacement can be written with the same
// length.
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
	return false // unusual notation: replaced as other text is
}

// Limits of the cache of texts.
const (
	maxTexts = 1 << 14
	maxText  = 128
)

// styled is a text with the style of its colour codes, on which its replacement depends.
type styled struct {
	style dissect.Style
	text  string
}

// text replaces a text, and addresses and SteamIDs in it by their own replacements.
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
		w.m.text(b, style)
		store(w.texts, maxTexts, styled{style, string(before)}, string(b))
		return
	}
	after := bytes.Clone(b)
	copy(b, before)
	w.m.text(b, style)
	for _, s := range spans {
		copy(b[s[0]:s[1]], after[s[0]:s[1]])
	}
}

// token replaces a token in text: a number by a number, other text by text.
func (w *rewriter) token(b []byte) {
	trimmed := bytes.TrimSpace(b)
	if n, err := strconv.ParseInt(string(trimmed), 10, 64); err == nil {
		if s := strconv.FormatInt(w.m.number(n), 10); len(s) == len(trimmed) {
			copy(trimmed, s)
			return
		}
	}
	// Quake 3 returns a dot for each percent sign.
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
var sentences = []string{"Bad rcon", "No rcon", "Invalid RCON password", "Invalid password", "Server is full", "#str_"}

// ofEngine returns how many bytes at the beginning of a text an engine wrote, not a person:
// one of the sentences to its end, to a sign that somebody goes on, or to the end of the line.
func ofEngine(b []byte) int {
	if !slices.ContainsFunc(sentences, func(s string) bool { return bytes.HasPrefix(b, []byte(s)) }) {
		return 0
	}
	for i, c := range b {
		if strings.IndexByte("\n!?,;:", c) >= 0 || c == '.' && i+1 < len(b) && b[i+1] == ' ' {
			return i + 1
		}
	}
	return len(b)
}

// value replaces the value of a leaf, b, in place. k is the key that explains it,
// if there is one.
func (w *rewriter) value(n *dissect.Node, b []byte, r dissect.Privacy, k []byte) {
	f := n.Field
	if n.Wide {
		w.wide(*n, b, r, k)
		return
	}
	switch r = w.concreteRole(f, b, r, k); r {
	case dissect.SettingName:
		if !keyLike(b) {
			w.counts.Texts++
			w.text(b, f.Style)
		}
	case dissect.PersonName:
		w.counts.Names++
		w.text(b, f.Style)
	case dissect.FreeText, dissect.ServerText, core.GameName:
		if r != dissect.FreeText && w.o.KeepServerText {
			w.found(b)
			return
		}
		if r == dissect.FreeText && !f.Secret {
			n := ofEngine(b)
			w.found(b[:n])
			if b = b[n:]; n > 0 && len(bytes.TrimSpace(b)) == 0 {
				return
			}
		}
		w.counts.Texts++
		w.text(b, f.Style)
	case dissect.PersonID:
		w.counts.IDs++
		w.text(b, f.Style)
	case core.SteamID:
		w.counts.IDs++
		w.steam(b)
	case dissect.Token:
		w.counts.Tokens++
		w.tokenOf(n, b)
	case core.Key:
		w.counts.Secrets++
		mask(b)
	case dissect.Address:
		w.address(n, b)
	case core.HexAddress:
		w.hexAddress(b, f.Style)
	case core.Console:
		w.counts.Texts++
		w.said(b)
	case core.Opaque:
		w.counts.Bytes += len(b)
		w.m.bytes(b)
	}
}

// wide replaces text in UTF-16 like text with one byte per character. Characters
// that need two bytes are bytes that no name of a setting has.
func (w *rewriter) wide(n dissect.Node, b []byte, r dissect.Privacy, k []byte) {
	narrow := make([]byte, len(b)/2)
	for i := range narrow {
		if narrow[i] = b[2*i]; b[2*i+1] != 0 {
			narrow[i] = 0xff
		}
	}
	n.Wide = false
	was := bytes.Clone(narrow)
	w.value(&n, narrow, r, k)
	if bytes.Equal(narrow, was) && (r == dissect.SettingName || r == dissect.Setting) {
		return // harmless
	}
	for i, c := range narrow {
		b[2*i], b[2*i+1] = c, 0
	}
}

// keyLike reports whether b looks like the name of a setting. Other text may be a value in
// the wrong place.
func keyLike(b []byte) bool {
	dots, seven := 0, false
	for _, c := range b {
		if !unlikeKeys[c] {
			continue
		}
		switch c {
		case '.':
			dots++
		case '7':
			seven = true
		default:
			return false
		}
	}
	return len(b) <= 64 && (dots < 3 || !dotted().Match(b)) && !(seven && bytes.Contains(b, []byte("7656119")) && steam64().Match(b))
}

// unlikeKeys are the bytes for which keyLike looks: those that no name of a setting has, and those of addresses and SteamIDs.
var unlikeKeys = func() (is [256]bool) {
	for c := range is {
		is[c] = c >= 0x80 || c == '@' || c == '.' || c == '7'
	}
	return is
}()

// steam replaces a SteamID of 8 bytes, or a cut one.
func (w *rewriter) steam(b []byte) {
	if len(b) != 8 {
		w.m.bytes(b)
		return
	}
	binary.LittleEndian.PutUint64(b, w.m.steamID(binary.LittleEndian.Uint64(b)))
}

// tokenOf replaces a token: a number in its byte order, or text.
func (w *rewriter) tokenOf(n *dissect.Node, b []byte) {
	switch {
	case n.Field.Kind != dissect.Int && n.Field.Kind != dissect.Uint:
		w.token(b)
	case len(b) == 4 && digits(b):
		w.m.text(b, dissect.NoStyle) // some clients send the number as text
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

func digits(b []byte) bool { return len(bytes.Trim(b, "0123456789")) == 0 }

// hexAddress replaces the address in 12 hexadecimal digits of address and port.
func (w *rewriter) hexAddress(b []byte, style dissect.Style) {
	if !hexWhole().Match(b) {
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
		before := bytes.Clone(b)
		rest, spans := slices.Clone(before), w.found(b)
		for _, s := range spans {
			clear(rest[s[0]:s[1]])
		}
		named := func(c rune) bool { return c >= utf8.RuneSelf || unicode.IsLetter(c) }
		if len(spans) == 0 || bytes.ContainsFunc(rest, named) { // the name of a host, or an unusual notation
			copy(b, before)
			w.text(b, n.Field.Style)
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

// ends replaces binary addresses: IPv6 in 16 bytes or more, IPv4 in 4 or more.
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
	if b, ok := w.m.known[a]; ok {
		return b // counted before
	}
	b := w.m.addr(a)
	if a != b && len(w.counts.addresses) <= maxAddresses {
		w.counts.addresses[maphash.Comparable(w.m.seed, a)] = struct{}{}
	}
	return b
}

// said replaces the text of an A2S message after its fixed beginning: the date of a log
// line, or the words before a challenge.
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
