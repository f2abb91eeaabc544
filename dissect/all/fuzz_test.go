package all

import (
	"bytes"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
)

// FuzzDetect passes the same bytes to the detectors of all protocols. A detector is
// total, changes nothing, uses only the first 64 bytes, and returns No for bytes with
// which no message of its protocol begins. A protocol that accepts the bytes can decode
// them without breaking a promise.
func FuzzDetect(f *testing.F) {
	for i, s := range samples(f) {
		if i%must.Try(4, 1) > 0 {
			continue
		}
		f.Add(s.payload)
	}
	analyzers := map[string]*dissect.Analyzer{}
	for _, p := range Protocols() {
		a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{p}}, new(keeper)))(f)
		analyzers[p.Name] = a
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		before := bytes.Clone(payload)
		head := payload[:min(len(payload), 64)]
		for _, p := range Protocols() {
			v := p.Detect(head)
			// The bytes after them in memory must not matter.
			if again := p.Detect(append(bytes.Clone(head), 0xff)[:len(head):len(head)]); again != v {
				t.Errorf("%s says %v, and then %v", p.Name, v, again)
			}
			if v > dissect.No && len(p.Starts) > 0 && !analyzers[p.Name].Inner(core.Only{}).Candidate(1, 1, payload) {
				t.Errorf("%s says %v of what begins with % x, which is not among its starts", p.Name, v, payload[:min(len(payload), 2)])
			}
			if v > dissect.No {
				dissecttest.Check(t, p, payload)
			}
		}
		if !bytes.Equal(payload, before) {
			t.Fatal("the payload was changed")
		}
	})
}
