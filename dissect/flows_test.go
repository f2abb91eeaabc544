package dissect

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/thorough"
)

// TestFlowTable plays random operations on the table and on a map.
func TestFlowTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	model := map[flowKey]int64{}
	var table *flowTable
	table = newFlowTable(300, func(i int32, _ bool) { delete(model, table.flows[i].key) })
	at := func(k flowKey) *ends { return &ends{key: k, hash: table.hasher.flow(&k)} }
	key := func(n int) (k flowKey) { k[3], k[20], k[35] = byte(n), byte(n>>8), byte(n*7); return k }
	for step := range thorough.Of(50_000, 200_000) {
		now := int64(step)
		k := key(rng.IntN(900))
		switch rng.IntN(10) {
		case 0:
			if i := table.find(at(k)); i >= 0 {
				table.remove(i, false)
			}
		case 1:
			table.expire(now, 2000)
			for k, last := range model {
				if now-last > 2000 {
					t.Fatalf("%v is older than it may be", k[:4])
				}
			}
		case 2:
			if i := table.find(at(k)); i >= 0 {
				table.touch(i, now)
				model[k] = now
				table.answer(i, 0)
			}
		default:
			i := table.find(at(k))
			if i == none {
				i = table.add(at(k), now)
			}
			table.touch(i, now)
			model[k] = now
		}
		if table.len() != len(model) || table.len() > 300 {
			t.Fatalf("step %d: %d flows, the model has %d", step, table.len(), len(model))
		}
		if step%1000 == 0 {
			for k := range model {
				if table.find(at(k)) < 0 {
					t.Fatalf("step %d: a flow cannot be found", step)
				}
			}
		}
	}
	table.flush()
	if table.len() != 0 || len(model) != 0 {
		t.Errorf("%d flows after the end", table.len())
	}
}

// TestRecent plays random operations on the table and on a map with a list.
func TestRecent(t *testing.T) {
	const limit = 100
	rng := rand.New(rand.NewPCG(5, 6))
	table := newRecent[[16]byte, int](limit, (*hasher).address)
	model := map[[16]byte]int{}
	var order [][16]byte
	for step := range 100000 {
		k := [16]byte{3: byte(rng.IntN(250))}
		if v := table.find(&k); v != nil {
			if want, ok := model[k]; !ok || *v != want {
				t.Fatalf("step %d: %d, the model has %d, %v", step, *v, want, ok)
			}
			*v = step
			model[k] = step
			continue
		}
		if _, ok := model[k]; ok {
			t.Fatalf("step %d: a key cannot be found", step)
		}
		if len(order) == limit {
			delete(model, order[0])
			order = order[1:]
		}
		*table.get(&k) = step
		model[k] = step
		order = append(order, k)
		if rng.IntN(5000) == 0 {
			table.clear()
			clear(model)
			order = nil
		}
	}
}

// BenchmarkIdleFlows measures what a conversation costs that says no more: its
// memory, the time to enter it, and how long the garbage collector is busy with
// all of them.
func BenchmarkIdleFlows(b *testing.B) {
	const n = 1_000_000
	key := func(i int) (k flowKey) { binary.BigEndian.PutUint32(k[12:], uint32(i)*2654435761); k[35] = 1; return k }
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := time.Now()
		t := newFlowTable(n, func(int32, bool) {})
		for i := range n {
			at := ends{key: key(i)}
			at.hash = t.hasher.flow(&at.key)
			t.add(&at, int64(i))
		}
		entered := time.Since(start)
		start = time.Now()
		runtime.GC()
		collected := time.Since(start)
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/flow")
		b.ReportMetric(float64(entered.Nanoseconds())/n, "ns/flow")
		b.ReportMetric(float64(collected.Microseconds())/1000, "ms-GC")
		runtime.KeepAlive(t)
	}
}

// TestPlaces: equal requests of many clients and servers stand in different
// places of the table of sightings.
func TestPlaces(t *testing.T) {
	const n = 128
	for name, pair := range map[string]func(i int) (client, server string){
		"ports of clients": func(i int) (string, string) {
			return fmt.Sprintf("192.0.2.%d:%d", 20+i%2, 40000+i), fmt.Sprintf("198.51.100.%d:27015", 10+i%4)
		},
		"many servers":           func(i int) (string, string) { return "203.0.113.77:80", fmt.Sprintf("198.51.100.%d:27960", 1+i) },
		"many servers above":     func(i int) (string, string) { return "1.2.3.4:80", fmt.Sprintf("198.51.100.%d:27960", 1+i) },
		"many servers, IPv6":     func(i int) (string, string) { return "[2001:db8::9]:80", fmt.Sprintf("[2001:db8::%x]:27960", 16+i) },
		"one server, many hosts": func(i int) (string, string) { return fmt.Sprintf("203.%d.113.77:27960", i), "198.51.100.10:27960" },
	} {
		taken := map[uint32]int{}
		for i := range n {
			c, s := pair(i)
			client, server := netip.MustParseAddrPort(c), netip.MustParseAddrPort(s)
			var e ends
			e.up = e.key.set(&client, &server)
			taken[e.place(0x12345678)]++
		}
		// By chance 81 of the 128 places are taken.
		if len(taken) < 70 {
			t.Errorf("%s: %d datagrams stand in %d places", name, n, len(taken))
		}
	}
}
