package report

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/internal/nettext"
)

// Unread describes the packets of a capture that are not dissected, judged by a
// sample. It explains a capture without messages.
type Unread struct {
	// Sampled is the number of sampled datagrams. Like is what they look like.
	Sampled uint64
	Like    []Likeness
	// Segments counts TCP packets, SampledSegments the sampled ones.
	Segments, SampledSegments uint64
	Streams                   []Likeness
	// Links are the packets of link types that are not read.
	Links []Likeness
	// Errors are the first ICMP errors, by what they report about which port.
	Errors []Likeness
}

// A Likeness is a number of packets that look alike.
type Likeness struct {
	Name string
	// Port is that of the server, for TCP.
	Port    uint16
	Packets uint64
}

// A Stream counts what went over TCP to and from a server, and the connections to it: those that clients tried, of which some were made
// and some refused; the others got no answer.
type Stream struct {
	Server               netip.AddrPort
	Packets              uint64
	Tried, Made, Refused uint64
	Read                 bool // messages of it are
}

// maxLike bounds the number of different kinds.
const maxLike = 64

// Count adds a packet to a list.
func Count(list *[]Likeness, name string, port uint16) {
	for i := range *list {
		if l := &(*list)[i]; l.Port == port && l.Name == name {
			l.Packets++
			return
		}
	}
	if len(*list) < maxLike {
		*list = append(*list, Likeness{name, port, 1})
	}
}

// Recognised returns the number of messages.
func (s *Summary) Recognised() uint64 {
	n := uint64(0)
	for _, k := range s.Messages {
		n += k
	}
	return n
}

// AppendUnread describes a capture without messages. chosen says that only some
// protocols were enabled.
func AppendUnread(dst []byte, s *Summary, chosen bool) []byte {
	u := &s.Unread
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if s.Packets == 0 {
		return append(dst, "no messages: no packets were read"...)
	}
	links := nettext.Sum(u.Links, func(l Likeness) uint64 { return l.Packets })
	if s.Datagrams == 0 {
		if links < s.Packets {
			say("no UDP datagrams")
		}
		if s.ICMP > 0 {
			var named []string
			for _, e := range u.Errors[:min(len(u.Errors), 3)] {
				host, says, _ := strings.Cut(e.Name, " ")
				named = append(named, fmt.Sprintf(nettext.Either(says == "is unreachable", "port %d of %s is unreachable", "a datagram to port %d of %s did not arrive"), e.Port, host))
			}
			more := nettext.Either(len(u.Errors) > len(named), ", and more", "")
			say("%d ICMP %s: %s%s", s.ICMP, nettext.Plural(int(s.ICMP), "error", "errors"), strings.Join(named, ", "), more)
		}
	} else {
		of := nettext.Either(chosen, "the chosen protocols", "a known protocol")
		say("%d UDP %s, none of %s", s.Datagrams, nettext.Plural(int(s.Datagrams), "datagram", "datagrams"), of)
	}
	if like := likenesses(u.Like, u.Sampled, s.Datagrams); like != "" {
		say("%s", like)
	}
	if u.Segments > 0 {
		text := fmt.Sprintf("%d TCP %s not read", u.Segments, nettext.Plural(int(u.Segments), "packet is", "packets are"))
		if like := likenesses(u.Streams, u.SampledSegments, u.Segments); like != "" {
			text += ", " + like
		}
		say("%s", text)
	}
	for _, l := range u.Links {
		say("%d %s of link type %s, which qdissect does not read", l.Packets, nettext.Plural(int(l.Packets), "packet", "packets"), l.Name)
	}
	if other := s.Packets - min(s.Packets, s.Datagrams+u.Segments+s.ICMP+links); other > 0 {
		say("%d other %s", other, nettext.Plural(int(other), "packet", "packets"))
	}
	return append(append(dst, "no messages: "...), strings.Join(said, "; ")...)
}

// likenesses describes packets by kind, the most frequent first: "20 look like
// Teeworlds", or of a sample "20 of 1024 look like Teeworlds".
func likenesses(list []Likeness, sampled, all uint64) string {
	const shown = 3
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Likeness) int { return cmp.Compare(b.Packets, a.Packets) })
	var said []string
	for _, l := range list[:min(len(list), shown)] {
		where := ""
		switch {
		case sampled < all:
			where = fmt.Sprintf(" of %d looked at", sampled)
		case l.Port != 0:
			where = " of them"
		}
		where += nettext.Either(l.Port != 0, fmt.Sprintf(" on port %d", l.Port), "")
		said = append(said, fmt.Sprintf("%d%s %s like %s", l.Packets, where, nettext.Plural(int(l.Packets), "looks", "look"), l.Name))
	}
	if len(list) > shown {
		said = append(said, fmt.Sprintf("%d like something else", nettext.Sum(list[shown:], func(l Likeness) uint64 { return l.Packets })))
	}
	return strings.Join(said, ", ")
}
