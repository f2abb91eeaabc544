package quake3

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/must"
)

// A teller records the output of an analyzer as lines.
type teller struct{ strings.Builder }

func (w *teller) Record(r *dissect.Record) {
	fmt.Fprintf(w, "%d %s", r.Frame, r.Type.Name)
	if r.RequestFrame > 0 {
		fmt.Fprintf(w, " ← %d", r.RequestFrame)
	}
	for i := range r.Findings {
		fmt.Fprintf(w, " %s", r.Findings[i].Type.ID)
	}
	w.WriteByte('\n')
}
func (w *teller) Unknown(u *dissect.Unknown)     { fmt.Fprintf(w, "%d unknown\n", u.Frame) }
func (w *teller) Finding(f *dissect.FlowFinding) { fmt.Fprintf(w, "%d %s\n", f.Frame, f.Type.ID) }

// TestConversations plays datagrams between a client and a server. Lines of the client
// begin with >, those of the server with <; both use the ports of the test.
func TestConversations(t *testing.T) {
	for _, tc := range []struct {
		name           string
		client, server uint16
		datagrams      []string
		want           string
	}{
		{"a query", 50000, 27960, []string{
			">getstatus", "<statusResponse\n\\a\\b\n", ">getinfo xxx", "<infoResponse\n\\challenge\\xxx",
		}, "1 status_request\n2 status_reply ← 1\n3 info_request\n4 info_reply ← 3\n"},
		{"by the challenge, not by the order", 50000, 27960, []string{
			">getinfo one", ">getinfo two", "<infoResponse\n\\challenge\\two", "<infoResponse\n\\challenge\\one",
		}, "1 info_request\n2 info_request\n3 info_reply ← 2\n4 info_reply ← 1\n"},
		{"a token first", 50000, 28070, []string{
			">getstatus xxx", "<echo \"echoResponse getstatus T0\"", ">echoResponse getstatus T0", "<statusResponse\n\\challenge\\xxx\n",
		}, "1 status_request\n2 echo_challenge ← 1 q3.token.required\n3 echo_response\n4 status_reply ← 3\n"},
		{"a token first, and no challenge in the reply", 50000, 28070, []string{
			">getinfo xxx", "<echo \"echoResponse getinfo T0\"", ">echoResponse getinfo T0", "<infoResponse\n\\a\\b\n",
		}, "1 info_request\n2 echo_challenge ← 1 q3.token.required\n3 echo_response\n4 info_reply ← 3\n"},
		{"another token", 50000, 28070, []string{
			">getstatus", "<echo \"echoResponse getstatus T0\"", ">echoResponse getstatus T1", "<echo \"echoResponse getstatus T0\"",
		}, "1 status_request\n2 echo_challenge ← 1 q3.token.required\n3 echo_response q3.token.mismatch\n4 echo_challenge ← 3\n"},
		{"a token and silence", 50000, 28070, []string{
			">getstatus", "<echo \"echoResponse getstatus T0\"", ">echoResponse getstatus T0",
		}, "1 status_request\n2 echo_challenge ← 1 q3.token.required\n3 echo_response\n3 q3.noreply\n"},
		{"another challenge", 50000, 27960, []string{
			">getstatus one", "<statusResponse\n\\challenge\\two\n",
		}, "1 status_request\n2 status_reply ← 1 q3.challenge_echo\n"},
		{"no challenge", 50000, 27960, []string{
			">getinfo one", "<infoResponse\n\\a\\b",
		}, "1 info_request\n2 info_reply ← 1 q3.challenge_echo\n"},
		{"a challenge that nobody sent", 50000, 27960, []string{
			">getinfo", "<infoResponse\n\\challenge\\one",
		}, "1 info_request\n2 info_reply ← 1 q3.challenge_echo\n"},
		{"an empty challenge is none", 50000, 27960, []string{
			">getstatus", "<statusResponse\n\\challenge\\\\a\\b\n",
		}, "1 status_request\n2 status_reply ← 1\n"},
		{"what engines make of a per cent sign", 50000, 27960, []string{
			">getinfo 100%é", "<infoResponse\n\\challenge\\100...",
		}, "1 info_request\n2 info_reply ← 1\n"},
		{"a second reply", 50000, 27960, []string{
			">getinfo one", "<infoResponse\n\\challenge\\one", "<infoResponse\n\\challenge\\one",
		}, "1 info_request\n2 info_reply ← 1\n3 capture.duplicate\n"},
		{"another second reply", 50000, 27960, []string{
			">getinfo one", "<infoResponse\n\\challenge\\one", "<infoResponse\n\\challenge\\one\\a\\b",
		}, "1 info_request\n2 info_reply ← 1\n3 info_reply ← 1\n"},
		{"the wrong kind of reply", 50000, 27960, []string{
			">getinfo", "<statusResponse\n\\a\\b\n",
		}, "1 info_request\n2 status_reply reply.other\n1 q3.noreply\n"},
		{"the server's own port", 28960, 28960, []string{
			">getstatus\n", "<statusResponse\n\\a\\b\n", ">getinfo", "<infoResponse\n\\a\\b",
		}, "1 status_request q3.srcport\n2 status_reply ← 1\n3 info_request\n4 info_reply ← 3\n"},
		{"any port", 50000, 1337, []string{
			">getstatus", "<statusResponse\n\\a\\b\n",
		}, "1 status_request\n2 status_reply ← 1\n"},
		{"amplification", 50000, 27960, []string{
			">getstatus", "<statusResponse\n\\a\\" + strings.Repeat("x", 500) + "\n",
		}, "1 status_request\n2 status_reply ← 1 q3.amplification\n"},
		{"a client connects", 50000, 1337, []string{
			">getchallenge", "<challengeResponse 17", ">connect " + pack(userinfo), "<connectResponse", "<disconnect",
		}, "1 challenge_request\n2 challenge_reply ← 1\n3 connect_request\n4 connect_reply ← 3\n5 disconnect\n"},
		{"a client may not connect", 50000, 27960, []string{
			">getchallenge 5 Quake3Arena", "<challengeResponse 17 5 71", ">connect " + pack(userinfo), "<print\nServer is full.\n",
		}, "1 challenge_request\n2 challenge_reply ← 1\n3 connect_request\n4 print ← 3\n"},
		{"a client may not even ask", 50000, 27960, []string{
			">getchallenge 5 OtherGame", "<print\nGame mismatch\n",
		}, "1 challenge_request\n2 print ← 1\n"},
		{"the remote console", 50000, 27960, []string{
			">getchallenge 5 OtherGame", ">rcon secret status\x00", "<print\nmap\n", "<print\nmore\n", ">rcon secret quit\x00",
		}, "1 challenge_request\n2 rcon_request\n3 print ← 2\n4 print ← 2\n5 rcon_request\n1 q3.noreply\n5 q3.noreply\n"},
		{"words of relatives, on a port of nobody", 50000, 1337, []string{
			">getchallenge\n", "<c12345", ">rcon bad status\n", "<print\n\\mapname\\q2dm1\n", "<print\nhello\n", ">echo x", "<disconnect",
		}, "2 unknown\n4 unknown\n1 unknown\n3 unknown\n5 unknown\n6 unknown\n7 unknown\n"},
		{"Quake 2's status on the port of Quake 3", 50000, 27960, []string{
			">status\n", "<print\n\\mapname\\q2dm1\n1 2 \"x\"\n",
		}, "1 unknown\n2 unknown\n"},
		{"a header and nothing else", 50000, 27960, []string{
			">getstatus", "<",
		}, "1 status_request\n2 unknown q3.empty\n1 q3.noreply\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var w teller
			a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{Protocol()}}, &w))(t)
			client := netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), tc.client)
			server := netip.AddrPortFrom(netip.MustParseAddr("198.51.100.1"), tc.server)
			at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
			for i, s := range tc.datagrams {
				d := dissect.Datagram{Frame: uint64(i + 1), Time: at, Src: client, Dst: server, Payload: []byte(header + s[1:])}
				if s[0] == '<' {
					d.Src, d.Dst = server, client
				}
				a.Datagram(&d)
				at = at.Add(20 * time.Millisecond)
			}
			a.Advance(at.Add(6 * time.Second))
			a.Flush()
			if w.String() != tc.want {
				t.Errorf("%s\nwant\n%s", w.String(), tc.want)
			}
		})
	}
}
