package bunzip

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dsnet/compress/bzip2"

	"github.com/qdissect/qdissect/internal/must"
)

func pack(t testing.TB, plain []byte, level int) []byte {
	t.Helper()
	var z bytes.Buffer
	w := must.Get(bzip2.NewWriter(&z, &bzip2.WriterConfig{Level: level}))(t)
	must.Get(w.Write(plain))(t)
	must.Do(t, w.Close())
	return z.Bytes()
}

// plains are messages of many kinds.
func plains() map[string][]byte {
	rng, noise := rand.New(rand.NewPCG(1, 2)), make([]byte, 3000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	two := make([]byte, 2000)
	for i := range two {
		two[i] = byte(rng.Uint32() & 1)
	}
	var rules []byte
	for i := range 120 {
		rules = fmt.Appendf(rules, "mp_setting_%d\x00%d\x00", i*7%50, i*i)
	}
	return map[string][]byte{
		"one byte": []byte("q"), "four": []byte("aaaa"), "five": []byte("aaaaa"), "runs": []byte(strings.Repeat("aaaabbbbbbbbbcd", 90)),
		"long run": make([]byte, 70000), "rules": rules, "noise": noise, "two symbols": two,
		"255+4": bytes.Repeat([]byte{7}, 259), "256+4": bytes.Repeat([]byte{7}, 260), "two blocks": bytes.Repeat(append(noise, rules...), 30),
	}
}

func TestDecode(t *testing.T) {
	var d Decoder
	for name, plain := range plains() {
		for _, level := range []int{1, 9} {
			z := pack(t, plain, level)
			out, n, err := d.Decode(nil, append(bytes.Clone(z), "behind"...), len(plain))
			if len(plain) > 80_000 {
				// More than one block, which no reply has: Decode returns the first
				// block.
				if level == 1 && (len(out) == 0 || len(out) >= len(plain) || !bytes.HasPrefix(plain, out)) {
					t.Errorf("%s: %d of %d bytes, %v", name, len(out), len(plain), err)
				}
				continue
			}
			if err != nil || n != len(z) || !bytes.Equal(out, plain) {
				t.Errorf("%s, level %d: %d of %d bytes, %d of %d consumed, %v", name, level, len(out), len(plain), n, len(z), err)
			}
			if out, _, err := d.Decode([]byte("kept"), z, len(plain)-1); err != ErrTooLong || string(out) != "kept"+string(plain[:len(plain)-1]) {
				t.Errorf("%s, level %d: announced a byte too little: %d bytes, %v", name, level, len(out), err)
			}
			if out, _, err := d.Decode(nil, z, len(plain)+1); err != nil || !bytes.Equal(out, plain) {
				t.Errorf("%s, level %d: announced a byte too many: %d bytes, %v", name, level, len(out), err)
			}
			for cut := range len(z) {
				if cut > 60 && cut < len(z)-60 {
					continue
				}
				if _, _, err := d.Decode(nil, z[:cut], len(plain)); err == nil {
					t.Fatalf("%s cut after %d of %d bytes passes", name, cut, len(z))
				}
			}
		}
	}
}

// most is how many times as long as a usual message a forged stream may take.
const most = 25

// yardstick returns a function that returns how many times as long as a usual message a decoding takes, more than most only if it does
// so again and again: other work on the machine makes either longer.
func yardstick(t *testing.T) (slowness func(decode func()) float64) {
	t.Helper()
	least := func(rounds int, f func()) time.Duration {
		best := time.Duration(math.MaxInt64)
		for range rounds {
			start := time.Now()
			f()
			best = min(best, time.Since(start))
		}
		return best
	}
	var d Decoder
	plain := plains()["rules"]
	z, buf := pack(t, plain, 9), make([]byte, 0, len(plain)+1)
	usual := func() {
		for range most { // so long that other work interrupts it as often as a forged stream
			_, _, err := d.Decode(buf, z, len(plain))
			must.Do(t, err)
		}
	}
	reference := least(8, usual)
	return func(decode func()) float64 {
		best := least(1, decode)
		for rounds := 4; rounds <= 256 && best > reference; rounds *= 4 {
			best, reference = math.MaxInt64, math.MaxInt64
			for range rounds { // in turns, because other work lasts
				reference, best = min(reference, least(1, usual)), min(best, least(1, decode))
			}
		}
		return most * float64(best) / float64(reference)
	}
}

// TestFlips flips every bit of streams. Decode either returns an error or different
// data, which the caller's checksum detects, and it is fast. It agrees with the standard
// library, checksums included, and alone rejects only streams with incomplete codes.
func TestFlips(t *testing.T) {
	var d Decoder
	slowness := yardstick(t)
	for _, name := range []string{"one byte", "five", "rules", "two symbols", "255+4"} {
		plain := plains()[name]
		z := pack(t, plain, must.Try(1, 9)) // the standard library clears a megabyte for a level
		buf := make([]byte, 0, len(plain)+1)
		for bit := 0; bit < 8*len(z); bit += must.Try(9, 1) {
			flipped := bytes.Clone(z)
			flipped[bit/8] ^= 1 << (bit % 8)
			if times := slowness(func() { d.Decode(buf, flipped, len(plain)) }); times > most {
				t.Errorf("%s, bit %d: %.1f times as long as usual", name, bit, times)
			}
			out, n, err := d.Decode(buf, flipped, len(plain))
			if len(out) > len(plain) || n > len(z) {
				t.Errorf("%s, bit %d: %d bytes, %d consumed, %v", name, bit, len(out), n, err)
			}
			switch want, wantErr := io.ReadAll(stdbzip2.NewReader(bytes.NewReader(flipped))); {
			case wantErr != nil:
			case err == nil && !bytes.Equal(out, want):
				t.Errorf("%s, bit %d: other bytes", name, bit)
			case err != nil && check(flipped, len(plain)*2) == nil:
				t.Errorf("%s, bit %d: %v, though the standard library reads it", name, bit, err)
			}
		}
		if out, _, err := d.Decode(buf, z, len(plain)); err != nil || !bytes.Equal(out, plain) {
			t.Errorf("%s: after damaged streams the sound one gives %d bytes, %v", name, len(out), err)
		}
	}
}

// A bitWriter writes streams that no compressor writes.
type bitWriter struct {
	out  []byte
	used uint
}

func (w *bitWriter) bits(v uint64, n uint) {
	for i := n; i > 0; i-- {
		if w.used%8 == 0 {
			w.out = append(w.out, 0)
		}
		w.out[len(w.out)-1] |= byte(v>>(i-1)&1) << (7 - w.used%8)
		w.used++
	}
}

// header writes a stream up to the codes of its first tree. One symbol is used, so that
// there are three.
func header(random uint64, trees, selectors int) *bitWriter {
	w := &bitWriter{out: []byte("BZh9"), used: 32}
	w.bits(blockMagic, 48)
	w.bits(0, 32)
	w.bits(random, 1)
	w.bits(0, 24)
	w.bits(1<<15, 16)
	w.bits(1<<15, 16)
	w.bits(uint64(trees), 3)
	w.bits(uint64(selectors), 15)
	for range min(selectors, 1) {
		w.bits(0, 1)
	}
	return w
}

// code writes the code lengths of one tree.
func (w *bitWriter) code(lengths ...int) {
	at := lengths[0]
	w.bits(uint64(at), 5)
	for _, n := range lengths {
		for ; at < n; at++ {
			w.bits(2, 2)
		}
		for ; at > n; at-- {
			w.bits(3, 2)
		}
		w.bits(0, 1)
	}
}

func TestSound(t *testing.T) {
	var d Decoder
	for _, c := range []struct {
		name             string
		random           uint64
		trees, selectors int
		lengths          []int
		want             bool
	}{
		{"complete codes", 0, 2, 1, []int{1, 2, 2}, true},
		{"six trees", 0, 6, 1, []int{1, 2, 2}, true},
		{"randomised", 1, 2, 1, []int{1, 2, 2}, false},
		{"one tree", 0, 1, 1, []int{1, 2, 2}, false},
		{"seven trees", 0, 7, 1, []int{1, 2, 2}, false},
		{"no selectors", 0, 2, 0, []int{1, 2, 2}, false},
		{"too few codes", 0, 2, 1, []int{2, 2, 2}, false},
		{"too many codes", 0, 2, 1, []int{1, 1, 2}, false},
		{"length 0", 0, 2, 1, []int{0, 2, 2}, false},
		{"length 20 and no room", 0, 2, 1, []int{1, 1, 20}, false},
		{"length 21", 0, 2, 1, []int{1, 2, 21}, false},
	} {
		w := header(c.random, c.trees, c.selectors)
		for range c.trees {
			w.code(c.lengths...)
		}
		w.bits(0, 32)
		if got := check(w.out, 100) == nil; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if _, _, err := d.Decode(nil, w.out, 100); err == nil {
			t.Errorf("%s: no error, though there is no data", c.name)
		}
	}
	if out, n, err := d.Decode(nil, append(pack(t, nil, 9), "behind"...), 100); err != nil || n != 14 || len(out) != 0 {
		t.Errorf("without a block: %d bytes, %d consumed, %v", len(out), n, err)
	}
	for selectors, want := range map[int]error{18: ErrDamaged, 19: ErrTooLong} { // 100 bytes need 2, 16 are spare
		w := header(0, 2, selectors)
		if got := check(w.out, 100); got != want {
			t.Errorf("%d selectors: %v", selectors, got)
		}
	}
	whole := header(0, 2, 1)
	whole.code(1, 2, 2)
	whole.code(1, 2, 2)
	for n := range len(whole.out) {
		if check(whole.out[:n], 100) == nil {
			t.Errorf("sound after %d of %d bytes", n, len(whole.out))
		}
	}
}

// TestSecondBlock checks that Decode ignores the data after the first block.
func TestSecondBlock(t *testing.T) {
	var d Decoder
	plain := plains()["two blocks"]
	z := pack(t, plain, 1)
	first, n, err := d.Decode(nil, z, len(plain))
	if err != nil || len(first) < 80_000 {
		t.Fatalf("%d bytes, %v", len(first), err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range must.Try(20, 200) {
		forged := bytes.Clone(z)
		for i := n - footer; i < len(forged); i++ {
			forged[i] = byte(rng.Uint32())
		}
		if out, _, err := d.Decode(nil, forged, len(plain)); err != nil || !bytes.Equal(out, first) {
			t.Fatalf("%d bytes, %v", len(out), err)
		}
	}
}

// TestBombs checks that streams that decompress to much data, or claim to, take little
// time.
func TestBombs(t *testing.T) {
	var d Decoder
	slowness := yardstick(t)
	bombs := map[string][]byte{"45 MB of zeros": must.Get(hex.DecodeString( // packed by bzip2
		"425a68393141592653590e09e2df015f8e4000c0000008200030804d4642a025a90a809731415926535997a7be1c0009dac004c00000010008200030cc09aa6992215b54442bc5dc914e142422ed1ee880"))(t)}
	if must.TryAll() {
		bombs["200 MB of zeros"] = pack(t, make([]byte, 200<<20), 9)
	}
	// A whole block of runs: the largest number of symbols for the announced size.
	bombs["runs"] = pack(t, bytes.Repeat([]byte("abcd"), 22_000), 9)
	bombs["many symbols"] = pack(t, bytes.Repeat(plains()["noise"], 50), 9)
	for name, z := range bombs {
		times := slowness(func() {
			if out, _, err := d.Decode(nil, z, 1000); err != ErrTooLong || len(out) > 1000 {
				t.Fatalf("%s: %d bytes, %v", name, len(out), err)
			}
		})
		if times > most {
			t.Errorf("%s in %d bytes: %.1f times as long as usual", name, len(z), times)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	var d Decoder
	var c Cache
	plain := plains()["rules"]
	z, buf := pack(t, plain, 9), make([]byte, 0, len(plain)+1)
	for _, decode := range []func(dst, src []byte, size int) ([]byte, int, error){d.Decode, c.Decode} {
		run := func() { decode(buf, z, len(plain)) }
		run()
		if n := testing.AllocsPerRun(20, run); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// TestCache checks that a result is the same the first time and later, whatever was asked before and whoever wrote over it.
func TestCache(t *testing.T) {
	var c Cache
	var d Decoder
	rules := plains()["rules"]
	var packed [mostKept + 20][]byte
	for i := range 3 * len(packed) {
		n := i % len(packed)
		plain := fmt.Appendf(bytes.Clone(rules), "%d", n)
		if i == n {
			packed[n] = append(pack(t, plain, 1), "behind"...)
		}
		z := packed[n]
		for _, size := range []int{len(plain), len(plain), len(plain) + 1, len(plain) - 1} {
			want, consumed, failed := d.Decode([]byte("before"), z, size)
			out, n, err := c.Decode([]byte("before"), z, size)
			if err != failed || n != consumed || !bytes.Equal(out, want) {
				t.Fatalf("stream %d as %d bytes: %d bytes, %d of %d consumed, %v", i, size, len(out), n, consumed, err)
			}
			clear(out)
		}
	}
	for _, plain := range plains() {
		c.Decode(nil, pack(t, plain, 9), len(plain))
	}
	for _, k := range c.kept {
		if len(k.bytes) == 0 || len(k.bytes) > longest {
			t.Errorf("a result of %d bytes", len(k.bytes))
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, plain := range plains() {
		if len(plain) < 5000 {
			f.Add(pack(f, plain, 1))
		}
	}
	f.Fuzz(func(t *testing.T, z []byte) {
		var d Decoder
		out, n, err := d.Decode(nil, z, 1<<16)
		if len(out) > 1<<16 || n > len(z) {
			t.Fatalf("%d bytes of at most %d, %d of %d consumed", len(out), 1<<16, n, len(z))
		}
		if err != nil {
			return
		}
		// All decoders agree about sound streams.
		if want, err := io.ReadAll(stdbzip2.NewReader(bytes.NewReader(z))); err == nil && !bytes.HasPrefix(want, out) {
			t.Fatalf("%d bytes, the standard library has %d", len(out), len(want))
		}
	})
}

// TestAfterwards checks that nothing of a damaged stream is left for the next one, and
// that the memory is.
func TestAfterwards(t *testing.T) {
	plain := plains()["rules"]
	z := pack(t, plain, 9)
	origin := bytes.Clone(z)
	origin[14] |= 0x7f // after the headers of the stream and the block, and a bit
	// Four equal bytes, without the number of further ones that has to follow.
	run := header(0, 2, 1)
	run.code(1, 2, 2)
	run.code(1, 2, 2)
	run.bits(0b10_0_11, 5)
	run.bits(0, 8*footer)
	for name, before := range map[string][]byte{"origin": origin, "run": run.out, "long": pack(t, bytes.Repeat(plain, 9), 9)} {
		var d Decoder
		if _, _, err := d.Decode(nil, before, len(plain)); (err == nil) != (name == "run") {
			t.Errorf("%s: %v", name, err)
		}
		if name == "origin" && d.bzip2 == nil {
			t.Errorf("%s: the memory is given up", name)
		}
		if out, _, err := d.Decode(nil, z, len(plain)); err != nil || !bytes.Equal(out, plain) {
			t.Errorf("after %s: %d of %d bytes, %v", name, len(out), len(plain), err)
		}
	}
}
