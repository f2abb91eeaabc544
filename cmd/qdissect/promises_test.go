package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/hexinput"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
)

// TestPromises checks that every test, flag, finding and make target in the pages
// about limits and security exists.
func TestPromises(t *testing.T) {
	root := filepath.Join("..", "..")
	var tests strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			tests.Write(b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	findings := map[string]bool{}
	for _, f := range dissect.CommonFindings() {
		findings[f.ID] = true
	}
	for _, p := range all.Protocols() {
		for _, f := range p.Findings {
			findings[f.ID] = true
		}
	}
	flags := map[string]bool{"help": true}
	program := newRoot(environment{}, nil)
	for _, cmd := range append(program.Commands(), program) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	}

	named := regexp.MustCompile("`(Test|Fuzz)[A-Za-z0-9]*`")
	flagged := regexp.MustCompile("`--([a-z-]+)")
	finding := regexp.MustCompile("`((?:a2s|gs1|ip|limit|malformed|master|q3|state)(?:\\.[a-z0-9_.]+)?)[ `]")
	target := regexp.MustCompile("`make ([a-z-]+)`")
	for _, page := range []string{"SECURITY.md", filepath.Join("docs", "limits.md")} {
		b, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		for _, name := range named.FindAllString(text, -1) {
			if !strings.Contains(tests.String(), "func "+strings.Trim(name, "`")+"(") {
				t.Errorf("%s names %s, which is no test", page, name)
			}
		}
		for _, m := range flagged.FindAllStringSubmatch(text, -1) {
			if !flags[m[1]] {
				t.Errorf("%s names --%s, which is no flag", page, m[1])
			}
		}
		for _, m := range finding.FindAllStringSubmatch(text, -1) {
			if !findings[m[1]] {
				t.Errorf("%s names %s, which is no finding", page, m[1])
			}
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s names make %s", page, m[1])
			}
		}
		if len(named.FindAllString(text, -1)) < 10 {
			t.Errorf("%s names hardly any test", page)
		}
		// A row without a test proves nothing, and fuzzing alone is chance.
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "| ") && !strings.Contains(line, "| test |") && !strings.Contains(line, "checked by") &&
				!strings.Contains(line, "`Test") && !strings.Contains(line, "a test for each row") {
				t.Errorf("%s: nothing checks %q", page, line)
			}
		}
	}
}

// constants reads the constants of packages from their source.
type constants struct {
	t     *testing.T
	known map[string]map[string]int64
}

// of returns a constant of the package in a folder. A constant in a function has the
// name of the function before it. Times are in nanoseconds.
func (c *constants) of(dir, name string) int64 {
	c.t.Helper()
	list := c.known[dir]
	if list == nil {
		list = c.read(dir)
		c.known[dir] = list
	}
	v, ok := list[name]
	if !ok {
		c.t.Errorf("%s has no constant %s", dir, name)
	}
	return v
}

func (c *constants) read(dir string) map[string]int64 {
	c.t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(dir), "*.go"))
	if err != nil || len(files) == 0 {
		c.t.Fatalf("%s: no source (%v)", dir, err)
	}
	list := map[string]int64{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			c.t.Fatal(err)
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, text, 0)
		if err != nil {
			c.t.Fatal(err)
		}
		add := func(prefix string, n ast.Node) {
			ast.Inspect(n, func(n ast.Node) bool {
				if _, inner := n.(*ast.FuncDecl); inner && prefix == "" {
					return false
				}
				spec, ok := n.(*ast.ValueSpec)
				if !ok || len(spec.Values) != len(spec.Names) {
					return true
				}
				for i, name := range spec.Names {
					v := spec.Values[i]
					expr := strings.ReplaceAll(string(text[fset.Position(v.Pos()).Offset:fset.Position(v.End()).Offset]), "time.Second", "1000000000")
					tv, err := types.Eval(token.NewFileSet(), nil, token.NoPos, expr)
					if err != nil || tv.Value == nil || tv.Value.Kind() != constant.Int {
						continue
					}
					if n, exact := constant.Int64Val(tv.Value); exact {
						list[prefix+name.Name] = n
					}
				}
				return true
			})
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				add(fn.Name.Name+".", fn)
			} else {
				add("", d)
			}
		}
	}
	return list
}

