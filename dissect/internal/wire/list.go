package wire

import "github.com/qdissect/qdissect/dissect"

// Records reads a list of records while more reports that another follows, and appends
// them to dst. A record that cannot be read completely ends the list, and its bytes
// become data.
func Records[T any](r *dissect.Reader, list, record *dissect.Field, dst []T, more func() bool, read func() T) []T {
	open := r.Begin(list)
	for more() {
		group := r.BeginRecord(record)
		v := read()
		if !r.EndRecord(group) {
			break
		}
		dst = append(dst, v)
	}
	r.End(open)
	return dst
}

// Counted is [Records] for a list of n records.
func Counted[T any](r *dissect.Reader, list, record *dissect.Field, dst []T, n int, read func() T) []T {
	more := func() bool { n--; return n >= 0 && !r.Failed() }
	return Records(r, list, record, dst, more, read)
}

// Texts reads the number of texts in a byte, and a list of them that end with zero bytes.
func Texts(r *dissect.Reader, count, list, one *dissect.Field, dst []string) []string {
	n := r.U8(count)
	open := r.Begin(list)
	for ; n > 0 && !r.Failed(); n-- {
		if s := r.CString(one); !r.Failed() {
			dst = append(dst, s)
		}
	}
	r.End(open)
	return dst
}
