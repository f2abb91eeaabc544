package dissect

import "math/bits"

// Numbers in the wrong byte order, as far as the capture proves it.
var (
	// ChallengeSwapped is a challenge that comes back with its bytes reversed.
	ChallengeSwapped = &FindingType{ID: "challenge.swapped", Severity: Warning, Text: "challenge %d is byte-swapped: the server gave %d",
		Doc: "The request carries a challenge or token that this server gave to this address, with its four bytes reversed. The client reads or writes it in the wrong byte order. Servers take it for a wrong one: they give another challenge, or stay silent."}
	// PortSwapped is a reply that states its own port with its bytes reversed.
	PortSwapped = &FindingType{ID: "port.swapped", Severity: Warning, Text: "port %d is byte-swapped: the reply comes from port %d",
		Doc: "The reply states the port that it was sent from, with its two bytes reversed. The server writes it in the wrong byte order, or it answers on a port that happens to be the reverse of the game's. Clients that follow it connect to the wrong port."}
)

// checkPort reports a reply that states the port it comes from in the wrong byte
// order.
func checkPort(rec *Record, r *Reader) {
	if stated, port := rec.Pair.Port, rec.Src.Port(); stated != port && bits.ReverseBytes16(stated) == port {
		r.Note(PortSwapped, Num(stated), Num(port))
	}
}
