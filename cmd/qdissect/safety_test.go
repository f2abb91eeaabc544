package main

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// evilName is a hostile name for files, flags and keys.
const evilName = "ev\x1b[31m\x1b]0;owned\x07\r\b\u009b\u202eil\u200b\xff\xfe"

// safely runs the program in a folder and checks that its output is safe. It returns
// stdout and stderr.
func safely(t *testing.T, dir string, args ...string) (out, errs string) {
	t.Helper()
	out, errs, _ = runIn(t, dir, args...)
	checkSafe(t, fmt.Sprintf("%q", args), strings.ReplaceAll(out, "\t", " ")+errs)
	if out+errs == "" {
		t.Errorf("%q writes nothing", args)
	}
	return out, errs
}

// commented returns a capture whose frames have comments.
func commented(t *testing.T, packets []byte, comments []string) []byte {
	t.Helper()
	in := must.Get(capture.NewReader(bytes.NewReader(packets), "in"))(t)
	var b bytes.Buffer
	w := capture.NewWriter(&b, capture.Pcapng)
	var f capture.Frame
	for i := 0; in.Next(&f) == nil; i++ {
		f.Comments = []string{comments[i%len(comments)]}
		must.Do(t, w.Write(&f))
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

// checkComments fails if a capture has no comments, or unsafe ones. If marks are
// given, it checks only the comments that begin with one of them.
func checkComments(t *testing.T, name string, marks ...string) {
	t.Helper()
	in := must.Get(capture.Open(name))(t)
	defer in.Close()
	n := 0
	var f capture.Frame
	for in.Next(&f) == nil {
		for _, c := range f.Comments {
			if len(marks) > 0 && !slices.ContainsFunc(marks, func(m string) bool { return strings.HasPrefix(c, m) }) {
				continue
			}
			n++
			checkSafe(t, "a comment in "+name, c)
		}
	}
	if n == 0 {
		t.Errorf("%s: no comments", name)
	}
}

// TestSafeElsewhere checks that other output is as safe as messages: comments,
// counters, file names, the output of diff, check, serve and decode, and errors that
// quote names, flags and filters.
func TestSafeElsewhere(t *testing.T) {
	packets := nastyCapture(t)
	put := func(t *testing.T, dir, name string, data []byte) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Skipf("no file can have such a name here: %v", err)
		}
		return name
	}
	plain := must.Get(os.ReadFile(filepath.Join("..", "..", "testdata", "pcaps", "a2s", "source.pcap")))(t)

	t.Run("interfaces", func(t *testing.T) {
		for _, s := range nasty() {
			checkSafe(t, "-D", interfaceLine(&capture.Interface{Name: s, Title: s, Addresses: []string{"192.0.2.1"}})+"\n")
		}
	})

	t.Run("comments", func(t *testing.T) {
		dir := t.TempDir()
		put(t, dir, "nasty.pcap", packets)
		put(t, dir, "comments.pcapng", commented(t, plain, nasty()))
		for _, mode := range modes {
			out := runOn(t, commented(t, plain, nasty()), append([]string{"--all"}, mode...)...)
			checkSafe(t, fmt.Sprint(mode), out)
		}
		for _, name := range []string{"nasty.pcap", "comments.pcapng"} {
			var marks []string // comments of the input stay unchanged
			if name == "comments.pcapng" {
				marks = []string{"a2s: ", nettext.TreeMark}
			}
			for _, how := range []string{"line", "tree"} {
				_, _, status := runIn(t, dir, "--all", "--annotate="+how, "-w", how+name+"ng", name)
				if status != exitDone {
					t.Fatal(status)
				}
				checkComments(t, how+name+"ng", marks...)
			}
			safely(t, dir, "cut", name, "cut-"+name+"ng", "-Y", "protocol")
			checkComments(t, "cut-"+name+"ng", "cut: ")
		}
	})

	t.Run("differences", func(t *testing.T) {
		dir := t.TempDir()
		put(t, dir, "nasty.pcap", packets)
		put(t, dir, "plain.pcap", plain)
		put(t, dir, "comments.pcapng", commented(t, plain, nasty()))
		put(t, dir, "saved.jsonl", []byte(runOn(t, packets, "--all", "-o", "jsonl")))
		for _, with := range []string{"plain.pcap", "comments.pcapng", "saved.jsonl"} {
			safely(t, dir, "diff", "--max", "100000", "nasty.pcap", with)
			safely(t, dir, "diff", "--max", "100000", "--strict", with, "nasty.pcap")
		}
		// Goldens from strangers.
		evil := strings.NewReplacer("\x1b", `\u001b`, "\x07", `\u0007`, "\r", `\r`, "\b", `\b`, "\u009b", `\u009b`, "\xff\xfe", "").Replace(evilName)
		for i, text := range []string{
			`{"type":"` + evil + `"}`, `{"type":"message","frame":1,"protocol":"` + evil + `","message":"` + evil + `","src_ip":"` + evil + `","a2s":{"` + evil + `":"` + evil + `"}}`,
			`{"type":"message","` + evilName + `":1}`, `{"` + evilName, evilName, `{"type":"capture","file":"` + evil + `","link_type":"` + evil + `"}`,
			`{"type":"finding","frame":2,"id":"` + evil + `","text":"` + evil + `"}`, `{"type":"summary","` + evil + `":{"` + evil + `":1}}`,
		} {
			name := fmt.Sprintf("golden%d", i)
			put(t, dir, name+".pcap", plain)
			put(t, dir, name+".golden.jsonl", []byte(text+"\n"))
			for _, format := range golden.Formats {
				safely(t, dir, "check", "--format", format, name+".pcap")
			}
			safely(t, dir, "diff", name+".golden.jsonl", "plain.pcap")
		}
		safely(t, dir, "check", "--ignore", evilName, "golden0.pcap")
	})

	t.Run("files", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("files have no such names")
		}
		dir := t.TempDir()
		name := put(t, dir, evilName+".pcap", plain)
		text := put(t, dir, evilName+".txt", []byte("ffffffff54"))
		cut := put(t, dir, evilName+"-cut.pcap", plain[:len(plain)-3])
		other := put(t, dir, evilName+"-none.txt", []byte("no capture"))
		for _, mode := range modes {
			for _, file := range []string{name, cut, other, evilName, "none/" + evilName} {
				safely(t, dir, append(slices.Clone(mode), file)...)
			}
			safely(t, dir, append(slices.Clone(mode), name, cut)...)
		}
		for _, args := range [][]string{
			{"check", name}, {"check", "--update", name}, {"check", evilName}, {"check", cut}, {"diff", name, cut}, {"diff", name, evilName}, {"diff", other, name},
			{"cut", name, evilName + ".out.pcapng", "-Y", "a2s"}, {"cut", evilName, "x.pcap", "-Y", "a2s"}, {"cut", cut, "none/" + evilName, "-Y", "a2s"}, {"cut", name, name, "-Y", "a2s"},
			{"anonymize", name, evilName + ".out2.pcapng"}, {"anonymize", cut, evilName + ".out3.pcapng"}, {"anonymize", other, "x"}, {"anonymize", "--key", evilName, name, "x"},
			{"serve", "--list", name}, {"serve", "--list", cut}, {"serve", "--list", evilName}, {"serve", "--list", other},
			{"decode", text}, {"decode", other}, {"decode", "none/" + evilName},
			{"-w", evilName + ".w.pcapng", "--all", name}, {"-w", "none/" + evilName, name}, {"read", "--out", evilName + "-out", name}, {"read", "--out", other, name},
		} {
			safely(t, dir, args...)
		}
		for _, format := range golden.Formats {
			put(t, dir, evilName+".golden.jsonl", []byte("{\"type\":\"message\"}\n"))
			safely(t, dir, "check", "--format", format, name)
		}
	})

	t.Run("errors", func(t *testing.T) {
		dir := t.TempDir()
		put(t, dir, "plain.pcap", plain)
		put(t, dir, "nasty.pcap", packets)
		for _, args := range [][]string{
			{"--" + evilName}, {"-Y", evilName, "plain.pcap"}, {"-Y", "a2s and " + evilName + " == x", "plain.pcap"}, {"-Y", "summary ~ \"(" + evilName + "\"", "plain.pcap"},
			{"-f", evilName, "plain.pcap"}, {"-f", "udp and " + evilName, "plain.pcap"},
			{"--protocols", evilName, "plain.pcap"}, {"--decode-as", evilName, "plain.pcap"}, {"--decode-as", "udp.port==1," + evilName, "plain.pcap"},
			{"-o", evilName, "plain.pcap"}, {"-t", evilName, "plain.pcap"}, {"-c", evilName, "plain.pcap"}, {"--max-memory", evilName, "plain.pcap"}, {"--reply-window", evilName, "plain.pcap"},
			{"-i", evilName}, {"-a", evilName, "-i", evilName}, {"--metrics", evilName, "-i", evilName}, {"cut", "plain.pcap", "x", "--frames", evilName}, {"cut", "plain.pcap", "x", "--flow", evilName},
			{"cut", "plain.pcap", "x", "-Y", evilName}, {"serve", "--server", evilName, "plain.pcap"}, {"serve", "--listen", evilName, "plain.pcap"}, {"serve", "--loss", evilName, "plain.pcap"},
			{"check", "--format", evilName, "plain.pcap"}, {"diff", "--ignore", evilName, "plain.pcap", "plain.pcap"}, {"protocols", evilName}, {"protocols", "--game", evilName}, {"decode", evilName}, {"decode", "--as", evilName, "ff"},
			{"serve", "--list", "nasty.pcap"}, {"decode", "ffffffff49" + fmt.Sprintf("%x", "\x11"+evilName)},
		} {
			safely(t, dir, args...)
		}
	})

	t.Run("counters", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "nasty.pcap")
		must.Do(t, os.WriteFile(path, packets, 0o600))
		sum, err := pipeline.Run(pipeline.Options{
			Inputs: []string{path}, Out: io.Discard, All: true, Counts: &pipeline.Counts{Detailed: true}, Analysis: dissect.Config{Protocols: all.Protocols()},
			Reporter: func() report.Reporter { return report.NewText(report.TextOptions{}) }, Trouble: func(err error) { t.Error(err) },
		})
		must.Do(t, err)
		text := report.AppendMetrics(nil, sum)
		if checkSafe(t, "metrics", string(text)); !bytes.Contains(text, []byte("a2s")) {
			t.Errorf("no counters: %s", text)
		}
	})
}

