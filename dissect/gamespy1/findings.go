package gamespy1

import "github.com/qdissect/qdissect/dissect"

// Requests and replies.
var (
	unanswered = &dissect.FindingType{ID: "gs1.noreply", Severity: dissect.Note, Text: "%p unanswered%p",
		Doc: "No reply came within the time that clients wait. The server is down, the port is not its query port (games differ: often the game's port and 1, 10 or 123), or something on the way drops the request or the reply."}
	unrequested = &dissect.FindingType{ID: "gs1.unrequested", Severity: dissect.Note, Text: "no request seen for this reply",
		Doc: "A reply in a conversation whose requests are in the capture, but none that it answers. A duplicate, a late reply, a request lost by the capture, or a server that answers whatever comes: those with the code of GameSpy send an empty reply to the query of any other protocol."}
	several = &dissect.FindingType{ID: "gs1.several", Severity: dissect.Note, Text: "one more reply to the request in frame %d: number %d",
		Doc: "A reply came twice, or the server answers the parts of a combined request one by one. Clients that expect one reply take the second for the answer to their next request."}
	amplification = &dissect.FindingType{ID: "gs1.amplification", Severity: dissect.Chat, Text: "data without a challenge: %r times the request (%d bytes for %d)",
		Doc: "The protocol has no challenge: any server that speaks it can be abused to flood others. Nothing but a rate limit helps."}
)

// Split replies.
var (
	partMissing = &dissect.FindingType{ID: "gs1.part.missing", Severity: dissect.Warning, Text: "%d of %d {datagram|datagrams} of this reply came; missing: %p (%p)",
		Doc: "Datagrams of a split reply did not arrive. What the others say is shown: they can be read one by one. Clients that wait for all of them report a timeout."}
	finalMissing = &dissect.FindingType{ID: "gs1.final.missing", Severity: dissect.Warning, Text: "no datagram with final: %d came; missing: %p (%p)",
		Doc: "The last datagram of the reply did not arrive, or the server never marks one: how long the reply is, nobody can know. What came is shown. Clients wait until their time is over."}
	partDuplicate = &dissect.FindingType{ID: "gs1.part.duplicate", Severity: dissect.Note, Text: "datagrams that had come already: %d",
		Doc: "The network or the server sent datagrams of a split reply twice. They are used once; clients that append what comes list players twice."}
	partReorder = &dissect.FindingType{ID: "gs1.part.reorder", Severity: dissect.Note, Text: "the datagrams did not come in order",
		Doc: "Harmless to clients that look at queryid; others mix the keys up."}
	partTotals = &dissect.FindingType{ID: "gs1.part.totals", Severity: dissect.Warning, Text: "datagrams of one reply state different totals: %p",
		Doc: "Only the last says how many there are, and two say that they are the last, or one has a number beyond it: the server's count began anew, two replies crossed, or somebody forges them. The reply is taken for complete when as many are there as the highest number says."}
	partConflict = &dissect.FindingType{ID: "gs1.part.conflict", Severity: dissect.Warning, Text: "datagrams that came again with other content: %d; the first ones are used",
		Doc: "Two different datagrams with the same queryid or statusresponse: the server's count began anew, or somebody forges replies."}
)