// TestLimitNumbers compares all numbers of docs/limits.md with the code. A number in a
// row that it does not know fails.
func TestLimitNumbers(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	c := &constants{t, map[string]map[string]int64{}}
	unit := func(size int64, name string) func(n int64) string {
		return func(n int64) string {
			if n%size != 0 {
				t.Errorf("%d is no number of %s", n, name)
			}
			return fmt.Sprint(n/size, " ", name)
		}
	}
	kib, mib, seconds, bytes := unit(1<<10, "KiB"), unit(1<<20, "MiB"), unit(int64(time.Second), "s"), unit(1, "bytes")
	// Measured numbers and other kinds are given here. The tests in the same row check
	// them.
	said := func(s string) string { return s }
	d, r := dissect.DefaultLimits, reassembly.DefaultLimits
	age := func(d time.Duration) string { return seconds(int64(d)) }

	want := map[string][]any{
		"":             {c.of("internal/pipeline", "shards"), said("21 MiB"), said("8 MiB"), said("64M")}, // outside tables
		"## anonymize": {said("200 MiB")},

		"memory": {said("200 MiB"), said("8M"), said("30 MiB"), said("3 MiB")},

		// The bounds are in TestRates.
		"random bytes on the ports of protocols; on any port":        {said("5"), said("2"), said("5"), said("1")},
		"few different bytes on the ports of protocols; on any port": {said("50"), said("4"), said("41"), said("18"), said("2")},
		"text between backslashes":                                   {said("1000"), said("82")},
		"English; JSON; HTTP":                                        {said("1"), said("0"), said("0"), said("1"), said("0"), said("0")},

		"conversations":                                                      {d.Flows},
		"requests that wait for a reply":                                     {d.Requests},
		"… of one conversation":                                              {c.of("dissect", "maxPerFlow")},
		"clients whose challenges are remembered":                            {d.Peers},
		"ports, and hosts, that are known to answer":                         {d.Peers / 4},
		"clients of masters whose lists are followed, and the pages of each": {d.Peers / 8, c.of("dissect", "pagesKept")},
		"datagrams held until their protocol is decided":                     {c.of("dissect", "maxHeld"), c.of("internal/pipeline", "shards")},
		"servers whose protocol is remembered, where several protocols share a wire format; flows in which a client of another engine connects": {
			c.of("dissect", "maxServers"), c.of("dissect", "maxForeignFlows"), c.of("internal/pipeline", "shards"),
		},
		"servers that replied; clients that got a reply from elsewhere, with the replies of each; clients, and servers, with challenges while no reply is captured; servers that reply from elsewhere": {
			c.of("dissect", "maxHeard"), c.of("dissect", "maxStrays"), c.of("dissect", "straysKept"), c.of("dissect", "maxUsages"), c.of("dissect", "maxUsages"),
			c.of("dissect", "maxDisplacements"), c.of("internal/pipeline", "shards"),
		},
		"what an analyzer tells the others in a second about servers and stray replies": {c.of("dissect", "maxNotices")},
		"endpoints whose unknown datagrams are counted, and servers that answered, for the game traffic in the summary": {
			c.of("internal/pipeline", "places"), c.of("internal/pipeline", "shards"),
		},
		"seconds for which the summary lists evictions": {c.of("report", "maxSeconds"), c.of("dissect", "maxEvictedSeconds"), c.of("internal/pipeline", "shards")},
		"hosts observed to find out whether both directions were captured; pairs of hosts that must send before one direction is reported": {
			1 << c.of("internal/pipeline", "sideBits"), c.of("internal/pipeline", "enoughPairs"),
		},
		"clients; servers; kinds of requests":                              {c.of("internal/stats", "maxClients"), c.of("internal/stats", "maxServers"), c.of("internal/stats", "maxKinds"), c.of("internal/pipeline", "shards")},
		"buckets of the timeline; of that of a server, a client or a kind": {c.of("internal/stats", "maxMoments"), c.of("internal/stats", "maxCells")},
		"addresses and ports to which datagrams come that no protocol recognises; those with a timeline and a count of sources; the busiest sources of one": {
			c.of("internal/stats", "maxStrays"), c.of("internal/stats", "maxFollowed"), c.of("internal/stats", "maxSenders"), c.of("internal/pipeline", "shards"),
		},
		"addresses that a server is asked from, counted exactly": {c.of("internal/stats", "fewHashes")},
		"`why`: servers; kinds of requests and types of findings of each; masters": {
			c.of("internal/stats", "maxTargets"), c.of("internal/stats", "maxOfPort"), c.of("internal/stats", "maxMasters"),
		},
		"`top`: frames in memory, of live captures and pipes; servers and clients listed; conversations; messages of one": {
			mib(int64(keepByDefault) << 20), rowsOfTop, c.of("internal/top", "mostConversations"), c.of("internal/top", "mostLines"),
		},
		"servers with counters of their own in `--metrics`": {20, int64(maxMetricServers)},
		"verdicts remembered and waiting for `--on-verdict`; time that the command has": {
			int64(maxVerdicts), int64(maxQueued), age(verdictTime),
		},
		"conversations of a report; messages of one; bytes of a message and fields that are shown": {
			c.of("internal/talks", "maxList"), c.of("internal/talks", "maxMessages"), c.of("internal/talks", "maxShown"), c.of("internal/talks", "maxFields"),
		},
		"conversations that are kept; their bytes; newest messages to look back at; their bytes, each for 16 analyzers": {
			c.of("internal/pipeline", "shards"), c.of("internal/talks", "maxTalks"), kib(c.of("internal/talks", "allBytes")), c.of("internal/talks", "ringMessages"),
			kib(c.of("internal/talks", "ringBytes")), c.of("internal/talks", "perSecond"),
		},
		"conversations of several units in one report; their bytes":   {c.of("internal/talks", "maxFold"), mib(c.of("internal/talks", "foldBytes"))},
		"an aggregate of a unit, unpacked; units that a report names": {mib(c.of("internal/unitfile", "maxFile")), c.of("internal/unitfile", "maxFiles")},
		"`--counts`: units that are kept; bytes of one; unpacked; clients in it, servers and types of findings": {
			int64(unitfile.Slots), kib(unitfile.SlotBytes), mib(c.of("internal/unitfile", "maxSmall")), c.of("internal/unitfile", "largeTable"),
		},
		"types of findings, examples of each": {c.of("internal/stats", "maxFindings"), c.of("internal/stats", "maxExamples")},

		"time for a reply":            {age(d.Window)},
		"idle time of a conversation": {age(d.Idle)},

		"bytes of parts, bookkeeping counted":                       {mib(reassembly.DefaultBudget)},
		"bytes of IP fragments, bookkeeping counted":                {mib(reassembly.DefaultBudget)},
		"sets of fragments; sets of parts for each of 16 analyzers": {c.of("internal/pipeline", "shards"), r.Sets},
		"pieces of a set":                     {r.Pieces},
		"bytes of a set":                      {mib(int64(r.SetBytes))},
		"age of a set of parts, of fragments": {age(d.Parts.Age), age(r.Age)},
		"fragments in fragments":              {c.of("internal/packet", "maxJoins")},
		"tunnels and VLAN tags of a frame, extension headers of an IPv6 packet": {
			c.of("internal/packet", "maxTunnels"), c.of("internal/packet", "maxVLANs"), c.of("internal/packet", "maxExtensions") - 1, // what follows them counts
		},

		"size of a bzip2 message":             {mib(a2s.MaxUnpacked)},
		"ratio of a bzip2 message over 4 KiB": {kib(c.of("dissect/a2s", "smallest")), c.of("dissect/a2s", "maxRatio")},
		"Quake 3's packed `connect`":          {kib(c.of("dissect/quake3", "maxUnpacked"))},
		"window of a `.zst` file":             {mib(c.of("internal/capture", "maxWindow"))},

		"players, rules and other entries of a message": {dissect.MaxRecords},
		"findings of a message, comments of a packet":   {c.of("dissect", "maxFindings")},
		"anomalies of the headers of a frame":           {c.of("internal/packet", "maxAnomalies")},
		"data sources of a message":                     {c.of("dissect", "maxSources")},
		"groups in a master filter, one in another":     {c.of("dissect/valvemaster", "maxDepth") - 1}, // and those around them
		"columns of a GameSpy table":                    {c.of("dissect/internal/gamespy", "maxColumns")},
		"cached columns whose names come from messages": {c.of("dissect/internal/columns", "maxSeen")},

		"summary in a line of text or JSON":                                                 {bytes(nettext.MaxSummary)},
		"the text of a finding in a line of text":                                           {bytes(nettext.MaxFinding)},
		"a value in `-V` and `-x`":                                                          {bytes(c.of("report", "maxShown"))},
		"comments of `--annotate` for a packet; length of one":                              {c.of("internal/pipeline", "maxNotes"), kib(c.of("internal/pipeline", "maxNote"))},
		"tree of `--annotate=tree` for a packet; a value in it; other frames that it names": {bytes(report.MaxTree), bytes(c.of("report", "maxTreeValue")), c.of("internal/pipeline", "maxOthers")},
		"trees of frames that wait":                                                         {mib(c.of("internal/pipeline", "maxTrees"))},
		"frames that `-w` holds, with `-Y` until it is known whether their messages match, with `--annotate=tree` for what belongs to them; their bytes": {c.of("internal/pipeline", "selectFrames"), mib(c.of("internal/pipeline", "selectBytes")),
			c.of("internal/pipeline", "selectTime") / 1e9, c.of("internal/pipeline", "selectLive") / 1e9, c.of("cmd/qdissect", "extcapHold") / 1e9},
		"findings whose repetitions in a conversation text counts": {c.of("report", "maxFolds"), said("1 MiB")},
		"output that waits to be written":                          {mib(c.of("internal/pipeline", "spill"))},

		"a frame":                                   {kib(capture.MaxFrame)},
		"a block of pcapng that is read":            {kib(c.of("internal/capture", "bufferSize"))},
		"interfaces of a section":                   {c.of("internal/capture", "maxInterfaces")},
		"pasted text; datagrams in it; one of them": {mib(hexinput.MaxInput), hexinput.MaxDatagrams, kib(hexinput.MaxDatagram)},
		"a filter":                                  {kib(c.of("internal/filter", "maxText")), c.of("internal/filter", "maxDepth"), c.of("internal/filter", "maxInstructions")},
		"an expression of `-Y`":                     {kib(c.of("internal/display", "maxText")), c.of("internal/display", "maxDepth")},
		"the kernel's buffer for an interface":      {mib(capture.DefaultRing), 1, mib(c.of("cmd/qdissect", "maxBuffer") << 20)},
		"frames of an interface that wait for frames of the other interfaces": {
			c.of("internal/capture", "parcels"), c.of("internal/capture", "parcelFrames"), kib(c.of("internal/capture", "parcelBytes")),
		},

		"what `diff` keeps of each of its inputs, and `check` of messages without a counterpart, bookkeeping counted": {mib(c.of("internal/golden", "maxHeld"))},
		"an object of a golden": {mib(c.of("internal/jsonl", "maxObject")), c.of("internal/jsonl", "maxDepth")},
		"pairs of elements of two lists that are compared each with each": {c.of("internal/golden", "maxAligned"), math.Sqrt(float64(c.of("internal/golden", "maxAligned")))},
		"messages of a conversation, and conversations of a protocol, that `diff` compares each with each": {
			c.of("internal/golden", "pairs.most"), c.of("internal/golden", "mostAlike"), c.of("internal/golden", "mostAlike"),
		},
		"`.qdissect.toml`": {mib(c.of("internal/golden", "maxConfig"))},

		"memory for a capture": {
			mib(c.of("internal/serve", "maxBytes")), c.of("internal/serve", "maxFrames"), c.of("internal/serve", "maxEvents"), c.of("internal/serve", "maxServers"),
		},
		"servers at once": {c.of("cmd/qdissect", "maxSockets")},
		"answers to equivalent requests; datagrams of one answer": {c.of("internal/serve", "maxExchanges"), c.of("internal/serve", "maxReply")},
		"exchanges of a server that no protocol recognises":       {c.of("internal/serve", "maxRaws")},
		"datagrams of a server that wait to be sent":              {c.of("internal/serve/host", "maxPending"), c.of("internal/serve/host", "maxPending")},

		"frames that wait for the rest of their message, bookkeeping counted": {mib(c.of("internal/anonymize", "maxWaiting")), seconds(c.of("internal/anonymize", "maxWait"))},
		"datagrams remembered for later copies; IP packets remembered for late fragments": {
			c.of("internal/anonymize", "maxTwins"), mib(c.of("internal/anonymize", "maxTwinBytes")),
		},
		"addresses, and texts up to 128 bytes, whose replacement is cached": {bytes(c.of("internal/anonymize", "maxText")), c.of("internal/anonymize", "maxKnown")},
		"hardware addresses, permutations of octets and as many of digits, and keys of settings that are cached": {
			c.of("internal/anonymize", "maxMACs"), c.of("internal/anonymize", "maxTables"), c.of("internal/anonymize", "maxKinds"),
		},
		"addresses that are counted": {c.of("internal/anonymize", "maxAddresses")},
		"values that are looked for in the copy: at their places; long ones everywhere, in all writings": {
			c.of("internal/anonymize", "maxPlaces"), c.of("internal/anonymize", "maxWords"), bytes(c.of("internal/anonymize", "maxWord")),
		},

		"a finding about an incomplete set; a message that needs more of its conversation": {said("200 bytes")},
		"a message of the capture, with its comment":                                       {said("200 bytes"), bytes(c.of("internal/cut", "maxNote"))},
	}
	// Where a number stands for two constants.
	for _, pair := range [][2]int64{
		{c.of("internal/anonymize", "maxKnown"), c.of("internal/anonymize", "maxTexts")}, {c.of("internal/filter", "maxInstructions"), c.of("internal/capture", "maxProgram")},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%d and %d should be the same", pair[0], pair[1])
		}
	}

	code := regexp.MustCompile("`[^`]*`")
	word := regexp.MustCompile(`bzip2|IPv6|GameSpy 1|Quake 3|exit status 2`)
	number := regexp.MustCompile(`\d+(?:\.\d+)?(?:[kMG]\b| (?:KiB|MiB|bytes|s)\b)?`)
	numbers := func(line string) (list []string) {
		return number.FindAllString(word.ReplaceAllString(code.ReplaceAllString(line, ""), ""), -1)
	}
	got := map[string][]string{}
	section := ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		switch cells := strings.Split(line, " | "); {
		case strings.HasPrefix(line, "#"):
			section = ""
			if line == "## anonymize" {
				section = line
			}
		case len(cells) > 2:
			row := strings.TrimPrefix(cells[0], "| ")
			if _, twice := got[row]; twice && len(numbers(line)) > 0 {
				t.Errorf("two rows are called %q", row)
			}
			got[row] = append(got[row], numbers(line)...)
		default:
			got[section] = append(got[section], numbers(line)...)
		}
	}
	for row, list := range got {
		var numbers []string
		for _, n := range want[row] {
			numbers = append(numbers, fmt.Sprint(n))
		}
		if !slices.Equal(list, numbers) {
			t.Errorf("%q: %q, and the code says %q", row, list, numbers)
		}
	}
	for row := range want {
		if _, ok := got[row]; !ok {
			t.Errorf("there is no row %q", row)
		}
	}
}
