package scenes

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

const single = "\xff\xff\xff\xff"

// infoAsk is the request of Valve's protocol that floods consist of.
const infoAsk = single + "TSource Engine Query\x00"

// A call is what a request depends on besides the server: the challenge that the client
// was given, and the number by which it tells replies apart.
type call struct {
	token, session uint32
}

// A query is a question that clients ask: the request, and the datagrams of the reply.
type query struct {
	request, reply string // names of the messages
	ask            func(s *server, c call) string
	data           func(s *server, c call) []string
	// first is the request without a challenge, and grant the reply with one. Their
	// messages have names of their own where a protocol has messages for only that.
	first                    func(s *server, c call) string
	firstRequest, firstReply string
	grant                    func(c call) string
	// optional says that some servers answer it without a challenge.
	optional bool
}

// A protocol is a list of queries: clients ask the first for the list of servers, the
// others for details.
type protocol struct {
	name    string
	port    uint16
	queries []*query
}

// A server answers queries.
type server struct {
	index int
	addr  netip.AddrPort
	p     *protocol
	name  string
	// players is the number of players, challenges says whether the first query wants a
	// challenge (others want it where the protocol has one).
	players    int
	challenges bool
	// whole replies are sent in one datagram, in IP fragments if need be, not in parts.
	whole bool
	made  map[*query][]string
	truth *Server
	asked map[netip.Addr]bool // by clients that were not forged
	// ignores says that a request gets no reply, and refuses that an ICMP message says
	// so. loses says that a datagram of a reply, or a fragment of it, gets lost on its
	// way before it is captured. They may be nil.
	ignores, refuses func(q *query, first bool) bool
	loses            func(q *query, datagram, fragment int) bool
}

// wants reports whether a query has to be asked with a challenge.
func (s *server) wants(q *query) bool { return q.first != nil && (!q.optional || s.challenges) }

// once keeps replies that do not depend on the request.
func once(f func(s *server) []string) func(*query) func(*server, call) []string {
	return func(q *query) func(*server, call) []string {
		return func(s *server, _ call) []string {
			if s.made[q] == nil {
				s.made[q] = f(s)
			}
			return s.made[q]
		}
	}
}

// fixed completes a query whose reply does not depend on the request.
func fixed(q query, f func(s *server) []string) *query {
	p := &q
	p.data = once(f)(p)
	return p
}

func one(f func(s *server) string) func(*server) []string {
	return func(s *server) []string { return []string{f(s)} }
}

func says(text string) func(*server, call) string { return func(*server, call) string { return text } }

func le32(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }
func be32(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }

// nul writes text with / for each zero byte.
func nul(text string) string { return strings.ReplaceAll(text, "/", "\x00") }

func (s *server) player(i int) string {
	return [...]string{"Ann", "Ben", "Cyd", "Dan", "Eve", "Fay", "Gus", "Hal"}[i%8] + strconv.Itoa(i*7+s.index)
}

func a2s() *protocol {
	grant := func(c call) string { return single + "A" + le32(c.token) }
	challenged := func(name, letter string) query {
		return query{
			request: name + "_request", reply: name + "_reply", grant: grant,
			first: says(single + letter + "\xff\xff\xff\xff"), firstRequest: name + "_request", firstReply: "challenge_reply",
			ask: func(_ *server, c call) string { return single + letter + le32(c.token) },
		}
	}
	return &protocol{"a2s", 27015, []*query{
		fixed(query{
			request: "info_request", reply: "info_reply", optional: true, grant: grant,
			first: says(infoAsk), firstRequest: "info_request", firstReply: "challenge_reply",
			ask: func(s *server, c call) string {
				if !s.challenges {
					return infoAsk
				}
				return infoAsk + le32(c.token)
			},
		}, one(func(s *server) string {
			b := []byte(single + "I\x11" + s.name + "\x00de_dust2\x00cstrike\x00Counter-Strike\x00")
			b = binary.LittleEndian.AppendUint16(b, 240)
			b = append(b, byte(s.players), 32, 0, 'd', 'l', 0, 1)
			b = append(b, "6630498\x00\x80"...)
			return string(binary.LittleEndian.AppendUint16(b, s.addr.Port()))
		})),
		fixed(challenged("players", "U"), one(func(s *server) string {
			b := append([]byte(single+"D"), byte(s.players))
			for i := range s.players {
				b = append(b, 0)
				b = append(append(b, s.player(i)...), 0)
				b = binary.LittleEndian.AppendUint32(b, uint32(i*3))
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(60+i*97)))
			}
			return string(b)
		})),
		fixed(challenged("rules", "V"), func(s *server) []string {
			const n = 110
			b := binary.LittleEndian.AppendUint16([]byte(single+"E"), n)
			for i := range n {
				b = fmt.Appendf(b, "mp_setting_number_%03d\x00%d.%d\x00", i, i*i%97, i%10)
			}
			if s.whole {
				return []string{string(b)}
			}
			const size = 1248
			var parts []string
			total := (len(b) + size - 1) / size
			for part := range slices.Chunk(b, size) {
				head := append([]byte("\xfe\xff\xff\xff\x11\x22\x33\x00"), byte(total), byte(len(parts)))
				parts = append(parts, string(binary.LittleEndian.AppendUint16(head, size))+string(part))
			}
			return parts
		}),
	}}
}

