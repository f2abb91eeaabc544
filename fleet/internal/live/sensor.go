// Package live brings what sensors count to a view, and packets to whoever asks for them.
//
// A sensor publishes the units that its qdissect keeps, one for each five minutes of the last hour, each again and again while it
// grows. A unit replaces the one before it in its place in the stream, so that a sensor never has more than its places, and what
// is lost or comes twice changes nothing.
package live

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"github.com/qdissect/qdissect/internal/whole"
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

// A Cut is what somebody wants of the packets of a sensor.
type Cut struct {
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	Filter string    `json:"filter,omitempty"` // of qdissect, for messages
	Most   int64     `json:"most"`             // bytes
}

// The limits of a fetch.
const (
	MaxFetch   = 256 << 20 // bytes
	maxCutTime = 2 * time.Minute
	maxFilter  = 1000
	chunk      = 256 << 10
)

// The headers of a piece of the packets, and of the end.
const (
	pieceHeader = "Qdissect-Piece"
	endHeader   = "Qdissect-End"
)

// An ending is what a sensor says at the end.
type ending struct {
	SHA256 string `json:"sha256"`
	Error  string `json:"error,omitempty"`
	Note   string `json:"note,omitempty"`
}

// answer returns what answers requests for packets, one at a time.
func (s *Sensor) answer(ctx context.Context) nats.MsgHandler {
	busy := make(chan struct{}, 1)
	return func(m *nats.Msg) {
		if m.Reply == "" {
			return
		}
		select {
		case busy <- struct{}{}:
		default:
			s.end(m.Reply, &ending{Error: "it is busy with another fetch"})
			return
		}
		go func() {
			e := new(ending)
			if err := s.cut(ctx, m, e); err != nil {
				e.Error = err.Error()
			}
			<-busy // who gets the end may ask again at once
			s.end(m.Reply, e)
		}()
	}
}

func (s *Sensor) end(to string, e *ending) {
	b, err := json.Marshal(e)
	if err == nil {
		err = s.Conn.PublishMsg(&nats.Msg{Subject: to, Data: b, Header: nats.Header{endHeader: {"1"}}})
	}
	if err != nil {
		s.Say(fmt.Sprintf("fetch: %v", err))
	}
}

// wanted reads a request for packets, and returns the words for qdissect: those of others are values of flags, and no shell sees them.
func wanted(request []byte) (c Cut, args []string, err error) {
	if err := json.Unmarshal(request, &c); err != nil {
		return c, nil, errors.New("not a request for packets")
	}
	switch {
	case c.Since.IsZero() || !c.Since.Before(c.Until):
		return c, nil, errors.New("--since must be before --until")
	case len(c.Filter) > maxFilter:
		return c, nil, fmt.Errorf("the filter is longer than %d bytes", maxFilter)
	}
	c.Most = min(max(c.Most, 0), MaxFetch)
	args = []string{"read", "-q", "-w", "-", "--since=" + c.Since.UTC().Format(time.RFC3339Nano), "--until=" + c.Until.UTC().Format(time.RFC3339Nano)}
	if c.Filter != "" {
		args = append(args, "--display-filter="+c.Filter)
	}
	return c, args, nil
}

// cut sends the packets that somebody wants.
func (s *Sensor) cut(ctx context.Context, m *nats.Msg, e *ending) error {
	c, args, err := wanted(m.Data)
	if err != nil {
		return err
	}
	files := covering(s.ring(), c.Since, c.Until)
	if len(files) == 0 {
		return errors.New("its ring has no packets of that time")
	}
	ctx, stop := context.WithTimeout(ctx, maxCutTime)
	defer stop()
	if run(files[0]) == run(files[len(files)-1]) {
		args = append(args, "--series") // else some were written before a restart
	}
	p := exec.CommandContext(ctx, s.Program, append(append(args, "--"), files...)...)
	words := new(work.LastWords)
	p.Stderr, p.WaitDelay = words, time.Second
	out, err := p.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	sent, whole, err := s.pieces(ctx, m.Reply, out, c.Most, e)
	if !whole {
		stop()
	}
	ended := p.Wait()
	switch {
	case err != nil:
		return err
	case !whole:
		e.Note = fmt.Sprintf("cut short at %d bytes: there are more packets", sent)
	case ctx.Err() != nil:
		return fmt.Errorf("it takes longer than %v", maxCutTime)
	case ended != nil && sent == 0:
		return errors.New(words.String())
	case ended != nil:
		e.Note = words.String()
	}
	return nil
}

