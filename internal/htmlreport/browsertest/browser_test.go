// Package browsertest opens the pages of htmlreport in Chromium. It is a module of its own, so that the program's go.mod does not
// name what only these tests need.
package browsertest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/klauspost/compress/zstd"
)

var shots = flag.String("shots", "", "write screenshots to this folder, to be looked at")

// must ends the test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestMain makes the folder of the pages.
func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if dir, err = os.MkdirTemp("", "pages"); err != nil {
		panic(err)
	}
	code := m.Run()
	stopBrowser()
	os.RemoveAll(dir)
	os.Exit(code)
}

var (
	dir  string
	root = filepath.Join("..", "..", "..")
)

// run runs a command in the folder of the project.
func run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// pages returns the paths of the pages of the samples, of pages of captures (of trouble, and of servers with hostile names), and of more
// that the environment names (QDISSECT_PAGES: a folder).
func pages(t *testing.T) []string {
	t.Helper()
	must(t, buildPages())
	found, _ := filepath.Glob(filepath.Join(dir, "*.html"))
	if len(found) < 9 {
		t.Fatalf("%d pages", len(found))
	}
	if more := os.Getenv("QDISSECT_PAGES"); more != "" {
		others, _ := filepath.Glob(filepath.Join(more, "*.html"))
		found = append(found, others...)
	}
	return found
}

// pageOf returns the path of one of them.
func pageOf(t *testing.T, name string) string {
	t.Helper()
	list := pages(t)
	return list[slices.IndexFunc(list, func(p string) bool { return filepath.Base(p) == name })]
}

var buildPages = sync.OnceValue(func() error {
	const trouble, hostile = "testdata/pcaps/a2s/trouble.pcap", "testdata/pcaps/hostile/strings.pcap"
	program, err := buildProgram()
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"go", "test", "./internal/htmlreport", "-count=1", "-run", "^TestPages$", "-args", "-pages", dir},
		{program, "report", "-o", filepath.Join(dir, "real-trouble.html"), trouble},
		{program, "report", "-o", filepath.Join(dir, "real-strings.html"), hostile},
		{program, "report", "--compare", "-o", filepath.Join(dir, "real-compare.html"), trouble, hostile},
	} {
		if err := run(args[0], args[1:]...); err != nil {
			return err
		}
	}
	return nil
})

// browser returns the browser of all tests.
func browser(t *testing.T) context.Context {
	t.Helper()
	ctx, err := startBrowser()
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("QDISSECT_AXE") == "" {
		t.Skip("chromium is not installed")
	} else if err != nil {
		t.Fatal(err)
	}
	return ctx
}

var stopBrowser = func() {}

var startBrowser = sync.OnceValues(func() (context.Context, error) {
	path, err := "", error(nil)
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("force-color-profile", "srgb"), chromedp.WSURLReadTimeout(5*time.Minute))
	ctx, kill := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, stop := chromedp.NewContext(ctx)
	stopBrowser = func() { stop(); kill() }
	return ctx, chromedp.Run(ctx)
})

// A look is the colours and the width of a page.
type look struct {
	scheme string
	width  int64
}

// dress sets the colours and the width of a page.
func dress(scheme string, width int64) chromedp.Tasks {
	return chromedp.Tasks{
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		emulation.SetDeviceMetricsOverride(width, 1000, 1, false),
	}
}

