package golden

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// DiffOptions say how two inputs are compared.
type DiffOptions struct {
	Rules
	// Strict takes addresses, ports, numbers that were chosen, times, and
	// wording as they are.
	Strict bool
	// Max is how many differences are kept, [DefaultMax] if it is 0.
	Max int
	// Stdin is what the name "-" stands for.
	Stdin io.Reader
}

// Diff compares two captures, or two outputs that were saved as JSON, or one of
// each, as conversations: which messages were exchanged, and what they say. It
// makes no difference in which order conversations began; from which addresses
// and ports they were led; when; and which challenges, session ids and ids of
// split messages the sides chose, if each is used as the other one is.
//
// trouble is why captures could not be read to their end.
func Diff(a, b string, o DiffOptions) (r *Result, trouble []error, err error) {
	rules := o.Rules
	if o.Strict {
		rules.Wording = true
		rules.Ignore = append(slices.Clone(rules.Ignore), Pattern{"file", []step{{[]byte("file"), noIndex}}})
	}
	d := &differ{strict: o.Strict, result: Result{limit: o.Max}}
	d.rules = &rules
	if o.Max <= 0 {
		d.result.limit = DefaultMax
	}
	d.talk = d.newTalk()
	var inputs [2]*input
	for i, name := range [...]string{a, b} {
		in, err := d.load(name, o.Stdin)
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

// differ compares two inputs.
type differ struct {
	comparer
	strict bool
	result Result
	al     aligner
}

func (d *differ) newTalk() *talk {
	if d.strict {
		return nil
	}
	return newTalk()
}

// An input is what was read of one side.
type input struct {
	name          string
	conversations []*conversation
	byEnds        map[ends]*conversation
	others        []item // captures and summaries
	captures      int
	held          int // bytes
	trouble       error
}

// ends are the two ends of a conversation, the lesser one first.
type ends struct {
	capture  int
	one, two string
}

// A conversation is all that was said between two ends.
type conversation struct {
	protocol string
	messages []item
	findings []item
	// said and found are hashes of the two.
	said, found uint64
	traits      []uint64 // the least of those of its messages
	place       int      // among those of its protocol that have no counterpart yet
}

// maxHeld bounds the messages that are kept of an input.
const maxHeld = 256 << 20

// take takes an object.
func (in *input) take(d *differ, raw []byte, line int) error {
	s := &d.a
	if err := s.parse(raw, !d.strict); err != nil {
		return fmt.Errorf("%s: line %d: %w", in.name, line, err)
	}
	switch s.kind {
	case "capture":
		in.captures++
	case "finding":
		if !d.strict && packetFinding(s.Str(0, "id")) {
			return nil
		}
	}
	if in.held += len(raw) + 256; in.held > maxHeld {
		return fmt.Errorf("%s: more than %d MiB of messages, more than can be compared at once", in.name, maxHeld>>20)
	}
	it := d.digest(s, slices.Clone(raw), line)
	if s.kind != "message" && s.kind != "finding" {
		in.others = append(in.others, it)
		return nil
	}
	e := ends{in.captures, s.Str(0, "src"), s.Str(0, "dst")}
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
		c.found += it.hash // wherever they come: that depends on the time
	} else {
		c.messages = append(c.messages, it)
		c.said = c.said*fnvPrime + it.hash
	}
	return nil
}

const unknown = "unknown"

// maxTraits is how many traits of a conversation are kept: the least of them,
// which for two conversations that are alike are the same.
const maxTraits = 256

// sketch gathers the traits of a conversation.
func (c *conversation) sketch() {
	for _, list := range [...][]item{c.messages, c.findings} {
		for i := range list {
			c.traits = append(c.traits, list[i].traits...)
			if len(c.traits) > 16*maxTraits {
				c.least()
			}
		}
	}
	c.least()
}

func (c *conversation) least() {
	slices.Sort(c.traits)
	c.traits = slices.Compact(c.traits)
	c.traits = slices.Clip(c.traits[:min(len(c.traits), maxTraits)])
}

// load reads an input: objects if it begins like some, else a capture.
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
		// A pipe with a name is read once.
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
	_, err = pipeline.Run(pipeline.Options{
		Inputs: []string{name}, Stdin: head, Out: &taker{d: d, in: in},
		Reporter: func() report.Reporter { return report.NewJSON(report.JSONOptions{}) },
		Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign(), Tree: true},
		All:      true,
		Trouble:  func(err error) { in.trouble = err },
	})
	if err == nil && in.captures == 0 {
		err = in.trouble
	}
	return in, err
}

// unpack returns a reader of what a file holds, if that is JSON; packed or not.
func unpack(head *bufio.Reader) (saved io.ReadCloser, err error) {
	if _, err := head.Peek(4); err != nil && err != io.EOF {
		return nil, err
	}
	// A packed file is looked into from its first block: a capture is read
	// from its beginning again.
	peeked, _ := head.Peek(head.Size())
	z, _, err := capture.Unpack(bytes.NewReader(peeked))
	if err != nil {
		return nil, nil // the reader of captures says what is wrong
	}
	is := isJSON(bufio.NewReader(z))
	z.Close()
	if !is {
		return nil, nil
	}
	saved, _, err = capture.Unpack(head)
	return saved, err
}

// isJSON reports whether text begins like an object or an array.
func isJSON(r *bufio.Reader) bool {
	for range 1 << 10 {
		c, err := r.ReadByte()
		if err != nil {
			return false
		}
		switch c {
		case ' ', '\t', '\r', '\n':
		case '{', '[':
			return true
		default:
			return false
		}
	}
	return false
}

// objects takes all objects of a reader.
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

