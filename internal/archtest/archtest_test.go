// Package archtest holds the rules of who may import whom. They are what keeps
// a program that only wants to parse one payload from linking a capture stack.
package archtest

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
)

const module = "github.com/qdissect/qdissect"

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Standard   bool
}

var listed = sync.OnceValues(exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Deps,Standard", module+"/...").Output)

func list(t *testing.T) (all []pkg) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(must.Get(listed())(t)))
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
	{"internal/nettext", false, nil, "text from the network is escaped the same way everywhere, also in programs that only parse"},
	{"internal/whole", false, nil, "files that appear whole are files of any kind"},
	{"reassembly", false, nil, "reassembly knows no protocol and no packet: it joins what it is handed"},
	{"internal/core", false, []string{"internal/endpoint", "internal/nettext"}, "catalogs, the reader and findings know no conversation"},
	{"dissect", false, []string{"reassembly", "internal/core", "internal/endpoint", "internal/nettext"}, "the engine serves programs that bring their own datagrams"},
	{"dissect/dissecttest", false, []string{"dissect", "internal/core", "reassembly", "internal/must"}, "the suite for protocols depends on the engine alone"},
	{"dissect/all", false, []string{"dissect", "dissect/..."}, "the one list of protocols, and nothing else"},
	{"dissect/internal/bunzip", false, []string{"github.com/dsnet/compress/bzip2"}, "unpacking needs nothing of the engine"},
	{"dissect/internal/foreign", false, nil, "what others send is told from bytes alone; dissect/all hands it to the engine"},
	{"dissect/internal", true, []string{"dissect", "reassembly", "dissect/internal/...", "internal/core", "internal/nettext"},
		"helpers of protocols are as free of captures as the protocols"},
	{"dissect", true, []string{"dissect", "reassembly", "dissect/internal/...", "internal/core", "internal/nettext"},
		"a protocol depends on the engine, never on another protocol: either can be taken out"},
	{"internal/envelope", false, []string{"dissect"}, "the list of keys knows no output"},
	{"report", false, []string{"dissect", "reassembly", "internal/envelope", "internal/core", "internal/nettext"},
		"output formats know messages, not where they came from"},
	{"internal/htmlreport", false, []string{"internal/stats", "internal/nettext"},
		"the page shows a report and nothing else, so that it cannot differ from the other views"},
	{"internal/top", false, []string{"charm.land/bubbletea/v2", "github.com/charmbracelet/x/ansi", "dissect", "report", "internal/capture", "internal/display", "internal/nettext", "internal/pipeline", "internal/stats"},
		"the view is a function of what it is given: snapshots, keys, and the size of the terminal"},
	{"internal/tables", false, []string{"dissect", "report", "internal/display", "internal/envelope", "github.com/klauspost/compress/s2", "github.com/parquet-go/parquet-go/deprecated", "github.com/parquet-go/parquet-go/encoding/delta", "github.com/parquet-go/parquet-go/encoding/rle", "github.com/parquet-go/parquet-go/encoding/thrift", "github.com/parquet-go/parquet-go/format"},
		"tables are another form of the output"},
	{"internal/coder", false, []string{"internal/nettext"}, "values in binary form, of whatever they are"},
	{"internal/unitfile", false, []string{"dissect", "internal/coder", "internal/stats", "internal/talks", "report", "github.com/klauspost/compress/zstd"},
		"counts and conversations in a file"},
	{"internal/endpoint", false, nil, "numbers of addresses and ports, for code that knows nothing of each other"},
	{"internal/stats", false, []string{"dissect", "internal/coder", "internal/endpoint", "internal/core", "internal/nettext"},
		"aggregates count messages, from wherever they come: files, interfaces, other machines"},
	{"internal/talks", false, []string{"dissect", "report", "internal/coder", "internal/stats"},
		"conversations of reports come from messages, and show fields as text output does"},
	{"internal/packet", false, []string{"reassembly", "internal/endpoint"}, "the way down to UDP is hand-written; gopacket is the oracle of its tests"},
	{"internal/convert", false, []string{"dissect", "internal/core", "internal/nettext", "internal/packet"},
		"the pipeline and packetsource hand datagrams to the engine in the same way"},
	{"internal/streams", false, []string{"dissect", "internal/core", "internal/packet"}, "the messages of TCP go on as datagrams, and nothing else has to know segments"},
	{"packetsource", false, []string{"github.com/gopacket/gopacket", "github.com/gopacket/gopacket/layers", "dissect", "internal/core", "reassembly", "internal/convert", "internal/packet", "internal/streams"},
		"users of gopacket get the engine and none of the program's commands or readers"},
	{"qdissecttest", false, []string{"dissect", "internal/core", "dissect/all", "report", "internal/golden", "internal/jsonl", "internal/pipeline", "internal/capture", "internal/mkpcap", "internal/serve", "internal/serve/host"},
		"what the tests of others import brings no command with it, and reads captures as the command does"},
	{"internal/wireshark", false, []string{"dissect", "internal/core", "internal/envelope"},
		"the script for Wireshark decodes nothing: it is made of the catalogs and the envelope"},
	{"web", true, []string{"dissect", "dissect/all", "internal/anonymize", "internal/capture", "internal/cut", "internal/display", "internal/filter", "internal/htmlreport", "internal/nettext", "internal/pipeline", "internal/stats", "internal/talks", "internal/unitfile", "internal/whole", "report"},
		"what browsers load holds the engine and its outputs, and neither commands nor their libraries"},
	{"internal/jsonl", false, nil, "what reads the output must not share code with what writes it"},
	{"internal/tools/scenes", false, []string{"internal/mkpcap"}, "what knows the truth about a capture must not share code with what reads it"},
	{"internal/mkpcap", false, nil, "what makes captures for tests must not share code with what reads them"},
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
	for _, r := range rules {
		if !r.below && path == r.path || r.below && strings.HasPrefix(path, r.path+"/") {
			return &r
		}
	}
	return nil
}

