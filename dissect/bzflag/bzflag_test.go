package bzflag

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	ping  = "\x00\x02\x04\x04\x00\x00"
	reply = "\x00\x38\x03\x03BZFS0221\xc0\x00\x02\x0a\x14\x22\x00\x00\x04\xc0\x00\x02\x14\x00\x01\x00\x2a\x00\x03\x00\x01\x01\x2c\x00\x0a\x00\x14\x02\x58\x14" +
		"\x01\x0a\x02\x05\x03\x05\x00\x00\x00\x00\x01\x03\x00\x00\x00\x00\x00\x00"
)

func samples() []dissecttest.Sample {
	one := dissecttest.One
	longer := one("longer request", "ping_request", dissect.Possible, ping+"\x12\x34")
	longer.Sound = []int{6, 7}
	return []dissecttest.Sample{
		one("request", "ping_request", dissect.Likely, ping),
		longer,
		one("short request", "short_request", dissect.Possible, ping[:4], "bzflag.short"),
		one("reply", "ping_reply", dissect.Certain, reply),
		one("other code", "unknown", dissect.No, "\x00\x02\x70\x75\x00\x01", "malformed"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
