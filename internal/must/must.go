// Package must ends tests at errors that are not what they are about.
package must

import (
	"testing"

	_ "github.com/qdissect/qdissect/internal/thorough" // its settings of the runtime are those of all tests
)

// Get returns a function that returns a value, or ends the test if there is an error:
//
//	c := must.Get(capture.Open(name))(t)
func Get[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Do ends the test if there is an error.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
