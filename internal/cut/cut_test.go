package cut_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/cut"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

var analysis = dissect.Config{Protocols: all.Protocols(), Tree: true}

type object = map[string]any

// lines returns the JSON lines of a capture.
func lines(t *testing.T, name string) (list []object) {
	t.Helper()
	var out bytes.Buffer
	_, err := pipeline.Run(pipeline.Options{
		Inputs: []string{name}, Out: &out, All: true, Analysis: analysis,
		Reporter: func() report.Reporter { return report.NewJSON(report.JSONOptions{}) },
		Trouble:  func(err error) { t.Error(err) },
	})
	must.Do(t, err)
	for line := range strings.Lines(out.String()) {
		var o object
		must.Do(t, json.Unmarshal([]byte(line), &o))
		if o["type"] == "message" || o["type"] == "finding" {
			list = append(list, o)
		}
	}
	return list
}

// bare removes frame numbers, and the comments that cut adds, from a message.
func bare(o object) string {
	c := object{}
	for k, v := range o {
		switch k {
		case "frame", "frames", "request_frame":
		case "findings":
			var ids []any
			for _, f := range v.([]any) {
				if id := f.(object)["id"]; id != "capture.comment" {
					ids = append(ids, id)
				}
			}
			if len(ids) > 0 {
				c[k] = ids
			}
		case "summary":
			if o["protocol"] != "unknown" { // a guess depends on the conversation
				c[k] = v
			}
		default:
			c[k] = v
		}
	}
	b, _ := json.Marshal(c)
	return string(b)
}

func run(t *testing.T, o cut.Options) cut.Result {
	t.Helper()
	o.Analysis = analysis
	r := must.Get(cut.Run(o))(t)
	return r
}

func compile(t *testing.T, expr string) *display.Filter {
	t.Helper()
	f := must.Get(display.Compile(expr))(t)
	return f
}

// TestAnyMessage cuts each message out of each capture and checks that it is unchanged
// and needs few other frames.
func TestAnyMessage(t *testing.T) {
	captures, err := filepath.Glob(filepath.FromSlash("../../testdata/pcaps/*/*.pcap*"))
	if err != nil || len(captures) == 0 {
		t.Fatalf("no captures (%v)", err)
	}
	for _, name := range must.TryCaptures(captures) {
		if strings.Contains(name, "hostile") || !strings.HasSuffix(name, ".pcap") && !strings.HasSuffix(name, ".pcapng") {
			continue
		}
		t.Run(filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name), func(t *testing.T) {
			var messages []object
			for _, o := range lines(t, name) {
				if o["type"] == "message" {
					messages = append(messages, o)
				}
			}
			for i := 0; i < len(messages); i += max(1, len(messages)/must.Try(1, 2)) {
				m := messages[i]
				frame, out := uint64(m["frame"].(float64)), filepath.Join(t.TempDir(), "out.pcapng")
				r := run(t, cut.Options{In: name, Out: out, Frames: []cut.Range{{From: frame, To: frame}}})
				if len(r.Changed) > 0 || r.Chosen != 1 {
					t.Errorf("frame %d: %d chosen, changed: %v", frame, r.Chosen, r.Changed)
				}
				after, want := lines(t, out), bare(m)
				if !slices.ContainsFunc(after, func(o object) bool { return bare(o) == want }) {
					t.Errorf("frame %d is not there any more: %s\n%v", frame, want, after)
				}
			}
		})
	}
}

const source = "../../testdata/pcaps/a2s/source.pcap"

// TestWhatComesAlong checks the parts, the request and the challenge of a reply, and
// the replies to a request.
func TestWhatComesAlong(t *testing.T) {
	said := func(name string) (list []string) {
		for _, o := range lines(t, name) {
			if o["type"] == "message" {
				list = append(list, fmt.Sprint(o["message"]))
			}
		}
		return list
	}
	for _, test := range []struct {
		expr string
		want string
	}{
		{`message == rules_reply and split.parts == 3`, "info_request challenge_reply rules_request rules_reply"},
		{`frame == 1`, "info_request challenge_reply"},
		{`server.map and frame == 4`, "info_request challenge_reply info_request info_reply"},
		{`finding == a2s.split.reorder`, "info_request challenge_reply rules_request rules_reply"},
	} {
		out := filepath.Join(t.TempDir(), "out.pcapng")
		r := run(t, cut.Options{In: source, Out: out, Filter: compile(t, test.expr)})
		if got := strings.Join(said(out), " "); got != test.want || r.Added > 0 {
			t.Errorf("%s: %s, want %s (%+v)", test.expr, got, test.want, r)
		}
	}
}

