// Package live brings what sensors count to a view, and packets to whoever asks for them.
//
// A sensor publishes the units that its qdissect keeps, one for each five minutes of the last hour, each again and again while it
// grows. A unit replaces the one before it in its place in the stream, so that a sensor never has more than its places, and what
// is lost or comes twice changes nothing.
package live

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/qdissect/qdissect/fleet/internal/link"
	"github.com/qdissect/qdissect/fleet/internal/work"
	"github.com/qdissect/qdissect/internal/unitfile"
)

// A Sensor runs qdissect and publishes what it counts.
type Sensor struct {
	Name    string
	Dir     string   // of its counts and its ring
	Program string   // qdissect
	Version string   // of it
	Args    []string // of qdissect: interfaces and a filter
	Files   int      // of the ring
	Size    int      // of each, in MB
	Conn    *nats.Conn
	Say     func(string)

	mu     sync.Mutex
	status Status
	units  map[string]*sending
}

// A sending is a unit, by the time at which it was written, and what the server has of it.
type sending struct{ seen, sent time.Time }

// The pace of a sensor.
const (
	lookEvery = time.Second / 2
	askTime   = 5 * time.Second // for an answer of the server
	maxPause  = time.Minute     // between two starts of qdissect
)

// Run runs the sensor until the context ends.
func (s *Sensor) Run(ctx context.Context) error {
	if !ValidName(s.Name) {
		return errName
	}
	if err := os.MkdirAll(s.counts(), 0o700); err != nil {
		return err
	}
	folder, err := alone(s.Dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	js, err := jetstream.New(s.Conn)
	if err != nil {
		return err
	}
	sub, err := s.Conn.Subscribe(fetchSubject(s.Name), s.answer(ctx))
	if err != nil {
		return err
	}
	defer sub.Unsubscribe()
	s.status, s.units = Status{Program: s.Version, Since: time.Now().UTC()}, make(map[string]*sending)
	var running sync.WaitGroup
	running.Go(func() { s.capture(ctx, folder) })
	var told, asked time.Time
	for ctx.Err() == nil {
		if err := s.publish(ctx, js); err != nil && ctx.Err() == nil && time.Since(told) > maxPause {
			told = time.Now()
			s.Say(fmt.Sprintf("not published, trying again: %v", link.Explain(s.Conn, err)))
		}
		if time.Since(asked) >= unitfile.SlotEvery && s.Conn.IsConnected() {
			asked = time.Now()
			s.tell(ctx, js)
		}
		work.Pause(ctx, lookEvery)
	}
	running.Wait()
	last, end := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer end()
	return s.publish(last, js) // qdissect has written its last counts
}

func (s *Sensor) counts() string { return filepath.Join(s.Dir, "counts") }

// capture runs qdissect, and again when it has ended.
func (s *Sensor) capture(ctx context.Context, folder *os.File) {
	runtime.LockOSThread() // see bind
	for wait := time.Second; ctx.Err() == nil; wait = min(2*wait, maxPause) {
		began := time.Now()
		words := new(work.LastWords)
		args := []string{"live", "-q", "--counts", s.counts(),
			"-w", filepath.Join(s.Dir, "ring-"+began.UTC().Format("20060102T150405")+".pcapng"), "-b", fmt.Sprintf("filesize:%d", 1000*s.Size), "-b", fmt.Sprintf("files:%d", s.Files)}
		if os.Geteuid() == 0 {
			args = append(args, "--user", "root") // the folder is not that of who called sudo
		}
		c := exec.CommandContext(ctx, s.Program, append(args, s.Args...)...)
		bind(c, folder)
		c.Stderr, c.WaitDelay = words, 5*time.Second
		c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
		err := c.Run()
		if ctx.Err() != nil {
			return
		}
		text := words.String()
		if text == "" {
			text = "it ended"
			if err != nil {
				text = err.Error()
			}
		}
		if time.Since(began) > maxPause {
			wait = time.Second
		}
		s.mu.Lock()
		s.status.Restarts++
		s.status.Ended, s.status.EndedAt = text[:min(len(text), 300)], time.Now().UTC()
		s.mu.Unlock()
		s.Say(fmt.Sprintf("qdissect ended, starting it again in %v: %s", wait, text))
		work.Pause(ctx, wait)
	}
}

// ring returns the files of the ring, the oldest first: their names begin with the time at which their process was started.
func (s *Sensor) ring() (names []string) {
	names, _ = filepath.Glob(filepath.Join(s.Dir, "ring-*_*.pcapng"))
	slices.Sort(names)
	return names
}

// run returns what the files of one process have in common.
func run(name string) string {
	first, _, _ := strings.Cut(filepath.Base(name), "_")
	return first
}

func changed(name string) time.Time {
	if st, err := os.Stat(name); err == nil {
		return st.ModTime()
	}
	return time.Time{}
}

// prune removes what earlier processes left of the ring: a process removes only its own files.
func (s *Sensor) prune() {
	list := s.ring()
	for _, name := range list[:max(0, len(list)-s.Files-1)] { // one is being written
		os.Remove(name)
	}
}

// publish sends the units that the server does not have.
func (s *Sensor) publish(ctx context.Context, js jetstream.JetStream) error {
	names, err := filepath.Glob(filepath.Join(s.counts(), "slot=*", "aggregate.bin"))
	if err != nil {
		return err
	}
	s.mu.Lock()
	for name, u := range s.units {
		if !slices.Contains(names, name) {
			if delete(s.units, name); !u.sent.Equal(u.seen) {
				s.status.Dropped++
			}
		}
	}
	for _, name := range names {
		if s.units[name] == nil {
			s.units[name] = new(sending)
		}
		s.units[name].seen = changed(name)
	}
	s.mu.Unlock()
	for name, u := range s.units {
		if u.seen.Equal(u.sent) || !s.Conn.IsConnected() {
			continue // while the server is away, the units wait
		}
		if err := s.send(ctx, js, name); err != nil {
			return err
		}
		u.sent = u.seen
	}
	return nil
}

// send sends a unit.
func (s *Sensor) send(ctx context.Context, js jetstream.JetStream, name string) error {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the next look finds out
	}
	slot, err2 := time.Parse(unitfile.SlotLayout, filepath.Base(filepath.Dir(name)))
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	m := &nats.Msg{Subject: countsSubject(s.Name, placeOf(slot)), Data: b, Header: nats.Header{}}
	m.Header.Set(slotHeader, slot.Format(time.RFC3339))
	return s.ask(ctx, js, m, hex.EncodeToString(sum[:16]))
}

