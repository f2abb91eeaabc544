package openttd

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
)

// packet puts the length and the type before what a packet holds.
func packet(kind byte, body string) string {
	return string(binary.LittleEndian.AppendUint16(nil, uint16(3+len(body)))) + string(kind) + body
}

const (
	grf   = "MG\x03\x05\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
	dates = "\xe3\xf4\x0a\x00\xda\xcf\x0a\x00"
	v2    = "\x0f\x03\x0a"
	name  = "Somewhere\x00"
	tail  = "\x00\x00\x19\x03\x01"
	ended = "\x00\x04\x00\x02\x01\x01"
	v5    = "\x05\xff\xff\xff\xff\x00\x01" + grf + dates + v2 + name + "1.10.1\x00" + tail + "Random Map\x00" + ended

	numbers = "\x9e\x07\x00\x00" + "\x40\x42\x0f\x00\x00\x00\x00\x00" + "\x60\x79\xfe\xff\xff\xff\xff\xff" + "\x10\x27\x00\x00\x00\x00\x00\x00" +
		"\x2c\x02\x00" + "\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00" + "\x01\x00\x02\x00\x03\x00\x00\x00\x00\x00"
	company = "\x01A company\x00" + numbers
	alice   = "\x01alice\x00" + "0123456789abcdef\x00" + "\xda\xcf\x0a\x00"
)

func samples() []dissecttest.Sample {
	one := func(name, message string, v dissect.Verdict, kind byte, body string) dissecttest.Sample {
		return dissecttest.One(name, message, v, packet(kind, body))
	}
	p, l := dissect.Possible, dissect.Likely
	pong := one("the pong of version 12", "pong", p, 1, "")
	pong.Findings = []string{"openttd.pong"}
	long := dissecttest.One("another length than it says", "info_request", dissect.No, "\x07\x00\x00")
	long.Findings = []string{"openttd.size"}
	missing := one("a company that is missing", "companies_reply", dissect.Doubtful, 3, "\x06\x03"+company+company)
	missing.Findings = []string{"openttd.count"}
	return []dissecttest.Sample{
		one("a request", "info_request", p, 0, ""), pong, long,
		one("info 1", "info_reply", l, 1, "\x01Old\x000.3.5\x00\x01\x00\x08\x01\x00\x9c\x4a\x00\x00Map\x00\x00\x01\x00\x01\x00\x00"),
		one("info 2", "info_reply", l, 1, "\x02"+v2+name+"0.4.8\x00\x01\x00\x08\x01\x00\x9c\x4a\x00\x00Map\x00\x00\x01\x00\x01\x03\x01"),
		one("info 3", "info_reply", l, 1, "\x03"+dates+v2+name+"0.5.3\x00"+tail+"Map\x00"+ended),
		one("info 4", "info_reply", l, 1, "\x04\x02"+grf+grf+dates+v2+name+"1.9.3\x00"+tail+"Map\x00"+ended),
		one("info 5", "info_reply", l, 1, v5),
		one("info 6", "info_reply", l, 1, "\x06\x00\x03\x00\x00\x00A script\x00\x01"+grf+dates+v2+name+"12.0\x00\x01\x19\x03\x01"+ended),
		one("info 7", "info_reply", l, 1, "\x07\x10\x32\x54\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\x00\x01"+grf+"A set\x00"+dates+v2+name+"14.1\x00\x00\x19\x03\x01"+ended),
		one("info 6 with places in a table", "info_reply", l, 1, "\x06\x02\xff\xff\xff\xff\x00\x02\x07\x00\x00\x00\x08\x00\x00\x00"+dates+v2+name+"12.0\x00\x00\x19\x03\x01"+ended),
		one("a request for companies", "companies_request", p, 2, ""),
		one("companies 6", "companies_reply", p, 3, "\x06\x02"+company+company),
		one("companies 5", "companies_reply", p, 3, "\x05\x01"+company+"\x01"),
		one("companies 4", "companies_reply", p, 3, "\x04\x01"+company+alice+"\x00"+alice+"\x00"),
		missing,
		one("no companies", "companies_reply", p, 3, "\x06\x00"),
		one("a registration", "register_request", dissect.Certain, 4, welcome+"\x01\x8b\x0f"),
		one("a registration with a key", "register_request", dissect.Certain, 4, welcome+"\x02\x8b\x0f\x01\x02\x03\x04\x05\x06\x07\x08"),
		one("registered", "register_reply", p, 5, ""),
		one("a key", "session_key_reply", p, 11, "\x01\x02\x03\x04\x05\x06\x07\x08"),
		one("a removal", "unregister", p, 8, "\x02\x8b\x0f"),
		one("a list", "servers_request", p, 6, "\x01"),
		one("a list of a kind", "servers_request", p, 6, "\x02\x02"),
		one("servers", "servers_reply", l, 7, "\x01\x01\x00\xc0\x00\x02\x01\x8b\x0f"),
		one("servers in IPv6", "servers_reply", l, 7, "\x02\x01\x00\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x8b\x0f"),
		one("names", "grfs_request", l, 9, "\x01"+grf),
		one("those names", "grfs_reply", p, 10, "\x01"+grf+"A set\x00"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

// TestCut: a reply of which the capture has only the beginning is known by the length
// that it had.
func TestCut(t *testing.T) {
	client, server := netip.MustParseAddrPort("192.0.2.1:40000"), netip.MustParseAddrPort("198.51.100.1:50000")
	request, reply := packet(0, ""), packet(1, v5)
	for missing, known := range map[int]bool{5: true, 4: false} {
		var k dissecttest.Keeper
		a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{Protocol()}}, &k))(t)
		now := time.Unix(1600000000, 0)
		a.Datagram(&dissect.Datagram{Frame: 1, Time: now, Src: client, Dst: server, Payload: []byte(request)})
		cut := []byte(reply[:len(reply)-5])
		if !a.Inner(core.Only{}).Candidate(server.Port(), client.Port(), cut) {
			t.Errorf("%x is no candidate", cut)
		}
		a.Datagram(&dissect.Datagram{Frame: 2, Time: now, Src: server, Dst: client, Payload: cut, Missing: missing})
		a.Flush()
		if n := len(k.Records); known && (n != 2 || k.Records[1].Type != mInfo || k.Records[1].RequestFrame != 1) || !known && n > 0 {
			t.Errorf("%d bytes missing: %d messages", missing, n)
		}
	}
}

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
