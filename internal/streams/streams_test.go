package streams_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/minecraftjava"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/streams"
)

var (
	client = netip.MustParseAddrPort("192.0.2.30:40000")
	server = netip.MustParseAddrPort("198.51.100.40:25565")
	start  = time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
)

const (
	fin = 1
	syn = 2
	rst = 4
	ack = 16
)

// A segment is one of a connection between client and server.
type segment struct {
	back     bool // from the server
	flags    byte
	seq, ack uint32
	data     string
	cut      int // bytes after data that the snapshot length took
	src, dst netip.AddrPort
	at       time.Duration
}

// ip returns the segment in an IPv4 packet.
func (g *segment) ip() (packet, tcp []byte) {
	b := make([]byte, 40, 40+len(g.data))
	b[0], b[8], b[9] = 0x45, 64, 6
	src, dst := g.src.Addr().As4(), g.dst.Addr().As4()
	copy(b[12:], src[:])
	copy(b[16:], dst[:])
	t := b[20:]
	binary.BigEndian.PutUint16(t, g.src.Port())
	binary.BigEndian.PutUint16(t[2:], g.dst.Port())
	binary.BigEndian.PutUint32(t[4:], g.seq)
	binary.BigEndian.PutUint32(t[8:], g.ack)
	binary.BigEndian.PutUint16(b[2:], uint16(40+len(g.data)+g.cut))
	t[12], t[13] = 5<<4, g.flags
	b = append(b, g.data...)
	return b, b[20:]
}

// talk is a connection: what client and server say in turn.
func talk(at netip.AddrPort, size int, said ...string) (list []segment) {
	next := [2]uint32{0xfffffff0, 5000} // the first wraps around
	add := func(from int, flags byte, data string) {
		g := segment{back: from == 1, flags: flags, seq: next[from], ack: next[1-from], data: data, src: client, dst: at, at: time.Duration(len(list)) * time.Millisecond}
		if g.back {
			g.src, g.dst = at, client
		}
		list = append(list, g)
		if next[from] += uint32(len(data)); flags&(syn|fin) != 0 {
			next[from]++
		}
	}
	add(0, syn, "")
	add(1, syn|ack, "")
	add(0, ack, "")
	for i, s := range said {
		for chunk := range slices.Chunk([]byte(s), size) {
			add(i%2, ack, string(chunk))
		}
	}
	add(0, fin|ack, "")
	add(1, fin|ack, "")
	return list
}

// heard runs segments and returns the messages, one on each line.
func heard(t testing.TB, list []segment) string {
	t.Helper()
	var b strings.Builder
	s := streams.New([]*dissect.Protocol{minecraftjava.Protocol()}, nil, func(d *dissect.Datagram) error {
		if len(d.Payload)+len(d.Findings) == 0 { // a reply begins
			return nil
		}
		arrow := nettext.Either(d.FromServer, "<", ">")
		fmt.Fprintf(&b, "%s %q", arrow, d.Payload)
		if d.Missing > 0 {
			fmt.Fprintf(&b, " without %d", d.Missing)
		}
		if d.Snapped {
			b.WriteString(" that the capture did not take")
		}
		for i := range d.Findings {
			fmt.Fprintf(&b, " (%s)", d.Findings[i].AppendText(nil))
		}
		if !slices.IsSorted(d.Frames) || len(d.Frames) > 0 && d.Frames[len(d.Frames)-1] != d.Frame || d.First.After(d.Time) {
			t.Errorf("frames %v, the last one %d, times %v and %v", d.Frames, d.Frame, d.First, d.Time)
		}
		b.WriteByte('\n')
		return nil
	})
	for i, g := range list {
		at := start.Add(g.at)
		s.Advance(at)
		if ip, tcp := g.ip(); !s.Foreign(tcp) && s.Wants(ip, tcp) {
			must.Get(s.Segment(&streams.Segment{Frame: uint64(i + 1), Time: at, Snapped: g.cut, IP: ip, Data: tcp}))(t)
		}
	}
	s.Flush()
	if n := s.Kept(); n != 0 {
		t.Errorf("%d bytes are kept after the end", n)
	}
	return b.String()
}

