package packet

// An Outcome says what became of a frame.
type Outcome uint8

const (
	// Whole: the frame has a datagram.
	Whole Outcome = iota
	// Joined: the frame has the last missing fragment of a datagram.
	Joined

	// FragmentHeld: an IP fragment, and others are missing.
	FragmentHeld
	// FragmentDuplicate: a fragment that was there already.
	FragmentDuplicate
	// FragmentConflict: a fragment with other bytes than the one that was
	// there already; it is not kept.
	FragmentConflict
	// FragmentLate: a copy of a fragment of a packet that was complete.
	FragmentLate
	// FragmentRefused: a fragment that a limit kept out, or that reaches
	// beyond the largest packet.
	FragmentRefused
	// FragmentBad: a fragment with no bytes, or not the last one and with a
	// length that is no multiple of 8.
	FragmentBad
	// FragmentOther: a fragment of a protocol that carries no datagrams.
	FragmentOther
	// JoinedBad: the last missing fragment of a packet that turned out not
	// to have a datagram.
	JoinedBad

	// TCP segments.
	TCP
	// ICMP: messages of ICMP and ICMPv6 that are no errors.
	ICMP
	// ICMPError: messages that quote the packet that was in error. If that
	// is a datagram, [Decoder.Quoted] has it.
	ICMPError
	// OtherProtocol: IP with another protocol, or encrypted.
	OtherProtocol
	// NotIP: ARP and others that are not IP.
	NotIP

	// LinkUnknown: the link type is not known.
	LinkUnknown
	// LinkCut: the frame ends in a header before that of IP.
	LinkCut
	// IPCut: the frame ends in the IP header or in an extension header.
	IPCut
	// IPBad: the IP header contradicts itself.
	IPBad
	// UDPCut: the frame or the packet ends in the UDP header.
	UDPCut
	// TunnelBad: a tunnel header is cut, or of a version that is not known.
	TunnelBad
	// TooDeep: more tunnels, VLANs or extension headers in one another, or
	// fragments in fragments, than anybody has.
	TooDeep

	outcomes
)

// Counts are numbers of frames by their outcome.
type Counts [outcomes]uint64

var outcomeNames = [outcomes]string{
	Whole:             "datagram",
	Joined:            "datagram of fragments",
	FragmentHeld:      "fragment",
	FragmentDuplicate: "duplicate fragment",
	FragmentConflict:  "conflicting fragment",
	FragmentLate:      "late fragment",
	FragmentRefused:   "refused fragment",
	FragmentBad:       "malformed fragment",
	FragmentOther:     "fragment of another protocol",
	JoinedBad:         "fragments without a datagram",
	TCP:               "tcp",
	ICMP:              "icmp",
	ICMPError:         "icmp error",
	OtherProtocol:     "other ip protocol",
	NotIP:             "not ip",
	LinkUnknown:       "unknown link type",
	LinkCut:           "cut link header",
	IPCut:             "cut ip header",
	IPBad:             "malformed ip header",
	UDPCut:            "cut udp header",
	TunnelBad:         "malformed tunnel header",
	TooDeep:           "nested too deeply",
}

func (o Outcome) String() string { return nameOf(outcomeNames[:], int(o)) }

// OK reports whether there is a datagram.
func (o Outcome) OK() bool { return o <= Joined }

// sane reports whether the bytes that gave o were a packet that is worth a
// tunnel: whether what looked like a tunnel was one.
func (o Outcome) sane() bool {
	switch o {
	case Whole, Joined, FragmentHeld, FragmentDuplicate, FragmentConflict, FragmentLate, FragmentRefused, JoinedBad, TCP, ICMP, ICMPError, TooDeep:
		return true
	}
	return false
}
