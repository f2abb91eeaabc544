package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/qdissect/qdissect/internal/htmlreport"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/report"
)

// maxViewers is how many pages are told of changes, and pageTime how long one waits for the page, or for its reader.
const (
	maxViewers = 100
	pageTime   = 10 * time.Second
)

// A hub serves the page of --listen, and says when it has changed. A page is made only when somebody wants it.
type hub struct {
	server *http.Server
	token  string
	ended  chan struct{}

	mu      sync.Mutex
	page    []byte
	counted uint64 // in it
	stale   bool
	viewers int // that wait for changes
	readers int // that wait for a page
	changed chan struct{}
}

// newHub serves a page at an address, and says which one to open. What others can reach needs a token.
func newHub(addr string, out io.Writer) (h *hub, err error) {
	h = &hub{ended: make(chan struct{}), changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.serve)
	mux.HandleFunc("GET /events", h.events)
	query, at := "", net.Addr(nil)
	if host, _, err := net.SplitHostPort(addr); err == nil && host != "" {
		if a, err := netip.ParseAddr(host); err != nil || !a.IsLoopback() {
			h.token = rand.Text()
			query = "?token=" + h.token
		}
	}
	if h.server, at, err = listen("--listen", addr, http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		if subtle.ConstantTimeCompare([]byte(in.URL.Query().Get("token")), []byte(h.token)) == 0 {
			http.Error(w, "the address of this page has a token, which qdissect said at its start", http.StatusForbidden)
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * pageTime))
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'")
		mux.ServeHTTP(w, in)
	})); err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "qdissect: report at http://%s/%s\n", at, query)
	return h, nil
}

// idle reports whether nobody wants a page.
func (h *hub) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.viewers+h.readers == 0
}

// lacks reports whether the page does not have what was counted.
func (h *hub) lacks(counted uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.page == nil || h.stale || h.counted != counted
}

// show makes a report the page.
func (h *hub) show(r *stats.Report, counted uint64) {
	r.Made.Live, r.Made.Every = true, pageTime // without scripts
	var b bytes.Buffer
	if err := htmlreport.Write(&b, r); err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.page, h.counted, h.stale = b.Bytes(), counted, false
	close(h.changed)
	h.changed = make(chan struct{})
}

// serve serves the page, which must be new if nobody looked until now.
func (h *hub) serve(w http.ResponseWriter, in *http.Request) {
	h.mu.Lock()
	page, changed := h.page, h.changed
	if h.viewers == 0 || page == nil {
		h.readers++
		h.stale = true
		h.mu.Unlock()
		select {
		case <-changed:
		case <-in.Context().Done():
		case <-h.ended:
		case <-time.After(pageTime):
		}
		h.mu.Lock()
		h.readers--
		page = h.page
	}
	h.mu.Unlock()
	if page == nil {
		http.Error(w, "there is no page yet", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(page)
}

// events says when the page has changed, and when there are no more changes.
func (h *hub) events(w http.ResponseWriter, in *http.Request) {
	h.mu.Lock()
	full := h.viewers >= maxViewers
	if !full {
		h.viewers++
	}
	h.mu.Unlock()
	if full {
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.viewers--
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for text, last := ": hello\n\n", false; ; {
		h.mu.Lock()
		changed := h.changed
		h.mu.Unlock()
		_ = out.SetWriteDeadline(time.Now().Add(pageTime))
		if _, err := io.WriteString(w, text); err != nil || last || out.Flush() != nil {
			return
		}
		select {
		case <-changed:
			text = "data: changed\n\n"
		case <-in.Context().Done():
			return
		case <-h.ended:
			text, last = "event: end\ndata: end\n\n", true
		}
	}
}

// end tells those who look that there are no more changes.
func (h *hub) end() {
	close(h.ended)
	ctx, stop := context.WithTimeout(context.Background(), pageTime)
	defer stop()
	_ = h.server.Shutdown(ctx)
	h.server.Close()
}

// idle reports whether nobody wants a report now.
func (r *reporting) idle() bool {
	return r.alarm == nil && !r.due() && (r.hub == nil || r.hub.idle())
}

// due reports whether it is time to write the file.
func (r *reporting) due() bool {
	return r.o.every > 0 && time.Since(r.written) >= time.Duration(r.o.every)*time.Second
}

// snapshot reports the counts so far to those that want them.
func (r *reporting) snapshot(sum *report.Summary, a *stats.Aggregate) {
	if r.alarm != nil && sum.Packets > 0 {
		r.alarm.look(r.report(sum, a, 0), time.Now())
	}
	if counted := sum.Packets + sum.Unanswered; r.hub != nil && !r.hub.idle() && r.hub.lacks(counted) {
		r.hub.show(r.report(sum, a, htmlreport.MaxServers), counted)
	}
	if r.due() && sum.Packets > 0 {
		r.written = time.Now()
		if err := r.write(r.report(sum, a, r.o.servers())); err != nil {
			r.plan.run.Trouble(err)
		}
	}
}
