package core

import "testing"

func TestWide(t *testing.T) {
	catalog := NewCatalog("test")
	f := catalog.Add("name", String, "A text.", FreeText, InStyle(Unreal))
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"\xe2\x00\xdc\x02\x3a\x20M\x00", "\u00e2\u02dc\u203aM"}, // â˜›M
		{"\x3d\xd8\x00\xde!\x00", "\U0001f600!"},
		{"\x3d\xd8!\x00", "\ufffd!"},
		{"\x00\xde\x3d\xd8", "\ufffd\ufffd"},
	} {
		for _, tree := range []bool{false, true} {
			var r Reader
			Reset(&r, []byte("\x81\x01"+tc.in+"\x00\x00rest"), 1, tree)
			got := Wide(&r, f, 2, len(tc.in)/2, 2)
			if got != tc.want || r.Failed() || r.Left() != 4 || len(r.findings) > 0 {
				t.Errorf("%q: %q, want %q; %v, %d left, %d findings", tc.in, got, tc.want, Err(&r), r.Left(), len(r.findings))
			}
			if !tree {
				continue
			}
			n := &r.nodes[0]
			if s := string(n.Text(nil, r.data)); s != tc.want || !n.Wide || n.Style() != UnrealWide || string(n.Value(r.data)) != tc.in {
				t.Errorf("%q: the leaf says %q, %+v", tc.in, s, n)
			}
		}
	}
	var r Reader
	Reset(&r, []byte("\x83a\x00b\x00"), 1, true)
	if got := Wide(&r, f, 1, 3, 0); got != "" || !r.Failed() || len(r.nodes) != 0 {
		t.Errorf("cut: %q, %v", got, r.nodes)
	}
}
