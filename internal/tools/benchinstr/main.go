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
	cache := flag.Bool("cache", false, "count cache misses as well, with cachegrind, on captures with compressed messages")
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
		now, err := b.measure(program, m, instructions, 3)
		if err != nil {
			return err
		}
		if base == "" {
			fmt.Printf("| `%s` | %.0f |\n", m.name, now[0])
			continue
		}
		before, err := b.measure(base, m, instructions, 3)
		if err != nil {
			return err
		}
		fmt.Printf("| `%s` | %.0f | %.0f | %+.2f %% |\n", m.name, before[0], now[0], 100*(now[0]/before[0]-1))
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
		now, err := b.measure(program, modes[i], instructions, 1)
		if err != nil {
			return err
		}
		growth := 100 * (now[0]/said - 1)
		fmt.Printf("| `%s` | %.0f | %.0f | %+.2f %% |\n", row[1], said, now[0], growth)
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

// measure returns the counts per packet, the smallest of some runs, or those of the start in
// all.
func (b *bench) measure(program string, m mode, with tool, runs int) (counts, error) {
	if m.name == start {
		return least(program, m.args, startCapture, with, runs)
	}
	few, err := least(program, m.args, b.captures[0], with, runs)
	if err != nil {
		return few, err
	}
	many, err := least(program, m.args, b.captures[1], with, runs)
	for i := range many {
		many[i] = (many[i] - few[i]) / float64(b.packets[1]-b.packets[0])
	}
	return many, err
}

// least returns the smallest counts of some runs. Differences between runs come from the
// Go runtime.
func least(program string, args []string, capture string, with tool, runs int) (smallest counts, err error) {
	for run := range runs {
		c, err := count(program, args, capture, with)
		if err != nil {
			return c, err
		}
		if run == 0 || c[0] < smallest[0] {
			smallest = c
		}
	}
	return smallest, nil
}

// counts are instructions, and misses of the caches: of instructions and of data in the
// first level, and of both in the second. Not every tool counts all of them.
type counts [4]float64

// A tool of valgrind counts; found are what it prints of each count.
type tool struct {
	args  []string
	found []*regexp.Regexp
}

var (
	instructions = tool{[]string{"--tool=callgrind", "--callgrind-out-file=/dev/null"}, []*regexp.Regexp{regexp.MustCompile(`Collected : (\d+)`)}}
	// The caches of a usual core: 32 KB for instructions and for data, and 512 KB for both.
	// cachegrind has two levels, so its last one stands for the second.
	caches = tool{
		[]string{"--tool=cachegrind", "--cachegrind-out-file=/dev/null", "--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=524288,8,64"},
		[]*regexp.Regexp{regexp.MustCompile(`I +refs: +([\d,]+)`), regexp.MustCompile(`I1 +misses: +([\d,]+)`), regexp.MustCompile(`D1 +misses: +([\d,]+)`), regexp.MustCompile(`LL +misses: +([\d,]+)`)},
	}
)

// count returns what the program needs to read a capture. In the environment, the Go runtime
// does the same in every run: garbage collection and preemption happen at different moments
// otherwise, and valgrind fails on the signals of preemption.
func count(program string, args []string, capture string, with tool) (c counts, err error) {
	dir, err := os.MkdirTemp("", "benchinstr")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	list := append(slices.Clone(with.args), program)
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
	cmd.Env = append(os.Environ(), "GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return c, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, said.String())
	}
	for i, what := range with.found {
		m := what.FindSubmatch(said.Bytes())
		if m == nil {
			return c, fmt.Errorf("valgrind gave no count:\n%s", said.String())
		}
		if c[i], err = strconv.ParseFloat(strings.ReplaceAll(string(m[1]), ",", ""), 64); err != nil {
			return c, err
		}
	}
	return c, nil
}

// runCache prints the instructions and the cache misses per packet, on captures with
// compressed messages. The cycles are within 12 to 22 % of what was measured, and explain a
// time; they do not replace one.
func runCache(program string, small, large int) error {
	b, done, err := prepare(small, large)
	if err != nil {
		return err
	}
	defer done()
	fmt.Printf("per packet, %d packets minus %d; the large capture has the CRC-32 %08x\n", large, small, b.sum)
	fmt.Print("\n| output | instructions | L1i misses | L1d misses | beyond L2 | cycles |\n|---|---|---|---|---|---|\n")
	for _, m := range modes[:3] {
		c, err := b.measure(program, m, caches, 1)
		if err != nil {
			return err
		}
		fmt.Printf("| `%s` | %.0f | %.1f | %.1f | %.1f | %.0f |\n", m.name, c[0], c[1], c[2], c[3], 0.25*c[0]+13*c[1]+35*c[3])
	}
	return nil
}
