package stats

import (
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"time"
)

// Schema names the format of a [Report] in JSON.
const Schema = "qdissect-report/1"

// A Report answers what happened to servers. It is made from an [Aggregate], and every view (JSON, page, text,
// terminal) shows nothing else. Lists are ordered by importance unless they say otherwise. Text from the network is
// raw: whoever shows it escapes it. Keys of JSON are those of the tags; times are RFC 3339 in UTC with nanoseconds.
type Report struct {
	Head
	Verdicts   []Verdict  `json:"verdicts"` // worst first, at most [mostVerdicts]
	Totals     Totals     `json:"totals"`
	Timeline   Timeline   `json:"timeline"`
	RoundTrips RoundTrips `json:"round_trips"`
	Kinds      []Kind     `json:"kinds"`
	Servers    []Server   `json:"servers"`
	Clients    []Client   `json:"clients"`
	Victims    []Client   `json:"victims"` // sources that never finish and to which much more went than came from them
	Limits     Limits     `json:"limits"`
	Rules      []Rule     `json:"rules"`
	Remedies   []Remedy   `json:"-"`        // the limits of Rules, for firewalls
	Findings   []Finding  `json:"findings"` // worst severity first
	Talks      []Talk     `json:"conversations"`
	Unknowns   []Guess    `json:"unknown,omitempty"`
	Unclear    []string   `json:"limits_hit,omitempty"` // sentences: what this report cannot know, or only in part
	Made       Made       `json:"made"`
	others     []Verdict  // those for which the list has no room
}

// A Head says what a report is about.
type Head struct {
	Type   string `json:"type"` // "report"
	Schema string `json:"schema"`
	// From and To are the times of the first and the last packet that counts.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Home are the networks of the servers that the report is about, and HomeBy is how they are known: "option" (--home),
	// "interface" (own addresses of a live capture), "replies" (hosts that reply).
	Home   []string `json:"home"`
	HomeBy string   `json:"home_by"`
}

// A Verdict is a sentence with the numbers that carry it.
type Verdict struct {
	// Kind is one of forged_flood, carpet, reflection, junk_flood, server_down, crowd_or_forged, drops_under_load, greedy_clients, no_reply,
	// long_replies_lost, not_answered, errors, slow, not_listed, list_hammering, growth, scanner, nothing_unusual, cannot_tell.
	Kind string `json:"kind"`
	// Certainty is certain (by proof), likely (two kinds of strong evidence), or possible.
	Certainty Certainty `json:"certainty"`
	Server    string    `json:"server,omitempty"`  // address and port; "" if it is about several
	Network   string    `json:"network,omitempty"` // if it is about one
	Servers   []string  `json:"servers,omitempty"` // if it is about several, or all that its sources asked
	Sources   []string  `json:"sources,omitempty"` // addresses, at most 10
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Text      string    `json:"text"`   // one sentence with numbers
	Advice    string    `json:"advice"` // what to do, one sentence
	// Evidence are the numbers, by name; in JSON an object in this order.
	Evidence Evidence `json:"evidence"`
	// Because is the evidence in words, and Doubt what would make it certain.
	Because []string `json:"because,omitempty"`
	Doubt   string   `json:"doubt,omitempty"`

	// also says how many other servers have the same trouble at the same time, if it is rather what they share.
	also string
	// of is the kind of request that it is about, if it is about one; of a server that stopped, where one of its name replies now; or one of
	// outage and otherTimes.
	of string
	// fill are the words of a cause that says the same.
	fill []string
}

// Totals count the whole report. Bytes are those of the IP packets on the wire.
type Totals struct {
	Packets   uint64 `json:"packets"`
	Datagrams uint64 `json:"datagrams"`
	Requests  uint64 `json:"requests"`
	Replies   uint64 `json:"replies"`
	// Challenges are the replies that only issue a challenge; they are among the replies.
	Challenges uint64 `json:"challenges"`
	Notices    uint64 `json:"notices"`
	Answered   uint64 `json:"answered"`
	// Unanswered are the requests that got no reply, with those that ICMP refused; so it is in series and cells.
	Unanswered uint64   `json:"unanswered"`
	Unknown    uint64   `json:"unknown"`
	Malformed  uint64   `json:"malformed"`
	BytesIn    uint64   `json:"bytes_in"`
	BytesOut   uint64   `json:"bytes_out"`
	Addresses  Distinct `json:"addresses"`
	// Requests by what their sources do: see [Class].
	Honest        uint64 `json:"requests_honest"`
	Greedy        uint64 `json:"requests_greedy"`
	NeverFinished uint64 `json:"requests_never_finished"`
	Servers       uint64 `json:"servers"`  // addresses and ports that were asked or replied, as far as the table had room
	Verdicts      int    `json:"verdicts"` // the list may hold fewer
	KernelLost    uint64 `json:"kernel_lost"`
	Evicted       uint64 `json:"evicted"`
}

