package all

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/dissect/gamespy1"
	"github.com/qdissect/qdissect/dissect/gamespy2"
	"github.com/qdissect/qdissect/dissect/minecraft"
	"github.com/qdissect/qdissect/dissect/teeworlds"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/reassembly"
)

// samplesFile is the path of the samples in the folder of a protocol.
const samplesFile = "testdata/samples.txt"

// TestSamples runs the conformance suite for every protocol whose samples stand in testdata/samples.txt
// in its folder. Each is a section:
//
//	## a reply with more players than it counts
//	likely info_reply "\xffI{head}" "a second part"
//	finds game.players.count trailing
//	sound 4 6-9
//
// that is what Detect says at least, the type of the message and its payload, or its parts; then what
// [dissecttest.Sample] says of Findings and Sound, and the words cut and allocates. Payloads are Go strings,
// and {name} stands for the bytes of a line `name := "..."` at the beginning of the file. Notes may
// follow it, or how many times the bytes are repeated: `zeros := "\x00" 300 times`.
func TestSamples(t *testing.T) {
	for _, p := range Protocols() {
		if list := samplesOf(t, p); list != nil {
			t.Run(p.Name, func(t *testing.T) { dissecttest.Run(t, p, list) })
		}
	}
}

// TestSampled: every protocol has samples, in a file or in a Go test of its own, and no file is of none.
func TestSampled(t *testing.T) {
	files := must.Get(filepath.Glob("../*/" + samplesFile))(t)
	for _, p := range Protocols() {
		name := samplesPath(p)
		tests := must.Get(filepath.Glob(filepath.Join("..", strings.ReplaceAll(p.Name, "-", ""), "*_test.go")))(t)
		inGo := slices.ContainsFunc(tests, func(file string) bool {
			return strings.Contains(string(must.Get(os.ReadFile(file))(t)), "dissecttest.Run(t, Protocol(), ")
		})
		if inFile := slices.Contains(files, name); inFile == inGo {
			t.Errorf("%s has samples in %s: %v, in Go: %v", p.Name, samplesFile, inFile, inGo)
		}
		files = slices.DeleteFunc(files, func(file string) bool { return file == name })
	}
	if len(files) > 0 {
		t.Errorf("samples of no protocol: %q", files)
	}
}

