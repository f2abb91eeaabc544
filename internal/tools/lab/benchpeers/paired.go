//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// pairedModes are the outputs that runPaired measures. JSON and text go to /dev/null.
var pairedModes = []struct {
	name string
	args []string
}{
	{"`-q`", []string{"-q", "-j1"}},
	{"text", []string{"-j1"}},
	{"`-o jsonl`", []string{"-o", "jsonl", "-j1"}},
	{"`-q -j2`", []string{"-q", "-j2"}},
}

// runPaired compares two builds with the C counter, each round old, new and counter in turn,
// so that what else the machine does meets all three. It prints quartiles of the processor
// time of new ÷ old and of both ÷ counter: a ratio of medians says little where times of single
// runs differ by a quarter.
func runPaired(old string, packets, rounds int, dir string) error {
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "benchpeers"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	large, program, counter := filepath.Join(dir, "paired.pcap"), filepath.Join(dir, "qdissect"), filepath.Join(dir, "count")
	if err := command("go", "build", "-o", program, "./cmd/qdissect").Run(); err != nil {
		return err
	}
	if err := command("go", "run", "./internal/tools/mklarge", "-o", large, "-n", fmt.Sprint(packets)).Run(); err != nil {
		return err
	}
	if err := buildCounter(counter); err != nil {
		return fmt.Errorf("the C counter, the baseline of all figures, cannot be built (a C compiler and libpcap's headers are needed): %w", err)
	}
	fmt.Printf("processor time, %d packets, %d rounds: first quartile, median, third quartile\n\n", packets, rounds)
	fmt.Println("| what | new ÷ old | old ÷ C count | new ÷ C count | wall, new ÷ old | peak memory, old, new |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, m := range pairedModes {
		var change, wall, before, now []float64
		var most [2]int64
		for range rounds {
			var f [3]figure
			for i, args := range [][]string{append([]string{old}, m.args...), append([]string{program}, m.args...), {counter}} {
				var err error
				if f[i], err = measure(1, args[0], append(args[1:], large)...); err != nil {
					return err
				}
			}
			change, wall = append(change, ratio(f[1].cpu, f[0].cpu)), append(wall, ratio(f[1].wall, f[0].wall))
			before, now = append(before, ratio(f[0].cpu, f[2].cpu)), append(now, ratio(f[1].cpu, f[2].cpu))
			most[0], most[1] = max(most[0], f[0].resident), max(most[1], f[1].resident)
		}
		fmt.Printf("| %s | %s | %s | %s | %s | %.0f, %.0f MB |\n", m.name, quartiles(change), quartiles(before), quartiles(now), quartiles(wall),
			float64(most[0])/1e6, float64(most[1])/1e6)
	}
	return nil
}

func quartiles(v []float64) string {
	slices.Sort(v)
	at := func(part float64) float64 { return v[int(part*float64(len(v)-1)+0.5)] }
	return fmt.Sprintf("%.2f %.2f %.2f", at(0.25), at(0.5), at(0.75))
}
