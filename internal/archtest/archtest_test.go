// Package archtest holds the rules of who may import whom. They are what keeps
// a program that only wants to parse one payload from linking a capture stack.
package archtest

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
)

const module = "github.com/qdissect/qdissect"

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Standard   bool
}

func list(t *testing.T) (all []pkg) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Deps,Standard", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	d := json.NewDecoder(strings.NewReader(string(out)))
	for d.More() {
		var p pkg
		must.Do(t, d.Decode(&p))
		all = append(all, p)
	}
	return all
}

// rule says what packages below a path may import beyond the standard library.
type rule struct {
	path    string
	below   bool // the rule is for packages below path, not for path itself
	allowed []string
	why     string
}

var rules = []rule{
	{"internal/nettext", false, nil,
		"text from the network is escaped the same way everywhere, also in programs that only parse"},
	{"internal/whole", false, nil,
		"files that appear whole are files of any kind"},
	{"reassembly", false, nil,
		"reassembly knows no protocol and no packet: it joins what it is handed"},
	{"internal/core", false, []string{"internal/nettext"},
		"catalogs, the reader and findings know no conversation"},
	{"dissect", false, []string{"reassembly", "internal/core", "internal/nettext"},
		"the engine serves programs that bring their own datagrams"},
	{"dissect/dissecttest", false, []string{"dissect", "internal/core", "reassembly", "internal/thorough"},
		"the suite for protocols depends on the engine alone"},
	{"dissect/all", false, []string{"dissect", "dissect/..."},
		"the one list of protocols, and nothing else"},
	{"dissect/internal/bunzip", false, []string{"github.com/dsnet/compress/bzip2"},
		"unpacking needs nothing of the engine"},
	{"dissect/internal/foreign", false, nil,
		"what others send is told from bytes alone; dissect/all hands it to the engine"},
	{"dissect/internal", true, []string{"dissect", "reassembly", "dissect/internal/...", "internal/core", "internal/nettext"},
		"helpers of protocols are as free of captures as the protocols"},
	{"dissect", true, []string{"dissect", "reassembly", "dissect/internal/...", "internal/core", "internal/nettext"},
		"a protocol depends on the engine, never on another protocol: either can be taken out"},
	{"internal/envelope", false, []string{"dissect"},
		"the list of keys knows no output"},
	{"report", false, []string{"dissect", "reassembly", "internal/envelope", "internal/core", "internal/nettext"},
		"output formats know messages, not where they came from"},
	{"internal/htmlreport", false, []string{"internal/stats", "internal/nettext"},
		"the page shows a report and nothing else, so that it cannot differ from the other views"},
	{"internal/top", false, []string{"charm.land/bubbletea/v2", "github.com/charmbracelet/x/ansi", "dissect", "report", "internal/capture", "internal/display", "internal/nettext", "internal/pipeline", "internal/stats"},
		"the view is a function of what it is given: snapshots, keys, and the size of the terminal"},
	{"internal/tables", false, []string{"dissect", "report", "internal/display", "internal/envelope", "github.com/klauspost/compress/s2", "github.com/parquet-go/parquet-go/deprecated", "github.com/parquet-go/parquet-go/encoding/delta", "github.com/parquet-go/parquet-go/encoding/rle", "github.com/parquet-go/parquet-go/encoding/thrift", "github.com/parquet-go/parquet-go/format"},
		"tables are another form of the output"},
	{"internal/coder", false, []string{"internal/nettext"},
		"values in binary form, of whatever they are"},
	{"internal/unitfile", false, []string{"dissect", "internal/coder", "internal/stats", "internal/talks", "report", "github.com/klauspost/compress/zstd"},
		"counts and conversations in a file"},
	{"internal/endpoint", false, nil,
		"numbers of addresses and ports, for code that knows nothing of each other"},
	{"internal/stats", false, []string{"dissect", "internal/coder", "internal/endpoint", "internal/core", "internal/nettext"},
		"aggregates count messages, from wherever they come: files, interfaces, other machines"},
	{"internal/talks", false, []string{"dissect", "report", "internal/coder", "internal/stats"},
		"conversations of reports come from messages, and show fields as text output does"},
	{"internal/packet", false, []string{"reassembly", "internal/endpoint"},
		"the way down to UDP is hand-written; gopacket is the oracle of its tests"},
	{"internal/convert", false, []string{"dissect", "internal/core", "internal/nettext", "internal/packet"},
		"the pipeline and packetsource hand datagrams to the engine in the same way"},
	{"internal/streams", false, []string{"dissect", "internal/core", "internal/packet"},
		"the messages of TCP go on as datagrams, and nothing else has to know segments"},
	{"packetsource", false, []string{"github.com/gopacket/gopacket", "github.com/gopacket/gopacket/layers", "dissect", "internal/core", "reassembly", "internal/convert", "internal/packet", "internal/streams"},
		"users of gopacket get the engine and none of the program's commands or readers"},
	{"qdissecttest", false, []string{"dissect", "internal/core", "dissect/all", "report", "internal/golden", "internal/jsonl", "internal/pipeline", "internal/capture", "internal/mkpcap", "internal/serve", "internal/serve/host"},
		"what the tests of others import brings no command with it, and reads captures as the command does"},
	{"internal/wireshark", false, []string{"dissect", "internal/core", "internal/envelope"},
		"the script for Wireshark decodes nothing: it is made of the catalogs and the envelope"},
	{"web", true, []string{"dissect", "dissect/all", "internal/anonymize", "internal/capture", "internal/cut", "internal/display", "internal/filter", "internal/htmlreport", "internal/nettext", "internal/pipeline", "internal/stats", "internal/talks", "internal/unitfile", "internal/whole", "report"},
		"what browsers load holds the engine and its outputs, and neither commands nor their libraries"},
	{"internal/jsonl", false, nil,
		"what reads the output must not share code with what writes it"},
	{"internal/tools/scenes", false, []string{"internal/mkpcap"},
		"what knows the truth about a capture must not share code with what reads it"},
	{"internal/mkpcap", false, nil,
		"what makes captures for tests must not share code with what reads them"},
}

