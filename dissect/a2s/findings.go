package a2s

import (
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// Requests and replies.
var (
	unanswered = &dissect.FindingType{ID: "a2s.noreply", Severity: dissect.Note, Text: "%p unanswered%p",
		Doc: "No reply within the time that clients wait is in the capture. The server is down or restarting, the port is not its query port, a packet was lost, a firewall or a rate limit drops the request or the reply, the reply took a way past the capture, or the server does not answer this query. What the capture shows of the same host is added."}
	unansweredChallenge = &dissect.FindingType{ID: "a2s.noreply.after_challenge", Severity: dissect.Warning, Text: "%p with a challenge that the server gave unanswered%p",
		Doc: "The server gave a challenge, the client used it, and no reply is in the capture. A packet was lost, a firewall or a rate limit lets the short reply pass and drops the long one, the reply needs IP fragments that do not arrive or that the capture filter dropped, the challenge had expired, or the server does not answer this query."}
	challengeDead = &dissect.FindingType{ID: "a2s.noreply.getchallenge", Severity: dissect.Note, Text: "%p unanswered%p; GoldSrc servers have not answered GETCHALLENGE (57) since 2008",
		Doc: "No reply is in the capture. The document of The Ship's queries says that this request has not worked with GoldSrc servers since 2 November 2008; most others no longer answer it either. Clients ask for a challenge with -1 in A2S_PLAYER or A2S_RULES instead. The server may also be down, the port may not be its query port, or a packet was lost, dropped by a firewall or not captured."}
	unrequested = &dissect.FindingType{ID: "a2s.unrequested", Severity: dissect.Note, Text: "no request seen for this reply",
		Doc: "A reply in a conversation whose requests are in the capture, but none that it answers. The request is missing from the capture, the reply is one more copy or came too late, the server sends it by itself, or somebody forged it."}
	otherKind = &dissect.FindingType{ID: "a2s.reply.other", Severity: dissect.Note, Text: "a reply of another kind than the %p in frame %d asks for",
		Doc: "That request waits for a reply, and this one answers none that waits: a server that confuses the kinds, a reply that nobody asked for (old GoldSrc servers send the players unasked), a late one, a copy, or a forged one. The request goes on waiting unless the reply is shown as its own."}
	several = &dissect.FindingType{ID: "a2s.info.multi", Severity: dissect.Note, Text: "one more reply to the request in frame %d: number %d",
		Doc: "Old GoldSrc servers and dproto or ReHLDS answer one info request with several messages: m, D and I. Clients that expect one take the second for the answer to their next request. A reply that the server sent again, two servers behind one address, and the reply to a request that the capture lacks look the same."}
	challengeRequired = &dissect.FindingType{ID: "a2s.challenge.required", Severity: dissect.Note, Text: "the server wants a challenge with this request",
		Doc: "Since December 2020 servers may answer A2S_INFO with a challenge, to be sent again as 29 bytes; for players and rules they always did. Clients that do not know this report the server as offline."}
	challengeMissing = &dissect.FindingType{ID: "a2s.challenge.missing", Severity: dissect.Warning, Text: "asked again without the challenge given in frame %d",
		Doc: "The server had answered this request with a challenge, and the client sends it again in the form without one. Clients from before December 2020 do so, get a challenge each time, and report the server as offline. The challenge may also have been lost on its way to the client, or the client begins its next round of queries."}
	challengeMismatch = &dissect.FindingType{ID: "a2s.challenge.mismatch", Severity: dissect.Warning, Text: "challenge %d is none of the last that the server gave this client, the newest is %d",
		Doc: "The request carries a number that is not among the last four that this server gave to this address in the capture. The client kept it for too long, took it from another server or made it up, or it was given before the capture began."}
	challengeRefused = &dissect.FindingType{ID: "a2s.challenge.refused", Severity: dissect.Note, Text: "the server answers a challenge with a challenge",
		Doc: "The request carried a challenge and the server sent one instead of data. The challenge was wrong or had expired, the server gives a new one for every request, a proxy in between gives its own, the server answers an earlier request for a challenge once more, or the network brings an earlier challenge twice."}
	challengeLoop = &dissect.FindingType{ID: "a2s.challenge.loop", Severity: dissect.Warning, Text: "%d challenges in a row and no data",
		Doc: "The server sent this client challenge after challenge, some of them in answer to a challenge, and no data. The server or a proxy refuses the challenges that it gives, the client sends wrong ones, or the replies with data are missing from the capture. Clients that retry for ever load the server, others report it as offline."}
	challengeChanged = &dissect.FindingType{ID: "a2s.challenge.changed", Severity: dissect.Note, Text: "another challenge after %t",
		Doc: "The server gives this address a new number though the last one is less than 30 seconds old. Some servers make one for each request or each port; others restarted, or are several behind one address. Requests on their way with the old one may be refused."}
	amplification = &dissect.FindingType{ID: "a2s.amplification", Severity: dissect.Warning, Text: "data without a challenge: %r times the request (%d bytes for %d)",
		Doc: "The server sends much data to an address that has not shown to be real, so it can be abused to flood others. HLTV does this for players and rules, old servers for everything. A server that lets its own network or known clients pass without a challenge looks the same."}
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
		Doc: "The header of a part that can have no place in a message: the total is 0, or the index is not below it, nor below the total of another part. The server made a mistake, the bytes were damaged on the way, or somebody sends nonsense."}
	splitHeaderShort = &dissect.FindingType{ID: "a2s.split.header.short", Severity: dissect.Failed, Text: "damaged split header: %d bytes, the shortest has 9",
		Doc: "A datagram begins like a part of a split message and ends within its header. The bytes were cut on the way, or somebody sends nonsense."}
	splitVariant = &dissect.FindingType{ID: "a2s.split.variant", Severity: dissect.Chat, Text: "%p split header, known by %p",
		Doc: "Which of the formats of the split header this is, and what decided it. The document does not say which games use which."}
	splitGuess = &dissect.FindingType{ID: "a2s.split.guess", Severity: dissect.Warning, Text: "the format of the split header is a guess: no message begins in the first part",
		Doc: "Neither FF FF FF FF nor a bzip2 stream stands where the known formats have it. The format is newer or of another engine, or the first part is damaged or forged."}
	splitBit15 = &dissect.FindingType{ID: "a2s.split.bit15", Severity: dissect.Note, Text: "bit 15 of the split id is set, bit 31 is not",
		Doc: "Only bit 31 says that a message is compressed. The server does nothing wrong. Clients that test bit 15, python-a2s up to 1.4 among them, try to decompress this message and fail."}
	splitShort = &dissect.FindingType{ID: "a2s.split.unread", Severity: dissect.Failed, Text: "the parts do not make a message",
		Doc: "All parts are there, and what they make together does not begin like a message. Their format was not recognised, or they are damaged or forged."}
	bzipPlain = &dissect.FindingType{ID: "a2s.bz2.plain", Severity: dissect.Warning, Text: "marked as compressed, but it is not",
		Doc: "Bit 31 of the id says that the message is compressed, and a plain message stands there. The server sets the bit by mistake, or counts its ids up to it."}
	bzipCRC = &dissect.FindingType{ID: "a2s.bz2.crc", Severity: dissect.Failed, Text: "CRC-32 is %x, the header says %x",
		Doc: "The decompressed message is not the one whose CRC-32 the header states: a part is damaged, forged or of another message, or the server computes the number over something else."}
	bzipSize = &dissect.FindingType{ID: "a2s.bz2.size", Severity: dissect.Failed, Text: "%d bytes after decompression, the header says %d",
		Doc: "The size in the header is not that of the message: the server states another size, or a part is damaged, forged or of another message."}
	bzipLong = &dissect.FindingType{ID: "a2s.bz2.long", Severity: dissect.Failed, Text: "more than the %d {byte|bytes} that the header says",
		Doc: "The compressed data unpacks to more than the header announces. It is unpacked no further: decompression bombs look like this, and so does a server that states a wrong size."}
	bzipTrailing = &dissect.FindingType{ID: "a2s.bz2.trailing", Severity: dissect.Note, Text: "bytes after the end of the bzip2 stream: %d",
		Doc: "The parts hold more than the compressed message: padding, or something that no document describes."}
	bzipBomb = &dissect.FindingType{ID: "a2s.bz2.bomb", Severity: dissect.Failed, Text: "not decompressed: %d bytes announced, the limit is %d",
		Doc: "The header announces more than any message can have, or a hundred times the size of the compressed data. It is not unpacked. The header may also be damaged."}
	bzipBroken = &dissect.FindingType{ID: "a2s.bz2.stream", Severity: dissect.Failed, Text: "the bzip2 stream is damaged after %d {byte|bytes} of output",
		Doc: "The compressed data cannot be unpacked to its end: a part is damaged, forged or of another message. What came out is not shown, because nothing proves that it is right."}
	bzipTail = &dissect.FindingType{ID: "a2s.bz2.tail", Severity: dissect.Note, Text: "the bzip2 stream is damaged after the message",
		Doc: "Size and CRC-32 of the message are right; only the end of the stream is not."}
)

