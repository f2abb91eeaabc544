// Package doom3 dissects the connectionless messages of the Doom 3 engine and
// of the games made with it: Doom 3, Quake 4, Prey, Enemy Territory: Quake Wars
// and Wolfenstein of 2009. They are queries of servers and of master servers,
// the remote console, and what a game client says before it is connected.
//
// A message is FF FF, a word with a zero byte behind it, and what belongs to
// the word. Numbers are little-endian, ports as well, which no other engine
// does. The word is compared without case.
//
// The reply to getInfo differs from game to game, and no field says how: see
// layout.go.
//
// Sources: the sources of Doom 3 and of dhewm3 (neo/framework/async), the game
// code of Quake Wars, qstat (doom3.c), with what recorded replies show.
package doom3
