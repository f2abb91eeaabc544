// Command benchinstr counts the instructions that qdissect executes per packet,
// with valgrind's callgrind. Times on a shared machine differ by a quarter from
// run to run, these counts by less than a thousandth. It makes a small and a
// large capture with mklarge, without compressed messages, and divides the
// difference of the counts by the difference in packets, so that the start of
// the program does not count. With a second program it compares the two on the
// same captures. Run it in the root of the project; make bench-instr does.
//
// With -check FILE it measures each row of the table below the line that begins
// with "<!-- benchinstr" in FILE, once, with the sizes that the line gives, and
// fails if one has grown by more than 3 %.
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
	"runtime"
	"slices"
	"strconv"
	"strings"
)

func main() {
	program := flag.String("program", "", "the qdissect to measure")
	base := flag.String("base", "", "another qdissect to compare it with")
	small := flag.Int("small", 10_000, "packets of the small capture")
	large := flag.Int("large", 40_000, "packets of the large capture")
	check := flag.String("check", "", "a file with figures that must still hold")
	cache := flag.Bool("cache", false, "count cache misses by stage as well, with cachegrind, on captures with compressed messages")
	flag.Parse()
	var err error
	switch {
	case *check != "":
		err = compare(*program, *check)
	case *cache:
		err = runCache(*program, *small, *large)
	default:
		err = run(*program, *base, *small, *large)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchinstr:", err)
		os.Exit(1)
	}
}

type mode struct {
	name string
	args []string
}

// modes are the outputs measured.
var modes = []mode{
	{"-q", []string{"-q", "-j", "1", in}},
	{"text", []string{"-j", "1", in}},
	{"-o jsonl", []string{"-o", "jsonl", "-j", "1", in}},
	// Filters that all messages match, of the envelope and of fields.
	{"-o jsonl -Y 'length <= wire_length'", []string{"-o", "jsonl", "-j", "1", "-Y", "length <= wire_length", in}},
	{"-o jsonl -Y 'not a2s.num_players > a2s.max_players'", []string{"-o", "jsonl", "-j", "1", "-Y", "not a2s.num_players > a2s.max_players", in}},
	{"anonymize", []string{"anonymize", "--key", "00112233445566778899aabbccddeeff", in, out}},
	{"cut -Y a2s", []string{"cut", "-Y", "a2s", in, out}},
	{start, []string{"-q", "-j", "1", in}},
}

// in and out stand for the capture and for a new file.
const in, out = "IN", "OUT"

// start is the mode that measures the start of the program, with a small file.
const start = "a small file, in all"

const startCapture = "testdata/pcaps/a2s/a2s-goldsrc-split.pcap"

func run(program, base string, small, large int) error {
	if program == "" || small < 1 || large <= small {
		return errors.New("no program, or the large capture is not larger than the small one")
	}
	b, done, err := prepare(small, large, "-plain")
	if err != nil {
		return err
	}
	defer done()
	fmt.Printf("instructions per packet, %d packets minus %d; the large capture has the CRC-32 %08x\n\n", large, small, b.sum)
	if base == "" {
		fmt.Printf("| output | instructions |\n|---|---|\n")
	} else {
		fmt.Printf("| output | base | program | growth |\n|---|---|---|---|\n")
	}
	for _, m := range modes {
		now, err := b.measure(program, m, 3)
		if err != nil {
			return err
		}
		if base == "" {
			fmt.Printf("| `%s` | %.0f |\n", m.name, now)
			continue
		}
		before, err := b.measure(base, m, 3)
		if err != nil {
			return err
		}
		fmt.Printf("| `%s` | %.0f | %.0f | %+.2f %% |\n", m.name, before, now, 100*(now/before-1))
	}
	return nil
}

var (
	marked = regexp.MustCompile(`(?m)^<!-- benchinstr: (\S+) (\S+), (\d+) packets minus (\d+) -->\n`)
	figure = regexp.MustCompile("^\\| `(.+)` \\| (\\d+) \\|$")
)

// tolerated is the growth in percent that compare lets pass.
const tolerated = 3

