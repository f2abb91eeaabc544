package filter

import (
	"slices"
	"strings"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A protocol is a keyword for a protocol.
type protocol struct {
	word     string
	linkType uint32 // the EtherType
	// number is the protocol number of IP. inIPv4 and inIPv6 tell in which version the
	// keyword looks for it.
	number         uint32
	inIPv4, inIPv6 bool
}

// EtherTypes (IANA, IEEE 802 numbers).
const (
	typeIPv4    = 0x0800
	typeARP     = 0x0806
	typeVLAN    = 0x8100
	typeQinQ    = 0x88a8
	typeQinQOld = 0x9100
	typeIPv6    = 0x86dd
)

// IP protocol numbers (IANA).
const (
	protoFragment = 44 // the fragment header of IPv6
	protoICMPv6   = 58
)

// Protocols with a special role in the parser or the compiler.
var (
	anyProtocol = &protocol{}
	linkLayer   = &protocol{word: "ether"}
	ipv4        = &protocol{word: "ip", linkType: typeIPv4}
	ipv6        = &protocol{word: "ip6", linkType: typeIPv6}
	arp         = &protocol{word: "arp", linkType: typeARP}
	tcp         = &protocol{word: "tcp", number: 6, inIPv4: true, inIPv6: true}
	udp         = &protocol{word: "udp", number: 17, inIPv4: true, inIPv6: true}
	sctp        = &protocol{word: "sctp", number: 132, inIPv4: true, inIPv6: true}
	icmp        = &protocol{word: "icmp", number: 1, inIPv4: true}
	icmp6       = &protocol{word: "icmp6", number: protoICMPv6, inIPv6: true}
)

var protocols = map[string]*protocol{
	"ether": linkLayer, "ip": ipv4, "ip6": ipv6, "arp": arp, "tcp": tcp, "udp": udp, "sctp": sctp, "icmp": icmp, "icmp6": icmp6,
}

// keywords lists the keywords that are not protocols.
var keywords = set("src dst host net port portrange proto and or not len length less greater broadcast multicast vlan")

// refused lists other keywords of tcpdump.
var refused = set("gateway protochain mask byte inbound outbound ifindex mpls pppoed pppoes geneve llc link ppp slip fddi tr wlan " +
	"rarp igmp igrp pim vrrp carp ah esp stp iso isis clnp atalk aarp decnet lat mopdl moprc ipx netbeui type subtype dir addr1 addr2 addr3 addr4")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// IsKeyword reports whether a word is a keyword or a protocol.
func IsKeyword(word string) bool { return keywords[word] || protocols[word] != nil }

// refusal is why a keyword of tcpdump is not supported.
func refusal(word string) string {
	return word + " is not supported: let tcpdump -ddd translate the filter, and give it as @FILE"
}

// overTransport are the protocols with ports, by the protocol of a port.
var overTransport = map[*protocol][]*protocol{tcp: {tcp}, udp: {udp}, sctp: {sctp}, anyProtocol: {udp, tcp, sctp}}

// similar returns the most similar keyword, or "".
func similar(word string) string {
	var list []string
	for k := range keywords {
		list = append(list, k)
	}
	for k := range protocols {
		list = append(list, k)
	}
	slices.Sort(list)
	return nettext.Closest(word, list)
}
