package anonymize_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/anonymize"
	"github.com/qdissect/qdissect/internal/capture"
	hostiles "github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

var testKey = []byte("a key for tests and not for captures")

// captures returns the captures of the project, and captures of real servers if they are
// beside it.
func captures(t *testing.T) (list []string) {
	t.Helper()
	for _, pattern := range []string{"../../testdata/pcaps/*/*.pcap*"} {
		found, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no captures (%v)", pattern, err)
		}
		list = append(list, found...)
	}
	return list
}

func realCaptures(t *testing.T) []string {
	t.Helper()
	found, _ := filepath.Glob(filepath.FromSlash("../../../shared/captures/*.pcap"))
	if len(found) == 0 {
		t.Skip("the captures of real servers are not beside the project")
	}
	return must.TryCaptures(found)
}

// run anonymizes a capture and returns the result.
func run(t *testing.T, name string, o anonymize.Options) ([]byte, anonymize.Counts) {
	t.Helper()
	in := must.Get(capture.Open(name))(t)
	defer in.Close()
	return runOn(t, in, o)
}

func runOn(t *testing.T, in capture.Source, o anonymize.Options) ([]byte, anonymize.Counts) {
	t.Helper()
	if o.Key == nil {
		o.Key = testKey
	}
	o.Analysis.Protocols = all.Protocols()
	var out bytes.Buffer
	w := capture.NewWriter(&out, capture.Pcapng)
	counts, err := anonymize.Run(in, w, o)
	if err != nil && !hostile(t) {
		t.Error(err)
	}
	must.Do(t, w.Close())
	return out.Bytes(), counts
}

// gatherer collects the messages of a capture.
type gatherer struct {
	report.JSON
	lines   []map[string]any // of messages
	names   [][]byte
	secrets [][]byte
	ids     []uint64
	addrs   map[netip.Addr]bool
	data    [][]byte // of all sources
	json    *report.JSON
}

func (g *gatherer) Unknown(*dissect.Unknown) error     { return nil }
func (g *gatherer) Finding(*dissect.FlowFinding) error { return nil }

func (g *gatherer) Record(r *dissect.Record) error {
	g.json.Record(r)
	var line map[string]any
	d := json.NewDecoder(bytes.NewReader(g.json.Bytes()))
	d.UseNumber()
	if err := d.Decode(&line); err != nil {
		panic(err)
	}
	g.json.Reset()
	g.lines = append(g.lines, line)
	for _, s := range r.Sources {
		g.data = append(g.data, bytes.Clone(s.Data))
	}
	g.addrs[r.Src.Addr()], g.addrs[r.Dst.Addr()] = true, true
	key := ""
	for _, n := range r.Nodes {
		v := bytes.Clone(n.Value(r.Sources[n.Source].Data))
		path := n.Field.Path
		switch {
		case n.Field.Kind == dissect.Endpoint:
			g.addrs[n.Endpoint(r.Sources[n.Source].Data).Addr()] = true
		case path == "a2s.info.steam_id":
			g.ids = append(g.ids, n.Num)
		case n.Field.Secret:
			g.secrets = append(g.secrets, v)
		case strings.HasSuffix(path, ".players.name"), strings.HasSuffix(path, ".players.clan"), strings.HasSuffix(path, "info.name"),
			strings.HasSuffix(path, ".basic.motd"), path == "ase.hostname", strings.HasSuffix(path, ".keyhash"), strings.HasSuffix(path, "steamid"):
			g.names = append(g.names, v)
		case strings.HasSuffix(path, ".key"):
			key = strings.ToLower(string(v))
		case strings.HasSuffix(path, ".value"):
			switch key {
			case "hostname", "sv_hostname", "name", "si_name", "motd", "g_motd", "si_motd", "administrator", "admin", "adminname", "adminemail":
				g.names = append(g.names, v)
			}
			if a, err := netip.ParseAddr(string(v)); err == nil && !strings.Contains(key, "version") {
				g.addrs[a] = true
			}
		}
		if strings.HasSuffix(path, "info.address") || strings.HasSuffix(path, "hostip") {
			if a, err := netip.ParseAddrPort(string(v)); err == nil {
				g.addrs[a.Addr()] = true
			}
			if a, err := netip.ParseAddr(string(v)); err == nil {
				g.addrs[a] = true
			}
		}
	}
	return nil
}

