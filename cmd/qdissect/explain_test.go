package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// TestExplained: every finding is explained in sentences that fit a screen, and warnings and errors say what to do.
func TestExplained(t *testing.T) {
	for _, f := range append(allFindings(), core.FragmentsForeign) {
		if !strings.HasSuffix(f.Doc, ".") || f.Advice != "" && !strings.HasSuffix(f.Advice, ".") || f.Advice == "" && f.Severity >= dissect.Warning {
			t.Errorf("%s (%s) is not explained: %q %q", f.ID, f.Severity, f.Doc, f.Advice)
		}
	}
	for _, name := range explained() {
		var b strings.Builder
		if err := explain(&b, name); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > screen && len(strings.Fields(line)) > 2 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}

// TestSample: no verb of a finding's text is left in its sample.
func TestSample(t *testing.T) {
	if got := sample("%d of %d {part|parts}: %p, %s, %x, %t, %r, %v"); got != "N of N parts: …, …, 0xN, N ms, N, N" {
		t.Errorf("%q", got)
	}
	for _, f := range allFindings() {
		if s := sample(f.Text); strings.ContainsAny(s, "%{}|") {
			t.Errorf("%s: %q", f.ID, s)
		}
	}
}

// TestCompletion: the shells get names of protocols, formats, findings and fields.
func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"explain", "a2s.split.mi"}, []string{"a2s.split.missing"}},
		{[]string{"read", "--protocols", "a2s,quake3-"}, []string{"a2s,quake3-master"}},
		{[]string{"--decode-as", "udp.port==9999,a2"}, []string{"udp.port==9999,a2s"}},
		{[]string{"live", "-o", "json"}, []string{"json", "jsonl"}},
		{[]string{"-i", "l"}, []string{"lo"}},
		{[]string{"-o", "fields", "-e", "a2s.ma"}, []string{"a2s.map", "a2s.max_players"}},
		{[]string{"-Y", "finding == a2s.split.mi"}, []string{"finding == a2s.split.missing"}},
		{[]string{"-Y", "players > 3 and server.na"}, []string{"players > 3 and server.name"}},
		{[]string{"-Y", "message == players"}, []string{"message == players_reply"}},
		{[]string{"-Y", "severity >= no"}, []string{"severity >= note"}},
		{[]string{"-Y", "protocol in {a2s, quake3-"}, []string{"protocol in {a2s, quake3-master"}},
		{[]string{"-Y", "!qd.a2s.ma"}, []string{"!qd.a2s.map", "!qd.a2s.max_players"}},
		{[]string{"-Y", "map == a2"}, nil},
		{[]string{"-Y", "a2s.noreply"}, nil},
		{[]string{"-t", ""}, []string{"r", "d", "a", "ad", "e"}},
		{[]string{"protocols", "teew"}, []string{"teeworlds"}},
		{[]string{"decode", "--as", "teew"}, []string{"teeworlds"}},
		{[]string{"help", "anon"}, []string{"anonymize"}},
		{[]string{"check", "--format", "ju"}, []string{"junit"}},
	} {
		out, _, status := runIn(t, t.TempDir(), append([]string{"__complete"}, c.args...)...)
		var got []string
		for line := range strings.Lines(out) {
			if name, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); !strings.HasPrefix(name, ":") {
				got = append(got, name)
			}
		}
		if slices.Sort(got); len(slices.Compact(slices.Clone(got))) < len(got) {
			t.Errorf("%q is completed with something twice: %q", c.args, got)
		}
		for _, w := range c.want {
			if !slices.Contains(got, w) || status != exitDone {
				t.Errorf("%q is completed with %q, not %q", c.args, got, c.want)
			}
		}
	}
}
