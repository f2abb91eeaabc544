package dissecttest

import (
	"slices"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/thorough"
)

// runFailures makes the reader fail at every read of every sample, and at every limit
// of records. Nothing else reaches the code after such failures: a datagram that
// exceeds the limit of records has 16 KB. The tree must stay sound, and the decoder
// must decode the next message as before.
func runFailures(t *testing.T, p *dissect.Protocol, samples []Sample) {
	var k keeper
	a := newAnalyzer(t, p, nil, true, &k)
	bare := newAnalyzer(t, p, a, false, &nobody{})
	for _, s := range samples {
		t.Run(s.Name, func(t *testing.T) {
			try := func(inject core.Inject) (hit bool) {
				defer func() {
					if e := recover(); e != nil {
						t.Errorf("%+v: panic: %v", inject, e)
						panic(e)
					}
				}()
				a.Inner(core.Only{}).Inject(&inject)
				k.records = k.records[:0]
				feed(a, s.Parts, start)
				a.Flush()
				for i := range k.records {
					checkRecord(t, p, &k.records[i])
				}
				if t.Failed() {
					t.Fatalf("%+v", inject)
				}
				hit = inject.Hit || slices.ContainsFunc(k.records, func(r Kept) bool { return r.Has(core.TooManyRecords) })
				feed(bare, s.Parts, start)
				bare.Flush()
				return hit
			}
			for n := 1; try(core.Inject{Read: n}); n += 1 + n/thorough.Of(8, 64) {
			}
			for n := 1; try(core.Inject{Records: n}); n += 1 + n/thorough.Of(8, 64) {
			}
			a.Inner(core.Only{}).Inject(nil)
			k.records = k.records[:0]
			feed(a, s.Parts, start)
			a.Flush()
			same(t, "after failures", slices.Clone(k.records), decode(t, p, s.Parts, true))
		})
	}
}