// Distinct is a number of distinct addresses. Percent is its standard error, 0 if it is exact.
type Distinct struct {
	Count   uint64 `json:"count"`
	Percent int    `json:"error_percent"`
}

// A Series has one number for each bucket of the timeline.
type Series []uint64

// A Timeline counts per bucket. All series have the same length.
type Timeline struct {
	Start      time.Time     `json:"start"` // of the first bucket
	Width      time.Duration `json:"width_ns"`
	Requests   Series        `json:"requests"`
	Replies    Series        `json:"replies"`
	Challenges Series        `json:"challenges"`
	Unanswered Series        `json:"unanswered"` // at the time of the request
	Unknown    Series        `json:"unknown"`
	BytesIn    Series        `json:"bytes_in"`
	BytesOut   Series        `json:"bytes_out"`
	// Lost are packets that the kernel lost and requests that were evicted: where it is not 0, others are too low.
	Lost Series `json:"lost"`
	// Peak is an upper bound of the requests in any second.
	Peak uint64 `json:"peak_requests_per_second"`

	// Intervals divide the timeline for the tables by interval, at most 60. IntervalWidth is a multiple of Width.
	Intervals     int           `json:"intervals"`
	IntervalWidth time.Duration `json:"interval_width_ns"`
	IntervalStart time.Time     `json:"interval_start"` // of the first interval, at or before Start
}

// RoundTrips has the times to the first part of data replies; challenges and ambiguous ones are left out.
type RoundTrips struct {
	Count uint64        `json:"count"`
	P50   time.Duration `json:"p50_ns"`
	P90   time.Duration `json:"p90_ns"`
	P99   time.Duration `json:"p99_ns"`
	Max   time.Duration `json:"max_ns"`
	// Heat counts by time and duration. Columns divide the timeline evenly, rows are bounded by Bounds (upper bounds in
	// ascending order; the last is no bound): Heat[column][row]. Start is the time of the first column.
	Start       time.Time       `json:"start"`
	ColumnWidth time.Duration   `json:"column_width_ns"`
	Bounds      []time.Duration `json:"bounds_ns"`
	Heat        [][]uint64      `json:"heat"`
}

// A Kind is a kind of request of a protocol with what became of it.
type Kind struct {
	Protocol string  `json:"protocol"`
	Message  string  `json:"message"`
	Title    string  `json:"title"` // in prose: "info request"
	Requests uint64  `json:"requests"`
	Outcome  Outcome `json:"outcome"`
	BytesIn  uint64  `json:"bytes_in"`
	BytesOut uint64  `json:"bytes_out"` // of the replies to it
	Spark    Series  `json:"spark"`     // requests by interval
}

// An Outcome says what became of requests; the parts add up to all of them.
type Outcome struct {
	Answered      uint64 `json:"answered"`
	ChallengeOnly uint64 `json:"challenge_only"` // got a challenge and did not use it
	Late          uint64 `json:"answered_late"`
	Partial       uint64 `json:"answered_in_part"`
	Refused       uint64 `json:"refused"` // by ICMP
	Unanswered    uint64 `json:"unanswered"`
	Other         uint64 `json:"other"` // repeated, open at the end, one-sided, forgotten
}

// A Server is an address and port that is asked. Error is how many of its messages may be missing, because another one had
// its place in the table at first.
type Server struct {
	Address    string        `json:"address"` // ip:port
	Protocol   string        `json:"protocol"`
	Name       string        `json:"name,omitempty"` // the newest that it stated
	Map        string        `json:"map,omitempty"`
	Players    int           `json:"players"` // -1 if unknown
	Requests   uint64        `json:"requests"`
	Replies    uint64        `json:"replies"`
	Unknown    uint64        `json:"unknown"` // datagrams to it that no protocol recognises
	Outcome    Outcome       `json:"outcome"`
	ByProof    Proofs        `json:"by_proof"`
	Clients    Distinct      `json:"clients"`
	BytesIn    uint64        `json:"bytes_in"`
	BytesOut   uint64        `json:"bytes_out"`
	P50        time.Duration `json:"p50_ns"`
	P99        time.Duration `json:"p99_ns"`
	ICMP       string        `json:"icmp,omitempty"` // what the last ICMP error about it said, in words
	Incomplete uint64        `json:"incomplete"`     // replies that lack parts or fragments
	Home       bool          `json:"home"`
	Error      uint64        `json:"error"`
	// ByInterval has the requests, replies, unanswered requests, and bytes in and out of each interval.
	ByInterval []Cell `json:"by_interval"`
}

