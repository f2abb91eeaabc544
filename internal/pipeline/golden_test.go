package pipeline_test

import (
	"path/filepath"
	"testing"

	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/qdissecttest"
)

// TestGoldens: what comes out for every capture is what lies beside it.
func TestGoldens(t *testing.T) {
	captures, _, err := golden.Captures(filepath.Join("..", "..", "testdata", "pcaps"), func(string, error) {})
	if err != nil || len(captures) < 100 {
		t.Fatalf("%d captures, %v", len(captures), err)
	}
	for _, path := range captures {
		qdissecttest.Golden(t, path, qdissecttest.Strict())
	}
}
