package dissect

import (
	"slices"
	"time"

	"github.com/qdissect/qdissect/internal/core"
)

const (
	// pagesKept is how many pages are remembered of a client and a server:
	// clients ask for one or two lists at once.
	pagesKept = 8
	// socketsKept is how many ports of one list are told apart.
	socketsKept = 4
	// oldPage is the age from which a page is no longer gone on from.
	oldPage = time.Hour
)

// A page is one page of a list that a server sent.
type page struct {
	end     uint64 // the entry that ended it, 0 at the end of the list
	begin   uint64 // the entry that began the list, 0 if it was not seen
	scope   uint64
	first   uint64 // frame of the first request for the list, 0 if it was not seen
	frame   uint64
	at      int64
	entries uint32 // of the list so far
	pieces  uint16
	ports   [socketsKept]uint16 // of the list, the newest first
	sockets uint8
	asked   bool // a request went on from it
}

// pages are the newest pages that a server sent to one client, on any port of the
// client.
type pages struct {
	ring []page // it grows to pagesKept: most clients ask for one page
	next int    // of a full ring: the oldest
}

// parent returns the page after which a request continues, nil if there is none. It
// prefers pages of the same port and with the same filter.
func (l *pages) parent(q *rare, port uint16, now int64) *page {
	var best *page
	score := -1
	for i := range l.ring {
		o := &l.ring[i]
		if o.end != q.page || now-o.at > int64(oldPage) || q.scope == 0 && o.ports[0] != port {
			continue
		}
		s := 2*core.Bit[int](o.ports[0] == port) + core.Bit[int](o.scope == q.scope)
		if s > score || s == score && o.frame > best.frame {
			best, score = o, s
		}
	}
	return best
}

// newest returns the newest page with the filter of a request, preferably of its
// port; nil if there is none.
func (l *pages) newest(q *rare, port uint16, now int64) *page {
	var best *page
	for i := range l.ring {
		o := &l.ring[i]
		if o.scope != q.scope || now-o.at > int64(oldPage) {
			continue
		}
		same := o.ports[0] == port
		if best == nil || same && best.ports[0] != port || same == (best.ports[0] == port) && o.frame > best.frame {
			best = o
		}
	}
	return best
}

// has reports whether a page was sent to a port.
func (l *pages) has(port uint16) bool {
	return slices.ContainsFunc(l.ring, func(p page) bool { return p.ports[0] == port })
}

// continues compares a request for a page with the earlier pages of the client.
func (t *tracker) continues(q *request, rec *Record) {
	own, turn := t.requests.own(q), &t.page
	own.page, own.scope = rec.Pair.Page, rec.Pair.Scope
	if own.page == 0 || t.lists.len() == 0 {
		return
	}
	k := t.flows.flows[q.flow].key.peer(q.up(), q.protocol)
	l := t.lists.find(&k)
	if l == nil {
		return
	}
	*turn = Page{}
	t.turn.Page = turn
	port := rec.Src.Port()
	o := l.parent(own, port, t.requests.time(q))
	if o == nil {
		// If a request went on from the newest page, the capture lacks its
		// reply, and this one may go on from that.
		if o = l.newest(own, port, t.requests.time(q)); o != nil && own.scope != 0 && !o.asked && (o.end != 0 || o.ports[0] == port) {
			turn.Before, turn.Stray = o.frame, true
			o.asked = true
		}
		return
	}
	turn.Before, turn.Port, turn.Age = o.frame, o.ports[0], time.Duration(t.requests.time(q)-o.at)
	// A port that asked before and got no page did so unseen: it has a list of
	// its own.
	if o.ports[0] != port && !o.asked && (t.turn.Opens || l.has(port)) {
		turn.Sockets = o.withPort(port)
	}
	turn.Filter, turn.Region = o.scope>>8 != own.scope>>8, uint8(o.scope) != uint8(own.scope)
	o.asked = true
}

// withPort returns the number of ports of the list including port, 0 if there are
// too many to distinguish.
func (o *page) withPort(port uint16) int {
	switch n := int(o.sockets); {
	case slices.Contains(o.ports[:n], port):
		return n
	case n == socketsKept:
		return 0
	default:
		return n + 1
	}
}

// paged records the page that answers q.
func (t *tracker) paged(q *request, rec *Record) {
	pair, own, turn := &rec.Pair, t.requests.rare(q), &t.page
	if t.requests.answered(q).n > 1 || own.page == 0 && pair.Page == 0 && pair.Entries == 0 {
		return
	}
	*turn = Page{}
	t.turn.Page = turn
	k := t.flows.flows[q.flow].key.peer(q.up(), q.protocol)
	l := t.lists.get(&k)
	port, now := rec.Dst.Port(), nanos(rec.Time)
	o := page{}
	if own.page == 0 {
		o.first, o.begin = q.frame, pair.Begins
	} else if before := l.parent(own, port, now); before != nil {
		o = *before
		turn.Restart = o.begin != 0 && o.begin == pair.Begins && pair.Begins != own.page
	}
	if n := o.withPort(port); n > int(o.sockets) {
		o.sockets = uint8(n)
		copy(o.ports[1:], o.ports[:])
	} else if i := slices.Index(o.ports[:], port); i > 0 { // to the front
		copy(o.ports[1:i+1], o.ports[:i])
	}
	o.ports[0] = port
	o.end, o.scope, o.frame, o.at, o.asked = pair.Page, own.scope, rec.Frame, now, false
	o.entries += uint32(pair.Entries)
	if o.pieces < 1<<16-1 {
		o.pieces++
	}
	if turn.Repeat = o.end != 0 && o.end == own.page; o.end == 0 && o.first != 0 {
		turn.Pieces, turn.Entries, turn.First = int(o.pieces), int(o.entries), o.first
	}
	if len(l.ring) < pagesKept {
		l.ring = append(l.ring, o)
		return
	}
	l.ring[l.next] = o
	l.next = (l.next + 1) % pagesKept
}
