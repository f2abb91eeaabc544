package all

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/report"
)

// aboutLength are the ends of the ids of findings that say that a message was cut, or is of
// another length than it says. Notes tell of what servers do.
var aboutLength = []string{"cut", "truncated", "noend", "noterm", "noeol", "query.open", "lenwrap", "pong.length", "len6", "players.count", "table.count", "filter.count", "samp.count"}

// A judge collects what an analyzer says of the length of messages.
type judge struct{ said []string }

func (j *judge) Record(r *dissect.Record) {
	for _, f := range r.Findings {
		if f.Type == core.Malformed || f.Type == core.Trailing || f.Type.Severity >= dissect.Warning &&
			slices.ContainsFunc(aboutLength, func(end string) bool { return strings.HasSuffix(f.Type.ID, end) }) {
			j.said = append(j.said, f.Type.ID)
		}
	}
}
func (j *judge) Unknown(*dissect.Unknown)     {}
func (j *judge) Finding(*dissect.FlowFinding) {}

// TestParseLength cuts messages of all captures. Whenever an analyzer says that the message
// is of a wrong length, Parse returns an error.
func TestParseLength(t *testing.T) {
	cuts := map[*dissect.Protocol]int{}
	for i, s := range samples(t) {
		if i%must.Try(2, 1) > 0 || s.split || s.protocol.Detect(s.payload[:min(len(s.payload), 64)]) < dissect.Likely {
			continue
		}
		steps := must.Try(3, 40)
		for k := range steps + 1 {
			// The last byte has most to say, then the whole, then any.
			cut := s.payload[:max(1, len(s.payload)-k*max(1, len(s.payload)*(1+i%3)/3/steps))]
			j := new(judge)
			a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{s.protocol}, KeepCopies: true}, j))(t)
			d := dissect.Datagram{Frame: 1, Src: netip.AddrPortFrom(server, 27015), Dst: netip.AddrPortFrom(client, port), Payload: cut}
			if s.protocol.Stream != nil {
				d.Stream = s.protocol
			}
			a.Datagram(&d)
			if len(j.said) == 0 {
				continue
			}
			cuts[s.protocol]++
			payload := bytes.Clone(cut)
			m, findings, err := dissect.Parse(s.protocol, payload)
			if err == nil || m.Type == nil || len(findings) == 0 {
				t.Errorf("%s, frame %d, %d of %d bytes: the analyzer says %v, Parse %v with %d findings", s.file, s.frame, len(cut), len(s.payload), j.said, err, len(findings))
				continue
			}
			was := look(&m)
			if clear(payload); look(&m) != was {
				t.Errorf("%s, frame %d: what Parse returned changes with the payload", s.file, s.frame)
			}
		}
	}
	if len(cuts) < 30 {
		t.Errorf("cuts of only %d protocols are noticed", len(cuts))
	}
}

// A keeper keeps a clone of each record, and what it looked like when it came.
type keeper struct {
	kept []kept
	json *report.JSON
}

type kept struct {
	clone     *dissect.Record
	was, line string
}

// look shows everything that a message says.
func look(m *dissect.Message) string {
	return fmt.Sprintf("%s %#v %#v %#v %s", m.Type.Name, reflect.Indirect(reflect.ValueOf(m.Body)), m.Server, m.Pair, m.Variant)
}

func (k *keeper) Record(r *dissect.Record) {
	k.kept = append(k.kept, kept{r.Clone(), look(&r.Message), k.line(r)})
}

// line returns a record as JSON, with its tree and its findings, and the bytes of its datagram.
func (k *keeper) line(r *dissect.Record) string {
	defer k.json.Reset()
	k.json.Record(r)
	return fmt.Sprintf("%s%x", k.json.Bytes(), r.Payload)
}
func (k *keeper) Unknown(*dissect.Unknown)     {}
func (k *keeper) Finding(*dissect.FlowFinding) {}

// TestClone overwrites the payloads and reuses the decoders after each message.
func TestClone(t *testing.T) {
	goldens := must.Get(filepath.Glob(filepath.Join("..", "..", "testdata", "pcaps", "*", "*.golden.jsonl")))(t)
	all := 0
	for _, golden := range goldens {
		k := &keeper{json: report.NewJSON(report.JSONOptions{})}
		a := must.Get(dissect.New(dissect.Config{Protocols: Protocols(), Tree: true}, k))(t)
		buffer := make([]byte, 1<<16)
		for _, d := range datagrams(t, golden) {
			n := copy(buffer, d.Payload)
			borrowed := dissect.Datagram{Frame: d.Frame, Frames: d.Frames, Time: d.Time, First: d.First, Src: d.Src, Dst: d.Dst, Payload: buffer[:n:n]}
			a.Datagram(&borrowed)
			borrowed = dissect.Datagram{}
			for i := range buffer[:n] {
				buffer[i] ^= 0x55
			}
		}
		a.Flush()
		for i := range k.kept {
			if m := &k.kept[i]; look(&m.clone.Message) != m.was || k.line(m.clone) != m.line {
				t.Errorf("%s, message %d was\n%s%s, its clone is\n%s%s", golden, i+1, m.was, m.line, look(&m.clone.Message), k.line(m.clone))
			}
		}
		all += len(k.kept)
	}
	if all < 3000 {
		t.Errorf("%d messages", all)
	}
}

