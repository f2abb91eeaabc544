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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/qdissect/qdissect/fleet/internal/link"
	"github.com/qdissect/qdissect/internal/unitfile"
)

// errFull ends a worker: nothing that it could do would be kept.
var errFull = syscall.ENOSPC

// Work does units of the run with a name until the run has ended, with n workers. It waits for a run that has not begun.
func Work(ctx context.Context, conn *nats.Conn, run string, p Program, host string, n int, say func(string)) error {
	// What was asked of a server that is gone by now has no reply: it is asked again before the run has gone on for long.
	q, err := newQueue(conn, run, jetstream.WithDefaultTimeout(2*time.Second))
	if err != nil {
		return err
	}
	r, err := q.begun(ctx, say)
	for err == nil && !r.Ended {
		if r.Program != p.Version {
			return fmt.Errorf("%s is %s; the run has %s", p.Path, p.Version, r.Program)
		}
		working, cancel := context.WithCancel(ctx)
		next := r
		watching := make(chan struct{})
		go func() {
			defer close(watching)
			next = q.watchEnd(working, r)
			cancel()
		}()
		err = q.workers(working, r, p, host, n)
		cancel()
		if <-watching; next == r {
			break
		}
		r = next
	}
	return err
}

// begun waits until there is a run that had not ended at first.
func (q *queue) begun(ctx context.Context, say func(string)) (*Record, error) {
	ended := "" // the session of the run that had
	for told := false; ; told = true {
		var r *Record
		err := q.open(ctx)
		if err == nil {
			r, err = q.record(ctx)
		}
		switch {
		case err == nil && r != nil && (!r.Ended || told && r.Session != ended):
			return r, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case q.conn.IsClosed():
			return nil, errGone
		case err != nil && link.Explain(q.conn, err) != err:
			return nil, link.Explain(q.conn, err)
		case !told:
			say("waiting for the run " + q.name)
			if r != nil {
				ended = r.Session
			}
		}
		Pause(ctx, time.Second)
	}
}

// errGone says that there is no server any more.
var errGone = errors.New("the server has been away for too long")

// watchEnd waits until a run has ended, was started anew, or the server has gone. It returns the new record, r if there is none. A server
// that came back without its files has no record until the run has gone on.
func (q *queue) watchEnd(ctx context.Context, r *Record) *Record {
	for ctx.Err() == nil && !q.conn.IsClosed() {
		if now, err := q.record(ctx); err == nil && now != nil && (now.Ended || now.Session != r.Session) {
			return now
		}
		Pause(ctx, time.Second)
	}
	return r
}

// Pause waits for a while, or until the context ends.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// workers runs n workers until the context is done, and returns the errors of those that ended before.
func (q *queue) workers(ctx context.Context, r *Record, p Program, host string, n int) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			w := &worker{queue: q, run: r, program: p, state: State{Worker: fmt.Sprintf("%s-%d", host, i+1)}}
			errs[i] = w.work(ctx)
		})
	}
	all.Wait()
	if err := cmp.Or(errs...); err != nil || !q.conn.IsClosed() {
		return err
	}
	return errGone
}

// A worker does one unit at a time.
type worker struct {
	*queue
	run     *Record
	program Program
	child   *child

	mu      sync.Mutex
	state   State
	current atomic.Pointer[jetstream.Msg] // the unit that it does
}

