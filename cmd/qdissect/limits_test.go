package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Addresses for tests in which they do not matter.
var (
	someServer = netip.MustParseAddrPort("198.51.100.99:7778")
	someClient = netip.MustParseAddrPort("203.0.113.99:40000")
)

// flooded runs the program on n steps of a flood with honest traffic. It returns the
// number of findings by id, and the summary.
func flooded(t *testing.T, name string, n int, args ...string) (ids map[string]int, sum map[string]any) {
	t.Helper()
	var b bytes.Buffer
	s := hostile.NewStage(&b, mkpcap.Options{})
	for _, f := range hostile.Floods() {
		if f.Name == name {
			f.Play(s, n)
		}
	}
	if s.W.Frames == 0 {
		t.Fatalf("no flood is called %s", name)
	}
	return found(t, b.Bytes(), args...)
}

// dropped returns the evicted state and the lost packets of a summary.
func dropped(sum map[string]any) float64 {
	n := sum["kernel_lost"].(float64)
	for _, kind := range []string{"flows", "requests", "clients", "fragments"} {
		n += sum["evicted"].(map[string]any)[kind].(float64)
	}
	return n
}

// found returns the ids of all findings, including those of messages.
func found(t *testing.T, capture []byte, args ...string) (ids map[string]int, sum map[string]any) {
	t.Helper()
	ids = map[string]int{}
	for line := range strings.Lines(runOn(t, capture, append(args, "-o", "jsonl")...)) {
		if !strings.HasPrefix(line, "{") || !strings.Contains(line, `"findings":[`) && !strings.HasPrefix(line, `{"type":"summary"`) {
			continue // from standard error, or with nothing to count
		}
		var o struct {
			Type     string
			Findings []struct{ ID, Text string }
		}
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		count := func(id, text string) {
			ids[id]++
			for _, reason := range []string{"evicted", "expired", "limit reached"} {
				if strings.Contains(text, "("+reason+")") {
					ids[id+" "+reason]++
				}
			}
		}
		if o.Type == "summary" {
			must.Do(t, json.Unmarshal([]byte(line), &sum))
		}
		for _, f := range o.Findings {
			count(f.ID, f.Text)
		}
	}
	return ids, sum
}

// evicts checks that a flood evicts state with the flags and reports it, and does not
// without them.
func evicts(t *testing.T, flood string, n int, args ...string) {
	t.Helper()
	ids, sum := flooded(t, flood, n, args...)
	if n := ids[dissect.StateEvicted.ID]; n == 0 || n > 16 || dropped(sum) == 0 {
		t.Errorf("%v: %v, drops %v: nobody says that state was given up", args, ids, dropped(sum))
	}
	if ids, sum := flooded(t, flood, n); ids["state.evicted"] > 0 || dropped(sum) > 0 {
		t.Errorf("%v, drops %v without %v", ids, sum["drops"], args)
	}
}

func TestMaxFlows(t *testing.T)    { evicts(t, "forged-info", 1200, "--max-flows", "500") }
func TestMaxRequests(t *testing.T) { evicts(t, "forged-info", 1200, "--max-requests", "500") }

// TestMaxPeers checks the limit of clients with challenges, from forged servers or
// from one server.
func TestMaxPeers(t *testing.T) {
	evicts(t, "forged-replies", 1200, "--max-peers", "500")
	var b bytes.Buffer
	s := hostile.NewStage(&b, mkpcap.Options{})
	for i := range 1200 {
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 40000)
		s.Strike(client, someServer, "\xff\xff\xff\xffTSource Engine Query\x00")
		s.Strike(someServer, client, "\xff\xff\xff\xffA"+string(binary.LittleEndian.AppendUint32(nil, uint32(i))))
	}
	if ids, _ := found(t, b.Bytes(), "--max-peers", "500"); ids["state.evicted"] == 0 {
		t.Error(ids)
	}
	if ids, _ := found(t, b.Bytes()); ids["state.evicted"] > 0 {
		t.Errorf("%v without the flag", ids)
	}
}

// TestRequestsPerFlow checks that one client cannot use the room of all.
func TestRequestsPerFlow(t *testing.T) {
	if ids, sum := flooded(t, "one-source", 200); ids["state.evicted"] == 0 || dropped(sum) != 200-32 {
		t.Errorf("%v, drops %v, want 168", ids, dropped(sum))
	}
}

