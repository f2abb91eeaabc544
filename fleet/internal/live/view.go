package live

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // for the page
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"html/template"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/fleet/internal/work"
	"github.com/qdissect/qdissect/internal/htmlreport"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/internal/whole"
)

// A View makes pages of what sensors say. Nothing of a sensor changes the figures of another one, and the sum has those of sensors
// whose clocks are right.
type View struct {
	Dir     string
	Version string
	Command string
	Home    []netip.Prefix
	Without []string // sensors that are left out
	Say     func(string)

	mu      sync.Mutex
	sensors map[string]*sensor
	sums    map[int64]*slotSum
	bytes   int // of all units
	refused int // messages of no sensor
	crowd   int // messages of sensors for which there is no room
	news    bool
	says    []stats.Verdict // of the sum
}

// The limits of a view.
const (
	maxSensors = 2000
	maxUnits   = 1 << 30 // bytes of all units
	hour       = time.Hour
	// A clock that is off by clockNamed is named. With one that is off by clockWrong, the counts are not in the sum.
	clockNamed = 30 * time.Second
	clockWrong = unitfile.SlotTime
	// silent is how long nothing may come of a sensor.
	silent = time.Minute
	// forgotten is when a sensor is no longer listed.
	forgotten = 24 * time.Hour
	// reloadEvery is how often a browser reads a page again.
	reloadEvery = 3 * time.Second
	// listedVerdicts is how many verdicts of a sensor stand in the list.
	listedVerdicts = 3
)

// A sensor is what is known of one.
type sensor struct {
	name    string
	units   [unitfile.Slots]unit
	status  Status
	heard   time.Time     // by the clock of the server
	clock   time.Duration // its time less that of the server
	refused int           // messages
	why     string        // the last one was
	written time.Time     // its page
	changed bool          // since then
	says    []stats.Verdict
}

// A unit is what a sensor counts in a slot, as it came.
type unit struct {
	slot  time.Time
	bytes []byte
	clock time.Duration

	packets, requests, replies, unanswered uint64
}

// A slotSum is the sum of all sensors in a slot.
type slotSum struct {
	old    bool // units have come since
	shards *stats.Shards
	pkts   uint64
}

// Run writes the pages until the context ends: a quarter of a second after the server began to send, then within a second or two when
// something has come, but for at most a quarter of the time, and every few seconds.
func (v *View) Run(ctx context.Context, conn *nats.Conn, every time.Duration) error {
	if err := os.MkdirAll(filepath.Join(v.Dir, sensorPages), 0o777); err != nil {
		return err
	}
	stop, err := v.Follow(ctx, conn)
	if err != nil {
		return err
	}
	defer stop()
	var last time.Time
	for wait, most := time.Second/4, min(time.Second/4, every/4); ; {
		work.Pause(ctx, min(wait, every))
		if ctx.Err() != nil {
			return nil
		}
		began := time.Now()
		if !v.hasNews() && began.Sub(last) < every {
			continue
		}
		if err := v.Write(began, most); err != nil {
			v.Say(err.Error())
		}
		last, wait, most = began, max(time.Second, 3*time.Since(began)), every/4
	}
}

// hasNews reports whether something has come since the pages were written.
func (v *View) hasNews() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.news
}

// Follow takes what sensors have said and say.
func (v *View) Follow(ctx context.Context, conn *nats.Conn) (stop func(), err error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	c, err := js.OrderedConsumer(ctx, Stream, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("the server has no stream %s; qdissect-fleet server makes it, and qdissect-fleet stream in another server", Stream)
	}
	if err != nil {
		return nil, err
	}
	got, err := c.Consume(func(m jetstream.Msg) {
		md, err := m.Metadata()
		if err != nil {
			return
		}
		h := m.Headers()
		v.Take(m.Subject(), h.Get(sentHeader), h.Get(slotHeader), m.Data(), md.Timestamp)
	})
	if err != nil {
		return nil, err
	}
	return got.Stop, nil
}

// Take takes a message, which may be anything, at the time at which the server got it.
func (v *View) Take(subject, sent, slot string, data []byte, at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.news = true
	name, place, ok := parseSubject(subject)
	if !ok {
		v.refused++
		return
	}
	if slices.Contains(v.Without, name) {
		return
	}
	if v.sensors == nil {
		v.sensors, v.sums = make(map[string]*sensor), make(map[int64]*slotSum)
	}
	s := v.sensors[name]
	if s == nil {
		if len(v.sensors) == maxSensors {
			v.crowd++
			return
		}
		s = &sensor{name: name}
		v.sensors[name] = s
	}
	if s.heard.Before(at) {
		s.heard = at
	}
	if err := v.take(s, place, sent, slot, data, at); err != nil {
		s.refused++
		s.why = err.Error()
	}
}

