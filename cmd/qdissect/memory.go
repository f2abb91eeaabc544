package main

import (
	"runtime/debug"
	"time"
)

const (
	// gcPercent is how much may be allocated before the garbage collector runs, as
	// a share of what is in use. Nothing is allocated for a packet or a message, so
	// that it has next to nothing to do; what it leaves is what the tables gave up
	// when they grew, which the usual 100 % would let lie until the process is twice
	// as large as its state.
	gcPercent = 20
	// gcAfter is how long the usual is left alone: two collections take as long as
	// all else that there is to do for a small file.
	gcAfter = 100 * time.Millisecond
)

// keepSmall keeps the process near the size of its state, unless the user has
// an opinion (GOGC).
func keepSmall(getenv func(string) string) {
	if getenv("GOGC") == "" {
		time.AfterFunc(gcAfter, func() { debug.SetGCPercent(gcPercent) })
	}
}
