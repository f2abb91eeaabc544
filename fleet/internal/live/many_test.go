package live

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/qdissect/qdissect/fleet/internal/link"
	"github.com/qdissect/qdissect/fleet/internal/work"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/internal/unitfile"
)

// A cycle is what a view says after it has written its pages.
type cycle struct {
	Behind, Delivery      time.Duration
	Sensors, Units, Bytes int
	MiB                   int // resident
}

// watching is a process with a view, which says after each cycle how it went.
func watching(dir string) {
	fatal := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	var o link.Options
	fatal(json.Unmarshal([]byte(os.Getenv("QDISSECT_VIEW_OPTIONS")), &o))
	conn, err := o.Connect("view")
	fatal(err)
	js, err := jetstream.New(conn)
	fatal(err)
	v := &View{Dir: dir, Version: "test", Command: "view", Say: func(s string) { fatal(fmt.Errorf("%s", s)) }}
	fatal(os.MkdirAll(filepath.Join(dir, sensorPages), 0o777))
	_, err = v.Follow(context.Background(), js)
	fatal(err)
	every, err := time.ParseDuration(os.Getenv("QDISSECT_VIEW_EVERY"))
	fatal(err)
	last := time.Now()
	for {
		time.Sleep(every)
		began := time.Now()
		fatal(v.Write(began, every/4))
		// Whatever came since the last cycle began is on the pages now.
		c := cycle{Behind: time.Since(last), MiB: resident()}
		last = began
		v.mu.Lock()
		c.Sensors, c.Bytes = len(v.sensors), v.bytes
		for _, s := range v.sensors {
			c.Delivery = max(c.Delivery, s.clock.Abs()) // the same clock
			for i := range s.units {
				if s.units[i].bytes != nil {
					c.Units++
				}
			}
		}
		v.mu.Unlock()
		b, err := json.Marshal(c)
		fatal(err)
		os.Stdout.Write(append(b, '\n'))
	}
}

func resident() int {
	b, _ := os.ReadFile("/proc/self/statm")
	if f := strings.Fields(string(b)); len(f) > 1 {
		n, _ := strconv.Atoi(f[1])
		return n * os.Getpagesize() >> 20
	}
	return 0
}

// setting returns a number or a time of the environment.
func setting[T any](t *testing.T, name string, byDefault T, parse func(string) (T, error)) T {
	if s := os.Getenv(name); s != "" {
		return must.Get(parse(s))(t)
	}
	return byDefault
}

