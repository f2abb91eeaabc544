package live

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/fleet/internal/link"
	"github.com/qdissect/qdissect/fleet/internal/work"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/report"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("QDISSECT_FAKE"); dir != "" {
		fake(dir)
	}
	if dir := os.Getenv("QDISSECT_VIEW"); dir != "" {
		watching(dir)
	}
	os.Exit(m.Run())
}

// fake is a qdissect that captures what is in a folder: it copies the units into the folder of --counts, and ends if there is a
// file "crash", which it removes. As a reader of the ring it writes the file "answer".
func fake(dir string) {
	if os.Args[1] == "read" {
		os.WriteFile(filepath.Join(dir, "args"), []byte(strings.Join(os.Args[1:], "\n")), 0o600)
		b, err := os.ReadFile(filepath.Join(dir, "answer"))
		if err != nil {
			fmt.Fprintln(os.Stderr, "qdissect: filter, offset 3: no")
			os.Exit(2)
		}
		os.Stdout.Write(b)
		os.Exit(0)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	for {
		names, _ := filepath.Glob(filepath.Join(dir, "units", "*", "aggregate.bin"))
		for _, name := range names {
			to := filepath.Join(os.Args[4], filepath.Base(filepath.Dir(name)), "aggregate.bin")
			b, err := os.ReadFile(name)
			if _, is := os.Stat(to); is == nil || err != nil {
				continue
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o777), os.WriteFile(to+"~", b, 0o666), os.Rename(to+"~", to)); err != nil {
				panic(err)
			}
		}
		if os.Remove(filepath.Join(dir, "crash")) == nil {
			panic("crash")
		}
		select {
		case <-stop:
			os.Exit(0)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// counted returns the units of a capture that begins at a time: the slots and their bytes.
func counted(t testing.TB, seed uint64, start time.Time, span time.Duration) (slots []time.Time, list [][]byte) {
	t.Helper()
	return countedOf(t, scenes.Options{Seed: seed, Start: start, Span: span, Clients: 20, Rate: 20})
}

func countedOf(t testing.TB, scene scenes.Options) (slots []time.Time, list [][]byte) {
	t.Helper()
	var b bytes.Buffer
	must.Get(scenes.All()[0].Write(&b, scene))(t)
	o := pipeline.Options{
		Inputs: []string{"-"}, Stdin: &b, Out: io.Discard, Workers: 1, Counts: &pipeline.Counts{Stats: stats.New()},
		Reporter: func() report.Reporter { return report.SummaryOnly(report.NewCounts()) },
		Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()},
		Trouble:  func(err error) { t.Error(err) },
	}
	o.Counts.Slots = &pipeline.Slots{Width: unitfile.SlotTime, Counts: func(start time.Time, packets uint64, s *stats.Shards) {
		u := must.Get(unitfile.AppendSmall(nil, &unitfile.Unit{Captures: "eth0", Part: unitfile.All, Packets: packets, Shards: s}, unitfile.SlotBytes))(t)
		slots, list = append(slots, start), append(list, u)
	}}
	must.Get(pipeline.Run(o))(t)
	return slots, list
}

var now = time.Date(2026, 3, 14, 19, 33, 0, 0, time.UTC)

// takes has a view take units of a sensor, sent and received at a time.
func takes(v *View, name string, slots []time.Time, list [][]byte, sent, at time.Time) {
	for i, slot := range slots {
		v.Take(countsSubject(name, placeOf(slot)), sent.Format(time.RFC3339Nano), slot.Format(time.RFC3339), list[i], at)
	}
}

// FuzzTake has a view take anything in the name of a sensor, and write its pages.
func FuzzTake(f *testing.F) {
	sent, slot := now.Format(time.RFC3339Nano), now.Truncate(unitfile.SlotTime)
	u := must.Get(unitfile.AppendSmall(nil, &unitfile.Unit{Captures: "eth0", Part: unitfile.All, Packets: 7, Shards: stats.NewShards()}, unitfile.SlotBytes))(f)
	f.Add(countsSubject("a", placeOf(slot)), sent, slot.Format(time.RFC3339), u)
	f.Add(statusSubject("a"), sent, "", []byte(`{"version":"x","interfaces":["eth0"]}`))
	f.Fuzz(func(t *testing.T, subject, sent, slot string, data []byte) {
		v := newView(t)
		v.Take(subject, sent, slot, data, now)
		for name, s := range v.sensors {
			if strings.Contains(s.why, "panic") {
				t.Errorf("%s: %s", name, s.why)
			}
		}
		must.Do(t, v.Write(now, time.Second))
	})
}

// FuzzWanted: whatever a request for packets is, its words are values of flags.
func FuzzWanted(f *testing.F) {
	f.Add([]byte(`{"since":"2026-03-14T19:00:00Z","until":"2026-03-14T19:05:00Z","filter":"--write=x","most":1000}`))
	f.Add([]byte(`{"since":"9999-12-31T23:59:59-14:00","until":"9999-12-31T23:59:59-23:59","most":-1}`))
	f.Fuzz(func(t *testing.T, request []byte) {
		c, args, err := wanted(request)
		if err != nil {
			return
		}
		if c.Most < 0 || c.Most > MaxFetch || len(args) > 7 {
			t.Errorf("%d bytes, %q", c.Most, args)
		}
		for i, prefix := range []string{"read", "-q", "-w", "-", "--since=", "--until=", "--display-filter="}[:len(args)] {
			if !strings.HasPrefix(args[i], prefix) || len(args[i]) > 40+maxFilter {
				t.Errorf("%q", args)
			}
		}
	})
}

func newView(t testing.TB) *View {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, sensorPages), 0o777))
	return &View{Dir: dir, Version: "test", Command: "view", Say: func(s string) { t.Log(s) }}
}

