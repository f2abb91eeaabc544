package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
)

// saved is an output with one message that has a list, from element first on.
func saved(t *testing.T, name string, first, n int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"type":"message","frame":1,"src_ip":"192.0.2.1","src_port":1,"dst_ip":"192.0.2.2","dst_port":2,"protocol":"a2s","message":"players_reply","a2s":{"players":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"p%d","score":%d}`, first+i, first+i)
	}
	b.WriteString("]}}\n")
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// TestLimits: the numbers of docs/limits.md, said once more.
func TestLimits(t *testing.T) {
	// One element less is one difference, as long as lists are aligned.
	for n, aligned := range map[int]bool{512: true, 513: false} {
		r, _, err := Diff(saved(t, "a", 0, n), saved(t, "b", 1, n-1), Rules{Conversation: true}, 1<<20, nil)
		must.Do(t, err)
		if (r.Count == 1) != aligned {
			t.Errorf("%d elements and one less: %d differences", n, r.Count)
		}
	}

	// A message less is one difference in a conversation of any length, and as
	// many conversations as there are find each other.
	write := func(name string, messages func(b *strings.Builder)) string {
		var b strings.Builder
		messages(&b)
		path := filepath.Join(t.TempDir(), name)
		must.Do(t, os.WriteFile(path, []byte(b.String()), 0o600))
		return path
	}
	talk := func(without int) func(b *strings.Builder) {
		return func(b *strings.Builder) {
			for i := range 2500 {
				if i != without {
					fmt.Fprintf(b, `{"type":"message","frame":%d,"src_ip":"192.0.2.1","src_port":1,"dst_ip":"192.0.2.2","dst_port":2,"protocol":"a2s","message":"log","a2s":{"text":"line %d"}}`+"\n", i+1, i)
				}
			}
		}
	}
	talks := func(more string) func(b *strings.Builder) {
		return func(b *strings.Builder) {
			for i := range 1500 {
				fmt.Fprintf(b, `{"type":"message","frame":%d,"src_ip":"192.0.2.1","src_port":%d,"dst_ip":"192.0.2.2","dst_port":2,"protocol":"a2s","message":"log","a2s":{"name":"n%d","text":"line %d%s"}}`+"\n", i+1, i+1, i, i, more)
			}
		}
	}
	for _, c := range []struct {
		a, b func(b *strings.Builder)
		want int
	}{{talk(-1), talk(10), 1}, {talk(-1), talk(2000), 1}, {talks(""), talks(" more"), 1500}} {
		r, _, err := Diff(write("a", c.a), write("b", c.b), Rules{Conversation: true}, 0, nil)
		if err != nil || r.Count != c.want {
			t.Errorf("%d differences, not %d (%v)", r.Count, c.want, err)
		}
	}

	const mib = 1 << 20
	raw := []byte(`{"type":"message","frame":1,"src_ip":"192.0.2.1","src_port":1,"dst_ip":"192.0.2.2","dst_port":2}`)
	in := &input{name: "x", byEnds: make(map[ends]*conversation), held: 256*mib - len(raw) - 256}
	d := newDiffer(Rules{Conversation: true}, 0)
	if err := in.take(&d, raw, 1); err != nil {
		t.Errorf("256 MiB: %v", err)
	}
	if err := in.take(&d, raw, 2); err == nil || !strings.Contains(err.Error(), "more than 256 MiB of messages") {
		t.Errorf("more than 256 MiB: %v", err)
	}

	c := newChecker(strings.NewReader(""), Rules{}, 0)
	c.held = 256*mib - len(raw) - 256
	if c.take(1, raw, 1); c.err != nil {
		t.Errorf("256 MiB: %v", c.err)
	}
	if c.take(1, raw, 2); c.err == nil || !strings.Contains(c.err.Error(), "more than 256 MiB of messages") {
		t.Errorf("more than 256 MiB: %v", c.err)
	}
}
