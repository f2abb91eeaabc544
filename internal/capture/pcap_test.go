package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

func TestPcap(t *testing.T) {
	for _, o := range orders {
		t.Run(o.name, func(t *testing.T) {
			for _, test := range []struct {
				name string
				file *pcapFile
				want []string
			}{
				{"µs", newPcapFile(o, magicMicro, 2, 4, 1).
					record(1700000000, 123456, 4, 4, "abcd").
					record(1700000001, 0, 3, 1500, "abc"),
					[]string{
						`1 2023-11-14T22:13:20.123456Z ethernet/0 4:"abcd"`,
						`2 2023-11-14T22:13:21Z ethernet/0 1500:"abc"`,
					}},
				{"ns", newPcapFile(o, magicNano, 2, 4, 276).
					record(1700000000, 123456789, 4, 4, "abcd"),
					[]string{`1 2023-11-14T22:13:20.123456789Z linux_sll2/0 4:"abcd"`}},
				{"no frame", newPcapFile(o, magicMicro, 2, 4, 1), nil},
				{"no data", newPcapFile(o, magicMicro, 2, 4, 1).record(0, 0, 0, 60, ""),
					[]string{`1 1970-01-01T00:00:00Z ethernet/0 60:""`}},
				{"time of 2106", newPcapFile(o, magicMicro, 2, 4, 1).record(1<<32-1, 999999, 0, 0, ""),
					[]string{`1 2106-02-07T06:28:15.999999Z ethernet/0 0:""`}},
				// A second too many in the fraction, as libpcap hands it on.
				{"fraction beyond a second", newPcapFile(o, magicMicro, 2, 4, 1).record(1, 4294967295, 0, 0, ""),
					[]string{`1 1970-01-01T01:11:35.967295Z ethernet/0 0:""`}},
				{"checksum bits beside the link type", newPcapFile(o, magicMicro, 2, 4, 0x24000000|101).record(0, 0, 1, 1, "x"),
					[]string{`1 1970-01-01T00:00:00Z raw/0 1:"x"`}},
				{"more captured than there was", newPcapFile(o, magicMicro, 2, 4, 1).record(0, 0, 4, 2, "abcd").record(1, 0, 1, 1, "x"),
					[]string{
						`1 1970-01-01T00:00:00Z ethernet/0 4:"abcd"`,
						`2 1970-01-01T00:00:01Z ethernet/0 1:"x"`,
					}},
				{"more than the snap length", newPcapFile(o, magicMicro, 2, 4, 1).
					record(0, 0, 65540, 65540, strings.Repeat("x", 65540)).
					record(1, 0, 1, 1, "y"),
					[]string{
						line(Frame{Number: 1, LinkType: 1, Length: 65540, Data: []byte(strings.Repeat("x", 65540)), Time: StampOf(epoch)}),
						`2 1970-01-01T00:00:01Z ethernet/0 1:"y"`,
					}},
				{"absurd length", newPcapFile(o, magicMicro, 2, 4, 1).record(0, 0, 1, 1<<32-1, "x"),
					[]string{`1 1970-01-01T00:00:00Z ethernet/0 2147483647:"x"`}},
				{"2.2 has the lengths the other way round", newPcapFile(o, magicMicro, 2, 2, 1).record(0, 0, 60, 2, "ab"),
					[]string{`1 1970-01-01T00:00:00Z ethernet/0 60:"ab"`}},
				{"2.3 at some writers", newPcapFile(o, magicMicro, 2, 3, 1).record(0, 0, 60, 2, "ab").record(0, 0, 2, 60, "cd"),
					[]string{
						`1 1970-01-01T00:00:00Z ethernet/0 60:"ab"`,
						`2 1970-01-01T00:00:00Z ethernet/0 60:"cd"`,
					}},
				{"2.5", newPcapFile(o, magicMicro, 2, 5, 1).record(0, 0, 2, 60, "ab"),
					[]string{`1 1970-01-01T00:00:00Z ethernet/0 60:"ab"`}},
			} {
				t.Run(test.name, func(t *testing.T) { check(t, test.file.b, test.want, "") })
			}
		})
	}
}

