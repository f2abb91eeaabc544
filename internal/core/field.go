package core

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A Kind says what the bytes of a field mean, and so how they are shown.
type Kind uint8

const (
	// Bytes are opaque and shown in hex.
	Bytes Kind = iota
	// String is text.
	String
	// Uint and Int are whole numbers.
	Uint
	Int
	// Float is an IEEE 754 number; the width is that of the field.
	Float
	// Bool is a byte that is 0 or not.
	Bool
	// Char is a byte that is a printable letter.
	Char
	// ID is a 64-bit identifier, a decimal string in JSON because many JSON
	// readers keep only 53 bits of a number.
	ID
	// Decimal is a number written as text. Text that is not a number is shown as
	// text, in JSON under a key of its own; see [TextSuffix].
	Decimal
	// Endpoint is an IPv4 or IPv6 address followed by a port.
	Endpoint
	// Group holds named fields: an object in JSON.
	Group
	// List holds fields without names: an array in JSON.
	List
)

var kindNames = [...]string{"bytes", "string", "uint", "int", "float", "bool", "char", "id", "decimal", "endpoint", "group", "list"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Container reports whether fields of the kind hold other fields.
func (k Kind) Container() bool { return k == Group || k == List }

// A Name is the meaning of one value of a field, or of one bit of it. Where the
// field is text, Text is that value and Value the number by which
// [Explain] refers to it.
type Name struct {
	Value uint64
	Name  string
	Text  string
}

// A Field is the declaration of one thing on the wire. Fields are made by a
// [Catalog] and never change; they are compared by identity.
type Field struct {
	// Path is unique within all protocols, for example a2s.info.name. Its
	// last element is the key in JSON, unless [InJSON] says otherwise.
	Path string
	// Kind says how the bytes are read and shown.
	Kind Kind
	// Doc is one sentence for people.
	Doc string
	// Names are the known values.
	Names []Name
	// Bits are the known bits of a set of flags.
	Bits []Name
	// Charset is what the protocol says of text that is not UTF-8.
	Charset Charset
	// Style is the kind of colour codes that the text may hold.
	Style Style
	// Framing marks headers of splits and constants, which carry the message. They
	// are part of the tree and not of the fields in JSON.
	Framing bool
	// Secret marks passwords and tickets. They are shown as *** unless requested.
	Secret bool
	// Chosen marks a value that one side chose to match messages or to prove an
	// address, or that the other side derived from it. Conversations that differ
	// only in these values are equal.
	Chosen bool
	// Inverted marks an IPv4 endpoint with all bits of its address inverted.
	Inverted bool
	// Loose marks a list whose elements have fields that are declared elsewhere.
	Loose bool
	// Ignored marks a field of requests that changes nothing in the reply: padding, the version of the client.
	Ignored bool
	// EchoFrom is the number of the byte from which on the value is one that the client chose, 0 if none is; see [EchoFrom].
	EchoFrom int
	// PackMark marks the byte before packed data, which is FF if the data is not packed.
	PackMark bool
	// Open marks the field that stands for columns that messages name themselves;
	// see [Field.AsColumn].
	Open bool
	// Privacy says what the value reveals about people and servers.
	Privacy Privacy
	// Becomes is the name of the source that the bytes are decoded from once more, joined or unpacked; see [Becomes].
	Becomes string
	// Keyed has the privacy of values that depends on the key before them; see [ByKey].
	Keyed map[string]Privacy
	// Column is the declared field that a column was made from, nil for other
	// fields.
	Column *Field

	bit      uint64 // in the set of fields of a tree, which others may share; 0 for columns
	key      string
	jsonName string
	jsonKey  []byte
	nameKey  []byte
	keyText  [KeyRoom]byte
	keySize  uint8
	form     Form
}

// A Form says how the nodes of a field are written in JSON. It is known once the field is declared, so that no node needs
// more than one look at its field.
type Form uint8

const (
	// OtherForm is that of all other fields.
	OtherForm Form = iota
	// LeftOut is not written, with everything in it: the field is Framing.
	LeftOut
	// ObjectForm and ArrayForm hold what follows.
	ObjectForm
	ArrayForm
	// TextForm is text of which nothing else is written if it is printable ASCII without a caret.
	TextForm
	// NumberForm is a whole number, of which nothing else is written.
	NumberForm
	// DecimalForm is text of which nothing else is written if it is a number.
	DecimalForm
)

// JSONForm returns how the nodes of the field are written in JSON.
func (f *Field) JSONForm() Form { return f.form }

func (f *Field) formOf() Form {
	switch {
	case f.Framing:
		return LeftOut
	case f.Kind == Group:
		return ObjectForm
	case f.Kind == List:
		return ArrayForm
	case f.Secret || len(f.Names) > 0:
		return OtherForm
	case f.Kind == String && f.Style != Armagetron:
		return TextForm
	case f.Kind == Uint || f.Kind == Int:
		return NumberForm
	case f.Kind == Decimal:
		return DecimalForm
	}
	return OtherForm
}

// Key returns the last element of the path.
func (f *Field) Key() string { return f.key }

// JSONName returns the key in JSON: the last element of the path, unless [InJSON] says
// otherwise.
func (f *Field) JSONName() string { return f.jsonName }

// JSONKey returns the key in JSON as it follows another one: a comma, the name in quotes, and a
// colon.
func (f *Field) JSONKey() []byte { return f.jsonKey }

// JSONKeyText returns the same in an array, with the quote that precedes text, and the length without it. The length is 0 if
// there is not enough room.
func (f *Field) JSONKeyText() (text *[KeyRoom]byte, size int) { return &f.keyText, int(f.keySize) }

// setKey stores the key in JSON.
func (f *Field) setKey(key []byte) {
	f.jsonKey = key
	if len(key) < KeyRoom {
		f.keyText[copy(f.keyText[:], key)] = '"'
		f.keySize = uint8(len(key))
	}
}

// JSONNameKey returns the key in JSON for the name of a value, as [Field.JSONKey] does, with the quote before the name. It is empty if
// the field has no names.
func (f *Field) JSONNameKey() []byte { return f.nameKey }

// NameOf returns the name of a value, or "" if it has none.
func (f *Field) NameOf(v uint64) string {
	for i := range f.Names {
		if f.Names[i].Value == v {
			return f.Names[i].Name
		}
	}
	return ""
}

// An Option modifies the declaration of a field: a property such as [Framing], a [Privacy], or the result of a function such as [Names].
type Option interface{ declare(f *Field) }

type option func(f *Field)

func (o option) declare(f *Field) { o(f) }

// Names declares the known values of a field.
func Names(names ...Name) Option { return option(func(f *Field) { f.Names = names }) }

// Bits declares the known bits of a field.
func Bits(bits ...Name) Option { return option(func(f *Field) { f.Bits = bits }) }

// Counted declares the known values of a field that follow each other.
func Counted(first uint64, names ...string) Option {
	return option(func(f *Field) {
		f.Names = make([]Name, len(names))
		for i, name := range names {
			f.Names[i] = Name{Value: first + uint64(i), Name: name}
		}
	})
}

// BitsFrom declares the known bits of a field that follow each other.
func BitsFrom(first uint64, names ...string) Option {
	return option(func(f *Field) {
		f.Bits = make([]Name, len(names))
		for i, name := range names {
			f.Bits[i] = Name{Value: first << i, Name: name}
		}
	})
}

// InCharset declares the encoding of text that is not valid UTF-8.
func InCharset(c Charset) Option { return option(func(f *Field) { f.Charset = c }) }

// InLatin1 declares text in Latin-1, the encoding of most old games.
var InLatin1 = InCharset(Latin1)

// InStyle declares the colour codes that text may hold.
func InStyle(s Style) Option { return option(func(f *Field) { f.Style = s }) }

// InText declares both.
func InText(c Charset, s Style) Option { return option(func(f *Field) { f.Charset, f.Style = c, s }) }

// InJSON declares the key in JSON, for a field that would share its key but not its
// type with another one: a path has one type.
func InJSON(key string) Option { return option(func(f *Field) { f.jsonName = key }) }

// EchoFrom declares a value that repeats, from byte n on, one that the client chose.
func EchoFrom(n int) Option { return option(func(f *Field) { f.EchoFrom = n }) }

// Properties of a field, each an [Option].
var (
	// Framing declares a field that carries the message.
	Framing = option(func(f *Field) { f.Framing = true })
	// Open declares the field that stands for columns which messages name themselves.
	Open = option(func(f *Field) { f.Open = true })
	// Chosen declares a field whose value one side chose or the other derived from it.
	Chosen = option(func(f *Field) { f.Chosen = true })
	// Inverted declares an IPv4 endpoint whose address has all bits inverted.
	Inverted = option(func(f *Field) { f.Inverted = true })
	// Secret declares a field that is masked unless the user asks for it.
	Secret = option(func(f *Field) { f.Secret = true })
	// Loose declares a list whose elements have fields that are declared elsewhere.
	Loose = option(func(f *Field) { f.Loose = true })
	// Ignored declares a field of requests that changes nothing in the reply.
	Ignored = option(func(f *Field) { f.Ignored = true })
	// PackMark declares the byte before packed data, FF if the data is not packed.
	PackMark = option(func(f *Field) { f.PackMark = true })
)

// A Catalog lists the fields of one protocol. It is filled while its package is
// initialised and not modified afterwards.
type Catalog struct {
	protocol string
	jsonKey  []byte // of the protocol
	upper    string // the name of the protocol
	fields   []*Field
	trailing *Field
	data     *Field
	hidden   *Field // data that holds a secret
	// Room for the next fields, their paths and their keys. Hundreds of fields are
	// declared at each start of a program.
	room   []Field
	paths  strings.Builder
	keys   []byte
	hashes [8]uint64 // of the paths, each a bit
	bits   int       // fields that have a bit of their own as far as possible
}

// NewCatalog returns the catalog of a protocol. It has two fields: PROTOCOL.data for
// bytes that could not be decoded, and PROTOCOL.trailing for bytes after the end of
// a message.
func NewCatalog(protocol string) *Catalog {
	c := &Catalog{protocol: protocol, upper: strings.ToUpper(protocol)}
	c.jsonKey = appendKey(nil, strings.ReplaceAll(protocol, "-", "_"))
	c.data = c.Add("data", Bytes, "Bytes that could not be read.")
	c.hidden = c.data.Hidden()
	c.trailing = c.Add("trailing", Bytes, "Bytes after the end of the message.", Ignored)
	return c
}

// Add declares a field. The path is relative to the protocol. It panics if the path
// is already declared.
func (c *Catalog) Add(path string, kind Kind, doc string, options ...Option) *Field {
	if len(c.room) == 0 {
		c.room = make([]Field, 16)
	}
	f := &c.room[0]
	c.room = c.room[1:]
	if n := len(c.protocol) + 1 + len(path); c.paths.Cap()-c.paths.Len() < n {
		c.paths = strings.Builder{} // the paths so far keep the memory of the old one
		c.paths.Grow(512 + n)
	}
	from := c.paths.Len()
	c.paths.WriteString(c.protocol)
	c.paths.WriteByte('.')
	c.paths.WriteString(path)
	f.Path, f.Kind, f.Doc = c.paths.String()[from:], kind, doc
	for _, o := range options {
		o.declare(f)
	}
	f.settle()
	hash := (31*len(path) + int(path[0]) + 5*int(path[len(path)-1]) + 9*int(path[len(path)/2])) % 512
	if c.hashes[hash/64]>>(hash%64)&1 != 0 && c.Lookup(f.Path) != nil {
		panic("dissect: field declared twice: " + f.Path)
	}
	c.hashes[hash/64] |= 1 << (hash % 64)
	f.key = f.Path[strings.LastIndexByte(f.Path, '.')+1:]
	f.jsonName = cmp.Or(f.jsonName, f.key)
	if n := 2*len(f.jsonName) + len(`,"":,"`+TextSuffix+`_name":"`); cap(c.keys)-len(c.keys) < n {
		c.keys = make([]byte, 0, 256+n)
	}
	at := len(c.keys)
	c.keys = appendKey(c.keys, f.jsonName)
	f.setKey(c.keys[at:])
	if len(f.Names) > 0 {
		at = len(c.keys)
		c.keys = append(append(c.keys, ',', '"'), f.jsonName...)
		if f.Kind == Decimal {
			c.keys = append(c.keys, TextSuffix...)
		}
		c.keys = append(c.keys, `_name":"`...)
		f.nameKey = c.keys[at:]
	}
	f.form = f.formOf()
	if f.bit = 1 << 63; !f.Framing { // which is in all messages
		f.bit = 1 << (c.bits % 63)
		c.bits++
	}
	c.fields = append(c.fields, f)
	return f
}

// KeyRoom is more than the length of most keys in JSON, with comma, quotes and colon.
const KeyRoom = 16

func appendKey(b []byte, name string) []byte {
	return append(append(append(b, ',', '"'), name...), '"', ':')
}

// JSONKey returns the key of the protocol in JSON, Protocol.JSONKey, as [Field.JSONKey] does.
func (c *Catalog) JSONKey() []byte { return c.jsonKey }

// Name returns the name of the protocol.
func (c *Catalog) Name() string { return c.protocol }

// Upper returns the name of the protocol in capital letters.
func (c *Catalog) Upper() string { return c.upper }

// Data returns the field for bytes that could not be read.
func (c *Catalog) Data() *Field { return c.data }

// Fields returns all fields in the order of their declaration.
func (c *Catalog) Fields() []*Field { return c.fields }

// Lookup returns the field with a path, nil if there is none.
func (c *Catalog) Lookup(path string) *Field {
	for _, f := range c.fields {
		if f.Path == path {
			return f
		}
	}
	return nil
}

// AsColumn returns the field of a column that a message names itself, or nil if
// the name cannot be a key. It stands in the table of f, an [Open] field.
func (f *Field) AsColumn(name string) *Field {
	if !columnName(name) {
		return nil
	}
	prefix := f.Path[:strings.LastIndexByte(f.Path, '.')+1]
	path := prefix + name
	name = path[len(prefix):] // not a view of the message
	inJSON := name
	if f.Kind == String { // a column of the same name may hold numbers
		inJSON += TextSuffix
	}
	c := &Field{
		Path: path, Kind: f.Kind, Doc: f.Doc, Charset: f.Charset, Style: f.Style, Privacy: f.Privacy,
		Column: f, Secret: nettext.SecretKey(name), key: name, jsonName: inJSON,
	}
	c.setKey(appendKey(nil, inJSON))
	c.form = c.formOf()
	return c
}

// TextSuffix is what the key of a [Decimal] ends with in JSON where the text on the wire
// is not a number.
const TextSuffix = "_text"

// columnName reports whether a name can be a key: 1 to 32 letters, digits and
// underscores, without a suffix that has a meaning in JSON.
func columnName(s string) bool {
	if len(s) == 0 || len(s) > 32 || strings.HasSuffix(s, "_hex") || strings.HasSuffix(s, "_plain") || strings.HasSuffix(s, "_name") || strings.HasSuffix(s, TextSuffix) {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '_' })
}

