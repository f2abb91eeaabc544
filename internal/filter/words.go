package filter

// A protocol is a keyword for a protocol.
type protocol struct {
	word string
	// linkType is the EtherType. Values up to maxLength are LLC service access points.
	linkType uint32
	// number is the protocol number of IP. inIPv4 and inIPv6 tell in which version the
	// keyword looks for it.
	number         uint32
	inIPv4, inIPv6 bool
}

// EtherTypes (IANA, IEEE 802 numbers).
const (
	typeIPv4     = 0x0800
	typeARP      = 0x0806
	typeRARP     = 0x8035
	typeVLAN     = 0x8100
	typeQinQ     = 0x88a8
	typeQinQOld  = 0x9100
	typeIPv6     = 0x86dd
	typeLoopback = 0x9000
)

// Service access points of LLC (IEEE 802.2).
const (
	sapIP      = 0x06
	sapSTP     = 0x42
	sapNetbeui = 0xf0
	sapISO     = 0xfe
)

// IP protocol numbers (IANA).
const (
	protoTCP      = 6
	protoUDP      = 17
	protoFragment = 44 // the fragment header of IPv6
	protoICMPv6   = 58
	protoSCTP     = 132
)

// Protocols with a special role in the parser or the compiler.
var (
	anyProtocol = &protocol{}
	linkLayer   = &protocol{word: "ether"}
	ipv4        = &protocol{word: "ip", linkType: typeIPv4}
	ipv6        = &protocol{word: "ip6", linkType: typeIPv6}
	arp         = &protocol{word: "arp", linkType: typeARP}
	rarp        = &protocol{word: "rarp", linkType: typeRARP}
	tcp         = &protocol{word: "tcp", number: protoTCP, inIPv4: true, inIPv6: true}
	udp         = &protocol{word: "udp", number: protoUDP, inIPv4: true, inIPv6: true}
	sctp        = &protocol{word: "sctp", number: protoSCTP, inIPv4: true, inIPv6: true}
	icmp6       = &protocol{word: "icmp6", number: protoICMPv6, inIPv6: true}
)

var protocols = map[string]*protocol{
	// Synonyms of the link layer.
	"ether": linkLayer, "link": linkLayer, "ppp": linkLayer, "slip": linkLayer,
	"fddi": linkLayer, "tr": linkLayer, "wlan": linkLayer,

	"ip": ipv4, "ip6": ipv6, "arp": arp, "rarp": rarp,
	"tcp": tcp, "udp": udp, "sctp": sctp, "icmp6": icmp6,

	"icmp": {word: "icmp", number: 1, inIPv4: true},
	"igmp": {word: "igmp", number: 2, inIPv4: true},
	"igrp": {word: "igrp", number: 9, inIPv4: true},
	"vrrp": {word: "vrrp", number: 112, inIPv4: true},
	"carp": {word: "carp", number: 112, inIPv4: true},
	"pim":  {word: "pim", number: 103, inIPv4: true, inIPv6: true},
	"ah":   {word: "ah", number: 51, inIPv4: true, inIPv6: true},
	"esp":  {word: "esp", number: 50, inIPv4: true, inIPv6: true},

	"stp": {word: "stp", linkType: sapSTP},
}

// indexable lists the protocols whose bytes can be tested, as in udp[4:2].
var indexable = set("ether", "ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp", "icmp", "icmp6", "igmp", "igrp", "pim", "vrrp", "carp")

// keywords lists the keywords that are not protocols.
var keywords = set("src", "dst", "host", "net", "mask", "port", "portrange", "proto",
	"and", "or", "not", "len", "length", "less", "greater", "byte",
	"broadcast", "multicast", "inbound", "outbound", "ifindex",
	"vlan")

func set(words ...string) map[string]bool {
	m := map[string]bool{}
	for _, w := range words {
		m[w] = true
	}
	return m
}

// IsKeyword reports whether a word is a keyword or a protocol.
func IsKeyword(word string) bool { return keywords[word] || protocols[word] != nil }