// take takes a message of a sensor. Its panics are those of a message that is wrong.
func (v *View) take(s *sensor, place int, sent, slot string, data []byte, at time.Time) (err error) {
	defer contain(&err, "it makes this program panic")
	clock, err := time.Parse(time.RFC3339Nano, sent)
	if err != nil || clock.Year() < 1970 || clock.Year() > 2200 {
		return errors.New("without the time of the sensor")
	}
	off := clock.Sub(at)
	if place < 0 {
		if err := v.takeStatus(s, data); err != nil {
			return err
		}
	} else if err := v.takeUnit(s, place, slot, data, off); err != nil {
		return err
	}
	if !at.Before(s.heard) {
		s.clock = off
	}
	s.changed = true
	return nil
}

// contain is deferred: it makes an error of a panic.
func contain(err *error, what string) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: %v", what, p)
	}
}

func (v *View) takeStatus(s *sensor, data []byte) error {
	var status Status
	if len(data) > maxStatus {
		return fmt.Errorf("a status of %d bytes", len(data))
	}
	if err := json.Unmarshal(data, &status); err != nil {
		return errors.New("a status that cannot be read")
	}
	s.status = status
	return nil
}

func (v *View) takeUnit(s *sensor, place int, slot string, data []byte, off time.Duration) error {
	start, err := time.Parse(time.RFC3339, slot)
	if err != nil || start.Unix() <= 0 || !start.Equal(slotOf(start)) || placeOf(start) != place {
		return fmt.Errorf("counts of %.40q in the place %d", slot, place)
	}
	if len(data) > unitfile.SlotBytes {
		return fmt.Errorf("counts of %d bytes", len(data))
	}
	u := unit{slot: start, bytes: bytes.Clone(data), clock: off}
	c, err := u.read()
	if err != nil {
		return fmt.Errorf("counts of %s: %w", start.Format(time.RFC3339), err)
	}
	u.packets = c.Packets
	u.requests, u.replies, u.unanswered = c.Shards.Messages()
	old := &s.units[place]
	more := len(u.bytes) - len(old.bytes)
	if v.bytes+more > maxUnits {
		return errors.New("there is no room for more units")
	}
	v.bytes += more
	v.mark(old)
	*old = u
	v.mark(&u)
	return nil
}

// mark marks the sum of the slot of a unit as old.
func (v *View) mark(u *unit) {
	if sum := v.sums[u.slot.Unix()]; sum != nil {
		sum.old = true
	}
}

// read reads the counts of a unit.
func (u *unit) read() (*unitfile.Unit, error) {
	return unitfile.ReadSmall(u.bytes, all.Protocols(), unitfile.SlotBounds(u.slot))
}

// within reports whether a unit is of the last hour.
func (u *unit) within(now time.Time) bool {
	return u.bytes != nil && u.slot.After(now.Add(-hour-unitfile.SlotTime)) && !u.slot.After(now.Add(unitfile.SlotTime))
}

// right reports whether the clock was right when the unit was sent.
func (u *unit) right() bool { return u.clock.Abs() < clockWrong }

// Write writes the pages: that of all sensors first, then those of sensors, for as long as they may take, and the list last.
func (v *View) Write(now time.Time, most time.Duration) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expire(now)
	v.news = false
	list := v.byName()
	var err error
	if v.says, err = v.page("all", "all sensors", func() (*unitfile.Sum, error) { return v.sum(now, list) }); err != nil {
		return err
	}
	began := time.Now()
	for _, s := range slices.SortedStableFunc(slices.Values(list), func(a, b *sensor) int { return a.written.Compare(b.written) }) {
		if time.Since(began) > most {
			break
		}
		if !s.changed {
			continue
		}
		if s.says, err = v.page(filepath.Join(sensorPages, s.name), "sensor "+s.name, s.sum); err != nil {
			return err
		}
		s.written, s.changed = now, false
	}
	return v.index(now, list)
}

const sensorPages = "sensors"

// byName returns the sensors in the order of their names.
func (v *View) byName() []*sensor {
	return slices.SortedFunc(maps.Values(v.sensors), func(a, b *sensor) int { return cmp.Compare(a.name, b.name) })
}

