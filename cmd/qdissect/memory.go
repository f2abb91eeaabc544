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
	// growPercent is that of such a run until grown bytes are in use. While its tables
	// grow, 5 % means a collection for every megabyte; with 30 % the process stays
	// smaller than it becomes later, and a million packets take 5 % less time.
	growPercent = 30
	grown       = 32 << 20
	// gcAfter delays gcPercent: on a small file, two collections cost as much as
	// everything else.
	gcAfter = 100 * time.Millisecond
	// The runtime itself keeps a tenth of the heap for later. A run that reads files
	// returns what is free to the system once it is mostFree bytes: mostly tables that
	// were replaced by larger ones. Looking every watchEvery, it costs at most one
	// collection more in that time.
	mostFree   = 1 << 20
	watchEvery = 500 * time.Millisecond
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
			debug.SetGCPercent(growPercent)
			watchHeap()
			return
		}
		debug.SetGCPercent(gcPercent)
	})
}

// watchHeap returns free memory to the system until the program ends, and lessens the room of
// the collector once the heap has grown.
func watchHeap() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/live:bytes"}}
	percent := growPercent
	for range time.Tick(watchEvery) {
		metrics.Read(heap)
		free, live := heap[0].Value.Uint64(), heap[1].Value.Uint64()
		if percent != readPercent && live >= grown {
			percent = readPercent
			debug.SetGCPercent(percent)
		}
		if free >= mostFree {
			debug.FreeOSMemory()
		}
	}
}
