// Package quakeworld dissects the connectionless messages of QuakeWorld and
// HexenWorld servers, of the proxies qwfwd and QTV, and of the clients that ask
// them.
//
// A message is FF FF FF FF (HexenWorld: five times FF) and text. A request is a
// word with arguments, with a line end, a zero byte or nothing after it:
//
//	status [bits]  ping  k  getchallenge  connect  rcon  log  laststats  lastscores  qtvusers  dlist ...
//
// A reply is a letter and what the letter announces. 'n' is text: a status, or
// whatever else a server prints. 'c' is a challenge, 'j' accepts a client. The
// replies to ping and to log are a single byte without the header ('l', 'm').
// Text longer than about 1,340 bytes comes in several datagrams, each of them
// with the header and 'n' again; nothing numbers them. Numbers are text, those
// after a challenge little-endian.
//
// Sources: mvdsv (sv_main.c, sv_send.c), qstat, gamedig (quake1.js), and
// recorded traffic.
package quakeworld
