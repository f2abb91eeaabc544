// Package dissect turns UDP payloads of game-server queries into messages.
//
// It is the engine, and knows no protocol: each has a package of its own below
// this one, and [github.com/qdissect/qdissect/dissect/all] lists them. Whoever
// has a single payload calls the Parse of its protocol's package. Whoever has a
// conversation makes an [Analyzer] and gives it datagrams in the order in which
// they were captured. It recognises their protocol, by what they say rather than
// by their ports; puts together what was split, and unpacks what was compressed;
// reads the fields; finds the request that a reply answers; and tells a
// [Handler] of each message in a [Record], and of what is wrong in a [Finding].
//
// What a handler is given is borrowed: it dies when the handler returns. State is
// bounded by [Limits], whatever comes. There is no clock here: time is that of
// the datagrams. Nothing is ever done about a field's claim before it has been
// held against the bytes that are there.
//
// A protocol is a [Protocol] value: a detector, a decoder, and a catalog of
// [Field], [MessageType] and [FindingType] values, from which the trees, the
// JSON and the documentation come. A decoder is straight-line code on a
// [Reader], which gives out values and keeps the tree, if anybody wants it.
// docs/adding-a-protocol.md shows how one is made.
package dissect
