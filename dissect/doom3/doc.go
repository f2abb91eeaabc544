// Package doom3 dissects the connectionless messages of the Doom 3 engine and its
// games: Doom 3, Quake 4, Prey, Enemy Territory: Quake Wars and Wolfenstein (2009).
// They are queries of servers and of master servers, the remote console, and the
// messages by which a client connects.
//
// A message is FF FF, a word with a zero byte, and the word's arguments. Numbers are
// little-endian; unlike in any other engine, ports are too. Words are compared without
// case.
//
// The reply to getInfo differs from game to game, and no field says how; see layout.go.
//
// Sources: the sources of Doom 3 and of dhewm3 (neo/framework/async), the game code of
// Quake Wars, qstat (doom3.c), and recorded replies.
package doom3