// expire forgets what is older than an hour, by the clock of its sensor, and sensors of which nothing is left.
func (v *View) expire(now time.Time) {
	for name, s := range v.sensors {
		left := false
		for i := range s.units {
			u := &s.units[i]
			if u.bytes != nil && !u.within(now.Add(s.clock)) {
				v.bytes -= len(u.bytes)
				v.mark(u)
				*u = unit{}
				s.changed = true
			}
			left = left || u.bytes != nil
		}
		if !left && now.Sub(s.heard) > forgotten {
			delete(v.sensors, name)
			os.Remove(filepath.Join(v.Dir, sensorPages, name+".html"))
		}
	}
	for slot := range v.sums {
		if u := (unit{slot: time.Unix(slot, 0), bytes: []byte{}}); !u.within(now) {
			delete(v.sums, slot)
		}
	}
}

// sum returns the sum of all sensors in the last hour. That of a slot is made again when one of its units has changed.
func (v *View) sum(now time.Time, list []*sensor) (*unitfile.Sum, error) {
	slots := map[int64]bool{}
	for _, s := range list {
		for i := range s.units {
			if u := &s.units[i]; u.within(now) && u.right() {
				slots[u.slot.Unix()] = true
			}
		}
	}
	total := unitfile.NewSum()
	for i := range unitfile.Slots + 2 {
		slot := slotOf(now).Add(time.Duration(i-unitfile.Slots) * unitfile.SlotTime)
		if !slots[slot.Unix()] {
			delete(v.sums, slot.Unix())
			continue
		}
		sum := v.sums[slot.Unix()]
		if sum == nil || sum.old {
			sum = v.slot(slot, list)
			v.sums[slot.Unix()] = sum
		}
		total.Shards.Fold(sum.shards)
		total.Packets += sum.pkts
	}
	return total, nil
}

// slot returns the sum of a slot, in the order of sensors. A unit that cannot be added is refused.
func (v *View) slot(slot time.Time, list []*sensor) *slotSum {
	for {
		sum := &slotSum{shards: stats.NewShards()}
		bad := slices.IndexFunc(list, func(s *sensor) bool {
			u := &s.units[placeOf(slot)]
			if !u.slot.Equal(slot) || u.bytes == nil || !u.right() {
				return false
			}
			if err := sum.add(s.name, u); err != nil {
				s.refused++
				s.why = err.Error()
				v.bytes -= len(u.bytes)
				u.bytes = nil
				return true // and what was added of it must not stay
			}
			return false
		})
		if bad < 0 {
			return sum
		}
	}
}

// add adds the unit of a sensor. Sensors are spread over shards: a sensor does not take the places of all others.
func (sum *slotSum) add(name string, u *unit) (err error) {
	defer contain(&err, "it makes this program panic")
	c, err := u.read()
	if err != nil {
		return err
	}
	h := fnv.New64a()
	io.WriteString(h, name)
	c.Shards.Spread(h.Sum64())
	sum.shards.Fold(c.Shards)
	sum.pkts += c.Packets
	return nil
}

// sum returns the sum of a sensor.
func (s *sensor) sum() (*unitfile.Sum, error) {
	list := slices.DeleteFunc(slices.Clone(s.units[:]), func(u unit) bool { return u.bytes == nil })
	slices.SortFunc(list, func(a, b unit) int { return a.slot.Compare(b.slot) })
	total := unitfile.NewSum()
	for _, u := range list {
		c, err := u.read()
		if err != nil {
			return nil, err
		}
		c.Captures, c.Names = "", nil
		total.Add(c)
	}
	return total, nil
}

// page writes the page of a sum and returns its verdicts. A sum that makes this program panic costs its page.
func (v *View) page(name, title string, of func() (*unitfile.Sum, error)) (says []stats.Verdict, err error) {
	defer contain(&err, "the page of "+title)
	sum, err := of()
	if err != nil {
		return nil, fmt.Errorf("the page of %s: %w", title, err)
	}
	r := sum.Shards.Sum().Report(stats.Options{
		Home: v.Home, HomeBy: by(v.Home), Packets: sum.Packets,
		Made:    stats.Made{Version: v.Version, Command: v.Command, Files: []stats.File{{Name: title, Packets: sum.Packets}}, Every: reloadEvery},
		Servers: htmlreport.MaxServers,
	})
	var b bytes.Buffer
	if err := htmlreport.Write(&b, r); err != nil {
		return nil, err
	}
	return slices.Clone(r.Verdicts[:min(len(r.Verdicts), listedVerdicts)]), whole.Write(filepath.Join(v.Dir, name+".html"), b.Bytes(), false)
}

