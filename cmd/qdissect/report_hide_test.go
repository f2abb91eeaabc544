package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/thorough"
	"github.com/qdissect/qdissect/internal/tools/scenes"
)

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
		var v map[string]any
		must.Do(t, json.Unmarshal([]byte(line), &v))
		walk("", v)
	}
	short := func(s string) bool { return len(s) < 5 } // part of other words
	names = slices.DeleteFunc(names, short)
	slices.Sort(names)
	return addresses, slices.Compact(names)
}

// outputOf runs the program and returns its output.
func outputOf(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if n := run(args, environment{in: strings.NewReader(""), out: &out, err: &errs, getenv: func(string) string { return "" }}); n != exitDone {
		t.Fatalf("%v: exit status %d: %s", args, n, &errs)
	}
	return out.String()
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
	for _, name := range thorough.Of([]string{"mixed", "down-icmp"}, []string{"mixed", "down-icmp", "greedy", "scanner", "long-lost"}) {
		s := must.Get(scenes.Find(name))(t)
		var b bytes.Buffer
		must.Get(s.Write(&b, scenes.Options{Span: 30 * time.Second, Clients: thorough.Of(100, 300), Rate: min(thorough.Of(100.0, 400), 40*float64(len(name)))}))(t)
		file := filepath.Join(dir, "Harbour-"+name+".pcap")
		must.Do(t, os.WriteFile(file, b.Bytes(), 0o666))
		files = append(files, file)
	}
	for _, name := range []string{"samp/servers", "a2s/trouble", "quake3/trouble", "minecraft/documents", "valve-master/trouble"} {
		path := filepath.Join("..", "..", "testdata", "pcaps", name+".pcap")
		must.Get(os.Stat(path))(t)
		files = append(files, path)
	}
	for _, file := range files {
		addresses, names := namesIn(t, file)
		if len(addresses) == 0 {
			t.Fatalf("%s: no addresses", file)
		}
		var page string
		for _, format := range []string{"text", "json", "html"} {
			home := "--home=" + addresses[0] + "/24"
			if strings.Contains(addresses[0], ":") {
				home = "--home=" + addresses[0] + "/64"
			}
			page = outputOf(t, "report", "--anonymize", home, "--format", format, file)
			for _, s := range slices.Concat(addresses, names, []string{"Harbour", filepath.Base(file)}) {
				if has(page, s) {
					t.Errorf("%s: the anonymized %s has %q", file, format, s)
				}
			}
			if len(page) < 100 {
				t.Errorf("%s: %s is %q", file, format, page)
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
