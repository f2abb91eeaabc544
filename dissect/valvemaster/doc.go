// Package valvemaster dissects the messages to and from Valve's master servers. Clients
// ask for addresses of game servers, and game servers announce themselves. The protocol
// was used by the masters of WON (1998 to 2004) and of Steam, for GoldSrc and Source,
// and is used by today's private masters for old games and for Xash3D.
//
// A request is a letter and its arguments, without a header, so that many requests are
// recognised only by their port or by their reply. A reply begins with FF FF FF FF, a
// letter and a new line. Challenges are little-endian, ports of addresses are
// big-endian.
//
// Sources: "Master Server Query Protocol" of the Valve Developer Community. The names
// of messages are those of the engine (common/proto_oob.h). The forms of WON and
// Xash3D, which the document lacks, follow old clients, xash3d-master and recorded
// traffic.
package valvemaster