func allowed(r *rule, imp string) bool {
	short := strings.TrimPrefix(imp, module+"/")
	return slices.ContainsFunc(r.allowed, func(a string) bool {
		return short == a || strings.HasSuffix(a, "/...") && strings.HasPrefix(short, strings.TrimSuffix(a, "..."))
	})
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
				if strings.HasPrefix(dep, stack) && dep != module+"/internal/nettext" && dep != module+"/internal/core" && dep != module+"/internal/endpoint" && !(path == "report" && dep == module+"/internal/envelope") && !(path == "dissect/dissecttest" && dep == module+"/internal/must") {
					t.Errorf("%s depends on %s", path, dep)
				}
			}
		}
	}
}

// naming are the files outside the protocols' folders that name a protocol, with the reason.
var naming = map[string]string{"internal/core/charset.go": "a character set has the name of the engine that draws it", "internal/core/style.go": "so have colour codes"}

// TestNames: no protocol is named outside its folder, by its name, one of its fields or one of
// its findings. What others need to know of a protocol stands in its catalog: what a
// field reveals, what a reply echoes, what a message is for, what a finding is about.
func TestNames(t *testing.T) {
	var names []string
	findings := map[string]bool{}
	for _, p := range all.Protocols() {
		names = append(names, regexp.QuoteMeta(p.Name))
		for _, f := range p.Catalog.Findings() {
			findings[f.ID] = true
		}
	}
	named := regexp.MustCompile(`^(` + strings.Join(names, "|") + `)([./:][\w./:*-]*)?$`)
	skipped := regexp.MustCompile(`^(dissect/[^/]+|fleet|clients|internal/(tools|hostile|mkpcap|games|corpus))/`)
	root := filepath.Join("..", "..")
	seen, left := 0, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(root, path)
		if name = filepath.ToSlash(name); err != nil || skipped.MatchString(name) {
			return err
		}
		seen++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if _, ok := n.(*ast.ImportSpec); ok {
				return false
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if s, err := strconv.Unquote(lit.Value); err == nil && (named.MatchString(s) || findings[s]) {
				left[name] = true
				if naming[name] == "" {
					t.Errorf("%s: %q belongs into the folder of its protocol", set.Position(lit.Pos()), s)
				}
			}
			return true
		})
		return nil
	})
	must.Do(t, err)
	for name := range naming {
		if !left[name] {
			t.Errorf("%s names no protocol", name)
		}
	}
	if seen < 200 {
		t.Errorf("%d files looked at", seen)
	}
}

