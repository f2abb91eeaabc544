package qdissecttest_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/qdissecttest"
)

func TestInfo(t *testing.T) {
	addr := qdissecttest.Serve(t, "testdata/server.pcap")
	info, err := Info(addr) // your own function
	if err != nil || info.Map != "ctf_2fort" || info.Players != 18 {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestReadmeServe checks that TestInfo is the example of the README.
func TestReadmeServe(t *testing.T) {
	readme, source := must.Get(os.ReadFile("../README.md"))(t), must.Get(os.ReadFile("readme_test.go"))(t)
	text := func(b []byte) string { return strings.ReplaceAll(string(b), "\r\n", "\n") }
	_, example, ok := strings.Cut(text(readme), "```go\nfunc TestInfo(")
	example, _, _ = strings.Cut(example, "```\n")
	if !ok || !strings.Contains(text(source), "\nfunc TestInfo("+example+"\n") {
		t.Errorf("the README has another example:\n%s", example)
	}
}

// A reply is what the client of the example reads of an info reply.
type reply struct {
	Name, Map string
	Players   int
}

// Info stands for the function of a query library that asks a server for its state.
func Info(addr string) (*reply, error) {
	conn, err := net.Dial("udp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		return nil, err
	}
	const question = "\xff\xff\xff\xffTSource Engine Query\x00"
	challenge := ""
	for range 3 {
		if _, err := conn.Write([]byte(question + challenge)); err != nil {
			return nil, err
		}
		b := make([]byte, 1400)
		n, err := conn.Read(b)
		if err != nil {
			return nil, err
		}
		if b = b[:n]; n == 9 && b[4] == 'A' {
			challenge = string(b[5:])
			continue
		}
		if n < 6 || b[4] != 'I' {
			break
		}
		texts := bytes.SplitN(b[6:], []byte{0}, 5) // name, map, folder, game, and the rest
		if len(texts) < 5 || len(texts[4]) < 3 {
			break
		}
		rest := texts[4] // begins with two bytes of the app id
		return &reply{string(texts[0]), string(texts[1]), int(rest[2])}, nil
	}
	return nil, errors.New("no info reply")
}
