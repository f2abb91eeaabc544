package stats

// A server is what is counted for an address and port that is asked or that replies.
type server struct {
	protocol                                                 uint16 // index plus one
	requests, replies, challenges, unknown                   uint64
	bytesIn, bytesOut                                        uint64
	spare                                                    spare
	answered, challenged, late, partial, refused, unanswered uint64
	incomplete                                               uint64
	clients                                                  distinct
	kinds                                                    [6]asked
	name, mapName                                            []byte
	players                                                  int32 // plus one, 0 if unknown
	icmp                                                     string
	icmpFrame                                                uint64
	first, last                                              int64
	began                                                    bool
	more                                                     *more
}

// An asked counts the outcomes of one kind of request at a server.
type asked struct {
	kind                            uint16 // index plus one
	requests, good, bad, incomplete uint32
}

// of returns the counts of a kind, nil if there is no room.
func (s *server) of(kind uint16) *asked {
	for i := range s.kinds {
		if k := &s.kinds[i]; k.kind == kind+1 || k.kind == 0 {
			k.kind = kind + 1
			return k
		}
	}
	return nil
}

// A more is what is kept for the busiest servers.
type more struct {
	cells cells
	trips histogram
}

// maxName bounds the name of a server and of its map.
const maxName = 128

func (s *server) at(t int64) {
	if !s.began {
		s.began, s.first, s.last = true, t, t
		return
	}
	s.first, s.last = min(s.first, t), max(s.last, t)
}

// outcome returns the outcomes; what is not known yet and what is not counted are the rest.
func (s *server) outcome() Outcome {
	return outcomeOf(s.requests, s.answered, s.challenged, s.late, s.partial, s.refused, s.unanswered)
}

func outcomeOf(requests, answered, challenged, late, partial, refused, unanswered uint64) Outcome {
	unanswered -= min(late, unanswered)
	sum := answered + challenged + late + partial + refused + unanswered
	return Outcome{answered, challenged, late, partial, refused, unanswered, requests - min(sum, requests)}
}

// merge adds the counts of o, whose protocol is given.
func (s *server) merge(o *server, protocol uint16, kinds []uint16, room *sketchRoom) {
	if s.protocol == 0 {
		s.protocol = protocol
	}
	s.requests += o.requests
	s.replies += o.replies
	s.challenges += o.challenges
	s.unknown += o.unknown
	s.bytesIn += o.bytesIn
	s.bytesOut += o.bytesOut
	s.spare.add(&o.spare)
	s.answered += o.answered
	s.challenged += o.challenged
	s.late += o.late
	s.partial += o.partial
	s.refused += o.refused
	s.unanswered += o.unanswered
	s.incomplete += o.incomplete
	s.clients.merge(&o.clients, room)
	for _, k := range o.kinds {
		if k.kind == 0 {
			break
		}
		if own := s.of(kinds[k.kind-1]); own != nil {
			own.requests = addSaturated(own.requests, k.requests)
			own.good = addSaturated(own.good, k.good)
			own.bad = addSaturated(own.bad, k.bad)
			own.incomplete = addSaturated(own.incomplete, k.incomplete)
		}
	}
	if len(o.name) > 0 && (len(s.name) == 0 || o.last > s.last) {
		s.name = append(s.name[:0], o.name...)
	}
	if len(o.mapName) > 0 && (len(s.mapName) == 0 || o.last > s.last) {
		s.mapName = append(s.mapName[:0], o.mapName...)
	}
	if o.players > 0 && (s.players == 0 || o.last > s.last) {
		s.players = o.players
	}
	if o.icmpFrame > s.icmpFrame {
		s.icmp, s.icmpFrame = o.icmp, o.icmpFrame
	}
	if o.began {
		s.at(o.first)
		s.at(o.last)
	}
}

// A kind is a kind of request of a protocol.
type kind struct {
	protocol, message                                        string
	title                                                    string
	requests, bytesIn, bytesOut, unproven                    uint64
	answered, challenged, late, partial, refused, unanswered uint64
	// What payloads have in common: their lengths, of all and of those without a challenge, and their first bytes.
	least, most                 uint32
	leastUnproven, mostUnproven uint32
	common                      [16]byte
	alike                       uint8
	cells                       cells
}

func (k *kind) outcome() Outcome {
	return outcomeOf(k.requests, k.answered, k.challenged, k.late, k.partial, k.refused, k.unanswered)
}

// looks records the length and the first bytes of a request.
func (k *kind) looks(payload []byte, proven bool) {
	n := uint32(len(payload))
	if k.requests == 1 {
		k.least, k.most = n, n
		k.alike = uint8(copy(k.common[:], payload))
	} else {
		k.least, k.most = min(k.least, n), max(k.most, n)
		k.shorten(payload)
	}
	if proven {
		return
	}
	if k.unproven == 1 {
		k.leastUnproven, k.mostUnproven = n, n
	} else {
		k.leastUnproven, k.mostUnproven = min(k.leastUnproven, n), max(k.mostUnproven, n)
	}
}

// shorten reduces the common bytes to what b has as well.
func (k *kind) shorten(b []byte) {
	b = b[:min(len(b), int(k.alike))]
	if string(b) == string(k.common[:len(b)]) {
		k.alike = uint8(len(b))
		return
	}
	n := 0
	for b[n] == k.common[n] {
		n++
	}
	k.alike = uint8(n)
}

func (k *kind) merge(o *kind) {
	switch {
	case o.requests == 0:
	case k.requests == 0:
		k.least, k.most, k.common, k.alike = o.least, o.most, o.common, o.alike
	default:
		k.least, k.most = min(k.least, o.least), max(k.most, o.most)
		k.shorten(o.common[:o.alike])
	}
	switch {
	case o.unproven == 0:
	case k.unproven == 0:
		k.leastUnproven, k.mostUnproven = o.leastUnproven, o.mostUnproven
	default:
		k.leastUnproven, k.mostUnproven = min(k.leastUnproven, o.leastUnproven), max(k.mostUnproven, o.mostUnproven)
	}
	k.requests += o.requests
	k.bytesIn += o.bytesIn
	k.bytesOut += o.bytesOut
	k.unproven += o.unproven
	k.answered += o.answered
	k.challenged += o.challenged
	k.late += o.late
	k.partial += o.partial
	k.refused += o.refused
	k.unanswered += o.unanswered
	k.cells.merge(&o.cells)
}

// A finding is what is counted for a type of finding.
type finding struct {
	id, severity, text, doc string
	count                   uint64
	first, last             int64
	examples                []Example // of the lowest frames
}

const maxExamples = 3

// example adds an example, if it is among the first.
func (f *finding) example(e Example) {
	i := len(f.examples)
	for i > 0 && e.before(&f.examples[i-1]) {
		i--
	}
	if i >= maxExamples {
		return
	}
	f.examples = append(f.examples, Example{})
	copy(f.examples[i+1:], f.examples[i:])
	f.examples[i] = e
	f.examples = f.examples[:min(len(f.examples), maxExamples)]
}

func (e *Example) before(o *Example) bool {
	return e.input < o.input || e.input == o.input && e.Frame < o.Frame
}

func (f *finding) merge(o *finding) {
	if len(o.examples) > 0 && (len(f.examples) == 0 || o.examples[0].before(&f.examples[0])) {
		f.text = o.text
	}
	f.count += o.count
	f.first, f.last = min(f.first, o.first), max(f.last, o.last)
	for _, e := range o.examples {
		f.example(e)
	}
}
