package gamespy1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
)

// BenchmarkDecode reads a status reply of 24 players.
func BenchmarkDecode(b *testing.B) {
	var text strings.Builder
	text.WriteString(basicText + infoText + rulesText)
	for i := range 24 {
		fmt.Fprintf(&text, "/player_%d/Somebody %d/frags_%d/%d/deaths_%d/%d/ping_%d/ %d", i, i, i, i*3, i, i, i, 20+i)
	}
	payload := []byte(bs(text.String() + "/final//queryid/5.1"))
	for name, tree := range map[string]bool{"tree": true, "struct": false} {
		b.Run("gamespy1_status/"+name, func(b *testing.B) {
			d := newDecoder()
			var r dissect.Reader
			b.SetBytes(int64(len(payload)))
			b.ReportAllocs()
			for b.Loop() {
				var m dissect.Message
				r.Reset(payload, 1, tree)
				d.Decode(&r, &m)
			}
		})
	}
}
