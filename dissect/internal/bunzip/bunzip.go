// Package bunzip unpacks bzip2 streams that came in a packet: small ones, whole
// in memory, whose size is announced.
//
// It exists because general decompressors are no match for hostile packets:
// they set up nine megabytes for a stream of 44 bytes, and take a tenth of a
// second for one whose Huffman codes a forger has bent. Here memory and time
// are bounded by the announced size, and nothing is allocated once a Decoder is
// warm. What comes out is what libbz2 makes of the same bytes, and what libbz2
// refuses is refused; tests hold that for every flip of every bit of their
// streams.
//
// The format has no standard; this follows the description in Joe Tsai's "bzip2
// format specification" and the behaviour of libbz2 1.0.8.
package bunzip

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

var (
	// ErrDamaged is a stream that libbz2 refuses as well.
	ErrDamaged = errors.New("bzip2: damaged stream")
	// ErrTooLong is a stream that unfolds to more than was announced.
	ErrTooLong = errors.New("bzip2: more data than announced")
)

const (
	blockMagic  = 0x314159265359 // BCD of pi
	endMagic    = 0x177245385090 // and of its square root
	blockUnit   = 100_000        // bytes of a block for each level
	maxGroups   = 6
	maxSymbols  = 258
	maxSelector = 18002
	groupSize   = 50 // symbols for each selector
	maxCodeLen  = 20
	lookupBits  = 9
	runA, runB  = 0, 1
)

// Decoder unpacks streams, always with the same memory. The zero value is
// ready.
type Decoder struct {
	in        bitReader
	tt        []uint32 // the block: byte in the lower 8 bits, link above
	selectors []byte
	trees     [maxGroups]tree
	lengths   [maxSymbols]byte
	toByte    [256]byte
	counts    [256]uint32
}

// Decode appends to dst what src unfolds to, at most limit bytes, and returns
// with it the number of bytes of src that the stream took. With an error it
// returns what came out before the error, which nothing vouches for.
func (d *Decoder) Decode(dst, src []byte, limit int) (out []byte, consumed int, err error) {
	d.in = bitReader{src: src}
	r := &d.in
	if r.bits(24) != 'B'<<16|'Z'<<8|'h' {
		return dst, 0, ErrDamaged
	}
	level := int(r.bits(8)) - '0'
	if level < 1 || level > 9 {
		return dst, 0, ErrDamaged
	}
	out = dst
	limit += len(dst)
	var combined uint32
	for {
		magic := r.bits(24)<<24 | r.bits(24)
		sum := uint32(r.bits(16)<<16 | r.bits(16))
		if r.short() {
			return out, len(src), ErrDamaged
		}
		if magic == endMagic {
			if sum != combined {
				return out, r.consumed(), ErrDamaged
			}
			return out, r.consumed(), nil
		}
		if magic != blockMagic {
			return out, r.consumed(), ErrDamaged
		}
		// Run-length coding makes at most 5 bytes of 4, so that a block with
		// more than that cannot fit into what was announced.
		most := min(level*blockUnit, (limit-len(out))/4*5+8)
		n, origin, random, err := d.block(level*blockUnit, most)
		if err != nil {
			return out, r.consumed(), err
		}
		start := len(out)
		if out, err = d.unfold(out, n, origin, random, limit); err != nil {
			return out, r.consumed(), err
		}
		crc := checksum(out[start:])
		if crc != sum {
			return out, r.consumed(), ErrDamaged
		}
		combined = bits.RotateLeft32(combined, 1) ^ crc
	}
}

// block reads a block into tt as it is coded: bytes before the inverse of the
// Burrows-Wheeler transform. allowed is what the format lets it have, most what
// can be of use.
func (d *Decoder) block(allowed, most int) (n int, origin uint32, random bool, err error) {
	r := &d.in
	random = r.bits(1) != 0
	origin = uint32(r.bits(24))
	if int(origin) > 10+allowed {
		return 0, 0, false, ErrDamaged
	}
	used := 0
	for groups, i := r.bits(16), 0; i < 16; i++ {
		if groups>>(15-i)&1 == 0 {
			continue
		}
		for members, j := r.bits(16), 0; j < 16; j++ {
			if members>>(15-j)&1 != 0 {
				d.toByte[used] = byte(16*i + j)
				used++
			}
		}
	}
	if used == 0 {
		return 0, 0, false, ErrDamaged
	}
	symbols := used + 2
	groups := int(r.bits(3))
	count := int(r.bits(15))
	if groups < 2 || groups > maxGroups || count < 1 {
		return 0, 0, false, ErrDamaged
	}
	if !d.readSelectors(groups, count) {
		return 0, 0, false, ErrDamaged
	}
	for g := range groups {
		if !d.readLengths(symbols) {
			return 0, 0, false, ErrDamaged
		}
		d.trees[g].build(d.lengths[:symbols])
	}
	if r.short() {
		return 0, 0, false, ErrDamaged
	}
	n, err = d.symbols(symbols-1, allowed, most)
	if err == nil && (int(origin) >= n || r.short()) {
		err = ErrDamaged
	}
	return n, origin, random, err
}

