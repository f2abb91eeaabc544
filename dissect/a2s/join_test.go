package a2s

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/dsnet/compress/bzip2"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
)

// joins describes the records of parts: message, parts, findings with their offsets,
// and leaves of the headers.
type joins struct {
	out   []string
	heads bool
}

func (j *joins) Record(r *dissect.Record) {
	s := r.Type.Name
	if b, ok := r.Body.(*RulesReply); ok {
		s += fmt.Sprintf(" %d", len(b.Rules))
	}
	if b, ok := r.Body.(*Part); ok {
		s += fmt.Sprintf(" %d/%d %dB", b.Index, b.Total, len(b.Data))
	}
	if r.Split.Parts > 0 {
		s += fmt.Sprintf(" [%s %d of %d %v]", r.Split.Variant, r.Split.Parts, r.Split.Total, r.Missing)
	}
	if r.Compressed {
		s += fmt.Sprintf(" packed %v", r.Verified)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Type == splitVariant || f.Type == unrequested || f.Type == core.LastPart {
			continue
		}
		s += " " + strings.TrimPrefix(f.Type.ID, "a2s.")
		if f.Offset+f.Length > 0 {
			s += fmt.Sprintf("@%d+%d", f.Offset, f.Length)
		}
		if f.Type == splitDamaged || f.Type == splitHeaderShort || f.Type == bzipBomb || f.Type == bzipTrailing {
			s += fmt.Sprintf(" %q", f.AppendText(nil))
		}
	}
	if j.heads {
		for _, n := range r.Nodes {
			if n.Field == fSplitIndex || n.Field == fSplitTotal || n.Field == fSplitCRC {
				s += fmt.Sprintf(" %s=%d@%d+%d", n.Field.Key(), n.Num, n.Off, n.Len)
			}
		}
	}
	j.out = append(j.out, s)
}
func (j *joins) Unknown(u *dissect.Unknown)     { j.out = append(j.out, "unknown") }
func (j *joins) Finding(f *dissect.FlowFinding) { j.out = append(j.out, "finding "+f.Type.ID) }

func joinAll(t *testing.T, heads bool, parts ...string) string {
	t.Helper()
	return joinFrom(t, 2001, heads, parts...)
}

// joinFrom returns what an analyzer makes of parts, of which the first has a frame number.
func joinFrom(t *testing.T, frame uint64, heads bool, parts ...string) string {
	t.Helper()
	j := &joins{heads: heads}
	a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{Protocol()}, Tree: true}, j))(t)
	for i, p := range parts {
		a.Datagram(&dissect.Datagram{
			Frame: frame + uint64(i), Time: time.Unix(1e9, int64(i)), Payload: []byte(p),
			Src: netip.MustParseAddrPort("198.51.100.1:27015"), Dst: netip.MustParseAddrPort("192.0.2.1:50000"),
		})
	}
	a.Flush()
	return strings.Join(j.out, "; ")
}

