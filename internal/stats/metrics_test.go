package stats

import (
	"bytes"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// TestMetrics: the busiest servers have numbers, always in the same order, and no other host has.
func TestMetrics(t *testing.T) {
	p := &dissect.Protocol{Name: "p"}
	request := &dissect.MessageType{Name: "request", Role: dissect.Request}
	reply := &dissect.MessageType{Name: "reply", Role: dissect.Reply}
	a := New()
	client := netip.MustParseAddrPort("192.0.2.1:4000")
	for i := range 100 {
		server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), 27015)
		for range 1 + i {
			a.Record(&dissect.Record{Protocol: p, Src: client, Dst: server, Message: dissect.Message{Type: request, Pair: dissect.Pair{Asks: 1}}})
		}
		if i%2 == 0 { // the others do not reply
			a.Record(&dissect.Record{Protocol: p, Src: server, Dst: client, Message: dissect.Message{Type: reply, Server: dissect.Server{Name: dissect.Some(`x"} 1` + "\n")}}})
		}
	}
	const most = 5
	text := a.AppendMetrics(nil, nil, most)
	series := regexp.MustCompile(`(?m)^qdissect_server_([a-z_]+)\{server="([0-9.:]+)",protocol="p"\} [0-9.]+$`).FindAllStringSubmatch(string(text), -1)
	if len(series) != most*len(serverMetrics) || bytes.Count(text, []byte("\n")) != (most+2)*len(serverMetrics) {
		t.Fatalf("%d series:\n%s", len(series), text)
	}
	for i, s := range series {
		if want := fmt.Sprintf("198.51.100.%d:27015", 90+2*(i%most)); s[2] != want {
			t.Errorf("%s of %s, want %s", s[1], s[2], want)
		}
	}
	for _, want := range []string{
		`qdissect_server_requests_total{server="198.51.100.98:27015",protocol="p"} 99` + "\n", `qdissect_server_replies_total{server="198.51.100.98:27015",protocol="p"} 1` + "\n",
		`qdissect_server_clients{server="198.51.100.98:27015",protocol="p"} 1` + "\n", "# TYPE qdissect_server_refused_requests_total counter\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	home := []netip.Prefix{netip.MustParsePrefix("198.51.100.99/32")}
	if text := string(a.AppendMetrics(nil, home, most)); strings.Count(text, "198.51.100.99:27015") != len(serverMetrics) || strings.Contains(text, "198.51.100.98") {
		t.Errorf("of home:\n%s", text)
	}
	if text := New().AppendMetrics(nil, nil, most); len(text) > 0 {
		t.Errorf("nothing: %s", text)
	}
}

// TestVerdictMetrics: each kind and server has one time, the last one.
func TestVerdictMetrics(t *testing.T) {
	at := time.Unix(1700000000, 500e6)
	r := Report{Verdicts: []Verdict{
		{Kind: ServerDown, Server: "198.51.100.10:27015", To: at}, {Kind: ServerDown, Server: "198.51.100.10:27015", To: at.Add(-time.Hour)},
		{Kind: Reflection, To: at.Add(time.Second)}, {Kind: NothingUnusual, To: at}, {Kind: CannotTell, To: at},
	}}
	want := `# HELP qdissect_verdict_timestamp_seconds When a verdict held last, in seconds since 1970.
# TYPE qdissect_verdict_timestamp_seconds gauge
qdissect_verdict_timestamp_seconds{kind="reflection",server=""} 1700000001.5
qdissect_verdict_timestamp_seconds{kind="server_down",server="198.51.100.10:27015"} 1700000000.5
`
	if got := string(r.AppendMetrics(nil)); got != want {
		t.Errorf("got\n%s", got)
	}
}
