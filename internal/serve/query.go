package serve

import (
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// A query is a decoded request.
type query struct {
	protocol  *dissect.Protocol
	title     string // the summary, safe to print on a terminal
	key       string // the meaning
	oneWay    bool
	challenge dissect.Challenge
	value     uint64
	chosen    []leaf // the values that the client chose
	setting   *leaf  // the one of them that a setting echoes
}

// A leaf is the value of a field.
type leaf struct {
	field *dissect.Field
	bytes string
	num   uint64
}

func (q *query) hasSetting() bool { return q != nil && q.setting != nil }

// packs reports whether datagrams of a protocol are packed, after a byte which is FF in those that are not.
func packs(p *dissect.Protocol) bool {
	return slices.ContainsFunc(p.Catalog.Fields(), func(f *dissect.Field) bool { return f.PackMark })
}

// queryOf builds a query from a tree. The key contains the type and all values that
// the client did not choose, without framing and padding.
func queryOf(p *dissect.Protocol, m *dissect.Message, sources []dissect.Source, nodes []dissect.Node) *query {
	q := &query{protocol: p, oneWay: m.Type.Role == dissect.OneWay && m.Type.Name != "unknown", challenge: m.Pair.Challenge, value: m.Pair.Value}
	if q.value > mostToken {
		q.challenge = dissect.NoChallenge // those of the capture are given again
	}
	h, packed := &p.Handshake, packs(p)
	var key strings.Builder
	key.WriteString(p.Name + " " + m.Type.Name)
	word := ""
	for i := range nodes {
		n := &nodes[i]
		f := n.Field
		if n.Source != 0 && !packed || f.Kind.Container() || f.Framing {
			continue // they repeat the first source
		}
		value := string(n.Value(sources[n.Source].Data))
		switch {
		case f.Chosen || word != "" && slices.Contains(h.Words, word):
			q.chosen = append(q.chosen, leaf{f, value, n.Num})
			if h.Setting == f.Key() && value != "" {
				q.setting = &leaf{f, value, n.Num}
			}
		case f.Ignored:
		default:
			if h.Cut != nil {
				var in *dissect.Field
				var echo string
				if value, in, echo = h.Cut(f, value); in != nil {
					q.chosen = append(q.chosen, leaf{field: in, bytes: echo})
				}
			}
			key.WriteString("\x00" + f.Path + "\x00" + value)
		}
		word = value
	}
	q.key = key.String()
	q.title = string((&dissect.Record{Message: *m}).AppendSummary(nil))
	return q
}

// A requestReader decodes requests of one protocol.
type requestReader struct {
	protocol *dissect.Protocol
	decoder  dissect.Decoder
	reader   dissect.Reader
	message  dissect.Message
	panics   uint64
}

// read decodes a datagram. It reports false if that is not a request.
func (r *requestReader) read(payload []byte) (q *query, ok bool) {
	defer func() {
		if e := recover(); e != nil { // contain a panic of the decoder
			q, ok = nil, false
			r.panics++
			r.decoder, r.reader = r.protocol.New(), dissect.Reader{}
		}
	}()
	if s := r.protocol.Split; s != nil {
		if _, ok := s.Read(payload, 0); ok {
			return nil, false // requests are never split
		}
	}
	r.message = dissect.Message{}
	core.Reset(&r.reader, payload, 0, true)
	r.decoder.Decode(&r.reader, &r.message)
	if r.reader.Failed() || r.message.Type.Role == dissect.Reply {
		return nil, false
	}
	core.Finish(&r.reader, r.protocol.Catalog.Catalog)
	return queryOf(r.protocol, &r.message, core.Sources(&r.reader), core.Nodes(&r.reader)), true
}
