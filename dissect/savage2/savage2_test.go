package savage2

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const reply = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0cA server\x00\x03\x2000:12:30\x00autumn\x00bunker\x00EU\x00\x02RTSS\x002.1.1.1\x00\x05"

func samples() []dissecttest.Sample {
	other := dissecttest.One("nothing of it", "unknown", dissect.No, "\x02")
	other.Findings = []string{"malformed"}
	more := dissecttest.One("more behind the end", "info_reply", dissect.Doubtful, reply+"\x00")
	more.Findings, more.Sound = []string{"trailing"}, []int{1, len(reply)}
	info := dissecttest.One("info", "info_reply", dissect.Doubtful, reply)
	info.Sound = []int{1}
	return []dissecttest.Sample{dissecttest.One("request", "info_request", dissect.Possible, "\x01"), info, more, other}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