// refusal returns why a keyword of tcpdump is not supported, or "".
func refusal(word string) string {
	switch word {
	case "gateway":
		return "gateway is not supported, because names are not resolved: use ether host ADDRESS and not host ADDRESS"
	case "protochain":
		return "protochain is not supported: it needs a loop, and kernel filters have none"
	case "mpls", "pppoed", "pppoes", "geneve":
		return word + " is not supported: without a filter, what is inside is read as well"
	case "llc":
		return "llc is not supported: use ether proto NUMBER for service access points"
	case "iso", "esis", "es-is", "isis", "is-is", "clnp", "l1", "l2", "iih", "lsp", "snp", "csnp", "psnp",
		"atalk", "aarp", "decnet", "lat", "sca", "mopdl", "moprc", "ipx", "netbeui":
		return "AppleTalk, DECnet, IPX, OSI and the like are not supported: use ether proto NUMBER"
	case "type", "subtype", "direction", "dir", "ra", "ta", "radio",
		"addr1", "addr2", "addr3", "addr4", "address1", "address2", "address3", "address4":
		return "IEEE 802.11 is not supported"
	case "lane", "metac", "bcc", "oam", "oamf4", "oamf4ec", "oamf4sc", "sc", "ilmic",
		"vpi", "vci", "connectmsg", "metaconnect":
		return "ATM is not supported"
	case "on", "ifname", "rset", "ruleset", "rnr", "rulenum", "srnr", "subrulenum", "reason", "action":
		return "the log of pf is not supported"
	case "fisu", "lssu", "lsu", "msu", "hfisu", "hlssu", "hmsu",
		"sio", "opc", "dpc", "sls", "hsio", "hopc", "hdpc", "hsls":
		return "SS7 is not supported"
	}
	return ""
}

// constants are the named offsets and values.
var constants = map[string]uint32{
	"tcpflags": 13,
	"tcp-fin":  0x01,
	"tcp-syn":  0x02,
	"tcp-rst":  0x04,
	"tcp-push": 0x08,
	"tcp-ack":  0x10,
	"tcp-urg":  0x20,
	"tcp-ece":  0x40,
	"tcp-cwr":  0x80,

	"icmptype":           0,
	"icmpcode":           1,
	"icmp-echoreply":     0,
	"icmp-unreach":       3,
	"icmp-sourcequench":  4,
	"icmp-redirect":      5,
	"icmp-echo":          8,
	"icmp-routeradvert":  9,
	"icmp-routersolicit": 10,
	"icmp-timxceed":      11,
	"icmp-paramprob":     12,
	"icmp-tstamp":        13,
	"icmp-tstampreply":   14,
	"icmp-ireq":          15,
	"icmp-ireqreply":     16,
	"icmp-maskreq":       17,
	"icmp-maskreply":     18,

	"icmp6type":                       0,
	"icmp6code":                       1,
	"icmp6-destinationunreach":        1,
	"icmp6-packettoobig":              2,
	"icmp6-timeexceeded":              3,
	"icmp6-parameterproblem":          4,
	"icmp6-echo":                      128,
	"icmp6-echoreply":                 129,
	"icmp6-multicastlistenerquery":    130,
	"icmp6-multicastlistenerreportv1": 131,
	"icmp6-multicastlistenerdone":     132,
	"icmp6-routersolicit":             133,
	"icmp6-routeradvert":              134,
	"icmp6-neighborsolicit":           135,
	"icmp6-neighboradvert":            136,
	"icmp6-redirect":                  137,
	"icmp6-routerrenum":               138,
	"icmp6-nodeinformationquery":      139,
	"icmp6-nodeinformationresponse":   140,
	"icmp6-ineighbordiscoverysolicit": 141,
	"icmp6-ineighbordiscoveryadvert":  142,
	"icmp6-multicastlistenerreportv2": 143,
	"icmp6-homeagentdiscoveryrequest": 144,
	"icmp6-homeagentdiscoveryreply":   145,
	"icmp6-mobileprefixsolicit":       146,
	"icmp6-mobileprefixadvert":        147,
	"icmp6-certpathsolicit":           148,
	"icmp6-certpathadvert":            149,
	"icmp6-multicastrouteradvert":     151,
	"icmp6-multicastroutersolicit":    152,
	"icmp6-multicastrouterterm":       153,
}

