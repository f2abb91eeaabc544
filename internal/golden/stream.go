package golden

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/qdissect/qdissect/internal/jsonl"
)

// A Comparer compares the output that is written to it, object by object, with
// what it should be. Both are in order. What is equal to the byte costs little;
// what differs is aligned in a window, so that memory is bounded however long
// the output is.
type Comparer struct {
	comparer
	want    *jsonl.Reader
	wantErr error // io.EOF at the end
	frames  bool  // are those of one capture
	as, bs  []item
	window  int // objects that each of them holds; windowItems
	bytes   int // of bs
	line    int // of the output
	lines   int // where the last object of what it should be begins
	al      aligner
	result  Result
	err     error
}

// The window: messages that are missing or new are recognised as such if there
// are no more of them in a row.
const (
	windowItems = 512
	windowBytes = 8 << 20
)

// aFourth of what two messages hold must be the same for them to be one that
// changed.
const aFourth = 256

// NewComparer returns a comparer that takes want for what the output should be.
// It keeps at most limit differences, [DefaultMax] if that is 0, and counts the
// rest.
func NewComparer(want io.Reader, rules Rules, limit int) *Comparer {
	c := &Comparer{want: jsonl.NewReader(want), window: windowItems, result: Result{limit: limit}}
	if limit <= 0 {
		c.result.limit = DefaultMax
	}
	c.rules = &rules
	// In a capture that was taken again, other frames hold the same messages.
	c.frames = !rules.Relative && !rules.ignored([]step{{[]byte("frame"), noIndex}})
	return c
}

// SetStarts says when the two captures begin, in ns since 1970, for times that
// are relative.
func (c *Comparer) SetStarts(want, got int64) { c.a.start, c.b.start = want, got }

// Write takes whole objects of the output. The error is that of what the output
// should be.
func (c *Comparer) Write(b []byte) (int, error) {
	got := jsonl.NewBytes(b)
	for c.err == nil {
		raw, _, err := got.Next()
		if err == io.EOF {
			return len(b), nil
		}
		if err != nil {
			c.err = fmt.Errorf("the output: %w", err)
			break
		}
		c.line++
		c.take(raw)
	}
	return 0, c.err
}

// take compares one object of the output, or puts it into the window.
func (c *Comparer) take(raw []byte) {
	if len(c.as) == 0 && len(c.bs) == 0 && !c.rules.Relative {
		want, line, err := c.next()
		switch {
		case c.err != nil:
			return
		case err == nil && bytes.Equal(want, raw):
			return
		case err == nil:
			c.as = append(c.as, c.item(&c.a, slices.Clone(want), line))
		}
	}
	c.bs = append(c.bs, c.item(&c.b, slices.Clone(raw), c.line))
	c.bytes += len(raw)
	for c.err == nil && (len(c.bs) >= c.window || c.bytes >= windowBytes) {
		c.step(false)
	}
}

// next returns the next object of what the output should be; err is io.EOF
// behind the last. Any other error is that of the comparison.
func (c *Comparer) next() (b []byte, line int, err error) {
	if c.wantErr != nil {
		return nil, 0, c.wantErr
	}
	if b, line, err = c.want.Next(); err != nil {
		c.wantErr = err
		if err != io.EOF {
			c.err = err
		}
		return nil, 0, err
	}
	if bytes.HasPrefix(b, []byte(`{"type":"message"`)) {
		c.result.Messages++
	}
	c.lines = line
	return b, line, nil
}

func (c *Comparer) item(s *side, raw []byte, line int) item {
	if c.err == nil {
		if err := s.parse(raw, false); err != nil {
			c.err = fmt.Errorf("line %d: %w", line, err)
		}
	}
	if c.err != nil {
		return item{raw: raw, line: line}
	}
	return c.digest(s, raw, line)
}

// fill reads what the output should be into the window.
func (c *Comparer) fill() {
	size := 0
	for i := range c.as {
		size += len(c.as[i].raw)
	}
	for len(c.as) < c.window && size < windowBytes && c.err == nil {
		b, line, err := c.next()
		if err != nil {
			return
		}
		c.as = append(c.as, c.item(&c.a, slices.Clone(b), line))
		size += len(b)
	}
}

