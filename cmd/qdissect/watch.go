package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/report"
)

// maxMetricServers is the highest number of servers with counters of their own.
const maxMetricServers = 256

// A watch prints and serves counters during a run.
type watch struct {
	env     environment
	last    report.Summary
	at      time.Time
	every   time.Duration
	metrics atomic.Pointer[[]byte]
	servers atomic.Pointer[[]byte] // the counters of servers and verdicts, which follow
	most    int
	own     []netip.Prefix
	alarm   *alarm    // nil without --on-verdict
	line    *progress // nil for lines that stay
}

// watch makes a run print and serve counters. line, if not nil, shows them in one line that is replaced. It returns a function that ends that.
func (o *liveOptions) watch(env environment, run *pipeline.Options, line *progress) (end func(), err error) {
	end = func() {}
	if o.every > 0 {
		line = nil // lines of their own are wanted
	}
	if o.every == 0 && o.metrics == "" && o.onVerdict == "" && line == nil {
		return end, nil
	}
	w := &watch{env: env, at: time.Now(), every: time.Duration(o.every) * time.Second, most: o.servers, own: o.addresses()}
	if line != nil {
		w.every, w.line = time.Second, line
	}
	run.Events.Watch, run.Events.Every = w.tell, w.every
	if o.metrics != "" {
		w.tell(new(report.Summary))
		w.servers.Store(new([]byte))
		if end, err = w.serve(o.metrics); err != nil {
			return nil, err
		}
		run.Events.Every = time.Second
		if run.Counts.Stats != nil && o.servers > 0 {
			run.Events.Snapshot = w.count
		}
	}
	if o.onVerdict != "" {
		w.alarm = newAlarm(toCommand, runWith(o.onVerdict, env.err), func(err error) { complain(env, err) })
		endMetrics := end
		end = func() { w.alarm.finish(); endMetrics() }
		run.Events.Snapshot, run.Events.Every = w.count, time.Second
	}
	return end, nil
}

// count prepares the counters of servers and verdicts, and passes verdicts on.
func (w *watch) count(sum *report.Summary, a *stats.Aggregate) {
	r := a.Report(stats.Options{Home: w.own, HomeBy: "interface", Packets: sum.Packets, OneSided: sum.OneSided > 0})
	text := r.AppendMetrics(a.AppendMetrics(nil, w.own, w.most))
	w.servers.Store(&text)
	if w.alarm != nil {
		w.alarm.look(r, time.Now())
	}
}

func (w *watch) tell(s *report.Summary) {
	text := report.AppendMetrics(nil, s)
	w.metrics.Store(&text)
	now := time.Now()
	past := now.Sub(w.at)
	if w.every == 0 || past < w.every*9/10 {
		return
	}
	rate := func(n, before uint64) float64 { return float64(n-before) / past.Seconds() }
	line := fmt.Sprintf("%s UTC  %d packets (%.0f/s)  %d messages (%.0f/s)  %d not recognised  %d unanswered  %d errors  %d warnings",
		now.UTC().Format(time.TimeOnly), s.Packets, rate(s.Packets, w.last.Packets), s.Recognised(), rate(s.Recognised(), w.last.Recognised()),
		s.Unknown, s.Unanswered, s.Findings[3], s.Findings[2])
	if s.Live {
		line += fmt.Sprintf("  %d lost", s.Lost)
	}
	if s.Evicted > 0 {
		line += fmt.Sprintf("  %d evicted (%.0f/s)", s.Evicted, rate(s.Evicted, w.last.Evicted))
	}
	if w.line != nil {
		w.line.show(line)
	} else {
		fmt.Fprintln(w.env.err, line)
	}
	w.last, w.at = *s, now
}

// asksHere reports whether a request to a server on loopback names it so: a page of the web whose
// name leads to this machine must not read from it. Servers that others reach have any name.
func asksHere(at net.Addr, host string) bool {
	if a, err := netip.ParseAddrPort(at.String()); err == nil && !a.Addr().IsLoopback() {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "" || host == "localhost" || err == nil && a.IsLoopback()
}

// serve starts the metrics server.
func (w *watch) serve(addr string) (end func(), err error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		out.Write(*w.metrics.Load())
		out.Write(*w.servers.Load())
	})
	server, at, err := listen("--metrics", addr, mux)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(addr, ":0") {
		fmt.Fprintf(w.env.err, "qdissect: metrics at http://%s/metrics\n", at)
	}
	return func() { server.Close() }, nil
}

// listen serves what handler does at the address of a flag, for which an address without a host means loopback.
func listen(flag, addr string, handler http.Handler) (*http.Server, net.Addr, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil, fmt.Errorf("%s %q is not HOST:PORT or :PORT", flag, addr)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", flag, err)
	}
	s := &http.Server{ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 8 << 10, Handler: http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if !asksHere(l.Addr(), in.Host) {
			http.Error(out, "this is not the host of that name", http.StatusMisdirectedRequest)
			return
		}
		handler.ServeHTTP(out, in)
	})}
	go s.Serve(l)
	return s, l.Addr(), nil
}

// progress prints the progress of a long run on a terminal. It is silent if the output
// goes to the same terminal.
type progress struct {
	env  environment
	on   bool
	next time.Time
	wide int
}

// progressAfter is the time before the first progress line.
const progressAfter = 2 * time.Second

// step is called regularly with the totals so far.
func (p *progress) step(packets, bytes uint64) {
	if !p.on {
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(time.Second / 4)
	p.show(fmt.Sprintf("%d packets, %.1f MB", packets, float64(bytes)/1e6))
}

// show replaces the line on the terminal.
func (p *progress) show(line string) {
	const echo = len("^C") // which clear removes as well
	if n := widthOf(p.env.err); n > echo+1 && len(line)+echo >= n {
		line = line[:n-echo-1]
	}
	p.wide = max(p.wide, len(line))
	fmt.Fprintf(p.env.err, "\r%-*s", p.wide, line)
}

func (p *progress) clear() {
	if p.wide > 0 {
		fmt.Fprintf(p.env.err, "\r%-*s\r", p.wide+len("^C"), "")
		p.wide = 0
	}
}

// isClosedPipe reports whether the reader of the output has gone, as head does. That
// is not an error.
func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
