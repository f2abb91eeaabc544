package work

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/qdissect/qdissect/internal/must"
)

// A server whose disk is full does not take all units: none may count as done.
func TestServerFull(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	list := "#!/bin/sh\nfor i in $(seq 1000); do echo '{\"unit\":\"'$i'\",\"inputs\":[{\"path\":\"x\",\"name\":\"x\"}]}'; done; echo '{\"done\":0}'\n"
	must.Do(t, os.WriteFile(program, []byte(list), 0o777))
	_, err := Run(context.Background(), Options{
		Conn: serve(t, 40_000), Name: "run", Program: Program{Path: program}, Dir: dir, Out: "out", Shards: 1, Lost: time.Second, Err: io.Discard,
		Progress: func(Progress) {}, Say: func(string) {},
	})
	if err == nil || !strings.Contains(err.Error(), "the server does not take the units: ") || !strings.Contains(err.Error(), "insufficient resources") {
		t.Error(err)
	}
}

// A worker of a run that was killed takes no unit of the next one, which it would dissect into another folder. One that ends says what
// it has done.
func TestEnds(t *testing.T) {
	q := must.Get(newQueue(serve(t, 0), "run"))(t)
	next := &Record{Session: "next", Lost: time.Minute}
	must.Do(t, q.create(t.Context(), next))
	must.Get(q.js.Publish(t.Context(), q.subject(), []byte(`{"unit":"a"}`)))(t)
	c := must.Get(q.js.Consumer(t.Context(), q.stream(), next.Session))(t)
	ended, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	w := &worker{queue: q, run: &Record{Session: "killed", Lost: time.Minute}, child: &child{cmd: exec.Command("true"), in: nopCloser{io.Discard}, out: bufio.NewReader(strings.NewReader(`{"sha256":"x"}` + "\n")), last: new(LastWords)}}
	must.Do(t, w.work(ended))
	msg := must.Get(c.Next(jetstream.FetchMaxWait(time.Second)))(t)
	w.run = next
	must.Do(t, w.handle(ended, msg))
	if s := must.Get(q.js.Stream(t.Context(), q.stream()))(t); s.CachedInfo().State.Msgs > 0 {
		t.Error("what is done is done again")
	}
}

// serve returns a connection to a server with so many bytes of disk, 0 for as many as there are.
func serve(t testing.TB, most int64) *nats.Conn {
	t.Helper()
	s := must.Get(server.NewServer(&server.Options{JetStream: true, StoreDir: t.TempDir(), DontListen: true, JetStreamMaxStore: most, NoLog: true, NoSigs: true}))(t)
	s.Start()
	t.Cleanup(s.Shutdown)
	conn := must.Get(nats.Connect("", nats.InProcessServer(s)))(t)
	t.Cleanup(conn.Close)
	return conn
}

// An order is a message of the queue.
type order struct {
	jetstream.Msg
	data []byte
}

func (o *order) Data() []byte                              { return o.data }
func (o *order) Headers() nats.Header                      { return nil }
func (o *order) Metadata() (*jetstream.MsgMetadata, error) { return nil, io.EOF }
func (o *order) Nak() error                                { return nil }
func (o *order) Term() error                               { return nil }
func (o *order) DoubleAck(context.Context) error           { return nil }

// FuzzMessages: whatever the queue has, what a qdissect says of a unit, and the entries of a run, a worker does not end, and status
// writes nothing that a terminal obeys.
func FuzzMessages(f *testing.F) {
	conn := serve(f, 0)
	q, err := newQueue(conn, "run")
	if err == nil {
		q.kv, err = q.js.CreateKeyValue(f.Context(), jetstream.KeyValueConfig{Bucket: q.bucket(), Storage: jetstream.MemoryStorage})
	}
	must.Do(f, err)
	f.Add([]byte(`{"unit":"a","inputs":[]}`), []byte(`{"unit":"a","sha256":"x","trouble":["y"]}`), []byte(`{"host":"h","units":3}`), []byte(`{"worker":"w","unit":"a"}`), []byte(`{"unit":"a","version":"v"}`))
	f.Add([]byte(`{`), []byte(`{"error":"\u001b"}`), []byte(`{"ended":true,"dir":"\u202e"}`), []byte(`{"ended":"\n"}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, unit, outcome, run, state, done []byte) {
		var named struct{ Unit string }
		_ = json.Unmarshal(unit, &named) // or none
		for key, b := range map[string][]byte{runKey: run, workerKey + "x": state, badKey + "x": outcome, doneKey + keyOf(named.Unit): done} {
			must.Get(q.kv.Put(t.Context(), key, b))(t)
		}
		w := &worker{queue: q, run: &Record{}, child: &child{cmd: exec.Command("true"), in: nopCloser{io.Discard}, out: bufio.NewReader(bytes.NewReader(append(outcome, '\n'))), last: new(LastWords)}}
		if err := w.handle(t.Context(), &order{data: unit}); err != nil {
			t.Errorf("the worker ends: %v", err)
		}
		var text bytes.Buffer
		_ = Status(t.Context(), conn, "run", &text) // its error is written as safely
		if i := bytes.IndexFunc(text.Bytes(), func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r == 0x202e }); i >= 0 {
			t.Errorf("%q", &text)
		}
	})
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
