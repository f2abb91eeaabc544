package dissect_test

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

var update = flag.Bool("update", false, "rewrite testdata/pairing.txt")

// fake is a protocol whose payloads say what they mean. The first character is
// ? for a request, ! for a reply and * for a one-way message, then come the
// topics, a letter each, and then words: i=7 is the id, a bare name the way of the
// challenge with its value, others the fields of [dissect.Pair]; f=kin are
// those of another protocol, f=both may be of either.
type fake struct {
	catalog                         *dissect.Catalog
	text                            *dissect.Field
	ask, ask2, say, say2, tell, beg *dissect.MessageType
}

var challenges = map[string]dissect.Challenge{
	"absent": dissect.ChallengeAbsent, "seed": dissect.ChallengeSeed, "use": dissect.ChallengeUsed, "give": dissect.ChallengeIssued, "want": dissect.ChallengeWanted,
}

func (f *fake) Decode(r *dissect.Reader, m *dissect.Message) {
	words := strings.Fields(r.Text(f.text, r.Left()))
	var topics dissect.Topic
	for _, c := range words[0][1:] {
		topics |= 1 << (c - 'a')
	}
	pair := &m.Pair
	switch words[0][0] {
	case '?':
		m.Type, pair.Asks = f.ask, topics
	case '!':
		m.Type, pair.Answers = f.say, topics
	case '*':
		m.Type, pair.May = f.tell, topics
	}
	numbers := map[string]*uint64{"i": &pair.ID, "page": &pair.Page, "scope": &pair.Scope}
	flags := map[string]*bool{"tries": &pair.Tries, "lists": &pair.Lists, "last": &pair.Last, "damaged": &pair.Damaged}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		n, _ := strconv.ParseUint(value, 10, 64)
		if p := numbers[name]; p != nil {
			*p = n
		}
		if p := flags[name]; p != nil {
			*p = true
		}
		if c, ok := challenges[name]; ok {
			pair.Challenge, pair.Value = c, n
		}
		switch name {
		case "any":
			pair.ID = dissect.AnyID
		case "also":
			pair.Also = 1 << (value[0] - 'a')
		case "port":
			pair.Port = uint16(n)
		case "n":
			pair.Entries = int(n)
		case "stated":
			v, _ := strconv.Atoi(value)
			m.Server.Players = dissect.Opt[int]{Value: v, OK: true}
		case "sum":
			pair.Sum = uint32(n)
		case "second":
			m.Type = map[*dissect.MessageType]*dissect.MessageType{f.ask: f.ask2, f.say: f.say2}[m.Type]
		case "beg":
			m.Type = f.beg
		case "same":
			if core.Awaited(r, topics, pair.ID) {
				m.Type, m.Pair = f.say2, dissect.Pair{Answers: topics, ID: pair.ID}
			}
		}
	}
}