func TestMaxSets(t *testing.T)       { loses(t, 200, "--max-sets", "32") }
func TestMaxReassembly(t *testing.T) { loses(t, 900, "--max-reassembly", "1M") }

// loses checks that floods evict parts with the flags, and do not without them.
func loses(t *testing.T, n int, args ...string) {
	t.Helper()
	for flood, id := range map[string]string{"first-parts": "a2s.split.missing evicted", "fragments": "ip.frag.missing evicted"} {
		if ids, _ := flooded(t, flood, n, args...); ids[id] == 0 {
			t.Errorf("%s: %v", flood, ids)
		}
		if ids, _ := flooded(t, flood, n); ids[id] > 0 {
			t.Errorf("%s without the flags: %v", flood, ids)
		}
	}
}

// TestTinyFragments checks that an IP packet with too many fragments stays incomplete,
// and that refused fragments are counted.
func TestTinyFragments(t *testing.T) {
	if ids, sum := flooded(t, "tiny-fragments", 400); ids["ip.frag.missing"] != 1 || dropped(sum) != 400-255 {
		t.Errorf("%v, drops %v", ids, dropped(sum))
	}
}

// stage starts a capture that a test writes itself.
func stage(b *bytes.Buffer) *hostile.Stage {
	s := hostile.NewStage(b, mkpcap.Options{})
	s.Speak(1)
	return s
}

func TestReplyWindow(t *testing.T) {
	var b bytes.Buffer
	s := stage(&b)
	s.Now = s.Now.Add(2 * time.Second)
	s.Speak(1)
	if ids, _ := found(t, b.Bytes(), "--reply-window", "1s"); ids["a2s.noreply"] != 1 || ids["reply.late"] != 1 || ids["a2s.unrequested"] != 0 {
		t.Error(ids)
	}
	if ids, _ := found(t, b.Bytes()); ids["a2s.noreply"]+ids["reply.late"]+ids["a2s.unrequested"] > 0 {
		t.Errorf("%v without the flag", ids)
	}
}

// TestFlowIdle checks that a reply after the idle time is not reported as late,
// because the conversation was forgotten.
func TestFlowIdle(t *testing.T) {
	var b bytes.Buffer
	s := stage(&b)
	s.Now = s.Now.Add(10 * time.Second)
	s.Speak(1)
	if ids, _ := found(t, b.Bytes(), "--flow-idle", "7s"); ids["reply.late"] != 0 || ids["a2s.noreply"] != 1 {
		t.Error(ids)
	}
	if ids, _ := found(t, b.Bytes()); ids["reply.late"] != 1 {
		t.Errorf("%v without the flag", ids)
	}
}

func TestPartAge(t *testing.T) {
	var b bytes.Buffer
	s := stage(&b)
	s.Speak(7) // the eighth datagram is the first part of the split message
	s.Now = s.Now.Add(3 * time.Second)
	s.Finish()
	if ids, _ := found(t, b.Bytes(), "--part-age", "1s"); ids["a2s.split.missing expired"] == 0 {
		t.Error(ids)
	}
	if ids, _ := found(t, b.Bytes()); ids["a2s.split.missing"] > 0 {
		t.Errorf("%v without the flag", ids)
	}
}

// TestManyParts checks that parts beyond the limit are reported one by one. Only one
// protocol can number so many.
func TestManyParts(t *testing.T) {
	var b bytes.Buffer
	s := hostile.NewStage(&b, mkpcap.Options{})
	const parts, kept = 300, 255
	for i := range parts {
		s.Strike(someServer, someClient, fmt.Sprintf(`\key%d\value\queryid\7.%d`, i, i+1))
	}
	if ids, _ := found(t, b.Bytes()); ids["gs1.queryid.short"] != parts-kept {
		t.Error(ids)
	}
}

// TestLargeSet checks that parts of more than one megabyte in total are refused and
// reported.
func TestLargeSet(t *testing.T) {
	var b bytes.Buffer
	s := hostile.NewStage(&b, mkpcap.Options{})
	const parts, size = 40, 40 << 10
	for i := range parts {
		data := nettext.Either(i == 0, "\xff\xff\xff\xffE\xff\xff", "") + strings.Repeat("x", size)
		s.Strike(someServer, someClient, "\xfe\xff\xff\xff\x07\x00\x00\x00"+string([]byte{parts, byte(i)})+"\xe0\x04"+data)
	}
	if ids, _ := found(t, b.Bytes()); ids["a2s.split.missing limit reached"] < parts-1<<20/size || ids["a2s.split.missing"] == parts {
		t.Error(ids)
	}
}

