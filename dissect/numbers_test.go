package dissect

import (
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/reassembly"
)

// TestLimits: the numbers of docs/limits.md, said once more: so much is taken,
// and not one more.
func TestLimits(t *testing.T) {
	var r Reader
	r.Reset([]byte("x"), 1, true)
	for range 259 {
		r.Open("inside", []byte("x"))
	}
	if r.Err() != nil || len(r.Sources()) != 260 {
		t.Errorf("%d sources: %v", len(r.Sources()), r.Err())
	}
	if r.Open("inside", []byte("x")); r.Err() == nil {
		t.Error("a source more is taken")
	}

	r.Reset([]byte("x"), 1, true)
	for range 8192 {
		r.End(r.Begin(leftover))
	}
	if r.Err() != nil {
		t.Errorf("8192 records: %v", r.Err())
	}
	if r.End(r.Begin(leftover)); r.Err() == nil {
		t.Error("a record more is taken")
	}

	r.Reset([]byte("x"), 1, true)
	for range 33 {
		r.Note(Trailing, Num(1))
	}
	if len(r.findings) != 32 || r.leftOut != 1 {
		t.Errorf("%d findings, %d left out", len(r.findings), r.leftOut)
	}

	if want := (Limits{
		Flows: 131072, Requests: 131072, Peers: 32768, Window: 5 * time.Second, Idle: 60 * time.Second, Parts: reassembly.Limits{Age: 10 * time.Second},
	}); DefaultLimits != want {
		t.Errorf("%+v", DefaultLimits)
	}
	if maxServers != 1024 || maxForeignFlows != 64 {
		t.Errorf("%d servers and %d flows are remembered", maxServers, maxForeignFlows)
	}
	if n := (Limits{Peers: 32768}).lists(); n != 4096 || pagesKept != 8 || socketsKept != 4 || oldPage != time.Hour {
		t.Errorf("%d clients of masters, %d pages of each over %d sockets, for %v", n, pagesKept, socketsKept, oldPage)
	}
	if n := (Limits{Peers: 32768}).servers(); n != 8192 {
		t.Errorf("%d servers of which is remembered whether they answer", n)
	}
	if maxHeld != 256 || maxPerFlow != 32 || nettext.MaxSummary != 1000 || nettext.MaxFinding != 300 {
		t.Errorf("%d datagrams wait until their protocol is clear, %d requests in a conversation; %d and %d bytes of text", maxHeld, maxPerFlow, nettext.MaxSummary, nettext.MaxFinding)
	}
}
