package core

// Enum reads a byte whose values the catalog lists, and reports one that is not
// among them.
func Enum(r *Reader, f *Field) uint8 {
	v := r.U8(f)
	if r.state != failed && f.NameOf(uint64(v)) == "" {
		r.undefined(f, v)
	}
	return v
}

// Flag reads a byte that is 0 or 1, and reports any other value. Values from 1
// up are true.
func Flag(r *Reader, f *Field) bool {
	v := r.U8(f)
	if v > 1 {
		r.undefined(f, v)
	}
	return v != 0
}

// undefined reports the byte that was read last.
func (r *Reader) undefined(f *Field, v uint8) { r.Find(Undefined, f, r.off-1, 1, Str(f.key), Num(v)) }

// Explain sets the number of the text that was read last, or of the text that was
// read back leaves before it. The field then shows the name of that number.
func Explain(r *Reader, back int, num uint64) {
	if i := len(r.nodes) - 1 - back; r.want && !r.Failed() && i >= 0 {
		r.nodes[i].Num = num
	}
}
