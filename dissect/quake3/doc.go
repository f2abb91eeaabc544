// Package quake3 dissects the connectionless messages of Quake 3 and its many
// descendants: the queries getstatus and getinfo with their replies, the remote
// console, and the messages by which a client connects. Jedi Outcast, Jedi Academy,
// Return to Castle Wolfenstein, Enemy Territory, Soldier of Fortune II, Elite Force,
// Medal of Honor, Call of Duty, Urban Terror, OpenArena, Tremulous, Warsow, Nexuiz,
// Xonotic and FiveM use it.
//
// A message is FF FF FF FF and a word. In Medal of Honor a byte between the two names
// the sender. Words are compared without case, as the engines do. Blanks separate the
// arguments after the word; an argument that contains blanks is in quotation marks.
//
// Package quake3master has the master servers and their lists.
//
// Sources: ioquake3 and the games' published sources (sv_main.c, sv_client.c,
// cl_main.c, net_chan.c), dpmaster's techinfo.txt, "A gameserver Query Library", and
// recorded traffic of the games above.
package quake3