// pages writes the pages and returns one of them.
func (v *View) pages(t testing.TB, at time.Time, name string) string {
	t.Helper()
	must.Do(t, v.Write(at, time.Minute))
	b := must.Get(os.ReadFile(filepath.Join(v.Dir, name)))(t)
	return string(b)
}

// TestSum checks that the sum has what each sensor counted, once, in whatever order units come, how often, and after a restart.
func TestSum(t *testing.T) {
	a, unitsA := counted(t, 1, now.Add(-12*time.Minute), 10*time.Minute)
	b, unitsB := counted(t, 2, now.Add(-40*time.Minute), 4*time.Minute)
	one, two := newView(t), newView(t)
	takes(one, "a", a, unitsA, now, now)
	takes(one, "b", b, unitsB, now, now) // late: the server was away
	first := one.pages(t, now, "all.html")

	earlier, unitsEarlier := counted(t, 1, now.Add(-12*time.Minute), 8*time.Minute) // the same capture, less of it
	takes(two, "b", b, unitsB, now, now)
	takes(two, "a", earlier, unitsEarlier, now, now)
	two.pages(t, now, "all.html")
	takes(two, "a", a, unitsA, now, now)
	takes(two, "a", a, unitsA, now, now)
	takes(two, "b", b, unitsB, now, now)
	if second := two.pages(t, now, "all.html"); first != second {
		t.Error("the sum depends on the order of messages, or on copies")
	}

	sum := must.Get(one.sum(now, one.byName()))(t)
	want, wantPackets := uint64(0), uint64(0)
	for _, s := range one.byName() {
		for i := range s.units {
			want += s.units[i].requests
			wantPackets += s.units[i].packets
		}
	}
	r := sum.Shards.Sum().Report(stats.Options{})
	if r.Totals.Requests != want || want == 0 || sum.Packets != wantPackets || len(r.Servers) == 0 {
		t.Errorf("%d requests in %d packets, want %d in %d", r.Totals.Requests, sum.Packets, want, wantPackets)
	}
	if len(a) != 3 {
		t.Errorf("%d slots", len(a))
	}

	// An hour later everything is gone, and a day later the sensors too.
	if page := one.pages(t, now.Add(70*time.Minute), "index.html"); !strings.Contains(page, "2 sensors, 2 with trouble") || one.bytes != 0 {
		t.Error(one.bytes, page)
	}
	if page := one.pages(t, now.Add(25*time.Hour), "index.html"); !strings.Contains(page, "0 sensors, 0 with trouble") {
		t.Error(page)
	}
	if left, _ := filepath.Glob(filepath.Join(one.Dir, sensorPages, "*")); len(left) > 0 {
		t.Error(left)
	}
}

// TestClock has a sensor whose clock is an hour off. Its counts are on its page and not in the sum, and its clock is named.
func TestClock(t *testing.T) {
	a, unitsA := counted(t, 1, now.Add(-3*time.Minute), 2*time.Minute)
	for name, off := range map[string]time.Duration{"behind": -time.Hour, "ahead": time.Hour, "far": 300 * 24 * time.Hour} {
		alone, v := newView(t), newView(t)
		takes(alone, "a", a, unitsA, now, now)
		takes(v, "a", a, unitsA, now, now)
		b, unitsB := counted(t, 2, now.Add(-3*time.Minute+off), 2*time.Minute)
		takes(v, "b", b, unitsB, now.Add(off), now)
		if alone.pages(t, now, "all.html") != v.pages(t, now, "all.html") {
			t.Errorf("%s: the sum has the counts of a sensor with a wrong clock", name)
		}
		index := v.pages(t, now, "index.html")
		want := map[string]string{"behind": "the clock of sensor b is 1h0m0s behind", "ahead": "the clock of sensor b is 1h0m0s ahead", "far": "the clock of sensor b is 7200h0m0s ahead"}[name]
		if !strings.Contains(index, want+", so that its counts are not in the sum") || strings.Contains(index, "sensor a is") {
			t.Error(name, index)
		}
		if page := v.pages(t, now, "sensors/b.html"); !strings.Contains(page, now.Add(off).Format("2006-01-02 15:")) {
			t.Errorf("%s: its own page lacks its counts", name)
		}
		// The clock is set: new counts are in the sum, and its old ones are forgotten.
		c, unitsC := counted(t, 2, now.Add(-2*time.Minute), time.Minute)
		takes(v, "b", c, unitsC, now, now)
		takes(alone, "b", c, unitsC, now, now)
		if alone.pages(t, now, "all.html") != v.pages(t, now, "all.html") {
			t.Errorf("%s: the sum lacks counts, or has old ones, after the clock was set", name)
		}
		if index := v.pages(t, now, "index.html"); !strings.Contains(index, "0 with trouble") {
			t.Error(name, index)
		}
	}
}