// open opens a page in a tab, waits for an element, and returns what went wrong there and the addresses it asked for.
func open(t *testing.T, ctx context.Context, path string, width int64, scheme, mark string) (tab context.Context, trouble func() []string, requests func() []string) {
	t.Helper()
	// It has a window of its own, so that it is drawn while others are.
	id, err := target.CreateTarget("about:blank").WithNewWindow(true).Do(cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser))
	must(t, err)
	tab, stop := chromedp.NewContext(ctx, chromedp.WithTargetID(id))
	t.Cleanup(stop)
	tab, stop = context.WithTimeout(tab, 30*time.Minute)
	t.Cleanup(stop)
	address := path
	if !strings.Contains(path, "://") {
		address = "file://" + path
	}
	var mu sync.Mutex
	var bad, asked []string
	note := func(list *[]string, format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		*list = append(*list, fmt.Sprintf(format, args...))
	}
	chromedp.ListenTarget(tab, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventConsoleAPICalled:
			note(&bad, "console.%s: %s", ev.Type, ev.Args[0].Value)
		case *runtime.EventExceptionThrown:
			note(&bad, "exception: %v", ev.ExceptionDetails)
		case *cdplog.EventEntryAdded:
			note(&bad, "%s, %s: %s", ev.Entry.Source, ev.Entry.Level, ev.Entry.Text)
		case *page.EventJavascriptDialogOpening:
			note(&bad, "dialog: %s", ev.Message)
			go chromedp.Run(tab, page.HandleJavaScriptDialog(true)) //nolint:errcheck // the note is the failure
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(ev.Request.URL, "data:") {
				note(&asked, "%s", ev.Request.URL)
			}
		}
	})
	err = chromedp.Run(tab,
		network.Enable(), runtime.Enable(), cdplog.Enable(), page.Enable(),
		dress(scheme, width),
		chromedp.Navigate(address),
		chromedp.WaitReady(mark),
		chromedp.Sleep(300*time.Millisecond),
	)
	must(t, err)
	copyOf := func(list *[]string) func() []string {
		return func() []string { mu.Lock(); defer mu.Unlock(); return append([]string(nil), *list...) }
	}
	return tab, copyOf(&bad), copyOf(&asked)
}

// navigating matches what Chromium says of a page that is just being replaced.
var navigating = regexp.MustCompile(`Inspected target navigated|Cannot find (default execution )?context|Execution context was destroyed`)

// noTrouble checks that the console of a tab has no messages.
func noTrouble(t *testing.T, trouble func() []string) {
	t.Helper()
	if bad := trouble(); len(bad) > 0 {
		t.Errorf("%d messages in the console: %q", len(bad), bad)
	}
}

func value[T any](t *testing.T, tab context.Context, script string) (v T) {
	t.Helper()
	for range 50 {
		err := chromedp.Run(tab, chromedp.Evaluate(script, &v, chromedp.EvalAsValue, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		if err == nil {
			return v
		}
		if !navigating.MatchString(err.Error()) {
			t.Fatalf("%.80s: %v", script, err)
		}
		time.Sleep(20 * time.Millisecond) // the page was read again just then
	}
	t.Fatalf("%.80s: the page is read again and again", script)
	return v
}

// shoot takes a picture of the whole page, or of its first part, and writes it in pieces that can be looked at.
func shoot(t *testing.T, tab context.Context, name string, width int64) image.Image {
	t.Helper()
	var b []byte
	height := int64(value[float64](t, tab, "document.documentElement.scrollHeight"))
	err := chromedp.Run(tab, chromedp.ActionFunc(func(ctx context.Context) (err error) {
		b, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).WithClip(&page.Viewport{Width: float64(width), Height: float64(min(height, 16000)), Scale: 1}).Do(ctx)
		return err
	}))
	must(t, err)
	img, err := png.Decode(bytes.NewReader(b))
	must(t, err)
	if *shots != "" {
		const step = 1300
		for y, i := 0, 0; y < img.Bounds().Dy(); y, i = y+step, i+1 {
			part := img.(interface {
				SubImage(image.Rectangle) image.Image
			}).SubImage(image.Rect(0, y, img.Bounds().Dx(), min(y+step, img.Bounds().Dy())))
			var out bytes.Buffer
			must(t, png.Encode(&out, part))
			must(t, os.WriteFile(filepath.Join(*shots, fmt.Sprintf("%s-%d.png", name, i)), out.Bytes(), 0o644))
		}
	}
	return img
}

// colours counts the colours of a picture, up to 1,000.
func colours(img image.Image) int {
	seen := map[[3]uint32]bool{}
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y += 2 {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x += 2 {
			r, g, b, _ := img.At(x, y).RGBA()
			if seen[[3]uint32{r, g, b}] = true; len(seen) >= 1000 {
				return len(seen)
			}
		}
	}
	return len(seen)
}

// axeScript returns axe-core, "" without it.
func axeScript(t *testing.T) string {
	t.Helper()
	script := os.Getenv("QDISSECT_AXE")
	if script == "" {
		t.Log("without axe-core: QDISSECT_AXE is not set to the path of its axe.min.js")
		return ""
	}
	axe, err := os.ReadFile(script)
	must(t, err)
	return string(axe)
}

// checkAxe reports what axe-core finds in a page and in its frames.
func checkAxe(t *testing.T, tab context.Context, axe string) {
	t.Helper()
	if axe == "" {
		return
	}
	// The page and its frames say where scripts run.
	var mu sync.Mutex
	var places []runtime.ExecutionContextID
	listening, stop := context.WithCancel(tab)
	chromedp.ListenTarget(listening, func(ev any) {
		if ev, ok := ev.(*runtime.EventExecutionContextCreated); ok {
			mu.Lock()
			places = append(places, ev.Context.ID)
			mu.Unlock()
		}
	})
	err := chromedp.Run(tab, runtime.Disable(), runtime.Enable())
	stop()
	mu.Lock()
	defer mu.Unlock()
	if frames := value[float64](t, tab, "1 + [...document.querySelectorAll('iframe')].length"); err != nil || len(places) != int(frames) {
		t.Fatalf("scripts run in %d of %v frames: %v", len(places), frames, err)
	}
	for _, place := range places {
		evaluate := func(script string, v any) {
			t.Helper()
			if err := chromedp.Run(tab, chromedp.Evaluate(script, v, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
				return p.WithContextID(place).WithAwaitPromise(true).WithReturnByValue(true)
			})); err != nil {
				t.Fatal(err)
			}
		}
		var seen bool
		if evaluate("!frameElement || frameElement.getClientRects().length > 0", &seen); !seen {
			continue
		}
		var violations []struct {
			ID    string
			Help  string
			Nodes []struct{ HTML, FailureSummary string }
		}
		evaluate("globalThis.axe || "+axe+";true", &seen)
		evaluate("axe.run(document, {iframes: false, resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(r => r.violations)", &violations)
		for _, v := range violations {
			t.Errorf("axe: %s (%s): %d times: %.300s %s", v.ID, v.Help, len(v.Nodes), v.Nodes[0].HTML, v.Nodes[0].FailureSummary)
		}
	}
}

