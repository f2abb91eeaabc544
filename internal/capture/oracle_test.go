package capture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// gopacket's own readers are the oracle: where they read a file, we read the
// same frames out of it.

// oracle reads a file with gopacket. Its numbers for interfaces begin anew in
// each section, and so Interface is left out of the comparison.
func oracle(file []byte) ([]Frame, error) {
	if hasMagic(file, pcapngMagic) {
		r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.NgReaderOptions{WantMixedLinkType: true})
		if err != nil {
			return nil, err
		}
		return oracleFrames(func() (f Frame, err error) {
			data, info, options, err := r.ReadPacketDataWithOptions()
			if err == nil {
				f = oracleFrame(data, info, info.AncillaryData[0].(layers.LinkType))
				f.Comments = options.Comments
			}
			return f, err
		})
	}
	r, err := pcapgo.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	return oracleFrames(func() (Frame, error) {
		data, info, err := r.ReadPacketData()
		return oracleFrame(data, info, r.LinkType()), err
	})
}

func oracleFrame(data []byte, info gopacket.CaptureInfo, link layers.LinkType) Frame {
	if !time.Unix(0, info.Timestamp.UnixNano()).Equal(info.Timestamp) {
		info.Timestamp = time.Time{} // as Frame says
	}
	return Frame{Time: info.Timestamp, LinkType: uint16(link), Data: data, Length: info.Length}
}

func oracleFrames(next func() (Frame, error)) (frames []Frame, err error) {
	for {
		f, err := next()
		if err == io.EOF {
			return frames, nil
		}
		if err != nil {
			return frames, err
		}
		f.Number = uint64(len(frames) + 1)
		frames = append(frames, f)
	}
}

// compare holds what is read here against what gopacket reads. Where gopacket
// ends with an error, so do we.
func compare(t *testing.T, file []byte) {
	t.Helper()
	want, wantErr := oracle(file)
	got, err := readAll(file)
	if (err == nil) != (wantErr == nil) {
		t.Errorf("%v, gopacket says %v", err, wantErr)
	}
	for i := range got {
		got[i].Interface = 0
		got[i].Number = uint64(i + 1) // gopacket does not count as Wireshark does
	}
	for i := range min(len(got), len(want)) {
		if got, want := line(got[i]), line(want[i]); got != want {
			t.Fatalf("%.200s, gopacket reads %.200s", got, want)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d frames, gopacket reads %d", len(got), len(want))
	}
}

// captures are the real captures, which stand beside the repository.
func captures(t testing.TB) []string {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "captures", "*.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the captures of real servers are not beside the project")
	}
	return files
}

func TestOracleCaptures(t *testing.T) {
	for _, name := range captures(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, file)
			compare(t, toPcapng(t, file))
			want, err := readAll(file)
			if err != nil || len(want) == 0 {
				t.Fatalf("%d frames, %v", len(want), err)
			}
			for _, coding := range codings {
				got, err := readAll(compress(t, coding, file))
				if err != nil || !slices.Equal(lines(got), lines(want)) {
					t.Errorf("%s: %d frames, want %d; or they differ; %v", coding, len(got), len(want), err)
				}
			}
		})
	}
}

// toPcapng lets gopacket write the frames of a pcap file as pcapng.
func toPcapng(t *testing.T, file []byte) []byte {
	t.Helper()
	r, err := pcapgo.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := pcapgo.NewNgWriter(&b, r.LinkType())
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		data, info, err := r.ReadPacketData()
		if err == io.EOF {
			break
		}
		var options pcapgo.NgPacketOptions
		if n%3 == 0 {
			options.Comments = []string{"the " + strconv.Itoa(n) + "th", ""}[:1+n%2]
		}
		if err := w.WritePacketWithOptions(info, data, options); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// gopacket carries a set of pcapng files made for tests (hadrielk's
// pcapng-test-generator), with all block types in both byte orders.
func TestOracleFiles(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/gopacket/gopacket").Output()
	if err != nil {
		t.Skipf("no source of gopacket: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "pcapgo", "tests", "*", "*.pcapng"))
	if err != nil || len(files) == 0 {
		t.Skipf("no test files in the source of gopacket: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name), func(t *testing.T) {
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, file)
		})
	}
}

// Random files of sound records.
func TestOracleRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		o := orders[random.IntN(2)].order
		if random.IntN(2) == 0 {
			f := newPcapFile(o, []uint32{magicMicro, magicNano}[random.IntN(2)], 2, 4, random.Uint32N(300))
			for range random.IntN(20) {
				data := randomData(random)
				n := uint32(len(data))
				f.record(random.Uint32(), random.Uint32N(1e6), n, n+random.Uint32N(2)*random.Uint32N(9000), data)
			}
			compare(t, f.b)
			continue
		}
		f := &pcapngFile{order: o}
		for range 1 + random.IntN(3) {
			f.section(f.option(1, randomData(random)), f.option(0, ""))
			f.order = orders[random.IntN(2)].order
			f.section()
			interfaces := 1 + random.IntN(3)
			for range interfaces {
				// Not the binary resolutions, which gopacket gets wrong.
				f.iface(uint16(random.Uint32N(300)), random.Uint32N(2)*2000, f.option(2, "eth0"), f.option(9, string([]byte{byte(1 + random.IntN(18))})))
			}
			for range random.IntN(20) {
				data := randomData(random)
				n := uint32(len(data))
				id := random.Uint32N(uint32(interfaces))
				switch random.IntN(6) {
				case 0, 1:
					f.enhanced(id, random.Uint64N(1e18), n, data, f.option(1, randomData(random)), f.option(0, ""))
				case 2:
					f.enhanced(id, random.Uint64N(1e18), n+7, data)
				case 3:
					f.obsolete(uint16(id), random.Uint64N(1e18), n, data)
				case 4:
					f.simple(n, data)
				case 5:
					f.block(0x1000+random.Uint32N(9), []byte(data))
				}
			}
		}
		compare(t, f.b)
	}
}

