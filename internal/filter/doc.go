// Package filter implements capture filters in tcpdump's language (pcap-filter(7)).
// An expression becomes a BPF program. The kernel runs it for live captures, and a
// function runs it for the frames of a file.
//
// # The language
//
// Primitives:
//
//	ip ip6 arp                      the protocol that the link layer carries
//	tcp udp sctp icmp icmp6         the protocol that IP carries
//	host A, src A, dst host A       an IPv4 or IPv6 address, also in ARP;
//	                                ip, ip6 or arp before it narrows it
//	net 192.0.2.0/24, net 192.0.2,  a network
//	net 2001:db8::/32
//	port N, src port N, udp port N  a port of tcp, udp or sctp
//	portrange N-M                   a range of ports
//	less N, greater N               the length of the frame: <= N, >= N
//	vlan [N]                        a VLAN tag, with an optional number; the rest
//	                                of the text applies after it
//	udp[8:4] = N  != < <= > >=      1, 2 or 4 bytes of ip, ip6, arp, tcp, udp, sctp,
//	udp[8] & MASK = N               icmp or icmp6
//
// "src or dst" and "src and dst" may stand wherever src may. Numbers are as in C.
//
// Primitives are joined by and (&&), or (||), not (!) and parentheses. An address
// or a number without qualifiers takes those of the one before it: "port 27015 or
// 27016", "host A and not B", "port (53 or 80)".
//
// Names of hosts, networks and ports are refused, so that a filter has the same
// meaning on every machine. Whatever else the language has (Ethernet addresses, numbers of
// protocols, arithmetic, inbound) is refused with the advice to let tcpdump -ddd translate it:
// [ParseProgram] reads the result.
//
// # What may surprise
//
// All of this is as in libpcap:
//
//   - "and" and "or" have equal precedence and associate to the left: "a or b and c" is
//     "(a or b) and c".
//   - "vlan" affects everything after it in the text, also after "or" and "not":
//     "vlan or udp" looks for UDP after a tag only. Write "udp or (vlan and udp)".
//   - "port 53" without a protocol means tcp, udp and sctp. In IPv6, only the first
//     header is tested; protocols are also found after a fragment header.
//   - tcp[..], udp[..] and the like are bytes in IPv4 only, icmp6[..] in IPv6.
//   - A number with a leading 0 is octal.
//   - A frame does not match if a test needs bytes that it does not have, even under
//     "not".
//
// # Differences from libpcap
//
// Later fragments of IP packets are included unless [Options].Exact is set. In
// addition, libpcap differs in these ways:
//
//   - Its optimizer has bugs: "port 50000 and 27015 or not port 53 and not 27015"
//     matches packets from port 27015. With -O, the result is correct.
//   - If a frame is too short for a test whose result does not matter, the result
//     depends on what the optimizer removes, and the optimizers differ.
//   - It accepts one byte order of address families in null and loop, and not the
//     number of IPv6 on Linux.
//   - It refuses vlan in cooked frames and "net 10/8", and takes "host 192.0.2" for an address.
//
// # Implementation
//
// [Parse] reads the text into a tree ([parser]). For a link type, the [compiler]
// turns the tree into a [condition] with fixed offsets. The condition becomes a
// [graph] of tests without redundant ones. For frames of files the graph is followed
// ([graph.match]); for the kernel it becomes BPF instructions ([writer]).
package filter
