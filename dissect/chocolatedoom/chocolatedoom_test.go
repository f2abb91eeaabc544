package chocolatedoom

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	// state is that of a real server.
	state   = "\x00\x0eChocolate Doom 3.0.0\x00\x00\x00\x08\x04\x00Caf\u00e9 test\x00\x01CHOCOLATE_DOOM_0\x00"
	before3 = "\x00\x0eCrispy Doom 2.3\x00\x02\x03\x04\x02\x01Caf\xe9\x00"
	other   = "\x00\x0eWoof 14.0\x00\x01\x01\x04\x02\x01Name\x00"
	list    = "\x00\x03198.51.100.10:2342\x00198.51.100.11:2343\x00"
)

func samples() []dissecttest.Sample {
	one := dissecttest.One
	full := one("state", "query_reply", dissect.Likely, state)
	full.Sound = []int{strings.Index(state, "\x01CHOC")}
	servers := one("servers", "servers_reply", dissect.Possible, list)
	servers.Sound = []int{lenType, strings.IndexByte(list[2:], 0) + 3}
	return []dissecttest.Sample{
		one("query", "query_request", dissect.Possible, "\x00\x0d"),
		full, servers,
		one("state before 3.0", "query_reply", dissect.Likely, before3, "enc.notutf8"),
		one("state of another program", "query_reply", dissect.Possible, other),
		one("servers request", "servers_request", dissect.Possible, "\x00\x02"),
		one("registration", "add_request", dissect.Possible, "\x00\x00"),
		one("registration reply", "add_reply", dissect.Possible, "\x00\x01\x00\x01"),
		one("registration refused", "add_reply", dissect.Possible, "\x00\x01\x00\x00", "chocolatedoom.refused"),
		one("hole punch", "hole_punch", dissect.Possible, "\x00\x0a198.51.100.10:2342\x00"),
		one("hole punch of all", "hole_punch_all", dissect.Possible, "\x00\x0b"),
		one("another type", "unknown", dissect.No, "\x00\x0c\x00", "malformed"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
