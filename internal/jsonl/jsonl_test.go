package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/must"
)

// any returns the value of a node as encoding/json decodes it.
func (d *Document) any(i int) any {
	n := &d.Nodes[i]
	switch n.Kind {
	case Text:
		return string(n.Value)
	case Number:
		return json.Number(n.Raw)
	case Boolean:
		return string(n.Raw) == "true"
	case Array:
		list := []any{}
		for j := i + 1; j < int(n.End); j = int(d.Nodes[j].End) {
			list = append(list, d.any(j))
		}
		return list
	case Object:
		m := map[string]any{}
		for j := i + 1; j < int(n.End); j = int(d.Nodes[j].End) {
			m[string(d.Nodes[j].Key)] = d.any(j)
		}
		return m
	}
	return nil
}

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"b":[true,false,null,{}],"c":"x\"\u00e9\ud83d\ude00\n"}`: "",
		` [ ] `:               "",
		`-0.5e+7`:             "",
		`{"a":1,"b":2,"a":3}`: `"a" twice at byte 14`,
		`01`:                  "invalid character '1' after top-level value at byte 2",
		`{"a"}`:               "invalid character '}' after object key at byte 5",
		`{"a":1,}`:            "invalid character '}' looking for beginning of object key string at byte 8",
		`[1,]`:                "invalid character ']' looking for beginning of value at byte 4",
		`"abc`:                "unexpected end of JSON input at byte 4",
		`"\x"`:                "invalid character 'x' in string escape code at byte 3",
		"\"a\nb\"":            "invalid character '\\n' in string literal at byte 3",
		`{"a":1 "b":2}`:       "invalid character '\"' after object key:value pair at byte 8",
		``:                    "unexpected end of JSON input at byte 1",
		`1 x`:                 "invalid character 'x' after top-level value at byte 3",
		strings.Repeat("[", 300) + strings.Repeat("]", 300):           "nested too deep at byte 257",
		strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300): "nested too deep at byte 1281",
		strings.Repeat("[", 100000):                                   "invalid character '[' exceeded max depth at byte 10001",
	} {
		var d Document
		err := d.Parse([]byte(in))
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%.100s: %v, want %q", in, err, want)
		}
	}
	// Many members: as good as few.
	var b strings.Builder
	for i := range 1000 {
		b.WriteString(`,"k` + strings.Repeat("x", i) + `":1`)
	}
	var d Document
	must.Do(t, d.Parse([]byte("{"+b.String()[1:]+"}")))
	if err := d.Parse([]byte("{" + b.String()[1:] + `,"kxxx":2}`)); err == nil || !strings.HasPrefix(err.Error(), `"kxxx" twice`) {
		t.Error(err)
	}
}

func readObjects(r io.Reader) (list []string, lines []int, err error) {
	o := NewReader(r)
	for {
		b, line, err := o.Next()
		if err != nil {
			return list, lines, err
		}
		list, lines = append(list, string(b)), append(lines, line)
	}
}

func TestObjects(t *testing.T) {
	for _, c := range []struct {
		in    string
		want  []string
		lines []int
		err   string
	}{
		{"{\"a\":1}\n{\"b\":\"}\\\"{\"}\n", []string{`{"a":1}`, `{"b":"}\"{"}`}, []int{1, 2}, "EOF"},
		{"[\n{\"a\":1},\n{\"b\":{}}\n]\n", []string{`{"a":1}`, `{"b":{}}`}, []int{2, 3}, "EOF"},
		{"{\n  \"a\": [\n    1\n  ]\n}\n{ }", []string{"{\n  \"a\": [\n    1\n  ]\n}", "{ }"}, []int{1, 6}, "EOF"},
		{"", nil, nil, "EOF"},
		{"{}\nsomething else", []string{"{}"}, []int{1}, "line 2: no JSON object"},
		{"{}\n{\"a\":\"\\", []string{"{}"}, []int{1}, "line 2: the object breaks off: unexpected EOF"},
		{"{}\n{\"a\":{}\n", []string{"{}"}, []int{1}, "line 2: the object breaks off: unexpected EOF"},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in)), iotest.DataErrReader(strings.NewReader(c.in))} {
			got, lines, err := readObjects(r)
			if !reflect.DeepEqual(got, c.want) || !reflect.DeepEqual(lines, c.lines) || err.Error() != c.err {
				t.Errorf("%q: %q %d %v", c.in, got, lines, err)
			}
		}
	}
	endless := io.MultiReader(strings.NewReader(`{"a":"`), zeros{})
	if _, _, err := readObjects(endless); err == nil || err.Error() != "line 1: an object of more than 32 MiB" {
		t.Error(err)
	}
	if _, _, err := readObjects(iotest.ErrReader(errors.New("disk"))); err == nil || err.Error() != "disk" {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

// FuzzParse: Parse accepts what encoding/json accepts, with the same result, except
// duplicate names and deep nesting.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"type":"message","frame":2,"fields":{"name":"a\u202e\"","x":[-1.50,1e-7,true,null]},"findings":[{"id":"x"}]}`,
		`[1,[2,[]],{}]`, `"\ud800\ud83d\ude00\u00e9\/"`, `{"a":1,"a":2}`, "\"\xff\"", ` 0 `, `-`, `{"a":"b`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Document
		err := d.Parse(b)
		if err == nil != json.Valid(b) {
			if err != nil && (strings.Contains(err.Error(), "twice") || strings.Contains(err.Error(), "too deep")) {
				return
			}
			t.Fatalf("%v, encoding/json says %v", err, json.Valid(b))
		}
		if err != nil {
			return
		}
		if string(d.Nodes[0].Raw) != string(bytes.Trim(b, " \t\r\n")) {
			t.Fatalf("the value is %q", d.Nodes[0].Raw)
		}
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.UseNumber()
		var want any
		must.Do(t, dec.Decode(&want))
		// encoding/json replaces what is no character.
		if utf8.Valid(b) && !bytes.Contains(bytes.ToLower(b), []byte(`\ud`)) && !reflect.DeepEqual(d.any(0), want) {
			t.Fatalf("%#v, want %#v", d.any(0), want)
		}
		// In a stream, an object is found again.
		if d.Nodes[0].Kind == Object {
			list, _, err := readObjects(iotest.HalfReader(bytes.NewReader(append(append([]byte("[\n"), b...), ",{}]"...))))
			if err != io.EOF || len(list) != 2 || list[0] != string(d.Nodes[0].Raw) {
				t.Fatalf("%q, %v", list, err)
			}
		}
	})
}

// TestHead: the identity of every kind of object.
func TestHead(t *testing.T) {
	for in, want := range map[string]Head{
		`{"type":"message","frame":12,"src_ip":"192.0.2.1","src_port":1,"dst_ip":"2001:db8::1","dst_port":2,"protocol":"a2s","message":"info_reply","summary":"x"}`: {"message", 12, "192.0.2.1:1", "[2001:db8::1]:2", "a2s", "info_reply", "x"},
		`{"type":"finding","frame":3,"src_ip":"192.0.2.1","findings":[{"id":"rtt","text":"y"}],"message":"z"}`:                                                      {"finding", 3, "192.0.2.1", "", "", "rtt", "y"},
		`{"type":"finding","findings":{"id":"rtt"}}`: {Type: "finding"},
		`{"type":"summary","frame":"3","src_ip":1}`:  {Type: "summary"},
		`[]`: {},
	} {
		var d Document
		must.Do(t, d.Parse([]byte(in)))
		if got := d.Head(); got != want {
			t.Errorf("%s: %+v", in, got)
		}
	}
}
