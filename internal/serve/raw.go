package serve

import (
	"bytes"
	"fmt"
	"slices"
)

// A raw is an exchange of datagrams that no protocol recognises. It is matched by the
// bytes of the request.
type raw struct {
	request   []byte
	frame     uint64
	times     int
	datagrams []Datagram
	echoes    [][]echo // by datagram
	free      []bool   // bytes of the request that the reply echoes
}

// An echo is a run of bytes in both request and reply.
type echo struct{ from, to, n int }

// minEcho is the length of the shortest echo. Request ids have 4 bytes or more.
const minEcho = 4

// maxRaws limits the exchanges per server.
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

// find returns the echoes in a reply. If a run occurs several times, it uses the first
// place.
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

// findRaw returns the exchange for a datagram: the same request, one that differs only
// in echoed bytes, or a mostly equal one of the same length.
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

// rawTitle formats the start of a datagram.
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