// TestFragmentAge checks that fragments are kept for half a minute.
func TestFragmentAge(t *testing.T) {
	seg := mkpcap.UDPSegment(someServer, someClient, []byte(strings.Repeat("x", 100)))
	piece := func(from, to int) []byte {
		return mkpcap.IP(someServer.Addr(), someClient.Addr(), 7, 17, from, to < len(seg), true, seg[from:to])
	}
	for wait, want := range map[time.Duration]int{29 * time.Second: 0, 31 * time.Second: 1} {
		var b bytes.Buffer
		s := stage(&b)
		s.Frame(piece(0, 64))
		s.Now = s.Now.Add(wait)
		s.Speak(1)
		s.Frame(piece(64, len(seg)))
		if ids, sum := found(t, b.Bytes()); ids["ip.frag.missing expired"] != want || want == 0 && sum["reassemblies"].(map[string]any)["complete"] != 1.0 {
			t.Errorf("after %v: %v, %v", wait, ids, sum)
		}
	}
}

// TestDecompressionLimits checks that neither the announced size nor the decompressed
// data exceeds the limits. Every other bomb announces 200 MiB, the others at least 100
// times their size.
func TestDecompressionLimits(t *testing.T) {
	limits := map[string]int{}
	var b bytes.Buffer
	s := hostile.NewStage(&b, mkpcap.Options{})
	for _, f := range hostile.Floods() {
		if f.Name == "bombs" {
			f.Play(s, 40)
		}
	}
	bomb := regexp.MustCompile(`"a2s\.bz2\.bomb".*?the limit is (\d+)"`)
	for _, m := range bomb.FindAllStringSubmatch(runOn(t, b.Bytes(), "-o", "jsonl"), -1) {
		if m[1] != "1048576" {
			m[1] = "less"
		}
		limits[m[1]]++
	}
	if limits["1048576"] != 20 || limits["less"] != 20 {
		t.Error(limits)
	}
}

// TestUnfoldedLong checks that decompression stops at the announced size.
func TestUnfoldedLong(t *testing.T) {
	if ids, _ := found(t, readFile(t, attackFile("bzip2.pcap"))); ids["a2s.bz2.long"] == 0 {
		t.Error(ids)
	}
}

// TestRecordLimit checks that a message with more entries than the limit is reported.
func TestRecordLimit(t *testing.T) {
	if ids, _ := flooded(t, "small-rules", 2*255); ids["limit.records"] != 1 {
		t.Error(ids)
	}
}

// TestFindingLimit checks that a message with more findings than the limit is
// reported.
func TestFindingLimit(t *testing.T) {
	if n := strings.Count(runOn(t, readFile(t, attackFile("options.pcapng")), "-o", "jsonl"), `"id":"limit.findings"`); n != 1 {
		t.Error(n)
	}
}

// TestLineLength checks that a name of 62 KiB is shortened and marked.
func TestLineLength(t *testing.T) {
	const letter = 'W'
	var b bytes.Buffer
	s := hostile.NewStage(&b, mkpcap.Options{})
	sayEverywhere(s, strings.Repeat(string(letter), 62<<10))
	letters := regexp.MustCompile(string(letter) + "{2,}")
	longest := func(s string) (n int) {
		for _, run := range letters.FindAllString(s, -1) {
			n = max(n, len(run))
		}
		return n
	}
	const maxValue = 160
	for _, mode := range []string{"", "-V", "-x"} {
		var summary, finding, value int
		for line := range strings.Lines(runOn(t, b.Bytes(), strings.Fields(mode)...)) {
			if !strings.ContainsAny(line, "→←") {
				value = max(value, longest(line))
				continue
			}
			said, told, _ := strings.Cut(line, "q3.oddkv")
			summary, finding = max(summary, longest(said)), max(finding, longest(told))
			if n := longest(line); n > 254 && !strings.Contains(line, " …") { // longer than any protocol allows
				t.Errorf("%s: a line with %d letters does not show that it was cut", mode, n)
			}
		}
		// Quotation marks and the rest of the summary need some room.
		if summary > nettext.MaxSummary || summary < nettext.MaxSummary-20 || finding > nettext.MaxFinding || finding < nettext.MaxFinding-50 {
			t.Errorf("%s: %d letters in a summary, %d in a finding", mode, summary, finding)
		}
		if mode != "" && value != maxValue {
			t.Errorf("%s: %d letters in a value", mode, value)
		}
	}
}

