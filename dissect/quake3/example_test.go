package quake3_test

import (
	"errors"
	"fmt"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/quake3"
	"github.com/qdissect/qdissect/internal/core"
)

// Decode a payload from a socket or a bug report.
func ExampleParse() {
	payload := []byte("\xff\xff\xff\xffstatusResponse\n\\sv_hostname\\^1My ^7server\\mapname\\q3dm17\n14 52 \"^4Alice\"\n0 0 \"Sarge\"\n")
	m, err := quake3.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	switch m := m.(type) {
	case *quake3.StatusReply:
		for _, r := range m.Rules {
			fmt.Println(r.Key, "=", r.Value)
		}
		for _, p := range m.Players {
			name := core.AppendText(nil, p.Name, dissect.Guessed, dissect.Quake3) // without colours
			fmt.Println(string(name), p.Score.Value, p.Ping.Value)
		}
	default:
		fmt.Printf("a %T\n", m)
	}
	// Output:
	// sv_hostname = ^1My ^7server
	// mapname = q3dm17
	// Alice 14 52
	// Sarge 0 0
}

// An error says where reading ended.
func ExampleParse_error() {
	_, err := quake3.Parse([]byte("\xff\xff\xff\xffgetstatusx"))
	var e *dissect.Error
	if errors.As(err, &e) {
		fmt.Println(e)
		fmt.Println(e.Field.Path, e.Offset)
	}
	// Output:
	// quake3.command: no such message at offset 4
	// quake3.command 4
}
