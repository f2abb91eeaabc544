package report

import (
	"encoding/hex"
	"math"
	"net/netip"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/envelope"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Schema names the version of the JSON output.
const Schema = "qdissect/2"

// JSON writes objects, one per line or all in one array.
type JSON struct {
	out
	array   bool
	secrets bool
	keys    keySets
	foreign *dissect.Foreign // of the message
	text    []byte
	scratch []byte
	wide    []byte
	nodes   []dissect.Node // of the message whose fields are being written
	sources []dissect.Source

	second     int64 // Unix time of the last time written
	secondText []byte
	flows      flowTexts
}

// JSONOptions configure a JSON.
type JSONOptions struct {
	// Array puts all objects into one array instead of one on each line.
	Array bool
	// Secrets shows passwords instead of ***.
	Secrets bool
}

// NewJSON returns a reporter that writes JSON. The fields of protocols need
// [dissect.Config.Tree]; without it their objects are empty.
func NewJSON(o JSONOptions) *JSON {
	return &JSON{array: o.Array, secrets: o.Secrets, keys: keySets{
		message: writers(envelope.Message), answer: writers(envelope.Answer), finding: writers(envelope.Finding), exchange: writers(envelope.Exchange),
	}}
}

// keySets are the keys of the envelope that are written alike, by the lines that have them.
type keySets struct{ message, answer, finding, exchange []keyWriter }

// A keyWriter writes a key of the envelope.
type keyWriter struct {
	key   *envelope.Key
	start []byte // the key as it follows another one, with the value of a mark
}

func writers(in envelope.Lines) (list []keyWriter) {
	for _, k := range envelope.Read(in) {
		w := keyWriter{k, []byte(`,"` + k.Name + `":`)}
		if k.Kind == envelope.Mark {
			w.start = append(w.start, "true"...)
		}
		list = append(list, w)
	}
	return list
}

// append appends the key and its value, if the message has it.
func (w *keyWriter) append(b []byte, r *dissect.Record) []byte {
	if v, ok := w.key.OfMessage(r); ok {
		return w.value(b, v)
	}
	return b
}

func (w *keyWriter) value(b []byte, v uint64) []byte {
	b = append(b, w.start...)
	if w.key.Kind == envelope.Mark {
		return b
	}
	return nettext.AppendInt(b, int64(v))
}

func (j *JSON) end() {
	j.buf = append(j.buf, '}')
	if j.array {
		j.buf = append(j.buf, ',')
	}
	j.buf = append(j.buf, '\n')
}

// Begin writes the capture object.
func (j *JSON) Begin(c Capture) error {
	if j.array && c.Number == 0 {
		j.buf = append(j.buf, '[', '\n')
	}
	j.buf = appendString(append(j.buf, `{"type":"capture","schema":"`+Schema+`","file":`...), []byte(c.File))
	if c.LinkType != "" {
		j.buf = appendString(append(j.buf, `,"link_type":`...), []byte(c.LinkType))
	}
	if c.FirstFrame > 0 {
		j.buf = nettext.AppendUint(append(j.buf, `,"first_frame":`...), c.FirstFrame)
	}
	j.end()
	return nil
}

// Record writes a message object.
func (j *JSON) Record(r *dissect.Record) error {
	j.foreign = r.Foreign
	j.grow()
	b := append(j.buf, `{"type":"message","frame":`...)
	b = nettext.AppendUint(b, r.Frame)
	b = appendFrameList(b, r.Frames)
	b = j.appendPlace(b, r.Time, r.Src, r.Dst, false, r.Protocol.OverTCP(), r.Interface, r.VLAN)
	b = append(b, `,"protocol":"`...)
	b = append(b, r.Protocol.Name...)
	b = append(b, `","message":"`...)
	b = append(b, r.Type.Name...)
	b = append(b, `","role":"`...)
	b = append(b, r.Type.Role.String()...)
	b = append(b, `","length":`...)
	b = nettext.AppendInt(b, int64(r.Length))
	b = append(b, `,"wire_length":`...)
	b = nettext.AppendInt(b, int64(r.WireLength))
	b = append(b, `,"detect":"`...)
	b = append(b, r.Reason.String()...)
	b = append(b, '"')
	if r.Split.Parts > 0 {
		b = appendSplit(b, r)
	}
	if r.RequestFrame > 0 {
		for i := range j.keys.answer {
			b = j.keys.answer[i].append(b, r)
		}
	}
	for i := range j.keys.message {
		b = j.keys.message[i].append(b, r)
	}
	b = appendAlternatives(b, r.Alternatives)
	b = append(b, `,"summary":`...)
	j.text = r.AppendSummary(j.text[:0])
	b = appendString(b, j.text)
	b = append(b, r.Protocol.Catalog.JSONKey()...)
	b = j.appendFields(b, r)
	if r.Server.Stated() {
		b = j.appendServer(b, &r.Server)
	}
	if len(r.Findings) > 0 {
		b = append(b, `,"findings":[`...)
		for i := range r.Findings {
			if i > 0 {
				b = append(b, ',')
			}
			b = j.appendFinding(b, &r.Findings[i])
		}
		b = append(b, ']')
	}
	j.buf = b
	j.end()
	return nil
}

func appendFrameList(b []byte, frames []uint64) []byte {
	if len(frames) < 2 {
		return b
	}
	for i, f := range frames {
		b = append(b, nettext.Either(i == 0, `,"frames":[`, ",")...)
		b = nettext.AppendUint(b, f)
	}
	return append(b, ']')
}

func appendSplit(b []byte, r *dissect.Record) []byte {
	b = append(b, `,"split":{"variant":"`...)
	b = append(b, r.Split.Variant...)
	b = append(b, `","id":`...)
	b = nettext.AppendUint(b, r.Split.ID)
	b = append(b, `,"parts":`...)
	b = nettext.AppendInt(b, int64(r.Split.Parts))
	b = append(b, `,"compressed":`...)
	b = strconv.AppendBool(b, r.Split.Compressed)
	if r.Split.Partial {
		b = append(b, `,"missing":[`...)
		for i, n := range r.Missing {
			if i > 0 {
				b = append(b, ',')
			}
			b = nettext.AppendInt(b, int64(n))
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// Unknown writes the object of an unrecognised datagram.
func (j *JSON) Unknown(u *dissect.Unknown) error {
	j.grow()
	b := append(j.buf, `{"type":"message","frame":`...)
	b = nettext.AppendUint(b, u.Frame)
	b = appendFrameList(b, u.Frames)
	b = j.appendPlace(b, u.Time, u.Src, u.Dst, false, false, u.Interface, u.VLAN)
	b = append(b, `,"protocol":"unknown","length":`...)
	b = nettext.AppendInt(b, int64(len(u.Payload)))
	b = append(b, `,"wire_length":`...)
	b = nettext.AppendInt(b, int64(len(u.Payload)+u.Missing))
	if j.text = u.AppendGuess(j.text[:0]); len(j.text) > 0 {
		b = append(b, `,"summary":`...)
		b = appendString(b, j.text)
	}
	b = append(b, `,"data":"`...)
	b = hex.AppendEncode(b, u.Shown(j.secrets))
	b = append(b, '"')
	j.buf = b
	j.end()
	return nil
}

// Finding writes the object of a finding that belongs to no message.
func (j *JSON) Finding(f *dissect.FlowFinding) error {
	j.grow()
	b := append(j.buf, `{"type":"finding","frame":`...)
	b = nettext.AppendUint(b, f.Frame)
	b = j.appendPlace(b, f.Time, f.Src, f.Dst, f.NoPorts, f.Protocol.OverTCP(), f.Interface, f.VLAN)
	if f.Protocol != nil {
		b = append(b, `,"protocol":"`...)
		b = append(b, f.Protocol.Name...)
		b = append(b, '"')
		b = appendAlternatives(b, f.Alternatives)
	}
	for i := range j.keys.finding {
		if v, ok := j.keys.finding[i].key.OfFinding(f); ok {
			b = j.keys.finding[i].value(b, v)
		}
	}
	b = append(b, `,"findings":[`...)
	j.buf = append(j.appendFinding(b, &f.Finding), ']')
	j.end()
	return nil
}

// Exchange writes the object that says what became of a request.
func (j *JSON) Exchange(x *dissect.Exchange) error {
	j.grow()
	b := append(j.buf, `{"type":"exchange","frame":`...)
	b = nettext.AppendUint(b, x.Frame)
	b = j.appendPlace(b, x.Time, x.Src, x.Dst, false, x.Protocol.OverTCP(), x.Interface, x.VLAN)
	b = append(append(b, `,"protocol":"`...), x.Protocol.Name...)
	b = append(append(b, `","message":"`...), x.Type.Name...)
	b = append(b, '"')
	for i := range j.keys.exchange {
		w := &j.keys.exchange[i]
		if w.key.WordOfExchange == nil {
			if v, ok := w.key.OfExchange(x); ok {
				b = w.value(b, v)
			}
		} else if word := w.key.WordOfExchange(x); word != "" {
			b = append(append(append(append(b, w.start...), '"'), word...), '"')
		}
	}
	if x.Server != nil {
		b = j.appendServer(b, x.Server)
	}
	j.buf = b
	j.end()
	return nil
}

// appendAlternatives appends the alternative protocols of a message.
func appendAlternatives(b []byte, list []*dissect.Protocol) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(b, `,"alternatives":[`...)
	for i, p := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, p.Name...)
		b = append(b, '"')
	}
	return append(b, ']')
}

// appendPlace appends time, addresses, interface and VLAN as far as they are known;
// a pasted payload may have none.
func (j *JSON) appendPlace(b []byte, t time.Time, src, dst netip.AddrPort, noPorts, tcp bool, iface string, vlan uint16) []byte {
	if !t.IsZero() {
		b = append(b, `,"time":`...)
		b = j.appendTime(b, t)
	}
	if src.IsValid() && dst.IsValid() {
		b = j.appendEnds(b, src, dst, noPorts, tcp)
	}
	if iface != "" {
		b = append(b, `,"interface":`...)
		b = appendString(b, nettext.Bytes(iface))
	}
	if vlan != 0 {
		b = append(b, `,"vlan":`...)
		b = nettext.AppendUint(b, uint64(vlan))
	}
	return b
}

// appendTime appends a time in UTC with nine digits of a second. The text before the
// digits is cached, since thousands of messages share a second.
func (j *JSON) appendTime(b []byte, t time.Time) []byte {
	if s := t.Unix(); s != j.second || len(j.secondText) == 0 {
		j.second, j.secondText = s, t.UTC().AppendFormat(j.secondText[:0], `"2006-01-02T15:04:05.`)
	}
	b = append(b, j.secondText...)
	n := uint32(t.Nanosecond())
	b = append(b, byte('0'+n/1e8))
	b = nettext.AppendDigits(b, n/1e4%1e4)
	b = nettext.AppendDigits(b, n%1e4)
	return append(b, 'Z', '"')
}

func (j *JSON) appendFinding(b []byte, f *dissect.Finding) []byte {
	b = append(b, `{"id":"`...)
	b = append(b, f.Type.ID...)
	b = append(b, `","severity":"`...)
	b = append(b, f.Type.Severity.String()...)
	b = append(b, `","text":`...)
	j.text = f.AppendText(j.text[:0])
	b = appendString(b, j.text)
	if f.Field != nil {
		b = append(b, `,"field":"`...)
		b = append(b, f.Field.JSONName()...)
		b = append(b, '"')
	}
	if f.Length > 0 || f.Err != nil {
		b = append(b, `,"offset":`...)
		b = nettext.AppendInt(b, int64(f.Offset))
		b = append(b, `,"length":`...)
		b = nettext.AppendInt(b, int64(f.Length))
	}
	return append(b, '}')
}

func (j *JSON) appendServer(b []byte, s *dissect.Server) []byte {
	b = append(b, `,"server":{`...)
	text := func(key string, v dissect.Opt[string], style dissect.Style) {
		if v.OK {
			b = j.appendDecoded(appendKey(b, key), nettext.Bytes(v.Value), s.Charset, style)
		}
	}
	number := func(key string, v dissect.Opt[int]) {
		if v.OK {
			b = nettext.AppendInt(appendKey(b, key), int64(v.Value))
		}
	}
	text("name", s.Name, s.Style)
	text("map", s.Map, dissect.NoStyle)
	text("game", s.Game, s.Style)
	text("version", s.Version, dissect.NoStyle)
	number("players", s.Players)
	number("max_players", s.MaxPlayers)
	number("bots", s.Bots)
	if s.Password.OK {
		b = strconv.AppendBool(appendKey(b, "password"), s.Password.Value)
	}
	return append(b, '}')
}

// appendDecoded appends text without colour codes as a JSON string.
func (j *JSON) appendDecoded(b, s []byte, c dissect.Charset, style dissect.Style) []byte {
	if n := putPlain(b[len(b):cap(b)], s); n > 0 && style != core.Armagetron {
		return b[:len(b)+n]
	}
	j.text = style.AppendPlain(j.text[:0], s)
	j.scratch = c.AppendUTF8(j.scratch[:0], j.text)
	return appendString(b, j.scratch)
}

// appendKey appends a key to an object.
func appendKey(b []byte, key string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, key...)
	return append(b, '"', ':')
}

