// Package valvemaster dissects what is said to Valve's master servers and by
// them: clients ask for addresses of game servers, game servers tell that they
// are there. The masters of WON (1998 to 2004), of Steam for GoldSrc and Source,
// and those that others run today for old games and for Xash3D speak it.
//
// A request is a letter and what belongs to it; it begins like nothing else, so
// that many are known only by their port, or by what comes back. A reply begins
// with FF FF FF FF, a letter and a new line. Challenges are little-endian, the
// ports of addresses are big-endian.
//
// Sources: "Master Server Query Protocol" of the Valve Developer Community; the
// names of messages are those of the engine (common/proto_oob.h). What the
// document lacks, the forms of WON and of Xash3D, is that of old clients, of
// xash3d-master, and of recorded traffic.
package valvemaster
