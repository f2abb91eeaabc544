// Package serve answers queries as the servers in a capture answered them.
//
// [Read] learns from a capture which requests each server answered, with which
// datagrams, and after what time. A [Server] answers new requests. It matches a
// request by its meaning: protocol, type and content, without the values that one side
// chose ([dissect.Field].Chosen). In the reply, it replaces the values of the captured
// client by those of the new client, and the challenges of the captured server by its
// own.
//
// The package opens no sockets, starts no goroutines and reads no clock. Its state
// does not grow with the number of clients: challenges are hashes of the address of
// the client and the time.
package serve

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A Captured is a server in a capture with its answers.
type Captured struct {
	// Address is the captured address.
	Address netip.AddrPort

	answers []*answer
	byKey   map[string]*answer
	// Protocols are the protocols of the answers, in the order of the capture.
	Protocols []*dissect.Protocol
	// silent are the protocols whose replies lack a setting that the client asked to
	// have returned.
	silent map[*dissect.Protocol]bool
}

// An Entry describes a request that a captured server answered.
type Entry struct {
	Protocol string
	// Request and Reply are summaries, safe to print on a terminal.
	Request, Reply string
	// Frame is the frame of the request.
	Frame uint64
	// Datagrams, over TCP messages, and Bytes give the size of the reply.
	Datagrams, Bytes int
	TCP              bool
	// Incomplete reports whether the reply lacks a part or is malformed.
	Incomplete bool
	// Times is the number of times that the request was answered.
	Times int
}

// Names returns the names of the protocols that the server answers.
func (c *Captured) Names() []string {
	return nettext.Each(c.Protocols, func(p *dissect.Protocol) string { return p.Name })
}

// Uses reports whether the server answers over UDP and over TCP.
func (c *Captured) Uses() (udp, tcp bool) {
	tcp = slices.ContainsFunc(c.Protocols, (*dissect.Protocol).OverTCP)
	return slices.ContainsFunc(c.Protocols, func(p *dissect.Protocol) bool { return !p.OverTCP() }), tcp
}

// Choose returns the servers with a captured address, ADDR:PORT or the port alone. It
// fails for other names.
func Choose(list []*Captured, name string) ([]*Captured, error) {
	port, portErr := strconv.ParseUint(name, 10, 16)
	want, err := netip.ParseAddrPort(name)
	if err != nil && portErr != nil {
		return nil, errors.New("neither ADDR:PORT nor a port")
	}
	return slices.DeleteFunc(slices.Clone(list), func(c *Captured) bool {
		return portErr == nil && c.Address.Port() != uint16(port) || portErr != nil && c.Address != want
	}), nil
}

// Entries returns the requests that the server answers, in the order of the capture.
func (c *Captured) Entries() (list []Entry) {
	for _, a := range c.answers {
		for _, challengeOnly := range [...]bool{true, false} {
			t, n := a.first(challengeOnly)
			if t == nil {
				continue
			}
			list = append(list, Entry{
				Protocol: a.protocol.Name, Request: t.query.title, Reply: t.title, Frame: t.frame,
				Datagrams: len(t.datagrams), Bytes: size(t.datagrams), TCP: a.protocol.OverTCP(), Times: n, Incomplete: !t.whole,
			})
		}
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return cmp.Compare(a.Frame, b.Frame) })
	return list
}

// A Datagram is a datagram of a reply.
type Datagram struct {
	// After is the time from the request.
	After   time.Duration
	Payload []byte
}

func size(list []Datagram) int {
	return nettext.Sum(list, func(d Datagram) int { return len(d.Payload) })
}

// A Result is the outcome of a request.
type Result uint8

const (
	// Answered means that the reply is the captured one.
	Answered Result = iota
	// Challenged means that the reply is a challenge.
	Challenged
	// NotCaptured means that the capture has no answer to such a request.
	NotCaptured
	// NoChallenge means that the captured server answers only with a valid challenge.
	NoChallenge
	// NoRequest means that the message asks for nothing.
	NoRequest
	// Withheld means that the reply is longer than the request, and that the address
	// of the client is unproven.
	Withheld
)

