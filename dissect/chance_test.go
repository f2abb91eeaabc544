package dissect_test

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
)

// TestChance plays what chance makes of the words of pairing.txt, with limits that are soon reached, and of the datagrams of
// transcripts.txt. What is told stands in testdata/chance.txt, and -update writes it again: it finds what nobody thought of changing.
func TestChance(t *testing.T) {
	const file = "testdata/chance.txt"
	c := chance{rand.New(rand.NewPCG(1, 2))}
	told := ""
	for n := range 60 {
		options := append(c.some("exchanges exchanges unanswered-challenge unrequested several challenges challenges amplification echo other-kind same-port list cached listed too-often named family copies 1970", 9),
			c.some("endless pages requests=6 flows=3 peers=2 idle=7", 2)...)
		slices.Sort(options)
		options = slices.Compact(options)
		told += fmt.Sprintf("## %d: %s\n%s\n", n, strings.Join(options, " "), playTranscript(t, options, append(c.steps(t), "pending", "end")))
	}
	told += c.datagrams(t)
	if *update {
		must.Do(t, os.WriteFile(file, []byte(told), 0o644))
	}
	got, want := strings.Split(told, "\n"), strings.Split(string(must.Get(os.ReadFile(file))(t)), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s, line %d:\n%s\nwant\n%s", file, i+1, strings.Join(got[max(0, i-10):min(i+5, len(got))], "\n"), strings.Join(want[min(i, len(want)):min(i+5, len(want))], "\n"))
		}
	}
}

// chance chooses among words.
type chance struct{ *rand.Rand }

func (c chance) one(list string) string {
	return strings.Fields(list)[c.IntN(len(strings.Fields(list)))]
}

func (c chance) some(list string, most int) (words []string) {
	for range c.IntN(most + 1) {
		words = append(words, c.one(list))
	}
	return words
}

// steps returns steps of a transcript. Every sixth datagram is one that was sent a moment ago.
func (c chance) steps(t *testing.T) (steps []string) {
	var sent []string
	at := time.Duration(0)
	for range 60 {
		pause := must.Get(time.ParseDuration(c.one("0s 1ns 1us 900us 1ms 3ms 20ms 50ms 100ms 300ms 1s 1.5s 2.5s 5s 5.000000001s 16s 61s -2ms")))(t)
		at = max(0, at+pause*time.Duration(c.IntN(2)))
		message := c.one("> > > > < < < < < < x") + fmt.Sprint(c.IntN(2)*c.IntN(3)) + "@" + c.one("0 0 0 0 1")
		topics := c.one("a a a b ab")
		if message[0] == '<' {
			message += " !" + topics + " " + strings.Join(c.some("i=1 i=2 any give=1 give=1 give=2 give=3 also=b port=8 page=2 last n=2 n=3 stated=2 lists sum=5 second damaged f=kin f=both same host=2 at=198.51.100.2 tries cut first=1s x=1", 2), " ")
		} else {
			message += " " + c.one("? ? ? ? ? ? *") + topics + " " + strings.Join(c.some("i=1 i=2 any use=1 use=1 use=2 seed absent want page=1 page=2 scope=3 beg f=kin f=both host=2 at=198.51.100.2 cut from=1 x=1", 2), " ")
		}
		if len(sent) > 0 && c.IntN(6) == 0 {
			message = sent[max(0, len(sent)-1-c.IntN(3))]
		}
		sent = append(sent, message)
		steps = append(steps, fmt.Sprintf("%v %s", at, strings.TrimSpace(message)))
		if c.IntN(12) == 0 {
			steps = append(steps, fmt.Sprintf("%v =", at))
		}
	}
	return steps
}

// datagrams plays datagrams of transcripts.txt, with those that stand near them, in any order, and a third of them between other ports.
func (c chance) datagrams(t *testing.T) (told string) {
	var pool [][2]string
	names := &writer{names: map[string]string{}}
	for line := range strings.Lines(string(must.Get(os.ReadFile("testdata/transcripts.txt"))(t))) {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(rest, ":="):
			names.play(line)
		case word != "" && strings.Contains("<>", word[:1]):
			pool = append(pool, [2]string{word, rest})
		}
	}
	for n, sum := 0, uint32(0); n < 230; n++ {
		w := &writer{t: t, p: all.Protocols()[0], protocols: all.Protocols(), at: transcriptStart, names: names.names}
		waits := "10ms 300ms 2s 6s 40s"
		if n >= 30 {
			c.disturb(w)
			waits = "10ms 80ms 300ms 980ms 2s 4.98s 6s 9.98s 19.98s 40s 59.98s" // with 20 ms of a datagram, limits
		}
		from := c.IntN(len(pool))
		for range 50 {
			line := pool[(from+c.IntN(12))%len(pool)]
			if c.IntN(3) == 0 {
				line[0] = line[0][:1] + fmt.Sprint(40000+c.IntN(2)) + "@" + c.one("27015 27016 9987 29900")
			}
			for range 1 + c.IntN(2)*c.IntN(2) {
				w.play(line[0] + " " + line[1])
			}
			if c.IntN(6) == 0 {
				w.play("wait " + c.one(waits) + "\n")
			}
		}
		w.a.Flush()
		if n < 30 {
			w.compare()
			told += fmt.Sprintf("## %d\n%s", n, w.out.String())
		} else if sum = crc32.Update(sum, crc32.IEEETable, fmt.Appendf(nil, "%s%+v", w.out.String(), w.a.Stats())); n%20 == 9 {
			told += fmt.Sprintf("## until %d: %08x\n", n, sum)
		}
	}
	return told
}

// disturb lets a writer play with all that captures have and reach: fragments and parts that were cut, interfaces, errors of ICMP, and
// limits. What is told is a checksum: it finds changes that nobody meant to make.
func (c chance) disturb(w *writer) {
	w.config = dissect.Config{Facts: true, Ended: w.ended, KeepCopies: c.IntN(4) == 0, Tree: c.IntN(2) == 0}
	w.config.DecodeAs = map[uint16]*dissect.Protocol{27016 + uint16(c.IntN(4)): w.protocols[c.IntN(len(w.protocols))]}
	w.config.Limits = dissect.Limits{Flows: 4 * c.IntN(3), Requests: 4 * c.IntN(3), Peers: 4 * c.IntN(3)}
	w.change = func(d *dissect.Datagram) {
		if c.IntN(8) == 0 {
			w.a.ICMP(&dissect.ICMPError{Frame: d.Frame, Time: d.Time, From: d.Dst.Addr(), Type: 3, Code: uint8(c.IntN(4)), Length: len(d.Payload), Payload: d.Payload, Src: d.Src, Dst: d.Dst})
		}
		d.Time = d.Time.Add(-time.Duration(max(0, c.IntN(8)-4)) * 5 * time.Millisecond)
		if c.IntN(6) == 0 {
			d.Src = netip.AddrPortFrom(d.Src.Addr().Next(), d.Src.Port())
		}
		d.Interface, d.VLAN, d.IPID, d.HopLimit = c.one("eth0 eth0 eth1"), uint16(c.IntN(2)*c.IntN(2)), uint16(c.IntN(2)), uint8(60+c.IntN(2))
		if c.IntN(8) == 0 {
			d.Frames, d.First = []uint64{max(1, d.Frame-1), d.Frame}, d.Time.Add(-time.Millisecond)
		}
		if c.IntN(8) == 0 {
			d.Missing += 1 + len(d.Payload)/2
			d.Payload = d.Payload[:len(d.Payload)-len(d.Payload)/2]
		}
	}
}
