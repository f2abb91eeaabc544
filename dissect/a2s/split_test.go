package a2s

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/reassembly"
)

// TestSplitHeaders checks the exact limits of every format of the split header.
func TestSplitHeaders(t *testing.T) {
	const mark = "\xfe\xff\xff\xff"
	const plain, packed = mark + "\x01\x02\x03\x00", mark + "\x01\x02\x03\x80"
	const begin, z = "\xff\xff\xff\xff", "BZh"
	type part = reassembly.Part
	long := strings.Repeat("x", 30)
	for _, test := range []struct {
		name  string
		bytes string
		as    uint8 // format to read, 0 to detect it
		want  part  // without the id; total 0 means no part
	}{
		// Not a part, or too short for any format.
		{"eight bytes", plain, 0, part{}},
		{"another mark", "\xff\xff\xff\xff\x01\x02\x03\x00\x12" + long, 0, part{}},
		{"no such format", plain + "\x02\x01" + long, 6, part{}},

		// The first part shows the format.
		{"goldsrc, first", plain + "\x02" + begin, 0, part{Total: 2, Header: 9, Variant: goldSrc}},
		{"goldsrc, first, bit 31", packed + "\x02" + begin, 0, part{Total: 2, Header: 9, Variant: goldSrc}},
		{"goldsrc, 15 parts", plain + "\x0f" + begin, 0, part{Total: 15, Header: 9, Variant: goldSrc}},
		{"goldsrc, one byte short", plain + "\x02" + begin[:3], 0, part{Index: 0, Total: 2, Header: 9, Guess: goldSrc}},
		{"goldsrc, index 1 with a message", plain + "\x12" + begin, 0, part{Index: 1, Total: 2, Header: 9, Guess: goldSrc}},
		{"goldsrc, total 0", plain + "\x00" + begin, 0, part{}},
		{"no size, first", plain + "\x02\x00" + begin, 0, part{Total: 2, Header: 10, Variant: sourceNoSize}},
		{"source, first", plain + "\x02\x00\xe0\x04" + begin, 0, part{Total: 2, Size: 0x4e0, Header: 12, Variant: source}},
		{"no size, six bytes of FF", plain + "\x02\x00\xff\xff" + begin, 0, part{Total: 2, Header: 10, Variant: sourceNoSize}},
		{"no size, a message of FF", plain + "\x02\x00" + begin + begin, 0, part{Total: 2, Header: 10, Variant: sourceNoSize}},
		{"packed, first", packed + "\x02\x00sizesum_" + z, 0, part{Total: 2, Header: 18, Variant: sourcePacked}},
		{"packed with size, first", packed + "\x02\x00\xe0\x04sizesum_" + z, 0, part{Total: 2, Size: 0x4e0, Header: 20, Variant: sourcePackedSize}},
		{"BZh without bit 31", plain + "\x02\x00sizesum_" + z, 0, part{Total: 2, Header: 10, Guess: sourceNoSize}},
		{"BZh behind a size without bit 31", plain + "\x02\x00\xe0\x04sizesum_" + z, 0, part{Total: 2, Size: 0x4e0, Header: 12, Guess: source}},
		{"BZh with index 1", packed + "\x02\x01sizesum_" + z, 0, part{Index: 1, Total: 2, Header: 10, Guess: sourcePacked}},
		{"total 1", plain + "\x01\x00\xe0\x04" + begin, 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},

		// Later parts: a valid size, or the other formats.
		{"size 399", plain + "\x03\x01\x8f\x01" + long, 0, part{Index: 1, Total: 3, Header: 10, Guess: sourceNoSize}},
		{"size 400", plain + "\x03\x01\x90\x01" + long, 0, part{Index: 1, Total: 3, Size: 400, Header: 12, Guess: source}},
		{"size 1400", plain + "\x03\x01\x78\x05" + long, 0, part{Index: 1, Total: 3, Size: 1400, Header: 12, Guess: source}},
		{"size 1401", plain + "\x03\x01\x79\x05" + long, 0, part{Index: 1, Total: 3, Header: 10, Guess: sourceNoSize}},
		{"no data after the size", plain + "\x03\x01\x90\x01", 0, part{Index: 1, Total: 3, Size: 400, Header: 12, Guess: source}},
		{"half a size", plain + "\x03\x01\x90", 0, part{Index: 1, Total: 3, Header: 10, Guess: sourceNoSize}},
		{"no data at all", plain + "\x03\x01", 0, part{Index: 1, Total: 3, Header: 10, Guess: sourceNoSize}},
		{"bit 31 and a size", packed + "\x03\x01\x90\x01" + long, 0, part{Index: 1, Total: 3, Size: 400, Header: 12, Guess: sourcePackedSize}},
		{"bit 31", packed + "\x03\x01" + long, 0, part{Index: 1, Total: 3, Header: 10, Guess: sourcePacked}},
		{"bit 31, goldsrc", packed + "\x12b" + long, 0, part{Index: 1, Total: 2, Header: 9, Guess: goldSrc}},
		{"bit 31, goldsrc, after a text", packed + "\x12\x00b" + long, 0, part{Index: 1, Total: 2, Header: 9, Guess: goldSrc}},
		{"goldsrc, second of two", plain + "\x12b" + long, 0, part{Index: 1, Total: 2, Header: 9, Guess: goldSrc}},
		{"goldsrc, last of 15", plain + "\xefb" + long, 0, part{Index: 14, Total: 15, Header: 9, Guess: goldSrc}},
		{"goldsrc, no data", plain + "\x12", 0, part{Index: 1, Total: 2, Header: 9, Guess: goldSrc}},
		{"goldsrc, index 1 of 1", plain + "\x11", 0, part{}},
		{"20 parts without size", plain + "\x14\x01xx" + long, 0, part{Index: 1, Total: 20, Header: 10, Guess: sourceNoSize}},
		{"20 parts, no data", plain + "\x14\x01", 0, part{Index: 1, Total: 20, Header: 10, Guess: sourceNoSize}},
		{"goldsrc, fourth of four, after a text", plain + "\x34\x00bx" + long, 0, part{Index: 3, Total: 4, Header: 9, Guess: goldSrc}},
		{"goldsrc, second of four, after a text", plain + "\x14\x00bx" + long, 0, part{Index: 1, Total: 4, Header: 9, Guess: goldSrc}},
		{"goldsrc, first of four, damaged", plain + "\x04\x00bx" + long, 0, part{Total: 4, Header: 10, Guess: sourceNoSize}},
		{"51 parts: index and total of goldsrc are equal", plain + "\x33\x01xx" + long, 0, part{Index: 1, Total: 51, Header: 10, Guess: sourceNoSize}},
		{"goldsrc of one part without a message", plain + "\x01\x01xx" + long, 0, part{}},
		{"31 parts", plain + "\x1f\x01xx" + long, 0, part{Index: 1, Total: 31, Header: 10, Guess: sourceNoSize}},
		{"32 parts and more are goldsrc's", plain + "\x25\x01xx" + long, 0, part{Index: 2, Total: 5, Header: 9, Guess: goldSrc}},
		{"index below the total by one", plain + "\x03\x02xx" + long, 0, part{Index: 2, Total: 3, Header: 10, Guess: sourceNoSize}},
		{"index of the total", plain + "\x03\x03xx" + long, 0, part{Index: 0, Total: 3, Header: 9, Guess: goldSrc}},
		{"index of the total, but a message where Source has it", plain + "\x03\x03\xe0\x04" + begin, 0, part{}},
		{"the same without a message", plain + "\x03\x03\xe0\x04" + long, 0, part{Index: 3, Total: 3, Size: 0x4e0, Header: 12, Guess: source}},
		{"the same with a size that Source does not have", plain + "\x03\x03\x79\x05" + begin, 0, part{Index: 0, Total: 3, Header: 9, Guess: goldSrc}},
		{"index above the total, a message where no size is", plain + "\x03\x05" + begin, 0, part{}},
		{"index of the total, packed, no size", packed + "\x03\x03sizesum_" + z, 0, part{}},
		{"index of the total, packed, a size", packed + "\x03\x03\xe0\x04sizesum_" + z, 0, part{}},
		{"index above the total, packed, no size", packed + "\x11\x12xx" + long, 0, part{}},
		{"index of the total, packed, a size, no message", packed + "\x03\x03\xe0\x04" + long, 0, part{Index: 3, Total: 3, Size: 0x4e0, Header: 12, Guess: sourcePackedSize}},
		{"packed, first, too short for its sizes", packed + "\x11\x00abc", 0, part{}},
		{"packed or goldsrc, first, too short for sizes", packed + "\x02\x00\xe0\x04abc", 0, part{Total: 2, Header: 9, Guess: goldSrc}},
		{"goldsrc, index of the total, but a message", plain + "\x22" + begin, 0, part{}},
		{"goldsrc, index of the total", plain + "\x22b" + long, 0, part{Index: 2, Total: 2, Header: 9, Guess: goldSrc}},
		{"one part, its rules cut short", plain + "\x01\x00\xe0\x04" + begin + "E\x02\x00a\x001\x00b\x00", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source, Cut: true}},
		{"one part, all its rules", plain + "\x01\x00\xe0\x04" + begin + "E\x01\x00a\x001\x00", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"one part, rules big endian", plain + "\x01\x00\xe0\x04" + begin + "E\x00\x01a\x001\x00", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"one part, a player cut short", plain + "\x01\x00\xe0\x04" + begin + "D\x01\x00a\x001234567", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source, Cut: true}},
		{"one part, a player", plain + "\x01\x00\xe0\x04" + begin + "D\x01\x00a\x0012345678", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"one part, no rules", plain + "\x01\x00\xe0\x04" + begin + "E\x00\x00", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"one part, half a number of rules", plain + "\x01\x00\xe0\x04" + begin + "E\x00", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source, Cut: true}},
		{"one part, a rule without a name", plain + "\x01\x00\xe0\x04" + begin + "E\x01\x00\x001\x00", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"one part, a player without a name", plain + "\x01\x00\xe0\x04" + begin + "D\x01\x00\x0012345678", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"one part, a name that does not end", plain + "\x01\x00\xe0\x04" + begin + "D\x01\x00" + long, 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source, Cut: true}},
		{"one part, two players", plain + "\x01\x00\xe0\x04" + begin + "D\x02\x00ab\x0012345678\x01cd\x0012345678", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"one part, the second player cut short", plain + "\x01\x00\xe0\x04" + begin + "D\x02\x00ab\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00cd\x001234567", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source, Cut: true}},
		{"one part, info", plain + "\x01\x00\xe0\x04" + begin + "I\x11abc", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"total 0", plain + "\x00\x00xx" + long, 0, part{}},
		{"255 parts, the last", plain + "\xff\xfe\xe0\x04" + long, 0, part{Index: 254, Total: 255, Size: 0x4e0, Header: 12, Guess: source}},

		// Known formats.
		{"as goldsrc", plain + "\x12\x01" + long, goldSrc, part{Index: 1, Total: 2, Header: 9, Variant: goldSrc}},
		{"as goldsrc, index of the total", plain + "\x22\x01" + long, goldSrc, part{Index: 2, Total: 2, Header: 9, Variant: goldSrc}},
		{"as source", plain + "\x03\x01\x00\x00" + long, source, part{Index: 1, Total: 3, Header: 12, Variant: source}},
		{"as source, index of the total", plain + "\x03\x03\xe0\x04" + long, source, part{Index: 3, Total: 3, Size: 0x4e0, Header: 12, Variant: source}},
		{"a first part of no bytes", plain + "\x03\x00", 0, part{Total: 3, Header: 10, Guess: sourceNoSize}},
		{"as source, one byte short", plain + "\x03\x01\x00", source, part{}},
		{"as no size, one byte short", plain + "\x03", sourceNoSize, part{}},
		{"as packed, first", packed + "\x03\x00sizesum_", sourcePacked, part{Total: 3, Header: 18, Variant: sourcePacked}},
		{"as packed, first, one byte short", packed + "\x03\x00sizesum", sourcePacked, part{}},
		{"as packed, second", packed + "\x03\x01", sourcePacked, part{Index: 1, Total: 3, Header: 10, Variant: sourcePacked}},
		{"as packed with size, first", packed + "\x03\x00\x01\x02sizesum_", sourcePackedSize, part{Total: 3, Size: 0x201, Header: 20, Variant: sourcePackedSize}},
		{"as packed with size, first, one byte short", packed + "\x03\x00\x01\x02sizesum", sourcePackedSize, part{}},
	} {
		got, ok := readSplit([]byte(test.bytes), test.as)
		if got.ID != 0 && ok && uint32(got.ID)&^compressedBit != 0x030201&^compressedBit {
			t.Errorf("%s: id %#x", test.name, got.ID)
		}
		got.ID = 0
		if ok != (test.want.Total > 0) || ok && got != test.want {
			t.Errorf("%s: %+v, %v, want %+v", test.name, got, ok, test.want)
		}
	}
	if v := detectSplit([]byte(plain + "\x02" + begin)); v != dissect.Certain {
		t.Errorf("a first part is %v", v)
	}
	if v := detectSplit([]byte(plain + "\x12b")); v != dissect.Likely {
		t.Errorf("a later part is %v", v)
	}
	if v := detectSplit([]byte(plain + "\x22b")); v != dissect.Possible {
		t.Errorf("an index of the total is %v", v)
	}
	if v := detectSplit([]byte(plain + "\x00")); v != dissect.Possible {
		t.Errorf("a damaged header is %v", v)
	}
}

// TestOf checks that the summary of a truncated list states the announced number.
func TestOf(t *testing.T) {
	for want, s := range map[string]dissect.Summarizer{
		"1 of 3 rules":    &RulesReply{Count: 3, Rules: make([]dissect.KeyValue, 1)},
		"3 rules":         &RulesReply{Count: 0x300, Rules: make([]dissect.KeyValue, 3)},
		"9 of 30 players": &PlayersReply{Count: 30, Players: make([]Player, 9)},
		"":                &Part{noID: true},
		"id 0":            &Part{},
	} {
		if got := string(s.AppendSummary(nil)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

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
