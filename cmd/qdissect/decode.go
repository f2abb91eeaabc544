package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/hexinput"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
	"github.com/spf13/cobra"
)

// decodeOptions are the flags of decode.
type decodeOptions struct {
	as     string
	port   uint16
	format formatOptions
}

func newDecode(env environment) *cobra.Command {
	var o decodeOptions
	cmd := &cobra.Command{
		Use:   "decode [flags] [HEX | FILE | -]...",
		Short: "Dissect payloads pasted as hex",
		Long: `Dissect payloads as if they had been captured. The hex may be in any common form:
plain, hexdump -C, xxd, tcpdump -X, copied from Wireshark, or literals of Python, C
and other languages. It may hold several datagrams. It comes from the arguments,
from files, or from standard input (- or no argument).

Each argument is a datagram. But if all arguments are single bytes or pairs of
bytes, they form one dump that was pasted without quotes.

Binary input is a single payload. Addresses, times and round trips are shown only
if the text gives them. Datagrams without addresses belong to one conversation;
their content decides which are requests. Bytes of a TCP connection are read with
--as: they begin with a message, and others may follow. Exit status 1: no message.

  qdissect decode 'ff ff ff ff 41 32 42 59 45'
  qdissect decode -x reply.txt
  xclip -o | qdissect decode`,
		RunE: func(_ *cobra.Command, args []string) error { return runDecode(args, &o, env) },
	}
	f := cmd.Flags()
	f.StringVar(&o.as, "as", "", "decode everything as this `protocol`")
	f.Uint16Var(&o.port, "port", 0, "the server's `port`, for bytes that several protocols could own")
	o.format.add(f)
	return cmd
}

func runDecode(args []string, o *decodeOptions, env environment) error {
	if o.format.output == "parquet" {
		return errors.New("-o parquet is for captures: use qdissect read -o parquet --out DIR FILE")
	}
	o.format.pasted = true
	rep, _, err := o.format.reporter(env, false)
	if err != nil {
		return err
	}
	config, err := new(protocolOptions).config()
	if err != nil {
		return err
	}
	config.Tree, config.KeepCopies = true, true
	list, err := pasted(args, env)
	if err != nil {
		return err
	}
	d := &decoding{
		rep: rep(), env: env, server: netip.AddrPortFrom(serverAddr, max(o.port, 1)), protocols: config.Protocols,
		dates: o.format.output != "text" || !slices.Contains([]string{"r", "relative", "d", "delta", "a", "absolute"}, o.format.clock),
	}
	if config.DecodeAs, err = o.decodeAs(config.Protocols, d.server.Port(), list); err != nil {
		return err
	}
	if p := config.DecodeAs[d.server.Port()]; p.OverTCP() {
		d.stream, list = p, divided(list, p)
	}
	if d.first, err = dissect.New(config, d); err != nil {
		return err
	}
	analyzer, err := dissect.New(config, d)
	if err != nil {
		return err
	}
	d.err = d.rep.Begin(report.Capture{File: "pasted"})
	if o.format.output == "text" {
		d.rep.Reset()
	}
	sum := report.Summary{Inputs: 1, Protocols: config.Protocols}
	now := time.Unix(0, 0).UTC()
	for i := range list {
		in := d.datagram(&list[i], &now)
		sum.Packets++
		sum.Bytes += uint64(len(in.Payload))
		analyzer.Datagram(&in)
	}
	// Requests without a reply are normal in pasted text.
	d.quiet = true
	analyzer.Flush()
	s := analyzer.Stats()
	d.count(&sum, &s)
	if err := cmp.Or(d.err, d.rep.End(&sum)); err != nil {
		return err
	}
	out := o.format.aligned(env, env.out)
	if _, err = out.Write(d.rep.Bytes()); err == nil {
		err = out.Close()
	}
	if n := max(s.Panics, d.first.Stats().Panics); err == nil && n > 0 {
		complain(env, pipeline.PanicError(n))
		return status(exitTrouble)
	}
	return cmp.Or(err, ended(false, s.Messages == 0))
}

