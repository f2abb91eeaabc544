package capture

import (
	"encoding/binary"
	"strings"
	"testing"
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
