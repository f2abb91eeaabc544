//go:build !race

package bunzip

const race = false
