package capture

import "testing"

func TestLinkTypeName(t *testing.T) {
	for n, want := range map[uint16]string{
		0: "null", 1: "ethernet", 12: "raw", 101: "raw", 108: "loop", 113: "linux_sll", 147: "linktype_147",
		192: "ppi", 228: "ipv4", 229: "ipv6", 239: "nflog", 276: "linux_sll2", 65535: "linktype_65535",
	} {
		if got := LinkTypeName(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
