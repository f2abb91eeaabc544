package htmlreport

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/stats"
)

// The reports of the tests, made by hand: what the page has to be good for.

var t0 = time.Date(2023, 11, 14, 22, 13, 20, 0, time.UTC)

type sample struct {
	name string
	make func() *stats.Report
}

var samples = []sample{
	{"flood", flood}, {"quiet", quiet}, {"hostile", hostileNames}, {"empty", empty}, {"onesided", oneSided}, {"large", large},
}

// frame is a report without numbers.
func frame(length, width, interval time.Duration) *stats.Report {
	n := int((length + width - 1) / width)
	s := func() stats.Series { return make(stats.Series, n) }
	return &stats.Report{
		Type: "report", Schema: stats.Schema, From: t0.Add(13 * time.Millisecond), To: t0.Add(length - 7*time.Millisecond),
		Home: []string{"198.51.100.10", "198.51.100.11", "198.51.100.12"}, HomeBy: "replies",
		Timeline: stats.Timeline{
			Start: t0, Width: width, Requests: s(), Replies: s(), Challenges: s(), Unanswered: s(), Unknown: s(), BytesIn: s(), BytesOut: s(), Lost: s(),
			Intervals: int((length + interval - 1) / interval), IntervalWidth: interval,
		},
		Made: stats.Made{Version: "v0.9.0-dev", Command: "qdissect report evening.pcapng -o evening.html", Files: []stats.File{
			{Name: "evening.pcapng", SHA256: "3b5d5c3712955042212316173ccf37be800c2f1a9f6a3a3d6c1f0f5a7c6b1e42", Packets: 843119, First: t0, Last: t0.Add(length)}}},
	}
}

// cellsOf makes the cells of n intervals from rates of requests, the share that is answered, and the bytes of either direction.
func cellsOf(r *rand.Rand, n int, rate func(i int) float64, answered, in, out float64) ([]stats.Cell, stats.Cell) {
	cells, all := make([]stats.Cell, n), stats.Cell{}
	for i := range cells {
		q := rate(i) * (0.9 + 0.2*r.Float64())
		c := stats.Cell{Requests: uint64(q), Replies: uint64(q * answered), Unanswered: uint64(q * (1 - answered))}
		c.BytesIn, c.BytesOut = uint64(float64(c.Requests)*in), uint64(float64(c.Replies)*out)
		cells[i] = c
		all.Requests += c.Requests
		all.Replies += c.Replies
		all.Unanswered += c.Unanswered
		all.BytesIn += c.BytesIn
		all.BytesOut += c.BytesOut
	}
	return cells, all
}