// Info replies.
var (
	infoNoEDF = &dissect.FindingType{ID: "a2s.info.noedf", Severity: dissect.Chat, Text: "no extra data flag",
		Doc: "The reply ends after the version, as those of 2004 and of some other engines do; a reply that was cut exactly there looks the same. Some clients fail on it."}
	infoUnknownEDF = &dissect.FindingType{ID: "a2s.info.edf_unknown", Severity: dissect.Warning, Text: "extra data flag %x has bits that no document names",
		Doc: "What such bits announce is not known, and what follows may be misread. The reply is newer than this program, of another layout, or invented."}
	infoAppID = &dissect.FindingType{ID: "a2s.info.appid0", Severity: dissect.Chat, Text: "the application is %d, from the GameID",
		Doc: "The field of 16 bits is 0, or differs, because the number of the application does not fit. The GameID has all of it."}
	infoCounts = &dissect.FindingType{ID: "a2s.info.counts", Severity: dissect.Note, Text: "%d {player|players} of at most %d, %d {bot|bots}",
		Doc: "More players than places, or more bots than players: reserved places, a queue, bots that are counted apart, or invented numbers."}
	infoNoMod = &dissect.FindingType{ID: "a2s.info.nomod", Severity: dissect.Note, Text: "marked as a mod, and no facts about the mod follow",
		Doc: "Some servers set the mark and leave the block out; a reply that was cut looks the same. Clients that trust the mark misread the end of the reply."}
	infoHLTV = &dissect.FindingType{ID: "a2s.info.short", Severity: dissect.Chat, Text: "ends before VAC and bots",
		Doc: "HLTV leaves the last two bytes out; a reply that was cut there looks the same. Some clients fail on it."}
	infoLayout = &dissect.FindingType{ID: "a2s.info.layout", Severity: dissect.Warning, Text: "the system and the flags have values that no server sends: another layout",
		Doc: "Frontlines: Fuel of War answers with the same type, other fields and big-endian numbers; an invented reply looks the same. What follows the strings is misread; only name and map are taken as facts of the server."}
	requestOther = &dissect.FindingType{ID: "a2s.info.query", Severity: dissect.Warning, Text: "the query is %s, not \"Source Engine Query\"",
		Doc: "Not a query of the documents: scanners, floods and faulty clients send such. Servers usually ignore it."}
	requestNul = &dissect.FindingType{ID: "a2s.info.noterm", Severity: dissect.Warning, Text: "no zero byte after the query",
		Doc: "The text must end with a zero byte: the client leaves it off, or the datagram was cut. Servers usually ignore such a request."}
	requestBogus = &dissect.FindingType{ID: "a2s.info.bogus_challenge", Severity: dissect.Note, Text: "%d as challenge",
		Doc: "Some clients append -1 or 0 to their first info request. It asks for a challenge and is not one, unless the server gave just that number."}
)

