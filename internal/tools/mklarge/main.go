// Command mklarge writes the large capture for benchmarks. Half of its packets are game
// queries of eleven protocols, replayed from the project's captures with other addresses,
// including splits, bzip2 and IP fragments; the other half is foreign traffic. Some have
// IPv6 or VLAN tags. The same arguments give the same bytes. Run it in the root of the
// project.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/reassembly"
)

func main() {
	n, name := flag.Uint64("n", 3_000_000, "packets"), flag.String("o", "", "file to write")
	flood := flag.Uint64("flood", 0, "add this many requests from forged sources")
	foreign := flag.Bool("foreign", false, "write foreign packets only")
	plain := flag.Bool("plain", false, "leave out compressed messages")
	flag.Parse()
	if err := run(*name, *n, *flood, *foreign, *plain); err != nil {
		fmt.Fprintln(os.Stderr, "mklarge:", err)
		os.Exit(1)
	}
}

// A session is a conversation to replay.
type session struct {
	turns  []turn
	broken bool // from a capture of trouble
	last   time.Time
}

type turn struct {
	reply   bool
	after   time.Duration
	payload []byte
}

// compressed reports whether a turn is a part of a Source reply with the compression bit
// in its ID.
func (s session) compressed() bool {
	return slices.ContainsFunc(s.turns, func(t turn) bool {
		return len(t.payload) > 8 && bytes.HasPrefix(t.payload, []byte("\xfe\xff\xff\xff")) && t.payload[7]&0x80 != 0
	})
}

func run(name string, n, flood uint64, foreignOnly, plain bool) error {
	sessions, err := load(filepath.Join("testdata", "pcaps"))
	if err != nil {
		return err
	}
	packed := packedSessions(200)
	if plain {
		packed, sessions = nil, slices.DeleteFunc(sessions, session.compressed)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	m := &maker{
		w: mkpcap.NewWriter(out, mkpcap.Options{MTU: 1500}), rng: rand.New(rand.NewPCG(1, 1)),
		forger: rand.New(rand.NewPCG(3, 3)),
		now:    time.Unix(1_700_000_000, 0), sessions: sessions, packed: packed,
	}
	every := uint64(0)
	if flood > 0 {
		every = max(1, n/flood)
	}
	per := max(1, flood/max(1, n))
	for m.w.Frames < n+flood {
		if foreignOnly {
			m.foreign()
		} else {
			m.next()
		}
		if every > 0 && m.w.Frames%every == 0 {
			for range per {
				m.forged()
			}
		}
	}
	return cmp.Or(m.w.Err(), out.Flush(), f.Close())
}

// replayed are the folders of captures that are replayed. Protocols
// that are added later are not among them, so that figures of the past stay comparable.
var replayed = []string{"a2s", "ase", "doom3", "gamespy1", "gamespy2", "gamespy3", "icmp", "minecraft", "quake3", "quake3-master", "valve-master"}

// load extracts the conversations from the captures below root.
func load(root string) (list []session, err error) {
	err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || ext != ".pcap" && ext != ".pcapng" || !slices.Contains(replayed, filepath.Base(filepath.Dir(path))) {
			return err
		}
		r, err := capture.Open(path)
		if err != nil {
			return err
		}
		defer r.Close()
		found := map[[2]netip.AddrPort]int{}
		var order []session
		d := packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, nil)
		var f capture.Frame
		var dg packet.Datagram
		for r.Next(&f) == nil {
			raw := packet.Frame{Number: f.Number, Time: f.Time.UTC(), LinkType: f.LinkType, Data: f.Data, Length: f.Length}
			if !d.Decode(&raw, &dg).OK() {
				continue
			}
			key, reply := [2]netip.AddrPort{dg.Src, dg.Dst}, false
			i, ok := found[key]
			if !ok {
				if i, reply = found[[2]netip.AddrPort{dg.Dst, dg.Src}]; !reply {
					i = len(order)
					found[key] = i
					order = append(order, session{broken: strings.HasPrefix(filepath.Base(path), "trouble"), last: f.Time.UTC()})
				}
			}
			s := &order[i]
			after := min(max(0, f.Time.UTC().Sub(s.last)), 50*time.Millisecond)
			s.last = f.Time.UTC()
			s.turns = append(s.turns, turn{reply, after, bytes.Clone(dg.Payload)})
		}
		list = append(list, order...)
		return nil
	})
	return list, err
}

// packedSessions are rules requests with compressed replies of about 5300
// bytes in several parts.
func packedSessions(n int) (list []session) {
	rng := rand.New(rand.NewPCG(2, 2))
	for k := range n {
		b := []byte("\xff\xff\xff\xffE\x00\x00")
		rules := 0
		for len(b) < 5300 {
			b = fmt.Appendf(b, "mp_%s_%03d\x00%d\x00", []string{"limit", "weapon", "team_balance", "round"}[rng.IntN(4)], rng.IntN(400), rng.IntN(100000))
			rules++
		}
		binary.LittleEndian.PutUint16(b[5:], uint16(rules))
		s := session{turns: []turn{{payload: []byte("\xff\xff\xff\xffV\x01\x02\x03\x04")}}}
		for _, p := range hostile.Pack(uint32(k), 1248, string(b)) {
			s.turns = append(s.turns, turn{true, time.Millisecond, []byte(p)})
		}
		list = append(list, s)
	}
	return list
}

