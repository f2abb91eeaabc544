// Package filter implements capture filters in tcpdump's language (pcap-filter(7)).
// An expression becomes a BPF program. The kernel runs it for live captures, and a
// function runs it for the frames of a file.
//
// # The language
//
// Primitives:
//
//	ip ip6 arp rarp                 the protocol that the link layer carries
//	tcp udp sctp icmp icmp6 igmp    the protocol that IP carries; so do
//	                                igrp pim vrrp carp ah esp
//	stp                             the service access point of spanning tree
//	ether proto N, proto N          the EtherType; the protocol number of IPv4
//	ip proto N, ip6 proto N         and IPv6; N may be a name
//	host A, src A, dst host A       an IPv4 or IPv6 address, also in ARP;
//	                                ip, ip6, arp or rarp before it narrows it
//	net 192.0.2.0/24, net 192.0.2,  a network
//	net A mask M, net 2001:db8::/32
//	port N, src port N, udp port N  a port of tcp, udp or sctp; N may be a name
//	portrange N-M                   a range of ports
//	ether host A, ether src A,      an Ethernet address, in any form that
//	ether dst A                     tcpdump knows
//	broadcast, multicast            the Ethernet destination
//	ip multicast, ip6 multicast     the IP destination
//	less N, greater N               the length of the frame: <= N, >= N
//	vlan [N]                        a VLAN tag, with an optional number; the rest
//	                                of the text applies after it
//	inbound, outbound, ifindex N    cooked frames, and live
//	x = y  != < <= > >=             a comparison of terms
//	byte N = M                      the same as ether[N] = M; also < > & |
//
// "src or dst" and "src and dst" may stand wherever src may. A term is a
// number as in C, "len", a name such as tcp-syn or icmp-echo, or bytes of a
// header: ether[0], ip[2:2], udp[8:4], with 1, 2 or 4 bytes and any term for
// the offset. ether, ip, ip6, arp, rarp, tcp, udp, sctp, icmp, icmp6, igmp,
// igrp, pim, vrrp and carp have them. Terms are joined by + - * / % & | ^ << >>
// and parentheses, and are computed modulo 2^32.
//
// Primitives are joined by and (&&), or (||), not (!) and parentheses. An address
// or a number without qualifiers takes those of the one before it: "port 27015 or
// 27016", "host A and not B", "port (53 or 80)".
//
// Names of hosts and networks are refused, and only a few names of ports are known,
// so that a filter has the same meaning on every machine. Words for other link
// layers (802.11, ATM, SS7, pf) are refused, and so are gateway, protochain, mpls,
// pppoes, geneve and ip broadcast.
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
//   - A minus needs spaces around it, because ftp-data is one word.
//   - % and ^ take everything on their right: a % b * c is a % (b * c).
//   - A number with a leading 0 is octal.
//   - A frame does not match if a test needs bytes that it does not have, or divides
//     by zero, even under "not".
//
// # Differences from libpcap
//
// Later fragments of IP packets are included unless [Options].Exact is set. In
// addition, libpcap differs in these ways:
//
//   - It ignores the protocol on the right side of an operator: "1 + udp[0] = 5"
//     reads that byte of packets that are not UDP. Here, both sides must be present.
//   - It treats "/ udp[0]" as a division by the constant 0, and checks for division
//     by 0 before it has evaluated "0 + 1". Here, constants are evaluated first.
//   - It compares undefined data in "byte 0 & 1" and "byte 0 | 1". Here, the former
//     is "ether[0] & 1 != 0".
//   - Its optimizer has bugs: "port 50000 and 27015 or not port 53 and not 27015"
//     matches packets from port 27015. With -O, the result is correct.
//   - If a frame is too short for a test whose result does not matter, the result
//     depends on what the optimizer removes, and the optimizers differ.
//   - It does not treat "stp" and service access points alike in both versions of
//     cooked headers.
//   - It accepts one byte order of address families in null and loop, and not the
//     number of IPv6 on Linux.
//   - It refuses vlan in cooked frames, "net 10/8", and "ip proto udp" without a backslash.
//
// # Implementation
//
// [Parse] reads the text into a tree ([parser]). For a link type, the [compiler]
// turns the tree into a [condition] with fixed offsets. The condition becomes a
// [graph] of tests without redundant ones, and the graph becomes BPF instructions
// ([writer]). [Program.Matcher] runs them for frames of files.
package filter
