package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/qdissect/qdissect/internal/jsonl"
)

// sarif writes cases and returns the document, which is checked against the schema.
func sarif(t *testing.T, o FormatOptions, cases ...Case) (text string, run sarifRun) {
	t.Helper()
	var b bytes.Buffer
	f, err := NewFormat("sarif", &b, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		if err := f.Case(&cases[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.End(""); err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	schema, err := c.Compile(filepath.Join("testdata", "sarif-schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%v\n%s", err, b.Bytes())
	}
	var log sarifLog
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	run = log.Runs[0]
	ids := map[string]bool{}
	for _, r := range run.Tool.Driver.Rules {
		if ids[r.ID] {
			t.Errorf("two rules %s", r.ID)
		}
		ids[r.ID] = true
	}
	for _, r := range run.Results {
		if rule := run.Tool.Driver.Rules[r.RuleIndex]; rule.ID != r.RuleID || rule.Configuration.Level != r.Level {
			t.Errorf("%+v of %+v", r, rule)
		}
	}
	return b.String(), run
}

// TestSARIF checks rules, levels and lines for differences of every kind.
func TestSARIF(t *testing.T) {
	d := newDesk(t, "x.pcap", sample(t, "a2s/source.pcap"))
	lines := strings.SplitAfter(d.golden(), "\n")
	const required = `,"findings":[{"id":"a2s.challenge.required",`
	at := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, required) })
	before, _, ok := strings.Cut(lines[at], required)
	if !ok {
		t.Fatal("no finding to remove")
	}
	lines[at] = before + "}\n"                                          // a new finding in line at+1
	lines[4] = strings.ReplaceAll(lines[4], `"ctf_2fort"`, `"de_dust"`) // a value in line 5
	lines[6] = strings.Replace(lines[6], `"findings":[`, `"findings":[{"id":"packet.vlan","severity":"note","text":"VLAN 5"},{"id":"mine","severity":"error","text":"x"},`, 1)
	missing := slices.Concat(lines[:3:3], lines[4:8], lines[9:]) // two new messages
	missing = slices.Insert(missing, 9, `{"type":"finding","frame":12,"time":"2026-01-02T03:04:05.1Z","findings":[{"id":"a2s.split.missing","severity":"warning","text":"y"}]}`+"\n")
	d.putGolden(strings.Join(missing, ""))
	text, r := d.check(Rules{}, 0)
	_, run := sarif(t, FormatOptions{Root: filepath.Dir(d.path), Version: "1.2.3"}, Case{Name: d.path, File: Path(d.path), Result: r})
	var got []string
	for _, r := range run.Results {
		p := r.Locations[0].Physical
		if p.Artifact.URI != "x.golden.jsonl" || p.Artifact.BaseID != "%SRCROOT%" {
			t.Errorf("%+v", p.Artifact)
		}
		got = append(got, fmt.Sprintf("%s %s %d", r.RuleID, r.Level, p.Region.StartLine))
	}
	want := []string{
		"a2s.challenge.required note 3", "difference.changed error 4", "difference.new error 4", "packet.vlan note 6", "mine warning 6",
		"difference.new error 8", "a2s.split.missing error 10",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q\nof\n%s", got, want, text)
	}
	if got := run.Results[2].Message.Text; !strings.HasPrefix(got, "frame 3 a2s info_request is new: info request") {
		t.Error(got)
	}
	if got := run.Results[1].Message.Text; !strings.HasPrefix(got, "frame 4 a2s info_reply:\na2s.map: \"de_dust\" → \"ctf_2fort\"\nserver.map: ") {
		t.Error(got)
	}
	if got := run.Results[3].Message.Text; !strings.HasPrefix(got, `frame 6 a2s players_reply: missing finding {"id":"packet.vlan"`) {
		t.Error(got)
	}
	if d := run.Tool.Driver; d.Version != "1.2.3" || !strings.Contains(d.Rules[0].FullDescription.Text, "challenge") || !run.Invocations[0].Successful {
		t.Errorf("%+v", d)
	}

	// The limit of differences is stated.
	_, r = d.check(Rules{}, 1)
	_, run = sarif(t, FormatOptions{}, Case{Name: d.path, File: Path(d.path), Result: r})
	if n := len(run.Results); n != 2 || !strings.HasSuffix(run.Results[1].Message.Text, " more differences; --max shows them") {
		t.Errorf("%d results", n)
	}
}

// TestSARIFTrouble checks documents without results, with errors, with too many results,
// and with strange paths.
func TestSARIFTrouble(t *testing.T) {
	text, run := sarif(t, FormatOptions{}, Case{Name: "x", File: "y", Result: &Result{}})
	if len(run.Results) != 0 || !strings.Contains(text, `"results": []`) {
		t.Error(text)
	}
	root := t.TempDir()
	_, run = sarif(t, FormatOptions{Root: root},
		Case{Name: "a", File: filepath.Join(root, "dir", "ü b%.pcap"), Problem: errors.New("no golden"), Failed: true},
		Case{Name: "b", File: filepath.Join(filepath.Dir(root), "b\x1b.pcap"), Problem: errors.New("unreadable")})
	if r := run.Results[0]; r.RuleID != "check.failed" || r.Locations[0].Physical.Artifact.URI != "dir/%C3%BC%20b%25.pcap" {
		t.Errorf("%+v", r)
	}
	if r := run.Results[1]; r.RuleID != "check.error" || run.Invocations[0].Successful ||
		!strings.HasPrefix(r.Locations[0].Physical.Artifact.URI, "file:///") || !strings.HasSuffix(r.Locations[0].Physical.Artifact.URI, "/b%1B.pcap") {
		t.Errorf("%+v", r)
	}
	big := &Result{Count: maxResults + 7}
	for i := range maxResults + 7 {
		big.Differences = append(big.Differences, Difference{Kind: New, Got: Message{Line: i + 1, Head: jsonl.Head{Type: "message", Frame: uint64(i + 1)}}})
	}
	big.shown = big.Count
	_, run = sarif(t, FormatOptions{}, Case{Name: "x", File: "y", Result: big})
	if len(run.Results) != maxResults || run.Invocations[0].Notifications[0].Message.Text != "7 results left out" {
		t.Errorf("%d results, %+v", len(run.Results), run.Invocations)
	}
}