// maker writes the capture.
type maker struct {
	w        *mkpcap.Writer
	rng      *rand.Rand
	forger   *rand.Rand // of its own, so that a flood changes nothing else
	now      time.Time
	sessions []session
	packed   []session
	playing  []playing
	noise    [1500]byte
}

// playing is a session on its way.
type playing struct {
	s              *session
	next           int
	client, server netip.AddrPort
	vlan           uint16
}

const (
	// concurrent is the number of simultaneous sessions.
	concurrent = 400
	// One session in packedShare is a compressed reply in addition to those in the
	// captures: about 17,000 in all in three million packets.
	packedShare = 38
	// One in troubleShare of the sessions from captures of problems is replayed, because
	// problems are rare.
	troubleShare = 10
)

func (m *maker) addr(six bool, net byte) netip.Addr {
	if six {
		a := [16]byte{0x20, 0x01, 0x0d, 0xb8, net}
		binary.BigEndian.PutUint32(a[12:], m.rng.Uint32N(60000))
		return netip.AddrFrom16(a)
	}
	n := m.rng.Uint32N(60000)
	return netip.AddrFrom4([4]byte{10, net, byte(n >> 8), byte(n)})
}

// next writes a packet of a game or a foreign one.
func (m *maker) next() {
	m.now = m.now.Add(time.Duration(m.rng.IntN(40)) * time.Microsecond)
	if m.rng.IntN(2) == 0 {
		m.foreign()
		return
	}
	for len(m.playing) < concurrent {
		s := &m.sessions[m.rng.IntN(len(m.sessions))]
		for s.broken && m.rng.IntN(troubleShare) != 0 {
			s = &m.sessions[m.rng.IntN(len(m.sessions))]
		}
		if len(m.packed) > 0 && m.rng.IntN(packedShare) == 0 {
			s = &m.packed[m.rng.IntN(len(m.packed))]
		}
		six := m.rng.IntN(5) == 0
		p := playing{s: s, client: netip.AddrPortFrom(m.addr(six, 1), uint16(1024+m.rng.IntN(60000))), server: netip.AddrPortFrom(m.addr(six, 2), uint16(27015+m.rng.IntN(5)))}
		if m.rng.IntN(5) == 0 {
			p.vlan = uint16(1 + m.rng.IntN(100))
		}
		m.playing = append(m.playing, p)
	}
	i := m.rng.IntN(len(m.playing))
	p := &m.playing[i]
	t := &p.s.turns[p.next]
	m.w.Tag(p.vlan)
	if t.reply {
		m.w.UDP(m.now, p.server, p.client, t.payload)
	} else {
		m.w.UDP(m.now, p.client, p.server, t.payload)
	}
	m.w.Tag(0)
	if p.next++; p.next == len(p.s.turns) {
		m.playing[i] = m.playing[len(m.playing)-1]
		m.playing = m.playing[:len(m.playing)-1]
	}
}

// foreign writes other traffic: media, DNS, QUIC, TCP.
func (m *maker) foreign() {
	m.now = m.now.Add(time.Duration(m.rng.IntN(20)) * time.Microsecond)
	six := m.rng.IntN(5) == 0
	src, dst := netip.AddrPortFrom(m.addr(six, 3), uint16(1024+m.rng.IntN(60000))), netip.AddrPortFrom(m.addr(six, 4), uint16(m.rng.IntN(65536)))
	payload := m.noise[:20+m.rng.IntN(900)]
	for i := 0; i < len(payload); i += 8 {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], m.rng.Uint64())
		copy(payload[i:], b[:])
	}
	if m.rng.IntN(5) == 0 {
		m.w.Tag(uint16(1 + m.rng.IntN(100)))
		defer m.w.Tag(0)
	}
	switch m.rng.IntN(10) {
	case 0: // DNS
		dst = netip.AddrPortFrom(dst.Addr(), 53)
		payload = append(payload[:0], byte(m.rng.Uint32()), byte(m.rng.Uint32()), 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3, 'w', 'w', 'w', 4, 't', 'e', 's', 't', 0, 0, 1, 0, 1)
	case 1, 2: // RTP
		payload[0], payload[1] = 0x80, 0x60
	case 3, 4: // QUIC
		payload[0] = 0x40 | payload[0]&0x3f
	case 5, 6: // TCP
		m.w.Segment(m.now, src.Addr(), dst.Addr(), 6, payload)
		return
	}
	m.w.UDP(m.now, src, dst, payload)
}

// forged writes a request from a source address that is used once.
func (m *maker) forged() {
	a := [4]byte{}
	binary.BigEndian.PutUint32(a[:], m.forger.Uint32())
	src := netip.AddrPortFrom(netip.AddrFrom4(a), uint16(1024+m.forger.IntN(60000)))
	m.w.UDP(m.now, src, netip.MustParseAddrPort("10.2.0.1:27015"), []byte("\xff\xff\xff\xffTSource Engine Query\x00"))
}
