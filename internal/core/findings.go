package core

// newFinding declares a finding with advice.
func newFinding(severity Severity, id, text, doc, advice string) *FindingType {
	return &FindingType{ID: id, Severity: severity, Text: text, Doc: doc, Advice: advice}
}

// Findings that messages of any protocol can have.
var (
	// Messages.

	// Malformed reports a message that ends too early or contradicts its own
	// structure.
	Malformed = &FindingType{ID: "malformed", Severity: Failed, Class: OfServer, Text: "malformed",
		Doc:    "A field could not be read: the message is shorter than its own structure says. The message was truncated or damaged, its sender writes it that way, or it belongs to another protocol. Everything before the failure is decoded; the rest is the field data.",
		Advice: "Look at the field that is named, with qdissect -V. If the frames are incomplete, capture again with the whole length (tcpdump -s 0). If the port belongs to another program, name the protocol with --decode-as. If a server or client writes it so, report it to its author with the capture; if the message is right, report it to qdissect."}
	// Trailing reports bytes after the end of a message.
	Trailing = &FindingType{ID: "trailing", Length: true, Severity: Note, Text: "%d {byte|bytes} after the end of the message", Doc: "The message ends where the protocol says so, but the datagram continues: padding, a newer version of the protocol, or a sender that reuses a buffer."}
	// NotUTF8 reports text in an older encoding.
	NotUTF8 = &FindingType{ID: "enc.notutf8", Severity: Note, Text: "not UTF-8, read as %p", Doc: "Text that is not valid UTF-8 is decoded from the encoding that the protocol prescribes or that fits the text best. JSON also has its bytes."}
	// Undefined reports a value that the documents of a protocol do not define.
	Undefined = &FindingType{ID: "value.undefined", Severity: Note, Text: "%p is %v, which no document defines", Doc: "The documents list all values of this field, or the field is a flag of 0 or 1, and this value is not among them. The server is newer or modified, the reply is invented, or the message has another layout; in the last case the fields around it are misread as well."}
	// TooManyFindings counts the findings beyond the limit of one message.
	TooManyFindings = &FindingType{ID: "limit.findings", Severity: Note, Text: "%d {finding|findings} left out", Doc: "A message has more findings than anybody reads. The first 32 are shown."}
	// TooManyRecords reports a message with more players, rules or other entries
	// than are decoded.
	TooManyRecords = newFinding(Warning, "limit.records", "more than %d entries and lists: the rest is not read",
		"The message has more players, rules or other entries than any real one; forged entries can be as small as two bytes. The first ones are decoded; the remaining bytes are the field data.", "Nothing, if it is an attack. A client should have such a limit too. If a real server has more entries, report it to qdissect with the capture.")
	// Panicked reports a datagram whose decoder panicked. The mistake costs that
	// message and nothing else.
	Panicked = newFinding(Failed, "internal.panic", "the dissection of this datagram failed inside qdissect (stack %p): please report it",
		"A mistake in qdissect, not in the traffic: the code that decodes the datagram panicked. The datagram is shown as data, the state of its conversation is dropped, and the run continues; it ends with exit status 2. If only the code for the summary panicked, the message is shown without a summary. The stack is a number that is the same for the same mistake in one version. SECURITY.md describes how to report it.", "Report it with the frame, if you may share it: SECURITY.md says how. qdissect cut extracts the frame and qdissect anonymize removes what must stay private.")

	// Exchanges.

	// LastPart states the times from a request to the first and to the last part
	// of its reply.
	LastPart = &FindingType{ID: "rtt", Severity: Chat, Class: OfCapture, Text: "first part after %t, last part after %t", Doc: "A reply in several parts has two round-trip times: the time to the first part is that of the network, the time to the last part is what a client waits for."}
	// SlowParts reports a reply whose first part came in time and whose last part
	// did not.
	SlowParts = newFinding(Note, "split.slow", "the parts came slowly: the first after %t, the last after %t",
		"The first part of a reply came within the five seconds that clients wait, and the last part came later. The server or the network was slow, or a part was retransmitted; clients may have given up by then.", "Look at the load of the server and of its link; qdissect report shows round trips over time. A client can wait longer for the parts that are missing.")
	// Retransmitted reports a request that was sent again before a reply came.
	Retransmitted = newFinding(Note, "request.retransmission", "same request as in frame %d, %t later",
		"The same bytes were sent to the same server before a reply came: the client's timer expired, the client asks faster than the server answers, or the capture has the packet twice.", "If it happens often, raise the timeout of the client or lower its rate: it asks faster than replies come. If the capture has packets twice, nothing has to be done.")
	// OtherKind reports a reply that answers no pending request while a request of
	// another kind is pending.
	OtherKind = &FindingType{ID: "reply.other", Severity: Note, Text: "not the kind of reply that the %p in frame %d asks for", Doc: "The named request is pending, and this reply answers no pending request: the server confuses the kinds, the reply is late, its request is not in the capture, or the reply is forged. The request remains pending."}
	// OtherAddress reports a server whose replies come from another address, once.
	OtherAddress = newFinding(Warning, "reply.address", "%p replies from another address, %p, as in frame %d: clients drop what they did not ask for",
		"Requests to the first address had no reply from it, but replies that fit came to the clients from the second one, which they did not ask. The host has several addresses and the server is bound to all of them, so that the system chooses the address of a reply by its routes; or a NAT translates requests and not replies. This is reported once for the two addresses; their requests count as answered elsewhere.", "Bind the server to the one address that clients ask (+ip, -multihome or -ip in most games), or let the NAT translate replies as well.")
	// OtherPort reports a server whose replies come from another port, once.
	OtherPort = newFinding(Warning, "reply.port", "%p replies from another port, %d, as in frame %d: clients drop what they did not ask for",
		"Requests to this port had no reply from it, but replies that fit came to the clients from another port of the same host, which they did not ask. A NAT or a proxy in front of the server gives replies another port, or the server sends them from a second socket. This is reported once for the two ports; their requests count as answered elsewhere.", "Forward the port in both directions with the same number, or let the server send from the socket that received the request.")
	// Late reports a reply that came after its request was reported as unanswered.
	Late = newFinding(Note, "reply.late", "late reply to the request in frame %d, after %p",
		"The reply came after the five seconds that clients wait; its request had been reported as unanswered if a reply was due. The server or the network was slow; clients have given up by then. The summary counts the request as answered late.", "Look at the load of the server and of its link; qdissect report shows round trips over time. A client can wait longer, or must ignore late replies.")
	// TimeBack reports timestamps that go backwards, once per conversation.
	TimeBack = newFinding(Warning, "time.backwards", "time went back by %t",
		"A message has a timestamp more than 1 ms before that of an earlier message of its conversation, or a reply has any timestamp before that of its request: a clock was set, captures were merged out of order, or several interfaces have different clocks. Times between these frames mean nothing. This is reported once per conversation, and not for a conversation that began after time went back.", "Capture on one interface with one clock, or correct the files before they are merged (editcap -t, then mergecap). If the clock was set by NTP during the capture, only the times around it are wrong.")
	// Early reports a request that was captured after its reply, once per conversation.
	Early = newFinding(Warning, "reply.early", "its reply was captured %t before it",
		"A reply came up to 100 ms before a request that it fits, and no other was open: the capture was made at two points, or on two interfaces, whose clocks differ, or was merged out of order. Round trips are not known. This is reported once per conversation, and not below 5 ms.", "Capture on one interface with one clock, or correct the files before they are merged (editcap -t, then mergecap).")
	// ChallengeSwapped reports a challenge that a client returns with its bytes
	// reversed.
	ChallengeSwapped = newFinding(Warning, "challenge.swapped", "challenge %d is byte-swapped: the server gave %d",
		"The request carries a challenge or token that this server gave to this address, with its four bytes reversed: the client reads or writes it in the wrong byte order. Servers treat it as wrong: they send another challenge or do not answer.", "Return the four bytes of the challenge as they came, or convert them in the same byte order in both directions.")
	// PortSwapped reports a reply that states its own port with its bytes
	// reversed.
	PortSwapped = &FindingType{ID: "port.swapped", Severity: Warning, Class: OfServer, Text: "port %d is byte-swapped: the reply comes from port %d",
		Doc:    "The reply states the port that it was sent from with its two bytes reversed. The server writes the port in the wrong byte order, or it answers on a port that happens to be the reverse of the game's port. Clients that use the stated port connect to the wrong one.",
		Advice: "In the server or its plugin, write the port in the byte order that the protocol demands. A client can use the port that the reply came from."}
	// StateEvicted reports that state is evicted because a limit was reached.
	StateEvicted = newFinding(Warning, "state.evicted", "a limit was reached: the oldest conversations, requests or clients are being evicted, conversations without a reply first",
		"The number of conversations, of pending requests (in total or in one conversation) or of clients reached its limit: a flood from forged addresses, a client that sends requests without end, or more clients than the limit allows. Evicted requests are not reported as unanswered; the summary counts them and names the seconds in which most state was evicted.", "If the traffic is legitimate, raise the limit that was reached (--max-flows, --max-requests, --max-peers) or give more memory. In a flood, leave it: select the interesting servers with a capture filter such as host ADDRESS, and see qdissect report.")

	// Capture, frame, IP and UDP.

	// CaptureCut reports a datagram that the snap length truncated.
	CaptureCut = newFinding(Warning, "capture.snaplen", "the capture holds %d of %d bytes of this datagram",
		"The capture was made with a snap length below the size of the frame, or was truncated afterwards. The bytes that are present are decoded, nothing is reported about missing ones, and parts of split messages are not joined. Capture again with tcpdump -s 0.", "Capture again with the whole length: tcpdump -s 0, or qdissect -i without -s.")
	// SegmentsCut reports a message of a TCP connection whose end is missing, SegmentsMissing bytes that are missing between messages.
	SegmentsCut = newFinding(Warning, "tcp.cut", "the capture holds %d of %d bytes of this message",
		"Segments of the TCP connection are missing in the capture, or it ended within the message, or the message is longer than 128 KiB, of which no more is read. The bytes that are present are decoded, and nothing is reported about missing ones. Where the message does not say how long it is, the second number is the least that it can be.", "Capture without losses: qdissect -i says how many packets the kernel dropped. Begin before the connection does, and end after it.")
	SegmentsMissing = newFinding(Warning, "tcp.gap", "%d {byte|bytes} from this sender {is|are} missing, as this frame shows",
		"Segments of the TCP connection are not in the capture, as the sequence numbers or the acknowledgements of others show: the kernel dropped packets, or they took another way. What they carried may be whole messages. What follows them is read from the next segment that begins a message.", "Capture without losses: qdissect -i says how many packets the kernel dropped. Where routes differ by direction, capture on the server.")
	// CaptureBegins reports a message whose first parts came before the capture.
	CaptureBegins = &FindingType{ID: "capture.begins", Severity: Note, Text: "the capture begins after part %d: %d of %d parts are in it", Doc: "The first parts of a split message, and its request, are not in the capture, and its other parts are among the first frames. The capture began while the message was sent. Nothing was lost."}
	// CaptureGlued reports parts that the capture has as one datagram.
	CaptureGlued = newFinding(Note, "capture.offload", "the capture has %d datagrams as one: receive offload joined them",
		"The capturing host joined datagrams of one conversation before they were captured (GRO, LRO). The split header repeats within the payload, so the datagram is divided where it does, and its parts are read as if each had come alone. Frame sizes and times in the capture are not those of the network.", "Nothing has to be done. To capture what is on the wire: ethtool -K INTERFACE gro off lro off.")
	// CaptureDuplicate reports the duplicates in a conversation, once.
	CaptureDuplicate = newFinding(Note, "capture.duplicate", "datagrams of this conversation came more than once: %d {copy is|copies are} left out",
		"The same bytes were seen in the same direction more than once within 12 ms or with the same IP identification, or a reply was seen again within a second although no request that it could answer was sent in between. Mirror ports, bridges and the interface any capture datagrams several times, networks duplicate some, and a sender may repeat itself at once. Duplicates are not decoded; they are counted here and in the summary. If most of a capture was seen more than once, only the summary reports it.", "Nothing: duplicates are not counted as messages. To avoid them, capture on one interface instead of any, or on a mirror port that sees each packet once.")
	// PacketComment is a comment in the capture file.
	PacketComment = &FindingType{ID: "capture.comment", Severity: Chat, Class: OfCapture, Text: "comment: %s", Doc: "Somebody wrote this comment on the frame into the capture file (pcapng)."}
	// Tunnelled reports a datagram inside another packet.
	Tunnelled = &FindingType{ID: "packet.tunnel", Severity: Chat, Class: OfCapture, Text: "inside %p", Doc: "The datagram was carried in a tunnel. The addresses are the inner ones."}
	// Tagged reports a frame with VLAN tags.
	Tagged = &FindingType{ID: "packet.vlan", Severity: Chat, Class: OfCapture, Text: "VLAN %p", Doc: "The frame has these VLAN tags, from outer to inner."}
	// IPLength reports a wrong length in an IP header.
	IPLength = &FindingType{ID: "ip.length", Severity: Note, Class: OfCapture, Text: "IP length %d, the frame has %d bytes", Doc: "The length in the IP header is not that of the packet. Length 0 is usual in captures on a machine whose network card segments packets; a length beyond the frame means a snap length, a damaged packet or a forged header. The bytes that are present were used."}
	// UDPLength reports a wrong length in a UDP header.
	UDPLength = &FindingType{ID: "udp.length", Severity: Warning, Class: OfCapture, Text: "UDP length %d, IP has %d bytes for it",
		Doc:    "The length in the UDP header is not that of the datagram: it is 0, less than the 8 bytes of the header, more than IP has, or 4 too small as one writer of captures makes it. The bytes that IP has were used.",
		Advice: "Find out who writes it: the capturing program, if all datagrams have it; a tunnel or a NAT, if only some hosts do; else the sender, whose datagrams hosts drop."}
	// UDPSurplus reports bytes between the end of the datagram and the end of the
	// IP packet.
	UDPSurplus = &FindingType{ID: "udp.surplus", Severity: Note, Class: OfCapture, Text: "UDP length %d, IP has %d bytes for it; the surplus is left out", Doc: "Bytes between the end of the datagram and the end of the packet do not belong to the datagram: padding, UDP options, or a wrong length."}
	// FragmentsDuplicate counts the duplicate fragments of a datagram.
	FragmentsDuplicate = &FindingType{ID: "ip.frag.duplicate", Severity: Note, Class: OfCapture, Text: "%d {fragment|fragments} arrived twice", Doc: "The network or the capture duplicated fragments. Each was used once."}
	// FragmentsOverlap counts the overlapping fragments of a datagram.
	FragmentsOverlap = &FindingType{ID: "ip.frag.overlap", Severity: Warning, Class: OfCapture, Text: "%d {fragment|fragments} overlap others",
		Doc:    "Correct senders do not send overlapping fragments: an attack, a faulty network device, or an identification that was reused. Receivers treat them differently: Linux drops the packet, and IPv6 demands that (RFC 5722).",
		Advice: "Drop fragments on the firewall if nobody needs them; hosts discard such packets by themselves. If it is one honest sender, look for a device on its way that splits packets again."}
	// FragmentsConflict counts the fragments that contradict earlier ones.
	FragmentsConflict = newFinding(Warning, "ip.frag.conflict", "%d {fragment|fragments} contradict earlier ones, which are used",
		"Different bytes for the same place of a packet: an attack on the reassembly, an identification that was reused too soon, or a damaged packet.", "Treat the message as untrustworthy. If it happens often between honest hosts, packets are sent faster than their identification can count: send smaller datagrams. Else block the sender.")
	// FragmentsReordered reports fragments that came out of order.
	FragmentsReordered = &FindingType{ID: "ip.frag.reorder", Severity: Chat, Class: OfCapture, Text: "the IP fragments arrived out of order", Doc: "Harmless to hosts; some firewalls drop such packets."}
	// FragmentsChecksum reports joined fragments with a wrong UDP checksum.
	FragmentsChecksum = newFinding(Warning, "ip.frag.checksum", "UDP checksum %x of the joined fragments, it should be %x",
		"The joined fragments belong to different datagrams because an identification was reused, one of them was forged or damaged, or the capture was made on the sender, whose network card fills in the checksum later.", "If the capture was made on the sender, ignore it, or turn off checksum offloading there (ethtool -K IFACE tx off) before capturing. Else see whether the receiver drops the datagram (nstat -az UdpInCsumErrors).")
	// FragmentsMissing reports an IP packet of a known conversation of which fragments
	// are missing.
	FragmentsMissing = newFinding(Failed, "ip.frag.missing", fragmentsMissing,
		"A datagram, or a tunnel that may have carried one, was sent in IP fragments of which not all were captured. It is an error if the datagram belongs to a known protocol or answers a request, and a note if it belongs to other traffic. A request that it answers counts as answered in part. The ports are in the first fragment; if that one is missing, the request is the only one pending between the two hosts, and the datagram may belong to something else. Replies over 1472 bytes need fragments; they were lost, a firewall dropped them, which makes servers look offline, or a capture filter with a port left out all but the first.", "Let fragments pass: firewalls on both sides must accept IP fragments, and a capture filter needs \"or ip[6:2] & 0x1fff != 0\" beside a port (qdissect adds that itself). On the server, make replies shorter than 1400 bytes: fewer rules or plugins in the list.")
	// FragmentsForeign is FragmentsMissing for packets that belong to no known
	// conversation. CommonFindings lists the ID once.
	FragmentsForeign = &FindingType{ID: "ip.frag.missing", Severity: Note, Text: fragmentsMissing, Doc: "A datagram was sent in IP fragments of which not all were captured. It belongs to no known protocol and answers no request, as far as the fragments show."}

	// ICMP errors. The first argument of each names the sender and the frame of the error.

	// PortUnreachable reports that no program has the port open.
	PortUnreachable = newFinding(Warning, "icmp.port_unreachable", "%p that nothing listens on port %d%p",
		"An ICMP error (port unreachable) about this datagram: the host received it and no program has the port open. For a request that means a server that is not running, that listens on another port or address, or a firewall that rejects instead of dropping (iptables REJECT sends the same error by default, with the address of the host or its own). For a reply it means that the client closed its socket before the reply came, or that its firewall or NAT rejects replies. Errors can be forged.", "Check that the server runs and on which port and address it listens (ss -ulpn). If it does, look for a firewall rule that rejects. If the error is about replies, the client closed its socket too early or its NAT forgot the connection: let it wait longer.")
	// Prohibited reports that a rule rejects the datagram. The second argument is
	// the destination.
	Prohibited = newFinding(Warning, "icmp.prohibited", "%p that a rule prohibits datagrams to %p%p",
		"An ICMP error (administratively prohibited) about this datagram: a rule of a firewall or a router rejects it. The sender of the error has that rule.", "The sender of the error has the rule: allow the port there, or leave it if the block is intended.")
	// Unreachable reports a destination that cannot be reached. The other
	// arguments are the destination and the reason.
	Unreachable = newFinding(Warning, "icmp.unreachable", "%p that %p cannot be reached: %p",
		"An ICMP error (destination unreachable) about this datagram: there is no route to the network, or the last router got no answer from the host (to ARP or neighbour discovery) because the host is off or the address is wrong. Firewalls can be configured to reject with this error too.", "Check the address, that the host is on, and the routes to it from the sender of the error; if that is the last router, it found no host with this address in its network.")
	// FragmentationNeeded reports a datagram that is too large for a link. The
	// second argument is its size.
	FragmentationNeeded = newFinding(Warning, "icmp.fragmentation_needed", "%p that this datagram%p is too large for the next link%p",
		"An ICMP error (fragmentation needed, in IPv6 packet too big) about this datagram: it has to be fragmented or sent in smaller parts, and its sender forbade that or did not know. A sender that handles the error sends the next datagram smaller; this one is lost. Tunnels and PPPoE have smaller packets than Ethernet; a firewall that drops these errors makes large replies vanish.", "Let these ICMP errors reach the sender, and do not forbid fragmentation of UDP; or lower the MTU of the sender's interface or tunnel to the size that the error states.")
	// HopLimit reports a hop limit (TTL) that was exceeded. The second argument is
	// the destination.
	HopLimit = newFinding(Warning, "icmp.time_exceeded", "%p that the hop limit (TTL) of this datagram ran out on the way to %p%p",
		"An ICMP error (time exceeded) about this datagram: it passed more routers than its hop limit allows. Either routers forward it in a loop, or the sender set a small limit, as traceroute does.", "Run traceroute to the destination: routers that repeat are a loop. If the hop limit is small at the start, the sender sets it.")
	// FragmentsLost reports a host that did not receive all fragments of a
	// datagram.
	FragmentsLost = newFinding(Warning, "icmp.fragments_lost", "%p that not all IP fragments of this datagram arrived%p",
		"An ICMP error (fragment reassembly time exceeded): the host waited for the other fragments of this datagram and did not receive them. A firewall on the path may drop fragments, or one was lost.", "Let IP fragments pass on all firewalls between the two hosts, or make the datagrams smaller than 1400 bytes.")
	// BadHeader reports a header that a router or host rejects.
	BadHeader = newFinding(Warning, "icmp.parameter_problem", "%p that a header of this datagram is wrong%p",
		"An ICMP error (parameter problem) about this datagram: a router or the host does not accept its IP header or an option or extension of it.", "Look at the IP header in Wireshark: options and extension headers come from the sender or a tunnel. Send without them.")
)

const fragmentsMissing = "IP fragments are missing: %p (%p)%p"

// CommonFindings returns the findings that any protocol can have.
func CommonFindings() []*FindingType {
	return []*FindingType{
		Malformed, Panicked, Trailing, Undefined, NotUTF8, LastPart, SlowParts, Retransmitted, ChallengeSwapped, PortSwapped, StateEvicted, TooManyFindings, TooManyRecords, CaptureCut, SegmentsCut, SegmentsMissing, CaptureBegins, CaptureGlued, CaptureDuplicate, OtherKind, OtherAddress, OtherPort, Late, TimeBack, Early, PacketComment, Tunnelled, Tagged,
		IPLength, UDPLength, UDPSurplus, FragmentsDuplicate, FragmentsOverlap, FragmentsConflict, FragmentsReordered, FragmentsChecksum,
		FragmentsMissing, PortUnreachable, Prohibited, Unreachable, FragmentationNeeded, HopLimit, FragmentsLost, BadHeader,
	}
}
