package quake3master_test

import (
	"fmt"

	"github.com/qdissect/qdissect/dissect/quake3master"
)

// Decode one of the replies that make up a list.
func ExampleParse() {
	payload := []byte("\xff\xff\xff\xffgetserversResponse\\\xc6\x33\x64\x0a\x6d\x38\\\xc6\x33\x64\x0b\x6d\x39\\EOT\x00\x00\x00")
	m, err := quake3master.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	if reply, ok := m.(*quake3master.ServersReply); ok {
		for _, server := range reply.Servers {
			fmt.Println(server)
		}
		fmt.Println("end of the list:", reply.End != "")
	}
	// Output:
	// 198.51.100.10:27960
	// 198.51.100.11:27961
	// end of the list: true
}
