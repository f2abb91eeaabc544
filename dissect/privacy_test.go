package dissect_test

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
)

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