// Enum reads a byte whose values the catalog lists, and reports one that is not
// among them.
func Enum(r *Reader, f *Field) uint8 {
	v := r.U8(f)
	if r.state != failed && f.NameOf(uint64(v)) == "" {
		r.undefined(f, v)
	}
	return v
}

// Flag reads a byte that is 0 or 1, and reports any other value. Values from 1
// up are true.
func Flag(r *Reader, f *Field) bool {
	v := r.U8(f)
	if v > 1 {
		r.undefined(f, v)
	}
	return v != 0
}

// undefined reports the byte that was read last.
func (r *Reader) undefined(f *Field, v uint8) { r.Find(Undefined, f, r.off-1, 1, Str(f.key), Num(v)) }

// Explain sets the number of the text that was read last, or of the text that was
// read back leaves before it. The field then shows the name of that number.
func Explain(r *Reader, back int, num uint64) {
	if i := len(r.nodes) - 1 - back; r.want && !r.Failed() && i >= 0 {
		r.nodes[i].Num = num
	}
}

// A Privacy says what a field reveals about people and servers, and so how its value is replaced in a capture that is to be
// shared. It is an [Option]. Text has to state it: Protocol.Validate refuses text that does not. For other fields, the kind decides
// unless the declaration states it: [Bytes] are Opaque, an [ID] is a SteamID, an [Endpoint] an Address, a [Decimal] a Cell, and numbers are Public.
type Privacy uint8