// decodeAs returns the protocol of --as for the port of the server and those of the
// datagrams, nil without --as.
func (o *decodeOptions) decodeAs(protocols []*dissect.Protocol, port uint16, list []hexinput.Datagram) (map[uint16]*dissect.Protocol, error) {
	if o.as == "" {
		return nil, nil
	}
	p := lookup(protocols, o.as)
	if p == nil {
		return nil, unknownProtocol(o.as, protocols)
	}
	as := map[uint16]*dissect.Protocol{port: p}
	for _, dg := range list {
		if dg.Src.IsValid() {
			as[dg.Src.Port()], as[dg.Dst.Port()] = p, p
		}
	}
	return as, nil
}

// divided returns pasted bytes of a protocol over TCP, one message at a time.
func divided(list []hexinput.Datagram, p *dissect.Protocol) (messages []hexinput.Datagram) {
	for _, m := range list {
		for rest := m.Data; len(rest) > 0; rest = rest[len(m.Data):] {
			n, _ := p.Stream(rest)
			if m.Data = rest; n > 0 {
				m.Data = rest[:min(n, len(rest))]
			}
			messages, m.Note = append(messages, m), ""
		}
	}
	return messages
}

// count puts what was counted into the summary.
func (d *decoding) count(sum *report.Summary, s *dissect.Stats) {
	sum.Datagrams, sum.Messages, sum.Unknown, sum.Malformed = s.Datagrams, s.ByProtocol, s.Unknown, s.Malformed
	sum.Ambiguous = s.Ambiguous
	sum.Complete, sum.Incomplete = s.Complete, s.Incomplete
	sum.Requests, sum.Replies, sum.Unanswered, sum.Outcomes, sum.AmbiguousReplies = s.Requests, s.Replies, s.Unanswered, s.Outcomes, s.AmbiguousReplies
	sum.Tally = d.tally
	for f, n := range d.tally.Findings {
		sum.Findings[f.Severity] += n
	}
}

// datagram converts a pasted datagram. now is the time of the datagram before it.
func (d *decoding) datagram(dg *hexinput.Datagram, now *time.Time) dissect.Datagram {
	if dg.Note != "" {
		complain(d.env, fmt.Errorf("line %d: %s", dg.Line, dg.Note))
	}
	k := known{time: !dg.Time.IsZero(), date: dg.Time.Year() > 1, ends: dg.Src.IsValid() && dg.Dst.IsValid()}
	switch {
	case k.date:
		*now = dg.Time
	case k.time: // a time of day
		*now = dg.Time.AddDate(1970, 0, 0)
	}
	d.known = append(d.known, k)
	in := dissect.Datagram{Frame: uint64(len(d.known)), Time: *now, Src: dg.Src, Dst: dg.Dst, Payload: dg.Data, Stream: d.stream}
	in.FromServer = d.stream != nil && slices.Contains(d.stream.Ports, in.Src.Port())
	if !k.ends {
		in.Src, in.Dst = netip.AddrPortFrom(clientAddr, clientPort), d.server
		d.looking, d.role = true, dissect.Request
		if isPart(d.protocols, dg.Data) {
			d.role = dissect.Reply // only replies are split
		}
		d.first.Datagram(&in)
		d.first.Flush()
		d.looking = false
		if d.role == dissect.Reply {
			in.Src, in.Dst, in.FromServer = in.Dst, in.Src, d.stream != nil
		}
	}
	return in
}

// The addresses (RFC 5737) of pasted datagrams without addresses.
var (
	clientAddr = netip.AddrFrom4([4]byte{192, 0, 2, 1})
	serverAddr = netip.AddrFrom4([4]byte{198, 51, 100, 1})
)

const clientPort = 40000

