package dissect_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/qdissecttest"
)

// TestTranscripts plays testdata/transcripts.txt and several.txt with all protocols, and the file of the first name in the
// folder of a protocol with that one. It fails if something else comes out than what is
// written there, indented. The lines of a section, which begins with ##, are
//
//	certain "getinfo"     what Detect says of a payload; notes may follow
//	= "getinfo"           decodes a payload, or the parts of a message
//	> "getinfo"           a datagram of the client; >4001@27961 names its port and that of the server or its address and port, ~9 how many bytes the capture lacks
//	< "infoResponse"      a datagram of the server, 20 ms after the one before
//	wait 60s              lets time pass
//	end                   ends the capture
//
// Payloads are Go strings, and {name} stands for the bytes of a line `name := "..."` at the
// beginning of the file. What the datagrams of a section make is shown where it comes out;
// a minute passes after the last one. With QDISSECT_UPDATE in the environment the verdicts
// and the indented lines are written anew: read them before you commit them. Messages of
// several protocols are shown with theirs.
func TestTranscripts(t *testing.T) {
	const file = "testdata/transcripts.txt"
	t.Run("all", func(t *testing.T) { transcripts(t, file, all.Protocols()...) })
	t.Run("several", func(t *testing.T) { transcripts(t, "testdata/several.txt", all.Protocols()...) })
	played := 0
	for _, p := range all.Protocols() {
		name := filepath.Join(strings.ReplaceAll(p.Name, "-", ""), file)
		if _, err := os.Stat(name); err != nil {
			continue
		}
		played++
		t.Run(p.Name, func(t *testing.T) { transcripts(t, name, p) })
	}
	if list, _ := filepath.Glob("*/" + file); len(list) != played || played == 0 {
		t.Errorf("%d transcripts are there, and %d are of a protocol: %v", len(list), played, list)
	}
}

func transcripts(t *testing.T, name string, protocols ...*dissect.Protocol) {
	update, data := os.Getenv("QDISSECT_UPDATE") != "", must.Get(os.ReadFile(name))(t)
	names, whole := map[string]string{}, ""
	reason := regexp.MustCompile(` by [a-z-]+`)
	for section := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		var told [2]string // with the reasons, and without: all else is the same
		for i := range min(2, len(protocols)) {
			w := &writer{t: t, p: protocols[0], protocols: protocols, at: transcriptStart, names: names, unreasoned: i > 0}
			for line := range strings.Lines(section + "\n") {
				w.play(line)
			}
			w.pass(time.Minute)
			if w.a != nil {
				w.a.Flush()
				w.compare()
			}
			told[i] = strings.TrimSpace(w.out.String())
		}
		if told[0] != section && !update {
			t.Errorf("%s\n\nwant\n%s", told[0], section)
		}
		if bare := reason.ReplaceAllString(told[1], ""); bare != "" && bare != reason.ReplaceAllString(told[0], "") {
			t.Errorf("%s\n\nwithout reasons\n%s", told[0], bare)
		}
		whole += told[0] + "\n\n"
	}
	if update {
		must.Do(t, os.WriteFile(name, []byte(strings.TrimSpace(whole)+"\n"), 0o644))
	}
}

var (
	transcriptClient = netip.MustParseAddr("192.0.2.1")
	transcriptServer = netip.MustParseAddr("198.51.100.1")
	transcriptStart  = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
)

// A writer plays a section, and writes it with what comes out.
type writer struct {
	t          *testing.T
	p          *dissect.Protocol
	protocols  []*dissect.Protocol // of conversations, p first
	unreasoned bool
	config     dissect.Config          // if it has Facts, everything is written
	change     func(*dissect.Datagram) // nil for none
	a          *dissect.Analyzer
	frame      uint64
	at         time.Time
	names      map[string]string
	out        strings.Builder
	clones     []*dissect.Record // of the messages
	told       []string          // of each
	counted    dissect.Stats     // of them
}

// compare checks that copies of the messages tell the same when all that they were made of is gone, and that their counts are those of
// the analyzer.
func (w *writer) compare() {
	for i, r := range w.clones {
		if got := w.text(r); got != w.told[i] {
			w.t.Errorf("a copy of a message:\n%s\nwant\n%s", got, w.told[i])
		}
	}
	counts := func(s *dissect.Stats) []uint64 {
		return append(slices.Clone(s.ByProtocol), s.Messages, s.Requests, s.Replies, s.AmbiguousReplies, s.Complete, s.Malformed) // sets of parts that are given up may have no message
	}
	s := w.a.Stats()
	if got, want := counts(&w.counted), counts(&s); !slices.Equal(got, want) {
		w.t.Errorf("counted one by one: %d, by the analyzer: %d", got, want)
	}
}

func (w *writer) text(r *dissect.Record) string {
	c := writer{protocols: w.protocols}
	c.tell(r)
	return fmt.Sprint(c.out.String(), r.Frame, r.Frames, r.Src, r.Sources, r.Datagram)
}

