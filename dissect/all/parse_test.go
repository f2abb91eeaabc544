package all

import (
	"bytes"
	"fmt"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
)

// aboutLength are the ends of the ids of findings that say that a message was cut, or is of
// another length than it says. Notes tell of what servers do.
var aboutLength = []string{"cut", "truncated", "noend", "noterm", "noeol", "query.open", "lenwrap", "pong.length", "len6", "players.count", "table.count", "filter.count", "samp.count"}

// A judge collects what an analyzer says of the length of messages.
type judge struct{ said []string }

func (j *judge) Record(r *dissect.Record) {
	for _, f := range r.Findings {
		if f.Type == core.Malformed || f.Type == core.Trailing || f.Type.Severity >= dissect.Warning &&
			slices.ContainsFunc(aboutLength, func(end string) bool { return strings.HasSuffix(f.Type.ID, end) }) {
			j.said = append(j.said, f.Type.ID)
		}
	}
}
func (j *judge) Unknown(*dissect.Unknown)     {}
func (j *judge) Finding(*dissect.FlowFinding) {}

// TestParseLength cuts messages of all captures. Whenever an analyzer says that the message
// is of a wrong length, Parse returns an error.
func TestParseLength(t *testing.T) {
	cuts := map[*dissect.Protocol]int{}
	for i, s := range samples(t) {
		if s.split || s.protocol.Detect(s.payload[:min(len(s.payload), 64)]) < dissect.Likely {
			continue
		}
		steps := thorough.Of(3, 40)
		for k := range steps + 1 {
			// The last byte has most to say, then the whole, then any.
			cut := s.payload[:max(1, len(s.payload)-k*max(1, len(s.payload)*(1+i%3)/3/steps))]
			j := new(judge)
			a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{s.protocol}, KeepCopies: true}, j))(t)
			d := dissect.Datagram{Frame: 1, Src: netip.AddrPortFrom(server, 27015), Dst: netip.AddrPortFrom(client, port), Payload: cut}
			if s.protocol.Stream != nil {
				d.Stream = s.protocol
			}
			a.Datagram(&d)
			if len(j.said) == 0 {
				continue
			}
			cuts[s.protocol]++
			payload := bytes.Clone(cut)
			m, findings, err := dissect.Parse(s.protocol, payload)
			if err == nil || m.Type == nil || len(findings) == 0 {
				t.Errorf("%s, frame %d, %d of %d bytes: the analyzer says %v, Parse %v with %d findings", s.file, s.frame, len(cut), len(s.payload), j.said, err, len(findings))
				continue
			}
			was := look(&m)
			if clear(payload); look(&m) != was {
				t.Errorf("%s, frame %d: what Parse returned changes with the payload", s.file, s.frame)
			}
		}
	}
	if len(cuts) < 30 {
		t.Errorf("cuts of only %d protocols are noticed", len(cuts))
	}
}

// A keeper keeps a clone of each message, and what it looked like when it came.
type keeper struct{ kept []kept }

type kept struct {
	clone dissect.Message
	was   string
}

// look shows everything that a message says.
func look(m *dissect.Message) string {
	return fmt.Sprintf("%s %#v %#v %#v %s", m.Type.Name, reflect.Indirect(reflect.ValueOf(m.Body)), m.Server, m.Pair, m.Variant)
}

func (k *keeper) Record(r *dissect.Record) {
	k.kept = append(k.kept, kept{r.Message.Clone(), look(&r.Message)})
}
func (k *keeper) Unknown(*dissect.Unknown)     {}
func (k *keeper) Finding(*dissect.FlowFinding) {}

// TestMessageClone overwrites the payloads and reuses the decoders after each message.
func TestMessageClone(t *testing.T) {
	goldens := must.Get(filepath.Glob(filepath.Join("..", "..", "testdata", "pcaps", "*", "*.golden.jsonl")))(t)
	all := 0
	for _, golden := range goldens {
		k := new(keeper)
		a := must.Get(dissect.New(dissect.Config{Protocols: Protocols()}, k))(t)
		buffer := make([]byte, 1<<16)
		for _, d := range datagrams(t, golden) {
			n := copy(buffer, d.Payload)
			a.Datagram(&dissect.Datagram{Frame: d.Frame, Frames: d.Frames, Time: d.Time, First: d.First, Src: d.Src, Dst: d.Dst, Payload: buffer[:n:n]})
			for i := range buffer[:n] {
				buffer[i] ^= 0x55
			}
		}
		a.Flush()
		for i := range k.kept {
			if m := &k.kept[i]; look(&m.clone) != m.was {
				t.Errorf("%s, message %d was\n%s, its clone is\n%s", golden, i+1, m.was, look(&m.clone))
			}
		}
		all += len(k.kept)
	}
	if all < 3000 {
		t.Errorf("%d messages", all)
	}
}
