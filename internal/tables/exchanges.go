package tables

// maxPending bounds the requests, in bytes with their replies, that wait for replies and
// findings. The oldest are written first: what comes later does not reach them.
const maxPending = 8 << 20

// pending are requests in the order of their messages.
type pending struct {
	list  []exchange
	head  int               // index of the oldest in list
	first uint64            // number of the first of list
	at    map[uint64]uint64 // number of the first request of a frame
	bytes int
	text  []byte            // room for text
	names map[string][]byte // of messages
}

// keep copies text.
func (p *pending) keep(b []byte) []byte {
	const chunk = 64 << 10
	if len(b) > cap(p.text)-len(p.text) {
		p.text = make([]byte, 0, max(chunk, len(b)))
	}
	n := len(p.text)
	p.text = append(p.text, b...)
	return p.text[n:len(p.text):len(p.text)]
}

// name keeps the name of a message.
func (p *pending) name(b []byte) []byte {
	s, ok := p.names[string(b)]
	if !ok {
		s = []byte(string(b))
		p.names[string(b)] = s
	}
	return s
}

// An exchange is a request with what is known of its replies.
type exchange struct {
	frame                         uint64
	file                          []byte
	row                           []byte // the message up to its length
	replies                       uint32
	reply                         *reply
	repeated, refused, unanswered bool
}

// A reply is the first of an exchange. bytes are those of all, and server is what the
// first states that describes the server.
type reply struct {
	frame           uint64
	message, server []byte
	rtt             uint64
	known           bool
	bytes           uint64
	late, inPart    bool
}

// overhead is the number of bytes of an exchange or a reply besides its text.
const overhead = 128

func (p *pending) add(file []byte, frame uint64, row []byte, repeated bool) {
	row = p.keep(row)
	if len(p.list) == cap(p.list) && p.head > len(p.list)/2 {
		n := copy(p.list, p.list[p.head:])
		clear(p.list[n:])
		p.list, p.first, p.head = p.list[:n], p.first+uint64(p.head), 0
	}
	if _, ok := p.at[frame]; !ok {
		p.at[frame] = p.first + uint64(len(p.list))
	}
	p.list = append(p.list, exchange{frame: frame, file: file, row: row, repeated: repeated})
	p.bytes += len(row) + overhead
}

// of calls f with the requests of a frame.
func (p *pending) of(frame uint64, f func(x *exchange)) {
	n, ok := p.at[frame]
	if !ok {
		return
	}
	for i := n - p.first; i < uint64(len(p.list)) && p.list[i].frame == frame; i++ {
		f(&p.list[i])
	}
}

func (p *pending) found(frame uint64, refused, unanswered bool) {
	p.of(frame, func(x *exchange) {
		x.refused, x.unanswered = x.refused || refused, x.unanswered || unanswered
	})
}

// reply adds a reply, whose text is borrowed.
func (p *pending) reply(request uint64, r *reply) {
	p.of(request, func(x *exchange) {
		x.replies++
		have := x.reply
		if have == nil {
			have = &reply{frame: r.frame + 1}
			x.reply = have
			p.bytes += overhead
		}
		if r.frame < have.frame {
			have.frame, have.message = r.frame, p.name(r.message)
			if r.known {
				have.rtt, have.known = r.rtt, true
			}
			if r.server[0] != 0 {
				p.bytes += len(r.server) - len(have.server)
				have.server = p.keep(r.server)
			}
		}
		if r.known && !have.known {
			have.rtt, have.known = r.rtt, true
		}
		if len(have.server) == 0 && r.server[0] != 0 {
			p.bytes += len(r.server)
			have.server = p.keep(r.server)
		}
		have.bytes += r.bytes
		have.late, have.inPart = have.late || r.late, have.inPart || r.inPart
	})
}

// outcome returns what became of the request; see docs/questions.md.
func (x *exchange) outcome() string {
	switch {
	case x.reply != nil && x.reply.late:
		return "answered_late"
	case x.reply != nil && x.reply.inPart:
		return "answered_in_part"
	case x.reply != nil:
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

// exchangesOver writes the oldest exchanges until the others take up to limit bytes.
func (p *Parquet) exchangesOver(limit int) error {
	q := &p.pending
	for q.head < len(q.list) && q.bytes > limit {
		x := &q.list[q.head]
		p.exchange(x)
		q.bytes -= len(x.row) + overhead
		if x.reply != nil {
			q.bytes -= len(x.reply.server) + overhead
		}
		if q.at[x.frame] == q.first+uint64(q.head) {
			delete(q.at, x.frame)
		}
		*x = exchange{}
		q.head++
		if err := p.exchanges.passSome(); err != nil {
			return err
		}
	}
	return nil
}

// exchange writes an exchange.
func (p *Parquet) exchange(x *exchange) {
	in, t := &input{b: x.row[1:]}, p.exchanges
	l := in.place()
	name := in.text()
	in.kind() // role
	in.number()
	wire := in.number()
	t.begin()
	t.place(x.file, &l)
	t.text(name)
	t.text([]byte(x.outcome()))
	t.small(uint64(x.replies), true)
	r, is := x.reply, x.reply != nil
	if !is {
		r = new(reply)
	}
	t.text(r.message)
	t.number(r.frame, is)
	t.number(r.rtt, r.known)
	t.small(wire, true)
	t.number(r.bytes, true)
	if len(r.server) == 0 {
		t.absent(8)
	} else {
		t.server(&input{b: r.server})
	}
}
