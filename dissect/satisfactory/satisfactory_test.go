package satisfactory

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	cookie = "\xa2\xbe\x44\xed\x91\x01\x00\x00"
	asking = magic + "\x00\x01" + cookie + "\x01"
	head   = magic + "\x01\x01" + cookie
	// answer is from a server that plays, with two parts of the state.
	answer = head + "\x03\x7a\x96\x05\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" + "\x02\x00\x11\x00\x01\x01\x00" + "\x04\x00Test" + "\x01"
	oldAsk = "\x00\x00" + cookie
	old    = "\x01\x00" + cookie + "\x03\x0d\x42\x03\x00\x98\x3a"
)

func samples() []dissecttest.Sample {
	one := dissecttest.One
	more := one("more behind the end", "poll", dissect.Likely, asking+"m", "trailing")
	more.Sound = []int{len(asking)}
	return []dissecttest.Sample{
		more,
		one("poll", "poll", dissect.Certain, asking),
		one("state", "state", dissect.Certain, answer),
		one("state of a server with mods", "state", dissect.Certain, head+"\x01\x7a\x96\x05\x00\x01\x00\x00\x00\x00\x00\x00\x80\x00\x03\x00\xe2\x98\x85\x01"),
		one("state that is not known", "state", dissect.Likely, strings.Replace(answer, "\x03\x7a", "\x07\x7a", 1), "value.undefined"),
		one("name longer than the message", "state", dissect.Certain, strings.Replace(answer, "\x04\x00Test", "\x40\x00Test", 1), "malformed"),
		one("more parts than there are", "state", dissect.Certain, strings.Replace(answer, "\x02\x00\x11", "\xff\x00\x11", 1), "malformed"),
		one("other end", "poll", dissect.Likely, asking[:12]+"\x00", "satisfactory.end"),
		one("other version", "unknown", dissect.Possible, magic+"\x00\x02"+cookie+"\x01", "satisfactory.version"),
		one("other type", "unknown", dissect.Possible, magic+"\x02\x01"+cookie+"\x01", "malformed"),
		one("poll before version 1.0", "poll", dissect.Possible, oldAsk),
		one("state before version 1.0", "state", dissect.Doubtful, old),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