// covering returns the files of a ring that may have packets of a time: each was written until it was changed last.
func covering(ring []string, since, until time.Time) (list []string) {
	var before time.Time
	for _, name := range ring {
		at := changed(name)
		if !at.Add(slack).Before(since) && before.Add(-slack).Before(until) {
			list = append(list, name)
		}
		before = at
	}
	return list
}

// slack is how late frames may be written.
const slack = time.Minute

// pieces sends what r has, at most so many bytes, piece by piece: each is acknowledged before the next is sent. whole reports
// whether that was all.
func (s *Sensor) pieces(ctx context.Context, to string, r io.Reader, most int64, e *ending) (sent int64, whole bool, err error) {
	h := sha256.New()
	b := make([]byte, chunk)
	for n := 0; ; n++ {
		k, err := io.ReadFull(r, b)
		if rest := most - sent; int64(k) > rest {
			k, most = int(rest), 0
		}
		if k > 0 {
			m := &nats.Msg{Subject: to, Data: b[:k], Header: nats.Header{pieceHeader: {strconv.Itoa(n)}}}
			asked, end := context.WithTimeout(ctx, 2*askTime)
			_, err := s.Conn.RequestMsgWithContext(asked, m)
			if end(); err != nil {
				return sent, false, fmt.Errorf("not acknowledged: %w", err)
			}
			h.Write(b[:k])
			sent += int64(k)
		}
		e.SHA256 = hex.EncodeToString(h.Sum(nil))
		switch {
		case most == 0:
			return sent, false, nil
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return sent, true, nil
		case err != nil:
			return sent, false, err
		}
	}
}

// Fetch brings packets of a sensor. The note says what is missing.
func Fetch(ctx context.Context, conn *nats.Conn, name string, c Cut, out io.Writer) (n int64, note string, err error) {
	if !ValidName(name) {
		return 0, "", errName
	}
	inbox := conn.NewInbox()
	sub, err := conn.SubscribeSync(inbox)
	if err != nil {
		return 0, "", err
	}
	defer sub.Unsubscribe()
	b, err := json.Marshal(&c)
	if err != nil {
		return 0, "", err
	}
	if err := conn.PublishRequest(fetchSubject(name), inbox, b); err != nil {
		return 0, "", err
	}
	h := sha256.New()
	for piece := 0; ; piece++ {
		wait, end := context.WithTimeout(ctx, maxCutTime)
		m, err := sub.NextMsgWithContext(wait)
		end()
		switch {
		case errors.Is(err, nats.ErrNoResponders) || err == nil && m.Header.Get("Status") == "503":
			return n, "", fmt.Errorf("the sensor %s does not answer: it is not connected, or its name is another", name)
		case err != nil:
			return n, "", fmt.Errorf("sensor %s: %w", name, err)
		}
		if m.Header.Get(endHeader) != "" {
			var e ending
			switch err := json.Unmarshal(m.Data, &e); {
			case err != nil || len(m.Data) > 1<<16:
				return n, "", fmt.Errorf("sensor %s: not an answer", name)
			case e.Error != "":
				return n, "", fmt.Errorf("sensor %s: %s", name, e.Error)
			case e.SHA256 != hex.EncodeToString(h.Sum(nil)):
				return n, "", fmt.Errorf("sensor %s: what came is not what was sent", name)
			}
			return n, e.Note, nil
		}
		if m.Header.Get(pieceHeader) != strconv.Itoa(piece) {
			return n, "", fmt.Errorf("sensor %s: a piece is missing", name)
		}
		if n += int64(len(m.Data)); n > c.Most {
			return n, "", fmt.Errorf("sensor %s: it sends more than was asked for", name)
		}
		if piece == 0 && !bytes.HasPrefix(m.Data, []byte{0x0a, 0x0d, 0x0d, 0x0a}) {
			return n, "", fmt.Errorf("sensor %s: what it sends is no pcapng", name)
		}
		if _, err := out.Write(m.Data); err != nil {
			return n, "", err
		}
		h.Write(m.Data)
		if err := m.Respond(nil); err != nil {
			return n, "", err
		}
	}
}

// FetchFile is as Fetch, into a file that is complete or not there.
func FetchFile(ctx context.Context, conn *nats.Conn, name string, c Cut, file string) (n int64, note string, err error) {
	f, err := whole.Create(file, true)
	if err != nil {
		return 0, "", err
	}
	defer f.Discard()
	if n, note, err = Fetch(ctx, conn, name, c, f); err != nil {
		return n, note, err
	}
	return n, note, f.Place()
}
