package dissect

// Findings about what carried a datagram: the capture, the frame, IP and UDP.
var (
	// PacketComment is a comment in the capture file.
	PacketComment = &FindingType{ID: "capture.comment", Severity: Chat, Text: "comment: %s",
		Doc: "Somebody wrote this comment on the frame into the capture file (pcapng)."}
	// Tunnelled is a datagram inside another packet.
	Tunnelled = &FindingType{ID: "packet.tunnel", Severity: Chat, Text: "inside %p",
		Doc: "The datagram was carried in a tunnel. Addresses are the inner ones."}
	// Tagged is a frame with VLAN tags.
	Tagged = &FindingType{ID: "packet.vlan", Severity: Chat, Text: "VLAN %p",
		Doc: "The frame was tagged with these VLANs, from outer to inner."}
	// IPLength is an IP length that lies.
	IPLength = &FindingType{ID: "ip.length", Severity: Note, Text: "IP length %d, the frame has %d bytes",
		Doc: "The IP header does not say how long the packet is. Length 0 is usual in captures on a machine whose network card cuts packets; more than the frame has means a snap length, a damaged packet or a false header. The bytes that are there were used."}
	// UDPLength is a UDP length that lies.
	UDPLength = &FindingType{ID: "udp.length", Severity: Warning, Text: "UDP length %d, IP has %d bytes for it",
		Doc: "The UDP header does not say how long the datagram is: 0, less than its own 8 bytes, more than IP has, or 4 too little as one writer of captures makes it. The bytes that IP has were used."}
	// UDPSurplus are bytes between the end of UDP and the end of IP.
	UDPSurplus = &FindingType{ID: "udp.surplus", Severity: Note, Text: "UDP length %d, IP has %d bytes for it; the surplus is left out",
		Doc: "Bytes between the end of the datagram and the end of the packet are not part of the datagram: padding, UDP options, or a false length."}
	// FragmentsDuplicate, FragmentsOverlap, FragmentsConflict,
	// FragmentsReordered and FragmentsChecksum judge the fragments that made a
	// datagram.
	FragmentsDuplicate = &FindingType{ID: "ip.frag.duplicate", Severity: Note, Text: "%d {fragment|fragments} came twice",
		Doc: "The network, or the capture, has fragments twice. They were used once."}
	FragmentsOverlap = &FindingType{ID: "ip.frag.overlap", Severity: Warning, Text: "%d {fragment|fragments} overlap others",
		Doc: "Sound senders do not make overlapping fragments: an attack, a faulty network device, or an identification that was used again. Receivers differ in what they do with them: Linux drops the packet, and IPv6 demands it (RFC 5722)."}
	FragmentsConflict = &FindingType{ID: "ip.frag.conflict", Severity: Warning, Text: "%d {fragment|fragments} contradict earlier ones, which are used",
		Doc: "Different bytes for the same place of a packet: an attack on the reassembly, an identification that was used again too soon, or a damaged packet."}
	FragmentsReordered = &FindingType{ID: "ip.frag.reorder", Severity: Chat, Text: "the IP fragments did not come in order",
		Doc: "Harmless to hosts; some firewalls drop such packets."}
	FragmentsChecksum = &FindingType{ID: "ip.frag.checksum", Severity: Warning, Text: "UDP checksum %x of the joined fragments, it should be %x",
		Doc: "The fragments that were joined are of different datagrams because an identification was used again, one was forged or damaged, or the capture was made on the sender, whose network card fills in the checksum later."}
	// FragmentsMissing is an IP packet that stayed incomplete.
	FragmentsMissing = &FindingType{ID: "ip.frag.missing", Severity: Failed, Text: "IP fragments are missing: %p (%p)%p",
		Doc: "A datagram, or a tunnel that may have carried one, came in IP fragments of which not all were captured. A request that it answers counts as answered in part. Without the first fragment, which has the ports, that is the only request which waits between the two hosts; the datagram can be another one then. Replies over 1472 bytes need fragments; they were lost, a firewall dropped them, which makes servers look offline, or a capture filter with a port left out all but the first."}
)

// CommonFindings returns the findings that any protocol can have.
func CommonFindings() []*FindingType {
	return []*FindingType{
		Malformed, Panicked, Trailing, Undefined, NotUTF8, LastPart, SlowParts, Retransmitted, ChallengeSwapped, PortSwapped, StateEvicted, TooManyFindings, TooManyRecords, CaptureCut, CaptureDuplicate, OtherKind, Late, TimeBack, PacketComment, Tunnelled, Tagged,
		IPLength, UDPLength, UDPSurplus, FragmentsDuplicate, FragmentsOverlap, FragmentsConflict, FragmentsReordered, FragmentsChecksum,
		FragmentsMissing, PortUnreachable, Prohibited, Unreachable, FragmentationNeeded, HopLimit, FragmentsLost, BadHeader,
	}
}
