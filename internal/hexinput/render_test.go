package hexinput

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
)

// payloads returns payloads of all kinds that make trouble: with text that
// looks like hex, with blanks at both ends of it, with rows that repeat.
func payloads(n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	const text = "0123456789abcdef |>< .\\\"'`TSource Engine"
	all := [][]byte{[]byte(infoRequest), []byte(infoReply), []byte(challenge), []byte(gameSpyRequest), []byte("\\status\\\\final\\")}
	for range n {
		b := make([]byte, 1+r.IntN(100))
		for kind, i := r.IntN(5), 0; i < len(b); i++ {
			switch kind {
			case 0:
				b[i] = byte(r.Uint32())
			case 1:
				b[i] = text[r.IntN(len(text))]
			case 2:
				b[i] = "\x00\xff"[r.IntN(50)/49]
			case 3:
				b[i] = "abcdef 0123456789"[r.IntN(17)]
			case 4:
				b[i] = "   a\x00\x80"[r.IntN(6)]
			}
		}
		all = append(all, b)
	}
	return all
}

// printable is what most tools show of a byte.
func printable(b []byte, space byte) string {
	var s strings.Builder
	for _, c := range b {
		switch {
		case c == ' ':
			s.WriteByte(space)
		case c > ' ' && c <= '~':
			s.WriteByte(c)
		default:
			s.WriteByte('.')
		}
	}
	return s.String()
}

// rows calls f for every n bytes.
func rows(b []byte, n int, f func(offset int, row []byte)) {
	for i := 0; i < len(b); i += n {
		f(i, b[i:min(i+n, len(b))])
	}
}

// words renders a row in groups of n bytes.
func words(row []byte, n int) string {
	var s []string
	rows(row, n, func(_ int, w []byte) { s = append(s, hex.EncodeToString(w)) })
	return strings.Join(s, " ")
}

func escapeAll(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		fmt.Fprintf(&s, `\x%02x`, c)
	}
	return s.String()
}

// escapeSome renders a literal without its quotes, with escapes where they must
// be.
func escapeSome(b []byte, quote byte) string {
	var s strings.Builder
	for _, c := range b {
		switch {
		case c == quote || c == '\\':
			s.WriteByte('\\')
			s.WriteByte(c)
		case c == '\n':
			s.WriteString(`\n`)
		case c == '\r':
			s.WriteString(`\r`)
		case c == '\t':
			s.WriteString(`\t`)
		case c >= ' ' && c <= '~':
			s.WriteByte(c)
		default:
			fmt.Fprintf(&s, `\x%02x`, c)
		}
	}
	return s.String()
}

// ipv4 puts headers before a payload, with the addresses of the tests.
func ipv4(payload []byte) []byte {
	b := make([]byte, 28, 28+len(payload))
	b[0], b[8], b[9] = 0x45, 64, 17
	binary.BigEndian.PutUint16(b[2:], uint16(28+len(payload)))
	copy(b[12:], client.Addr().AsSlice())
	copy(b[16:], server.Addr().AsSlice())
	putUDP(b[20:], len(payload))
	return append(b, payload...)
}

func ipv6(payload []byte) []byte {
	b := make([]byte, 56, 56+len(payload))
	b[0], b[6], b[7] = 0x60, 60, 64 // destination options, then UDP
	binary.BigEndian.PutUint16(b[4:], uint16(16+len(payload)))
	b[23], b[39] = 1, 2
	b[40] = 17
	putUDP(b[48:], len(payload))
	return append(b, payload...)
}

func putUDP(b []byte, n int) {
	binary.BigEndian.PutUint16(b, client.Port())
	binary.BigEndian.PutUint16(b[2:], server.Port())
	binary.BigEndian.PutUint16(b[4:], uint16(8+n))
}

func ethernetFrame(ip []byte) []byte {
	b := append([]byte("\x02\x00\x5e\x00\x53\x01\x02\x00\x5e\x00\x53\x02\x81\x00\x00\x05\x08\x00"), ip...)
	if ip[0]>>4 == 6 {
		b[16], b[17] = 0x86, 0xdd
	}
	for len(b) < minFrame {
		b = append(b, 0)
	}
	return b
}

func tcpdump(packet []byte) string {
	var s strings.Builder
	s.WriteString("12:00:00.000000 IP 203.0.113.7.57147 > 198.51.100.20.27015: UDP, length 1\n")
	rows(packet, 16, func(i int, row []byte) {
		fmt.Fprintf(&s, "\t0x%04x:  %-39s  %s\n", i, words(row, 2), printable(row, '.'))
	})
	return s.String()
}