const (
	// Unstated is that of text whose declaration forgot it.
	Unstated Privacy = iota
	// Public reveals nothing: numbers, words of the protocol, and information about the game rather than about a person or a server.
	Public
	// PersonName is the name of a player or of a group of players.
	PersonName
	// PersonID is text that identifies a player: hashes, identifiers.
	PersonID
	// SteamID is a SteamID of 64 bits.
	SteamID
	// FreeText is text written by people: console, chat, logs.
	FreeText
	// ServerText is text that identifies a server or was written by its operator.
	ServerText
	// GameName is the name of a game, or another text in its place.
	GameName
	// Token is a number or a text that one side chose and the other returns.
	Token
	// Key is a password, a key or a ticket. Fields that are [Secret] have it.
	Key
	// Address is an address, in bytes or in text. HexAddress is one of IPv4 and a port in hexadecimal digits.
	Address
	HexAddress
	// Opaque are bytes of unknown meaning.
	Opaque
	// SettingName is the name of a setting. Setting is its value: the name says what it reveals.
	SettingName
	Setting
	// Word is a word of the protocol. The value after it may depend on it; see [ByKey].
	Word
	// Cell is a value in a column: the name of the column says what it reveals.
	Cell
	// Repeated is a cut value that a later part repeats in full.
	Repeated
	// Checksum is one of what follows, joined, decompressed or decrypted where it is in parts, packed or encrypted.
	// One of four bytes is the CRC-32, little-endian.
	Checksum
	// Console is what an engine prints: sentences of its own with texts of people in them.
	Console
	// Carrier are bytes that are decoded from another source; see [Becomes].
	Carrier
)

