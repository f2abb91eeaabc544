package main

import (
	"runtime/debug"
	"time"
)

const (
	// gcPercent is the GOGC value of a run. Decoding allocates nothing, so the garbage
	// collector has little to do. Its garbage is mostly tables that were replaced by
	// larger ones. With the usual 100 % the process would grow to twice the size of
	// its state.
	gcPercent = 10
	// gcAfter delays gcPercent: on a small file, two collections cost as much as
	// everything else.
	gcAfter = 100 * time.Millisecond
)

// keepSmall sets gcPercent unless the user has set GOGC.
func keepSmall(getenv func(string) string) {
	if getenv("GOGC") == "" {
		time.AfterFunc(gcAfter, func() { debug.SetGCPercent(gcPercent) })
	}
}
