package qdissecttest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// A Message is a message of a capture. Texts are decoded, as in the JSON output of
// qdissect.
type Message struct {
	// Frame is the number of the last frame of the message, from 1. Frames are all its
	// frames; it is nil if there is only one.
	Frame  uint64
	Frames []uint64
	Time   time.Time
	// Src and Dst are the sender and the receiver.
	Src, Dst netip.AddrPort
	// Protocol is the name of the protocol, such as "a2s". It is "unknown" for a
	// datagram that no protocol recognises; then Data is the payload.
	Protocol string
	Data     []byte
	// Name is the name of the message type, such as "info_reply".
	Name string
	Role dissect.Role
	// Length is the size in bytes after reassembly and decompression.
	Length int
	// Summary is a short description.
	Summary string
	// Body is a pointer to the struct of the protocol, such as *a2s.InfoReply, with
	// texts as on the wire; see [Body]. It is nil if the protocol is unknown.
	Body any

	// Server is what the message says about a server, or nil.
	Server *Server
	// Players, Rules and Teams are the lists in the message.
	Players []Player
	Rules   []dissect.KeyValue
	Teams   []Team
	// Findings are the findings about the message.
	Findings []Finding

	// Request is the request that this message answers. Replies are the replies to
	// this message.
	Request *Message
	Replies []*Message
	// RTT is the time from the request to the first part of the reply.
	RTT time.Duration

	// JSON is the object that qdissect -o jsonl writes for the message.
	JSON json.RawMessage
}

// A Server is what a reply says about a server. Missing values are zero.
type Server struct {
	Name       string `json:"name"` // without colour codes
	Map        string `json:"map"`
	Game       string `json:"game"`
	Version    string `json:"version"`
	Players    int    `json:"players"`
	MaxPlayers int    `json:"max_players"`
	Bots       int    `json:"bots"`
	Password   bool   `json:"password"`
}

// A Player is an entry of a list of players.
type Player struct {
	Name string
	// Score and Ping are given by some protocols only.
	Score, Ping dissect.Opt[int]
	// Duration is the time since the player joined.
	Duration dissect.Opt[time.Duration]
	// Fields are all values of the entry under their names in the JSON output. Numbers
	// are of type [json.Number].
	Fields map[string]any
}

// A Team is an entry of a list of teams.
type Team struct {
	Name   string
	Score  dissect.Opt[int]
	Fields map[string]any
}

// A Finding is an error, a warning or a remark about a capture.
type Finding struct {
	// Frame is the frame that the finding is about.
	Frame    uint64
	Time     time.Time
	Src, Dst netip.AddrPort
	// Protocol is "" if it is unknown.
	Protocol string
	// ID identifies the type of finding, such as "a2s.players.count". qdissect
	// protocols --findings lists all types.
	ID       string
	Severity dissect.Severity
	Text     string
	// Field is the field that the finding is about, or "".
	Field string
}

// String returns the frame, severity, ID and text.
func (f Finding) String() string {
	return fmt.Sprintf("frame %d: %v: %s: %s", f.Frame, f.Severity, f.ID, f.Text)
}

// String returns the frame, protocol and name: "frame 4 a2s info_reply".
func (m Message) String() string {
	return strings.TrimRight(fmt.Sprintf("frame %d %s %s", m.Frame, m.Protocol, m.Name), " ")
}

// Messages returns the messages of a capture in order, and the datagrams that no
// protocol recognises. Split messages are reassembled. It fails the test if the
// capture cannot be read to its end.
func Messages(t testing.TB, path string) []Message {
	t.Helper()
	return collect(t, path).messages()
}

// Findings returns all findings of a capture: those about messages and others, such as
// unanswered requests. It fails the test if the capture cannot be read to its end.
func Findings(t testing.TB, path string) []Finding {
	t.Helper()
	var all []Finding
	c := collect(t, path)
	for _, i := range c.order {
		all = append(all, c.found[i].message.Findings...)
	}
	return all
}

// Body returns the body of a message as the struct of the protocol:
//
//	info := qdissecttest.Body[a2s.InfoReply](t, m)
//
// It fails the test if the body has a different type.
func Body[T any](t testing.TB, m Message) *T {
	t.Helper()
	body, ok := m.Body.(*T)
	if !ok {
		t.Fatalf("the body of %s is a %T, not a %T", m, m.Body, body)
	}
	return body
}

// Bodies returns the bodies of type T.
func Bodies[T any](messages []Message) []*T {
	var all []*T
	for i := range messages {
		if body, ok := messages[i].Body.(*T); ok {
			all = append(all, body)
		}
	}
	return all
}

// A found is a message, or a finding without a message.
type found struct {
	message Message
	alone   bool
	request uint64 // its frame
}

// A collector is a reporter that keeps messages and findings. Its output is the
// index of each, which the pipeline puts in the order of frames.
type collector struct {
	*report.JSON
	kept *[]found
	buf  []byte
}

// collected holds the contents of a capture.
type collected struct {
	found []found
	order []int
}

func collect(t testing.TB, path string) *collected {
	t.Helper()
	var c collected
	var out bytes.Buffer
	var trouble error
	_, err := pipeline.Run(pipeline.Options{
		Inputs: []string{path}, Out: &out,
		Reporter: func() report.Reporter { return &collector{JSON: report.NewJSON(report.JSONOptions{}), kept: &c.found} },
		Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign(), Tree: true},
		All:      true,
		Trouble:  func(err error) { trouble = err },
	})
	if err = cmp.Or(err, trouble); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		i, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		c.order = append(c.order, i)
	}
	return &c
}

