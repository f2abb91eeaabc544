package stats

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/qdissect/qdissect/internal/endpoint"
)

// TestTop: keys that are counted often enough are in the table with their counts, and what was evicted was handed over.
func TestTop(t *testing.T) {
	const most, messages = 64, 200_000
	gone := uint64(0)
	table := top[uint64]{most: most}
	truth := map[key]uint64{}
	r := rand.New(rand.NewPCG(9, 10))
	for range messages {
		n := r.Uint32() // a flood of forged sources
		if r.IntN(4) == 0 {
			n = uint32(r.ExpFloat64() * 5) // and clients that come again
		}
		k := keyOf(netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), 0)
		truth[k]++
		e := table.find(k, k.hash())
		if e == nil {
			var evicts bool
			if e, evicts = table.place(k, k.hash()); evicts {
				gone += e.v
				e.v = 0
			}
		}
		e.count++
		e.v++
		if e.key != k {
			t.Fatal("the entry of another key")
		}
	}
	kept := uint64(0)
	for i := range table.entries {
		e := &table.entries[i]
		kept += e.v
		if n := truth[e.key]; n > e.count || n < e.count-e.err || e.v > n || e.v+e.err < n {
			t.Errorf("%v: %d messages, counted %d with an error of %d, held %d", e.addr(), n, e.count, e.err, e.v)
		}
		if table.find(e.key, e.sum) != e {
			t.Errorf("%v is not found", e.addr())
		}
	}
	if kept+gone != messages {
		t.Errorf("%d messages are kept and %d handed over, of %d", kept, gone, messages)
	}
	for k, n := range truth {
		if n > 2*messages/most && table.find(k, k.hash()) == nil {
			t.Errorf("%v with %d messages is not in the table", k.addr(), n)
		}
	}
}

// TestStrayKey: an endpoint and its numbers have the same key.
func TestStrayKey(t *testing.T) {
	for _, s := range []string{"0.0.0.0:0", "192.0.2.1:27015", "255.255.255.255:65535", "[::ffff:192.0.2.1]:27015", "[2001:db8::1]:27015"} {
		end := netip.MustParseAddrPort(s)
		e := endpoint.Of(end)
		if k := strayKey(&e); k != keyOf(end.Addr(), end.Port()) || k.addr() != end.Addr() {
			t.Errorf("%s: key %+v of %s", s, k, k.addr())
		}
	}
}