// TestAnonymizeBeside checks that the temporary file is in the folder of the output,
// which may be on another disk than the folder for temporary files.
func TestAnonymizeBeside(t *testing.T) {
	in := must.Get(filepath.Abs(filepath.Join("..", "..", "testdata", "pcaps", "a2s", "source.pcap")))(t)
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, filepath.Join(dir, "none"))
	}
	if _, errs, status := runIn(t, dir, "anonymize", in, "out.pcapng"); status != exitDone {
		t.Error(errs)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("%v is there (%v)", list, err)
	}
}

// TestAnonymizeVerifies: a copy with a name of the capture gets no file, unless one wants it; --verify finds the name. A
// name that is a formula is none in CSV, unless one wants it.
func TestAnonymizeVerifies(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{})
	client, server := netip.MustParseAddrPort("192.0.2.20:50000"), netip.MustParseAddrPort("198.51.100.10:27015")
	w.UDP(time.Unix(1700000000, 0), server, client, []byte("\xff\xff\xff\xffD\x01\x00=LongNameOfSomebody\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	w.UDP(time.Unix(1700000001, 0), server, client, []byte("\xff\xff\xff\xffI\x11A server\x00=longnameofsomebody\x00cstrike\x00Counter-Strike\x00\x0a\x00\x03\x10\x00dl\x00\x011.0.0.1\x00\x00"))
	must.Do(t, os.WriteFile(filepath.Join(dir, "in.pcap"), b.Bytes(), 0o666))
	const left = "frame 2, a2s.info.map: still"
	for _, c := range []struct {
		args   string
		status int
		errs   string
	}{
		{"anonymize in.pcap out.pcapng", exitJudged, left},
		{"anonymize --verify in.pcap out.pcapng", exitTrouble, "no such file"},
		{"anonymize --no-verify in.pcap out.pcapng", exitDone, ""},
		{"anonymize --verify in.pcap out.pcapng", exitJudged, left},
		{"anonymize --verify in.pcap in.pcap", exitJudged, "frame 1, a2s.players.name: still"},
		{"anonymize --verify --raw-cells in.pcap in.pcap", exitTrouble, "raw-cells"},
	} {
		if _, errs, status := runIn(t, dir, strings.Fields(c.args)...); status != c.status || !strings.Contains(errs, c.errs) {
			t.Errorf("%s: %d\n%s", c.args, status, errs)
		}
	}
	for args, want := range map[string]string{"-E separator=,": "'=LongNameOfSomebody", "-E separator=, --raw-cells": "=LongNameOfSomebody", "": "=LongNameOfSomebody"} {
		out, errs, _ := runIn(t, dir, append(strings.Fields(args), "-o", "fields", "-e", "a2s.players.name", "-Y", "a2s.players", "in.pcap")...)
		if out != want+"\n" {
			t.Errorf("%s: %q, want %q\n%s", args, out, want, errs)
		}
	}
}
