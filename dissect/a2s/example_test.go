package a2s_test

import (
	"errors"
	"fmt"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
)

// Decode a payload from a socket or a bug report.
func ExampleParse() {
	payload := []byte("\xff\xff\xff\xffD\x02\x00Alice\x00\x0e\x00\x00\x00\x00\x00\xc8\x42\x00Bob\x00\xfd\xff\xff\xff\x00\x00\x80\x3f")
	m, err := a2s.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	switch m := m.(type) {
	case *a2s.PlayersReply:
		for _, p := range m.Players {
			fmt.Println(p.Name, p.Score, p.Duration)
		}
	default:
		fmt.Printf("a %T\n", m)
	}
	// Output:
	// Alice 14 100
	// Bob -3 1
}

// On an error, the message holds the fields before it.
func ExampleParse_error() {
	m, err := a2s.Parse([]byte("\xff\xff\xff\xffI\x11My server\x00de_du"))
	var e *dissect.Error
	if errors.As(err, &e) {
		fmt.Println(e)
		fmt.Println(e.Field.Path, e.Offset)
	}
	fmt.Println(m.(*a2s.InfoReply).Name)
	// Output:
	// a2s.info.map: no terminator in 5 bytes at offset 16
	// a2s.info.map 16
	// My server
}
