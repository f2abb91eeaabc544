package work

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/qdissect/qdissect/internal/unitfile"
)

// Options describe a run.
type Options struct {
	Conn     *nats.Conn
	Name     string
	Host     string // names this process
	Program  Program
	Dir      string // of the patterns and of Out
	Out      string
	Flags    []string // of qdissect read
	Patterns []string
	Shards   int           // parts of a unit, 1 for whole units
	Workers  int           // in this process
	Lost     time.Duration // after this time without news a worker is lost
	Err      io.Writer     // for what qdissect says of the captures
	Progress func(Progress)
	Say      func(string)
}

// Progress says how far a run is.
type Progress struct {
	Units, Done, Failed int
	Listing             bool // Units still grows
}

// A Result is what became of a run.
type Result struct {
	Done, Before int
	Bad          []*Bad // units that failed, or that had trouble
	Troubled     bool   // the list has said what cannot be read
}

// A master lists units and waits until they are done.
type master struct {
	*queue
	Options
	run    Record
	result Result
}

// Run puts all units that are not done into the queue, and waits until they are done or have failed.
func Run(ctx context.Context, o Options) (*Result, error) {
	q, err := newQueue(o.Conn, o.Name)
	if err != nil {
		return nil, err
	}
	m := &master{queue: q, Options: o, run: Record{
		Host: o.Host, PID: os.Getpid(), Started: time.Now().UTC(), Dir: o.Dir, Out: o.Out, Flags: o.Flags,
		Program: o.Program.Version, Lost: o.Lost,
	}}
	if err := m.alone(ctx); err != nil {
		return nil, err
	}
	here, err := o.Conn.Subscribe(m.alive(), func(msg *nats.Msg) { _ = msg.Respond(nil) })
	if err != nil {
		return nil, err
	}
	defer func() { _ = here.Unsubscribe() }() // it ends with the connection
	// A server that was away may have lost what it had not yet written: the list then says what is left.
	for {
		away := o.Conn.Stats().Reconnects
		switch again, err := m.once(ctx, away); {
		case err != nil && (ctx.Err() != nil || o.Conn.Stats().Reconnects == away):
			return nil, err
		case err == nil && !again:
			return &m.result, nil
		}
		if err := m.alone(ctx); err != nil { // it was started anew meanwhile
			return nil, err
		}
	}
}

