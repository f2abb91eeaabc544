package a2s

import "github.com/qdissect/qdissect/dissect"

// Requests and replies.
var (
	unanswered = &dissect.FindingType{ID: "a2s.noreply", Severity: dissect.Note, Text: "%p unanswered%p",
		Doc: "No reply came within the time that clients wait. The server is down, the port is not its query port, or something on the way drops the request or the reply. Where the same host answers on another port, that port is named."}
	unansweredChallenge = &dissect.FindingType{ID: "a2s.noreply.after_challenge", Severity: dissect.Warning, Text: "%p with the right challenge unanswered%p",
		Doc: "The server gave a challenge, the client used it, and no reply came: a firewall or a rate limit lets short replies pass and drops the long one, or the reply needs IP fragments that do not arrive."}
	unrequested = &dissect.FindingType{ID: "a2s.unrequested", Severity: dissect.Note, Text: "no request seen for this reply",
		Doc: "A reply in a conversation whose requests are in the capture, but none that it answers. A late copy, a request lost by the capture, or a forged packet."}
	several = &dissect.FindingType{ID: "a2s.info.multi", Severity: dissect.Note, Text: "one more reply to the request in frame %d: number %d",
		Doc: "Old GoldSrc servers and dproto or ReHLDS answer one info request with several messages: m, D and I. Clients that expect one take the second for the answer to their next request."}
	challengeRequired = &dissect.FindingType{ID: "a2s.challenge.required", Severity: dissect.Note, Text: "the server wants a challenge with this request",
		Doc: "Since December 2020 servers may answer A2S_INFO with a challenge, to be sent again as 29 bytes. Clients older than that report the server as offline."}
	challengeMissing = &dissect.FindingType{ID: "a2s.challenge.missing", Severity: dissect.Warning, Text: "asked again without the challenge given in frame %d",
		Doc: "The client repeats the short request and ignores the challenge that the server gave. It will never get a reply: it needs an update."}
	challengeMismatch = &dissect.FindingType{ID: "a2s.challenge.mismatch", Severity: dissect.Warning, Text: "challenge %d was not given to this client, the newest one is %d",
		Doc: "The request carries a number that this server did not give to this address: read with the wrong byte order, kept for too long, or taken from another server."}
	challengeRefused = &dissect.FindingType{ID: "a2s.challenge.refused", Severity: dissect.Note, Text: "the server answers a challenge with a challenge",
		Doc: "The request carried a challenge and the server sent one instead of data: it had expired, or a proxy in between gives its own."}
	challengeLoop = &dissect.FindingType{ID: "a2s.challenge.loop", Severity: dissect.Warning, Text: "%d challenges in a row and no data",
		Doc: "The server answers every request with a challenge. Clients that retry for ever load the server, others report it as offline."}
	challengeChanged = &dissect.FindingType{ID: "a2s.challenge.changed", Severity: dissect.Note, Text: "another challenge after %t",
		Doc: "The server gives this client a new number though the last one is young. Requests on their way with the old one will be refused."}
	amplification = &dissect.FindingType{ID: "a2s.amplification", Severity: dissect.Warning, Text: "data without a challenge: %r times the request (%d for %d bytes)",
		Doc: "The server sends much data to an address that has not shown to be real, so it can be abused to flood others. HLTV does this for players and rules, old servers for everything."}
)