// protocol returns the fake, with all findings of the pairing whose names are
// given.
func (f *fake) protocol(name string, options []string) *dissect.Protocol {
	f.catalog = dissect.NewCatalog(name)
	f.text = f.catalog.Add("text", dissect.String, "Text.", dissect.FreeText)
	message := func(name string, role dissect.Role) *dissect.MessageType {
		return f.catalog.Message(dissect.MessageType{Name: name, Title: name, Doc: "A message.", Role: role})
	}
	f.ask, f.ask2, f.beg = message("ask", dissect.Request), message("ask2", dissect.Request), message("beg", dissect.Request)
	f.say, f.say2, f.tell = message("say", dissect.Reply), message("say2", dissect.Reply), message("tell", dissect.OneWay)
	p := &dissect.Protocol{
		Name: name, Title: name, Doc: "A fake.", Source: "none", Starts: []string{"?", "!", "*"}, Catalog: f.catalog,
		New: func() dissect.Decoder { return f },
		Detect: func(b []byte) dissect.Verdict {
			if text := string(b); (name == "kin") != strings.Contains(text, " f=kin") && !strings.Contains(text, " f=both") {
				return dissect.No
			}
			return dissect.Certain
		},
	}
	declare := func(id, text string) *dissect.FindingType {
		if text == "" {
			text = "." // it takes nothing
		}
		return f.catalog.Finding(dissect.FindingType{ID: name + "." + id, Severity: dissect.Note, Text: text, Doc: "A finding."})
	}
	f.beg.Unanswered = declare("begged", "%p%p")
	q := &p.Pairing
	q.Unanswered = declare("unanswered", "%p%p")
	onRequest := func(rules ...dissect.Rule) { q.OnRequest = append(q.OnRequest, rules...) }
	onReply := func(rules ...dissect.Rule) { q.OnReply = append(q.OnReply, rules...) }
	onStray := func(rules ...dissect.Rule) { q.OnStray = append(q.OnStray, rules...) }
	other := core.OtherKind
	onStray(func(x *dissect.Turn) {
		if x.Other != nil {
			x.Note(other, dissect.Str(x.Other.Type.Title), dissect.Num(x.Other.Frame))
		}
	})
	for _, o := range options {
		switch o {
		case "unanswered-challenge":
			q.UnansweredChallenge = declare(o, "%p%p")
		case "unrequested":
			onStray(finding.Stray(declare(o, "")))
		case "several":
			onReply(finding.Surplus(declare(o, "%d %d")))
		case "challenges":
			changed, loop := declare("changed", "%t"), declare("loop", "%d")
			onRequest(finding.Missing(declare("missing", "%d")), finding.Mismatch(declare("mismatch", "%d %d")))
			other := func(x *dissect.Turn) {
				if x.Changed && x.ChangedAfter < 30*time.Second {
					x.Note(changed, dissect.Dur(x.ChangedAfter))
				}
			}
			endless := func(x *dissect.Turn) {
				if x.InARow >= 3 && x.Refused >= 2 {
					x.Note(loop, dissect.Num(x.InARow))
				}
			}
			q.Refused = declare("refused", "")
			onReply(other, finding.Refused(q.Refused), finding.Required(declare("required", "")), endless)
			onStray(other, endless)
		case "amplification":
			onReply(finding.Amplified(declare(o, "%r %d/%d"), 2))
		case "echo":
			q.OtherIDs = true
			onReply(finding.OtherID(declare(o, "%d %d %d")))
		case "other-kind":
			other = declare(o, "%s %d")
			onReply(func(x *dissect.Turn) {
				if x.Other != nil {
					x.Note(other, dissect.Str(x.Other.Type.Title), dissect.Num(x.Other.Frame))
				}
			})
		case "same-port":
			onRequest(finding.SamePort(declare(o, "")))
		case "endless":
			q.Endless = declare(o, "%d %d")
		case "pages":
			q.Paged = true
			before := declare(o, "%d %d")
			onRequest(func(x *dissect.Turn) {
				if x.Page != nil {
					x.Note(before, dissect.Num(x.Page.Before), dissect.Num(core.Bit[int](x.Page.Stray)+2*core.Bit[int](x.Page.Region)+4*core.Bit[int](x.Page.Filter)))
				}
			})
		case "list":
			q.Paged = q.Endless == nil
			onReply(finding.List(declare(o, "%d %d %d")))
		case "cached":
			cached := declare(o, "%d %t")
			again := func(x *dissect.Turn) {
				if x.SameIn != 0 {
					x.Note(cached, dissect.Num(x.SameIn), dissect.Dur(x.SameAgo))
				}
			}
			onReply(again)
			onStray(again)
		case "listed":
			listed := declare(o, "%d %d")
			onReply(func(x *dissect.Turn) {
				if x.Stated >= 0 && x.Stated != x.Pair.Entries {
					x.Note(listed, dissect.Num(x.Pair.Entries), dissect.Num(x.Stated))
				}
			})
		case "too-often":
			q.TooOften, q.Most, q.Within = declare(o, "%d"), 3, 6*time.Second
		case "named":
			q.Named = func(request, reply *dissect.MessageType) *dissect.MessageType {
				return nettext.Either(request == f.ask2 && reply == f.say, f.say2, nil)
			}
		case "family":
			p.Family = "fakes"
		}
	}
	return p
}

// play plays a transcript: lines of a time, > or < with the number of the client's
// port, optionally @ with that of the server's, and the payload; with x, no such port of the server is there. What the analyzer
// tells follows each, indented. 8x0s plays one eight times, 20 ms apart, from 0 s on,
// with their number for %; | parts messages. "=" advances the time, "flush 3" lets go of the requests up to
// frame 3, "pending" tells of those that wait, and "end" is the end of the capture.
type play struct {
	t   *testing.T
	a   *dissect.Analyzer
	out strings.Builder
}

func (p *play) findings(list []dissect.Finding) {
	for _, f := range list {
		_, id, _ := strings.Cut(f.Type.ID, ".")
		if strings.Contains(f.Type.ID, "request.") {
			id = f.Type.ID
		}
		fmt.Fprintf(&p.out, " !%s %s", id, f.AppendText(nil))
	}
	p.out.WriteByte('\n')
}

