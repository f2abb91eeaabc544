package all

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// shower keeps what is shown of unknown datagrams.
type shower struct {
	label
	shown, guess []string
	plain        []string
}

func (s *shower) Unknown(u *dissect.Unknown) {
	s.shown = append(s.shown, string(u.Shown(false)))
	s.plain = append(s.plain, string(u.Shown(true)))
	s.guess = append(s.guess, string(u.AppendGuess(nil)))
}

// TestUnknownRcon: where no port and no conversation tells whose command for a
// remote console it is, its password is hidden all the same.
func TestUnknownRcon(t *testing.T) {
	var s shower
	a, err := dissect.New(dissect.Config{Protocols: Protocols()}, &s)
	if err != nil {
		t.Fatal(err)
	}
	for i, payload := range []string{"\xff\xff\xff\xffrcon hidden map q3dm6\n", "\xff\xff\xff\xffrcon 1234 \"say hidden\"", "\xff\xff\xff\xffn1"} {
		src := netip.AddrPortFrom(client, uint16(port+i))
		a.Datagram(&dissect.Datagram{Frame: 1, Time: time.Unix(0, 0), Src: src, Dst: netip.AddrPortFrom(server, port), Payload: []byte(payload)})
		a.Flush()
		if len(s.shown) != i+1 {
			t.Fatalf("%q is recognised", payload)
		}
		if strings.Contains(s.shown[i], "hidden") || len(s.shown[i]) != len(payload) || s.plain[i] != payload {
			t.Errorf("%q is shown as %q", payload, s.shown[i])
		}
		if strings.Contains(s.guess[i], "QuakeWorld") {
			t.Errorf("%q %s", payload, s.guess[i])
		}
	}
}
