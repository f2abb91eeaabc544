package all

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// TestSQPChunks: what a reply holds is told by the bytes of it.
func TestSQPChunks(t *testing.T) {
	const head, teams = 11, "\x00\x01\x03\x04name\x04\x06colour\x04\x05score\x02\x03red\x04pink\x00\x00\x00\x0f"
	chunk := func(sample string) string { return string(sampleOf(t, "sqp", sample)[head+4:]) }
	info, rules, table, metrics := chunk("info"), chunk("rules"), chunk("players or teams"), chunk("metrics")
	for _, c := range []struct {
		name   string
		chunks []string
		want   string
	}{
		{"all", []string{info, rules, table, teams, metrics}, "info rules players teams metrics"},
		{"no rules, nobody", []string{info, "", "\x00\x00", "\x00\x00", "\x00"}, "info rules players teams metrics"},
		{"out of order", []string{rules, info}, "rules other"},
		{"one short rule", []string{"\x01a\x00\x05"}, "rules"},
		{"rows that are missing", []string{info, "\x00\x03" + table[2:], teams}, "info short players teams"},
		{"a row that is cut", []string{table[:len(table)-1], metrics}, "short entries metrics"},
		{"a long table that lacks a row", []string{"\x00\x1f\x01\x0bplayer name\x04" + strings.Repeat("\x13nineteen characters", 30)}, "short entries"},
		{"an info with more", []string{info + "\x01\x02"}, "info"},
		{"no rows, and a column without a name", []string{"\x00\x05\x01\x00\x02"}, "other"},
		{"no rows, and a column of no type", []string{"\x00\x05\x01\x04name\x06"}, "other"},
		{"three tables", []string{teams, teams, teams}, "players teams other"},
	} {
		data := ""
		for _, b := range c.chunks {
			data += string(binary.BigEndian.AppendUint32(nil, uint32(len(b)))) + b
		}
		r := dissecttest.Decode(t, byName("sqp"), append(append(sampleOf(t, "sqp", "info")[:head-2:head-2], byte(len(data)>>8), byte(len(data))), data...))
		var got []string
		n, chunks := 0, 0
		for _, node := range r.Nodes {
			finds := slices.ContainsFunc(r.Findings, func(f dissect.Finding) bool { return f.Field == node.Field && f.Offset == int(node.Off) })
			switch name := strings.TrimPrefix(node.Field.Path, "sqp."); name {
			case "chunk_length":
				n, chunks = len(got), chunks+1
			case "info.name":
				got = append(got, "info")
			case "rules", "entries", "players", "teams":
				got = append(got, name)
			case "table.num_rows":
				if finds {
					got = append(got, "short")
				}
			case "num_metrics":
				got = append(got, "metrics")
			case "chunk":
				if finds || len(got) == n { // after a table that is short, it is the rest
					got = append(got, "other")
				}
			}
		}
		if strings.Join(got, " ") != c.want || chunks != len(c.chunks) {
			t.Errorf("%s: %v in %d chunks, want %v", c.name, got, chunks, c.want)
		}
	}
}
