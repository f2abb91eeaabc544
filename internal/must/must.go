// Package must has what all tests need: it ends them at errors that are not what they are
// about, and says how much they try. By default they try every behaviour once, which takes
// about a minute. With QDISSECT_THOROUGH=1 in the environment the same loops go over every
// byte, every capture and large sizes, as the gate does.
package must

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// Get returns a function that returns a value, or ends the test if there is an error:
//
//	c := must.Get(capture.Open(name))(t)
func Get[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Do ends the test if there is an error.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Permutations returns every order of n things.
func Permutations(n int) [][]int {
	orders := [][]int{nil}
	for i := range n {
		var longer [][]int
		for _, order := range orders {
			for at := range i + 1 {
				longer = append(longer, slices.Insert(slices.Clone(order), at, i))
			}
		}
		orders = longer
	}
	return orders
}

// Most tests analyze a small capture with the tables of a large one, and a third of
// their time would go into collecting these. Programs that tests start inherit it,
// unless they are started with an empty GOGC.
func init() {
	if !slices.ContainsFunc(os.Args, func(s string) bool { return strings.HasPrefix(s, "-test.memprofile") }) {
		runtime.MemProfileRate = 0 // the program does not sample what it allocates either
	}
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(400)
		_ = os.Setenv("GOGC", "400")
	}
	if _, set := os.LookupEnv("GOMAXPROCS"); !set && !TryAll() { // a sixth of the time goes into processors that look for work
		runtime.GOMAXPROCS(1)
		_ = os.Setenv("GOMAXPROCS", "1")
	}
}

// TryAll reports whether everything is to be tried. It asks each time, because the go
// command takes a result from its cache unless a test itself has read the variable.
func TryAll() bool { return os.Getenv("QDISSECT_THOROUGH") != "" }

// Try returns all if everything is to be tried, else few.
func Try[T any](few, all T) T {
	if TryAll() {
		return all
	}
	return few
}

// TryCaptures returns all paths if everything is to be tried, else the first of each
// folder: all protocols are among them.
func TryCaptures(paths []string) (list []string) {
	seen := map[string]bool{}
	for _, path := range paths {
		dir := filepath.Dir(path)
		if TryAll() || !seen[dir] {
			list = append(list, path)
		}
		seen[dir] = true
	}
	return list
}
