package talks

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/report"
)

const (
	// maxList is the number of conversations of a report; so many of them are whole ones, if there are as many.
	maxList  = 20
	maxWhole = 6
	// maxShown is the number of bytes of a message that are shown, and maxFields that of the fields.
	maxShown  = 512
	maxFields = 128
)

// List returns the conversations for a report with these findings and files: those of findings in their order, each once,
// then whole ones. The configuration is that of the analyzers.
func (t *Talks) List(findings []stats.Finding, c dissect.Config, files []stats.File) []stats.Talk {
	var list []*talk
	also := make(map[*talk][]string)
	for _, f := range findings {
		k := t.talks[f.ID]
		if k == nil || !slices.ContainsFunc(k.messages, func(m message) bool { return len(m.data) > 0 }) {
			continue
		}
		if at := slices.IndexFunc(list, k.shownBy); at >= 0 {
			also[list[at]] = append(also[list[at]], f.ID)
			continue
		}
		list = append(list, k)
	}
	whole := slices.DeleteFunc(slices.Collect(maps.Values(t.talks)), func(k *talk) bool { return k.why != nil || slices.ContainsFunc(list, k.shownBy) })
	slices.SortFunc(whole, func(a, b *talk) int {
		return cmp.Or(cmp.Compare(a.input, b.input), cmp.Compare(a.found, b.found), cmp.Compare(a.protocol.Name, b.protocol.Name))
	})
	whole = whole[:min(len(whole), max(maxWhole, maxList-len(list)))]
	list = append(list[:min(len(list), maxList-len(whole))], whole...)
	talks := []stats.Talk{}
	c.Tree, c.KeepCopies, c.Budget, c.Limits = true, true, nil, dissect.Limits{}
	if c.Share, _ = dissect.New(c, &player{}); c.Share == nil {
		return talks // there is no such configuration: the run has used it
	}
	for _, k := range list {
		s := k.show(c, files)
		s.Also = also[k]
		talks = append(talks, s)
	}
	return talks
}

// shownBy reports whether another conversation shows the message for which k is kept, and all that is said of it.
func (k *talk) shownBy(o *talk) bool {
	i, n := k.at(k.found), o.at(k.found)
	return k.input == o.input && i >= 0 && n >= 0 && len(o.messages[n].data) == len(k.messages[i].data) && len(o.messages[n].findings) >= len(k.messages[i].findings)
}

// at returns the place of the message of a frame, -1 if it is not there.
func (k *talk) at(frame uint64) int {
	return slices.IndexFunc(k.messages, func(m message) bool { return m.frame == frame })
}

// show returns the conversation as a report has it.
func (k *talk) show(c dissect.Config, files []stats.File) stats.Talk {
	slices.SortStableFunc(k.messages, func(a, b message) int { return cmp.Compare(a.frame, b.frame) })
	k.orient()
	k.ask()
	s := stats.Talk{Protocol: k.protocol.Name, Client: k.client.String(), Server: k.server.String()}
	if k.why != nil {
		s.Why, s.Severity = k.why.ID, k.why.Severity.String()
	}
	var frames []string
	for _, m := range k.messages {
		frames = append(frames, fmt.Sprint(m.frame))
		l := stats.TalkLine{Frame: m.frame, Time: m.time.UTC(), Up: m.src == k.client, Length: m.length, RTT: m.rtt, Findings: m.findings, Summary: m.summary}
		if m.kind != nil {
			l.Message = m.kind.Name
		}
		s.Messages = append(s.Messages, l)
	}
	// What cannot be recognised without the rest of the capture is dissected as what it was recognised as.
	for _, forced := range []bool{false, true} {
		k.replay(c, s.Messages, forced)
	}
	s.Command = "qdissect -V -Y 'frame in " + strings.Join(frames, ",") + "'"
	if k.input < len(files) {
		s.File = files[k.input].Name
		s.Command += " " + files[k.input].Word
	}
	return s
}

// orient finds out which end is the server: the one whose message answers a request, or else the one that replies.
func (k *talk) orient() {
	best := 0
	for _, m := range k.messages {
		weight := 0
		switch {
		case m.kind == nil:
		case m.request != 0:
			weight = 3
		case m.kind.Role == dissect.Reply:
			weight = 2
		case len(m.findings) == 0:
			weight = 1
		}
		if weight > best {
			best = weight
			if k.client, k.server = m.src, m.dst; m.kind.Role == dissect.Reply {
				k.client, k.server = m.dst, m.src
			}
		}
	}
}

// ask adds the request of the message with the finding, if it is known only by its frame. Other replies whose request is
// not kept are left out at the beginning.
func (k *talk) ask() {
	for len(k.messages) > 1 && k.messages[0].frame != k.found && k.messages[0].request != 0 && k.at(k.messages[0].request) < 0 {
		k.messages = k.messages[1:]
	}
	if i := k.at(k.found); i >= 0 && k.messages[i].request != 0 && k.at(k.messages[i].request) < 0 {
		m := &k.messages[i]
		k.messages = append(k.messages, message{frame: m.request, time: m.time.Add(-m.rtt), src: m.dst, dst: m.src})
		slices.SortStableFunc(k.messages, func(a, b message) int { return cmp.Compare(a.frame, b.frame) })
	}
}

// replay dissects the datagrams of a conversation, and adds to those lines that have no bytes yet.
func (k *talk) replay(c dissect.Config, lines []stats.TalkLine, forced bool) {
	left := false
	for i := range lines {
		left = left || lines[i].Bytes == "" && len(k.messages[i].data) > 0
	}
	if !left {
		return
	}
	if forced {
		c.DecodeAs = map[uint16]*dissect.Protocol{k.server.Port(): k.protocol, k.client.Port(): k.protocol}
	}
	a, err := dissect.New(c, &player{k, lines})
	if err != nil {
		return
	}
	for _, m := range k.messages {
		at := 0
		for _, p := range m.parts {
			d := dissect.Datagram{Frame: p.frame, Time: m.time, First: m.time, Src: m.src, Dst: m.dst, Payload: m.data[at : at+p.n], Missing: m.missing}
			at += p.n
			a.Datagram(&d)
		}
	}
	a.Flush()
}

// A player takes the messages of a conversation that is dissected again.
type player struct {
	*talk
	lines []stats.TalkLine
}

// Record adds what a message says.
func (p *player) Record(r *dissect.Record) {
	at := slices.IndexFunc(p.lines, func(l stats.TalkLine) bool { return l.Frame == r.Frame })
	if at < 0 || p.lines[at].Bytes != "" || p.messages[at].kind != nil && p.messages[at].kind.Role != r.Type.Role {
		return
	}
	Fill(&p.lines[at], r, maxShown, maxFields)
}

// Fill adds to a line what a message says, with the first of its bytes and of the fields in them.
func Fill(l *stats.TalkLine, r *dissect.Record, bytes, fields int) {
	l.Message, l.Length, l.Summary = r.Type.Name, r.Length, string(r.AppendSummary(nil))
	source := 0
	for i := range r.Sources {
		if r.Sources[i].Frame == 0 {
			source = i // joined or decompressed
		}
	}
	data, leaves := report.Leaves(r, source)
	l.Bytes = hex.EncodeToString(data[:min(len(data), bytes)])
	for _, f := range leaves[:min(len(leaves), fields)] {
		if f.Offset < bytes {
			l.Fields = append(l.Fields, stats.TalkField(f))
		}
	}
}

func (p *player) Unknown(*dissect.Unknown)     {}
func (p *player) Finding(*dissect.FlowFinding) {}
