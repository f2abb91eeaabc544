package all

import (
	"bytes"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/packet"
)

// A shower keeps the output for unknown datagrams.
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

// TestUnknownRcon checks that the password of a remote console command is hidden
// although its protocol is unknown.
func TestUnknownRcon(t *testing.T) {
	var s shower
	a := must.Get(dissect.New(dissect.Config{Protocols: Protocols(), Foreign: Foreign()}, &s))(t)
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

// hidden is the password in the capture.
const hidden = "Tr0ub4dor"

// leaves searches for the password in all leaves that are not declared secret.
type leaves struct {
	label
	t       *testing.T
	parts   [][]byte
	records int
}

func (l *leaves) Record(r *dissect.Record) {
	l.records++
	if s := r.AppendSummary(nil); bytes.Contains(s, []byte(hidden)) {
		l.t.Errorf("summary: %s", s)
	}
	for i := range r.Findings {
		if s := r.Findings[i].AppendText(nil); bytes.Contains(s, []byte(hidden)) {
			l.t.Errorf("finding: %s", s)
		}
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		v := n.Bytes(r.Sources[n.Source].Data)
		if n.Field.Secret || n.Field.Kind.Container() || n.Field.Framing && n.Field.Kind == dissect.Bytes {
			continue
		}
		if n.Field.Kind == dissect.Bytes {
			v = Foreign().Shown(v)
		}
		if bytes.Contains(v, []byte(hidden[:4])) {
			l.t.Errorf("%s: %q", n.Field.Path, v)
		}
	}
	dissecttest.Check(l.t, r.Protocol, l.parts...)
}

func (l *leaves) Unknown(u *dissect.Unknown) {
	if s := u.Shown(false); bytes.Contains(s, []byte(hidden[:4])) {
		l.t.Errorf("unknown: %q", s)
	}
}

// TestSecretLeaves checks that no visible leaf contains the password, in any protocol,
// and that hiding it does not allocate.
func TestSecretLeaves(t *testing.T) {
	records := 0
	talks := map[uint16][]packet.Datagram{} // by the port of a client that was given away
	for _, d := range datagrams(t, filepath.Join("..", "..", "testdata", "pcaps", "hostile", "secrets.golden.jsonl")) {
		for _, a := range []netip.AddrPort{d.Src, d.Dst} {
			if a.Addr() == netip.MustParseAddr("203.0.113.99") {
				talks[a.Port()] = append(talks[a.Port()], d)
			}
		}
	}
	for port, parts := range talks {
		l := leaves{t: t}
		for _, p := range parts {
			l.parts = append(l.parts, p.Payload)
		}
		feed := func(a *dissect.Analyzer, d *dissect.Datagram, at time.Time) {
			for i, p := range parts {
				*d = dissect.Datagram{Frame: uint64(1 + i), Time: at, Src: p.Src, Dst: p.Dst, Payload: p.Payload}
				a.Datagram(d)
			}
		}
		t.Run(fmt.Sprint(port), func(t *testing.T) {
			l.t = t
			at := time.Unix(1, 0)
			var d dissect.Datagram
			a, err := dissect.New(dissect.Config{Protocols: Protocols(), Foreign: Foreign(), Tree: true}, &l)
			must.Do(t, err)
			feed(a, &d, at)
			a.Flush()
			records += l.records
			if a, err = dissect.New(dissect.Config{Protocols: Protocols(), Foreign: Foreign(), Tree: true}, new(label)); err != nil {
				t.Fatal(err)
			}
			run := func() {
				at = at.Add(time.Minute)
				a.Advance(at)
				feed(a, &d, at)
			}
			for range 4 {
				run()
			}
			if n := testing.AllocsPerRun(20, run); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
	if records < 100 {
		t.Errorf("only %d messages", records)
	}
}
