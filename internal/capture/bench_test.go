package capture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"
)

// BenchmarkRead reads files of 360-byte frames, in the page cache, with this
// package and with gopacket's zero-copy readers.
func BenchmarkRead(b *testing.B) {
	const frames = 300_000
	record := string(make([]byte, 360))
	pcap := newPcapFile(binary.LittleEndian, magicMicro, 2, 4, 1)
	pcapng := (&pcapngFile{order: binary.LittleEndian}).section().iface(1, 0)
	for i := range uint32(frames) {
		pcap.record(1700000000, i, 360, 360, record)
		pcapng.enhanced(0, 1700000000_000000+uint64(i), 360, record)
	}
	for _, format := range []string{"pcap", "pcapng"} {
		file := pcap.b
		if format == "pcapng" {
			file = pcapng.b
		}
		name := filepath.Join(b.TempDir(), format)
		if err := os.WriteFile(name, file, 0o600); err != nil {
			b.Fatal(err)
		}
		for _, coding := range []string{"", "gzip", "zstd"} {
			title := "capture"
			packed := name
			if coding != "" {
				title = coding
				packed += "." + coding
				if err := os.WriteFile(packed, compress(b, coding, file), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			bench(b, format+"/"+title, frames, func() (int, error) {
				r, err := Open(packed)
				if err != nil {
					return 0, err
				}
				defer r.Close()
				var f Frame
				for {
					if err := r.Next(&f); err != nil {
						return int(f.Number), clean(err)
					}
				}
			})
		}
		bench(b, format+"/gopacket", frames, func() (n int, err error) {
			file, err := os.Open(name)
			if err != nil {
				return 0, err
			}
			defer file.Close()
			src := bufio.NewReaderSize(file, bufferSize)
			var next func() error
			if format == "pcapng" {
				r, err := pcapgo.NewNgReader(src, pcapgo.NgReaderOptions{WantMixedLinkType: true})
				if err != nil {
					return 0, err
				}
				next = func() error { _, _, _, err := r.ZeroCopyReadPacketDataWithOptions(); return err }
			} else {
				r, err := pcapgo.NewReader(src)
				if err != nil {
					return 0, err
				}
				next = func() error { _, _, err := r.ZeroCopyReadPacketData(); return err }
			}
			for ; ; n++ {
				if err := next(); err != nil {
					return n, clean(err)
				}
			}
		})
	}
}

func clean(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

func bench(b *testing.B, name string, frames int, read func() (int, error)) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if n, err := read(); n != frames || err != nil {
				b.Fatalf("%d frames, %v", n, err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(frames), "ns/frame")
	})
}

// BenchmarkOpen opens and reads a small file.
func BenchmarkOpen(b *testing.B) {
	file := newPcapFile(binary.LittleEndian, magicMicro, 2, 4, 1).record(0, 0, 1, 1, "a").b
	b.ReportAllocs()
	for b.Loop() {
		r, err := NewReader(bytes.NewReader(file), "x")
		if err != nil {
			b.Fatal(err)
		}
		var f Frame
		for r.Next(&f) == nil {
		}
	}
}