func gather(t *testing.T, b []byte) *gatherer {
	t.Helper()
	g := &gatherer{json: report.NewJSON(report.JSONOptions{Secrets: true}), addrs: map[netip.Addr]bool{}}
	_, err := pipeline.Run(pipeline.Options{
		Inputs: []string{"-"}, Stdin: bytes.NewReader(b), Out: &bytes.Buffer{},
		Reporter: func() report.Reporter { return g },
		Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true},
		Trouble: func(err error) {
			if !hostile(t) {
				t.Error(err)
			}
		},
	})
	must.Do(t, err)
	// The order of findings at the end depends on addresses.
	slices.SortStableFunc(g.lines, func(a, b map[string]any) int { return int(number(a["frame"]) - number(b["frame"])) })
	return g
}

func number(v any) int64 {
	n, _ := v.(json.Number).Int64()
	return n
}

// hostile reports whether a test uses hostile captures: damaged, with inconsistent
// messages.
func hostile(t *testing.T) bool { return strings.Contains(t.Name(), "/hostile/") }

// shape returns what must be the same of two messages: all but what texts say,
// and numbers that name something. refused says that requests were refused by
// ICMP errors.
func shape(line map[string]any, refused bool) string {
	var b strings.Builder
	for _, k := range []string{"protocol", "message", "role"} {
		fmt.Fprintf(&b, "%v ", line[k])
	}
	// What else is seen of a server settles what a message is: another client may
	// do so before the reply does, if both are with the same analyzer. Which one a
	// client is with depends on addresses.
	if d := line["detect"]; d == "server" || d == "request" || d == "reply" {
		b.WriteString("others ")
	} else if line["protocol"] == "sqp" && (d == "flow" || d == "header") {
		b.WriteString("its own ") // a challenge of small numbers proves nothing, its replacement does
	} else {
		fmt.Fprintf(&b, "%v ", d)
	}
	if s, ok := line["split"].(map[string]any); ok {
		fmt.Fprintf(&b, "%v %v %v ", s["variant"], s["parts"], s["compressed"])
	}
	b.WriteString("fields")
	structure(&b, line[strings.ReplaceAll(fmt.Sprint(line["protocol"]), "-", "_")], "")
	b.WriteString(" server")
	structure(&b, line["server"], "")
	if list, ok := line["findings"].([]any); ok {
		for _, f := range list {
			switch id := f.(map[string]any)["id"]; id {
			case "capture.comment", "ip.frag.checksum", "ip.frag.conflict", "udp.surplus":
			case "request.retransmission":
				// ICMP errors are left out: a request that one refused was
				// not seen to be refused then, and the next one repeats it.
				if !refused {
					fmt.Fprintf(&b, " %v", id)
				}
			default:
				fmt.Fprintf(&b, " %v", id)
			}
		}
	}
	return b.String()
}

// differ reports the first difference of two shapes.
func differ(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	n = max(0, n-40)
	return fmt.Sprintf("%q, %q", a[n:min(len(a), n+120)], b[n:min(len(b), n+120)])
}

func structure(b *strings.Builder, v any, key string) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		b.WriteByte('{')
		slices.Sort(keys)
		for _, k := range keys {
			b.WriteString(k + ":")
			structure(b, v[k], k)
			b.WriteByte(' ')
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for _, e := range v {
			structure(b, e, key)
			b.WriteByte(' ')
		}
		b.WriteByte(']')
	case string:
		fmt.Fprintf(b, "text")
	case json.Number:
		switch key {
		case "challenge", "client_challenge", "server_challenge", "receiver_token", "sender_token":
			b.WriteString("number")
		default:
			b.WriteString(v.String())
		}
	default:
		fmt.Fprint(b, v)
	}
}

