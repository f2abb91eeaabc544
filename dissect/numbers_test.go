package dissect

import (
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/reassembly"
)

// TestLimits: the numbers of docs/limits.md, said once more.
func TestLimits(t *testing.T) {
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
	if maxBetween != 512 {
		t.Errorf("fragments without ports may answer one of %d requests", maxBetween)
	}
	if n := (Limits{Peers: 32768}).servers(); n != 8192 {
		t.Errorf("%d servers of which is remembered whether they answer", n)
	}
	if maxHeld != 256 || maxPerFlow != 32 || nettext.MaxSummary != 1000 || nettext.MaxFinding != 300 {
		t.Errorf("%d datagrams wait until their protocol is clear, %d requests in a conversation; %d and %d bytes of text", maxHeld, maxPerFlow, nettext.MaxSummary, nettext.MaxFinding)
	}
}