// Proofs count requests by what shows that their address hears the server, without those that repeat one or of which nobody knows what became.
type Proofs struct {
	Proven     Proved `json:"proven"`     // they return a challenge of the server
	Vouched    Proved `json:"vouched"`    // others of the same address, about the same time, are proven
	Unproven   Proved `json:"unproven"`   // the server asks for no proof, or did not reply
	Unreturned Proved `json:"unreturned"` // they got a challenge and did not return it
}

// A Proved counts requests, and those with a whole answer.
type Proved struct {
	Requests uint64 `json:"requests"`
	Complete uint64 `json:"complete"`
}

// A Client is an address that asks.
type Client struct {
	Address    string    `json:"address"` // without a port
	Class      Class     `json:"class"`
	Servers    uint64    `json:"servers"` // distinct ones, bounded
	Requests   uint64    `json:"requests"`
	Replies    uint64    `json:"replies"`
	Peak       uint64    `json:"peak_requests_per_second"` // to one host, or on average to all: to all together it may be more
	BytesIn    uint64    `json:"bytes_in"`                 // from it
	BytesOut   uint64    `json:"bytes_out"`                // to it
	Factor     float64   `json:"factor"`                   // bytes to it by bytes from it
	Kind       string    `json:"kind"`                     // the request it sent most often: "a2s info_request"
	First      time.Time `json:"first"`
	Last       time.Time `json:"last"`
	Error      uint64    `json:"error"`
	ByInterval []Cell    `json:"by_interval"`
}

// A Class says what a client does.
type Class string

// The classes: a client that finished used a challenge that it was given, or got data where none is needed and kept a
// plausible pace.
const (
	Finished      Class = "finished"
	NeverFinished Class = "never_finished"
	TooOften      Class = "asks_too_often"
)

// A Cell counts in one interval.
type Cell struct {
	Requests   uint64 `json:"requests"`
	Replies    uint64 `json:"replies"`
	Unanswered uint64 `json:"unanswered"`
	BytesIn    uint64 `json:"bytes_in"`
	BytesOut   uint64 `json:"bytes_out"`
}

// Limits say what limits would have done, if they had been there.
type Limits struct {
	// Totals of the requests by class, which the shares of the rows refer to.
	Forged     uint64  `json:"requests_never_finished"`
	Greedy     uint64  `json:"requests_greedy"`
	Honest     uint64  `json:"requests_honest"`
	PerAddress []Limit `json:"per_address"`
	Global     []Limit `json:"global"` // of one kind of request without a proven address
}

// A Limit says what a limit of N requests per second would have dropped.
type Limit struct {
	N      int    `json:"per_second"`
	Burst  int    `json:"burst"`            // packets
	Kind   string `json:"kind,omitempty"`   // of request, for global ones
	Server string `json:"server,omitempty"` // for global ones
	Forged uint64 `json:"dropped_never_finished"`
	Greedy uint64 `json:"dropped_greedy"`
	Honest uint64 `json:"dropped_honest"`
	Best   bool   `json:"recommended"`
}

// A Rule is text to paste.
type Rule struct {
	Format string `json:"format"` // nftables, iptables
	Title  string `json:"title"`
	Text   string `json:"text"`   // at most two sentences with numbers
	Drops  string `json:"drops"`  // shares: "22 % of forged requests and 0 % of honest requests"
	Effect string `json:"effect"` // a sentence with these shares
}

