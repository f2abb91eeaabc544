//go:build race

package bunzip

// race is for tests of times: the race detector takes ten times as long.
const race = true