func (p *play) Record(r *dissect.Record) {
	fmt.Fprintf(&p.out, "\t%d", r.Frame)
	if r.Protocol.Name != "fake" {
		p.out.WriteString(" " + r.Protocol.Name)
	}
	p.out.WriteString(" " + r.Type.Name)
	if r.RequestFrame > 0 {
		fmt.Fprintf(&p.out, " <- %d", r.RequestFrame)
	}
	if r.TimeKnown {
		fmt.Fprintf(&p.out, " %v", r.RTT)
		if r.LastRTT != r.RTT {
			fmt.Fprintf(&p.out, "-%v", r.LastRTT)
		}
	}
	if r.Ambiguous {
		p.out.WriteString(" ambiguous")
	}
	if r.Late {
		p.out.WriteString(" late")
	}
	if r.Resends > 0 {
		fmt.Fprintf(&p.out, " resends %d", r.Resends)
	}
	p.findings(r.Findings)
}

func (p *play) Unknown(u *dissect.Unknown) { fmt.Fprintf(&p.out, "\t%d unknown\n", u.Frame) }

func (p *play) Finding(f *dissect.FlowFinding) {
	fmt.Fprintf(&p.out, "\t%d", f.Frame)
	if f.Src.Addr().String() == serverHost {
		p.out.WriteString(" of the server")
	}
	p.findings([]dissect.Finding{f.Finding})
}

func (p *play) ended(x *dissect.Exchange) {
	fmt.Fprintf(&p.out, "\texchange %d: %d replies, %d/%d bytes", x.Frame, x.Replies, x.ReplyBytes, x.RequestBytes)
	if x.Timed {
		fmt.Fprintf(&p.out, ", %v-%v", x.First, x.Last)
	}
	if x.Ambiguous {
		p.out.WriteString(", ambiguous")
	}
	if n := x.Requests - 1 - x.Repeated; n > 0 {
		fmt.Fprintf(&p.out, ", %d repeats", n)
	}
	if x.Outcome != dissect.OutcomeAnswered {
		p.out.WriteString(", " + x.Outcome.String())
	}
	if x.From.IsValid() {
		fmt.Fprintf(&p.out, ", from %v, broadcast %v", x.From, x.Broadcast)
	}
	if x.Proof != dissect.Unproven {
		p.out.WriteString(", " + x.Proof.String())
	}
	p.out.WriteByte('\n')
}

func (p *play) counts() {
	s := p.a.Stats()
	o := &s.Outcomes
	if o.Sum() != s.Requests {
		p.t.Errorf("%d requests have %d outcomes:\n%s", s.Requests, o.Sum(), p.out.String())
	}
	p.out.WriteString("\tcounts:")
	for _, c := range []struct {
		name string
		n    uint64
	}{
		{"answered", o[dissect.OutcomeAnswered]}, {"challenged", o[dissect.OutcomeChallenged]}, {"late", o[dissect.OutcomeLate]},
		{"partial", o[dissect.OutcomePartial]}, {"refused", o[dissect.OutcomeRefused]}, {"unanswered", o[dissect.OutcomeUnanswered]}, {"other", o[dissect.OutcomeOther]},
		{"repeated", o[dissect.OutcomeRepeated]}, {"open", o[dissect.OutcomeOpen]}, {"forgotten", o[dissect.OutcomeForgotten]}, {"ambiguous", s.AmbiguousReplies}, {"duplicates", s.Duplicates}, {"told", s.Unanswered},
		{"flows evicted", s.FlowsEvicted}, {"requests evicted", s.RequestsEvicted}, {"peers evicted", s.PeersEvicted},
	} {
		if c.n > 0 {
			fmt.Fprintf(&p.out, " %s %d", c.name, c.n)
		}
	}
	p.out.WriteByte('\n')
}

// datagram returns a message of a transcript.
func datagram(t *testing.T, message string, frame uint64, begin, now time.Time) *dissect.Datagram {
	path, payload, ok := strings.Cut(strings.TrimSpace(message), " ")
	if !ok {
		t.Fatalf("no message: %s", message)
	}
	host, to, first, missing := "192.0.2.1", serverHost, time.Time{}, 0
	var frames []uint64
	for w := range strings.FieldsSeq(payload) {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "first":
			at := must.Get(time.ParseDuration(value))(t)
			first = begin.Add(at)
		case "cut":
			missing = 1
		case "from": // the frame of its first fragment
			n, _ := strconv.ParseUint(value, 10, 64)
			frames = []uint64{n, frame}
		case "host":
			host = "192.0.2." + value
		case "at":
			to = value
		}
	}
	port := func(base int, s string) uint16 {
		n, _ := strconv.Atoi(s)
		return uint16(base + n)
	}
	client, server, _ := strings.Cut(path[1:], "@")
	d := &dissect.Datagram{
		Frame: frame, Frames: frames, Time: now, First: first, Payload: []byte(payload), Missing: missing,
		Src: netip.AddrPortFrom(netip.MustParseAddr(host), port(1000, client)),
		Dst: netip.AddrPortFrom(netip.MustParseAddr(to), port(2000, server)),
	}
	if path[0] == '<' {
		d.Src, d.Dst = d.Dst, d.Src
	}
	return d
}

