package dissect_test

import (
	"testing"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

func TestTranscripts(t *testing.T) { dissecttest.Transcripts(t, all.Protocols()...) }
