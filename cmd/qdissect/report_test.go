package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tools/scenes"
)

// TestWhyAll asks about every server of every capture, and of one with nasty names: the answer is safe and has its name.
func TestWhyAll(t *testing.T) {
	captures := map[string][]byte{"nasty names": nastyCapture(t)}
	paths, err := filepath.Glob(filepath.Join("..", "..", "testdata", "pcaps", "*", "*.pcap*"))
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d captures: %v", len(paths), err)
	}
	for i, path := range paths {
		if i%must.Try(15, 1) == 0 {
			captures[path] = must.Get(os.ReadFile(path))(t)
		}
	}
	for name, capture := range captures {
		out, _ := streams(capture, "report", "--format", "json")
		var r struct{ Servers []struct{ Address string } }
		must.Do(t, json.Unmarshal([]byte(out), &r))
		for _, s := range r.Servers[:min(len(r.Servers), must.Try(3, 20))] {
			text, errs := streams(capture, "why", s.Address)
			if checkSafe(t, name, text); !strings.Contains(text, s.Address) {
				t.Errorf("%s: %s: %q %s", name, s.Address, text, errs)
			}
			line, _ := streams(capture, "why", "--format", "json", s.Address)
			if checkSafe(t, name, line); !json.Valid([]byte(line)) {
				t.Errorf("%s: %s: %q", name, s.Address, line)
			}
		}
	}
}

// TestReportAll makes a report of every capture: as text that is
// safe, as valid JSON, and as a page of limited size.
func TestReportAll(t *testing.T) {
	captures := map[string][]byte{"nasty names": nastyCapture(t)}
	err := filepath.WalkDir(filepath.Join("..", "..", "testdata", "pcaps"), func(path string, e os.DirEntry, err error) error {
		switch filepath.Ext(path) {
		case ".pcap", ".pcapng":
			captures[path], err = os.ReadFile(path)
		}
		return err
	})
	must.Do(t, err)
	if len(captures) < 50 {
		t.Fatalf("only %d captures", len(captures))
	}
	formats := []string{"text", "json", "html"}
	for i, name := range must.TryCaptures(slices.Sorted(maps.Keys(captures))) {
		for _, format := range formats[i%must.Try(3, 1):][:must.Try(1, 3)] {
			out, _ := streams(captures[name], "report", "--format", format)
			switch checkSafe(t, name+" as "+format, strings.ReplaceAll(out, "\t", " ")); {
			case out == "":
				t.Errorf("%s as %s: nothing", name, format)
			case format == "json" && !json.Valid([]byte(out)):
				t.Errorf("%s: invalid JSON", name)
			case format == "html" && len(out) > 500<<10:
				t.Errorf("%s: a page of %d bytes", name, len(out))
			}
		}
	}
}

// pages are captures whose pages have goldens: what a screen reader says, and the bytes of the conversations.
var pages = []string{"a2s/documents.pcap", "a2s/trouble.pcap", "icmp/errors4.pcap", oneSided, "quake3/trouble.pcap"}

// oneSided is a capture of one direction: a file is read ahead to find that out, a pipe is not.
const oneSided = "a2s/requests-only.pcap"

// TestReportPages compares pages with their goldens. They are the same for any number of cores, and the conversations
// are the same from a pipe.
func TestReportPages(t *testing.T) {
	dir := must.Get(filepath.Abs(filepath.Join("testdata", "report")))(t)
	captures := must.Get(filepath.Abs(filepath.Join("..", "..", "testdata", "pcaps")))(t)
	for _, name := range pages {
		t.Run(name, func(t *testing.T) {
			one, errs, _ := runIn(t, captures, "report", "--format", "html", "-j", "1", name)
			if errs != "" {
				t.Error(errs)
			}
			for _, n := range []string{"2", "8"} {
				if more, _, _ := runIn(t, captures, "report", "--format", "html", "-j", n, name); more != one {
					t.Errorf("with -j %s the page differs", n)
				}
			}
			if len(one) > 500_000 {
				t.Errorf("%d bytes", len(one))
			}
			compare(t, filepath.Join(dir, strings.ReplaceAll(strings.TrimSuffix(name, path.Ext(name)), "/", "-")+".txt"), spoken(t, one))

			if name == oneSided {
				return
			}
			fromFile, _, _ := runIn(t, captures, "report", "--format", "json", name)
			capture := must.Get(os.ReadFile(filepath.Join(captures, filepath.FromSlash(name))))(t)
			fromPipe, _ := streams(capture, "report", "--format", "json")
			if a, b := unnamed(t, fromFile), unnamed(t, fromPipe); !reflect.DeepEqual(a, b) {
				t.Error("the report differs if the capture comes from a pipe")
			}
		})
	}
}

