package golden

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Diff compares two captures, saved JSON outputs, or one of each, as conversations: the
// messages that were exchanged and their contents. It stores at most limit differences,
// [DefaultMax] if limit is 0. The name "-" means stdin.
//
// trouble are the reasons why captures could not be read to their end.
func Diff(a, b string, rules Rules, limit int, stdin io.Reader) (r *Result, trouble []error, err error) {
	if !rules.Conversation {
		// Ignore the file names.
		file, _ := ParsePattern("file")
		rules.Ignore = append(slices.Clone(rules.Ignore), file)
	}
	d := newDiffer(rules, limit)
	var inputs [2]*input
	for i, name := range [...]string{a, b} {
		in, err := d.load(name, stdin)
		if err != nil {
			return nil, trouble, err
		}
		if in.trouble != nil {
			trouble = append(trouble, in.trouble)
		}
		inputs[i] = in
	}
	d.diff(inputs[0], inputs[1])
	return &d.result, trouble, nil
}

// A differ compares lists of objects.
type differ struct {
	comparer
	result Result
}

func newDiffer(rules Rules, limit int) differ {
	d := differ{comparer: comparer{rules: &rules}, result: Result{limit: cmp.Or(max(limit, 0), DefaultMax)}}
	d.begin()
	return d
}

// begin starts a new conversation.
func (d *differ) begin() {
	if d.rules.Conversation {
		d.talk = &talk{to: make(map[string]string), from: make(map[string]string), frames: make(map[uint64]uint64)}
	}
}

// An input is the content of one side.
type input struct {
	name          string
	conversations []*conversation
	byEnds        map[ends]*conversation
	others        []item // captures and summaries
	captures      int
	held          int // bytes
	trouble       error
}

// ends are the two ends of a conversation, the smaller one first.
type ends struct {
	capture  int
	one, two string
}

// A conversation is all objects between two ends.
type conversation struct {
	protocol string
	messages []item
	findings []item
	// said and found are hashes of messages and findings.
	said, found uint64
	traits      []uint64 // the smallest traits of its messages
}

// maxHeld limits the memory for the messages of an input.
const maxHeld = 256 << 20

// take adds an object.
func (in *input) take(d *differ, raw []byte, line int) error {
	s := &d.a
	if err := d.parse(s, raw); err != nil {
		return fmt.Errorf("%s: line %d: %w", in.name, line, err)
	}
	switch s.kind {
	case "capture":
		in.captures++
	case "finding":
		if d.talk != nil && packetFinding(s.FindingID()) {
			return nil
		}
	}
	it := d.digest(s, slices.Clone(raw), line)
	if in.held += it.size(); in.held > maxHeld {
		return fmt.Errorf("%s: more than %d MiB of messages, more than can be compared at once", in.name, maxHeld>>20)
	}
	if s.kind != "message" && s.kind != "finding" {
		in.others = append(in.others, it)
		return nil
	}
	e := ends{in.captures, s.End("src"), s.End("dst")}
	if e.one > e.two {
		e.one, e.two = e.two, e.one
	}
	c := in.byEnds[e]
	if c == nil {
		c = &conversation{protocol: unknown}
		in.byEnds[e] = c
		in.conversations = append(in.conversations, c)
	}
	if p := s.Str(0, "protocol"); c.protocol == unknown && p != "" {
		c.protocol = p
	}
	if s.kind == "finding" {
		c.findings = append(c.findings, it)
		c.found += it.hash // order does not count: it depends on the time
	} else {
		c.messages = append(c.messages, it)
		c.said = c.said*fnvPrime + it.hash
	}
	return nil
}

const unknown = "unknown"

// maxTraits is the number of traits kept per conversation: the smallest ones, which
// similar conversations share (a MinHash).
const maxTraits = 256

// sketch computes the traits of a conversation.
func (c *conversation) sketch() {
	for _, list := range [...][]item{c.messages, c.findings} {
		for i := range list {
			c.traits = append(c.traits, list[i].traits...)
		}
	}
	slices.Sort(c.traits)
	c.traits = slices.Compact(c.traits)
	c.traits = slices.Clone(c.traits[:min(len(c.traits), maxTraits)])
}

