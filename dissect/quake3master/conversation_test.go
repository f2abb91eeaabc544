package quake3master

import (
	"fmt"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// A teller records the output of an analyzer as lines.
type teller struct{ strings.Builder }

func (w *teller) findings(list []dissect.Finding) {
	for i := range list {
		fmt.Fprintf(w, " %s", list[i].AppendText(append([]byte(list[i].Type.ID), ": "...)))
	}
	w.WriteByte('\n')
}

func (w *teller) Record(r *dissect.Record) {
	fmt.Fprintf(w, "%d %s", r.Frame, r.AppendSummary(nil))
	if r.RequestFrame > 0 {
		fmt.Fprintf(w, " ← %d", r.RequestFrame)
	}
	w.findings(r.Findings)
}
func (w *teller) Unknown(u *dissect.Unknown) { fmt.Fprintf(w, "%d unknown\n", u.Frame) }
func (w *teller) Finding(f *dissect.FlowFinding) {
	fmt.Fprintf(w, "%d", f.Frame)
	w.findings([]dissect.Finding{f.Finding})
}

// TestLists plays requests (>) and replies (<): lists in several replies, with and
// without an end.
func TestLists(t *testing.T) {
	const servers, more = "\\" + one + "\\" + two, "\\" + two + "\\" + one
	for _, tc := range []struct {
		name      string
		datagrams []string
		want      string
	}{
		{"one reply", []string{">getservers 68", "<getserversResponse" + servers + eot},
			"1 servers request  protocol 68\n2 servers reply  2 servers, end of the list ← 1\n"},
		{"three replies", []string{">getservers 68", "<getserversResponse" + servers, "<getserversResponse" + more, "<getserversResponse\\" + one + eot},
			"1 servers request  protocol 68\n2 servers reply  2 servers ← 1\n3 servers reply  2 servers ← 1\n" +
				"4 servers reply  1 server, end of the list ← 1 q3master.list: the list has 5 servers in 3 replies; its request is frame 1\n"},
		{"no end", []string{">getservers 68", "<getserversResponse" + servers, "<getserversResponse" + more},
			"1 servers request  protocol 68\n2 servers reply  2 servers ← 1\n3 servers reply  2 servers ← 1\n" +
				"1 q3master.noterm: no reply ends the list (replies: 2, servers: 4)\n"},
		{"nothing to list", []string{">getservers 68", "<getserversResponse" + eot},
			"1 servers request  protocol 68\n2 servers reply  0 servers, end of the list ← 1\n"},
		{"two lists", []string{">getservers 68", "<getserversResponse" + servers, "<getserversResponse" + eot, ">getservers 71", "<getserversResponse\\" + one + eot},
			"1 servers request  protocol 68\n2 servers reply  2 servers ← 1\n" +
				"3 servers reply  0 servers, end of the list ← 1 q3master.list: the list has 2 servers in 2 replies; its request is frame 1\n" +
				"4 servers request  protocol 71\n5 servers reply  1 server, end of the list ← 4\n"},
		{"silence", []string{">getserversExt Game 1 ipv6"},
			"1 servers request  Game, protocol 1, ipv6\n1 q3master.noreply: servers request unanswered within 5 s\n"},
		{"nobody asked", []string{">getservers 68", "<getserversResponse" + eot, ">heartbeat DarkPlaces\n", "<infoResponse\n\\a\\b"},
			"1 servers request  protocol 68\n2 servers reply  0 servers, end of the list ← 1\n3 heartbeat  DarkPlaces\n4 unknown\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var w teller
			for i, d := range tc.datagrams {
				tc.datagrams[i] = d[:1] + header + d[1:]
			}
			dissecttest.Talk(t, Protocol(), &w, 27950, tc.datagrams...)
			if w.String() != tc.want {
				t.Errorf("%s\nwant\n%s", w.String(), tc.want)
			}
		})
	}
}
