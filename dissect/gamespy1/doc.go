// Package gamespy1 dissects the first GameSpy protocol: text queries such as \status\,
// which Unreal, Unreal Tournament, Battlefield 1942, Medal of Honor: Allied Assault,
// Operation Flashpoint and several dozen games of 1997 to 2004 answer, and the
// heartbeats that announce their servers to a master.
//
// A request is one or more words between backslashes: \info\\players\. A reply is keys
// and values, each after a backslash, without a header. Keys of a player end with the
// player's number (\frags_3\12). Replies that exceed a datagram are cut between two
// pairs. Each datagram has \queryid\N.M: N is the number that the server gave to the
// request, and M counts the datagrams from 1. The last datagram has the key final,
// before or after the queryid; only it shows how many there are.
//
// Text is Latin-1 (Windows-1252) or, from newer servers, UTF-8.
//
// Sources: "A gameserver Query Library" for the requests and the numbered keys;
// GameSpy's Query & Reporting SDK, which most games contain, Unreal's UdpServerQuery,
// Descent 3 and recorded traffic for the rest. Where servers differ, comments name
// them.
package gamespy1
