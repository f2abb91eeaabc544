// Command mutants measures how well the tests pin the boundaries of a file. It
// makes mutants of the files named by its arguments, one small change each, and
// runs the tests on every one of them. A mutant that no test notices survives:
// either a test is missing, or the change makes no difference. Nothing in the tree is changed: the compiler is handed
// the mutant by -overlay.
//
// There are three operators. Compare turns a comparison into its neighbour (< into
// <=, == into !=). Drop leaves out one side of &&, ||, + and -. Shift adds one to
// an integer constant.
//
// Run it in the root of the project:
//
//	go build -C internal/tools/lab -o /tmp/mutants ./mutants
//	/tmp/mutants -test './dissect/a2s:^TestSplit,./dissect' dissect/a2s/split.go
//
// One mutant costs a build and a test run, a few seconds; -every 5 takes each fifth.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A mutant is one change of a file: the bytes from start to end become text.
type mutant struct {
	file       string
	line       int
	start, end int
	operator   string
	text       string
}

func main() {
	tests := flag.String("test", "", "packages whose tests are run, cheapest first, separated by commas (default: that of the file); ./x:^TestY$ runs only the tests that match")
	every, first := flag.Int("every", 1, "take each n-th mutant"), flag.Int("first", 0, "the first one to take")
	lines := flag.String("lines", "", "only mutants in these lines of the file: 120-180")
	workers := flag.Int("workers", 1, "mutants that are tested at the same time")
	timeout := flag.Duration("timeout", 2*time.Minute, "after which a test run counts as failed")
	list := flag.Bool("list", false, "print the mutants and run nothing")
	flag.Parse()
	if flag.NArg() == 0 || *every < 1 {
		flag.Usage()
		os.Exit(2)
	}
	var from, to int
	if *lines != "" {
		if _, err := fmt.Sscanf(*lines, "%d-%d", &from, &to); err != nil {
			fatal(fmt.Errorf("-lines %q: %w", *lines, err))
		}
	}
	var chosen []mutant
	for _, file := range flag.Args() {
		all, err := mutants(file)
		if err != nil {
			fatal(err)
		}
		if to > 0 {
			all = slices.DeleteFunc(all, func(m mutant) bool { return m.line < from || m.line > to })
		}
		for i := *first; i < len(all); i += *every {
			chosen = append(chosen, all[i])
		}
	}
	if *list {
		for _, m := range chosen {
			fmt.Println(m)
		}
		fmt.Println(len(chosen), "mutants")
		return
	}
	r := runner{timeout: *timeout}
	if *tests != "" {
		r.packages = strings.Split(*tests, ",")
	}
	if !r.all(chosen, *workers) {
		os.Exit(1)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "mutants:", err)
	os.Exit(2)
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.operator, m.text)
}

// neighbours are the likely mistakes for each comparison.
var neighbours = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
}

// mutants returns all mutants of a file, in its order.
func mutants(name string) ([]mutant, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	var all []mutant
	add := func(operator string, from, to token.Pos, text string) {
		all = append(all, mutant{name, fset.Position(from).Line, at(from), at(to), operator, text})
	}
	text := func(n ast.Node) string { return string(src[at(n.Pos()):at(n.End())]) }
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.IMPORT
		case *ast.BinaryExpr:
			if other, ok := neighbours[n.Op]; ok {
				add("compare", n.Pos(), n.End(), text(n.X)+" "+other.String()+" "+text(n.Y))
			}
			switch n.Op {
			case token.LAND, token.LOR, token.ADD, token.SUB:
				add("drop", n.Pos(), n.End(), text(n.X))
				if n.Op != token.SUB {
					add("drop", n.Pos(), n.End(), text(n.Y))
				}
			}
		case *ast.BasicLit:
			if n.Kind != token.INT {
				return true
			}
			if v, ok := new(big.Int).SetString(n.Value, 0); ok {
				add("shift", n.Pos(), n.End(), v.Add(v, big.NewInt(1)).String())
			}
		}
		return true
	})
	slices.SortStableFunc(all, func(a, b mutant) int { return a.start - b.start })
	return all, nil
}

type runner struct {
	packages []string
	timeout  time.Duration
}

// all tests all mutants and reports whether none survived.
func (r *runner) all(chosen []mutant, workers int) bool {
	if err := r.sound(chosen); err != nil {
		fatal(err)
	}
	work := make(chan mutant)
	var mu sync.Mutex
	var killed, broken int
	var survivors []mutant
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for m := range work {
				verdict := r.test(m)
				mu.Lock()
				switch verdict {
				case "killed":
					killed++
				case "does not build":
					broken++
				default:
					survivors = append(survivors, m)
					fmt.Println("survived:", m)
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range chosen {
		work <- m
	}
	close(work)
	group.Wait()
	n := killed + len(survivors)
	fmt.Printf("%d mutants: %d killed, %d survived (%d %% killed); %d more do not build\n",
		n, killed, len(survivors), 100*killed/max(n, 1), broken)
	return len(survivors) == 0
}

// sound makes sure that the tests pass without a mutant.
func (r *runner) sound(chosen []mutant) error {
	seen := map[string]bool{}
	for _, m := range chosen {
		for _, p := range r.packagesOf(m) {
			if seen[p] {
				continue
			}
			seen[p] = true
			if out, err := r.goTest(p, ""); err != nil {
				return fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", p, err, out)
			}
		}
	}
	return nil
}

func (r *runner) packagesOf(m mutant) []string {
	if len(r.packages) > 0 {
		return r.packages
	}
	return []string{"./" + filepath.Dir(m.file)}
}

// test builds a mutant and runs the tests until one fails.
func (r *runner) test(m mutant) string {
	src, err := os.ReadFile(m.file)
	if err != nil {
		fatal(err)
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		fatal(err)
	}
	defer os.RemoveAll(dir)
	changed := filepath.Join(dir, filepath.Base(m.file))
	overlay := filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(m.file)
	if err != nil {
		fatal(err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		fatal(err)
	}
	mutated := slices.Concat(src[:m.start], []byte(m.text), src[m.end:])
	for name, data := range map[string][]byte{changed: mutated, overlay: replace} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			fatal(err)
		}
	}
	for _, p := range r.packagesOf(m) {
		if out, err := r.goTest(p, overlay); err != nil {
			if bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")) {
				return "does not build"
			}
			return "killed"
		}
	}
	return "survived"
}

func (r *runner) goTest(pkg, overlay string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	args := []string{"test", "-count=1", "-failfast", "-vet=off", "-timeout", r.timeout.String()}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	pkg, run, only := strings.Cut(pkg, ":")
	if only {
		args = append(args, "-run", run)
	}
	return exec.CommandContext(ctx, "go", append(args, pkg)...).CombinedOutput()
}
