package packet

import "fmt"

// maxAnomalies is the number of anomalies kept per datagram. Further ones are only
// counted.
const maxAnomalies = 8

// An Anomaly is an error in the headers of a datagram, or in its fragments, that did not
// prevent delivery.
type Anomaly struct {
	Kind AnomalyKind
	// Said is the number in the header, 0 if the kind has none.
	Said int
	// Have is the number that Said is compared with, or the number of occurrences.
	Have int
}

// An AnomalyKind is a kind of anomaly.
type AnomalyKind uint8

const (
	// IPLengthZero: the length in an IP header is 0, as in captures made on a machine with
	// segmentation offload, and in IPv6 jumbograms. All Have bytes of the frame are used.
	IPLengthZero AnomalyKind = iota + 1
	// IPLengthBeyond: an IP header states Said bytes, but the frame had only Have.
	IPLengthBeyond
	// UDPLengthZero: the UDP length is 0. All Have bytes of the IP payload, header
	// included, are used.
	UDPLengthZero
	// UDPLengthShort: the UDP length, Said, is smaller than the UDP header. All Have bytes
	// of the IP payload are used.
	UDPLengthShort
	// UDPLengthBeyond: the UDP length, Said, is larger than the IP payload of Have bytes.
	// The IP payload is used.
	UDPLengthBeyond
	// UDPLengthFour: the UDP length, Said, is 4 less than the IP payload of Have bytes.
	// The IP payload is used: the capture writer of rust-gamedig counts 4 bytes for the
	// header of 8.
	UDPLengthFour
	// UDPSurplus: the UDP length, Said, is less than the IP payload of Have bytes, but not
	// by 4. The UDP length is used (RFC 9868 puts options into the rest).
	UDPSurplus
	// FragmentsDuplicated: Have fragments are duplicates.
	FragmentsDuplicated
	// FragmentsOverlap: Have fragments cover bytes that earlier ones covered.
	FragmentsOverlap
	// FragmentsConflict: Have fragments contradict earlier ones. The earlier ones are
	// used.
	FragmentsConflict
	// FragmentsReordered: a fragment came before one with a lower offset.
	FragmentsReordered
	// FragmentsChecksum: the UDP checksum of the joined datagram, Said, is wrong; Have is
	// the correct one. The fragments may belong to different datagrams.
	FragmentsChecksum
)

var anomalyNames = [...]string{
	IPLengthZero:        "ip length zero",
	IPLengthBeyond:      "ip length beyond frame",
	UDPLengthZero:       "udp length zero",
	UDPLengthShort:      "udp length below header",
	UDPLengthBeyond:     "udp length beyond ip",
	UDPLengthFour:       "udp length short by 4",
	UDPSurplus:          "bytes after udp",
	FragmentsDuplicated: "duplicate fragments",
	FragmentsOverlap:    "overlapping fragments",
	FragmentsConflict:   "conflicting fragments",
	FragmentsReordered:  "reordered fragments",
	FragmentsChecksum:   "checksum of fragments",
}

func (k AnomalyKind) String() string { return nameOf(anomalyNames[:], int(k)) }

// nameOf returns the name of a constant, "unknown" if it has none.
func nameOf(names []string, i int) string {
	if i < len(names) && names[i] != "" {
		return names[i]
	}
	return "unknown"
}

func (a Anomaly) String() string {
	switch a.Kind {
	case IPLengthZero, UDPLengthZero:
		return fmt.Sprintf("%v: took %d bytes", a.Kind, a.Have)
	case IPLengthBeyond, UDPLengthShort, UDPLengthBeyond, UDPLengthFour, UDPSurplus:
		return fmt.Sprintf("%v: said %d, have %d bytes", a.Kind, a.Said, a.Have)
	case FragmentsReordered:
		return a.Kind.String()
	case FragmentsChecksum:
		return fmt.Sprintf("%v: said %#04x, should be %#04x", a.Kind, a.Said, a.Have)
	}
	return fmt.Sprintf("%v: %d", a.Kind, a.Have)
}

func (d *Datagram) note(k AnomalyKind, said, have int) {
	if d.count.anomalies < maxAnomalies {
		d.anomalies[d.count.anomalies] = Anomaly{k, said, have}
		d.count.anomalies++
	} else if d.count.more < 255 {
		d.count.more++
	}
}

// MoreAnomalies returns the number of anomalies that were not kept.
func (d *Datagram) MoreAnomalies() int { return int(d.count.more) }
