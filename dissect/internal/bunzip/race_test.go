//go:build race

package bunzip

// race reports whether the race detector is on, which makes everything ten times slower.
const race = true