// load reads an input: JSON if it begins like JSON, otherwise a capture.
func (d *differ) load(name string, stdin io.Reader) (*input, error) {
	in := &input{name: name, byEnds: make(map[ends]*conversation)}
	src := stdin
	if name == "-" {
		in.name = "standard input"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		src = f
		// A FIFO can be read only once.
		if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
			name = "-"
		}
	}
	head := bufio.NewReaderSize(src, 64<<10)
	saved, err := unpack(head)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.name, err)
	}
	if saved != nil {
		defer saved.Close()
		return in, d.objects(in, jsonl.NewReader(saved))
	}
	dissection, err := write(&taker{d: d, in: in}, name, head, func(*Dissection) {})
	if in.trouble = dissection.trouble(); err == nil && in.captures == 0 {
		err = in.trouble
	}
	return in, err
}

// unpack returns a reader of the decompressed JSON in a file, nil if the file is not JSON.
func unpack(head *bufio.Reader) (saved io.ReadCloser, err error) {
	if _, err := head.Peek(4); err != nil && err != io.EOF {
		return nil, err
	}
	// Decompress only the buffered beginning: a capture is read again from its start.
	peeked, _ := head.Peek(head.Size())
	z, _, err := capture.Unpack(bytes.NewReader(peeked))
	if err != nil {
		return nil, nil // the capture reader reports the error
	}
	b := make([]byte, 1<<10)
	n, _ := io.ReadFull(z, b)
	z.Close()
	if b = bytes.TrimLeft(b[:n], " \t\r\n"); len(b) == 0 || b[0] != '{' && b[0] != '[' {
		return nil, nil
	}
	saved, _, err = capture.Unpack(head)
	return saved, err
}

// objects adds all objects of a reader to an input.
func (d *differ) objects(in *input, o *jsonl.Reader) error {
	for {
		raw, line, err := o.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
		if err := in.take(d, raw, line); err != nil {
			return err
		}
	}
}

// A taker adds the output of a dissection to an input.
type taker struct {
	d    *differ
	in   *input
	line int
}

func (t *taker) Write(b []byte) (int, error) {
	if err := t.d.objects(t.in, jsonl.NewBytes(b, t.line+1)); err != nil {
		return 0, err
	}
	t.line += bytes.Count(b, []byte("\n"))
	return len(b), nil
}

// diff compares the conversations of two inputs.
func (d *differ) diff(a, b *input) {
	partner := match(a.conversations, b.conversations)
	if d.talk == nil {
		d.lists(a.others, b.others)
	}
	for _, c := range a.conversations {
		if other := partner[c]; other != nil {
			d.conversations(c, other)
		} else {
			d.lonely(Missing, c)
		}
	}
	for _, c := range b.conversations {
		if partner[c] == nil {
			d.lonely(New, c)
		}
	}
}

// lonely reports a conversation without a counterpart.
func (d *differ) lonely(k Kind, c *conversation) {
	all := append(slices.Clone(c.messages), c.findings...)
	d.alone(k, &all[0], len(all)-1)
}

// alone reports an object without a counterpart, and more others of its conversation.
func (d *differ) alone(k Kind, it *item, more int) {
	d.again(&d.a, it)
	diff := Difference{Kind: k, More: more, place: it.place}
	*diff.Message() = Message{it.line, d.a.Head()}
	d.result.add(&diff)
}

// again parses an object that was parsed before.
func (d *differ) again(s *side, it *item) {
	if err := d.parse(s, it.raw); err != nil {
		panic("golden: an object cannot be read twice: " + err.Error())
	}
}

// pair compares two matching objects.
func (d *differ) pair(a, b *item) {
	if !d.rules.Relative && bytes.Equal(a.raw, b.raw) {
		return
	}
	d.again(&d.a, a)
	d.again(&d.b, b)
	if fields := d.compare(); len(fields) > 0 {
		place := nettext.Either(d.a.kind == "summary", math.MaxInt, a.line)
		d.result.add(&Difference{Want: Message{a.line, d.a.Head()}, Got: Message{b.line, d.b.Head()}, Fields: slices.Clone(fields), place: place})
	}
}

// conversations compares two matching conversations.
func (d *differ) conversations(a, b *conversation) {
	d.begin()
	pairs := d.pairs(a.messages, b.messages)
	for _, p := range pairs {
		if d.talk != nil && p.a >= 0 && p.b >= 0 {
			d.talk.frames[a.messages[p.a].frame] = b.messages[p.b].frame
		}
	}
	d.compareAll(a.messages, b.messages, pairs)
	d.lists(a.findings, b.findings)
}

