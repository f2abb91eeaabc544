// Package cube dissects the queries of games with the Cube engines: Sauerbraten,
// AssaultCube, Red Eclipse, Blood Frontier, Tesseract.
//
// A request is a few numbers, the first of which the client chose, usually its time. If
// that is 0, the second one says what is asked for (extended infos); otherwise the data of
// the server is. A reply begins with the bytes of the request, whatever they are, so that
// nothing else tells the two apart: a datagram is a reply if it begins with a request that
// waits for one, or if what follows some of its numbers is a reply to the end. The games
// have their data in different orders. Tesseract is queried on the port of the game: its
// requests begin with FF FF, which its replies do not repeat.
//
// Sources: recorded traffic of Sauerbraten and Red Eclipse; the servers of Sauerbraten
// (server.cpp, extinfo.h), AssaultCube (serverms.cpp, server.cpp), Red Eclipse
// (server.cpp) and Tesseract (server.cpp).
package cube