// numbers renders a list.
func numbers(b []byte, format, separator string) string {
	var s []string
	for _, c := range b {
		s = append(s, fmt.Sprintf(format, c))
	}
	return strings.Join(s, separator)
}

// renderers are the forms, as the tools print them.
var renderers = []struct {
	name   string
	render func(b []byte) string
	// except are payloads that mean something else in this form.
	except func(b []byte) bool
}{
	{"spaces", func(b []byte) string { return words(b, 1) }, nil},
	{"nothing between", hex.EncodeToString, nil},
	{"hyphens", func(b []byte) string { return strings.ToUpper(strings.ReplaceAll(words(b, 1), " ", "-")) }, nil},
	{"0x", func(b []byte) string { return numbers(b, "0x%02x", ", ") }, nil},
	{"escapes", escapeAll, nil},
	{"label", func(b []byte) string { return "[12:00:00] response: " + words(b, 1) }, nil},
	{"wrapped", func(b []byte) string {
		var s strings.Builder
		rows(b, 16, func(_ int, row []byte) { fmt.Fprintln(&s, words(row, 1)) })
		return s.String()
	}, func(b []byte) (is bool) {
		rows(b, 16, func(i int, row []byte) { is = is || i > 0 && isQuery(row) })
		return is
	}},
	{"wrapped, no spaces", func(b []byte) string {
		var s strings.Builder
		h := hex.EncodeToString(b)
		rows([]byte(h), 75, func(_ int, row []byte) { fmt.Fprintln(&s, string(row)) })
		return s.String()
	}, nil},
	{"rows with text", func(b []byte) string {
		var s strings.Builder
		rows(b, 16, func(_ int, row []byte) { fmt.Fprintf(&s, "%-47s  |%s|\n", words(row, 1), printable(row, ' ')) })
		return s.String()
	}, func(b []byte) bool { return len(b)%16 == 1 }},
	{"hexdump -C", func(b []byte) string {
		var s strings.Builder
		rows(b, 16, func(i int, row []byte) {
			fmt.Fprintf(&s, "%08x  %-23s  %-23s  |%s|\n", i, words(row[:min(8, len(row))], 1), words(row[min(8, len(row)):], 1), printable(row, ' '))
		})
		return s.String() + fmt.Sprintf("%08x\n", len(b))
	}, nil},
	{"xxd", func(b []byte) string {
		var s strings.Builder
		rows(b, 16, func(i int, row []byte) { fmt.Fprintf(&s, "%08x: %-39s  %s\n", i, words(row, 2), printable(row, ' ')) })
		return s.String()
	}, nil},
	{"tcpdump -X", func(b []byte) string { return tcpdump(ipv4(b)) }, nil},
	{"tcpdump -XX", func(b []byte) string { return tcpdump(ethernetFrame(ipv4(b))) }, nil},
	{"tcpdump -X, IPv6", func(b []byte) string { return tcpdump(ipv6(b)) }, nil},
	{"tcpdump -XX, IPv6", func(b []byte) string { return tcpdump(ethernetFrame(ipv6(b))) }, nil},
	{"Wireshark", func(b []byte) string {
		var s strings.Builder
		rows(b, 16, func(i int, row []byte) { fmt.Fprintf(&s, "%04x   %-47s   %s\n", i, words(row, 1), printable(row, ' ')) })
		return s.String()
	}, nil},
	{"Wireshark, no text", func(b []byte) string {
		var s strings.Builder
		rows(b, 16, func(i int, row []byte) { fmt.Fprintf(&s, "%04x   %s\n", i, words(row, 1)) })
		return s.String()
	}, nil},
	{"Wireshark, frame", func(b []byte) string {
		var s strings.Builder
		rows(ethernetFrame(ipv4(b)), 16, func(i int, row []byte) {
			fmt.Fprintf(&s, "%04x  %-23s  %-23s   %s\n", i, words(row[:min(8, len(row))], 1), words(row[min(8, len(row)):], 1), printable(row, ' '))
		})
		return s.String()
	}, nil},
	{"Wireshark, escaped string", func(b []byte) string {
		var s []string
		rows(b, 16, func(i int, row []byte) { s = append(s, `"`+escapeAll(row)+`"`) })
		return strings.Join(s, " \\\n") + "\n"
	}, func(b []byte) bool { return len(b) <= 16 }},
	{"Wireshark, C arrays", func(b []byte) string {
		var s []string
		rows(b, 8, func(_ int, row []byte) { s = append(s, numbers(row, "0x%02x", ", ")) })
		return "char peer0_12[] = { /* Packet 12 */\n" + strings.Join(s, ", \n") + " };\n"
	}, nil},
	{"Python", func(b []byte) string { return "b'" + escapeSome(b, '\'') + "'" }, nil},
	{"Python, a list", func(b []byte) string { return "bytes([" + numbers(b, "%d", ", ") + "])" }, nil},
	{"Python, fromhex", func(b []byte) string { return "bytes.fromhex('" + hex.EncodeToString(b) + "')" }, nil},
	{"C", func(b []byte) string { return `"` + escapeSome(b, '"') + `"` }, func(b []byte) bool {
		return len(b)-bytes.Count(b, b[:1]) < 0 || strings.Count(escapeSome(b, '"'), `\x`) < 2
	}},
	{"Go", func(b []byte) string { return fmt.Sprintf("%#v", b) }, nil},
	{"Go, printed", func(b []byte) string { return fmt.Sprintf("%d", b) }, func(b []byte) bool { return len(b) < shortestList }},
	{"Java", func(b []byte) string {
		s := make([]int8, len(b))
		for i, c := range b {
			s[i] = int8(c)
		}
		return strings.ReplaceAll(fmt.Sprint(s), " ", ", ")
	}, func(b []byte) bool { return len(b) < shortestList }},
	{"node", func(b []byte) string { return "<Buffer " + words(b, 1) + ">" }, nil},
	{"base64", func(b []byte) string { return "b64decode('" + base64.StdEncoding.EncodeToString(b) + "')" }, nil},
}

