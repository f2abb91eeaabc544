package golden

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/internal/capture"
)

// damagedKey is the member of the last object of a golden that says what is wrong
// with the file of the capture; it has none if nothing is.
const damagedKey = "damaged"

// damageText says what is wrong with a capture as goldens have it: nothing of its
// name or of how it is packed. trouble is why it could not be dissected, or not to
// its end, and unpacking why it could not be unpacked; "" if there is nothing.
func damageText(trouble, unpacking error) string {
	var text string
	var e *capture.Error
	switch {
	case errors.As(trouble, &e):
		text = e.Err.Error()
	case trouble != nil:
		text = problemText(trouble)
	}
	// What is wrong behind damage the dissection did not get to see.
	if unpacking != nil && !strings.Contains(text, unpacking.Error()) {
		if text != "" {
			text += "; "
		}
		text += unpacking.Error()
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// A watch waits in a comparison for the value that shows a byte.
type watch struct {
	place
	// head is how the line of the message begins in goldens.
	head []byte
	// line is that of the message in the golden, 0 if it has none.
	line int
	// shown says that the value differs.
	shown bool
}

func newWatch(p place) *watch {
	w := &watch{place: p}
	if p.own > 0 {
		w.head = fmt.Appendf(nil, `{"type":"message","frame":%d,`, p.own)
	}
	return w
}

// read takes an object of the golden.
func (w *watch) read(raw []byte, line int) {
	if w != nil && w.head != nil && w.line == 0 && bytes.HasPrefix(raw, w.head) {
		w.line = line
	}
}

// differ takes an object with the values that differ in it. Of the fields of a
// protocol any will do: one of them may reach into the other.
func (w *watch) differ(m *Message, fields []Field) {
	if w == nil || w.value == nil || m.Type != w.message.Type || m.Frame != w.own {
		return
	}
	for i := range fields {
		name, _, _ := strings.Cut(fields[i].Path, ".")
		w.shown = w.shown || name == string(w.value[0].name)
	}
}

// A byteCheck is what the sum of a capture says.
type byteCheck struct {
	said   *last
	file   *fileSum // nil if it is not known
	differ bool     // the sum does
	one    *watch   // of the byte that is another, nil if more than one is
	field  Field    // of that byte
}

// checkBytes compares the sum of a capture with that in its golden. What the byte
// belongs to that is another, if it is one, is found out before the values are
// compared.
func checkBytes(name string, said *last, rules *Rules) (*byteCheck, error) {
	c := &byteCheck{said: said}
	var err error
	if c.file, err = sumOf(name); err != nil || c.file == nil {
		return c, err
	}
	c.differ = said.summed && c.file.sum != said.sum && !rules.ignored(valuePath(sumKey))
	if !c.differ {
		return c, nil
	}
	at, mask, ok := flippedByte(said.sum, c.file.sum, c.file.n)
	if !ok {
		return c, nil
	}
	var is byte
	records, err := survey(func() (io.ReadCloser, error) {
		r, err := openUnpacked(name)
		return &patched{r, at, mask, &is}, err
	}, at, at+1)
	if err != nil || len(records) == 0 {
		return c, err
	}
	c.one = newWatch(records[0].place(at))
	c.field = Field{c.one.field, fmt.Sprintf("offset %d of the capture", at), "***", "another ***"}
	if !c.one.hidden {
		c.field.From, c.field.To = fmt.Sprintf("0x%02x", is^mask), fmt.Sprintf("0x%02x", is)
	}
	return c, nil
}

// add adds what differs of the bytes: one of them and damage before what differs
// of the values, for they are the reason of it. lines is how many the golden has.
func (c *byteCheck) add(r *Result, d *Dissection, rules *Rules, lines int) {
	of := Difference{Want: Message{Type: "capture", Line: lines}}
	of.Got = of.Want
	// Of a capture that may be another one all bytes may be others; not
	// just one of them, by accident.
	if c.differ && c.one == nil && rules.exact() && (d.Opened || r.Equal()) {
		of.Fields = []Field{{sumKey, "more than one byte is another", `"` + formatSum(c.said.sum) + `"`, `"` + formatSum(c.file.sum) + `"`}}
		if !r.Equal() {
			last := of
			r.add(&last)
			of.Fields = nil
		}
	}
	damage := c.damage(d)
	if c.said.stated && damage != c.said.damage && !rules.ignored(valuePath(damagedKey)) {
		of.Fields = append(of.Fields, Field{Path: damagedKey, From: quoted(c.said.damage, damage), To: quoted(damage, c.said.damage)})
	}
	r.Unstated = damage != "" && !c.said.stated
	named := c.one != nil && !c.one.shown && !rules.mayDiffer(c.one.value)
	if named && c.one.message.Type == of.Want.Type {
		of.Fields = slices.Insert(of.Fields, 0, c.field)
		named = false
	}
	r.insert(&of)
	if named {
		of = Difference{Want: c.one.message, Fields: []Field{c.field}}
		of.Want.Line = cmp.Or(c.one.line, lines)
		of.Got = of.Want
		r.insert(&of)
	}
}

// damage says what is wrong with the capture, for the golden.
func (c *byteCheck) damage(d *Dissection) string {
	if c.file == nil {
		return damageText(d.Trouble, nil)
	}
	return damageText(d.Trouble, c.file.damage)
}

// quoted is a text as it is shown beside another one, "" if there is none.
func quoted(s, other string) string {
	if s == "" {
		return ""
	}
	return show(&node{kind: text, value: []byte(s)}, &node{kind: text, value: []byte(other)})
}
