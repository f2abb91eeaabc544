package all

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/streams"
	"github.com/qdissect/qdissect/reassembly"
)

// A sample is one datagram with a known protocol: it lies in a capture of
// testdata/pcaps whose golden a person has checked.
type sample struct {
	file     string
	frame    uint64
	payload  []byte
	protocol *dissect.Protocol
	message  string // the first message that has these bytes
	role     string
	split    bool // a part of a message
}

// samples returns the distinct datagrams of each protocol in all captures. The
// protocols' own samples are in the tests of their packages, which other packages
// cannot use; the relevant ones are in the captures as well.
func samples(t testing.TB) (all []*sample) {
	t.Helper()
	if allSamples != nil {
		return slices.Clone(allSamples)
	}
	goldens, err := filepath.Glob(filepath.Join("..", "..", "testdata", "pcaps", "*", "*.golden.jsonl"))
	if err != nil || len(goldens) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	seen := map[string]bool{}
	counts := map[*dissect.Protocol]int{}
	for _, golden := range goldens {
		if filepath.Base(filepath.Dir(golden)) == "hostile" {
			continue // damaged and forged: what it is like is no mistake
		}
		said := messages(t, golden)
		for _, d := range datagrams(t, golden) {
			m, ok := said[d.Frame]
			p := byName(m.Protocol)
			if key := m.Protocol + string(d.Payload); !ok || p == nil || seen[key] {
				continue
			} else {
				seen[key] = true
			}
			counts[p]++
			all = append(all, &sample{
				file: filepath.Base(golden), frame: d.Frame, payload: d.Payload, protocol: p, message: m.Message, role: m.Role, split: m.Split != nil,
			})
		}
	}
	for _, p := range Protocols() {
		if counts[p] < 5 {
			t.Errorf("%d different datagrams of %s in testdata/pcaps: too few to say anything, at least 5 are needed", counts[p], p.Name)
		}
	}
	allSamples = slices.Clone(all)
	return all
}

// allSamples are read once for all tests.
var allSamples []*sample

func byName(name string) *dissect.Protocol {
	for _, p := range Protocols() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// A message is the relevant part of a golden line.
type message struct {
	Type, Protocol, Message, Role string
	Frame                         uint64
	Frames                        []uint64
	Split                         *struct{}
}

// messages returns the messages of a golden by the frames that carried them.
func messages(t testing.TB, golden string) map[uint64]message {
	t.Helper()
	b := must.Get(os.ReadFile(golden))(t)
	said := map[uint64]message{}
	for line := range bytes.Lines(b) {
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%s: %v", golden, err)
		}
		if m.Type != "message" || m.Protocol == "unknown" {
			continue
		}
		said[m.Frame] = m
		for _, f := range m.Frames {
			said[f] = m
		}
	}
	return said
}

// datagrams returns the datagrams of the capture of a golden.
func datagrams(t testing.TB, golden string) (all []packet.Datagram) {
	t.Helper()
	base := strings.TrimSuffix(golden, ".golden.jsonl")
	in, err := capture.Open(base + ".pcap")
	if errors.Is(err, os.ErrNotExist) {
		in, err = capture.Open(base + ".pcapng")
	}
	must.Do(t, err)
	defer in.Close()
	decoder := packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, func(*packet.Loss) {})
	over := streams.New(Protocols(), nil, func(d *dissect.Datagram) error {
		if n := len(all); d.Missing == 0 && n > 0 && all[n-1].Frame == d.Frame {
			all = all[:n-1] // the frame does not tell them apart
		} else if d.Missing == 0 {
			all = append(all, packet.Datagram{Frame: d.Frame, Payload: bytes.Clone(d.Payload)})
		}
		return nil
	})
	var f capture.Frame
	for {
		if err := in.Next(&f); err == io.EOF {
			return all
		} else if err != nil && filepath.Base(filepath.Dir(golden)) == "hostile" {
			return all // up to where the capture is damaged
		} else if err != nil {
			t.Fatal(err)
		}
		var d packet.Datagram
		raw := packet.Frame{Number: f.Number, Time: f.Time, LinkType: f.LinkType, Data: f.Data, Length: f.Length}
		switch o := decoder.Decode(&raw, &d); {
		case o.OK() && d.Missing == 0:
			d.Payload = bytes.Clone(d.Payload)
			all = append(all, d)
		case o == packet.TCP && !over.Foreign(decoder.Segment()) && over.Wants(decoder.Packet(), decoder.Segment()):
			must.Get(over.Segment(&streams.Segment{Frame: f.Number, Time: f.Time, IP: decoder.Packet(), Data: decoder.Segment()}))(t)
		}
	}
}
