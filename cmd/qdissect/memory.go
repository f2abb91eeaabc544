package main

import (
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

const (
	// gcPercent is the GOGC value of a run. Decoding allocates nothing, so the garbage
	// collector has little to do. Its garbage is mostly tables that were replaced by
	// larger ones. With the usual 100 % the process would grow to twice the size of
	// its state.
	gcPercent = 10
	// readPercent is that of a run that reads files, which makes even less garbage than
	// others: anonymize takes a fifth longer with it, a live capture of frames with VLAN
	// tags, which are copied, even more.
	readPercent = 5
	// gcAfter delays gcPercent: on a small file, two collections cost as much as
	// everything else.
	gcAfter = 100 * time.Millisecond
	// The runtime itself keeps a tenth of the heap for later. A run that reads files
	// returns what is free to the system once it is mostFree bytes: mostly tables that
	// were replaced by larger ones. Looking every returnEvery, it costs at most one
	// collection more in that time.
	mostFree    = 1 << 20
	returnEvery = 500 * time.Millisecond
)

// readsFiles is set by a run that reads files.
var readsFiles atomic.Bool

// keepSmall sets the GOGC value of the run unless the user has set it.
func keepSmall(getenv func(string) string) {
	if getenv("GOGC") != "" {
		return
	}
	time.AfterFunc(gcAfter, func() {
		if readsFiles.Load() {
			debug.SetGCPercent(readPercent)
			returnFree()
			return
		}
		debug.SetGCPercent(gcPercent)
	})
}

// returnFree returns free memory to the system until the program ends.
func returnFree() {
	free := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}}
	for range time.Tick(returnEvery) {
		if metrics.Read(free); free[0].Value.Uint64() >= mostFree {
			debug.FreeOSMemory()
		}
	}
}