var resultNames = [...]string{
	"answered", "challenged", "no answer to such a request in the capture", "not answered without a valid challenge", "asks for nothing",
	"withheld: longer than the request, and no challenge proves the address",
}

func (r Result) String() string { return resultNames[r] }

// Key returns the name of the result in JSON.
func (r Result) Key() string {
	return [...]string{"answered", "challenged", "not_captured", "no_challenge", "no_request", "withheld"}[r]
}

// An Answer is the reaction to a request.
type Answer struct {
	Result Result
	// Protocol, Request and Reply describe the exchange. Reply is empty if there is
	// none. They are safe to print on a terminal.
	Protocol, Request, Reply string
	// Frame is the frame of the captured request, 0 if there is none.
	Frame uint64
	// TCP says that the exchange is over TCP.
	TCP bool
	// Datagrams are the reply, ordered by time; over TCP its messages.
	Datagrams []Datagram
	// Happened counts the faults on purpose.
	Happened
}

// Bytes returns the size of the reply.
func (a *Answer) Bytes() int { return size(a.Datagrams) }

// Options configure a server.
type Options struct {
	// Guarded is for servers that strangers can reach: only a client with a valid
	// challenge gets more bytes than it sent.
	Guarded bool
	// Key is the secret key for challenges.
	Key [32]byte
	// Trouble is the network faults to simulate.
	Trouble Trouble
	// NoDelay sends all datagrams immediately.
	NoDelay bool
}

// A Server answers for one captured server. It must not be used by several goroutines
// at once.
type Server struct {
	captured *Captured
	options  Options
	tokens   tokens
	readers  []*requestReader
	played   map[any]uint64
	sequence uint64
}

// New returns a server with the answers of c.
func New(c *Captured, o Options) *Server {
	s := &Server{captured: c, options: o, played: make(map[any]uint64)}
	s.tokens = tokens{key: o.Key, server: c.Address.String()}
	s.readers = nettext.Each(c.Protocols, func(p *dissect.Protocol) *requestReader { return &requestReader{protocol: p, decoder: p.New()} })
	return s
}

// Panics returns the number of datagrams that made a decoder panic.
func (s *Server) Panics() uint64 {
	return nettext.Sum(s.readers, func(r *requestReader) uint64 { return r.panics })
}

// Answer returns the reaction to a datagram from a client. The caller owns the result.
func (s *Server) Answer(from netip.AddrPort, now time.Time, payload []byte) Answer {
	return s.answer(from, now, payload, false)
}

func (s *Server) answer(from netip.AddrPort, now time.Time, payload []byte, tcp bool) Answer {
	q, a := s.find(payload, tcp)
	if a == nil {
		out := Unknown(payload)
		if q != nil {
			out.Protocol, out.Request = q.protocol.Name, q.title
			if q.oneWay {
				out.Result = NoRequest
			}
		}
		return out
	}
	proven := tcp || q.challenge == dissect.ChallengeUsed && s.tokens.valid(from.Addr(), now, a.protocol, uint32(q.value))
	out := Answer{Protocol: a.protocol.Name, Request: q.title, TCP: tcp}
	h := &a.protocol.Handshake
	t := a.choose(q, proven)
	switch {
	case t == nil && h.Give == nil:
		out.Result = NoChallenge
		return out
	case t == nil:
		s.challenge(&out, a, from, now)
	default:
		s.play(&out, a, t, q, from, now)
	}
	if s.options.Guarded && !proven && out.Bytes() > len(payload) {
		if h.Give != nil && out.Result != Challenged && q.challenge != dissect.NoChallenge {
			s.challenge(&out, a, from, now)
		}
		if out.Bytes() > len(payload) {
			out.Result, out.Reply, out.Datagrams = Withheld, "", nil
			return out
		}
	}
	room := nettext.Either(s.options.Guarded && !proven, len(payload), -1)
	s.finish(&out, a, room)
	return out
}

// maxMessage is the longest message over TCP that is read.
const maxMessage = 1 << 16

