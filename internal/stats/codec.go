package stats

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/coder"
)

// codecVersion changes with every change of what is written.
const codecVersion = 19

// AppendBinary appends the counts in binary form. It is the same for the same counts.
func (s *Shards) AppendBinary(b []byte) []byte {
	c := coder.Coder{B: b}
	s.code(&codec{Coder: &c})
	return c.B
}

// Bounds bound counts that are read: the times in nanoseconds, and each number.
type Bounds struct {
	From, To int64
	Most     uint64
}

// UnmarshalBinary returns the counts in a binary form, with the types of messages of these protocols, and within bounds unless
// these are nil. The form may come from anybody.
func UnmarshalBinary(b []byte, protocols []*dissect.Protocol, within *Bounds) (*Shards, error) {
	s := NewShards()
	c := &codec{Coder: &coder.Coder{B: b, Reading: true}, protocols: protocols, within: within}
	s.code(c)
	if len(c.B) > 0 {
		c.Fail(errors.New("there are more bytes than the counts have"))
	}
	if c.Err != nil {
		return nil, c.Err
	}
	return s, nil
}

// A codec walks over counts to write or to read them.
type codec struct {
	*coder.Coder
	protocols []*dissect.Protocol
	within    *Bounds // nil for none
	numKinds  int
	numNames  int // of protocols
	buckets   int // of lines, so far of an aggregate
}

func (s *Shards) code(c *codec) {
	version := uint64(codecVersion)
	if coder.Num(c.Coder, &version); version != codecVersion {
		c.Fail(fmt.Errorf("counts of version %d, of which this program reads only %d: make them again", version, codecVersion))
		return
	}
	numbers(c, &s.copies.Duplicates, &s.copies.Messages, &s.copies.Parts)
	s.sums.code(c)
	for _, a := range s.list {
		a.code(c)
	}
}

func (a *sums) code(c *codec) {
	numbers(c, append(a.counts(), &a.steps.n)...)
	numbers(c, &a.steps.from, &a.steps.to)
	coder.Num(c.Coder, &a.first)
	if coder.Num(c.Coder, &a.last); c.within != nil && a.first <= a.last && (a.first < c.within.From || a.last > c.within.To) {
		c.Fail(errBounds)
	}
	codeLine(c, &a.moments, (*moment).code)
	codeLine(c, &a.heats, func(h *heat, c *codec, _ int64) { numbers(c, pointers(h[:])...) })
	a.trips.code(c)
	a.addresses.code(c, &a.room)
	n := c.Len(len(a.protocols), maxKinds)
	for i := range n {
		if c.Reading {
			a.protocols = append(a.protocols, "")
		}
		c.Text(&a.protocols[i], maxName)
		a.grants[i].code(c)
	}
	c.numNames = n
	n = c.Len(len(a.kinds), maxKinds)
	for i := range n {
		if c.Reading {
			a.readKind(c)
		} else {
			k := &a.kinds[i]
			name := k.message()
			c.Text(&k.protocol, maxName)
			c.Text(&name, maxName)
		}
		if c.Err != nil {
			return
		}
		a.kinds[i].code(c)
	}
	c.numKinds = n
	numbers(c, pointers(a.proofs[:])...)
	for i := range a.forgotten {
		numbers(c, a.forgotten[i].counts()...)
	}
}

// readKind reads the name of the next kind.
func (a *sums) readKind(c *codec) {
	var protocol, message string
	c.Text(&protocol, maxName)
	c.Text(&message, maxName)
	var of *dissect.MessageType
	if protocol != "other" {
		of = messageType(c.protocols, protocol, message)
		if of == nil && c.Err == nil {
			c.Fail(fmt.Errorf("the message %s of %q is not known here", message, protocol))
		}
	}
	if _, twice := a.kindOf[of]; twice {
		c.Fail(errors.New("a kind of request is there twice"))
	}
	if c.Err == nil {
		i := uint16(len(a.kinds))
		a.kindOf[of] = i
		tcp := slices.ContainsFunc(c.protocols, func(p *dissect.Protocol) bool { return p.Name == protocol && p.OverTCP() })
		a.kinds = append(a.kinds, kind{protocol: protocol, of: of, index: i, tcp: tcp, cells: cells{most: maxCells}})
	}
}

func messageType(list []*dissect.Protocol, protocol, message string) *dissect.MessageType {
	for _, p := range list {
		if p.Name != protocol {
			continue
		}
		for _, t := range p.Catalog.Messages() {
			if t.Name == message {
				return t
			}
		}
	}
	return nil
}

