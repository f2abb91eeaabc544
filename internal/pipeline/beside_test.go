package pipeline

import (
	"bytes"
	"fmt"
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
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/report"
)

// What a client asks a server, and what both say while somebody plays.
const (
	ask  = "\xff\xff\xff\xffgetinfo xyz"
	info = "\xff\xff\xff\xffinfoResponse\n\\challenge\\xyz\\hostname\\a\\clients\\0\\sv_maxclients\\8"
	play = "\x07\x00\x00\x80\x12\x34\x56" // no protocol reads it
	seen = "\x80\x61\x00\x01\x00\x00\x00\x00\x12\x34\x56\x78\x12\x34\x56\x78"
)

// TestGameTraffic: which datagrams count as game traffic, for every number of workers.
func TestGameTraffic(t *testing.T) {
	at := netip.MustParseAddrPort
	server, client, player, other := at("198.51.100.10:27960"), at("192.0.2.20:50000"), at("203.0.113.5:61000"), at("198.51.100.11:27960")
	server6, player6 := at("[2001:db8::10]:27960"), at("[2001:db8:1::20]:50001")
	type datagram struct {
		src, dst netip.AddrPort
		payload  string
	}
	var several []datagram
	for i := range uint16(8) {
		server := netip.AddrPortFrom(server.Addr(), 27960+i)
		several = append(several, datagram{client, server, ask}, datagram{server, client, info}, datagram{player, server, play})
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
		{"of several servers", several, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			w := mkpcap.NewWriter(&b, mkpcap.Options{})
			for i, d := range c.list {
				w.UDP(time.Unix(1700000000, int64(i)*1e7), d.src, d.dst, []byte(d.payload))
			}
			for workers, inputs := range map[int]int{1: 1, 2: 1, 8: 2} {
				sum := summaryOf(t, workers, slices.Repeat([][]byte{b.Bytes()}, inputs)...)
				if sum.GameTraffic != c.want*uint64(inputs) {
					t.Errorf("%d workers: %d of %d unknown datagrams of %d captures, want %d of each", workers, sum.GameTraffic, sum.Unknown, inputs, c.want)
				}
			}
		})
	}
}

func summaryOf(t *testing.T, workers int, captures ...[]byte) *report.Summary {
	t.Helper()
	var names []string
	for i, c := range captures {
		names = append(names, filepath.Join(t.TempDir(), fmt.Sprint(i)))
		must.Do(t, os.WriteFile(names[i], c, 0o600))
	}
	sum, err := Run(Options{
		Inputs: names, Out: io.Discard, Workers: workers,
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
	if n := table.of(packet.KeyOf(server)); n != 1<<17 || !table.full {
		t.Errorf("%d datagrams, want %d; full: %v", n, 1<<17, table.full)
	}
	seen := traffic{unseen: new(endpoints), parts: []*sightings{{beside: table}}}
	if seen.endInput(); !seen.full() {
		t.Error("that a table was full is forgotten with the input")
	}
	table = new(endpoints)
	table.both(1, 2)
	table.both(1, 3)
	if a, b, c := *table.place(1), *table.place(2), *table.place(3); table.full || a != (place{1, 2}) || b != (place{2, 1}) || c != (place{3, 1}) {
		t.Errorf("two datagrams of three endpoints: %v, %v and %v; full: %v", a, b, c, table.full)
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
		if change != nil && !noted.MatchString(out.String()) {
			t.Error("nothing is noted")
		}
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

// TestOneSided: a capture is one-sided if ten pairs of hosts or more send queries, or if ten replies and no request are there, and no host
// both sends and is sent to. Each input is judged by itself.
func TestOneSided(t *testing.T) {
	const q10, r10, again10, unknown10 = "qqqqqqqqqq", "rrrrrrrrrr", "RRRRRRRRRR", "xxxxxxxxxx"
	both10 := strings.Repeat("qa", 10)
	for inputs, want := range map[string]int{ // a letter for each datagram, as below
		q10: 1, q10 + "q": 1, q10[1:]: 0, q10[1:] + "Q": 0, q10 + "a": 0, q10 + "c": 0, "a" + q10: 0, "tttttttttt": 0, "ssssssssss": 1, unknown10: 0,
		r10: 1, r10[1:]: 0, again10: 1, again10[1:]: 0, again10 + "o": 0, again10 + "a": 1,
		q10 + " " + q10: 2, q10 + " " + r10: 2, q10 + " " + unknown10: 1, q10[1:] + " q": 0, both10 + " " + again10: 1, both10 + " " + again10[1:]: 0, both10 + " " + unknown10: 0,
	} {
		var captures [][]byte
		for input := range strings.FieldsSeq(inputs) {
			var b bytes.Buffer
			w := mkpcap.NewWriter(&b, mkpcap.Options{})
			host := func(n int) netip.AddrPort {
				return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}), 27960)
			}
			const server = 100
			last := 1 // client
			for i, letter := range input {
				if i > 0 && strings.ContainsRune("qtxr", letter) { // of another client
					last++
				}
				src, dst, says := last, server, ask
				switch letter {
				case 'Q':
					src = 1
				case 's': // each time another server
					dst = server + i
				case 'c':
					dst = 1
				case 'o':
					src, dst = 101, 102
				case 't':
					says = play
				case 'x':
					says = "\xff\xff\xff\xffgetstatusx"
				case 'a', 'r', 'R':
					src, dst, says = server, last, info
				}
				w.UDP(time.Unix(1700000000+2*int64(i), 0), host(src), host(dst), []byte(says))
			}
			captures = append(captures, b.Bytes())
		}
		if got := summaryOf(t, 1, captures...).OneSided; got != want {
			t.Errorf("%s: %d, want %d", inputs, got, want)
		}
	}
}

// TestUnread: fragments that were refused and frames nested too deeply are dropped, and counted as such. Packets of a link type that is not read are
// counted under its name.
func TestUnread(t *testing.T) {
	e, err := newEngine(&Options{
		Reporter: func() report.Reporter { return new(report.Counts) }, Out: io.Discard, Workers: 1, Analysis: dissect.Config{Protocols: all.Protocols()},
	})
	must.Do(t, err)
	defer e.pool.close()
	// The last eight bytes of a packet, from 65528: one more than the largest packet has.
	beyond := "\x45\x00\x00\x1c\x00\x01\x1f\xff\x40\x11\x00\x00\xc0\x00\x02\x01\xc6\x33\x64\x0112345678"
	tags := strings.Repeat("\x00", 12) + strings.Repeat("\x81\x00\x00\x01", 20) + "\x08\x00"
	for i, link := range []uint16{101, 1, 1, 127, 117, 127} {
		data := nettext.Either(i == 0, []byte(beyond), []byte(tags))
		must.Do(t, e.frame(&capture.Frame{Number: uint64(i + 1), LinkType: link, Data: data, Length: len(data)}))
	}
	s := e.summary()
	if s.EvictedFragments != 3 || s.Evicted != 3 || s.Drops != 3 {
		t.Errorf("%d fragments, %d evicted, %d dropped; want 3", s.EvictedFragments, s.Evicted, s.Drops)
	}
	if want := []report.Likeness{{Name: "ieee802_11_radiotap", Packets: 2}, {Name: "pflog", Packets: 1}}; !slices.Equal(s.Unread.Links, want) {
		t.Errorf("got %v, want %v", s.Unread.Links, want)
	}
}
