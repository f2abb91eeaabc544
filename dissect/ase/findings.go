package ase

import "github.com/qdissect/qdissect/dissect"

var (
	unanswered = &dissect.FindingType{ID: "ase.noreply", Severity: dissect.Note, Text: "%p unanswered%p",
		Doc: "No reply came within the time that clients wait. The port is the game's and 123. Multi Theft Auto takes five queries from an address in six seconds and then is silent for seven, and its long replies need IP fragments, which firewalls drop."}
	tooOften = &dissect.FindingType{ID: "rate.limit", Severity: dissect.Note, Text: "no reply to query number %d within six seconds: Multi Theft Auto answers five",
		Doc: "The query has no reply, and the server may have refused it. A Multi Theft Auto server takes five queries from an address in six seconds and then is silent for seven. Other servers of the protocol have no such limit. Queries of one conversation are counted; those that come from other ports of the same address count for the server too."}
	unrequested = &dissect.FindingType{ID: "ase.unrequested", Severity: dissect.Note, Text: "no request seen for this reply",
		Doc: "A reply in a conversation whose requests are in the capture, but none that it answers. A duplicate, a late reply, or a request lost by the capture."}
	several = &dissect.FindingType{ID: "ase.several", Severity: dissect.Note, Text: "one more reply to the request in frame %d: number %d",
		Doc: "The same reply came twice. Clients take the second for the answer to their next request."}
	amplification = &dissect.FindingType{ID: "ase.amplification", Severity: dissect.Chat, Text: "data without a challenge: %r times the request (%d bytes for %d)",
		Doc: "The protocol has no challenge, and its request is one byte: any server that speaks it can be abused to flood others. Nothing but a rate limit helps."}
)

var (
	partMissing = &dissect.FindingType{ID: "ase.part.missing", Severity: dissect.Warning, Text: "%d of %d {datagram|datagrams} of this reply came; missing: %p (%p)",
		Doc: "Datagrams of a reply did not arrive. What stands before the gap is shown."}
	partEndless = &dissect.FindingType{ID: "ase.part.last_missing", Severity: dissect.Warning, Text: "no last datagram: %d came; missing: %p (%p)",
		Doc: "Datagrams of 1364 bytes are followed by more, and the last one, a shorter one, did not arrive. What came is shown."}
	partDuplicate = &dissect.FindingType{ID: "ase.part.duplicate", Severity: dissect.Note, Text: "datagrams that had come already: %d",
		Doc: "The network or the server sent datagrams of a reply twice. They are used once."}
	partReorder = &dissect.FindingType{ID: "ase.part.reorder", Severity: dissect.Note, Text: "the datagrams did not come in order",
		Doc: "Clients that append datagrams as they come misread this reply."}
	partConflict = &dissect.FindingType{ID: "ase.part.conflict", Severity: dissect.Warning, Text: "datagrams that came again with other content: %d; the first ones are used",
		Doc: "Two different datagrams with the same number in one reply."}
	partFirst = &dissect.FindingType{ID: "ase.part.unread", Severity: dissect.Warning, Text: "the first datagram is missing: the others cannot be read",
		Doc: "Texts are cut at the end of a datagram, and only the first one begins at a known place."}
)

var (
	lengthWrapped = &dissect.FindingType{ID: "ase.lenwrap", Severity: dissect.Warning, Text: "length byte %d before a text of %d {byte|bytes}",
		Doc: "The length of a text counts itself and has eight bits: texts of 255 bytes and more get a length that is 256 too small. Clients lose their place and show nonsense or nothing. The text was found by what follows it; the server's administrator has to shorten it."}
	noEnd = &dissect.FindingType{ID: "ase.noterm", Severity: dissect.Warning, Text: "the settings do not end",
		Doc: "The byte 01 that ends the settings, and begins the players, is missing: the reply was cut, or the server leaves it out when nobody plays."}
	playersCount = &dissect.FindingType{ID: "ase.players.count", Severity: dissect.Note, Text: "%d {player|players} listed, numplayers says %d",
		Doc: "Multi Theft Auto counts players first and lists them later; older servers cut the list at the size of a datagram."}
	playersCut = &dissect.FindingType{ID: "ase.players.cut", Severity: dissect.Warning, Text: "cut in the middle of a player",
		Doc: "The reply ends within a player. Whole ones are shown, the rest is the field data."}
	playersHidden = &dissect.FindingType{ID: "ase.players.hidden", Severity: dissect.Chat, Text: "names left out: %d",
		Doc: "Multi Theft Auto keeps its short reply below 1350 bytes: players for whose names no room is left have none."}
	columnsUnknown = &dissect.FindingType{ID: "ase.columns", Severity: dissect.Warning, Text: "no player has the columns %x",
		Doc: "The byte that names the columns of a player has bits without a meaning: the place was lost, often because of a length before it (see ase.lenwrap), or the protocol has been extended."}
)

var findings = []*dissect.FindingType{
	unanswered, tooOften, unrequested, several, amplification,
	partMissing, partEndless, partDuplicate, partReorder, partConflict, partFirst,
	lengthWrapped, noEnd, playersCount, playersCut, playersHidden, columnsUnknown,
}