func (k *kind) code(c *codec) {
	numbers(c, k.counts()...)
	k.token.code(c)
	numbers(c, &k.least, &k.most)
	coder.Num(c.Coder, &k.alike)
	c.Bool(&k.seen)
	if !c.Reading {
		clear(k.common[min(int(k.alike), len(k.common)):])
	}
	for i := range k.common {
		coder.Num(c.Coder, &k.common[i])
	}
	if int(k.alike) > len(k.common) {
		c.Fail(errors.New("too many common bytes"))
	}
	codeLine(c, &k.cells, (*cell).code)
}

func (k *token) code(c *codec) {
	coder.Num(c.Coder, &k.at)
	coder.Num(c.Coder, &k.length)
	for i := range k.prefix {
		coder.Num(c.Coder, &k.prefix[i])
	}
	if int(k.at)+4 > max(int(k.length), 4) {
		c.Fail(errors.New("a challenge after the end of its message"))
	}
}

func (m *moment) code(c *codec, _ int64) { numbers(c, m.counts()...) }

func (c *cell) code(k *codec, _ int64) { numbers(k, c.counts()...) }

func (h *histogram) code(c *codec) {
	numbers(c, &h.n)
	codeZeros(c, len(h.counts), func(i int) bool { return h.counts[i] == 0 }, func(i int) { numbers(c, &h.counts[i]) })
}

func (d *distinct) code(c *codec, room *stock[registers]) {
	if !c.Reading {
		slices.Sort(d.few[:d.n]) // workers add them in any order
	}
	d.n = uint8(c.Len(int(d.n), fewHashes))
	for i := range d.few[:d.n] {
		coder.Num(c.Coder, &d.few[i])
	}
	c.Bool(&d.more)
	has := d.sketch != nil
	if c.Bool(&has); !has || c.Err != nil {
		return
	}
	if c.Reading {
		if d.sketch = room.take(); d.sketch == nil {
			c.Fail(errTooMany)
		}
	}
	c.Raw(d.sketch)
	for _, r := range d.sketch {
		if r > 65 {
			c.Fail(errors.New("an impossible sketch"))
		}
	}
}

func (a *Aggregate) code(c *codec) {
	c.buckets = 0
	if !c.Reading {
		a.endSecond()
	}
	codeLine(c, &a.peaks, func(p *peak, c *codec, _ int64) { numbers(c, (*uint64)(p)) })
	codeTop(c, &a.clients, maxClients, (*key).hash, a.codeClient)
	codeTop(c, &a.servers, maxServers, (*key).hash, a.codeServer)
	for e := range each(a.servers.entries) {
		e.stays = e.v.replies > 0
	}
	codeTop(c, &a.strays, maxStrays, (*key).short, a.codeStray)
	for m := range coder.List(c.Coder, &a.masters.list, maxMasters) {
		from, to := keyOf(m.from, 0), keyOf(m.to.Addr(), m.to.Port())
		from.code(c)
		to.code(c)
		m.from, m.to = from.addr(), netip.AddrPortFrom(to.addr(), to.Port)
		numbers(c, &m.beats.n, &m.sent.n, &m.probes, &m.answered, &m.since)
		m.beating.code(c)
		c.Bool(&m.due)
		c.Bool(&m.listed)
		c.Text(&m.says, maxReason)
	}
	for i := range a.masters.list {
		if c.Reading {
			a.masters.link(i + 1)
		}
	}
	a.codeFindings(c)
}

func (a *Aggregate) codeStray(c *codec, v *stray) {
	numbers(c, v.counts()...)
	v.lived.code(c)
	if !rest(c, &v.more, &a.followed) {
		return
	}
	codeLine(c, &v.more.cells, (*cell).code)
	v.more.sources.code(c, &a.strayRoom)
	coder.Num(c.Coder, &v.more.port)
	coder.Num(c.Coder, &v.more.votes)
	for s := range each(v.more.senders[:]) {
		if numbers(c, &s.n); s.n == 0 {
			continue
		}
		k := keyOf(s.addr, 0)
		k.code(c)
		s.addr = k.addr()
	}
}

func (k *key) code(c *codec) {
	c.Fixed(&k.Hi)
	c.Fixed(&k.Lo)
	coder.Num(c.Coder, &k.Port)
	c.Bool(&k.V4)
}

// rest writes or reads whether there is what only some have, and reports it. What is read is of the stock.
func rest[T any](c *codec, p **T, of *stock[*T]) bool {
	has := *p != nil
	if c.Bool(&has); has && c.Reading {
		if *p = of.take(); *p == nil {
			c.Fail(errTooMany)
		}
	}
	return has && c.Err == nil
}

var errTooMany = errors.New("too many timelines")

func (s *lived) code(c *codec) {
	c.Bool(&s.began)
	numbers(c, &s.first, &s.last)
}