// TestReportKinds reads all captures as one: no kind of request is left out, because which one depends on the workers.
func TestReportKinds(t *testing.T) {
	kinds := 0
	for _, p := range all.Protocols() {
		for _, m := range p.Catalog.Messages() {
			if m.Role != dissect.Reply {
				kinds++
			}
		}
	}
	if kinds > 310 { // stats.maxKinds, with room for "other"
		t.Errorf("%d kinds of requests: raise the limit of internal/stats", kinds)
	}
	args := []string{"report", "--format", "json", "-j"}
	paths := captures(t)
	one, _, _ := runIn(t, ".", append(append(slices.Clone(args), "1"), paths...)...)
	two, _, _ := runIn(t, ".", append(append(slices.Clone(args), "2"), paths...)...)
	if one != two || len(one) < 100_000 {
		t.Errorf("%d bytes with one worker, %d with two, and they differ", len(one), len(two))
	}
}

// unnamed returns a report without what names its capture.
func unnamed(t *testing.T, report string) map[string]any {
	t.Helper()
	var r map[string]any
	must.Do(t, json.Unmarshal([]byte(report), &r))
	delete(r, "made")
	var clean func(v any)
	clean = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "file")
			delete(v, "command")
			for _, e := range v {
				clean(e)
			}
		case []any:
			for _, e := range v {
				clean(e)
			}
		}
	}
	clean(r)
	if talks, ok := r["conversations"].([]any); !ok || len(talks) == 0 {
		t.Error("no conversations")
	}
	return r
}

// spoken returns the text of a page, with an element on each line, and the bytes of its messages.
func spoken(t *testing.T, page string) string {
	t.Helper()
	root := must.Get(html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false)))(t)
	var out strings.Builder
	var line []string
	flush := func() {
		if text := strings.Join(strings.Fields(strings.Join(line, "")), " "); text != "" {
			out.WriteString(text + "\n")
		}
		line = nil
	}
	lines := map[string]bool{"h1": true, "h2": true, "h3": true, "p": true, "li": true, "tr": true, "dt": true, "summary": true, "section": true, "article": true, "pre": true, "thead": true, "title": true, "label": true, "legend": true}
	var data string
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		attr := func(key string) string {
			for _, a := range n.Attr {
				if a.Key == key {
					return a.Val
				}
			}
			return ""
		}
		switch {
		case n.Type == html.TextNode:
			line = append(line, n.Data)
			return
		case n.Type == html.ElementNode && attr("id") == "data":
			data = n.FirstChild.Data
			return
		case n.Type == html.ElementNode && (n.Data == "script" || n.Data == "style" || n.Data == "symbol"):
			return
		case n.Data == "summary" && strings.HasPrefix(text(n), "Licence of"):
			n.NextSibling.FirstChild.Data = "…"
		}
		if lines[n.Data] {
			flush()
		}
		switch n.Data {
		case "h1", "h2", "h3":
			line = append(line, strings.Repeat("#", int(n.Data[1]-'0'))+" ")
		case "td", "th", "dd", "span", "button":
			line = append(line, " ")
		case "a":
			line = append(line, " ["+attr("href")+"] ")
		}
		if n.Data == "svg" && attr("role") == "img" {
			line = append(line, " [picture: "+attr("aria-label")+"] ")
			return
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if lines[n.Data] {
			flush()
		}
	}
	walk(root)
	flush()
	var d struct {
		Talks [][]struct {
			B string
			N int
			F [][4]any
		}
	}
	must.Do(t, json.Unmarshal([]byte(data), &d))
	for i, talk := range d.Talks {
		for k, m := range talk {
			fmt.Fprintf(&out, "conversation %d, message %d, %d bytes: %s\n", i+1, k+1, m.N, m.B)
			for _, f := range m.F {
				fmt.Fprintf(&out, "  %v+%v %v = %v\n", f[0], f[1], f[2], f[3])
			}
		}
	}
	return regexp.MustCompile(`(?m)^(Program) .*$`).ReplaceAllString(out.String(), "$1 …")
}

