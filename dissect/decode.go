package dissect

import (
	"bytes"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// open begins the record of the message in the reader.
func (a *Analyzer) open(x *arrival) {
	if a.others = a.others[:0]; x.also != 0 {
		a.others = appendSet(a.others, a.protocols, x.also)
	}
	rec := &a.record
	rec.clear()
	d := x.Datagram
	rec.Protocol, rec.Datagram, rec.Frames = a.protocols[x.protocol], d, d.Frames
	rec.Reason, rec.Alternatives, rec.also, rec.Foreign, rec.stats = x.reason, a.others, x.also, a.config.Foreign, &a.stats
	rec.packed = x.packed
	if len(x.Frames) > 0 && x.Stream == nil { // segments come in their order
		x.part = x.Frames[0]
	}
	var cut *Finding
	if x.Missing > 0 {
		f := cutOff(x.Datagram)
		cut = &f
		if f := a.conversation(x); f != nil {
			f.set(cutShort)
		}
	}
	core.Lower(&a.reader, a.config.Skim, x.Findings, cut)
}

func cutOff(d *Datagram) Finding {
	what := nettext.Either(d.Stream != nil && !d.Snapped, core.SegmentsCut, core.CaptureCut)
	return NewFinding(what, Num(len(d.Payload)), Num(len(d.Payload)+d.Missing))
}

// decode decodes the message in the reader.
func (a *Analyzer) decode(x *arrival) {
	rec, r := &a.record, &a.reader
	p := rec.Protocol
	rec.Length, rec.WireLength = x.wire, x.wire+x.Missing
	if !x.headers {
		rec.Length = core.Length(r)
		a.asked = place{a.tracker, x.flow, x.protocol, x.ends.up}
		core.SetAwaited(r, a.awaits)
		core.SetFromServer(r, x.FromServer)
		a.decoders[x.protocol].Decode(r, &rec.Message)
	}
	rec.Split.Variant, rec.Split.Compressed = rec.Message.Variant, rec.Message.Compressed
	rec.Split.Partial = rec.Split.Partial || rec.Type.Role == Reply && rec.Pair.Damaged
	core.Conclude(r, p.Catalog.Catalog)
	if r.Cut() {
		// The capture truncated it: its fields are reported without findings about
		// the sender.
		core.OnlyBelow(r)
		rec.Pair.Lists = false
	}
}

// mistaken reports whether what could not be decoded is no reply, but a datagram of the game that begins like one: nobody asked, and
// its conversation or one of its ends replied in another protocol, or it is not even likely where requests were captured.
func (a *Analyzer) mistaken(x *arrival) bool {
	t, r, rec := a.tracker, &a.reader, &a.record
	if r.Cut() || rec.Type.Role != Reply || rec.Split.Parts > 0 || len(x.Frames) > 0 || x.Stream != nil || x.reason == core.ByUser || a.protocols[x.protocol].Detect(head(x.Payload)) == Certain {
		return false
	}
	other := false
	if f := a.conversation(x); f != nil {
		if t.awaits(x.flow, x.ends.up, x.protocol, 0, false) || t.awaits(x.flow, x.ends.up, x.protocol, 0, true) {
			return false
		}
		other = !x.sure && f.requested() || f.answers >= 0 && !t.related(f.answers, x.protocol)
	}
	for _, up := range [...]bool{x.ends.up, !x.ends.up} {
		end := x.ends.key.server(up)
		p := t.hearsay.servers.find(&end)
		other = other || p != nil && !t.related(*p, x.protocol)
	}
	return other
}

// place is where the requests are that the message may answer.
type place struct {
	*tracker
	flow     int32
	protocol int8
	up       bool
}

// awaited is what [core.Awaited] calls.
func (w *place) awaited(topics Topic, id uint64) bool {
	if w.flow == none {
		return false
	}
	for i := w.flows.flows[w.flow].requests; i != none; i = w.requests.list[i].below {
		if q := &w.requests.list[i]; q.up() != w.up && q.protocol == w.protocol && q.topic&topics != 0 && sameID(q.id, id) {
			return true
		}
	}
	return false
}

// Parse decodes a copy of one payload without an analyzer: a whole message, or one part of a
// split one if parts can be read alone. It returns the findings about the message as well.
// The caller owns the results.
//
// The error is an *[Error]. It says where reading failed, or else where the message is
// shorter or longer than its own structure says, such as a list that ends before its
// announced count, or else that none begins as the payload does. The message then
// holds what was read.
func Parse(p *Protocol, payload []byte) (Message, []Finding, error) {
	var r Reader
	var m Message
	core.Reset(&r, bytes.Clone(payload), 0, false)
	p.New().Decode(&r, &m)
	err := core.Err(&r)
	core.Conclude(&r, p.Catalog.Catalog)
	findings := core.Findings(&r)
	if err != nil {
		return m, findings, err
	}
	for i := range findings {
		f := &findings[i]
		if !f.Type.Length {
			continue
		}
		e := &Error{Field: f.Field, Source: f.Source, Offset: f.Offset, Have: -1, Text: string(f.AppendText(nil))}
		if f.Field == nil {
			e.Text = p.Name + ": " + e.Text
			if f.Length == 0 {
				e.Offset = r.Offset() + r.Left() // it is about the end
			}
		}
		return m, findings, e
	}
	if p.Detect(head(payload)) == No {
		return m, findings, &Error{Have: -1, Text: p.Name + ": no message begins like this"}
	}
	return m, findings, nil
}

// Foreign describes traffic that no protocol owns, such as all.Foreign(). A nil
// Foreign describes nothing.
type Foreign struct {
	// Name names the likely protocol of a payload, "" if it is not known.
	Name func(payload []byte) string
	// Login returns the offset of the password in a payload, or the length of the
	// payload if there is none.
	Login func(payload []byte) int
}

// LooksLike names the likely protocol of a payload, "" if it is not known.
func (f *Foreign) LooksLike(payload []byte) string {
	if f == nil {
		return ""
	}
	return f.Name(payload)
}

// AppendGuess appends "looks like" and the likely protocol of a payload, nothing if
// it is not known.
func (f *Foreign) AppendGuess(dst, payload []byte) []byte {
	if name := f.LooksLike(payload); name != "" {
		return append(append(dst, "looks like "...), name...)
	}
	return dst
}

// Shown masks the secrets in bytes that no protocol could decode: everything from
// the start of a possible password, since its end is not known. Passwords are found
// by the words that introduce them, such as rcon, and by Login.
func (f *Foreign) Shown(b []byte) []byte { return nettext.Mask(nil, b, f.secretAt(b)) }

func (f *Foreign) secretAt(b []byte) int {
	at := nettext.SecretAt(b)
	if f != nil {
		at = min(at, f.Login(b))
	}
	return at
}

// Shown returns the payload with secrets masked as by [Foreign.Shown], or unmasked
// if secrets is true.
func (u *Unknown) Shown(secrets bool) []byte {
	at := len(u.Payload)
	if !secrets {
		at = u.Foreign.secretAt(u.Payload)
	}
	if at == len(u.Payload) {
		return u.Payload
	}
	u.shown = nettext.Mask(u.shown, u.Payload, at)
	return u.shown
}
