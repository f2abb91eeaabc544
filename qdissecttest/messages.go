package qdissecttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// A Message is one message of a capture. Texts are decoded and as in the JSON
// output of qdissect.
type Message struct {
	// Frame is the number of the frame that completed it, from 1; Frames are
	// all that carried it, nil if that was one.
	Frame  uint64
	Frames []uint64
	Time   time.Time
	// Src sent it to Dst.
	Src, Dst netip.AddrPort
	// Protocol is "a2s" for example, and "unknown" for a datagram that no
	// protocol recognised, of which Data is the payload.
	Protocol string
	Data     []byte
	// Name is that of the type of message: "info_reply".
	Name string
	Role dissect.Role
	// Length is its size in bytes: joined, and unfolded if it was compressed.
	Length int
	// Summary is what it says in a few words.
	Summary string
	// Body is a pointer to the protocol's own struct, *a2s.InfoReply for
	// example, with the texts as on the wire: see [Body]. It is nil if the
	// protocol is unknown.
	Body any

	// Server is what the message states of a server, nil if it states
	// nothing.
	Server *Server
	// Players, Rules and Teams are those that it lists.
	Players []Player
	Rules   []dissect.KeyValue
	Teams   []Team
	// Findings are what is wrong with it or noteworthy.
	Findings []Finding

	// Request is the message that this one answers, Replies are those that
	// answer this one.
	Request *Message
	Replies []*Message
	// RTT is the time from the request to the first part of this reply.
	RTT time.Duration

	// JSON is the object that qdissect -o jsonl writes of it.
	JSON json.RawMessage
}

// A Server is what a reply states of a server. What it does not state is zero.
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

// A Player is one line of a list of players.
type Player struct {
	Name string
	// Score and Ping are stated by some protocols.
	Score, Ping dissect.Opt[int]
	// Duration is how long the player has been there.
	Duration dissect.Opt[time.Duration]
	// Fields are all columns under their names in the JSON output, numbers as
	// [json.Number].
	Fields map[string]any
}

// A Team is one line of a list of teams.
type Team struct {
	Name   string
	Score  dissect.Opt[int]
	Fields map[string]any
}

// A Finding is something noteworthy or wrong.
type Finding struct {
	// Frame is the frame it is about most.
	Frame    uint64
	Time     time.Time
	Src, Dst netip.AddrPort
	// Protocol is "" if none was recognised.
	Protocol string
	// ID names the kind of finding: "a2s.players.count". qdissect protocols
	// --findings lists all of them.
	ID       string
	Severity dissect.Severity
	Text     string
	// Field is the field it is about, "" if it is about no single one.
	Field string
}

// String says what was found where.
func (f Finding) String() string {
	return fmt.Sprintf("frame %d: %v: %s: %s", f.Frame, f.Severity, f.ID, f.Text)
}

// String names the message: "frame 4 a2s info_reply".
func (m Message) String() string {
	return strings.TrimRight(fmt.Sprintf("frame %d %s %s", m.Frame, m.Protocol, m.Name), " ")
}

// Messages returns the messages of a capture in their order, split ones joined,
// with the datagrams that nothing recognised. It fails the test if the capture
// cannot be read to its end.
func Messages(t testing.TB, path string) []Message {
	t.Helper()
	c := collect(t, path)
	return c.messages()
}

// Findings returns everything that is noteworthy or wrong in a capture: what
// belongs to a message, and what belongs to none, like a request that nobody
// answered. It fails the test if the capture cannot be read to its end.
func Findings(t testing.TB, path string) []Finding {
	t.Helper()
	var all []Finding
	c := collect(t, path)
	for _, i := range c.order {
		all = append(all, c.found[i].message.Findings...)
	}
	return all
}

// Body returns the body of a message as the protocol's own struct:
//
//	info := qdissecttest.Body[a2s.InfoReply](t, m)
//
// It fails the test if the message has another one.
func Body[T any](t testing.TB, m Message) *T {
	t.Helper()
	body, ok := m.Body.(*T)
	if !ok {
		t.Fatalf("the body of %s is a %T, not a %T", m, m.Body, body)
	}
	return body
}

