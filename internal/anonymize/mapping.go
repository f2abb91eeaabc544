package anonymize

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
)

// A mapping replaces what must not be shared. What stands for a value depends on
// the key and on the value alone, and has the length of the value: the same
// player has the same name in every message and, with the same key, in every
// file. Nothing of a value can be found without the key, but its length, which
// of its bytes are letters, digits and other signs, and of addresses what they
// have in common with others.
//
// So nothing has to be remembered. What is kept saves time: the addresses that
// came last, and the way to the last of them.
type mapping struct {
	keyed   hash.Hash // HMAC
	numbers cipher.Block
	random  *rand.ChaCha8 // of the one stream that there is at a time
	input   []byte
	sum     [sha256.Size]byte

	known map[netip.Addr]netip.Addr
	way4  [4]struct {
		permuted bool
		before   [4]byte
		to       [256]byte
	}
	way6 struct {
		permuted [32]bool
		before   [32]byte // hexadecimal digits
		to       [32][16]byte
	}
}

// maxKnown bounds the addresses that are kept.
const maxKnown = 1 << 14

func newMapping(key []byte) *mapping {
	m := &mapping{keyed: hmac.New(sha256.New, key), random: rand.NewChaCha8([32]byte{}), known: make(map[netip.Addr]netip.Addr)}
	m.hash(ofNumber, nil)
	var err error
	if m.numbers, err = aes.NewCipher(m.sum[:]); err != nil {
		panic(err) // 32 bytes are a key
	}
	return m
}

// The kinds of values, so that equal bytes of two kinds have nothing in common.
const (
	ofOctets byte = iota + 1
	ofDigits
	ofMAC
	ofText
	ofBytes
	ofNumber
	ofSteamID
)

// hash makes sum the keyed hash of a value.
func (m *mapping) hash(kind byte, value []byte) {
	m.input = append(append(m.input[:0], kind), value...)
	m.keyed.Reset()
	m.keyed.Write(m.input)
	m.keyed.Sum(m.sum[:0])
}

// stream is an endless sequence of random numbers that depends on a value. It
// ends when the next one begins.
type stream struct{ c *rand.ChaCha8 }

func (m *mapping) stream(kind byte, value []byte) stream {
	m.hash(kind, value)
	m.random.Seed(m.sum)
	return stream{m.random}
}

// below returns a number from 0 to n-1. That some are more likely by one in
// 2⁶⁴/n does not matter here.
func (s stream) below(n uint64) uint64 {
	hi, _ := bits.Mul64(s.c.Uint64(), n)
	return hi
}

// cycle makes p turn the elements of list round in one cycle (Sattolo): none
// stays what it is.
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

// addr replaces an address. Two addresses have as many octets in common (IPv6:
// hexadecimal digits) before as after. Each octet has as many digits after as
// before, and in IPv6 the zeros that are not written stay where they are, so
// that an address in text has the same length and is the same as that in the
// header. Addresses that are the same for everybody stay: loopback, multicast,
// broadcast, none. Of private networks the prefix stays, and no other address
// becomes a private one.
func (m *mapping) addr(a netip.Addr) netip.Addr {
	if b, ok := m.known[a]; ok {
		return b
	}
	b := a.WithZone("")
	switch {
	case b.Is4In6():
		b = netip.AddrFrom16(m.addr(b.Unmap()).As16())
	case b.Is4():
		b = m.addr4(b.As4())
	case !b.IsUnspecified() && !b.IsLoopback() && !b.IsMulticast():
		b = m.addr6(b.As16())
	}
	if len(m.known) >= maxKnown {
		clear(m.known)
	}
	m.known[a] = b
	return b
}

func (m *mapping) addr4(a [4]byte) netip.Addr {
	b := a
	for i := range a {
		if i == 1 && (a[0] == 0 || a[0] == 127 || a[0] >= 224) {
			break
		}
		way := &m.way4[i]
		var before [4]byte
		copy(before[:], a[:i])
		if !way.permuted || way.before != before {
			m.permuteOctet(before[:i], &way.to)
			way.permuted, way.before = true, before
		}
		b[i] = way.to[a[i]]
	}
	return netip.AddrFrom4(b)
}

// permuteOctet says what becomes of an octet behind those before it. Octets of
// one, two and three digits stay among themselves.
func (m *mapping) permuteOctet(before []byte, p *[256]byte) {
	stays := func(v int) bool {
		switch len(before) {
		case 0:
			switch v {
			case 0, 10, 127, 169, 172, 192: // special, or with private networks in them
				return true
			}
			return v >= 224
		case 1:
			return before[0] == 172 && v >= 16 && v <= 31 || before[0] == 192 && v == 168 || before[0] == 169 && v == 254
		}
		return false
	}
	s := m.stream(ofOctets, before)
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
	var before, after [32]byte
	for i, c := range a {
		before[2*i], before[2*i+1] = c>>4, c&15
	}
	stays := 1 // the first digit tells the kinds of addresses apart
	switch {
	case a[0] == 0xfe:
		stays = 4
	case a[0]&0xfe == 0xfc:
		stays = 2
	}
	way, known := &m.way6, 0
	for known < len(before) && before[known] == way.before[known] {
		known++
	}
	way.before = before
	if known < len(before) {
		clear(way.permuted[known+1:]) // what becomes of a digit depends on those before it
	}
	leading := true // nothing but zeros in the group so far
	for i, d := range before {
		leading = i%4 == 0 || leading && before[i-1] == 0
		if after[i] = d; i < stays || leading && d == 0 {
			continue
		}
		if !way.permuted[i] {
			m.permuteDigit(before[:i], leading, &way.to[i])
			way.permuted[i] = true
		}
		after[i] = way.to[i][d]
	}
	for i := range a {
		a[i] = after[2*i]<<4 | after[2*i+1]
	}
	return netip.AddrFrom16(a)
}