func TestParseRendered(t *testing.T) {
	for _, r := range renderers {
		t.Run(r.name, func(t *testing.T) {
			for _, b := range payloads(must.Try(100, 500)) {
				if r.except != nil && r.except(b) {
					continue
				}
				check(t, r.render(b), b)
			}
		})
	}
}

// check parses a text that holds one payload.
func check(t *testing.T, text string, payload []byte) {
	t.Helper()
	got, err := Parse([]byte(text))
	if err != nil || len(got) != 1 || !bytes.Equal(got[0].Data, payload) {
		t.Fatalf("%s\nis %v, %v; want %q", text, got, err, payload)
	}
	if note := got[0].Note; note != "" {
		t.Fatalf("%s\nhas the note %q", text, note)
	}
}

// Two payloads below each other are two, whatever their form.
func TestParseTwoRendered(t *testing.T) {
	for _, r := range renderers {
		t.Run(r.name, func(t *testing.T) {
			all := payloads(must.Try(100, 300))
			for i := 0; i+1 < len(all); i += 2 {
				a, b := all[i], all[i+1]
				if r.except != nil && (r.except(a) || r.except(b)) || len(a) < 12 || len(b) < 12 {
					continue
				}
				if strings.HasPrefix(r.name, "Java") || r.name == "Go, printed" || r.name == "Python" {
					a, b = append([]byte("\xff\xff\xff\xffA"), a...), append([]byte("\xff\xff\xff\xffA"), b...)
				}
				text := "It sends\n\n" + r.render(a) + "\n\nand gets\n\n" + r.render(b)
				got, err := Parse([]byte(text))
				if err != nil || len(got) != 2 || !bytes.Equal(got[0].Data, a) || !bytes.Equal(got[1].Data, b) {
					t.Fatalf("%s\nis %v, %v; want %q and %q", text, got, err, a, b)
				}
				if got[0].Line < 3 || got[1].Line <= got[0].Line {
					t.Fatalf("%s\nbegin in lines %d and %d", text, got[0].Line, got[1].Line)
				}
			}
		})
	}
}

