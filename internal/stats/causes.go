package stats

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A Cause is a reason why a server does not show up, or why it does. The list of all is docs/causes.md.
type Cause struct {
	ID        string
	State     State
	Certainty Certainty
	explains  matter // what no later cause may explain again
	Needs     string // the evidence, in a sentence
	Words     string // what it says; {name} is filled in
	Advice    string // what to do
	holds     func(*facts) *proof
}

// A matter is a set of what a cause may explain.
type matter uint8

const (
	ofSilence matter = 1 << iota
	ofChallenge
	ofParts
	ofDelay
	ofContent
	ofLoad
	ofListing
	ofWho
)

// A proof fills in the words of a cause and has its evidence.
type proof struct {
	fill      []string // names and values
	evidence  []Fact
	certainty Certainty // if it is not that of the cause
	advice    string    // likewise
	leaves    matter    // what a later cause may explain all the same
}

// causeOf returns the cause with an id.
func causeOf(id string) *Cause {
	return &causes[slices.IndexFunc(causes, func(c Cause) bool { return c.ID == id })]
}

// Causes returns all causes in the order in which they are tried.
func Causes() []Cause { return slices.Clone(causes) }

func (c *Cause) fill(s string, p *proof, server string) string {
	pairs := []string{"{server}", server}
	for i := 0; i < len(p.fill); i += 2 {
		pairs = append(pairs, "{"+p.fill[i]+"}", p.fill[i+1])
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// slight reports whether a cause rests on too little: on at most three requests, or on few of the replies that it is about, unless ICMP says of these
// what is wrong.
func (x *facts) slight(c *Cause, p *proof) bool {
	few := x.asked() > 0 && x.asked() <= tooFew
	switch c.explains {
	case ofParts:
		e := &p.evidence[0]
		return e.Count < leastErrors || few && !strings.HasPrefix(e.What, "ICMP")
	case ofContent, ofDelay, ofChallenge:
		e := &p.evidence[0]
		return !strings.HasPrefix(e.What, "ICMP") && (few || e.Count < kindLeast)
	case ofListing:
		return false
	}
	return few && c.Words != "{verdict}"
}

// proof returns a proof with names and values.
func (x *facts) proof(fill ...string) *proof { return &proof{fill: fill} }

// proofIf is as proof if something is so, else nil.
func (x *facts) proofIf(is bool, fill ...string) *proof { return either(is, x.proof(fill...), nil) }

// with adds what is in the capture so often, unless there is no proof.
func (p *proof) with(x *facts, what string, m *mark) *proof {
	if p == nil {
		return nil
	}
	e := Fact{What: what, Count: m.n, Frames: slices.DeleteFunc(slices.Clone(m.frames[:]), func(f uint64) bool { return f == 0 })}
	if files := x.o.Made.Files; len(files) > 1 && int(m.input) < len(files) {
		e.File = files[m.input].Name
	}
	p.evidence = append(p.evidence, e)
	return p
}

const (
	// Below these shares of answered requests something is wrong, if so many were asked.
	goodShare, goodLeast = 0.9, 20
	kindShare, kindLeast = 0.5, 5
	// More is as bad: replies that are late, that lack parts, or that have mistakes.
	badShare = 0.1
	// tooFew is the number of requests of which nothing can be said but what was seen.
	tooFew = 3
)

// all is what causes explain that leave nothing to say about the server itself.
const everything = ^ofListing

// causes are tried in this order: what is in the packets before what fits them best, what explains much before what explains
// little.
var causes = []Cause{
	{ID: "master_version", State: Trouble, Certainty: Certain, explains: ofListing,
		Needs:  "a master refuses the server because of its version",
		Words:  "The master {master} does not list {server}, because of its version: {says}.",
		Advice: "Update the server; until then it is not on that list.",
		holds: func(x *facts) *proof {
			return x.master(func(m *master) bool {
				says := strings.ToLower(m.says)
				return strings.Contains(says, "version") || strings.Contains(says, "outdated") || strings.Contains(says, "out of date")
			})
		}},
	{ID: "master_refuses", State: Trouble, Certainty: Certain, explains: ofListing,
		Needs:  "a master says that it does not list the server",
		Words:  "The master {master} does not list {server}: {says}.",
		Advice: "Correct what the master complains about; until then it is not on that list.",
		holds:  func(x *facts) *proof { return x.master(func(m *master) bool { return m.says != "" }) }},
	{ID: "master_silent", State: Trouble, Certainty: Likely, explains: ofListing,
		Needs:  "several heartbeats of a protocol whose masters reply or ask back, and nothing from the master; or messages of the master to earlier heartbeats, and from a time on none to five or more, more than chance loses",
		Words:  "The master {master} sends nothing back to {server}{since}.",
		Advice: "That master may be gone, its address wrong, or a firewall drops its packets: set a master that is alive.",
		holds: func(x *facts) *proof {
			if x.asked() == 0 && (x.o.OneSided || x.replies() > 0) {
				return nil // the direction of what masters send may be missing
			}
			return x.master(func(m *master) bool {
				return m.due && m.sent.n == 0 && m.beats.n > 1 || m.stopped()
			})
		}},

	{ID: "master_unanswered", State: Trouble, Certainty: Likely, explains: ofListing,
		Needs:  "three questions or more of a master to which the server sends heartbeats, of which it answers under a tenth",
		Words:  "{server} answered {answered} of {asks} of the master {master}, which lists servers that answer it.",
		Advice: "Let UDP from and to the address of that master pass, also in limits and bans of the server: a capture on its host shows whether it replies.",
		holds: func(x *facts) *proof {
			return x.master(func(m *master) bool {
				return m.beats.n > 0 && m.probes >= leastErrors && 10*m.answered < m.probes && !m.listed
			})
		}},
	{ID: "not_in_list", State: Trouble, Certainty: Likely, explains: ofListing | ofWho,
		Needs:  "lists that a master sent to clients, none of which has the server, which sends heartbeats to that master or which nobody asked",
		Words:  "{server} is in none of {n} of the master {master}; clients asked for servers{asked}.",
		Advice: "A browser lists only what fits its filter: compare region, game, name and version with what the server sends in its heartbeat and in its info, and ask without a filter.",
		holds: func(x *facts) *proof {
			for m := range x.masters {
				if m.lists.n > 0 && !x.listedBy(m) && (m.beats.n > 0 || x.asked() == 0) {
					asked := strings.TrimPrefix(m.asked, "from the start, ")
					return x.proof("master", m.to.String(), "n", count(m.lists.n, "list", "lists"), "asked", either(asked != "", " of "+asked, "")).with(x, "lists without it", &m.lists)
				}
			}
			return nil
		}},

	// Nobody asked, or all were.
	{ID: "broadcast", State: Answers, Certainty: Certain, explains: everything,
		Needs:  "requests to the address of all hosts of a network (255.255.255.255, of multicast, or the last one of a network), to which hosts of it reply by their own addresses",
		Words:  "{server} {what}.",
		Advice: "That is as it should be: who looks for servers in a network asks all hosts at once, and then each that replied by its own address.",
		holds:  (*facts).broadcast},
	{ID: "broadcast_unanswered", State: Unclear, Certainty: Certain, explains: everything,
		Needs:  "requests to such an address, and no reply of any host",
		Words:  "{server} is the address of all hosts of a network, and no server replied to any of {n}.",
		Advice: "If there should be one, ask it by its own address: routers, VPNs and many Wi-Fi networks do not pass on what is sent to all.",
		holds: func(x *facts) *proof {
			return x.proofIf(x.toAll() && x.n > 0 && x.good == 0, "n", count(x.asked(), "request", "requests")).with(x, "requests", &x.marks[mAsked])
		}},
	{ID: "answers_for_another", State: Unclear, Certainty: Certain, explains: everything,
		Needs:  "replies of the server, no request to it, and requests to another address or port that they answer",
		Words:  "Nobody asked {server}, but it sent the replies to {n} to {other}: clients drop such replies, because they did not ask it.",
		Advice: "See what has to be done there: qdissect why {other}.",
		holds: func(x *facts) *proof {
			for _, t := range x.f.targets {
				if i := slices.IndexFunc(t.elsewhere, func(o other) bool { return o.from == x.at }); i >= 0 && x.asked() == 0 && !t.toAll() {
					return x.proof("n", count(t.elsewhere[i].n, "request", "requests"), "other", t.at.String()).with(x, "requests that it answered", &t.elsewhere[i].mark)
				}
			}
			return nil
		}},
	{ID: "no_requests_captured", State: Unclear, Certainty: Certain, explains: everything,
		Needs:  "replies of the server, and no request to it",
		Words:  "The capture has {n} from {server} and no requests to it{but}.",
		Advice: "Capture both directions, on the host of the server itself or on a port that mirrors both.",
		holds: func(x *facts) *proof {
			return x.proofIf(x.asked() == 0 && x.replies() > 0, "n", count(x.replies(), "reply", "replies"), "but", either(x.in > 0, " that are recognised", ": one direction only")).with(x, "replies", cmp.Or(&x.marks[mData], &x.marks[mIssued]))
		}},
	{ID: "relay_address", State: Unclear, Certainty: Certain, explains: everything,
		Needs:  "an address in 169.254.0.0/16, and no reply",
		Words:  "{server} is an address of Steam's relay network (169.254.0.0/16, SDR), or one that a host gave itself: no packet in the internet has it.",
		Advice: "Ask by the server's real address, or by its Steam ID; a capture on the server's host shows the addresses of relays instead.",
		holds: func(x *facts) *proof {
			a := x.at.Addr()
			return x.proofIf(a.Is4() && a.IsLinkLocalUnicast() && x.good+x.marks[mData].n == 0)
		}},
	{ID: "connections_fail", State: Trouble, Certainty: Certain, explains: ofListing,
		Needs:  "five connections over TCP, and a tenth of those to a server that is read, were refused or not answered; or all were, some refused, and it answers no query",
		Words:  "{bad} of {n} over TCP to {server} failed: {refused} refused, {unanswered} unanswered.",
		Advice: "Refused: nothing listens on that port, or a firewall rejects; unanswered: a firewall drops, or the server has no room for so many connections (a SYN flood).",
		holds: func(x *facts) *proof {
			if s := x.stream(); s != nil && s.fails() && (s.Read || x.good+x.marks[mData].n == 0) && !x.o.OneSided {
				return x.proof(s.fill()...)
			}
			return nil
		}},
	{ID: "unknown_requests", State: Unclear, Certainty: Certain, explains: everything,
		Needs:  "datagrams to the server, none of a known protocol",
		Words:  "{server} got {n} that no protocol recognises, and no request that one does.{cut}",
		Advice: "{advice}",
		holds: func(x *facts) *proof {
			if x.asked() > 0 || x.in == 0 {
				return nil
			}
			cut := either(x.f.partial.n > 0, " The snapshot length cut such datagrams: capture whole packets (tcpdump -s 0, or qdissect -i without -s).", "")
			p := x.proof("n", count(x.in, "datagram", "datagrams"), "cut", x.r.guessed()+cut, "advice", cmp.Or(x.r.correction(), "See what they are with qdissect --all; a game whose protocol is not known cannot be judged."))
			if best := x.another(); best != nil && slices.ContainsFunc(x.r.Unknowns, func(u Guess) bool { return u.What == "could be "+best.protocol }) {
				p.advice = fmt.Sprintf("Ask port %d, which answers %s: that of queries is often not the one that players connect to.", best.at.Port(), best.protocol)
			}
			return p
		}},
	{ID: "tcp_only", State: Unclear, Certainty: Certain, explains: everything,
		Needs:  "TCP with that address and port, and no query over UDP",
		Words:  "Nobody asked {server} over UDP; the capture has {tcp}{unread}.",
		Advice: "{enable}",
		holds: func(x *facts) *proof {
			s := x.stream()
			if s == nil || x.asked() > 0 || x.at.Port() == 0 && len(x.ports) > 0 {
				return nil
			}
			unread, enable := ", which qdissect counts and does not read", "Servers answer queries over UDP, often at another port than players use: capture while a browser asks, without a filter for TCP."
			switch s.Server.Port() {
			case 25565:
				enable = "Minecraft (Java) tells players its status over TCP; for queries over UDP set enable-query=true and query.port in server.properties."
			case 30120:
				enable = "FiveM answers status over HTTP at this port, and getinfo over UDP at the same: let UDP pass as well."
			case 64738:
				enable = "Mumble connects over TCP and answers pings over UDP at the same port: let UDP pass, and set allowping=true."
			case 10011:
				enable = "That is TeamSpeak's ServerQuery, which is not read; voice uses UDP, at port 9987 if nothing else is set."
			case 25575, 27015, 27016, 28016:
				enable = "That may be the remote console (RCON), which uses TCP; queries use UDP: let UDP to that port pass."
			}
			enable += either(len(x.ports) > 0, " Other ports of that host: "+listed(x.ports)+".", "")
			if s.Tried > 0 && s.Made+s.Refused == 0 {
				unread, enable = ": no answer to them is captured", "Capture both directions; if both are, a firewall drops the connections, or the host is off. "+enable
			}
			return x.proof("tcp", s.sentence(), "unread", unread, "enable", enable)
		}},
	{ID: "other_port_asked", State: Unclear, Certainty: Certain, explains: everything,
		Needs:  "no request to that port, and requests to others of the host",
		Words:  "Nobody asked {server} in {span}. Other ports of that host: {ports}.",
		Advice: "Ask about the port that clients query; for many games it is not the port that players connect to.",
		holds: func(x *facts) *proof {
			if x.asked() == 0 && len(x.ports) > 0 {
				return x.proof("span", x.span(), "ports", listed(x.ports)).with(x, "requests to "+x.ports[0].at.String(), &x.ports[0].marks[mAsked])
			}
			return nil
		}},
	{ID: "translated_address", State: Unclear, Certainty: Likely, explains: everything,
		Needs:  "a public address that is not in the capture, and a private one that is asked at the same port",
		Words:  "{server} is not in the capture, but {other} is, at the same port: on a host behind a NAT, packets carry its private address.",
		Advice: "Ask for that one: qdissect why {other}.",
		holds: func(x *facts) *proof {
			if x.asked() > 0 || x.at.Port() == 0 || x.f.sent > 0 || private(x.at.Addr()) {
				return nil
			}
			for _, t := range x.f.targets {
				if t.at.Port() == x.at.Port() && private(t.at.Addr()) && t.marks[mData].n > 0 {
					return x.proof("other", t.at.String()).with(x, "requests to "+t.at.String(), &t.marks[mAsked])
				}
			}
			return nil
		}},
	{ID: "nobody_asked", State: Unclear, Certainty: Certain, explains: everything,
		Needs:  "the host is in the capture, or the capture was made on it, and no request went to it",
		Words:  "Nobody asked {server}{how}.",
		Advice: "Capture for longer, and ask the server with a browser meanwhile; if its requests are not seen here, a firewall or a router before this point drops them.",
		holds: func(x *facts) *proof {
			switch {
			case x.asked() > 0 || x.isSource() || x.f.sent == 0 && !x.own && x.f.noticed.n == 0:
				return nil
			case x.f.sent == 0 && x.f.noticed.n > 0:
				return x.proof("how", ": of "+count(x.f.noticed.n, "message", "messages")+" to its address, none is a request that is known").with(x, "messages", &x.f.noticed)
			case x.f.sent == 0:
				return x.proof("how", fmt.Sprintf(", and it sent nothing: %s on that interface", count(x.o.Packets, "packet", "packets")))
			}
			return x.proof("how", fmt.Sprintf(" in %s, although the capture has %s of that host", x.span(), count(x.f.sent, "datagram", "datagrams")))
		}},
	{ID: "wrong_interface", State: Unclear, Certainty: Possible, explains: everything,
		Needs:  "no packet to or from the address",
		Words:  "{server} is not in the capture: {packets}, and none to or from {where}.{known}",
		Advice: "Check the address: on a host behind a NAT, packets carry its private one; check the interface and the filter of the capture, or capture for longer.",
		holds: func(x *facts) *proof {
			if x.asked() > 0 || x.isSource() {
				return nil
			}
			where, known := either(x.at.Port() == 0, "it", "that address and port"), ""
			if n := min(len(x.r.Servers), 3); n > 0 {
				names := nettext.Each(x.r.Servers[:n], func(s Server) string { return s.Address })
				known = " It has these servers: " + strings.Join(names, ", ") + either(len(x.r.Servers) > n, fmt.Sprintf(" and %d more", len(x.r.Servers)-n), "") + "."
			}
			return x.proof("packets", count(x.o.Packets, "packet", "packets"), "where", where, "known", known)
		}},

	// Somebody asked, and what came back says why.
	{ID: "other_address", State: Trouble, Certainty: Certain, explains: ofSilence | ofChallenge,
		Needs:  "replies that answer requests to the server, from another address",
		Words:  "{n} to {server} {were} answered from {other}: clients drop such replies, because they did not ask it.",
		Advice: "The host has several addresses: make the server listen on {server} alone (its option for the IP address), or route its replies through the address that was asked; if that is the address of a router in front of it and the client is in the network of the server, ask the server's private address, or let the router translate the client as well (hairpin NAT).",
		holds:  func(x *facts) *proof { return x.elsewhereFrom(false) }},
	{ID: "other_port", State: Trouble, Certainty: Certain, explains: ofSilence | ofChallenge,
		Needs:  "replies that answer requests to the server, from another port of its address",
		Words:  "{n} to {server} {were} answered from {other}: clients drop such replies, because they did not ask it.",
		Advice: "A NAT or a proxy changes the port of replies, or the server sends them from another socket: map the port one to one, and let the server answer from the port that was asked.",
		holds:  func(x *facts) *proof { return x.elsewhereFrom(true) }},
	{ID: "bound_elsewhere", State: Trouble, Certainty: Likely, explains: ofSilence,
		Needs:  "ICMP says that nothing listens, and another address of the host (loopback, one of its interfaces, or the sender of the error) answers at the same port",
		Words:  "Nothing listens at {server}, but {other} answers: the server is bound to {what}.",
		Advice: "Look with ss -ulnp on the host; bind the server to 0.0.0.0, or to the address that clients ask.",
		holds: func(x *facts) *proof {
			closed, sum := x.refusals(false, core.PortUnreachable)
			if closed == nil || x.good > 0 {
				return nil
			}
			for _, t := range x.f.targets {
				a := t.at.Addr()
				same := a.IsLoopback() || closed.by == a.String() || slices.ContainsFunc(x.home, func(p netip.Prefix) bool { return p.Contains(a) })
				if t.at.Port() == x.at.Port() && a != x.at.Addr() && same && t.replies() > 0 {
					what := either(a.IsLoopback(), "loopback, which other hosts do not reach", "that address alone")
					return x.proof("other", t.at.String(), "what", what).with(x, "ICMP errors", &sum).with(x, "replies of "+t.at.String(), &t.marks[mData])
				}
			}
			return nil
		}},
	{ID: "nothing_listens", State: Trouble, Certainty: Certain, explains: ofSilence,
		Needs:  "ICMP port unreachable from the server's own address for the requests, and no reply after it",
		Words:  "Nothing listens at {server}: its host says of {n} that the port is closed.{also}",
		Advice: "The host is up: start the server, or correct its port and the address that it is bound to (ss -ulnp shows both); a firewall that rejects can say the same.",
		holds: func(x *facts) *proof {
			by, sum := x.refusals(false, core.PortUnreachable)
			if by == nil || by.by != x.at.Addr().String() || !x.refused() {
				return nil
			}
			other, also := x.another(), x.since()
			if other != nil {
				also += fmt.Sprintf(" %s on the same host answers %s.", other.at, other.protocol)
			}
			if x.namedBy(other) {
				return nil
			}
			return x.proof("n", count(sum.n, "request", "requests"), "also", also).with(x, "ICMP port unreachable", &sum)
		}},
	{ID: "firewall_rejects", State: Trouble, Certainty: Certain, explains: ofSilence,
		Needs:  "ICMP administratively prohibited, or port unreachable from another address than the server's, and no reply after it; or either for more than a tenth of at least twenty requests, while others are answered all the time",
		Words:  "A firewall rejects what is sent to {server}: {by} said so of {n}.{also}",
		Advice: "{by} has the rule, or the host behind it: allow UDP to that port there.",
		holds: func(x *facts) *proof {
			by, sum := x.refusals(false, core.Prohibited, core.PortUnreachable)
			if by == nil || !x.refusedSome() && (by.is != core.Prohibited && by.by == x.at.Addr().String() || !x.refused() || x.namedBy(x.another())) {
				return nil
			}
			return x.proof("by", by.by, "n", count(sum.n, "request", "requests"), "also", either(x.refusedSome(), " Others were answered meanwhile.", x.since())).with(x, "ICMP errors", &sum)
		}},
	{ID: "host_unreachable", State: Trouble, Certainty: Certain, explains: ofSilence,
		Needs:  "ICMP host or network unreachable, or time exceeded, for the requests, and no reply after it; or for more than a tenth of at least twenty requests, while others are answered all the time",
		Words:  "The host of {server} cannot be reached: {by} said so of {n}.{also}",
		Advice: "Check that the host is on, that the address is right, and the routes to it from {by}.",
		holds: func(x *facts) *proof {
			by, sum := x.refusals(false, core.Unreachable, core.HopLimit)
			if by != nil && (x.refused() || x.refusedSome()) {
				also := either(by.is == core.HopLimit, " A packet loops, or its hop limit is too low.", "") + either(x.refusedSome(), " Others were answered meanwhile.", x.since())
				return x.proof("by", by.by, "n", count(sum.n, "request", "requests"), "also", also).with(x, "ICMP errors", &sum)
			}
			return nil
		}},
	{ID: "too_large", State: Trouble, Certainty: Certain, explains: ofParts,
		Needs:  "ICMP fragmentation needed (packet too big) about three messages that the server sends, or about what it is sent, and for a tenth of the replies or more",
		Words:  "Packets of {server} are too large for the path: {by} said so {n}.",
		Advice: "The MTU of the path is smaller than that of the server's link (a tunnel, a VPN, PPPoE): lower the MTU there, let ICMP pass, or make the replies shorter.",
		holds: func(x *facts) *proof {
			by, sum := x.refusals(true, core.FragmentationNeeded)
			if sum.n < leastErrors {
				by, sum = x.refusals(false, core.FragmentationNeeded)
			}
			if by != nil && float64(sum.n) >= badShare*float64(x.replies()) {
				return x.proof("by", by.by, "n", count(sum.n, "time", "times")).with(x, "ICMP errors", &sum)
			}
			return nil
		}},

	// What the capture lacks.
	{ID: "one_direction", State: Unclear, Certainty: Certain, explains: everything,
		Needs:  "nothing of the server in the capture, although requests return challenges, which it gives, or no host of the capture is seen in both directions",
		Words:  "The capture has {n} to {server} and no reply from it: one direction only, or it does not reply.{why}",
		Advice: "Capture both directions, on the host of the server itself or on a port that mirrors both.",
		holds: func(x *facts) *proof {
			if x.asked() == 0 || x.replies()+x.sum.Refused+x.sent() > 0 || x.good > 0 || len(x.elsewhere) > 0 {
				return nil
			}
			used := x.marks[mReturned].n >= 2 && 10*x.marks[mReturned].n >= x.asked()
			if !used && x.own || !used && !x.o.OneSided && x.fates[dissect.OutcomeOneSided].n == 0 {
				return nil
			}
			why := either(used, fmt.Sprintf(" %s return a challenge: it does, unless that is made up or old.", count(x.marks[mReturned].n, "request", "requests")), "")
			p := x.proof("n", count(x.asked(), "request", "requests"), "why", why).with(x, "requests", &x.marks[mAsked])
			p.leaves = x.told() // who asks is seen in one direction as well
			return p
		}},
	{ID: "capture_ends", State: Unclear, Certainty: Certain, explains: everything,
		Needs:  "the capture ends before the time for replies is over",
		Words:  "{server} was asked {n}, and the capture ends before a reply has to come.",
		Advice: "Capture for longer.",
		holds: func(x *facts) *proof {
			return x.proofIf(x.n == 0 && len(x.elsewhere) == 0 && (x.replies() > 0 || x.r.To.UnixNano()-x.asking.first < int64(5*time.Second)),
				"n", count(x.asked(), "time", "times")).with(x, "requests", &x.marks[mAsked])
		}},
	{ID: "cut", State: Unclear, Certainty: Certain, explains: everything,
		Needs:  "a tenth of the messages or more are cut by the snapshot length, and something is wrong otherwise, but for times in which nothing came and kinds that get no reply; or as many datagrams of others that may be replies are, and none came",
		Words:  "The capture holds only the beginning of {n} of {server}: its snapshot length cut them, so whether they are right or were answered cannot be told.",
		Advice: "Capture whole packets (tcpdump -s 0, or qdissect -i without -s).",
		holds: func(x *facts) *proof {
			if n := &x.f.beside; x.n > 0 && x.good+x.replies() == 0 && 10*n.n >= x.asked() {
				return x.proof("n", count(n.n, "datagram", "datagrams")+", which may be replies,").with(x, "cut datagrams", n)
			}
			if x.marks[mCut].n*10 < x.asked()+x.replies() || float64(x.sum.Answered+x.sum.Late) >= goodShare*float64(x.n) || len(x.silences) > 0 || x.ofKind() != nil {
				return nil
			}
			p := x.proof("n", count(x.marks[mCut].n, "message", "messages")).with(x, "cut messages", &x.marks[mCut])
			p.leaves = x.told()
			return p
		}},
	{ID: "other_client_port", State: Trouble, Certainty: Likely, explains: everything,
		Needs:  "as packets_missing, but half of these replies went to addresses that ask the server from other ports, the first of them in a second, and that get none that they asked for",
		Words:  "{verdict}",
		Advice: "Something between them changes the ports of clients in one direction only (a NAT, a balancer or a proxy), or the server replies to a port of its own choice: it has to reply to the port that asked.",
		holds: func(x *facts) *proof {
			v := first(x.verdicts, func(v Verdict) bool { return v.Evidence.of("to_other_ports") > 0 })
			return x.proofIf(v != nil, "verdict", cmp.Or(v, new(Verdict)).Text).with(x, "replies without their request", &x.marks[mUnasked])
		}},
	{ID: "packets_missing", State: Unclear, Certainty: Likely, explains: everything,
		Needs:  "a tenth of at least twenty requests or more have no reply, and at least five replies, half as large a share of all, answer requests that are not in the capture, nor went to another address or to all hosts; or twenty replies do, two fifths of all; no outage explains it; or clients that get no reply have nine tenths of what has none, and ask for challenges and return them alike",
		Words:  "{unasked} of {replies} {server} {what} not in the capture: it lacks packets{rest}.",
		Advice: "Look whether tcpdump dropped packets (its last lines say so; -w FILE and -B 65536 help), whether the capture is a sample, and whether some packets take another link.",
		holds: func(x *facts) *proof {
			v := x.verdict(CannotTell)
			if v == nil {
				return nil // the replies may answer requests to another address
			}
			p, m := x.proof(v.fill...), &x.marks[mUnasked]
			return p.with(x, either(m.n > 0, "replies without their request", "requests without a reply"), either(m.n > 0, m, x.lost()))
		}},
	{ID: "wrong_port", State: Trouble, Certainty: Likely, explains: ofSilence,
		Needs:  "no reply from that port, and replies from another port of the same host, which speaks what was asked, and not several; if this one sends other datagrams, it gets such as well; or the other names this one as the port of the game",
		Words:  "{server} replied to none of {n}; {other} on the same host answers {protocol}{names}.",
		Advice: "Ask port {port}: that of queries is often not the one that players connect to. If both have to answer, start the server of this one.",
		holds: func(x *facts) *proof {
			if x.asked() == 0 || x.good+x.replies() > 0 || len(x.silences)+len(x.elsewhere) > 0 {
				return nil
			}
			best := x.another()
			if best == nil {
				return nil
			}
			asked := slices.ContainsFunc(x.kinds, func(k focusKind) bool { return k.protocol == best.protocol })
			if !x.namedBy(best) && !(asked && (x.in > 0 || x.sent() == 0) && !x.hosted()) {
				return nil
			}
			names := either(x.namedBy(best), ", and names this one as the port of the game", "")
			return x.proof("n", count(x.asked(), "request", "requests"), "other", best.at.String(), "protocol", best.protocol, "port", fmt.Sprint(best.at.Port()), "names", names).
				with(x, "requests without a reply", &x.fates[dissect.OutcomeUnanswered]).with(x, "replies of "+best.at.String(), &best.marks[mData])
		}},
	{ID: "unknown_replies", State: Trouble, Certainty: Likely, explains: ofSilence,
		Needs:  "no reply that a protocol recognises, and datagrams of the server that none does",
		Words:  "{server} answered none of {n}, although it sends something.",
		Advice: "It may speak another protocol than it is asked: look at what it sends with qdissect --all; its replies may also be damaged, or of a protocol that qdissect does not know.",
		holds: func(x *facts) *proof {
			return x.proofIf(x.n > 0 && x.good+x.marks[mData].n == 0 && x.sent() > 0,
				"n", count(x.asked(), "request", "requests")).with(x, "datagrams that no protocol recognises", &x.marks[mUnread])
		}},
	{ID: "other_kind", State: Trouble, Certainty: Likely, explains: ofSilence | ofContent,
		Needs:  "replies, none of which is of the kind that was asked",
		Words:  "{server} answered none of {n}, although {replies} of another kind came.",
		Advice: "The server refuses in words, or confuses kinds of requests, or another program listens there: look at one conversation with qdissect -V.",
		holds: func(x *facts) *proof {
			return x.proofIf(x.n > 0 && x.sum.replied() == 0 && x.marks[mData].n > 0 && len(x.elsewhere) == 0,
				"n", count(x.n, "request", "requests"), "replies", count(x.marks[mData].n, "reply", "replies")).with(x, "replies", &x.marks[mData])
		}},

	// What the report finds around it.
	verdictCause("carpet", ofSilence|ofChallenge|ofDelay|ofLoad),
	verdictCause(ForgedFlood, ofSilence|ofChallenge|ofDelay|ofLoad),
	verdictCause(CrowdOrForged, ofSilence|ofChallenge|ofLoad),
	verdictCause(Reflection, ofSilence|ofChallenge|ofDelay|ofLoad),
	verdictCause(JunkFlood, ofSilence|ofDelay),
	verdictCause(GreedyClients, ofSilence|ofDelay|ofLoad),
	verdictCause(ListHammering, ofSilence|ofDelay|ofLoad),

	// Silence that nothing else explains.
	{ID: "wrong_requests", State: Trouble, Certainty: Likely, explains: ofSilence | ofChallenge,
		Needs:  "five requests or more with the same warning or error, or with bytes after their end while others are answered, with what is sent again half of those without a reply or more, and not more than these; where one client gets no reply, one of the first of these has it, which is not that the challenge is unknown",
		Words:  "{n} to {server} are wrong and without a reply: {text} ({id}).",
		Advice: "Correct the client first: qdissect explain {id}, and qdissect -V -Y 'finding == {id}' shows them.",
		holds: func(x *facts) *proof {
			n, lost := first(x.noted, func(n noted) bool {
				return n.bySelf == 0 && !n.loop && !n.limit && (n.id != core.Trailing.ID || x.good > 0)
			}), less(x.asked(), x.replies())
			ignored := first(x.verdicts, func(v Verdict) bool { return v.Kind == Unwell && len(v.Sources) > 0 })
			// A challenge that is unknown may be the doing of the server, and what others send with the same finding may be answered.
			doubt := n != nil && ignored != nil && (strings.HasSuffix(n.id, ".mismatch") || !slices.Contains(x.lost().frames[:], n.frames[0]))
			if n == nil || doubt || n.n < kindLeast || n.n > lost || 2*n.n+x.fates[dissect.OutcomeRepeated].n < lost || 10*lost < x.asked() || x.well() && n.n < lost && n.id != core.ChallengeSwapped.ID { // some may be open
				return nil
			}
			p := x.proof("n", count(n.n, "request", "requests"), "text", shown([]byte(n.text)), "id", n.id).with(x, "such requests", &n.mark)
			p.leaves = either(x.good == 0, ofSilence, 0)
			return p
		}},
	{ID: "stopped", State: Trouble, Certainty: Certain, explains: ofSilence,
		Needs:  "replies, and from a time on none to any of at least five requests, more than chance loses",
		Words:  "{server} stopped replying at {time}: none of {n} in the {span} since then has a reply{also}.{more}",
		Advice: "Look whether the server runs, and what it wrote at that time; a capture on the host sees requests that the host's own firewall drops.",
		holds:  func(x *facts) *proof { return x.silence(false) }},
	{ID: "silent_at_times", State: Trouble, Certainty: Certain, explains: ofSilence,
		Needs:  "replies before and after, or only after, a time in which none of at least five requests got one, more than chance loses (or of three, if that happens five times or more)",
		Words:  "{server} did not reply from {time} on for {span}{more}: none of {n} got a reply{icmp}{also}.",
		Advice: "It restarted, changed its map, or hung: look at what it wrote at that time, and whether it restarts by itself.",
		holds:  func(x *facts) *proof { return x.silence(true) }},
	{ID: "hangs", State: Trouble, Certainty: Likely, explains: ofSilence,
		Needs:  "four requests or more, connections over TCP to that port that were accepted, and no reply at all",
		Words:  "No reply: {server} replied to none of {n}, although it accepted {connections}.",
		Advice: "Something listens on that port: look whether it is that server (ss -ltnp), and whether it hangs.",
		holds: func(x *facts) *proof {
			s := x.stream()
			if s == nil || s.Made == 0 || x.asked() <= tooFew || x.good+x.replies() > 0 {
				return nil
			}
			p := x.proof("n", count(x.asked(), "request", "requests"), "connections", s.accepted()).with(x, "requests without a reply", x.lost())
			p.advice = either(s.Read, "", onlyTCP)
			return p
		}},
	{ID: "no_reply", State: Trouble, Certainty: Likely, explains: ofSilence,
		Needs:  "four requests or more, no reply at all, no ICMP error that names it, and nothing that says that one direction is missing",
		Words:  "No reply: {server} replied to none of {n}, and no ICMP error tells why.",
		Advice: "A host refuses what comes to a closed port: without an ICMP error, a firewall drops the requests or the replies, the host is off, or the server hangs. Look whether the server runs and listens on that port (ss -ulnp); a capture on the host sees requests that the host's own firewall drops{one}.",
		holds: func(x *facts) *proof {
			return x.proofIf(x.asked() > tooFew && x.good+x.replies() == 0,
				"n", count(x.asked(), "request", "requests"), "one", either(x.r.Totals.Replies == 0 && !x.own, noneReplies, either(x.hosted(), ". "+strings.TrimSuffix(othersRun, "."), ""))).with(x, "requests without a reply", &x.marks[mAsked])
		}},
	{ID: "wrong_protocol", State: Trouble, Certainty: Likely, explains: ofSilence,
		Needs:  "requests of one protocol are answered, and none of at least five of another, which are a tenth of all requests or more",
		Words:  "{server} answers {speaks} and none of {n}: it does not speak that protocol{or}.",
		Advice: "Ask it with {speaks}: choose that game or protocol in the client{do}.",
		holds: func(x *facts) *proof {
			for k := range each(x.kinds) {
				if n := k.fates.missed() + k.fates[dissect.OutcomeRepeated]; !x.speaks(k.protocol) && n >= kindLeast && float64(n) >= badShare*float64(x.asked()) {
					v := cmp.Or(x.verdict(Unwell), new(Verdict))
					return x.proof(append(wrongProtocol(strings.Contains(v.Text, orUDP)), "speaks", x.protocol, "n", k.counted(k.requests))...).with(x, "requests without a reply", &k.none)
				}
			}
			return nil
		}},
	{ID: "kind_unanswered", State: Trouble, Certainty: Likely, explains: ofSilence,
		Needs:  "at least five requests of one kind, or that return the challenge of the server, of which under half are answered, while others are, more than chance loses; or under nine tenths of at least twenty, of several clients, while 95 % of others are, each sending counted, one kind of which is asked as often; or (possible) three or four, none of which is answered, while at least five others were, at the same time",
		Words:  "{server} replies to {what}.",
		Advice: "Look whether the server has that kind of query disabled or limited, and whether its long replies get through.",
		holds: func(x *facts) *proof {
			v, none := x.ofKind(), mark{}
			if v == nil || v.Evidence.of("replies") > 0 && x.overloaded() {
				return nil
			}
			for k := range each(x.kinds) {
				if strings.Contains(v.of, k.protocol+" "+plural(k.title)) {
					none.merge(&k.none)
				}
			}
			p := x.proof("what", v.of).with(x, "requests without a reply", &none)
			p.certainty = v.Certainty
			return p
		}},
	{ID: "client_ignored", State: Trouble, Certainty: Likely, explains: ofSilence,
		Needs:  "ten requests of a client that asks one server, and a fifth of its requests, have no reply, or ten of clients of a network, of which none gets one; and nine tenths of ten or more of others, of the same kinds, have one, those without any reply aside; servers need not be silent to such a kind, and no verdict of the report explains it; or ten addresses that ask twice or more, or one that asks five times or more, get no reply at all for ten seconds or more, and have sent nine tenths of what has none; or one client among others sent nine tenths of what has none, and no challenge that it returned is right",
		Words:  "{verdict}",
		Advice: "{advice}",
		holds: func(x *facts) *proof {
			if v := first(x.verdicts, func(v Verdict) bool { return v.Kind == Unwell && len(v.Sources) > 0 }); v != nil {
				return x.proof("verdict", v.Text, "advice", v.Advice).with(x, "requests without a reply", x.lost())
			}
			return nil
		}},
	{ID: "rate_limit", State: Trouble, Certainty: Likely, explains: ofSilence | ofLoad,
		Needs:  "under nine tenths of at least twenty requests have a reply, and however many come, as many are answered at any time, or to each address, with less spread than chance has; or it is known to have such a limit",
		Words:  "{server} answers only so often: {n}. That is a limit of the server or of its firewall, or all that it can do.",
		Advice: "Ask less often, or raise the limit of the server or of its firewall; if it has none, look at its load.",
		holds: func(x *facts) *proof {
			for i := range x.noted {
				if n := &x.noted[i]; n.limit {
					return x.proof("n", count(n.n, "request exceeds", "requests exceed")+" the rate at which such servers reply").with(x, "requests above the limit", &n.mark)
				}
			}
			if x.limit > 0 {
				whom := either(x.each, " to each address", "")
				return x.proof("n", fmt.Sprintf("about %s %s per second%s, of %s", rounded(x.limit), either(rounded(x.limit) == "1", "reply", "replies"), whom, count(x.n, x.what, x.what+"s"))).
					with(x, "requests without a reply", x.lost())
			}
			return nil
		}},
	verdictCause(DropsUnderLoad, ofSilence|ofLoad),

	// Challenges.
	{ID: "backends", State: Trouble, Certainty: Likely, explains: ofChallenge | ofSilence,
		Needs:  "some requests that return the server's challenge are answered, and others, in between, get a new challenge, in less than five seconds after the old one; or name and map change to and fro; and under nine tenths of the requests are answered",
		Words:  "{server} {what}: several servers share that address.",
		Advice: "Let the balancer or the NAT send all packets of a client's address to the same server, or let the servers share the secret of their challenges: each knows only its own.",
		holds:  func(x *facts) *proof { return x.backends(false) }},
	{ID: "challenge_loop", State: Trouble, Certainty: Certain, explains: ofChallenge,
		Needs:  "requests that return the server's challenge get another challenge, and no data; or some do, five and one in a hundred replies or more, and others get data",
		Words:  "{who} of {server} get one challenge after the other and no data ({n}).",
		Advice: "The server or a proxy in front of it refuses the challenges that it gives (it sees the clients under changing addresses, or several servers share the address), or clients send wrong ones; look at one with qdissect -V.",
		holds: func(x *facts) *proof {
			loops := x.marks[mAgain]
			if x.well() { // they were answered at the second time, but for those that are noted
				loops = mark{}
			}
			for i := range x.noted {
				if n := &x.noted[i]; n.loop && n.n > loops.n {
					loops = n.mark
				}
			}
			n := float64(loops.n)
			all := loops.n > 0 && 10*x.marks[mAccepted].n <= loops.n && (n >= badShare*float64(x.asked()) || loops.n >= kindLeast && x.marks[mIssued].n > x.marks[mData].n)
			some := loops.n >= kindLeast && n >= loopShare*float64(x.replies())
			if !all && !some || x.marks[mCut].n > 0 {
				return nil
			}
			p := x.proof("who", either(all, "Clients", "Some clients"), "n", count(loops.n, "time", "times")).with(x, "challenges after a challenge", &loops)
			p.advice = x.r.notGiven(loops.n)
			return p
		}},
	{ID: "unarrived", State: Trouble, Certainty: Likely, explains: ofChallenge,
		Needs:  "at least five addresses, three quarters of those that get replies, ask three times or more, get a challenge nearly each time, and return none; if the certainty is only possible, up to a tenth of the addresses do better",
		Words:  "{verdict}",
		Advice: "Look at the way of the replies to the clients (a firewall or a NAT that drops them, a route back through another link, a provider that filters), with a capture at one of them; clients from before challenges, and a few forged addresses, look the same.",
		holds: func(x *facts) *proof {
			v := cmp.Or(first(x.verdicts, func(v Verdict) bool { return v.Evidence.of("asking_again") > 0 }), new(Verdict))
			p := x.proof("verdict", v.Text).with(x, "challenges", &x.marks[mIssued])
			p.certainty = v.Certainty
			return either(v.Text == "", nil, p)
		}},
	{ID: "challenge_unused", State: Trouble, Certainty: Likely, explains: ofChallenge,
		Needs:  "every reply is a challenge, to half of at least four requests or more, nobody returns one, and ICMP port unreachable does not come about half of them",
		Words:  "No client gets past the challenge of {server}: {n} of {all} got only a challenge, and nobody used it.",
		Advice: "The clients are older than challenges, the challenges do not reach them (a firewall, a NAT), or their addresses are forged; look at one with qdissect -V.",
		holds: func(x *facts) *proof {
			_, back := x.refusals(true, core.PortUnreachable) // by who had closed its socket
			return x.proofIf(x.n > tooFew && 2*back.n < x.replies() && x.marks[mProven].n == 0 && 2*x.good >= x.n && (x.sum.ChallengeOnly == x.good || x.marks[mData].n == 0 && x.marks[mIssued].n > 0) && 2*x.sum.Late < x.good && x.marks[mCut].n == 0,
				"n", number(x.good), "all", count(x.n, "request", "requests")).with(x, "challenges", &x.marks[mIssued])
		}},

	// Replies that do not arrive as they should.
	{ID: "fragments_lost", State: Trouble, Certainty: Certain, explains: ofParts,
		Needs:  "IP fragments of replies of the server are missing, and messages in one packet come",
		Words:  "{n} of {server} {lack} IP fragments: long replies get lost on the way.",
		Advice: "A firewall or a link drops fragments: let them pass, check the MTU (ping -M do -s 1472), or make the replies shorter than 1,400 bytes. The capture itself lacks them if its filter names a port.",
		holds:  func(x *facts) *proof { return x.lacking(&x.marks[mFragments], "fragments lost of replies") }},
	{ID: "parts_lost", State: Trouble, Certainty: Certain, explains: ofParts,
		Needs:  "parts of split replies of the server are missing",
		Words:  "{n} of {server} {lack} parts.",
		Advice: partsLost,
		holds: func(x *facts) *proof {
			if x.n > 0 && x.sum.Answered == x.n && x.sum.Other == 0 { // these are pieces beside whole replies
				return nil
			}
			lost := either(x.sum.Partial > x.marks[mShort].n, &x.fates[dissect.OutcomePartial], &x.marks[mShort])
			return x.lacking(lost, "replies without all parts")
		}},
	{ID: "client_gone", State: Trouble, Certainty: Likely, explains: ofDelay,
		Needs:  "ICMP port unreachable about three replies of the server, and a tenth of them, or more",
		Words:  "Replies of {server} come back: {by} said {n} that nothing listens there any more. The client closed its socket, or its NAT had forgotten the mapping (timeout) when the reply came.",
		Advice: "Let clients wait longer and keep their socket; a NAT forgets a mapping after 30 seconds or more without packets, so ask again within that time.",
		holds: func(x *facts) *proof {
			if by, sum := x.refusals(true, core.PortUnreachable); by != nil && float64(sum.n) >= badShare*float64(x.replies()) && sum.n >= leastErrors {
				who := by.by + either(by.n < sum.n, " and others", "")
				return x.proof("by", who, "n", count(sum.n, "time", "times")).with(x, "ICMP errors about replies", &sum)
			}
			return nil
		}},
	{ID: "late_replies", State: Trouble, Certainty: Certain, explains: ofDelay,
		Needs:  "a tenth of the replies or more came after the five seconds that clients wait",
		Words:  "{n} of {all} of {server} came later than clients wait.",
		Advice: "Clients have given up by then: look at the load of the server and at the path to it.",
		holds: func(x *facts) *proof {
			return x.proofIf(x.sum.Late > 0 && float64(x.sum.Late) >= badShare*float64(x.good),
				"n", number(x.sum.Late), "all", count(x.good, "answer", "answers")).with(x, "late replies", &x.fates[dissect.OutcomeLate])
		}},
	{ID: "slow", State: Trouble, Certainty: Certain, explains: ofDelay,
		Needs:  "at least five replies, and a tenth of them, took more than a second; or a fifth at some times, at which half of those that did came",
		Words:  "Slow: {n} of {all} of {server} took more than a second{when}.",
		Advice: "Clients wait one to five seconds: look at the load of the server and at the path to it.",
		holds: func(x *facts) *proof {
			slow, all, when := x.marks[mSlow], x.marks[mWaits].n, ""
			if v := x.verdict(Slow); v != nil { // the report's are estimates, and may have those whose reply is not known if nothing was lost
				slow.merge(&x.marks[mBehind])
				slow.n, all = uint64(v.Evidence.of("slow")), uint64(v.Evidence.of("round_trips"))
				when = either(v.of != "", " in "+v.of, "")
			}
			return x.proofIf(slow.n >= kindLeast && float64(slow.n) >= badShare*float64(all),
				"n", number(slow.n), "all", count(all, "reply", "replies"), "when", when).with(x, "slow replies", &slow)
		}},
	{ID: "loss", State: Trouble, Certainty: Possible, explains: ofSilence,
		Needs:  "under nine tenths of at least twenty requests have a reply, at any time alike, outside of its outages, or from the first of five or more to the last if others are lost between them; of clients that ask all the time from one port, each sending counts, and where nearly all requests are answered in the end, each that was sent again after 0.4 seconds or more",
		Words:  "{server} replies to only {share} of {n}{when}.",
		Advice: pathAdvice,
		holds: func(x *facts) *proof {
			if v := x.apart(); v != nil {
				share := 1 - (v.Evidence.of("unanswered")+v.Evidence.of("refused"))/v.Evidence.of("requests") // others were answered late, or in part
				return x.proofIf(share < goodShare, "share", percent(share), "n", count(uint64(v.Evidence.of("requests")), "request", "requests"), "when", cmp.Or(v.also, v.of))
			}
			other, more := x.fates[dissect.OutcomeOther].n, ""
			if 2*other > x.sum.Unanswered {
				more = ", and to " + number(other) + " with another kind only"
			}
			v := x.verdict(Unwell)
			if v != nil {
				more += v.also
			}
			p := x.proofIf(x.bad(), "share", percent(float64(x.good)/float64(x.n)), "n", count(x.n, x.what, x.what+"s"), "when", more).with(x, "requests without a reply", x.lost())
			if p != nil && more != "" && v != nil {
				p.advice = v.Advice
			}
			return p
		}},
	{ID: "bad_replies", State: Trouble, Certainty: Certain, explains: ofContent,
		Needs:  "a tenth of the replies or more are damaged, contradict themselves, or refuse",
		Words:  "{n} of {all} of {server}: {text} ({id}){others}.",
		Advice: "{so}; qdissect -V -Y 'finding == {id}' shows them.",
		holds: func(x *facts) *proof {
			var most noted
			for n := range each(x.noted) {
				if n.bad && (most.id == "" || most.refuses && !n.refuses || most.refuses == n.refuses && n.bySelf > most.bySelf) {
					most = *n
				}
			}
			wrong, least := x.marks[mWrong].n, badShare*float64(max(x.replies(), 1))
			return x.proofIf(most.bad && (wrong >= kindLeast && float64(wrong) >= least || !most.refuses && float64(most.bySelf) >= least), "n", number(wrong), "all", count(x.replies(), "reply", "replies"),
				"text", shown([]byte(most.text)), "id", most.id, "others", either(most.bySelf < wrong, " and others", ""),
				"so", either(most.refuses, "The server is there and refuses what it is asked for", "Clients and masters may not accept such replies")).with(x, "such messages", &x.marks[mWrong])
		}},

	{ID: "too_few", State: Unclear, Certainty: Certain, explains: everything,
		Needs:  "at most three requests, of which one has no reply or none has more than a challenge, or under twenty of which half have no reply; or a cause that rests on at most three requests, or on under five replies (three that lack parts; ICMP is evidence of its own): what was seen is said",
		Words:  "Too little to say: {server} was asked {n}, and {replies} came{only}.",
		Advice: "Capture for longer, and ask the server with a browser meanwhile: with twenty requests it can be told whether it answers.",
		holds: func(x *facts) *proof {
			if few := x.asked() <= tooFew; x.n > 0 && x.verdict(Unwell) == nil && (x.good < x.n && few || 2*x.sum.Answered <= x.n || few && x.marks[mData].n == 0) {
				return x.saw().with(x, "requests", &x.marks[mAsked])
			}
			return nil
		}},

	verdictCause(Unwell, everything|ofListing),

	// It works.
	verdictCause(Growth, ofWho),
	{ID: "several_servers", State: Answers, Certainty: Likely, explains: ofWho,
		Needs:  "the same as of backends, but nine tenths of the requests or more are answered, some at the second time",
		Words:  "{server} answers, and nothing in the capture stands in the way; but it {what}: several servers share that address.",
		Advice: "Let the balancer or the NAT send all packets of a client's address to the same server: some clients ask only once.",
		holds:  func(x *facts) *proof { return x.backends(true) }},
	{ID: "errors", State: Answers, Certainty: Certain, explains: ofWho,
		Needs:  "the server answers, and messages of it or to it have errors, but under a tenth of its replies",
		Words:  "{server} answers, and nothing in the capture stands in the way; but {n} an error: {text} ({id}).",
		Advice: "Look at one of them: qdissect -V -Y 'finding == {id}'.",
		holds: func(x *facts) *proof {
			if n := first(x.noted, func(n noted) bool { return n.failed }); n != nil {
				return x.proof("n", count(n.n, "message has", "messages have"), "text", shown([]byte(n.text)), "id", n.id).with(x, "such messages", &n.mark)
			}
			return nil
		}},
	{ID: "docker_proxy", State: Answers, Certainty: Possible, explains: ofWho,
		Needs:  "the server answers, and all requests come from one private address, from several ports: that of a gateway (.1, .254, ::1), or one of another network",
		Words:  "{server} answers, and nothing in the capture stands in the way; but all requests come from one private address, {from}: that of Docker's proxy, of a NAT in front of the server (SNAT), or of one host in its network.",
		Advice: "The server sees all clients as one: a limit per address stops all of them, and bans cannot tell them apart. For Docker, use the host's network or turn off the userland proxy; a NAT should keep the sources.",
		holds: func(x *facts) *proof {
			if a := x.askers; len(a) == 1 && !x.moreAskers && a[0] != x.at.Addr() && x.hides(a[0]) && x.good > 0 {
				return x.proof("from", a[0].String()).with(x, "requests", &x.marks[mAsked])
			}
			return nil
		}},
	{ID: "only_private", State: Answers, Certainty: Certain, explains: ofWho,
		Needs:  "the server answers, and only addresses of networks that are not routed in the internet ask",
		Words:  "{server} answers, and nothing in the capture stands in the way; only private addresses asked it.",
		Advice: "In a local network that is as it should be. For players outside, the port forwarding of the router and its firewall must let UDP to the query port pass: capture while one of them asks.",
		holds: func(x *facts) *proof {
			return x.proofIf(x.marks[mPrivate].n == x.asked()).with(x, "requests", &x.marks[mAsked])
		}},
	{ID: "works", State: Answers, Certainty: Certain, explains: ofWho,
		Needs:  "the server is asked and answers, and none of the other causes holds",
		Words:  "{server} answers, and nothing in the capture stands in the way.",
		Advice: "There is nothing to do here: if it does not show up for somebody, capture there, or look at the filters of the browser.",
		holds: func(x *facts) *proof {
			p := x.proof().with(x, "replies", &x.marks[mData])
			if x.alone != "" && 10*x.in >= x.asked() {
				p.advice = cmp.Or(x.r.correction(), "If that address should get replies, correct its client: qdissect --all -V shows what it sends.")
			}
			return p
		}},
}

// well reports whether enough requests are answered in the end.
func (x *facts) well() bool { return float64(x.sum.Answered) >= goodShare*float64(x.n) }

// backends returns the proof that several servers share an address, if that of requests which are answered or not in the end is so.
func (x *facts) backends(well bool) *proof {
	if well != x.well() {
		return nil
	}
	if n := less(x.marks[mAgain].n, x.marks[mAged].n); n >= kindLeast && x.marks[mAccepted].n >= kindLeast && float64(n) >= badShare*float64(n+x.marks[mAccepted].n) && len(x.silences) == 0 {
		return x.proof("what", fmt.Sprintf("refuses the challenges that it gave in %s of %s requests and accepts the others", number(n), number(n+x.marks[mAccepted].n))).with(x, "challenges refused", &x.marks[mAgain])
	}
	if x.marks[mTurns].n >= kindLeast && float64(x.marks[mTurns].n) >= badShare*float64(x.marks[mData].n) {
		a, b := x.known[0], x.known[1]
		return x.proof("what", fmt.Sprintf("is now %s on %s, now %s on %s, %s to and fro", shown([]byte(a[0])), shown([]byte(a[1])), shown([]byte(b[0])), shown([]byte(b[1])), count(x.marks[mTurns].n, "time", "times"))).with(x, "replies", &x.marks[mData])
	}
	return nil
}

// verdictCause is a cause that the report finds, in its words.
func verdictCause(kind string, explains matter) Cause {
	return Cause{ID: kind, State: either(kind == Growth, Answers, Trouble), Certainty: Likely, explains: explains,
		Needs: "the report has the verdict " + kind + " about the server or its network", Words: "{verdict}", Advice: "{advice}",
		holds: func(x *facts) *proof {
			if v := x.verdict(kind); v != nil && !x.noCrowd(v) && (kind != Unwell || 10*x.marks[mCut].n < x.asked()+x.replies()) {
				text, n := v.Text, len(slices.DeleteFunc(slices.Clone(x.verdicts), func(o Verdict) bool { return o.Kind != kind }))
				text += either(n > 1, fmt.Sprintf(" The report has %d more of that kind.", n-1), "")
				p := x.proof("verdict", text, "advice", v.Advice).with(x, "requests", &x.marks[mAsked])
				if p.certainty = v.Certainty; len(x.silences) > 0 || x.ofKind() != nil {
					p.leaves = ofSilence // the report has outages or kinds that are not its doing
				}
				return p
			}
			return nil
		}}
}

// told returns what verdicts of the report explain of who asks, and when, which the captured part of datagrams shows as well.
func (x *facts) told() (is matter) {
	for v := range each(x.verdicts) {
		switch {
		case slices.Contains([]string{Carpet, ForgedFlood, CrowdOrForged, Reflection, JunkFlood, GreedyClients}, v.Kind) && !x.noCrowd(v):
			is |= ofSilence | ofChallenge | ofDelay | ofLoad
		case v.Kind == Slow:
			is |= ofDelay
		case v.Kind == ServerDown:
			is |= ofSilence
		}
	}
	return is
}

// noCrowd reports whether a crowd is a few that ask again and again all the time, or of which a limit answers as many as ever: then what is lost says more.
func (x *facts) noCrowd(v *Verdict) bool {
	return v.Kind == CrowdOrForged && x.bad() && v.Evidence.of("requests_by_source") >= leastIgnored && (x.limit > 0 || v.Evidence.of("requests") >= goodShare*float64(x.n))
}

// saw returns what came of few requests.
func (x *facts) saw() *proof {
	only := either(x.marks[mIssued].n > 0 && x.marks[mData].n == 0, ", with no more than a challenge", "")
	return x.proof("n", count(x.asked(), "time", "times"), "replies", count(x.replies(), "reply", "replies"), "only", only)
}

// listedBy reports whether lists of a master have the server.
func (x *facts) listedBy(m *master) bool {
	return m.listed || slices.Contains(m.ports, x.at.Port()) || x.at.Port() == 0 && len(m.ports) > 0
}

// isSource reports whether the report has a verdict about those who ask, and the server is one of them.
func (x *facts) isSource() bool {
	return slices.ContainsFunc(x.verdicts, func(v Verdict) bool {
		return slices.Contains([]string{Reflection, GreedyClients, ListHammering}, v.Kind) && slices.Contains(v.Sources, x.at.Addr().String())
	})
}

// hides reports whether an address that asks may stand for many: a gateway of the server's network, or an address of another one.
func (x *facts) hides(a netip.Addr) bool {
	many := bits.OnesCount64(x.sockets)
	if many < 2 || !private(a) || a.IsLoopback() {
		return false
	}
	b, s := a.As16(), x.at.Addr().As16()
	return gateway(a) || a.Is4() && private(x.at.Addr()) && string(b[:14]) != string(s[:14]) && many >= 8
}

// gateway reports whether an address is a private one as gateways have them.
func gateway(a netip.Addr) bool {
	b := a.As16()
	end := binary.BigEndian.Uint16(b[14:])
	return private(a) && !a.IsLoopback() && (a.Is6() && end == 1 || a.Is4() && (end&0xff == 1 || end&0xff == 254))
}

// master returns the proof of the first master of the host for which is holds.
func (x *facts) master(is func(*master) bool) *proof {
	for m := range x.masters {
		if is(m) {
			since := fmt.Sprintf(" any more: nothing came after the last %s, and %s before", count(m.since, "heartbeat", "heartbeats"), count(m.sent.n, "message", "messages"))
			return x.proof("master", m.to.String(), "says", strings.TrimRight(m.says, "."), "since", either(m.stopped(), since, ""),
				"asks", count(m.probes, "question", "questions"), "answered", either(m.answered == 0, "none", number(m.answered))).with(x, "heartbeats", &m.beats).with(x, "messages of the master", &m.sent)
		}
	}
	return nil
}

// stopped reports whether a master that sent something after earlier heartbeats sends nothing any more.
func (m *master) stopped() bool {
	heard := float64(m.sent.n) / float64(max(m.beats.n-m.since, 1))
	return m.since >= leastJudged && math.Pow(1-min(heard, 1), float64(m.since)) < accident
}

// elsewhereFrom returns the proof of replies from another address or port.
func (x *facts) elsewhereFrom(port bool) *proof {
	var sum mark
	from, several := netip.AddrPort{}, false
	for i := range x.elsewhere {
		if o := &x.elsewhere[i]; (o.from.Addr() == x.at.Addr()) == port {
			sum.merge(&o.mark)
			several = several || o.from.Addr() == from.Addr()
			if !from.IsValid() || o.from.Compare(from) < 0 {
				from = o.from
			}
		}
	}
	if sum.n == 0 || x.asked() > tooFew && !displaced(sum.n, x.n, x.asked()) {
		return nil
	}
	return x.proof("other", otherEnd(from, x.at, several), "n", count(sum.n, "request", "requests"), "were", were(sum.n)).with(x, "replies from elsewhere", &sum)
}

// otherEnd names another end than the one that was asked; if several ports of an address replied, the lowest.
func otherEnd(from, asked netip.AddrPort, several bool) string {
	name, what := from.String(), either(from.Addr() == asked.Addr(), "port", "address")
	if from.Port() == asked.Port() {
		name = from.Addr().String()
	}
	name += either(private(from.Addr()) && !private(asked.Addr()), " (private: all is well if a router translates it after this capture)", "")
	return either(several, "several ports"+either(what == "port", "", " of another address")+", "+from.String()+" among them", "another "+what+", "+name)
}

// another returns the other port of the host that replies: that which names this one as the port of the game, or the busiest.
func (x *facts) another() (best *target) {
	for _, t := range x.f.targets {
		if t.at.Addr() == x.at.Addr() && t.at != x.at && t.marks[mData].n > 0 && (best == nil || x.namedBy(t) || !x.namedBy(best) && t.marks[mData].n > best.marks[mData].n) {
			best = t
		}
	}
	return best
}

// hosted reports whether so many ports of the host reply that each is of a server of its own.
func (x *facts) hosted() bool {
	return len(slices.DeleteFunc(slices.Clone(x.f.targets), func(t *target) bool { return t.at.Addr() != x.at.Addr() || t.marks[mData].n == 0 })) >= hosting
}

// namedBy reports whether the replies of another port name this one as that of the game.
func (x *facts) namedBy(t *target) bool { return t != nil && t.stated == x.at.Port() }

// span returns the duration of the capture.
func (x *facts) span() string { return duration(x.r.To.Sub(x.r.From)) }

// cameBack says how often a server was silent before.
func (x *facts) cameBack() string {
	n := uint64(len(x.silences) - 1)
	return either(n == 0, "", fmt.Sprintf(" Before that it was silent %s, and came back.", count(n, "time", "times")+every(x.silences)))
}

// refused reports whether ICMP errors came and no reply; or for a tenth of the requests or more, and it does not answer now. Hosts send
// at most one error a second to an address.
func (x *facts) refused() bool {
	return x.sum.Refused > 0 && (x.good == 0 || x.since() != "" && strings.Contains(x.silences[len(x.silences)-1].Text, "; ICMP says: ") && float64(x.sum.Refused) >= badShare*float64(x.n))
}

// refusedSome reports whether ICMP errors came for more than a tenth of many requests, while others are answered all the time.
func (x *facts) refusedSome() bool {
	return x.good > 0 && len(x.silences) == 0 && x.n >= goodLeast && float64(x.sum.Refused) > badShare*float64(x.n)
}

// since says when a server stopped that replied, and does not any more.
func (x *facts) since() string {
	if n := len(x.silences); x.good > 0 && n > 0 && x.silences[n-1].of != outage {
		return " It stopped replying at " + x.r.clock(x.silences[n-1].From.UnixNano()) + "." + x.cameBack()
	}
	return ""
}

// lost returns the requests without a reply, and the sendings before others of the same question.
func (x *facts) lost() *mark {
	m := x.fates[dissect.OutcomeRepeated]
	for k := range each(x.kinds) {
		m.merge(either(!x.speaks(k.protocol) || k.mute && x.replies() > 0, new(mark), &k.none))
	}
	return &m
}

// bad reports whether too few of enough requests have a reply.
func (x *facts) bad() bool { return x.n >= goodLeast && float64(x.good) < goodShare*float64(x.n) }

// silence returns the proof of the last silence, if it goes on to the end, or of the longest that ended.
func (x *facts) silence(ended bool) *proof {
	list := slices.DeleteFunc(slices.Clone(x.silences), func(v Verdict) bool { return (v.of == outage) != ended })
	n, asked := len(list), func(v Verdict) float64 { return v.Evidence.of("requests_without_reply") }
	if n == 0 || x.good == 0 {
		return nil
	}
	most := slices.MaxFunc(list, func(a, b Verdict) int { return cmp.Compare(asked(a), asked(b)) })
	more := either(ended, either(n > 1, fmt.Sprintf(" (%d times in all%s)", n, every(list)), ""), most.of+x.cameBack())
	by, sum := x.refusals(false, core.PortUnreachable, core.Prohibited, core.Unreachable, core.HopLimit)
	refused, says := by != nil && strings.Contains(most.Text, "; ICMP says: "), ""
	if refused {
		says = "; ICMP says: " + icmpSays[by.is]
	}
	p := x.proof("time", x.r.clock(most.From.UnixNano()), "span", duration(most.To.Sub(most.From)), "n", either(strings.Contains(most.Text, "none of about "), "about ", "")+count(uint64(asked(most)), "request", "requests"), "more", more, "icmp", says, "also", most.also).
		with(x, "requests without a reply", x.lost())
	if refused {
		p.with(x, "ICMP errors", &sum).advice = either(by.is == core.PortUnreachable, "", "Look at the rules and routes of "+by.by+", which says so, and at the host behind it.")
	}
	p.advice = either(most.also == "", p.advice, most.Advice)
	p.leaves = either(slices.ContainsFunc(x.verdicts, func(v Verdict) bool { return v.Kind == Unwell && (v.of != "" || len(v.Sources) > 0) }), ofSilence, 0)
	return p
}

// apart returns the verdict about what the server loses outside of its outages.
func (x *facts) apart() *Verdict {
	return first(x.verdicts, func(v Verdict) bool { return v.of == otherTimes })
}

// ofKind returns the verdict about a kind of requests.
func (x *facts) ofKind() *Verdict {
	return first(x.verdicts, func(v Verdict) bool { return v.Kind == Unwell && v.of != "" && v.of != otherTimes })
}

// lacking returns the proof of replies that are not whole, if they are many enough.
func (x *facts) lacking(m *mark, what string) *proof {
	if m.n == 0 || x.marks[mCut].n*10 >= m.n || float64(m.n) < badShare*float64(less(x.replies(), m.n)) && x.verdict(LongRepliesLost) == nil {
		return nil
	}
	lack := either(m.n == 1, "lacks", "lack")
	p := x.proof("n", count(m.n, "reply", "replies"), "lack", lack).with(x, what, m)
	if v := x.verdict(Unwell); v != nil && v.Evidence.of("partial") > 0 && lostAlike(v.Evidence.of("partial"), v.Evidence.of("unanswered"), v.Evidence.of("requests")) {
		p.advice = pathAdvice
	}
	return p
}

// counted names a number of requests of a kind.
func (k *focusKind) counted(n uint64) string {
	return count(n, k.protocol+" "+k.title, k.protocol+" "+plural(k.title))
}