// text returns the text within a node.
func text(n *html.Node) (s string) {
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			s += c.Data
		}
	}
	return s
}

// namesIn returns the addresses that a report has, and the names of servers and players of a capture.
func namesIn(t *testing.T, file string) (addresses, names []string) {
	t.Helper()
	out := outputOf(t, "report", "--format", "json", file)
	var r stats.Report
	must.Do(t, json.Unmarshal([]byte(strings.ReplaceAll(out, `"evidence":{`, `"numbers":{`)), &r))
	for _, s := range r.Servers {
		a := netip.MustParseAddrPort(s.Address).Addr()
		addresses = append(addresses, a.String(), hex.EncodeToString(a.AsSlice()))
		names = append(names, s.Name)
	}
	for _, c := range r.Clients {
		addresses = append(addresses, c.Address)
	}
	lines := outputOf(t, "-o", "jsonl", file)
	var walk func(key string, v any)
	walk = func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				walk(k, x)
			}
		case []any:
			for _, x := range v {
				walk(key, x)
			}
		case string:
			if key == "name" {
				names = append(names, v)
			}
		}
	}
	for line := range strings.Lines(lines) {
		if v := map[string]any{}; strings.Contains(line, `"name"`) {
			must.Do(t, json.Unmarshal([]byte(line), &v))
			walk("", v)
		}
	}
	short := func(s string) bool { return len(s) < 5 } // part of other words
	names = slices.DeleteFunc(names, short)
	slices.Sort(names)
	return addresses, slices.Compact(names)
}

// outputOf runs the program and returns its output.
func outputOf(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, status := runHere(args...)
	if status != exitDone {
		t.Fatalf("%v: exit status %d: %s", args, status, errs)
	}
	return out
}

// has reports whether a text has a word, not as a part of a longer one.
func has(text, word string) bool {
	part := func(b byte) bool {
		return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '.'
	}
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(word)
		if (from == 0 || !part(text[from-1])) && (to == len(text) || !part(text[to])) {
			return true
		}
		at = to
	}
}

// TestReportHides: no format of an anonymized report has an address or a name of the capture, and none without names a name.
func TestReportHides(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, name := range must.Try([]string{"mixed", "down-icmp"}, []string{"mixed", "down-icmp", "greedy", "scanner", "long-lost"}) {
		s := must.Get(scenes.Find(name))(t)
		var b bytes.Buffer
		must.Get(s.Write(&b, scenes.Options{Span: 30 * time.Second, Clients: must.Try(100, 300), Rate: min(must.Try(100.0, 400), 40*float64(len(name)))}))(t)
		file := filepath.Join(dir, "Harbour-"+name+".pcap")
		must.Do(t, os.WriteFile(file, b.Bytes(), 0o666))
		files = append(files, file)
	}
	for _, name := range []string{"samp/servers", "a2s/trouble", "quake3/trouble", "minecraft/documents", "valve-master/trouble"} {
		path := filepath.Join("..", "..", "testdata", "pcaps", name+".pcap")
		must.Get(os.Stat(path))(t)
		files = append(files, path)
	}
	for i, file := range files {
		addresses, names := namesIn(t, file)
		if len(addresses) == 0 {
			t.Fatalf("%s: no addresses", file)
		}
		var page string
		for j, format := range []string{"text", "json", "html"} {
			home := nettext.Either(strings.Contains(addresses[0], ":"), "--home="+addresses[0]+"/64", "--home="+addresses[0]+"/24")
			page = outputOf(t, "report", "--anonymize", home, "--format", format, file)
			for _, s := range slices.Concat(addresses, names, []string{"Harbour", filepath.Base(file)}) {
				if has(page, s) {
					t.Errorf("%s: the anonymized %s has %q", file, format, s)
				}
			}
			if len(page) < 100 {
				t.Errorf("%s: %s is %q", file, format, page)
			}
			if (i+j)%must.Try(3, 1) > 0 {
				continue
			}
			page = outputOf(t, "report", "--no-names", "--format", format, file)
			for _, s := range names {
				if !strings.Contains(file, s) && has(page, s) {
					t.Errorf("%s: the %s without names has %q", file, format, s)
				}
			}
		}
	}
}

