package packet

import "fmt"

// maxAnomalies is how many anomalies of one datagram are kept; those after
// them are only counted.
const maxAnomalies = 8

// An Anomaly is something wrong with the headers of a datagram or with its
// fragments, which did not keep it from being delivered.
type Anomaly struct {
	Kind AnomalyKind
	// Said is the number that the header has, 0 if the kind has none.
	Said int
	// Have is the number that it was measured against, or the number of
	// occurrences.
	Have int
}

// An AnomalyKind is one of the things that can be wrong.
type AnomalyKind uint8

const (
	// IPLengthZero: the length of an IP header is 0, as in captures on a
	// machine whose network card cuts packets (segmentation offload), and in
	// IPv6 jumbograms. Have is the number of bytes that were taken: all.
	IPLengthZero AnomalyKind = iota + 1
	// IPLengthBeyond: an IP header says that the packet has Said bytes, and
	// the frame had no more than Have.
	IPLengthBeyond
	// UDPLengthZero: the UDP length is 0. All Have bytes that IP has were
	// taken, header included.
	UDPLengthZero
	// UDPLengthShort: the UDP length, Said, is less than its header has. All
	// Have bytes that IP has were taken.
	UDPLengthShort
	// UDPLengthBeyond: the UDP length, Said, is more than the Have bytes
	// that IP has. These were taken.
	UDPLengthBeyond
	// UDPLengthFour: the UDP length, Said, is 4 less than the Have bytes
	// that IP has. These were taken: the capture writer of rust-gamedig
	// counts 4 bytes for a header of 8.
	UDPLengthFour
	// UDPSurplus: the UDP length, Said, is less than the Have bytes that IP
	// has, by another number. What UDP says was taken (RFC 9868 puts
	// options there).
	UDPSurplus
	// FragmentsDuplicated: Have fragments came again.
	FragmentsDuplicated
	// FragmentsOverlap: Have fragments cover bytes that others covered.
	FragmentsOverlap
	// FragmentsConflict: Have fragments contradict the earlier ones, which
	// were believed.
	FragmentsConflict
	// FragmentsReordered: a fragment came before one of a lower offset.
	FragmentsReordered
	// FragmentsChecksum: the UDP checksum, Said, of the joined datagram is
	// wrong: the fragments may be of different datagrams. Have is what it
	// should be.
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

// MoreAnomalies returns how many there were beyond those that are kept.
func (d *Datagram) MoreAnomalies() int { return int(d.count.more) }
