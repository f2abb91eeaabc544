package packetsource_test

import (
	"fmt"
	"os"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/packetsource"
)

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
