// Package gamespy1 dissects the first GameSpy protocol, in text: \status\ and
// its relatives, which Unreal, Unreal Tournament, Battlefield 1942, Medal of
// Honor: Allied Assault, Operation Flashpoint and several dozen games of 1997
// to 2004 answer, and the heartbeats by which their servers make themselves
// known to a master.
//
// A request is one or more words between backslashes: \info\\players\. A reply
// is keys and values, each behind a backslash, without any header: what is of
// one player carries the player's number at the end of the key (\frags_3\12).
// Replies over the size of a datagram are cut between two pairs. Each datagram
// says \queryid\N.M: N is the number that the server gave to the request, M
// counts the datagrams from 1, and the last one has the key final, before or
// behind it. How many there are is known from that one alone.
//
// Text is Latin-1 (Windows-1252) or, from newer servers, UTF-8.
//
// Sources: "A gameserver Query Library" names the requests and the numbered
// keys. The rest is what servers send and clients read: the Query & Reporting
// SDK of GameSpy, which most games contain, Unreal's UdpServerQuery, Descent 3,
// and recorded traffic. Where servers differ, comments name them.
package gamespy1
