// Package envelope lists the keys that a line of output has beside the fields of a protocol. The JSON and its schema, filters and
// columns, trees, tables and the script for Wireshark are made from this list.
package envelope

import (
	"bytes"
	"unsafe"

	"github.com/qdissect/qdissect/dissect"
)

// A Kind is the type of the value of a key.
type Kind uint8

const (
	// Frame is the number of a frame; Ordinal any other number from 1 on.
	Frame Kind = iota
	Ordinal
	// Count is a number of bytes or parts, ID one of 64 bits, Signed one that may be negative.
	Count
	ID
	Signed
	// Nanoseconds is a duration.
	Nanoseconds
	// Flag is true or false. Mark is true or absent.
	Flag
	Mark
	// Moment is a time, Address one of IP, Port one of UDP, VLAN the identifier of a VLAN.
	Moment
	Address
	Port
	VLAN
	// Word is text of few different values, Text any other text, Hex bytes.
	Word
	Text
	Hex
	// Object holds Fields.
	Object
)

// Lines is a set of kinds of lines.
type Lines uint8

const (
	// Message is a line of a message, Answer of one that answers a request.
	Message Lines = 1 << iota
	Answer
	// Unknown is that of an unrecognised datagram, Finding that of a finding that belongs to no message.
	Unknown
	Finding
	// Exchange is a line that says what became of a request.
	Exchange

	all      = Message | Unknown | Finding | Exchange
	datagram = Message | Unknown
)

// A Key is a key of the envelope. A new one needs a name, a kind, the lines that have it, docs and a reader; all outputs then have it.
type Key struct {
	Name string
	Kind Kind
	// List says that the value is a list of the kind, of at least Least elements.
	List  bool
	Least int
	// In are the lines that may have the key, Always those that always have it.
	In, Always Lines
	// Varies says that it differs between two recordings of a conversation.
	Varies bool
	// Doc is for filters: a phrase. Schema is for the JSON Schema and TreeDoc for Wireshark: sentences.
	Doc, Schema, TreeDoc string
	// Tree is the name in trees, if it is not Name; "-" is none.
	Tree string
	// Pattern is that of a text, for the schema.
	Pattern string
	// Fields are those of an Object.
	Fields []Key
	// OfMessage and OfFinding read the value of a number or a Mark. A key without a reader is one that the
	// outputs write in forms of their own: addresses, times, texts, lists and objects.
	OfMessage func(*dissect.Record) (v uint64, ok bool)
	OfFinding func(*dissect.FlowFinding) (v uint64, ok bool)
	// OfExchange does so for exchanges, and WordOfExchange for a word, "" if there is none.
	OfExchange     func(*dissect.Exchange) (v uint64, ok bool)
	WordOfExchange func(*dissect.Exchange) string
	// OfServer reads a fact about a server.
	OfServer func(*dissect.Server) Fact
}

// A Fact is what a reply states about its server: a text, a number, or 1 and 0 for yes and no.
type Fact struct {
	Stated bool
	Number int
	Text   string
	style  dissect.Style
}

// AppendText appends the text of a fact in UTF-8, without colour codes.
func (f *Fact) AppendText(dst []byte, s *dissect.Server) []byte {
	n := len(dst)
	if dst = f.style.AppendPlain(dst, unsafe.Slice(unsafe.StringData(f.Text), len(f.Text))); !s.Charset.IsUTF8(dst[n:]) {
		return s.Charset.AppendUTF8(dst[:n], bytes.Clone(dst[n:]))
	}
	return dst
}

func fact(v dissect.Opt[string], style dissect.Style) Fact { return Fact{v.OK, 0, v.Value, style} }

func amount(v dissect.Opt[int]) Fact { return Fact{Stated: v.OK, Number: v.Value} }

func replyName(x *dissect.Exchange) string {
	if x.Reply == nil {
		return ""
	}
	return x.Reply.Name
}

func fromIP(x *dissect.Exchange) string {
	if !x.From.IsValid() {
		return ""
	}
	return x.From.Addr().String()
}

