// Package dissect turns UDP payloads of game-server queries into messages.
//
// The engine knows no protocol. Each protocol has a package below this one, and
// [github.com/qdissect/qdissect/dissect/all] lists them. To decode a single payload,
// call Parse of the protocol's package. To dissect conversations, make an [Analyzer]
// and pass it datagrams in the order of their capture. It detects the protocol by
// content rather than by port, joins split messages, decompresses them, decodes the
// fields and matches replies with requests. It passes each message to a [Handler] as
// a [Record], with a [Finding] for everything that is wrong or noteworthy.
//
// Everything passed to a handler is borrowed: it is valid until the handler returns.
// State is bounded by [Limits] for any input. The package reads no clock; time is
// that of the datagrams. A length or count on the wire is compared with the bytes
// that are present before it is used.
//
// A protocol is a [Protocol] value: a detector, a decoder, and a catalog of [Field],
// [MessageType] and [FindingType] values, from which trees, JSON and documentation
// are made. A decoder is straight-line code on a [Reader], which returns values and
// records the tree on request. docs/adding-a-protocol.md shows how to write one.
package dissect
