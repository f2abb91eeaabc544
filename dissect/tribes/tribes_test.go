package tribes

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// texts writes texts after their lengths.
func texts(list ...string) (out string) {
	for _, s := range list {
		out += string([]byte{byte(len(s))}) + s
	}
	return out
}

var (
	server    = texts("Tribes", "1.40", "A server") + "\x01\x00\x02\x20"
	anna      = "\x0a\x00\x00" + texts("Anna", "%n\t%t\t 25\t%p\t%l")
	borje     = "\x14\x01\x01" + texts("B\xf6rje", "%n\t%t\t 2\t%p\t%l")
	status    = "c++b" + server + "\xbc\x02" + texts("base", "CTF", "Broadside", "Admin: a\nb") + "\x02" + texts("\x10Team Name\t\xd6Score", "\x18Player Name\t\x55Team") + texts("Diamond", "%t\t 1", "Blood", "%t\t 3") + anna + borje
	starMatch = "s\x01\x00r" + texts("Starsiege", "1.004", "Hercs") + "\x00\x01\x01\x00\x02\x00\x00\x00\x08\x00\x00\x00\x01" + texts("DM_Moonstrike") + "\xbc\x02\x00\x01" + strings.Repeat("\x05\x00\x00\x00", 6) + "\x02\x00\x00\x00" + texts("Anna") + "\x01" + texts("Borje") + "\x02"
	lines     = "2\nStorm\t100\nInferno\t50\n2\n\x10\x08Anna\x11\x09Storm\t10\n\x10\x0bTag\x08Borje\x11\x09Inferno\t-3\n"
	details   = "\x14\x02\x01\x02\x03\x04" + texts("base", "CTF", "Katabatic") + "\x07\x02\x20\x01\xbc\x02" + texts("Welcome") + string([]byte{byte(len(lines)), 0}) + lines
	ping5     = "\x10\x02\x01\x02\x03\x04\x04VER5\x1a\x00\x00\x00\x18\x00\x00\x00\xca\x61\x00\x00\x04Test"
	ping3     = "\x10\x02\x01\x02\x03\x04\x04VER3\x18\x00\x00\x00\xca\x56\x00\x00\x04Test"
	address   = "\x06\xc0\x00\x02\x01\x61\x6d"
)

func samples() []dissecttest.Sample {
	const likely, possible = dissect.Likely, dissect.Possible
	one := dissecttest.One
	short := one("info", "info_reply", likely, "a++b"+server)
	more := one("info with more", "info_reply", likely, "a++b"+server+"\xbc\x02")
	more.Sound = []int{4 + len(server), 5 + len(server)}
	coded := one("coded details", "details_reply", dissect.Doubtful, "\x14\x00\x01\x02\x03\x04\xff\x80\x7f")
	codedPing := one("coded ping", "ping_reply", dissect.Doubtful, "\x10\x00\x01\x02\x03\x04\xff\x80\x7f\x00\x01")
	coded.Sound, codedPing.Sound = []int{6, 7, 8}, []int{6, 7, 8, 9, 10}
	filter := "\x06\x80\x0b\x0c\x0d\x0e\xff" + texts("any", "CTF") + "\x00\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\xff\x00\x00"
	bare := one("details without players", "details_reply", likely, "\x14\x02\x01\x02\x03\x04"+texts("base", "CTF", "Katabatic")+"\x00\x00\x20\x00\xbc\x02"+texts("Welcome")+"\x00\x00")
	teams := one("details with teams alone", "details_reply", likely, strings.Replace(details, string([]byte{byte(len(lines)), 0})+lines, "\x0a\x001\nStorm\t1\n", 1))
	friends := one("list request with friends", "list_request", possible, filter+"\x01\x01\x02\x03\x04")
	friends.Sound = []int{len(filter) + 1, len(filter) + 2, len(filter) + 3, len(filter) + 4}
	unknown := one("nothing of it", "unknown", dissect.No, "\x60\x01\x02\x03", "malformed")
	unknown.Sound = []int{lenQuery}
	query := one("servers request", "servers_request", possible, "\x10\x03\xff\x00\x01\x02")
	query.Sound = []int{5}
	return []dissecttest.Sample{
		one("info request", "info_request", possible, "`**"),
		one("status request", "status_request", possible, "b++"),
		one("status request of Starsiege", "status_request", possible, "r\x01\x00"),
		short, more,
		one("status", "status_reply", likely, status),
		one("status without a player", "status_reply", likely, strings.Replace(status, borje, "", 1), "tribes.players"),
		one("status of Starsiege", "status_reply", likely, starMatch),
		one("ping request", "ping_request", possible, "\x0e\x02\x01\x02\x03\x04"),
		one("details request", "details_request", possible, "\x12\x02\x01\x02\x03\x04"),
		one("ping", "ping_reply", likely, ping5),
		one("ping of version 3", "ping_reply", likely, ping3),
		one("details", "details_reply", likely, details),
		bare, teams, coded, codedPing, query,
		one("servers request of qstat", "servers_request", possible, "\x10\x03\xff\x00\x02"),
		one("servers", "servers_reply", likely, "\x10\x06\x01\x02\x01\x02\x00\x66"+texts("Tribes Master", "Read the news")+"\x00\x02"+address+address),
		one("more servers", "servers_reply", likely, "\x10\x06\x02\x02\x01\x02\x00\x66\x00\x01"+address),
		one("not an address", "servers_reply", likely, "\x10\x06\x02\x02\x01\x02\x00\x66\x00\x01\x07"+address[1:], "malformed"),
		one("list request", "list_request", possible, filter+"\x00"), friends,
		one("list", "list_reply", possible, "\x08\x00\x0b\x0c\x0d\x0e\x00\x01\x02\x00"+address[1:]+address[1:]),
		one("more text than there is", "details_reply", likely, details[:len(details)-1], "malformed"),
		unknown,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