// AppendFields appends the fields of a message as an object.
func (j *JSON) AppendFields(b []byte, r *dissect.Record) []byte {
	j.foreign = r.Foreign
	return j.appendFields(b, r)
}

// appendValue appends a leaf, followed by the name of its value, its text without
// colour codes, or the bytes of text that is not UTF-8.
func (j *JSON) appendValue(b []byte, n *dissect.Node, data []byte, inList bool) []byte {
	f := n.Field
	if f.Secret && !j.secrets {
		if f.Kind == dissect.Decimal {
			b = asText(b, inList)
		}
		return append(b, `"***"`...)
	}
	switch f.Kind {
	case dissect.Uint:
		b = nettext.AppendUint(b, n.Num)
	case dissect.Int:
		b = nettext.AppendInt(b, n.Int())
	case dissect.Bool:
		b = strconv.AppendBool(b, n.Num != 0)
	case dissect.ID:
		b = append(b, '"')
		b = nettext.AppendUint(b, n.Num)
		b = append(b, '"')
	case dissect.Float:
		if v := n.Float(); math.IsNaN(v) || math.IsInf(v, 0) { // JSON has no such number
			b = append(asText(b, inList), '"')
			b = strconv.AppendFloat(b, v, 'g', -1, 64)
			return append(b, '"')
		}
		b = appendFloat(b, n.Float(), n.Len)
	case dissect.Char:
		if letter := n.Num | ' '; letter >= 'a' && letter <= 'z' {
			b = append(b, '"', byte(n.Num), '"')
			break
		}
		j.scratch = utf8.AppendRune(j.scratch[:0], rune(n.Num))
		b = appendString(b, j.scratch)
	case dissect.Endpoint:
		at := n.Endpoint(data)
		b = append(b, `{"ip":"`...)
		b = nettext.AppendAddr(b, at.Addr())
		b = append(b, `","port":`...)
		b = nettext.AppendUint(b, uint64(at.Port()))
		b = append(b, '}')
	case dissect.Decimal:
		v := n.Value(data)
		if nettext.JSONNumber(v) {
			return append(b, v...)
		}
		return j.appendText(asText(b, inList), n, v, inList)
	case dissect.String:
		b = j.appendString(b, n, data, inList)
	default:
		b = append(b, '"')
		v := n.Value(data)
		if !j.secrets {
			v = j.foreign.Shown(v)
		}
		b = hex.AppendEncode(b, v)
		b = append(b, '"')
	}
	if len(f.Names) > 0 && !inList {
		if name := f.NameOf(n.Num); name != "" {
			b = append(append(append(b, f.JSONNameKey()...), name...), '"')
		}
	}
	return b
}