// TestInputLimits checks that input that is too long or too deep is refused with one
// line and exit status 2.
func TestInputLimits(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, data, 0o600))
		return path
	}
	long := func(path string, size int64) string { // the rest are zeros, which nobody has to write
		must.Do(t, os.Truncate(path, size))
		return path
	}
	numbers := func(list ...uint32) (b []byte) {
		for _, n := range list {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
		return b
	}
	pcap := numbers(0xa1b2c3d4, 2|4<<16, 0, 0, 1<<20, 1)
	section := numbers(0x0a0d0d0a, 28, 0x1a2b3c4d, 1, 1<<32-1, 1<<32-1, 28)
	face, frame := numbers(1, 20, 1, 0, 20), numbers(6, 36, 0, 0, 0, 4, 4, 0, 36)
	talk := hostile.Talk(mkpcap.Options{})
	good := write("talk.pcap", talk)
	golden := func(name, text string) string {
		write(name+".pcap", talk)
		return write(name+".golden.jsonl", []byte(text))
	}
	for name, c := range map[string]struct {
		want string
		args []string
	}{
		"a frame":         {"a frame has 262144 at most", []string{write("frame.pcap", slices.Concat(pcap, numbers(1, 0, 262145, 262145), make([]byte, 262145)))}},
		"a block":         {"524288 at most are read", []string{write("block.pcapng", slices.Concat(section, face, frame, numbers(6, 524292, 0)))}},
		"interfaces":      {"more than 65536 interfaces", []string{write("interfaces.pcapng", append(section, bytes.Repeat(face, 65537)...))}},
		"text":            {"more than 16777216 bytes of text", []string{"decode", long(write("text", nil), 16<<20+1)}},
		"a datagram":      {"more than 65536 bytes", []string{"decode", write("datagram", bytes.Repeat([]byte("ff"), 65537))}},
		"a filter":        {"longer than 65536 bytes", []string{"-f", strings.Repeat("udp or ", 10000), good}},
		"parentheses":     {"nested more than 200 deep", []string{"-f", strings.Repeat("(", 201) + "udp", good}},
		"an expression":   {"nested too deep", []string{"-Y", strings.Repeat("(", 65) + "a2s" + strings.Repeat(")", 65), good}},
		"a golden":        {"an object of more than 32 MiB", []string{"check", long(golden("long", `{"type":"`), 33<<20)}},
		"a deeper golden": {"nested too deep", []string{"check", golden("deep", `{"type":`+strings.Repeat("[", 257)+strings.Repeat("]", 257)+"}\n")}},
	} {
		if _, errs, status := runHere(c.args...); status != exitTrouble || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, %.200q", name, status, errs)
		}
	}
}

// TestServeLimits checks that serve refuses captures with too many servers, and drops
// replies when too many datagrams are pending.
func TestServeLimits(t *testing.T) {
	served := func(servers int) string {
		var b bytes.Buffer
		s := hostile.NewStage(&b, mkpcap.Options{})
		for i := range servers {
			server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, byte(i >> 8), byte(i)}), 27015)
			s.Strike(someClient, server, "\xff\xff\xff\xffTSource Engine Query\x00")
			s.Strike(server, someClient, "\xff\xff\xff\xffI\x11name\x00map\x00dir\x00game\x00\x00\x00\x01\x10\x00dl\x00\x011.0\x00\x00")
		}
		path := filepath.Join(t.TempDir(), "servers.pcap")
		must.Do(t, os.WriteFile(path, b.Bytes(), 0o600))
		return path
	}
	for _, c := range []struct {
		servers int
		list    string
		status  int
		want    string
	}{
		{257, "", exitTrouble, "the capture has 257 servers, serve takes at most 256"}, {4096, "--list", exitDone, "10.9.15.255"},
		{4097, "--list", exitTrouble, "too large to serve"},
	} {
		args := append([]string{"serve", "--listen", "127.0.0.1:9", served(c.servers)}, strings.Fields(c.list)...) // one port for several servers is refused as well, but later
		if out, errs, status := runIn(t, t.TempDir(), args...); status != c.status || !strings.Contains(out+errs, c.want) {
			t.Errorf("%d servers: status %d, %.200q", c.servers, status, errs)
		}
	}
}