// readSelectors reads which tree codes each group of 50 symbols, as moves to
// front in unary. There may be more than a block can need: libbz2 reads and
// forgets them.
func (d *Decoder) readSelectors(groups, count int) bool {
	r := &d.in
	var order [maxGroups]byte
	for i := range order {
		order[i] = byte(i)
	}
	d.selectors = d.selectors[:0]
	for range count {
		r.fill()
		j := bits.LeadingZeros64(^r.buf)
		if j >= groups {
			return false
		}
		r.skip(uint(j) + 1)
		if r.short() {
			return false
		}
		chosen := order[j]
		copy(order[1:j+1], order[:j])
		order[0] = chosen
		if len(d.selectors) < maxSelector {
			d.selectors = append(d.selectors, chosen)
		}
	}
	return true
}

// readLengths reads the lengths of the codes of one tree, each as a difference
// to the one before.
func (d *Decoder) readLengths(symbols int) bool {
	r := &d.in
	length := int(r.bits(5))
	for i := range symbols {
		for {
			if length < 1 || length > maxCodeLen {
				return false
			}
			if r.have < 2 {
				r.fill()
			}
			if r.peek(1) == 0 {
				r.skip(1)
				break
			}
			length += 1 - 2*int(r.peek(2)&1)
			r.skip(2)
			if r.short() {
				return false
			}
		}
		d.lengths[i] = byte(length)
	}
	return true
}

// symbols reads the symbols of a block: runs of the front of the list, places
// in the list, and the end. It takes most of the time of a stream, so that the
// bits and the first eight places of the list are kept in variables.
func (d *Decoder) symbols(end, allowed, most int) (n int, err error) {
	var (
		r    = &d.in
		src  = r.src
		pos  = r.pos
		buf  = r.buf
		have = r.have

		front = binary.LittleEndian.Uint64(d.toByte[:8])
		list  [256]byte // but for the front

		tt          = d.tt[:cap(d.tt)]
		run, weight = 0, 1
	)
	copy(list[8:], d.toByte[8:])
	clear(d.counts[:])
	done := func(err error) (int, error) {
		r.pos, r.buf, r.have = pos, buf, have
		d.tt = tt
		if r.short() {
			err = ErrDamaged // whatever the zeros beyond the end seemed to say
		}
		return n, err
	}
	for _, selected := range d.selectors {
		t := &d.trees[selected]
		for range groupSize {
			if have < maxCodeLen {
				if pos+8 <= len(src) {
					buf |= binary.BigEndian.Uint64(src[pos:]) >> (have & 63)
					pos += (63 - have) >> 3
					have |= 56
				} else {
					r.pos, r.buf, r.have = pos, buf, have
					r.fill()
					pos, buf, have = r.pos, r.buf, r.have
				}
			}
			e := t.lookup[buf>>(64-lookupBits)]
			if e == 0 {
				e = t.long(buf)
			}
			if e == noSymbol {
				return done(ErrDamaged)
			}
			buf <<= e & lengthMask
			have -= int(e & lengthMask)
			sym := int(e >> lengthBits)
			if sym <= runB {
				if weight >= 2<<20 {
					return done(ErrDamaged)
				}
				run += weight << sym
				weight <<= 1
				continue
			}
			if run > 0 {
				if n+run > allowed {
					return done(ErrDamaged)
				}
				if n+run > most {
					return done(ErrTooLong)
				}
				for n+run > len(tt) {
					tt = grow(tt)
				}
				b := uint32(byte(front))
				d.counts[b] += uint32(run)
				for i := n; i < n+run; i++ {
					tt[i] = b
				}
				n += run
				run, weight = 0, 1
			}
			if sym == end {
				return done(nil)
			}
			if n >= allowed {
				return done(ErrDamaged)
			}
			if n >= most {
				return done(ErrTooLong)
			}
			var b byte
			if at := sym - 1; at < 8 {
				moved := ^uint64(0) >> (56 - 8*at)
				b = byte(front >> (8 * at))
				front = front&^moved | front<<8&moved | uint64(b)
			} else {
				b = list[at]
				copy(list[9:at+1], list[8:at])
				list[8] = byte(front >> 56)
				front = front<<8 | uint64(b)
			}
			d.counts[b]++
			if n >= len(tt) {
				tt = grow(tt)
			}
			tt[n] = uint32(b)
			n++
		}
		if r.past > have {
			break
		}
	}
	return done(ErrDamaged)
}