// TestBrowser opens every page, light and dark, wide and narrow: nothing goes wrong, nothing is fetched, axe-core finds nothing, and
// the pictures are there.
func TestBrowser(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	axe := axeScript(t)
	for _, path := range pages(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".html")
		for _, look := range []look{{"light", 1400}, {"dark", 1400}, {"light", 320}} {
			if name != "flood" && (look.scheme == "dark" || name != "hostile" && look.width < 1000) && *shots == "" {
				continue // it has the same colours and columns
			}
			t.Run(fmt.Sprintf("%s/%s/%d", name, look.scheme, look.width), func(t *testing.T) {
				t.Parallel()
				tab, trouble, requests := open(t, ctx, path, look.width, look.scheme, "#made")
				value[bool](t, tab, "document.querySelectorAll('details').forEach((d, i) => { if (i < 12) d.open = true; }), true")
				if over := value[float64](t, tab, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
					t.Errorf("the page is %v pixels wider than the window", over)
				}
				img := shoot(t, tab, fmt.Sprintf("%s-%s-%d", name, look.scheme, look.width), look.width)
				if n := colours(img); n < 40 {
					t.Errorf("the screenshot has %d colours", n)
				}
				checkAxe(t, tab, axe)
				noTrouble(t, trouble)
				if asked := requests(); len(asked) != 1 {
					t.Errorf("requests: %q", asked)
				}
			})
		}
	}
}

