package golden

import (
	"fmt"
	"hash/crc64"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pcaps returns the captures of the project.
func pcaps(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", "..", "testdata", "pcaps"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && IsCapture(path) {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) < 40 {
		t.Fatalf("%d captures; %v", len(paths), err)
	}
	return paths
}

// sumIn returns the sum in the golden of a capture.
func sumIn(t *testing.T, path string) uint64 {
	t.Helper()
	f, err := os.Open(Path(path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := lastObject(f)
	if err != nil || !l.summed {
		t.Fatalf("%s has no sum (%v): qdissect check --update writes it", Path(path), err)
	}
	return l.sum
}

// masks are what bytes are XORed with.
var masks = [...]byte{0x01, 0x20, 0xff, 0x80}

// TestFlip: any byte of any capture that is another is found by the sum, which
// tells which one it is, and has a name: that of a field, of a message or of what
// carries it, or of the file. Of hostile captures that are large, one byte in
// several is tried; of others, every byte.
func TestFlip(t *testing.T) {
	tried, all, sampled := 0, 0, 0
	named := make(map[string]int)
	paths := pcaps(t)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, n := sumIn(t, path), len(data)
		records := surveyAll(t, data)
		step := 1
		switch { // so that no more bytes are summed than
		case testing.Short() || raceEnabled:
			step += n * n >> 24
		case strings.Contains(path, "hostile"):
			step += n * n >> 30
		}
		if all += n; step > 1 {
			sampled++
		}
		r, head := 0, uint64(0)
		for at := 0; at < n; at += step {
			tried++
			mask := masks[at%len(masks)]
			data[at] ^= mask
			got := crc64.Update(head, sumTable, data[at:])
			data[at] ^= mask
			head = crc64.Update(head, sumTable, data[at:min(at+step, n)])
			if i, m, ok := flippedByte(want, got, int64(n)); !ok || i != int64(at) || m != mask {
				t.Fatalf("%s: byte %d XORed with %#x is taken for byte %d with %#x, %v", path, at, mask, i, m, ok)
			}
			for r < len(records)-1 && records[r+1].at <= int64(at) {
				r++
			}
			rec := &records[r]
			p := rec.place(int64(at))
			inFrame := int64(at) >= rec.rawAt()+int64(rec.from) && int64(at) < rec.rawAt()+int64(rec.to)
			switch layer, field, _ := strings.Cut(p.field, "."); {
			case field == "" && p.field != "data",
				inFrame && (p.message.Frame == 0 || strings.HasPrefix(layer, "pcap")),
				!inFrame && !strings.HasPrefix(layer, "pcap"):
				t.Errorf("%s: byte %d is called %q of %+v", path, at, p.field, p.message)
			default:
				named[layer]++
			}
		}
	}
	t.Logf("%d of %d bytes were tried, one in several in %d of %d captures: %v", tried, all, sampled, len(paths), named)
}

// named is what a difference looks like that names what differs.
var named = regexp.MustCompile(`(?m)^(capture|frame \d+.*)\n  [a-z].*: .* → .*$`)

// TestFlipCheck: a file with one byte that is another is not what its golden says,
// and what is said names the frame, and what is another in it.
func TestFlipCheck(t *testing.T) {
	tries := 25
	if testing.Short() || raceEnabled {
		tries = 5
	}
	for i, path := range pcaps(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		golden, err := os.ReadFile(Path(path))
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(t.TempDir(), filepath.Base(path))
		if err := os.WriteFile(Path(copied), golden, 0o666); err != nil {
			t.Fatal(err)
		}
		records := surveyAll(t, data)
		step := 1 + len(data)/tries
		for at := i % step; at < len(data); at += step {
			data[at] ^= masks[at%len(masks)]
			if err := os.WriteFile(copied, data, 0o666); err != nil {
				t.Fatal(err)
			}
			data[at] ^= masks[at%len(masks)]
			r, trouble, err := Check(copied, Rules{}, 1000)
			if err != nil || r == nil || r.Equal() {
				t.Fatalf("%s: byte %d is another: %v, %v, %v", path, at, r, trouble, err)
			}
			where := "capture"
			switch p := placeIn(records, at); {
			case p.message.Frame > 0 && p.value != nil: // that of the message, which several may carry
				where = fmt.Sprintf("frame (%d|%d)", p.message.Frame, p.own)
			case p.message.Frame > 0:
				where = fmt.Sprintf("frame %d", p.message.Frame)
			}
			text := string(r.AppendText(nil, ""))
			if !named.MatchString(text) || !regexp.MustCompile(`(?m)^`+where+`\b`).MatchString(text) {
				t.Errorf("%s: byte %d is another, in %s:\n%s", path, at, where, text)
			}
		}
	}
}
