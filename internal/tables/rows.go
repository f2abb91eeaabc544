package tables

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/envelope"
	"github.com/qdissect/qdissect/report"
)

// The kinds of rows that a reporter writes for a [Parquet].
const (
	aCapture = iota
	aMessage
	aFinding
	anExchange
)

// rows is a reporter that writes rows for a [Parquet]. Several reporters can format parts
// of one output, and only one can write a Parquet file: so these rows are the form in
// which events travel. All values are numbers, or text after its length; what is absent
// is 0 or empty, or follows a flag.
type rows struct {
	buf       []byte
	json      *report.JSON
	secrets   bool
	scalars   []*envelope.Key // numbers and marks of messages
	exchanges []*envelope.Key // words and numbers of exchanges
	facts     []envelope.Key  // about servers
	text      []byte
	raw       []byte
}

// NewRows returns a reporter whose output a [Parquet] takes.
func NewRows(secrets bool) report.Reporter {
	return &rows{
		json: report.NewJSON(report.JSONOptions{Secrets: secrets}), secrets: secrets, scalars: envelope.Read(envelope.Message | envelope.Answer),
		exchanges: envelope.Read(envelope.Exchange), facts: envelope.Lookup("server").Fields,
	}
}

// Bytes returns the rows since the last Reset.
func (w *rows) Bytes() []byte { return w.buf }

// Reset empties the buffer.
func (w *rows) Reset() { w.buf = w.buf[:0] }

// Begin writes the name of the capture.
func (w *rows) Begin(c report.Capture) error {
	w.buf = append(w.buf, aCapture)
	w.string(c.File)
	w.number(c.FirstFrame)
	return nil
}

// End writes nothing: a table has no summary.
func (w *rows) End(*report.Summary) error { return nil }

// Record writes a message.
func (w *rows) Record(r *dissect.Record) error {
	w.buf = append(w.buf, aMessage)
	w.place(r.Frame, r.Time, r.Src, r.Dst, false, r.Protocol.OverTCP(), r.Interface, r.VLAN)
	w.string(r.Protocol.Name)
	w.string(r.Type.Name)
	w.buf = append(w.buf, byte(r.Type.Role)+1)
	w.number(uint64(r.Length))
	w.number(uint64(r.WireLength))
	w.string(r.Reason.String())
	w.frames(r.Frames)
	if w.flag(r.Split.Parts > 0) {
		w.string(r.Split.Variant)
		w.number(r.Split.ID)
		w.number(uint64(r.Split.Parts))
		w.flag(r.Split.Compressed)
		if w.flag(r.Split.Partial) {
			w.number(uint64(len(r.Missing)))
			for _, n := range r.Missing {
				w.number(uint64(n))
			}
		}
	}
	for _, k := range w.scalars {
		w.scalar(k.OfMessage(r))
	}
	w.number(uint64(len(r.Alternatives)))
	for _, p := range r.Alternatives {
		w.string(p.Name)
	}
	w.text = r.AppendSummary(w.text[:0])
	w.bytes(w.text)
	w.server(&r.Server)
	w.text = w.json.AppendFields(w.text[:0], r)
	w.plain(w.text) // which is UTF-8
	w.bytes(nil)    // data
	w.number(uint64(len(r.Findings)))
	for i := range r.Findings {
		w.finding(&r.Findings[i])
	}
	return nil
}

// Unknown writes an unrecognised datagram.
func (w *rows) Unknown(u *dissect.Unknown) error {
	w.buf = append(w.buf, aMessage)
	w.place(u.Frame, u.Time, u.Src, u.Dst, false, false, u.Interface, u.VLAN)
	w.string("unknown")
	w.string("")
	w.buf = append(w.buf, 0) // role
	w.number(uint64(len(u.Payload)))
	w.number(uint64(len(u.Payload) + u.Missing))
	w.string("")
	w.frames(u.Frames)
	w.flag(false) // split
	for range w.scalars {
		w.flag(false)
	}
	w.number(0) // alternatives
	w.text = u.AppendGuess(w.text[:0])
	w.bytes(w.text)
	w.flag(false) // server
	w.bytes(nil)  // fields
	w.text = hex.AppendEncode(w.text[:0], u.Shown(w.secrets))
	w.plain(w.text)
	w.buf = append(w.buf, 0) // findings
	return nil
}

