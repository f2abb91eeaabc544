package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tools/scenes"
)

// A receiver keeps what is posted. reply says what becomes of a request, by its number.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	asked  int
	bodies []string
}

func newReceiver(t *testing.T, reply func(n int, w http.ResponseWriter) (takes bool)) *receiver {
	t.Helper()
	r := new(receiver)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		if err != nil || in.Method != http.MethodPost || in.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v: %v", in.Method, in.Header, err)
		}
		r.mu.Lock()
		r.asked++
		n := r.asked
		r.mu.Unlock()
		if reply == nil || reply(n, w) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.bodies = append(r.bodies, string(body))
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// got returns the states and servers that were posted, and forgets them.
func (r *receiver) got(t *testing.T) (list []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.bodies {
		var v struct{ Type, State, Kind, Server string }
		must.Do(t, json.Unmarshal([]byte(b), &v))
		if v.Type != "verdict" {
			t.Errorf("%s", b)
		}
		list = append(list, v.State+" "+v.Kind+" "+v.Server)
	}
	r.bodies = nil
	return list
}

// post returns an alarm that posts to an address, and tries again soon.
func post(t *testing.T, to string, warn func(error)) *alarm {
	t.Helper()
	h, c, err := newHook(to, warn)
	must.Do(t, err)
	h.once, h.wait, h.max, c.end = time.Hour, time.Microsecond, time.Millisecond, time.Hour
	return newAlarm(c, h.post, warn)
}

var evening = time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC)

// reported returns a report up to a time, with verdicts by server of which each holds between two times, in seconds.
func reported(to int, list ...stats.Verdict) *stats.Report {
	r := &stats.Report{Verdicts: list}
	r.To = evening.Add(time.Duration(to) * time.Second)
	r.Totals.Verdicts = len(list)
	return r
}

func outage(server string, from, to int) stats.Verdict {
	return stats.Verdict{Kind: stats.ServerDown, Certainty: stats.Certain, Server: server, Text: "Down: it \u202e", Advice: "Start it.", From: evening.Add(time.Duration(from) * time.Second), To: evening.Add(time.Duration(to) * time.Second)}
}

// TestWebhook: a verdict is posted when it begins and when it is over, once each, also if another one follows at the same server.
func TestWebhook(t *testing.T) {
	to := newReceiver(t, nil)
	a := post(t, to.URL, func(err error) { t.Error(err) })
	for _, s := range []struct {
		now int
		r   *stats.Report
	}{
		{0, reported(0, stats.Verdict{Kind: stats.NothingUnusual})},
		{10, reported(10, outage("a", 5, 10))},
		{11, reported(11, outage("a", 5, 11), outage("b", 1, 11))},
		{60, reported(60, outage("a", 5, 60), outage("b", 1, 11))},
		{72, reported(72, outage("a", 5, 72), outage("b", 1, 11))},    // b is over
		{80, reported(80, outage("a", 5, 79), outage("b", 1, 12))},    // it ended a little later
		{90, reported(90, outage("b", 1, 12))},                        // a is no longer unusual: for how long?
		{100, reported(100, outage("a", 6, 100), outage("b", 1, 12))}, // it is again
		{130, reported(130, outage("a", 6, 110), outage("b", 1, 12), outage("b", 125, 130))},
		{171, reported(130, outage("a", 6, 110), outage("b", 1, 12), outage("b", 125, 130))}, // nothing comes any more
		{300, reported(130)},
		{301, reported(301)},
	} {
		a.look(s.r, evening.Add(time.Duration(s.now)*time.Second))
	}
	a.finish()
	want := []string{"begin server_down a", "begin server_down b", "end server_down b", "begin server_down b", "end server_down a", "end server_down b"}
	if got := to.got(t); !slices.Equal(got, want) {
		t.Errorf("posted %q\nwant %q", got, want)
	}
}

