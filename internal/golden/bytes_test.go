package golden

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// sample returns a capture of the project.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "pcaps", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func packed(t testing.TB, coding string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	switch coding {
	case "gzip":
		w := gzip.NewWriter(&b)
		w.Write(data)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	case "zstd":
		w, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		w.Write(data)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	default:
		return data
	}
	return b.Bytes()
}

// A desk is where a capture lies with its golden.
type desk struct {
	t    *testing.T
	path string
}

// newDesk writes a capture, and its golden.
func newDesk(t *testing.T, name string, data []byte) *desk {
	t.Helper()
	d := &desk{t, filepath.Join(t.TempDir(), name)}
	d.put(data)
	d.update()
	return d
}

func (d *desk) put(data []byte) {
	d.t.Helper()
	if err := os.WriteFile(d.path, data, 0o666); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) update() {
	d.t.Helper()
	if _, _, err := Update(d.path, true); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) golden() string {
	d.t.Helper()
	b, err := os.ReadFile(Path(d.path))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

func (d *desk) putGolden(s string) {
	d.t.Helper()
	if err := os.WriteFile(Path(d.path), []byte(s), 0o666); err != nil {
		d.t.Fatal(err)
	}
}

// check returns what is said of the capture: nothing if it is as it should be.
func (d *desk) check(rules Rules, limit int) (text string, r *Result) {
	d.t.Helper()
	r, trouble, err := Check(d.path, rules, limit)
	if err != nil || r == nil {
		d.t.Fatalf("%v; %v", trouble, err)
	}
	return string(r.AppendText(nil, "")), r
}

func ignoring(t testing.TB, patterns ...string) Rules {
	t.Helper()
	p, err := ParsePatterns(patterns)
	if err != nil {
		t.Fatal(err)
	}
	return Rules{Ignore: p}
}

// TestDamage: a file that is damaged is not equal to one that is not, whatever it
// unpacks to and whatever may differ; and the golden says what is wrong.
func TestDamage(t *testing.T) {
	source := sample(t, "a2s/source.pcap")
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte {
			b = bytes.Clone(b)
			b[(at+len(b))%len(b)] ^= 1
			return b
		}
	}
	cut := func(b []byte) []byte { return b[:len(b)-1] }
	rubbish := func(b []byte) []byte { return append(bytes.Clone(b), "rubbish, more than ten bytes"...) }
	for _, c := range []struct {
		name, file, coding string
		damage             func([]byte) []byte
		want               string // "" for what is no damage
	}{
		{"gzip: trailer", "x.pcap.gz", "gzip", flip(-8), "gzip: invalid checksum"},
		{"gzip: end", "x.pcap.gz", "gzip", cut, "the gzip data is cut short"},
		{"gzip: rubbish", "x.pcap.gz", "gzip", rubbish, "gzip: invalid header"},
		{"gzip: when it was packed", "x.pcap.gz", "gzip", flip(5), ""},
		{"zstd: trailer", "x.pcap.zst", "zstd", flip(-1), "zstd: CRC check failed"},
		{"zstd: end", "x.pcap.zst", "zstd", cut, "the zstd data is cut short"},
		{"zstd: rubbish", "x.pcap.zst", "zstd", rubbish, "zstd: invalid input: magic number mismatch"},
		{"plain: rubbish", "x.pcap", "", rubbish, "record claims 1919905056 bytes, a frame has 262144 at most"},
		{"plain: a byte of rubbish", "x.pcap", "", func(b []byte) []byte { return append(bytes.Clone(b), 0) }, "record header cut short: 1 of 16 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sound := packed(t, c.coding, source)
			d := newDesk(t, c.file, sound)
			undamaged := d.golden()
			damaged := c.damage(sound)
			for _, rules := range []Rules{{}, {Relative: true}, ignoring(t, "rtt_ns")} {
				d.put(damaged)
				d.putGolden(undamaged)
				text, r := d.check(rules, 0)
				if c.want == "" {
					if text != "" {
						t.Errorf("%s", text)
					}
					continue
				}
				want := regexp.MustCompile(`^capture\n(  crc64 .*\n)?  damaged: absent → "` + regexp.QuoteMeta(c.want) + `"\n$`)
				if !want.MatchString(text) || r.Differences[0].Want.Line != strings.Count(undamaged, "\n") || r.Unstated {
					t.Errorf("%s%+v", text, r)
				}
				d.update()
				if text, r := d.check(rules, 0); text != "" || r.Unstated || !strings.Contains(d.golden(), `,"damaged":"`+c.want+`","crc64":"`) {
					t.Errorf("with its own golden: %s", text)
				}
				d.put(sound)
				text, _ = d.check(rules, 0)
				want = regexp.MustCompile(`^capture\n(  crc64 .*\n)?  damaged: "` + regexp.QuoteMeta(c.want) + `" → absent\n$`)
				if !want.MatchString(text) {
					t.Errorf("mended: %s", text)
				}
				// A golden without a sum may say it too.
				d.putGolden(crc.ReplaceAllString(d.golden(), ""))
				if text, _ = d.check(rules, 0); !want.MatchString(text) {
					t.Errorf("without sum: %s", text)
				}
			}
			// Which the program wrote says nothing about it.
			d.put(damaged)
			d.putGolden(crc.ReplaceAllString(undamaged, ""))
			if text, r := d.check(Rules{}, 0); text != "" || r.Unstated != (c.want != "") {
				t.Errorf("%s%+v", text, r)
			}
			// Recordings that are taken anew.
			d.putGolden(undamaged)
			r, _, err := CheckConversation(d.path, Rules{}, 0)
			if err != nil || r.Equal() != (c.want == "") {
				t.Errorf("as a conversation: %+v, %v", r, err)
			}
			if r, _, err = CheckConversation(d.path, ignoring(t, "damaged"), 0); err != nil || !r.Equal() {
				t.Errorf("ignored: %+v, %v", r, err)
			}
		})
	}
}

