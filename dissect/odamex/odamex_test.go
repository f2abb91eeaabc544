package odamex

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	at     = "\x78\x56\x34\x12"
	newest = "\x0b\x0b\x00\x00" // 11.1.1
	old    = "\x69\x00\x00\x00" // 0.10.5
	query  = "\x02\x10\x01\xad" + old + "\x07\x00\x00\x00" + at
	head   = "\x03\x20\x03\xad" + newest + "\x07\x00\x00\x00" + at + "\x07\x00\x00\x00" + "11.1.1 (abc1234)\x00"
	hash16 = "\x10\x98\x4e\x67\x8a\x1d\x25\xc3\x0f\x7b\xee\x44\x01\x5a\x90\x3c\xd2"
	wads   = "\x01freedm.deh\x00" + "\x02odamex.wad\x00" + hash16 + "doom2.wad\x00\x00"

	coop = head + "\x02sv_hostname\x00\x06A server\x00sv_maxclients\x00\x02\x10" + "\x00" + "MAP01\x00" + wads +
		"\x01Alice\x00\x00\x00\xff\x00\x28\x00\x03\x00\x00\x00\x00\x05\x00\x01\x00"
	ctf = head + "\x07sv_hostname\x00\x06Caf\xe9\x00sv_maxclients\x00\x02\x20sv_gametype\x00\x02\x03sv_timelimit\x00\x0515.5\x00sv_email\x00\x06op@example.com\x00sv_gravity\x00\x04\x20\x03\x00\x00sv_weaponstay\x00\x01" +
		hash16 + "MAP07\x00\x0b\x00" + "\x02Blue\x00\xff\x00\x00\x00\x03\x00Red\x00\x00\x00\xff\x00\xfe\xff" + wads +
		"\x01Bob\x00\x00\x00\xff\x00\x01\x28\x00\x03\x00\x01\xff\xff\x00\x00\x02\x00"
	ancient = "\x03\x20\x03\xad" + old + "\x05\x00\x00\x00" + at + "\x07\x00\x00\x00" + "\xff\xff\xff\xff" + "\x01sv_scorelimit\x00\x03\x05\x00" + "\x00" + "E1M1\x00\x00\x00" + "\x00\x00\x00"
	servers = "\xa3\xdb\x0b\x00\x02\x00" + "\xc6\x33\x64\x0a\xaa\x29" + "\xc6\x33\x64\x0b\xab\x29"
)

func samples() []dissecttest.Sample {
	one := dissecttest.One
	full := one("query", "query_request", dissect.Certain, query)
	full.Sound = []int{lenTag}
	version := one("version query", "version_request", dissect.Certain, strings.Replace(query, "\x02", "\x01", 1))
	version.Sound = []int{lenTag}
	client := one("query of a client", "query_request", dissect.Certain, strings.Replace(query, "\x01\xad", "\x02\xad", 1))
	client.Sound = []int{lenTag}
	list := one("servers", "servers_reply", dissect.Likely, servers)
	list.Sound = []int{lenTag} // a request
	none := one("no servers", "servers_reply", dissect.Likely, servers[:4]+"\x00\x00")
	none.Sound = []int{lenTag}
	return []dissecttest.Sample{
		full, version, client, list, none,
		one("the tag alone", "query_request", dissect.Certain, query[:lenTag]),
		one("cooperative game", "query_reply", dissect.Certain, coop),
		one("teams, time limit and password", "query_reply", dissect.Certain, ctf, "enc.notutf8"),
		one("an old version of the protocol", "query_reply", dissect.Certain, ancient),
		one("an odd type of a setting", "query_reply", dissect.Certain, head+"\x01sv_none\x00\x00"+"\x00"+"MAP01\x00"+"\x00\x00\x00"),
		one("version", "version_reply", dissect.Certain, "\x01\x20\x03\xad"+newest+"\x07\x00\x00\x00"+at),
		one("version for an old launcher", "version_reply", dissect.Certain, "\x02\x20\x03\xad"+newest+"\x07\x00\x00\x00"+at, "odamex.version"),
		one("servers request", "servers_request", dissect.Likely, servers[:lenTag]),
		one("heartbeat", "heartbeat", dissect.Likely, "\xd4\xd6\x54\x00\xaa\x29"),
		one("a reply of a launcher", "unknown", dissect.No, "\x03\x20\x01\xad"+newest, "malformed"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