// TestSplitJoin joins complete sets, sets with gaps, and invalid headers.
func TestSplitJoin(t *testing.T) {
	const mark, single, z = "\xfe\xff\xff\xff", "\xff\xff\xff\xff", "\x00"
	const a, b, c = single + "E\x03\x00a\x001\x00b", "\x002\x00c", "\x003\x00"
	source := func(id, total, index byte, data string) string {
		return mark + string([]byte{id, 0, 0, 0, total, index, 0xe0, 0x04}) + data
	}
	bare := func(id string, total, index byte, data string) string {
		return mark + id + string([]byte{total, index}) + data
	}
	gold := func(number byte, data string) string {
		return mark + "\x01\x00\x00\x00" + string([]byte{number}) + data
	}
	for _, test := range []struct {
		name, want string
		parts      []string
	}{
		{"whole", "rules_reply 3 [source 3 of 3 []]", []string{source(1, 3, 0, a), source(1, 3, 1, b), source(1, 3, 2, c)}},
		{"one part", "rules_reply 3 [source 1 of 1 []]", []string{source(1, 1, 0, a+b+c)}},
		{"the last missing", "rules_reply 1 [source 2 of 3 [3]] split.missing", []string{source(1, 3, 0, a), source(1, 3, 1, "\x00")}},
		{"the middle missing", "rules_reply 1 [source 2 of 3 [2]] split.missing", []string{source(1, 3, 0, a), source(1, 3, 2, c)}},
		{"the first missing", "split 1/3 7B [source 2 of 3 [1]] split.missing", []string{source(1, 3, 1, b), source(1, 3, 2, c)}},
		{"a first part of 4 bytes", "split 0/2 4B [source 1 of 2 [2]] split.missing", []string{source(1, 2, 0, single)}},
		{"a first part of 5 bytes", "rules_reply 0 [source 1 of 2 [2]] split.missing", []string{source(1, 2, 0, single+"E")}},
		{"no message in the first", "split 0/2 6B [source 2 of 2 []] split.guess split.unread", []string{source(1, 2, 0, "abc"), source(1, 2, 1, "def")}},
		{"no message in the first, the second missing", "split 0/3 6B [source 2 of 3 [2]] split.missing split.guess", []string{source(1, 3, 0, "abcdef"), source(1, 3, 2, "ghi")}},
		{"goldsrc", "rules_reply 3 [goldsrc 2 of 2 []]", []string{gold(0x02, a), gold(0x12, b+c)}},
		{"goldsrc, the first missing", "split 1/3 7B [goldsrc 2 of 3 [1]] split.missing", []string{gold(0x13, b), gold(0x23, c)}},
		{"bit 15", "rules_reply 3 [source-nosize 2 of 2 []] split.bit15@4+4", []string{bare("\x01\x80\x00\x00", 2, 0, a), bare("\x01\x80\x00\x00", 2, 1, b+c)}},
		{"bit 14", "rules_reply 3 [source-nosize 2 of 2 []]", []string{bare("\x01\x40\x00\x00", 2, 0, a), bare("\x01\x40\x00\x00", 2, 1, b+c)}},
		{"bits 15 and 31", "rules_reply 3 [source-nosize 2 of 2 []] bz2.plain@4+4", []string{bare("\x01\x80\x00\x80", 2, 0, a), bare("\x01\x80\x00\x80", 2, 1, b+c)}},
		{"bit 15 of goldsrc", "rules_reply 3 [goldsrc 2 of 2 []]", []string{mark + "\x01\x80\x00\x00\x02" + a, mark + "\x01\x80\x00\x00\x12" + b + c}},
		{"bit 31 of goldsrc", "rules_reply 3 [goldsrc 2 of 2 []] split.reorder", []string{mark + "\x01\x00\x00\x80\x12" + b + c, mark + "\x01\x00\x00\x80\x02" + a}},
		{"sizes differ", "rules_reply 3 [source 2 of 2 []] split.sizes", []string{source(1, 2, 0, a), mark + "\x01\x00\x00\x00\x02\x01\xe0\x03" + b + c}},
		{"totals differ", "rules_reply 3 [source 3 of 3 []] split.totals", []string{source(1, 3, 0, a), source(1, 2, 1, b), source(1, 3, 2, c)}},

		{"a place beyond a known set", `split 7/3 1B split.header@0+12 "invalid split header: total 3, index 7"; rules_reply 3 [source 3 of 3 []]`, []string{source(1, 3, 0, a), source(1, 3, 7, "x"), source(1, 3, 1, b), source(1, 3, 2, c)}},
		{"the place after a known set", `split 3/3 1B split.header@0+12 "invalid split header: total 3, index 3"; rules_reply 3 [source 3 of 3 []]`, []string{source(1, 3, 0, a), source(1, 3, 3, "x"), source(1, 3, 1, b), source(1, 3, 2, c)}},
		{"no size, a place beyond a message", `split 5/3 12B split.header@0+10 "invalid split header: total 3, index 5"`, []string{bare("\x01\x00\x00\x00", 3, 5, a)}},
		{"one part, then none", "rules_reply 1 [source 1 of 1 []] rules.truncated@5+2", []string{source(1, 1, 0, a)}},

		{"total 0", `split 0/0 6B split.header@0+10 "invalid split header: total 0, index 0"`, []string{mark + "\x07\x00\x00\x00\x00\x00abcdef"}},
		{"index of the total", `split 3/3 6B split.header@0+10 "invalid split header: total 3, index 3"`, []string{mark + "\x07\x00\x00\x00\x03\x03abcdef"}},
		{"goldsrc, index of the total", `split 2/2 5B split.header@0+9 "invalid split header: total 2, index 2"`, []string{gold(0x22, single+"E")}},
		{"nine bytes", `split 1/1 0B split.header@0+9 "invalid split header: total 1, index 1"`, []string{gold(0x11, "")}},
		{"nine bytes, total 0", `split 0/0 0B split.header@0+9 "invalid split header: total 0, index 0"`, []string{gold(0, "")}},
		{"goldsrc, total 0", `split 0/0 5B split.header@0+9 "invalid split header: total 0, index 0"`, []string{gold(0, single+"E")}},
		{"ten bytes", `split 0/0 0B split.header@0+10 "invalid split header: total 0, index 0"`, []string{gold(0, z)}},
		{"eight bytes", `split 0/0 0B split.header.short@0+8 "invalid split header: 8 bytes, the shortest has 9"`, []string{mark + "\x07\x00\x00\x00"}},
		{"seven bytes", `split 0/0 3B split.header.short@0+7 "invalid split header: 7 bytes, the shortest has 9"`, []string{mark + "\x07\x00\x00"}},
	} {
		if test.name == "index of the total" {
			test.parts[0] = strings.Replace(test.parts[0], "\x03\x03", "\x40\x40", 1) // no GoldSrc either
			test.want = strings.NewReplacer("3/3", "64/64", "total 3, index 3", "total 64, index 64").Replace(test.want)
		}
		if got := joinAll(t, false, test.parts...); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.name, got, test.want)
		}
	}
	// Contradictory totals, in every order.
	for _, totals := range [][3]byte{{3, 3, 2}, {1, 3, 3}, {2, 3, 3}, {3, 2, 3}} {
		for _, o := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			var parts, golds []string
			for _, i := range o {
				data := [...]string{a, b, c}[i]
				parts = append(parts, source(1, totals[i], byte(i), data))
				golds = append(golds, gold(byte(i)<<4|totals[i], data))
			}
			for format, parts := range map[string][]string{"source": parts, "goldsrc": golds} {
				got := strings.Replace(joinAll(t, false, parts...), " split.reorder", "", 1)
				if want := "rules_reply 3 [" + format + " 3 of 3 []] split.totals"; got != want {
					t.Errorf("totals %v in the order %v:\n%s, want\n%s", totals, o, got, want)
				}
			}
		}
	}
	for _, f := range []struct {
		frame uint64
		want  string
	}{{1, "capture.begins"}, {1000, "capture.begins"}, {1001, "split.missing"}} {
		want := "split 1/3 7B [source 2 of 3 [1]] " + f.want
		if got := joinFrom(t, f.frame, false, source(1, 3, 1, b), source(1, 3, 2, c)); got != want {
			t.Errorf("without the first part, from frame %d on:\n%s, want\n%s", f.frame, got, want)
		}
	}
	if got, want := joinFrom(t, 1, false, source(1, 3, 0, a), source(1, 3, 2, c)), "rules_reply 1 [source 2 of 3 [2]] split.missing"; got != want {
		t.Errorf("without the second part:\n%s, want\n%s", got, want)
	}
	want := "rules_reply 3 [goldsrc 2 of 2 []] index=0@8+1 total=2@9+0 index=1@8+1 total=2@9+0"
	if got := joinAll(t, true, gold(0x02, a), gold(0x12, b+c)); got != want {
		t.Errorf("the byte of GoldSrc:\n%s, want\n%s", got, want)
	}
	want = `split 0/0 0B split.header@0+9 "invalid split header: total 0, index 0" index=0@8+1 total=0@9+0`
	if got := joinAll(t, true, gold(0, "")); got != want {
		t.Errorf("the same of 0:\n%s, want\n%s", got, want)
	}
}

