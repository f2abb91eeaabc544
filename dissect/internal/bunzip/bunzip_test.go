package bunzip

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/dsnet/compress/bzip2"
)

func pack(t testing.TB, plain []byte, level int) []byte {
	t.Helper()
	var z bytes.Buffer
	w, err := bzip2.NewWriter(&z, &bzip2.WriterConfig{Level: level})
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return z.Bytes()
}

// plains are messages of many kinds.
func plains() map[string][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 3000)
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
			if err != nil || n != len(z) || !bytes.Equal(out, plain) {
				t.Errorf("%s, level %d: %d of %d bytes, %d of %d consumed, %v", name, level, len(out), len(plain), n, len(z), err)
			}
			if len(plain) > 0 {
				if out, _, err := d.Decode([]byte("kept"), z, len(plain)-1); err != ErrTooLong || len(out) > 4+len(plain)-1 {
					t.Errorf("%s, level %d: announced a byte too little: %d bytes, %v", name, level, len(out), err)
				}
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

// TestFlips flips every bit of streams.
func TestFlips(t *testing.T) {
	var d Decoder
	worst := time.Duration(0)
	for _, name := range []string{"one byte", "five", "rules", "two symbols", "255+4"} {
		plain := plains()[name]
		z := pack(t, plain, 9)
		for bit := range 8 * len(z) {
			flipped := bytes.Clone(z)
			flipped[bit/8] ^= 1 << (bit % 8)
			start := time.Now()
			out, _, err := d.Decode(nil, flipped, 1<<20)
			worst = max(worst, time.Since(start))
			// Checksums of 32 bits: what passes is the message.
			if err == nil && !bytes.Equal(out, plain) {
				t.Errorf("%s, bit %d: passes with other bytes", name, bit)
			}
		}
	}
	t.Logf("the slowest took %v", worst)
}

// TestLibbz2 asks the program bzip2, which is libbz2, about flips of a stream.
func TestLibbz2(t *testing.T) {
	program, err := exec.LookPath("bzip2")
	if err != nil {
		t.Skip("the program bzip2 is not there")
	}
	var d Decoder
	for _, name := range []string{"five", "rules"} {
		z := pack(t, plains()[name], 9)
		for bit := range 8 * len(z) {
			if bit > 1200 && bit%11 != 0 {
				continue // the symbols of the block: some are as good as all
			}
			flipped := bytes.Clone(z)
			flipped[bit/8] ^= 1 << (bit % 8)
			cmd := exec.Command(program, "-dc")
			cmd.Stdin = bytes.NewReader(flipped)
			want, wantErr := cmd.Output()
			out, _, err := d.Decode(nil, flipped, 1<<20)
			if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(out, want) {
				t.Errorf("%s, bit %d: %v, libbz2 says %v", name, bit, err, wantErr)
			}
		}
	}
}

// TestBombs: what unfolds to much, or only pretends to, costs little.
func TestBombs(t *testing.T) {
	var d Decoder
	for name, z := range map[string][]byte{
		"45 MB of zeros": pack(t, make([]byte, 45<<20), 9), "200 MB of zeros": pack(t, make([]byte, 200<<20), 9),
	} {
		d.Decode(nil, z, 1000)
		start := time.Now()
		const rounds = 100
		for range rounds {
			if out, _, err := d.Decode(nil, z, 1000); err != ErrTooLong || len(out) > 1000 {
				t.Fatalf("%s: %d bytes, %v", name, len(out), err)
			}
		}
		t.Logf("%s in %d bytes: %v each", name, len(z), time.Since(start)/rounds)
		if cap(d.tt) > 1<<16 {
			t.Errorf("%s took room for %d bytes", name, cap(d.tt))
		}
	}
}

func TestNoAllocations(t *testing.T) {
	var d Decoder
	plain := plains()["rules"]
	z := pack(t, plain, 9)
	broken := bytes.Clone(z)
	broken[len(z)/2] ^= 0x55
	buf := make([]byte, 0, len(plain))
	run := func() { d.Decode(buf, z, len(plain)); d.Decode(buf, broken, len(plain)) }
	run()
	if n := testing.AllocsPerRun(20, run); n != 0 {
		t.Errorf("%v allocations", n)
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
		// Sound streams are the same to all.
		if want, err := io.ReadAll(stdbzip2.NewReader(bytes.NewReader(z[:n]))); err == nil && !bytes.Equal(out, want) {
			t.Fatalf("%d bytes, the standard library has %d", len(out), len(want))
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	var rules []byte
	for i := range 220 {
		rules = fmt.Appendf(rules, "mp_setting_%d\x00%d\x00", i*7%150, i*i%977)
	}
	z := pack(b, rules, 9)
	b.Run("own", func(b *testing.B) {
		var d Decoder
		out := make([]byte, 0, len(rules))
		b.SetBytes(int64(len(rules)))
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := d.Decode(out, z, len(rules)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("dsnet", func(b *testing.B) {
		r, _ := bzip2.NewReader(bytes.NewReader(z), nil)
		out := make([]byte, len(rules))
		b.SetBytes(int64(len(rules)))
		b.ReportAllocs()
		for b.Loop() {
			r.Reset(bytes.NewReader(z))
			if _, err := io.ReadFull(r, out); err != nil {
				b.Fatal(err)
			}
		}
	})
}