func (p Privacy) declare(f *Field) { f.Privacy = p }

// ByKey declares a value whose privacy depends on the key or the word before it. It is [Public] if privacy does not have the key.
func ByKey(privacy map[string]Privacy) Option {
	return option(func(f *Field) { f.Privacy, f.Keyed = Setting, privacy })
}

// Becomes declares bytes that are decoded from a source of another name: parts from "joined", packed bytes from what they were unpacked to.
func Becomes(source string) Option {
	return option(func(f *Field) { f.Privacy, f.Becomes = Carrier, source })
}

// settle states the privacy of a field whose declaration leaves it to its kind.
func (f *Field) settle() {
	switch {
	case f.Secret && f.Privacy != Carrier:
		f.Privacy = Key
	case f.Privacy != Unstated:
	case f.Framing:
		f.Privacy = Public // of the transport of the message
	case f.Kind != String:
		f.Privacy = byKind[f.Kind]
	}
}

var byKind = [...]Privacy{
	Bytes: Opaque, Uint: Public, Int: Public, Float: Public, Bool: Public, Char: Public, ID: SteamID, Decimal: Cell, Endpoint: Address, Group: Public, List: Public,
}

// Hidden returns a field that replaces f where its value is a secret.
func (f *Field) Hidden() *Field {
	h := *f
	h.Secret, h.Column = true, f
	h.form = h.formOf()
	if h.Privacy == Public {
		h.Privacy = Key
	}
	return &h
}
