package golden

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/qdissect/qdissect/internal/must"
)

// sample returns a capture of the project.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join("..", "..", "testdata", "pcaps", filepath.FromSlash(name))))(t)
	return data
}

func packed(t testing.TB, coding string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	switch coding {
	case "gzip":
		w := gzip.NewWriter(&b)
		w.Write(data)
		must.Do(t, w.Close())
	case "zstd":
		w := must.Get(zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1)))(t)
		w.Write(data)
		must.Do(t, w.Close())
	default:
		return data
	}
	return b.Bytes()
}

// A desk is a folder with a capture and its golden.
type desk struct {
	t    *testing.T
	path string
}

// newDesk writes a capture and its golden.
func newDesk(t *testing.T, name string, data []byte) *desk {
	t.Helper()
	d := &desk{t, filepath.Join(t.TempDir(), name)}
	d.put(data)
	d.update()
	return d
}

func (d *desk) put(data []byte) {
	d.t.Helper()
	must.Do(d.t, os.WriteFile(d.path, data, 0o666))
}

func (d *desk) update() {
	d.t.Helper()
	if _, _, err := Update(d.path, true); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) golden() string {
	d.t.Helper()
	b, err := os.ReadFile(Path(d.path))
	must.Do(d.t, err)
	return string(b)
}

func (d *desk) putGolden(s string) {
	d.t.Helper()
	must.Do(d.t, os.WriteFile(Path(d.path), []byte(s), 0o666))
}

// check returns the differences as text, "" if there are none.
func (d *desk) check(rules Rules, limit int) (text string, r *Result) {
	d.t.Helper()
	r, trouble, err := Check(d.path, rules, limit)
	if err != nil || r == nil {
		d.t.Fatalf("%v; %v", trouble, err)
	}
	return string(r.AppendText(nil, "")), r
}

func ignoring(t testing.TB, patterns ...string) Rules {
	t.Helper()
	p := must.Get(ParsePatterns(patterns))(t)
	return Rules{Ignore: p}
}

// TestDamage: a damaged file differs from an undamaged one, whatever it decompresses to
// and whatever may differ, and the golden states the damage.
func TestDamage(t *testing.T) {
	source := sample(t, "a2s/source.pcap")
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte {
			b = bytes.Clone(b)
			b[(at+len(b))%len(b)] ^= 1
			return b
		}
	}
	cut := func(b []byte) []byte { return b[:len(b)-1] }
	rubbish := func(b []byte) []byte { return append(bytes.Clone(b), "rubbish, more than ten bytes"...) }
	for _, c := range []struct {
		name, file, coding string
		damage             func([]byte) []byte
		want               string // "" for what is no damage
	}{
		{"gzip: trailer", "x.pcap.gz", "gzip", flip(-8), "gzip: invalid checksum"},
		{"gzip: end", "x.pcap.gz", "gzip", cut, "the gzip data is cut short"},
		{"gzip: rubbish", "x.pcap.gz", "gzip", rubbish, "gzip: invalid header"},
		{"gzip: when it was packed", "x.pcap.gz", "gzip", flip(5), ""},
		{"zstd: trailer", "x.pcap.zst", "zstd", flip(-1), "zstd: CRC check failed"},
		{"zstd: end", "x.pcap.zst", "zstd", cut, "the zstd data is cut short"},
		{"zstd: rubbish", "x.pcap.zst", "zstd", rubbish, "zstd: invalid input: magic number mismatch"},
		{"plain: rubbish", "x.pcap", "", rubbish, "record claims 1919905056 bytes, a frame has 262144 at most"},
		{"plain: a byte of rubbish", "x.pcap", "", func(b []byte) []byte { return append(bytes.Clone(b), 0) }, "record header cut short: 1 of 16 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sound := packed(t, c.coding, source)
			d := newDesk(t, c.file, sound)
			undamaged := d.golden()
			damaged := c.damage(sound)
			for _, rules := range []Rules{{}, {Relative: true}, ignoring(t, "rtt_ns")} {
				d.put(damaged)
				d.putGolden(undamaged)
				text, r := d.check(rules, 0)
				if c.want == "" {
					if text != "" {
						t.Errorf("%s", text)
					}
					continue
				}
				want := regexp.MustCompile(`^capture\n  damaged: absent → "` + regexp.QuoteMeta(c.want) + `"\n$`)
				if !want.MatchString(text) || r.Differences[0].Want.Line != strings.Count(undamaged, "\n") || r.Unstated {
					t.Errorf("%s%+v", text, r)
				}
				d.update()
				if text, r := d.check(rules, 0); text != "" || r.Unstated || !strings.Contains(d.golden(), `,"damaged":"`+c.want+`","sha256":"`) {
					t.Errorf("with its own golden: %s", text)
				}
				d.put(sound)
				text, _ = d.check(rules, 0)
				want = regexp.MustCompile(`^capture\n  damaged: "` + regexp.QuoteMeta(c.want) + `" → absent\n$`)
				if !want.MatchString(text) {
					t.Errorf("mended: %s", text)
				}
				// A golden without a sum may say it too.
				d.putGolden(sha.ReplaceAllString(d.golden(), ""))
				if text, _ = d.check(rules, 0); !want.MatchString(text) {
					t.Errorf("without sum: %s", text)
				}
			}
			// Which the program wrote says nothing about it.
			d.put(damaged)
			d.putGolden(sha.ReplaceAllString(undamaged, ""))
			if text, r := d.check(Rules{}, 0); text != "" || r.Unstated != (c.want != "") {
				t.Errorf("%s%+v", text, r)
			}
			// Recordings that are taken anew.
			d.putGolden(undamaged)
			r, _, err := Check(d.path, Rules{Conversation: true}, 0)
			if err != nil || r.Equal() != (c.want == "") {
				t.Errorf("as a conversation: %+v, %v", r, err)
			}
			if r, _, err = Check(d.path, Rules{Conversation: true, Ignore: ignoring(t, "damaged").Ignore}, 0); err != nil || !r.Equal() {
				t.Errorf("ignored: %+v, %v", r, err)
			}
		})
	}
}