func eachCapture(t *testing.T, f func(t *testing.T, name string)) {
	for _, name := range captures(t) {
		if strings.HasSuffix(name, ".pcap") || strings.HasSuffix(name, ".pcapng") {
			t.Run(filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name), func(t *testing.T) { f(t, name) })
		}
	}
	t.Run("real", func(t *testing.T) {
		for _, name := range realCaptures(t) {
			t.Run(filepath.Base(name), func(t *testing.T) { f(t, name) })
		}
	})
}

// A treated capture is one before and after it was anonymized, with its messages.
type treated struct {
	before, after *gatherer
	file          []byte // after
	counts        anonymize.Counts
}

var allTreated = map[string]*treated{}

// treat anonymizes a capture, once for all tests.
func treat(t *testing.T, name string) *treated {
	t.Helper()
	c := allTreated[name]
	if c == nil {
		before := must.Get(os.ReadFile(name))(t)
		c = &treated{before: gather(t, before)}
		c.file, c.counts = run(t, name, anonymize.Options{})
		c.after = gather(t, c.file)
		allTreated[name] = c
	}
	return c
}

// TestSameMessages: the anonymized capture has the same messages, also after a second run.
func TestSameMessages(t *testing.T) {
	eachCapture(t, func(t *testing.T, name string) {
		c := treat(t, name)
		counts := &c.counts
		if !hostile(t) && (counts.Failed+counts.Wrapped > 0 || counts.Reshaped > 0) {
			t.Errorf("%d frames failed, %d in wrappings, %d messages reshaped", counts.Failed, counts.Wrapped, counts.Reshaped)
		}
		compare(t, c.before, c.after)
		if !must.TryAll() && name[len(name)-6]%6 > 0 { // about one in six is enough
			return
		}
		in := must.Get(capture.NewReader(bytes.NewReader(c.file), "once"))(t)
		twice, _ := runOn(t, in, anonymize.Options{})
		compare(t, c.after, gather(t, twice))
	})
}

func compare(t *testing.T, a, b *gatherer) {
	t.Helper()
	if len(a.lines) != len(b.lines) {
		t.Errorf("%d messages, %d before", len(b.lines), len(a.lines))
	}
	for i := range min(len(a.lines), len(b.lines)) {
		refused := strings.Contains(t.Name(), "/icmp/")
		x, y := shape(a.lines[i], refused), shape(b.lines[i], refused)
		if hostile(t) {
			// Invalid messages may be invalid in another way.
			x, y = fmt.Sprint(a.lines[i]["protocol"], a.lines[i]["message"], a.lines[i]["role"]), fmt.Sprint(b.lines[i]["protocol"], b.lines[i]["message"], b.lines[i]["role"])
		}
		if x != y {
			t.Errorf("message %d, frame %v, is another one: %s\nbefore:\n%v\nnow:\n%v", i+1, a.lines[i]["frame"], differ(x, y), a.lines[i], b.lines[i])
		}
	}
}