// TestGlued reads parts that receive offload joined to fewer datagrams.
func TestGlued(t *testing.T) {
	message := "\xff\xff\xff\xffE\x5a\x00"
	for i := range 90 {
		message += fmt.Sprintf("rule_%02d\x00value of rule %02d\x00", i, i)
	}
	const size = 800
	split := func(header func(i, n int) string) (parts []string) {
		n := (len(message) + size - 1) / size
		for i := range n {
			parts = append(parts, header(i, n)+message[i*size:min((i+1)*size, len(message))])
		}
		return parts
	}
	source := split(func(i, n int) string {
		return "\xfe\xff\xff\xff\x01\x00\x00\x00" + string([]byte{byte(n), byte(i), 0x20, 0x03})
	})
	gold := split(func(i, n int) string { return "\xfe\xff\xff\xff\x01\x00\x00\x00" + string([]byte{byte(i<<4 | n)}) })
	for _, test := range []struct {
		name, want string
		parts      []string
	}{
		{"all", "rules_reply 90 [source 3 of 3 []] capture.offload", []string{source[0] + source[1] + source[2]}},
		{"the first two", "finding capture.offload; rules_reply 90 [source 3 of 3 []]", []string{source[0] + source[1], source[2]}},
		{"the last two", "rules_reply 90 [source 3 of 3 []] capture.offload", []string{source[0], source[1] + source[2]}},
		{"goldsrc", "rules_reply 90 [goldsrc 3 of 3 []] capture.offload", []string{gold[0] + gold[1] + gold[2]}},
		{"the middle is missing", "finding capture.offload; rules_reply 31 [source 2 of 3 [2]] split.missing", []string{source[0] + source[2]}},
	} {
		if got := joinAll(t, false, test.parts...); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.name, got, test.want)
		}
	}
}