// TestReload: a page that is written again shows what is new by itself, unless a time is selected.
func TestReload(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	page, _ := os.ReadFile(pageOf(t, "flood.html"))
	path := filepath.Join(t.TempDir(), "page.html")
	write := func(head string) {
		t.Helper()
		b := strings.Replace(string(page), `<html lang="en">`, `<html lang="en" data-every="1000">`, 1)
		if err := os.WriteFile(path, []byte(strings.Replace(b, "What happened to these servers", head, 1)), 0o600); err != nil || !strings.Contains(b, "data-every") {
			t.Fatal(err)
		}
	}
	write("First")
	tab, trouble, _ := open(t, ctx, path, 1400, "light", "#made")
	const head = `(document.querySelector('h1') || {}).textContent || ''` // it may be just loading
	write("Second")
	got := ""
	for range 3000 {
		time.Sleep(100 * time.Millisecond)
		if got = value[string](t, tab, head); got == "Second" {
			break
		}
	}
	if got != "Second" {
		t.Errorf("the page is not read again: %s", got)
	}
	// The script runs last: the page may be just loading, or just being read again, and then it is another one soon.
	for tries := 0; !value[bool](t, tab, `window.chosen === true`); tries++ {
		if tries == 20 {
			t.Fatal("the page is read again and again while a time is selected")
		}
		for !value[bool](t, tab, `(() => { const f = document.getElementById('from'); if (!f || !f.oninput) return false; f.value = 3; f.oninput(); return window.chosen = true; })()`) {
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(1500 * time.Millisecond)
	}
	write("Third")
	time.Sleep(3 * time.Second)
	if got := value[string](t, tab, head); got != "Second" {
		t.Errorf("the page is read again while a time is selected: %s", got)
	}
	noTrouble(t, trouble)
}

// TestLive: a page that is served shows what is new by itself, and its reader keeps what they chose, opened and typed, and where they are.
func TestLive(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	pages(t) // builds the program
	must(t, run("go", "run", "./internal/tools/mkscenes", "-o", dir, "mixed"))
	capture, err := os.ReadFile(filepath.Join(dir, "mixed.pcap"))
	must(t, err)
	for _, look := range []look{{"light", 1400}, {"dark", 1400}, {"light", 360}} {
		t.Run(fmt.Sprintf("%s/%d", look.scheme, look.width), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(filepath.Join(dir, "qdissect"), "report", "--listen", "127.0.0.1:0", "-")
			feed, err := cmd.StdinPipe()
			must(t, err)
			says, err := cmd.StderrPipe()
			must(t, err)
			must(t, cmd.Start())
			defer cmd.Wait()         //nolint:errcheck // killed
			defer cmd.Process.Kill() //nolint:errcheck // or it has ended
			line, _ := bufio.NewReader(says).ReadString('\n')
			address := line[strings.Index(line, "http"):]
			write := func(b []byte) {
				t.Helper()
				if _, err := feed.Write(b); err != nil {
					t.Fatal(err)
				}
			}
			half := len(capture) / 2
			write(capture[:half])
			tab, trouble, requests := open(t, ctx, strings.TrimSpace(address), look.width, look.scheme, "#made")
			const packets = "document.querySelector('.lead').innerText"
			was := ""
			for was == "" || was != value[string](t, tab, packets) { // until it has all of the half
				was = value[string](t, tab, packets)
				time.Sleep(3 * time.Second)
			}
			value[bool](t, tab, `(() => {
				const s = document.getElementById('servers'), fold = s.querySelector('.fold');
				if (fold) fold.click();
				s.querySelectorAll('.sort')[1].click();
				document.querySelectorAll('.talk')[0].open = false;
				const i = document.querySelector('.find input');
				i.value = '198.51';
				i.oninput({target: i});
				i.focus();
				i.setSelectionRange(2, 2);
				document.getElementById('from').value = 2;
				document.getElementById('from').oninput();
				scrollTo(0, s.getBoundingClientRect().top + scrollY - 60);
				return true;
			})()`)
			const state = `(() => {
				const s = document.getElementById('servers'), i = document.activeElement;
				return JSON.stringify([i.type, i.value, i.selectionStart, s.classList.contains('shut'), document.querySelectorAll('.talk')[0].open, s.querySelector('[aria-sort]').innerText,
					location.hash.replace(/-[0-9]*/, ''), document.getElementById('selected').innerText.slice(0, 18), Math.round(scrollY / 300)]);
			})()`
			before := value[string](t, tab, state)
			write(capture[half:])
			for range 3000 {
				if time.Sleep(200 * time.Millisecond); value[string](t, tab, packets) != was {
					break
				}
			}
			if is := value[string](t, tab, packets); is == was {
				t.Errorf("nothing new is shown: %s", is)
			}
			if after := value[string](t, tab, state); after != before || !strings.HasPrefix(after, `["search","198.51",2,`) {
				t.Errorf("the reader has\n%s, not\n%s", after, before)
			}
			if n := value[float64](t, tab, "document.querySelectorAll('#messages .uplot').length"); n != 1 {
				t.Errorf("%v charts", n)
			}
			shoot(t, tab, fmt.Sprintf("live-%s-%d", look.scheme, look.width), look.width)
			feed.Close()
			for range 3000 {
				if time.Sleep(100 * time.Millisecond); value[string](t, tab, "document.getElementById('live').innerText") == "the capture has ended" {
					break
				}
			}
			if got := value[string](t, tab, "document.getElementById('live').innerText"); got != "the capture has ended" {
				t.Errorf("at last the page says %q", got)
			}
			noTrouble(t, trouble)
			for _, asked := range requests() {
				if !strings.HasPrefix(asked, strings.TrimSpace(address)) {
					t.Errorf("a request to %s", asked)
				}
			}
		})
	}
}

