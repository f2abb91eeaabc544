package stats_test

import (
	"bytes"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/endpoint"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tools/scenes"
)

// TestNoAllocations: once its tables are full, an aggregate allocates nothing, whatever comes.
func TestNoAllocations(t *testing.T) {
	p := all.Protocols()[0]
	var ask, tell *dissect.MessageType
	for _, m := range p.Catalog.Messages() {
		switch m.Name {
		case "info_request":
			ask = m
		case "info_reply":
			tell = m
		}
	}
	a := stats.New()
	server := netip.MustParseAddrPort("198.51.100.10:27015")
	payload := []byte("\xff\xff\xff\xffTSource Engine Query\x00")
	sources := []dissect.Source{{Data: payload}}
	var r dissect.Record
	var x dissect.Exchange
	var f dissect.FlowFinding
	n := uint32(0)
	exchange := func() {
		n++
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 27005) // another one each time
		if n%4 == 0 {
			client = netip.MustParseAddrPort("192.0.2.20:27005")
		}
		at := time.Unix(1_800_000_000, 0).Add(time.Duration(n) * 50 * time.Millisecond)
		r = dissect.Record{Protocol: p, Frame: uint64(n), Time: at, Src: client, Dst: server, WireLength: len(payload)}
		r.Type, r.Pair.Asks, r.Sources = ask, 1, sources
		a.Record(&r)
		r = dissect.Record{Protocol: p, Frame: uint64(n), Time: at.Add(time.Millisecond), Src: server, Dst: client, WireLength: 100, TimeKnown: true, RTT: time.Millisecond}
		r.Type = tell
		r.Server.Name = dissect.Some("A name that is as long as names of servers are")
		a.Record(&r)
		x = dissect.Exchange{Protocol: p, Type: ask, Time: at, Src: client, Dst: server, Replies: 1, ReplyBytes: 100}
		a.Exchange(&x)
		f = dissect.FlowFinding{Finding: dissect.NewFinding(p.Pairing.Unanswered), Frame: uint64(n), Time: at, Src: client, Dst: server}
		a.Finding(&f)
		foreign(a, at, client, server, 100)
		foreign(a, at, server, client, 100)
		anywhere := netip.AddrPortFrom(client.Addr(), uint16(n))
		foreign(a, at, server, anywhere, 100)
		foreign(a, at, client, anywhere, 100)
	}
	for range 20_000 {
		exchange()
	}
	if got := testing.AllocsPerRun(2000, exchange); got != 0 {
		t.Errorf("%v allocations per exchange", got)
	}
}

// TestRules gives the rules to nft, which checks them.
func TestRules(t *testing.T) {
	nft, err := exec.LookPath("nft")
	if err != nil {
		t.Skip("nft is not installed")
	}
	check := func(rules string) ([]byte, error) {
		cmd := exec.Command("unshare", "-n", nft, "-c", "-f", "-")
		cmd.Stdin = bytes.NewReader([]byte(rules))
		return cmd.CombinedOutput()
	}
	if out, err := check("table inet t { }\n"); err != nil {
		t.Skipf("nft cannot be used here: %v %s", err, out)
	}
	checked := 0
	for _, name := range []string{"forged-challenged", "reflection", "greedy"} {
		s := must.Get(scenes.Find(name))(t)
		var b bytes.Buffer
		must.Get(s.Write(&b, scenes.Options{Span: 30 * time.Second, Clients: 300}))(t)
		for _, r := range reported(t, b.Bytes(), 1, stats.Options{}).Rules {
			if r.Format != "nftables" {
				continue
			}
			checked++
			if out, err := check(r.Text); err != nil {
				t.Errorf("%s: %v\n%s\n%s", name, err, out, r.Text)
			}
		}
	}
	if checked < 3 {
		t.Errorf("%d rules", checked)
	}
}

// TestOldCounts reads counts of the version before this one, which are refused with the reason.
func TestOldCounts(t *testing.T) {
	b := stats.NewShards().AppendBinary(nil)
	must.Get(stats.UnmarshalBinary(b, all.Protocols(), nil))(t)
	b[0]--
	if _, err := stats.UnmarshalBinary(b, all.Protocols(), nil); err == nil || !strings.Contains(err.Error(), "counts of version 8, of which this program reads only 9: make them again") {
		t.Error(err)
	}
}

// foreign counts a datagram with n bytes of payload that no protocol recognises.
func foreign(a *stats.Aggregate, at time.Time, src, dst netip.AddrPort, n int) {
	from, to := endpoint.Of(src), endpoint.Of(dst)
	a.Foreign(at.UnixNano(), &from, &to, n, 1, false)
}