// alone returns an error if another process is in charge of the run. One that was killed is not: the server knows at once that nobody
// listens for it. One whose machine or network is gone is in charge until it is lost.
func (m *master) alone(ctx context.Context) error {
	if err := m.open(ctx); errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	r, err := m.record(ctx)
	if err != nil || r == nil || r.Ended || r.Started.Equal(m.run.Started) || time.Since(r.Seen) > r.Lost {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := m.Conn.RequestWithContext(asking, m.alive(), nil); errors.Is(err, nats.ErrNoResponders) {
		return nil
	}
	return fmt.Errorf("the run %s is at work on %s (process %d) since %s; use another --name, or wait until it is lost, in %s", m.Name, r.Host, r.PID,
		r.Started.Format(time.DateTime), r.Lost)
}

// once lists units and waits for them. It reports whether it has to be done again, because the server was away.
func (m *master) once(ctx context.Context, away uint64) (again bool, err error) {
	m.run.Session = nats.NewInbox()[len("_INBOX."):]
	if err := m.create(ctx, &m.run); err != nil {
		return false, err
	}
	if err := m.forget(ctx); err != nil {
		return false, err
	}
	m.run.Units, m.run.Before, m.result = 0, 0, Result{}
	m.refused.Store(nil)
	if err := m.seen(ctx); err != nil {
		return false, err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	if m.Workers > 0 {
		go func() { ended <- m.workers(working, &m.run, m.Program, m.Host, m.Workers) }()
	}
	if err = m.list(ctx); err == nil {
		_ = m.seen(ctx) // the next time will do
		var gone error
		if gone, err = m.wait(ctx, ended, away); gone != nil {
			ended <- gone
		}
	}
	stop()
	var full error
	if m.Workers > 0 {
		full = <-ended
	}
	switch {
	case ctx.Err() != nil:
		return false, errors.New("interrupted; the same command goes on")
	case err != nil:
		return false, err
	case m.Conn.Stats().Reconnects != away:
		m.Say("the server was away; listing the units again")
		return true, nil
	case full != nil:
		return false, fmt.Errorf("%d of %d units done, then no worker was left: %w", m.result.Done, m.run.Units, full)
	}
	return false, m.finish(ctx)
}

// seen writes the record of the run.
func (m *master) seen(ctx context.Context) error {
	m.run.Seen = time.Now().UTC()
	return m.put(ctx, runKey, &m.run)
}

// list puts the units that are not done into the queue.
func (m *master) list(ctx context.Context) error {
	shards := []string{""}
	if m.Shards > 1 {
		shards = nil
		for i := range m.Shards {
			shards = append(shards, fmt.Sprintf("%d-%d/4", i*4/m.Shards, (i+1)*4/m.Shards-1))
		}
	}
	for _, s := range shards {
		if err := m.listShards(ctx, s); err != nil {
			return err
		}
	}
	select {
	case <-m.js.PublishAsyncComplete():
		if err := m.refused.Load(); err != nil {
			return fmt.Errorf("the server does not take the units: %w", *err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listShards lists the units of which shards are not done.
func (m *master) listShards(ctx context.Context, shards string) error {
	cmd := m.Program.command(ctx, &m.run, shards, append([]string{"--unit", "list", "--"}, m.Patterns...)...)
	cmd.Stderr = m.Err
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	complete := false
	for {
		var line []byte
		if line, err = lines.ReadBytes('\n'); err != nil {
			break
		}
		var order unitfile.Order
		if err = json.Unmarshal(line, &order); err != nil {
			break
		}
		if order.Done != nil {
			complete = true
			m.run.Before += *order.Done
			continue
		}
		if err = m.publish(order.Unit, shards, line); err != nil {
			break
		}
		if m.run.Units++; m.run.Units%100 == 0 {
			m.Progress(Progress{Units: m.run.Units, Listing: true})
			if time.Since(m.run.Seen) > m.Lost/3 {
				_ = m.seen(ctx) // the next time will do
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return err
	}
	if err := cmd.Wait(); err != nil && !complete {
		return errList
	} else if err != nil {
		m.result.Troubled = true
	}
	return nil
}

// errList says that the list of units ended early; qdissect has said why.
var errList = errors.New("the captures cannot be listed")

// publish puts a unit into the queue. What is published again, because the server did not answer, counts once.
func (m *master) publish(unit, shards string, order []byte) error {
	if most := m.Conn.MaxPayload() - 1000; int64(len(order)) > most {
		return fmt.Errorf("%s: has so many captures that their names take %d bytes, and the server takes %d (max_payload); --series-by can make smaller units", unit, len(order), most)
	}
	msg := nats.NewMsg(m.subject())
	msg.Data = order
	msg.Header.Set(jetstream.MsgIDHeader, m.run.Session+strconv.Itoa(m.run.Units)+shards)
	if shards != "" {
		msg.Header.Set(shardsHeader, shards)
	}
	_, err := m.js.PublishMsgAsync(msg, jetstream.WithStallWait(m.Lost))
	return err
}

// wait waits until the queue is empty, but for units that nobody could do. It returns the error of workers that have all
// ended, and is over when the server was away.
func (m *master) wait(ctx context.Context, ended <-chan error, away uint64) (gone, err error) {
	pause := 5 * time.Millisecond
	for still := 0; still < 2; {
		if m.Conn.IsClosed() {
			return nil, errGone
		}
		if m.Conn.Stats().Reconnects != away {
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case gone := <-ended:
			return gone, nil
		case <-time.After(pause):
		}
		pause = min(2*pause, 200*time.Millisecond)
		left, idle, err := m.left(ctx)
		if err != nil {
			continue // the server is away
		}
		if m.result.Done = m.run.Units - left; idle {
			still++
		} else {
			still = 0
		}
		if left == 0 {
			return nil, nil
		}
		m.Progress(Progress{Units: m.run.Units, Done: m.result.Done})
		if time.Since(m.run.Seen) > m.Lost/3 {
			_ = m.seen(ctx) // the next time will do
		}
	}
	return nil, nil
}

// left returns how many units are in the queue, and whether nobody works or will work on them.
func (m *master) left(ctx context.Context) (n int, idle bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := m.js.Consumer(ctx, m.stream(), m.run.Session)
	if err != nil {
		return 0, false, err
	}
	s, err := m.js.Stream(ctx, m.stream())
	if err != nil {
		return 0, false, err
	}
	i := c.CachedInfo()
	return int(s.CachedInfo().State.Msgs), i.NumPending == 0 && i.NumAckPending == 0, nil
}

// finish names the units that nobody could do, and ends the run.
func (m *master) finish(ctx context.Context) error {
	var err error
	if m.result.Bad, err = list(ctx, m.queue, badKey, (*Bad).name); err != nil {
		return err
	}
	known := map[string]bool{}
	for _, b := range m.result.Bad {
		known[b.Unit] = known[b.Unit] || b.Error != ""
	}
	s, err := m.js.Stream(ctx, m.stream())
	if err != nil {
		return err
	}
	for seq := uint64(1); ; seq++ {
		msg, err := s.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(m.subject()))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		} else if err != nil {
			return err
		}
		seq = msg.Sequence
		var order struct{ Unit string }
		if err := json.Unmarshal(msg.Data, &order); err != nil || known[order.Unit] {
			continue
		}
		b := &Bad{Unit: order.Unit, Error: fmt.Sprintf("%d workers were lost while they did it", Tries), Try: Tries}
		if err := m.put(ctx, badKey+keyOf(b.Unit), b); err != nil {
			return err
		}
		m.result.Bad = append(m.result.Bad, b)
	}
	m.result.Before = m.run.Before
	m.run.Ended = true
	if err := m.seen(ctx); err != nil {
		return err
	}
	return m.js.DeleteStream(ctx, m.stream())
}

func (b *Bad) name() string { return b.Unit }
