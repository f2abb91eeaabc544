package report

import "testing"

// TestICMPAlone: a capture with nothing but ICMP errors says what they say.
func TestICMPAlone(t *testing.T) {
	s := &Summary{Packets: 2, ICMP: 2}
	Count(&s.Unread.Errors, "198.51.100.10 is unreachable", 27015)
	Count(&s.Unread.Errors, "198.51.100.11 did not arrive", 27016)
	want := "no messages: no UDP datagrams; 2 ICMP errors: port 27015 of 198.51.100.10 is unreachable, a datagram to port 27016 of 198.51.100.11 did not arrive"
	if got := string(AppendUnread(nil, s, false)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
