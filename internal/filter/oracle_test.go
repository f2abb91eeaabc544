package filter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

// errRejectsAll is the message of tcpdump for a filter that rejects all packets.
var errRejectsAll = errors.New("expression rejects all packets")

// tcpdump runs tcpdump and returns its output.
func tcpdump(path string, args ...string) ([]byte, error) {
	cmd := exec.Command(path, args...)
	var out, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &trouble
	if err := cmd.Run(); err != nil {
		if strings.Contains(trouble.String(), errRejectsAll.Error()) {
			return nil, errRejectsAll
		}
		return nil, fmt.Errorf("%w: %s", err, trouble.String())
	}
	return out.Bytes(), nil
}

// times returns the times of the frames in a pcap file, which are their indexes.
func times(file []byte) (list []int) {
	for b := file[24:]; len(b) > 0; {
		list = append(list, int(binary.LittleEndian.Uint32(b)))
		b = b[16+binary.LittleEndian.Uint32(b[8:]):]
	}
	return list
}

// ways returns both ways to run a filter: in our machine, and in that of
// x/net/bpf, which does not know lengths on the wire.
func ways(t *testing.T, f *Filter, link uint16, o Options) map[string]func([]byte, int) bool {
	t.Helper()
	match, p := must.Get(f.Matcher(link, o))(t), must.Get(f.Compile(link, o))(t)
	vm := must.Get(bpf.NewVM(p.Instructions()))(t)
	return map[string]func([]byte, int) bool{
		"machine": match,
		"x/net": func(data []byte, wire int) bool {
			if wire != len(data) {
				return match(data, wire)
			}
			n := must.Get(vm.Run(data))(t)
			return n != 0
		},
	}
}

var full = flag.Bool("full", false, "ask tcpdump about everything, which takes minutes")

var update = flag.Bool("update", false, "write what tcpdump answers to testdata")

// An oracle compares with tcpdump on one capture.
type oracle struct {
	*capture
	*answers
	path, file string
	sum        uint32 // of the file
}

// answers are those of tcpdump in one test, as they stand in testdata: to start it takes longer than all else that the tests do.
// Tests of everything ask it, and compare with testdata.
type answers struct {
	sync.Mutex
	ask bool
	to  map[string]string // question: the frames that tcpdump finds, or that it refuses
}

func oracles(t *testing.T) (list []*oracle) {
	t.Helper()
	a := &answers{ask: *full || *update || must.TryAll(), to: map[string]string{}}
	path, err := exec.LookPath("tcpdump")
	if err != nil && a.ask {
		t.Skip("tcpdump is not installed, which knows what filters mean")
	}
	recorded := filepath.Join("testdata", t.Name()+".txt")
	if *update {
		t.Cleanup(func() {
			var b []byte
			for _, question := range slices.Sorted(maps.Keys(a.to)) {
				b = fmt.Appendf(b, "%s\t%s\n", question, a.to[question])
			}
			must.Do(t, os.WriteFile(recorded, b, 0o666))
		})
	} else {
		for line := range strings.Lines(string(must.Get(os.ReadFile(recorded))(t))) {
			question, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			a.to[question] = answer
		}
	}
	dir := t.TempDir()
	for _, c := range captures() {
		file, b := filepath.Join(dir, c.name+".pcap"), c.pcap()
		must.Do(t, os.WriteFile(file, b, 0o600))
		list = append(list, &oracle{c, a, path, file, crc32.ChecksumIEEE(b)})
	}
	return list
}

const refuses = "refuses"

// answer returns the recorded answer to a question, or asks.
func (o *oracle) answer(t *testing.T, flags, e string, ask func(flags, e string) ([]bool, error)) ([]bool, error) {
	t.Helper()
	question := fmt.Sprintf("%s %08x -%s %q", o.name, o.sum, flags, e)
	if o.ask {
		found, err := ask(flags, e)
		now := fmt.Sprint(indexes(found))
		if err != nil {
			now = refuses
		}
		o.Lock()
		defer o.Unlock()
		if was, ok := o.to[question]; ok && was != now {
			t.Errorf("%s: tcpdump says %s, testdata %s", question, now, was)
		}
		o.to[question] = now
		return found, err
	}
	answer, ok := o.to[question]
	switch {
	case answer == refuses:
		return nil, errors.New(answer)
	case !ok && flags != "": // it was not asked, because we found the same
		return o.answer(t, "", e, ask)
	case !ok:
		t.Fatalf("testdata has no answer of tcpdump to %s: run the test with -update where it is installed", question)
	}
	found := make([]bool, len(o.frames))
	for _, i := range strings.Fields(strings.Trim(answer, "[]")) {
		found[must.Get(strconv.Atoi(i))(t)] = true
	}
	return found, nil
}

