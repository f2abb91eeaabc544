package capture

import (
	"encoding/binary"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"
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
						line(Frame{Number: 1, LinkType: 1, Length: 65540, Data: []byte(strings.Repeat("x", 65540)), Time: epoch}),
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
				{"file header cut", good().b[:23], nil,
					"x: pcap file header cut short: 23 of 24 bytes"},
				{"version 3", newPcapFile(o, magicMicro, 3, 0, 1).b, nil,
					"x: pcap version 3.0 is not known, only 2.x"},
				{"record header cut", append(good().b, "123"...), []string{a},
					"x: frame 2 at offset 41: record header cut short: 3 of 16 bytes"},
				{"data missing", good().record(0, 0, 120, 120, "").b, []string{a},
					"x: frame 2 at offset 41: record cut short: 0 of 120 bytes"},
				{"data cut", good().record(0, 0, 120, 120, strings.Repeat("x", 90)).b, []string{a},
					"x: frame 2 at offset 41: record cut short: 90 of 120 bytes"},
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
		want = append(want, Frame{Number: uint64(i + 1), Time: epoch, LinkType: 1, Data: []byte(data), Length: size})
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
		base := int64(10)
		if code >= 128 {
			base = 2
		}
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
		if got.IsZero() != test.none || !test.none && got.Unix() != test.want {
			t.Errorf("%d%+d: %v", test.stamp, test.offset, got)
		}
		if !test.none && !time.Unix(0, got.UnixNano()).Equal(got) {
			t.Errorf("%d%+d: %v is not what UnixNano says", test.stamp, test.offset, got)
		}
	}
}