// TestClockOfView: a page is written anew when something has come, also if the clock of the view is ahead of that of the server.
func TestClockOfView(t *testing.T) {
	v := newView(t)
	slots, units := counted(t, 1, now.Add(-4*time.Minute), 2*time.Minute)
	takes(v, "a", slots, units, now, now)
	before := v.pages(t, now.Add(2*time.Minute), "sensors/a.html")
	slots, units = counted(t, 2, now.Add(-4*time.Minute), 3*time.Minute)
	takes(v, "a", slots, units, now.Add(10*time.Second), now.Add(10*time.Second))
	if after := v.pages(t, now.Add(2*time.Minute+10*time.Second), "sensors/a.html"); before == after {
		t.Error("the page of the sensor is as before")
	}
}

// TestLiar has a sensor that sends what it must not. Each message is refused, named and counted, and nothing else changes.
func TestLiar(t *testing.T) {
	a, unitsA := counted(t, 1, now.Add(-3*time.Minute), 2*time.Minute)
	old, unitsOld := counted(t, 2, now.Add(-26*time.Hour), time.Minute)
	alone, v := newView(t), newView(t)
	for _, v := range []*View{alone, v} {
		takes(v, "a", a, unitsA, now, now)
	}
	good, slot := unitsA[0], a[0]
	sent, place := now.Format(time.RFC3339Nano), placeOf(slot)
	for _, c := range []struct {
		what, subject, sent, slot string
		data                      []byte
		why                       string
	}{
		{"no counts", countsSubject("liar", place), sent, slot.Format(time.RFC3339), []byte("hello"), "not an aggregate"},
		{"nothing", countsSubject("liar", place), sent, slot.Format(time.RFC3339), nil, "not an aggregate"},
		{"damaged", countsSubject("liar", place), sent, slot.Format(time.RFC3339), good[:len(good)-9], "damaged"},
		{"large", countsSubject("liar", place), sent, slot.Format(time.RFC3339), make([]byte, unitfile.SlotBytes+1), "counts of 65537 bytes"},
		{"another place", countsSubject("liar", (place+1)%unitfile.Slots), sent, slot.Format(time.RFC3339), good, "in the place"},
		{"no slot", countsSubject("liar", place), sent, "19:00 \x1b[2J<b>", good, "in the place"},
		{"half a slot", countsSubject("liar", place), sent, slot.Add(time.Second).Format(time.RFC3339), good, "in the place"},
		{"no time", countsSubject("liar", place), "", slot.Format(time.RFC3339), good, "without the time"},
		{"the end of time", countsSubject("liar", place), "9999-12-31T23:59:59Z", slot.Format(time.RFC3339), good, "without the time"},
		{"counts of another time", countsSubject("liar", place), sent, slot.Format(time.RFC3339), unitsOld[0], "out of bounds"},
		{"large status", statusSubject("liar"), sent, "", make([]byte, maxStatus+1), "a status of 4097 bytes"},
		{"no status", statusSubject("liar"), sent, "", []byte("{"), "cannot be read"},
	} {
		before := 0
		if s := v.sensors["liar"]; s != nil {
			before = s.refused
		}
		v.Take(c.subject, c.sent, c.slot, c.data, now)
		s := v.sensors["liar"]
		if s == nil || s.refused != before+1 || !strings.Contains(s.why, c.why) {
			t.Fatalf("%s: %+v, want %q", c.what, s, c.why)
		}
		if index := v.pages(t, now, "index.html"); !strings.Contains(index, fmt.Sprintf("%d of its messages were refused", before+1)) || strings.ContainsAny(index, "\x1b") || strings.Contains(index, "<b>") {
			t.Error(c.what, index)
		}
	}
	for _, subject := range []string{"qdissect.sensor..status", "qdissect.sensor.A.status", "qdissect.sensor.a.counts.13", "qdissect.sensor.a.counts.-1", "qdissect.sensor.a.b.c.d", "x"} {
		before := v.refused
		if v.Take(subject, sent, slot.Format(time.RFC3339), good, now); v.refused != before+1 {
			t.Errorf("%s is taken", subject)
		}
	}
	v.Take(statusSubject("liar"), sent, "", []byte(`{"restarts":1,"ended":"<script>\u001b[2J","ended_at":"2026-03-14T19:32:00Z"}`), now)
	if index := v.pages(t, now, "index.html"); strings.Contains(index, "<script>") || strings.Contains(index, "\x1b") {
		t.Error(index)
	}
	for _, page := range []string{"all.html", "sensors/a.html"} {
		if alone.pages(t, now, page) != v.pages(t, now, page) {
			t.Errorf("the liar changed %s", page)
		}
	}
	// Counts that could be true but are not: they are in the sum, and the figures of others are as before.
	takes(v, "liar", old[:1], unitsOld[:1], now.Add(-26*time.Hour), now)
	b, unitsB := counted(t, 3, now.Add(-3*time.Minute), 2*time.Minute)
	takes(v, "liar", b, unitsB, now, now)
	if alone.pages(t, now, "sensors/a.html") != v.pages(t, now, "sensors/a.html") {
		t.Error("the liar changed the page of another sensor")
	}
	if err := new(slotSum).add("liar", &v.sensors["a"].units[place]); err == nil || !strings.Contains(err.Error(), "it makes this program panic") {
		t.Errorf("a panic is not contained: %v", err)
	}
	fresh := newView(t)
	fresh.Without = []string{"liar"}
	takes(fresh, "a", a, unitsA, now, now)
	takes(fresh, "liar", b, unitsB, now, now)
	if alone.pages(t, now, "all.html") != fresh.pages(t, now, "all.html") {
		t.Error("--without does not leave out a sensor")
	}
}

