package work

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// A server whose disk is full does not take all units: none may count as done.
func TestServerFull(t *testing.T) {
	dir := t.TempDir()
	s, err := server.NewServer(&server.Options{JetStream: true, StoreDir: dir, DontListen: true, JetStreamMaxStore: 40_000, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.Shutdown()
	conn, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	program := filepath.Join(dir, "program")
	list := "#!/bin/sh\nfor i in $(seq 1000); do echo '{\"unit\":\"'$i'\",\"inputs\":[{\"path\":\"x\",\"name\":\"x\"}]}'; done; echo '{\"done\":0}'\n"
	if err := os.WriteFile(program, []byte(list), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err = Run(context.Background(), Options{
		Conn: conn, Name: "run", Program: Program{Path: program}, Dir: dir, Out: "out", Shards: 1, Lost: time.Second, Err: io.Discard,
		Progress: func(Progress) {}, Say: func(string) {},
	})
	if err == nil || !strings.Contains(err.Error(), "the server does not take the units: ") || !strings.Contains(err.Error(), "insufficient resources") {
		t.Error(err)
	}
}
