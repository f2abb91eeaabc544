package pipeline

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/report"
)

// TestGameTraffic: which datagrams count as game traffic, for every number of workers.
func TestGameTraffic(t *testing.T) {
	const (
		ask  = "\xff\xff\xff\xffgetinfo xyz"
		info = "\xff\xff\xff\xffinfoResponse\n\\challenge\\xyz\\hostname\\a\\clients\\0\\sv_maxclients\\8"
		play = "\x07\x00\x00\x80\x12\x34\x56" // no protocol reads it
		seen = "\x80\x61\x00\x01\x00\x00\x00\x00\x12\x34\x56\x78\x12\x34\x56\x78"
	)
	at := netip.MustParseAddrPort
	server, client, player, other := at("198.51.100.10:27960"), at("192.0.2.20:50000"), at("203.0.113.5:61000"), at("198.51.100.11:27960")
	server6, player6 := at("[2001:db8::10]:27960"), at("[2001:db8:1::20]:50001")
	type datagram struct {
		src, dst netip.AddrPort
		payload  string
	}
	for _, c := range []struct {
		name string
		list []datagram
		want uint64
	}{
		{"of the client that asked", []datagram{{client, server, ask}, {server, client, info}, {client, server, play}, {server, client, play}}, 2},
		{"of another player", []datagram{{client, server, ask}, {server, client, info}, {player, server, play}, {server, player, seen}}, 2},
		{"before the query", []datagram{{player, server, play}, {client, server, ask}, {server, client, info}}, 1},
		{"of another server with the same port", []datagram{{client, server, ask}, {server, client, info}, {player, other, play}}, 0},
		{"of the server from another port", []datagram{{client, server, ask}, {server, client, info}, {netip.AddrPortFrom(server.Addr(), 1234), player, play}}, 0},
		{"without a reply", []datagram{{client, server, ask}, {client, server, play}}, 0},
		{"a reply nobody asked for", []datagram{{server, client, info}, {client, server, play}}, 0},
		{"an unknown query", []datagram{{client, server, ask}, {server, client, info}, {client, server, "\xff\xff\xff\xffgetstatusx"}}, 0},
		{"IPv6", []datagram{{player6, server6, ask}, {server6, player6, info}, {player6, server6, play}, {server6, player6, seen}}, 2},
		{"between two servers", []datagram{{client, server, ask}, {server, client, info}, {client, other, ask}, {other, client, info}, {server, other, play}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			w := mkpcap.NewWriter(&b, mkpcap.Options{})
			for i, d := range c.list {
				w.UDP(time.Unix(1700000000, int64(i)*1e7), d.src, d.dst, []byte(d.payload))
			}
			for _, workers := range []int{1, 2, 8} {
				sum := summaryOf(t, b.Bytes(), workers)
				if sum.GameTraffic != c.want {
					t.Errorf("%d workers: %d of %d unknown datagrams, want %d", workers, sum.GameTraffic, sum.Unknown, c.want)
				}
			}
		})
	}
}

func summaryOf(t *testing.T, capture []byte, workers int) *report.Summary {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.pcap")
	must.Do(t, os.WriteFile(name, capture, 0o600))
	sum, err := Run(Options{
		Inputs: []string{name}, Out: io.Discard, Workers: workers,
		Analysis: dissect.Config{Protocols: all.Protocols()}, Reporter: func() report.Reporter { return new(report.Counts) },
		Trouble: func(err error) { t.Error(err) },
	})
	must.Do(t, err)
	return sum
}

// TestEndpoints: of endpoints that share a place, those with more datagrams stay.
func TestEndpoints(t *testing.T) {
	table := new(endpoints)
	server := netip.MustParseAddrPort("198.51.100.10:27960")
	for i := range 1 << 17 { // forged sources, each once
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1024)
		table.both(packet.KeyOf(client), packet.KeyOf(server))
	}
	if n := table.of(keys{0, packet.KeyOf(server)}); n != 1<<17 || !table.full {
		t.Errorf("%d datagrams, want %d; full: %v", n, 1<<17, table.full)
	}
	if table = new(endpoints); table.full {
		t.Error("an empty table is full")
	}
	if table.both(1, 2); table.full {
		t.Error("two endpoints fill a table")
	}
}

// noted are the findings of the layers below that the test adds to frames.
var noted = regexp.MustCompile(`\{"id":"(packet\.vlan|capture\.comment)"[^}]*\},?`)

var tagged = regexp.MustCompile(`"vlan":\d+,`)

