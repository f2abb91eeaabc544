package anonymize

import (
	"bytes"
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"hash"
	"hash/maphash"
	"math"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// A mapping replaces values that must not be shared. The replacement depends only on the
// key and the value, and has the length of the value: a player has the same name in every
// message and, with the same key, in every file. Without the key, a replacement reveals
// only the length of the value, which of its bytes are ASCII letters, digits and
// punctuation, and common prefixes of addresses.
//
// So a mapping needs no memory of values. It caches recent addresses and permutations only
// for speed.
type mapping struct {
	keyed   hash.Hash // HMAC
	numbers cipher.Block
	random  *rand.ChaCha8 // of the current stream
	input   []byte
	sum     [sha256.Size]byte

	known        map[netip.Addr]netip.Addr
	macs         map[[6]byte][6]byte
	permutations *[maxPermutations]*permutation
	seed         maphash.Seed // of hashes, which reach no output
}

// store stores a value in a cache, which it empties when it is full.
func store[K comparable, V any](cache map[K]V, most int, k K, v V) {
	if len(cache) >= most {
		clear(cache)
	}
	cache[k] = v
}

// Limits of the cached addresses.
const (
	maxKnown = 1 << 14
	maxMACs  = 1 << 10
	// maxPermutations is the number of permutations of octets and digits that are cached.
	maxPermutations = 1 << 14
)

// A permutation is that of the octets, or of the hexadecimal digits, that follow others: after the kind and their number.
type permutation struct {
	after [2 + 32]byte
	of    [256]byte
}

func newMapping(key []byte) *mapping {
	m := &mapping{
		keyed: hmac.New(sha256.New, key), random: rand.NewChaCha8([32]byte{}),
		known: make(map[netip.Addr]netip.Addr), macs: make(map[[6]byte][6]byte),
		permutations: new([maxPermutations]*permutation), seed: maphash.MakeSeed(),
	}
	m.hash(ofNumber, nil)
	var err error
	if m.numbers, err = aes.NewCipher(m.sum[:]); err != nil {
		panic(err) // 32 bytes are a valid key
	}
	return m
}

// The kinds of values. Equal bytes of two kinds get unrelated replacements.
const (
	ofOctets byte = iota + 1
	ofDigits
	ofMAC
	ofText
	ofBytes
	ofNumber
	ofSteamID
)

// hash stores the keyed hash of a value in sum.
func (m *mapping) hash(kind byte, value []byte) {
	m.input = append(append(m.input[:0], kind), value...)
	m.keyed.Reset()
	m.keyed.Write(m.input)
	m.keyed.Sum(m.sum[:0])
}

// stream is an endless sequence of pseudorandom numbers that depends on a value. It is
// valid until the next stream begins.
type stream struct{ c *rand.ChaCha8 }

func (m *mapping) stream(kind byte, value []byte) stream {
	m.hash(kind, value)
	m.random.Seed(m.sum)
	return stream{m.random}
}

// below returns a number from 0 to n-1. Its bias, n/2⁶⁴, does not matter here.
func (s stream) below(n uint64) uint64 {
	hi, _ := bits.Mul64(s.c.Uint64(), n)
	return hi
}

// cycle makes p a permutation of list with a single cycle (Sattolo), so that no element
// maps to itself.
func (s stream) cycle(list []byte, p []byte) {
	var room [256]byte
	to := append(room[:0], list...)
	for i := len(to) - 1; i > 0; i-- {
		j := int(s.below(uint64(i)))
		to[i], to[j] = to[j], to[i]
	}
	for i, v := range list {
		p[v] = to[i]
	}
}

// addr replaces an address. Two addresses share as many leading octets (IPv6: hexadecimal
// digits) after as before. Each octet keeps its number of digits, and in IPv6 leading
// zeros stay, so that an address in text keeps its length and gets the same replacement as
// in a header. Loopback, multicast, broadcast and unspecified addresses stay unchanged.
// Private networks keep their prefix, and no other address becomes private.
func (m *mapping) addr(a netip.Addr) netip.Addr {
	b, ok := m.known[a]
	if ok {
		return b
	}
	switch b = a.WithZone(""); {
	case b.Is4In6():
		b = netip.AddrFrom16(m.addr4(b.Unmap().As4()).As16())
	case b.Is4():
		b = m.addr4(b.As4())
	case !b.IsUnspecified() && !b.IsLoopback() && !b.IsMulticast():
		b = m.addr6(b.As16())
	}
	store(m.known, maxKnown, a, b)
	return b
}

// permutation returns that of the octets, or of the hexadecimal digits, that follow others.
func (m *mapping) permutation(kind byte, before []byte) *[256]byte {
	after := [2 + 32]byte{kind, byte(len(before))}
	copy(after[2:], before)
	at := &m.permutations[maphash.Bytes(m.seed, after[:])%maxPermutations]
	if *at == nil {
		*at = new(permutation)
	}
	p := *at
	if p.after != after {
		p.after = after
		if s := m.stream(kind, before); kind == ofOctets {
			s.octets(before, &p.of)
		} else {
			s.digits(before, &p.of)
		}
	}
	return &p.of
}

func (m *mapping) addr4(a [4]byte) netip.Addr {
	b := a
	for i := range a {
		if i == 1 && (a[0] == 0 || a[0] == 127 || a[0] >= 224) {
			break
		}
		b[i] = m.permutation(ofOctets, a[:i])[a[i]]
	}
	return netip.AddrFrom4(b)
}

// octets sets p to the permutation of the octet that follows before. It maps octets
// of one, two and three digits to octets with the same number of digits.
func (s stream) octets(before []byte, p *[256]byte) {
	stays := func(v int) bool {
		switch len(before) {
		case 0:
			switch v {
			case 0, 10, 127, 169, 172, 192: // special, or containing private networks
				return true
			}
			return v >= 224
		case 1:
			return before[0] == 172 && v >= 16 && v <= 31 || before[0] == 192 && v == 168 || before[0] == 169 && v == 254
		}
		return false
	}
	for _, class := range [...]struct{ from, to int }{{0, 9}, {10, 99}, {100, 255}} {
		var room [256]byte
		list := room[:0]
		for v := class.from; v <= class.to; v++ {
			if p[v] = byte(v); !stays(v) {
				list = append(list, byte(v))
			}
		}
		s.cycle(list, p[:])
	}
}

func (m *mapping) addr6(a [16]byte) netip.Addr {
	var before, after, context [32]byte
	for i, c := range a {
		before[2*i], before[2*i+1] = c>>4, c&15
	}
	stays := 1 // the first digit distinguishes the kinds of addresses
	switch {
	case a[0] == 0xfe:
		stays = 4
	case a[0]&0xfe == 0xfc:
		stays = 2
	}
	leading := true // only zeros in the group so far
	for i, d := range before {
		leading = i%4 == 0 || leading && before[i-1] == 0
		if after[i] = d; i < stays || leading && d == 0 {
			continue
		}
		copy(context[:], before[:i])
		context[i] = core.Bit[byte](leading)
		after[i] = m.permutation(ofDigits, context[:i+1])[d]
	}
	for i := range a {
		a[i] = after[2*i]<<4 | after[2*i+1]
	}
	return netip.AddrFrom16(a)
}

// digits sets p to the permutation of the hexadecimal digit that follows before,
// whose last byte is 1 if only zeros precede the digit in its group. Leading zeros stay.
func (s stream) digits(before []byte, p *[256]byte) {
	var room [16]byte
	list := room[:0]
	for v := range byte(16) {
		if p[v] = v; v > 0 || before[len(before)-1] == 0 {
			list = append(list, v)
		}
	}
	s.cycle(list, p[:])
}

// mac replaces a hardware address in place by a locally administered one. Group addresses
// and the zero address stay unchanged.
func (m *mapping) mac(b []byte) bool {
	was := [6]byte(b)
	if b[0]&1 != 0 || was == [6]byte{} {
		return false
	}
	is, ok := m.macs[was]
	if !ok {
		s := m.stream(ofMAC, b)
		for i := range is {
			is[i] = byte(s.below(256))
		}
		is[0] = is[0]&^3 | 2
		store(m.macs, maxMACs, was, is)
	}
	copy(b, is[:])
	return true
}

// bytes replaces unknown bytes in place: letters by letters, digits by digits.
// Punctuation, zero bytes and line ends, which structure formats, stay unchanged.
func (m *mapping) bytes(b []byte) {
	s := m.stream(ofBytes, b)
	for i, c := range b {
		switch {
		case c == 0 || c == '\n' || c == '\r' || c == '\t' || c == 0xff:
		case c < ' ' || c == 0x7f:
			for b[i] == c || b[i] == '\n' || b[i] == '\r' || b[i] == '\t' {
				b[i] = byte(1 + s.below(31))
			}
		case c < 0x80:
			b[i] = s.ascii(c)
		default:
			b[i] = s.among(c, 0x80, 0xfe)
		}
	}
}

// among replaces c by another value from lo to hi.
func (s stream) among(c, lo, hi byte) byte {
	n := uint64(hi-lo) + 1
	return lo + byte((uint64(c-lo)+1+s.below(n-1))%n)
}

func (s stream) ascii(c byte) byte {
	switch {
	case c >= 'a' && c <= 'z':
		return s.among(c, 'a', 'z')
	case c >= 'A' && c <= 'Z':
		return s.among(c, 'A', 'Z')
	case c >= '0' && c <= '9':
		return s.among(c, '0', '9')
	}
	return c
}

// text replaces text in place: every character that is not ASCII punctuation, a space, a
// control character or part of a colour code, whatever its script. If the text has nothing
// else, what it has is replaced by letters, which are part of no format; spaces stay.
func (m *mapping) text(b []byte, style dissect.Style) {
	s := m.stream(ofText, b)
	if !style.HasCodes(b) && bytes.IndexByte(b, section) < 0 {
		style = dissect.NoStyle // fast path: searching for codes is slow
	}
	if len(b) >= 32 && len(bytes.TrimLeft(b, "0123456789abcdefABCDEF-")) == 0 { // a UUID or a hash, which clients parse
		for i, c := range b {
			if b[i] = s.ascii(c); c|0x20 >= 'a' {
				b[i] = s.among(c, c&0x20|'A', c&0x20|'F')
			}
		}
		return
	}
	changed, valid := false, utf8.Valid(b)
	for i := 0; i < len(b); {
		if n := codeLength(b[i:], style); n > 0 {
			i += n
			continue
		}
		c, n := b[i], 1
		switch {
		case c < utf8.RuneSelf:
			b[i] = s.ascii(c)
			changed = changed || b[i] != c
		case valid && utf8.RuneStart(c):
			var r rune
			r, n = utf8.DecodeRune(b[i:])
			utf8.EncodeRune(b[i:i+n], s.rune(r, n))
			changed = true
		default: // also the rest of a character whose first byte is part of a code
			b[i] = s.high(c)
			changed = true
		}
		i += n
	}
	if !changed && !s.letters(b, style) {
		s.letters(b, dissect.NoStyle) // nothing but colour codes
	}
}

// letters replaces all but spaces and colour codes by letters. It reports false if there is nothing else.
func (s stream) letters(b []byte, style dissect.Style) (changed bool) {
	for i := 0; i < len(b); {
		if n := codeLength(b[i:], style); n > 0 {
			i += n
			continue
		}
		switch c := b[i]; {
		case c == ' ' || c >= '\t' && c <= '\r':
		case c >= 'a' && c <= 'z':
			b[i], changed = s.among(c, 'a', 'z'), true
		default:
			b[i], changed = 'a'+byte(s.below(26)), true
		}
		i++
	}
	return changed
}

// high replaces a byte of text that is not UTF-8. Small letters of most code pages stay such, and no colour code begins.
func (s stream) high(c byte) byte {
	lo, hi := byte(0x80), byte(0xbf)
	switch {
	case c >= 0xe0:
		lo, hi = 0xe0, 0xfe
	case c >= 0xc0:
		lo, hi = 0xc0, 0xdf
	}
	for {
		if other := s.among(c, lo, hi); other != section {
			return other
		}
	}
}

// rune replaces a character by another with the same length in UTF-8.
func (s stream) rune(r rune, size int) rune {
	in := func(lo, hi rune) rune {
		n := uint64(hi-lo) + 1
		return lo + rune((uint64(r)%n+1+s.below(n-1)+n-uint64(lo)%n)%n)
	}
	switch {
	case r >= 0xc0 && r <= 0xff:
		return in(0xc0, 0xff)
	case r >= 0x410 && r <= 0x44f:
		return in(0x410, 0x44f)
	case size == 2:
		return in(0x100, 0x17f)
	case size == 3:
		return in(0x4e00, 0x9dff)
	}
	return in(0x1f300, 0x1f3ff)
}

// section begins a colour code of Minecraft, even if the byte is the end of a character in
// UTF-8.
const section = 0xa7

// codeLength returns the length of the colour code that b begins with, 0 if there is none.
// It finds the length by removing codes, which is all that styles offer.
func codeLength(b []byte, style dissect.Style) int {
	var room [8]byte
	for n := min(len(room), len(b)); n >= 2 && style != dissect.NoStyle; n-- {
		if len(style.AppendPlain(room[:0], b[:n])) == 0 && (n == 2 || len(style.AppendPlain(room[:0], b[2:n])) > 0) {
			return n
		}
	}
	return 0
}

// number replaces a number by one with the same sign and the same number of decimal digits
// that fits into the same type. 0 and -1, which mean no number, stay unchanged. What 32 bits
// hold is replaced by the same 32 bits, with and without a sign.
func (m *mapping) number(v int64) int64 {
	switch {
	case v == 0 || v == -1:
		return v
	case v > math.MaxInt32 && v <= math.MaxUint32:
		return int64(uint32(m.number(int64(int32(v)))))
	}
	u, negative := uint64(v), v < 0
	if negative {
		u = -u
	}
	lo, hi := uint64(1), uint64(9)
	for u > hi {
		lo, hi = lo*10, min(hi, 1<<60)*10+9
	}
	for _, limit := range [...]uint64{1<<31 - 1 + core.Bit[uint64](negative), 1<<32 - 1, 1<<63 - 1} {
		if u <= limit && hi > limit {
			hi = limit
			break
		} else if u > limit && lo <= limit {
			lo = limit + 1
		}
	}
	if negative && lo == 1 {
		lo = 2
	}
	w := lo + m.permute(u-lo, hi-lo+1)
	if negative {
		return -int64(w)
	}
	return int64(w)
}

// swapped replaces a challenge that a client returned with its bytes reversed: by the
// reversed replacement of the original number.
func (m *mapping) swapped(n *dissect.Node) int64 {
	was := int64(bits.ReverseBytes32(uint32(n.Num)))
	if n.Field.Kind == dissect.Int {
		was = int64(int32(was))
	}
	return int64(bits.ReverseBytes32(uint32(m.number(was))))
}

// tag replaces the number of a VLAN, a label or a tunnel, from first to last. Others, which are reserved, stay unchanged.
func (m *mapping) tag(v, first, last uint32) uint32 {
	if v < first || v > last {
		return v
	}
	return first + uint32(m.permute(uint64(v-first), uint64(last-first)+1))
}

// permute applies a pseudorandom permutation of the numbers below n: a Feistel network
// over the bits of n, repeated until the result is below n.
func (m *mapping) permute(x, n uint64) uint64 {
	half := (bits.Len64(n-1) + 1) / 2
	if half == 0 {
		return x
	}
	mask := uint64(1)<<half - 1
	var block [aes.BlockSize]byte
	for {
		left, right := x>>half, x&mask
		for round := range byte(8) {
			binary.LittleEndian.PutUint64(block[:], right)
			binary.LittleEndian.PutUint64(block[8:], n)
			block[15] ^= round + 1
			m.numbers.Encrypt(block[:], block[:])
			left, right = right, left^binary.LittleEndian.Uint64(block[:])&mask
		}
		if x = left<<half | right; x < n {
			return x
		}
	}
}

// steamID replaces the account number in a SteamID. Universe, type and instance stay
// unchanged.
func (m *mapping) steamID(id uint64) uint64 {
	account := uint32(id)
	if account == 0 {
		return id
	}
	s := m.stream(ofSteamID, binary.LittleEndian.AppendUint32(nil, account))
	return id&^0xffffffff | (uint64(account)-1+1+s.below(1<<32-2))%(1<<32-1) + 1
}

// wordList has the words that need no replacement, one in a line after the name of its list.
//
//go:embed words.txt
var wordList string

var (
	// facts are settings about the game. Their values are one of a few words, or names that many servers share.
	// ngsecret is whether statistics are kept.
	facts = listed("fact")
	// names are the settings, in a userinfo and elsewhere, with the name of a player.
	names = listed("name")
	// harmless are words that settings use in place of numbers.
	harmless = listed("harmless")
	// games are the common game descriptions in replies to A2S_INFO. Any other may be the name of a mission, a mode or
	// a community.
	games = listed("game")
)

// listed returns a list of words, read when it is first needed.
func listed(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		words := map[string]bool{}
		for line := range strings.Lines(wordList) {
			if of, word, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "\t"); of == list {
				words[word] = true
			}
		}
		return words
	})
}

