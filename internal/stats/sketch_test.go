package stats

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/coder"
	"github.com/qdissect/qdissect/internal/endpoint"
)

// TestHistogram compares quantiles with those of the sorted durations.
func TestHistogram(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() time.Duration{
		"even":      func() time.Duration { return time.Duration(r.Int64N(int64(time.Second))) + 2*time.Microsecond },
		"long tail": func() time.Duration { return time.Duration(math.Exp(r.NormFloat64()*2+17)) + 2*time.Microsecond },
	} {
		var all []time.Duration
		parts := make([]histogram, 3)
		for range 20_000 {
			d := min(draw(), 10*time.Minute)
			all = append(all, d)
			parts[r.IntN(3)].add(bucketOf(d))
		}
		slices.Sort(all)
		sum := parts[2]
		sum.merge(&parts[0])
		sum.merge(&parts[1])
		other := parts[1]
		other.merge(&parts[2])
		other.merge(&parts[0])
		if sum != other {
			t.Errorf("%s: the order of merging makes a difference", name)
		}
		for _, permille := range []uint64{1, 100, 500, 900, 990, 1000} {
			got, want := sum.quantile(permille), all[max((uint64(len(all))*permille+999)/1000, 1)-1]
			if e := math.Abs(float64(got-want)) / float64(want); e > 0.0101 {
				t.Errorf("%s: quantile %d is %v, want %v: error %.4f", name, permille, got, want, e)
			}
		}
	}
}

func TestBuckets(t *testing.T) {
	for b := 1; b < histogramBuckets; b++ {
		if got := bucketOf(middle(b)); got != b {
			t.Fatalf("the middle of bucket %d, %v, is in bucket %d", b, middle(b), got)
		}
	}
	for _, d := range []time.Duration{-1, 0, 1, 1023} {
		if bucketOf(d) != 0 {
			t.Errorf("%v is in bucket %d", d, bucketOf(d))
		}
	}
	if got := bucketOf(math.MaxInt64); got != histogramBuckets-1 {
		t.Errorf("the longest duration is in bucket %d", got)
	}
	if d := middle(histogramBuckets - 1); d < 9*time.Minute {
		t.Errorf("the last bucket is %v", d)
	}
}

// TestDistinct counts addresses by sketches of both sizes: at once, merged from parts that have some in common, and as the
// sum of parts that have none in common.
func TestDistinct(t *testing.T) {
	address := func(i int) uint64 {
		k := keyOf(netip.AddrFrom4([4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)}), 0)
		return k.hash()
	}
	for _, n := range []int{0, 1, fewHashes, fewHashes + 1, 100, 1000, 20_000, 300_000} {
		large := func() *stock[registers] { room := sketches(largeSketch, 1); return &room }
		whole, parts, room := new(distinct), make([]distinct, 4), large()
		small, shards := sketches(smallSketch, shards), make([]distinct, shards)
		for i := range n {
			h := address(i)
			whole.add(h, room)
			parts[i%4].add(h, large())
			parts[(i+1)%4].add(h, large())
			shards[h%uint64(len(shards))].add(h, &small)
		}
		var merged, sum distinct
		for i := range parts {
			merged.merge(&parts[i], large())
		}
		for i := range shards {
			sum.sum(&shards[i])
		}
		if got := whole.count(); got != merged.count() {
			t.Errorf("%d: %v at once, %v merged", n, got, merged.count())
		}
		for _, got := range []Distinct{whole.count(), sum.count()} {
			allowed := float64(3*got.Percent) / 100 // three standard errors
			if e := math.Abs(float64(got.Count)-float64(n)) / float64(max(n, 1)); e > allowed || got.Percent > 1 {
				t.Errorf("%d: %v, error %.4f", n, got, e)
			}
		}
	}
	var full distinct
	for i := range fewHashes + 1 {
		full.add(address(i), new(stock[registers]))
	}
	if got := full.count(); got != (Distinct{fewHashes, 100}) {
		t.Errorf("without room: %v", got)
	}
}

func TestDistinctServers(t *testing.T) {
	for _, n := range []int{0, 1, 5, 20, 100, 500, 1000} {
		var c past
		for i := range n {
			c.asks(mix(uint64(i + 77)))
		}
		got := float64(c.distinctServers())
		if e := math.Abs(got - float64(n)); e > 0.1*float64(n)+0.5 {
			t.Errorf("%d servers are counted as %v", n, got)
		}
	}
}