// TestSendsNothing: what reads captures can neither talk to the network nor run
// a program, and nothing in the whole program dials or asks for names but the
// command query, for the server that it is told to ask, and --webhook, for the receiver that it is told to post to. Only the files of --on-verdict run a command, that of the user; those of --install ask
// tshark for its folders; bubbletea has one that runs an editor.
func TestSendsNothing(t *testing.T) {
	banned := map[string][]string{
		"internal/pipeline": {"net/http", "crypto/tls", "os/exec", "plugin"},
		"cmd/qdissect":      {"plugin"},
	}
	seen := 0
	for _, p := range list(t) {
		path, _ := strings.CutPrefix(p.ImportPath, module+"/")
		for _, dep := range p.Deps {
			for _, b := range banned[path] {
				if dep == b {
					t.Errorf("%s depends on %s", path, b)
				}
			}
		}
		if banned[path] != nil {
			seen++
		}
	}
	if seen != len(banned) {
		t.Errorf("%d packages looked at", seen)
	}
	// Expressions that begin with letters are found ten times faster.
	dials := regexp.MustCompile(`net\.(Dial|Lookup|Resolve|DefaultResolver|Resolver)`)
	asks := regexp.MustCompile(`http\.(Get|Post|Head|Client|DefaultClient|NewRequest)`)
	for _, dir := range []string{"cmd", "dissect", "reassembly", "report", "packetsource", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), "internal/tools/") {
				return err
			}
			b, err := os.ReadFile(path)
			if err == nil {
				if m := append(dials.Find(b), asks.Find(b)...); m != nil && !strings.HasSuffix(filepath.ToSlash(path), "/cmd/qdissect/query.go") && !strings.HasSuffix(filepath.ToSlash(path), "/cmd/qdissect/webhook.go") {
					t.Errorf("%s: %s", path, m)
				}
				slash := filepath.ToSlash(path)
				if strings.Contains(string(b), `"os/exec"`) && !strings.Contains(slash, "/cmd/qdissect/onverdict") && !strings.HasSuffix(slash, "/cmd/qdissect/wireshark.go") {
					t.Errorf("%s runs programs", path)
				}
			}
			return err
		})
		must.Do(t, err)
	}
}

// TestOwnWorld: below cmd, what happens depends on what is handed in. Time is
// that of packets; files, the environment and goroutines are for the packages
// that ARCHITECTURE.md names. Nothing happens before main does.
func TestOwnWorld(t *testing.T) {
	patterns := map[string]*regexp.Regexp{
		"clock":       regexp.MustCompile(`time\.(Now|Since|Until|Sleep|After|AfterFunc|NewTimer|NewTicker|Tick)\b`),
		"environment": regexp.MustCompile(`os\.(Getenv|LookupEnv|Environ|Args|Getwd|Hostname|UserHomeDir)\b`),
		"file":        regexp.MustCompile(`os\.(Open|OpenFile|Create|CreateTemp|ReadFile|WriteFile|ReadDir|DirFS|Stat|Lstat|Mkdir\w*|Remove\w*|Rename|Std(in|out|err))\b`),
		"goroutine":   regexp.MustCompile(`\n\s*go (func\b|\w+[.(])|\.Go\(`),
		"init":        regexp.MustCompile(`\nfunc init\(`),
	}
	allowed := map[string]string{
		"internal/capture":    "clock file goroutine",
		"internal/pipeline":   "clock goroutine",
		"internal/golden":     "file",
		"internal/whole":      "file",
		"internal/serve/host": "clock goroutine",
		"internal/must":       "environment init", // of tests
		"dissect/dissecttest": "environment file", // of tests
		"qdissecttest":        "clock environment file goroutine",
	}
	root, seen := filepath.Join("..", ".."), 0
	for _, dir := range []string{"dissect", "reassembly", "report", "internal", "packetsource", "qdissecttest"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			pkg, err := filepath.Rel(root, filepath.Dir(path))
			if pkg = filepath.ToSlash(pkg); err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(pkg, "internal/tools") {
				return err
			}
			seen++
			b, err := os.ReadFile(path)
			for what, p := range patterns {
				if m := p.Find(b); m != nil && !strings.Contains(allowed[pkg], what) {
					t.Errorf("%s: %s: %q", path, what, strings.TrimSpace(string(m)))
				}
			}
			return err
		})
		must.Do(t, err)
	}
	if seen < 100 {
		t.Errorf("%d files looked at", seen)
	}
}

// stages returns the functions of each stage of the engine, from the table in ARCHITECTURE.md, and those in which a way
// through the stages begins.
func stages(t *testing.T) (list [][]string, begin map[string]bool) {
	t.Helper()
	text := must.Get(os.ReadFile("../../ARCHITECTURE.md"))(t)
	named := func(s string) (names []string) {
		for _, m := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(s, -1) {
			names = append(names, m[1])
		}
		return names
	}
	_, rest, _ := strings.Cut(string(text), "| stage | functions | files | what it does |\n|---|---|---|---|\n")
	table, rest, _ := strings.Cut(rest, "\n\n")
	for row := range strings.Lines(table) {
		list = append(list, named(strings.Split(row, "|")[2]))
	}
	_, rest, _ = strings.Cut(rest, "A way begins in ")
	rest, _, _ = strings.Cut(rest, ".\n")
	begin = map[string]bool{}
	for _, name := range named(rest) {
		begin[name] = true
	}
	return list, begin
}

