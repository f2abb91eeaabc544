package pipeline

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/report"
)

var errReporter = errors.New("the reporter failed")

// failing is a reporter that fails at the third message of a worker.
type failing struct {
	*report.JSON
	messages int
}

func (f *failing) Record(r *dissect.Record) error {
	if f.messages++; f.messages > 2 {
		return errReporter
	}
	return f.JSON.Record(r)
}

// TestReporterError: the first error of a reporter ends the run, and nothing of what
// comes after it is written.
func TestReporterError(t *testing.T) {
	for _, workers := range []int{1, 4} {
		var out bytes.Buffer
		_, err := Run(Options{
			Inputs: []string{"../../testdata/pcaps/a2s/source.pcap"}, Out: &out, Workers: workers,
			Reporter: func() report.Reporter { return &failing{JSON: report.NewJSON(report.JSONOptions{})} },
			Analysis: dissect.Config{Protocols: all.Protocols()}, Trouble: func(err error) { t.Error(err) },
		})
		if err != errReporter {
			t.Errorf("%d workers: %v", workers, err)
		}
		if n := strings.Count(out.String(), `"type":"message"`); n > 2*workers {
			t.Errorf("%d workers: %d messages", workers, n)
		}
	}
}