func compare(program, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	m := marked.FindSubmatchIndex(text)
	if m == nil {
		return fmt.Errorf("%s has no line <!-- benchinstr: GO-VERSION OS/ARCHITECTURE, N packets minus M -->", name)
	}
	sub := func(i int) string { return string(text[m[2*i]:m[2*i+1]]) }
	// Another compiler makes other instructions: what it counts is shown and not judged.
	judged := sub(1) == runtime.Version() && sub(2) == runtime.GOOS+"/"+runtime.GOARCH
	large, _ := strconv.Atoi(sub(3))
	small, _ := strconv.Atoi(sub(4))
	b, done, err := prepare(small, large, "-plain")
	if err != nil {
		return err
	}
	defer done()
	rows := 0
	var grown []string
	for line := range strings.Lines(string(text[m[1]:])) {
		row := figure.FindStringSubmatch(strings.TrimSpace(line))
		if row == nil {
			if rows > 0 {
				break // the end of the table
			}
			continue
		}
		rows++
		i := slices.IndexFunc(modes, func(m mode) bool { return m.name == row[1] })
		if i < 0 {
			return fmt.Errorf("%s: no mode is called %s", name, row[1])
		}
		said, _ := strconv.ParseFloat(row[2], 64)
		now, err := b.measure(program, modes[i], 1)
		if err != nil {
			return err
		}
		growth := 100 * (now/said - 1)
		fmt.Printf("| `%s` | %.0f | %.0f | %+.2f %% |\n", row[1], said, now, growth)
		if growth > tolerated {
			grown = append(grown, row[1])
		}
	}
	switch {
	case rows == 0:
		return fmt.Errorf("%s has no figures to compare with", name)
	case !judged:
		fmt.Printf("not judged: the figures are of %s on %s, this is %s on %s/%s\n", sub(1), sub(2), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	case len(grown) > 0:
		return fmt.Errorf("more than %d %% more instructions than %s says: %s. Mend it, or say there why and change the figures", tolerated, name, strings.Join(grown, ", "))
	}
	return nil
}

// bench has the two captures of a measurement.
type bench struct {
	packets  [2]int
	captures [2]string
	sum      uint32 // CRC-32 of the large capture
}

// prepare makes the captures. The caller calls done when they are no longer needed.
func prepare(small, large int, options ...string) (b *bench, done func(), err error) {
	dir, err := os.MkdirTemp("", "benchinstr")
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	b = &bench{
		packets:  [2]int{small, large},
		captures: [2]string{filepath.Join(dir, "small.pcap"), filepath.Join(dir, "large.pcap")},
	}
	for i, packets := range b.packets {
		args := append([]string{"run", "./internal/tools/mklarge", "-n", strconv.Itoa(packets), "-o", b.captures[i]}, options...)
		out, err := exec.Command("go", args...).CombinedOutput()
		if err != nil {
			return nil, nil, fmt.Errorf("mklarge: %w\n%s", err, out)
		}
	}
	capture, err := os.ReadFile(b.captures[1])
	if err != nil {
		return nil, nil, err
	}
	b.sum = crc32.ChecksumIEEE(capture)
	return b, func() { os.RemoveAll(dir) }, nil
}

// measure returns the instructions per packet, the smallest of some runs, or those of the
// start in all.
func (b *bench) measure(program string, m mode, runs int) (float64, error) {
	if m.name == start {
		n, err := least(program, m.args, startCapture, runs)
		return float64(n), err
	}
	few, err := least(program, m.args, b.captures[0], runs)
	if err != nil {
		return 0, err
	}
	many, err := least(program, m.args, b.captures[1], runs)
	return float64(many-few) / float64(b.packets[1]-b.packets[0]), err
}

// least returns the smallest count of some runs. Differences between runs come from the
// Go runtime.
func least(program string, args []string, capture string, runs int) (int64, error) {
	smallest := int64(math.MaxInt64)
	for range runs {
		n, err := count(program, args, capture)
		if err != nil {
			return 0, err
		}
		smallest = min(smallest, n)
	}
	return smallest, nil
}

// quietRuntime returns an environment in which the Go runtime does the same in every run:
// garbage collection and preemption happen at different moments otherwise, and valgrind fails
// on the signals of preemption.
func quietRuntime() []string {
	return append(os.Environ(), "GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
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
	cmd.Env = quietRuntime()
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