// A service is a named port and the protocols that use it. As in libpcap, the name of
// a port of TCP implies TCP.
type service struct {
	port      uint32
	protocols []*protocol
}

var (
	overTCP    = []*protocol{tcp}
	overUDP    = []*protocol{udp}
	overAny    = []*protocol{udp, tcp, sctp}
	overNeeded = map[*protocol][]*protocol{tcp: overTCP, udp: overUDP, sctp: {sctp}, anyProtocol: overAny}
)

// services are the named ports. A fixed list, unlike the file of the system, gives a
// filter the same meaning on every machine.
var services = map[string]service{
	"ftp-data":     {20, overTCP},
	"ftp":          {21, overTCP},
	"ssh":          {22, overTCP},
	"telnet":       {23, overTCP},
	"smtp":         {25, overTCP},
	"time":         {37, overAny},
	"domain":       {53, overAny},
	"bootps":       {67, overUDP},
	"bootpc":       {68, overUDP},
	"tftp":         {69, overUDP},
	"http":         {80, overTCP},
	"kerberos":     {88, overAny},
	"pop3":         {110, overTCP},
	"sunrpc":       {111, overAny},
	"nntp":         {119, overTCP},
	"ntp":          {123, overUDP},
	"netbios-ns":   {137, overUDP},
	"netbios-dgm":  {138, overUDP},
	"netbios-ssn":  {139, overTCP},
	"imap2":        {143, overTCP},
	"snmp":         {161, overAny},
	"snmp-trap":    {162, overAny},
	"bgp":          {179, overTCP},
	"ldap":         {389, overAny},
	"https":        {443, overAny},
	"microsoft-ds": {445, overTCP},
	"isakmp":       {500, overUDP},
	"syslog":       {514, overUDP},
	"submission":   {587, overTCP},
	"ldaps":        {636, overAny},
	"imaps":        {993, overTCP},
	"pop3s":        {995, overTCP},
	"openvpn":      {1194, overAny},
	"radius":       {1812, overAny},
	"radius-acct":  {1813, overAny},
	"nfs":          {2049, overAny},
	"mysql":        {3306, overTCP},
	"ipsec-nat-t":  {4500, overUDP},
	"sip":          {5060, overAny},
	"sip-tls":      {5061, overAny},
	"mdns":         {5353, overUDP},
	"postgresql":   {5432, overTCP},
	"redis":        {6379, overTCP},
	"ircd":         {6667, overTCP},
	"http-alt":     {8080, overTCP},
}

// ipProtocols are the names of IP protocol numbers that are not keywords.
var ipProtocols = map[string]uint32{
	"ip": 0, "hopopt": 0, "ggp": 3, "ipencap": 4, "st": 5, "egp": 8, "igp": 9, "rdp": 27, "dccp": 33,
	"ipv6": 41, "ipv6-route": 43, "ipv6-frag": 44, "rsvp": 46, "gre": 47, "ipv6-icmp": 58, "ipv6-nonxt": 59,
	"ipv6-opts": 60, "eigrp": 88, "ospf": 89, "ipip": 94, "etherip": 97, "ipcomp": 108, "l2tp": 115,
	"mobility-header": 135, "udplite": 136, "mpls-in-ip": 137, "hip": 139, "shim6": 140,
}

// nearest returns the most similar keyword, or "". Of several, it returns the first in
// alphabetical order.
func nearest(word string) string {
	best := ""
	look := func(k string) {
		if near(word, k) && (best == "" || k < best) {
			best = k
		}
	}
	for k := range keywords {
		look(k)
	}
	for k := range protocols {
		look(k)
	}
	return best
}

// near reports whether two words differ by one inserted, deleted or replaced letter,
// or by two swapped ones.
func near(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < 3 || len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) {
		return true
	}
	return a[i+1:] == b[i+1:] ||
		i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
