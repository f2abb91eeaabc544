package packetsource_test

import (
	"bytes"
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

// TestSameAsProgram: IP fragments, ICMP errors and tunnels give the messages and
// findings that the program gives, as its goldens have them.
func TestSameAsProgram(t *testing.T) {
	for _, name := range []string{"a2s/fragments", "a2s/fragments-lost", "a2s/trouble", "icmp/errors4", "icmp/errors6", "hostile/fragments"} {
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
