package stats

import (
	"net/netip"
	"testing"
)

// TestPrefix: rules of an anonymized report compare no address.
func TestPrefix(t *testing.T) {
	shown, server := netip.MustParseAddr("165.95.140.42"), netip.MustParseAddr("198.51.100.21")
	payload := append(append([]byte("SAMP"), server.AsSlice()...), 0x61, 0x1e, 'i')
	r := &reporting{}
	if got := r.prefix(payload); string(got) != string(payload[:longestPrefix]) {
		t.Errorf("%q", got)
	}
	r.replaced = map[netip.Addr]netip.Addr{server: shown}
	if got := r.prefix(payload); string(got) != "SAMP" {
		t.Errorf("%q", got)
	}
}