// Next returns the reaction to the first message of what a client has sent over TCP, and its length: 0 if more bytes are needed, and -1 if no
// protocol of the server has such a message. waits says that the client waits for a reply, so that a message which does not tell its length
// is whole. over says that the server closes the connection after the reply.
func (s *Server) Next(from netip.AddrPort, now time.Time, sent []byte, waits bool) (n int, out Answer, over bool) {
	n = -1
	for _, r := range s.readers {
		if !r.protocol.OverTCP() {
			continue
		}
		size, whole := r.protocol.Stream(sent)
		if size == 0 && whole && waits {
			size = len(sent)
		}
		switch {
		case size < 0, size > maxMessage:
		case size > 0 && size <= len(sent):
			out = s.answer(from, now, sent[:size], true)
			for _, d := range out.Datagrams {
				_, last := r.protocol.Stream(d.Payload)
				over = over || last
			}
			return size, out, over
		case len(sent) <= maxMessage:
			n = 0
		}
	}
	return n, out, false
}

// Unknown is the reaction to what no protocol recognises.
func Unknown(payload []byte) Answer {
	return Answer{Result: NotCaptured, Protocol: "unknown", Request: rawTitle(payload)}
}

// find decodes a request and returns it with its answer.
func (s *Server) find(payload []byte, tcp bool) (q *query, a *answer) {
	var verdicts [maxVerdict + 1][]*requestReader
	least := nettext.Either(tcp, dissect.Doubtful, dissect.Possible) // the connection tells
	for _, r := range s.readers {
		if r.protocol.OverTCP() != tcp {
			continue
		}
		v := r.protocol.Detect(payload[:min(len(payload), detectBytes)])
		verdicts[v] = append(verdicts[v], r)
	}
	for v := maxVerdict; v >= least; v-- {
		for _, r := range verdicts[v] {
			got, ok := r.read(payload)
			if !ok {
				continue
			}
			if a := s.captured.byKey[got.key]; a != nil {
				return got, a
			}
			if q == nil {
				q = got
			}
		}
	}
	return q, nil
}

// detectBytes is the number of bytes that detectors get.
const (
	detectBytes = 64
	maxVerdict  = dissect.Certain
)

// challenge replies with a challenge.
func (s *Server) challenge(out *Answer, a *answer, from netip.AddrPort, now time.Time) {
	token := s.tokens.give(from.Addr(), now, a.protocol)
	out.Result, out.Reply, out.Frame = Challenged, "challenge", 0
	out.Datagrams = []Datagram{{Payload: a.protocol.Handshake.Give(nil, token)}}
}

// play replies with a captured exchange.
func (s *Server) play(out *Answer, a *answer, t *exchange, q *query, from netip.AddrPort, now time.Time) {
	out.Frame, out.Reply, out.Result = t.frame, t.title, Answered
	f := fill{query: q, number: s.sequence + 1, turn: s.played[t]}
	if t.challengeOnly {
		out.Result, out.Reply = Challenged, t.kind // without the number of the captured challenge
		f.token = s.tokens.give(from.Addr(), now, a.protocol)
	}
	s.sequence++
	s.played[t]++
	for i := range t.datagrams {
		out.Datagrams = append(out.Datagrams, Datagram{t.datagrams[i].After, f.rewrite(t.datagrams[i].Payload, t.edits[i])})
	}
	if q.setting != nil && !t.query.hasSetting() && !s.captured.silent[a.protocol] {
		f.insert(t, out.Datagrams, a.protocol.Handshake.Setting)
	}
}

// finish applies delays and faults. It sends at most room bytes; -1 means no limit.
func (s *Server) finish(out *Answer, a *answer, room int) {
	trouble := nettext.Either(a.protocol.OverTCP(), Trouble{}, s.options.Trouble) // TCP mends it
	out.Datagrams, out.Happened = trouble.apply(out.Datagrams, a.key, s.played[a], s.options.NoDelay, room)
	s.played[a]++
}

// rawTitle formats the start of a datagram that no protocol recognises.
func rawTitle(payload []byte) string {
	const show = 16
	text := fmt.Sprintf("%s  % x", nettext.Count(len(payload), "byte"), payload[:min(show, len(payload))])
	return nettext.Either(len(payload) > show, text+" …", strings.TrimSpace(text))
}

// mostToken is the largest challenge that is made anew.
const mostToken = 1<<32 - 1

// epoch is the lifetime of a challenge. It remains valid for one more epoch.
const epoch = 30 * time.Second

