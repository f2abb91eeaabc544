package htmlreport

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
)

// A ladder is a conversation as the template shows it.
type ladder struct {
	*stats.Talk
	Rungs []rung
	Left  int // messages that are not shown
}

// A rung is a message of a ladder.
type rung struct {
	*stats.TalkLine
	Since    time.Duration // the first message
	Contents string        // of the message
	Bytes    bool          // whether there is a byte view
	Findings []finding
}

// A finding is one at a message.
type finding struct{ Severity, Text string }

// A message is what the script needs for the byte view: hex, and fields as [offset, length, name, value].
type message struct {
	Bytes  string   `json:"b,omitempty"`
	Length int      `json:"n"`
	Fields [][4]any `json:"f,omitempty"`
}

// Conversations are shown up to this many, of so many messages, and while their text fits.
const (
	maxLadders  = 20
	maxRungs    = 40
	ladderBytes = 200 << 10
	talkBytes   = 2 << 20 // of one alone
	rungBytes   = 700     // of HTML around the texts of a message
)

// climb makes the ladders, of so many bytes, and returns the bytes of their messages for the script.
func (p *page) climb(room int) [][]message {
	all := [][]message{}
	for i := range p.Talks {
		t := &p.Talks[i]
		if i == maxLadders || room < 3*rungBytes {
			p.LaddersLeft = len(p.Talks) - i
			break
		}
		l, messages := ladder{Talk: t}, []message{}
		for k := range t.Messages {
			m := &t.Messages[k]
			if k == maxRungs || room < rungBytes {
				l.Left = len(t.Messages) - k
				break
			}
			r := rung{TalkLine: m, Since: m.Time.Sub(t.Messages[0].Time), Contents: contents(m)}
			for _, f := range m.Findings {
				severity, text, ok := strings.Cut(f, ": ")
				if !ok {
					severity, text = "note", f
				}
				r.Findings = append(r.Findings, finding{severity, escaped(text)})
				room -= len(text) + 100
			}
			room -= rungBytes + len(r.Contents) + len(m.Message)
			fields := nettext.Each(m.Fields, func(f stats.TalkField) [4]any { return [4]any{f.Offset, f.Length, escaped(f.Name), escaped(f.Value)} })
			b := message{Bytes: m.Bytes, Length: m.Length, Fields: fields}
			text, err := json.Marshal(b)
			if r.Bytes = err == nil && m.Bytes != "" && len(text) < room; !r.Bytes {
				b = message{}
			} else {
				room -= len(text)
			}
			l.Rungs = append(l.Rungs, r)
			messages = append(messages, b)
		}
		p.Ladders = append(p.Ladders, l)
		all = append(all, messages)
	}
	return all
}

// contents returns the summary of a message, without its title if that is the name of the message.
func contents(m *stats.TalkLine) string {
	title, rest, _ := strings.Cut(m.Summary, "  ")
	return escaped(nettext.Either(title == words(m.Message), rest, m.Summary))
}

// TalkOf returns the number of the conversation that is shown for a finding, "" if there is none.
func (p *page) TalkOf(id string) string {
	return found(slices.IndexFunc(p.Ladders, func(l ladder) bool { return l.Why == id || slices.Contains(l.Also, id) }))
}

// TalkSentence says which conversations are shown.
func (p *page) TalkSentence() string {
	switch first, last := &p.Ladders[0], &p.Ladders[len(p.Ladders)-1]; {
	case first.Why == "":
		return "One conversation of each protocol in which a server replied."
	case last.Why != "":
		return "The first conversation with each type of finding."
	}
	return "The first conversation with each type of finding, then one of each protocol."
}
