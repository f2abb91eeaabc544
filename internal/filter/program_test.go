package filter

import (
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/qdissect/qdissect/internal/must"
)

const (
	decimal = "12\n40 0 0 12\n21 0 2 2048\n48 0 0 23\n21 6 7 17\n21 0 6 34525\n48 0 0 20\n21 3 0 17\n21 0 3 44\n48 0 0 54\n21 0 1 17\n6 0 0 262144\n6 0 0 0\n"
	inC     = "{ 0x28, 0, 0, 0x0000000c },\n{ 0x15, 0, 2, 0x00000800 },\n{ 0x30, 0, 0, 0x00000017 },\n{ 0x15, 6, 7, 0x00000011 },\n" +
		"{ 0x15, 0, 6, 0x000086dd },\n{ 0x30, 0, 0, 0x00000014 },\n{ 0x15, 3, 0, 0x00000011 },\n{ 0x15, 0, 3, 0x0000002c },\n" +
		"{ 0x30, 0, 0, 0x00000036 },\n{ 0x15, 0, 1, 0x00000011 },\n{ 0x6, 0, 0, 0x00040000 },\n{ 0x6, 0, 0, 0x00000000 },\n"
)

// TestParseProgram parses the output of tcpdump for "udp", which equals our program.
func TestParseProgram(t *testing.T) {
	own := must.Get(parseFor(t, "udp").Compile(1, Options{}))(t)
	for _, text := range []string{decimal, inC, strings.ReplaceAll(decimal, "\n", "\r\n"), "\n" + inC} {
		p := must.Get(ParseProgram(strings.NewReader(text)))(t)
		if p.String() != decimal || own.String() != decimal {
			t.Errorf("got\n%v\nown\n%v", p, own)
		}
	}
}

func TestParseProgramErrors(t *testing.T) {
	for _, test := range [][2]string{
		{"", "filter program: no instructions"},
		{"udp port 53", "filter program, line 1: an instruction is four numbers, not \"udp port 53\""},
		{"2\n6 0 0 0\n", "filter program: 2 instructions announced, 1 found"},
		{"0\n", "filter program, line 1: the number of instructions must be 1 to 4096, not \"0\""},
		{"99999\n", "filter program, line 1: the number of instructions must be 1 to 4096, not \"99999\""},
		{"udp\n", "filter program, line 1: the number of instructions must be 1 to 4096, not \"udp\""},
		{"1\n6 0 0\n", "filter program, line 2: an instruction is four numbers, not \"6 0 0\""},
		{"1\n6 0 256 0\n", "filter program, line 2: \"256\" is not a number of 8 bits"},
		{"1\n6 0 0 4294967296\n", "filter program, line 2: \"4294967296\" is not a number of 32 bits"},
		{"1\n255 0 0 0\n", "filter program: instruction 0: unknown code 0xff 0"},
		{"1\n40 0 0 12\n", "filter program: BPF program must end with RetA or RetConstant"},
		{"2\n21 1 0 0\n6 0 0 0\n", "filter program: cannot jump 1 instructions in true case; jumping past program bounds"},
		{"2\n5 0 0 1\n6 0 0 0\n", "filter program: cannot jump 1 instructions; jumping past program bounds"},
		{"3\n40 0 0 12\n5 0 0 4294967294\n6 0 0 0\n", "filter program: instruction 1: backward jump, as in the loop of protochain"},
		{"2\n96 0 0 16\n6 0 0 0\n", "filter program: instruction 0: unknown code 0x60 16"},
		{"2\n52 0 0 0\n6 0 0 0\n", "filter program: cannot divide by zero using ALUOpConstant"},
		{"2\n100 0 0 32\n6 0 0 0\n", "filter program: instruction 0: shift by more than 31 bits"},
		{strings.Repeat("{ 0x6, 0, 0, 0 },\n", maxInstructions+1), "filter program, line 4097: more than 4096 instructions"},
		{strings.Repeat("6 ", 100000), "filter program, line 1: bufio.Scanner: token too long"},
	} {
		_, err := ParseProgram(strings.NewReader(test[0]))
		if err == nil || err.Error() != test[1] {
			t.Errorf("%.40q: got %v, want %s", test[0], err, test[1])
		}
	}
}

// TestMachine tests instructions that the machine of x/net/bpf has otherwise or not at all.
func TestMachine(t *testing.T) {
	for _, test := range []struct {
		name string
		code []bpf.RawInstruction
		want uint32
	}{
		{"negation", []bpf.RawInstruction{{Op: 0x00, K: 5}, {Op: 0x84}, {Op: 0x16}}, 1<<32 - 5},
		{"length of the frame", []bpf.RawInstruction{{Op: 0x80}, {Op: 0x16}}, 1500},
		{"length in X", []bpf.RawInstruction{{Op: 0x81}, {Op: 0x87}, {Op: 0x16}}, 1500},
		{"tag beside the frame", []bpf.RawInstruction{{Op: 0x00, K: 7}, {Op: 0x30, K: kernelOffset + vlanTagPresent}, {Op: 0x04, K: 1}, {Op: 0x16}}, 1},
		{"random number", []bpf.RawInstruction{{Op: 0x20, K: kernelOffset + 56}, {Op: 0x06, K: 1}}, 0},
		{"shift by 32", []bpf.RawInstruction{{Op: 0x01, K: 32}, {Op: 0x00, K: 1}, {Op: 0x6c}, {Op: 0x04, K: 3}, {Op: 0x16}}, 3},
		{"division by zero", []bpf.RawInstruction{{Op: 0x00, K: 1}, {Op: 0x3c}, {Op: 0x06, K: 1}}, 0},
		{"beyond the end", []bpf.RawInstruction{{Op: 0x01, K: 0xffffffff}, {Op: 0x50, K: 2}, {Op: 0x06, K: 1}}, 0},
	} {
		p := must.Get(newProgram(test.code))(t)
		if got := p.run(make([]byte, 60), 1500); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}
