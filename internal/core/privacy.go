package core

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