// TestCrowd has more sensors than there is room for.
func TestCrowd(t *testing.T) {
	v := newView(t)
	for i := range maxSensors + 5 {
		v.Take(statusSubject(fmt.Sprint("s", i)), now.Format(time.RFC3339), "", []byte("{}"), now)
	}
	v.bytes = maxUnits
	slots, units := counted(t, 1, now.Add(-2*time.Minute), 10*time.Second)
	takes(v, "s1", slots, units, now, now)
	v.bytes = 0
	must.Do(t, v.Write(now, 0))
	b := must.Get(os.ReadFile(filepath.Join(v.Dir, "index.html")))(t)
	index := string(b)
	for _, want := range []string{"2000 sensors, 1 with trouble", "there is room for 2000 sensors: 5 messages of others were refused", "there is no room for more units"} {
		if !strings.Contains(index, want) {
			t.Errorf("no %q in %.1000s", want, index)
		}
	}
}

// A hub is a server with a user of each role, who have keys and TLS.
type hub struct {
	t      *testing.T
	o      link.ServerOptions
	server *link.Server
	ca     string
	public map[string]string // keys by user
}

func newHub(t *testing.T, more ...string) *hub {
	t.Helper()
	dir := t.TempDir()
	h := &hub{t: t, ca: filepath.Join(dir, "ca.pem"), public: map[string]string{}}
	var users string
	for _, u := range append([]string{"sensor a", "sensor b", "view v", "fetch f"}, more...) {
		_, name, _ := strings.Cut(u, " ")
		public := must.Get(link.Key(filepath.Join(dir, name+".nk")))(t)
		h.public[name] = public
		users += u + " " + public + "\n"
	}
	must.Get(link.Key(filepath.Join(dir, "stranger.nk")))(t)
	certificate(t, dir)
	must.Do(t, os.WriteFile(filepath.Join(dir, "users"), []byte(users), 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that stays the same
	must.Do(t, err)
	h.o = link.ServerOptions{Listen: l.Addr().String(), Store: filepath.Join(dir, "store"), Users: filepath.Join(dir, "users"),
		TLS: link.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}}
	l.Close()
	h.start()
	t.Cleanup(func() { h.server.Stop() })
	return h
}

// certificate makes a certificate for this machine, which signs itself.
func certificate(t *testing.T, dir string) {
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hub"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key))(t)
	secret := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	for name, b := range map[string]*pem.Block{"ca.pem": {Type: "CERTIFICATE", Bytes: der}, "cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret}} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600))
	}
}

func (h *hub) start() {
	h.t.Helper()
	h.server = must.Get(link.Start(h.o))(h.t)
	conn := must.Get(h.server.Connect("setup"))(h.t)
	defer conn.Close()
	must.Do(h.t, MakeStream(h.t.Context(), conn, 1<<30))
}

func (h *hub) options(user string) link.Options {
	return link.Options{URL: "tls://" + h.o.Listen, NKey: filepath.Join(filepath.Dir(h.ca), user+".nk"), TLS: link.TLS{CA: h.ca}}
}

// connect connects a user, whose refusals go to a channel.
func (h *hub) connect(user string) (*nats.Conn, chan error) {
	h.t.Helper()
	refused, o := make(chan error, 16), h.options(user)
	c := must.Get(o.Connect(user, nats.ReconnectWait(50*time.Millisecond), nats.ReconnectBufSize(-1), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		select {
		case refused <- err:
		default:
		}
	})))(h.t)
	h.t.Cleanup(c.Close)
	return c, refused
}

