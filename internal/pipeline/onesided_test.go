package pipeline

import (
	"bytes"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/report"
)

// TestReadOnce checks that a file of one direction is read ahead only for a request.
func TestReadOnce(t *testing.T) {
	for payload, twice := range map[string]bool{
		"\xff\xff\xff\xffTSource Engine Query\x00":         true,
		"\xff\xff\xff\xff\x01 that no protocol recognises": false,
	} {
		var b bytes.Buffer
		w := mkpcap.NewWriter(&b, mkpcap.Options{})
		src, dst := netip.MustParseAddrPort("192.0.2.1:50000"), netip.MustParseAddrPort("198.51.100.1:27015")
		for i := range 20 {
			w.UDP(time.Unix(1700000000+int64(i), 0), src, dst, []byte(payload))
		}
		name := filepath.Join(t.TempDir(), "x.pcap")
		if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := newEngine(&Options{Reporter: func() report.Reporter { return report.NewCounts() }, Out: io.Discard, Analysis: dissect.Config{Protocols: all.Protocols()}})
		if err != nil {
			t.Fatal(err)
		}
		in, err := e.open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		var f capture.Frame
		for err = in.Next(&f); err == nil; err = in.Next(&f) {
			if err := e.frame(&f); err != nil {
				t.Fatal(err)
			}
		}
		if len(e.sides.pairs) == 0 || twice != (e.ahead == "") {
			t.Errorf("%q: %d pairs, read ahead: %t, want %t", payload, len(e.sides.pairs), e.ahead == "", twice)
		}
	}
}
