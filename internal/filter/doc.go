// Package filter has capture filters in tcpdump's language (pcap-filter(7)).
// An expression becomes a program for the kernel, which has only those frames
// handed over that match, or a function that is asked for each frame of a
// file.
//
// # The language
//
// Words that name something to test:
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
//	vlan [N], mpls [N], pppoes [N]  one more header, perhaps with a number;
//	                                what follows in the text is behind it
//	pppoed                          PPPoE discovery
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
// Tests are joined by and (&&), or (||), not (!) and parentheses. What is
// missing in front of an address or a number is that of the one before:
// "port 27015 or 27016", "host A and not B", "port (53 or 80)".
//
// Names of hosts and networks are refused, and of ports only a few are known:
// a filter means the same on every machine and without a network. Words of the
// language that concern other link layers (802.11, ATM, SS7, pf) are refused,
// and so are gateway, protochain, geneve and ip broadcast.
//
// # What may surprise
//
// All of this is as in libpcap:
//
//   - "and" and "or" bind equally strong, to the left: "a or b and c" is
//     "(a or b) and c".
//   - "vlan", "mpls" and "pppoes" move everything that follows in the text,
//     even behind "or" and "not": "vlan or udp" looks for UDP behind a tag
//     only. Write "udp or (vlan and udp)".
//   - "port 53" without a protocol means tcp, udp and sctp. In IPv6 only the
//     first header is looked at, and for protocols also what follows a
//     fragment header.
//   - tcp[..], udp[..] and the like are bytes in IPv4 only, icmp6[..] in IPv6.
//   - A minus needs spaces around it, since ftp-data is one word.
//   - % and ^ seize all that is on their right: a % b * c is a % (b * c).
//   - A number with a leading 0 is octal.
//   - A frame does not match if a test asks for bytes that it has not, or for
//     a division by zero, even under "not".
//
// # What is different
//
// Later fragments of IP packets are included unless [Options].Exact is set.
// Apart from that, what libpcap does and we do not:
//
//   - It drops what the right side of an operator takes for granted:
//     "1 + udp[0] = 5" reads that byte of packets that are not UDP. Here, all
//     of a comparison has to be there.
//   - It takes "/ udp[0]" for a division by the constant 0, and looks for
//     divisions by 0 before it has computed "0 + 1". Here, constants are
//     computed first.
//   - It compares garbage in "byte 0 & 1" and "byte 0 | 1". Here, it is
//     "ether[0] & 1 != 0".
//   - Its optimizer makes mistakes: "port 50000 and 27015 or not port 53 and
//     not 27015" finds packets from port 27015. What it finds with -O is right.
//   - If a frame is too short for a test whose result does not matter, the
//     verdict depends on what an optimizer leaves out. Ours is another one.
//   - "stp" and numbers of service access points mean the same in both forms
//     of cooked headers.
//   - Both byte orders of address families are understood in null and loop,
//     and the number that Linux has for IPv6.
//
// And what it refuses: vlan in cooked frames and mpls in all frames with a
// type, "net 10/8", and "ip proto udp" without a backslash.
//
// # How it works
//
// [Parse] reads the text into a tree ([parser]). For a link type, the tree
// becomes a [condition], in which all offsets are settled ([compiler]), and
// that a [graph] of tests, from which all tests are taken out that earlier
// ones decide. The graph is either written as instructions of BPF, or gone
// through test by test with a frame.
package filter