func (h *hub) js(c *nats.Conn) jetstream.JetStream { return must.Get(jetstream.New(c))(h.t) }

// TestRefusals tries what nobody may do: a sensor speaks for itself alone, a view only reads, and who fetches asks sensors.
func TestRefusals(t *testing.T) {
	h := newHub(t)
	refuses(t, h)

	stranger, open, plain, readable := h.options("stranger"), h.options("a"), h.options("a"), h.options("b")
	open.NKey = ""
	plain.TLS.CA = ""
	must.Do(t, os.Chmod(readable.NKey, 0o644))
	for what, o := range map[string]link.Options{"a stranger": stranger, "nobody": open, "without the certificate": plain, "with a key that others can read": readable} {
		if c, err := o.Connect(what); err == nil {
			c.Close()
			t.Errorf("%s connects", what)
		}
	}
}

// TestServerConfig loads the configuration of README.md for a NATS server that is not ours: everybody may do what they need, and
// nothing else.
func TestServerConfig(t *testing.T) {
	h := newHub(t)
	h.server.Stop()
	page := must.Get(os.ReadFile("../../README.md"))(t)
	_, text, ok := strings.Cut(string(page), "\n    listen: ")
	text, _, ok2 := strings.Cut("    listen: "+text, "\n\n")
	if !ok || !ok2 {
		t.Fatal("README.md has no configuration")
	}
	dir := filepath.Dir(h.ca)
	admin := must.Get(link.Key(filepath.Join(dir, "admin.nk")))(t)
	for _, r := range [][2]string{
		{"0.0.0.0:4222", h.o.Listen}, {"hub.pem", h.o.TLS.Cert}, {"hub.key", h.o.TLS.Key}, {"/var/lib/nats", filepath.Join(dir, "nats")},
		{"ADMIN", admin}, {"AMS1", h.public["a"]}, {"ams1", "a"}, {"FRA1", h.public["b"]}, {"fra1", "b"}, {"VIEW", h.public["v"]}, {"FETCH", h.public["f"]},
	} {
		if !strings.Contains(text, r[0]) {
			t.Fatalf("the configuration has no %s", r[0])
		}
		text = strings.ReplaceAll(text, r[0], r[1])
	}
	file := filepath.Join(dir, "nats.conf")
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	o := must.Get(server.ProcessConfigFile(file))(t)
	o.NoSigs, o.NoLog = true, true
	s := must.Get(server.NewServer(o))(t)
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("it does not start")
	}
	c, _ := h.connect("admin")
	must.Do(t, MakeStream(t.Context(), c, 64<<20))
	refuses(t, h)

	// What they may do.
	self, scene := must.Get(os.Executable())(t), t.TempDir()
	t.Setenv("QDISSECT_FAKE", scene)
	slots, units := counted(t, 1, time.Now().Add(-10*time.Minute), time.Minute)
	files(t, filepath.Join(scene, "units"), slots, units)
	conn, _ := h.connect("b")
	sensor := &Sensor{Name: "b", Dir: t.TempDir(), Program: self, Files: 3, Size: 1, Conn: conn, Say: func(text string) { t.Log(text) }}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { sensor.Run(ctx) })
	reader, _ := h.connect("v")
	v := newView(t)
	end := must.Get(v.Follow(ctx, reader))(t)
	eventually(t, "the counts come", func() bool { v.mu.Lock(); defer v.mu.Unlock(); return v.sensors["b"] != nil && v.bytes > 0 })
	for _, err := range []error{os.WriteFile(filepath.Join(scene, "answer"), append([]byte{0x0a, 0x0d, 0x0d, 0x0a}, make([]byte, 3*chunk)...), 0o600),
		os.WriteFile(filepath.Join(sensor.Dir, "ring-1_1.pcapng"), nil, 0o600)} {
		must.Do(t, err)
	}
	f, _ := h.connect("f")
	if n, note, err := Fetch(ctx, f, "b", Cut{Since: time.Now().Add(-time.Minute), Until: time.Now(), Most: MaxFetch}, io.Discard); n != 3*chunk+4 || note != "" || err != nil {
		t.Error(n, note, err)
	}
	end()
	stop()
	running.Wait()
}