// work does units until the context is done.
func (w *worker) work(ctx context.Context) (err error) {
	told := make(chan struct{})
	beating, stop := context.WithCancel(ctx)
	go func() {
		defer close(told)
		w.beat(beating)
	}()
	defer func() {
		stop()
		<-told
		if w.child != nil {
			_ = w.child.end()
		}
		w.state.Ended = "done"
		if err != nil {
			w.state.Ended = err.Error()
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = w.tell(last) // the run may have ended, and its server with it
	}()
	for ctx.Err() == nil && !w.conn.IsClosed() {
		c, err := w.js.Consumer(ctx, w.stream(), w.run.Session)
		for err == nil && ctx.Err() == nil {
			var full error
			if full, err = w.next(ctx, c); full != nil {
				return full
			}
		}
		Pause(ctx, 200*time.Millisecond) // the server is away, or the run begins again
	}
	return nil
}

// next waits a little for a unit and does it. The first error ends the worker.
func (w *worker) next(ctx context.Context, c jetstream.Consumer) (end, err error) {
	wait, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	batch, err := c.Fetch(1, jetstream.FetchContext(wait))
	if err != nil {
		return nil, err
	}
	for msg := range batch.Messages() {
		if end := w.handle(ctx, msg); end != nil {
			return end, nil
		}
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
		return nil, err
	}
	return nil, nil
}

// beat says that the worker lives, and that its unit is not lost, until the context is done.
func (w *worker) beat(ctx context.Context) {
	for ctx.Err() == nil {
		_ = w.tell(ctx) // the next one may succeed
		if msg := w.current.Load(); msg != nil {
			_ = (*msg).InProgress()
		}
		Pause(ctx, w.run.Lost/3)
	}
}

// tell writes the entry of the worker.
func (w *worker) tell(ctx context.Context) error {
	w.mu.Lock()
	w.state.Seen = time.Now().UTC()
	s := w.state
	w.mu.Unlock()
	return w.put(ctx, workerKey+keyOf(s.Worker), &s)
}

// begin notes that the worker does a unit, or none.
func (w *worker) begin(unit string, msg *jetstream.Msg) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Unit, w.state.Since = unit, time.Now().UTC()
	w.current.Store(msg)
}

// handle does a unit. An error ends the worker.
func (w *worker) handle(ctx context.Context, msg jetstream.Msg) error {
	var order struct{ Unit string }
	try := uint64(1)
	if m, err := msg.Metadata(); err == nil {
		try = m.NumDelivered
	}
	err := json.Unmarshal(msg.Data(), &order)
	var o *unitfile.Outcome
	if err == nil {
		w.begin(order.Unit, &msg)
		o, err = w.do(ctx, msg)
		w.begin("", nil)
	}
	if err == nil && o.Error != "" {
		err = errors.New(o.Error)
	}
	if ctx.Err() != nil && err != nil {
		_ = msg.Nak() // others begin at once
		return nil
	}
	last := context.WithoutCancel(ctx) // a worker that ends now says what it has done: others would wait until its unit is lost
	if err == nil {
		d := &Done{*o, w.run.Flags, w.state.Worker}
		w.insist(ctx, func() error { err = w.store(last, d); return err })
	}
	bad := &Bad{Unit: order.Unit, Worker: w.state.Worker, Try: try}
	key := badKey + keyOf(order.Unit)
	if err == nil {
		if len(o.Trouble) > 0 {
			bad.Trouble = o.Trouble
			w.insist(ctx, func() error { return w.put(last, key, bad) })
		} else if try > 1 {
			w.insist(ctx, func() error { return w.kv.Delete(last, key) })
		}
		w.count(1, 0)
		w.insist(ctx, func() error { return msg.DoubleAck(last) })
		return nil
	}
	bad.Error = err.Error()
	w.insist(ctx, func() error { return w.put(ctx, key, bad) })
	w.count(0, 1)
	if errors.Is(err, errOther) {
		_ = msg.Term() // again would not be better
		return nil
	}
	_ = msg.Nak() // without it, the unit is given to others a little later
	if strings.Contains(err.Error(), errFull.Error()) {
		return err
	}
	return nil
}

func (w *worker) count(done, failed int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Done += done
	w.state.Failed += failed
}

// do has a unit done by the child, and starts one if there is none.
func (w *worker) do(ctx context.Context, msg jetstream.Msg) (*unitfile.Outcome, error) {
	shards := msg.Headers().Get(shardsHeader)
	if w.child != nil && w.child.shards != shards {
		_ = w.child.end()
		w.child = nil
	}
	if w.child == nil {
		c, err := w.program.start(ctx, w.run, shards)
		if err != nil {
			return nil, err
		}
		w.child = c
	}
	o, err := w.child.do(msg.Data())
	if err != nil {
		w.child = nil
	}
	return o, err
}

// insist repeats what fails while the server is away, for as long as a unit is not given to another worker.
func (w *worker) insist(ctx context.Context, f func() error) {
	for end := time.Now().Add(w.run.Lost); ; {
		err := f()
		if err == nil || errors.Is(err, errOther) || ctx.Err() != nil || w.conn.IsClosed() || time.Now().After(end) {
			return
		}
		Pause(ctx, 200*time.Millisecond)
	}
}

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
