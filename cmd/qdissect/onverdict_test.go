package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
)

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
		at := time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC)
		began := time.Now()
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
