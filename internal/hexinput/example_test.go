package hexinput_test

import (
	"fmt"

	"github.com/qdissect/qdissect/internal/hexinput"
)

func ExampleParse() {
	text := "The server answers my query\n" +
		"\n" +
		"    b'\\xff\\xff\\xff\\xffTSource Engine Query\\x00'\n" +
		"\n" +
		"with this (from 12:30:45 on):\n" +
		"\n" +
		"    00000000  ff ff ff ff 41 0b 5f 2a  13                       |....A._*.|\n" +
		"    00000009\n"

	datagrams, err := hexinput.Parse([]byte(text))
	for _, d := range datagrams {
		fmt.Printf("line %d: %q\n", d.Line, d.Data)
	}
	fmt.Println(err)

	_, err = hexinput.Parse([]byte("ff ff ff ff 4l 0b 5f 2a 13"))
	fmt.Println(err)
	// Output:
	// line 3: "\xff\xff\xff\xffTSource Engine Query\x00"
	// line 7: "\xff\xff\xff\xffA\v_*\x13"
	// <nil>
	// line 1, column 14: "l" is not a hex digit
}