// Players and rules replies.
var (
	playersCount = &dissect.FindingType{ID: "a2s.players.count", Severity: dissect.Warning, Text: "%d {player|players} announced, %d in the reply",
		Doc: "The count of the reply is not the number of its players. Plugins with fake players announce more, servers cut long lists, and the reply may have been damaged."}
	playersListed = &dissect.FindingType{ID: "a2s.players.info", Severity: dissect.Note, Text: "%d {player|players} listed, the info reply before says %d",
		Doc: "The list has more or fewer players than the server counted in its info reply shortly before. Players who are connecting count and are not listed, and somebody may have joined or left in between; beyond that the server hides players, leaves out bots, or invents some."}
	playersCut = &dissect.FindingType{ID: "a2s.players.cut", Severity: dissect.Warning, Text: "cut in the middle of a player",
		Doc: "The reply ends within a record: the server cut the list, or the reply was damaged. Whole records are shown, the rest is the field data."}
	playersUnnamed = &dissect.FindingType{ID: "a2s.players.unnamed", Severity: dissect.Note, Text: "%d {player has|players have} no name, which is all of them",
		Doc: "Some games hide names from queries (Rust, 7 Days to Die, Valheim, Counter-Strike 2 by default). Players who are connecting have no name either."}
	playersMax = &dissect.FindingType{ID: "a2s.players.max_entry", Severity: dissect.Note, Text: "the list holds a player called \"Max Players\"",
		Doc: "CS:GO hides its players behind one invented entry unless host_players_show is 2. A player may also have chosen this name."}
	playersEqual = &dissect.FindingType{ID: "a2s.players.equal_time", Severity: dissect.Note, Text: "%d players have been connected for exactly the same time",
		Doc: "Real players join one after the other: the list is probably invented. After a change of map some servers count the time anew for all."}
	shipFound = &dissect.FindingType{ID: "a2s.ship.block", Severity: dissect.Chat, Text: "deaths and money of %d {player|players} after the list",
		Doc: "The Ship sends them as a block after all records, not in each record as many clients believe."}
	rulesCount = &dissect.FindingType{ID: "a2s.rules.count", Severity: dissect.Warning, Text: "%d {rule|rules} announced, %d in the reply",
		Doc: "The count of the reply is not the number of its rules. The server counts others than it sends, or an empty rule at the end is padding."}
	rulesTruncated = &dissect.FindingType{ID: "a2s.rules.truncated", Severity: dissect.Warning, Text: "cut short: %d {rule|rules} announced, %d whole in the reply",
		Doc: "The reply has fewer rules than it announces. CS:GO and others cut rules at the size of a packet; a server that counts rules which it does not send looks the same. Whole rules are shown, the rest is the field data."}
	rulesBigEndian = &dissect.FindingType{ID: "a2s.rules.bigendian", Severity: dissect.Note, Text: "the number of rules is big-endian: %d",
		Doc: "Frontlines: Fuel of War writes its numbers so. Clients that read the number as documented wait for more rules than there are."}
	rulesBinary = &dissect.FindingType{ID: "a2s.rules.binary", Severity: dissect.Chat, Text: "binary rules in %d {piece|pieces}, %d {byte|bytes} unescaped",
		Doc: "Arma 3 and DayZ send mods, add-ons and signatures as binary data that is escaped and cut into rules."}
	rulesBinaryBroken = &dissect.FindingType{ID: "a2s.rules.binary_broken", Severity: dissect.Warning, Text: "the binary rules cannot be read beyond byte %d",
		Doc: "A piece is missing, the server cut the data at its size limit, or the format is a newer one."}
)