func server(r *rand.Rand, n int, address, protocol, name, where string, players int, clients, in, out float64, answered float64, rate func(int) float64) stats.Server {
	cells, all := cellsOf(r, n, rate, answered, in, out)
	return stats.Server{
		Address: address, Protocol: protocol, Name: name, Map: where, Players: players, Requests: all.Requests, Replies: all.Replies, Home: true,
		Outcome: stats.Outcome{Answered: all.Replies, Unanswered: all.Unanswered, Other: all.Requests - min(all.Requests, all.Replies+all.Unanswered)},
		Clients: stats.Distinct{Count: uint64(clients), Percent: 3 * b2i(clients > 24)}, BytesIn: all.BytesIn, BytesOut: all.BytesOut,
		P50: 31200 * time.Microsecond, P99: 118 * time.Millisecond, ByInterval: cells,
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func client(r *rand.Rand, n int, address string, class stats.Class, kind string, peak, in, out, answered float64, from, to int, rate float64) stats.Client {
	cells, all := cellsOf(r, n, func(i int) float64 {
		if i < from || i >= to {
			return 0
		}
		return rate
	}, answered, in, out)
	c := stats.Client{
		Address: address, Class: class, Servers: 1 + uint64(r.IntN(3)), Requests: all.Requests, Replies: all.Replies, Peak: uint64(peak), BytesIn: all.BytesIn, BytesOut: all.BytesOut,
		Kind: kind, First: t0.Add(time.Duration(from) * 2 * time.Second), Last: t0.Add(time.Duration(to)*2*time.Second - 40*time.Millisecond), ByInterval: cells,
	}
	if c.BytesIn > 0 {
		c.Factor = float64(c.BytesOut) / float64(c.BytesIn)
	}
	return c
}

func heat(r *rand.Rand, length time.Duration, columns int, perColumn func(c int) map[float64]float64) stats.RoundTrips {
	t := stats.RoundTrips{ColumnWidth: length / time.Duration(columns)}
	for d := 0.1; d < 10000; d *= math.Pow(10, 0.125) {
		t.Bounds = append(t.Bounds, time.Duration(d*1e6))
	}
	for c := range columns {
		row := make([]uint64, len(t.Bounds))
		medians := perColumn(c)
		for _, median := range slices.Sorted(maps.Keys(medians)) {
			for range int(medians[median]) {
				d := median * math.Exp(0.55*r.NormFloat64())
				for k := range t.Bounds {
					if d*1e6 <= float64(t.Bounds[k]) {
						row[k]++
						t.Count++
						break
					}
				}
			}
		}
		t.Heat = append(t.Heat, row)
	}
	return t
}

// flood is an evening of honest traffic with a forged flood, a reflection, a greedy client and a scanner.
func flood() *stats.Report {
	const length, width, interval = 84630 * time.Millisecond, 100 * time.Millisecond, 2 * time.Second
	r, rng := frame(length, width, interval), rand.New(rand.NewPCG(1, 2))
	n, t := r.Timeline.Intervals, &r.Timeline
	noise := func(v float64) uint64 { return uint64(max(0, v+math.Sqrt(v)*rng.NormFloat64())) }
	for i := range t.Requests {
		s := float64(i) / 10
		honest := 95 + 18*math.Sin(s/9)
		q, rep, ch, un, unk := honest, honest*0.985, honest*0.3, honest*0.012, 12.0
		if s >= 30 && s < 50 { // forged
			q += 1490
			rep += 600
			ch += 590
			un += 880
			if s > 36 {
				un, rep, ch = un-870, rep+860, ch+860
			}
		}
		if s >= 44 && s < 69 { // reflection
			q += 82
			rep += 82
		}
		in, out := q*53, (rep-ch)*214+ch*37
		if s >= 44 && s < 69 {
			out += 82 * 1100
		}
		t.Requests[i], t.Replies[i], t.Challenges[i], t.Unanswered[i], t.Unknown[i] = noise(q), noise(rep), noise(ch), noise(un), noise(unk)
		t.BytesIn[i], t.BytesOut[i] = noise(in), noise(out)
		if i >= 322 && i < 334 {
			t.Lost[i] = 431
		}
	}
	t.Peak = 17210
	c := &r.Totals
	c.Packets, c.Datagrams = 843119, 841302
	c.Requests, c.Replies, c.Challenges, c.Unanswered, c.Unknown = sum(t.Requests), sum(t.Replies), sum(t.Challenges), sum(t.Unanswered), sum(t.Unknown)
	c.BytesIn, c.BytesOut, c.Answered, c.Notices = sum(t.BytesIn), sum(t.BytesOut), sum(t.Replies)-sum(t.Challenges), 412
	c.Addresses = stats.Distinct{Count: 287412, Percent: 3}
	c.Greedy, c.NeverFinished = 12006, 297883+20431
	c.Honest = c.Requests - c.Greedy - c.NeverFinished
	c.KernelLost, c.Evicted, c.Malformed = 5172, 80312, 93
	at := func(s float64) time.Time { return t0.Add(time.Duration(s * 1e9)) }
	r.Verdicts = []stats.Verdict{
		{Kind: "reflection", Server: "198.51.100.10:27015", Sources: []string{"203.0.113.77", "203.0.113.78"}, From: at(44), To: at(69),
			Text:     "198.51.100.10:27015 sent 22.9 MB to 203.0.113.77 and 203.0.113.78, 20.8 times what came from their addresses, and neither ever finished a query.",
			Advice:   "Limit rules requests to 5 per second and address, or update the server: since December 2020 it can demand a challenge first.",
			Evidence: stats.Evidence{{Name: "bytes_in", Value: 1101240}, {Name: "bytes_out", Value: 22900120}, {Name: "factor", Value: 20.8}, {Name: "requests", Value: 20431}, {Name: "requests_per_second", Value: 817.2}}},
		{Kind: "forged_flood", Server: "198.51.100.10:27015", Sources: []string{"100.64.12.9", "100.81.3.202", "192.0.2.81", "100.99.255.1", "100.70.8.14", "100.71.41.8", "100.127.0.3"}, From: at(30), To: at(50),
			Text:     "297,883 info requests from 287,020 addresses came to 198.51.100.10:27015 in 20 s, 15.7 times the usual rate; 99.9 % of the addresses sent one or two and used no challenge.",
			Advice:   "Limit info requests of 25 bytes (without a challenge) to 200 per second for all addresses together; honest clients ask again.",
			Evidence: stats.Evidence{{Name: "requests", Value: 297883}, {Name: "addresses", Value: 287020}, {Name: "requests_per_second", Value: 14894}, {Name: "usual_requests_per_second", Value: 948}, {Name: "share_of_sources", Value: 0.999}}},
		{Kind: "greedy_clients", Server: "198.51.100.11:27016", Sources: []string{"192.0.2.200"}, From: at(20), To: at(64),
			Text:     "192.0.2.200 sent 12,006 requests for players to 198.51.100.11:27016, up to 412 in a second.",
			Advice:   "Limit requests to 5 per second and address.",
			Evidence: stats.Evidence{{Name: "requests", Value: 12006}, {Name: "peak_requests_per_second", Value: 412}, {Name: "share_of_requests", Value: 0.884}}},
	}
	r.Unclear = []string{"Between 22:13:52 and 22:13:53 the kernel lost 5,172 packets: rates in that time are too low.",
		"The capture was made before the host's own firewall: replies that it drops are not in it."}
	flat := func(v float64) func(int) float64 { return func(int) float64 { return v } }
	r.Servers = []stats.Server{
		server(rng, n, "198.51.100.10:27015", "a2s", "[EU] Sven's Dustbowl 24/7 | no crits | fast download", "cp_dustbowl", 23, 287102, 53, 130, 0.97, func(i int) float64 {
			if i >= 15 && i < 25 {
				return 30400
			}
			if i >= 25 && i < 35 {
				return 2300
			}
			return 720
		}),
		server(rng, n, "198.51.100.11:27016", "a2s", "Zombie Escape – Россия №1", "ze_ffvii_mako_reactor_v5_3", 61, 311, 55, 640, 0.985, func(i int) float64 {
			if i >= 10 && i < 32 {
				return 905
			}
			return 360
		}),
		server(rng, n, "198.51.100.12:27960", "quake3", "^1Arena ^7of the old", "q3dm17", 4, 122, 42, 480, 0.99, flat(190)),
		server(rng, n, "198.51.100.12:25565", "minecraft", "A Minecraft Server", "world", 2, 19, 44, 160, 0.99, flat(41)),
		server(rng, n, "198.51.100.13:7778", "gamespy1", "", "", -1, 8, 36, 0, 0, flat(12)),
		server(rng, n, "[2001:db8:100::21]:27015", "a2s", "Second Dustbowl (IPv6)", "cp_badlands", 0, 5, 73, 210, 1, flat(6)),
		server(rng, n, "208.78.164.209:27011", "valve-master", "", "", -1, 1, 60, 1400, 0.8, flat(2)),
	}
	r.Servers[0].Outcome.ChallengeOnly, r.Servers[0].Outcome.Answered = 246800, r.Servers[0].Outcome.Answered-246800
	r.Servers[0].P50, r.Servers[0].P99, r.Servers[0].Incomplete = 57600*time.Microsecond, 159800*time.Microsecond, 118
	r.Servers[4].ICMP, r.Servers[4].P50, r.Servers[4].P99 = "port unreachable: nothing listens there", 0, 0
	r.Servers[5].Error, r.Servers[6].Home = 12, false
	r.Clients = []stats.Client{
		client(rng, n, "203.0.113.77", stats.NeverFinished, "a2s rules_request", 451, 53, 1160, 0.99, 22, 35, 800),
		client(rng, n, "192.0.2.200", stats.TooOften, "a2s players_request", 412, 53, 380, 0.99, 10, 32, 546),
		client(rng, n, "203.0.113.78", stats.NeverFinished, "a2s rules_request", 402, 53, 1160, 0.99, 22, 35, 771),
		client(rng, n, "192.0.2.61", stats.Finished, "a2s info_request", 12, 53, 260, 0.99, 0, n, 19),
		client(rng, n, "2001:db8:5::c0:ffee", stats.Finished, "a2s info_request", 4, 73, 260, 0.99, 3, n-4, 8),
		client(rng, n, "192.0.2.18", stats.Finished, "quake3 getstatus_request", 6, 42, 480, 0.99, 0, n, 7),
		client(rng, n, "192.0.2.99", stats.Finished, "minecraft basic_stat_request", 2, 44, 160, 0.99, 0, n, 3),
		client(rng, n, "100.64.12.9", stats.NeverFinished, "a2s info_request", 2, 53, 37, 1, 17, 18, 2.3),
	}
	r.Clients[6].Error = 3
	r.Victims = []stats.Client{r.Clients[0], r.Clients[2]}
	sparkOf := func(servers ...int) stats.Series {
		s := make(stats.Series, n)
		for _, k := range servers {
			for i, c := range r.Servers[k].ByInterval {
				s[i] += c.Requests
			}
		}
		return s
	}
	r.Kinds = []stats.Kind{
		{Protocol: "a2s", Message: "info_request", Requests: 351902, BytesIn: 18650806, BytesOut: 19102776, Outcome: stats.Outcome{Answered: 52190, ChallengeOnly: 246800, Late: 120, Unanswered: 51900, Other: 892}, Spark: sparkOf(0)},
		{Protocol: "a2s", Message: "rules_request", Requests: 24112, BytesIn: 1277936, BytesOut: 24010220, Outcome: stats.Outcome{Answered: 23190, ChallengeOnly: 110, Partial: 118, Unanswered: 640, Other: 54}, Spark: sparkOf(0, 1)},
		{Protocol: "a2s", Message: "players_request", Requests: 18230, BytesIn: 966190, BytesOut: 5910020, Outcome: stats.Outcome{Answered: 17800, ChallengeOnly: 222, Unanswered: 201, Other: 7}, Spark: sparkOf(1)},
		{Protocol: "quake3", Message: "getstatus_request", Requests: 8102, BytesIn: 340284, BytesOut: 3790200, Outcome: stats.Outcome{Answered: 8050, Unanswered: 52}, Spark: sparkOf(2)},
		{Protocol: "minecraft", Message: "basic_stat_request", Requests: 1722, BytesIn: 75768, BytesOut: 275520, Outcome: stats.Outcome{Answered: 1716, Unanswered: 6}, Spark: sparkOf(3)},
		{Protocol: "gamespy1", Message: "status_request", Requests: 512, BytesIn: 18432, Outcome: stats.Outcome{Refused: 498, Unanswered: 14}, Spark: sparkOf(4)},
	}
	r.RoundTrips = heat(rng, length, 106, func(c int) map[float64]float64 {
		m := map[float64]float64{55: 260 + 40*rng.Float64(), 9: 60}
		if c > 37 && c < 63 {
			m[150] = 190
		}
		if c > 55 && c < 86 {
			m[1.1] = 300
		}
		return m
	})
	r.RoundTrips.P50, r.RoundTrips.P90, r.RoundTrips.P99, r.RoundTrips.Max = 48600*time.Microsecond, 118*time.Millisecond, 312*time.Millisecond, 4120*time.Millisecond
	l := &r.Limits
	l.Forged, l.Greedy, l.Honest = c.NeverFinished, c.Greedy, c.Honest
	for _, x := range []struct {
		n             int
		f, g, h       float64
		global, isTop bool
	}{{1, .0641, .9989, .6120, false, false}, {2, .0641, .9975, .2049, false, false}, {5, .0637, .9938, .0004, false, false}, {10, .0632, .9875, 0, false, false}, {20, .0620, .9750, 0, false, false}, {50, .0588, .9375, 0, false, false},
		{50, .9901, .02, .41, true, false}, {200, .9704, .004, .011, true, true}, {1000, .8820, 0, .0002, true, false}} {
		row := stats.Limit{N: x.n, Forged: uint64(x.f * float64(l.Forged)), Greedy: uint64(x.g * float64(l.Greedy)), Honest: uint64(x.h * float64(l.Honest)), Best: x.isTop}
		if x.global {
			row.Kind = "a2s info_request"
			l.Global = append(l.Global, row)
		} else {
			l.PerAddress = append(l.PerAddress, row)
		}
	}
	l.PerAddress[2].Best = true
	l.Global[1].Best = false
	r.Rules = []stats.Rule{
		{Format: "nftables", Title: "5 requests per second and address, 200 info requests without a challenge in all", Effect: "Passes > 99.9 % of honest requests, 0.6 % of those from clients that ask too often, and 3.0 % of those from addresses that never finish.",
			Text: "table inet qdissect {\n\tset askers {\n\t\ttype ipv4_addr\n\t\tsize 65535\n\t\tflags dynamic,timeout\n\t\ttimeout 10s\n\t}\n\tchain input {\n\t\ttype filter hook input priority filter - 5; policy accept;\n\t\tudp dport { 27015, 27016 } @th,64,32 0xffffffff @th,96,8 0x54 udp length 33 limit rate over 200/second burst 200 packets counter drop\n\t\tudp dport { 27015, 27016 } @th,64,32 0xffffffff add @askers { ip saddr limit rate over 5/second burst 5 packets } counter drop\n\t}\n}"},
		{Format: "iptables", Title: "5 requests per second and address", Effect: "Does not stop the forged flood.",
			Text: "iptables -I INPUT -p udp -m multiport --dports 27015,27016 -m hashlimit --hashlimit-name qdissect \\\n    --hashlimit-mode srcip --hashlimit-above 5/second --hashlimit-burst 5 -j DROP"},
		{Format: "capture_filter", Title: "To look at the flood first", Text: "udp dst port 27015 and udp[4:2] = 33 and udp[8:4] = 0xffffffff and udp[12] = 0x54"},
	}
	r.Findings = []stats.Finding{
		{ID: "internal.example", Severity: "error", Count: 1, First: at(3), Last: at(3), Text: "a2s.info.name: no terminator in 14 bytes at offset 6", Doc: "The message ends within a text.", Examples: []stats.Example{{File: "evening.pcapng", Frame: 3118, Command: "qdissect evening.pcapng -V --frame 3118"}}},
		{ID: "a2s.split.incomplete", Severity: "warning", Count: 118, First: at(1.2), Last: at(83), Text: "2 of 3 parts arrived; part 2 is missing", Doc: "A part of the message did not arrive within the time that clients wait. The network or a firewall dropped it, or the capture lacks it.",
			Examples: []stats.Example{{File: "evening.pcapng", Frame: 20114, Command: "qdissect evening.pcapng -V --frame 20114"}, {File: "evening.pcapng", Frame: 20187, Command: "qdissect evening.pcapng -V --frame 20187"}}},
		{ID: "exchange.unanswered", Severity: "note", Count: 51900, First: at(0.1), Last: at(84), Text: "no reply within 5 s", Doc: "The server did not reply, its reply was lost, or the capture lacks it.", Examples: []stats.Example{{File: "evening.pcapng", Frame: 118, Command: "qdissect evening.pcapng -V --frame 118"}}},
		{ID: "a2s.challenge.required", Severity: "note", Count: 246800, First: at(0.1), Last: at(84), Text: "the server answers info requests with a challenge", Doc: "Since December 2020 servers may answer A2S_INFO with a challenge; the client must repeat the request with it, in 29 bytes.", Examples: []stats.Example{{File: "evening.pcapng", Frame: 12, Command: "qdissect evening.pcapng -V --frame 12"}}},
	}
	r.Talks = []stats.Talk{splitTalk("a2s.split.incomplete", at(1.2)), infoTalk("", at(0.4), "[EU] Sven's Dustbowl 24/7 | no crits | fast download"), infoTalk("a2s.challenge.required", at(2), "Zombie Escape – Россия №1")}
	r.Unknowns = []stats.Guess{{What: "game traffic of Source", Count: 9012}, {What: "DNS", Count: 701}, {What: "random bytes", Count: 444}}
	r.Unread = []stats.Unread{{What: "TCP", Count: 1402}, {What: "ARP", Count: 3}}
	return r
}

// tree cuts bytes into fields, given as name, value, bytes.
func tree(fields ...[3]string) (string, []stats.TalkField) {
	var all string
	var tree []stats.TalkField
	for _, f := range fields {
		tree = append(tree, stats.TalkField{Name: f[0], Value: f[1], Offset: len(all), Length: len(f[2])})
		all += f[2]
	}
	return hex.EncodeToString([]byte(all)), tree
}

func infoTalk(why string, at time.Time, name string) stats.Talk {
	ask, askTree := tree([3]string{"header", "-1 (single)", "\xff\xff\xff\xff"}, [3]string{"type", "'T' (info request)", "T"}, [3]string{"payload", `"Source Engine Query"`, "Source Engine Query\x00"})
	ch, chTree := tree([3]string{"header", "-1 (single)", "\xff\xff\xff\xff"}, [3]string{"type", "'A' (challenge)", "A"}, [3]string{"challenge", "1250341071", "\x4f\xa4\x86\x4a"})
	ask2, ask2Tree := tree([3]string{"header", "-1 (single)", "\xff\xff\xff\xff"}, [3]string{"type", "'T' (info request)", "T"}, [3]string{"payload", `"Source Engine Query"`, "Source Engine Query\x00"}, [3]string{"challenge", "1250341071", "\x4f\xa4\x86\x4a"})
	info, infoTree := tree([3]string{"header", "-1 (single)", "\xff\xff\xff\xff"}, [3]string{"type", "'I' (info)", "I"}, [3]string{"protocol", "17", "\x11"}, [3]string{"name", `"` + name + `"`, name + "\x00"},
		[3]string{"map", `"cp_dustbowl"`, "cp_dustbowl\x00"}, [3]string{"folder", `"tf"`, "tf\x00"}, [3]string{"game", `"Team Fortress"`, "Team Fortress\x00"}, [3]string{"app_id", "440", "\xb8\x01"}, [3]string{"players", "23", "\x17"},
		[3]string{"max_players", "24", "\x18"}, [3]string{"bots", "0", "\x00"}, [3]string{"server_type", "'d' (dedicated)", "d"}, [3]string{"environment", "'l' (Linux)", "l"}, [3]string{"visibility", "0 (public)", "\x00"}, [3]string{"vac", "1 (secured)", "\x01"},
		[3]string{"version", `"8604597"`, "8604597\x00"}, [3]string{"edf", "0xb1", "\xb1"}, [3]string{"port", "27015", "\x87\x69"}, [3]string{"steam_id", "85568392932669237", "\x35\x57\x12\x13\x01\x00\x30\x01"}, [3]string{"keywords", `"cp,dustbowl,nocrits"`, "cp,dustbowl,nocrits\x00"}, [3]string{"game_id", "440", "\xb8\x01\x00\x00\x00\x00\x00\x00"})
	return stats.Talk{Why: why, Severity: map[bool]string{true: "note"}[why != ""], Protocol: "a2s", Client: "192.0.2.61:51732", Server: "198.51.100.10:27015", Messages: []stats.TalkLine{
		{Frame: 12, Time: at, Up: true, Message: "info_request", Summary: "A2S info request", Length: 25, Bytes: ask, Fields: askTree},
		{Frame: 13, Time: at.Add(28 * time.Millisecond), Message: "challenge_reply", Summary: "A2S challenge 1250341071", RTT: 28130 * time.Microsecond, Length: 9, Bytes: ch, Fields: chTree, Findings: []string{"note: the server answers info requests with a challenge"}},
		{Frame: 14, Time: at.Add(30 * time.Millisecond), Up: true, Message: "info_request", Summary: "A2S info request, challenge 1250341071", Length: 29, Bytes: ask2, Fields: ask2Tree},
		{Frame: 17, Time: at.Add(59 * time.Millisecond), Message: "info_reply", Summary: `A2S info "` + name + `" cp_dustbowl, 23/24 players, Team Fortress 8604597, Linux, secured`, RTT: 28902 * time.Microsecond, Length: len(info) / 2, Bytes: info, Fields: infoTree},
	}}
}

func splitTalk(why string, at time.Time) stats.Talk {
	ask, askTree := tree([3]string{"header", "-1 (single)", "\xff\xff\xff\xff"}, [3]string{"type", "'V' (rules request)", "V"}, [3]string{"challenge", "1250341071", "\x4f\xa4\x86\x4a"})
	var fields [][3]string
	fields = append(fields, [3]string{"header", "-2 (split)", "\xfe\xff\xff\xff"}, [3]string{"id", "4711", "\x67\x12\x00\x00"}, [3]string{"total", "3", "\x03"}, [3]string{"number", "0", "\x00"}, [3]string{"size", "1248", "\xe0\x04"},
		[3]string{"header", "-1 (single)", "\xff\xff\xff\xff"}, [3]string{"type", "'E' (rules)", "E"}, [3]string{"count", "121", "\x79\x00"})
	for i, kv := range []string{"mp_timelimit=30", "mp_friendlyfire=0", "sv_gravity=800", "sm_nextmap=cp_badlands", "tf_weapon_criticals=0", "sv_contact=admin@example.org", "sourcemod_version=1.11.0.6911", "mp_teams_unbalance_limit=1", "sv_password=0", "tv_enable=1"} {
		k, v, _ := strings.Cut(kv, "=")
		fields = append(fields, [3]string{fmt.Sprintf("rules[%d].key", i), `"` + k + `"`, k + "\x00"}, [3]string{fmt.Sprintf("rules[%d].value", i), `"` + v + `"`, v + "\x00"})
	}
	part, partTree := tree(fields...)
	return stats.Talk{Why: why, Severity: "warning", Protocol: "a2s", Client: "192.0.2.18:40112", Server: "198.51.100.10:27015", Messages: []stats.TalkLine{
		{Frame: 20101, Time: at, Up: true, Message: "rules_request", Summary: "A2S rules request, challenge 1250341071", Length: 9, Bytes: ask, Fields: askTree},
		{Frame: 20114, Time: at.Add(57100 * time.Microsecond), Message: "rules_reply", Summary: "A2S rules, 121 rules, 2 of 3 parts: mp_timelimit=30 mp_friendlyfire=0 sv_gravity=800 sm_nextmap=cp_badlands …", RTT: 57100 * time.Microsecond, Length: 1248, Bytes: part, Fields: partTree,
			Findings: []string{"warning: 2 of 3 parts arrived; part 2 is missing"}},
		{Frame: 20391, Time: at.Add(2060 * time.Millisecond), Up: true, Message: "rules_request", Summary: "A2S rules request, challenge 1250341071", Length: 9, Bytes: ask, Fields: askTree},
	}}
}

// quiet is an evening on which nothing happened.
func quiet() *stats.Report {
	const length, width, interval = 2*time.Hour + 40*time.Minute, 10 * time.Second, 10 * time.Minute
	r, rng := frame(length, width, interval), rand.New(rand.NewPCG(3, 4))
	t, n := &r.Timeline, r.Timeline.Intervals
	for i := range t.Requests {
		q := 120 + 60*math.Sin(float64(i)/180) + 9*rng.NormFloat64()
		t.Requests[i], t.Replies[i], t.Challenges[i], t.Unanswered[i] = uint64(q), uint64(q*0.995), uint64(q*0.3), uint64(rng.IntN(2))
		t.BytesIn[i], t.BytesOut[i] = uint64(q*55), uint64(q*310)
	}
	t.Peak = 41
	c := &r.Totals
	c.Requests, c.Replies, c.Challenges, c.Unanswered, c.BytesIn, c.BytesOut = sum(t.Requests), sum(t.Replies), sum(t.Challenges), sum(t.Unanswered), sum(t.BytesIn), sum(t.BytesOut)
	c.Packets, c.Datagrams, c.Honest, c.Addresses = 241880, 241870, c.Requests, stats.Distinct{Count: 211, Percent: 3}
	r.Verdicts = []stats.Verdict{{Kind: "nothing_unusual", From: r.From, To: r.To, Text: fmt.Sprintf("%s requests from 211 addresses to 3 servers; 99.6 %% of them were answered, 99 %% of the replies came within 96.1 ms.", number(c.Requests)), Advice: "Nothing to do."}}
	r.Servers = []stats.Server{server(rng, n, "198.51.100.10:27015", "a2s", "Dustbowl 24/7", "cp_dustbowl", 12, 190, 55, 310, 0.996, func(int) float64 { return 4900 }),
		server(rng, n, "198.51.100.11:27016", "a2s", "Badlands", "cp_badlands", 0, 88, 55, 250, 1, func(i int) float64 { return 600 + 100*float64(i) }), server(rng, n, "198.51.100.12:27960", "quake3", "Arena", "q3dm6", 1, 21, 42, 480, 1, func(i int) float64 { return 90 })}
	r.Clients = []stats.Client{client(rng, n, "192.0.2.61", stats.Finished, "a2s info_request", 6, 53, 260, 0.99, 0, n, 700), client(rng, n, "192.0.2.18", stats.Finished, "quake3 getstatus_request", 2, 42, 480, 1, 0, n, 91)}
	r.Kinds = []stats.Kind{{Protocol: "a2s", Message: "info_request", Requests: c.Requests, BytesIn: c.BytesIn, BytesOut: c.BytesOut, Outcome: stats.Outcome{Answered: c.Requests - 400, Late: 12, Unanswered: 388}, Spark: make(stats.Series, n)}}
	r.RoundTrips = heat(rng, length, 96, func(int) map[float64]float64 { return map[float64]float64{30: 120} })
	r.RoundTrips.P50, r.RoundTrips.P99, r.RoundTrips.Max = 30*time.Millisecond, 96100*time.Microsecond, 801*time.Millisecond
	r.Talks = []stats.Talk{infoTalk("", t0.Add(time.Second), "Dustbowl 24/7")}
	return r
}

// nasty is what a hostile server states as its name.
const nasty = `"><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}</title></style></script>` + "\u202e\u2066" + hostile.Evil + "javascript:alert(3)"

// hostileNames is the flood with nasty text in every field of text.
func hostileNames() *stats.Report {
	r := flood()
	bad := func(all ...*string) {
		for _, s := range all {
			*s = nasty + *s
		}
	}
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		bad(&v.Server, &v.Text, &v.Advice, &v.Sources[0], &v.Evidence[0].Name)
	}
	bad(&r.Verdicts[2].Kind, &r.Home[0], &r.Made.Version, &r.Made.Command, &r.Made.Files[0].Name, &r.Made.Files[0].SHA256, &r.Unclear[0])
	for i := range r.Servers {
		s := &r.Servers[i]
		bad(&s.Address, &s.Protocol, &s.Name, &s.Map, &s.ICMP)
	}
	for i := range r.Clients {
		bad(&r.Clients[i].Address, &r.Clients[i].Kind, (*string)(&r.Clients[i].Class))
	}
	for i := range r.Kinds {
		bad(&r.Kinds[i].Protocol, &r.Kinds[i].Message)
	}
	for i := range r.Rules {
		bad(&r.Rules[i].Format, &r.Rules[i].Title, &r.Rules[i].Text, &r.Rules[i].Effect)
	}
	for i := range r.Limits.Global {
		bad(&r.Limits.Global[i].Kind)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		bad(&f.ID, &f.Severity, &f.Text, &f.Doc, &f.Examples[0].Command, &f.Examples[0].File)
	}
	bad(&r.Unknowns[0].What, &r.Unread[0].What, &r.HomeBy)
	for i := range r.Talks {
		t := &r.Talks[i]
		bad(&t.Why, &t.Severity, &t.Protocol, &t.Client, &t.Server)
		for k := range t.Messages {
			m := &t.Messages[k]
			bad(&m.Message, &m.Summary)
			for j := range m.Findings {
				bad(&m.Findings[j])
			}
			for j := range m.Fields {
				bad(&m.Fields[j].Name, &m.Fields[j].Value)
			}
		}
	}
	return r
}

// empty is a report about nothing.
func empty() *stats.Report {
	return &stats.Report{Type: "report", Schema: stats.Schema,
		Verdicts: []stats.Verdict{{Kind: "cannot_tell", Text: "The capture has no packets of game-server queries.", Advice: "Capture on the machine of the server, or on a mirror port, without a filter for ports."}},
		Made:     stats.Made{Version: "v0.9.0-dev", Command: "qdissect report empty.pcap -o empty.html", Files: []stats.File{{Name: "empty.pcap"}}}}
}

// oneSided is a capture that has requests only, of four seconds.
func oneSided() *stats.Report {
	r, rng := frame(4*time.Second, 10*time.Millisecond, 100*time.Millisecond), rand.New(rand.NewPCG(5, 6))
	t, n := &r.Timeline, 40
	r.Timeline.Intervals = n
	for i := range t.Requests {
		t.Requests[i] = uint64(rng.IntN(4))
		t.BytesIn[i] = 53 * t.Requests[i]
	}
	t.Peak = 171
	r.Totals = stats.Totals{Packets: 611, Datagrams: 611, Requests: sum(t.Requests), BytesIn: sum(t.BytesIn), Addresses: stats.Distinct{Count: 3}, Honest: 0}
	r.HomeBy, r.Home = "option", []string{"198.51.100.0/24"}
	r.Verdicts = []stats.Verdict{{Kind: "cannot_tell", Server: "198.51.100.10:27015", Text: "The capture has requests and not one reply: it was made in one direction only, or the server is down.", Advice: "Capture both directions, on the machine of the server if you can."}}
	r.Unclear = []string{"Without replies nobody can say which clients finish a query, how long replies take, and which servers are down."}
	r.Servers = []stats.Server{server(rng, n, "198.51.100.10:27015", "a2s", "", "", -1, 3, 53, 0, 0, func(int) float64 { return 15 })}
	r.Servers[0].P50, r.Servers[0].P99, r.Servers[0].Outcome = 0, 0, stats.Outcome{Other: r.Servers[0].Requests}
	r.Clients = []stats.Client{client(rng, n, "192.0.2.61", stats.NeverFinished, "a2s info_request", 61, 53, 0, 0, 0, n, 7)}
	r.Kinds = []stats.Kind{{Protocol: "a2s", Message: "info_request", Requests: r.Totals.Requests, BytesIn: r.Totals.BytesIn, Outcome: stats.Outcome{Other: r.Totals.Requests}}}
	return r
}

// large fills every table, picture and conversation: as the most that a report may hold.
func large() *stats.Report {
	r, rng := flood(), rand.New(rand.NewPCG(7, 8))
	t := &r.Timeline
	series := func(most int) stats.Series {
		s := make(stats.Series, 1000)
		for i := range s {
			s[i] = uint64(most/2 + rng.IntN(most/2))
		}
		return s
	}
	t.Requests, t.Replies, t.Challenges, t.Unanswered, t.Unknown, t.BytesIn, t.BytesOut, t.Lost = series(6e3), series(6e3), series(6e3), series(6e3), series(6e3), series(9e5), series(9e6), series(9e3)
	t.Intervals, t.Width, t.IntervalWidth = 60, 100*time.Millisecond, 1700*time.Millisecond
	rate := func(int) float64 { return 9e3 * rng.Float64() }
	r.Servers, r.Clients, r.Victims = nil, nil, nil
	for i := range 512 {
		r.Servers = append(r.Servers, server(rng, 60, fmt.Sprintf("[2001:db8:ffff:ffff:ffff:ffff:ffff:%04x]:27015", 0x1000+i), "a2s", strings.Repeat("long name ", 20), strings.Repeat("map_", 30), 23, 287102, 53, 130, 0.97, rate))
		c := client(rng, 60, fmt.Sprintf("2001:db8:ffff:ffff:ffff:ffff:ffff:%04x", 0x1000+i), stats.NeverFinished, "a2s info_request", 1e6, 53, 130, 0.5, 0, 60, 9e3)
		r.Clients, r.Victims = append(r.Clients, c), append(r.Victims, c)
	}
	r.RoundTrips = heat(rng, 100*time.Second, 120, func(int) map[float64]float64 {
		return map[float64]float64{0.3: 100, 2: 100, 20: 100, 200: 100, 2000: 100}
	})
	for i := range 40 {
		talk := splitTalk(fmt.Sprintf("some.finding.%d", i), t0)
		for range 5 {
			talk.Messages = append(talk.Messages, talk.Messages...)
		}
		r.Talks = append(r.Talks, talk)
		f := r.Findings[1]
		f.ID = fmt.Sprintf("some.finding.%d", i)
		f.Doc = strings.Repeat("It may also be that the network or a firewall dropped it. ", 9)
		r.Findings = append(r.Findings, f)
	}
	return r
}
