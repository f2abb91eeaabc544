package savage

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	settings = "name\xfeA server\xffcnum\xfe3\xffcmax\xfe32\xffworld\xfeeden\xffpass\xfe0\xff"
	players  = "players\xfeHumans\n Anna\n B\xf6rje\nBeasts\n Cyd\n"
	reply    = magic + "\xcf\x76\x46\x00\x00\x00\x00" + settings + players
)

func samples() []dissecttest.Sample {
	one := dissecttest.One
	// The list of players is text without an end.
	open := func(s dissecttest.Sample) dissecttest.Sample { s.Cut = true; return s }
	other := one("nothing of it", "unknown", dissect.No, "\x9e\x4c\x24\x00\x00", "malformed")
	short := one("request of gsQuery", "status_request", dissect.Likely, magic+"\xce")
	long := one("status request", "status_request", dissect.Likely, magic+"\xce\x76\x46\x00\x00")
	long.Sound = []int{6}
	info := one("info request", "info_request", dissect.Likely, magic+"\xc8\x01\x21\x00\x00")
	info.Sound = []int{6}
	xr := one("request of Savage XR", "status_request", dissect.Likely, magic+marker+"\xce\xf2\x3b\x18\x80")
	xr.Sound = []int{8}
	noEnd := one("setting without an end", "status_reply", dissect.Likely, magic+"\xcf\x76\x46\x00\x00\x00\x00name\xfeA server", "malformed")
	noEnd.Sound = []int{lenHead}
	return []dissecttest.Sample{
		short, long, info, xr,
		open(one("status", "status_reply", dissect.Likely, reply)),
		open(one("status of Savage XR", "status_reply", dissect.Likely, magic+marker+"\xcf\xf2\x3b\x18\x80"+settings+players+"\xff\x00")),
		open(one("player without a team", "status_reply", dissect.Likely, magic+"\xcf\x76\x46\x00\x00\x00\x00players\xfe Anna\n")),
		noEnd, other,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