// A Finding counts one type of finding.
type Finding struct {
	ID       string    `json:"id"`
	Severity string    `json:"severity"`
	Count    uint64    `json:"count"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Text     string    `json:"text"` // of the first
	Examples []Example `json:"examples"`
	Doc      string    `json:"doc"`
}

// An Example is a frame, with the command that shows it.
type Example struct {
	input   uint32 // number of the capture
	File    string `json:"file,omitempty"`
	Frame   uint64 `json:"frame"`
	Command string `json:"command"`
}

// A Talk is a conversation as a ladder, the text in it safe for a terminal. Why is the id of the finding for which it is shown, "" for one that shows a whole
// conversation of a protocol.
type Talk struct {
	Why      string     `json:"why,omitempty"`
	Severity string     `json:"severity,omitempty"`
	Also     []string   `json:"also,omitempty"` // ids of other findings that it shows
	Protocol string     `json:"protocol"`
	Client   string     `json:"client"`
	Server   string     `json:"server"`
	File     string     `json:"file,omitempty"`
	Command  string     `json:"command"` // that shows it
	Messages []TalkLine `json:"messages"`
}

// A TalkLine is a message of a conversation.
type TalkLine struct {
	Frame    uint64        `json:"frame"`
	Time     time.Time     `json:"time"`
	Up       bool          `json:"from_client"`
	Message  string        `json:"message"`
	Summary  string        `json:"summary"`
	RTT      time.Duration `json:"rtt_ns,omitempty"`
	Findings []string      `json:"findings,omitempty"` // "severity: text"
	Length   int           `json:"length"`
	// Bytes are the first of the message (at most 512), secrets masked, in hex; Fields lie in them.
	Bytes  string      `json:"bytes,omitempty"`
	Fields []TalkField `json:"fields,omitempty"`
}

// A TalkField is a leaf of a tree.
type TalkField struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
}

// A Guess counts unknown datagrams by what they look like.
type Guess struct {
	What  string `json:"what"`
	Count uint64 `json:"count"`
}

// Made says how the report was made.
type Made struct {
	Version string `json:"version"`
	Command string `json:"command"`
	Files   []File `json:"files"`
	// Every is how often a page should be read again, because it is written again; 0 is never.
	Every time.Duration `json:"-"`
	// Live says that the page is served, and that its server says when it has changed.
	Live bool `json:"-"`
}

// A File is an input. SHA256 is that of its bytes as they were read (of a compressed file: compressed), "" for what is no file.
type File struct {
	Word    string    `json:"-"` // the name as a word for a shell
	Name    string    `json:"name"`
	SHA256  string    `json:"sha256,omitempty"`
	Packets uint64    `json:"packets"` // that are counted
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"` // of one that is read to its end
}

// Evidence is a list of named numbers in their order.
type Evidence []Number

// A Number has a name in snake_case with its unit: "requests_per_second".
type Number struct {
	Name  string
	Value float64
}

// of returns the number with a name, 0 if there is none.
func (e Evidence) of(name string) float64 {
	for _, n := range e {
		if n.Name == name {
			return n.Value
		}
	}
	return 0
}

type object = map[string]any

// enums are the values of some texts, by type and key.
var enums = map[string][]string{
	"Report.type": {"report"}, "Report.schema": {Schema}, "Report.home_by": {"option", "interface", "replies"},
	"Verdict.kind":      ranks,
	"Verdict.certainty": {string(Certain), string(Likely), string(Possible)},
	"Client.class":      {string(Finished), string(NeverFinished), string(TooOften)},
	"Rule.format":       {"nftables", "iptables"},
	"Finding.severity":  {"chat", "note", "warning", "error"},
	"Talk.severity":     {"note", "warning", "error"},
}

// WriteSchema writes the JSON Schema (draft 2020-12) of a [Report].
func WriteSchema(w io.Writer) error {
	s := schemaOf(reflect.TypeFor[Report](), "")
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Report of qdissect (" + Schema + ")"
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

// schemaOf returns the schema of a type; name is the key with the type that holds it.
func schemaOf(t reflect.Type, name string) object {
	if values := enums[name]; values != nil {
		return object{"enum": values}
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[Evidence]():
		return object{"type": "object", "additionalProperties": object{"type": "number"}}
	}
	switch t.Kind() {
	case reflect.Struct:
		properties, required := object{}, []string{}
		for _, f := range reflect.VisibleFields(t) {
			key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || key == "" || key == "-" {
				continue
			}
			properties[key] = schemaOf(f.Type, t.Name()+"."+key)
			if options != "omitempty" && options != "omitzero" {
				required = append(required, key)
			}
		}
		return object{"type": "object", "additionalProperties": false, "required": required, "properties": properties}
	case reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem(), "")}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	default: // int, time.Duration
		return object{"type": "integer"}
	}
}