// Contents.
var (
	queryIDMissing = &dissect.FindingType{ID: "gs1.queryid.missing", Severity: dissect.Note, Text: "no queryid",
		Doc: "The reply does not say which request it answers and which datagram of the reply it is. Clients can only take it as it comes."}
	queryIDShort = &dissect.FindingType{ID: "gs1.queryid.short", Severity: dissect.Note, Text: "queryid %s has no second number",
		Doc: "A queryid is the number of the request, a dot and the number of the datagram. Where one of them is missing, datagrams are joined in the order of their arrival. A single number from 1 to 32 is that of the datagram, as the GS1 modification of SWAT 4 writes it, if other datagrams belong to it."}
	statusNumber = &dissect.FindingType{ID: "gs1.statusresponse.number", Severity: dissect.Warning, Text: "statusresponse %s does not number the datagram",
		Doc: "The AdminMod of SWAT 4 puts the number of the datagram there, from 0 to 254. Without it the datagram is shown on its own: it was cut, or another program uses the key otherwise."}
	finalValue = &dissect.FindingType{ID: "gs1.final.novalue", Severity: dissect.Note, Text: "no empty value behind final",
		Doc: "Every key has a value, and that of final is empty. Descent 3 leaves it out: clients that take keys and values in turns lose the queryid."}
	oddKey = &dissect.FindingType{ID: "gs1.oddkv", Severity: dissect.Warning, Text: "the last key has no value",
		Doc: "Keys and values do not pair up: the datagram was cut, or a value holds a backslash where it cannot be told from the next key."}
	backslash = &dissect.FindingType{ID: "gs1.backslash", Severity: dissect.Note, Text: "the value of %s holds a backslash",
		Doc: "Values are not escaped, so that a name with a backslash looks like one more key. What follows shows that it is not; clients that take keys and values in turns misread the rest of the datagram."}
	columnTwice = &dissect.FindingType{ID: "gs1.column.twice", Severity: dissect.Warning, Text: "keys that a player or team has already: %d; they are listed among the rules",
		Doc: "The same key with the same number twice in one reply. Clients show one of the two."}
	stalePlayers = &dissect.FindingType{ID: "gs1.stale_players", Severity: dissect.Warning, Text: "%d {player|players} listed, numplayers says %d",
		Doc: "Battlefield 1942 keeps players in the list who have left, behind those who are there. Clients cut the list at numplayers."}
	fewPlayers = &dissect.FindingType{ID: "gs1.few_players", Severity: dissect.Note, Text: "%d {player|players} listed, numplayers says %d",
		Doc: "The list is shorter than the server's count: bots, spectators or players who are still loading are counted and not listed."}
	duplicateKeyHash = &dissect.FindingType{ID: "gs1.dup_keyhash", Severity: dissect.Warning, Text: "players with the keyhash of an earlier one: %d",
		Doc: "Battlefield 1942 lists the same player twice, under two numbers. keyhash tells that it is one."}
	unnamed = &dissect.FindingType{ID: "gs1.unnamed", Severity: dissect.Note, Text: "players without a name: %d",
		Doc: "There are keys with a player's number, and none of them is the name: it stands in a datagram that is missing, or the server leaves it out."}
	spread = &dissect.FindingType{ID: "gs1.spread", Severity: dissect.Chat, Text: "players whose keys stand in more than one datagram: %d",
		Doc: "Servers cut a reply between any two keys. Clients that read datagram by datagram, or lose one, show halves of a player."}
	empty = &dissect.FindingType{ID: "gs1.empty", Severity: dissect.Chat, Text: "nothing but the end of a reply",
		Doc: "The server has nothing to say to this query, or does not know it."}
	unknownQuery = &dissect.FindingType{ID: "gs1.query.unknown", Severity: dissect.Note, Text: "no server is known to answer the query %s",
		Doc: "Servers leave out what they do not know, and the code of GameSpy answers with an empty reply."}
	openQuery = &dissect.FindingType{ID: "gs1.query.open", Severity: dissect.Warning, Text: "no backslash behind %s",
		Doc: "The code of GameSpy looks for the word between two backslashes, does not find this one and sends an empty reply. Other servers answer."}
)

var findings = []*dissect.FindingType{
	unanswered, unrequested, several, amplification,
	partMissing, finalMissing, partDuplicate, partReorder, partConflict, partTotals,
	queryIDMissing, queryIDShort, statusNumber, finalValue, oddKey, backslash, columnTwice, stalePlayers, fewPlayers, duplicateKeyHash, unnamed, spread,
	empty, unknownQuery, openQuery,
}
