// Package reassembly joins messages that were sent in pieces and arrive in any order.
//
// Two state machines share one [Budget]: [Parts] joins pieces that carry an index (the
// split packets of Valve's engines, GameSpy 1 and GameSpy 3), and [Ranges] joins pieces
// that carry a byte offset (IPv4 and IPv6 fragments). Time is passed in; neither reads a
// clock. Both hold no more than their [Limits] allow, evict the oldest sets first, and
// report every set that they give up, with the reason.
//
// The package knows no protocol. The caller says what a piece is, which set it belongs to
// and where its data begins.
//
// A piece is copied when it is held. The results of [Parts.Add] and [Ranges.Add] are
// borrowed: they are valid until the next call of any method of the same table.
package reassembly
