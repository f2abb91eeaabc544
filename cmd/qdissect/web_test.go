package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
)

// TestWeb: the page of the site gets the names of the captures, which it may fetch, and only those; a page of the web whose name leads to
// this machine gets nothing.
func TestWeb(t *testing.T) {
	dir := t.TempDir()
	page, capture := filepath.Join(dir, "index.html"), filepath.Join(dir, "a</script>.pcap")
	if os.MkdirAll(filepath.Dir(capture), 0o777) != nil || os.WriteFile(capture, []byte("frames"), 0o666) != nil {
		t.Skip("this system has no such names of files")
	}
	must.Do(t, os.WriteFile(page, []byte(`<meta content="default-src 'none'; img-src data:"><script id="preload">[]</script>`), 0o666))
	in, out := io.Pipe()
	go run([]string{"web", "--site", page, capture}, environment{in: strings.NewReader(""), out: out, err: io.Discard, getenv: func(string) string { return "" }})
	url := strings.TrimSpace(must.Get(bufio.NewReader(in).ReadString('\n'))(t))
	get := func(path, host string) (string, int) {
		r := must.Get(http.NewRequest(http.MethodGet, url+path, http.NoBody))(t)
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		must.Do(t, err)
		defer answer.Body.Close()
		return string(must.Get(io.ReadAll(answer.Body))(t)), answer.StatusCode
	}
	want := `<meta content="default-src 'none'; connect-src 'self'; img-src data:"><script id="preload">["script\u003e.pcap"]</script>`
	if got, status := get("", ""); got != want || status != http.StatusOK {
		t.Errorf("the page: %d %s", status, got)
	}
	if got, status := get("capture/0", "localhost"); got != "frames" || status != http.StatusOK {
		t.Errorf("the capture: %d %s", status, got)
	}
	for _, path := range []string{"capture/1", "capture/-1", "index.html", "capture/..%2findex.html"} {
		if got, status := get(path, ""); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
	for _, path := range []string{"", "capture/0"} {
		if got, status := get(path, "evil.example"); status != http.StatusMisdirectedRequest || strings.Contains(got, "frames") {
			t.Errorf("%s for another host: %d %s", path, status, got)
		}
	}
}

// TestWebRefuses: other machines get nothing, and without a site the error says how to get it.
func TestWebRefuses(t *testing.T) {
	page := filepath.Join(t.TempDir(), "index.html")
	must.Do(t, os.WriteFile(page, nil, 0o666))
	for _, c := range []struct{ args, want string }{
		{"--site " + page + " --listen 0.0.0.0:0", "for this machine"},
		{"", "make web"},
		{"--site " + page + " missing.pcap", "missing.pcap"},
	} {
		var said strings.Builder
		if status := run(append([]string{"web"}, strings.Fields(c.args)...), environment{out: io.Discard, err: &said, getenv: os.Getenv}); status != exitTrouble || !strings.Contains(said.String(), c.want) {
			t.Errorf("web %s: status %d, %s", c.args, status, said.String())
		}
	}
}