// TestWebhookFails: a receiver that fails in any way gets every verdict, in order, once it works again, and nobody waits for it.
func TestWebhookFails(t *testing.T) {
	var warned []string
	var mu sync.Mutex
	fails := []func(http.ResponseWriter){
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) },
		func(w http.ResponseWriter) { // it dies
			conn, _, err := http.NewResponseController(w).Hijack()
			must.Do(t, err)
			conn.Close()
		},
	}
	to := newReceiver(t, func(n int, w http.ResponseWriter) bool {
		if n%4 > 0 {
			fails[n%4-1](w)
		}
		return n%4 == 0
	})
	a := post(t, to.URL+"/?key=secret", func(err error) { mu.Lock(); warned = append(warned, err.Error()); mu.Unlock() })
	var want []string
	for i := range 50 {
		a.look(reported(i, outage(fmt.Sprint(i), i, i)), evening)
		want = append(want, fmt.Sprint("begin server_down ", i))
	}
	a.finish()
	if got := to.got(t); !slices.Equal(got, want) || a.lost() != nil {
		t.Errorf("posted %q, lost %q", got, a.lost())
	}
	if len(warned) != 50 || warned[0] != "--webhook: the receiver says 500 Internal Server Error; trying again" {
		t.Errorf("%d warnings: %q", len(warned), warned)
	}
}

// TestWebhookFull: of verdicts for a receiver that hangs, 1,000 wait, and further ones are counted.
func TestWebhookFull(t *testing.T) {
	hangs, works := make(chan bool), make(chan bool)
	to := newReceiver(t, func(n int, _ http.ResponseWriter) bool {
		if n == 1 {
			close(hangs)
			<-works
		}
		return true
	})
	var warned []string
	a := post(t, to.URL, func(err error) { warned = append(warned, err.Error()) })
	look := func(i int) { a.look(reported(0, outage(fmt.Sprint(i), 0, 0)), evening) }
	look(0)
	<-hangs
	for i := range 1500 {
		look(i + 1)
	}
	close(works)
	a.finish()
	if got := to.got(t); len(got) != 1001 || got[1000] != "begin server_down 1000" {
		t.Errorf("%d posted, the last %q", len(got), got[len(got)-1])
	}
	if want := "--webhook: 500 verdicts not passed on, because the receiver is too slow, or refuses them"; len(warned) != 2 || warned[1] != want || a.lost()[0] != want {
		t.Errorf("%q", warned)
	}
}

// TestWebhookRefuses: what a receiver refuses is counted and not sent again; one that is not there makes the end wait no longer than it may.
func TestWebhookRefuses(t *testing.T) {
	to := newReceiver(t, func(n int, w http.ResponseWriter) bool {
		if n == 2 {
			http.Redirect(w, new(http.Request), "https://example.org/", http.StatusFound)
		}
		return n != 2
	})
	var warned []string
	a := post(t, to.URL, func(err error) { warned = append(warned, err.Error()) })
	for _, s := range []string{"a", "b", "c"} {
		a.look(reported(0, outage(s, 0, 0)), evening)
	}
	a.finish()
	if got := to.got(t); len(got) != 2 || len(warned) != 2 || warned[0] != "--webhook: the receiver refuses a verdict: 302 Found" || !strings.HasPrefix(warned[1], "--webhook: 1 verdict not passed on") {
		t.Errorf("%q %q", got, warned)
	}

	h, c, err := newHook(to.URL, func(error) {})
	must.Do(t, err)
	to.Close()
	c.end = 0
	a = newAlarm(c, h.post, func(error) {})
	for i := range 10 {
		a.look(reported(0, outage(fmt.Sprint(i), 0, 0)), evening)
	}
	a.finish()
	if a.left.Load() != 10 {
		t.Errorf("%d of 10 are counted", a.left.Load())
	}
}

