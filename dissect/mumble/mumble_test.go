package mumble

import (
	"fmt"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	id = "\x1f\x2e\x3d\x4c\x5a\x6b\x7c\x8d"
	// answer is from a server of version 1.3.4: 5 users of 100, 128,000 bits per second.
	answer = "\x00\x01\x03\x04" + id + "\x00\x00\x00\x05\x00\x00\x00\x64\x00\x01\xf4\x00"
)

func samples() []dissecttest.Sample {
	full := dissecttest.One("more users than it takes", "ping_reply", dissect.Likely, "\x00\x01\x05\x00"+id+"\x00\x00\x00\x0b\x00\x00\x00\x0a\x00\x08\x83\xb0")
	full.Findings = []string{"mumble.users.count"}
	return []dissecttest.Sample{
		dissecttest.One("a request", "ping_request", dissect.Possible, "\x00\x00\x00\x00"+id),
		dissecttest.One("a reply", "ping_reply", dissect.Likely, answer),
		dissecttest.One("a reply in odd numbers", "ping_reply", dissect.Doubtful, "\x00\x01\x02\x13"+id+"\x00\x00\x00\x05\x00\xff\xff\xff\xff\xff\xff\xff"),
		full,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

// TestDetect: what begins like a ping and is none.
func TestDetect(t *testing.T) {
	for payload, want := range map[string]dissect.Verdict{
		answer:                           dissect.Likely,
		answer[:23]:                      dissect.No,
		answer + "\x00":                  dissect.No,
		"\x01" + answer[1:]:              dissect.No,
		"\x00\x00\x03\x04" + answer[4:]:  dissect.No, // no version
		"\x00\x0a\x03\x04" + answer[4:]:  dissect.Doubtful,
		"\x00\x00\x00\x00" + id:          dissect.Possible,
		"\x00\x00\x00\x00" + id[:7]:      dissect.No,
		"\x00\x00\x00\x00" + id + "\x00": dissect.No,
		"\x00\x00\x00\x01" + id:          dissect.No,
		"\x00":                           dissect.No,
		"":                               dissect.No,
	} {
		if got := Detect([]byte(payload)); got != want {
			t.Errorf("%q: %v, want %v", payload, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	dissecttest.Seeds(f, samples())
	f.Fuzz(func(t *testing.T, payload []byte) {
		dissecttest.Check(t, Protocol(), payload)
		_, _ = Parse(payload)
	})
}

func ExampleParse() {
	m, err := Parse([]byte(answer))
	if err != nil {
		fmt.Println(err)
		return
	}
	if p, ok := m.(*PingReply); ok {
		fmt.Printf("version %d.%d.%d, %d of %d users\n", p.Major, p.Minor, p.Patch, p.Users, p.MaxUsers)
	}
	// Output: version 1.3.4, 5 of 100 users
}
