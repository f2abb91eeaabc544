package work

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/qdissect/qdissect/internal/unitfile"
)

// A Program is the qdissect that does the work.
type Program struct {
	Path    string
	Version string
}

// FindProgram finds qdissect: at a path, beside this program, or in the PATH.
func FindProgram(path string) (p Program, err error) {
	if path == "" {
		if self, err := os.Executable(); err == nil {
			beside := filepath.Join(filepath.Dir(self), "qdissect")
			if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() {
				path = beside
			}
		}
	}
	if p.Path, err = exec.LookPath(cmp.Or(path, "qdissect")); err != nil {
		return p, fmt.Errorf("%w; --qdissect FILE says where it is", err)
	}
	if p.Path, err = filepath.Abs(p.Path); err != nil {
		return p, err
	}
	text, err := exec.Command(p.Path, "version").Output()
	if err != nil {
		return p, fmt.Errorf("%s version: %w", p.Path, err)
	}
	// Builds for other systems write the same bytes.
	p.Version, _, _ = strings.Cut(strings.TrimSpace(string(text)), ", go")
	return p, nil
}

// command returns a command of a program. An interrupt ends it.
func (p Program) command(ctx context.Context, r *Record, shards string, args ...string) *exec.Cmd {
	list := append([]string{"read", "--series", "--out", r.Out}, r.Flags...)
	if shards != "" {
		list = append(list, "--shards", shards)
	}
	c := exec.CommandContext(ctx, p.Path, append(list, args...)...)
	c.Dir = r.Dir
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 5 * time.Second
	return c
}

// A child is a process that does one unit after the other.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	last   *LastWords
	shards string
}

// start starts a child.
func (p Program) start(ctx context.Context, r *Record, shards string) (*child, error) {
	c := &child{cmd: p.command(ctx, r, shards, "-j", "1", "--unit", "-"), last: new(LastWords), shards: shards}
	c.cmd.Stderr = c.last
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	return c, c.cmd.Start()
}

// do has a unit done. After an error the child is gone.
func (c *child) do(order []byte) (*unitfile.Outcome, error) {
	c.last.clear()
	o := new(unitfile.Outcome)
	_, err := c.in.Write(append(bytes.TrimSpace(order), '\n'))
	if err == nil {
		var line []byte
		if line, err = c.out.ReadBytes('\n'); err == nil {
			err = json.Unmarshal(line, o)
		}
	}
	if err == nil {
		return o, nil
	}
	ended := cmp.Or(c.end(), err)
	if text := c.last.String(); text != "" {
		ended = errors.New(text)
	} else if exit := new(exec.ExitError); errors.As(ended, &exit) && exit.String() == "signal: killed" {
		ended = errors.New("killed, perhaps for want of memory")
	}
	return nil, fmt.Errorf("qdissect ended: %w", ended)
}

// end lets the child end.
func (c *child) end() error {
	c.in.Close()
	return c.cmd.Wait()
}

// LastWords keeps what says best why a process ended: how it panicked, or its last line.
type LastWords struct {
	mu   sync.Mutex
	text []byte
}

func (w *LastWords) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, b...)
	w.text = w.text[max(0, len(w.text)-64<<10):] // a panic begins far before its end
	return len(b), nil
}

func (w *LastWords) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = w.text[:0]
}

// String returns the line that says best why it ended.
func (w *LastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(w.text)), "\n")
	best := lines[len(lines)-1]
	for _, line := range lines {
		text, ours := strings.CutPrefix(line, "qdissect: ")
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		} else if ours {
			best = text
		}
	}
	return best
}
