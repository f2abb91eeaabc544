package pipeline

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
)

// TestTunnelFragments: an incomplete outer packet of a tunnel is reported like any other.
// Large replies in GRE need fragments.
func TestTunnelFragments(t *testing.T) {
	near, far := netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("203.0.113.2")
	var file bytes.Buffer
	w := mkpcap.NewWriter(&file, mkpcap.Options{Link: mkpcap.Raw})
	const gre = 47
	w.Frame(time.Unix(1, 0), mkpcap.IP(near, far, 1, gre, 0, true, true, make([]byte, 1480)))
	must.Do(t, w.Err())
	got := output(t, file.Bytes(), 1, jsonLines)
	for _, want := range []string{`"src_ip":"203.0.113.1","dst_ip":"203.0.113.2","findings":[{"id":"ip.frag.missing"`, `"incomplete":1}`} {
		if !strings.Contains(got, want) {
			t.Errorf("the output lacks %s:\n%s", want, got)
		}
	}
}
