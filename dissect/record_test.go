package dissect

import (
	"reflect"
	"testing"
)

// TestRecordClears: nothing of a message is left in the record of the next one.
func TestRecordClears(t *testing.T) {
	open := func(a *Analyzer) {
		var x arrival
		x.begin(&Datagram{Frame: 2, Payload: []byte("next")})
		x.protocol = 0
		a.whole(&x)
		a.record.stats = nil // its own
	}
	p := &Protocol{Name: "next"}
	clean, used := &Analyzer{scratch: new(scratch), protocols: []*Protocol{p}}, &Analyzer{scratch: new(scratch), protocols: []*Protocol{p}}
	rec := &used.record
	fill(reflect.ValueOf(rec).Elem())
	rec.also, rec.fields = 1, 1
	if reflect.ValueOf(rec).Elem().NumField() < 20 || rec.Server.Bots.Value == 0 || rec.Pair.Begins == 0 || rec.Findings == nil {
		t.Fatalf("not filled: %+v", rec)
	}
	open(clean)
	open(used)
	rec.Length, rec.WireLength = 0, 0                                   // set when it is decoded
	rec.Sources, rec.Nodes, rec.Findings, rec.fields = nil, nil, nil, 0 // set when it is handed over
	if !reflect.DeepEqual(rec, &clean.record) {
		t.Errorf("%+v\nwant %+v", rec, &clean.record)
	}
}

// fill sets all exported values to others than zero.
func fill(v reflect.Value) {
	switch {
	case !v.CanSet():
		return
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("before")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Interface:
		v.Set(reflect.ValueOf("before"))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}