func TestImports(t *testing.T) {
	standard := map[string]bool{}
	all := list(t)
	for _, p := range all {
		standard[p.ImportPath] = p.Standard
	}
	for _, p := range all {
		path, ours := strings.CutPrefix(p.ImportPath, module+"/")
		if !ours {
			continue
		}
		r := ruleFor(path)
		for _, imp := range p.Imports {
			if imp == "C" {
				t.Errorf("%s uses cgo: CGO_ENABLED=0 must build everything", path)
			}
			if imp == "github.com/gopacket/gopacket" || strings.HasPrefix(imp, "github.com/gopacket/gopacket/") {
				if path != "internal/capture" && path != "packetsource" {
					t.Errorf("%s imports %s: only internal/capture and packetsource import gopacket, so that it can be exchanged", path, imp)
				}
			}
			if r == nil || standard[imp] || allowed(r, imp) {
				continue
			}
			t.Errorf("%s must not import %s: %s", path, imp, r.why)
		}
		if strings.HasPrefix(path, "cmd/") {
			continue
		}
		for _, imp := range []string{"log", "log/slog"} {
			if slices.Contains(p.Imports, imp) {
				t.Errorf("%s imports %s: libraries do not log, they return and report", path, imp)
			}
		}
	}
}

func ruleFor(path string) *rule {
	for i := range rules {
		r := &rules[i]
		if !r.below && path == r.path || r.below && strings.HasPrefix(path, r.path+"/") {
			return r
		}
	}
	return nil
}

func allowed(r *rule, imp string) bool {
	short := strings.TrimPrefix(imp, module+"/")
	for _, a := range r.allowed {
		if short == a || strings.HasSuffix(a, "/...") && strings.HasPrefix(short, strings.TrimSuffix(a, "...")) {
			return true
		}
	}
	return false
}

// TestNoCaptureStack: a program that imports a protocol links neither gopacket
// nor the command's libraries; a test that imports qdissecttest none of the
// latter.
func TestNoCaptureStack(t *testing.T) {
	for _, p := range list(t) {
		path, ours := strings.CutPrefix(p.ImportPath, module+"/")
		if path == "qdissecttest" {
			for _, dep := range p.Deps {
				if strings.HasPrefix(dep, "github.com/spf13") || strings.HasPrefix(dep, module+"/cmd/") {
					t.Errorf("%s depends on %s", path, dep)
				}
			}
		}
		if !ours || !strings.HasPrefix(path, "dissect") && path != "report" && path != "reassembly" {
			continue
		}
		for _, dep := range p.Deps {
			for _, stack := range []string{"github.com/gopacket", "github.com/spf13", module + "/internal/", module + "/cmd/"} {
				if strings.HasPrefix(dep, stack) && dep != module+"/internal/nettext" && dep != module+"/internal/core" && !(path == "report" && dep == module+"/internal/envelope") && !(path == "dissect/dissecttest" && dep == module+"/internal/thorough") {
					t.Errorf("%s depends on %s", path, dep)
				}
			}
		}
	}
}
