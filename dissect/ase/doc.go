// Package ase dissects the queries of The All-Seeing Eye: the letter s, which
// Multi Theft Auto, Far Cry, Painkiller, Soldat, Age of Empires II and others
// answer with everything about a server, and the shorter forms that Multi Theft
// Auto added for its own browser. Servers take them on the game's port and 123.
//
// A reply is EYE1 and texts, each behind a byte that is its length and counts
// itself: an empty text is the byte 01. There is no other structure. A text of
// 255 bytes or more has a length that does not fit: servers send its lower
// eight bits, and clients lose their place. Where what follows allows it, the
// place is found again here.
//
// Replies over 1364 bytes are sent whole by Multi Theft Auto, in IP fragments;
// older servers send them in datagrams of 1364 bytes whose fourth byte counts
// them, so that the second begins with EYE2 like a short reply of Multi Theft
// Auto.
//
// Text is UTF-8 or, from older servers, Latin-1 (Windows-1252).
//
// Sources: "A gameserver Query Library", The All Seeing Eye; the query code of
// Multi Theft Auto's server; qstat for the form in several datagrams; recorded
// traffic.
package ase
