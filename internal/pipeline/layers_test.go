package pipeline

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/report"
)

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
		e.at.now = list[0].Time
		for i := range list {
			f := list[i]
			if change != nil {
				change(&f)
			}
			must.Do(t, e.frame(&f))
		}
		must.Do(t, e.flush())
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
