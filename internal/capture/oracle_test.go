package capture

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/qdissect/qdissect/internal/must"
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
	return Frame{Time: StampOf(info.Timestamp), LinkType: uint16(link), Data: data, Length: info.Length}
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
			file := must.Get(os.ReadFile(name))(t)
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
				n, id := uint32(len(data)), random.Uint32N(uint32(interfaces))
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

func FuzzPcap(f *testing.F)   { fuzz(f, "pcap ") }
func FuzzPcapng(f *testing.F) { fuzz(f, "pcapng ") }

// fuzz checks what a Reader promises of any file.
func fuzz(f *testing.F, format string) {
	for name, file := range samples() {
		if strings.HasPrefix(name, format) {
			f.Add(file)
			f.Add(file[:len(file)-3])
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if hasMagic(file, gzipMagic) || hasMagic(file, zstdMagic) || skippable(file) {
			return // the sizes are others
		}
		if len(file) > 4*bufferSize {
			return
		}
		before := allocatedBytes()
		frames, err := readAll(file)
		// A buffer; the frames that are kept here; what is kept of interfaces;
		// and whatever the fuzzer does meanwhile.
		if n, limit := allocatedBytes()-before, uint64(2*bufferSize+1<<20+64*len(file)); n > limit {
			t.Errorf("%d bytes were allocated for a file of %d, want %d at most", n, len(file), limit)
		}

		sum := 0
		for i, f := range frames {
			if f.Number != uint64(i+1) {
				t.Fatalf("frame %d after frame %d", f.Number, i)
			}
			if len(f.Data) > MaxFrame || f.Length < len(f.Data) || f.Interface < 0 {
				t.Fatalf("frame %d has %d of %d bytes, interface %d", f.Number, len(f.Data), f.Length, f.Interface)
			}
			sum += len(f.Data)
			for _, c := range f.Comments {
				sum += len(c)
			}
		}
		if sum > len(file) {
			t.Fatalf("%d bytes out of %d", sum, len(file))
		}
		if err != nil {
			e, ok := errors.AsType[*Error](err)
			if !ok || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%T: %v", err, err)
			}
			if e.Frame != 0 && e.Frame != uint64(len(frames))+1 || e.Frame == 0 && len(frames) > 0 || e.Offset < 0 || e.Offset > int64(len(file)) {
				t.Fatalf("after %d frames: %#v", len(frames), e)
			}
		}

		// However the bytes arrive, it is the same.
		if len(file) < 1<<12 {
			r, err2 := NewReader(iotest.OneByteReader(bytes.NewReader(file)), "x")
			var frames2 []Frame
			if err2 == nil {
				frames2, err2 = drain(r)
			}
			if !slices.Equal(lines(frames), lines(frames2)) || message(err) != message(err2) {
				t.Fatalf("%d frames, %v; byte by byte %d, %v", len(frames), err, len(frames2), err2)
			}
		}
		// A cut file has the first of the frames.
		if frames3, _ := readAll(file[:len(file)/2]); len(frames3) > len(frames) || !slices.Equal(lines(frames3), lines(frames[:len(frames3)])) {
			t.Fatalf("half of the file has %d frames, the whole %d", len(frames3), len(frames))
		}
	})
}

func message(err error) string {
	if err == nil {
		err = io.EOF
	}
	return err.Error()
}

// allocatedBytes is cheaper than runtime.ReadMemStats.
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