// TestFragments checks that IP fragments stay together, and that --flow keeps a
// complete flow.
func TestFragments(t *testing.T) {
	const name = "../../testdata/pcaps/a2s/fragments.pcap"
	before := lines(t, name)
	i := slices.IndexFunc(before, func(o object) bool { return o["frames"] != nil })
	if i < 0 {
		t.Fatal("no message in fragments")
	}
	want := before[i]["frames"].([]any)
	for _, o := range []cut.Options{
		{Frames: []cut.Range{{From: uint64(want[0].(float64)), To: uint64(want[0].(float64))}}},
		{Flows: []cut.Flow{flow(t, fmt.Sprintf("%v:%v-%v:%v", before[i]["dst_ip"], before[i]["dst_port"], before[i]["src_ip"], before[i]["src_port"]))}},
	} {
		o.In, o.Out = name, filepath.Join(t.TempDir(), "out.pcap.gz")
		run(t, o)
		after := lines(t, o.Out)
		if !slices.ContainsFunc(after, func(o object) bool { return bare(o) == bare(before[i]) }) {
			t.Errorf("the message is not there any more: %v", after)
		}
	}
}

func flow(t *testing.T, s string) cut.Flow {
	t.Helper()
	f := must.Get(cut.ParseFlow(s))(t)
	return f
}

// TestIncomplete checks that a finding about missing parts keeps the parts that are
// present.
func TestIncomplete(t *testing.T) {
	const name = "../../testdata/pcaps/a2s/trouble.pcap"
	out := filepath.Join(t.TempDir(), "out.pcapng")
	r := run(t, cut.Options{In: name, Out: out, Filter: compile(t, "finding == a2s.split.missing")})
	if r.Chosen == 0 {
		t.Fatal("nothing is chosen")
	}
	if !slices.ContainsFunc(lines(t, out), func(o object) bool { return strings.Contains(fmt.Sprint(o["findings"]), "a2s.split.missing") }) {
		t.Errorf("the finding is not there any more: %v", lines(t, out))
	}
}

// TestICMP checks that an ICMP error and the message that it is about keep each other.
func TestICMP(t *testing.T) {
	const name = "../../testdata/pcaps/icmp/trouble.pcapng"
	said := func(name string) (list []string) {
		for _, o := range lines(t, name) {
			if o["icmp_frame"] != nil {
				list = append(list, fmt.Sprint(o["time"], " ", o["src_ip"], " ", o["dst_ip"], " ", o["dst_port"], " ", o["findings"].([]any)[0].(object)["id"]))
			}
		}
		return list
	}
	all := said(name)
	for _, test := range []struct {
		o    cut.Options
		want []string
	}{
		{cut.Options{Filter: compile(t, `finding ~ "^icmp"`)}, all},
		{cut.Options{Filter: compile(t, "message == info_request and frame == 1")}, all[:1]},
		{cut.Options{Frames: []cut.Range{{From: 1, To: 1}}}, all[:1]},
		{cut.Options{Flows: []cut.Flow{flow(t, "192.0.2.20:50000")}}, all[:1]},
		{cut.Options{Filter: compile(t, `message == info_reply and frame == 21`)}, []string{"2026-01-02T03:04:13.126912000Z 198.51.100.10 192.0.2.20 50006 icmp.port_unreachable"}},
		{cut.Options{Filter: compile(t, `finding ~ "^icmp" and frame == 4`)}, all[1:2]},
	} {
		test.o.In, test.o.Out = name, filepath.Join(t.TempDir(), "out.pcapng")
		run(t, test.o)
		if got := said(test.o.Out); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %d errors are named, want %d\n%s", test.o, len(got), len(test.want), strings.Join(got, "\n"))
		}
	}
}

// TestNothing checks that no file is left if nothing is chosen or writing fails.
func TestNothing(t *testing.T) {
	dir := t.TempDir()
	r := run(t, cut.Options{In: source, Out: filepath.Join(dir, "out.pcapng"), Filter: compile(t, "protocol == quake3")})
	if r.Chosen+int(r.Frames) > 0 || r.All == 0 {
		t.Errorf("%+v", r)
	}
	if _, err := cut.Run(cut.Options{In: filepath.Join(dir, "none.pcap"), Out: filepath.Join(dir, "out.pcapng"), Analysis: analysis}); err == nil {
		t.Error("no error for a file that is not there")
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 {
		t.Errorf("files were written: %v", list)
	}
}

// TestTwice checks that cutting twice keeps the comments of the first cut and adds
// none.
func TestTwice(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "1.pcapng"), filepath.Join(dir, "2.pcapng")
	run(t, cut.Options{In: source, Out: first, Filter: compile(t, "message == rules_reply")})
	run(t, cut.Options{In: first, Out: second, Filter: compile(t, "a2s")})
	a, b := must.Get(os.ReadFile(first))(t), must.Get(os.ReadFile(second))(t)
	if !bytes.Equal(a, b) {
		t.Error("the second cut is another file")
	}
}

func TestParse(t *testing.T) {
	if list, err := cut.ParseFrames("3, 5-9"); err != nil || fmt.Sprint(list) != "[{3 3} {5 9}]" {
		t.Error(list, err)
	}
	for _, s := range []string{"", "0", "9-5", "a", "3,"} {
		if _, err := cut.ParseFrames(s); err == nil {
			t.Errorf("%q is taken for a list of frames", s)
		}
	}
	for _, s := range []string{"", "192.0.2.1", "192.0.2.1:1-", "x:1"} {
		if _, err := cut.ParseFlow(s); err == nil {
			t.Errorf("%q is taken for a flow", s)
		}
	}
	flow(t, "[2001:db8::1]:27015-[2001:db8::2]:5000")
}