// lists aligns and compares two lists of objects.
func (d *differ) lists(as, bs []item) { d.compareAll(as, bs, d.pairs(as, bs)) }

func (d *differ) compareAll(as, bs []item, pairs []pair) {
	for _, p := range pairs {
		switch {
		case p.b < 0:
			d.alone(Missing, &as[p.a], 0)
		case p.a < 0:
			d.alone(New, &bs[p.b], 0)
		default:
			d.pair(&as[p.a], &bs[p.b])
		}
	}
}

// pairs aligns two lists, in windows if they are long.
func (d *differ) pairs(as, bs []item) (all []pair) {
	const most = 1024
	for a, b := 0, 0; a < len(as) || b < len(bs); {
		x, y := as[a:min(a+most, len(as))], bs[b:min(b+most, len(bs))]
		pairs := align(len(x), len(y), func(i, j int) int { return like(&x[i], &y[j]) })
		if a+len(x) < len(as) || b+len(y) < len(bs) {
			pairs = settled(x, y, pairs)
		}
		i, j := a, b
		for _, p := range pairs {
			if p.a >= 0 {
				p.a += i
				a++
			}
			if p.b >= 0 {
				p.b += j
				b++
			}
			all = append(all, p)
		}
	}
	return all
}

// settled returns the pairs of a window that are final if more windows follow: up to the
// last two equal objects, because later ones may match objects of the next window; but at
// least half of all pairs, so that the loop ends.
func settled(as, bs []item, pairs []pair) []pair {
	for i := len(pairs) - 1; i > len(pairs)/2; i-- {
		if p := pairs[i]; p.a >= 0 && p.b >= 0 && as[p.a].hash == bs[p.b].hash {
			return pairs[:i+1]
		}
	}
	return pairs[:(len(pairs)+1)/2]
}

// match returns the partner of each conversation of two inputs that has one. They must have the same protocol.
// Conversations with equal content match first, then the most similar ones; among equally
// similar ones, those nearest in order.
func match(as, bs []*conversation) map[*conversation]*conversation {
	partner := make(map[*conversation]*conversation)
	type key struct {
		protocol    string
		said, found uint64
	}
	waiting := make(map[key][]*conversation)
	for _, c := range bs {
		k := key{c.protocol, c.said, c.found}
		waiting[k] = append(waiting[k], c)
	}
	restA, restB := make(map[string][]*conversation), make(map[string][]*conversation) // by protocol
	for _, c := range as {
		k := key{c.protocol, c.said, c.found}
		if w := waiting[k]; len(w) > 0 {
			partner[c], partner[w[0]], waiting[k] = w[0], c, w[1:]
		} else {
			restA[c.protocol] = append(restA[c.protocol], c)
		}
	}
	for _, c := range bs {
		if partner[c] == nil {
			restB[c.protocol] = append(restB[c.protocol], c)
		}
	}
	for protocol, rest := range restA {
		matchAlike(rest, restB[protocol], partner)
	}
	return partner
}

// mostAlike limits the conversations of one protocol that are compared with each other at
// once.
const mostAlike = 1024

func matchAlike(as, bs []*conversation, partner map[*conversation]*conversation) {
	for len(as) > 0 && len(bs) > 0 {
		x, y := as[:min(len(as), mostAlike)], bs[:min(len(bs), mostAlike)]
		as, bs = as[len(x):], bs[len(y):]
		type candidate struct{ a, b, score, distance int }
		var list []candidate
		for _, c := range x {
			c.sketch()
		}
		for j, c := range y {
			c.sketch()
			for i := range x {
				if s := similarity(x[i].traits, c.traits); s > 0 {
					list = append(list, candidate{i, j, s, max(i-j, j-i)})
				}
			}
		}
		slices.SortFunc(list, func(a, b candidate) int {
			return cmp.Or(b.score-a.score, a.distance-b.distance, a.a-b.a, a.b-b.b)
		})
		for _, c := range list {
			if a, b := x[c.a], y[c.b]; partner[a] == nil && partner[b] == nil {
				partner[a], partner[b] = b, a
			}
		}
	}
}