func playTranscript(t *testing.T, options []string, steps []string) string {
	c := dissect.Config{Limits: dissect.Limits{Parts: dissect.DefaultLimits.Parts}}
	p := &play{t: t}
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "requests":
			c.Limits.Requests = n
		case "flows":
			c.Limits.Flows = n
		case "peers":
			c.Limits.Peers = n
		case "idle":
			c.Limits.Idle = time.Duration(n) * time.Second
		case "exchanges":
			c.Ended = p.ended
		case "copies":
			c.KeepCopies = true
		}
	}
	c.Protocols = []*dissect.Protocol{new(fake).protocol("fake", options), new(fake).protocol("kin", options)}
	p.a = must.Get(dissect.New(c, p))(t)
	begin := nettext.Either(slices.Contains(options, "1970"), time.Unix(0, 0), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	frame := uint64(0)
	for _, step := range steps {
		p.out.WriteString(step + "\n")
		words := strings.Fields(step)
		if words[0] == "flush" {
			n, _ := strconv.Atoi(words[1])
			p.a.Inner(core.Only{}).FlushSome(uint64(n), 0)
			continue
		}
		if words[0] == "pending" {
			p.a.Inner(core.Only{}).Pending(p.ended)
			continue
		}
		if words[0] == "end" {
			p.a.Flush()
			p.counts()
			continue
		}
		n, from, repeated := strings.Cut(words[0], "x")
		times := 1
		if repeated {
			times, _ = strconv.Atoi(n)
		} else {
			from = n
		}
		at := must.Get(time.ParseDuration(from))(t)
		now := begin.Add(at)
		if words[1] == "=" {
			p.a.Advance(now)
			continue
		}
		before := p.out.Len()
		for i := range times {
			for message := range strings.SplitSeq(strings.TrimPrefix(step, words[0]), "|") {
				if repeated {
					message = strings.ReplaceAll(message, "%", strconv.Itoa(i))
					now = now.Add(20 * time.Millisecond)
				}
				frame++
				d := datagram(t, message, frame, begin, now)
				if message = strings.TrimSpace(message); message[0] != 'x' {
					p.a.Datagram(d)
					continue
				}
				p.a.ICMP(&dissect.ICMPError{Frame: frame, Time: now, From: d.Dst.Addr(), Type: 3, Code: 3, Length: len(d.Payload), Payload: d.Payload, Src: d.Src, Dst: d.Dst})
			}
		}
		if told := p.out.String()[before:]; strings.Count(told, "\n") > 4 && repeated {
			lines := strings.SplitAfter(told, "\n")
			told = lines[0] + "\t...\n" + lines[len(lines)-2]
			kept := p.out.String()[:before]
			p.out.Reset()
			p.out.WriteString(kept + told)
		}
	}
	return p.out.String()
}

// TestPairingTranscripts plays testdata/pairing.txt: requests and replies at the
// edges of what pairs them, and what is said of them.
func TestPairingTranscripts(t *testing.T) {
	const name = "testdata/pairing.txt"
	data := must.Get(os.ReadFile(name))(t)
	intro, rest, _ := strings.Cut(string(data), "\n## ")
	updated := strings.TrimSpace(intro) + "\n"
	for section := range strings.SplitSeq(rest, "\n## ") {
		section = strings.TrimSpace(section) + "\n"
		head, body, _ := strings.Cut(section, "\n")
		title, options, _ := strings.Cut(head, ":")
		var steps []string
		for line := range strings.Lines(body) {
			if line = strings.TrimRight(line, "\n"); line != "" && line[0] != '\t' && line[0] != '#' {
				steps = append(steps, line)
			}
		}
		t.Run(title, func(t *testing.T) {
			got := head + "\n" + playTranscript(t, strings.Fields(options), steps)
			updated += "\n## " + got
			if got != section && !*update {
				t.Errorf("got:\n%s\nwant:\n%s", got, section)
			}
		})
	}
	if *update {
		must.Do(t, os.WriteFile(name, []byte(updated), 0o644))
	}
}
