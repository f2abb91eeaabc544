// Package a2s dissects the server queries of Valve's engines: Source, GoldSrc,
// The Ship, SiN 1 Multiplayer and Rag Doll Kung Fu, and of the many other
// engines that answer them.
//
// A query is one datagram that begins with FF FF FF FF and a letter. Replies
// longer than a datagram are split by the engine into parts that begin with FE
// FF FF FF, and may be compressed with bzip2 before; see [Parse] for one
// message and the analyzer of package dissect for whole conversations.
//
// Numbers are little-endian. Text ends with a zero byte; it is UTF-8 on modern
// servers and the code page of the machine on old ones.
//
// Sources: "Server queries" of the Valve Developer Community and "The Ship" of
// the steam-condenser wiki, with what recorded traffic of real servers shows.
// Where the two differ, comments say so.
package a2s