// TestBrush: a time span that is chosen changes curves, tables and round trips, and everything comes back.
func TestBrush(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	tab, trouble, _ := open(t, ctx, pageOf(t, "flood.html"), 1400, "light", "#made")
	const state = `JSON.stringify([...document.querySelectorAll('table[data-rows] tbody')].map(b => b.rows[0].innerText.replace(/\s+/g, ' ')).concat(
		document.getElementById('v-requests').textContent, document.getElementById('heat').getAttribute('viewBox')))`
	before := value[string](t, tab, state)
	var was, is []string
	must(t, json.Unmarshal([]byte(before), &was))
	// With the mouse, across the first third of the curves.
	box := value[[]float64](t, tab, `(() => { const r = document.querySelector('#messages .u-over'); r.scrollIntoView({block: 'center'}); const b = r.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()`)
	err := chromedp.Run(tab,
		chromedp.MouseEvent("mouseMoved", box[0]+30, box[1]+50),
		chromedp.MouseEvent("mousePressed", box[0]+30, box[1]+50, chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent("mouseMoved", box[0]+box[2]/4, box[1]+60, chromedp.ButtonLeft),
		chromedp.MouseEvent("mouseReleased", box[0]+box[2]/4, box[1]+60, chromedp.ButtonLeft, chromedp.ClickCount(1)),
	)
	must(t, err)
	same := was
	for tries := 0; len(same) > 0 && tries < 100; tries++ {
		time.Sleep(100 * time.Millisecond)
		must(t, json.Unmarshal([]byte(value[string](t, tab, state)), &is))
		same = nil
		for i := range was {
			if was[i] == is[i] && i != 0 { // the victims of the first table ask nothing in this time
				same = append(same, was[i])
			}
		}
	}
	if len(same) > 0 {
		t.Errorf("the brush does not change %q", same)
	}
	shoot(t, tab, "brush", 1400)
	if value[bool](t, tab, "document.getElementById('all').click(), false") || value[string](t, tab, state) != before {
		t.Error("not everything is back")
	}
	// With the keyboard.
	must(t, chromedp.Run(tab, chromedp.Focus("#from"), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight)))
	if value[string](t, tab, state) == before {
		t.Error("arrow keys do not move the start")
	}
	// The bytes of a message: a field that has the focus shows its value.
	got := value[string](t, tab, `(() => {
		const f = document.querySelectorAll('.hex [role=button]');
		f[0].focus();
		f[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
		return document.activeElement === f[1] ? f[1].closest('.bytes').querySelector('.value').innerText : 'the focus did not move';
	})()`)
	if !strings.Contains(got, " = ") {
		t.Errorf("the focused field says %q", got)
	}
	noTrouble(t, trouble)
}

// TestLinks: a finding leads to its conversation, which opens, and a verdict to its rule; a button copies a command.
func TestLinks(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	for _, p := range pages(t) {
		name := strings.TrimSuffix(filepath.Base(p), ".html")
		if name != "real-trouble" && name != "flood" {
			continue
		}
		tab, trouble, _ := open(t, ctx, p, 1400, "light", "#made")
		if n := value[float64](t, tab, "[...document.querySelectorAll('a[href^=\"#\"]')].filter(a => !document.querySelector(a.getAttribute('href'))).length"); n > 0 {
			t.Errorf("%s: %v links lead nowhere", name, n)
		}
		got := value[string](t, tab, `(async () => {
			const links = document.querySelectorAll('.finding .see a'), a = links[links.length - 1];
			const talk = document.querySelector(a.getAttribute('href')).closest('details');
			document.querySelectorAll('.talk').forEach(d => { d.open = false; });
			a.click();
			const shows = () => talk.open + ' ' + (talk.getBoundingClientRect().top < innerHeight);
			for (let i = 0; i < 100 && shows() !== 'true true'; i++) await new Promise(r => setTimeout(r, 100));
			return shows();
		})()`)
		if got != "true true" {
			t.Errorf("%s: the conversation of the last finding is open and visible: %s", name, got)
		}
		copied := value[string](t, tab, "(async () => { const b = document.querySelector('.finding .copy'); b.click(); for (let i = 0; i < 1000 && !/^(Copied|Selected)/.test(b.innerText); i++) await new Promise(r => setTimeout(r, 10)); return b.innerText; })()")
		if !strings.HasPrefix(copied, "Copied") && !strings.HasPrefix(copied, "Selected") {
			t.Errorf("%s: after a click the button says %q", name, copied)
		}
		noTrouble(t, trouble)
	}
	tab, _, _ := open(t, ctx, filepath.Join(dir, "flood.html"), 1400, "light", "#made")
	if got := value[string](t, tab, "document.querySelectorAll('.do a').length + ': ' + document.querySelector(document.querySelector('.do a').getAttribute('href')).innerText"); !strings.HasPrefix(got, "3: At most 20 info requests per second in total nftables") {
		t.Errorf("the first verdict leads to %s", got)
	}
}