// TestWebhookAlerts: Alertmanager gets a verdict with the same labels each minute while it holds, and then its end.
func TestWebhookAlerts(t *testing.T) {
	paths := make(chan string, 9)
	to := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, in *http.Request) {
		body, _ := io.ReadAll(in.Body)
		paths <- in.URL.Path + " " + string(body)
	}))
	defer to.Close()
	a := post(t, to.URL+pathOfAlerts, func(err error) { t.Error(err) })
	for _, now := range []int{10, 30, 71, 140} {
		a.look(reported(now, outage("198.51.100.10:27015", 5, min(now, 75))), evening.Add(time.Duration(now)*time.Second))
	}
	a.finish()
	const alert = `/api/v2/alerts [{"labels":{"alertname":"server_down","server":"198.51.100.10:27015"},"annotations":{"certainty":"certain","description":"Start it.","summary":"Down: it \u202e"},"startsAt":"2026-03-14T19:00:05Z","endsAt":"2026-03-14T19:`
	for _, want := range []string{"05:10", "06:11", "01:15"} {
		if got := <-paths; got != alert+want+"Z\"}]\n" {
			t.Errorf("%s\nwant %s%s", got, alert, want)
		}
	}
	if len(paths) > 0 {
		t.Errorf("posted too: %s", <-paths)
	}
	for text, want := range map[string]string{"ftp://h/": "needs an address", "localhost:1": "needs an address", "http://h:99999": "is not a port"} {
		if _, _, err := newHook(text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, c, err := newHook("http://h/prefix/api/v2/alerts", nil); err != nil || !c.again {
		t.Errorf("the path does not say that it is Alertmanager: %v", err)
	}
}

// TestReportWebhook: the verdicts of a file are posted as the report has them, and those that nobody takes are in the report all the same.
func TestReportWebhook(t *testing.T) {
	s, file := must.Get(scenes.Find("down-icmp"))(t), filepath.Join(t.TempDir(), "in.pcap")
	var b bytes.Buffer
	must.Get(s.Write(&b, scenes.Options{Span: 40 * time.Second, Clients: 500}))(t)
	must.Do(t, os.WriteFile(file, b.Bytes(), 0o600))
	to := newReceiver(t, nil)
	out := outputOf(t, "report", "--format", "json", "--webhook", to.URL, file)
	var r struct{ Verdicts []map[string]any }
	must.Do(t, json.Unmarshal([]byte(out), &r))
	var v map[string]any
	if len(to.bodies) != len(r.Verdicts) || len(r.Verdicts) == 0 {
		t.Fatalf("%d posted of %d: %q", len(to.bodies), len(r.Verdicts), to.bodies)
	}
	must.Do(t, json.Unmarshal([]byte(to.bodies[0]), &v))
	if v["type"] != "verdict" || v["state"] != "begin" || fmt.Sprint(v["evidence"]) != fmt.Sprint(r.Verdicts[0]["evidence"]) || v["text"] != r.Verdicts[0]["text"] {
		t.Errorf("%v\nthe report has %v", v, r.Verdicts[0])
	}
	no := newReceiver(t, func(_ int, w http.ResponseWriter) bool { w.WriteHeader(http.StatusNotFound); return false })
	out, errs, code := runIn(t, ".", "report", "--webhook", no.URL, file)
	if code != 0 || !strings.Contains(errs, "404 Not Found") || !strings.Contains(out, "* Down") || !strings.Contains(out, "--webhook: 1 verdict not passed on") {
		t.Errorf("status %d: %s%s", code, errs, out)
	}
}

// verdicts returns a report with a verdict of each kind about a server, which holds up to a time.
func verdicts(to time.Time, kinds ...string) *stats.Report {
	r := new(stats.Report)
	for _, k := range kinds {
		r.Verdicts = append(r.Verdicts, stats.Verdict{Kind: k, Server: "198.51.100.10:27015", To: to, Text: "Down (\u202e)", Evidence: stats.Evidence{{Name: "requests", Value: 5}}})
	}
	return r
}

// TestAlarm: a verdict is passed on when it is new, and again after a minute if it still holds.
func TestAlarm(t *testing.T) {
	var mu sync.Mutex
	var got []string
	a := newAlarm(toCommand, func(_ context.Context, line []byte) error {
		mu.Lock()
		defer mu.Unlock()
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil || bytes.Count(line, []byte("\n")) != 1 || bytes.Contains(line, []byte("\u202e")) {
			t.Errorf("%q: %v", line, err)
		}
		got = append(got, fmt.Sprint(fields["kind"], " ", fields["server"]))
		return nil
	}, func(err error) { t.Error(err) })
	at := time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC)
	for _, s := range []struct {
		after, to time.Duration
		kinds     []string
	}{
		{0, 0, []string{stats.NothingUnusual}},
		{1, 1, []string{stats.ServerDown}},
		{2, 2, []string{stats.ServerDown, stats.Slow}},
		{60, 60, []string{stats.ServerDown, stats.Slow}}, // 59 s and 58 s after the first time
		{61, 61, []string{stats.ServerDown, stats.Slow}}, // down again
		{200, 61, []string{stats.ServerDown}},            // it has ended
		{201, 0, []string{stats.CannotTell}},
		{300, 300, []string{stats.ServerDown}},
	} {
		a.look(verdicts(at.Add(s.to*time.Second), s.kinds...), at.Add(s.after*time.Second))
	}
	a.finish()
	down, slow := "server_down 198.51.100.10:27015", "slow 198.51.100.10:27015"
	if want := []string{down, slow, down, down}; !slices.Equal(got, want) {
		t.Errorf("passed on %v, want %v", got, want)
	}
}

