package serve

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"
)

// Trouble simulates network faults. Each value is the probability for a datagram, from
// 0 to 1.
type Trouble struct {
	// Loss drops the datagram.
	Loss float64
	// Duplicate sends it twice.
	Duplicate float64
	// Reorder sends it after the next datagram of the reply. It delays the last
	// datagram.
	Reorder float64
	// Truncate cuts it at a random length.
	Truncate float64
	// Seed makes faults reproducible. The faults of a reply depend on the seed, the
	// request, and how many replies to that request came before.
	Seed uint64
}

// Happened counts the datagrams of a reply that had a fault.
type Happened struct{ Lost, Duplicated, Reordered, Truncated int }

// hold is the delay of a reordered last datagram.
const hold = 30 * time.Millisecond

// apply applies faults to a reply, the nth to the request of this key. It keeps at
// most room bytes; -1 means no limit.
func (t *Trouble) apply(list []Datagram, key string, nth uint64, noDelay bool, room int) (out []Datagram, h Happened) {
	hash := fnv.New64a()
	hash.Write([]byte(key))
	random := rand.New(rand.NewPCG(t.Seed, hash.Sum64()+nth*0x9e3779b97f4a7c15))
	type fate struct {
		lost, twice bool
		cut         int
	}
	slices.SortStableFunc(list, func(a, b Datagram) int { return cmp.Compare(a.After, b.After) })
	fates := make([]fate, len(list))
	late := make([]bool, len(list))
	for i := range list {
		// Draw every number, so that one probability does not affect another fault.
		loss, twice, cut, reorder, at := random.Float64(), random.Float64(), random.Float64(), random.Float64(), random.Float64()
		f := &fates[i]
		f.lost, f.twice, f.cut = loss < t.Loss, twice < t.Duplicate, -1
		if n := len(list[i].Payload); cut < t.Truncate && n > 1 {
			f.cut = 1 + int(at*float64(n-1))
		}
		late[i] = reorder < t.Reorder
		if noDelay {
			list[i].After = 0
		}
	}
	for i := 0; i < len(list); i++ {
		if !late[i] {
			continue
		}
		h.Reordered++
		if i+1 == len(list) {
			list[i].After += hold
			break
		}
		list[i].Payload, list[i+1].Payload = list[i+1].Payload, list[i].Payload
		fates[i], fates[i+1] = fates[i+1], fates[i]
		i++
	}
	out = make([]Datagram, 0, len(list))
	for i, d := range list {
		f := &fates[i]
		if f.lost {
			h.Lost++
			continue
		}
		if f.cut > 0 {
			h.Truncated++
			d.Payload = d.Payload[:f.cut]
		}
		copies := 1
		if f.twice {
			h.Duplicated++
			copies = 2
		}
		for range copies {
			if room >= 0 {
				if len(d.Payload) > room {
					break
				}
				room -= len(d.Payload)
			}
			out = append(out, d)
		}
	}
	return out, h
}
