package mumble

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	id = "\x1f\x2e\x3d\x4c\x5a\x6b\x7c\x8d"
	// answer is from a server of version 1.3.4: 5 users of 100, 128,000 bits per second.
	answer = "\x00\x01\x03\x04" + id + "\x00\x00\x00\x05\x00\x00\x00\x64\x00\x01\xf4\x00"
)

// packed is version 1.5.735 in protobuf, pong a reply to the ping with timestamp 42.
const (
	packed = "\x18\x80\x80\xfc\x96\xd0\x80\x40"
	pong   = "\x01\x08\x2a" + packed + "\x28\x64\x30\xb0\x87\x22"
)

func samples() []dissecttest.Sample {
	full := dissecttest.One("more users than it takes", "ping_reply", dissect.Likely, "\x00\x01\x05\x00"+id+"\x00\x00\x00\x0b\x00\x00\x00\x0a\x00\x08\x83\xb0")
	full.Findings = []string{"mumble.users.count"}
	fullNew := dissecttest.One("more users than it takes, 1.5", "extended_ping_reply", dissect.Likely, "\x01\x08\x2a"+packed+"\x20\x65\x28\x64\x30\xb0\x87\x22")
	fullNew.Findings, fullNew.Sound = []string{"mumble.users.count"}, []int{1, 3, 11}
	askNew := dissecttest.One("a request of 1.5", "extended_ping_request", dissect.Possible, "\x01\x08\x2a\x10\x01")
	askNew.Sound = []int{1, 3}
	answerNew := dissecttest.One("a reply of 1.5 without users", "extended_ping_reply", dissect.Likely, pong)
	answerNew.Sound = []int{1, 3, 11, 13}
	odd := dissecttest.One("fields of a ping twice", "extended_ping_request", dissect.No, "\x01\x10\x01\x08\x2a")
	odd.Findings, odd.Sound = []string{"malformed"}, []int{1, 3}
	return []dissecttest.Sample{
		fullNew, askNew, answerNew, odd,
		dissecttest.One("a request", "ping_request", dissect.Possible, "\x00\x00\x00\x00"+id),
		dissecttest.One("a reply", "ping_reply", dissect.Likely, answer),
		dissecttest.One("a reply in odd numbers", "ping_reply", dissect.Doubtful, "\x00\x01\x02\x13"+id+"\x00\x00\x00\x05\x00\xff\xff\xff\xff\xff\xff\xff"),
		full,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