// Keys are the keys in the order of the JSON.
var Keys = []Key{
	{Name: "frame", Kind: Frame, Varies: true, In: all, Always: all, Doc: "any frame of the message", Schema: "Number of the frame in its file."},
	{Name: "frames", Kind: Frame, Varies: true, List: true, Least: 2, In: datagram, Doc: "all frames of a message in several"},
	{Name: "time", Kind: Moment, Varies: true, In: all, Doc: "when the last frame was captured"},
	{Name: "src_ip", Kind: Address, Varies: true, In: all, Doc: "address of the sender"},
	{Name: "src_port", Kind: Port, Varies: true, In: all, Doc: "port of the sender"},
	{Name: "dst_ip", Kind: Address, Varies: true, In: all, Doc: "address of the receiver"},
	{Name: "dst_port", Kind: Port, Varies: true, In: all, Doc: "port of the receiver"},
	{Name: "flow_id", Kind: Text, Varies: true, In: all, Doc: "Community ID of the conversation", Pattern: `^1:[A-Za-z0-9+/]{27}=$`,
		Schema: "Community ID, version 1 with seed 0: the same in both directions. Absent where the ports are not known."},
	{Name: "interface", Kind: Word, Varies: true, In: all, Doc: "name of the interface, where there are several",
		Schema: "Interface that captured it, where there are several or the capture is live."},
	{Name: "vlan", Kind: VLAN, Varies: true, In: all, Doc: "identifier of the VLAN", Schema: "Identifier of the VLAN, of the outermost if there are several."},
	{Name: "over_tcp", Kind: Mark, In: Message | Finding | Exchange, Doc: "it came over TCP", Schema: "It came over TCP, in the connection between these ports.", TreeDoc: "The message came over TCP.",
		OfMessage:  func(r *dissect.Record) (uint64, bool) { return 1, r.Protocol.OverTCP() },
		OfFinding:  func(f *dissect.FlowFinding) (uint64, bool) { return 1, f.Protocol.OverTCP() },
		OfExchange: func(x *dissect.Exchange) (uint64, bool) { return 1, x.Protocol.OverTCP() }},
	{Name: "protocol", Kind: Word, In: all, Always: datagram | Exchange, Doc: "the protocol, or one of the alternatives"},
	{Name: "message", Kind: Word, In: Message | Exchange, Always: Message | Exchange, Doc: "name of the message"},
	{Name: "role", Kind: Word, In: Message, Always: Message, Doc: "request, reply or notice"},
	{Name: "length", Kind: Count, In: datagram, Always: datagram, Doc: "bytes of the message, joined and decompressed",
		Schema: "Bytes of the message, joined and decompressed."},
	{Name: "wire_length", Kind: Count, In: datagram, Always: datagram, Doc: "bytes of the UDP payloads that carried it",
		Schema: "Bytes of the UDP payloads that carried it."},
	{Name: "detect", Kind: Word, Varies: true, In: Message, Always: Message, Doc: "why it was taken for the protocol"},
	{Name: "split", Kind: Object, In: Message, Doc: "it came in parts", Fields: []Key{
		{Name: "variant", Kind: Word, Always: Message, Doc: "format of the headers of the parts", Schema: "Format of the split headers."},
		{Name: "id", Kind: ID, Varies: true, Always: Message, Doc: "number that the parts share", Schema: "Number that the parts share."},
		{Name: "parts", Kind: Count, Always: Message, Doc: "number of parts that came", Schema: "Number of parts that came."},
		{Name: "compressed", Kind: Flag, Always: Message, Doc: "the message was compressed"},
		{Name: "missing", Kind: Ordinal, List: true, Doc: "numbers of the parts that did not come",
			Schema: "Numbers, from 1, of the parts that did not come. If the parts do not say how many they are, the last number stands for all after the highest that came. Only if the message stayed incomplete."},
	}},
	{Name: "outcome", Kind: Word, In: Exchange, Always: Exchange, WordOfExchange: func(x *dissect.Exchange) string { return x.Outcome.String() }},
	{Name: "proof", Kind: Word, In: Exchange, Always: Exchange, WordOfExchange: func(x *dissect.Exchange) string { return x.Proof.String() }},
	{Name: "sent", Kind: Count, In: Exchange, Always: Exchange, Schema: "Requests of which this is said: more than one if a client sends the same one more than eight times.",
		OfExchange: func(x *dissect.Exchange) (uint64, bool) { return uint64(x.Requests), true }},
	{Name: "replies", Kind: Count, In: Exchange, Always: Exchange, Schema: "Replies to them.",
		OfExchange: func(x *dissect.Exchange) (uint64, bool) { return uint64(x.Replies), true }},
	{Name: "reply", Kind: Word, In: Exchange, Schema: "Name of the first reply.", WordOfExchange: replyName},
	{Name: "reply_frame", Kind: Frame, In: Exchange, Schema: "Frame of the first reply.",
		OfExchange: func(x *dissect.Exchange) (uint64, bool) { return x.ReplyFrame, x.ReplyFrame > 0 }},
	{Name: "from_ip", Kind: Address, In: Exchange, Schema: "Address that the reply came from, if that is elsewhere.", WordOfExchange: fromIP},
	{Name: "from_port", Kind: Port, In: Exchange,
		OfExchange: func(x *dissect.Exchange) (uint64, bool) { return uint64(x.From.Port()), x.From.IsValid() }},
	{Name: "request_frame", Kind: Frame, In: Answer, Doc: "frame of the request that it answers", Tree: "-",
		OfMessage: func(r *dissect.Record) (uint64, bool) { return r.RequestFrame, r.RequestFrame > 0 }},
	{Name: "rtt_ns", Kind: Nanoseconds, Varies: true, In: Answer | Exchange, Doc: "time from the request to the reply", Schema: "From the request to the first part of the reply, if it is known.",
		Tree: "rtt", TreeDoc: "Time from the request to the first part of its reply.",
		OfMessage:  func(r *dissect.Record) (uint64, bool) { return uint64(r.RTT), r.RequestFrame > 0 && r.TimeKnown },
		OfExchange: func(x *dissect.Exchange) (uint64, bool) { return uint64(x.First), x.Timed }},
	{Name: "request_bytes", Kind: Count, In: Exchange, Always: Exchange, Schema: "Bytes of the UDP payload of the request.",
		OfExchange: func(x *dissect.Exchange) (uint64, bool) { return uint64(x.RequestBytes), true }},
	{Name: "reply_bytes", Kind: ID, In: Exchange, Always: Exchange, Schema: "Bytes of the UDP payloads of all replies.",
		OfExchange: func(x *dissect.Exchange) (uint64, bool) { return uint64(x.ReplyBytes), true }},
	{Name: "rtt_ambiguous", Kind: Mark, In: Answer, Doc: "the request was repeated, so that the time is not known",
		Schema:    "The request was repeated: which sending this answers, and after what time, cannot be told.",
		TreeDoc:   "The request was repeated, so that the round-trip time is not known.",
		OfMessage: func(r *dissect.Record) (uint64, bool) { return 1, r.RequestFrame > 0 && !r.TimeKnown && r.Ambiguous }},
	{Name: "alternatives", Kind: Text, List: true, Least: 1, In: Message | Finding, Doc: "other protocols that the message may be of",
		Schema: "Other protocols that the message could be of: neither its bytes nor the conversation nor a port decides."},
	{Name: "icmp_frame", Kind: ID, In: Finding, Doc: "frame of the ICMP error that a finding is about", Schema: "Frame of the ICMP error that says it.", Tree: "-",
		OfFinding: func(f *dissect.FlowFinding) (uint64, bool) { return f.ICMPFrame, f.ICMPFrame > 0 }},
	{Name: "summary", Kind: Text, In: datagram, Always: Message, Doc: "the text of the message in a line"},
	{Name: "data", Kind: Hex, In: Unknown, Always: Unknown, Doc: "the payload of an unknown datagram (--all)"},
	{Name: "server", Kind: Object, In: Message | Exchange, Doc: "a reply that describes a server", Fields: []Key{
		{Name: "name", Kind: Word, Doc: "name of the server, without colour codes", Schema: "Host name or message of the day, without colour codes.",
			TreeDoc: "Name of the server, without colour codes.", OfServer: func(s *dissect.Server) Fact { return fact(s.Name, s.Style) }},
		{Name: "map", Kind: Word, Doc: "map being played", Schema: "Map being played.",
			TreeDoc: "Map.", OfServer: func(s *dissect.Server) Fact { return fact(s.Map, dissect.NoStyle) }},
		{Name: "game", Kind: Word, Doc: "game directory, mod or name", Schema: "Game directory, mod or name.",
			TreeDoc: "Game, mod or directory of the game.", OfServer: func(s *dissect.Server) Fact { return fact(s.Game, s.Style) }},
		{Name: "version", Kind: Word, Doc: "version of the game", Schema: "Version of the game.",
			TreeDoc: "Version.", OfServer: func(s *dissect.Server) Fact { return fact(s.Version, dissect.NoStyle) }},
		{Name: "players", Kind: Signed, Doc: "number of players",
			TreeDoc: "Number of players.", OfServer: func(s *dissect.Server) Fact { return amount(s.Players) }},
		{Name: "max_players", Kind: Signed, Doc: "maximum number of players",
			TreeDoc: "Maximum number of players.", OfServer: func(s *dissect.Server) Fact { return amount(s.MaxPlayers) }},
		{Name: "bots", Kind: Signed, Doc: "number of bots",
			TreeDoc: "Number of bots.", OfServer: func(s *dissect.Server) Fact { return amount(s.Bots) }},
		{Name: "password", Kind: Flag, Doc: "whether a password is needed to join", TreeDoc: "A password is needed to join.",
			OfServer: func(s *dissect.Server) Fact {
				if s.Password.Value {
					return Fact{Stated: s.Password.OK, Number: 1}
				}
				return Fact{Stated: s.Password.OK}
			}},
	}},
	{Name: "findings", Kind: Object, List: true, Least: 1, In: Message | Finding, Always: Finding, Doc: "there are findings, also of chat, which text does not show", Fields: []Key{
		{Name: "id", Kind: Word, Always: Message, Doc: "identifier of a finding", Schema: "See qdissect protocols --findings."},
		{Name: "severity", Kind: Word, Always: Message, Doc: "chat, note, warning or error, in this order"},
		{Name: "text", Kind: Text, Always: Message, Doc: "text of a finding"},
		{Name: "field", Kind: Word, Doc: "key of the field that it is about", Schema: "Key of the field that it is about."},
		{Name: "offset", Kind: Count, Doc: "byte at which it is", Schema: "Byte of the data source at which it is."},
		{Name: "length", Kind: Count, Doc: "bytes that it is about", Schema: "Bytes that it is about."},
	}},
}

// Read returns the keys with a reader that lines may have.
func Read(in Lines) (list []*Key) {
	for i := range Keys {
		k := &Keys[i]
		switch both := k.In & in; {
		case both&(Message|Answer) != 0 && k.OfMessage != nil, both&Finding != 0 && k.OfFinding != nil,
			both&Exchange != 0 && (k.OfExchange != nil || k.WordOfExchange != nil):
			list = append(list, k)
		}
	}
	return list
}

// Lookup returns the key with a name, that of an object and of a field in it joined by a dot; nil if there is none.
func Lookup(name string) *Key {
	for i := range Keys {
		k := &Keys[i]
		if k.Name == name {
			return k
		}
		if len(name) > len(k.Name) && name[:len(k.Name)] == k.Name && name[len(k.Name)] == '.' {
			for j := range k.Fields {
				if k.Fields[j].Name == name[len(k.Name)+1:] {
					return &k.Fields[j]
				}
			}
		}
	}
	return nil
}

// TreeName returns the name in trees, "" if trees do not have the key.
func (k *Key) TreeName() string {
	switch k.Tree {
	case "":
		return k.Name
	case "-":
		return ""
	}
	return k.Tree
}
