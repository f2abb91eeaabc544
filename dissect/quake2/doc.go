// Package quake2 dissects the connectionless messages of Quake 2 and of the games
// on its engine: Yamagi Quake II, Q2Pro, R1Q2, Kingpin, Heretic II, Soldier of
// Fortune, Daikatana, Alien Arena; and the short info of Warsow and Warfork.
//
// A message is FF FF FF FF and a word. A request has arguments after it on the
// same line, and a line end, a zero byte or nothing at the end:
//
//	status  info PROTOCOL  ping  getchallenge  connect ...  rcon ...
//
// The word of a reply ends its line; what it announces follows:
//
//	print\n\key\value...\n and a line for each player: the reply to status
//	print\n and any text: output of a remote command, or a refusal
//	info\n and a line of fixed width: name, map, players/places
//	ack    challenge NUMBER p=34,35,36    client_connect ...
//
// Sources: Yamagi Quake II (sv_conless.c, sv_main.c), Warfork (sv_oob.c), qstat,
// gamedig (quake2.js), and recorded traffic.
package quake2