func randomData(random *rand.Rand) string {
	b := make([]byte, random.IntN(2)*random.IntN(1500))
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return string(b)
}

// Wireshark's tools as makers of files, and as oracle for what gopacket does
// not read.
func TestWireshark(t *testing.T) {
	for _, tool := range []string{"mergecap", "tshark"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %s: %v: %s", name, args, err, stderr.String())
		}
		return string(out)
	}
	write := func(name string, file []byte) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, file, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	// What Wireshark shows of each frame.
	oracle := func(name string) []string {
		out := run("tshark", "-r", name, "-T", "fields", "-E", "separator=/s", "-t", "ud",
			"-e", "frame.number", "-e", "frame.time_epoch", "-e", "frame.interface_id", "-e", "frame.len", "-e", "frame.cap_len")
		return strings.Split(strings.TrimRight(out, "\n"), "\n")
	}
	show := func(frames []Frame) (lines []string) {
		for _, f := range frames {
			lines = append(lines, fmt.Sprintf("%d %d.%09d %d %d %d", f.Number, f.Time.Unix(), f.Time.Nanosecond(), f.Interface, f.Length, len(f.Data)))
		}
		return lines
	}
	compare := func(name string) []Frame {
		t.Helper()
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		frames, err := readAll(file)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := show(frames), oracle(name); !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, tshark says\n%q", filepath.Base(name), got, want)
		}
		return frames
	}

	// Blocks among the packets: those without a length of a frame are no packets.
	var numbers []string
	for _, l := range strings.Split(strings.TrimRight(run("tshark", "-r", write("numbered", numbered(binary.LittleEndian).b), "-T", "fields", "-E", "separator=/s",
		"-e", "frame.number", "-e", "frame.len"), "\n"), "\n") {
		if strings.HasSuffix(l, " 60") {
			numbers = append(numbers, strings.TrimSuffix(l, " 60"))
		}
	}
	between, err := readAll(numbered(binary.LittleEndian).b)
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, f := range between {
		ours = append(ours, fmt.Sprint(f.Number))
	}
	if !slices.Equal(ours, numbers) {
		t.Errorf("frames %v, tshark says %v", ours, numbers)
	}

	// Two pcap files merged: two interfaces with different link types.
	frame := strings.Repeat("x", 60)
	one := newPcapFile(binary.LittleEndian, magicMicro, 2, 4, 1).record(10, 5, 60, 60, frame).record(30, 5, 60, 99, frame)
	two := newPcapFile(binary.BigEndian, magicNano, 2, 4, 101).record(20, 123456789, 60, 60, frame)
	merged := filepath.Join(dir, "merged.pcapng")
	run("mergecap", "-w", merged, write("one", one.b), write("two", two.b))
	frames := compare(merged)
	var links []uint16
	for _, f := range frames {
		links = append(links, f.LinkType)
	}
	if want := []uint16{1, 101, 1}; !slices.Equal(links, want) {
		t.Errorf("link types %d, want %d", links, want)
	}

	// Resolutions of which gopacket gets the binary ones wrong; Wireshark 4.0
	// is wrong where a fraction times 10^9 goes beyond 64 bits.
	f := (&pcapngFile{order: binary.BigEndian}).section()
	for i, r := range []string{"\x03", "\x06", "\x09", "\x8a", "\x94", "\xa0"} {
		f.iface(1, 0, f.option(9, r), f.option(14, string(binary.BigEndian.AppendUint64(nil, uint64(i)))))
	}
	for i := range 6 {
		f.enhanced(uint32(i), 1234567890123, 60, frame)
	}
	compare(write("resolutions.pcapng", f.b))

	// A length that does not count padding.
	odd := (&pcapngFile{order: binary.LittleEndian}).section().iface(1, 0).enhanced(0, 1e6, 61, frame+"x")
	at := len(odd.b) - 32 - 64
	odd.PutUint32(odd.b[at+4:], 32+61)
	odd.PutUint32(odd.b[len(odd.b)-4:], 32+61)
	odd.enhanced(0, 2e6, 60, frame)
	compare(write("odd.pcapng", odd.b))
}