// refuses has everybody try what they may not do.
func refuses(t *testing.T, h *hub) {
	t.Helper()
	subscribe := func(subject string) func(*nats.Conn) error {
		return func(c *nats.Conn) error {
			_, err := c.SubscribeSync(subject)
			return err
		}
	}
	publish := func(subject string) func(*nats.Conn) error {
		return func(c *nats.Conn) error { return c.Publish(subject, []byte("{}")) }
	}
	for _, c := range []struct {
		user, what string
		do         func(*nats.Conn) error
	}{
		{"a", "publishes counts of b", publish(countsSubject("b", 0))},
		{"a", "publishes the status of b", publish(statusSubject("b"))},
		{"a", "asks b for packets", publish(fetchSubject("b"))},
		{"a", "publishes into the store of others", publish("$KV.qdissect-run.done.x")},
		{"a", "publishes work", publish("qdissect.work.run")},
		{"a", "publishes an answer nobody asked for", publish("_INBOX_x.y")},
		{"a", "reads what sensors publish", subscribe("qdissect.sensor.>")},
		{"a", "reads answers to others", subscribe("_INBOX.>")},
		{"a", "takes requests for b", subscribe(fetchSubject("b"))},
		{"a", "reads everything", subscribe(">")},
		{"a", "reads the stream", publish("$JS.API.CONSUMER.CREATE." + Stream + ".x")},
		{"a", "removes the stream", publish("$JS.API.STREAM.DELETE." + Stream)},
		{"a", "empties the stream", publish("$JS.API.STREAM.PURGE." + Stream)},
		{"a", "makes a stream", publish("$JS.API.STREAM.CREATE.mine")},
		{"v", "publishes counts", publish(countsSubject("a", 0))},
		{"v", "publishes a status", publish(statusSubject("v"))},
		{"v", "asks for packets", publish(fetchSubject("a"))},
		{"v", "removes the stream", publish("$JS.API.STREAM.DELETE." + Stream)},
		{"v", "changes the stream", publish("$JS.API.STREAM.UPDATE." + Stream)},
		{"v", "empties the stream", publish("$JS.API.STREAM.PURGE." + Stream)},
		{"v", "removes a message", publish("$JS.API.STREAM.MSG.DELETE." + Stream)},
		{"v", "reads all subjects", subscribe(">")},
		{"v", "takes requests for a", subscribe(fetchSubject("a"))},
		{"f", "publishes counts", publish(countsSubject("a", 0))},
		{"f", "reads the stream", publish("$JS.API.CONSUMER.CREATE." + Stream + ".x")},
		{"f", "takes requests for a", subscribe(fetchSubject("a"))},
		{"f", "reads all subjects", subscribe(">")},
	} {
		conn, refused := h.connect(c.user)
		err := c.do(conn)
		if err == nil {
			err = conn.Flush()
		}
		if err != nil {
			t.Fatal(c, err)
		}
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s %s: %v", c.user, c.what, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s %s, and may", c.user, c.what)
		}
		conn.Close()
	}

	// A sensor has its places in the stream, one message in each, and no more.
	a, _ := h.connect("a")
	js := h.js(a)
	ctx, end := context.WithTimeout(t.Context(), 2*time.Minute)
	defer end()
	for range 3 {
		must.Get(js.Publish(ctx, countsSubject("a", 3), make([]byte, 1000)))(t)
	}
	if _, err := js.Publish(ctx, countsSubject("a", 3), make([]byte, 80_000)); err == nil {
		t.Error("a large message is stored")
	}
	if _, err := js.Publish(ctx, countsSubject("a", unitfile.Slots), nil, jetstream.WithRetryAttempts(0)); err == nil {
		t.Error("a message in a place that is none is stored")
	}
	v, _ := h.connect("v")
	stream := must.Get(h.js(v).Stream(ctx, Stream))(t)
	if info, err := stream.Info(ctx); err != nil || info.State.Msgs != 1 {
		t.Error(info, err)
	}
}

// files writes units into the folder of a fake qdissect.
func files(t *testing.T, dir string, slots []time.Time, units [][]byte) {
	t.Helper()
	for i, slot := range slots {
		folder := filepath.Join(dir, unitfile.SlotFolder(slot))
		must.Do(t, os.MkdirAll(folder, 0o777))
		must.Do(t, os.WriteFile(filepath.Join(folder, "aggregate.bin"), units[i], 0o666))
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(25 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("it does not happen that %s", what)
		}
	}
}