func indexes(found []bool) (list []int) {
	for i, yes := range found {
		if yes {
			list = append(list, i)
		}
	}
	return list
}

// read filters the capture with tcpdump. compile lets tcpdump only compile the
// expression. Flags are flags of tcpdump, one letter each.
func (o *oracle) read(flags, e string) ([]bool, error) {
	out, err := tcpdump(o.path, "-"+flags+"r", o.file, "-w", "-", "--", e)
	found := make([]bool, len(o.frames))
	switch {
	case err == errRejectsAll:
		return found, nil
	case err != nil:
		return nil, err
	}
	for _, i := range times(out) {
		found[i] = true
	}
	return found, nil
}

func (o *oracle) compile(flags, e string) ([]bool, error) {
	out, err := tcpdump(o.path, "-"+flags+"dddr", o.file, "--", e)
	found := make([]bool, len(o.frames))
	switch {
	case err == errRejectsAll:
		return found, nil
	case err != nil:
		return nil, err
	}
	var p Program
	_, rest, _ := bytes.Cut(out, []byte("\n")) // the number of instructions
	for line := range bytes.Lines(rest) {
		var in bpf.RawInstruction
		if _, err := fmt.Sscan(string(line), &in.Op, &in.Jt, &in.Jf, &in.K); err != nil {
			return nil, err
		}
		p = append(p, in)
	}
	for i, f := range o.frames {
		found[i] = p.matches(f.data, f.length)
	}
	return found, nil
}

// A tally counts results.
type tally struct {
	asked, refused int
	agreed         int // verdicts
	short          int // differences on frames that are too short
	wrong          int // errors of the optimizer of libpcap
}

// check compares the frames that tcpdump finds with ours, in all ways.
//
// If a frame lacks tested bytes, the result depends on what an optimizer removes, so
// tcpdump and we may differ. The optimizer of libpcap also has bugs. For the random
// expressions, the result of tcpdump without it counts as correct, too.
func (o *oracle) check(t *testing.T, e string, ask func(flags, e string) ([]bool, error), n *tally) {
	t.Helper()
	exact := Options{Exact: true}
	f, ours := Parse(e)
	var c *condition
	if ours == nil {
		c, ours = f.compile(o.link, exact)
	}
	n.asked++
	want, refusal := o.answer(t, "", e, ask)
	switch {
	case refusal != nil:
		n.refused++
		if ours == nil && !extension(e, o.link) {
			t.Errorf("%s: tcpdump refuses: %v", e, refusal)
		}
		return
	case ours != nil:
		t.Errorf("%s: we refuse: %v", e, ours)
		return
	}
	var plain []bool
	ways := ways(t, f, o.link, exact)
	for i, fr := range o.frames {
		for name, match := range ways {
			got := match(fr.data, fr.length)
			if got == want[i] {
				n.agreed++
				continue
			}
			if _, ok := evaluate(c, fr.data, fr.length); !ok {
				n.short++
				continue
			}
			if plain == nil {
				plain = must.Get(o.answer(t, "O", e, ask))(t)
			}
			if got == plain[i] {
				n.wrong++
				continue
			}
			t.Errorf("%s: %s: frame %d of %s, %s: %v, tcpdump %v", e, name, i, o.name, fr.name, got, want[i])
		}
	}
}

func (n *tally) log(t *testing.T, o *oracle) {
	t.Helper()
	t.Logf("%d expressions, %d of them refused, about %d frames: %d verdicts agree; %d do not about frames too short, %d because tcpdump's optimizer is wrong",
		n.asked, n.refused, len(o.frames), n.agreed, n.short, n.wrong)
}

