package report

import "testing"

// TestUnread: what is said of captures without a message.
func TestUnread(t *testing.T) {
	for _, c := range []struct {
		sum    Summary
		chosen bool
		want   string
	}{
		{Summary{}, false, "no packets were read"},
		{Summary{Packets: 1, Datagrams: 1}, false, "1 UDP datagram, none of a known protocol"},
		{Summary{Packets: 2, Datagrams: 2}, true, "2 UDP datagrams, none of the chosen protocols"},
		{Summary{Packets: 60, Datagrams: 33, Unread: Unread{
			Sampled: 33, Like: []Likeness{{"DNS", 0, 1}, {"Teeworlds", 0, 20}},
			Segments: 24, SampledSegments: 24, Streams: []Likeness{{"Source RCON", 25575, 12}},
		}}, false, "33 UDP datagrams, none of a known protocol; 20 look like Teeworlds, 1 looks like DNS; " +
			"24 TCP packets are not read, 12 of them on port 25575 look like Source RCON; 3 other packets"},
		{Summary{Packets: 1, Unread: Unread{Segments: 1, SampledSegments: 1}}, false, "no UDP datagrams; 1 TCP packet is not read"},
		{Summary{Packets: 1}, false, "no UDP datagrams; 1 other packet"},
		{Summary{Packets: 1, Unread: Unread{Links: []Likeness{{"pflog", 0, 1}}}}, false, "1 packet of link type pflog, which qdissect does not read"},
		{Summary{Packets: 9, Unread: Unread{Links: []Likeness{{"pflog", 0, 2}, {"fddi", 0, 3}}}}, false, "no UDP datagrams; " +
			"2 packets of link type pflog, which qdissect does not read; 3 packets of link type fddi, which qdissect does not read; 4 other packets"},
		{Summary{Packets: 9000, Datagrams: 5000, Unread: Unread{
			Sampled: 1040, Like: []Likeness{{"a", 0, 4}, {"b", 0, 3}, {"c", 0, 2}, {"d", 0, 1}, {"e", 0, 1}},
			Segments: 4000, SampledSegments: 1036, Streams: []Likeness{{"HTTP", 80, 1}},
		}}, false, "5000 UDP datagrams, none of a known protocol; 4 of 1040 looked at look like a, 3 of 1040 looked at look like b, " +
			"2 of 1040 looked at look like c, 2 like something else; 4000 TCP packets are not read, 1 of 1036 looked at on port 80 looks like HTTP"},
	} {
		if got := string(AppendUnread(nil, &c.sum, c.chosen)); got != "no messages: "+c.want {
			t.Errorf("got  %s\nwant no messages: %s", got, c.want)
		}
	}
}