// TestReportKey: with one key, replacements are the same in every report and in captures.
func TestReportKey(t *testing.T) {
	const key = "--key=00112233445566778899aabbccddeeff"
	in, out := filepath.Join("..", "..", "testdata", "pcaps", "a2s", "documents.pcap"), filepath.Join(t.TempDir(), "out.pcap")
	one := outputOf(t, "report", "--anonymize", key, in)
	if other := outputOf(t, "report", "--anonymize", key, in); one != other {
		t.Errorf("two reports differ:\n%s\n%s", one, other)
	}
	if other := outputOf(t, "report", "--anonymize", in); one == other {
		t.Errorf("without a key it is the same")
	}
	outputOf(t, "anonymize", key, in, out)
	of := outputOf(t, "report", out)
	rows := func(s string) string {
		_, table, _ := strings.Cut(s, "TOP SOURCES")
		return table
	}
	if a, b := rows(one), rows(of); a != b || a == "" {
		t.Errorf("the report of the anonymized capture has\n%s\nthe anonymized report\n%s", b, a)
	}
	if _, err := fmt.Sscanf(one, "* Nothing unusual: %d", new(int)); err != nil {
		t.Error(one)
	}
}

// TestReportScripts: no letter, digit or symbol of a name in any script is left in an anonymized report, in text, JSON and HTML.
func TestReportScripts(t *testing.T) {
	const name, mapName = "Ｄｏｆｆｙ Ⓓⓞ🎮١٢٣ｱｲ⠓╔Ж", "ｍａｐ४२"
	file := filepath.Join(t.TempDir(), "in.pcap")
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{})
	client, server := netip.MustParseAddrPort("192.0.2.20:50000"), netip.MustParseAddrPort("198.51.100.10:27015")
	for i := range 5 {
		at := time.Unix(1700000000+int64(2*i), 0)
		w.UDP(at, client, server, []byte("\xff\xff\xff\xffTSource Engine Query\x00"))
		w.UDP(at.Add(30*time.Millisecond), server, client, []byte("\xff\xff\xff\xffI\x11"+name+"\x00"+mapName+"\x00cstrike\x00Counter-Strike\x00\x0a\x00\x03\x10\x00dl\x00\x011.0.0.1\x00\x00"))
	}
	must.Do(t, os.WriteFile(file, b.Bytes(), 0o666))
	for _, format := range []string{"text", "json", "html"} {
		plain, hidden := outputOf(t, "report", "--format", format, file), outputOf(t, "report", "--anonymize", "--key=00112233445566778899aabbccddeeff", "--format", format, file)
		if format != "text" && !strings.Contains(plain, name) {
			t.Errorf("%s lacks the name", format)
		}
		for _, r := range strings.ReplaceAll(name+mapName, " ", "") {
			if strings.ContainsRune(hidden, r) {
				t.Errorf("%s has %c", format, r)
			}
		}
	}
}

// scenesPlayed are the packets of what ruled has played, by scene and seed.
var scenesPlayed = map[string][]scenes.Packet{}

// ruled writes a scene in whose second half a rule lets so many datagrams per second to the attacked server pass; 0 is no rule. What the rule
// drops gets no reply, and its sender gives up for 3 seconds. A capture before the rule has what it drops.
func ruled(t *testing.T, name, scene string, seed uint64, perSecond int, before bool) string {
	t.Helper()
	s := must.Get(scenes.Find(scene))(t)
	o := scenes.Options{Seed: seed, Span: 40 * time.Second, Clients: 600, Rate: 300}
	var target [6]byte // address and port
	most := map[[6]byte]int{}
	of := func(frame []byte) (src, dst [6]byte) {
		copy(src[copy(src[:], frame[26:30]):], frame[34:36])
		copy(dst[copy(dst[:], frame[30:34]):], frame[36:38])
		return src, dst
	}
	list := scenesPlayed[fmt.Sprint(scene, seed)]
	if list == nil {
		must.Get(s.Play(o, func(p *scenes.Packet) error {
			list = append(list, *p)
			return nil
		}))(t)
		scenesPlayed[fmt.Sprint(scene, seed)] = list
	}
	for _, p := range list {
		if perSecond > 0 && p.ToServer && binary.BigEndian.Uint16(p.Frame[12:]) == 0x800 {
			_, dst := of(p.Frame)
			if most[dst]++; most[dst] > most[target] {
				target = dst
			}
		}
	}
	var file bytes.Buffer
	w := mkpcap.NewWriter(&file, mkpcap.Options{})
	gone := map[[6]byte]time.Time{}
	tokens, last := float64(perSecond), time.Time{}
	for _, p := range list {
		src, dst := of(p.Frame)
		switch {
		case perSecond == 0:
		case src == target && p.At.Sub(gone[dst]) < 3*time.Second:
			continue
		case dst == target && p.At.Sub(gone[src]) < 3*time.Second:
			continue
		case dst == target:
			tokens = min(float64(perSecond), tokens+float64(perSecond)*p.At.Sub(last).Seconds())
			if last = p.At; tokens < 1 {
				if gone[src] = p.At; before {
					break
				}
				continue
			}
			tokens--
		}
		w.Frame(p.At, p.Frame)
	}
	must.Do(t, w.Err())
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, file.Bytes(), 0o600))
	return path
}

