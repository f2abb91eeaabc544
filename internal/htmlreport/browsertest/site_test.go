package browsertest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/klauspost/compress/zstd"
)

// site returns the paths of the site and of the program, both of the same version.
func site(t *testing.T) (page, program string) {
	t.Helper()
	if err := buildSite(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "site", "index.html"), filepath.Join(dir, "site", "qdissect")
}

var buildSite = sync.OnceValue(func() error {
	page := filepath.Join(dir, "site", "index.html")
	if err := run("go", "run", "./internal/tools/mksite", "-version", "test", "-o", page); err != nil {
		return err
	}
	if err := run("go", "build", "-ldflags", "-X main.version=test", "-o", filepath.Join(dir, "site", "qdissect"), "./cmd/qdissect"); err != nil {
		return err
	}
	b, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if w.Write(b); w.Close() != nil || packed.Len() > 3_500_000 {
		return fmt.Errorf("what a browser loads has %d bytes compressed with gzip", packed.Len())
	}
	return nil
})

// several writes captures into a folder as somebody may have them: plain with a hostile name, and compressed with gzip and zstd.
func several(t *testing.T) []string {
	t.Helper()
	folder := t.TempDir()
	var paths []string
	for _, c := range []struct {
		name, as string
		packs    func(io.Writer) (io.WriteCloser, error)
	}{
		{"hostile/strings.pcap", "<img src=x onerror=alert(1)>\u202e.pcap", nil},
		{"a2s/trouble.pcap", "trouble.pcap.gz", func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }},
		{"hostile/times.pcapng", "times.pcapng.zst", func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }},
	} {
		b, err := os.ReadFile(filepath.Join(root, "testdata", "pcaps", filepath.FromSlash(c.name)))
		if err == nil && c.packs != nil {
			var packed bytes.Buffer
			var w io.WriteCloser
			if w, err = c.packs(&packed); err == nil {
				_, err = w.Write(b)
				err = errors.Join(err, w.Close())
			}
			b = packed.Bytes()
		}
		path := filepath.Join(folder, c.as)
		if err = errors.Join(err, os.WriteFile(path, b, 0o600)); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// load drops captures on the site and waits until they are read.
func load(t *testing.T, tab context.Context, paths ...string) {
	t.Helper()
	value[bool](t, tab, "delete document.documentElement.dataset.ready, true")
	if err := chromedp.Run(tab, chromedp.SetUploadFiles("#start input", paths, chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	ready(t, tab, "")
}

// patient is how long the tests wait, also on a slow machine.
var patient = chromedp.WithPollingTimeout(20 * time.Minute)

// ready waits until the list of an expression is whole.
func ready(t *testing.T, tab context.Context, expr string) {
	t.Helper()
	if err := chromedp.Run(tab, chromedp.Poll("document.documentElement.dataset.ready === "+quote(expr), nil, patient)); err != nil {
		t.Fatal(err, value[string](t, tab, "document.getElementById('trouble').textContent"))
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `\'`) + "'" }

// TestSite: what the site says of captures is what the program says, nothing is asked for, and nothing goes wrong.
func TestSite(t *testing.T) {
	t.Parallel()
	page, program := site(t)
	names := []string{"a2s/trouble.pcap", "hostile/strings.pcap", "hostile/times.pcapng", "gamespy3/*.pcap", "foreign/others.pcap"}
	all := os.Getenv("QDISSECT_THOROUGH") != ""
	if all {
		names = []string{"*/*.pcap*"}
	}
	captures := [][]string{several(t)}
	for _, name := range names {
		found, _ := filepath.Glob(filepath.Join(root, "testdata", "pcaps", filepath.FromSlash(name)))
		for i, path := range found {
			if i > 0 && !all {
				break
			}
			path, _ = filepath.Abs(path)
			captures = append(captures, []string{path})
		}
	}
	tab, trouble, requests := open(t, browser(t), page, 1400, "light", "#drop")
	for i, paths := range captures {
		folder := filepath.Dir(paths[0])
		t.Run(filepath.Base(folder)+"/"+filepath.Base(paths[0]), func(t *testing.T) {
			load(t, tab, paths...)
			var names []string
			for _, path := range paths {
				names = append(names, filepath.Base(path))
			}
			says := func(args ...string) string { return output(program, folder, append(args, names...)...) }
			if got, want := value[string](t, tab, "qdissect.made('report.json')"), says("report", "--format", "json"); got != want || want == "" {
				t.Errorf("the report differs:\n%.600s\n%.600s", got, want)
			}
			lines := func() string {
				return value[string](t, tab, "qdissect.lines().then(l => l.map(l => l + '\\n').join(''))")
			}
			if got, want := lines(), says(); got != want {
				t.Errorf("the list differs:\n%.600s\n%.600s", got, want)
			}
			for _, expr := range []string{"severity >= note", "role == reply and length > 20"} {
				value[bool](t, tab, "qdissect.filter("+quote(expr)+"), true")
				ready(t, tab, expr)
				if got, want := lines(), says("-Y", expr); got != want {
					t.Errorf("-Y %s differs:\n%.600s\n%.600s", expr, got, want)
				}
			}
			if i > 0 {
				return
			}
			value[bool](t, tab, "qdissect.filter(''), true")
			ready(t, tab, "")
			// The last message is of the last capture.
			const row = "qdissect.lines().then(l => l.findLastIndex(t => /^ *[0-9]+ +[0-9]+[.]/.test(t)))"
			value[bool](t, tab, row+".then(i => (qdissect.select(i), document.getElementById('list').focus(), true))")
			if err := chromedp.Run(tab, chromedp.KeyEvent(kb.Enter),
				chromedp.Poll("document.documentElement.dataset.talk", nil, patient)); err != nil {
				t.Fatal(err)
			}
			want := value[string](t, tab, row+".then(async i => (await qdissect.lines())[i].trim().split(/ +/)[2])")
			if got := value[string](t, tab, "document.getElementById('talk').contentDocument.body.innerText"); !strings.Contains(got, want) {
				t.Errorf("the conversation of a message of the last capture is not of %s: %.300s", want, got)
			}
		})
	}
	if bad := trouble(); len(bad) > 0 {
		t.Errorf("%d messages in the console: %q", len(bad), bad[0])
	}
	for _, asked := range requests() {
		if asked != "file://"+page && !strings.HasPrefix(asked, "blob:") && asked != "about:srcdoc" {
			t.Errorf("a request: %q", asked)
		}
	}
}

// TestSiteKeys: a filter is completed and corrected, a message opens with its bytes, the time of the report narrows the list, findings are
// found, and what is saved holds what was chosen, at any width and in the dark.
func TestSiteKeys(t *testing.T) {
	t.Parallel()
	page, program := site(t)
	axe := axeScript(t)
	capture, _ := filepath.Abs(filepath.Join(root, "testdata", "pcaps", "a2s", "trouble.pcap"))
	hostile, _ := filepath.Abs(filepath.Join(root, "testdata", "pcaps", "hostile", "strings.pcap"))
	tab, trouble, _ := open(t, browser(t), page, 1400, "light", "#drop")
	looks := []struct {
		scheme string
		width  int64
	}{{"dark", 1400}, {"light", 360}, {"light", 1400}}
	// check looks at what the page shows.
	check := func(scheme string, width int64, what string) {
		t.Helper()
		name := "site-" + scheme + "-" + map[bool]string{true: "narrow", false: "wide"}[width < 1000] + "-" + what
		if err := chromedp.Run(tab, dress(scheme, width)); err != nil {
			t.Fatal(err)
		}
		shoot(t, tab, name, width)
		checkAxe(t, tab, axe)
		if over := value[float64](t, tab, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("%s: the page is %v pixels wider than the window", name, over)
		}
	}
	for _, look := range looks {
		check(look.scheme, look.width, "start")
	}
	load(t, tab, hostile)
	check("light", 360, "hostile")
	load(t, tab, capture)
	for _, look := range looks {
		value[bool](t, tab, "document.getElementById('tab-report').click(), document.activeElement.blur(), delete document.documentElement.dataset.talk")
		check(look.scheme, look.width, "report")
		if err := chromedp.Run(tab, chromedp.Click("#tab-messages"), chromedp.KeyEvent("n"), chromedp.KeyEvent("n"), chromedp.KeyEvent(kb.Enter),
			chromedp.Poll("document.documentElement.dataset.talk && document.getElementById('talk').contentDocument.querySelector('details[open] > .bytes .fields li')", nil, patient)); err != nil {
			t.Fatal(err)
		}
		frame := value[string](t, tab, "document.documentElement.dataset.talk")
		row := value[string](t, tab, "document.querySelector('.row[aria-selected=true]').textContent")
		if !strings.HasPrefix(strings.TrimSpace(row), frame+" ") || !strings.Contains(row, "  ~ ") && !strings.Contains(row, "  ! ") {
			t.Errorf("n, n and Enter open frame %s of %q", frame, row)
		}
		const talk = "document.getElementById('talk').contentDocument"
		got := value[string](t, tab, `(() => {
			const d = `+talk+`, f = d.querySelector('details[open] > .bytes .fields li');
			f.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
			return d.querySelectorAll('details[data-m][open]').length + ' ' + d.querySelectorAll('.hex .on').length + ' ' + d.querySelector('.value').textContent;
		})()`)
		if !strings.HasPrefix(got, "1 ") || strings.HasPrefix(got, "1 0 ") || !strings.Contains(got, " = ") {
			t.Errorf("the bytes of a field: %s", got)
		}
		check(look.scheme, look.width, "messages")
		value[bool](t, tab, "qdissect.select(0), document.getElementById('list').dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))")
	}
	// Words that fit, and what is wrong.
	typed := func(text, want string) {
		t.Helper()
		if err := chromedp.Run(tab, chromedp.Evaluate("document.getElementById('expr').value = '', document.getElementById('expr').focus()", nil), chromedp.KeyEvent(text), chromedp.Poll(want, nil, patient)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	typed("severity >= war", "[...document.querySelectorAll('#words option')].some(o => o.value === 'severity >= warning')")
	typed("tim == 3", "document.getElementById('wrong').textContent.includes('did you mean time?')")
	// A part of the time.
	before := value[float64](t, tab, "document.querySelector('.row').getAttribute('aria-setsize') * 1")
	value[bool](t, tab, "(() => { const d = document.getElementById('page').contentDocument, f = d.getElementById('from'); f.value = f.max / 2; f.oninput(); return true; })()")
	fewer := fmt.Sprintf("!document.getElementById('time').hidden && document.querySelector('.row')?.getAttribute('aria-setsize') * 1 < %v", before)
	if err := chromedp.Run(tab, chromedp.Poll(fewer, nil, patient)); err != nil {
		t.Fatal("half of the time has no fewer lines:", err)
	}
	// What is chosen, saved.
	const expr = "finding == a2s.players.count"
	value[bool](t, tab, "(document.getElementById('time').click(), qdissect.filter("+quote(expr)+"), true)")
	ready(t, tab, expr)
	read := func(as string, args ...string) string {
		b, err := base64.StdEncoding.DecodeString(value[string](t, tab, "qdissect.save("+quote(as)+")"))
		if err != nil {
			t.Fatal(err)
		}
		if as == "jsonl" {
			return string(b)
		}
		file := filepath.Join(t.TempDir(), as+".pcapng")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return output(program, dir, append(args, file)...)
	}
	if got, want := read("jsonl"), output(program, filepath.Dir(capture), "-o", "jsonl", "-Y", expr, "trouble.pcap"); strings.Count(got, "\n") < 2 || got != want {
		t.Errorf("as JSON: %s\nwant %s", got, want)
	}
	if got := read("pcapng", "-Y", expr); strings.Count(got, "\n") != 1 || !strings.Contains(got, "192.0.2.22:51000") {
		t.Errorf("as pcapng: %s", got)
	}
	if got := read("anonymized", "-Y", expr); strings.Count(got, "\n") != 1 || strings.Contains(got, "192.0.2.22") || strings.Contains(got, "198.51.100.11") {
		t.Errorf("anonymized: %s", got)
	}
	if bad := trouble(); len(bad) > 0 {
		t.Errorf("%q", bad)
	}
}

// output runs the program in a folder.
func output(program, dir string, args ...string) string {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, _ := cmd.Output() // the status says whether the capture is damaged
	return string(out)
}