// step compares the two windows and takes from them what is settled; at the end
// of both everything. It always takes something, if there is something.
func (c *Comparer) step(end bool) {
	c.fill()
	if c.err != nil {
		return
	}
	pairs := c.al.align(len(c.as), len(c.bs), func(i, j int) int {
		if c.frames {
			return likeByFrame(&c.as[i], &c.bs[j])
		}
		return like(&c.as[i], &c.bs[j], aFourth)
	})
	if !end || c.wantErr == nil {
		switch {
		case c.frames && apart(c.as, c.bs):
			pairs = slices.DeleteFunc(pairs, func(p pair) bool { return p.a < 0 })
		case c.frames && apart(c.bs, c.as):
			pairs = slices.DeleteFunc(pairs, func(p pair) bool { return p.b < 0 })
		default:
			pairs = settled(c.as, c.bs, pairs)
		}
		pairs = keepSummaries(c.as, c.bs, pairs)
	}
	a, b := 0, 0
	for _, p := range pairs {
		switch {
		case p.b < 0:
			c.alone(Missing, &c.as[p.a])
			a++
		case p.a < 0:
			c.alone(New, &c.bs[p.b])
			b++
		default:
			c.pair(&c.as[p.a], &c.bs[p.b])
			a, b = a+1, b+1
		}
	}
	for _, it := range c.bs[:b] {
		c.bytes -= len(it.raw)
	}
	c.as = append(c.as[:0], c.as[a:]...)
	c.bs = append(c.bs[:0], c.bs[b:]...)
}

// settled returns the first pairs of an alignment of windows behind which there
// is more: up to the last two that are the same, because what follows might
// belong to what is still to come; at least half of them, or there would be no
// end to it.
func settled(as, bs []item, pairs []pair) []pair {
	for i := len(pairs) - 1; i > len(pairs)/2; i-- {
		if p := pairs[i]; p.a >= 0 && p.b >= 0 && as[p.a].hash == bs[p.b].hash {
			return pairs[:i+1]
		}
	}
	return pairs[:(len(pairs)+1)/2]
}

// apart tells whether all of one window lies in frames before the other: then it
// stands alone, and the other may still find its like. A summary at the end of
// either is about no frame.
func apart(before, behind []item) bool {
	last := uint64(0)
	for i := range before {
		last = max(last, before[i].frame)
	}
	if endsWithSummary(behind) {
		behind = behind[:len(behind)-1]
	}
	return last > 0 && !slices.ContainsFunc(behind, func(it item) bool { return it.frame <= last })
}

func endsWithSummary(items []item) bool {
	return len(items) > 0 && items[len(items)-1].kind == "summary"
}

// keepSummaries leaves a summary that stands at the end of a window and found no
// like out of what is settled: the other output is longer, and its summary is
// still to come. If nothing else is left, the summary is settled all the same,
// or there would be no end to it.
func keepSummaries(as, bs []item, pairs []pair) []pair {
	rest := slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool {
		return p.b < 0 && p.a == len(as)-1 && endsWithSummary(as) || p.a < 0 && p.b == len(bs)-1 && endsWithSummary(bs)
	})
	if len(rest) == 0 {
		return pairs
	}
	return rest
}

func (c *Comparer) alone(k Kind, it *item) {
	d := Difference{Kind: k}
	if k == Missing {
		c.parse(&c.a, it)
		d.Want = Message{it.line, c.a.Head()}
	} else {
		c.parse(&c.b, it)
		d.Got = Message{it.line, c.b.Head()}
	}
	c.result.add(&d)
}

// parse takes an object again that has been parsed before.
func (c *comparer) parse(s *side, it *item) {
	if err := s.parse(it.raw, c.talk != nil); err != nil {
		panic("golden: an object cannot be read twice: " + err.Error())
	}
}

func (c *Comparer) pair(a, b *item) {
	if !c.rules.Relative && bytes.Equal(a.raw, b.raw) {
		return
	}
	c.parse(&c.a, a)
	c.parse(&c.b, b)
	if fields := c.compare(); len(fields) > 0 {
		d := Difference{Want: Message{a.line, c.a.Head()}, Got: Message{b.line, c.b.Head()}, Fields: slices.Clone(fields)}
		c.result.add(&d)
	}
}

// Close says that there is no more output, and returns what differs.
func (c *Comparer) Close() (*Result, error) {
	for c.err == nil {
		c.step(true)
		if c.wantErr != nil && len(c.as)+len(c.bs) == 0 {
			break
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	return &c.result, nil
}