// writePcap writes the frames of a capture (LINKTYPE_ETHERNET).
func writePcap(t *testing.T, name string, frames [][]byte) {
	b := []byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x01\x00\x00\x00")
	for i, f := range frames {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
		b = binary.LittleEndian.AppendUint32(b, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}
	must.Do(t, os.WriteFile(name, b, 0o600))
}

// What prints captures.
func TestParseCaptureTools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "capture.pcap")
	all := payloads(40)
	var frames [][]byte
	for i, b := range all {
		ip := ipv4(b)
		if i%3 == 0 {
			ip = ipv6(b)
		}
		frames = append(frames, ethernetFrame(ip))
	}
	for _, args := range [][]string{
		{"tcpdump", "-n", "-X", "-r"},
		{"tcpdump", "-n", "-x", "-r"},
		{"tcpdump", "-n", "-v", "-XX", "-r"},
		{"tcpdump", "-n", "-t", "-xx", "-r"},
		{"tshark", "-x", "-r"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			if _, err := exec.LookPath(args[0]); err != nil {
				t.Skipf("%s is not installed", args[0])
			}
			writePcap(t, file, frames)
			out, err := exec.Command(args[0], append(args[1:], file)...).Output()
			if err != nil {
				t.Skipf("%s does not run: %v", args[0], err)
			}
			got, err := Parse(out)
			if err != nil || len(got) != len(all) {
				t.Errorf("%d datagrams, %v, want %d", len(got), err, len(all))
			}
			for i, d := range got[:min(len(got), len(all))] {
				if !bytes.Equal(d.Data, all[i]) || d.Src.Port() != client.Port() || d.Dst.Port() != server.Port() || d.Note != "" {
					t.Errorf("datagram %d is %+v, want %q", i, d, all[i])
				}
			}
		})
	}
}

// tunnel puts an IPv4 header before a packet (RFC 2003).
func tunnel(packet []byte) []byte {
	b := ipv4(nil)[:20]
	b[9] = 4
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(packet)))
	return append(b, packet...)
}

// Headers of all kinds, cut everywhere.
func TestStripCut(t *testing.T) {
	payload := []byte(infoRequest)
	for _, packet := range [][]byte{ipv4(payload), ipv6(payload), tunnel(ipv4(payload)), ethernetFrame(ipv4(payload)), ethernetFrame(ipv6(payload)),
		append([]byte("\x00\x00\x00\x01\x00\x06\x02\x00\x5e\x00\x53\x02\x00\x00\x08\x00"), ipv4(payload)...),
		append([]byte("\x86\xdd\x00\x00\x00\x00\x00\x01\x00\x01\x00\x06\x02\x00\x5e\x00\x53\x02\x00\x00"), ipv6(payload)...),
		append([]byte("\x1e\x00\x00\x00"), ipv6(payload)...),
	} {
		d := Datagram{Data: packet}
		if reason := d.unwrap(true); reason != "" || string(d.Data) != infoRequest || d.Src.Port() != client.Port() || d.Note != "" {
			t.Errorf("%x: %+v, %s", packet, d, reason)
		}
		end := bytes.LastIndex(packet, payload) + len(payload)
		for n := range end {
			d := Datagram{Data: packet[:n:n]}
			if reason := d.unwrap(true); reason == "" {
				t.Errorf("%d of %d bytes are taken for all", n, end)
			}
			d = Datagram{Data: packet[:n:n]}
			switch reason := d.unwrap(false); {
			case reason != "" && n >= end-len(payload):
				t.Errorf("%d of %d bytes: %s", n, end, reason)
			case reason == "" && (!bytes.HasPrefix(payload, d.Data) || !strings.Contains(d.Note, "cut")):
				t.Errorf("%d of %d bytes: %+v", n, end, d)
			}
		}
	}
}

// hostile returns texts that look as if much had to be read again and again.
func hostile(size int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	row := "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n"
	return map[string]string{
		"empty lines":          repeat("\n"),
		"digits":               repeat("f"),
		"pairs":                repeat("ff "),
		"odd words":            repeat("f "),
		"data lines":           repeat("ff\n"),
		"labels":               repeat("data: ff g "),
		"lists":                repeat("[1]"),
		"lists of two":         repeat("byte[1,2] "),
		"open lists":           repeat("[1,"),
		"lists, then values":   strings.Repeat("[//", size/6) + "\n" + strings.Repeat("1,\n", size/6),
		"escaped quotes":       repeat(`\"`),
		"strings":              repeat(`"a"`),
		"strings of digits":    repeat(`("f",`),
		"code in code":         repeat("`'b\""),
		"escapes":              repeat(`\x`),
		"slashes":              repeat("/"),
		"base64":               repeat("/////A "),
		"dumps":                repeat("00000000  ff\n"),
		"stars":                row + repeat("*\n"),
		"wide rows of words":   repeat("00000000" + strings.Repeat("  4141", 64) + strings.Repeat("A", 127) + "\n"),
		"blank tail":           "0000 ff" + repeat(" ") + "x",
		"more bytes":           "<Buffer ff " + repeat("... 1 more bytes "),
		"arrows":               repeat("> "),
		"times":                repeat("[12:00:00] "),
		"lists, then comments": strings.Repeat("[1//", size/8) + "\n" + strings.Repeat("//\n", size/6) + "]",
		"lists, then a line":   strings.Repeat("[//", size/6) + "\n" + repeat("1,"),
		"runs, then a line":    strings.Repeat("ff ff ff ff 41 x ", size/40) + "\n" + repeat("1,"),
		"invalid UTF-8":        repeat("\xff"),
		"string in a string":   repeat(`'b" `),
		"words of base64":      repeat("b64('a')"),
		"wrong escapes":        repeat(`ff \xf `),
		"lists of hex":         repeat("[ff ff "),
	}
}

