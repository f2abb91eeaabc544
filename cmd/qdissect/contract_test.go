package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/report"
)

// The keys of messages and findings before and after the fields of the protocol, in
// the order of the contract.
var (
	keysBefore = strings.Fields(`type frame frames time src_ip src_port dst_ip dst_port flow_id interface vlan protocol message role length wire_length
		detect split request_frame rtt_ns rtt_ambiguous over_tcp alternatives icmp_frame summary`)
	keysAfter = []string{"server", "findings", "data"}
)

// A contract records what the outputs contain.
type contract struct {
	*testing.T
	fields map[string]bool       // keys with the fields of a protocol
	order  []string              // keys of messages and findings
	types  map[string]jsonl.Kind // types by path, over all outputs
	where  map[string]string     // first place by path
	flows  map[string]string     // flow ids
}

// TestContract reads all goldens and checks what a schema cannot state. A path has one
// type in all lines and protocols. Keys have one order, and findings one form. The
// numbers of the summary agree with the lines and add up.
func TestContract(t *testing.T) {
	if report.Schema != jsonl.Schema {
		t.Errorf("written is %s, read is %s", report.Schema, jsonl.Schema)
	}
	c := &contract{t, make(map[string]bool), slices.Clone(keysBefore), make(map[string]jsonl.Kind), make(map[string]string), make(map[string]string)}
	for _, p := range all.Protocols() {
		if key := p.JSONKey(); slices.Contains(keysBefore, key) || slices.Contains(keysAfter, key) {
			t.Errorf("a protocol has the name of the key %s", key)
		}
		c.fields[p.JSONKey()] = true
		c.order = append(c.order, p.JSONKey())
	}
	c.order = append(c.order, keysAfter...)
	for _, path := range captures(t) {
		c.read(golden.Path(path))
	}
	if len(c.types) < 500 || len(c.flows) < 500 {
		t.Errorf("%d paths and %d conversations are too few to say anything", len(c.types), len(c.flows))
	}
}

// sums are the numbers of a summary by path.
type sums map[string]uint64

// read reads a golden.
func (c *contract) read(path string) {
	f := must.Get(os.Open(path))(c)
	defer f.Close()
	r := jsonl.NewReader(f)
	var d jsonl.Document
	counted := sums{}
	last := ""
	for number := 1; ; number++ {
		b, line, err := r.Next()
		if err != nil {
			break
		}
		if err := d.Parse(b); err != nil {
			c.Fatalf("%s:%d: %v", path, line, err)
		}
		where := path + ":" + strconv.Itoa(line)
		c.kinds(where, "", &d, 0)
		if last = d.Type(); (last == "capture") != (number == 1) {
			c.Errorf("%s: the line %d is a %s", where, number, last)
		}
		switch last {
		case "message", "finding":
			c.line(where, &d, counted)
		case "summary":
			c.summary(where, &d, counted)
		}
	}
	if last != "summary" {
		c.Errorf("%s does not end with a summary", path)
	}
}

// kinds compares the types of all values with those in other lines. All numbers have
// one type, with or without a fraction.
func (c *contract) kinds(where, path string, d *jsonl.Document, n int) {
	kind := d.Nodes[n].Kind
	if seen, ok := c.types[path]; !ok {
		c.types[path], c.where[path] = kind, where
	} else if seen != kind {
		c.Errorf("%s is of kind %d at %s and of kind %d at %s", path, kind, where, seen, c.where[path])
	}
	if kind == jsonl.Null {
		c.Errorf("%s: %s is null", where, path)
	}
	for i := range d.In(n) {
		next := path + "[]"
		if kind == jsonl.Object {
			next = path + "." + string(d.Nodes[i].Key)
		}
		c.kinds(where, next, d, i)
	}
}

