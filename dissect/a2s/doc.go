// Package a2s dissects the server queries of Valve's engines: Source, GoldSrc, The
// Ship, SiN 1 Multiplayer and Rag Doll Kung Fu, and of the many other engines that
// answer them.
//
// A query is one datagram that begins with FF FF FF FF and a letter. The engine splits
// a reply that is longer than a datagram into parts that begin with FE FF FF FF; before
// that it may compress the reply with bzip2. [Parse] decodes a single message, the
// analyzer of package dissect a whole conversation.
//
// Numbers are little-endian. Text ends with a zero byte. It is UTF-8 on modern servers
// and in the code page of the machine on old ones.
//
// Sources: "Server queries" of the Valve Developer Community, "The Ship" of the
// steam-condenser wiki, and recorded traffic of real servers. Comments say where
// traffic and documents differ.
package a2s
