// Package display implements the expressions of -Y.
//
// An expression selects messages, unknown datagrams and findings. Its names are the
// paths of the JSON output, and docs/filter.md describes the language for users:
//
//	protocol == a2s and message == info_reply
//	server.map == "de_dust2" or players > 20
//	a2s.players[*].score > 5
//	finding == a2s.players.count
//	host in {192.0.2.0/24, 2001:db8::/32} and not rtt > 100ms
//
// [Compile] checks names, operators and values against the catalogs of all protocols:
// an expression that could never match is an error. It translates a path into a [read],
// which fetches values from the nodes of a message or from its envelope, and an operator
// with its values into a [cond], which tests one value. Evaluation does not allocate.
//
// The files: lex.go and parse.go read the text; names.go lists the names of the envelope
// and fields.go those of the catalogs; literal.go and cond.go compile comparisons;
// matcher.go evaluates.
package display
