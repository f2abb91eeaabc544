// Package reassembly joins what was sent in pieces and arrives in any order.
//
// Two state machines share one [Budget]: [Parts] joins pieces that carry an
// index (the split packets of Valve's engines, GameSpy 1 and GameSpy 3), and
// [Ranges] joins pieces that carry a byte offset (IPv4 and IPv6 fragments).
// Both are driven by the time that is handed in, never by a clock, hold no
// more than their [Limits] allow, put out the oldest first when they reach
// them, and report whatever they put out, with the reason.
//
// Nothing here knows a protocol. What a piece is, which set it belongs to and
// where its data begins is told by the caller.
//
// A piece is copied when it is held. What [Parts.Add] and [Ranges.Add] return
// is borrowed and dies at the next call of any method of the same table.
package reassembly
