package ue3lan

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const nonce = "\x1f\x2e\x3d\x4c\x5a\x6b\x7c\x8d"

// server has 5 of 8 places free; properties are those after the owner.
func server(version, flags, properties string) string {
	return version + "\x01\x00\x00\x00\x00SR" + nonce + "\xc0\x00\x02\x14\x00\x00\x1e\x61" + "\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x00" +
		flags + "\x00\x00\x00\x00\x00\x00\x00\x2a" + "\x00\x00\x00\x04Anna" + properties
}

const settings = "\x00\x00\x00\x01\x00\x00\x00\x02\xff\xff\xff\xff\x02" + "\x00\x00\x00\x05" + "\x40\x00\x00\x01\x04\x00\x00\x00\x07DM-Deck\x02" +
	"\x00\x00\x01\x00\x01\x00\x00\x00\x14\x02" + "\x00\x00\x01\x01\x05\x3f\x80\x00\x00\x02" + "\x00\x00\x01\x02\x07\x00\x00\x00\x01\x00\x00\x00\x02\x02" + "\x00\x00\x01\x03\x06\x00\x00\x00\x02\xab\xcd\x00"

func samples() []dissecttest.Sample {
	one := func(name, message, payload string, findings ...string) dissecttest.Sample {
		s := dissecttest.One(name, message, dissect.Certain, payload)
		s.Findings = findings
		return s
	}
	new := server("\x05", "\x01\x01\x00\x01\x01\x00\x00\x00\x01", settings)
	more := one("more behind the end", "reply", new+"\x00", "trailing")
	more.Sound = []int{len(new)}
	other := one("neither", "query", "\x05\x01\x00\x00\x00\x00SX"+nonce, "malformed")
	other.Verdict = dissect.No
	return []dissecttest.Sample{
		one("query", "query", "\x05\x01\x00\x00\x00\x00SQ"+nonce), one("query of another platform", "query", "\x01\x10\x00\x00\x45\x67SQ"+nonce),
		one("reply", "reply", new), one("first version", "reply", server("\x01", "\x01\x01\x00\x01\x01\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x00")),
		one("another type", "reply", strings.Replace(new, "\x00\x00\x01\x03\x06\x00\x00\x00\x02\xab\xcd", "\x00\x00\x01\x03\x09", 1), "value.undefined"),
		more, other,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
