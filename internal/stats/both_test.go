package stats_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/stats"
)

// TestBothAsk: two servers that ask each other from the ports at which they are asked, as masters and servers do, each
// have the outcomes of the requests to them.
func TestBothAsk(t *testing.T) {
	one, two := netip.MustParseAddrPort("192.0.2.1:27015"), netip.MustParseAddrPort("198.51.100.1:27015")
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{})
	at := time.Unix(1_800_000_000, 0)
	send := func(src, dst netip.AddrPort, payload string) {
		at = at.Add(10 * time.Millisecond)
		w.UDP(at, src, dst, []byte(payload))
	}
	const ask = "\xff\xff\xff\xffV\x01\x02\x03"
	for i := range byte(5) {
		send(one, two, ask+string([]byte{i}))
		send(two, one, "\xff\xff\xff\xffE\x01\x00mp_time\x0030\x00")
	}
	for i := range byte(3) {
		send(two, one, ask+string([]byte{0x80 + i})) // which it does not answer
	}
	at = at.Add(time.Minute) // they are unanswered then
	send(one, two, ask+"\xff")
	send(two, one, "\xff\xff\xff\xffE\x01\x00mp_time\x0030\x00")
	must.Do(t, w.Err())
	answered, unanswered := map[string]uint64{}, map[string]uint64{}
	for _, s := range reported(t, b.Bytes(), 1, stats.Options{}).Servers {
		answered[s.Address], unanswered[s.Address] = s.Outcome.Answered, s.Outcome.Unanswered
	}
	if answered[two.String()] != 6 || unanswered[two.String()] != 0 || answered[one.String()] != 0 || unanswered[one.String()] != 3 {
		t.Errorf("answered %v, unanswered %v", answered, unanswered)
	}
}

// TestNoRequests: a long capture without requests has a report, too.
func TestNoRequests(t *testing.T) {
	server, client := netip.MustParseAddrPort("198.51.100.1:27015"), netip.MustParseAddrPort("192.0.2.1:51000")
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{})
	for i := range 3 {
		w.UDP(time.Unix(1_800_000_000, 0).Add(time.Duration(i)*time.Hour), server, client, []byte("\xff\xff\xff\xffE\x01\x00mp_time\x0030\x00"))
	}
	must.Do(t, w.Err())
	line := reported(t, b.Bytes(), 1, stats.Options{}).Timeline
	replies := uint64(0)
	for _, n := range line.Replies {
		replies += n
	}
	if line.Peak != 0 || replies != 3 || line.Width <= time.Second {
		t.Errorf("peak %d, %d replies, width %v", line.Peak, replies, line.Width)
	}
}
