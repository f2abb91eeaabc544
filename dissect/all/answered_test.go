package all

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/must"
)

// unansweredOnes keeps the findings that say that nothing came back, and what was not known.
type unansweredOnes struct{ said []string }

func (u *unansweredOnes) Record(r *dissect.Record) {}
func (u *unansweredOnes) Unknown(d *dissect.Unknown) {
	u.said = append(u.said, "unknown: "+text(d.Payload))
}
func (u *unansweredOnes) Finding(f *dissect.FlowFinding) {
	if strings.Contains(f.Type.ID, "noreply") {
		u.said = append(u.said, f.Type.ID)
	}
}

// TestAnswered sends requests and replies that are unusual: an answered request is not said to
// be unanswered, and the reply is not of an unknown protocol.
func TestAnswered(t *testing.T) {
	nonce := "\x11\x22\x33\x44\x55\x66\x77\x88"
	ping := "\x00\x00\x00\x00" + nonce
	pong := "\x00\x01\x03\x04" + nonce + "\x00\x00\x00\x06\x00\x00\x00\x64\x00\x01\xf4\x00"
	token7 := "\x04\x00\x00\xff\xff\xff\xff\x05\x12\x34\x56\x78" + strings.Repeat("\x00", 508)
	for name, c := range map[string]struct {
		port uint16
		talk []string // of client and server in turn
	}{
		"A ping of Xash3D":                     {27015, []string{"\xff\xff\xff\xffi\n", "\xff\xff\xff\xffj\x00"}},
		"A ping of Xash3D elsewhere":           {40001, []string{"\xff\xff\xff\xffi\n", "\xff\xff\xff\xffj"}},
		"Rules with two zeros":                 {27015, []string{"\xff\xff\xff\xffrules\x00\x00", "\xff\xff\xff\xffE\x01\x00mp_x\x001\x00"}},
		"DarkPlaces with keys":                 {26000, []string{"\xff\xff\xff\xffgetchallenge", "\xff\xff\xff\xffchallenge 11111111111\x00vlen\x04\x00\x00\x00d0pk\x00\x01"}},
		"Mumble":                               {64738, []string{ping, pong}},
		"Mumble with extra bytes":              {64738, []string{ping, pong + "\x00\x00\x00\x00"}},
		"Mumble with extra bytes elsewhere":    {40001, []string{ping, pong + "\x00\x00"}},
		"Mumble, a request with extra bytes":   {64738, []string{ping + "\x00\x00", pong}},
		"Mumble, the same elsewhere":           {40001, []string{ping + "\x00", pong + "\x00"}},
		"SQP":                                  {9010, []string{"\x00\x00\x00\x00\x00", "\x00\xaa\xbb\xcc\xdd"}},
		"SQP elsewhere":                        {40001, []string{"\x00\x00\x00\x00\x00", "\x00\xaa\xbb\xcc\xdd", "\x01\xaa\xbb\xcc\xdd\x00\x01\x01"}},
		"Teeworlds token":                      {8303, []string{token7, "\x04\x00\x00\x12\x34\x56\x78\x05\x9a\xbc\xde\xf0"}},
		"Teeworlds token of 0":                 {8303, []string{token7, "\x04\x00\x00\x12\x34\x56\x78\x05\x00\x00\x00\x00"}},
		"Teeworlds token with extra bytes":     {8303, []string{token7, "\x04\x00\x00\x12\x34\x56\x78\x05\x9a\xbc\xde\xf0\x00\x00"}},
		"Teeworlds token to nobody":            {8303, []string{strings.Replace(token7, "\x12\x34\x56\x78", "\x00\x00\x00\x00", 1), "\x04\x00\x00\x00\x00\x00\x00\x05\x9a\xbc\xde\xf0"}},
		"Zandronum, too soon":                  {10666, []string{"\xff\xc7\x00\x00\x00\x19\x00\x18\x00abcd", "\xff\x78\x5d\x56\x00abcd"}},
		"Zandronum, banned":                    {10666, []string{"\xff\xc7\x00\x00\x00\x19\x00\x18\x00abcd", "\xff\x79\x5d\x56\x00abcd"}},
		"Zandronum, another time":              {10666, []string{"\xff\xc7\x00\x00\x00\x19\x00\x18\x00abcd", "\xff\x78\x5d\x56\x00efgh"}},
		"Zandronum, no time":                   {10666, []string{"\xff\xc7\x00\x00\x00\x19\x00\x18\x00abcd", "\xff\x79\x5d\x56\x00"}},
		"Zandronum, refusal with more":         {10666, []string{"\xff\xc7\x00\x00\x00\x19\x00\x18\x00abcd", "\xff\x79\x5d\x56\x00abcdbanned for\x00"}},
		"OpenTTD with a wrong count":           {3978, []string{"\x05\x00\x06\x02\x00", "\x0c\x00\x07\x01\x03\x00\x7f\x00\x00\x01\x8b\x0f"}},
		"OpenTTD companies with a wrong count": {3979, []string{"\x03\x00\x02", "\x47\x00\x03\x06\x02\x00Northern Rail\x00" + strings.Repeat("\x00", 51)}},
	} {
		var u unansweredOnes
		a := must.Get(dissect.New(dissect.Config{Protocols: Protocols()}, &u))(t)
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for i, payload := range c.talk {
			d := dissect.Datagram{
				Frame: uint64(i + 1), Time: at.Add(time.Duration(i) * 20 * time.Millisecond), Payload: []byte(payload),
				Src: netip.AddrPortFrom(client, port), Dst: netip.AddrPortFrom(server, c.port),
			}
			if i%2 == 1 {
				d.Src, d.Dst = d.Dst, d.Src
			}
			a.Datagram(&d)
		}
		if len(c.talk)%2 == 0 {
			a.Advance(at.Add(time.Minute))
		}
		a.Flush()
		if len(u.said) > 0 {
			t.Errorf("%s: %v", name, u.said)
		}
	}
}
