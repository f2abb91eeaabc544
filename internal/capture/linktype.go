package capture

import "strconv"

// linkTypes are the names of link types that carry IP and of other common ones: those of
// https://www.tcpdump.org/linktypes.html in lower case, without LINKTYPE_.
var linkTypes = map[uint16]string{
	0:   "null",
	1:   "ethernet",
	6:   "ieee802_5",
	8:   "slip",
	9:   "ppp",
	10:  "fddi",
	12:  "raw", // DLT_RAW of most systems, which some writers put into files
	14:  "raw", // DLT_RAW of OpenBSD
	50:  "ppp_hdlc",
	51:  "ppp_ether",
	100: "atm_rfc1483",
	101: "raw",
	104: "c_hdlc",
	105: "ieee802_11",
	107: "frelay",
	108: "loop",
	113: "linux_sll",
	117: "pflog",
	119: "ieee802_11_prism",
	122: "ip_over_fc",
	127: "ieee802_11_radiotap",
	138: "apple_ip_over_ieee1394",
	143: "docsis",
	163: "ieee802_11_avs",
	166: "ppp_pppd",
	187: "bluetooth_hci_h4",
	189: "usb_linux",
	192: "ppi",
	201: "bluetooth_hci_h4_with_phdr",
	204: "ppp_with_dir",
	220: "usb_linux_mmapped",
	226: "ipnet",
	227: "can_socketcan",
	228: "ipv4",
	229: "ipv6",
	231: "dbus",
	239: "nflog",
	242: "ipoib",
	249: "usbpcap",
	252: "wireshark_upper_pdu",
	253: "netlink",
	258: "pktap",
	276: "linux_sll2",
}

// LinkTypeName returns the name of a link type in the output, such as "ethernet" or
// "linux_sll2", or "linktype_147" if it has none. Names may be added but not changed: they
// are part of the output format.
func LinkTypeName(linkType uint16) string {
	if name, ok := linkTypes[linkType]; ok {
		return name
	}
	return "linktype_" + strconv.Itoa(int(linkType))
}