// TestSparse writes and reads lines of few buckets among many empty ones, which take fewer bytes than they have buckets; an aggregate
// has no more of them than its lines may have together.
func TestSparse(t *testing.T) {
	room := sharedTicks
	l := &newMore(&room).pulses
	for _, s := range []int64{0, 7, 3999} {
		l.at(s * 1e9).add(&pulse{asked: 1, replied: 1, first: s * 1e9, last: s * 1e9})
	}
	w := &codec{Coder: &coder.Coder{}}
	codeLine(w, l, (*pulse).code)
	if len(l.buckets) != 4000 || len(w.B) >= len(l.buckets) {
		t.Fatalf("%d buckets in %d bytes", len(l.buckets), len(w.B))
	}
	r := &codec{Coder: &coder.Coder{Reading: true}}
	for i := range 40 {
		r.B = w.B
		got := &newMore(&room).pulses
		codeLine(r, got, (*pulse).code)
		if fits := (i+1)*len(l.buckets) <= mostBuckets; fits != (r.Err == nil) || fits && !slices.Equal(got.buckets, l.buckets) {
			t.Fatalf("line %d: %v, %d buckets", i, r.Err, len(got.buckets))
		}
		if r.Err != nil {
			return
		}
	}
	t.Error("any number of lines is read")
}

// TestBlock: busy keys that came one after the other, as those of a botnet, stay in a flood of others.
func TestBlock(t *testing.T) {
	table := top[uint64]{most: 64}
	for i := range 5000 {
		k := keyOf(netip.AddrFrom4([4]byte{1, 2, byte(i >> 8), byte(i)}), 0)
		if e, _ := table.place(&k, k.hash()); i < 20 {
			e.count = 400
		}
	}
	for i := range 20 {
		if k := keyOf(netip.AddrFrom4([4]byte{1, 2, 0, byte(i)}), 0); table.find(&k, k.hash()) == nil {
			t.Errorf("%v is not in the table", k.addr())
		}
	}
}

// TestTop: keys that are counted often enough are in the table with their counts, and what was evicted was handed over.
func TestTop(t *testing.T) {
	const most, messages = 64, 200_000
	gone, truth := uint64(0), map[key]uint64{}
	table := top[uint64]{most: most}
	r := rand.New(rand.NewPCG(9, 10))
	for range messages {
		n := r.Uint32() // a flood of forged sources
		if r.IntN(4) == 0 {
			n = uint32(r.ExpFloat64() * 5) // and clients that come again
		}
		k := keyOf(netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), 0)
		truth[k]++
		e := table.find(&k, k.hash())
		if e == nil {
			var evicts bool
			if e, evicts = table.place(&k, k.hash()); evicts {
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
		if table.find(&e.key, e.sum) != e {
			t.Errorf("%v is not found", e.addr())
		}
	}
	if kept+gone != messages {
		t.Errorf("%d messages are kept and %d handed over, of %d", kept, gone, messages)
	}
	for k, n := range truth {
		if n > 2*messages/most && table.find(&k, k.hash()) == nil {
			t.Errorf("%v with %d messages is not in the table", k.addr(), n)
		}
	}
	var stays key
	for i := range uint16(10 * most) {
		k := keyOf(netip.AddrFrom4([4]byte{192, 0, 2, 1}), 1+i)
		e, _ := table.place(&k, k.hash())
		if e.v, e.count = 1, e.count+2; i == 0 {
			e.stays, stays = true, k
		}
	}
	busy := keyOf(netip.AddrFrom4([4]byte{192, 0, 2, 2}), 1) // as a server in a flood, of which nothing is answered
	e, _ := table.place(&busy, busy.hash())
	e.count += 300
	if table.find(&stays, stays.hash()) == nil {
		t.Error("what is kept gave way to others")
	}
	for k := busy; k.Port < 10*most; k.Port++ {
		e, _ = table.place(&key{Port: k.Port}, uint64(k.Port))
		e.count, e.stays = e.count+2, true
	}
	if table.find(&busy, busy.hash()) == nil {
		t.Error("what is counted far more often gave way to what is kept")
	}
}

// TestKey: an endpoint and its numbers have the same key.
func TestKey(t *testing.T) {
	for _, s := range []string{"0.0.0.0:0", "192.0.2.1:27015", "255.255.255.255:65535", "[::ffff:192.0.2.1]:27015", "[2001:db8::1]:27015"} {
		end := netip.MustParseAddrPort(s)
		e := endpoint.Of(end)
		if k := key(e); k != keyOf(end.Addr(), end.Port()) || k.addr() != end.Addr() {
			t.Errorf("%s: key %+v of %s", s, k, k.addr())
		}
	}
}