var sha = regexp.MustCompile(`,"sha256":"[0-9a-f]{64}"`)

// TestDamageBehind: damage after other damage is reported too.
func TestDamageBehind(t *testing.T) {
	cut := packed(t, "gzip", sample(t, "a2s/source.pcap")[:3000])
	d := newDesk(t, "x.pcap.gz", cut)
	const first = `,"damaged":"record cut short: 928 of 1302 bytes`
	if !strings.Contains(d.golden(), first+`"`) {
		t.Error(d.golden())
	}
	broken := packed(t, "gzip", append(sample(t, "a2s/source.pcap"), bytes.Repeat([]byte{0xff}, 1<<20)...))
	d.put(broken)
	d.update()
	broken[len(broken)-8] ^= 1
	d.put(broken)
	text, _ := d.check(Rules{Wording: true}, 0)
	if want := "capture\n  damaged: \"record claims 4294967295 bytes, a frame has 262144 at most\" → \"record claims 4294967295 bytes, a frame has 262144 at most; gzip: invalid checksum\"\n"; text != want {
		t.Errorf("%swant\n%s", text, want)
	}
}

// TestSumMalformed: an invalid sum is an error; it does not disable the comparison.
func TestSumMalformed(t *testing.T) {
	d := newDesk(t, "x.pcap", sample(t, "a2s/source.pcap"))
	golden := d.golden()
	digits := strings.Repeat("0", 64)
	for _, sum := range []string{`null`, `"zz"`, `12`, `"` + digits + `0"`, `"` + digits[1:] + `"`, `""`, `["` + digits + `"]`, `"+` + digits[1:] + `"`} {
		d.putGolden(sha.ReplaceAllString(golden, `,"sha256":`+sum))
		if r, _, err := Check(d.path, Rules{}, 0); err == nil || !strings.Contains(err.Error(), "sha256 of the golden does not have 64 hexadecimal digits") {
			t.Errorf("%s: %+v, %v", sum, r, err)
		}
	}
	for _, damage := range []string{`null`, `""`, `1`, `{}`} {
		d.putGolden(strings.Replace(golden, `,"sha256":`, `,"damaged":`+damage+`,"sha256":`, 1))
		if r, _, err := Check(d.path, Rules{}, 0); err == nil || !strings.Contains(err.Error(), "is not a text") {
			t.Errorf("%s: %+v, %v", damage, r, err)
		}
	}
	// Wherever it stands: a golden may have been printed in another way.
	data := sample(t, "a2s/source.pcap")
	data[62] ^= 1
	d.put(data)
	lines := strings.TrimSuffix(golden, "\n")
	for name, other := range map[string]string{
		"an array":      "[\n" + strings.ReplaceAll(lines, "\n", ",\n") + "\n]\n",
		"several lines": strings.ReplaceAll(lines, `,"sha256"`, ",\n\"sha256\""),
		"a long line":   strings.ReplaceAll(lines, `,"sha256"`, strings.Repeat(" ", 1<<17)+`,"sha256"`),
		"no last line":  lines,
		"blanks":        golden + "\n \n\t",
	} {
		d.putGolden(other)
		if text, _ := d.check(Rules{}, 0); !strings.Contains(text, "  sha256 (bytes changed that no field shows): ") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestCheckSum: changed bytes are reported only if no field shows the change.
func TestCheckSum(t *testing.T) {
	source := sample(t, "a2s/source.pcap")
	d := newDesk(t, "x.pcap", source)
	golden := d.golden()
	sum := sha.FindString(golden)
	changed := regexp.MustCompile(`^capture\n  sha256 \(bytes changed that no field shows\): "` + sum[len(`,"sha256":"`):][:16] + `…" → "[0-9a-f]{16}…"\n$`)
	fort := bytes.Index(source, []byte("ctf_2fort"))
	for _, c := range []struct {
		name  string
		flips []int
		rules Rules
		want  string // "" for nothing, "sum" for the sum alone
	}{
		{"nothing", nil, Rules{}, ""},
		{"nothing, strictly", nil, Rules{Wording: true}, ""},
		{"a header", []int{62}, Rules{}, "sum"},
		{"a header, strictly", []int{62}, Rules{Wording: true}, "sum"},
		{"two headers", []int{62, 64}, Rules{}, "sum"},
		{"the head of the file", []int{20 + 2}, Rules{}, "sum"},
		{"a header, a value may differ", []int{62}, ignoring(t, "rtt_ns"), ""},
		{"a header, times are relative", []int{62}, Rules{Relative: true}, ""},
		{"a header, the sum may differ", []int{62}, ignoring(t, "sha256"), ""},
		{"a value and a header", []int{62, fort}, Rules{}, "frame 4 a2s info_reply  198.51.100.10:27015 > 192.0.2.20:51000\n  a2s.map: \"ctf_2fort\" → \"btf_2fort\"\n  server.map: \"ctf_2fort\" → \"btf_2fort\"\n"},
	} {
		data := bytes.Clone(source)
		for _, at := range c.flips {
			data[at] ^= 1
		}
		d.put(data)
		text, r := d.check(c.rules, 0)
		if c.want == "sum" && (!changed.MatchString(text) || r.Count != 1 || r.Differences[0].Want.Line != strings.Count(golden, "\n")) || c.want != "sum" && text != c.want {
			t.Errorf("%s: %s%+v", c.name, text, r)
		}
	}
	// Nothing can be read of it.
	d.put(append([]byte("no capture"), source...))
	if r, trouble, err := Check(d.path, Rules{}, 0); r != nil || trouble == nil || err != nil {
		t.Errorf("%+v, %v, %v", r, trouble, err)
	}
}

// TestCheckFlipped: every changed byte of every capture is noticed.
func TestCheckFlipped(t *testing.T) {
	const tries = 2
	for i, path := range must.TryCaptures(pcaps(t)) {
		data := must.Get(os.ReadFile(path))(t)
		golden := must.Get(os.ReadFile(Path(path)))(t)
		d := &desk{t, filepath.Join(t.TempDir(), filepath.Base(path))}
		d.putGolden(string(golden))
		step := 1 + len(data)/tries
		for at := i % step; at < len(data); at += step {
			data[at] ^= 1 << (at % 8)
			d.put(data)
			data[at] ^= 1 << (at % 8)
			r, trouble, err := Check(d.path, Rules{}, 0)
			if err != nil || r == nil && trouble == nil || r != nil && r.Equal() {
				t.Errorf("%s: byte %d changed: %v, %v, %v", path, at, r, trouble, err)
			}
		}
	}
}

// pcaps returns the captures of the project.
func pcaps(t *testing.T) []string {
	t.Helper()
	paths, orphans, err := Captures(filepath.Join("..", "..", "testdata", "pcaps"), func(path string, err error) { t.Error(path, err) })
	if err != nil || len(paths) < 40 || len(orphans) > 0 {
		t.Fatalf("%d captures; %v; %v", len(paths), orphans, err)
	}
	return paths
}

// TestCheckWording: different wording is a difference only on request; a different ID,
// severity or value always is.
func TestCheckWording(t *testing.T) {
	d := newDesk(t, "x.pcap", sample(t, "a2s/source.pcap"))
	golden := d.golden()
	for _, c := range []struct{ name, from, to, want, strict string }{
		{"a summary", `"summary":"info request`, `"summary":"request of info`, "", "summary: "},
		{"the text of a finding", `"severity":"note","text":"`, `"severity":"note","text":"other words: `, "", "findings[0].text ("},
		{"a severity", `"severity":"note"`, `"severity":"error"`, `findings[0].severity ("enc.notutf8"): "error" → "note"`, `findings[0].severity (`},
		{"an id", `"id":"enc.notutf8"`, `"id":"enc.other"`, `findings[0].id: "enc.other" → "enc.notutf8"`, "findings[0].id: "},
		{"a value", `"map":"ctf_2fort"`, `"map":"x"`, `a2s.map: "x" → "ctf_2fort"`, "a2s.map: "},
	} {
		if !strings.Contains(golden, c.from) {
			t.Fatalf("the golden has no %s", c.from)
		}
		d.putGolden(strings.Replace(golden, c.from, c.to, 1))
		if text, _ := d.check(Rules{}, 0); c.want == "" && text != "" || !strings.Contains(text, c.want) {
			t.Errorf("%s: %swant %s", c.name, text, c.want)
		}
		if text, _ := d.check(Rules{Wording: true}, 0); !strings.Contains(text, c.strict) {
			t.Errorf("%s, strictly: %swant %s", c.name, text, c.strict)
		}
		r, _, err := Check(d.path, Rules{Conversation: true}, 0)
		if err != nil || r.Equal() != (c.want == "") {
			t.Errorf("%s, as a conversation: %v, %s", c.name, err, r.AppendText(nil, ""))
		}
		if r, _, err = Check(d.path, Rules{Conversation: true, Wording: true}, 0); err != nil || r.Equal() {
			t.Errorf("%s, as a conversation, strictly: %v", c.name, err)
		}
	}
}

// TestLine: annotations point to the line of the golden that differs.
func TestLine(t *testing.T) {
	data := sample(t, "a2s/source.pcap")
	d := newDesk(t, "x.pcap", data)
	lines := strings.Split(strings.TrimSuffix(d.golden(), "\n"), "\n")
	for _, c := range []struct {
		flips []int
		line  string
	}{
		{[]int{62}, `{"type":"summary",`},
		{[]int{62, bytes.Index(data, []byte("ctf_2fort"))}, `{"type":"message","frame":4,`},
	} {
		other := bytes.Clone(data)
		for _, at := range c.flips {
			other[at] ^= 1
		}
		d.put(other)
		text, r := d.check(Rules{}, 0)
		var b bytes.Buffer
		w := must.Get(NewFormat("github", &b, FormatOptions{Command: "x"}))(t)
		w.Case(&Case{Name: "x", File: "y", Result: r})
		var line int
		fmt.Sscanf(b.String(), "::error file=y,line=%d,", &line)
		if line < 1 || !strings.HasPrefix(lines[line-1], c.line) {
			t.Errorf("line %d, want that of %s:\n%s", line, c.line, text)
		}
	}
}

// TestCaptures: a file with a golden is a capture, whatever its name.
func TestCaptures(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.pcap", "a", "a.golden.jsonl", "n.bin", "n.bin.golden.jsonl", "o.golden.jsonl", "z.pcap"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	must.Do(t, os.Mkdir(filepath.Join(dir, "o"), 0o777))
	captures, orphans, err := Captures(dir, func(string, error) {})
	for _, list := range [][]string{captures, orphans} {
		for i := range list {
			list[i] = filepath.Base(list[i])
		}
	}
	if err != nil || !slices.Equal(captures, []string{"a.pcap", "n.bin", "z.pcap"}) || !slices.Equal(orphans, []string{"o.golden.jsonl"}) {
		t.Error(captures, orphans, err)
	}
}

// vlanOf puts a VLAN tag into every frame of a pcap file.
func vlanOf(data []byte) []byte {
	b := bytes.Clone(data[:24])
	for r := data[24:]; len(r) > 0; {
		n := int(binary.LittleEndian.Uint32(r[8:]))
		head := bytes.Clone(r[:16])
		binary.LittleEndian.PutUint32(head[8:], uint32(n+4))
		binary.LittleEndian.PutUint32(head[12:], uint32(n+4))
		b = slices.Concat(b, head, r[16:28], []byte("\x81\x00\x00\x05"), r[28:16+n])
		r = r[16+n:]
	}
	return b
}

// TestDiffPacketFindings: findings about packets are no difference between conversations.
func TestDiffPacketFindings(t *testing.T) {
	for _, name := range []string{"a2s/source.pcap", "a2s/a2s-goldsrc-split.pcap", "quake3/openarena-connect.pcap"} {
		data := sample(t, name)
		dir := t.TempDir()
		plain, tagged := filepath.Join(dir, "a.pcap"), filepath.Join(dir, "b.pcap")
		for path, data := range map[string][]byte{plain: data, tagged: vlanOf(data)} {
			must.Do(t, os.WriteFile(path, data, 0o666))
			var b bytes.Buffer
			if _, err := Write(&b, path); err != nil || strings.Contains(b.String(), "packet.vlan") != (path == tagged) {
				t.Fatalf("%s: %v", path, err)
			}
		}
		for _, sides := range [][2]string{{plain, tagged}, {tagged, plain}} {
			r, trouble, err := Diff(sides[0], sides[1], Rules{Conversation: true}, 0, nil)
			if err != nil || trouble != nil || !r.Equal() {
				t.Errorf("%s: %v, %v\n%s", name, trouble, err, r.AppendText(nil, ""))
			}
			if r, _, err = Diff(sides[0], sides[1], Rules{Wording: true}, 0, nil); err != nil || r.Equal() {
				t.Errorf("%s, strictly: %v, %v", name, r, err)
			}
		}
	}
	// Other findings are told one by one.
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	const message = `{"type":"message","frame":1,"src_ip":"a","dst_ip":"b","protocol":"a2s","message":"info_reply","a2s":{"map":"de_dust"}`
	const vlan, other = `{"id":"packet.vlan","severity":"note","text":"VLAN 5"}`, `{"id":"a2s.trailing","severity":"note","text":"said \"hello\""}`
	for _, c := range []struct{ a, b, want string }{
		{`}`, `,"findings":[]}`, ""},
		{`,"findings":[` + vlan + `]}`, `,"findings":[]}`, ""},
		{`}`, `,"findings":[` + vlan + `,` + vlan + `]}`, ""},
		{`,"findings":[` + other + `]}`, `,"findings":[` + vlan + `,` + other + `]}`, ""},
		{`}`, `,"findings":[` + vlan + `,` + other + `]}`, `  findings[0]: absent → {"id":"a2s.trailing","severity":"note","text":"said \"hello\""}`},
		{`,"findings":[` + other + `]}`, `}`, `  findings[0]: {"id":"a2s.trailing","severity":"note","text":"said \"hello\""} → absent`},
		{`}`, `,"findings":"none"}`, `  findings: absent → "none"`},
		{`}`, `,"findings":{}}`, `  findings: absent → {}`},
	} {
		for path, end := range map[string]string{a: c.a, b: c.b} {
			must.Do(t, os.WriteFile(path, []byte(message+end+"\n"), 0o666))
		}
		r, _, err := Diff(a, b, Rules{Conversation: true}, 0, nil)
		want := ""
		if c.want != "" {
			want = "frame 1 a2s info_reply  a > b\n" + c.want + "\n"
		}
		if err != nil || string(r.AppendText(nil, "")) != want {
			t.Errorf("%v\n%swant\n%s", err, r.AppendText(nil, ""), want)
		}
		if r, _, err = Diff(a, b, Rules{Conversation: true, Ignore: ignoring(t, "findings").Ignore}, 0, nil); err != nil || !r.Equal() {
			t.Errorf("ignored: %v, %s", err, r.AppendText(nil, ""))
		}
	}
}
