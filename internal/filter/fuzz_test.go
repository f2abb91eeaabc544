package filter

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
)

// FuzzParse checks that a text is parsed or refused with a valid place, and that a
// filter gives the same result as its condition, for files and as a program.
func FuzzParse(f *testing.F) {
	for _, e := range oracleExpressions {
		f.Add(e)
	}
	for _, e := range []string{"udp prot 53", "port", "(((udp", "net 192.0.2.1/24", "host 1:2:3", "ip[1:2", "\xff\n", "vlan 9999"} {
		f.Add(e)
	}
	frames := captures()[0].frames
	f.Fuzz(func(t *testing.T, e string) {
		filter, err := Parse(e)
		if err != nil {
			checkPlace(t, e, err.(*Error))
			return
		}
		for _, l := range links {
			if _, err := filter.compile(l.number, Options{Live: true}); err != nil {
				checkPlace(t, e, err.(*Error))
			}
			for _, o := range []Options{{Exact: true}, {}} {
				c, err := filter.compile(l.number, o)
				if err != nil {
					checkPlace(t, e, err.(*Error))
					continue
				}
				match := must.Get(filter.Matcher(l.number, o))(t)
				p := must.Get(filter.program(l.number, o))(t)
				for i := range frames {
					fr := &frames[i*7%len(frames)]
					if i > 40 {
						break
					}
					got := match(fr.data, fr.length)
					if yes, ok := evaluate(c, fr.data, fr.length); ok && yes != got {
						t.Fatalf("%s: the condition is %v, the graph says %v", fr.name, yes, got)
					}
					if program := p.matches(fr.data, fr.length); program != got {
						t.Fatalf("%s: the program says %v, the graph %v", fr.name, program, got)
					}
				}
			}
		}
	})
}

func checkPlace(t *testing.T, e string, err *Error) {
	t.Helper()
	if err.Expression != e || err.Offset < 0 || err.Length < 1 || err.Offset+err.Length > len(e) {
		t.Fatalf("%q: the place is %d, %d", err.Text, err.Offset, err.Length)
	}
	if lines := strings.Split(err.Show(), "\n"); len(lines) != 2 || !strings.HasSuffix(lines[1], "^") {
		t.Fatalf("%q", err.Show())
	}
	if err.Text == "" {
		t.Fatal("nothing is said")
	}
}