func TestPcapDamage(t *testing.T) {
	const a = `1 1970-01-01T00:00:00Z ethernet/0 1:"a"`
	for _, o := range orders {
		t.Run(o.name, func(t *testing.T) {
			good := func() *pcapFile { return newPcapFile(o, magicMicro, 2, 4, 1).record(0, 0, 1, 1, "a") }
			for _, test := range []struct {
				name  string
				file  []byte
				want  []string
				error string
			}{
				{"file header cut", good().b[:23], nil, "x: pcap file header cut short: 23 of 24 bytes"},
				{"version 3", newPcapFile(o, magicMicro, 3, 0, 1).b, nil, "x: pcap version 3.0 is not known, only 2.x"},
				{"record header cut", append(good().b, "123"...), []string{a}, "x: frame 2 at offset 41: record header cut short: 3 of 16 bytes"},
				{"data missing", good().record(0, 0, 120, 120, "").b, []string{a}, "x: frame 2 at offset 41: record cut short: 0 of 120 bytes"},
				{"data cut", good().record(0, 0, 120, 120, strings.Repeat("x", 90)).b, []string{a}, "x: frame 2 at offset 41: record cut short: 90 of 120 bytes"},
				{"too long", good().record(0, 0, MaxFrame+1, 1, strings.Repeat("x", MaxFrame+1)).b, []string{a},
					"x: frame 2 at offset 41: record claims 262145 bytes, a frame has 262144 at most"},
				{"1 GiB", good().record(0, 0, 1<<30, 1<<30, strings.Repeat("x", 60)).b, []string{a},
					"x: frame 2 at offset 41: record claims 1073741824 bytes, a frame has 262144 at most"},
			} {
				t.Run(test.name, func(t *testing.T) { check(t, test.file, test.want, test.error) })
			}
		})
	}
}

// The longest frame just fits, wherever in the buffer it comes to lie.
func TestPcapLongest(t *testing.T) {
	f := newPcapFile(binary.LittleEndian, magicMicro, 2, 4, 1)
	var want []Frame
	for i := range 12 {
		size := MaxFrame - i%3
		data := strings.Repeat(string(rune('a'+i)), size)
		f.record(0, 0, uint32(size), uint32(size), data)
		want = append(want, Frame{Number: uint64(i + 1), Time: StampOf(epoch), LinkType: 1, Data: []byte(data), Length: size})
	}
	check(t, f.b, lines(want), "")
}