// TestCompare compares what happened without a rule and with one with its goldens: the first lines say whether it helped and whom it cost.
func TestCompare(t *testing.T) {
	dir := must.Get(filepath.Abs(filepath.Join("testdata", "report")))(t)
	flood, quiet := ruled(t, "flood.pcap", "forged-challenged", 1, 0, false), ruled(t, "quiet.pcap", "quiet", 2, 0, false)
	for i, c := range []struct{ name, before, after, helped, cost string }{
		{"limit", flood, ruled(t, "limit.pcap", "forged-challenged", 2, 20, false), "yes", "some"},
		{"limit-on-host", flood, ruled(t, "limit.pcap", "forged-challenged", 2, 20, true), "yes", "some"},
		{"over", flood, quiet, "yes", "none"},
		{"same", flood, ruled(t, "flood.pcap", "forged-challenged", 2, 0, false), "no", "none"},
		{"open", ruled(t, "open.pcap", "forged-open", 1, 0, false), ruled(t, "limit.pcap", "forged-open", 2, 20, false), "yes", "some"},
		{"reflection", ruled(t, "reflection.pcap", "reflection", 1, 0, false), quiet, "yes", "cannot_tell"},
		{"greedy", ruled(t, "greedy.pcap", "greedy", 1, 0, false), quiet, "yes", "none"},
		{"quiet", ruled(t, "quiet.pcap", "quiet", 1, 0, false), quiet, "nothing_to_stop", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := outputOf(t, "report", "--compare", c.before, c.after)
			compare(t, filepath.Join(dir, "compare-"+c.name+".txt"), text)
			checkSafe(t, c.name, text)
			if i%must.Try(7, 1) > 0 {
				return // the text has the answers, too
			}
			var got stats.Comparison
			must.Do(t, json.Unmarshal([]byte(outputOf(t, "report", "--compare", "--format", "json", c.before, c.after)), &got))
			if got.Helped != c.helped || got.Cost != c.cost || got.Schema != stats.ComparisonSchema {
				t.Errorf("it helped: %s, want %s; it cost: %s, want %s", got.Helped, c.helped, got.Cost, c.cost)
			}
			page := spokenPage(t, outputOf(t, "report", "--compare", "--format", "html", c.before, c.after))
			for _, s := range got.Answer {
				if !strings.Contains(strings.Join(strings.Fields(page), " "), s) {
					t.Errorf("the page lacks %q:\n%s", s, page)
				}
			}
			if strings.Contains(page, "<script") || len(page) < 500 {
				t.Errorf("%d bytes of page", len(page))
			}
		})
	}
	// Of a capture that is cut short, and has few requests, nothing is said but that.
	whole := must.Get(os.ReadFile(filepath.Join("..", "..", "testdata", "pcaps", "a2s", "trouble.pcap")))(t)
	cut := filepath.Join(t.TempDir(), "cut.pcap")
	must.Do(t, os.WriteFile(cut, whole[:5000], 0o600))
	if out, errs, code := runIn(t, ".", "report", "--compare", cut, cut); code != exitTrouble || !strings.Contains(errs, "cut short") || !strings.HasPrefix(out, "* There was nothing to stop") {
		t.Errorf("status %d: %s%s", code, errs, out)
	}
	if _, errs, _ := runIn(t, ".", "report", "--compare", flood); !strings.Contains(errs, "--compare needs two files") {
		t.Error(errs)
	}
}

// spokenPage returns the text of a page.
func spokenPage(t *testing.T, page string) string {
	t.Helper()
	return text(must.Get(html.Parse(strings.NewReader(page)))(t))
}