// evaluate evaluates a condition naively. It reports false if the frame lacks tested
// bytes.
func evaluate(c *condition, data []byte, wire int) (yes, ok bool) {
	switch c.kind {
	case conditionTest:
		return c.test.holds(data, wire)
	case conditionNot:
		yes, ok = evaluate(c.parts[0], data, wire)
		return !yes, ok
	case conditionAll, conditionAny:
		for _, p := range c.parts {
			if yes, ok = evaluate(p, data, wire); !ok || yes == (c.kind == conditionAny) {
				return yes, ok
			}
		}
		return c.kind == conditionAll, true
	}
	return c.kind == conditionAlways, true
}

// TestOracle compares with tcpdump.
func TestOracle(t *testing.T) {
	for n, o := range oracles(t) {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			var sum tally
			for i, e := range oracleExpressions {
				if few := must.Try(6, 1); !*full && ((i+n)%few != 0 || n > 0 && (i+n)%(6*few) != 0) {
					continue // test more expressions on Ethernet
				}
				o.check(t, e, o.read, &sum)
			}
			if sum.wrong > 0 {
				t.Errorf("tcpdump's optimizer is wrong about %d frames, with expressions that people use", sum.wrong)
			}
			sum.log(t, o)
		})
	}
}

// extension reports whether we accept an expression that tcpdump refuses: tags after cooked
// headers.
func extension(e string, link uint16) bool {
	return linkOf(link).family == familyCooked && strings.Contains(e, "vlan")
}

// holds evaluates a test. It reports false if the frame lacks the tested bytes.
func (t *test) holds(data []byte, wire int) (yes, ok bool) {
	x, ok := t.x.of(data, wire)
	if !ok {
		return false, false
	}
	return t.cmp.holds(x&t.mask, t.n), true
}

// A generator generates expressions that are likely to match something.
type generator struct {
	*rand.Rand
	link uint16
}

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

// maybe returns one of the words and a space, or nothing.
func (g *generator) maybe(words ...string) string {
	if g.IntN(2) == 0 {
		return ""
	}
	return g.pick(words...) + " "
}

func (g *generator) expression(depth int) string {
	var b strings.Builder
	b.WriteString(g.operand(depth))
	for range g.IntN(4) {
		b.WriteString(g.pick(" and ", " or ", " && ", " || ", " and ", " or "))
		b.WriteString(g.operand(depth))
	}
	return b.String()
}

func (g *generator) operand(depth int) string {
	switch n := g.IntN(12); {
	case n == 0:
		return g.pick("not ", "! ", "not ") + g.operand(depth)
	case n < 3 && depth > 0:
		return "(" + g.expression(depth-1) + ")"
	}
	return g.primitive()
}

var (
	someHosts  = []string{"192.0.2.1", "192.0.2.200", "198.51.100.7", "239.1.2.3", "203.0.113.9"}
	someHosts6 = []string{"2001:db8::1", "2001:db8:0:1::200", "ff02::1", "::1"}
	someNets   = []string{"192.0.2.0/24", "192.0.2.128/25", "192", "198.51.0.0/16", "0.0.0.0/0", "224.0.0.0/4"}
	someNets6  = []string{"2001:db8::/32", "2001:db8:0:1::/64", "ff00::/8", "::/0", "2001:db8::/97"}
	somePorts  = []string{"27015", "53", "80", "50000", "50001", "0x6987", "443", "1"}
	someRanges = []string{"27000-27050", "1-1024", "50000-50001", "27015-53", "80"}
)

// list returns an id, or several that inherit qualifiers.
func (g *generator) list(ids []string) string {
	switch g.IntN(6) {
	case 0:
		return g.pick(ids...) + g.pick(" or ", " and ") + g.pick(ids...)
	case 1:
		return "(" + g.pick(ids...) + g.pick(" or ", " and ") + g.pick(ids...) + ")"
	case 2:
		return g.pick(ids...) + g.pick(" or not ", " and not ") + g.pick(ids...)
	}
	return g.pick(ids...)
}