// TestSensor runs a sensor whose qdissect crashes, a view, and a server that is away for a while. Nothing is lost or comes twice,
// what was dropped is said, and packets can be fetched.
func TestSensor(t *testing.T) {
	h, self := newHub(t), must.Get(os.Executable())(t)
	scene := t.TempDir()
	t.Setenv("QDISSECT_FAKE", scene)
	at := time.Now().UTC().Add(-20 * time.Minute)
	slots, units := counted(t, 1, at, 12*time.Minute)
	files(t, filepath.Join(scene, "units"), slots[:1], units[:1])
	must.Do(t, os.WriteFile(filepath.Join(scene, "crash"), nil, 0o600))
	conn, _ := h.connect("a")
	var mu sync.Mutex
	var said []string
	s := &Sensor{Name: "a", Dir: t.TempDir(), Program: self, Version: "fake", Args: []string{"-i", "eth0"}, Files: 3, Size: 1, Conn: conn, Say: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, text)
	}}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	reader, _ := h.connect("v")
	v := newView(t)
	end := must.Get(v.Follow(ctx, reader))(t)
	defer end()
	eventually(t, "a second sensor may not work in its folder", func() bool {
		f, err := alone(s.Dir)
		if err == nil {
			f.Close()
		}
		return runtime.GOOS != "linux" || err != nil && strings.Contains(err.Error(), "another sensor")
	})
	have := func(v *View) (n int) {
		v.mu.Lock()
		defer v.mu.Unlock()
		if s := v.sensors["a"]; s != nil {
			for i := range s.units {
				if s.units[i].bytes != nil {
					n++
				}
			}
		}
		return n
	}
	eventually(t, "the first unit comes", func() bool { return have(v) == 1 })
	eventually(t, "the crash is said", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(said) > 0 && strings.Contains(said[0], "panic: crash")
	})

	// The server goes away. A unit comes in that time, and one that is gone before the server is back.
	h.server.Stop()
	lost := unitfile.SlotFolder(slots[0].Add(-2 * time.Hour))
	files(t, s.counts(), []time.Time{slots[0].Add(-2 * time.Hour)}, units[:1])
	files(t, filepath.Join(scene, "units"), slots, units)
	eventually(t, "the sensor sees all of them", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.units) == len(slots)+1
	})
	must.Do(t, os.RemoveAll(filepath.Join(s.counts(), lost)))
	h.start()
	eventually(t, "the other units come", func() bool { return have(v) == len(slots) })
	s.mu.Lock()
	dropped := s.status.Dropped
	s.mu.Unlock()
	if dropped != 1 {
		t.Errorf("%d units dropped, want 1", dropped)
	}

	// What the view has is what a view has that begins now, and what the sensor counted.
	second := newView(t)
	other, _ := h.connect("v")
	endSecond := must.Get(second.Follow(ctx, other))(t)
	defer endSecond()
	eventually(t, "the second view has all units", func() bool { return have(second) == len(slots) })
	want := newView(t)
	takes(want, "a", slots, units, time.Now(), time.Now())
	for _, got := range []*View{v, second} {
		if got.pages(t, time.Now(), "all.html") != want.pages(t, time.Now(), "all.html") {
			t.Error("the sum is not what the sensor counted")
		}
	}

	// The same message again is a duplicate.
	name := filepath.Join(s.counts(), unitfile.SlotFolder(slots[0]), "aggregate.bin")
	stream := must.Get(h.js(other).Stream(ctx, Stream))(t)
	before := must.Get(stream.Info(ctx))(t)
	must.Do(t, s.send(ctx, h.js(conn), name))
	if after, err := stream.Info(ctx); err != nil || after.State.LastSeq > before.State.LastSeq+1 { // a status may have come
		t.Error(after, err)
	}

	fetches(t, h, s, scene)
	stop()
	running.Wait()
}

