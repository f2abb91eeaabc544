package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tools/scenes"
)

// TestListen: the page that is served has what came, says when more came and when no more will come, and is only for those who may see it.
func TestListen(t *testing.T) {
	var capture bytes.Buffer
	must.Get(must.Get(scenes.Find("quiet"))(t).Write(&capture, scenes.Options{Span: 40e9, Clients: 500}))(t)
	for _, listens := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		in, feed, err := os.Pipe()
		must.Do(t, err)
		defer feed.Close()
		r := launch(t, func(c *exec.Cmd) { c.Stdin = in }, "report", "--listen", listens, "-")
		in.Close()
		address := regexp.MustCompile(`report at (http://\S+?:(\d+)/)(\S*)\n`)
		r.until("say where the page is", func() bool { return address.MatchString(r.err.String()) })
		at := address.FindStringSubmatch(r.err.String())
		base, query := "http://127.0.0.1:"+at[2]+"/", at[3]
		if has := regexp.MustCompile(`^\?token=[A-Z2-7]{26}$`).MatchString(query); has == (listens == "127.0.0.1:0") {
			t.Fatalf("%s: the address is %s", listens, at[0])
		}
		get := func(path, host string) (status int, text string) {
			t.Helper()
			req := must.Get(http.NewRequest(http.MethodGet, base+path, nil))(t)
			req.Host = host
			resp, err := http.DefaultClient.Do(req)
			must.Do(t, err)
			defer resp.Body.Close()
			return resp.StatusCode, string(must.Get(io.ReadAll(resp.Body))(t))
		}
		half := capture.Len() / 2
		must.Get(feed.Write(capture.Bytes()[:half]))(t)
		packets := regexp.MustCompile(`>([^<>]+)&nbsp;packets`)
		var page string
		r.until("have packets", func() bool {
			status, text := get(query, "")
			page = text
			return status == http.StatusOK && packets.MatchString(page) && packets.FindStringSubmatch(page)[1] != "0"
		})
		if !strings.Contains(page, "data-live>") || !strings.Contains(page, "; connect-src &#39;self&#39;") {
			t.Errorf("the page does not listen: %.1000s", page)
		}
		for _, path := range []string{"", "events"} {
			if status, text := get(path+"?token=A", ""); query != "" && (status != http.StatusForbidden || strings.Contains(text, "packets")) {
				t.Errorf("%s with a wrong token: %d %s", path, status, text)
			}
			if status, _ := get(path, "evil.example:80"); status != http.StatusMisdirectedRequest && status != http.StatusForbidden {
				t.Errorf("%s: another name of this host: %d", path, status)
			}
		}
		if status, _ := get("other"+query, ""); status != http.StatusNotFound {
			t.Errorf("another page: %d", status)
		}
		stream, err := http.Get(base + "events" + query)
		must.Do(t, err)
		defer stream.Body.Close()
		lines := bufio.NewScanner(stream.Body)
		next := func() string {
			for lines.Scan() {
				if lines.Text() != "" {
					return lines.Text()
				}
			}
			return fmt.Sprint("the end: ", lines.Err())
		}
		if got := next(); got != ": hello" || stream.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("the stream begins with %q, %v", got, stream.Header)
		}
		must.Get(feed.Write(capture.Bytes()[half:]))(t)
		if got := next(); got != "data: changed" {
			t.Errorf("then it says %q", got)
		}
		before := packets.FindStringSubmatch(page)[1]
		r.until("show the others", func() bool {
			_, page = get(query, "")
			return packets.FindStringSubmatch(page)[1] != before
		})
		feed.Close()
		got := next()
		for got == "data: changed" {
			got = next()
		}
		if got != "event: end" {
			t.Errorf("at last it says %q", got)
		}
		if out := strings.Join(r.end(exitDone), "\n"); !strings.Contains(out, "Nothing unusual") {
			t.Errorf("the report: %s", out)
		}
	}
}

// TestHubIdle: nobody makes a page that nobody looks at, and whoever looks gets a new one.
func TestHubIdle(t *testing.T) {
	h := &hub{ended: make(chan struct{}), changed: make(chan struct{})}
	show := func(file string) { h.show(&stats.Report{Made: stats.Made{Files: []stats.File{{Name: file}}}}, 7) }
	if show("first"); !h.idle() || h.lacks(7) || !h.lacks(8) {
		t.Error("somebody wants a page")
	}
	got := make(chan string)
	go func() {
		w := httptest.NewRecorder()
		h.serve(w, httptest.NewRequest(http.MethodGet, "/", nil))
		got <- w.Body.String()
	}()
	for h.idle() {
	}
	if !h.lacks(7) {
		t.Error("an old page would do")
	}
	show("second")
	if page := <-got; !strings.Contains(page, "second") {
		t.Errorf("%.300s", page)
	}
	if !h.idle() {
		t.Error("somebody looks still")
	}
}
