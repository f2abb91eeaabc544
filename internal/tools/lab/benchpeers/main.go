//go:build linux

// Command benchpeers compares qdissect with other packet readers on this machine, all with
// the same large capture in the same run. The figures are ratios of processor time to a C
// program with libpcap that only counts UDP packets: ratios hold from machine to machine,
// seconds do not. Run it in the root of the project, on a machine that does nothing else.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

//go:embed baseline/count.c
var countSource []byte

func main() {
	packets := flag.Int("n", 3_000_000, "packets of the capture")
	runs := flag.Int("runs", 5, "runs of each program; the one that took least counts")
	old := flag.String("old", "", "another qdissect: compare only the two, in turn, with quartiles of -runs rounds")
	dir := flag.String("dir", "", "folder for the captures, kept if given")
	peers := flag.Bool("peers", true, "measure other programs as well")
	slow := flag.Bool("slow", false, "also those that take minutes (ndpiReader, tshark, tcpdump as text)")
	flag.Parse()
	err := error(nil)
	if *old != "" {
		err = runPaired(*old, *packets, *runs, *dir)
	} else {
		err = run(*packets, *runs, *dir, *peers, *slow)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchpeers:", err)
		os.Exit(1)
	}
}

// figure is what one program took.
type figure struct {
	cpu, wall time.Duration
	resident  int64 // bytes, the most at any time
}

// The captures, by their names in the folder.
const (
	large   = "large.pcap"
	foreign = "foreign.pcap"
	flood   = "flood.pcap"
)

// program stands for the program that is measured, capture for the capture.
const program, capture = "PROGRAM", "FILE"

// A row is a measurement. Slow ones take minutes, peers are other programs.
type row struct {
	name, file string
	args       []string
	slow, peer bool
}

var rows = []row{
	{"foreign traffic only, `-q -j1`", foreign, []string{program, "-q", "-j1"}, false, false},
	{"`-q -j1`", large, []string{program, "-q", "-j1"}, false, false},
	{"`-o jsonl -j1`", large, []string{program, "-o", "jsonl", "-j1"}, false, false},
	{"`-o jsonl -j2`", large, []string{program, "-o", "jsonl", "-j2"}, false, false},
	{"text, `-j1`", large, []string{program, "-j1"}, false, false},
	{"text, `-j2`", large, []string{program, "-j2"}, false, false},
	{"`-q -j1`, forged sources", flood, []string{program, "-q", "-j1"}, false, false},
	{"`-q -j2`, forged sources", flood, []string{program, "-q", "-j2"}, false, false},
	{"cat", large, []string{"cat"}, false, true},
	{"tcpdump -w with a port filter", large, []string{"tcpdump", "-w", "/dev/null", "-r", capture, "udp", "port", "27015"}, false, true},
	{"ngrep -q", large, []string{"ngrep", "-q", "-I", capture, "qdissect-not-there"}, false, true},
	{"ndpiReader -q", large, []string{"ndpiReader", "-q", "-i", capture}, true, true},
	{"tcpdump -nn", large, []string{"tcpdump", "-nn", "-r", capture}, true, true},
	{"tshark -q -z io,phs", large, []string{"tshark", "-q", "-z", "io,phs", "-r", capture}, true, true},
	{"tshark, text", large, []string{"tshark", "-n", "-r", capture}, true, true},
	{"tshark -T json", large, []string{"tshark", "-n", "-T", "json", "-r", capture}, true, true},
}

