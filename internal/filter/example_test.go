package filter_test

import (
	"fmt"

	"github.com/qdissect/qdissect/internal/filter"
)

func Example() {
	const ethernet = 1
	f, err := filter.Parse("udp port 27015")
	if err != nil {
		fmt.Println(err)
		return
	}
	match, err := f.Matcher(ethernet, filter.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	frame := append([]byte{
		0x02, 0, 0, 0, 0, 0x02, 0x02, 0, 0, 0, 0, 0x01, 0x08, 0x00, // Ethernet
		0x45, 0, 0, 33, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, // IPv4
		0xc3, 0x50, 0x69, 0x87, 0, 13, 0, 0, // UDP, to port 27015
	}, "\xff\xff\xff\xffi"...)
	fmt.Println(match(frame, len(frame)))
	// Output:
	// true
}