// messages returns the messages with their requests and replies.
func (c *collected) messages() []Message {
	list := make([]Message, 0, len(c.order))
	type sent struct {
		frame    uint64
		src, dst netip.AddrPort
	}
	requests := make(map[sent]*Message)
	for _, i := range c.order {
		f := &c.found[i]
		if f.alone {
			continue
		}
		list = append(list, f.message) // never grows: there are pointers to its elements
		m := &list[len(list)-1]
		if m.Role != dissect.Reply { // a heartbeat can be answered
			requests[sent{m.Frame, m.Src, m.Dst}] = m
		}
		if f.request == 0 {
			continue
		}
		if r := requests[sent{f.request, m.Dst, m.Src}]; r != nil {
			m.Request = r
			r.Replies = append(r.Replies, m)
		}
	}
	return list
}

// Begin implements [report.Reporter].
func (c *collector) Begin(report.Capture) error { return nil }

// End implements [report.Reporter].
func (c *collector) End(*report.Summary) error { return nil }

// Bytes returns the indexes of the entries kept since Reset.
func (c *collector) Bytes() []byte { return c.buf }

// Reset implements [report.Reporter].
func (c *collector) Reset() { c.buf = c.buf[:0] }

// line returns the object that the JSON reporter has just written.
func (c *collector) line() []byte {
	b := bytes.TrimSpace(bytes.Clone(c.JSON.Bytes()))
	c.JSON.Reset()
	return b
}

func (c *collector) keep(f found) {
	c.buf = strconv.AppendInt(c.buf, int64(len(*c.kept)), 10)
	c.buf = append(c.buf, '\n')
	*c.kept = append(*c.kept, f)
}

// Record implements [report.Reporter].
func (c *collector) Record(r *dissect.Record) error {
	c.JSON.Record(r)
	m := Message{
		Frame: r.Frame, Frames: slices.Clone(r.Frames), Time: r.Time, Src: r.Src, Dst: r.Dst,
		Protocol: r.Protocol.Name, Name: r.Type.Name, Role: r.Type.Role, Length: r.Length,
		Body: r.Message.Clone().Body, RTT: r.RTT, JSON: c.line(),
	}
	if len(m.Frames) < 2 {
		m.Frames = nil
	}
	m.read()
	for i := range r.Findings {
		f := &r.Findings[i]
		m.Findings = append(m.Findings, Finding{
			Frame: m.Frame, Time: m.Time, Src: m.Src, Dst: m.Dst, Protocol: m.Protocol,
			ID: f.Type.ID, Severity: f.Type.Severity, Text: string(f.AppendText(nil)),
		})
		if f.Field != nil {
			m.Findings[i].Field = f.Field.JSONName()
		}
	}
	c.keep(found{message: m, request: r.RequestFrame})
	return nil
}

// Unknown implements [report.Reporter].
func (c *collector) Unknown(u *dissect.Unknown) error {
	c.JSON.Unknown(u)
	m := Message{
		Frame: u.Frame, Frames: slices.Clone(u.Frames), Time: u.Time, Src: u.Src, Dst: u.Dst,
		Protocol: "unknown", Data: bytes.Clone(u.Payload), Length: len(u.Payload), Role: dissect.OneWay, JSON: c.line(),
	}
	m.read()
	c.keep(found{message: m})
	return nil
}

// Finding implements [report.Reporter].
func (c *collector) Finding(f *dissect.FlowFinding) error {
	kept := Finding{Frame: f.Frame, Time: f.Time, Src: f.Src, Dst: f.Dst, ID: f.Type.ID, Severity: f.Type.Severity, Text: string(f.AppendText(nil))}
	if f.Protocol != nil {
		kept.Protocol = f.Protocol.Name
	}
	c.keep(found{message: Message{Findings: []Finding{kept}}, alone: true})
	return nil
}

// read sets the fields that protocols have in common, from the JSON.
func (m *Message) read() {
	var d jsonl.Document
	// The JSON comes from this module and is valid.
	if err := d.Parse(m.JSON); err != nil {
		panic("qdissecttest: " + err.Error())
	}
	m.Summary = d.Str(0, "summary")
	if server := d.Raw(0, "server"); server != nil {
		if err := json.Unmarshal(server, &m.Server); err != nil {
			panic("qdissecttest: " + err.Error())
		}
	}
	fields := d.Fields()
	for _, row := range rows(d.Raw(fields, "players")) {
		p := Player{Name: text(row["name"]), Score: number(row, "score"), Ping: number(row, "ping"), Fields: row}
		if n, ok := row["duration_s"].(json.Number); ok {
			if s, err := n.Float64(); err == nil {
				p.Duration = dissect.Some(time.Duration(s * float64(time.Second)))
			}
		}
		m.Players = append(m.Players, p)
	}
	for _, row := range rows(d.Raw(fields, "rules")) {
		m.Rules = append(m.Rules, dissect.KeyValue{Key: text(row["key"]), Value: text(row["value"])})
	}
	for _, row := range rows(d.Raw(fields, "teams")) {
		m.Teams = append(m.Teams, Team{Name: text(row["name"]), Score: number(row, "score"), Fields: row})
	}
}

// rows returns a list of objects. It returns nil if b is not a list, because a message
// may have a number of the same name.
func rows(b json.RawMessage) (list []map[string]any) {
	if len(b) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if d.Decode(&list) != nil {
		return nil
	}
	return list
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// number returns a number, including one that JSON has as text.
func number(row map[string]any, key string) (n dissect.Opt[int]) {
	v := row[key]
	if v == nil {
		v = row[key+core.TextSuffix]
	}
	if i, err := strconv.Atoi(text(v)); err == nil {
		return dissect.Some(i)
	}
	return n
}