// TestStages goes over the call graph of the engine: no stage comes to an earlier one.
func TestStages(t *testing.T) {
	list, begin := stages(t)
	if len(list) < 8 || len(begin) == 0 {
		t.Fatalf("stages %q and beginnings %v in ARCHITECTURE.md", list, begin)
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax}, module+"/dissect")
	if err != nil || len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		t.Fatalf("%v %v", loaded, err)
	}
	program, built := ssautil.Packages(loaded, ssa.InstantiateGenerics)
	program.Build()
	graph := vta.CallGraph(ssautil.AllFunctions(program), nil)
	methods := map[string]*callgraph.Node{} // of the analyzer and of its tracker
	for f, n := range graph.Nodes {
		if f == nil || f.Pkg != built[0] || f.Parent() != nil || f.Signature.Recv() == nil {
			continue
		}
		if of := f.Signature.Recv().Type().String(); strings.HasSuffix(of, ".Analyzer") || strings.HasSuffix(of, ".tracker") {
			methods[f.Name()] = n
		}
	}
	for name := range begin {
		if methods[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	earlier := map[*callgraph.Node]string{}
	for _, names := range list {
		seen := map[*callgraph.Node]bool{}
		var walk func(from string, n *callgraph.Node)
		walk = func(from string, n *callgraph.Node) {
			if seen[n] || begin[n.Func.Name()] {
				return
			}
			seen[n] = true
			if name := earlier[n]; name != "" {
				t.Errorf("%s comes to %s, of an earlier stage", from, name)
			}
			for _, e := range n.Out {
				walk(from, e.Callee)
			}
		}
		for _, name := range names {
			if methods[name] == nil {
				t.Fatalf("there is no %s", name)
			}
			walk(name, methods[name])
		}
		for _, name := range names {
			earlier[methods[name]] = name
		}
		if len(seen) < 2 {
			t.Errorf("%s call nothing", names)
		}
	}
}

// TestNoPeekArithmetic: a decoder neither indexes nor slices what a reader lets
// it peek at. The reader may have failed since the decoder last looked, and then
// there is nothing to index: datagrams with more records than the limit ended
// the program that way. Functions that take any bytes may be handed them, and
// PeekByte, PeekTo, PeekFrom, Next, HasPrefix, Until, While and Element answer
// for any argument.
func TestNoPeekArithmetic(t *testing.T) {
	root, peeks := filepath.Join("..", "..", "dissect"), 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == root {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			bad, n := peekArithmetic(f.Body)
			peeks += n
			for _, at := range bad {
				t.Errorf("%s: peeked bytes are indexed or sliced", set.Position(at))
			}
		}
		return nil
	})
	must.Do(t, err)
	if peeks < 50 {
		t.Errorf("%d peeks seen", peeks)
	}
}

// peekArithmetic returns where the result of a Peek method is indexed or sliced,
// directly or through a variable, and how many calls there are.
func peekArithmetic(body ast.Node) (bad []token.Pos, calls int) {
	peeked := map[string]bool{}
	isPeek := func(e ast.Expr) bool {
		switch e := ast.Unparen(e).(type) {
		case *ast.Ident:
			return peeked[e.Name]
		case *ast.CallExpr:
			s, ok := e.Fun.(*ast.SelectorExpr)
			return ok && (s.Sel.Name == "Peek" || s.Sel.Name == "PeekTo" || s.Sel.Name == "PeekFrom" || s.Sel.Name == "PeekText")
		}
		return false
	}
	note := func(names []ast.Expr, values []ast.Expr) {
		for i, v := range values {
			if id, ok := names[min(i, len(names)-1)].(*ast.Ident); ok && isPeek(v) {
				peeked[id.Name] = true
			}
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if isPeek(n) {
				calls++
			}
		case *ast.AssignStmt:
			note(n.Lhs, n.Rhs)
		case *ast.IndexExpr:
			if isPeek(n.X) {
				bad = append(bad, n.Pos())
			}
		case *ast.SliceExpr:
			if isPeek(n.X) {
				bad = append(bad, n.Pos())
			}
		}
		return true
	})
	return bad, calls
}

func TestPeekArithmeticIsSeen(t *testing.T) {
	for _, row := range []struct {
		body string
		bad  int
	}{
		{"x := r.Peek()[0]", 1},
		{"b := r.Peek(); _ = b[1:]", 1},
		{"for b := r.Peek(); b[0] != 0; b = r.Peek() {}", 1},
		{"b, n := r.PeekTo(3), 1; _ = b[n]", 1},
		{"c := r.Peek(); b := c; _ = (b)[:2]", 1},
		{"b := r.PeekFrom(1); f(b, r.PeekByte(0)); for range b {}", 0},
		{"b := r.Bytes(f, 3); _ = b[0]", 0},
	} {
		file := must.Get(parser.ParseFile(token.NewFileSet(), "", "package p; func f() { "+row.body+" }", 0))(t)
		if bad, _ := peekArithmetic(file); len(bad) != row.bad {
			t.Errorf("%s: %d found, want %d", row.body, len(bad), row.bad)
		}
	}
}
