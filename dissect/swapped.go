package dissect

import "github.com/qdissect/qdissect/internal/core"

import "math/bits"

// checkPort reports a reply that states its own port in the wrong byte order.
func checkPort(rec *Record, r *Reader) {
	if stated, port := rec.Pair.Port, rec.Src.Port(); stated != port && bits.ReverseBytes16(stated) == port {
		r.Note(core.PortSwapped, Num(stated), Num(port))
	}
}
