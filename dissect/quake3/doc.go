// Package quake3 dissects the messages that Quake 3 and its many descendants
// send outside of a connection: the queries getstatus and getinfo with their
// replies, the remote console, and what a client and a server say before they
// are connected. Jedi Outcast, Jedi Academy, Return to Castle Wolfenstein, Enemy
// Territory, Soldier of Fortune II, Elite Force, Medal of Honor, Call of Duty,
// Urban Terror, OpenArena, Tremulous, Warsow, Nexuiz, Xonotic and FiveM speak it.
//
// A message is FF FF FF FF and a word; Medal of Honor has a byte between the two
// that says who sends. Words are compared without case, as the engines do. Text
// behind the word is cut at blanks, with quotation marks around what holds some.
//
// Masters and their lists of servers are package quake3master.
//
// Sources: ioquake3 and the games' published sources (sv_main.c, sv_client.c,
// cl_main.c, net_chan.c), dpmaster's techinfo.txt, "A gameserver Query Library",
// and recorded traffic of the games above.
package quake3