// TestNothingLeft: no replaced value is left in any byte of the file, compressed, joined
// or plain, in any byte order.
func TestNothingLeft(t *testing.T) {
	seen := 0
	eachCapture(t, func(t *testing.T, name string) {
		if seen++; (seen+1)%must.Try(3, 1) > 0 { // TestVerified takes others
			return
		}
		c := treat(t, name)
		g := c.before
		hay := append([][]byte{c.file}, c.after.data...)
		search := func(what string, b []byte) {
			if hostile(t) && slices.Contains(elsewhere[filepath.Base(name)], string(b)) {
				return
			}
			for i, s := range hay {
				if at := bytes.Index(s, b); at >= 0 {
					t.Errorf("%s %q is left in place %d, at byte %d: %q", what, b, i, at, s[max(0, at-20):min(len(s), at+20+len(b))])
					return
				}
			}
		}
		for _, n := range g.names {
			if wordy(n) {
				search("name", n)
			}
		}
		for _, n := range g.secrets {
			if wordy(n) && !bytes.Equal(n, bytes.Repeat([]byte("x"), len(n))) {
				search("secret", n)
			}
		}
		for _, id := range g.ids {
			if uint32(id) == 0 {
				continue
			}
			search("SteamID", binary.LittleEndian.AppendUint64(nil, id))
			search("SteamID", binary.BigEndian.AppendUint64(nil, id))
			search("SteamID", fmt.Append(nil, id))
		}
		for a := range g.addrs {
			if a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() || a.Is4() && a.As4()[0] >= 224 || a.Is4() && a.As4()[0] == 0 {
				continue
			}
			search("address", a.AsSlice())
			turned := a.AsSlice()
			for i, j := 0, len(turned)-1; i < j; i, j = i+1, j-1 {
				turned[i], turned[j] = turned[j], turned[i]
			}
			search("address, turned,", turned)
			search("address in text", []byte(a.String()))
		}
	})
}

// elsewhere is what hostile captures pass off as names, numbers and addresses, and
// what is something else, which is kept, in other messages of them.
var elsewhere = map[string][]string{
	// The name of a column, where a table has no names of players; backslashes
	// between settings, in a list of servers.
	"counts.pcap": {"score_", `\\\\`},
	// "tf" and "Team Fortress", where a zero byte in the name moves all that follows
	// it into the SteamID.
	"forged.pcap": {"f\x00Team F"},
	// The same text is that of every field, of those that are no names too.
	"strings.pcap": {strings.TrimSuffix(hostiles.Evil, "\x00")},
}

// wordy reports whether a name is long enough not to be found by chance, and no
// word of a format: a player of the test data calls himself final, and the
// software Geyser writes its own name into headers.
func wordy(b []byte) bool {
	switch string(b) {
	case "final", "Geyser", "127.0.0.1", "password":
		return false
	}
	if strings.Trim(string(b), "^1") == "" {
		return false // nothing but colours, which are kept
	}
	letters := 0
	for _, c := range b {
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c >= 0x80 {
			letters++
		}
	}
	return letters >= 4
}

// TestChecksums: tshark finds no wrong checksum.
func TestChecksums(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	list := must.TryCaptures(captures(t))
	if found, _ := filepath.Glob(filepath.FromSlash("../../../shared/captures/*.pcap")); len(found) > 0 {
		list = append(list, must.TryCaptures(found)...)
	}
	// All in one file: it is starting tshark that takes time.
	path := filepath.Join(t.TempDir(), "all.pcapng")
	w := must.Get(capture.Create(path))(t)
	for _, name := range list {
		in, err := capture.Open(name)
		if err != nil {
			continue // made so
		}
		if _, err := anonymize.Run(in, w, anonymize.Options{Key: testKey, Analysis: dissect.Config{Protocols: all.Protocols()}}); err != nil {
			t.Log(err)
		}
		in.Close()
	}
	must.Do(t, w.Close())
	out, err := exec.Command(tshark, "-n", "-r", path, "-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
		"-T", "fields", "-e", "ip.checksum.status", "-e", "udp.checksum.status", "-e", "tcp.checksum.status", "-e", "frame.number").Output()
	must.Do(t, err)
	checked := 0
	for line := range strings.Lines(string(out)) {
		ip, rest, _ := strings.Cut(line, "\t")
		transport, frame, _ := strings.Cut(strings.Replace(rest, "\t", "", 1), "\t") // UDP or TCP
		if strings.Contains(ip+transport, "0") {
			t.Errorf("wrong checksum in frame %s", frame)
		}
		if strings.Contains(ip, "1") && strings.Contains(transport, "1") {
			checked++
		}
	}
	if checked < must.Try(100, 500) {
		t.Errorf("tshark checked %d frames", checked)
	}
}