// Bodies returns the bodies of those messages that have such a one.
func Bodies[T any](messages []Message) []*T {
	var all []*T
	for i := range messages {
		if body, ok := messages[i].Body.(*T); ok {
			all = append(all, body)
		}
	}
	return all
}

// found is one message, or a finding that belongs to none.
type found struct {
	message Message
	alone   bool
	request uint64 // its frame
}

// collector is a reporter that keeps what it is told. What it writes are the
// numbers of what it keeps: the pipeline brings that into the order of frames.
type collector struct {
	*report.JSON
	kept *[]found
	buf  []byte
}

// collected is all that was found in a capture.
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
	if err == nil {
		err = trouble
	}
	if err != nil {
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
	n := 0
	for i := range c.found {
		if !c.found[i].alone {
			n++
		}
	}
	list := make([]Message, 0, n)
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

// Begin has nothing to keep.
func (c *collector) Begin(report.Capture) error { return nil }

// End has nothing to keep.
func (c *collector) End(*report.Summary) error { return nil }

// Bytes returns the numbers of what was kept since Reset.
func (c *collector) Bytes() []byte { return c.buf }

// Reset empties the buffer.
func (c *collector) Reset() { c.buf = c.buf[:0] }

// line returns the object that the reporter beneath has just written.
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

// Record keeps a message.
func (c *collector) Record(r *dissect.Record) error {
	c.JSON.Record(r)
	m := Message{
		Frame: r.Frame, Frames: slices.Clone(r.Frames), Time: r.Time, Src: r.Src, Dst: r.Dst,
		Protocol: r.Protocol.Name, Name: r.Type.Name, Role: r.Type.Role, Length: r.Length,
		Body: own(r.Body), RTT: r.RTT, JSON: c.line(),
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

// Unknown keeps a datagram that nothing recognised.
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

// Finding keeps a finding that belongs to no single message.
func (c *collector) Finding(f *dissect.FlowFinding) error {
	kept := Finding{
		Frame: f.Frame, Time: f.Time, Src: f.Src, Dst: f.Dst,
		ID: f.Type.ID, Severity: f.Type.Severity, Text: string(f.AppendText(nil)),
	}
	if f.Protocol != nil {
		kept.Protocol = f.Protocol.Name
	}
	c.keep(found{message: Message{Findings: []Finding{kept}}, alone: true})
	return nil
}

// read takes from the JSON of a message what protocols have in common.
func (m *Message) read() {
	var d jsonl.Document
	// It is the output of this module, which is JSON.
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

// rows returns a list of objects; none if b is something else: a message may
// have a number with the name of the list.
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

// number returns a number, also one that JSON would write in another way.
func number(row map[string]any, key string) (n dissect.Opt[int]) {
	v := row[key]
	if v == nil {
		v = row[key+dissect.TextSuffix]
	}
	if i, err := strconv.Atoi(text(v)); err == nil {
		return dissect.Some(i)
	}
	return n
}

// module is where the types are declared that may hold what is borrowed.
const module = "github.com/qdissect/qdissect/"

// own returns a copy of a body that outlives the call that the body is borrowed
// for.
func own(body any) any {
	if body == nil {
		return nil
	}
	v := reflect.New(reflect.TypeOf(body)).Elem()
	v.Set(reflect.ValueOf(body))
	ownValue(v)
	return v.Interface()
}

// ownValue replaces everything that a value points to by copies. v can be set.
func ownValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Clone(v.String()))
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		v.Set(list)
		for i := range v.Len() {
			ownValue(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			ownValue(v.Index(i))
		}
	case reflect.Pointer:
		if v.IsNil() || !strings.HasPrefix(v.Type().Elem().PkgPath(), module) {
			return
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(v.Elem())
		ownValue(p.Elem())
		v.Set(p)
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		inner := reflect.New(v.Elem().Type()).Elem()
		inner.Set(v.Elem())
		ownValue(inner)
		v.Set(inner)
	case reflect.Struct:
		// Times and addresses are values; what they point to is nobody's to
		// copy.
		if path := v.Type().PkgPath(); path != "" && !strings.HasPrefix(path, module) {
			return
		}
		for i := range v.NumField() {
			f := v.Field(i)
			// What is not exported may be borrowed too.
			ownValue(reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem())
		}
	}
}
