package assettocorsa

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

func samples() []dissecttest.Sample {
	reply := dissecttest.One("reply", "ping_reply", dissect.Possible, "\xc8\x91\x1f")
	reply.Sound = []int{lenRequest}
	other := dissecttest.One("other length", "unknown", dissect.No, "\xc8\x91\x1f\x00")
	other.Findings, other.Sound = []string{"malformed"}, []int{lenRequest, lenReply}
	return []dissecttest.Sample{dissecttest.One("request", "ping_request", dissect.Possible, "\xc8"), reply, other}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
