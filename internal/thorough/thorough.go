// Package thorough says how much the tests try. By default they try every behaviour
// once, which takes about a minute. With QDISSECT_THOROUGH=1 in the environment the
// same loops go over every byte, every capture and large sizes, as the gate does.
package thorough

import "os"

// All says that everything is to be tried.
var All = os.Getenv("QDISSECT_THOROUGH") != ""

// Of returns all if everything is to be tried, else few.
func Of[T any](few, all T) T {
	if All {
		return all
	}
	return few
}
