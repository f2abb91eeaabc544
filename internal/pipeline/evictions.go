package pipeline

import (
	"cmp"
	"slices"

	"github.com/qdissect/qdissect/dissect"
)

// evictions returns the evictions of all shards per second, for the seconds that all
// shards still remember. The workers must be idle.
func (e *engine) evictions() []dissect.Evictions {
	sums := make(map[int64]*dissect.Evictions)
	from := int64(-1 << 63)
	for shard := range e.allShards {
		seconds, since := shard.analyzer.Evictions()
		from = max(from, since)
		for k := range seconds {
			s := sums[seconds[k].Second]
			if s == nil {
				s = &dissect.Evictions{Second: seconds[k].Second}
				sums[s.Second] = s
			}
			s.Add(&seconds[k])
		}
	}
	var list []dissect.Evictions
	for second, s := range sums {
		if second >= from {
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, func(a, b dissect.Evictions) int { return cmp.Compare(a.Second, b.Second) })
	return list
}
