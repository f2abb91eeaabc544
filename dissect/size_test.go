package dissect

import (
	"reflect"
	"testing"
	"unsafe"
)

// fields counts the fields of a struct, with those of unexported structs that it holds by
// value.
func fields(t reflect.Type) (n int) {
	for i := range t.NumField() {
		f := t.Field(i).Type
		if name := f.Name(); f.Kind() == reflect.Struct && f.PkgPath() == t.PkgPath() && (name == "" || name[0] >= 'a') {
			n += fields(f)
			continue
		}
		n++
	}
	return n
}

// TestSizes: what each request and each conversation needs lies in one cache line, and
// what is known is in types by responsibility.
func TestSizes(t *testing.T) {
	const line = 64
	if n := unsafe.Sizeof(request{}); n > line {
		t.Errorf("a request has %d bytes", n)
	}
	if n := unsafe.Sizeof(flow{}); n > line {
		t.Errorf("a flow has %d bytes", n)
	}
	for _, c := range []struct {
		of   reflect.Type
		most int
	}{{reflect.TypeFor[tracker](), 18}, {reflect.TypeFor[Analyzer](), 16}} {
		if n := fields(c.of); n > c.most {
			t.Errorf("%s has %d fields, at most %d", c.of.Name(), n, c.most)
		}
	}
	if n := fields(reflect.TypeFor[held]()); n != 13 {
		t.Errorf("held has %d fields: those of what it holds are to be counted", n)
	}
}