// tokens computes challenges. A challenge is a keyed hash, so none is stored. It does
// not depend on the port of the client, because some clients change it with every
// request.
type tokens struct {
	key    [32]byte
	server string
}

func (t *tokens) at(client netip.Addr, n int64, p *dissect.Protocol) uint32 {
	h := hmac.New(sha256.New, t.key[:])
	ip := client.Unmap().As16()
	h.Write(ip[:])
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
	h.Write([]byte(p.Name + " " + t.server))
	bits := cmp.Or(p.Handshake.Bits, 31)
	// The highest bit is always set: 0 means no challenge, and qstat ignores those of
	// Minecraft that have fewer than six digits.
	return (binary.BigEndian.Uint32(h.Sum(nil)) | 1<<31) >> (32 - bits)
}

// give returns the challenge for a client.
func (t *tokens) give(client netip.Addr, now time.Time, p *dissect.Protocol) uint32 {
	return t.at(client, epochOf(now), p)
}

// valid reports whether the client has got this challenge recently.
func (t *tokens) valid(client netip.Addr, now time.Time, p *dissect.Protocol, v uint32) bool {
	n := epochOf(now)
	return v == t.at(client, n, p) || v == t.at(client, n-1, p)
}

func epochOf(now time.Time) int64 { return now.UnixNano() / int64(epoch) }

// Trouble simulates network faults. Each value is the probability for a datagram, from
// 0 to 1.
type Trouble struct {
	// Loss drops the datagram.
	Loss float64
	// Duplicate sends it twice.
	Duplicate float64
	// Reorder sends it after the next datagram of the reply. It delays the last
	// datagram.
	Reorder float64
	// Truncate cuts it at a random length.
	Truncate float64
	// Seed makes faults reproducible. The faults of a reply depend on the seed, the
	// request, and how many replies to that request came before.
	Seed uint64
}

// Happened counts the datagrams of a reply that had a fault.
type Happened struct{ Lost, Duplicated, Reordered, Truncated int }

// hold is the delay of a reordered last datagram.
const hold = 30 * time.Millisecond

// apply applies faults to a reply, the nth to the request of this key. It keeps at
// most room bytes; -1 means no limit.
func (t *Trouble) apply(list []Datagram, key string, nth uint64, noDelay bool, room int) (out []Datagram, h Happened) {
	hash := fnv.New64a()
	hash.Write([]byte(key))
	random := rand.New(rand.NewPCG(t.Seed, hash.Sum64()+nth*0x9e3779b97f4a7c15))
	type fate struct {
		lost, twice bool
		cut         int
	}
	slices.SortStableFunc(list, func(a, b Datagram) int { return cmp.Compare(a.After, b.After) })
	fates := make([]fate, len(list))
	late := make([]bool, len(list))
	for i := range list {
		// Draw every number, so that one probability does not affect another fault.
		loss, twice, cut, reorder, at := random.Float64(), random.Float64(), random.Float64(), random.Float64(), random.Float64()
		f := &fates[i]
		f.lost, f.twice, f.cut = loss < t.Loss, twice < t.Duplicate, -1
		if n := len(list[i].Payload); cut < t.Truncate && n > 1 {
			f.cut = 1 + int(at*float64(n-1))
		}
		late[i] = reorder < t.Reorder
		if noDelay {
			list[i].After = 0
		}
	}
	for i := 0; i < len(list); i++ {
		if !late[i] {
			continue
		}
		h.Reordered++
		if i+1 == len(list) {
			list[i].After += hold
			break
		}
		list[i].Payload, list[i+1].Payload = list[i+1].Payload, list[i].Payload
		fates[i], fates[i+1] = fates[i+1], fates[i]
		i++
	}
	out = make([]Datagram, 0, len(list))
	for i, d := range list {
		f := &fates[i]
		if f.lost {
			h.Lost++
			continue
		}
		if f.cut > 0 {
			h.Truncated++
			d.Payload = d.Payload[:f.cut]
		}
		copies := 1
		if f.twice {
			h.Duplicated++
			copies = 2
		}
		for range copies {
			if room >= 0 {
				if len(d.Payload) > room {
					break
				}
				room -= len(d.Payload)
			}
			out = append(out, d)
		}
	}
	return out, h
}
