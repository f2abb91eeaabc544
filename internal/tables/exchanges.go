package tables

import "unsafe"

// maxPending bounds the requests, in bytes with their text, that wait for replies and
// findings. The oldest are written first: what comes later does not reach them.
const maxPending = 4 << 20

// pending are requests in the order of their messages. There are no pointers in them, so
// that the garbage collector has nothing to do with them.
type pending struct {
	list []exchange
	head int               // index of the oldest in list
	past uint64            // requests before the first of list
	at   map[uint64]uint64 // number of the first request of a frame
	text []byte
	gone uint64 // bytes before text

	names   [][]byte // of captures and messages
	numbers map[string]uint32
}

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

	repeated, refused, unanswered, timed, late, inPart bool
}

// An extent is a part of the text.
type extent struct {
	from   uint64
	length uint32
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

// room makes room at the end of s for n values. The first used of it are not needed any
// more; room returns how many of them it removed.
func room[T any](s []T, used, n int) ([]T, int) {
	if len(s)+n <= cap(s) || used < len(s)/4 {
		return s, 0
	}
	return s[:copy(s, s[used:])], used
}

// keep copies text.
func (p *pending) keep(b []byte) extent {
	var removed int
	p.text, removed = room(p.text, int(p.oldest()-p.gone), len(b))
	p.gone += uint64(removed)
	e := extent{p.gone + uint64(len(p.text)), uint32(len(b))}
	p.text = append(p.text, b...)
	return e
}

// oldest returns where the text of the oldest request begins.
func (p *pending) oldest() uint64 {
	if p.head < len(p.list) {
		return p.list[p.head].row.from
	}
	return p.gone + uint64(len(p.text))
}

func (p *pending) textOf(e extent) []byte {
	return p.text[e.from-p.gone:][:e.length]
}

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
	var removed int
	p.list, removed = room(p.list, p.head, 1)
	p.head, p.past = p.head-removed, p.past+uint64(removed)
	if _, ok := p.at[frame]; !ok {
		p.at[frame] = p.past + uint64(len(p.list))
	}
	p.list = append(p.list, exchange{frame: frame, file: p.name(file), row: p.keep(row), repeated: repeated})
}

// of calls f with the requests of a frame.
func (p *pending) of(frame uint64, f func(x *exchange)) {
	n, ok := p.at[frame]
	if !ok {
		return
	}
	for i := n - p.past; i < uint64(len(p.list)) && p.list[i].frame == frame; i++ {
		f(&p.list[i])
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
func (p *pending) size() int {
	return (len(p.list)-p.head)*int(unsafe.Sizeof(exchange{})) + int(p.gone+uint64(len(p.text))-p.oldest())
}

// exchangesOver writes the oldest exchanges until the others take up to limit bytes.
func (p *Parquet) exchangesOver(limit int) {
	q := &p.pending
	for q.head < len(q.list) && q.size() > limit {
		x := &q.list[q.head]
		p.exchange(x)
		if q.at[x.frame] == q.past+uint64(q.head) {
			delete(q.at, x.frame)
		}
		q.head++
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
