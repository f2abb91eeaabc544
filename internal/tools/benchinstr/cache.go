package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// cacheSizes are the caches of a usual core: 32 KB for instructions and for data, and 512 KB
// for both. cachegrind has two levels, so its last one stands for the second.
var cacheSizes = []string{"--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=524288,8,64"}

// misses are counts of cachegrind: instructions, misses of the first level, and of the second.
type misses struct{ instructions, i1, d1, l2 float64 }

// cycles estimates the time of the counts on a usual core. It is within 12 to 22 % of what was
// measured, and explains a time; it does not replace one.
func (m misses) cycles() float64 { return 0.25*m.instructions + 13*m.i1 + 35*m.l2 }

func (m *misses) add(o misses, times float64) {
	m.instructions += times * o.instructions
	m.i1 += times * o.i1
	m.d1 += times * o.d1
	m.l2 += times * o.l2
}

// stages are the parts of the program, by the package of a function. The first match counts.
var stages = []struct {
	name  string
	match *regexp.Regexp
}{
	{"bzip2", regexp.MustCompile(`dsnet/compress|/bunzip\.`)},
	{"reading", regexp.MustCompile(`internal/capture\.|gopacket`)},
	{"headers", regexp.MustCompile(`internal/(packet|endpoint|convert)\.`)},
	{"engine", regexp.MustCompile(`qdissect/dissect\.`)},
	{"parts and fragments", regexp.MustCompile(`qdissect/reassembly\.`)},
	{"decoders", regexp.MustCompile(`qdissect/dissect/`)},
	{"counts", regexp.MustCompile(`internal/stats\.`)},
	{"output", regexp.MustCompile(`qdissect/report\.|internal/nettext\.`)},
	{"pipeline", regexp.MustCompile(`internal/pipeline\.`)},
	{"runtime and library", regexp.MustCompile(``)},
}

// cacheModes are the outputs whose misses are counted.
var cacheModes = []mode{modes[0], modes[1], modes[2]}

// runCache prints the instructions and the cache misses per packet of each stage, on captures
// with compressed messages.
func runCache(program string, small, large int) error {
	b, done, err := prepare(small, large)
	if err != nil {
		return err
	}
	defer done()
	fmt.Printf("per packet, %d packets minus %d; the large capture has the CRC-32 %08x\n", large, small, b.sum)
	for _, m := range cacheModes {
		byStage, err := b.misses(program, m)
		if err != nil {
			return err
		}
		fmt.Printf("\n| %s | instructions | L1i misses | L1d misses | beyond L2 | cycles |\n|---|---|---|---|---|---|\n", m.name)
		var sum misses
		for i, s := range stages {
			printMisses(s.name, byStage[i])
			sum.add(byStage[i], 1)
		}
		printMisses("all", sum)
	}
	return nil
}

func printMisses(name string, m misses) {
	fmt.Printf("| %s | %.0f | %.1f | %.1f | %.1f | %.0f |\n", name, m.instructions, m.i1, m.d1, m.l2, m.cycles())
}

// misses returns the counts per packet of each stage.
func (b *bench) misses(program string, m mode) ([]misses, error) {
	byStage := make([]misses, len(stages))
	for i, sign := range [...]float64{-1, 1} {
		counts, err := countMisses(program, m.args, b.captures[i])
		if err != nil {
			return nil, err
		}
		for s := range stages {
			byStage[s].add(counts[s], sign/float64(b.packets[1]-b.packets[0]))
		}
	}
	return byStage, nil
}

// countMisses runs the program once and returns its counts by stage.
func countMisses(program string, args []string, capture string) ([]misses, error) {
	dir, err := os.MkdirTemp("", "benchinstr")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "cachegrind.out")
	list := append([]string{"--tool=cachegrind", "--cachegrind-out-file=" + name}, cacheSizes...)
	list = append(list, program)
	for _, arg := range args {
		if arg == in {
			arg = capture
		}
		list = append(list, arg)
	}
	cmd := exec.Command("valgrind", list...)
	cmd.Env = quietRuntime()
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%.2000s", strings.Join(cmd.Args, " "), err, said)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readMisses(f)
}

// readMisses reads the output of cachegrind: lines "fn=NAME", each followed by lines with a
// line number and the counts Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw.
func readMisses(f *os.File) ([]misses, error) {
	byStage := make([]misses, len(stages))
	stage := len(stages) - 1
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if fn, ok := strings.CutPrefix(line, "fn="); ok {
			for stage = 0; !stages[stage].match.MatchString(fn); stage++ {
			}
			continue
		}
		if line == "" || line[0] < '0' || line[0] > '9' {
			continue
		}
		var n [9]float64
		words := strings.Fields(line)
		if len(words) != 1+len(n) {
			return nil, fmt.Errorf("cachegrind wrote %q instead of a line number and %d counts", line, len(n))
		}
		for i := range n {
			var err error
			if n[i], err = strconv.ParseFloat(words[i+1], 64); err != nil {
				return nil, err
			}
		}
		byStage[stage].add(misses{n[0], n[1], n[4] + n[7], n[2] + n[5] + n[8]}, 1)
	}
	return byStage, lines.Err()
}