func knownGame(text []byte) bool { return games()[strings.ToLower(strings.TrimSpace(string(text)))] }

// versionLike reports whether a value can be that of a setting that names a
// version: short ASCII text with a digit.
func versionLike(v []byte) bool {
	digits := false
	for _, c := range v {
		if c >= 0x80 || c == '@' {
			return false
		}
		digits = digits || c >= '0' && c <= '9'
	}
	return digits && len(v) <= 80
}

func isHarmless(v []byte) bool {
	const longest = 16
	return len(v) <= longest && harmless()[strings.ToLower(string(v))]
}

// plain reports whether a value is a number or a harmless word.
func plain(v []byte) bool {
	v = bytes.Trim(v, " ")
	digits, dots := 0, 0
	for i, c := range v {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '.':
			dots++
		case (c == '-' || c == '+') && i == 0:
		default:
			return isHarmless(v)
		}
	}
	// A number with more digits than 32 bits need is an identifier.
	return digits <= 11 && dots <= 1
}

// concreteRole returns the role of a value whose field leaves it to the key, or
// to the value itself. Other roles are returned unchanged.
func (w *rewriter) concreteRole(f *dissect.Field, v []byte, r dissect.Privacy, k []byte) dissect.Privacy {
	numbers := false
	switch {
	case f.Keyed != nil && f.Secret:
		return cmp.Or(f.Keyed[string(k)], core.Key)
	case f.Keyed != nil:
		return cmp.Or(f.Keyed[string(k)], dissect.Public)
	case r == dissect.Setting:
		r, numbers = w.settingRole(k, v)
		if f.Kind == dissect.String && r == dissect.ServerText && !numbers && plain(v) {
			r = dissect.Public
		}
		if r == core.Key && (len(v) <= 1 || isHarmless(v)) {
			r = dissect.Public // it says only whether there is a password
		}
	case r == core.Cell:
		if r, numbers = w.settingRole([]byte(f.Key()), v); r == dissect.ServerText {
			r = dissect.FreeText // of a player, not of the server
		}
		if plain(v) && !numbers {
			r = dissect.Public
		}
	}
	if r == dissect.PersonID && numbers && len(v) < 2 && plain(v) {
		r = dissect.Public
	}
	return r
}

