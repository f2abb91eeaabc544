package dissect

// identities evaluates the identification of IPv4 headers. Two datagrams with the
// same bytes and the same identification are one. Different identifications prove
// that the bytes were sent twice only if the duplicates of this capture are known to
// keep their identification: tools that write captures may number duplicates as
// well.
type identities struct {
	proofs   uint32 // datagrams that were seen again with the same identification
	others   uint32 // and with another one, at once
	constant uint32 // datagrams with the identification of the one before and other bytes
	last     uint16
	sum      uint32
}

// sameness says whether two datagrams with the same bytes are one.
type sameness uint8

const (
	undecided sameness = iota
	oneDatagram
	twoDatagrams
)

// fewProofs is more than chance produces.
const fewProofs = 2

// see records the next datagram and the checksum of its payload.
func (n *identities) see(id uint16, sum uint32) {
	if id != 0 && id == n.last && sum != n.sum {
		n.constant++
	}
	n.last, n.sum = id, sum
}

// judge compares a datagram with those of s, the last of which came past nanoseconds
// ago, and records its identification.
func (n *identities) judge(s *sighting, id uint16, past int64) sameness {
	if id == 0 {
		return undecided
	}
	known := false
	for _, seen := range s.ids {
		if seen != id {
			known = known || seen != 0
			continue
		}
		if past <= int64(soon) {
			n.proofs++
		}
		// Some senders number all of their datagrams alike.
		if n.constant > n.proofs/16 || past > int64(soon) && n.proofs < fewProofs {
			return undecided
		}
		return oneDatagram
	}
	s.ids[s.next%uint8(len(s.ids))] = id
	s.next++
	if known && past <= int64(copyWindow) {
		n.others++
	}
	if !known || n.proofs < fewProofs || n.others > 8*n.proofs || n.constant > n.proofs/16 {
		return undecided
	}
	return twoDatagrams
}
