package dissect

import (
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// Clone returns a copy of the message that shares no memory with the payload or its decoder,
// so that it may be kept.
func (m *Message) Clone() Message {
	own := *m
	if m.Body != nil {
		body := reflect.New(reflect.TypeOf(m.Body).Elem())
		body.Elem().Set(reflect.ValueOf(m.Body).Elem())
		own.Body = body.Interface()
		detach(body.Elem())
	}
	detach(reflect.ValueOf(&own).Elem())
	return own
}

// detach replaces the strings and lists in a value by copies. Messages hold numbers, texts,
// lists and structs of these; what they point to are declarations, which never change.
func detach(v reflect.Value) {
	if !v.CanSet() { // an unexported field of a message, such as the facts for its summary
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Clone(v.String()))
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		if b, ok := v.Interface().([]byte); ok {
			v.SetBytes(slices.Clone(b))
			return
		}
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		v.Set(list)
		for i := range list.Len() {
			detach(list.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			detach(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			detach(v.Field(i))
		}
	}
}