// Others.
var (
	noType = &dissect.FindingType{ID: "a2s.empty", Severity: dissect.Failed, Text: "a header and no message",
		Doc: "FF FF FF FF and nothing after it: a scanner, a keep-alive, or a datagram cut short."}
	headerExtra = &dissect.FindingType{ID: "a2s.header.extra", Severity: dissect.Warning, Text: "five FF before the type, not four",
		Doc: "A server in the tests of qstat sends its challenge so. Clients that expect the type in the fifth byte ignore the message."}
	unknownType = &dissect.FindingType{ID: "a2s.type", Severity: dissect.Warning, Text: "no message has the type %x",
		Doc: "A header of Valve's engines with an unknown letter: a flood of nonsense, another protocol on the same port, or a message newer than this program."}
	challengeLong = &dissect.FindingType{ID: "a2s.challenge.long", Severity: dissect.Chat, Text: "a challenge for a game client that wants to connect",
		Doc: "The same letter answers queries and connections; the latter is longer."}
)

var findings = []*dissect.FindingType{
	unanswered, unansweredChallenge, challengeDead, otherKind, unrequested, several, challengeRequired, challengeMissing, challengeMismatch, challengeRefused,
	challengeLoop, challengeChanged, amplification,
	splitMissing, splitDuplicate, splitReorder, splitConflict, splitTotals, splitSizes, splitDamaged, splitHeaderShort, splitVariant, splitGuess, splitBit15, splitShort,
	bzipPlain, bzipCRC, bzipSize, bzipLong, bzipBomb, bzipBroken, bzipTail, bzipTrailing,
	infoNoEDF, infoUnknownEDF, infoAppID, infoCounts, infoNoMod, infoHLTV, infoLayout, requestOther, requestNul, requestBogus,
	playersCount, playersListed, playersCut, playersUnnamed, playersMax, playersEqual, shipFound, rulesCount, rulesTruncated, rulesBigEndian, rulesBinary, rulesBinaryBroken,
	noType, headerExtra, unknownType, challengeLong,
}

// young is the age below which a changed challenge is worth a finding. Valve's
// servers keep one for at least as long.
const young = 30 * time.Second

func changed(x *dissect.Turn) {
	if x.Changed && x.ChangedAfter < young {
		x.Note(challengeChanged, dissect.Dur(x.ChangedAfter))
	}
}

// loop reports challenge after challenge, some of them in answer to one, and no data.
func loop(x *dissect.Turn) {
	if x.InARow >= 3 && x.Refused >= 2 {
		x.Note(challengeLoop, dissect.Num(x.InARow))
	}
}

// listed compares the players that a reply lists with those that the server has just
// stated.
func listed(x *dissect.Turn) {
	if n := x.Pair.Entries; x.Stated >= 0 && x.Stated != n {
		x.Note(playersListed, dissect.Num(n), dissect.Num(x.Stated))
	}
}
