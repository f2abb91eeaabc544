package pipeline

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/report"
)

// unreasoned writes messages without their reasons, of which it counts those that are not
// the header.
type unreasoned struct {
	*report.JSON
	others *int
}

func (r unreasoned) Record(rec *dissect.Record) error {
	if rec.Reason != core.ByHeader {
		*r.others++
	}
	rec.Reason = core.ByHeader
	return r.JSON.Record(rec)
}

// TestUnreasoned: without the reasons, all else is the same.
func TestUnreasoned(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "pcaps", "*", "*.pcap"))
	if err != nil || len(files) < 30 {
		t.Fatal(len(files), err)
	}
	var others [2]int
	for _, name := range files {
		var out [2]bytes.Buffer
		for i := range out {
			_, err := Run(Options{
				Inputs: []string{name}, Out: &out[i], Workers: 1, Trouble: func(error) {}, All: true,
				Reporter: func() report.Reporter { return unreasoned{report.NewJSON(report.JSONOptions{}), &others[i]} },
				Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign(), Unreasoned: i > 0},
			})
			if err != nil && out[i].Len() == 0 {
				t.Log(name, err)
			}
		}
		if !bytes.Equal(out[0].Bytes(), out[1].Bytes()) {
			t.Errorf("%s:\n%s\nwithout reasons:\n%s", name, &out[0], &out[1])
		}
	}
	if others[1] >= others[0] {
		t.Errorf("%d reasons other than the header, %d without reasons: nothing is spared", others[0], others[1])
	}
}
