package halflife_test

import (
	"fmt"

	"github.com/qdissect/qdissect/dissect/halflife"
)

// A reply to the query infostring lists the settings of the server.
func ExampleParse() {
	payload := []byte("\xff\xff\xff\xffinfostringresponse\x00\\hostname\\A server\\map\\crossfire\x00")
	m, err := halflife.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	if reply, ok := m.(*halflife.InfoStringReply); ok {
		for _, rule := range reply.Rules {
			fmt.Printf("%s is %q\n", rule.Key, rule.Value)
		}
	}
	// Output:
	// hostname is "A server"
	// map is "crossfire"
}