// run makes the captures and measures.
func run(packets, runs int, dir string, peers, slow bool) error {
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "benchpeers"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	built, counter := filepath.Join(dir, "qdissect"), filepath.Join(dir, "count")
	if err := command("go", "build", "-o", built, "./cmd/qdissect").Run(); err != nil {
		return err
	}
	if err := buildCounter(counter); err != nil {
		return fmt.Errorf("the C counter, the baseline of all figures, cannot be built (a C compiler and libpcap's headers are needed): %w", err)
	}
	base := map[string]figure{}
	for _, c := range []struct {
		name string
		args []string
	}{
		{large, []string{"-n", fmt.Sprint(packets)}},
		{foreign, []string{"-n", fmt.Sprint(packets), "-foreign"}},
		{flood, []string{"-n", fmt.Sprint(packets / 10), "-flood", fmt.Sprint(packets * 5 / 3)}},
	} {
		file := filepath.Join(dir, c.name)
		if _, err := os.Stat(file); err != nil {
			fmt.Fprintln(os.Stderr, "making", c.name)
			if err := command("go", append([]string{"run", "./internal/tools/mklarge", "-o", file}, c.args...)...).Run(); err != nil {
				return err
			}
		}
		m, err := measure(runs, counter, file)
		if err != nil {
			return err
		}
		base[c.name] = m
	}
	fmt.Printf("%s, %s/%s, %d cores, %s; %d packets, %d MB; baseline %.0f ns per packet\n\n",
		time.Now().UTC().Format("2006-01-02"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), packets, size(filepath.Join(dir, large))>>20,
		float64(base[large].cpu)/float64(packets))
	fmt.Println("| what | CPU ÷ C count | wall ÷ C count | peak memory |")
	fmt.Println("|---|---|---|---|")
	for _, b := range rows {
		if b.peer && !peers || b.slow && !slow {
			continue
		}
		if err := b.measure(dir, built, runs, base[b.file]); err != nil {
			return err
		}
	}
	m, err := measure(10*runs, built, filepath.Join("testdata", "pcaps", "a2s", "documents.pcap"))
	if err != nil {
		return err
	}
	fmt.Printf("\nstart-up to the end on a small file: %.1f ms at best\n", float64(m.wall.Microseconds())/1000)
	return nil
}

// measure measures a row and prints it. Only our own program must not fail.
func (b *row) measure(dir, built string, runs int, c figure) error {
	args := slices.Clone(b.args)
	if !slices.Contains(args, capture) {
		args = append(args, capture)
	}
	for i := range args {
		switch args[i] {
		case program:
			args[i] = built
		case capture:
			args[i] = filepath.Join(dir, b.file)
		}
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		fmt.Printf("| %s | not installed | | |\n", b.name)
		return nil
	}
	if b.slow {
		runs = 1
	}
	m, err := measure(runs, args[0], args[1:]...)
	switch {
	case err == nil:
		fmt.Printf("| %s | %.2f | %.2f | %.0f MB |\n", b.name, ratio(m.cpu, c.cpu), ratio(m.wall, c.cpu), float64(m.resident)/1e6)
	case b.peer:
		fmt.Fprintf(os.Stderr, "benchpeers: %s: %v\n", b.name, err)
		fmt.Printf("| %s | failed | | |\n", b.name)
	default:
		return fmt.Errorf("%s: %w", b.name, err)
	}
	return nil
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func size(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

func command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	return cmd
}

func buildCounter(to string) error {
	source := to + ".c"
	if err := os.WriteFile(source, countSource, 0o666); err != nil {
		return err
	}
	return command("cc", "-O2", "-o", to, source, "-lpcap").Run()
}

// measure runs a program several times and returns the best time, because other load only
// makes a run slower, and the largest memory of any run. A first run, which does not
// count, warms the page cache.
func measure(runs int, name string, args ...string) (best figure, err error) {
	for i := range runs + 1 {
		cmd := exec.Command(name, args...)
		var said strings.Builder
		cmd.Stderr = &said
		start := time.Now()
		err := cmd.Run()
		if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == 1 && filepath.Base(name) == "ngrep" {
			err = nil // it looked for what is not there, and says so
		}
		if err != nil {
			return figure{}, fmt.Errorf("%w: %s", err, said.String())
		}
		wall := time.Since(start)
		if i == 0 && runs > 1 {
			continue
		}
		f := figure{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), wall: wall}
		if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			f.resident = int64(u.Maxrss) * 1024 //nolint:unconvert // 32 bits on some systems
		}
		if best.wall == 0 {
			best = f
		}
		best.cpu, best.wall, best.resident = min(best.cpu, f.cpu), min(best.wall, f.wall), max(best.resident, f.resident)
	}
	return best, nil
}