// fetches asks a sensor for packets.
func fetches(t *testing.T, h *hub, s *Sensor, scene string) {
	packets := append([]byte{0x0a, 0x0d, 0x0d, 0x0a}, bytes.Repeat([]byte("packets "), 100_000)...)
	must.Do(t, os.WriteFile(filepath.Join(scene, "answer"), packets, 0o600))
	c, _ := h.connect("f")
	cut := Cut{Since: time.Now().Add(-time.Minute), Until: time.Now(), Filter: "x; touch /tmp/oops", Most: 1 << 20}
	var got bytes.Buffer
	fetch := func(name string) (string, error) {
		got.Reset()
		_, note, err := Fetch(t.Context(), c, name, cut, &got)
		return note, err
	}
	fails := func(what, name, want string) {
		t.Helper()
		if _, err := fetch(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	fails("no ring", "a", "its ring has no packets of that time")
	for _, name := range []string{"ring-20260101T000000_00001_x.pcapng", "ring-20260101T000000_00002_x.pcapng"} {
		must.Do(t, os.WriteFile(filepath.Join(s.Dir, name), nil, 0o600))
	}
	if note, err := fetch("a"); err != nil || note != "" || !bytes.Equal(got.Bytes(), packets) {
		t.Errorf("%d bytes, %q, %v", got.Len(), note, err)
	}
	args, err := os.ReadFile(filepath.Join(scene, "args"))
	want := `^read\n-q\n-w\n-\n--since=\S+Z\n--until=\S+Z\n--display-filter=x; touch /tmp/oops\n--series\n--\n` + regexp.QuoteMeta(s.Dir) + `/ring-20260101T000000_00001_x.pcapng\n\S+2_x.pcapng$`
	if err != nil || !regexp.MustCompile(want).Match(args) {
		t.Errorf("%q, %v", args, err)
	}
	cut.Most = 300_000
	if note, err := fetch("a"); err != nil || note != "cut short at 300000 bytes: there are more packets" || !bytes.Equal(got.Bytes(), packets[:300_000]) {
		t.Errorf("%d bytes, %q, %v", got.Len(), note, err)
	}
	fails("another name", "c", "the sensor c does not answer")
	fails("no name", "a.b", "the name of a sensor")
	cut.Filter = strings.Repeat("x", maxFilter+1)
	fails("long filter", "a", "longer than 1000 bytes")
	cut.Filter, cut.Until = "", cut.Since
	fails("no time", "a", "--since must be before --until")
	cut.Until = time.Now()
	must.Do(t, os.Remove(filepath.Join(scene, "answer")))
	fails("qdissect fails", "a", "sensor a: filter, offset 3: no")
	file := filepath.Join(t.TempDir(), "x.pcapng")
	if _, _, err := FetchFile(t.Context(), c, "a", cut, file); err == nil {
		t.Error("a fetch that failed has no error")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(left) > 0 {
		t.Errorf("a fetch that failed leaves %v", left)
	}
}

// FuzzFetch: whatever answers a request for packets, what comes is no more than was asked for, and without an error it is what was sent.
func FuzzFetch(f *testing.F) {
	s := must.Get(server.NewServer(&server.Options{DontListen: true, NoLog: true, NoSigs: true}))(f)
	s.Start()
	f.Cleanup(s.Shutdown)
	conn := must.Get(nats.Connect("", nats.InProcessServer(s)))(f)
	f.Cleanup(conn.Close)
	f.Add([]byte("\n\r\r\npackets"), "0", []byte("more"), "1", []byte(`{"sha256":"","note":"cut short"}`), true)
	f.Add([]byte("\n\r\r\npackets"), "0", []byte(""), "", []byte(`{"error":"it is busy with another fetch"}`), false)
	f.Fuzz(func(t *testing.T, a []byte, numberA string, b []byte, numberB string, end []byte, right bool) {
		if right { // a sum that nobody would guess
			end, _ = json.Marshal(&ending{SHA256: fmt.Sprintf("%x", sha256.Sum256(append(bytes.Clone(a), b...))), Note: string(end)})
		}
		sub, err := conn.Subscribe(fetchSubject("a"), func(m *nats.Msg) {
			for _, p := range []*nats.Msg{{Data: a, Header: nats.Header{pieceHeader: {numberA}}}, {Data: b, Header: nats.Header{pieceHeader: {numberB}}}, {Data: end, Header: nats.Header{endHeader: {"1"}}}} {
				p.Subject, p.Reply = m.Reply, "acknowledged"
				_ = conn.PublishMsg(p) // a header that is none is refused
			}
		})
		must.Do(t, err)
		defer sub.Unsubscribe()
		var out bytes.Buffer
		const most = 20
		n, _, err := Fetch(t.Context(), conn, "a", Cut{Since: now.Add(-time.Minute), Until: now, Most: most}, &out)
		if out.Len() > most || err == nil && (n != int64(out.Len()) || !bytes.HasPrefix(append(bytes.Clone(a), b...), out.Bytes())) {
			t.Errorf("%d bytes, %q, %v", n, &out, err)
		}
	})
}

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
	v := &View{Dir: dir, Version: "test", Command: "view", Say: func(s string) { fatal(fmt.Errorf("%s", s)) }}
	fatal(os.MkdirAll(filepath.Join(dir, sensorPages), 0o777))
	_, err = v.Follow(context.Background(), conn)
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
			js, current := h.js(conn), slotOf(time.Now())
			for k := 1; k < unitfile.Slots-1; k++ { // of the past hour
				slot := current.Add(-time.Duration(k) * unitfile.SlotTime)
				send(js, i, slot, current)
			}
			ready.Done()
			ready.Wait()
			work.Pause(ctx, time.Duration(mathrand.Int64N(int64(pace))))
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

	self, o := must.Get(os.Executable())(t), h.options("v")
	options, view := must.Get(json.Marshal(&o))(t), exec.CommandContext(ctx, self)
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
		if err := v.Run(ctx, conn, 5*time.Second); err != nil {
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