// TestSplitPacked checks the limits of compressed messages.
func TestSplitPacked(t *testing.T) {
	const mark = "\xfe\xff\xff\xff"
	message := func(n int) string {
		return "\xff\xff\xff\xffE\x01\x00key\x00" + strings.Repeat("v", n-len("\xff\xff\xff\xffE\x01\x00key\x00")-1) + "\x00"
	}
	pack := func(s string) string {
		var z bytes.Buffer
		w := must.Get(bzip2.NewWriter(&z, nil))(t)
		w.Write([]byte(s))
		w.Close()
		return z.String()
	}
	u32 := func(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }
	set := func(size, crc uint32, stream string, repeat bool) []string {
		head := u32(size) + u32(crc)
		half := len(stream) / 2
		second := ""
		if repeat {
			second = head
		}
		return []string{mark + "\x01\x00\x00\x80\x02\x00" + head + stream[:half], mark + "\x01\x00\x00\x80\x02\x01" + second + stream[half:]}
	}
	sum := func(s string) uint32 { return crc32.ChecksumIEEE([]byte(s)) }
	plain := message(300)
	z := pack(plain)
	big := message(smallest + 1)
	for _, test := range []struct {
		name, want string
		parts      []string
	}{
		{"sound", "rules_reply 1 [source-nosize 2 of 2 []] packed true", set(300, sum(plain), z, false)},
		{"the header in every part", "rules_reply 1 [source-nosize 2 of 2 []] packed true", set(300, sum(plain), z, true)},
		{"another sum", "packed false bz2.crc", set(300, sum(plain)+1, z, false)},
		{"a size too small", "packed false bz2.long", set(299, sum(plain), z, false)},
		{"a size too large", "packed false bz2.size", set(301, sum(plain), z, false)},
		{"one byte more", "bz2.trailing \"bytes after the end of the bzip2 stream: 1\"", set(300, sum(plain), z+"x", false)},
		{"a damaged end", "packed false bz2.stream", set(300, sum(plain), z[:len(z)-30], false)},
		{"damaged after the message", "packed true bz2.tail", set(300, sum(plain), z[:len(z)-8], false)},
		{"damaged after the message, another sum", "packed false bz2.stream", set(300, sum(plain)+1, z[:len(z)-8], false)},
		{"the smallest limit", "packed false bz2.stream", set(smallest, 0, "BZh9xxxx", false)},
		{"above it", `bz2.bomb "not decompressed: 4097 bytes announced, the limit is 4096"`, set(smallest+1, 0, "BZh9xxxx", false)},
		{"a hundred times its size", "rules_reply 1", set(smallest+1, sum(big), pack(big), false)},
		{"the maximum", "packed false bz2.stream", set(MaxUnpacked, 0, "BZh9"+strings.Repeat("x", MaxUnpacked/maxRatio), false)},
		{"the maximum, but not of so few bytes", `bz2.bomb "not decompressed: 1048576 bytes announced, the limit is 4096"`, set(MaxUnpacked, 0, "BZh9xxxx", false)},
		{"above the maximum", `bz2.bomb "not decompressed: 1048577 bytes announced, the limit is 1048576"`, set(MaxUnpacked+1, 0, "BZh9"+strings.Repeat("x", MaxUnpacked/maxRatio), false)},
		{"a part missing", "split 0/2 ", set(300, sum(plain), z, false)[:1]},
		{"the first missing", fmt.Sprintf("split 1/2 %dB", len(z)-len(z)/2), set(300, sum(plain), z, false)[1:]},
		{"a message for a stream, the second missing", "split 0/2 300B [source-nosize 1 of 2 [2]] packed false", set(300, sum(plain), plain+plain, false)[:1]},
		{"no stream in the first, the header in both", "rules_reply 1 [source-nosize 2 of 2 []] packed true split.guess",
			[]string{set(300, sum(plain), "", true)[0], set(300, sum(plain), z, true)[1][:18] + z}},
		{"the header in both, no stream in the second", "rules_reply 1 [source-nosize 2 of 2 []] packed true",
			[]string{set(300, sum(plain), z, true)[0][:18] + z, set(300, sum(plain), z, true)[1][:18]}},
		// The second part has only the first half of the repeated bytes. The bytes
		// after it in memory are the other half.
		{"half the header in the second", "packed false bz2.stream", []string{
			mark + "\x01\x00\x00\x80\x03\x00" + u32(300) + mark + z[:20], mark + "\x01\x00\x00\x80\x03\x01" + u32(300), mark + "\x01\x00\x00\x80\x03\x02" + u32(300) + mark + z[20:]}},
	} {
		got := joinAll(t, false, test.parts...)
		if !strings.Contains(got, test.want) || test.name == "one byte more" != strings.Contains(got, "trailing") && strings.HasPrefix(test.want, "rules") {
			t.Errorf("%s:\n%s, want\n%s", test.name, got, test.want)
		}
	}
	// The limit is a hundred times the size of the stream.
	stream := "BZh9" + strings.Repeat("x", 46)
	if got := joinAll(t, false, set(5000, 0, stream, false)...); strings.Contains(got, "bomb") {
		t.Error(got)
	}
	if got := joinAll(t, false, set(5001, 0, stream, false)...); !strings.Contains(got, "5001 bytes announced, the limit is 5000") {
		t.Error(got)
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