// codeTop writes or reads a table.
func codeTop[V any](c *codec, t *top[V], most int, hash func(*key) uint64, code func(*codec, *V)) {
	numbers(c, &t.gone)
	n := c.Len(len(t.entries), most)
	for i := range n {
		var read entry[V]
		e := &read
		if !c.Reading {
			e = &t.entries[i]
		}
		e.key.code(c)
		numbers(c, &e.count, &e.err)
		if code(c, &e.v); c.Err != nil {
			return
		}
		if e.err > e.count {
			c.Fail(errors.New("an error that is larger than its count"))
		}
		if c.Reading {
			sum := hash(&e.key)
			if t.find(&e.key, sum) != nil {
				c.Fail(errors.New("a key is there twice"))
				return
			}
			p, _ := t.place(&e.key, sum)
			p.count, p.err, p.v = e.count, e.err, e.v
		}
	}
}

func (a *Aggregate) codeClient(c *codec, v *client) {
	v.own(&a.pasts)
	numbers(c, append(v.counts(), &v.requests, &v.bytesIn)...)
	v.lived.code(c)
	coder.Num(c.Coder, &v.peak)
	coder.Num(c.Coder, &v.refused)
	for i := range v.kinds {
		c.index(&v.kinds[i].kind, c.numKinds)
		coder.Num(c.Coder, &v.kinds[i].n)
	}
	for i := range v.servers {
		c.Fixed(&v.servers[i])
	}
	u := cmp.Or(v.strange, new(strange))
	numbers(c, &v.others, &u.unasked, &u.bytes)
	for i := range u.servers {
		c.Fixed(&u.servers[i])
	}
	if numbers(c, &u.first, &u.last); u.unasked > 0 {
		u.began, v.strange = true, u
	}
	coder.Num(c.Coder, &v.least)
	coder.Num(c.Coder, &v.most)
	numbers(c, pointers(v.dropped[:])...)
	if rest(c, &v.cells, &a.paths) {
		codeLine(c, v.cells, (*cell).code)
	}
}

func (a *Aggregate) codeServer(c *codec, v *server) {
	c.index(&v.protocol, c.numNames)
	counts := v.counts()
	numbers(c, counts[:]...)
	v.clients.code(c, &a.sketches)
	for k := range each(v.kinds[:]) {
		c.index(&k.kind, c.numKinds)
		numbers(c, &k.requests, &k.good, &k.bad, &k.incomplete)
		numbers(c, &k.first, &k.last)
		k.began = k.last != 0
	}
	c.Bytes(&v.name, maxName)
	c.Bytes(&v.mapName, maxName)
	coder.Num(c.Coder, &v.players)
	says := v.heard != nil
	if c.Bool(&says); says {
		h := v.hears()
		c.Text(&h.icmp, maxText)
		c.Text(&h.mistake, maxText)
		numbers(c, append(h.counts(), &h.icmpFrame)...)
		h.from.code(c)
		h.refused.code(c)
	}
	v.lived.code(c)
	numbers(c, &v.stated, &v.lastReply)
	if rest(c, &v.more, &a.mores) {
		v.pulses = &v.more.pulses
		v.more.code(c)
	}
	codeLine(c, v.times(), (*pulse).code)
}

func (m *more) code(c *codec) {
	codeLine(c, &m.cells, (*cell).code)
	m.trips.code(c)
	for s := range each(m.series[:]) {
		if c.index(&s.kind, c.numKinds); s.kind == 0 || c.Err != nil {
			break
		}
		numbers(c, &s.challenged, &s.given)
		codeLine(c, &s.ticks, (*tick).code)
	}
	m.calm.code(c)
	for b := range coder.List(c.Coder, (*[]burst)(&m.hot), maxBursts) {
		coder.Num(c.Coder, &b.from)
		coder.Num(c.Coder, &b.to)
		b.code(c)
	}
}

// code writes or reads a bucket that begins at a time.
func (p *pulse) code(c *codec, from int64) {
	if numbers(c, &p.asked, &p.replied, &p.lost, &p.late); p.replied == 0 {
		return
	}
	first, length := p.first-from, p.last-p.first
	coder.Num(c.Coder, &first)
	coder.Num(c.Coder, &length)
	p.first = from + first
	p.last = p.first + length
	if b := c.within; b != nil && (min(p.first, p.last) < b.From || max(p.first, p.last) > b.To) {
		c.Fail(errBounds)
	}
}

func (k *tick) code(c *codec, _ int64) {
	numbers(c, pointers(k.by[:])...)
	numbers(c, &k.fresh)
	numbers(c, &k.in, &k.out)
}

