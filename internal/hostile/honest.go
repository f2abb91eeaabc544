package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"net/netip"
	"strings"
	"sync"

	"github.com/dsnet/compress/bzip2"
)

// A turn is a datagram of a conversation.
type turn struct {
	reply   bool
	payload string
}

// A talk is an honest conversation with a server.
type talk struct {
	server string
	turns  []turn
}

const (
	single = "\xff\xff\xff\xff"
	ask    = single + "TSource Engine Query\x00"
	given  = single + "A\x66\x09\x75\x27"
	proof  = "\x66\x09\x75\x27"
)

// talks are honest conversations with messages of every form: whole, split,
// compressed, and in IP fragments.
var talks = sync.OnceValue(makeTalks)

func makeTalks() []talk {
	a2s := []turn{{false, ask}, {true, given}, {false, ask + proof}, {true, Info("Honest server", 12)},
		{false, single + "U" + proof}, {true, Players("Alice", "Bob", "Carol")}, {false, single + "V" + proof}}
	parts := Split(0x2db2, 1248, Rules(101))
	for _, i := range []int{1, 0, 2} {
		a2s = append(a2s, turn{true, parts[i]})
	}
	packed := []turn{{false, single + "V" + proof}}
	for _, p := range Pack(0x00280098, 300, Rules(250)) {
		packed = append(packed, turn{true, p})
	}
	var names []string
	for i := range 80 {
		names = append(names, fmt.Sprintf("Player with a long name %02d", i))
	}
	return []talk{
		{"198.51.100.10:27015", a2s},
		{"198.51.100.11:27015", packed},
		{"198.51.100.12:27165", []turn{{false, single + "U" + proof}, {true, Players(names...)}}},
		{"198.51.100.13:27960", []turn{{false, single + "getstatus 17"}, {true, single + "statusResponse\n\\sv_hostname\\Honest arena\\mapname\\q3dm17\\challenge\\17\\sv_maxclients\\16\n3 48 \"Grunt\"\n0 999 \"Newbie\"\n"}}},
		{"198.51.100.14:25565", []turn{
			{false, "\xfe\xfd\x09\x00\x00\x00\x01"}, {true, "\x09\x00\x00\x00\x019513307\x00"},
			{false, "\xfe\xfd\x00\x00\x00\x00\x01\x00\x91\x29\x5b"},
			{true, "\x00\x00\x00\x00\x01Honest world\x00SMP\x00world\x002\x0020\x00\xdd\x63198.51.100.14\x00"},
		}},
		{"198.51.100.15:7778", []turn{
			{false, "\\status\\"}, {true, "\\gamename\\ut\\hostname\\Honest UT\\mapname\\DM-Deck16\\numplayers\\2\\maxplayers\\16\\queryid\\52.1"},
			{true, "\\player_0\\Ann\\frags_0\\5\\player_1\\Ben\\frags_1\\3\\queryid\\52.2\\final\\"},
		}},
	}
}

// Datagrams returns the number of datagrams in one round of all conversations.
func Datagrams() (n int) {
	for _, t := range talks() {
		n += len(t.turns)
	}
	return n
}

// Honest reports whether the address belongs to an honest client.
func Honest(a netip.Addr) bool { return honestNet.Contains(a.Unmap()) }

var honestNet = netip.MustParsePrefix("192.0.2.0/24")

// Info returns an info reply of a Source server.
func Info(name string, online byte) string {
	b := []byte(single + "I\x11" + name + "\x00ctf_2fort\x00tf\x00Team Fortress\x00")
	b = binary.LittleEndian.AppendUint16(b, 440)
	b = append(b, online, 32, 0, 'd', 'l', 0, 1)
	return string(b) + "9543365\x00\x00"
}

// Players returns a players reply.
func Players(names ...string) string {
	b := append([]byte(single+"D"), byte(len(names)))
	for i, name := range names {
		b = append(b, 0)
		b = append(b, name...)
		b = append(b, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(int32(7*i-3)))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(3600-23.5*float64(i))))
	}
	return string(b)
}

// Rules returns a rules reply with n rules.
func Rules(n int) string {
	b := binary.LittleEndian.AppendUint16([]byte(single+"E"), uint16(n))
	for i := range n {
		b = fmt.Appendf(b, "mp_setting_number_%03d\x00%d.%d\x00", i, i*i%97, i%10)
	}
	return string(b)
}

// Split splits a message in the format of Source.
func Split(id uint32, size int, message string) (parts []string) {
	total := (len(message) + size - 1) / size
	for i := range total {
		parts = append(parts, part(id, total, i, message[i*size:min((i+1)*size, len(message))]))
	}
	return parts
}

// part returns a part with the header of Source.
func part(id uint32, total, index int, data string) string {
	b := binary.LittleEndian.AppendUint32([]byte("\xfe\xff\xff\xff"), id)
	b = append(b, byte(total), byte(index))
	return string(binary.LittleEndian.AppendUint16(b, 1248)) + data
}

// Pack returns a compressed message, split in the format without a size.
func Pack(id uint32, size int, message string) []string {
	var z bytes.Buffer
	w, err := bzip2.NewWriter(&z, nil)
	if err == nil {
		_, err = w.Write([]byte(message))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // writes to a buffer do not fail
	}
	return packed(id, size, uint32(len(message)), crc32.ChecksumIEEE([]byte(message)), z.String())
}

// packed returns the parts of a compressed message with an arbitrary size and
// checksum.
func packed(id uint32, size int, unpacked, sum uint32, stream string) (parts []string) {
	b := binary.LittleEndian.AppendUint32(nil, unpacked)
	b = binary.LittleEndian.AppendUint32(b, sum)
	data := string(b) + stream
	total := (len(data) + size - 1) / size
	for i := range total {
		h := binary.LittleEndian.AppendUint32([]byte("\xfe\xff\xff\xff"), id|1<<31)
		parts = append(parts, string(append(h, byte(total), byte(i)))+data[i*size:min((i+1)*size, len(data))])
	}
	return parts
}

// long repeats s to a length of n bytes.
func long(s string, n int) string { return strings.Repeat(s, n/len(s)+1)[:n] }

// Evil is text that must not reach a terminal: control characters, escape sequences,
// bidirectional marks, zero-width characters, and invalid UTF-8.
const Evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u009b31m\u202ertl\u202c\u200b\u2066\u2069\ufeff\u2028\U000e0041\xc3\x28\xff\xfe\r\b\x7f\x00"
