//go:build race

package golden

// raceEnabled makes long tests shorter: the race detector slows them down.
const raceEnabled = true
