package dissect

import "math/bits"

// checkPort reports a reply that states its own port in the wrong byte order.
func checkPort(rec *Record, r *Reader) {
	if stated, port := rec.Pair.Port, rec.Src.Port(); stated != port && bits.ReverseBytes16(stated) == port {
		r.Note(PortSwapped, Num(stated), Num(port))
	}
}
