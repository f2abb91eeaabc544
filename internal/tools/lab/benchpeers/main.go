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

func run(packets, runs int, dir string, peers, slow bool) error {
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "benchpeers"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	large, ng := filepath.Join(dir, "large.pcap"), filepath.Join(dir, "large.pcapng")
	foreign, flood := filepath.Join(dir, "foreign.pcap"), filepath.Join(dir, "flood.pcap")
	program := filepath.Join(dir, "qdissect")
	if err := command("go", "build", "-o", program, "./cmd/qdissect").Run(); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"-o", large, "-n", fmt.Sprint(packets)},
		{"-o", ng, "-n", fmt.Sprint(packets), "-ng"},
		{"-o", foreign, "-n", fmt.Sprint(packets), "-foreign"},
		{"-o", flood, "-n", fmt.Sprint(packets / 10), "-flood", fmt.Sprint(packets * 5 / 3)},
	} {
		if _, err := os.Stat(args[1]); err == nil {
			continue
		}
		fmt.Fprintln(os.Stderr, "making", filepath.Base(args[1]))
		if err := command("go", append([]string{"run", "./internal/tools/mklarge"}, args...)...).Run(); err != nil {
			return err
		}
	}
	counter := filepath.Join(dir, "count")
	if err := buildCounter(counter); err != nil {
		return fmt.Errorf("the C counter, the baseline of all figures, cannot be built (a C compiler and libpcap's headers are needed): %w", err)
	}

	base := map[string]figure{}
	for _, f := range []string{large, ng, foreign, flood} {
		m, err := measure(runs, counter, f)
		if err != nil {
			return err
		}
		base[f] = m
	}
	fmt.Printf("%s, %s/%s, %d cores, %s; %d packets, %d MB; baseline %.0f ns per packet\n\n",
		time.Now().UTC().Format("2006-01-02"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), packets, size(large)>>20,
		float64(base[large].cpu)/float64(packets))
	fmt.Println("| what | CPU ÷ C count | wall ÷ C count | peak memory |")
	fmt.Println("|---|---|---|---|")
	for _, b := range []struct {
		name, file string
		args       []string
		slow, peer bool
	}{
		{"foreign traffic only, `-q -j1`", foreign, []string{program, "-q", "-j1"}, false, false},
		{"`-q -j1`", large, []string{program, "-q", "-j1"}, false, false},
		{"`-q -j1`, pcapng", ng, []string{program, "-q", "-j1"}, false, false},
		{"`-o jsonl -j1`", large, []string{program, "-o", "jsonl", "-j1"}, false, false},
		{"`-o jsonl -j1`, pcapng", ng, []string{program, "-o", "jsonl", "-j1"}, false, false},
		{"`-o jsonl -j2`", large, []string{program, "-o", "jsonl", "-j2"}, false, false},
		{"text, `-j1`", large, []string{program, "-j1"}, false, false},
		{"text, `-j2`", large, []string{program, "-j2"}, false, false},
		{"`-q -j1`, forged sources", flood, []string{program, "-q", "-j1"}, false, false},
		{"`-q -j2`, forged sources", flood, []string{program, "-q", "-j2"}, false, false},
		{"cat", large, []string{"cat"}, false, true},
		{"tcpdump -w with a port filter", large, []string{"tcpdump", "-w", "/dev/null", "-r", "FILE", "udp", "port", "27015"}, false, true},
		{"ngrep -q", large, []string{"ngrep", "-q", "-I", "FILE", "qdissect-not-there"}, false, true},
		{"ndpiReader -q", large, []string{"ndpiReader", "-q", "-i", "FILE"}, true, true},
		{"tcpdump -nn", large, []string{"tcpdump", "-nn", "-r", "FILE"}, true, true},
		{"tshark -q -z io,phs", large, []string{"tshark", "-q", "-z", "io,phs", "-r", "FILE"}, true, true},
		{"tshark, text", large, []string{"tshark", "-n", "-r", "FILE"}, true, true},
		{"tshark -T json", large, []string{"tshark", "-n", "-T", "json", "-r", "FILE"}, true, true},
	} {
		if b.peer && !peers || b.slow && !slow {
			continue
		}
		if _, err := exec.LookPath(b.args[0]); err != nil {
			fmt.Printf("| %s | not installed | | |\n", b.name)
			continue
		}
		args, placed := slices.Clone(b.args[1:]), false
		for i := range args {
			if args[i] == "FILE" {
				args[i], placed = b.file, true
			}
		}
		if !placed {
			args = append(args, b.file)
		}
		n := runs
		if b.slow {
			n = 1
		}
		m, err := measure(n, b.args[0], args...)
		if err != nil {
			if !b.peer {
				return fmt.Errorf("%s: %w", b.name, err)
			}
			fmt.Fprintf(os.Stderr, "benchpeers: %s: %v\n", b.name, err)
			fmt.Printf("| %s | failed | | |\n", b.name)
			continue
		}
		c := base[b.file]
		fmt.Printf("| %s | %.2f | %.2f | %.0f MB |\n", b.name, ratio(m.cpu, c.cpu), ratio(m.wall, c.cpu), float64(m.resident)/1e6)
	}
	small := filepath.Join("testdata", "pcaps", "a2s", "documents.pcap")
	m, err := measure(10*runs, program, small)
	if err != nil {
		return err
	}
	fmt.Printf("\nstart-up to the end on a small file: %.1f ms at best\n", float64(m.wall.Microseconds())/1000)
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
