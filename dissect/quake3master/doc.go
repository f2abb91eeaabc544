// Package quake3master dissects what Quake 3 and its descendants say to and hear
// from their master servers: getservers and getserversExt with their replies,
// and the heartbeats of servers.
//
// A list comes in as many replies as it needs, all to one request; most masters
// mark the end of the last one. The masters of the games differ in how entries
// stand in a reply; which of the ways it is, is decided by what fits.
//
// The master asks a server that sent a heartbeat with getinfo, and the server
// answers with infoResponse: those two are package quake3, whoever sends them.
//
// Sources: dpmaster's techinfo.txt; ioquake3 (cl_main.c, sv_main.c); Tremulous
// (cl_main.c); qstat and pyq3serverlist for the masters of Elite Force and Call
// of Duty; recorded traffic.
package quake3master
