package packetsource_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/packetsource"
	"github.com/qdissect/qdissect/report"
)

// TestSameAsProgram: IP fragments, ICMP errors, tunnels and connections give the messages and
// findings that the program gives, as its goldens have them.
func TestSameAsProgram(t *testing.T) {
	for _, name := range []string{"a2s/fragments", "a2s/fragments-lost", "a2s/trouble", "icmp/errors4", "icmp/errors6", "hostile/fragments", "minecraft-java/servers", "minecraft-java/trouble", "source-rcon/servers", "frostbite/servers"} {
		t.Run(name, func(t *testing.T) {
			f := must.Get(os.Open("../testdata/pcaps/" + name + ".pcap"))(t)
			defer f.Close()
			r := must.Get(pcapgo.NewReader(f))(t)
			var out bytes.Buffer
			w := report.NewWriter(&out, report.NewJSON(report.JSONOptions{}))
			s := must.Get(packetsource.New(r, r.LinkType(), dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign(), Tree: true}, w))(t)
			must.Do(t, s.Run())
			golden := must.Get(os.ReadFile("../testdata/pcaps/" + name + ".golden.jsonl"))(t)
			got, want := sorted(out.String()), sorted(string(golden))
			for i := range max(len(got), len(want)) {
				switch {
				case i >= len(got):
					t.Errorf("missing: %s", want[i])
				case i >= len(want) || got[i] != want[i]:
					t.Fatalf("got  %s\nwant %s", got[i], append(want, "nothing")[min(i, len(want))])
				}
			}
		})
	}
}

// hint matches what depends on other conversations: the program distributes them to
// several analyzers, packetsource has one.
var hint = regexp.MustCompile(`; this port answered[^"]*|"detect":"\w+",`)

// sorted returns the lines of messages and findings, without hints, in the order of
// their text: the program sorts what it finds at the end of a capture by frame.
func sorted(lines string) (list []string) {
	for line := range strings.Lines(lines) {
		if strings.HasPrefix(line, `{"type":"message"`) || strings.HasPrefix(line, `{"type":"finding"`) {
			list = append(list, hint.ReplaceAllString(strings.TrimSpace(line), ""))
		}
	}
	slices.Sort(list)
	return list
}

// printer prints messages and findings.
type printer struct{}

func (printer) Record(r *dissect.Record)       { fmt.Printf("%d %s\n", r.Frame, r.AppendSummary(nil)) }
func (printer) Unknown(*dissect.Unknown)       {}
func (printer) Finding(f *dissect.FlowFinding) { fmt.Printf("%d %s\n", f.Frame, f.AppendText(nil)) }

// A capture file is read by pcapgo. An afpacket.TPacket or a pcap.Handle takes the
// place of the reader for an interface.
func Example() {
	f, err := os.Open("../testdata/pcaps/a2s/source.pcap")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	if err != nil {
		panic(err)
	}
	s, err := packetsource.New(r, r.LinkType(), dissect.Config{Protocols: all.Protocols()}, printer{})
	if err != nil {
		panic(err)
	}
	if err := s.Run(); err != nil {
		panic(err)
	}
	// Output:
	// 1 info request  without challenge
	// 2 challenge  661981542
	// 3 info request  challenge 661981542
	// 4 info reply  "Café \u202e2fort\u202c 24/7 \x1b[31m"  tf on ctf_2fort  18/32 players, 2 bots  v9543365
	// 5 players request  challenge 661981542
	// 6 players reply  5 players
	// 7 rules request  challenge 661981542
	// 10 rules reply  101 rules
	// 11 players request  challenge 661981542
	// 12 players reply  3 players
	// 13 rules request  challenge 661981542
	// 14 rules reply  1 mod, 1 signature
	// 15 info request  without challenge
	// 16 info reply  "Big application"  tf on ctf_2fort  255/255 players, 2 bots  v9543365
}
