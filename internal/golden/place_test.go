package golden

import (
	"bytes"
	"encoding/binary"
	"hash/crc64"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// surveyAll returns all records of a capture.
func surveyAll(t testing.TB, data []byte) []record {
	t.Helper()
	records, err := survey(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, 0, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// placeIn returns the place of a byte, which is in one of the records.
func placeIn(records []record, at int) (p place) {
	for i := range records {
		if r := &records[i]; r.at <= int64(at) && int64(at) < r.at+r.size {
			p = r.place(int64(at))
		}
	}
	return p
}

// TestPlace: what bytes of captures are called.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		file string
		at   int
		want string
	}{
		{"a2s/source.pcap", 1, "capture pcap.magic"},
		{"a2s/source.pcap", 23, "capture pcap.link_type"},
		{"a2s/source.pcap", 39, "frame 1 a2s info_request pcap.length"},
		{"a2s/source.pcap", 46, "frame 1 a2s info_request ethernet.source"},
		{"a2s/source.pcap", 62, "frame 1 a2s info_request ipv4.ttl"},
		{"a2s/source.pcap", 81, "frame 1 a2s info_request udp.checksum"},
		{"a2s/source.pcap", 82, "frame 1 a2s info_request a2s.header"},
		{"a2s/compressed.pcapng", 68, "frame 1 a2s rules_request pcapng.packet.interface"},
		{"a2s/compressed.pcapng", 44, "capture pcapng.interface.options"},
		{"a2s/fragments.pcap", 91, "frame 1 a2s players_request frame.padding"},
		{"a2s/fragments.pcap", 272, "frame 2 a2s players_reply a2s.players.index"},
		// The second fragment of an IP packet, and a part of a split message.
		{"a2s/fragments.pcap", 1682, "frame 3 a2s players_reply a2s.players.score"},
		{"a2s/fragments.pcap", 4781, "frame 6 a2s players_reply ipv6_fragment.identification"},
		{"a2s/fragments.pcap", 4787, "frame 6 a2s players_reply a2s.players.duration_s"},
		{"a2s/a2s-goldsrc-split.pcap", 74675, "frame 135 a2s rules_reply a2s.rules.key"},
		// A record that is none.
		{"hostile/lengths.pcap", 8934, "capture pcap.captured_length"},
		{"quake3/q3-openarena-any-sll.pcap", 46, "frame 1 quake3 info_request sll.address"},
		{"quake3/openarena-console.pcap", 4531, "frame 22 quake3 rcon_request quake3.rcon.password, hidden"},
	} {
		data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "pcaps", filepath.FromSlash(c.file)))
		if err != nil {
			t.Fatal(err)
		}
		p := placeIn(surveyAll(t, data), c.at)
		got := string(p.message.AppendName(nil)) + " " + p.field
		if p.hidden {
			got += ", hidden"
		}
		if got != c.want {
			t.Errorf("%s: byte %d is %s, want %s", c.file, c.at, got, c.want)
		}
	}
}

// snoopOf makes a snoop file of the frames of a little-endian pcap file.
func snoopOf(data []byte) []byte {
	b := []byte("snoop\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x04")
	for r := data[24:]; len(r) > 0; {
		n := binary.LittleEndian.Uint32(r[8:])
		pad := -n & 3
		for _, v := range [...]uint32{n, n, 24 + n + pad, 0, 1767323045, 0} {
			b = binary.BigEndian.AppendUint32(b, v)
		}
		b = append(append(b, r[16:16+n]...), make([]byte, pad)...)
		r = r[16+n:]
	}
	return b
}

func TestPlaceSnoop(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "pcaps", "a2s", "source.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	records := surveyAll(t, snoopOf(data))
	for at, want := range map[int]string{0: "snoop.magic", 15: "snoop.link_type", 16: "snoop.length", 39: "snoop.microseconds", 40: "ethernet.destination", 82: "a2s.header", 107: "snoop.padding"} {
		if p := placeIn(records, at); p.field != want {
			t.Errorf("byte %d is %s of %+v, want %s", at, p.field, p.message, want)
		}
	}
}