// TestPrint: what is printed has the static pictures, in black on white, also in dark mode.
func TestPrint(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	for _, p := range pages(t) {
		name := strings.TrimSuffix(filepath.Base(p), ".html")
		if name != "flood" && *shots == "" {
			continue
		}
		tab, _, _ := open(t, ctx, p, 760, "dark", "#made")
		must(t, chromedp.Run(tab, emulation.SetEmulatedMedia().WithMedia("print").WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}})))
		img := shoot(t, tab, name+"-print", 760)
		if r, g, b, _ := img.At(3, 3).RGBA(); r < 0xf000 || g < 0xf000 || b < 0xf000 {
			t.Errorf("%s: the paper is dark", name)
		}
		const pictures = `[...document.querySelectorAll('.static > svg')].filter(s => s.getBoundingClientRect().height > 50).length`
		if n, want := value[float64](t, tab, pictures), value[float64](t, tab, "document.querySelectorAll('.static').length"); n != want || name == "flood" && n != 2 {
			t.Errorf("%s: %v curves are printed, want %v", name, n, want)
		}
	}
}

// TestTables: of many servers all can be found, sorted and shown; the address of the page keeps what was chosen; a verdict leads to its server, also
// if that row is hidden.
func TestTables(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	path := pageOf(t, "large.html")
	tab, trouble, _ := open(t, ctx, path, 1400, "light", "#made")
	const rows = `[...document.querySelectorAll('[data-rows=servers] tbody tr')].filter(r => r.offsetParent).map(r => r.cells[0].innerText.split('\n')[0] + ' ' + r.cells[1].dataset.v)`
	visible := func() []string { t.Helper(); return value[[]string](t, tab, rows) }
	first := visible()
	if len(first) != 20 {
		t.Fatalf("%d rows at first", len(first))
	}
	find := func(text string) {
		t.Helper()
		value[bool](t, tab, fmt.Sprintf("(() => { const i = document.querySelector('.find input'); i.value = %q; i.oninput({target: i}); return true; })()", text))
	}
	const button = "document.querySelector('.find button')"
	find("ffff:17cc]")
	if got := visible(); len(got) != 1 || !strings.HasPrefix(got[0], "[2001:db8:ffff:ffff:ffff:ffff:ffff:17cc]") {
		t.Errorf("found: %q", got)
	}
	if got := value[string](t, tab, "document.querySelector('.find [role=status]').innerText"); !strings.HasPrefix(got, "1 of 2,0") {
		t.Errorf("the search says %q", got)
	}
	find("")
	value[bool](t, tab, button+".click(), true")
	if got := visible(); len(got) < 1990 {
		t.Errorf("%d rows are all", len(got))
	}
	value[bool](t, tab, button+".click(), document.querySelectorAll('[data-rows=servers] .sort')[1].click(), document.querySelectorAll('[data-rows=servers] .sort')[1].click(), true")
	least := visible()
	if len(least) != 20 || least[0] == first[0] || value[string](t, tab, "document.querySelector('[aria-sort]').getAttribute('aria-sort')") != "ascending" {
		t.Errorf("sorted: %q", least)
	}
	kept := value[string](t, tab, "document.getElementById('from').value = 2, document.getElementById('from').oninput(), location.hash")
	chosen := visible()
	shoot(t, tab, "tables", 1400)
	if again, _, _ := open(t, ctx, path+kept, 1400, "light", "#made"); strings.Join(value[[]string](t, again, rows), "\n") != strings.Join(chosen, "\n") || !strings.Contains(kept, "servers.sort=-2") || !strings.Contains(kept, "time=") {
		t.Errorf("%s leads to other rows", kept)
	}
	find("ffff:17cc]")
	got := value[string](t, tab, "(() => { const a = document.querySelector('.facts a'), tr = document.querySelector(a.getAttribute('href')), was = tr.hidden; a.click(); return was + ' ' + tr.hidden + ' ' + tr.cells[0].innerText.startsWith(a.innerText); })()")
	if got != "true false true" {
		t.Errorf("the link to a server that is hidden: %s", got)
	}
	if again, bad, _ := open(t, ctx, path+"#time=a-b&servers.sort=99&servers.all=no", 1400, "light", "#made"); len(bad()) > 0 || len(value[[]string](t, again, rows)) != 20 {
		t.Errorf("a link that nobody made: %q", bad())
	}
	noTrouble(t, trouble)
}

