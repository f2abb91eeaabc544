// Package quake3master dissects the messages between Quake 3, its descendants and their
// master servers: getservers and getserversExt with their replies, and the heartbeats
// of servers.
//
// One request may have several replies. Most masters mark the end of the list in the
// last one. The layout of the entries differs from master to master; the first layout
// that fits is used. Addresses and ports are big-endian.
//
// A master queries a server that sent a heartbeat with getinfo, and the server answers
// with infoResponse. Package quake3 has these two messages.
//
// Sources: dpmaster's techinfo.txt; ioquake3 (cl_main.c, sv_main.c); Tremulous
// (cl_main.c); qstat and pyq3serverlist for the masters of Elite Force and Call of
// Duty; recorded traffic.
package quake3master