func TestParseHostile(t *testing.T) {
	for name, text := range hostile(must.Try(16<<10, 256<<10)) {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(text))
			bounds(t, []byte(text), got, err)
		})
	}
}

// bounds checks what is promised of any text.
func bounds(t *testing.T, text []byte, got []Datagram, err error) {
	t.Helper()
	if err == nil && len(got) == 0 {
		t.Fatal("neither a datagram nor an error")
	}
	if len(got) > MaxDatagrams {
		t.Fatalf("%d datagrams", len(got))
	}
	size, lines := 0, bytes.Count(text, []byte{'\n'})+1
	for i, d := range got {
		if len(d.Data) > MaxDatagram || d.Line < 1 || d.Line > max(lines, len(text)/2) {
			t.Fatalf("datagram %d of %d bytes is in line %d of %d", i, len(d.Data), d.Line, lines)
		}
		if i > 0 && d.Line < got[i-1].Line {
			t.Fatalf("datagram %d is in line %d, the one before in %d", i, d.Line, got[i-1].Line)
		}
		size += len(d.Data)
	}
	if size > MaxInput {
		t.Fatalf("%d bytes of datagrams", size)
	}
}

func TestParseLimits(t *testing.T) {
	row := "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n"
	for name, tt := range map[string]struct{ in, err string }{
		"binary":          {strings.Repeat("\x00", MaxDatagram+1), "the input is binary and has 65537 bytes, more than any datagram"},
		"input":           {strings.Repeat("a", MaxInput+1), "the input has 16777217 bytes, 16777216 are the most"},
		"plain":           {"x\n" + strings.Repeat("ff", MaxDatagram+1), "line 2: a datagram of more than 65536 bytes"},
		"plain, wrapped":  {strings.Repeat("80 00 00 00 00 00 00 00\n", MaxDatagram/8+1), "line 1: a datagram of more than 65536 bytes"},
		"dump":            {row + "00020000\n", "line 1: a datagram of more than 65536 bytes"},
		"a huge offset":   {row + "ffffffff\n", "line 1: a datagram of more than 65536 bytes"},
		"list":            {"bytes([" + strings.Repeat("1,", MaxDatagram+1) + "])", "line 1: a datagram of more than 65536 bytes"},
		"string":          {`b'\xff` + strings.Repeat("a", MaxDatagram) + "'", "line 1: a datagram of more than 65536 bytes"},
		"strings, joined": {strings.Repeat(`"\xff\xff" `, MaxDatagram/2+1), "line 1: a datagram of more than 65536 bytes"},
		"base64":          {"b64decode('" + strings.Repeat("AAAA", MaxDatagram/3+1) + "')", "line 1: a datagram of more than 65536 bytes"},
		"datagrams":       {strings.Repeat("b'\\xff';", MaxDatagrams+1), "line 1: more than 65536 datagrams"},
		"all datagrams":   {strings.Repeat(row+"00010000\n", MaxInput/MaxDatagram+1), "line 769: more than 16777216 bytes of datagrams"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(tt.in))
			if err == nil || err.Error() != tt.err {
				t.Errorf("error %v, want %s", err, tt.err)
			}
			bounds(t, []byte(tt.in), got, err)
		})
	}
	if got, err := Parse([]byte(strings.Repeat("ff", MaxDatagram))); err != nil || len(got) != 1 || len(got[0].Data) != MaxDatagram {
		t.Errorf("%d datagrams, %v", len(got), err)
	}
}

func FuzzParse(f *testing.F) {
	for _, tests := range [][]parseTest{plainTests, dumpTests, sourceTests} {
		for _, tt := range tests {
			f.Add([]byte(tt.in))
		}
	}
	for _, r := range renderers {
		f.Add([]byte(r.render([]byte(infoReply))))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Parse(text)
		bounds(t, text, got, err)
		again, err2 := Parse(text)
		if fmt.Sprint(got, err) != fmt.Sprint(again, err2) {
			t.Fatalf("%v, %v, then %v, %v", got, err, again, err2)
		}
	})
}
