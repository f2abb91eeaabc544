// Package ase dissects the queries of The All-Seeing Eye: the letter s, to which Multi
// Theft Auto, Far Cry, Painkiller, Soldat, Age of Empires II and others reply with all
// data of a server, and the shorter queries of Multi Theft Auto's own browser. The
// query port is the game's port plus 123.
//
// A reply is EYE1 and a sequence of texts, each after a byte with its length. The
// length counts itself: an empty text is the byte 01. There is no other structure. The
// length of a text of 255 bytes or more does not fit; servers send its lower eight
// bits, and clients lose their position. This package finds the position again where
// the following data allows it.
//
// Multi Theft Auto sends replies of more than 1364 bytes whole, in IP fragments. Older
// servers send them in datagrams of 1364 bytes with a number in the fourth byte, so
// that the second one begins with EYE2 like a short reply of Multi Theft Auto.
//
// Text is UTF-8 or, from older servers, Latin-1 (Windows-1252). Numbers are
// little-endian.
//
// Sources: "A gameserver Query Library", The All Seeing Eye; the query code of Multi
// Theft Auto's server; qstat for replies in several datagrams; recorded traffic.
package ase