// line checks and counts a message or a finding.
func (c *contract) line(where string, d *jsonl.Document, counted sums) {
	protocol := d.Str(0, "protocol")
	at := 0
	for i := range d.In(0) {
		key := string(d.Nodes[i].Key)
		k := slices.Index(c.order, key)
		if k < at {
			c.Errorf("%s: %s is not where it should be", where, key)
		}
		at = max(at, k)
		if c.fields[key] && key != jsonl.FieldsKey(protocol) {
			c.Errorf("%s: the fields of %s stand in a message of %s", where, key, protocol)
		}
	}
	if id := d.Str(0, "flow_id"); id != "" {
		ends := []string{d.End("src"), d.End("dst")}
		slices.Sort(ends)
		if was := c.flows[id]; was != "" && was != strings.Join(ends, " ") {
			c.Errorf("%s: %s is also the id of %s", where, id, was)
		}
		c.flows[id] = strings.Join(ends, " ")
	} else if d.Member(0, "src_port") >= 0 {
		c.Errorf("%s: no flow_id", where)
	}
	if n := d.Member(0, "findings"); n >= 0 {
		c.findings(where, d, n, counted)
	} else if d.Type() == "finding" {
		c.Errorf("%s: no findings", where)
	}
	if d.Type() == "finding" {
		return
	}
	if protocol == "unknown" {
		counted["unknown.datagrams"]++
		if s := d.Str(0, "summary"); s != "" {
			counted["unknown.guesses."+s]++
		}
		return
	}
	if d.Fields() < 0 {
		c.Errorf("%s: no fields", where)
	}
	counted["messages."+protocol]++
	counted["message_types."+protocol+"."+d.Str(0, "message")]++
	if d.Member(0, "rtt_ns") >= 0 {
		counted["round_trips."+protocol+".count"]++
	}
	if d.Member(0, "rtt_ambiguous") >= 0 {
		counted["ambiguous_round_trips"]++
	}
}

// findings checks and counts the findings of a line.
func (c *contract) findings(where string, d *jsonl.Document, n int, counted sums) {
	count := 0
	for i := range d.In(n) {
		count++
		var keys []string
		for k := range d.In(i) {
			keys = append(keys, string(d.Nodes[k].Key))
		}
		if got := strings.Join(keys, " "); !slices.Contains([]string{"id severity text", "id severity text field", "id severity text offset length", "id severity text field offset length"}, got) {
			c.Errorf("%s: a finding has %s", where, got)
		}
		counted["findings_by_id."+d.Str(i, "id")]++
		counted["findings_by_severity."+d.Str(i, "severity")]++
	}
	if count == 0 || d.Type() == "finding" && count > 1 {
		c.Errorf("%s: %d findings", where, count)
	}
}

// summary compares the summary with the counts.
func (c *contract) summary(where string, d *jsonl.Document, counted sums) {
	said := sums{}
	var gather func(path string, n int)
	gather = func(path string, n int) {
		for i := range d.In(n) {
			next := strings.TrimPrefix(path+"."+string(d.Nodes[i].Key), ".")
			if d.Nodes[i].Kind == jsonl.Object {
				gather(next, i)
			} else if u, err := strconv.ParseUint(string(d.Nodes[i].Raw), 10, 64); err == nil {
				said[next] = u
			}
		}
	}
	gather("", 0)
	for key, n := range counted {
		if said[key] != n {
			c.Errorf("%s: %s is %d, the lines have %d", where, key, said[key], n)
		}
	}
	for key, n := range said {
		top, _, _ := strings.Cut(key, ".")
		countable := slices.Contains([]string{"messages", "message_types", "findings_by_id", "findings_by_severity", "unknown", "ambiguous_round_trips"}, top) || strings.HasSuffix(key, ".count")
		if key == "unknown.game_traffic" {
			continue // no line says it
		}
		if countable && n != counted[key] {
			c.Errorf("%s: %s is %d, the lines have %d", where, key, n, counted[key])
		}
	}
	became := uint64(0)
	for _, key := range slices.Sorted(maps.Keys(said)) {
		if strings.HasPrefix(key, "requests.") && key != "requests.sent" {
			became += said[key]
		}
	}
	if became != said["requests.sent"] {
		c.Errorf("%s: of %d requests the summary says what became of %d", where, said["requests.sent"], became)
	}
	var trips struct {
		Of map[string]struct {
			Min uint64 `json:"min_ns"`
			P50 uint64 `json:"p50_ns"`
			P90 uint64 `json:"p90_ns"`
			P99 uint64 `json:"p99_ns"`
			Max uint64 `json:"max_ns"`
		} `json:"round_trips"`
	}
	if err := json.Unmarshal(d.Nodes[0].Raw, &trips); err != nil {
		c.Error(err)
	}
	for protocol, t := range trips.Of {
		if t.Min > t.P50 || t.P50 > t.P90 || t.P90 > t.P99 || t.P99 > t.Max {
			c.Errorf("%s: %s: %+v", where, protocol, t)
		}
	}
}