func (w *writer) play(line string) {
	word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	payloads := w.payloads(strings.TrimPrefix(rest, ":= "))
	switch {
	case line[0] == '\t':
	case word[0] == '#' || payloads == nil && word != "wait" && word != "end":
		w.out.WriteString(line)
	case word == "end":
		w.out.WriteString(line)
		w.a.Flush()
	case payloads == nil:
		w.out.WriteString(line)
		w.pass(must.Get(time.ParseDuration(rest))(w.t))
	case strings.HasPrefix(rest, ":="):
		w.out.WriteString(line)
		w.names["{"+word+"}"] = payloads[0]
	case word == "=":
		w.out.WriteString(line)
		w.decode(payloads)
	case word[0] == '>', word[0] == '<':
		w.out.WriteString(line)
		w.datagram(word, payloads[0])
	default:
		head := payloads[0][:min(len(payloads[0]), 64)]
		fmt.Fprintf(&w.out, "%s %s\n", w.p.Detect([]byte(head)), rest)
	}
}

// payloads returns the strings at the beginning of a line.
func (w *writer) payloads(line string) (list []string) {
	for {
		quoted, err := strconv.QuotedPrefix(line)
		s, _ := strconv.Unquote(quoted)
		if err != nil {
			return list
		}
		for name, value := range w.names {
			s = strings.ReplaceAll(s, name, value)
		}
		list, line = append(list, s), strings.TrimLeft(line[len(quoted):], " ")
	}
}

// pass lets time pass, second by second.
func (w *writer) pass(d time.Duration) {
	for end := w.at.Add(d); w.a != nil && w.at.Before(end); {
		w.at = w.at.Add(min(time.Second, end.Sub(w.at)))
		w.a.Advance(w.at)
	}
}

func (w *writer) datagram(word, payload string) {
	if w.a == nil {
		w.config.Protocols, w.config.Unreasoned = w.protocols, w.unreasoned
		w.a, w.counted = must.Get(dissect.New(w.config, w))(w.t), dissect.Stats{ByProtocol: make([]uint64, len(w.protocols)), Ambiguous: map[dissect.Ambiguous]uint64{}}
	}
	from, to := uint64(40000), uint64(4)
	if len(w.p.Ports) > 0 {
		to = uint64(w.p.Ports[0])
	}
	word, cut, _ := strings.Cut(word, "~")
	missing, _ := strconv.Atoi(cut)
	a, b, named := strings.Cut(word[1:], "@")
	if a != "" {
		from, _ = strconv.ParseUint(a, 10, 16)
	}
	client, server := transcriptClient, transcriptServer
	if end, err := netip.ParseAddrPort(b); err == nil {
		if server, to = end.Addr(), uint64(end.Port()); server.Is6() {
			client = netip.MustParseAddr("2001:db8::1")
		}
	} else if named {
		to, _ = strconv.ParseUint(b, 10, 16)
	}
	w.frame++
	d := dissect.Datagram{Frame: w.frame, Time: w.at, Payload: []byte(payload), Missing: missing,
		Src: netip.AddrPortFrom(client, uint16(from)), Dst: netip.AddrPortFrom(server, uint16(to))}
	if word[0] == '<' {
		d.Src, d.Dst = d.Dst, d.Src
	}
	if w.change != nil {
		w.change(&d)
	}
	w.a.Datagram(&d)
	for i := range d.Payload {
		d.Payload[i] = '!'
	}
	w.at = w.at.Add(20 * time.Millisecond)
}

// Record writes a message of a conversation.
func (w *writer) Record(r *dissect.Record) {
	fmt.Fprintf(&w.out, "\t%d ", r.Frame)
	if len(w.protocols) > 1 {
		w.out.WriteString(r.Protocol.Name + " ")
		for _, p := range r.Alternatives {
			w.out.WriteString("or " + p.Name + " ")
		}
	}
	w.tell(r)
	if w.config.Facts {
		fmt.Fprintln(&w.out, r.Time, r.Src, r.Dst, r.Frames, r.Missing, r.Datagram.Missing, r.Split, r.Length, r.WireLength, r.Reason, r.LastRTT, r.Late, r.Resends, r.Proven, r.Server, r.Sources)
	}
	w.clones, w.told = append(w.clones, r.Clone()), append(w.told, w.text(r))
	w.counted.Count(r, w.protocols)
}

// Unknown writes that no protocol recognised a datagram.
func (w *writer) Unknown(u *dissect.Unknown) { fmt.Fprintf(&w.out, "\t%d unknown\n", u.Frame) }

// Finding writes a finding without a message.
func (w *writer) Finding(f *dissect.FlowFinding) {
	fmt.Fprintf(&w.out, "\t%d %s: %s\n", f.Frame, f.Type.ID, f.AppendText(nil))
	if w.config.Facts {
		fmt.Fprintln(&w.out, f.Time, f.Src, f.Dst, f.ICMPFrame, f.Interface, f.VLAN, len(f.Alternatives))
	}
}

