package raknet

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	client    = "\x66\x09\x07\xa0\xd7\x17\x58\xa6"
	server    = "\x62\x71\xf7\x78\xd0\x1f\x27\xde"
	time      = "\x00\x00\x01\xa2\x00\x88\x1a\x1b"
	motd      = "MCPE;\xc2\xa7aA \xc2\xa7lserver;545;1.19.21;3;30;-305653527360353208;Bedrock level;Survival;1;19132;19133;0;"
	v4        = "\x04\x80\xff\xff\xfe\x4a\xbc"                                          // 127.0.0.1:19132
	v6        = "\x06\x17\x00\x4a\xbd\x00\x00\x00\x00" + loopback6 + "\x00\x00\x00\x00" // [::1]:19133
	loopback6 = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"
)

// pong writes a pong with a text behind its length.
func pong(text string) string {
	return "\x1c" + time + server + magic + string([]byte{byte(len(text) >> 8), byte(len(text))}) + text
}

const pongHead = 1 + 8 + 8 + 16

func samples() []dissecttest.Sample {
	one := func(name, message, payload string, findings ...string) dissecttest.Sample {
		return dissecttest.One(name, message, dissect.Certain, payload, findings...)
	}
	sound := func(s dissecttest.Sample, n ...int) dissecttest.Sample { s.Sound = n; return s }
	loose := func(s dissecttest.Sample) dissecttest.Sample { s.Cut = true; return s }
	// What a game says may end anywhere, and needs no length.
	free := func(s dissecttest.Sample) dissecttest.Sample {
		for n := pongHead; n < len(s.Parts[0]); n++ {
			s.Sound = append(s.Sound, n)
		}
		return s
	}
	bedrock := func(name, text string, findings ...string) dissecttest.Sample {
		// Cut within the edition it is not known as one.
		s := one(name, "pong", pong(text), findings...)
		for n := pongHead; n < pongHead+2+5; n++ {
			s.Sound = append(s.Sound, n)
		}
		return s
	}
	list := []dissecttest.Sample{
		one("ping", "ping", "\x01"+time+magic+client),
		one("ping of an old client", "ping", "\x01"+time+magic),
		one("ping for open servers", "ping_open", "\x02"+time+magic+client),
		one("ping with other bytes", "ping", "\x01"+time+strings.Replace(magic, "\xfe", "\xfd", 1)+client, "malformed"),
		sound(one("pong of a game that says nothing", "pong", "\x1c"+time+server+magic)),
		bedrock("pong of Bedrock Edition", motd),
		bedrock("pong of Education Edition", strings.Replace(motd, "MCPE", "MCEE", 1)),
		bedrock("pong of Nukkit", "MCPE;A server;201;;0;33;9c8f254d-8afd-4040-b43b-4585814290c0;second line;Survival;"),
		bedrock("pong of a proxy", "MCPE;EU: DUELS\xee\x84\x81;545;1;18605;55000;11858815792528425134;C;Survival;1"),
		bedrock("pong with a semicolon in the name", "MCPE;A server; of sorts;545;1.19.21;3;30;1;Level;Survival;1;19132;19133;", "raknet.motd.semicolon"),
		bedrock("pong with a semicolon behind a backslash", "MCPE;A server\\; of sorts;545;1.19.21;3;30;1;Level;Survival;1;19132;19133;"),
		bedrock("pong without numbers", "MCPE;A server;many;1.19.21;few;some;1;Level;Survival;1;none;none;"),
		bedrock("pong of an edition", "MCPE;"),
		bedrock("pong with forty fields", "MCPE;"+strings.Repeat("a;", 40)),
		bedrock("pong with a length too small", "", "raknet.pong.length"),
		free(one("pong of another game", "pong", pong("Seven days"))),
		free(one("pong of another game without a length", "pong", "\x1c"+time+server+magic+"Rust\x00\x01\x02")),
		one("open request 1", "open_request_1", "\x05"+magic+"\x0a"+strings.Repeat("\x00", 100)),
		one("open request 1 with more", "open_request_1", "\x05"+magic+"\x0a\x00\x00\x00more", "trailing"),
		one("open reply 1", "open_reply_1", "\x06"+magic+server+"\x00\x05\x78"),
		one("open reply 1 with a cookie", "open_reply_1", "\x06"+magic+server+"\x01\x01\x02\x03\x04\x05\x78"),
		one("open request 2", "open_request_2", "\x07"+magic+v4+"\x05\x78"+client),
		one("open request 2 with a cookie", "open_request_2", "\x07"+magic+"\x01\x02\x03\x04\x00"+v4+"\x05\x78"+client),
		one("open request 2 over IPv6", "open_request_2", "\x07"+magic+v6+"\x05\x78"+client),
		one("open request 2 over IPv6 with a cookie", "open_request_2", "\x07"+magic+"\x01\x02\x03\x04\x01"+v6+"\x05\x78"+client),
		one("open request 2 over IPv5", "open_request_2", "\x07"+magic+"\x05"+v4[1:]+"\x05\x78"+client, "malformed"),
		one("open reply 2", "open_reply_2", "\x08"+magic+server+v4+"\x05\x78\x00"),
		one("open reply 2 over IPv6", "open_reply_2", "\x08"+magic+server+v6+"\x05\x78\x01"),
		one("incompatible protocol", "incompatible_protocol", "\x19\x0a"+magic+server, "raknet.version"),
		one("already connected", "already_connected", "\x12"+magic+server, "raknet.refused"),
		one("no free connections", "no_free_connections", "\x14"+magic+server, "raknet.refused"),
		one("banned", "banned", "\x17"+magic+server, "raknet.refused"),
		one("recently connected", "recently_connected", "\x1a"+magic+server, "raknet.refused"),
	}
	for i := range list {
		if s := &list[i]; s.Name == "pong with a length too small" {
			s.Parts[0] = []byte(pong("")[:pongHead] + "\x00\x20" + motd)
			s.Sound = append(s.Sound, pongHead+2+0x20)
		}
		switch s := &list[i]; s.Message {
		case "ping", "ping_open":
			s.Sound = append(s.Sound, 1+8+16)
		case "pong":
			s.Sound = append(s.Sound, pongHead)
		case "open_request_1":
			*s = loose(*s) // it is as long as the client likes
		}
		if s := &list[i]; strings.HasSuffix(s.Name, "with other bytes") {
			s.Verdict = dissect.No
		}
	}
	return list
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

// TestAddress: addresses are those that were sent, whatever the wire makes of them.
func TestAddress(t *testing.T) {
	for payload, want := range map[string]string{
		"\x07" + magic + v4 + "\x05\x78" + client:                          "127.0.0.1:19132",
		"\x07" + magic + "\x04\x04\x04\x04\x00" + v4 + "\x05\x78" + client: "127.0.0.1:19132",
		"\x07" + magic + v6 + "\x05\x78" + client:                          "[::1]:19133",
		"\x08" + magic + server + v4 + "\x05\x78\x00":                      "127.0.0.1:19132",
	} {
		r := dissecttest.Decode(t, Protocol(), []byte(payload))
		found := false
		for i := range r.Nodes {
			if n := &r.Nodes[i]; n.Field.Kind == dissect.Endpoint {
				found = true
				if got := n.Endpoint(r.Sources[0].Data); got != netip.MustParseAddrPort(want) {
					t.Errorf("%v, want %s", got, want)
				}
			}
		}
		if !found {
			t.Errorf("%q has no address", payload)
		}
	}
}
