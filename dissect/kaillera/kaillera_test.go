package kaillera

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

func samples() []dissecttest.Sample {
	one := dissecttest.One
	longer := one("more behind it", "ping_request", dissect.No, ping+"x", "trailing")
	longer.Sound = []int{len(ping)}
	return []dissecttest.Sample{
		one("ping", "ping_request", dissect.Possible, ping), one("pong", "ping_reply", dissect.Possible, pong),
		one("hello", "hello_request", dissect.Certain, "HELLO0.83\x00"), one("port", "hello_reply", dissect.Certain, "HELLOD00D27889\x00"),
		one("full", "full_reply", dissect.Possible, full), longer,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