func TestLinkTypeName(t *testing.T) {
	for n, want := range map[uint16]string{
		0: "null", 1: "ethernet", 12: "raw", 101: "raw", 108: "loop", 113: "linux_sll", 147: "linktype_147",
		192: "ppi", 228: "ipv4", 229: "ipv6", 239: "nflog", 276: "linux_sll2", 65535: "linktype_65535",
	} {
		if got := LinkTypeName(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// Every resolution, against arithmetic with all digits.
func TestResolution(t *testing.T) {
	stamps := []uint64{0, 1, 999, 1000, 123456789, 1700000000_123456, 1700000000_123456789, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for i := range 64 {
		stamps = append(stamps, 1<<i+1, 1<<i-1, 0x9e3779b97f4a7c15>>i)
	}
	billion := big.NewInt(1e9)
	for code := range 256 {
		base := nettext.Either[int64](code >= 128, 2, 10)
		one := new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(code%128)), nil)
		for _, stamp := range stamps {
			n := new(big.Int).SetUint64(stamp)
			n.Mul(n, billion).Div(n, one)
			var rest big.Int
			n.DivMod(n, billion, &rest)
			seconds, nanoseconds := resolution(code).split(stamp)
			if seconds != n.Uint64() || nanoseconds != rest.Uint64() {
				t.Fatalf("resolution %#x, stamp %d: %d s %d ns, want %v s %v ns", code, stamp, seconds, nanoseconds, n, &rest)
			}
		}
	}
}

// A time is one that UnixNano can express, or none.
func TestTimeRange(t *testing.T) {
	const seconds resolution = 0
	for _, test := range []struct {
		stamp  uint64
		offset int64
		want   int64
		none   bool
	}{
		{0, 0, 0, false},
		{5, -10, -5, false},
		{maxSeconds, 0, maxSeconds, false},
		{maxSeconds + 1, 0, 0, true},
		{maxSeconds + 1, -1, maxSeconds, false},
		{0, minSeconds, minSeconds, false},
		{0, minSeconds - 1, 0, true},
		{1, minSeconds - 1, minSeconds, false},
		{1 << 62, -1 << 62, 0, true},
		{math.MaxInt64 / 2, -math.MaxInt64 / 2, 0, false},
		{math.MaxUint64, 1, 0, true},
		{math.MaxUint64, math.MinInt64, 0, true},
		{math.MaxUint64, math.MaxInt64, 0, true},
		{1, math.MaxInt64, 0, true},
		{0, math.MinInt64, 0, true},
	} {
		got := seconds.time(test.stamp, test.offset)
		if got.IsZero() != test.none || !test.none && got.UTC().Unix() != test.want {
			t.Errorf("%d%+d: %v", test.stamp, test.offset, got)
		}
	}
}

var epoch = time.Unix(0, 0).UTC()

func TestPcapng(t *testing.T) {
	const stamp = 1700000000_123456 // µs
	for _, o := range orders {
		ng := func() *pcapngFile { return &pcapngFile{order: o} }
		opt, numbers := ng().option, ng().numbers
		start := func() *pcapngFile { return ng().section().iface(1, 0) }
		int64Option := func(n int64) string { return string(o.AppendUint64(nil, uint64(n))) }
		other := nettext.Either[order](o.order == order(binary.BigEndian), binary.LittleEndian, binary.BigEndian)
		t.Run(o.name, func(t *testing.T) {
			for _, test := range []struct {
				name string
				file *pcapngFile
				want []string
			}{
				{"no interface", ng().section(), nil},
				{"no frame", start(), nil},
				{"enhanced", start().enhanced(0, stamp, 4, "abcd").enhanced(0, stamp+1, 1500, "abc"),
					[]string{
						`1 2023-11-14T22:13:20.123456Z ethernet/0 4:"abcd"`,
						`2 2023-11-14T22:13:20.123457Z ethernet/0 1500:"abc"`,
					}},
				{"obsolete", start().obsolete(0, stamp, 5, "abcd"),
					[]string{`1 2023-11-14T22:13:20.123456Z ethernet/0 5:"abcd"`}},
				{"simple", start().simple(5, "abcde").simple(7, "abcd"),
					[]string{
						`1 - ethernet/0 5:"abcde"`,
						`2 - ethernet/0 7:"abcd"`,
					}},
				{"simple, cut by the snap length", ng().section().iface(1, 3).simple(7, "abc").simple(2, "ab"),
					[]string{
						`1 - ethernet/0 7:"abc"`,
						`2 - ethernet/0 2:"ab"`,
					}},
				{"more captured than there was", start().enhanced(0, stamp, 2, "abcd"),
					[]string{`1 2023-11-14T22:13:20.123456Z ethernet/0 4:"abcd"`}},
				{"several interfaces", ng().section().iface(1, 0).iface(101, 0).enhanced(1, stamp, 1, "a").iface(276, 0).
					enhanced(2, stamp, 1, "b").enhanced(0, stamp, 1, "c").obsolete(1, stamp, 1, "d").simple(1, "e"),
					[]string{
						`1 2023-11-14T22:13:20.123456Z raw/1 1:"a"`,
						`2 2023-11-14T22:13:20.123456Z linux_sll2/2 1:"b"`,
						`3 2023-11-14T22:13:20.123456Z ethernet/0 1:"c"`,
						`4 2023-11-14T22:13:20.123456Z raw/1 1:"d"`,
						`5 - ethernet/0 1:"e"`,
					}},
				{"several sections, in either order", (&pcapngFile{other, ng().section().iface(1, 0).iface(101, 0).enhanced(1, stamp, 1, "a").b}).
					section().iface(113, 0).enhanced(0, stamp, 1, "b").simple(1, "c").section().section().iface(0, 0).obsolete(0, stamp, 1, "d"),
					[]string{
						`1 2023-11-14T22:13:20.123456Z raw/1 1:"a"`,
						`2 2023-11-14T22:13:20.123456Z linux_sll/2 1:"b"`,
						`3 - linux_sll/2 1:"c"`,
						`4 2023-11-14T22:13:20.123456Z null/3 1:"d"`,
					}},
				{"interface late in the first section that has one", ng().section().section().block(4, make([]byte, 8)).iface(1, 0).simple(1, "a"),
					[]string{`1 - ethernet/0 1:"a"`}},
				{"resolutions", ng().section().
					iface(1, 0, opt(9, "\x00")).
					iface(1, 0, opt(9, "\x09")).
					iface(1, 0, opt(9, "\x0c")).
					iface(1, 0, opt(9, "\x80")).
					iface(1, 0, opt(9, "\x8a")).
					iface(1, 0, opt(9, "\xa0")).
					iface(1, 0, opt(9, "")). // too short to be one
					enhanced(0, 1700000000, 0, "").
					enhanced(1, 1700000000_123456789, 0, "").
					enhanced(2, 1700000_123456789999, 0, "").
					enhanced(3, 1700000000, 0, "").
					enhanced(4, 1700000000<<10|512, 0, "").
					enhanced(5, 1700000000<<32|1<<31|1<<30, 0, "").
					enhanced(6, stamp, 0, ""),
					[]string{
						`1 2023-11-14T22:13:20Z ethernet/0 0:""`,
						`2 2023-11-14T22:13:20.123456789Z ethernet/1 0:""`,
						`3 1970-01-20T16:13:20.123456789Z ethernet/2 0:""`,
						`4 2023-11-14T22:13:20Z ethernet/3 0:""`,
						`5 2023-11-14T22:13:20.5Z ethernet/4 0:""`,
						`6 2023-11-14T22:13:20.75Z ethernet/5 0:""`,
						`7 2023-11-14T22:13:20.123456Z ethernet/6 0:""`,
					}},
				{"offset", ng().section().
					iface(1, 0, opt(14, int64Option(1700000000))).
					iface(1, 0, opt(9, "\x03"), opt(14, int64Option(-10)), opt(0, "")).
					iface(1, 0, opt(14, int64Option(1<<62))).
					iface(1, 0, opt(14, int64Option(-1<<63))).
					enhanced(0, 5, 0, "").
					enhanced(1, 20_500, 0, "").
					enhanced(1, 500, 0, "").
					enhanced(2, 0, 0, "").
					enhanced(3, 0, 0, ""),
					[]string{
						`1 2023-11-14T22:13:20.000005Z ethernet/0 0:""`,
						`2 1970-01-01T00:00:10.5Z ethernet/1 0:""`,
						`3 1969-12-31T23:59:50.5Z ethernet/1 0:""`,
						`4 - ethernet/2 0:""`,
						`5 - ethernet/3 0:""`,
					}},
				{"comments", ng().section(opt(1, "of the section")).
					iface(1, 0, opt(1, "of the interface"), opt(2, "eth0")).
					enhanced(0, stamp, 3, "abc", opt(1, "one"), opt(2, "\x01\x00\x00\x00"), opt(1, "zwei\x1b[2J \xff"), opt(0, "")).
					enhanced(0, stamp, 3, "abc").
					obsolete(0, stamp, 3, "abc", opt(1, "three")).
					enhanced(0, stamp, 4, "abcd", opt(0, ""), opt(1, "after the end")).
					enhanced(0, stamp, 4, "abcd", opt(1, "")),
					[]string{
						`1 2023-11-14T22:13:20.123456Z ethernet/0 3:"abc" #"one" #"zwei\x1b[2J \xff"`,
						`2 2023-11-14T22:13:20.123456Z ethernet/0 3:"abc"`,
						`3 2023-11-14T22:13:20.123456Z ethernet/0 3:"abc" #"three"`,
						`4 2023-11-14T22:13:20.123456Z ethernet/0 4:"abcd"`,
						`5 2023-11-14T22:13:20.123456Z ethernet/0 4:"abcd" #""`,
					}},
				{"packet options that do not fit", start().
					enhanced(0, stamp, 4, "abcd", opt(1, "good"), opt(1, "cut off")[:8]),
					[]string{`1 2023-11-14T22:13:20.123456Z ethernet/0 4:"abcd" #"good"`}},
				{"blocks that are skipped", ng().
					section().
					block(10, numbers(0x544c534b, 5), []byte("hello")).
					iface(1, 0).
					block(4, numbers(0x00010008, 0x7f000001), []byte("abc\x00"), make([]byte, 4)).
					block(5, numbers(0, 0, 0)).
					block(9, []byte("journal")).
					block(0xbad, numbers(32473), []byte("custom")).
					block(0x40000bad, numbers(32473), []byte("custom")).
					block(0x80000001, nil).
					block(0xffffffff, make([]byte, 3*bufferSize)).
					simple(1, "a"),
					[]string{`4 - ethernet/0 1:"a"`}},
			} {
				t.Run(test.name, func(t *testing.T) { check(t, test.file.b, test.want, "") })
			}
		})
	}
}

// TestPcapngNumbers: frames have the numbers that Wireshark gives them, which
// counts some blocks that hold no packet.
func TestPcapngNumbers(t *testing.T) {
	frames := must.Get(readAll(numbered(binary.LittleEndian).b))(t)
	got := nettext.Each(frames, func(f Frame) uint64 { return f.Number })
	if want := []uint64{2, 3, 10, 12, 14}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	_, err := readAll(append(numbered(binary.BigEndian).b, 1, 2, 3))
	var e *Error
	if !errors.As(err, &e) || e.Frame != 16 {
		t.Errorf("the damage is at %v, want frame 16", err)
	}
}

// numbered returns a file with blocks of all kinds between its packets.
func numbered(o order) *pcapngFile {
	f := &pcapngFile{order: o}
	custom := f.numbers(32473, 1, 2)
	event := append(make([]byte, 2), f.numbers(0, 1000, 1, 0, 26, 2, 0, 0)...)
	f.section().block(blockCustom, custom).iface(1, 0).enhanced(0, 1, 60, "one").enhanced(0, 2, 60, "two")
	f.block(blockCustom, custom).block(blockCustomKept, custom).block(blockCustomKept, custom)
	f.block(blockSysdig, event).block(blockSysdig2, event).block(blockSysdig2Large, event)
	f.block(4, f.numbers(0)).block(5, f.numbers(0, 0, 0)).block(10, f.numbers(0x544c534b, 4), []byte("# x\n")) // names, statistics, secrets
	f.block(0x208, event).block(0x217, event).block(0x222, event).block(0x777, custom).block(0x80000001, custom)
	f.enhanced(0, 3, 60, "three")
	f.block(blockJournal, []byte("__REALTIME_TIMESTAMP=1000\nMESSAGE=x\n\n")).obsolete(0, 4, 60, "four")
	f.section().block(blockCustom, custom).iface(101, 0).enhanced(0, 5, 60, "five")
	return f.block(blockCustom, custom)
}

func TestPcapngUncountedPadding(t *testing.T) {
	for _, o := range orders {
		f := (&pcapngFile{order: o}).section().iface(1, 0).enhanced(0, 0, 5, "abcde").simple(1, "x")
		start := len((&pcapngFile{order: o}).section().iface(1, 0).b)
		for _, at := range []int{start + 4, start + 12 + 20 + 8 - 4} {
			if n := o.Uint32(f.b[at:]); n != 40 {
				t.Fatalf("%d at %d, want the length of the block", n, at)
			}
			o.PutUint32(f.b[at:], 37)
		}
		check(t, f.b, []string{
			`1 1970-01-01T00:00:00Z ethernet/0 5:"abcde"`,
			`2 - ethernet/0 1:"x"`,
		}, "")
	}
}

func TestPcapngMinorVersion2(t *testing.T) {
	for _, o := range orders {
		f := (&pcapngFile{order: o}).section().iface(1, 0).simple(1, "x")
		o.PutUint16(f.b[14:], 2)
		check(t, f.b, []string{`1 - ethernet/0 1:"x"`}, "")
	}
}

func TestPcapngDamage(t *testing.T) {
	const a = `1 - ethernet/0 1:"a"`
	for _, o := range orders {
		ng := func() *pcapngFile { return &pcapngFile{order: o} }
		good := func() *pcapngFile { return ng().section().iface(1, 0).simple(1, "a") }
		opt, numbers := ng().option, ng().numbers
		end := len(good().b)
		set := func(b []byte, at int, n uint32) []byte {
			o.PutUint32(b[at:], n)
			return b
		}
		t.Run(o.name, func(t *testing.T) {
			for _, test := range []struct {
				name  string
				file  []byte
				want  []string
				error string
			}{
				{"section header cut in its head", good().b[:11], nil, "x: block cut short: 11 of 12 bytes"},
				{"section header cut", good().b[:27], nil, "x: block cut short: 27 of 28 bytes"},
				{"section header without byte order", append([]byte(pcapngMagic), make([]byte, 24)...), nil,
					"x: section header with 00 00 00 00 in place of the byte-order magic"},
				{"section header too short", set(set(ng().section().b, 4, 24), 20, 24), nil, "x: block of type 0xa0d0d0a has 24 bytes, 28 at least are needed"},
				{"version", func() []byte { b := good().b; o.PutUint16(b[12:], 2); return b }(), nil,
					"x: pcapng version 2.0 is not known, only 1.0"},
				{"version of a later section", func() []byte { b := append(good().b, good().b...); o.PutUint16(b[end+14:], 1); return b }(), []string{a},
					"x: frame 2 at offset 68: pcapng version 1.1 is not known, only 1.0"},
				{"interface cut", good().b[:30], nil, "x: frame 1 at offset 28: block cut short: 2 of 12 bytes"},
				{"interface too short", ng().section().block(1, make([]byte, 4)).b, nil,
					"x: frame 1 at offset 28: block of type 0x1 has 16 bytes, 20 at least are needed"},
				{"interface option does not fit", ng().section().iface(1, 0, opt(1, "abc"), opt(9, "123456789")[:8]).b, nil,
					"x: frame 1 at offset 28: interface description with an option that does not fit into its last 8 bytes"},
				{"block header cut", append(good().b, "12345"...), []string{a}, "x: frame 2 at offset 68: block cut short: 5 of 12 bytes"},
				{"packet cut", good().enhanced(0, 0, 9, "123456789").b[:end+40], []string{a}, "x: frame 2 at offset 68: block cut short: 40 of 44 bytes"},
				{"skipped block cut", good().block(4, make([]byte, 100)).b[:end+50], []string{a}, "x: frame 2 at offset 68: block cut short: 50 of 112 bytes"},
				{"skipped block cut in its end", good().block(4, make([]byte, 100)).b[:end+110], []string{a},
					"x: frame 2 at offset 68: block cut short: 110 of 112 bytes"},
				{"skipped block of 4 GiB", append(good().b, numbers(4, 1<<32-1, 0)...), []string{a}, "x: frame 2 at offset 68: block cut short: 12 of 4294967296 bytes"},
				{"packet block of 1 GiB", append(good().b, numbers(6, 1<<30, 0)...), []string{a},
					"x: frame 2 at offset 68: block of type 0x6 claims 1073741824 bytes, 524288 at most are read"},
				{"block smaller than a block", append(good().b, numbers(6, 8, 8, 0, 0)...), []string{a},
					"x: frame 2 at offset 68: block of type 0x6 claims 8 bytes, a block has 12 at least"},
				{"no room for a packet", good().block(6, make([]byte, 16)).b, []string{a},
					"x: frame 2 at offset 68: block of type 0x6 has 28 bytes, 32 at least are needed"},
				{"simple packet without a length", good().block(3, nil).b, []string{a},
					"x: frame 2 at offset 68: block of type 0x3 has 12 bytes, 16 at least are needed"},
				{"lengths differ", set(good().simple(1, "b").b, end+16, 24), []string{a},
					"x: frame 2 at offset 68: block of type 0x3 has 20 bytes by its head and 24 by its end"},
				{"lengths of a skipped block differ", set(good().block(4, make([]byte, 4)).b, end+12, 24), []string{a},
					"x: frame 2 at offset 68: block of type 0x4 has 16 bytes by its head and 24 by its end"},
				{"more data than room", set(good().enhanced(0, 0, 4, "abcd", opt(1, "hi")).b, end+20, 13), []string{a},
					"x: frame 2 at offset 68: packet claims 13 bytes in a block with room for 12"},
				{"too long", good().enhanced(0, 0, 1, string(make([]byte, MaxFrame+1))).b, []string{a},
					"x: frame 2 at offset 68: packet claims 262145 bytes, a frame has 262144 at most"},
				{"too long, simple", good().simple(MaxFrame+1, string(make([]byte, MaxFrame+1))).b, []string{a},
					"x: frame 2 at offset 68: packet claims 262145 bytes, a frame has 262144 at most"},
				{"unknown interface", good().enhanced(1, 0, 1, "a").b, []string{a},
					"x: frame 2 at offset 68: packet of interface 1, but the section describes 1 interfaces"},
				{"interface of the section before", good().section().enhanced(0, 0, 1, "a").b, []string{a},
					"x: frame 2 at offset 96: packet of interface 0, but the section describes 0 interfaces"},
				{"packet before any interface", ng().section().simple(1, "a").b, nil,
					"x: frame 1 at offset 28: packet of interface 0, but the section describes 0 interfaces"},
				{"too many interfaces", bytes.Join([][]byte{good().b, bytes.Repeat(ng().iface(1, 0).b, maxInterfaces)}, nil), []string{a},
					"x: frame 2 at offset 1310768: more than 65536 interfaces in a section"},
			} {
				t.Run(test.name, func(t *testing.T) { check(t, test.file, test.want, test.error) })
			}
		})
	}
}

// A frame of the greatest length may have comments beside it.
func TestPcapngLongest(t *testing.T) {
	f := (&pcapngFile{order: binary.LittleEndian}).section().iface(1, 0)
	comment, data := strings.Repeat("c", 1<<16-1), strings.Repeat("x", MaxFrame)
	f.enhanced(0, 0, MaxFrame, data, f.option(1, comment), f.option(1, comment), f.option(1, comment))
	f.simple(1, "a")
	frames := must.Get(readAll(f.b))(t)
	if len(frames) != 2 || string(frames[0].Data) != data || !slices.Equal(frames[0].Comments, []string{comment, comment, comment}) {
		t.Error("the long frame is not what was written")
	}
}
