package all

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/must"
)

var update = flag.Bool("update", false, "write testdata/bodies.txt anew; read it before you commit")

// TestBodies compares what Parse returns with testdata/bodies.txt: of each kind of message, the longest one of the captures that
// is not too long to be read.
func TestBodies(t *testing.T) {
	const most = 240
	longest := map[string]*sample{}
	for _, s := range samples(t) {
		key := s.protocol.Name + " " + s.message
		if was := longest[key]; !s.split && len(s.payload) <= most && (was == nil || len(was.payload) < len(s.payload)) {
			longest[key] = s
		}
	}
	var lines []string
	for key, s := range longest {
		m, _, err := dissect.Parse(s.protocol, s.payload)
		lines = append(lines, fmt.Sprintf("%s, frame %d of %s: %T %s %v\n", key, s.frame, s.file, m.Body, must.Get(json.Marshal(m.Body))(t), err))
	}
	slices.Sort(lines)
	got := strings.Join(lines, "")
	if *update {
		must.Do(t, os.WriteFile("testdata/bodies.txt", []byte(got), 0o666))
	}
	want := strings.SplitAfter(string(must.Get(os.ReadFile("testdata/bodies.txt"))(t)), "\n")
	for i, line := range strings.SplitAfter(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("is now %swas %s", line, want[min(i, len(want)-1)])
		}
	}
}
