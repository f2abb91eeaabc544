// Package thorough says how much the tests try. By default they try every behaviour
// once, which takes about a minute. With QDISSECT_THOROUGH=1 in the environment the
// same loops go over every byte, every capture and large sizes, as the gate does.
package thorough

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
)

// Most tests analyze a small capture with the tables of a large one, and a third of
// their time would go into collecting these. Programs that tests start inherit it,
// unless they are started with an empty GOGC.
func init() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(400)
		_ = os.Setenv("GOGC", "400")
	}
	if _, set := os.LookupEnv("GOMAXPROCS"); !set && !All() { // a sixth of the time goes into processors that look for work
		runtime.GOMAXPROCS(1)
		_ = os.Setenv("GOMAXPROCS", "1")
	}
}

// All reports whether everything is to be tried. It asks each time, because the go
// command takes a result from its cache unless a test itself has read the variable.
func All() bool { return os.Getenv("QDISSECT_THOROUGH") != "" }

// Of returns all if everything is to be tried, else few.
func Of[T any](few, all T) T {
	if All() {
		return all
	}
	return few
}

// Captures returns all paths if everything is to be tried, else the first of each
// folder: all protocols are among them.
func Captures(paths []string) (list []string) {
	seen := map[string]bool{}
	for _, path := range paths {
		dir := filepath.Dir(path)
		if All() || !seen[dir] {
			list = append(list, path)
		}
		seen[dir] = true
	}
	return list
}
