// Command soak pipes mixed honest and hostile traffic into qdissect for a given time,
// counts the output, and records the resident memory of the process. Its final output goes
// into docs/soak.md. It needs Linux, for /proc. make soak runs it.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
)

func main() {
	program := flag.String("program", "", "the qdissect to be tried")
	duration := flag.Duration("for", time.Hour, "how long")
	rate := flag.Int("rate", 5000, "frames per second")
	every := flag.Duration("every", 10*time.Minute, "the time of one row of the table")
	flag.Parse()
	if err := run(*program, *duration, *every, *rate, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// span is what happened in one row of the table.
type span struct {
	resident []int // KiB, sorted
	packets  uint64
	lines    uint64
}

func run(program string, duration, every time.Duration, rate int, args []string) error {
	if program == "" || rate < 1 {
		return errors.New("no program, or no rate")
	}
	cmd := exec.Command(program, append([]string{"--all", "-o", "jsonl"}, append(args, "-")...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c := counter{}
	counted := make(chan error, 1)
	go func() { _, err := io.Copy(&c, out); counted <- err }()

	pipe := bufio.NewWriterSize(in, 64<<10)
	s := hostile.NewStage(pipe, mkpcap.Options{})
	begun := time.Now()
	stop := begun.Add(duration)
	var spans []span
	var packets, lines uint64
	now := span{}
	next := begun.Add(every)
	sampled := time.Time{}
	sent := play(s, rate, begun, func() bool {
		t := time.Now()
		if t.Sub(sampled) >= time.Second && t.Sub(begun) >= 5*time.Second { // the start is another matter
			sampled = t
			if kib, err := resident(cmd.Process.Pid); err == nil {
				now.resident = append(now.resident, kib)
			}
		}
		if t.After(next) || t.After(stop) {
			now.packets, now.lines = s.W.Frames-packets, c.lines.Load()-lines
			packets, lines = s.W.Frames, c.lines.Load()
			spans = append(spans, now)
			row(os.Stdout, len(spans), every, &now)
			now, next = span{}, next.Add(every)
		}
		return t.Before(stop) && s.W.Err() == nil
	})
	if err := errors.Join(s.W.Err(), pipe.Flush(), in.Close(), <-counted, cmd.Wait()); err != nil {
		return err
	}
	fmt.Printf("\n%d frames, %d rounds of floods, %d lines, of them messages %d\n%s\n", s.W.Frames, sent, c.lines.Load(), c.messages.Load(), c.last)
	return nil
}

// play sends floods in turn, each for a while, as fast as the rate allows, and
// asks now and then whether to go on.
func play(s *hostile.Stage, rate int, begun time.Time, on func() bool) (rounds int) {
	floods := hostile.Floods()
	for i := 0; ; i++ {
		f := &floods[i%len(floods)]
		for k := 0; k < 2000; k += 100 {
			f.Play(s, 100)
			if !on() {
				return rounds
			}
			due := begun.Add(time.Duration(s.W.Frames) * time.Second / time.Duration(rate))
			time.Sleep(time.Until(due))
			s.Now = s.Now.Add(20 * time.Millisecond) // the frames of a second take about a second
		}
		rounds++
	}
}

// row writes a line of the table.
func row(w io.Writer, n int, every time.Duration, s *span) {
	slices.Sort(s.resident)
	if len(s.resident) == 0 {
		return
	}
	mib := func(kib int) string { return strconv.FormatFloat(float64(kib)/1024, 'f', 1, 64) }
	fmt.Fprintf(w, "| %s | %s | %s | %s | %d | %d |\n", time.Duration(n)*every, mib(s.resident[0]), mib(s.resident[len(s.resident)/2]),
		mib(s.resident[len(s.resident)-1]), s.packets, s.lines)
}

// resident returns the resident memory of a process in KiB.
func resident(pid int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(b), "VmRSS:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0, errors.New("no VmRSS")
	}
	return strconv.Atoi(fields[0])
}

// counter counts the lines that are written to it, and those of messages, and
// keeps the last one, which is the summary.
type counter struct {
	lines, messages atomic.Uint64
	rest            []byte
	last            string
}

// Write counts.
func (c *counter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, whole := bytes.Cut(p, []byte{'\n'})
		c.rest = append(c.rest, line[:min(len(line), 4096-min(4096, len(c.rest)))]...)
		if !whole {
			return n, nil
		}
		c.lines.Add(1)
		if bytes.HasPrefix(c.rest, []byte(`{"type":"message"`)) {
			c.messages.Add(1)
		}
		c.last = ""
		if bytes.HasPrefix(c.rest, []byte(`{"type":"summary"`)) {
			c.last = string(c.rest)
		}
		c.rest, p = c.rest[:0], rest
	}
}