const (
	hello   = "\x15\x00\xff\xff\xff\xff\x0f\x0bexample.org\x63\xdd\x01"
	ask     = "\x01\x00"
	answer  = "\x1d\x00\x1b{\"version\":{\"protocol\":47}}"
	ping    = "\x09\x01\x00\x00\x00\x00\x00\x00\x01\x02"
	whole   = "> " + `"\x15\x00\xff\xff\xff\xff\x0f\vexample.orgc\xdd\x01"` + "\n> " + `"\x01\x00"` + "\n< " + `"\x1d\x00\x1b{\"version\":{\"protocol\":47}}"` + "\n> " + `"\t\x01\x00\x00\x00\x00\x00\x00\x01\x02"` + "\n< " + `"\t\x01\x00\x00\x00\x00\x00\x00\x01\x02"` + "\n"
	login   = "\x15\x00\xff\xff\xff\xff\x0f\x0bexample.org\x63\xdd\x02"
	playing = "\x0b\x00\x05Carol1234"
)

// TestMessages: however segments come, the messages are the same, or something says what is missing.
func TestMessages(t *testing.T) {
	other, low := netip.AddrPortFrom(server.Addr(), 40123), netip.AddrPortFrom(server.Addr(), 443)
	each := func(f func(rng *rand.Rand, list []segment) []segment) func([]segment) []segment {
		rng := rand.New(rand.NewPCG(1, 2))
		return func(list []segment) []segment { return f(rng, list) }
	}
	// swap exchanges two segments, which keep their times.
	swap := func(i, j int) func([]segment) []segment {
		return func(list []segment) []segment {
			list[i], list[j] = list[j], list[i]
			list[i].at, list[j].at = list[j].at, list[i].at
			return list
		}
	}
	drop := func(at ...int) func([]segment) []segment {
		return func(list []segment) []segment {
			slices.Reverse(at)
			for _, i := range at {
				list = slices.Delete(list, i, i+1)
			}
			return list
		}
	}
	same := func(list []segment) []segment { return list }
	lines := strings.SplitAfter(whole, "\n")
	missing := func(arrow string, n int) string {
		return fmt.Sprintf("%s \"\" (%d bytes from this sender are missing, as this frame shows)\n", arrow, n)
	}
	legacy := talk(server, 1, "\xfe\x01", "\xff\x00\x02\x00a\x00b")
	for _, c := range []struct {
		name   string
		at     netip.AddrPort
		size   int
		change func([]segment) []segment
		want   string
	}{
		{"as they are", server, 1460, same, whole},
		{"on another port", other, 1460, same, whole},
		{"one byte at a time", server, 1, same, whole},
		{"one byte at a time on another port", other, 1, same, whole},
		{"on a low port", low, 1460, same, whole},
		{"one byte at a time on a low port", low, 1, same, whole},
		{"on a low port, begun after the connection", low, 1460, func(list []segment) []segment { return list[3:] }, ""},
		{"on a low port, while another connection of these ports speaks", low, 1460, func(list []segment) []segment {
			web := netip.AddrPortFrom(netip.MustParseAddr("198.51.100.41"), 443)
			return slices.Insert(list, 3, talk(web, 1460, "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n")...)
		}, whole},
		{"on another port, begun after the connection", other, 1460, func(list []segment) []segment { return list[3:] }, whole},
		{"each twice", server, 3, each(func(_ *rand.Rand, list []segment) (all []segment) {
			for _, g := range list {
				all = append(all, g, g)
			}
			return all
		}), whole},
		{"overlapping", server, 1, each(func(_ *rand.Rand, list []segment) []segment {
			for i := range list {
				for k := i + 1; k < min(i+4, len(list)) && list[i].data != "" && list[k].back == list[i].back && list[k].data != ""; k++ {
					list[i].data += list[k].data
				}
			}
			return list
		}), whole},
		{"the first two exchanged", server, 7, swap(3, 4), whole},
		{"those of the reply exchanged", server, 7, swap(7, 10), whole},
		{"the reply lost and sent again", server, 7, func(list []segment) []segment {
			g := list[8]
			g.at = list[10].at + 500*time.Microsecond
			return slices.Insert(slices.Delete(list, 8, 9), 10, g)
		}, whole},
		{"begun after the handshake", server, 1460, func(list []segment) []segment { return list[4:] }, whole[strings.Index(whole, "<"):]},
		{"begun within the reply", server, 7, func(list []segment) []segment { return list[9:] }, ""},
		{"the middle of the reply lost", server, 7, drop(8), lines[0] + lines[1] + `< "\x1d\x00\x1b{\"ve" without 23` + "\n" + lines[3] + lines[4]},
		{"the reply lost", server, 1460, drop(4), lines[0] + lines[1] + missing("<", 30) + lines[3] + lines[4]},
		{"the requests lost", server, 1460, drop(3), missing(">", 24) + lines[2] + lines[3] + lines[4]},
		{"the reply and more lost", server, 7, drop(7, 8, 9, 10, 11, 14), lines[0] + lines[1] + missing("<", 30) + lines[3] + missing("<", 7)},
		{"the last reply lost", server, 1460, drop(6), lines[0] + lines[1] + lines[2] + lines[3] + missing("<", 10)},
		{"all replies and the end lost", server, 1460, drop(4, 6, 8), lines[0] + lines[1] + missing("<", 30) + lines[3] + missing("<", 10)},
		{"the first bytes lost", server, 12, drop(3), missing(">", 12) + lines[2] + lines[3] + lines[4]},
		{"the first bytes lost on another port", other, 12, drop(3), missing(">", 24) + lines[2] + lines[3] + lines[4]},
		{"bytes lost that are needed to know the protocol", server, 12, func(list []segment) []segment {
			first := list[3]
			first.data = first.data[:2]
			return slices.Insert(drop(3)(list), 3, first)
		}, missing(">", 10) + lines[2] + lines[3] + lines[4]},
		{"the reply captured before the request", server, 1460, swap(3, 4), whole},
		{"the second reply captured before its request", server, 1460, swap(5, 6), whole},
		{"the request begins with the connection", server, 1460, func(list []segment) []segment {
			list[0].data = list[3].data
			return slices.Delete(list, 3, 4)
		}, whole},
		{"a pause of eleven minutes within the reply", server, 7, func(list []segment) []segment {
			for i := range list[9:] {
				list[9+i].at += 11 * time.Minute
			}
			return list
		}, lines[0] + lines[1] + `< "\x1d\x00\x1b{\"version\":" without 16` + "\n"},
		{"a reply that comes again after the end", server, 1460, func(list []segment) []segment { return append(list, list[6], list[4]) }, whole},
		{"a login", server, 1460, func([]segment) []segment { return talk(server, 1460, login, playing, playing, answer, ask) }, strings.Replace(lines[0], `\xdd\x01`, `\xdd\x02`, 1)},
		{"a legacy ping", server, 1, func([]segment) []segment { return legacy }, "> \"\\xfe\\x01\"\n< \"\\xff\\x00\\x02\\x00a\\x00b\"\n"},
		{"a legacy ping on another port, which the reply decides", other, 1, func([]segment) []segment {
			return talk(other, 1460, "\xfe\x01", "\xff\x00\x03\x00\xa7\x001\x00\x00")
		}, "> \"\\xfe\\x01\"\n< \"\\xff\\x00\\x03\\x00\\xa7\\x001\\x00\\x00\"\n"},
		{"another protocol on the port", server, 1460, func([]segment) []segment {
			return talk(server, 1460, "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n")
		}, ""},
		{"the reply cut by the snapshot length", server, 1460, func(list []segment) []segment {
			list[4].data, list[4].cut = list[4].data[:10], 20
			return list
		}, lines[0] + lines[1] + `< "\x1d\x00\x1b{\"versi" without 20 that the capture did not take` + "\n" + lines[3] + lines[4]},
		{"cut at the end", server, 7, func(list []segment) []segment { return list[:9] }, lines[0] + lines[1] + `< "\x1d\x00\x1b{\"version\":" without 16` + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := heard(t, c.change(talk(c.at, c.size, hello+ask, answer, ping, ping))); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// TestHalfOpen: connections that carry nothing cost nothing, and those that carry something are bounded.
func TestHalfOpen(t *testing.T) {
	for _, c := range []struct {
		name string
		data string
		most int
	}{{"half-open", "", 1 << 20}, {"with the beginning of a message", hello[:9], 12 << 20}} {
		t.Run(c.name, func(t *testing.T) {
			s := streams.New([]*dissect.Protocol{minecraftjava.Protocol()}, nil, func(*dissect.Datagram) error { return nil })
			heap := func() int {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				return int(m.HeapAlloc)
			}
			before := heap()
			for i := range must.Try(50_000, 200_000) {
				src := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), uint16(1024+i%60000))
				for k, g := range [...]segment{{flags: syn, seq: 7, src: src, dst: server}, {flags: ack, seq: 8, ack: 1, data: c.data, src: src, dst: server}} {
					ip, tcp := g.ip()
					at := start.Add(time.Duration(i) * time.Microsecond)
					s.Advance(at)
					if !s.Foreign(tcp) && s.Wants(ip, tcp) {
						must.Get(s.Segment(&streams.Segment{Frame: uint64(2*i + k), Time: at, IP: ip, Data: tcp}))(t)
					}
				}
			}
			if used := heap() - before; used > c.most {
				t.Errorf("%d bytes", used)
			}
			if n := s.Evicted(); (n > 0) != (c.data != "") {
				t.Errorf("%d connections were evicted", n)
			}
			runtime.KeepAlive(s)
		})
	}
}

// TestTrouble: with losses, copies and another order at the same time, and forged segments, a message is one that was sent, or something says that it is not
// whole; and nothing is kept after the end.
func TestTrouble(t *testing.T) {
	rng, sent := rand.New(rand.NewPCG(3, 4)), strings.SplitAfter(whole, "\n")
	for round := range must.Try(500, 3000) {
		list := talk(server, 1+rng.IntN(20), hello+ask, answer, ping, ping)
		for range rng.IntN(6) {
			i, j := rng.IntN(len(list)), rng.IntN(len(list))
			switch rng.IntN(5) {
			case 4: // overlapping
				if k := min(j+1, len(list)-1); list[k].back == list[j].back && list[j].data != "" && list[j].seq+uint32(len(list[j].data)) == list[k].seq {
					list[j].data += list[k].data
				}
			case 0:
				list = slices.Delete(list, i, i+1)
			case 1:
				list = slices.Insert(list, i, list[j])
			case 2:
				list[i], list[j] = list[j], list[i]
			case 3: // forged
				g := list[j]
				g.seq, g.flags, g.data = g.seq+maxForged+rng.Uint32N(1<<30), [...]byte{ack, fin | ack, rst}[rng.IntN(3)], "forged"
				list = slices.Insert(list, i, g)
			}
			if len(list) < 2 {
				break
			}
		}
		for line := range strings.Lines(heard(t, list)) {
			if !slices.Contains(sent, line) && !strings.Contains(line, " without ") && !strings.Contains(line, " missing, as this frame shows") {
				t.Fatalf("round %d: %s", round, line)
			}
		}
	}
}

// maxForged is more than segments may lie ahead.
const maxForged = 1 << 20