// TestAlarmSlow: a command that hangs keeps nobody waiting, and ends soon after the capture.
func TestAlarmSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var warned []error
		a := newAlarm(toCommand, func(ctx context.Context, _ []byte) error {
			<-ctx.Done()
			return errors.New("killed")
		}, func(err error) { warned = append(warned, err) })
		at, began := time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC), time.Now()
		const n = 3 * maxVerdicts
		for i := range n {
			r := verdicts(at, stats.ServerDown)
			r.Verdicts[0].Server = fmt.Sprint(i)
			a.look(r, at.Add(time.Duration(i)))
		}
		if past := time.Since(began); past > 0 {
			t.Errorf("it took %v", past)
		}
		a.finish()
		if past := time.Since(began); past != verdictEnd {
			t.Errorf("the end took %v", past)
		}
		if len(a.told) > maxVerdicts || len(warned) != 2 || !strings.Contains(warned[1].Error(), "768 verdicts not passed on, because the command is too slow") {
			t.Errorf("%d remembered, %d left out, warnings %v", len(a.told), a.left.Load(), warned)
		}
	})
}

// TestAlarmForgets: the verdict that was passed on first is forgotten first.
func TestAlarmForgets(t *testing.T) {
	a := newAlarm(toCommand, func(context.Context, []byte) error { return nil }, func(err error) { t.Error(err) })
	at := time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC)
	for i := range maxVerdicts {
		a.told[fmt.Sprint("server_down ", i)] = &told{at: at.Add(time.Duration(i))}
	}
	a.look(verdicts(at, stats.ServerDown), at.Add(time.Hour))
	a.finish()
	if _, known := a.told["server_down 0"]; known || len(a.told) != maxVerdicts {
		t.Errorf("%d remembered, the oldest: %v", len(a.told), known)
	}
}

// TestRunWith: the command gets the verdict, its output is passed on, and it is killed with its children.
func TestRunWith(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of a Unix shell")
	}
	var out bytes.Buffer
	run := runWith(`cat; echo to stderr >&2`, &out)
	if err := run(t.Context(), []byte("{}\n")); err != nil || out.String() != "{}\nto stderr\n" {
		t.Errorf("%v: %q", err, out.String())
	}
	if err := runWith("exit 3", &out)(t.Context(), bytes.Repeat([]byte("x"), 1<<20)); err == nil || err.Error() != "exit status 3" {
		t.Error(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe") // its end says that nobody has it open
	must.Do(t, exec.Command("mkfifo", pipe).Run())
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ended := make(chan error, 1)
	go func() {
		ended <- runWith(fmt.Sprintf("exec 3>'%s'; sleep 3600 & sleep 3600; true", pipe), &out)(ctx, nil)
	}()
	children := must.Get(os.Open(pipe))(t)
	defer children.Close()
	end()
	if err := <-ended; err == nil {
		t.Error("it was killed, and no error says so")
	}
	must.Do(t, children.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, err := io.Copy(io.Discard, children); err != nil {
		t.Errorf("its child goes on: %v", err)
	}
}
