package filter

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
)

// FuzzParse checks that a text is parsed or refused with a valid place, and that a
// filter gives the same result as its condition.
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
				match, err := filter.Matcher(l.number, o)
				if err != nil {
					t.Fatal(err)
				}
				for i := range frames {
					fr := &frames[i*7%len(frames)]
					if i > 40 {
						break
					}
					got := match(fr.data, fr.length)
					if yes, ok := evaluate(c, fr.data, fr.length); ok && yes != got {
						t.Fatalf("%s: the condition is %v, the program says %v", fr.name, yes, got)
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

// fuzzCodes are the instructions that both machines implement. The one of x/net/bpf
// has no negation, and loads the length into A in place of X.
var fuzzCodes = func() (list []uint16) {
	for _, code := range codes {
		if code != classArithmetic|operationNegate && code != classLoadX|modeLength {
			list = append(list, code)
		}
	}
	return list
}()

// FuzzProgram compares our machine with that of x/net/bpf.
func FuzzProgram(f *testing.F) {
	frames := captures()[0].frames
	for i, e := range oracleExpressions {
		filter, err := Parse(e)
		if err != nil {
			f.Fatal(err)
		}
		p, err := filter.Compile(1, Options{})
		if err != nil {
			continue
		}
		var code []byte
		for _, r := range p.code {
			code = append(code, byte(bytes.IndexByte(codeBytes(), byte(r.Op))), r.Jt, r.Jf, byte(r.K>>24), byte(r.K>>16), byte(r.K>>8), byte(r.K))
		}
		f.Add(code, frames[i%len(frames)].data)
	}
	f.Fuzz(func(t *testing.T, code, data []byte) {
		var raw []bpf.RawInstruction
		for ; len(code) >= 7; code = code[7:] {
			raw = append(raw, bpf.RawInstruction{
				Op: fuzzCodes[int(code[0])%len(fuzzCodes)],
				Jt: code[1], Jf: code[2],
				K: uint32(code[3])<<24 | uint32(code[4])<<16 | uint32(code[5])<<8 | uint32(code[6]),
			})
		}
		p, err := newProgram(raw)
		if err != nil {
			return
		}
		got := p.run(data, len(data))
		vm, err := bpf.NewVM(p.Instructions())
		if err != nil {
			return
		}
		want, err := vm.Run(data)
		if err != nil {
			t.Fatal(err)
		}
		if got != uint32(want) {
			t.Fatalf("got %d, want %d:\n%v", got, want, p)
		}
		again, err := ParseProgram(strings.NewReader(p.String()))
		if err != nil {
			t.Fatal(err)
		}
		if again.String() != p.String() {
			t.Fatalf("%v became %v", p, again)
		}
	})
}

func codeBytes() (list []byte) {
	for _, c := range fuzzCodes {
		list = append(list, byte(c))
	}
	return list
}

// FuzzParseProgram checks that parsing ends with a program or an error.
func FuzzParseProgram(f *testing.F) {
	f.Add("2\n40 0 0 12\n6 0 0 262144\n")
	f.Add("{ 0x28, 0, 0, 0x0000000c },\n{ 0x6, 0, 0, 0x00040000 },\n")
	f.Add("1\n6 0 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseProgram(strings.NewReader(text))
		if err == nil {
			p.run([]byte(text), len(text))
		}
	})
}
