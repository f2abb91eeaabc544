package rfactor

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// place writes a text in a place of a fixed size, with garbage behind its end.
func place(s string, size int) string {
	b := []byte(s + "\x00")
	for len(b) < size {
		b = append(b, "garbage"[len(b)%7])
	}
	return string(b[:size])
}

func reply(product string) string {
	return place(product, 8) + "\x01\x02\x00\xc0\x00\x02\x01\xe0\x00\x50\x04\x01\x00\x5d\x86\xf9\x85" + place("F1 1979", 20) + place("A server", 28) +
		place("Monza", 32) + place("Welcome", 96) + "\x03\x04\x28\x00\x00\x03\x05\x14\x02\x12\x64\x01\x00\x07\x08\x00\x5a\x00\xa0\x00\x00\x00\x00Lotus 79|Ferrari 312\x00"
}

func samples() []dissecttest.Sample {
	other := dissecttest.One("nothing of it", "unknown", dissect.No, "rF_X")
	other.Findings = []string{"malformed"}
	more := dissecttest.One("more behind the end", "info_reply", dissect.Likely, reply("rFactor")+"\x00")
	more.Findings, more.Sound = []string{"trailing"}, []int{len(reply("rFactor"))}
	return []dissecttest.Sample{
		dissecttest.One("request", "info_request", dissect.Likely, query),
		dissecttest.One("reply", "info_reply", dissect.Likely, reply("rFactor")),
		dissecttest.One("reply of ARCA", "info_reply", dissect.Doubtful, reply("ARCA")),
		more, other,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

// TestLayout: what is in the reply before the vehicles has the size that node-gamedig
// reads.
func TestLayout(t *testing.T) {
	if n := len(reply("rFactor")) - len("Lotus 79|Ferrari 312\x00"); n != 224 {
		t.Errorf("%d bytes, want 224", n)
	}
}

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