func (l *looks) code(c *codec) {
	if numbers(c, &l.n, &l.squares); l.n == 0 {
		return
	}
	for _, list := range []*[256]uint32{&l.hops, &l.nets} {
		codeZeros(c, len(list), func(i int) bool { return list[i] == 0 }, func(i int) { numbers(c, &list[i]) })
	}
	numbers(c, &l.odd, &l.steps, &l.same)
	numbers(c, &l.port)
	coder.Num(c.Coder, &l.votes)
	c.Fixed(&l.payload)
	c.Bool(&l.distinct)
}

// codeZeros writes or reads n things, of which those that are empty are counted and not written one by one.
func codeZeros(c *codec, n int, empty func(int) bool, code func(int)) {
	for i := 0; i < n && c.Err == nil; i++ {
		k := 0
		for !c.Reading && i+k < n && empty(i+k) {
			k++
		}
		if coder.Num(c.Coder, &k); k < 0 || k > n-i {
			c.Fail(errors.New("too many buckets"))
			return
		}
		if i += k; i < n {
			code(i)
		}
	}
}

// codeLine writes or reads a line. code gets the time at which a bucket begins.
func codeLine[T comparable, P summand[T]](c *codec, l *line[T, P], code func(b *T, c *codec, from int64)) {
	n := len(l.buckets) // more than bytes are left, perhaps: the room of all lines is the limit
	coder.Num(c.Coder, &n)
	if c.buckets += n; n < 0 || n > l.most || c.buckets > mostBuckets {
		c.Fail(errors.New("too many buckets"))
	}
	if n == 0 || c.Err != nil {
		return
	}
	coder.Num(c.Coder, &l.width)
	coder.Num(c.Coder, &l.start)
	if c.Reading {
		if l.width < 0 || l.width >= len(widths) || l.start < math.MinInt64/widths[l.width]-1 || l.start > math.MaxInt64/widths[l.width]-int64(n-1) {
			c.Fail(errors.New("a time line outside of time"))
			return
		}
		if b := c.within; b != nil {
			w := widths[l.width]
			if from, to := timeOf(l.start, w), timeOf(l.start+int64(n), w); w > int64(time.Minute) || from <= b.From-w || to >= b.To+w {
				c.Fail(errBounds)
				return
			}
		}
		l.buckets = make([]T, n)
	}
	var zero T
	codeZeros(c, n, func(i int) bool { return l.buckets[i] == zero }, func(i int) { code(&l.buckets[i], c, timeOf(l.start+int64(i), widths[l.width])) })
}

// mostBuckets is what the lines of a shard have together at most. Those of the sums have fewer.
const mostBuckets = (maxPaths+maxMore+maxFollowed+1)*maxCells + sharedTicks + (maxServers+maxMore*maxSeries)*leastTicks

func (a *Aggregate) codeFindings(c *codec) {
	ids := slices.Sorted(maps.Keys(a.findings))
	n := c.Len(len(ids), maxFindings)
	for i := range n {
		f := new(finding)
		if !c.Reading {
			f = a.findings[ids[i]]
		}
		c.Text(&f.id, maxText)
		c.Text(&f.severity, maxText)
		c.Text(&f.text, maxText)
		c.Text(&f.doc, 1<<12)
		numbers(c, &f.count)
		numbers(c, &f.first, &f.last)
		for e := range coder.List(c.Coder, &f.examples, maxExamples) {
			coder.Num(c.Coder, &e.input)
			coder.Num(c.Coder, &e.Frame)
		}
		if c.Err != nil {
			return
		}
		if c.Reading {
			a.findings[f.id] = f
		}
	}
}

// index writes or reads the index of one of n things plus one, 0 for none.
func (c *codec) index(v *uint16, n int) {
	if coder.Num(c.Coder, v); int(*v) > n {
		c.Fail(errors.New("an index that points nowhere"))
	}
}

// numbers writes or reads numbers. Those of type int64 are times.
func numbers[T coder.Integer](c *codec, list ...*T) {
	for _, v := range list {
		coder.Num(c.Coder, v)
		if c.within == nil {
			continue
		}
		switch n := any(*v).(type) {
		case uint64:
			if n > c.within.Most {
				c.Fail(errBounds)
			}
		case int64:
			if n != 0 && (n < c.within.From || n > c.within.To) {
				c.Fail(errBounds)
			}
		}
	}
}

var errBounds = errors.New("a time or a number is out of bounds")

// each yields the addresses of a list's elements.
func each[T any](list []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// pointers returns the addresses of a list's elements.
func pointers[T any](list []T) []*T {
	return slices.AppendSeq(make([]*T, 0, len(list)), each(list))
}