// A kind is what the key of a setting says about its value.
type kind struct {
	privacy dissect.Privacy
	numbers bool // numbers are replaced too
	fact    bool // of the game, or privacy if the value has an equals sign
	version bool // a version if the value looks like one
}

func kindOf(key string) (k kind) {
	key = strings.ToLower(strings.TrimSpace(key))
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(key, p) })
	}
	k.fact, k.version = facts()[key], has("version")
	switch {
	case names()[key]:
		k.privacy, k.numbers = dissect.PersonName, true
	case has("challenge"):
		k.privacy, k.numbers = dissect.Token, true
	case has("pass", "pwd"):
		k.privacy = core.Key // 0 and 1 say only whether there is a password
	case has("guid", "hash", "steamid", "steam_id", "uuid", "cdkey", "cd_key", "token", "ticket", "secret", "serial", "xuid", "blaid"):
		k.privacy, k.numbers = dissect.PersonID, true
	case has("hostname", "servername", "server_name"):
		k.privacy, k.numbers = dissect.ServerText, true
	default:
		k.privacy = dissect.ServerText
	}
	return k
}

// Limits of the cached kinds.
const maxKinds, maxKind = 1 << 12, 64

// settingRole returns the role of a setting with a key and a value, and whether numbers in
// it are replaced too.
func (w *rewriter) settingRole(key, v []byte) (r dissect.Privacy, numbers bool) {
	k, ok := w.kinds[string(key)]
	if !ok {
		k = kindOf(string(key))
		if len(key) <= maxKind {
			store(w.kinds, maxKinds, string(key), k)
		}
	}
	if k.fact && bytes.IndexByte(v, '=') < 0 || k.version && versionLike(v) {
		return dissect.Public, false // Unreal Tournament 3 puts other settings after equals signs
	}
	return k.privacy, k.numbers
}