// Splits.
var (
	splitMissing = &dissect.FindingType{ID: "a2s.split.missing", Severity: dissect.Failed, Text: "%d of %d parts of a split message came; missing: %p (%p)",
		Doc: "A split message of which not all parts are in the capture: the network lost them, or the capture did. What stands before the first gap is shown as the message it begins; if the first part is missing, or the message is compressed, the parts are shown as data. The request was answered in part."}
	splitDuplicate = &dissect.FindingType{ID: "a2s.split.duplicate", Severity: dissect.Note, Text: "parts that had come already: %d",
		Doc: "The same bytes with the same id came again: the network, the server or the capture doubled them (mirror ports and the interface any do). They are used once. Copies of a message that was complete are reported once of a conversation."}
	splitReorder = &dissect.FindingType{ID: "a2s.split.reorder", Severity: dissect.Note, Text: "the parts did not come in order",
		Doc: "Clients that append parts as they come misread this message."}
	splitConflict = &dissect.FindingType{ID: "a2s.split.conflict", Severity: dissect.Warning, Text: "parts that came again with other bytes: %d; the first ones are used",
		Doc: "Two different parts with the same id and index: the server used an id again, or somebody forges parts."}
	splitTotals = &dissect.FindingType{ID: "a2s.split.totals", Severity: dissect.Warning, Text: "parts with one id state different totals: %p",
		Doc: "The number of parts stands in each of them, and must be the same. The server made a mistake, used an id again at once, or somebody forges parts. The message is taken for complete when as many parts are there as the largest total says; one that stays incomplete is shown by the total that most parts state."}
	splitSizes = &dissect.FindingType{ID: "a2s.split.sizes", Severity: dissect.Warning, Text: "parts with one id state different sizes: %p",
		Doc: "The most bytes that a part can have stand in each of them, and must be the same. The server made a mistake, used an id again at once, or somebody forges parts. The sizes are not used."}
	splitDamaged = &dissect.FindingType{ID: "a2s.split.header", Severity: dissect.Failed, Text: "damaged split header: total %d, index %d",
		Doc: "The header of a part that can have no place in a message: the total is 0, or the index is not below it. The server made a mistake, the bytes were damaged on the way, or somebody sends nonsense."}
	splitHeaderShort = &dissect.FindingType{ID: "a2s.split.header.short", Severity: dissect.Failed, Text: "damaged split header: %d bytes, the shortest has 9",
		Doc: "A datagram begins like a part of a split message and ends within its header. The bytes were cut on the way, or somebody sends nonsense."}
	splitVariant = &dissect.FindingType{ID: "a2s.split.variant", Severity: dissect.Chat, Text: "%p split header, known by %p",
		Doc: "Which of the formats of the split header this is, and what decided it. The document does not say which games use which."}
	splitGuess = &dissect.FindingType{ID: "a2s.split.guess", Severity: dissect.Warning, Text: "the format of the split header is a guess: no message begins in the first part",
		Doc: "Neither FF FF FF FF nor a bzip2 stream stands where the known formats have it."}
	splitBit15 = &dissect.FindingType{ID: "a2s.split.bit15", Severity: dissect.Note, Text: "bit 15 of the split id is set, bit 31 is not",
		Doc: "Only bit 31 says that a message is compressed. Clients that test bit 15, python-a2s up to 1.4 among them, try to decompress this message and fail."}
	splitShort = &dissect.FindingType{ID: "a2s.split.unread", Severity: dissect.Failed, Text: "the parts do not make a message",
		Doc: "All parts are there, and what they make together does not begin like a message."}
	bzipPlain = &dissect.FindingType{ID: "a2s.bz2.plain", Severity: dissect.Warning, Text: "marked as compressed, but it is not",
		Doc: "Bit 31 of the id says that the message is compressed, and a plain message stands there."}
	bzipCRC = &dissect.FindingType{ID: "a2s.bz2.crc", Severity: dissect.Failed, Text: "CRC-32 is %x, the header says %x",
		Doc: "The decompressed message is not what the server packed."}
	bzipSize = &dissect.FindingType{ID: "a2s.bz2.size", Severity: dissect.Failed, Text: "%d bytes after decompression, the header says %d",
		Doc: "The header states another size than the message has, the stream is damaged, or it has a second block, which only messages above 80,000 bytes have. Nothing behind the first block is read."}
	bzipLong = &dissect.FindingType{ID: "a2s.bz2.long", Severity: dissect.Failed, Text: "more than the %d bytes that the header says",
		Doc: "The compressed data unfolds to more than the header announces. It is unpacked no further: this is how decompression bombs look."}
	bzipTrailing = &dissect.FindingType{ID: "a2s.bz2.trailing", Severity: dissect.Note, Text: "bytes after the end of the bzip2 stream: %d",
		Doc: "The parts hold more than the compressed message."}
	bzipBomb = &dissect.FindingType{ID: "a2s.bz2.bomb", Severity: dissect.Failed, Text: "not decompressed: %d bytes announced, the limit is %d",
		Doc: "The header announces more than any message can have, or a hundred times the size of the compressed data. It is not unpacked."}
	bzipBroken = &dissect.FindingType{ID: "a2s.bz2.stream", Severity: dissect.Failed, Text: "the bzip2 stream cannot be unpacked: %d bytes came out",
		Doc: "The compressed data is damaged, or it uses what only a lenient program accepts: code lengths that do not form a complete code, or a randomised block. bzip2 makes neither. What came out is not shown, because its CRC-32 was not verified."}
	bzipTail = &dissect.FindingType{ID: "a2s.bz2.tail", Severity: dissect.Note, Text: "the bzip2 stream is damaged behind the message",
		Doc: "Size and CRC-32 of the message are right; only the end of the stream is not."}
)

