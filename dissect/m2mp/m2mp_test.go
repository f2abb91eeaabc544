package m2mp

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	middle = "\x09A server\x022\x0350\x09freeroam\x01"
	reply  = tag + middle + "\x05Anna\x06B\xf6rje\x01"
	online = tagOnline + middle + "\x05Anna\x0340\x06B\xf6rje\x04120"
)

func samples() []dissecttest.Sample {
	one := func(name, message, payload string, sound []int, findings ...string) dissecttest.Sample {
		s := dissecttest.One(name, message, dissect.Certain, payload)
		s.Findings, s.Sound = findings, sound
		return s
	}
	other := one("something else", "unknown", "M2XX", nil, "malformed")
	other.Verdict = dissect.No
	zero := one("length of 0", "info_reply", tag+"\x00", []int{4}, "malformed")
	return []dissecttest.Sample{
		one("request", "info_request", tag, nil),
		one("request with a letter", "info_request", tag+"i", []int{4}),
		one("request of M2Online", "info_request", tagOnline, nil),
		one("reply", "info_reply", reply, []int{4}),
		one("reply without players", "info_reply", tag+middle+"\x01", []int{4}),
		one("reply of M2Online", "info_reply", online, []int{len(tagOnline), len(tagOnline + middle), len(tagOnline + middle + "\x05Anna\x0340")}),
		one("numbers that are none", "info_reply", tag+"\x05Name\x04few\x05many\x01\x00\x01", []int{4}),
		zero, other,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