func by(home []netip.Prefix) string {
	return nettext.Either(len(home) > 0, "option", "")
}

// A row is a sensor on the page of all sensors.
type row struct {
	Name, Heard, Clock            string
	Bad                           bool
	Packets, Requests, Unanswered uint64
	Share                         string
	Trouble                       []string
	Says                          []said
}

// A said is a verdict in the list.
type said struct {
	Bad  bool
	Text string
}

// listed returns verdicts for the list.
func listed(list []stats.Verdict) (says []said) {
	for i := range list {
		v := &list[i]
		says = append(says, said{v.Kind != stats.NothingUnusual && v.Kind != stats.CannotTell && v.Kind != stats.Growth, string(nettext.AppendSafe(nil, []byte(v.Text)))})
	}
	return says
}

// row says what is known of a sensor.
func (s *sensor) row(now time.Time) row {
	r := row{Name: s.name, Heard: ago(now, s.heard), Says: listed(s.says)}
	for _, u := range s.units {
		r.Packets, r.Requests, r.Unanswered = r.Packets+u.packets, r.Requests+u.requests, r.Unanswered+u.unanswered
	}
	if r.Requests > 0 {
		r.Share = fmt.Sprintf("%.1f %%", 100*float64(r.Unanswered)/float64(r.Requests))
	}
	say := func(format string, args ...any) {
		r.Trouble = append(r.Trouble, string(nettext.AppendSafe(nil, fmt.Appendf(nil, format, args...))))
	}
	if now.Sub(s.heard) > silent {
		say("nothing has come for %s", strings.TrimSuffix(ago(now, s.heard), " ago"))
	}
	if off := s.clock.Abs(); off >= clockNamed {
		way, sum := "ahead", ""
		if s.clock < 0 {
			way = "behind"
		}
		if off >= clockWrong {
			sum = ", so that its counts are not in the sum"
		}
		say("the clock of sensor %s is %s %s%s", s.name, off.Round(time.Second), way, sum)
	}
	if st := &s.status; st.Restarts > 0 && !st.EndedAt.IsZero() && now.Add(s.clock).Sub(st.EndedAt) < hour {
		say("its qdissect has been restarted (%d in all), %s: %.300s", st.Restarts, ago(now.Add(s.clock), st.EndedAt), st.Ended)
	}
	if n := s.status.Dropped; n > 0 {
		say("%d of its units were dropped before the server had them, because the server was away for more than an hour", n)
	}
	if s.refused > 0 {
		say("%d of its messages were refused, the last one because of %.200s", s.refused, s.why)
	}
	r.Bad = len(r.Trouble) > 0
	return r
}

func ago(now, t time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return "never"
	case d < 2*time.Second:
		return "now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// rank is 0 for a sensor with trouble, 1 for one whose servers have it.
func (r *row) rank() int {
	switch {
	case r.Bad:
		return 0
	case slices.ContainsFunc(r.Says, func(s said) bool { return s.Bad }):
		return 1
	}
	return 2
}

// index writes the page that lists the sensors, those with trouble first.
func (v *View) index(now time.Time, list []*sensor) error {
	page := struct {
		At           string
		Reload       float64
		Says         []said
		Rows         []row
		Trouble      []string
		Bad, Sensors int
	}{At: now.UTC().Format("2006-01-02 15:04:05 UTC"), Reload: reloadEvery.Seconds(), Says: listed(v.says), Sensors: len(list)}
	for _, s := range list {
		r := s.row(now)
		if page.Rows = append(page.Rows, r); r.Bad {
			page.Bad++
		}
	}
	slices.SortStableFunc(page.Rows, func(a, b row) int { return cmp.Compare(a.rank(), b.rank()) })
	if v.refused > 0 {
		page.Trouble = append(page.Trouble, fmt.Sprintf("%d messages of no sensor were refused", v.refused))
	}
	if v.crowd > 0 {
		page.Trouble = append(page.Trouble, fmt.Sprintf("there is room for %d sensors: %d messages of others were refused", maxSensors, v.crowd))
	}
	if len(v.Without) > 0 {
		page.Trouble = append(page.Trouble, "left out: "+strings.Join(v.Without, ", "))
	}
	var b bytes.Buffer
	if err := indexPage.Execute(&b, page); err != nil {
		return err
	}
	return whole.Write(filepath.Join(v.Dir, "index.html"), b.Bytes(), false)
}

//go:embed index.tmpl
var indexTemplate string

var indexPage = template.Must(template.New("index").Parse(indexTemplate))