// TestLimitsOfMany checks that the limits apply to --out, too.
func TestLimitsOfMany(t *testing.T) {
	var b bytes.Buffer
	s := hostile.NewStage(&b, mkpcap.Options{})
	f := hostile.Floods()[0]
	f.Play(s, 3000)
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "x.pcap"), b.Bytes(), 0o600))
	if _, errs, status := runIn(t, dir, "read", "--out", "out", "--max-flows", "500", "x.pcap"); status != exitDone {
		t.Fatal(errs)
	}
	out, err := os.ReadFile(filepath.Join(dir, "out", "x.pcap.txt"))
	if err != nil || !bytes.Contains(out, []byte("state.evicted")) {
		t.Errorf("%v, %d bytes", err, len(out))
	}
}

func TestLimitFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--max-flows 3", "must be 16 to"}, {"--max-flows -1", "must be 16 to"}, {"--max-requests 99999999999", "must be 16 to"}, {"--max-memory 1M", "at least 8M"},
		{"--max-memory x", "is not a size"}, {"--max-memory 0", "is not a size"}, {"--max-memory 9999999999G", "is not a size"}, {"--max-reassembly 10k", "at least 1M"},
		{"--reply-window -1s", "must not be negative"}, {"--max-sets 1", "must be 16 to"}, {"-B 4097 -i none", "1 to 4096 MiB"},
	} {
		if out := runOn(t, hostile.Talk(mkpcap.Options{}), strings.Fields(c.args)...); !strings.Contains(out, c.want) || strings.Contains(out, "A2S") {
			t.Errorf("%s: %.200s", c.args, out)
		}
	}
	for text, want := range map[string]byteSize{"65536": 65536, "64k": 65536, "64KiB": 65536, "32M": 32 << 20, "1g": 1 << 30, " 1M ": 1 << 20} {
		var s byteSize
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%q is %d, %v", text, s, err)
		}
	}
	if s := byteSize(3 << 20).String(); s != "3M" {
		t.Error(s)
	}
}

// TestMemoryOfCommands compares the resident memory of anonymize and cut with
// docs/limits.md.
func TestMemoryOfCommands(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc, and some seconds")
	}
	program := must.Get(program())(t)
	floods := func(s *hostile.Stage, n int) {
		for _, f := range hostile.Floods() {
			switch f.Name {
			case "forged-info", "forged-replies", "first-parts", "growing-sets", "fragments":
				f.Play(s, n)
			}
		}
		// Different replies that fill datagrams, in fragments.
		for i := range n / 50 {
			name := strings.Repeat(string(rune('a'+i%26)), 1+i/26)
			seg := mkpcap.UDPSegment(someServer, someClient, []byte("\xff\xff\xff\xffstatusResponse\n\\sv_hostname\\"+name+"\\x\\"+strings.Repeat("x", 60_000)+"\n"))
			for at := 0; at < len(seg); at += 1480 {
				end := min(at+1480, len(seg))
				s.Frame(mkpcap.IP(someServer.Addr(), someClient.Addr(), uint16(i), 17, at, end < len(seg), true, seg[at:end]))
			}
		}
	}
	forged := func(s *hostile.Stage, n int) {
		for i := range n {
			a := [16]byte{0x20, 1, 0xd, 0xb8, 15: 7}
			binary.BigEndian.PutUint64(a[4:], uint64(i)*0x9e3779b97f4a7c15)
			s.Strike(netip.AddrPortFrom(netip.AddrFrom16(a), 40000), netip.MustParseAddrPort("[2001:db8::63]:27015"), "\xff\xff\xff\xffTSource Engine Query\x00")
		}
	}
	for _, c := range []struct {
		args  []string
		play  func(s *hostile.Stage, n int)
		n     int
		limit int // MiB
	}{
		{[]string{"anonymize", "-"}, floods, 15_000, 260},
		{[]string{"anonymize", "-"}, forged, 150_000, 120},
		{[]string{"cut", "-Y", "protocol", "-"}, forged, 150_000, 120},
	} {
		r, w := io.Pipe()
		go func() {
			c.play(hostile.NewStage(w, mkpcap.Options{}), c.n/must.Try(50, 1))
			w.Close()
		}()
		mib, _ := memoryOf(t, program, r, c.args...)
		if t.Logf("%v: %d MiB", c.args, mib); mib > c.limit || mib == 0 {
			t.Errorf("%v: %d MiB resident, %d are allowed", c.args, mib, c.limit)
		}
	}
}