// TestLayersBelow: a VLAN tag or a comment on every frame changes nothing that is
// recognised, paired or found in the project's captures.
func TestLayersBelow(t *testing.T) {
	list := frames(t)
	play := func(change func(*capture.Frame)) []string {
		var out bytes.Buffer
		e, err := newEngine(&Options{
			Reporter: func() report.Reporter { return report.NewJSON(report.JSONOptions{}) }, Out: &out, All: true,
			Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true},
		})
		must.Do(t, err)
		defer e.pool.close()
		e.at.now = list[0].Time.UnixNano()
		for i := range list {
			f := list[i]
			if change != nil {
				change(&f)
			}
			must.Do(t, e.frame(&f))
		}
		must.Do(t, e.flush())
		lines := strings.Split(noted.ReplaceAllString(out.String(), ""), "\n")
		for i, l := range lines {
			lines[i] = strings.ReplaceAll(strings.ReplaceAll(tagged.ReplaceAllString(l, ""), `,"findings":[]`, ""), `},]`, `}]`)
		}
		return lines
	}
	plain := play(nil)
	if len(plain) < 1000 {
		t.Fatalf("%d lines", len(plain))
	}
	const ethernet = 1
	for name, change := range map[string]func(*capture.Frame){
		"VLAN": func(f *capture.Frame) {
			if f.LinkType == ethernet && len(f.Data) > 14 && f.Data[12] >= 6 { // not a length
				f.Data = slices.Insert(slices.Clone(f.Data), 12, 0x81, 0, 0, 12)
				f.Length += 4
			}
		},
		"comment": func(f *capture.Frame) { f.Comments = []string{"a comment"} },
	} {
		if d := cmp.Diff(plain, play(change)); d != "" {
			t.Errorf("%s (-without +with):\n%s", name, d)
		}
	}
}

// TestOneSided: a capture is one-sided if ten pairs of hosts or more send queries, and no host both sends and is sent to.
func TestOneSided(t *testing.T) {
	for _, c := range []struct {
		name  string
		hosts [][2]uint64
		quiet bool // of no known protocol
		want  bool
	}{
		{"ten pairs", pairs(10), false, true},
		{"eleven", pairs(11), false, true},
		{"nine", pairs(9), false, false},
		{"nine, one of them twice", append(pairs(9), pairs(1)...), false, false},
		{"ten, and a reply", append(pairs(10), [2]uint64{100, 1}), false, false},
		{"ten, and what one client sends to another", append(pairs(10), [2]uint64{50, 2}), false, false},
		{"a reply, and ten", append([][2]uint64{{100, 1}}, pairs(10)...), false, false},
		{"ten of traffic", pairs(10), true, false},
	} {
		s := newSides()
		for round := range uint64(2) { // of other hosts
			for _, p := range c.hosts {
				s.see(packet.Key((p[0]+1000*round)<<16|27015), packet.Key((p[1]+1000*round)<<16|27015), !c.quiet)
			}
			if s.one() != c.want || s.known != s.both {
				t.Errorf("%s: %v, want %v; both %v, known %v", c.name, s.one(), c.want, s.both, s.known)
			}
			s.reset()
		}
	}
}

// pairs are clients of a server, 100.
func pairs(n int) (list [][2]uint64) {
	for i := range n {
		list = append(list, [2]uint64{uint64(i + 1), 100})
	}
	return list
}

// TestEvictedFragments: fragments that were refused and frames nested too deeply are dropped, and counted as such.
func TestEvictedFragments(t *testing.T) {
	e, err := newEngine(&Options{
		Reporter: func() report.Reporter { return new(report.Counts) }, Out: io.Discard, Workers: 1, Analysis: dissect.Config{Protocols: all.Protocols()},
	})
	must.Do(t, err)
	defer e.pool.close()
	// The last eight bytes of a packet, from 65528: one more than the largest packet has.
	beyond := "\x45\x00\x00\x1c\x00\x01\x1f\xff\x40\x11\x00\x00\xc0\x00\x02\x01\xc6\x33\x64\x0112345678"
	tags := strings.Repeat("\x00", 12) + strings.Repeat("\x81\x00\x00\x01", 20) + "\x08\x00"
	for i, data := range []string{beyond, tags, tags} {
		link := uint16(101)
		if data == tags {
			link = 1
		}
		must.Do(t, e.frame(&capture.Frame{Number: uint64(i + 1), LinkType: link, Data: []byte(data), Length: len(data)}))
	}
	if s := e.summary(); s.EvictedFragments != 3 || s.Evicted != 3 || s.Drops != 3 {
		t.Errorf("%d fragments, %d evicted, %d dropped; want 3", s.EvictedFragments, s.Evicted, s.Drops)
	}
}

// TestListedServers: new servers of unknown ports are counted until half of the list is full, and what clients ask of those in it goes on counting.
func TestListedServers(t *testing.T) {
	var list tcp
	ask := func(server byte, port, client uint16) {
		ip := []byte("\x45\x00\x00\x28\x00\x00\x00\x00\x40\x06\x00\x00\x0a\x00\x00\x01\xc6\x33\x64\x00")
		ip[19] = server
		segment := append(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, client), port), make([]byte, 16)...)
		segment[12], segment[13] = 5<<4, packet.SYN
		list.see(ip, segment)
	}
	for server := range byte(130) {
		ask(server, 2000, 40000)
	}
	ask(200, 27015, 40000)
	ask(0, 2000, 40001)
	ask(0, 2000, 40001) // sent again
	ask(201, 80, 40000)
	if n := len(list.list); n != 129 || list.list[0].Tried != 2 || list.list[0].Packets != 3 || list.list[128].Server.Port() != 27015 {
		t.Errorf("%d servers, the first %+v, the last %+v", n, list.list[0], list.list[n-1])
	}
}