// A taker takes the output of a dissection as it is written, an object a line.
type taker struct {
	d    *differ
	in   *input
	line int
}

func (t *taker) Write(b []byte) (int, error) {
	for o := jsonl.NewBytes(b); ; {
		raw, _, err := o.Next()
		if err == io.EOF {
			return len(b), nil
		}
		if t.line++; err == nil {
			err = t.in.take(t.d, raw, t.line)
		}
		if err != nil {
			return 0, err
		}
	}
}

// diff compares the conversations of two inputs.
func (d *differ) diff(a, b *input) {
	partner := match(a.conversations, b.conversations)
	if d.strict {
		d.lists(a.others, b.others)
	}
	matched := make(map[*conversation]bool)
	for _, c := range a.conversations {
		if other := partner[c]; other != nil {
			matched[other] = true
			d.conversations(c, other)
			continue
		}
		d.lonely(Missing, c)
	}
	for _, c := range b.conversations {
		if !matched[c] {
			d.lonely(New, c)
		}
	}
}

// lonely reports a whole conversation.
func (d *differ) lonely(k Kind, c *conversation) {
	all := append(slices.Clone(c.messages), c.findings...)
	diff := Difference{Kind: k, More: len(all) - 1}
	d.parse(&d.a, &all[0])
	if k == Missing {
		diff.Want = Message{all[0].line, d.a.Head()}
	} else {
		diff.Got = Message{all[0].line, d.a.Head()}
	}
	d.result.add(&diff)
}

// conversations compares two conversations that belong together.
func (d *differ) conversations(a, b *conversation) {
	d.result.Messages += len(a.messages)
	d.talk = d.newTalk()
	pairs := d.pairs(a.messages, b.messages)
	if d.talk != nil {
		for _, p := range pairs {
			if p.a >= 0 && p.b >= 0 {
				d.talk.frames[a.messages[p.a].frame] = b.messages[p.b].frame
			}
		}
	}
	d.compareAll(a.messages, b.messages, pairs)
	d.lists(a.findings, b.findings)
}

// lists compares two lists of objects in order.
func (d *differ) lists(as, bs []item) { d.compareAll(as, bs, d.pairs(as, bs)) }

func (d *differ) compareAll(as, bs []item, pairs []pair) {
	for _, p := range pairs {
		switch {
		case p.b < 0:
			d.parse(&d.a, &as[p.a])
			d.result.add(&Difference{Kind: Missing, Want: Message{as[p.a].line, d.a.Head()}})
		case p.a < 0:
			d.parse(&d.b, &bs[p.b])
			d.result.add(&Difference{Kind: New, Got: Message{bs[p.b].line, d.b.Head()}})
		default:
			d.parse(&d.a, &as[p.a])
			d.parse(&d.b, &bs[p.b])
			if fields := d.compare(); len(fields) > 0 {
				d.result.add(&Difference{Want: Message{as[p.a].line, d.a.Head()}, Got: Message{bs[p.b].line, d.b.Head()}, Fields: slices.Clone(fields)})
			}
		}
	}
}

// pairs aligns two lists, window by window if they are long.
func (d *differ) pairs(as, bs []item) (all []pair) {
	const most = 1024
	for a, b := 0, 0; a < len(as) || b < len(bs); {
		x, y := as[a:min(a+most, len(as))], bs[b:min(b+most, len(bs))]
		pairs := d.al.align(len(x), len(y), func(i, j int) int { return like(&x[i], &y[j], 0) })
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

// match finds for the conversations of one input those of the other that belong
// to them: the same protocol; the same content, whatever the order; else those
// that are most alike, and of those as much alike the ones nearest in order.
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
	rest := make(map[string]*[2][]*conversation)
	var protocols []string
	leave := func(side int, c *conversation) {
		r := rest[c.protocol]
		if r == nil {
			r = new([2][]*conversation)
			rest[c.protocol] = r
			protocols = append(protocols, c.protocol)
		}
		c.place = len(r[side])
		r[side] = append(r[side], c)
	}
	for _, c := range as {
		k := key{c.protocol, c.said, c.found}
		if w := waiting[k]; len(w) > 0 {
			partner[c], waiting[k] = w[0], w[1:]
			continue
		}
		leave(0, c)
	}
	taken := make(map[*conversation]bool)
	for _, c := range partner {
		taken[c] = true
	}
	for _, c := range bs {
		if !taken[c] {
			leave(1, c)
		}
	}
	for _, p := range protocols {
		matchAlike(rest[p][0], rest[p][1], partner)
	}
	return partner
}

// mostAlike bounds the conversations of one protocol that are held against each
// other at once.
const mostAlike = 1024

func matchAlike(as, bs []*conversation, partner map[*conversation]*conversation) {
	for len(as) > 0 && len(bs) > 0 {
		x, y := as[:min(len(as), mostAlike)], bs[:min(len(bs), mostAlike)]
		as, bs = as[len(x):], bs[len(y):]
		type candidate struct{ a, b, score int }
		var list []candidate
		for _, c := range x {
			c.sketch()
		}
		for j, c := range y {
			c.sketch()
			for i := range x {
				if s := similarity(x[i].traits, c.traits); s > 0 {
					list = append(list, candidate{i, j, s})
				}
			}
		}
		distance := func(c *candidate) int { return max(x[c.a].place-y[c.b].place, y[c.b].place-x[c.a].place) }
		slices.SortFunc(list, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(distance(&a), distance(&b)), cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b))
		})
		taken := make(map[int]bool)
		for _, c := range list {
			if partner[x[c.a]] == nil && !taken[c.b] {
				partner[x[c.a]], taken[c.b] = y[c.b], true
			}
		}
	}
}