func quake3() *protocol {
	facts := func(s *server) string {
		return `\sv_hostname\` + s.name + `\mapname\q3dm17\gamename\baseq3\version\ioq3 1.36 linux-x86_64\protocol\68\g_gametype\0\sv_maxclients\32\timelimit\15\fraglimit\30` +
			`\dmflags\0\sv_privateClients\0\sv_allowDownload\1\sv_floodProtect\1\sv_maxRate\25000\sv_minRate\0\sv_maxPing\0\sv_minPing\0\g_needpass\0\g_maxGameClients\0`
	}
	return &protocol{"quake3", 27960, []*query{
		{
			request: "info_request", reply: "info_reply",
			ask: func(_ *server, c call) string { return single + "getinfo " + strconv.Itoa(int(c.session)) },
			data: func(s *server, c call) []string {
				return []string{fmt.Sprintf("%sinfoResponse\n\\challenge\\%d\\protocol\\68\\hostname\\%s\\mapname\\q3dm17\\clients\\%d\\sv_maxclients\\32\\gametype\\0\\pure\\1\\game\\baseq3", single, c.session, s.name, s.players)}
			},
		},
		fixed(query{request: "status_request", reply: "status_reply", ask: says(single + "getstatus")}, one(func(s *server) string {
			b := []byte(single + "statusResponse\n" + facts(s) + "\n")
			for i := range s.players {
				b = fmt.Appendf(b, "%d %d \"%s\"\n", i*3%40, 20+i*11%180, s.player(i))
			}
			return string(b)
		})),
	}}
}

func gamespy1() *protocol {
	return &protocol{"gamespy1", 7778, []*query{
		fixed(query{request: "info_request", reply: "info_reply", ask: says(`\info\`)}, one(func(s *server) string {
			return strings.ReplaceAll(fmt.Sprintf("/hostname/%s/hostport/7777/maptitle/Facing Worlds/mapname/CTF-Face/gametype/CTFGame/numplayers/%d/maxplayers/32/gamemode/openplaying/queryid/41.1/final/", s.name, s.players), "/", `\`)
		})),
		fixed(query{request: "status_request", reply: "status_reply", ask: says(`\status\`)}, one(func(s *server) string {
			b := fmt.Appendf(nil, "/gamename/ut/gamever/451/minnetver/432/location/0/hostname/%s/hostport/7777/maptitle/Facing Worlds/mapname/CTF-Face/gametype/CTFGame/numplayers/%d/maxplayers/32/gamemode/openplaying/timelimit/20/password/False", s.name, s.players)
			for i := range s.players {
				b = fmt.Appendf(b, "/player_%d/%s/frags_%d/%d/ping_%d/ %d/team_%d/%d", i, s.player(i), i, i*3%40, i, 20+i*11%180, i, i%2)
			}
			return strings.ReplaceAll(string(b)+"/queryid/42.1/final/", "/", `\`)
		})),
	}}
}

// shaken completes a query of the protocols that begin with a handshake. Only the
// session in the reply depends on the request.
func shaken(request, reply, last string, body func(s *server) string) *query {
	texts := once(one(body))
	var text func(*server, call) []string
	q := &query{
		request: request, reply: reply, firstRequest: "handshake_request", firstReply: "handshake_reply",
		first: func(_ *server, c call) string { return "\xfe\xfd\x09" + be32(c.session) },
		grant: func(c call) string { return "\x09" + be32(c.session) + strconv.Itoa(int(c.token)) + "\x00" },
		ask: func(_ *server, c call) string {
			return "\xfe\xfd\x00" + be32(c.session) + be32(c.token) + last
		},
		data: func(s *server, c call) []string {
			return []string{"\x00" + be32(c.session) + text(s, c)[0]}
		},
	}
	text = texts(q)
	return q
}

func gamespy3() *protocol {
	return &protocol{"gamespy3", 29900, []*query{
		shaken("status_request", "status_reply", "\xff\xff\xff\x01", func(s *server) string {
			names, scores, pings := "", "", ""
			for i := range s.players {
				names += s.player(i) + "/"
				scores += strconv.Itoa(i*3%40) + "/"
				pings += strconv.Itoa(20+i*11%180) + "/"
			}
			return "splitnum\x00\x80" + nul(fmt.Sprintf("\x00hostname/%s/gamename/battlefield2/gamever/1.5.3153-802.0/mapname/Strike at Karkand/gametype/gpm_cq/gamevariant/bf2/numplayers/%d/maxplayers/64/gamemode/openplaying/password/0/hostport/16567//", s.name, s.players)+
				"\x01player_//"+names+"/score_//"+scores+"/ping_//"+pings+"//"+"\x02team_t//MEC/US///")
		}),
	}}
}

func minecraft() *protocol {
	return &protocol{"minecraft", 25565, []*query{
		shaken("basic_stat_request", "basic_stat_reply", "", func(s *server) string {
			return nul(fmt.Sprintf("%s/SMP/world/%d/50/", s.name, s.players)) + "\xdd\x63" + nul("198.51.100.1/")
		}),
		shaken("full_stat_request", "full_stat_reply", "\x00\x00\x00\x00", func(s *server) string {
			names := ""
			for i := range s.players {
				names += s.player(i) + "/"
			}
			return "splitnum\x00\x80\x00" + nul(fmt.Sprintf("hostname/%s/gametype/SMP/game_id/MINECRAFT/version/1.21.4/plugins//map/world/numplayers/%d/maxplayers/50/hostport/25565/hostip/198.51.100.1//", s.name, s.players)) +
				"\x01player_\x00\x00" + nul(names+"/")
		}),
	}}
}

func raknet() *protocol {
	const magic = "\x00\xff\xff\x00\xfe\xfe\xfe\xfe\xfd\xfd\xfd\xfd\x12\x34\x56\x78"
	const ours = "\x62\x71\xf7\x78\xd0\x1f\x27\xde"
	return &protocol{"raknet", 19132, []*query{{
		request: "ping", reply: "pong",
		ask: func(_ *server, c call) string {
			return "\x01\x00\x00\x00\x00" + be32(c.session) + magic + "\x66\x09\x07\xa0" + be32(c.session*2654435761)
		},
		data: func(s *server, c call) []string {
			text := fmt.Sprintf("MCPE;%s;844;1.21.110;%d;50;7093815013735933918;Bedrock level;Survival;1;%d;%d;", s.name, s.players, s.addr.Port(), s.addr.Port()+1)
			return []string{"\x1c\x00\x00\x00\x00" + be32(c.session) + ours + magic + string(binary.BigEndian.AppendUint16(nil, uint16(len(text)))) + text}
		},
	}}}
}

func ase() *protocol {
	texts := func(list ...string) string {
		b := ""
		for _, t := range list {
			b += string([]byte{byte(len(t) + 1)}) + t
		}
		return b
	}
	return &protocol{"ase", 22126, []*query{
		fixed(query{request: "status_request", reply: "status_reply", ask: says("s")}, one(func(s *server) string {
			b := "EYE1" + texts("mta", "22003", s.name, "Race", "SF", "1.6", "0", strconv.Itoa(s.players), "64") + texts("Gamemode", "race", "Owner", "Zoe") + "\x01"
			for i := range s.players {
				b += "\x3f" + texts(s.player(i), "", "", "", strconv.Itoa(20+i*11%180), "")
			}
			return b
		})),
	}}
}

func samp() *protocol {
	head := func(s *server) string {
		ip := s.addr.Addr().As4()
		return "SAMP" + string(ip[:]) + string(binary.LittleEndian.AppendUint16(nil, s.addr.Port()))
	}
	words := func(n ...int) string {
		var b []byte
		for _, w := range n {
			b = binary.LittleEndian.AppendUint16(b, uint16(w))
		}
		return string(b)
	}
	short := func(t string) string { return string([]byte{byte(len(t))}) + t }
	long := func(t string) string { return le32(uint32(len(t))) + t }
	asks := func(op string) func(*server, call) string {
		return func(s *server, _ call) string { return head(s) + op }
	}
	return &protocol{"samp", 7777, []*query{
		fixed(query{request: "info_request", reply: "info_reply", ask: asks("i")}, one(func(s *server) string {
			return head(s) + "i\x00" + words(s.players, 100) + long(s.name) + long("Freeroam") + long("English")
		})),
		fixed(query{request: "clients_request", reply: "clients_reply", ask: asks("c")}, one(func(s *server) string {
			b := head(s) + "c" + words(s.players)
			for i := range s.players {
				b += short(s.player(i)) + le32(uint32(i*3))
			}
			return b
		})),
		fixed(query{request: "rules_request", reply: "rules_reply", ask: asks("r")}, one(func(s *server) string {
			return head(s) + "r" + words(3) + short("lagcomp") + short("On") + short("mapname") + short("San Andreas") + short("version") + short("0.3.7-R2")
		})),
	}}
}
