package packet

// An Outcome is the result of decoding a frame.
type Outcome uint8

const (
	// Whole: the frame contains a datagram.
	Whole Outcome = iota
	// Joined: the frame contains the last missing fragment of a datagram.
	Joined

	// FragmentHeld: an IP fragment of a packet of which others are missing.
	FragmentHeld
	// FragmentDuplicate: a duplicate of a fragment that is held.
	FragmentDuplicate
	// FragmentConflict: a fragment whose bytes differ from those that are held; it is
	// dropped.
	FragmentConflict
	// FragmentLate: a duplicate of a fragment of a complete packet.
	FragmentLate
	// FragmentRefused: a fragment dropped because of a limit, or because it reaches beyond
	// the largest packet.
	FragmentRefused
	// FragmentBad: a fragment without data, or one that is not the last and whose length
	// is not a multiple of 8.
	FragmentBad
	// FragmentOther: a fragment of a protocol that does not carry UDP.
	FragmentOther
	// JoinedBad: the last missing fragment of a packet that contains no datagram.
	JoinedBad

	// TCP segments.
	TCP
	// ICMP: messages of ICMP and ICMPv6 other than errors.
	ICMP
	// ICMPError: messages that quote a packet in error. If that is a datagram,
	// [Decoder.Quoted] returns it.
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
	// IPBad: the IP header is inconsistent.
	IPBad
	// UDPCut: the frame or the packet ends in the UDP header.
	UDPCut
	// TunnelBad: a tunnel header is cut, or of an unknown version.
	TunnelBad
	// TooDeep: too many nested tunnels, VLANs, extension headers, or fragments in
	// fragments.
	TooDeep

	outcomes
)

// Counts are numbers of frames by outcome.
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

// OK reports whether the frame gave a datagram.
func (o Outcome) OK() bool { return o <= Joined }

// sane reports whether the bytes that gave o were a valid packet, so that what looked like
// a tunnel was one.
func (o Outcome) sane() bool {
	switch o {
	case Whole, Joined, FragmentHeld, FragmentDuplicate, FragmentConflict, FragmentLate, FragmentRefused, JoinedBad, TCP, ICMP, ICMPError, TooDeep:
		return true
	}
	return false
}
