package anonymize

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
)

// someAddr is a random address, of either kind.
func someAddr(r *rand.Rand) netip.Addr {
	var b [16]byte
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	if r.IntN(2) == 0 {
		return netip.AddrFrom4([4]byte{b[0], b[1] & 7, b[2], b[3]})
	}
	copy(b[:], "\x20\x01\x0d\xb8")
	clear(b[4 : 4+r.IntN(12)])
	return netip.AddrFrom16(b)
}

// TestSameForever: with the same key, a value always has the same replacement, in this
// version and later ones, whatever was replaced in between.
func TestSameForever(t *testing.T) {
	m := newMapping(keyOfTests)
	addrs := map[string]string{
		"198.51.100.7": "116.92.175.6", "198.51.100.8": "116.92.175.7", "198.51.7.8": "116.92.5.1", "8.8.8.8": "1.5.6.5",
		"10.1.2.3": "10.0.7.7", "172.16.5.4": "172.16.0.1", "192.168.1.20": "192.168.8.10",
		"2001:db8::7": "2ed5:f76::a", "2001:db8::8": "2ed5:f76::f", "2001:db8:1:203::a00": "2ed5:f76:9:df1::93b",
		"2a02:8071:12a0:f00:1234:5678:9abc:def0": "2737:ad97:f684:19a:7511:b59f:30ab:6f45",
		"fe80::1:2":                              "fe80::d:d", "fd00:1::9": "fdfa:4::4", "::ffff:198.51.100.7": "::ffff:116.92.175.6",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 3 {
		for was, want := range addrs {
			if is := m.addr(netip.MustParseAddr(was)); is.String() != want {
				t.Errorf("round %d: %s becomes %v, not %s", round, was, is, want)
			}
			for range round * 700 {
				m.addr(someAddr(r))
			}
		}
	}
	mac := []byte{0, 0x1b, 0x21, 1, 2, 3}
	if m.mac(mac); !bytes.Equal(mac, []byte{0x6a, 0x4a, 0x7e, 0x63, 0xba, 0x61}) {
		t.Errorf("a hardware address becomes %x", mac)
	}
	for _, c := range []struct {
		was   string
		style dissect.Style
		want  string
	}{
		{"John Doe", dissect.NoStyle, "Iklf Jtw"}, {"^1Jo^xF00hn^7 2", dissect.Quake3, "^1Dh^xF00bl^7 5"}, {"§aName", core.Minecraft, "§aCdoy"},
		{"Bj\xf6rn\xa7x", core.Minecraft, "Yh\xefls\xa7x"}, {"\xc4\xa7abc", core.Minecraft, "\xc4\xbdjeg"},
		{"Ваня", dissect.NoStyle, "БАЮЯ"}, {"=(*)=", dissect.NoStyle, "yaerb"},
	} {
		b := []byte(c.was)
		if m.text(b, c.style); string(b) != c.want {
			t.Errorf("%q becomes %q, not %q", c.was, b, c.want)
		}
	}
	b := []byte("bytes \x01\x02 9 \xfe")
	if m.bytes(b); string(b) != "djzcj \x06\x15 6 \xdf" {
		t.Errorf("bytes become %q", b)
	}
	if a, b, id := m.number(12345), m.number(-7), m.steamID(76561197960287930); a != 80596 || b != -9 || id != 76561198677589050 {
		t.Errorf("numbers become %d, %d, %d", a, b, id)
	}
}

// TestMappingAllocations: replacing an address allocates nothing except its entry in the
// cache.
func TestMappingAllocations(t *testing.T) {
	m, r := newMapping(keyOfTests), rand.New(rand.NewPCG(1, 2))
	for range maxKnown + 100 {
		m.addr(someAddr(r))
	}
	mac := []byte{0, 1, 2, 3, 4, 5}
	if n := testing.AllocsPerRun(1000, func() { m.addr(someAddr(r)); m.mac(mac) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestForgotten: caches and counts have the limits of docs/limits.md.
func TestForgotten(t *testing.T) {
	counts := &Counts{addresses: make(map[uint64]struct{})}
	w := newRewriter(&Options{Key: keyOfTests}, counts)
	known, texts := 0, 0
	for i := range 140_000 {
		w.addr(netip.AddrFrom4([4]byte{9, byte(i >> 16), byte(i >> 8), byte(i)}))
		known = max(known, len(w.m.known))
		if i == 131_071 && counts.Addresses() != "131072" {
			t.Errorf("%s addresses after 131072", counts.Addresses())
		}
		if i < 40_000 {
			w.text(fmt.Appendf(nil, "name%d", i), dissect.Style(i%3))
			texts = max(texts, len(w.texts))
		}
	}
	if known != 16384 || texts != 16384 {
		t.Errorf("%d addresses and %d texts are kept", known, texts)
	}
	if counts.Addresses() != "more than 131072" || len(counts.addresses) > 131_073 {
		t.Errorf("%s addresses, %d are kept", counts.Addresses(), len(counts.addresses))
	}
	long := bytes.Repeat([]byte("x"), 200)
	if w.text(long, dissect.NoStyle); w.texts[styled{dissect.NoStyle, strings.Repeat("x", 200)}] != "" {
		t.Error("a long text is kept")
	}
}

// watched records the size of all state before every frame.
type watched struct {
	capture.Source
	look func()
}

func (w *watched) Next(f *capture.Frame) error {
	w.look()
	return w.Source.Next(f)
}

// suffer anonymizes a capture and returns the maximum of all state: waiting bytes and
// frames, fragmented packets and their bytes, remembered datagrams and their bytes.
type burden struct{ bytes, frames, groups, joined, twins, same, connections int }

func suffer(t *testing.T, play func(s *hostile.Stage)) (most burden, counts Counts) {
	t.Helper()
	played, to := io.Pipe()
	go func() {
		b := bufio.NewWriterSize(to, 64<<10)
		play(hostile.NewStage(b, mkpcap.Options{}))
		to.CloseWithError(b.Flush())
	}()
	in := must.Get(capture.NewReader(played, "flood"))(t)
	w := &watched{Source: in}
	out := capture.NewWriter(io.Discard, capture.Pcap)
	r := must.Get(newRun(w, out, &Options{Key: keyOfTests, Analysis: dissect.Config{Protocols: all.Protocols()}}))(t)
	n := 0
	w.look = func() {
		is := burden{r.bytes, len(r.queue) - r.gone, len(r.groups), r.joined, len(r.twins), r.same, len(r.tcp)}
		if n++; n%must.Try(2000, 500) == 0 { // that the accounts are right
			is = burden{0, len(r.queue) - r.gone, len(r.groups), 0, len(r.twins), 0, len(r.tcp)}
			for _, e := range r.queue[r.gone:] {
				is.bytes += e.size
			}
			for _, payload := range r.twins {
				is.same += len(payload)
			}
			for _, d := range r.groups {
				if d.state != waiting {
					is.joined += len(d.payload) + len(d.replacement)
				}
			}
			if is.bytes != r.bytes || is.same != r.same || is.joined > r.joined {
				t.Errorf("%+v are there; the accounts are %d, %d, %d", is, r.bytes, r.same, r.joined)
			}
		}
		most = burden{
			max(most.bytes, is.bytes), max(most.frames, is.frames), max(most.groups, is.groups), max(most.joined, is.joined),
			max(most.twins, is.twins), max(most.same, is.same), max(most.connections, is.connections),
		}
	}
	must.Do(t, r.run())
	if len(r.queue) > 0 || r.bytes != 0 {
		t.Errorf("%d frames with %d bytes still wait", len(r.queue), r.bytes)
	}
	return most, *r.counts
}

// longReply returns a reply that fills a datagram, different for each number.
func longReply(n int) []byte {
	name := strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(n))
	return []byte("\xff\xff\xff\xffstatusResponse\n\\sv_hostname\\" + name + "\\mapname\\" + strings.Repeat("x", 60_000) + "\n")
}

// TestWaiting: waiting frames and remembered datagrams have the limits of docs/limits.md,
// in number and bytes.
func TestWaiting(t *testing.T) {
	const mib, packet = 1 << 20, 64 << 10
	server, client := netip.MustParseAddrPort("198.51.100.99:27960"), netip.MustParseAddrPort("203.0.113.99:40000")

	t.Run("parts", func(t *testing.T) {
		const n = 20_000
		most, counts := suffer(t, func(s *hostile.Stage) {
			s.Speak(20)
			for i := range n {
				head := binary.LittleEndian.AppendUint32([]byte("\xfe\xff\xff\xff"), uint32(i))
				from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{9, 9, byte(i >> 8), byte(i)}), 27015)
				s.Strike(from, client, string(append(head, 200, 0, 0xe0, 4))+"\xff\xff\xff\xffE\xff\xff"+"mapname\x00"+strings.Repeat("x", 1190)+"\x00")
			}
			s.Speak(20)
		})
		if most.bytes > 48*mib+packet || most.bytes < 44*mib || most.frames > 20_000 {
			t.Errorf("%+v", most)
		}
		// The Minecraft handshake of the honest client is held until it is clear whose it
		// is: it goes when there is no more room, and is counted.
		if counts.Written+counts.Incomplete != counts.Frames || counts.Incomplete != 1 {
			t.Errorf("%d of %d frames, %d incomplete: something is left out", counts.Written, counts.Frames, counts.Incomplete)
		}
	})
	t.Run("fragments", func(t *testing.T) {
		const n = 300
		most, counts := suffer(t, func(s *hostile.Stage) {
			for i := range n {
				seg := mkpcap.UDPSegment(server, client, longReply(i))
				for at := 0; at < len(seg); at += 1480 {
					end := min(at+1480, len(seg))
					s.Frame(mkpcap.IP(server.Addr(), client.Addr(), uint16(i), 17, at, end < len(seg), true, seg[at:end]))
				}
			}
		})
		if most.joined > 16*mib+2*packet || most.joined < 15*mib || most.groups > n {
			t.Errorf("%+v", most)
		}
		if counts.Messages != n || counts.Written != counts.Frames {
			t.Errorf("%+v: something is left out", counts)
		}
	})
	t.Run("twins", func(t *testing.T) {
		const n = 300
		most, counts := suffer(t, func(s *hostile.Stage) {
			for i := range n {
				s.Strike(server, client, string(longReply(i)))
			}
		})
		if most.same > 16*mib+packet || most.same < 15*mib || counts.Written != counts.Frames {
			t.Errorf("%+v, %+v", most, counts)
		}
	})
	t.Run("many", func(t *testing.T) {
		most, _ := suffer(t, func(s *hostile.Stage) {
			for i := range 17_000 {
				s.Strike(client, server, fmt.Sprintf("\xff\xff\xff\xffgetinfo %d", i))
				from := netip.AddrFrom4([4]byte{9, 8, byte(i >> 8), byte(i)})
				s.Frame(mkpcap.IP(from, server.Addr(), 7, 17, 0, true, true, make([]byte, 64)))
			}
		})
		if most.groups > 16384 || most.twins != 16384 {
			t.Errorf("%+v", most)
		}
	})
	t.Run("connections", func(t *testing.T) {
		most, counts := suffer(t, func(s *hostile.Stage) {
			for i := range 17_000 {
				from := netip.AddrFrom4([4]byte{9, 8, byte(i >> 8), byte(i)})
				s.Frame(mkpcap.IP(from, server.Addr(), 7, 6, 0, false, true, []byte("\x9c\x40\x00\x50\x00\x00\x00\x09\x00\x00\x00\x00\x50\x02\x02\x00\x00\x00\x00\x00")))
			}
		})
		if most.connections != 16384 || most.frames < 16000 || counts.NoDatagram != 17_000 {
			t.Errorf("%+v, %+v", most, counts)
		}
	})
}
