package report_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/tables"
	"github.com/qdissect/qdissect/report"
)

// TestParquetWorkers checks that the files are the same for any number of workers.
func TestParquetWorkers(t *testing.T) {
	var first [3]bytes.Buffer
	for n, workers := range []int{1, 4} {
		var files [3]bytes.Buffer
		p := tables.NewParquet([...]io.Writer{&files[0], &files[1], &files[2]})
		_, err := pipeline.Run(pipeline.Options{
			Inputs: []string{"../testdata/pcaps/a2s/trouble.pcap"}, Out: p, Workers: workers,
			Reporter: func() report.Reporter { return tables.NewRows(false) },
			Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true},
			Trouble:  func(err error) { t.Error(err) },
		})
		must.Do(t, err)
		must.Do(t, p.Close())
		for i := range files {
			if n == 0 {
				first[i] = files[i]
			} else if !bytes.Equal(first[i].Bytes(), files[i].Bytes()) {
				t.Errorf("%s differs with %d workers", tables.Names[i], workers)
			}
		}
	}
}

// TestRowGroups checks that row groups end when they have many rows or many bytes, so that
// memory is bounded, that they do not depend on the size of writes, and that all values can
// be read: those of full pages, and of dictionaries that are full.
func TestRowGroups(t *testing.T) {
	list := []struct{ rows, size, groups int }{{400, 8000, 10}, {36_000, 1, 2}, {4000, 8000, 110}, {70_000, 1, 3}}
	for _, c := range must.Try(list[:2], list[2:]) {
		file := unknown(t, c.rows, c.size, 100_000)
		if !bytes.Equal(file, unknown(t, c.rows, c.size, 10_000)) {
			t.Errorf("%d rows of %d bytes: the file depends on the size of writes", c.rows, c.size)
		}
		f := must.Get(parquet.OpenFile(bytes.NewReader(file), int64(len(file))))(t)
		if got := len(f.RowGroups()); int(f.NumRows()) != c.rows || got <= c.groups || got > c.groups+2 {
			t.Errorf("%d rows of %d bytes: %d rows in %d row groups", c.rows, c.size, f.NumRows(), got)
		}
		type row struct {
			Frame int64  `parquet:"frame"`
			Time  int64  `parquet:"time"`
			SrcIP string `parquet:"src_ip"`
			Data  string `parquet:"data"`
		}
		rows := must.Get(parquet.Read[row](bytes.NewReader(file), int64(len(file))))(t)
		random, payload := rand.NewChaCha8([32]byte{}), make([]byte, c.size)
		for i, got := range rows {
			_, _ = random.Read(payload)
			want := row{int64(i + 1), 1e9 + int64(i), source(i).Addr().String(), hex.EncodeToString(payload)}
			if got != want {
				t.Fatalf("row %d: %.100v, want %.100v", i, got, want)
			}
		}
	}
}

// source returns the i-th of many addresses.
func source(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 27015)
}

// unknown returns a file of messages, written in pieces of at least this size.
func unknown(t *testing.T, rows, size, piece int) []byte {
	var file bytes.Buffer
	p := tables.NewParquet([...]io.Writer{&file, io.Discard, io.Discard})
	r := tables.NewRows(true)
	u := &dissect.Unknown{Datagram: &dissect.Datagram{Dst: source(0), Payload: make([]byte, size)}}
	random := rand.NewChaCha8([32]byte{}) // cannot be compressed
	for i := range rows {
		u.Frame, u.Time, u.Src = uint64(i+1), time.Unix(1, int64(i)), source(i)
		_, _ = random.Read(u.Payload)
		must.Do(t, r.Unknown(u))
		if len(r.Bytes()) > piece || i == rows-1 {
			must.Get(p.Write(r.Bytes()))(t)
			r.Reset()
		}
	}
	must.Do(t, p.Close())
	return file.Bytes()
}

// FuzzParquet: whatever a payload has for names, all files can be read, and each message is a row.
func FuzzParquet(f *testing.F) {
	f.Add([]byte("\xff\xff\xff\xffI\x11\xc3(\u202e'\x1b\x00de_dust\x00cstrike\x00\xed\xa0\x80\x00\x0a\x00\x01\x10\x00dl\x00\x001\x00"))
	f.Add([]byte("\xff\xff\xff\xffE\x01\x00=1+1\x00\xff\xfe\x00"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		var in bytes.Buffer
		mkpcap.NewWriter(&in, mkpcap.Options{}).UDP(time.Unix(1, 0), source(0), source(1), payload)
		var files [3]bytes.Buffer
		p := tables.NewParquet([...]io.Writer{&files[0], &files[1], &files[2]})
		_, err := pipeline.Run(pipeline.Options{
			Inputs: []string{"-"}, Stdin: &in, Out: p, All: true, Reporter: func() report.Reporter { return tables.NewRows(false) },
			Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true}, Trouble: func(error) {},
		})
		must.Do(t, errors.Join(err, p.Close()))
		for i := range files {
			rows, err := parquet.Read[any](bytes.NewReader(files[i].Bytes()), int64(files[i].Len()))
			if err != nil || i == 0 && len(payload) <= 60_000 && len(rows) == 0 {
				t.Fatalf("%s: %d rows, %v", tables.Names[i], len(rows), err)
			}
		}
	})
}

// TestParquetBroken checks that a broken row is an error.
func TestParquetBroken(t *testing.T) {
	r, addr := tables.NewRows(false), netip.MustParseAddrPort("192.0.2.1:27015")
	u := &dissect.Unknown{Datagram: &dissect.Datagram{Frame: 1, Src: addr, Dst: addr, Payload: []byte("data")}}
	must.Do(t, r.Unknown(u))
	for n := 1; n < len(r.Bytes()); n++ {
		p := tables.NewParquet([...]io.Writer{io.Discard, io.Discard, io.Discard})
		if _, err := p.Write(r.Bytes()[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are taken for a row", n, len(r.Bytes()))
		}
	}
}
