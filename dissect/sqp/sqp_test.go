package sqp

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	given = "\x6b\x11\xf0\x24"

	infoChunk   = "\x00\x05\x00\x0a\x09my server\x03ctf\x011\x03map\x04\x01"
	rulesChunk  = "\x06rule 1\x00\x80\x06rule 2\x01\x01\x01\x06rule 3\x02\x01\x00\x00\x01\x06rule 4\x03\x01\x00\x00\x00\x00\x00\x00\x01\x06rule 5\x04\x06string\x01f\x05\x3f\xc0\x00\x00"
	tableChunk  = "\x00\x02\x04\x04name\x04\x05score\x02\x04ping\x01\x05ratio\x05" + "\x05alice\x00\x00\x00\x0c\x00\x1e\x3f\x00\x00\x00" + "\x03bob\x00\x00\x00\x03\x00\x63\x3f\x80\x00\x00"
	teamsChunk  = "\x00\x01\x03\x04name\x04\x06colour\x04\x05score\x02" + "\x03red\x04pink\x00\x00\x00\x0f"
	oddColumns  = "\x00\x01\x04\x01a\x00\x04a b!\x04\x01a\x01\x04real\x05" + "\x07\x01x\x00\x09\x3f\x80\x00\x00"
	metricChunk = "\x02\x3f\xc0\x00\x00\x42\x28\x00\x00"
)

func chunk(body string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) + body
}

// packet is one packet of a reply.
func packet(current, last byte, data string) string {
	return "\x01" + given + "\x00\x01" + string([]byte{current, last, byte(len(data) >> 8), byte(len(data))}) + data
}

// reply is a reply of whole chunks in one packet.
func reply(chunks ...string) string {
	data := ""
	for _, c := range chunks {
		data += chunk(c)
	}
	return packet(0, 0, data)
}

func samples() []dissecttest.Sample {
	one := func(name, message string, v dissect.Verdict, payload string, findings ...string) dissecttest.Sample {
		s := dissecttest.One(name, message, v, payload)
		s.Findings = findings
		if message == "query_reply" {
			s.Sound = []int{lenQuery, lenHead + 4 + len(infoChunk)} // the beginning is a query, and info is all there is
		}
		return s
	}
	all := chunk(infoChunk) + chunk(rulesChunk) + chunk(tableChunk) + chunk(teamsChunk) + chunk(metricChunk)
	parts := func(name string, cuts ...int) dissecttest.Sample {
		s := dissecttest.Sample{Name: name, Message: "query_reply", Verdict: dissect.Likely}
		from := 0
		for i, to := range append(cuts, len(all)) {
			s.Parts = append(s.Parts, []byte(packet(byte(i), byte(len(cuts)), all[from:to])))
			from = to
		}
		return s
	}
	lone := one("a part without the first", "part", dissect.Likely, packet(1, 1, "\x03map\x04\x01"), "sqp.part.missing", "sqp.part.unread")
	lone.Cut = true
	return []dissecttest.Sample{
		one("a request for a challenge", "challenge_request", dissect.Possible, "\x00\x00\x00\x00\x00"),
		one("a challenge", "challenge_reply", dissect.Doubtful, "\x00"+given),
		one("a query", "query_request", dissect.Likely, "\x01"+given+"\x00\x01\x1f"),
		one("info", "query_reply", dissect.Likely, reply(infoChunk)),
		one("info with a newer field", "query_reply", dissect.Likely, reply(infoChunk+"\x01\x02")),
		one("rules", "query_reply", dissect.Likely, reply(rulesChunk)),
		one("players or teams", "query_reply", dissect.Likely, reply(tableChunk)),
		one("nobody", "query_reply", dissect.Likely, reply("\x00\x00")),
		one("columns whose names cannot be keys", "query_reply", dissect.Likely, reply(oddColumns)),
		one("columns in cells", "query_reply", dissect.Likely, reply("\x00\x01\x03\x02b!\x00\x02c!\x05\x02d!\x04"+"\x07\x3f\x80\x00\x00\x01x")),
		one("metrics", "query_reply", dissect.Likely, reply(metricChunk)),
		one("all", "query_reply", dissect.Likely, packet(0, 0, all)),
		one("a chunk that is none", "query_reply", dissect.Likely, reply("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "sqp.chunk"),
		one("a table that lacks a row", "query_reply", dissect.Likely, reply("\x00\x03"+tableChunk[2:]), "sqp.rows"),
		one("a table that lacks a part of a row", "query_reply", dissect.Likely, reply(tableChunk[:len(tableChunk)-1], teamsChunk), "sqp.rows"),
		one("a table without its rows", "query_reply", dissect.Likely, reply("\x00\x02\x01\x04name\x04"), "sqp.rows"),
		one("another length", "query_reply", dissect.Doubtful, packet(0, 0, chunk(infoChunk))+"\x00\x00\x00\x00", "sqp.length"),
		parts("two packets", 20), parts("cut in a length", 2, 70), lone,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

// TestChunks: what a reply holds is told by the bytes of it.
func TestChunks(t *testing.T) {
	for _, c := range []struct {
		name   string
		chunks []string
		want   []kind
	}{
		{"all", []string{infoChunk, rulesChunk, tableChunk, teamsChunk, metricChunk}, []kind{kindInfo, kindRules, kindTable, kindTable, kindMetrics}},
		{"no rules, nobody", []string{infoChunk, "", "\x00\x00", "\x00\x00", "\x00"}, []kind{kindInfo, kindRules, kindTable, kindTable, kindMetrics}},
		{"out of order", []string{rulesChunk, infoChunk}, []kind{kindRules, kindOther}},
		{"one short rule", []string{"\x01a\x00\x05"}, []kind{kindRules}},
		{"rows that are missing", []string{infoChunk, "\x00\x03" + tableChunk[2:], teamsChunk}, []kind{kindInfo, kindShort, kindTable}},
		{"a row that is cut", []string{tableChunk[:len(tableChunk)-1], metricChunk}, []kind{kindShort, kindMetrics}},
		{"a long table that lacks a row", []string{"\x00\x1f\x01\x0bplayer name\x04" + strings.Repeat("\x13nineteen characters", 30)}, []kind{kindShort}},
		{"an info with more", []string{infoChunk + "\x01\x02"}, []kind{kindInfo}},
		{"no rows, and a column without a name", []string{"\x00\x05\x01\x00\x02"}, []kind{kindOther}},
		{"no rows, and a column of no type", []string{"\x00\x05\x01\x04name\x06"}, []kind{kindOther}},
		{"three tables", []string{teamsChunk, teamsChunk, teamsChunk}, []kind{kindTable, kindTable, kindOther}},
	} {
		data := ""
		for _, b := range c.chunks {
			data += chunk(b)
		}
		var got chunks
		got.find([]byte(data))
		if fmt.Sprint(got.kinds[:got.n]) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got.kinds[:got.n], c.want)
		}
	}
}

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