// FuzzPlace: a byte of any file has a name.
func FuzzPlace(f *testing.F) {
	for _, path := range []string{"a2s/documents.pcap", "hostile/section.pcapng", "hostile/interfaces.pcapng", "quake3/openarena-connect.pcap"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "pcaps", filepath.FromSlash(path)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(snoopOf(data[:24]))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 16<<10 {
			return
		}
		records := surveyAll(t, data)
		end := int64(0)
		for i := range records {
			r := &records[i]
			if r.at != end || r.from > r.to || r.to > len(r.raw) {
				t.Fatalf("record %d: %d bytes at %d, frame from %d to %d, want it at %d", i, len(r.raw), r.at, r.from, r.to, end)
			}
			end += r.size
			for at := r.at; at < end; at++ {
				if p := r.place(at); p.field == "" || p.message.Type == "" {
					t.Fatalf("byte %d is %+v", at, p)
				}
			}
		}
		if end != int64(len(data)) {
			t.Fatalf("%d bytes of %d are in records", end, len(data))
		}
	})
}

// TestSum: one byte that is another is found, several and a length are not taken
// for one.
func TestSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		data := make([]byte, 1+r.IntN(3000))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		n := int64(len(data))
		want := crc64.Checksum(data, sumTable)
		for flips := range min(4, len(data)) {
			other := bytes.Clone(data)
			at, mask := 0, byte(0)
			for _, i := range r.Perm(len(data))[:flips] {
				at, mask = i, byte(1+r.IntN(255))
				other[i] ^= mask
			}
			got := crc64.Checksum(other, sumTable)
			if flips == 0 {
				if got = crc64.Checksum(append(other, 0), sumTable); got == want {
					t.Fatal("a byte more is not noticed")
				}
			}
			i, m, ok := flippedByte(want, got, n)
			if ok != (flips == 1) || ok && (i != int64(at) || m != mask) {
				t.Fatalf("%d of %d bytes: byte %d XORed with %#x, got %d with %#x, %v", flips, n, at, mask, i, m, ok)
			}
		}
	}
}

// TestCheckSum: what is said where the bytes differ and no value does.
func TestCheckSum(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "testdata", "pcaps", "a2s", "source.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.pcap")
	write := func(data []byte) {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(source)
	if _, _, err := Update(path, false); err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(Path(path))
	if err != nil {
		t.Fatal(err)
	}
	ignore, err := ParsePatterns([]string{"rtt_ns"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		flips   []int
		rules   Rules
		want    string
		trouble bool
	}{
		{"nothing", nil, Rules{}, "", false},
		{"a header", []int{62}, Rules{}, "frame 1 a2s info_request  192.0.2.20:51000 > 198.51.100.10:27015\n  ipv4.ttl (offset 62 of the capture): 0x40 → 0x41\n", false},
		{"two headers", []int{62, 64}, Rules{}, "capture\n  crc64 (more than one byte is another): ", false},
		{"two headers, something may differ", []int{62, 64}, Rules{Ignore: ignore}, "", false},
		{"two headers, another time", []int{62, 64}, Rules{Relative: true}, "", false},
		{"what the file is", []int{0}, Rules{}, "capture\n  pcap.magic (offset 0 of the capture): 0xd4 → 0xd5\n  damaged: absent → \"neither pcap nor pcapng: begins with d5 c3 b2 a1 02 00 04 00\"\n", true},
		{"what the file is, twice", []int{0, 1}, Rules{}, "", true},
		{"a value", []int{89}, Rules{}, "frame 1 a2s info_request  192.0.2.20:51000 > 198.51.100.10:27015\n  detect: ", false},
		{"what the message is", []int{86}, Rules{}, "frame 1 a2s info_request  192.0.2.20:51000 > 198.51.100.10:27015\n  a2s.type (offset 86 of the capture): 0x54 → 0x55\nframe 1 ", false},
	} {
		data := bytes.Clone(source)
		for _, at := range c.flips {
			data[at] ^= 1
		}
		write(data)
		r, trouble, err := Check(path, c.rules, 0)
		if err != nil || (trouble != nil) != c.trouble {
			t.Errorf("%s: %v, %v", c.name, trouble, err)
		}
		text := ""
		if r != nil {
			text = string(r.AppendText(nil, ""))
		}
		if !strings.HasPrefix(text, c.want) || c.want == "" && text != "" || strings.Contains(text, "offset 89 ") {
			t.Errorf("%s:\n%swant\n%s", c.name, text, c.want)
		}
	}
	// A golden without a sum is one.
	if err := os.WriteFile(Path(path), bytes.Replace(golden, []byte(`,"crc64":`), []byte(`,"crc":`), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	data := bytes.Clone(source)
	data[62] ^= 1
	write(data)
	if r, _, err := Check(path, Rules{}, 0); err != nil || r.Count != 1 || r.Differences[0].Fields[0].Path != "crc" {
		t.Errorf("%v, %v", r, err)
	}
}