// grow gives a block more room, as much as what has come needs.
func grow(tt []uint32) []uint32 {
	tt = append(tt, 0)
	return tt[:cap(tt)]
}

// unfold undoes the Burrows-Wheeler transform and the run-length coding, and
// appends the result to out.
func (d *Decoder) unfold(out []byte, n int, origin uint32, random bool, limit int) ([]byte, error) {
	tt := d.tt[:n]
	sum := uint32(0)
	for i, c := range d.counts {
		d.counts[i] = sum
		sum += c
	}
	for i := range tt {
		b := byte(tt[i])
		c := d.counts[b]
		d.counts[b] = c + 1
		tt[c] |= uint32(i) << 8
	}
	out = slices.Grow(out, min(n, limit-len(out)))
	at := tt[origin] >> 8
	last, run := -1, 0
	turn, next := 0, 0 // of a randomised block: bytes to the next place, and its number
	for range n {
		entry := tt[at]
		at = entry >> 8
		b := byte(entry)
		if random {
			if turn == 0 {
				turn = int(randomness[next])
				next = (next + 1) % len(randomness)
			}
			if turn--; turn == 1 {
				b ^= 1
			}
		}
		if run == 4 {
			// Four of the same are followed by how many more there are.
			more := int(b)
			if len(out)+more > limit {
				return out, ErrTooLong
			}
			for range more {
				out = append(out, byte(last))
			}
			last, run = -1, 0
			continue
		}
		if len(out) >= limit {
			return out, ErrTooLong
		}
		if int(b) == last {
			run++
		} else {
			last, run = int(b), 1
		}
		out = append(out, b)
	}
	if run == 4 {
		// libbz2 wants the count of the run, and there is none.
		return out, ErrDamaged
	}
	return out, nil
}

// An entry of the lookup table is a symbol and, below it, the length of its
// code.
const (
	lengthBits = 5
	lengthMask = 1<<lengthBits - 1
	noSymbol   = 0xffff // the bits are no code
)

// tree is a Huffman code as libbz2 reads it, which gives bent codes a meaning,
// too: a code is looked for from the shortest length on, as a number that is
// not above the limit of that length.
type tree struct {
	lookup        [1 << lookupBits]uint16 // 0 is not here
	limit         [maxCodeLen + 2]int32
	base          [maxCodeLen + 2]int32
	perm          [maxSymbols]uint16
	minLen, count int
}

func (t *tree) build(lengths []byte) {
	minLen, maxLen := maxCodeLen, 1
	var count, next [maxCodeLen + 2]int32
	for _, l := range lengths {
		minLen, maxLen = min(minLen, int(l)), max(maxLen, int(l))
		count[l]++
	}
	t.minLen, t.count = minLen, len(lengths)
	clear(t.limit[:])
	code, before := int32(0), int32(0)
	for l := minLen; l <= maxLen; l++ {
		next[l] = before
		code += count[l]
		t.limit[l] = code - 1
		t.base[l] = code - count[l] - before
		before += count[l]
		code <<= 1
	}
	for s, l := range lengths {
		t.perm[next[l]] = uint16(s)
		next[l]++
	}
	for l := maxLen + 1; l <= maxCodeLen; l++ {
		// Nothing is this long. libbz2 leaves a limit that everything is
		// below at the longest length plus one, and then finds no symbol.
		t.limit[l] = -1
	}
	if code == 2<<maxLen {
		t.fill(&count, min(maxLen, lookupBits))
	} else {
		t.fillBent(maxLen)
	}
}

// fill makes the table of short codes where every number is a code: one after
// the other.
func (t *tree) fill(count *[maxCodeLen + 2]int32, maxLen int) {
	at, next := 0, 0
	for l := t.minLen; l <= maxLen; l++ {
		step := 1 << (lookupBits - l)
		for _, s := range t.perm[next : next+int(count[l])] {
			entries := t.lookup[at : at+step]
			for i := range entries {
				entries[i] = s<<lengthBits | uint16(l)
			}
			at += step
		}
		next += int(count[l])
	}
	clear(t.lookup[at:])
}