// TestPhone: on a phone a page is short, and its sections open by a touch and by a link.
func TestPhone(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	tab, trouble, _ := open(t, ctx, pageOf(t, "flood.html"), 360, "light", "#made")
	if height := value[float64](t, tab, "document.documentElement.scrollHeight"); height > 7000 {
		t.Errorf("the page is %v pixels high", height)
	}
	shoot(t, tab, "phone", 360)
	got := value[string](t, tab, `(() => {
		const s = document.getElementById('servers'), seen = () => s.querySelector('table').offsetParent !== null, b = s.querySelector('h2 button'), is = [seen()];
		b.click();
		is.push(seen(), b.getAttribute('aria-expanded'));
		b.click();
		document.querySelector('nav a[href="#servers"]').click();
		return is.concat(seen()).join(' ');
	})()`)
	if got != "false true true true" {
		t.Errorf("the section of servers: %s", got)
	}
	noTrouble(t, trouble)
}

// site returns the paths of the site and of the program, both of the same version.
func site(t *testing.T) (page, program string) {
	t.Helper()
	must(t, buildSite())
	return filepath.Join(dir, "site", "index.html"), filepath.Join(dir, "qdissect")
}

var buildProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(dir, "qdissect")
	return path, run("go", "build", "-ldflags", "-X main.version=test", "-o", path, "./cmd/qdissect")
})

var buildSite = sync.OnceValue(func() error {
	page := filepath.Join(dir, "site", "index.html")
	if err := run("go", "run", "./internal/tools/mksite", "-version", "test", "-o", page); err != nil {
		return err
	}
	if _, err := buildProgram(); err != nil {
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
	must(t, chromedp.Run(tab, chromedp.SetUploadFiles("#start input", paths, chromedp.ByQuery)))
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
			must(t, chromedp.Run(tab, chromedp.KeyEvent(kb.Enter),
				chromedp.Poll("document.documentElement.dataset.talk", nil, patient)))
			want := value[string](t, tab, row+".then(async i => (await qdissect.lines())[i].trim().split(/ +/)[2])")
			if got := value[string](t, tab, "document.getElementById('talk').contentDocument.body.innerText"); !strings.Contains(got, want) {
				t.Errorf("the conversation of a message of the last capture is not of %s: %.300s", want, got)
			}
		})
	}
	noTrouble(t, trouble)
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
	looks := []look{{"dark", 1400}, {"light", 360}, {"light", 1400}}
	// check looks at what the page shows.
	check := func(scheme string, width int64, what string) {
		t.Helper()
		name := "site-" + scheme + "-" + map[bool]string{true: "narrow", false: "wide"}[width < 1000] + "-" + what
		must(t, chromedp.Run(tab, dress(scheme, width)))
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
		must(t, chromedp.Run(tab, chromedp.Click("#tab-messages"), chromedp.KeyEvent("n"), chromedp.KeyEvent("n"), chromedp.KeyEvent(kb.Enter),
			chromedp.Poll("document.documentElement.dataset.talk && document.getElementById('talk').contentDocument.querySelector('details[open] > .bytes .fields li')", nil, patient)))
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
		must(t, err)
		if as == "jsonl" {
			return string(b)
		}
		file := filepath.Join(t.TempDir(), as+".pcapng")
		must(t, os.WriteFile(file, b, 0o600))
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
	noTrouble(t, trouble)
}

// output runs the program in a folder.
func output(program, dir string, args ...string) string {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, _ := cmd.Output() // the status says whether the capture is damaged
	return string(out)
}