// asText adds the suffix for text in place of a number to the key at the end of b.
func asText(b []byte, inList bool) []byte {
	if inList {
		return b
	}
	return append(b[:len(b)-len(`":`)], core.TextSuffix+`":`...)
}

// appendKeyOf appends the key of a companion of a field.
func appendKeyOf(b []byte, f *dissect.Field, suffix string) []byte {
	key := f.JSONKey()
	b = appendShort(b, key[:len(key)-len(`":`)])
	if f.Kind == dissect.Decimal {
		b = append(b, core.TextSuffix...)
	}
	b = append(b, suffix...)
	return append(b, '"', ':')
}

// appendString appends text as appendValue does.
func (j *JSON) appendString(b []byte, n *dissect.Node, data []byte, inList bool) []byte {
	v := n.Text(j.wide[:0], data)
	if n.Wide {
		j.wide = v
	}
	return j.appendText(b, n, v, inList)
}

func (j *JSON) appendText(b []byte, n *dissect.Node, v []byte, inList bool) []byte {
	f := n.Field
	start := len(b)
	b, valid := appendEscaped(b, v)
	if f.Charset == core.CubeChars {
		valid = f.Charset.IsUTF8(v)
	}
	if !valid {
		j.scratch = f.Charset.AppendUTF8(j.scratch[:0], v)
		b = appendString(b[:start], j.scratch)
	}
	if inList {
		return b
	}
	if style := n.Style(); style.HasCodes(v) {
		b = j.appendDecoded(appendKeyOf(b, f, "_plain"), v, f.Charset, style)
	}
	if !valid {
		b = append(appendKeyOf(b, f, "_hex"), '"')
		b = hex.AppendEncode(b, v)
		b = append(b, '"')
	}
	return b
}

// appendFloat appends the shortest number that yields the same float of its width.
func appendFloat(b []byte, v float64, bytes uint32) []byte {
	if n := int64(v); n != 0 && n > -1e6 && n < 1e6 && float64(n) == v {
		return nettext.AppendInt(b, n)
	}
	bits := nettext.Either(bytes == 4, 32, 64)
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(b, v, 'e', -1, bits)
	}
	return strconv.AppendFloat(b, v, 'f', -1, bits)
}