// permuteDigit says what becomes of a hexadecimal digit behind those before it.
// Zeros that are not written stay.
func (m *mapping) permuteDigit(before []byte, leading bool, p *[16]byte) {
	var room [16]byte
	list := room[:0]
	for v := range byte(16) {
		if p[v] = v; v > 0 || !leading {
			list = append(list, v)
		}
	}
	var digits [32]byte
	m.stream(ofDigits, append(append(digits[:0], before...), b2i(leading))).cycle(list, p[:])
}

func b2i(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// mac replaces a hardware address in place, by one that says of itself that
// nobody assigned it. Addresses of groups stay, and that of nobody.
func (m *mapping) mac(b []byte) bool {
	var or byte
	for _, c := range b {
		or |= c
	}
	if b[0]&1 != 0 || or == 0 {
		return false
	}
	s := m.stream(ofMAC, b)
	for i := range b {
		b[i] = byte(s.below(256))
	}
	b[0] = b[0]&^3 | 2
	return true
}

// bytes replaces bytes of which nothing is known, in place: letters by letters,
// digits by digits, signs of the kinds that formats are made of by themselves.
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

// text replaces text in place. Colour codes stay, and so do signs, blanks and
// control characters; if there is nothing else, signs are replaced by letters,
// which are no part of any format.
func (m *mapping) text(b []byte, style dissect.Style) {
	s := m.stream(ofText, b)
	if !style.HasCodes(b) && bytes.IndexByte(b, section) < 0 {
		style = dissect.NoStyle // most texts: to look for codes is slow
	}
	changed, signs := false, false
	valid := utf8.Valid(b)
	for i := 0; i < len(b); {
		if n := codeLength(b[i:], style); n > 0 {
			i += n
			continue
		}
		c := b[i]
		if c < 0x80 || !valid {
			switch {
			case c < 0x80:
				b[i] = s.ascii(c)
				signs = signs || c > ' ' && c < 0x7f
			case c >= 0xe0 && c < 0xff:
				b[i] = s.among(c, 0xe0, 0xfe)
			case c >= 0xc0 && c < 0xe0:
				b[i] = s.among(c, 0xc0, 0xdf)
			}
			changed = changed || b[i] != c
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if other := s.rune(r, n); other != r {
			utf8.EncodeRune(b[i:i+n], other)
			changed = true
		}
		i += n
	}
	if changed || !signs {
		return
	}
	for i := 0; i < len(b); {
		if n := codeLength(b[i:], style); n > 0 {
			i += n
			continue
		}
		switch c := b[i]; {
		case c == '\\' || c == '"' || c == '^' || c == ';' || c >= 0x80:
		case c > ' ' && c < 0x7f:
			b[i] = 'a' + byte(s.below(26))
		}
		i++
	}
}

// rune replaces a character by another one that has as many bytes in UTF-8.
func (s stream) rune(r rune, size int) rune {
	in := func(lo, hi rune) rune {
		n := uint64(hi-lo) + 1
		return lo + rune((uint64(r)%n+1+s.below(n-1)+n-uint64(lo)%n)%n)
	}
	switch {
	case r >= 0x80 && r <= 0xbf, r >= 0x2000 && r <= 0x303f, r >= 0xe000 && r <= 0xf8ff, r >= 0xfe00:
		if size < 4 {
			return r // signs, spaces, marks of direction, what stands for broken bytes
		}
		return in(0x1f300, 0x1f3ff)
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

// section begins a code of Minecraft, even where its place in the text makes it
// the end of another character.
const section = 0xa7

// codeLength returns the length of the code that b begins with, 0 if there is
// none. It asks the style, which tells only what is left without codes.
func codeLength(b []byte, style dissect.Style) int {
	var room [8]byte
	for n := min(5, len(b)); n >= 2 && style != dissect.NoStyle; n-- {
		if len(style.AppendPlain(room[:0], b[:n])) == 0 && (n == 2 || len(style.AppendPlain(room[:0], b[2:n])) > 0) {
			return n
		}
	}
	return 0
}

// number replaces a number by one with the same sign and as many decimal digits
// that fits into the same type. 0 and -1 are no numbers but the lack of one.
func (m *mapping) number(v int64) int64 {
	if v == 0 || v == -1 {
		return v
	}
	u, negative := uint64(v), v < 0
	if negative {
		u = -u
	}
	lo, hi := uint64(1), uint64(9)
	for u > hi {
		lo, hi = lo*10, min(hi, 1<<60)*10+9
	}
	for _, limit := range [...]uint64{1<<31 - 1 + uint64(b2i(negative)), 1<<32 - 1, 1<<63 - 1} {
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

// swapped replaces a number of four bytes that a client brings back with its
// bytes reversed: what stands for it is what stands for the number that it was,
// with its bytes reversed.
func (m *mapping) swapped(n *dissect.Node) int64 {
	was := int64(bits.ReverseBytes32(uint32(n.Num)))
	if n.Field.Kind == dissect.Int {
		was = int64(int32(was))
	}
	return int64(bits.ReverseBytes32(uint32(m.number(was))))
}

// permute replaces a number below n by another one, different ones by different
// ones: a Feistel network over as many bits as n has, repeated until the result
// is below n.
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

// steamID replaces the account in a SteamID. The universe, the type and the
// instance of the account stay.
func (m *mapping) steamID(id uint64) uint64 {
	account := uint32(id)
	if account == 0 {
		return id
	}
	s := m.stream(ofSteamID, binary.LittleEndian.AppendUint32(nil, account))
	return id&^0xffffffff | (uint64(account)-1+1+s.below(1<<32-2))%(1<<32-1) + 1
}
