package filter

// oracleExpressions are the expressions that TestOracle compares with tcpdump.
var oracleExpressions = []string{
	"",

	// Protocols.
	"ip", "ip6", "arp", "tcp", "udp", "sctp", "icmp", "icmp6",
	"not udp", "! udp", "not not udp", "udp or tcp", "udp || tcp", "ip and udp", "ip && udp", "ip6 and not udp",
	"tcp or udp and ip6", "ip6 and tcp or udp", "ip6 and (tcp or udp)", "not (tcp or udp)", "not tcp and not udp",
	"udp and tcp",

	// Hosts and networks.
	"host 192.0.2.1", "src host 192.0.2.1", "dst host 192.0.2.1", "src 192.0.2.1", "dst 192.0.2.1",
	"src or dst host 192.0.2.1", "src and dst host 192.0.2.1", "dst and src 192.0.2.1", "src && dst host 192.0.2.1",
	"not host 192.0.2.1", "host 192.0.2.1 and host 192.0.2.200", "host 192.0.2.1 and 192.0.2.200", "host 192.0.2.1 or 198.51.100.7",
	"host 192.0.2.1 and not 192.0.2.200", "host 192.0.2.1 and not (192.0.2.200 or 198.51.100.7)",
	"host (192.0.2.200 or 198.51.100.7)", "src host 192.0.2.1 and dst host 192.0.2.200", "ip host 192.0.2.1",
	"arp host 192.0.2.1", "arp src host 192.0.2.200", "arp net 192.0.2",
	"host 2001:db8::1", "src host 2001:db8::1", "dst 2001:db8::1", "ip6 host 2001:db8::1", "host 2001:db8:0:1::200",
	"src and dst host 2001:db8::1", "host 2001:db8::1 or 192.0.2.1", "not host 2001:db8::1",
	"net 192.0.2.0/24", "net 192.0.2", "net 192", "src net 192.0.2.0/25", "dst net 192.0.2.128/25", "net 198.51.0.0/16",
	"net 0.0.0.0/0", "net 192.0.2.1", "net 192.0.2.1/32",
	"net 192.0.2.0/24 and not 192.0.2.0/25", "src net 10 or 192", "ip net 192.0.2", "not net 192.0.2.0/24",
	"net 2001:db8::/32", "net 2001:db8:0:1::/64", "src net 2001:db8::/64", "ip6 net 2001:db8::/33", "net ::/0", "dst net ff00::/8",
	"net 2001:db8::/47", "net ::/1", "ip6 dst net 2001:db8:0:1::/64",

	// Ports.
	"port 27015", "src port 27015", "dst port 27015", "udp port 27015", "tcp port 27015", "sctp port 27015",
	"udp src port 27015", "udp dst port 27015", "src and dst port 27015", "src or dst port 53", "udp src and dst port 27015",
	"port 27015 or 53", "port (27015 or 53)", "udp port 27015 or 53", "udp port 27015 or tcp port 80", "port 80 or (81 and 53) or 443",
	"not port 53", "not port 53 and not 27015", "udp and not port 27015", "port 27015 and host 192.0.2.1",
	"src host 192.0.2.1 and udp dst port 27015", "tcp src port 80 or 443", "tcp port 80 and 50001",
	"portrange 27000-27050", "udp portrange 27000-27050", "src portrange 50000-60000", "dst portrange 1-1024",
	"tcp portrange 80-443", "udp src portrange 27015-27016 or 53-53", "portrange 27015", "portrange 30000-20000", "src and dst portrange 20000-30000",
	"not portrange 27000-27050", "sctp portrange 27000-28000", "port 0x6987", "port 065", "port 0",

	// Lengths.
	"less 60", "greater 60", "greater 100 and less 150", "not greater 60",
	"less 0x40", "greater 1",

	// Bytes and arithmetic.
	"udp[8:4] = 0xffffffff", "udp[8:4] = 0xffffffff and udp[12] = 0x54", "udp[0:2] = 27015", "udp[2:2] > 1024", "udp[4:2] < 20", "udp[4:2] >= 20",
	"tcp[13] & 2 != 0",
	"tcp[12] & 0xf0 = 0x50", "tcp[0:2] = 80 or tcp[2:2] = 80",
	"icmp[0] = 8",
	"icmp6[0] = 135", "sctp[0:2] = 27015",
	"ip[0] & 0xf != 5", "ip[0] & 0xf > 5", "ip[6:2] & 0x1fff = 0", "ip[6:2] & 0x1fff != 0", "ip[6:2] & 0x3fff != 0", "ip[8] < 65", "ip[2:2] > 100",
	"ip[9] = 17 or ip6[6] = 17", "ip6[6] = 0", "ip6[0] & 0xf0 = 0x60", "ip6[40] = 17", "ip[12:4] = 0xc0000201", "ip[16] >= 224",
	"arp[6:2] = 1", "arp[7] = 2",
	"udp[1000] = 0", "not udp[1000] = 0",
	"udp[8] & 0 = 0", "not (udp[0] = 0)",

	// Headers that move the layers.
	"vlan", "vlan 5", "vlan 6", "not vlan", "vlan and udp", "vlan 5 and udp", "vlan 5 and udp port 27015", "vlan and host 192.0.2.1", "vlan and arp",
	"vlan and vlan", "vlan 100 and vlan 5", "vlan and vlan 5 and udp", "vlan and vlan and vlan and ip", "vlan or udp", "udp or vlan", "udp or (vlan and udp)", "(vlan and udp) or tcp",
	"not vlan and udp", "vlan 5 or vlan 6", "vlan and (tcp or udp)", "vlan and ip[8] = 64", "vlan and udp[8:4] = 0xffffffff",
	"udp or (vlan and (udp or (vlan and udp)))", "vlan and tcp[13] & 2 != 0", "vlan 4095", "vlan and ip6", "vlan and greater 100",

	// Precedence and inherited qualifiers.
	"udp or tcp and icmp", "udp and tcp or icmp", "not udp and not tcp", "not (udp and port 53) or icmp", "port 27015 and src 192.0.2.1 or 192.0.2.200",
	"tcp port 80 and (udp port 53 or 54) and 50001", "not host 192.0.2.1 and 198.51.100.7", "udp and (port 53 or port 27015) and not (src host 192.0.2.1 or dst host 198.51.100.7)",
	"host 192.0.2.1 and (port 53 or port 80)", "(udp)", "((udp))", "(port 53) or (tcp)", "not (not udp)", "not (udp or not ip)", "port 53 or not port 27015 and tcp",
	"icmp or udp port 53 or tcp port (80 or 443) or host 198.51.100.7 and not arp or ip6 and not icmp6",
}
