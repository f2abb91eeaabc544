package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// maxSeconds is how many seconds of evictions a summary names.
const maxSeconds = 60

// worst returns the seconds with most evictions, in the order of time.
func worst(seconds []core.Evictions) []core.Evictions {
	list := slices.Clone(seconds)
	slices.SortFunc(list, func(a, b core.Evictions) int {
		return cmp.Or(cmp.Compare(b.Sum(), a.Sum()), cmp.Compare(a.Second, b.Second))
	})
	list = list[:min(len(list), maxSeconds)]
	slices.SortFunc(list, func(a, b core.Evictions) int { return cmp.Compare(a.Second, b.Second) })
	return list
}

// evicted describes the evictions and the second with most of them.
func evicted(s *Summary) string {
	e := &s.EvictedState
	var said []string
	for _, k := range [...]struct {
		n         uint64
		one, many string
	}{
		{e.Flows, "conversation", "conversations"}, {e.Requests, "request", "requests"},
		{e.Clients, "client or host", "clients and hosts"}, {s.EvictedFragments, "IP fragment", "IP fragments"},
	} {
		if k.n > 0 {
			said = append(said, fmt.Sprintf("%d %s", k.n, nettext.Plural(int(k.n), k.one, k.many)))
		}
	}
	text := strings.Join(said, ", ") + ", because a limit was reached"
	if len(s.EvictedSeconds) > 0 {
		most := slices.MaxFunc(s.EvictedSeconds, func(a, b core.Evictions) int { return cmp.Compare(a.Sum(), b.Sum()) })
		text += fmt.Sprintf("; %d in the second from %s UTC on", most.Sum(), time.Unix(most.Second, 0).UTC().Format(time.TimeOnly))
	}
	return text
}

// appendEvicted appends the evictions in total and by second.
func (j *JSON) appendEvicted(b []byte, s *Summary) []byte {
	counts := func(e *core.Evictions) {
		for _, k := range [...]struct {
			key string
			n   uint64
		}{{`"flows":`, e.Flows}, {`,"requests":`, e.Requests}, {`,"clients":`, e.Clients}} {
			b = append(b, k.key...)
			b = strconv.AppendUint(b, k.n, 10)
		}
	}
	b = append(b, `,"evicted":{`...)
	counts(&s.EvictedState)
	b = append(b, `,"fragments":`...)
	b = strconv.AppendUint(b, s.EvictedFragments, 10)
	if len(s.EvictedSeconds) == 0 {
		return append(b, '}')
	}
	b = append(b, `,"seconds":[`...)
	for i, e := range worst(s.EvictedSeconds) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"time":`...)
		b = j.appendTime(b, time.Unix(e.Second, 0))
		b = append(b, ',')
		counts(&e)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}