// Info replies.
var (
	infoNoEDF = &dissect.FindingType{ID: "a2s.info.noedf", Severity: dissect.Chat, Text: "no extra data flag",
		Doc: "The reply ends after the version, as those of 2004 and of some other engines do. Some clients fail on it."}
	infoUnknownEDF = &dissect.FindingType{ID: "a2s.info.edf_unknown", Severity: dissect.Warning, Text: "extra data flag %x has bits that no document names",
		Doc: "What such bits announce is not known, so that what follows may be misread."}
	infoAppID = &dissect.FindingType{ID: "a2s.info.appid0", Severity: dissect.Chat, Text: "the application is %d, from the GameID",
		Doc: "The field of 16 bits is 0, or not the same, because the number of the application does not fit."}
	infoCounts = &dissect.FindingType{ID: "a2s.info.counts", Severity: dissect.Note, Text: "%d players of at most %d, %d bots",
		Doc: "More players than places, or more bots than players: reserved places, a queue, or invented numbers."}
	infoNoMod = &dissect.FindingType{ID: "a2s.info.nomod", Severity: dissect.Note, Text: "marked as a mod, and no facts about the mod follow",
		Doc: "Some servers set the mark and leave the block out. Clients that trust the mark misread the end of the reply."}
	infoHLTV = &dissect.FindingType{ID: "a2s.info.short", Severity: dissect.Chat, Text: "ends before VAC and bots, as HLTV does",
		Doc: "HLTV leaves the last two bytes out. Some clients fail on it."}
	infoLayout = &dissect.FindingType{ID: "a2s.info.layout", Severity: dissect.Warning, Text: "the system and the flags are none that servers send: another layout",
		Doc: "Frontlines: Fuel of War answers with the same type, other fields and big-endian numbers. What stands behind the strings is misread; only name and map are taken as facts of the server."}
	requestOther = &dissect.FindingType{ID: "a2s.info.query", Severity: dissect.Warning, Text: "the query is %s, not \"Source Engine Query\"",
		Doc: "A malformed request: scanners and floods send such. Servers ignore it."}
	requestNul = &dissect.FindingType{ID: "a2s.info.noterm", Severity: dissect.Warning, Text: "no zero byte after the query",
		Doc: "A malformed request: servers ignore it."}
	requestBogus = &dissect.FindingType{ID: "a2s.info.bogus_challenge", Severity: dissect.Note, Text: "%d as challenge",
		Doc: "Some clients append FF FF FF FF to their first info request. It asks for a challenge; it is none."}
)

