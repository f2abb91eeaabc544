package dissect

import (
	"time"

	"github.com/qdissect/qdissect/internal/core"
)

// What the declaration of a protocol and its decoder are written with.
type (
	// A Field is the declaration of one thing on the wire. Fields are made by [Catalog.Add] and never change; they are compared by
	// identity. Path names it among all protocols (a2s.info.name), Kind says how its bytes are read and shown, and Doc what it is.
	Field = core.Field
	// A Kind says what the bytes of a field mean, and so how they are shown.
	Kind = core.Kind
	// A Name is the meaning of one value of a field, or of one bit of it.
	Name = core.Name
	// An Option modifies the declaration of a field: [Framing], [Chosen] or [Secret], a [Privacy], or the result of [Names], [Bits] or
	// [InText].
	Option = core.Option
	// A Privacy says what a field reveals about people and servers, and so how its value is replaced in a capture that is to be
	// shared. Text has to state it: [Protocol.Validate] refuses text that does not.
	Privacy = core.Privacy
	// A Charset is the encoding of text that is not valid UTF-8; Charset.AppendUTF8 decodes it.
	Charset = core.Charset
	// A Style is the set of colour codes that a text may contain; Style.AppendPlain removes them.
	Style = core.Style
	// A Reader reads a payload from front to back. Each read names its field, returns the value and advances; if a tree is wanted, it
	// also adds a [Node]. The first failure is kept as an [Error]. After it every read returns zero and Reader.More is false, so that
	// loops end. Strings are views of the payload and valid as long as it is. Without BE, numbers are little-endian.
	Reader = core.Reader
	// A KeyValue is one setting of a server, as on the wire.
	KeyValue = core.KeyValue
	// A Topic is a set of kinds of requests; each protocol assigns its bits.
	Topic = core.Topic
)

// What was read.
type (
	// A Node is one field of a payload. Nodes form a flat slice in preorder: the children of a group or list follow it with a greater
	// Depth. Leaves do not overlap and together cover every byte of their source. Node.Text, Int, Float and Endpoint return its value,
	// Node.Value the bytes of it.
	Node = core.Node
	// A Source is a run of bytes that nodes refer to: the payload of a datagram, the message joined from parts, or decompressed data.
	Source = core.Source
	// An Error says where and why decoding failed: the Field, the Source and the Offset in it, and the bytes that it needed and had.
	Error = core.Error
	// A Finding is something noteworthy or wrong in one message or one conversation. Finding.AppendText appends its text. It is
	// borrowed like the record that carries it.
	Finding = core.Finding
	// A FindingType is one kind of finding, with its ID, severity, text, explanation and advice. The verbs of its Text take the
	// arguments in order: %d a number, %x a number in hex, %v a value of the field, %s text from the network, %p text of the
	// program, %t a duration. {one|many} chooses by the number before it.
	FindingType = core.FindingType
	// An Arg is an argument of a finding's text.
	Arg = core.Arg
	// A Severity grades a finding.
	Severity = core.Severity
	// A Reason says why a payload was assigned to a protocol: Reason.String is "header", "flow", "request", "port", "reply", "server"
	// or "decode-as".
	Reason = core.Reason
)

// The kinds of fields.
const (
	Bytes    = core.Bytes    // shown in hex
	String   = core.String   // text
	Uint     = core.Uint     // a whole number
	Int      = core.Int      // a whole number with a sign
	Float    = core.Float    // an IEEE 754 number
	Bool     = core.Bool     // a byte that is 0 or not
	Char     = core.Char     // a byte that is a printable letter
	ID       = core.ID       // an identifier of 64 bits, a string in JSON
	Decimal  = core.Decimal  // a number written as text
	Endpoint = core.Endpoint // an IPv4 or IPv6 address followed by a port
	Group    = core.Group    // named fields: an object in JSON
	List     = core.List     // fields without names: an array in JSON
)

// What a declaration may say of a field.
var (
	// Framing declares a field that carries the message: it is in the tree and not in JSON.
	Framing = core.Framing
	// Chosen declares a field whose value one side chose or the other derived from it.
	Chosen = core.Chosen
	// Secret declares a field that is masked unless the user asks for it.
	Secret = core.Secret
)

// What a declaration may say of what a field reveals.
const (
	// Public reveals nothing.
	Public = core.Public
	// PersonName is the name of a player, PersonID text that identifies one.
	PersonName = core.PersonName
	PersonID   = core.PersonID
	// FreeText is text written by people.
	FreeText = core.FreeText
	// ServerText is text that identifies a server or was written by its operator.
	ServerText = core.ServerText
	// Token is a number or a text that one side chose and the other returns.
	Token = core.Token
	// Address is an address, in bytes or in text.
	Address = core.Address
	// SettingName is the name of a setting. Setting is its value: the name says what it reveals.
	SettingName = core.SettingName
	Setting     = core.Setting

	// Guessed is Windows-1251 if the text looks Cyrillic, and Latin1 (Windows-1252) otherwise.
	Guessed = core.Guessed
	Latin1  = core.Latin1
	// NoStyle text has no codes. The codes of Quake3 are a caret and a character.
	NoStyle = core.NoStyle
	Quake3  = core.Quake3
)

// The severities.
const (
	Chat    = core.Chat    // a fact of the conversation; nothing is wrong
	Note    = core.Note    // unusual and legal
	Warning = core.Warning // a mistake that others may stumble over
	Failed  = core.Failed  // could not be decoded or joined; its name in output is "error"
)

// StateEvicted is the type of the finding that state is evicted because a limit was reached: it is about no message.
var StateEvicted = core.StateEvicted

// Names declares the known values of a field.
func Names(names ...Name) Option { return core.Names(names...) }

// Bits declares the known bits of a field.
func Bits(bits ...Name) Option { return core.Bits(bits...) }

// InText declares the encoding of text that is not valid UTF-8, and its colour codes.
func InText(c Charset, s Style) Option { return core.InText(c, s) }

// Num is a number, for %d and %x.
func Num[T core.Integer](n T) Arg { return core.Num(n) }

// Str is text, for %s and %p. It is borrowed like the finding.
func Str(s string) Arg { return core.Str(s) }

// Dur is a duration, for %t.
func Dur(d time.Duration) Arg { return core.Dur(d) }

// NewFinding returns a finding without a position, such as one of a [Datagram].
func NewFinding(t *FindingType, args ...Arg) Finding { return core.NewFinding(t, args...) }

// CommonFindings returns the findings that any protocol can have.
func CommonFindings() []*FindingType { return core.CommonFindings() }

// AppendQuoted appends text from the network in double quotes: decoded, without colour codes, and safe for a terminal.
func AppendQuoted(dst []byte, s string, c Charset, style Style) []byte {
	return core.AppendQuoted(dst, s, c, style)
}
