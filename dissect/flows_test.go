package dissect

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"
	"unsafe"

	"github.com/qdissect/qdissect/internal/must"
)

// TestFlowTable plays random operations on the table and on a map.
func TestFlowTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	model := map[flowKey]int64{}
	var table *flowTable
	table = newFlowTable(300, func(i int32, _ bool) { delete(model, table.flows[i].key) })
	at := func(k flowKey) *ends { return &ends{key: k, hash: table.hasher.flow(&k)} }
	key := func(n int) (k flowKey) { k[3], k[20], k[35] = byte(n), byte(n>>8), byte(n*7); return k }
	for step := range must.Try(50_000, 200_000) {
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

// TestHasher hashes the conversations of clients whose addresses or ports count up, as
// those of forged sources and of scanners do. They must be spread like random numbers.
func TestHasher(t *testing.T) {
	const n = 1 << 14
	server := netip.MustParseAddrPort("192.0.2.1:27015")
	for name, client := range map[string]func(i int) netip.AddrPort{
		"ports": func(i int) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, 7}), uint16(1024+i))
		},
		"addresses": func(i int) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 27005)
		},
		"networks": func(i int) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(i), byte(i >> 8), 1, 1}), 27005)
		},
		"IPv6": func(i int) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom16([16]byte{0x20, 1, 14: byte(i >> 8), 15: byte(i)}), 27005)
		},
	} {
		h := newHasher()
		kinds := map[string]func(netip.AddrPort) uint32{
			"flow": func(c netip.AddrPort) uint32 {
				var k flowKey
				k.set(&c, &server)
				return h.flow(&k)
			},
			"endpoint": h.endpoint,
			"server": func(c netip.AddrPort) uint32 {
				return h.server(serverKey{c.Addr().As16(), [2]byte{byte(c.Port() >> 8), byte(c.Port())}})
			},
		}
		if name != "ports" {
			kinds["peer"] = func(c netip.AddrPort) uint32 {
				var k flowKey
				return h.peer(k.peer(k.set(&c, &server), 1))
			}
			kinds["address"] = func(c netip.AddrPort) uint32 { return h.address(c.Addr().As16()) }
		}
		for kind, hash := range kinds {
			var slots [n]uint8
			empty := n
			for i := range n {
				s := &slots[hash(client(i))%n]
				if *s == 0 {
					empty--
				}
				*s++
			}
			// Of random numbers, 1/e of the slots stay empty: 36.8 %, with a
			// standard deviation of 0.3.
			if part := float64(empty) / n; part > 0.39 {
				t.Errorf("%s, %s: %.1f %% of the slots are empty", name, kind, 100*part)
			}
		}
	}
}

// fields counts the fields of a struct, with those of unexported structs that it holds by
// value.
func fields(t reflect.Type) (n int) {
	for i := range t.NumField() {
		f := t.Field(i).Type
		if name := f.Name(); f.Kind() == reflect.Struct && f.PkgPath() == t.PkgPath() && (name == "" || name[0] >= 'a') {
			n += fields(f)
			continue
		}
		n++
	}
	return n
}

// TestSizes: what each request and each conversation needs lies in one cache line, and
// what is known is in types by responsibility.
func TestSizes(t *testing.T) {
	const line = 64
	if n := unsafe.Sizeof(request{}); n > line {
		t.Errorf("a request has %d bytes", n)
	}
	if n := unsafe.Sizeof(flow{}); n > line {
		t.Errorf("a flow has %d bytes", n)
	}
	for _, c := range []struct {
		of   reflect.Type
		most int
	}{{reflect.TypeFor[tracker](), 18}, {reflect.TypeFor[Analyzer](), 16}} {
		if n := fields(c.of); n > c.most {
			t.Errorf("%s has %d fields, at most %d", c.of.Name(), n, c.most)
		}
	}
	if n := fields(reflect.TypeFor[held]()); n != 13 {
		t.Errorf("held has %d fields: those of what it holds are to be counted", n)
	}
}
