// Package display implements display filters, the language of -Y.
//
// An expression tests the JSON object of a message as -o jsonl writes it:
//
//	protocol == a2s and message == info_reply
//	server.map == "de_dust2" or server.players > 20
//	a2s.players[*].score > 5
//	finding == a2s.players.count
//	frame in 3,5-9
//	src_ip == 192.0.2.0/24 and not rtt_ns
//	summary ~ "(?i)dust"
//
// A path names a value of the object. For a list, it matches if one element matches,
// with or without [*]; [0] is the first element. A path alone tests whether the value
// exists. The comparisons are == != < <= > >=, ~ and !~ with a regular expression
// (RE2, found anywhere in the text), and in with a list of values and ranges. != and
// !~ match if there are values and none of them is equal. In addition to the keys of
// the object, there are these names:
//
//	finding   the id of each finding
//	frame     all frames of the message
//	protocol  the protocol of the message and its alternatives
//	addr      both endpoints: src_ip with src_port, dst_ip with dst_port
//	port      src_port and dst_port
//
// src_ip and dst_ip are compared with an address or a network in CIDR notation. addr is
// also compared with an address and a port, or with a port after a colon. The name of a
// protocol alone means protocol == NAME.
package display

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/report"
)

// A Filter is a parsed expression.
type Filter struct{ root expression }

// Match reports whether the filter matches an object as [report.JSON] writes it.
// Invalid JSON matches like an object without the missing values.
func (f *Filter) Match(object []byte) bool { return f.root.match(object) }

// An expression is a node of a filter.
type expression interface{ match(object []byte) bool }

type (
	and  struct{ a, b expression }
	or   struct{ a, b expression }
	not  struct{ a expression }
	test struct {
		paths [][]step
		// holds reports whether a value matches. A nil holds matches any value.
		holds func(value []byte) bool
		// ends tests both endpoints of the datagram instead of the paths.
		ends bool
		// none requires that there are values and that none matches.
		none bool
	}
)

func (e and) match(o []byte) bool { return e.a.match(o) && e.b.match(o) }
func (e or) match(o []byte) bool  { return e.a.match(o) || e.b.match(o) }
func (e not) match(o []byte) bool { return !e.a.match(o) }

func (e *test) match(o []byte) bool {
	there, fits := false, false
	visit := func(value []byte) bool {
		there = true
		fits = e.holds == nil || each(value, e.holds)
		return fits
	}
	if e.ends {
		ends(o, visit)
		return !e.none && fits || e.none && there && !fits
	}
	for _, path := range e.paths {
		walk(o, path, visit)
		if fits {
			break
		}
	}
	if e.none {
		return there && !fits
	}
	return fits
}

// Reporter returns a reporter that passes matching messages and findings to r. It
// needs the tree of fields; see [dissect.Config].
func (f *Filter) Reporter(r report.Reporter) report.Reporter {
	return &reporter{Reporter: r, filter: f, json: report.NewJSON(report.JSONOptions{})}
}

type reporter struct {
	report.Reporter
	filter *Filter
	json   *report.JSON
}

// fits reports whether the object just written matches.
func (r *reporter) fits() bool {
	ok := r.filter.Match(r.json.Bytes())
	r.json.Reset()
	return ok
}

func (r *reporter) Record(rec *dissect.Record) error {
	if err := r.json.Record(rec); err != nil || !r.fits() {
		return err
	}
	return r.Reporter.Record(rec)
}

func (r *reporter) Unknown(u *dissect.Unknown) error {
	if err := r.json.Unknown(u); err != nil || !r.fits() {
		return err
	}
	return r.Reporter.Unknown(u)
}

func (r *reporter) Finding(f *dissect.FlowFinding) error {
	if err := r.json.Finding(f); err != nil || !r.fits() {
		return err
	}
	return r.Reporter.Finding(f)
}