// fillBent makes the table of short codes by reading each of them as the long
// way does.
func (t *tree) fillBent(maxLen int) {
	clear(t.lookup[:])
	for l := t.minLen; l <= min(maxLen, lookupBits); l++ {
		step := 1 << (lookupBits - l)
		for p := 0; p < 1<<l; p++ {
			if int32(p) > t.limit[l] {
				break
			}
			if t.lookup[p*step] != 0 {
				continue // a shorter code has it
			}
			i := int32(p) - t.base[l]
			entry := uint16(noSymbol)
			if i >= 0 && int(i) < t.count {
				entry = t.perm[i]<<lengthBits | uint16(l)
			}
			for k := p * step; k < (p+1)*step; k++ {
				t.lookup[k] = entry
			}
		}
	}
}

// long returns the entry of a code that is longer than the table knows, which
// begins at the highest bit.
func (t *tree) long(buf uint64) uint16 {
	for l := max(t.minLen, lookupBits+1); l <= maxCodeLen; l++ {
		p := int32(buf >> (64 - l))
		if p <= t.limit[l] {
			i := p - t.base[l]
			if i < 0 || int(i) >= t.count {
				return noSymbol
			}
			return t.perm[i]<<lengthBits | uint16(l)
		}
	}
	return noSymbol
}

// bitReader reads bits, the highest of a byte first. Beyond the end there are
// zeros, and short says so.
type bitReader struct {
	src  []byte
	pos  int    // of the next byte to load
	buf  uint64 // bits loaded, in the highest ones; below them the next or zeros
	have int    // how many; less than 0 beyond the end
	past int    // zero bits made up
}

// fill makes at least 48 bits ready.
func (r *bitReader) fill() {
	if r.have >= 48 {
		return
	}
	if r.pos+8 <= len(r.src) {
		// What is loaded beyond whole bytes is loaded again, the same bits.
		r.buf |= binary.BigEndian.Uint64(r.src[r.pos:]) >> r.have
		r.pos += (63 - r.have) >> 3
		r.have |= 56
		return
	}
	for r.have <= 56 {
		if r.pos < len(r.src) {
			r.buf |= uint64(r.src[r.pos]) << (56 - r.have)
			r.pos++
		} else {
			r.past += 8
		}
		r.have += 8
	}
}

func (r *bitReader) peek(n uint) uint64 { return r.buf >> (64 - n) }

func (r *bitReader) skip(n uint) {
	r.buf <<= n
	r.have -= int(n)
}

// bits reads up to 24 bits.
func (r *bitReader) bits(n uint) uint64 {
	r.fill()
	v := r.peek(n)
	r.skip(n)
	return v
}

// short reports whether more has been read than there is.
func (r *bitReader) short() bool { return r.past > r.have }

// consumed returns the number of bytes that have been begun to be read.
func (r *bitReader) consumed() int {
	return min(len(r.src), r.pos-max(0, r.have-r.past)/8)
}

// crcTable is that of CRC-32 with the highest bit first, eight bytes at a time.
var crcTable = func() (t [8][256]uint32) {
	for i := range 256 {
		c := uint32(i) << 24
		for range 8 {
			if c&(1<<31) != 0 {
				c = c<<1 ^ 0x04c11db7
			} else {
				c <<= 1
			}
		}
		t[0][i] = c
	}
	for i := range 256 {
		c := t[0][i]
		for k := 1; k < 8; k++ {
			c = t[0][c>>24] ^ c<<8
			t[k][i] = c
		}
	}
	return t
}()

// checksum is the CRC-32 of bzip2.
func checksum(b []byte) uint32 {
	crc := ^uint32(0)
	for len(b) >= 8 {
		crc ^= binary.BigEndian.Uint32(b)
		crc = crcTable[7][crc>>24] ^ crcTable[6][crc>>16&0xff] ^ crcTable[5][crc>>8&0xff] ^ crcTable[4][crc&0xff] ^
			crcTable[3][b[4]] ^ crcTable[2][b[5]] ^ crcTable[1][b[6]] ^ crcTable[0][b[7]]
		b = b[8:]
	}
	for _, c := range b {
		crc = crcTable[0][byte(crc>>24)^c] ^ crc<<8
	}
	return ^crc
}