// Players and rules replies.
var (
	playersCount = &dissect.FindingType{ID: "a2s.players.count", Severity: dissect.Warning, Text: "%d players announced, %d in the reply",
		Doc: "The count of the reply is not the number of its players. Fake player plugins announce more; engines cut long lists."}
	playersListed = &dissect.FindingType{ID: "a2s.players.info", Severity: dissect.Note, Text: "%d players listed, the info reply before says %d",
		Doc: "The list has more or fewer players than the server counted in its info reply seconds before. Players who are connecting count and are not listed; beyond that the server hides players, or invents some."}
	playersCut = &dissect.FindingType{ID: "a2s.players.cut", Severity: dissect.Warning, Text: "cut in the middle of a player",
		Doc: "The reply ends within a record. Whole records are shown, the rest is the field data."}
	playersUnnamed = &dissect.FindingType{ID: "a2s.players.unnamed", Severity: dissect.Note, Text: "none of the %d players has a name",
		Doc: "Some games hide names from queries (Rust, 7 Days to Die, Valheim, Counter-Strike 2 by default)."}
	playersMax = &dissect.FindingType{ID: "a2s.players.max_entry", Severity: dissect.Note, Text: "the list holds a player called \"Max Players\"",
		Doc: "CS:GO hides its players behind one invented entry unless host_players_show is 2."}
	playersEqual = &dissect.FindingType{ID: "a2s.players.equal_time", Severity: dissect.Note, Text: "%d players have been connected for exactly the same time",
		Doc: "Real players join one after the other: this list is probably invented."}
	shipFound = &dissect.FindingType{ID: "a2s.ship.block", Severity: dissect.Chat, Text: "deaths and money of %d players behind the list",
		Doc: "The Ship sends them as a block behind all records, not in each record as many clients believe."}
	rulesCount = &dissect.FindingType{ID: "a2s.rules.count", Severity: dissect.Warning, Text: "%d rules announced, %d in the reply",
		Doc: "The count of the reply is not the number of its rules."}
	rulesTruncated = &dissect.FindingType{ID: "a2s.rules.truncated", Severity: dissect.Warning, Text: "cut short: %d rules announced, %d whole ones in the reply",
		Doc: "CS:GO and others cut rules at the size of a packet. Whole rules are shown, the rest is the field data."}
	rulesBigEndian = &dissect.FindingType{ID: "a2s.rules.bigendian", Severity: dissect.Note, Text: "the number of rules is big-endian: %d",
		Doc: "Frontlines: Fuel of War writes its numbers so. Clients that read it as documented wait for more rules than there are."}
	rulesBinary = &dissect.FindingType{ID: "a2s.rules.binary", Severity: dissect.Chat, Text: "binary rules in %d pieces, %d bytes unescaped",
		Doc: "Arma 3 and DayZ send mods, add-ons and signatures as binary data that is escaped and cut into rules."}
	rulesBinaryBroken = &dissect.FindingType{ID: "a2s.rules.binary_broken", Severity: dissect.Warning, Text: "the binary rules cannot be read beyond byte %d",
		Doc: "A piece is missing, or the format is a newer one."}
)

// Others.
var (
	noType = &dissect.FindingType{ID: "a2s.empty", Severity: dissect.Failed, Text: "a header and no message",
		Doc: "FF FF FF FF and nothing behind it: a scanner, or a datagram cut short."}
	headerExtra = &dissect.FindingType{ID: "a2s.header.extra", Severity: dissect.Warning, Text: "five FF before the type, not four",
		Doc: "A server in the tests of qstat sends its challenge so. Clients that look for the type in the fifth byte ignore the message, or take it for another protocol."}
	unknownType = &dissect.FindingType{ID: "a2s.type", Severity: dissect.Warning, Text: "no message has the type %x",
		Doc: "A header of Valve's engines with an unknown letter: a flood of nonsense, another protocol on the same port, or a message newer than this program."}
	challengeLong = &dissect.FindingType{ID: "a2s.challenge.long", Severity: dissect.Chat, Text: "a challenge for a game client that wants to connect",
		Doc: "The same letter answers queries and connections; the latter is longer."}
)

var findings = []*dissect.FindingType{
	unanswered, unansweredChallenge, unrequested, several, challengeRequired, challengeMissing, challengeMismatch, challengeRefused,
	challengeLoop, challengeChanged, amplification,
	splitMissing, splitDuplicate, splitReorder, splitConflict, splitTotals, splitSizes, splitDamaged, splitHeaderShort, splitVariant, splitGuess, splitBit15, splitShort,
	bzipPlain, bzipCRC, bzipSize, bzipLong, bzipBomb, bzipBroken, bzipTail, bzipTrailing,
	infoNoEDF, infoUnknownEDF, infoAppID, infoCounts, infoNoMod, infoHLTV, infoLayout, requestOther, requestNul, requestBogus,
	playersCount, playersListed, playersCut, playersUnnamed, playersMax, playersEqual, shipFound, rulesCount, rulesTruncated, rulesBigEndian, rulesBinary, rulesBinaryBroken,
	noType, headerExtra, unknownType, challengeLong,
}