// TestSampleSecrets: no field but secret ones shows any of the password in samples, and of rules only the password is secret. A sample
// may also be cut, unless it is another message then.
func TestSampleSecrets(t *testing.T) {
	n := 0
	for _, p := range Protocols() {
		for _, s := range samplesOf(t, p) {
			for size := len(s.Parts[0]); size > 0 && len(s.Parts) == 1; size-- {
				payload := s.Parts[0][:size]
				if !bytes.Contains(payload, []byte("hid")) || p.Detect(payload) == dissect.No || slices.Contains(s.Sound, size) {
					continue
				}
				n++
				r := dissecttest.Decode(t, p, payload)
				for _, n := range r.Nodes {
					v := n.Value(r.Sources[n.Source].Data)
					if n.Field.Kind == dissect.Bytes {
						v = Foreign().Shown(v)
					}
					shows := bytes.Contains(v, []byte("hid"))
					if !n.Field.Kind.Container() && shows != n.Field.Secret && (shows || s.Name == "rules" && size == len(s.Parts[0])) {
						t.Errorf("%s: %s: %d bytes: %s shows %q", p.Name, s.Name, size, n.Field.Path, v)
					}
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d payloads", n)
	}
}

// sampleOf returns the first part of the sample of a protocol with a name.
func sampleOf(t *testing.T, protocol, name string) []byte {
	t.Helper()
	list := samplesOf(t, byName(protocol))
	return list[slices.IndexFunc(list, func(s dissecttest.Sample) bool { return s.Name == name })].Parts[0]
}

// TestRaknetAddress: addresses are those that were sent, whatever the wire makes of them.
func TestRaknetAddress(t *testing.T) {
	for name, want := range map[string]string{
		"open request 2": "127.0.0.1:19132", "open request 2 with a cookie": "127.0.0.1:19132",
		"open request 2 over IPv6": "[::1]:19133", "open reply 2": "127.0.0.1:19132",
	} {
		r := dissecttest.Decode(t, byName("raknet"), sampleOf(t, "raknet", name))
		var got []string
		for i := range r.Nodes {
			if n := &r.Nodes[i]; n.Field.Kind == dissect.Endpoint {
				got = append(got, n.Endpoint(r.Sources[0].Data).String())
			}
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestTeeworldsNumbers: numbers as the packets of 0.7 have them, such as the token of a request. Of those that are cut there is none.
func TestTeeworldsNumbers(t *testing.T) {
	request, _ := bytes.CutSuffix(sampleOf(t, "teeworlds", "0.7"), []byte("\x88\x03"))
	for in, want := range map[string]int64{
		"\x05": 5, "\x00": 0, "\x3f": 63, "\x80\x01": 64, "\x88\x03": 200, "\x40": -1, "\x7f": -64, "\xc0\x01": -65,
		"\xbf\xff\xff\xff\x0f": 1<<31 - 1, "\xff\xff\xff\xff\x0f": -1 << 31, "\x81\x80\x80\x80\x80\x01": 1,
		"": 0, "\x80": 0, "\x88\x83": 0,
	} {
		r := dissecttest.Decode(t, byName("teeworlds"), append(request[:len(request):len(request)], in...))
		i := slices.IndexFunc(r.Nodes, func(n dissect.Node) bool { return n.Field.Path == "teeworlds.info7.token" })
		cut := slices.ContainsFunc(r.Findings, func(f dissect.Finding) bool { return f.Type == core.Malformed })
		if got := r.Body.(*teeworlds.Short).Token; got != want || cut != (i < 0) || i >= 0 && r.Nodes[i].Int() != want || cut != (len(in) == 0 || in[len(in)-1] >= 0x80) {
			t.Errorf("%x: %d, want %d; %v", in, got, want, cut)
		}
	}
}

// TestMinecraftMangled has session ids as Java encodes invalid UTF-8.
func TestMinecraftMangled(t *testing.T) {
	for hexID, want := range map[string]int{
		"00000001313233":             0,
		"efbfbd000001313233":         6,
		"efbfbdefbfbdefbfbdefbfbd31": 12,
		"01efbfbd0203313233":         6,
		"efbfbd01313233":             0, // an id that is EF BF BD 01 itself
		"01020304efbfbd":             0,
		"efbfbd":                     0,
	} {
		r := dissecttest.Decode(t, byName("minecraft"), must.Get(hex.DecodeString("09"+hexID+"00"))(t))
		found := slices.ContainsFunc(r.Findings, func(f dissect.Finding) bool { return f.Type.ID == "mc.session.mangled" })
		if got := len(r.Body.(*minecraft.HandshakeReply).Mangled); got != want || found != (want > 0) {
			t.Errorf("%s: %d, want %d; %v", hexID, got, want, found)
		}
	}
}

// TestOpenttdCut: a reply of which the capture has only the beginning is known by the length that it had.
func TestOpenttdCut(t *testing.T) {
	request, reply := sampleOf(t, "openttd", "a request"), sampleOf(t, "openttd", "info 5")
	for missing, known := range map[int]bool{5: true, 4: false} {
		var k dissecttest.Keeper
		a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{byName("openttd")}}, &k))(t)
		from, to := netip.AddrPortFrom(client, port), netip.AddrPortFrom(server, 50000)
		a.Datagram(&dissect.Datagram{Frame: 1, Time: time.Unix(1600000000, 0), Src: from, Dst: to, Payload: request})
		cut := reply[:len(reply)-5]
		if !a.Inner(core.Only{}).Candidate(to.Port(), from.Port(), cut) {
			t.Errorf("%x is no candidate", cut)
		}
		a.Datagram(&dissect.Datagram{Frame: 2, Time: time.Unix(1600000000, 0), Src: to, Dst: from, Payload: cut, Missing: missing})
		a.Flush()
		if n := len(k.Records); known && (n != 2 || k.Records[1].Type.Name != "info_reply" || k.Records[1].RequestFrame != 1) || !known && n > 0 {
			t.Errorf("%d bytes missing: %d messages", missing, n)
		}
	}
}

// TestGamespy1Parts reads the places of datagrams. Slashes stand for backslashes.
func TestGamespy1Parts(t *testing.T) {
	type part struct {
		id    uint64
		index int
		last  bool
	}
	whole := part{0, -2, false}
	for in, want := range map[string]part{
		"/a/1/queryid/20.1":                              {20, 0, false},
		"/a/1/queryid/20.3":                              {20, 2, false},
		"/a/1/final//queryid/20.3":                       {20, 2, true},
		"/a/1/queryid/20.3/final/":                       {20, 2, true},
		"/a/1/queryid/20.3/final":                        {20, 2, true},
		"/a/1/queryid/20.3/":                             {20, 2, false},
		"/a/1/final/queryid/20.3\x00":                    {20, 2, true},
		"/final//queryid/4396.2":                         {4396, 1, true},
		"/a/1/final//queryid/20.1":                       whole,
		"/final//queryid/20.1":                           whole,
		"/a/1/queryid/33":                                {33, -1, false},
		"/a/1/final//queryid/33":                         {33, -1, true},
		"/hostname/a/queryid/20":                         {0, 0, false},
		"/gamename/a/final//queryid/20":                  whole,
		"/hostname/a/queryid/1":                          {0, 0, false},
		"/hostname/a/queryid/1/final/":                   whole,
		"/a/1/queryid/0":                                 {0, -1, false},
		"/a/1/queryid/32":                                {0, 31, false},
		"/a/1/queryid/2/final/":                          {0, 1, true},
		"/statusresponse/0/a/1/eof/":                     {0, 0, false},
		"/statusresponse/0/a/eof/":                       {0, 0, false},
		"/statusresponse/1/a/1/queryid/0":                {0, 1, false},
		"/statusresponse/2/a/1/queryid/AMv1/final//eof/": {0, 2, true},
		"/statusresponse/2/a/1/queryid/2/final/":         {0, 2, true},
		"/statusresponse/0/a/1/queryid/AMv1/final//eof/": whole,
		"/statusresponse/254/a/1/eof/":                   {0, 254, false},
		"/statusresponse/255/a/1/eof/":                   whole,
		"/statusresponse//a/1/eof/":                      whole,
		"/a/1/queryid/20.0":                              {20, -1, false},
		"/a/1/b/2":                                       {0, -1, false},
		"/a/1/final/":                                    {0, -1, true},
		"/player_0/final/queryid/20.1":                   {20, 0, false},
		"/player_0/final":                                {0, -1, false},
		"/a//queryid/7.7/queryid/20.2/b/1":               {20, 1, false},
		"/queryid/20.2/a/1/final/":                       {20, 1, true},
		"/a/1/queryid/x.1":                               whole,
		"/a/1/queryid/20.x":                              whole,
		"/a/1/queryid/20.256":                            whole,
		"/a/1/queryid/1234567890123456.1":                whole,
		"/validate/xyz":                                  whole,
		"/status/":                                       whole,
		"/status/xserverquery":                           whole,
		"/heartbeat/7778/gamename/ut":                    whole,
		"/heartbeat/7778/gamename/ut/final//queryid/1.2": whole,
		"status": whole,
		"":       whole,
	} {
		got := whole
		if p, ok := byName("gamespy1").Split.Read([]byte(strings.ReplaceAll(in, "/", `\`)), 0); ok {
			got = part{p.ID, p.Index, p.Last}
		}
		if got != want {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
}

// TestGamespy1Columns has more columns than any game.
func TestGamespy1Columns(t *testing.T) {
	reply := `\player_0\a`
	for i := range 2000 {
		reply += fmt.Sprintf(`\c%c%d_0\%d`, 'a'+i%26, i, i)
	}
	m, err := gamespy1.Parse([]byte(reply + `\final\\queryid\1.1`))
	if p := m.(*gamespy1.Reply); err != nil || len(p.Players) != 1 || len(p.Players[0].Columns)+len(p.Rules) != 2001 {
		t.Errorf("%d players, %d rules, %v", len(p.Players), len(p.Rules), err)
	}
}

// TestGamespy2Joined: a reply in two datagrams, cut between settings or in a table, decodes like the whole one.
func TestGamespy2Joined(t *testing.T) {
	const head = "\x00CORY"
	whole := string(sampleOf(t, "gamespy2", "everything")[len(head):]) + "\x00"
	want := dissecttest.Decode(t, byName("gamespy2"), []byte(head+whole)).BodyText
	info, table := strings.Index(whole, "\x00\x00\x00")+3, strings.Index(whole, "Alice")
	for i := len("hostname\x00A server\x00gamever\x00"); i < strings.Index(whole, "\x00\x02team_t"); i++ {
		if whole[i-1] != 0 || i >= info && i < table || whole[i] == 0 && i != info-1 {
			continue // in the middle of a text, where a table begins, or before an empty cell
		}
		got := dissecttest.Decode(t, byName("gamespy2"), []byte(head+whole[:i]), []byte(head+whole[i:])).BodyText
		if got != want {
			t.Errorf("cut before %q:\n%s, want\n%s", whole[i:min(len(whole), i+12)], got, want)
		}
	}
}

// TestGamespy2Columns has the largest number of columns, and one more.
func TestGamespy2Columns(t *testing.T) {
	columns := "\x00CORY\x00\x00"
	for n := range 258 {
		_, err := gamespy2.Parse([]byte(columns + "\x00"))
		if n == 256 && err != nil || n == 257 && (err == nil || !strings.HasPrefix(err.Error(), "gamespy2.column: too many columns")) {
			t.Errorf("%d columns: %v", n, err)
		}
		columns += fmt.Sprintf("c%d_\x00", n)
	}
}

// gamespy3Head begins a part of a reply; its number follows.
const gamespy3Head = "\x00\x10\x20\x30\x40splitnum\x00"

// TestGamespy3Splits reads the numbers of parts.
func TestGamespy3Splits(t *testing.T) {
	for payload, want := range map[string]reassembly.Part{
		gamespy3Head + "\x00\x00hostname\x00A\x00\x00": {Index: 0},
		gamespy3Head + "\x01":                          {Index: 1},
		gamespy3Head + "\x82":                          {Index: 2, Total: 3},
		gamespy3Head + "\x80":                          {Index: -1},
		gamespy3Head + "\x00\x00hostname\x00A\x00\x00\x00\x01x\x00STEAM_0\x00\x00\x01": {Index: -1},
		"\x00\x10\x20\x30\x40hostname\x00":                                             {Index: -1},
	} {
		if p, ok := byName("gamespy3").Split.Read([]byte(payload), 0); ok != (want.Index >= 0) || ok && (p.Index != want.Index || p.Total != want.Total) {
			t.Errorf("%q: %+v, %v", payload, p, ok)
		}
	}
}

// TestGamespy3Forged checks that expensive forged messages cost little.
func TestGamespy3Forged(t *testing.T) {
	const head = gamespy3Head + "\x80"
	columns := head + "\x01"
	for i := range 4000 {
		columns += fmt.Sprintf("c%d_\x00\x00x\x00\x00", i)
	}
	for _, payload := range []string{
		columns, head + "\x01" + strings.Repeat("player_\x00\x00x\x00y\x00\x00", 4000), head + strings.Repeat("\x01", 60000),
		head + "\x01player_\x00\xff" + strings.Repeat("\x00", 60000), head + "\x01player_\x00\xff" + strings.Repeat("x\x00", 30000),
	} {
		dissecttest.Check(t, byName("gamespy3"), []byte(payload))
	}
}

// FuzzGamespy3Parts joins two parts of any content.
func FuzzGamespy3Parts(f *testing.F) {
	for _, s := range samplesOf(f, byName("gamespy3")) {
		if len(s.Parts) == 2 {
			f.Add(s.Parts[0][len(gamespy3Head)+1:], s.Parts[1][len(gamespy3Head)+1:])
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		dissecttest.Check(t, byName("gamespy3"), append([]byte(gamespy3Head+"\x00"), a...), append([]byte(gamespy3Head+"\x81"), b...))
	})
}

// FuzzSamples fuzzes the decoders of the protocols with samples in a file, or that of the one whose folder
// QDISSECT_PROTOCOL in the environment names.
func FuzzSamples(f *testing.F) {
	var list []*dissect.Protocol
	only := cmp.Or(os.Getenv("QDISSECT_PROTOCOL"), "all")
	for _, p := range Protocols() {
		if samples := samplesOf(f, p); samples != nil && (only == "all" || only == strings.ReplaceAll(p.Name, "-", "")) {
			for _, payload := range dissecttest.Seeds(samples) {
				f.Add(uint8(len(list)), payload)
			}
			list = append(list, p)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, payload []byte) {
		dissecttest.Check(t, list[int(n)%len(list)], payload)
	})
}

func samplesPath(p *dissect.Protocol) string {
	return filepath.Join("..", strings.ReplaceAll(p.Name, "-", ""), samplesFile)
}

// samplesOf returns the samples in the file of a protocol, nil if it has none.
func samplesOf(t testing.TB, p *dissect.Protocol) (list []dissecttest.Sample) {
	t.Helper()
	data, err := os.ReadFile(samplesPath(p))
	if os.IsNotExist(err) {
		return nil
	}
	must.Do(t, err)
	head, sections, _ := strings.Cut(string(data), "\n\n## ")
	var names []string // and values, in turns
	for line := range strings.Lines(head) {
		name, rest, found := strings.Cut(line, " := ")
		if !found {
			continue
		}
		values, note := quoted(rest, strings.NewReplacer(names...))
		times := 1
		if count, ok := strings.CutSuffix(note, " times"); ok {
			times = must.Get(strconv.Atoi(count))(t)
		}
		names = append(names, "{"+name+"}", strings.Repeat(values[0], times))
	}
	for section := range strings.SplitSeq(strings.TrimSpace(sections), "\n\n## ") {
		lines := strings.Split(section, "\n")
		var s dissecttest.Sample
		if err := read(&s, lines, strings.NewReplacer(names...)); err != nil {
			t.Fatalf("%s: %s: %v", samplesPath(p), lines[0], err)
		}
		list = append(list, s)
	}
	return list
}

// read reads the lines of a sample.
func read(s *dissecttest.Sample, lines []string, names *strings.Replacer) error {
	words := strings.SplitN(lines[1], " ", 3)
	parts, rest := quoted(words[2], names)
	s.Name, s.Message = lines[0], words[1]
	for s.Verdict = dissect.No; s.Verdict.String() != words[0]; s.Verdict++ {
	}
	for _, part := range parts {
		s.Parts = append(s.Parts, []byte(part))
	}
	if len(parts) == 0 || rest != "" {
		return fmt.Errorf("%q follows the payload", rest)
	}
	for _, line := range lines[2:] {
		words := strings.Fields(line)
		switch words[0] {
		case "finds":
			s.Findings = words[1:]
		case "sound":
			for _, word := range words[1:] {
				from, to, _ := strings.Cut(word+"-"+word, "-")
				to, _, _ = strings.Cut(to, "-")
				first, err := strconv.Atoi(from)
				last, err2 := strconv.Atoi(to)
				if err != nil || err2 != nil {
					return fmt.Errorf("%s is no length", word)
				}
				for n := first; n <= last; n++ {
					s.Sound = append(s.Sound, n)
				}
			}
		case "cut":
			s.Cut = true
		case "allocates":
			s.Allocates = true
		default:
			return fmt.Errorf("what is %q?", line)
		}
	}
	return nil
}

// quoted returns the strings at the beginning of a line, and what follows them.
func quoted(line string, names *strings.Replacer) (list []string, rest string) {
	for {
		first, err := strconv.QuotedPrefix(line)
		if err != nil {
			return list, strings.TrimSpace(line)
		}
		text, _ := strconv.Unquote(first)
		list, line = append(list, names.Replace(text)), strings.TrimLeft(line[len(first):], " ")
	}
}