// TestManySensors runs sensors that say something every ten seconds, each with its own connection and key, and a view in a process
// of its own. It is at most 15 s behind, and its memory stays what it was. .ci/long runs it with 500 sensors for ten minutes.
func TestManySensors(t *testing.T) {
	n := setting(t, "QDISSECT_SENSORS", 12, strconv.Atoi)
	span := setting(t, "QDISSECT_SENSORS_TIME", 3*time.Second, time.ParseDuration)
	every, pace, kinds := 5*time.Second, unitfile.SlotEvery, 4
	if span < time.Minute {
		every, pace, kinds = 500*time.Millisecond, time.Second, 2
	}
	var users []string
	for i := range n {
		users = append(users, fmt.Sprintf("sensor s%d", i))
	}
	h := newHub(t, users...)

	var mu sync.Mutex
	made := map[string][]byte{}
	// unit returns what a kind of sensor has counted of a slot by a time, in steps of half a minute.
	unit := func(kind int, slot, at time.Time) []byte {
		mu.Lock()
		defer mu.Unlock()
		step := min(at.Sub(slot), unitfile.SlotTime).Truncate(30*time.Second) / time.Second
		key := fmt.Sprint(kind, slot, step)
		if made[key] == nil {
			_, list := countedOf(t, scenes.Options{Seed: uint64(kind), Start: slot, Span: max(step*time.Second, 10*time.Second) - time.Second, Clients: 150 * kind, Rate: 20, To: time.Second})
			made[key] = list[0]
		}
		return made[key]
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var failed atomic.Int64
	send := func(js jetstream.JetStream, i int, slot, at time.Time) {
		b := unit(i%kinds+1, slot, at)
		m := &nats.Msg{Subject: countsSubject(fmt.Sprint("s", i), placeOf(slot)), Data: b, Header: nats.Header{}}
		m.Header.Set(slotHeader, slot.Format(time.RFC3339))
		m.Header.Set(sentHeader, time.Now().UTC().Format(time.RFC3339Nano))
		if _, err := js.PublishMsg(ctx, m); err != nil && ctx.Err() == nil {
			failed.Add(1)
		}
	}
	var running, ready sync.WaitGroup
	for i := range n {
		ready.Add(1)
		running.Go(func() {
			conn, _ := h.connect(fmt.Sprint("s", i))
			js := h.js(conn)
			current := slotOf(time.Now())
			for k := 1; k < unitfile.Slots-1; k++ { // of the past hour
				slot := current.Add(-time.Duration(k) * unitfile.SlotTime)
				send(js, i, slot, current)
			}
			ready.Done()
			ready.Wait()
			work.Pause(ctx, time.Duration(rand.Int64N(int64(pace))))
			for ctx.Err() == nil {
				now := time.Now()
				send(js, i, slotOf(now), now)
				work.Pause(ctx, pace)
			}
		})
	}
	ready.Wait()

	fresh := firstPages(t, h, n)
	if fresh[0] > 3*time.Second {
		t.Errorf("the first page came after %v", fresh[0])
	}

	self := must.Get(os.Executable())(t)
	o := h.options("v")
	options := must.Get(json.Marshal(&o))(t)
	view := exec.CommandContext(ctx, self)
	view.Env = append(os.Environ(), "QDISSECT_VIEW="+t.TempDir(), "QDISSECT_VIEW_OPTIONS="+string(options), "QDISSECT_VIEW_EVERY="+every.String())
	view.Stderr = os.Stderr
	out := must.Get(view.StdoutPipe())(t)
	must.Do(t, view.Start())
	var list []cycle
	began := time.Now()
	// A busy machine needs longer for a few cycles and for what was sent before.
	more := func() bool {
		past, k := time.Since(began), len(list)
		return past < span || past < span+time.Minute && (k < 6 || list[k-1].Sensors < n || list[k-1].Units < n*(unitfile.Slots-2))
	}
	for lines := bufio.NewScanner(out); more() && lines.Scan(); {
		var c cycle
		must.Do(t, json.Unmarshal(lines.Bytes(), &c))
		if list = append(list, c); len(list)%6 == 0 || len(list) == 1 || c.Behind > 15*time.Second {
			t.Logf("%5.0f s: %+v", time.Since(began).Seconds(), c)
		}
	}
	stop()
	view.Wait()
	running.Wait()
	if len(list) < 4 {
		t.Fatalf("%d cycles", len(list))
	}
	var worst time.Duration
	for i, c := range list[1:] {
		if list[i].Units >= n*(unitfile.Slots-2) { // it has read the last hour
			worst = max(worst, c.Behind+c.Delivery)
		}
	}
	first, last := list[len(list)/4], list[len(list)-1]
	t.Logf("%d sensors with %d units of %d KiB, at most %v behind, %d MiB after a quarter of the time and %d at the end", n, last.Units, last.Bytes>>10, worst, first.MiB, last.MiB)
	if last.Sensors != n || last.Units < n*(unitfile.Slots-2) {
		t.Errorf("%d sensors with %d units", last.Sensors, last.Units)
	}
	if worst > 15*time.Second {
		t.Errorf("the view is %v behind", worst)
	}
	if span >= time.Minute && last.MiB > first.MiB*5/4+20 {
		t.Errorf("the memory of the view grows from %d to %d MiB", first.MiB, last.MiB)
	}
	if failed.Load() > 0 {
		t.Errorf("%d messages are not stored", failed.Load())
	}
}

// firstPages starts a view of sensors of whose last hour the server has the counts. It returns the time until there is a page, and until
// it has all sensors.
func firstPages(t *testing.T, h *hub, n int) (took [2]time.Duration) {
	t.Helper()
	conn, _ := h.connect("v")
	defer conn.Close()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	v := &View{Dir: t.TempDir(), Version: "test", Command: "view", Say: func(s string) { t.Error(s) }}
	began := time.Now()
	running.Go(func() {
		if err := v.Run(ctx, h.js(conn), 5*time.Second); err != nil {
			t.Error(err)
		}
	})
	for at := 0; at < len(took) && time.Since(began) < time.Minute; time.Sleep(20 * time.Millisecond) {
		b, err := os.ReadFile(filepath.Join(v.Dir, "index.html"))
		for at < len(took) && err == nil && bytes.Count(b, []byte(`href="sensors/`)) >= at*n {
			took[at] = time.Since(began)
			at++
		}
	}
	return took
}