// TestKey: replacements depend only on the key and the value.
func TestKey(t *testing.T) {
	const name = "../../testdata/pcaps/a2s/source.pcap"
	a, _ := run(t, name, anonymize.Options{})
	b, _ := run(t, name, anonymize.Options{})
	if !bytes.Equal(a, b) {
		t.Error("the same key gives another file")
	}
	c, _ := run(t, name, anonymize.Options{Key: []byte("another key of enough bytes")})
	if bytes.Equal(a, c) {
		t.Error("another key gives the same file")
	}
	if _, err := anonymize.Run(nil, nil, anonymize.Options{Key: []byte("short")}); err == nil {
		t.Error("a short key is taken")
	}
}

// FuzzRun: every frame is written with replaced addresses or left out.
func FuzzRun(f *testing.F) {
	f.Add([]byte(infoReply), []byte("\xff\xff\xff\xffconnect \x00\x12\"\\name\\x\""), false)
	f.Add([]byte("\xfe\xff\xff\xff\x01\x00\x00\x80\x01\x00\x10\x00\x00\x00\x01\x02\x03\x04BZh91AY&SY"), []byte("\x00\x01\x02\x03\x04splitnum\x00\x80\x00hostname\x00x\x00\x00"), false)
	f.Add([]byte("\\hostname\\x\\player_0\\y\\final\\\\queryid\\1.1"), []byte("EYE1\x04mta"), false)
	f.Add(frame(0x8100, []byte{0, 5, 8, 0, 0x45}), frame(0x86dd, []byte{0x60, 0, 0, 0, 0, 8, 44, 0}), true)
	f.Fuzz(func(t *testing.T, a, b []byte, raw bool) {
		if len(a)+len(b) > 3000 {
			return
		}
		var file bytes.Buffer
		w := mkpcap.NewWriter(&file, mkpcap.Options{MTU: 600})
		at := time.Unix(1700000000, 0)
		if raw {
			w.Frame(at, a)
			w.Frame(at, b)
		} else {
			w.UDP(at, client, server, a)
			w.UDP(at, server, client, b)
		}
		in := must.Get(capture.NewReader(bytes.NewReader(file.Bytes()), "fuzz"))(t)
		var out bytes.Buffer
		cw := capture.NewWriter(&out, capture.Pcapng)
		counts := must.Get(anonymize.Run(in, cw, anonymize.Options{Key: testKey, Analysis: dissect.Config{Protocols: all.Protocols()}}))(t)
		if counts.Written > counts.Frames || counts.Failed > 0 {
			t.Errorf("%+v", counts)
		}
	})
}

// mutant is a source that changes bytes of payloads.
type mutant struct {
	capture.Source
	r *rand.Rand
}

func (m *mutant) Next(f *capture.Frame) error {
	err := m.Source.Next(f)
	const headers = 42
	if err == nil && len(f.Data) > headers {
		for range m.r.IntN(4) {
			f.Data[headers+m.r.IntN(len(f.Data)-headers)] = byte(m.r.IntN(256))
		}
	}
	return err
}

// TestMutants: damaged messages are rebuilt.
func TestMutants(t *testing.T) {
	for i, name := range must.TryCaptures(captures(t)) {
		if strings.HasSuffix(name, ".golden.jsonl") {
			continue
		}
		for seed := range must.Try[uint64](1, 3) {
			in, err := capture.Open(name)
			if err != nil {
				break // made so
			}
			w := capture.NewWriter(io.Discard, capture.Pcapng)
			counts, err := anonymize.Run(&mutant{in, rand.New(rand.NewPCG(seed, uint64(i)))}, w,
				anonymize.Options{Key: testKey, Analysis: dissect.Config{Protocols: all.Protocols()}})
			if err != nil && !strings.Contains(name, "hostile") || counts.Failed > 0 {
				t.Errorf("%s, seed %d: %v, %+v", name, seed, err, counts)
			}
			in.Close()
		}
	}
}