var update = flag.Bool("update", false, "write testdata/bodies.txt anew; read it before you commit")

// TestBodies compares what Parse returns with testdata/bodies.txt: of each kind of message, the longest one of the captures that
// is not too long to be read.
func TestBodies(t *testing.T) {
	const most = 240
	longest := map[string]*sample{}
	for _, s := range samples(t) {
		key := s.protocol.Name + " " + s.message
		if was := longest[key]; !s.split && len(s.payload) <= most && (was == nil || len(was.payload) < len(s.payload)) {
			longest[key] = s
		}
	}
	var lines []string
	for key, s := range longest {
		m, _, err := dissect.Parse(s.protocol, s.payload)
		lines = append(lines, fmt.Sprintf("%s, frame %d of %s: %T %s %v\n", key, s.frame, s.file, m.Body, must.Get(json.Marshal(m.Body))(t), err))
	}
	slices.Sort(lines)
	got := strings.Join(lines, "")
	if *update {
		must.Do(t, os.WriteFile("testdata/bodies.txt", []byte(got), 0o666))
	}
	want := strings.SplitAfter(string(must.Get(os.ReadFile("testdata/bodies.txt"))(t)), "\n")
	for i, line := range strings.SplitAfter(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("is now %swas %s", line, want[min(i, len(want)-1)])
		}
	}
}

// TestBeginnings: wherever the network divides a message over TCP, what came of it until there may be one, and its length is not denied.
func TestBeginnings(t *testing.T) {
	n := 0
	for _, s := range samples(t) {
		if !s.protocol.OverTCP() || s.protocol.Detect(s.payload) < dissect.Possible {
			continue
		}
		n++
		for i := 1; i < len(s.payload); i++ {
			b := s.payload[:i]
			if v := s.protocol.Detect(b[:min(i, 64)]); v == dissect.No {
				t.Errorf("%s, frame %d: the first %d of %d bytes are %v", s.file, s.frame, i, len(s.payload), v)
				break
			}
			if size, _ := s.protocol.Stream(b); size < 0 {
				t.Errorf("%s, frame %d: after %d of %d bytes no message begins here", s.file, s.frame, i, len(s.payload))
				break
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d messages", n)
	}
}

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
	for _, n := range r.Nodes {
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
			a := must.Get(dissect.New(dissect.Config{Protocols: Protocols(), Foreign: Foreign(), Tree: true}, &l))(t)
			feed(a, &d, at)
			a.Flush()
			records += l.records
			a = must.Get(dissect.New(dissect.Config{Protocols: Protocols(), Foreign: Foreign(), Tree: true}, new(label)))(t)
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

// FuzzDetect passes the same bytes to the detectors of all protocols. A detector is
// total, changes nothing, uses only the first 64 bytes, and returns No for bytes with
// which no message of its protocol begins. A protocol that accepts the bytes can decode
// them without breaking a promise.
func FuzzDetect(f *testing.F) {
	for i, s := range samples(f) {
		if i%must.Try(4, 1) > 0 {
			continue
		}
		f.Add(s.payload)
	}
	analyzers := map[string]*dissect.Analyzer{}
	for _, p := range Protocols() {
		a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{p}}, new(keeper)))(f)
		analyzers[p.Name] = a
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		before, head := bytes.Clone(payload), payload[:min(len(payload), 64)]
		for _, p := range Protocols() {
			v := p.Detect(head)
			// The bytes after them in memory must not matter.
			if again := p.Detect(append(bytes.Clone(head), 0xff)[:len(head):len(head)]); again != v {
				t.Errorf("%s says %v, and then %v", p.Name, v, again)
			}
			if v > dissect.No && len(p.Starts) > 0 && !analyzers[p.Name].Inner(core.Only{}).Candidate(1, 1, payload) {
				t.Errorf("%s says %v of what begins with % x, which is not among its starts", p.Name, v, payload[:min(len(payload), 2)])
			}
			if v > dissect.No {
				dissecttest.Check(t, p, payload)
			}
		}
		if !bytes.Equal(payload, before) {
			t.Fatal("the payload was changed")
		}
	})
}