func (g *generator) primitive() string {
	directions := []string{"src", "dst", "src or dst", "src and dst"}
	for {
		switch g.IntN(15) {
		case 0:
			return g.pick("ip", "ip6", "tcp", "udp", "sctp", "icmp", "icmp6")
		case 1:
			return "arp"
		case 2:
			return g.maybe(directions...) + "host " + g.list(someHosts)
		case 3:
			return g.maybe(directions...) + "host " + g.list(someHosts6)
		case 4:
			return g.maybe(directions...) + "net " + g.list(someNets)
		case 5:
			return g.maybe(directions...) + "net " + g.list(someNets6)
		case 6, 7, 8:
			return g.maybe("udp", "tcp", "udp", "sctp") + g.maybe(directions...) + "port " + g.list(somePorts)
		case 9:
			return g.maybe("udp", "tcp", "sctp") + g.maybe(directions...) + "portrange " + g.list(someRanges)
		case 11:
			return g.pick("less ", "greater ") + g.pick("60", "70", "100", "46")
		case 12, 13:
			return g.relation()
		case 14:
			if g.link == linkEthernet {
				return g.pick("vlan", "vlan", "vlan 5", "vlan and vlan", "vlan 100 and vlan 6")
			}
		}
	}
}

// relation returns a comparison of bytes.
func (g *generator) relation() string {
	right := g.pick("0", "1", "17", "20", "53", "64", "0x45", "255", "27015", "0x1fff", "0xffffffff")
	left := g.pick("ip", "ip", "ip6", "udp", "udp", "tcp", "icmp") + "[" + fmt.Sprint(g.IntN(25)) + g.pick("", ":1", ":2", ":4") + "]"
	if g.IntN(3) == 0 {
		left += " & " + g.pick("1", "7", "0xf", "0xf0", "0x1fff")
	}
	return left + " " + g.pick("=", "==", "!=", "<", ">", "<=", ">=") + " " + right
}

// TestOracleRandom compares random expressions with tcpdump.
func TestOracleRandom(t *testing.T) {
	count := nettext.Either(*full, 3000, must.Try(25, 150))
	for _, o := range oracles(t) {
		switch o.link {
		case linkEthernet, linkCooked, linkRaw:
		default:
			continue
		}
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			g := &generator{Rand: rand.New(rand.NewPCG(27015, uint64(o.link))), link: o.link}
			var sum tally
			for range count {
				o.check(t, g.expression(2), o.compile, &sum)
			}
			sum.log(t, o)
		})
	}
}

// FuzzParse checks that a text is parsed or refused with a valid place, and that a
// filter gives the same result as its condition, for files and as a program.
func FuzzParse(f *testing.F) {
	for _, e := range oracleExpressions {
		f.Add(e)
	}
	for _, e := range []string{"udp prot 53", "port", "(((udp", "net 192.0.2.1/24", "host 1:2:3", "ip[1:2", "\xff\n", "vlan 9999"} {
		f.Add(e)
	}
	frames := captures()[0].frames
	f.Fuzz(func(t *testing.T, e string) {
		filter, err := Parse(e)
		if err != nil {
			checkPlace(t, e, err.(*Error))
			return
		}
		for _, l := range links {
			if _, err := filter.compile(l.number, Options{Live: true}); err != nil {
				checkPlace(t, e, err.(*Error))
			}
			for _, o := range []Options{{Exact: true}, {}} {
				c, err := filter.compile(l.number, o)
				if err != nil {
					checkPlace(t, e, err.(*Error))
					continue
				}
				match, p := must.Get(filter.Matcher(l.number, o))(t), must.Get(filter.program(l.number, o))(t)
				for i := range frames {
					fr := &frames[i*7%len(frames)]
					if i > 40 {
						break
					}
					got := match(fr.data, fr.length)
					if yes, ok := evaluate(c, fr.data, fr.length); ok && yes != got {
						t.Fatalf("%s: the condition is %v, the graph says %v", fr.name, yes, got)
					}
					if program := p.matches(fr.data, fr.length); program != got {
						t.Fatalf("%s: the program says %v, the graph %v", fr.name, program, got)
					}
				}
			}
		}
	})
}

func checkPlace(t *testing.T, e string, err *Error) {
	t.Helper()
	if err.Expression != e || err.Offset < 0 || err.Length < 1 || err.Offset+err.Length > len(e) {
		t.Fatalf("%q: the place is %d, %d", err.Text, err.Offset, err.Length)
	}
	if lines := strings.Split(err.Show(), "\n"); len(lines) != 2 || !strings.HasSuffix(lines[1], "^") {
		t.Fatalf("%q", err.Show())
	}
	if err.Text == "" {
		t.Fatal("nothing is said")
	}
}
