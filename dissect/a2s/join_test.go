package a2s

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
)

// TestBegins: a message whose first part is missing began before the capture, if that is near.
func TestBegins(t *testing.T) {
	for _, f := range []struct {
		frame uint64
		want  *dissect.FindingType
	}{{1, core.CaptureBegins}, {1000, core.CaptureBegins}, {1001, splitMissing}} {
		var k dissecttest.Keeper
		a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{Protocol()}}, &k))(t)
		for i, part := range []string{"\xfe\xff\xff\xff\x01\x00\x00\x00\x03\x01\xe0\x04b\x002\x00", "\xfe\xff\xff\xff\x01\x00\x00\x00\x03\x02\xe0\x04c\x003\x00"} {
			a.Datagram(&dissect.Datagram{Frame: f.frame + uint64(i), Payload: []byte(part),
				Src: netip.MustParseAddrPort("198.51.100.1:27015"), Dst: netip.MustParseAddrPort("192.0.2.1:50000")})
		}
		a.Flush()
		if len(k.Records) != 1 || !k.Records[0].Has(f.want) {
			t.Errorf("from frame %d on: no %s", f.frame, f.want.ID)
		}
	}
}

// TestSplitParse parses single parts.
func TestSplitParse(t *testing.T) {
	for _, test := range []struct {
		bytes string
		want  Part
	}{
		{"\xfe\xff\xff\xff\x01\x00\x00\x80\x02\xff\xff\xff\xffE", Part{ID: 1 | compressedBit, Total: 2, Variant: "goldsrc"}},
		{"\xfe\xff\xff\xff\x01\x00\x00\x80\x02\x00sizesum_BZh", Part{ID: 1 | compressedBit, Total: 2, Variant: "source-nosize", Compressed: true}},
		{"\xfe\xff\xff\xff\x01\x00\x00\x00\x02\x01\xe0\x04x", Part{ID: 1, Index: 1, Total: 2}},
	} {
		m, err := Parse([]byte(test.bytes))
		p, ok := m.(*Part)
		if err != nil || !ok {
			t.Fatalf("%T, %v", m, err)
		}
		got := *p
		got.Data = nil
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%+v, want %+v", got, test.want)
		}
	}
	var e *dissect.Error
	for _, damaged := range []string{"\x00\x00", "\x00\x03\x03\xe0\x04x", "\x80\x11\x00abc"} {
		if _, err := Parse([]byte("\xfe\xff\xff\xff\x01\x00\x00" + damaged)); !errors.As(err, &e) || e.Offset != 8 || e.Have != -1 {
			t.Errorf("a damaged header %q: %v", damaged, err)
		}
	}
}
