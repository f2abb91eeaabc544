package core

import (
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A Severity grades a finding.
type Severity uint8

const (
	// Chat is a fact of the conversation; nothing is wrong.
	Chat Severity = iota
	// Note is unusual and legal.
	Note
	// Warning is a mistake that others may stumble over.
	Warning
	// Failed is something that could not be decoded or joined; its name in output is
	// "error".
	Failed
)

var severityNames = [...]string{"chat", "note", "warning", "error"}

func (s Severity) String() string { return severityNames[s] }

// A Class says what a finding is about.
type Class uint8

const (
	// OfTraffic is about a message or a conversation, whoever is to blame.
	OfTraffic Class = iota
	// OfServer is a mistake of a server that clients and masters may not accept.
	OfServer
	// OfClient is a mistake of clients.
	OfClient
	// OfRefusal says that a server refuses, in words, what it was asked for.
	OfRefusal
	// OfCapture is about packets, their times and their way into the capture, not about what was said.
	OfCapture
)

// A FindingType is one kind of finding. Protocols declare their types as values that
// never change.
type FindingType struct {
	// ID is dotted and begins with the protocol's short name.
	ID       string
	Severity Severity
	// Class is what it is about.
	Class Class
	// Text is the text of a finding. Its verbs take the arguments in order: %d a
	// number, %x a number in hex, %v a value of the field, %s text from the network,
	// %p text of the program, %t a duration, %r a ratio in tenths. {one|many}
	// chooses by the number before it.
	Text string
	// Doc explains the finding: what it means, what else could be the cause, who is affected.
	Doc string
	// Advice says what to do. Warnings and errors have one.
	Advice string
	// Length says that the message is shorter or longer than its own structure says, so
	// that Parse returns an error.
	Length bool
}

// An Arg is an argument of a finding's text.
type Arg struct {
	num int64
	str string
}

// Integer are the types of whole numbers.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uint
}

// Num is a number, for %d and %x.
func Num[T Integer](n T) Arg { return Arg{num: int64(n)} }

// Str is text, for %s and %p. It is borrowed like the finding.
func Str(s string) Arg { return Arg{str: s} }

// Dur is a duration, for %t.
func Dur(d time.Duration) Arg { return Arg{num: int64(d)} }

// Ratio is a ratio, for %r.
func Ratio(a, b int) Arg {
	if b <= 0 {
		b = 1
	}
	return Arg{num: int64(a) * 10 / int64(b)}
}

// maxArgs is the most arguments that the text of a finding takes.
const maxArgs = 4

// A Finding is something noteworthy or wrong in one message or one conversation. It
// is borrowed like the record that carries it.
type Finding struct {
	Type *FindingType
	// Field is what it is about, nil if it is about no single one.
	Field *Field
	// Source, Offset and Length are the bytes it is about; Length is 0 if it
	// is about none.
	Source         int
	Offset, Length int
	// Err is the failure behind a malformed message, nil otherwise.
	Err *Error

	args [maxArgs]Arg
}

// NewFinding returns a finding without a position.
func NewFinding(t *FindingType, args ...Arg) Finding {
	f := Finding{Type: t}
	for i := range min(len(args), maxArgs) { // copy would be a call
		f.args[i] = args[i]
	}
	return f
}

// Own returns the finding with copies of its texts, made by k.Keep.
func (f *Finding) Own(k interface{ Keep(string) string }) Finding {
	own := *f
	for i := range own.args {
		if own.args[i].str != "" {
			own.args[i].str = k.Keep(own.args[i].str)
		}
	}
	return own
}

// SameText reports whether two findings have the same type and the same text.
func (f *Finding) SameText(o *Finding) bool {
	char := func(f *Finding) bool { return f.Field != nil && f.Field.Kind == Char } // is shown as one
	return f.Type == o.Type && f.args == o.args && f.Err == nil && o.Err == nil && char(f) == char(o)
}

// AppendText appends the text of the finding, safe for a terminal.
func (f *Finding) AppendText(dst []byte) []byte {
	if f.Err != nil {
		return f.Err.append(dst)
	}
	text, next := f.Type.Text, 0
	number := int64(0)
	for i := 0; i < len(text); i++ {
		if text[i] == '{' {
			one, rest, _ := strings.Cut(text[i+1:], "|")
			many, _, _ := strings.Cut(rest, "}")
			i += len(one) + len(many) + len("|}")
			if number != 1 {
				one = many
			}
			dst = append(dst, one...)
			continue
		}
		if text[i] != '%' || i+1 >= len(text) || next >= maxArgs {
			end := i + 1 + literal(text[i+1:])
			dst = append(dst, text[i:end]...)
			i = end - 1
			continue
		}
		i++
		a := f.args[next]
		switch text[i] {
		case 'd':
			number = a.num
			dst = nettext.AppendInt(dst, a.num)
		case 'v':
			if f.Field != nil && f.Field.Kind == Char && a.num >= 0x20 && a.num < 0x7f {
				dst = append(dst, '\'', byte(a.num), '\'')
			} else {
				dst = nettext.AppendInt(dst, a.num)
			}
		case 'x':
			dst = append(dst, "0x"...)
			dst = strconv.AppendUint(dst, uint64(a.num), 16)
		case 's':
			dst = AppendQuoted(dst, a.str, Guessed, NoStyle)
		case 'p':
			dst = append(dst, a.str...)
		case 't':
			if d := time.Duration(a.num); d >= 0 && d < time.Microsecond/2 {
				dst = append(dst, "less than 1 µs"...)
			} else {
				dst = nettext.AppendDuration(dst, d)
			}
		case 'r':
			dst = nettext.AppendInt(dst, a.num/10)
			if a.num < 1000 {
				dst = append(dst, '.', byte('0'+a.num%10))
			}
		default:
			dst = append(dst, '%', text[i])
			continue
		}
		next++
	}
	return dst
}

// literal returns the number of bytes at the start of the text of a finding that stand for themselves.
func literal(text string) int {
	if n := strings.IndexByte(text, '%'); n >= 0 {
		text = text[:n]
	}
	if n := strings.IndexByte(text, '{'); n >= 0 {
		return n
	}
	return len(text)
}

// Find adds a finding about n bytes at offset off of the current source; the range
// is clipped to the source.
func (r *Reader) Find(t *FindingType, f *Field, off, n int, args ...Arg) {
	if len(r.findings)-r.below >= maxFindings {
		r.leftOut++
		return
	}
	off = min(max(off, 0), len(r.data))
	n = min(max(n, 0), len(r.data)-off)
	r.findings = append(r.findings, Finding{Type: t, Field: f, Source: int(r.source), Offset: off, Length: n})
	last := &r.findings[len(r.findings)-1]
	for i := range min(len(args), maxArgs) {
		last.args[i] = args[i]
	}
}

// Note adds a finding without a position.
func (r *Reader) Note(t *FindingType, args ...Arg) { r.Find(t, nil, 0, 0, args...) }

// maxFindings bounds the findings of one message: a message of 64 KiB could
// hold as many mistakes.
const maxFindings = 32