// Finding writes a finding that belongs to no message.
func (w *rows) Finding(f *dissect.FlowFinding) error {
	w.buf = append(w.buf, aFinding)
	w.place(f.Frame, f.Time, f.Src, f.Dst, f.NoPorts, f.Protocol.OverTCP(), f.Interface, f.VLAN)
	protocol := ""
	if f.Protocol != nil {
		protocol = f.Protocol.Name
	}
	w.string(protocol)
	w.number(f.ICMPFrame)
	w.finding(&f.Finding)
	return nil
}

// Exchange writes what became of a request.
func (w *rows) Exchange(x *dissect.Exchange) error {
	w.buf = append(w.buf, anExchange)
	w.place(x.Frame, x.Time, x.Src, x.Dst, false, x.Protocol.OverTCP(), x.Interface, x.VLAN)
	w.string(x.Protocol.Name)
	w.string(x.Type.Name)
	for _, k := range w.exchanges {
		if k.WordOfExchange != nil {
			w.string(k.WordOfExchange(x))
		} else {
			w.scalar(k.OfExchange(x))
		}
	}
	if x.Server == nil {
		w.flag(false)
	} else {
		w.server(x.Server)
	}
	return nil
}

// scalar writes a number that may be absent.
func (w *rows) scalar(v uint64, ok bool) {
	if w.flag(ok) {
		w.number(v)
	}
}

func (w *rows) number(n uint64) { w.buf = binary.AppendUvarint(w.buf, n) }

func (w *rows) string(s string) { w.buf = append(binary.AppendUvarint(w.buf, uint64(len(s))), s...) }

// plain writes text that is UTF-8.
func (w *rows) plain(s []byte) { w.buf = append(binary.AppendUvarint(w.buf, uint64(len(s))), s...) }

// bytes writes text. Bytes that are not UTF-8 are replaced, as in JSON.
func (w *rows) bytes(s []byte) {
	if !utf8.Valid(s) {
		w.raw = w.raw[:0]
		for len(s) > 0 {
			r, n := utf8.DecodeRune(s)
			w.raw = utf8.AppendRune(w.raw, r)
			s = s[n:]
		}
		s = w.raw
	}
	w.plain(s)
}

func (w *rows) flag(is bool) bool {
	b := byte(0)
	if is {
		b = 1
	}
	w.buf = append(w.buf, b)
	return is
}

func (w *rows) frames(list []uint64) {
	if len(list) < 2 {
		list = nil
	}
	w.number(uint64(len(list)))
	for _, n := range list {
		w.number(n)
	}
}

// place writes the frame, the time and the addresses.
func (w *rows) place(frame uint64, t time.Time, src, dst netip.AddrPort, noPorts, tcp bool, iface string, vlan uint16) {
	w.number(frame)
	if w.flag(!t.IsZero()) {
		w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(t.UnixNano()))
	}
	if w.flag(src.IsValid() && dst.IsValid()) {
		from, to, id := w.json.Ends(src, dst, tcp)
		w.plain(from)
		w.plain(to)
		if w.flag(!noPorts) {
			w.number(uint64(src.Port()))
			w.number(uint64(dst.Port()))
			w.plain(id)
		}
	}
	w.string(iface)
	w.number(uint64(vlan))
}

// server writes what a reply states about its server.
func (w *rows) server(s *dissect.Server) {
	if !w.flag(s.Stated()) {
		return
	}
	for i := range w.facts {
		f := w.facts[i].OfServer(s)
		switch {
		case !w.flag(f.Stated):
		case w.facts[i].Kind == envelope.Word:
			w.text = f.AppendText(w.text[:0], s)
			w.bytes(w.text)
		default:
			w.buf = binary.AppendVarint(w.buf, int64(f.Number))
		}
	}
}

func (w *rows) finding(f *dissect.Finding) {
	w.string(f.Type.ID)
	w.string(f.Type.Severity.String())
	w.text = f.AppendText(w.text[:0])
	w.bytes(w.text)
	field := ""
	if f.Field != nil {
		field = f.Field.JSONName()
	}
	w.string(field)
	if w.flag(f.Length > 0 || f.Err != nil) {
		w.number(uint64(f.Offset))
		w.number(uint64(f.Length))
	}
}