// ended writes what became of a request.
func (w *writer) ended(x *dissect.Exchange) {
	reply := ""
	if x.Reply != nil {
		reply = x.Reply.Name
	}
	fmt.Fprintln(&w.out, "exchange", x.Protocol.Name, x.Type.Name, x.Outcome, x.Proof, x.Frame, x.Time, x.Src, x.Dst, x.Interface, x.VLAN, x.Requests, x.Repeated, x.Marked, x.MarkedRepeated, x.Sendings, x.Newest,
		x.Replies, x.ReplyFrame, x.LastFrame, reply, x.Timed, x.Ambiguous, x.First, x.Last, x.Server, x.RequestBytes, x.ReplyBytes, x.Parts, x.Total, x.From, x.Broadcast, x.ByReply)
}

// tell writes the type of a message and what it answers, its summary and its findings.
func (w *writer) tell(r *dissect.Record) {
	w.out.WriteString(r.Type.Name)
	if r.RequestFrame > 0 {
		fmt.Fprintf(&w.out, " ← %d", r.RequestFrame)
		switch {
		case r.TimeKnown:
			fmt.Fprintf(&w.out, " after %v", r.RTT)
		case r.Ambiguous:
			w.out.WriteString(" ambiguous")
		}
	}
	if r.Reason != core.ByHeader && r.Reason != core.ByUser {
		fmt.Fprintf(&w.out, " by %s", r.Reason)
	}
	fmt.Fprintf(&w.out, "%s\n", r.AppendContents(nil))
	for _, f := range r.Findings {
		fmt.Fprintf(&w.out, "\t\t%s", f.Type.ID)
		if f.Length > 0 {
			fmt.Fprintf(&w.out, " @%d+%d", f.Offset, f.Length)
		}
		fmt.Fprintf(&w.out, ": %s\n", f.AppendText(nil))
	}
}

// decode writes all that a message says.
func (w *writer) decode(payloads []string) {
	var parts [][]byte
	for _, s := range payloads {
		parts = append(parts, []byte(s))
	}
	var k dissecttest.Keeper
	a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{w.p}, DecodeAs: map[uint16]*dissect.Protocol{4: w.p}, Tree: true, Ended: func(*dissect.Exchange) {}}, &k))(w.t)
	for i, part := range parts { // it lacks its first parts, but the capture did not begin before it
		a.Datagram(&dissect.Datagram{Frame: 2001 + uint64(i), Time: transcriptStart, Src: netip.AddrPortFrom(transcriptServer, 4), Dst: netip.AddrPortFrom(transcriptClient, 40000), Payload: part})
	}
	a.Flush()
	for _, r := range k.Records {
		w.out.WriteByte('\t')
		w.tell(&r.Record)
		fmt.Fprintf(&w.out, "\t\t%s\n", appendValue(nil, reflect.ValueOf(r.Body).Elem()))
		for _, part := range []struct {
			name  string
			value any
		}{{"server", r.Server}, {"pair", r.Pair}, {"split", r.Split}, {"missing", r.Missing}, {"packed", r.Packed}, {"unpacked", r.Unpacked}, {"verified", r.Verified}} {
			if v := reflect.ValueOf(part.value); !v.IsZero() {
				fmt.Fprintf(&w.out, "\t\t%s %s\n", part.name, appendValue(nil, v))
			}
		}
	}
	if _, _, err := dissect.Parse(w.p, parts[0]); err != nil && len(parts) == 1 {
		fmt.Fprintf(&w.out, "\t\terror %v\n", err)
	}
}

// appendValue appends a value in one line. What is zero is left out of structs.
func appendValue(dst []byte, v reflect.Value) []byte {
	if s, ok := v.Interface().(fmt.Stringer); ok {
		return append(dst, s.String()...)
	}
	switch b, bytes := v.Interface().([]byte); {
	case bytes:
		return fmt.Appendf(dst, "%x", b)
	case v.Kind() == reflect.String:
		return strconv.AppendQuote(dst, v.String())
	case v.Kind() == reflect.Slice:
		dst = append(dst, '[')
		for _, element := range v.Seq2() {
			dst = append(appendValue(dst, element), ' ')
		}
		return append([]byte(strings.TrimSuffix(string(dst), " ")), ']')
	case v.Kind() == reflect.Struct && strings.HasPrefix(v.Type().Name(), "Opt["): // one that is there
		return appendValue(dst, v.Field(0))
	case v.Kind() == reflect.Struct:
		dst = append(dst, '{')
		for f, value := range v.Fields() {
			if f.IsExported() && !value.IsZero() {
				dst = append(appendValue(append(append(dst, f.Name...), ':'), value), ' ')
			}
		}
		return append([]byte(strings.TrimSuffix(string(dst), " ")), '}')
	}
	return fmt.Append(dst, v.Interface())
}

// TestGoldens: what the analyzer says of every capture is what lies beside it.
func TestGoldens(t *testing.T) {
	captures, _, err := golden.Captures(filepath.Join("..", "testdata", "pcaps"), func(string, error) {})
	if err != nil || len(captures) < 100 {
		t.Fatalf("%d captures, %v", len(captures), err)
	}
	for _, path := range captures {
		qdissecttest.Golden(t, path, qdissecttest.Strict())
	}
}