var crc = regexp.MustCompile(`,"crc64":"[0-9a-f]{16}"`)

// TestDamageBehind: damage behind other damage is told as well.
func TestDamageBehind(t *testing.T) {
	cut := packed(t, "gzip", sample(t, "a2s/source.pcap")[:3000])
	d := newDesk(t, "x.pcap.gz", cut)
	const first = `,"damaged":"record cut short: 928 of 1302 bytes`
	if !strings.Contains(d.golden(), first+`"`) {
		t.Error(d.golden())
	}
	broken := packed(t, "gzip", append(sample(t, "a2s/source.pcap"), bytes.Repeat([]byte{0xff}, 1<<20)...))
	d.put(broken)
	d.update()
	broken[len(broken)-8] ^= 1
	d.put(broken)
	text, _ := d.check(Rules{}, 0)
	if want := "capture\n  damaged: \"record claims 4294967295 bytes, a frame has 262144 at most\" → \"record claims 4294967295 bytes, a frame has 262144 at most; gzip: invalid checksum\"\n"; text != want {
		t.Errorf("%swant\n%s", text, want)
	}
}

// TestSumDamaged: the sum of a file that breaks off is that of what the reader of
// captures reads of it.
func TestSumDamaged(t *testing.T) {
	source := sample(t, "a2s/source.pcap")
	for _, coding := range []string{"gzip", "zstd"} {
		sound := packed(t, coding, source)
		path := filepath.Join(t.TempDir(), "x")
		for _, cut := range []int{0, 1, 3} {
			if err := os.WriteFile(path, sound[:len(sound)-cut], 0o666); err != nil {
				t.Fatal(err)
			}
			s, err := sumOf(path)
			if err != nil || s.n != int64(len(source)) || (s.damage != nil) != (cut > 0) {
				t.Errorf("%s, %d bytes less: %+v, %v", coding, cut, s, err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "x")
	for file, want := range map[string]string{
		"\x1f\x8bhello, world": "begins like gzip, but: gzip: invalid header",
		"\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x40\x00\x00\x00\x00\x01\x00\x00": "zstd: needs a window of more than 32 MiB; decompress it with zstd --long=31 first",
	} {
		if err := os.WriteFile(path, []byte(file), 0o666); err != nil {
			t.Fatal(err)
		}
		if s, err := sumOf(path); err != nil || s.damage == nil || s.damage.Error() != want || s.n != 0 {
			t.Errorf("%+v, %v, want %s", s, err, want)
		}
	}
}

// TestSumMalformed: a sum that is none does not switch its comparison off.
func TestSumMalformed(t *testing.T) {
	d := newDesk(t, "x.pcap", sample(t, "a2s/source.pcap"))
	golden := d.golden()
	for _, sum := range []string{`null`, `"zz"`, `12`, `"1fcf4377f3e350230"`, `"1fcf4377f3e3502"`, `""`, `["1fcf4377f3e35023"]`, `"+fcf4377f3e35023"`} {
		d.putGolden(crc.ReplaceAllString(golden, `,"crc64":`+sum))
		if r, _, err := Check(d.path, Rules{}, 0); err == nil || !strings.Contains(err.Error(), "crc64 of the golden is no sum") {
			t.Errorf("%s: %+v, %v", sum, r, err)
		}
	}
	for _, damage := range []string{`null`, `""`, `1`, `{}`} {
		d.putGolden(strings.Replace(golden, `,"crc64":`, `,"damaged":`+damage+`,"crc64":`, 1))
		if r, _, err := Check(d.path, Rules{}, 0); err == nil || !strings.Contains(err.Error(), "is no text") {
			t.Errorf("%s: %+v, %v", damage, r, err)
		}
	}
	// Wherever it stands: a golden may have been printed in another way.
	data := sample(t, "a2s/source.pcap")
	data[62] ^= 1
	d.put(data)
	lines := strings.TrimSuffix(golden, "\n")
	for name, other := range map[string]string{
		"an array":      "[\n" + strings.ReplaceAll(lines, "\n", ",\n") + "\n]\n",
		"several lines": strings.ReplaceAll(lines, `,"crc64"`, ",\n\"crc64\""),
		"a long line":   strings.ReplaceAll(lines, `,"crc64"`, strings.Repeat(" ", 1<<17)+`,"crc64"`),
		"no last line":  lines,
		"blanks":        golden + "\n \n\t",
	} {
		d.putGolden(other)
		if text, _ := d.check(Rules{}, 0); !strings.Contains(text, "  ipv4.ttl (offset 62 of the capture): 0x40 → 0x41\n") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestUpdateMemory: the golden that was written and the one that was there are not
// held in memory to be compared.
func TestUpdateMemory(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	size := int64(32 << 20)
	for _, path := range []string{a, b} {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	same := func(want bool) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		is, err := sameFiles(a, b)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; err != nil || is != want || n > 1<<20 {
			t.Errorf("%v, %v, %d bytes were allocated", is, err, n)
		}
	}
	same(true)
	f, err := os.OpenFile(b, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteAt([]byte{1}, size-1)
	same(false)
	f.Truncate(size - 1)
	same(false)
	if _, err := sameFiles(a, filepath.Join(dir, "none")); err == nil {
		t.Error("a file that is not there is the same")
	}
}

// frameOf makes an Ethernet frame of an IP packet, padded as short ones are.
func frameOf(packet []byte) []byte {
	typ := "\x08\x00"
	if packet[0]>>4 == 6 {
		typ = "\x86\xdd"
	}
	f := append([]byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02"+typ), packet...)
	return append(f, make([]byte, max(0, 60-len(f)))...)
}

// udpOf makes a UDP datagram.
func udpOf(payload string) []byte {
	b := binary.BigEndian.AppendUint16(nil, 40000)
	b = binary.BigEndian.AppendUint16(b, 27015)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(payload)))
	return append(append(b, 0, 0), payload...)
}

// ipv4Of makes an IPv4 packet; fragment is where it belongs, and 0x2000 that there
// is more.
func ipv4Of(protocol byte, fragment uint16, payload []byte) []byte {
	b := []byte{0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2}
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)+len(payload)))
	binary.BigEndian.PutUint16(b[6:], fragment)
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	binary.BigEndian.PutUint16(b[10:], ^uint16(sum+sum>>16))
	return append(b, payload...)
}

// ipv6Of makes an IPv6 packet.
func ipv6Of(next byte, payload []byte) []byte {
	b := []byte{0x60, 0, 0, 0, 0, 0, next, 64}
	binary.BigEndian.PutUint16(b[4:], uint16(len(payload)))
	b = append(b, "\xfd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"...)
	b = append(b, "\xfd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02"...)
	return append(b, payload...)
}

// pcapOf makes a capture of frames, a second apart.
func pcapOf(frames ...[]byte) []byte {
	b := []byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x01\x00\x00\x00")
	for i, f := range frames {
		for _, v := range [...]int{1700000000 + i, 0, len(f), len(f)} {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		b = append(b, f...)
	}
	return b
}

const infoRequest = "\xff\xff\xff\xffTSource Engine Query\x00"

// TestPlaceHeaders: what bytes of headers, padding and lost fragments are called,
// and which of them are never shown.
func TestPlaceHeaders(t *testing.T) {
	const frame = 24 + 16
	info := udpOf(infoRequest)
	rcon := udpOf("\xff\xff\xff\xffrcon hunter2secretpassword status all the things that there are")
	hop := append([]byte("\x11\x00\x01\x04\x00\x00\x00\x00"), info...)
	chain := append([]byte("\x2b\x01\x01\x0c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x33\x00\x00\x00\x00\x00\x00\x00\x11\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), info...)
	trailer := func(payload string) []byte { // repeats the payload
		return append(ipv4Of(17, 0, udpOf(payload)), payload...)
	}
	for _, c := range []struct {
		name string
		data []byte
		at   int // in the first frame
		want string
	}{
		{"padding that repeats the payload", pcapOf(frameOf(ipv4Of(17, 0, udpOf("\x00\x00")))), 42, "frame 1 unknown data"},
		{"padding that repeats the payload", pcapOf(frameOf(ipv4Of(17, 0, udpOf("\x00\x00")))), 44, "frame 1 unknown frame.padding"},
		{"trailer that repeats the payload", pcapOf(frameOf(trailer(infoRequest))), 46, "frame 1 a2s info_request a2s.type"},
		{"trailer that repeats the payload", pcapOf(frameOf(trailer(infoRequest))), 46 + len(infoRequest), "frame 1 a2s info_request frame.padding"},
		{"hop by hop", pcapOf(frameOf(ipv6Of(0, hop))), 54, "frame 1 a2s info_request ipv6_options.next_header"},
		{"hop by hop", pcapOf(frameOf(ipv6Of(0, hop))), 62, "frame 1 a2s info_request udp.source_port"},
		{"a chain", pcapOf(frameOf(ipv6Of(60, chain))), 55, "frame 1 a2s info_request ipv6_options.length"},
		{"a chain", pcapOf(frameOf(ipv6Of(60, chain))), 14 + 40 + 17, "frame 1 a2s info_request ipv6_routing.length"},
		{"a chain", pcapOf(frameOf(ipv6Of(60, chain))), 14 + 40 + 24 + 3, "frame 1 a2s info_request ipv6_authentication.data"},
		{"a chain", pcapOf(frameOf(ipv6Of(60, chain))), 14 + 40 + 36 + 4, "frame 1 a2s info_request udp.length"},
		{"the first fragment is lost", pcapOf(frameOf(ipv4Of(17, 3, rcon[24:]))), 35, "frame 1 ipv4.data, hidden"},
		{"the last fragment is lost", pcapOf(frameOf(ipv4Of(17, 0x2000, rcon[:24]))), 45, "frame 1 udp.data, hidden"},
		{"the last fragment is lost", pcapOf(frameOf(ipv4Of(17, 0x2000, rcon[:24]))), 20, "frame 1 ipv4.fragment"},
		{"fragments", pcapOf(frameOf(ipv4Of(17, 0x2000, info[:16])), frameOf(ipv4Of(17, 2, info[16:]))), 46, "frame 1 a2s info_request a2s.type"},
		{"nothing is known of it", pcapOf(frameOf(ipv4Of(6, 0, rcon))), 35, "frame 1 ipv4.data, hidden"},
		{"ARP", pcapOf(append(frameOf(ipv4Of(17, 0, info))[:12], "\x08\x06\x00\x01\x08\x00\x06\x04\x00\x01"...)), 16, "frame 1 arp.data"},
		{"a tunnel", pcapOf(frameOf(ipv4Of(47, 0, append([]byte("\x00\x00\x08\x00"), ipv4Of(17, 0, info)...)))), 66, "frame 1 a2s info_request a2s.header"},
		{"a tunnel", pcapOf(frameOf(ipv4Of(47, 0, append([]byte("\x00\x00\x08\x00"), ipv4Of(17, 0, info)...)))), 46, "frame 1 a2s info_request ipv4.data"},
	} {
		p := placeIn(surveyAll(t, c.data), frame+c.at)
		got := string(p.message.AppendName(nil)) + " " + p.field
		if p.hidden {
			got += ", hidden"
		}
		if got != c.want {
			t.Errorf("%s: byte %d is %s, want %s", c.name, c.at, got, c.want)
		}
	}
}

// blockOf makes a block of pcapng.
func blockOf(typ uint32, content []byte) []byte {
	n := uint32(len(content)+15) &^ 3
	b := binary.LittleEndian.AppendUint32(nil, typ)
	b = append(binary.LittleEndian.AppendUint32(b, n), content...)
	b = append(b, make([]byte, int(n)-len(content)-12)...)
	return binary.LittleEndian.AppendUint32(b, n)
}

// packetOf makes a block of a frame.
func packetOf(frame []byte) []byte { return packetAt(0, frame) }

// packetAt makes a block of a frame that came a number of milliseconds later.
func packetAt(ms int, frame []byte) []byte {
	var b []byte
	for _, v := range [...]int{0, 0x50000, 0x12345678 + 1000*ms, len(frame), len(frame)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return blockOf(6, append(b, frame...))
}

// sectionOf begins a pcapng file.
func sectionOf() []byte {
	return append(blockOf(sectionHeader, []byte("\x4d\x3c\x2b\x1a\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff")), blockOf(1, []byte("\x01\x00\x00\x00\x00\x00\x01\x00"))...)
}

// TestCheckLongBlock: a byte of a block that is longer than anything that is kept
// of it has a name and is shown, and what stands in it is not taken for blocks.
func TestCheckLongBlock(t *testing.T) {
	frame := frameOf(ipv4Of(17, 0, udpOf(infoRequest)))
	for _, size := range []int{1 << 10, 3 << 20, 5<<20 - 8} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(i * 7)
		}
		// A section of the other byte order, which is none.
		copy(content[len(content)-256:], "\x0a\x0d\x0d\x0a\x00\x00\x00\x1c\x1a\x2b\x3c\x4d\x00\x01\x00\x00")
		for _, typ := range []uint32{0xbad, 10} {
			head := slices.Concat(sectionOf(), packetOf(frame))
			data := slices.Concat(head, blockOf(typ, content), packetAt(3000, frame), blockOf(5, make([]byte, 12)), packetAt(6000, frame)) // too far apart for copies
			d := newDesk(t, "x.pcapng", data)
			second := len(data) - 2*len(packetOf(frame)) - 24
			number := 2
			if typ == 0xbad {
				number = 3 // a custom block has a number of its own, as in Wireshark
			}
			what, values := "block", func(at int) string { return fmt.Sprintf("0x%02x → 0x%02x", data[at], data[at]^1) }
			shown := values
			if typ == 10 {
				what, shown = "secrets", func(int) string { return "*** → another ***" }
			}
			for at, want := range map[int]string{
				len(head):                          "capture\n  pcapng." + what + ".type (offset %d of the capture): " + values(len(head)),
				len(head) + 100:                    "capture\n  pcapng." + what + ".data (offset %d of the capture): " + shown(len(head)+100),
				len(head) + size/2:                 "capture\n  pcapng." + what + ".data (offset %d of the capture): " + shown(len(head)+size/2),
				len(head) + 8 + size - 9:           "capture\n  pcapng." + what + ".data (offset %d of the capture): " + shown(len(head)+8+size-9),
				len(head) + 9 + size:               "capture\n  pcapng." + what + ".block_length (offset %d of the capture): " + values(len(head)+9+size),
				second + 8:                         fmt.Sprint("frame ", number) + " a2s info_request  192.0.2.1:40000 > 192.0.2.2:27015\n  pcapng.packet.interface (offset %d of the capture): 0x00 → 0x01",
				second + 28 + 22:                   fmt.Sprint("frame ", number) + " a2s info_request  192.0.2.1:40000 > 192.0.2.2:27015\n  ipv4.ttl (offset %d of the capture): 0x40 → 0x41",
				second + len(packetOf(frame)) + 16: "capture\n  pcapng.statistics.time (offset %d of the capture): 0x00 → 0x01",
				len(data) - 4:                      fmt.Sprint("frame ", number+1) + " a2s info_request  192.0.2.1:40000 > 192.0.2.2:27015\n  pcapng.packet.block_length (offset %d of the capture): " + values(len(data)-4),
			} {
				other := bytes.Clone(data)
				other[at] ^= 1
				d.put(other)
				if text, _ := d.check(Rules{}, 0); !strings.HasPrefix(text, fmt.Sprintf(want, at)+"\n") {
					t.Errorf("%d bytes of type %d: byte %d:\n%swant\n%s", size, typ, at, text, fmt.Sprintf(want, at))
				}
			}
		}
	}
}

// TestCheckByte: a byte is named where no value shows it, whatever values change
// with it, and where a value shows it that value names it alone.
func TestCheckByte(t *testing.T) {
	ng := slices.Concat(sectionOf(), packetOf(frameOf(ipv4Of(17, 0, udpOf(infoRequest)))), packetOf(frameOf(ipv4Of(17, 0, udpOf("\x00\x01\x02\x03")))))
	for _, c := range []struct {
		name string
		data []byte
		at   int
		mask byte
		want string // what the byte is called; "" if a value shows it
		also string
	}{
		{"header length", sample(t, "a2s/source.pcap"), 54, 0x01, "frame 1 ipv4.version_and_header_length", "missing: frame 1"},
		{"length", sample(t, "a2s/source.pcap"), 57, 0x01, "frame 1 ipv4.length", "  length: 25 → 24"},
		{"length of a reply", sample(t, "a2s/source.pcap"), 303, 0x01, "frame 4 ipv4.length", "  fields."},
		{"length of UDP", sample(t, "a2s/source.pcap"), 325, 0x01, "frame 4 udp.length", "  fields."},
		{"captured length", sample(t, "a2s/source.pcap"), 32, 0x01, "frame 1 pcap.captured_length", "damaged: absent → "},
		{"end of a block", ng, len(ng) - 4, 0x01, "frame 2 pcapng.packet.block_length", "damaged: absent → "},
		{"type", sample(t, "a2s/source.pcap"), 86, 0x01, "frame 1 a2s.type", "  message: "},
		{"time", sample(t, "a2s/source.pcap"), 24, 0x01, "", "  time: "},
		{"time of pcapng", ng, 28 + 20 + 17, 0x01, "", "  time: "},
		{"source", sample(t, "a2s/source.pcap"), 24 + 16 + 14 + 15, 0x01, "", "  src: "},
		{"destination", sample(t, "a2s/source.pcap"), 24 + 16 + 14 + 19, 0x01, "", "  dst: "},
		{"source port", sample(t, "a2s/source.pcap"), 24 + 16 + 34 + 1, 0x02, "", "  src: "},
		{"link type", sample(t, "a2s/source.pcap"), 20, 0x80, "", "  link_type: "},
		{"data", ng, len(ng) - 4 - 14 - 4, 0x01, "", "  data: "},
		{"a field", sample(t, "a2s/source.pcap"), 380, 0x01, "", "  fields."},
		// A part of a split, and a fragment: the message has another frame.
		{"a part", sample(t, "a2s/a2s-goldsrc-split.pcap"), 1000, 0x01, "", "  fields."},
		{"a fragment", sample(t, "a2s/fragments.pcap"), 272, 0x01, "", "  fields."},
	} {
		d := newDesk(t, "x.pcap", c.data)
		other := bytes.Clone(c.data)
		other[c.at] ^= c.mask
		d.put(other)
		text, _ := d.check(Rules{}, 1000)
		frame, field, _ := strings.Cut(c.want, " ")
		number, field, _ := strings.Cut(field, " ")
		offset := fmt.Sprintf("(offset %d of the capture)", c.at)
		named := c.want != "" && strings.HasPrefix(text, frame+" "+number) && strings.Contains(text, "\n  "+field+" "+offset+": ")
		if strings.Contains(text, offset) != (c.want != "") || named != (c.want != "") || !strings.Contains(text, c.also) {
			t.Errorf("%s, byte %d, want %q and %q:\n%s", c.name, c.at, c.want, c.also, text)
		}
	}
}

// TestCheckSeveral: of several bytes it is said that there are, whatever values
// they change.
func TestCheckSeveral(t *testing.T) {
	data := sample(t, "a2s/source.pcap")
	d := newDesk(t, "x.pcap", data)
	data[62]++
	d.put(bytes.Replace(data, []byte("ctf_2fort"), []byte("ctf_3fort"), 1))
	text, r := d.check(Rules{}, 0)
	if !regexp.MustCompile(`^frame 4 .*\n(  .*\n){3}capture\n  crc64 \(more than one byte is another\): "1fcf4377f3e35023" → "[0-9a-f]{16}"\n$`).MatchString(text) || r.Count != 4 {
		t.Errorf("%s", text)
	}
	// A limit is one.
	if text, r := d.check(Rules{}, 1); strings.Count(text, "\n") != 3 || !strings.HasPrefix(text, "frame 4 ") || !strings.HasSuffix(text, "\n… 3 more differences\n") || r.Count != 4 {
		t.Errorf("%s", text)
	}
	data[57]-- // one, with consequences
	data[62]--
	d.put(data)
	if text, r := d.check(Rules{}, 1); strings.Count(text, "\n") != 3 || !strings.HasPrefix(text, "frame 1 a2s info_request  192.0.2.20:51000 > 198.51.100.10:27015\n  ipv4.length ") || !strings.HasSuffix(text, " more differences\n") || r.Count < 3 {
		t.Errorf("%s", text)
	}
	data[57]++
	data[62]++
	d.put(data)
	if text, r := d.check(Rules{}, 1); strings.Count(text, "\n") != 2 || r.Count != 1 {
		t.Errorf("%s", text)
	}
}

// TestCheckIgnoring: where something may differ, one byte is still found if it is
// alone, because no capture that was taken again is like that; unless it is of a
// value that may differ.
func TestCheckIgnoring(t *testing.T) {
	data := sample(t, "a2s/source.pcap")
	player := bytes.Index(sample(t, "a2s/fragments.pcap"), []byte("\xff\xff\xff\xffD")) + 30
	for _, c := range []struct {
		name  string
		file  string
		flips []int
		rules Rules
		want  string // that is said, "" for nothing
	}{
		{"a header", "a2s/source.pcap", []int{62}, ignoring(t, "rtt_ns"), "ipv4.ttl (offset 62 "},
		{"a header, times are relative", "a2s/source.pcap", []int{62}, Rules{Relative: true}, "ipv4.ttl (offset 62 "},
		{"a password", "quake3/openarena-console.pcap", []int{4531}, ignoring(t, "rtt_ns"), "quake3.rcon.password (offset 4531 of the capture): *** → another ***"},
		{"a password that may differ", "quake3/openarena-console.pcap", []int{4531}, ignoring(t, "fields.password"), ""},
		{"two headers", "a2s/source.pcap", []int{62, 64}, ignoring(t, "rtt_ns"), ""},
		{"two headers, times are relative", "a2s/source.pcap", []int{62, 64}, Rules{Relative: true}, ""},
		{"a time", "a2s/source.pcap", []int{24}, ignoring(t, "*time", "rtt_ns"), ""},
		{"a time of a capture that was moved", "a2s/source.pcap", []int{24}, Rules{Ignore: ignoring(t, "*time", "rtt_ns").Ignore, Relative: true}, ""},
		{"an address", "a2s/source.pcap", []int{69}, ignoring(t, "rtt_ns"), "src: "},
		{"an address that may differ", "", []int{24 + 16 + 14 + 15}, ignoring(t, "src"), ""},
		{"a value", "a2s/fragments.pcap", []int{player}, ignoring(t, "fields.players", "findings"), ""},
		{"a value of a list", "a2s/fragments.pcap", []int{272}, ignoring(t, "fields.players[*].index", "findings"), ""},
		{"a value, another may differ", "a2s/fragments.pcap", []int{272}, ignoring(t, "fields.players[*].score"), "  fields.players[3].index"},
		{"the sum", "a2s/source.pcap", []int{62}, ignoring(t, "crc64"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := pcapOf(frameOf(ipv4Of(17, 0, udpOf("\x00\x01\x02"))))
			if c.file != "" {
				data = sample(t, c.file)
			}
			d := newDesk(t, "x.pcap", data)
			for _, at := range c.flips {
				data[at] ^= 1
			}
			d.put(data)
			text, _ := d.check(c.rules, 0)
			if c.want == "" && text != "" || !strings.Contains(text, c.want) {
				t.Errorf("%swant %q", text, c.want)
			}
		})
	}
	// A capture that was taken again.
	d := newDesk(t, "x.pcap", data)
	for at := 24; at < len(data); at += 16 + int(binary.LittleEndian.Uint32(data[at+8:])) {
		data[at+1] ^= 1
	}
	d.put(data)
	if text, _ := d.check(ignoring(t, "*time", "rtt_ns"), 0); text != "" {
		t.Errorf("taken again: %s", text)
	}
}

// TestLine: annotations stand at the line of the golden that says what differs.
func TestLine(t *testing.T) {
	data := sample(t, "a2s/source.pcap")
	d := newDesk(t, "x.pcap", data)
	lines := strings.Split(strings.TrimSuffix(d.golden(), "\n"), "\n")
	for _, c := range []struct {
		flips []int
		line  string
	}{
		{[]int{62}, `{"type":"message","frame":1,`}, // the byte of a frame
		{[]int{20 + 2}, `{"type":"summary",`},       // of the capture
		{[]int{62, 64}, `{"type":"summary",`},       // several
		{[]int{62, bytes.Index(data, []byte("ctf_2fort"))}, `{"type":"message","frame":4,`},
	} {
		other := bytes.Clone(data)
		for _, at := range c.flips {
			other[at] ^= 1
		}
		d.put(other)
		text, r := d.check(Rules{}, 0)
		var b bytes.Buffer
		w, err := NewFormat("github", &b, FormatOptions{Command: "x"})
		if err != nil {
			t.Fatal(err)
		}
		w.Case(&Case{Name: "x", File: "y", Result: r})
		var line int
		fmt.Sscanf(b.String(), "::error file=y,line=%d,", &line)
		if line < 1 || !strings.HasPrefix(lines[line-1], c.line) {
			t.Errorf("line %d, want that of %s:\n%s", line, c.line, text)
		}
	}
}

// TestCaptures: a file with a golden is a capture, whatever its name.
func TestCaptures(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.pcap", "a", "a.golden.jsonl", "n.bin", "n.bin.golden.jsonl", "o.golden.jsonl", "z.pcap"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "o"), 0o777); err != nil {
		t.Fatal(err)
	}
	captures, orphans, err := Captures(dir, func(string, error) {})
	for _, list := range [][]string{captures, orphans} {
		for i := range list {
			list[i] = filepath.Base(list[i])
		}
	}
	if err != nil || !slices.Equal(captures, []string{"a.pcap", "n.bin", "z.pcap"}) || !slices.Equal(orphans, []string{"o.golden.jsonl"}) {
		t.Error(captures, orphans, err)
	}
}

// vlanOf puts a VLAN tag into every frame of a pcap file.
func vlanOf(data []byte) []byte {
	b := bytes.Clone(data[:24])
	for r := data[24:]; len(r) > 0; {
		n := int(binary.LittleEndian.Uint32(r[8:]))
		head := bytes.Clone(r[:16])
		binary.LittleEndian.PutUint32(head[8:], uint32(n+4))
		binary.LittleEndian.PutUint32(head[12:], uint32(n+4))
		b = slices.Concat(b, head, r[16:28], []byte("\x81\x00\x00\x05"), r[28:16+n])
		r = r[16+n:]
	}
	return b
}

// TestDiffPacketFindings: what is said of packets makes no difference between
// conversations, whether a message has other findings or none.
func TestDiffPacketFindings(t *testing.T) {
	for _, name := range []string{"a2s/source.pcap", "a2s/a2s-goldsrc-split.pcap", "quake3/openarena-connect.pcap"} {
		data := sample(t, name)
		dir := t.TempDir()
		plain, tagged := filepath.Join(dir, "a.pcap"), filepath.Join(dir, "b.pcap")
		for path, data := range map[string][]byte{plain: data, tagged: vlanOf(data)} {
			if err := os.WriteFile(path, data, 0o666); err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if _, err := Write(&b, path); err != nil || strings.Contains(b.String(), "packet.vlan") != (path == tagged) {
				t.Fatalf("%s: %v", path, err)
			}
		}
		for _, sides := range [][2]string{{plain, tagged}, {tagged, plain}} {
			r, trouble, err := Diff(sides[0], sides[1], DiffOptions{})
			if err != nil || trouble != nil || !r.Equal() {
				t.Errorf("%s: %v, %v\n%s", name, trouble, err, r.AppendText(nil, ""))
			}
			if r, _, err = Diff(sides[0], sides[1], DiffOptions{Strict: true}); err != nil || r.Equal() {
				t.Errorf("%s, strictly: %v, %v", name, r, err)
			}
		}
	}
	// Other findings are told one by one.
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	const message = `{"type":"message","frame":1,"src":"a","dst":"b","protocol":"a2s","message":"info_reply","fields":{"map":"de_dust"}`
	const vlan, other = `{"id":"packet.vlan","severity":"note","text":"VLAN 5"}`, `{"id":"a2s.trailing","severity":"note","text":"said \"hello\""}`
	for _, c := range []struct{ a, b, want string }{
		{`}`, `,"findings":[]}`, ""},
		{`,"findings":[` + vlan + `]}`, `,"findings":[]}`, ""},
		{`}`, `,"findings":[` + vlan + `,` + vlan + `]}`, ""},
		{`,"findings":[` + other + `]}`, `,"findings":[` + vlan + `,` + other + `]}`, ""},
		{`}`, `,"findings":[` + vlan + `,` + other + `]}`, `  findings[0]: absent → {"id":"a2s.trailing","severity":"note","text":"said \"hello\""}`},
		{`,"findings":[` + other + `]}`, `}`, `  findings[0]: {"id":"a2s.trailing","severity":"note","text":"said \"hello\""} → absent`},
		{`}`, `,"findings":"none"}`, `  findings: absent → "none"`},
		{`}`, `,"findings":{}}`, `  findings: absent → {}`},
	} {
		for path, end := range map[string]string{a: c.a, b: c.b} {
			if err := os.WriteFile(path, []byte(message+end+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		r, _, err := Diff(a, b, DiffOptions{})
		want := ""
		if c.want != "" {
			want = "frame 1 a2s info_reply  a > b\n" + c.want + "\n"
		}
		if err != nil || string(r.AppendText(nil, "")) != want {
			t.Errorf("%v\n%swant\n%s", err, r.AppendText(nil, ""), want)
		}
		if r, _, err = Diff(a, b, DiffOptions{Rules: ignoring(t, "findings")}); err != nil || !r.Equal() {
			t.Errorf("ignored: %v, %s", err, r.AppendText(nil, ""))
		}
	}
}

// TestDigestFindings: conversations that differ in packet findings only are paired
// as equal ones are.
func TestDigestFindings(t *testing.T) {
	c := &comparer{rules: &Rules{}, talk: newTalk()}
	digest := func(end string) uint64 {
		raw := []byte(`{"type":"message","frame":1,"protocol":"a2s","message":"info_reply","fields":{"map":"de_dust"}` + end)
		if err := c.a.parse(raw, true); err != nil {
			t.Fatal(err)
		}
		return c.digest(&c.a, raw, 1).hash
	}
	none := digest(`}`)
	if digest(`,"findings":[{"id":"packet.vlan"}]}`) != none || digest(`,"findings":[]}`) != none {
		t.Error("packet findings count")
	}
	if digest(`,"findings":[{"id":"a2s.trailing"}]}`) == none {
		t.Error("other findings do not count")
	}
}
