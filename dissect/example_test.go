package dissect_test

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/dissect/all"
)

// printer prints what an analyzer finds. Records are borrowed: what is to be
// kept must be copied.
type printer struct{}

func (printer) Record(r *dissect.Record) {
	fmt.Printf("%s > %s %s", r.Src, r.Dst, r.AppendSummary(nil))
	if r.RequestFrame > 0 {
		fmt.Printf(", answers frame %d after %v", r.RequestFrame, r.RTT)
	}
	fmt.Println()
	if m, ok := r.Body.(*a2s.RulesReply); ok {
		fmt.Println("first rule:", m.Rules[0].Key, m.Rules[0].Value)
	}
}
func (printer) Unknown(u *dissect.Unknown)     { fmt.Println("unknown:", len(u.Payload), "bytes") }
func (printer) Finding(f *dissect.FlowFinding) { fmt.Printf("%s: %s\n", f.Type.ID, f.AppendText(nil)) }

// Datagrams in the order of their capture become messages; parts of split
// messages are joined, replies find their requests.
func ExampleAnalyzer() {
	a, err := dissect.New(dissect.Config{Protocols: all.Protocols()}, printer{})
	if err != nil {
		panic(err)
	}
	client, server := netip.MustParseAddrPort("192.0.2.1:51000"), netip.MustParseAddrPort("198.51.100.1:27015")
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, d := range []struct {
		src, dst netip.AddrPort
		payload  string
	}{
		{client, server, "\xff\xff\xff\xffV\x01\x02\x03\x04"},
		{server, client, "\xfe\xff\xff\xff\x07\x00\x00\x00\x02\x01\xe0\x04time\x0030\x00"},
		{server, client, "\xfe\xff\xff\xff\x07\x00\x00\x00\x02\x00\xe0\x04\xff\xff\xff\xffE\x01\x00mp_"},
		{client, server, "hello"},
	} {
		a.Datagram(&dissect.Datagram{
			Frame: uint64(i + 1), Time: start.Add(time.Duration(i) * time.Millisecond), Src: d.src, Dst: d.dst, Payload: []byte(d.payload),
		})
	}
	a.Flush()
	// Output:
	// 192.0.2.1:51000 > 198.51.100.1:27015 rules request  challenge 67305985
	// 198.51.100.1:27015 > 192.0.2.1:51000 rules reply  1 rule, answers frame 1 after 1ms
	// first rule: mp_time 30
	// unknown: 5 bytes
}
