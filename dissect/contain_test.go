package dissect_test

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
)

// bomb is a protocol whose decoder panics over payloads with "boom" in them,
// and leaves its scratch state broken.
func bomb() *dissect.Protocol {
	c := dissect.NewCatalog("bomb")
	text := c.Add("text", dissect.String, "Text.", dissect.FreeText)
	m := c.Message(dissect.MessageType{Name: "text", Title: "text", Doc: "Text.", Role: dissect.Request})
	return &dissect.Protocol{
		Name: "bomb", Title: "Bomb", Doc: "Bomb.", Source: "none", Starts: []string{"!"}, Catalog: c,
		Detect: func(b []byte) dissect.Verdict {
			if bytes.HasPrefix(b, []byte("!detect")) {
				panic("detect")
			}
			return dissect.Certain
		},
		New: func() dissect.Decoder { return &bombDecoder{text: text, message: m} },
	}
}

type bombDecoder struct {
	text    *dissect.Field
	message *dissect.MessageType
	broken  bool
	body    bombBody
}

type bombBody struct{ Text string }

func (b *bombBody) AppendSummary(dst []byte) []byte { return append(dst, b.Text...) }

func (d *bombDecoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if d.broken {
		panic("used after it panicked")
	}
	m.Type, m.Body = d.message, &d.body
	m.Pair.Asks = 1
	d.broken = true
	if bytes.Contains(r.Peek(), []byte("boom")) {
		var none []byte
		_ = none[r.Left()]
	}
	d.broken = false
	d.body.Text = r.Text(d.text, r.Left())
}

// heard notes what a handler is told.
type heard struct {
	messages, unknown []string
	findings          []dissect.FlowFinding
	texts             []string
	panics            bool
}

func (h *heard) Record(r *dissect.Record) {
	if h.panics {
		panic("the handler's own")
	}
	h.messages = append(h.messages, string(r.Sources[0].Data))
}
func (h *heard) Unknown(u *dissect.Unknown) {
	if u.Panicked {
		h.unknown = append(h.unknown, string(u.Payload))
	}
}
func (h *heard) Finding(f *dissect.FlowFinding) {
	if f.Type == core.Panicked {
		h.findings = append(h.findings, *f)
		h.texts = append(h.texts, string(f.AppendText(nil)))
	}
}

// TestContainment: a panic costs its datagram and the state of its flow, and
// nothing else.
func TestContainment(t *testing.T) {
	p := bomb()
	var h heard
	var shards [2]*dissect.Analyzer
	for i := range shards {
		var err error
		if shards[i], err = dissect.New(dissect.Config{Protocols: []*dissect.Protocol{p}, Share: shards[0]}, &h); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, payload := range []string{"!one", "!boom", "!two", "!boom again", "!detect", "!three"} {
		shards[i%2].Datagram(&dissect.Datagram{
			Frame: uint64(i + 1), Time: at, Src: netip.MustParseAddrPort("192.0.2.1:1000"), Dst: netip.MustParseAddrPort("192.0.2.2:2000"), Payload: []byte(payload),
		})
	}
	if got := len(h.messages); got != 3 {
		t.Errorf("messages %q", h.messages)
	}
	if len(h.unknown) != 3 || h.unknown[0] != "!boom" {
		t.Errorf("shown as data: %q", h.unknown)
	}
	if len(h.findings) != 3 || h.findings[0].Frame != 2 || h.findings[0].Protocol != p || h.findings[0].Type.Severity != dissect.Failed {
		t.Fatalf("findings %+v", h.findings)
	}
	if h.texts[0] != h.texts[1] || h.texts[0] == h.texts[2] {
		t.Errorf("the stacks of two panics in one place and of one elsewhere: %q", h.texts)
	}
	a, b := shards[0].Stats(), shards[1].Stats()
	if n := a.Panics + b.Panics; n != 3 {
		t.Errorf("%d panics counted", n)
	}
	h.panics = true
	defer func() {
		if recover() == nil {
			t.Error("the panic of a handler is kept from its owner")
		}
	}()
	shards[0].Datagram(&dissect.Datagram{Time: at, Src: netip.MustParseAddrPort("192.0.2.1:1000"), Dst: netip.MustParseAddrPort("192.0.2.2:2000"), Payload: []byte("!four")})
}

// TestPrivacy: a protocol whose text does not say what it reveals is refused. Other fields
// are replaced by their kind unless they say otherwise, and what is hidden is never kept.
func TestPrivacy(t *testing.T) {
	of := func(kind dissect.Kind, options ...dissect.Option) (*dissect.Field, error) {
		p := *all.Protocols()[0]
		p.Catalog = dissect.NewCatalog(p.Name)
		p.Catalog.Message(dissect.MessageType{Name: "note", Title: "note", Doc: "A note."})
		f := p.Catalog.Add("note", kind, "A field.", options...)
		return f, p.Validate()
	}
	if _, err := of(dissect.String); err == nil || !strings.Contains(err.Error(), "does not say what its text reveals") {
		t.Errorf("text without a privacy: %v", err)
	}
	for _, c := range []struct {
		kind    dissect.Kind
		options []dissect.Option
		want    dissect.Privacy
	}{
		{dissect.String, []dissect.Option{dissect.Public}, dissect.Public},
		{dissect.String, []dissect.Option{dissect.PersonName, dissect.Secret}, core.Key},
		{dissect.String, []dissect.Option{dissect.Framing}, dissect.Public},
		{dissect.String, []dissect.Option{core.ByKey(map[string]dissect.Privacy{"name": dissect.PersonName})}, dissect.Setting},
		{dissect.Bytes, nil, core.Opaque},
		{dissect.Bytes, []dissect.Option{core.Becomes("joined"), dissect.Secret}, core.Carrier},
		{dissect.ID, nil, core.SteamID},
		{dissect.Endpoint, nil, dissect.Address},
		{dissect.Decimal, nil, core.Cell},
		{dissect.Uint, nil, dissect.Public},
		{dissect.Uint, []dissect.Option{dissect.Token}, dissect.Token},
	} {
		f, err := of(c.kind, c.options...)
		if err != nil || f.Privacy != c.want {
			t.Errorf("%v %v: privacy %d, want %d (%v)", c.kind, c.options, f.Privacy, c.want, err)
		}
		if f.Hidden().Privacy == dissect.Public {
			t.Errorf("%v %v: hidden and kept", c.kind, c.options)
		}
	}
}
