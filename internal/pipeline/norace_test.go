//go:build !race

package pipeline

// raceEnabled makes long tests shorter: the race detector slows them down.
const raceEnabled = false
