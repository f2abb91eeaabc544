package serve

import (
	"bytes"
	"fmt"
	"slices"
)

// A raw is an exchange of datagrams that no protocol recognises. Its request is
// known by its bytes.
type raw struct {
	request   []byte
	frame     uint64
	times     int
	datagrams []Datagram
	echoes    [][]echo // of each
	free      []bool   // bytes of the request that come back
}

// An echo is a run of bytes that stands in the request and in the reply.
type echo struct{ from, to, n int }

// minEcho is the shortest run that is taken for an echo: numbers by which
// clients know replies have 4 bytes or more.
const minEcho = 4

// maxRaws is how many such exchanges are kept of a server.
const maxRaws = 1024

func (c *Captured) addRaw(e *event, datagrams []Datagram) {
	for _, r := range c.raws {
		if bytes.Equal(r.request, e.payload) {
			r.times++
			return
		}
	}
	if len(c.raws) >= maxRaws {
		return
	}
	r := &raw{request: e.payload, frame: e.frame, times: 1, datagrams: datagrams, free: make([]bool, len(e.payload))}
	for i := range datagrams {
		r.echoes = append(r.echoes, r.find(datagrams[i].Payload))
	}
	c.raws = append(c.raws, r)
}

// find finds what of the request comes back in a reply. Of runs that stand in it
// more than once the first place counts.
func (r *raw) find(reply []byte) (list []echo) {
	for i := 0; i+minEcho <= len(r.request); {
		at := bytes.Index(reply, r.request[i:i+minEcho])
		if at < 0 {
			i++
			continue
		}
		n := minEcho
		for i+n < len(r.request) && at+n < len(reply) && r.request[i+n] == reply[at+n] {
			n++
		}
		list = append(list, echo{i, at, n})
		for k := i; k < i+n; k++ {
			r.free[k] = true
		}
		i += n
	}
	return list
}

// findRaw finds the exchange whose request a datagram is: the same bytes; or
// others only where the reply has them too; or of the same length and for the
// most part the same.
func (s *Server) findRaw(payload []byte) (best *raw) {
	rank := 0
	for _, r := range s.captured.raws {
		if len(r.request) != len(payload) || len(payload) == 0 {
			continue
		}
		same, other := 0, 0
		for i := range payload {
			switch {
			case payload[i] == r.request[i]:
				same++
			case !r.free[i]:
				other++
			}
		}
		n := 0
		switch {
		case same == len(payload):
			return r
		case other == 0:
			n = 1 << 20
		case payload[0] == r.request[0] && same*2 >= len(payload) && len(payload) >= 8:
			n = same
		}
		if n > rank {
			best, rank = r, n
		}
	}
	return best
}

func (s *Server) answerRaw(r *raw, payload []byte) Answer {
	out := Answer{Protocol: Unknown, Request: rawTitle(payload), Reply: rawReply(r.datagrams), Frame: r.frame}
	if s.options.Guarded && size(r.datagrams) > len(payload) {
		out.Result, out.Reply = Withheld, ""
		return out
	}
	for i := range r.datagrams {
		p := slices.Clone(r.datagrams[i].Payload)
		for _, e := range r.echoes[i] {
			copy(p[e.to:e.to+e.n], payload[e.from:e.from+e.n])
		}
		out.Datagrams = append(out.Datagrams, Datagram{r.datagrams[i].After, p})
	}
	room := -1
	if s.options.Guarded {
		room = len(payload)
	}
	s.finish(&out, r, room)
	return out
}

// rawTitle shows the beginning of a datagram.
func rawTitle(payload []byte) string {
	const show = 16
	if len(payload) > show {
		return fmt.Sprintf("%d bytes  % x …", len(payload), payload[:show])
	}
	return fmt.Sprintf("%d bytes  % x", len(payload), payload)
}

func rawReply(list []Datagram) string {
	if len(list) == 0 {
		return ""
	}
	return rawTitle(list[0].Payload)
}
