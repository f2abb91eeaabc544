// Command benchinstr counts the instructions that qdissect executes per packet,
// with valgrind's callgrind. Times on a shared machine differ by a quarter from
// run to run, these counts by less than a thousandth. It makes a small and a
// large capture with mklarge, without compressed messages, and divides the
// difference of the counts by the difference in packets, so that the start of
// the program does not count. With a second program it compares the two on the
// same captures. Run it in the root of the project; make bench-instr does.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	program := flag.String("program", "", "the qdissect to measure")
	base := flag.String("base", "", "another qdissect to compare it with")
	small := flag.Int("small", 10_000, "packets of the small capture")
	large := flag.Int("large", 40_000, "packets of the large capture")
	flag.Parse()
	if err := run(*program, *base, *small, *large); err != nil {
		fmt.Fprintln(os.Stderr, "benchinstr:", err)
		os.Exit(1)
	}
}

// modes are the outputs measured.
var modes = []struct {
	name string
	args []string
}{
	{"-q", []string{"-q", "-j", "1", in}},
	{"text", []string{"-j", "1", in}},
	{"-o jsonl", []string{"-o", "jsonl", "-j", "1", in}},
	// Filters that all messages match, of the envelope and of fields.
	{"-o jsonl -Y 'length <= wire_length'", []string{"-o", "jsonl", "-j", "1", "-Y", "length <= wire_length", in}},
	{"-o jsonl -Y 'not a2s.num_players > a2s.max_players'", []string{"-o", "jsonl", "-j", "1", "-Y", "not a2s.num_players > a2s.max_players", in}},
	{"anonymize", []string{"anonymize", "--key", "00112233445566778899aabbccddeeff", in, out}},
	{"cut -Y a2s", []string{"cut", "-Y", "a2s", in, out}},
}

// in and out stand for the capture and for a new file.
const in, out = "IN", "OUT"

// start measures the start of the program, with a small file.
var start = []string{"-q", "-j", "1", in}

const startCapture = "testdata/pcaps/a2s/a2s-goldsrc-split.pcap"

func run(program, base string, small, large int) error {
	if program == "" || small < 1 || large <= small {
		return errors.New("no program, or the large capture is not larger than the small one")
	}
	dir, err := os.MkdirTemp("", "benchinstr")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	captures := map[int]string{small: filepath.Join(dir, "small.pcap"), large: filepath.Join(dir, "large.pcap")}
	for packets, name := range captures {
		if out, err := exec.Command("go", "run", "./internal/tools/mklarge", "-plain", "-n", strconv.Itoa(packets), "-o", name).CombinedOutput(); err != nil {
			return fmt.Errorf("mklarge: %w\n%s", err, out)
		}
	}
	capture, err := os.ReadFile(captures[large])
	if err != nil {
		return err
	}
	fmt.Printf("instructions per packet, %d packets minus %d; the large capture has the CRC-32 %08x\n\n", large, small, crc32.ChecksumIEEE(capture))
	if base == "" {
		fmt.Printf("| output | instructions |\n|---|---|\n")
	} else {
		fmt.Printf("| output | base | program | growth |\n|---|---|---|---|\n")
	}
	row := func(name string, count func(program string) (float64, error)) error {
		now, err := count(program)
		if err != nil {
			return err
		}
		if base == "" {
			fmt.Printf("| `%s` | %.0f |\n", name, now)
			return nil
		}
		before, err := count(base)
		if err != nil {
			return err
		}
		fmt.Printf("| `%s` | %.0f | %.0f | %+.2f %% |\n", name, before, now, 100*(now/before-1))
		return nil
	}
	for _, m := range modes {
		err := row(m.name, func(program string) (float64, error) {
			few, err := least(program, m.args, captures[small])
			if err != nil {
				return 0, err
			}
			many, err := least(program, m.args, captures[large])
			return float64(many-few) / float64(large-small), err
		})
		if err != nil {
			return err
		}
	}
	return row("a small file, in all", func(program string) (float64, error) {
		n, err := least(program, start, startCapture)
		return float64(n), err
	})
}

// least returns the smallest count of three runs. Differences between runs come from the
// Go runtime.
func least(program string, args []string, capture string) (int64, error) {
	smallest := int64(math.MaxInt64)
	for range 3 {
		n, err := count(program, args, capture)
		if err != nil {
			return 0, err
		}
		smallest = min(smallest, n)
	}
	return smallest, nil
}

var counted = regexp.MustCompile(`Collected : (\d+)`)

// count returns the number of instructions that the program executes to read a capture.
func count(program string, args []string, capture string) (int64, error) {
	dir, err := os.MkdirTemp("", "benchinstr")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	list := []string{"--tool=callgrind", "--callgrind-out-file=/dev/null", program}
	for _, arg := range args {
		switch arg {
		case in:
			arg = capture
		case out:
			arg = filepath.Join(dir, "out.pcapng")
		}
		list = append(list, arg)
	}
	cmd := exec.Command("valgrind", list...)
	// Garbage collection and preemption happen at different moments in each run, and
	// callgrind fails on the signals of preemption.
	cmd.Env = append(os.Environ(), "GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, said.String())
	}
	m := counted.FindSubmatch(said.Bytes())
	if m == nil {
		return 0, fmt.Errorf("valgrind gave no count:\n%s", said.String())
	}
	return strconv.ParseInt(string(m[1]), 10, 64)
}
