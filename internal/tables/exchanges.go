package tables

import (
	"slices"
	"unsafe"
)

// maxPending bounds the requests, in bytes of blocks with them and their text, that wait for
// replies and findings. The oldest are written first: what comes later does not reach them.
const maxPending = 4<<20 + 4*textBlock

// pending are requests in the order of their messages. There are no pointers in them, so
// that the garbage collector has nothing to do with them, and they are in blocks, which are
// used again.
type pending struct {
	list blocks[exchange]
	head uint64   // number of the oldest; the first is 1
	next uint64   // number of the next one
	at   []uint64 // number of the newest request of a frame, by the low bits of that
	text blocks[byte]
	used int // bytes of the last block of text

	names   [][]byte // of captures and messages
	numbers map[string]uint32
}

func newPending() pending {
	return pending{
		list: blocks[exchange]{first: 1}, head: listBlock, next: listBlock,
		at: make([]uint64, pendingFrames), numbers: make(map[string]uint32),
	}
}

// blocks are the blocks of a queue: values are added to the last and leave the first.
type blocks[T any] struct {
	all   [][]T
	first uint64 // number of the first block
	held  int    // values that have room in them
	spare []T
}

// The lengths of blocks.
const (
	listBlock = 256
	textBlock = 32 << 10
)

// pendingFrames is the length of pending.at: about as many as there are requests.
const pendingFrames = 16 << 10

// add adds a block of n values.
func (q *blocks[T]) add(n int) {
	b := q.spare
	if q.spare = nil; len(b) != n {
		b = make([]T, n)
	}
	q.all, q.held = append(q.all, b), q.held+n
}

// leave removes the blocks before the one with this number.
func (q *blocks[T]) leave(number uint64) {
	n := int(number - q.first)
	if n == 0 {
		return
	}
	for _, b := range q.all[:n] {
		q.held -= len(b)
		q.spare = b
	}
	q.all, q.first = slices.Delete(q.all, 0, n), number
}

// of returns the block with a number.
func (q *blocks[T]) of(number uint64) []T { return q.all[number-q.first] }

// An exchange is a request with what is known of its replies.
type exchange struct {
	frame      uint64
	row        extent // the message up to its length
	replyFrame uint64 // the first of its replies
	rtt        uint64
	bytes      uint64 // of all replies
	server     extent // what the first reply says that describes the server
	file       uint32
	reply      uint32 // name
	replies    uint32
	older      uint32 // how many numbers before it the next older request at its place of pending.at is

	repeated, refused, unanswered, timed, late, inPart bool
}

// An extent is a part of the text.
type extent struct {
	block        uint64
	from, length uint32
}

// A reply is a reply to a pending request. Its text is borrowed.
type reply struct {
	frame           uint64
	message, server []byte
	rtt             uint64
	timed           bool
	bytes           uint64
	late, inPart    bool
}

// keep copies text.
func (p *pending) keep(b []byte) extent {
	if n := len(p.text.all); n == 0 || p.used+len(b) > len(p.text.all[n-1]) {
		p.text.add(max(len(b), textBlock))
		p.used = 0
	}
	last := len(p.text.all) - 1
	e := extent{p.text.first + uint64(last), uint32(p.used), uint32(len(b))}
	p.used += copy(p.text.all[last][p.used:], b)
	return e
}

func (p *pending) textOf(e extent) []byte { return p.text.of(e.block)[e.from:][:e.length] }

// request returns the request with a number.
func (p *pending) request(n uint64) *exchange { return &p.list.of(n / listBlock)[n%listBlock] }

// name returns the number of a name.
func (p *pending) name(b []byte) uint32 {
	n, ok := p.numbers[string(b)]
	if !ok {
		n = uint32(len(p.names))
		p.names = append(p.names, []byte(string(b)))
		p.numbers[string(b)] = n
	}
	return n
}

func (p *pending) add(file []byte, frame uint64, row []byte, repeated bool) {
	at := &p.at[frame%pendingFrames]
	if p.next%listBlock == 0 {
		p.list.add(listBlock)
	}
	older := uint32(0)
	if *at >= p.head {
		older = uint32(p.next - *at)
	}
	*p.request(p.next) = exchange{frame: frame, older: older, file: p.name(file), row: p.keep(row), repeated: repeated}
	*at = p.next
	p.next++
}

// of calls f with the requests of a frame.
func (p *pending) of(frame uint64, f func(x *exchange)) {
	for n := p.at[frame%pendingFrames]; n >= p.head; {
		x := p.request(n)
		if x.frame == frame {
			f(x)
		}
		if x.older == 0 {
			return
		}
		n -= uint64(x.older)
	}
}

func (p *pending) found(frame uint64, refused, unanswered bool) {
	p.of(frame, func(x *exchange) {
		x.refused, x.unanswered = x.refused || refused, x.unanswered || unanswered
	})
}

// reply adds a reply.
func (p *pending) reply(request uint64, r *reply) {
	p.of(request, func(x *exchange) {
		first := x.replies == 0 || r.frame < x.replyFrame
		if first {
			x.replyFrame, x.reply = r.frame, p.name(r.message)
		}
		if r.timed && (first || !x.timed) {
			x.rtt, x.timed = r.rtt, true
		}
		if r.server[0] != 0 && (first || x.server.length == 0) {
			x.server = p.keep(r.server)
		}
		x.replies++
		x.bytes += r.bytes
		x.late, x.inPart = x.late || r.late, x.inPart || r.inPart
	})
}

// outcome returns what became of the request; see docs/questions.md.
func (x *exchange) outcome() string {
	switch {
	case x.late:
		return "answered_late"
	case x.inPart:
		return "answered_in_part"
	case x.replies > 0:
		return "answered"
	case x.refused:
		return "refused"
	case x.unanswered:
		return "unanswered"
	case x.repeated:
		return "repeated"
	}
	return "unknown"
}

// size returns the bytes that the requests take.
func (p *pending) size() int { return p.list.held*int(unsafe.Sizeof(exchange{})) + p.text.held }

// exchangesOver writes the oldest exchanges until the others take up to limit bytes.
func (p *Parquet) exchangesOver(limit int) {
	q := &p.pending
	for q.head < q.next && q.size() > limit {
		x := q.request(q.head)
		p.exchange(x)
		q.text.leave(x.row.block)
		q.head++
		q.list.leave(q.head / listBlock)
	}
}

// exchange writes an exchange.
func (p *Parquet) exchange(x *exchange) {
	q := &p.pending
	in, t := &input{b: q.textOf(x.row)[1:]}, p.exchanges
	l := in.place()
	name := in.text()
	in.kind() // role
	in.number()
	wire := in.number()
	t.place(q.names[x.file], &l)
	t.text(name)
	t.text([]byte(x.outcome()))
	t.number(uint64(x.replies), true)
	is := x.replies > 0
	if is {
		t.text(q.names[x.reply])
	} else {
		t.null()
	}
	t.number(x.replyFrame, is)
	t.number(x.rtt, x.timed)
	t.number(wire, true)
	t.number(x.bytes, true)
	if x.server.length == 0 {
		t.absent(8)
	} else {
		t.server(&input{b: q.textOf(x.server)})
	}
	t.endRow()
}
