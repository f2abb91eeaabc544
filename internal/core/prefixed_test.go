package core

import "testing"

func TestPrefixed(t *testing.T) {
	f := NewCatalog("test").Add("name", String, "A text.")
	for _, tc := range []struct {
		in, want string
		left     int
		failed   bool
	}{
		{"\x02\x00abc", "ab", 1, false},
		{"\x00\x00", "", 0, false},
		{"\x03\x00ab", "", 0, true},
		{"\x03", "", 0, true},
		{"", "", 0, true},
	} {
		var r Reader
		Reset(&r, []byte(tc.in), 1, true)
		got := PString16(&r, f)
		if got != tc.want || r.Failed() != tc.failed || r.Left() != tc.left {
			t.Errorf("%q: %q, %v, %d left", tc.in, got, Err(&r), r.Left())
		}
	}
	for in, want := range map[string]string{"\x02\x00\x00\x00abc": "ab", "\xff\xff\xff\xffabc": "", "\x02\x00\x00": ""} {
		var r Reader
		Reset(&r, []byte(in), 1, true)
		if got := PString32(&r, f); got != want || r.Failed() != (want == "") {
			t.Errorf("%q: %q, %v", in, got, Err(&r))
		}
		if want != "" && string(r.nodes[0].Value(r.data)) != want {
			t.Errorf("%q: the leaf says %q", in, r.nodes[0].Value(r.data))
		}
	}
}