// A decoding passes the results of the analyzer to the reporter.
type decoding struct {
	rep       report.Reporter
	err       error // the first of rep
	env       environment
	server    netip.AddrPort    // for datagrams without addresses
	stream    *dissect.Protocol // all is of it, over TCP; nil if it is over UDP
	protocols []*dissect.Protocol
	// Pairing needs the direction of a datagram, which is known only after decoding.
	// So first decodes each datagram alone.
	first   *dissect.Analyzer
	looking bool
	quiet   bool
	role    dissect.Role
	dates   bool    // the output contains dates
	known   []known // by datagram
	tally   report.Tally
}

// known tells which properties of a datagram the text gives.
type known struct {
	time, date bool
	ends       bool // both addresses
}

// place clears the time and the addresses of a frame if they are unknown.
func (d *decoding) place(frame uint64, at *time.Time, src, dst *netip.AddrPort) {
	k := d.known[frame-1]
	if !k.time || d.dates && !k.date {
		*at = time.Time{}
	}
	if !k.ends {
		*src, *dst = netip.AddrPort{}, netip.AddrPort{}
	}
}

// withoutTimes removes clauses with a duration from the text of a finding.
var withoutTimes = strings.NewReplacer(", %t later", "", ", %t before", "", " after %t", "")

// untimed removes durations from findings of datagrams without times. It drops
// findings that consist of a duration.
func untimed(list []dissect.Finding) (kept []dissect.Finding) {
	for _, f := range list {
		if strings.Contains(f.Type.Text, "%t") {
			t := *f.Type
			if t.Text = withoutTimes.Replace(t.Text); f.Type == core.LastPart || strings.Contains(t.Text, "%t") {
				continue
			}
			f.Type = &t
		}
		kept = append(kept, f)
	}
	return kept
}

// isPart reports whether a payload has the header of a split message.
func isPart(protocols []*dissect.Protocol, payload []byte) bool {
	return slices.ContainsFunc(protocols, func(p *dissect.Protocol) bool {
		if p.Split == nil || p.Split.Read == nil || p.Detect(payload) < dissect.Likely {
			return false
		}
		_, ok := p.Split.Read(payload, 0)
		return ok
	})
}

// Record implements [dissect.Handler].
func (d *decoding) Record(r *dissect.Record) {
	if d.looking {
		d.role = r.Type.Role
		return
	}
	shown := *r
	d.place(r.Frame, &shown.Time, &shown.Src, &shown.Dst)
	if r.RequestFrame > 0 && !(d.known[r.RequestFrame-1].time && d.known[r.Frame-1].time) {
		shown.TimeKnown, shown.Ambiguous = false, false
	}
	if !d.known[r.Frame-1].time {
		shown.Findings = untimed(r.Findings)
	}
	d.tally.Record(&shown)
	d.err = cmp.Or(d.err, d.rep.Record(&shown))
}

// Unknown implements [dissect.Handler].
func (d *decoding) Unknown(u *dissect.Unknown) {
	if !d.looking {
		shown := *u
		d.place(u.Frame, &shown.Time, &shown.Src, &shown.Dst)
		d.tally.Unknown(shown.AppendGuess(nil))
		d.err = cmp.Or(d.err, d.rep.Unknown(&shown))
	}
}

// Finding implements [dissect.Handler].
func (d *decoding) Finding(f *dissect.FlowFinding) {
	p := f.Protocol
	if d.looking || d.quiet && p != nil && p.Unanswered(f.Type) {
		return
	}
	shown := *f
	if f.Frame > 0 {
		d.place(f.Frame, &shown.Time, &shown.Src, &shown.Dst)
		if !d.known[f.Frame-1].time {
			list := untimed([]dissect.Finding{f.Finding})
			if len(list) == 0 {
				return
			}
			shown.Finding = list[0]
		}
	}
	d.tally.Finding(&shown.Finding)
	d.err = cmp.Or(d.err, d.rep.Finding(&shown))
}
