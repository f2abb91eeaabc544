package qdissecttest_test

import (
	"net"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/qdissecttest"
)

var t *testing.T // the argument of the test function

// A client must bear datagrams that arrive twice.
func ExampleServe() {
	addr := qdissecttest.Serve(t, "testdata/server.pcap", qdissecttest.WithFaults(qdissecttest.Faults{Duplicate: 1}))
	if info, err := Info(addr); err != nil || info.Map != "ctf_2fort" {
		t.Errorf("%+v, %v", info, err)
	}
}

// The capture must equal testdata/server.golden.jsonl, except for the score and the
// time of players.
func ExampleGolden() {
	qdissecttest.Golden(t, "testdata/server.pcap",
		qdissecttest.Ignore("a2s.players[*].score", "a2s.players[*].duration_s"))
}

// The server must have answered all requests, and must have a free slot.
func ExampleMessages() {
	for _, m := range qdissecttest.Messages(t, "testdata/server.pcap") {
		if m.Role == dissect.Request && len(m.Replies) == 0 {
			t.Errorf("%v was not answered", m)
		}
		if m.Server != nil && m.Server.Players >= m.Server.MaxPlayers {
			t.Errorf("%v: %d players of %d", m, m.Server.Players, m.Server.MaxPlayers)
		}
	}
}

// Fields of a single protocol are in the struct of the protocol.
func ExampleBody() {
	for _, m := range qdissecttest.Messages(t, "testdata/server.pcap") {
		if m.Name == "info_reply" {
			if info := qdissecttest.Body[a2s.InfoReply](t, m); info.Keywords.Value == "" {
				t.Errorf("%v: no keywords", m)
			}
		}
	}
}

// The capture must have no warnings or errors.
func ExampleFindings() {
	for _, f := range qdissecttest.Findings(t, "testdata/server.pcap") {
		if f.Severity > dissect.Note {
			t.Error(f)
		}
	}
}

// A client queries the server under test, and their conversation must not change.
func ExampleRecord() {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn = qdissecttest.Record(t, conn, qdissecttest.File("testdata/query.pcapng"))

	// go myserver.Serve(conn)
	// myclient.Query(conn.LocalAddr())

	qdissecttest.Golden(t, "testdata/query.pcapng", qdissecttest.Conversation())
}

// The datagrams that a client sends and receives must not change.
func ExampleRecordConn() {
	conn, err := net.Dial("udp", "127.0.0.1:27015")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn = qdissecttest.RecordConn(t, conn)

	// myclient.New(conn).Info()
}