// ask sends a message and waits until the server has it.
func (s *Sensor) ask(ctx context.Context, js jetstream.JetStream, m *nats.Msg, id string) error {
	m.Header.Set(sentHeader, time.Now().UTC().Format(time.RFC3339Nano))
	ctx, end := context.WithTimeout(ctx, askTime)
	defer end()
	_, err := js.PublishMsg(ctx, m, jetstream.WithMsgID(s.Name+"-"+id), jetstream.WithExpectStream(Stream))
	return err
}

// tell sends the status.
func (s *Sensor) tell(ctx context.Context, js jetstream.JetStream) {
	s.prune()
	s.mu.Lock()
	if list := s.ring(); len(list) > 0 {
		s.status.Ring = changed(list[0]).UTC()
	}
	b, err := json.Marshal(&s.status)
	s.mu.Unlock()
	if err == nil {
		m := &nats.Msg{Subject: statusSubject(s.Name), Data: b, Header: nats.Header{}}
		_ = s.ask(ctx, js, m, fmt.Sprint(time.Now().UnixNano())) // what publishes says why it fails
	}
}

// Stream is the name of the stream of all sensors.
const Stream = "qdissect-sensors"

// The headers of a message: the sensor's time when it was sent, and the slot of the counts.
const (
	sentHeader = "Qdissect-Sent"
	slotHeader = "Qdissect-Slot"
)

// StreamMiB is the size of the stream. It holds the units of more than 2000 sensors, however large these are.
const StreamMiB = 2048

// maxStatus is the size of the status of a sensor.
const maxStatus = 4 << 10

// ValidName reports whether a sensor may have a name.
func ValidName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

func countsSubject(name string, place int) string {
	return fmt.Sprintf("qdissect.sensor.%s.counts.%d", name, place)
}

func statusSubject(name string) string { return fmt.Sprintf("qdissect.sensor.%s.status", name) }

func fetchSubject(name string) string { return "qdissect.fetch." + name }

// slotOf returns the slot of a time.
func slotOf(t time.Time) time.Time { return t.UTC().Truncate(unitfile.SlotTime) }

// placeOf returns the place of a slot in the stream.
func placeOf(slot time.Time) int {
	return int(slot.Unix() / int64(unitfile.SlotTime/time.Second) % unitfile.Slots)
}

// parseSubject returns the sensor and the place of counts, or -1 for a status.
func parseSubject(s string) (name string, place int, ok bool) {
	list := strings.Split(s, ".")
	switch {
	case len(list) < 4 || !ValidName(list[2]):
		return "", 0, false
	case len(list) == 4 && list[3] == "status":
		return list[2], -1, true
	case len(list) != 5 || list[3] != "counts":
		return "", 0, false
	}
	n, err := strconv.Atoi(list[4])
	return list[2], n, err == nil && n >= 0 && n < unitfile.Slots
}

// MakeStream makes the stream of the sensors, or changes it to what it should be. Each sensor has a message in each of its
// places, and no more.
func MakeStream(ctx context.Context, conn *nats.Conn, bytes int64) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	c := jetstream.StreamConfig{
		Name: Stream, Description: "the last hour of all sensors of qdissect", Subjects: []string{statusSubject("*")}, Storage: jetstream.FileStorage,
		MaxMsgsPerSubject: 1, MaxMsgSize: unitfile.SlotBytes + 1<<10, MaxAge: unitfile.Slots*unitfile.SlotTime + time.Minute, MaxBytes: bytes,
		Discard: jetstream.DiscardOld, Duplicates: 2 * time.Minute,
	}
	for i := range unitfile.Slots {
		c.Subjects = append(c.Subjects, countsSubject("*", i))
	}
	_, err = js.CreateOrUpdateStream(ctx, c)
	return err
}

// A Status is what a sensor says about itself.
type Status struct {
	Program  string    `json:"program"`
	Since    time.Time `json:"since"`    // the sensor was started
	Restarts int       `json:"restarts"` // of its qdissect
	Ended    string    `json:"ended,omitempty"`
	EndedAt  time.Time `json:"ended_at,omitzero"`
	Dropped  int       `json:"dropped"`       // units that were removed before the server had them
	Ring     time.Time `json:"ring,omitzero"` // the packets reach back to this time, or further
}

var errName = errors.New("the name of a sensor has 1 to 64 characters: a to z, digits, - and _")
