package ase

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/advice"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/internal/core"
)

var (
	unanswered = finding.NoReply("ase.noreply", "The capture has no reply within the time that clients wait. The query port is the game's port plus 123. Multi Theft Auto accepts five queries from an address in six seconds and then does not answer for seven seconds; its long replies need IP fragments, which firewalls drop. The server may also be down, or a packet was lost, dropped or not captured.")
	tooOften   = &dissect.FindingType{ID: "rate.limit", Severity: dissect.Note, Text: "no reply to query number %d within six seconds: Multi Theft Auto answers five",
		Doc: "The query has no reply, and the server may have refused it. A Multi Theft Auto server accepts five queries from an address in six seconds and then does not answer for seven seconds. Other servers of the protocol have no such limit. Only queries of one conversation are counted here; the server also counts those from other ports of the address."}
	unrequested   = finding.Unrequested("ase.unrequested", "The capture has requests of this conversation, but none that this reply answers. The request is missing from the capture, or the reply is late, a duplicate or forged.")
	several       = finding.Several("ase.several", "The server or the network sent a reply twice, or the request of this reply is missing from the capture. Clients take the second reply for the answer to their next request.")
	amplification = &dissect.FindingType{ID: "ase.amplification", Severity: dissect.Chat, Text: "data sent without a challenge: %r times the request (%d bytes for %d)", Doc: "The protocol has no challenge, and its request is one byte, so attackers can use any server to flood others. Only a rate limit helps."}

	partMissing = finding.New(dissect.Warning, "ase.part.missing", "%d of %d {datagram|datagrams} of this reply arrived; missing: %p (%p)",
		"Some datagrams of a reply are not in the capture. The data before the gap is shown.", advice.MissingParts)
	partEndless = finding.New(dissect.Warning, "ase.part.last_missing", "no last datagram: %d arrived; missing: %p (%p)",
		"A datagram of 1364 bytes is followed by others, and the last, shorter one is not in the capture. The data before the gap is shown.", advice.MissingParts)
	partDuplicate = &dissect.FindingType{ID: "ase.part.duplicate", Severity: dissect.Note, Class: core.OfCapture, Text: "duplicate datagrams: %d", Doc: "The network, the server or the capture duplicated datagrams of a reply. They are used once."}
	partReorder   = &dissect.FindingType{ID: "ase.part.reorder", Severity: dissect.Note, Class: core.OfCapture, Text: "the datagrams arrived out of order", Doc: "Clients that append datagrams as they arrive misread this reply."}
	partConflict  = finding.New(dissect.Warning, "ase.part.conflict", "datagrams that arrived again with different content: %d; the first ones are used",
		"Two different datagrams of one reply have the same number. The server reused an id, or somebody forges datagrams.", advice.MixedParts)
	partFirst = finding.New(dissect.Warning, "ase.part.unread", "the first datagram is missing: the others cannot be decoded",
		"Datagrams end in the middle of texts, so only the first one begins at a known position.", advice.FirstPart)

	lengthWrapped = &dissect.FindingType{ID: "ase.lenwrap", Length: true, Severity: dissect.Warning, Text: "length byte %d before a text of %d {byte|bytes}",
		Doc:    "The length of a text counts itself in eight bits, so a text of 255 bytes or more has a length that is 256 too small. Clients lose their position and show nonsense or nothing. The text was recognised by the data after it. The server's administrator should shorten it.",
		Advice: "Shorten the text that is named in the configuration of the server to less than 255 bytes. A client can look for a plausible next length."}
	noEnd = &dissect.FindingType{ID: "ase.noterm", Length: true, Severity: dissect.Warning, Text: "the settings have no end",
		Doc:    "The byte 01 that ends the settings is missing: the reply was truncated, or the server omits the byte when nobody plays.",
		Advice: "A client should accept the end of the data in its place."}
	playersCount = &dissect.FindingType{ID: "ase.players.count", Severity: dissect.Note, Text: "%d {player|players} listed, numplayers says %d", Doc: "Multi Theft Auto counts players first and lists them later. Older servers truncate the list at the size of a datagram."}
	playersCut   = &dissect.FindingType{ID: "ase.players.cut", Length: true, Severity: dissect.Warning, Text: "truncated in the middle of a player",
		Doc:    "The reply ends within a player. Complete players are shown; the rest is in the field data.",
		Advice: advice.CutList}
	playersHidden  = &dissect.FindingType{ID: "ase.players.hidden", Severity: dissect.Chat, Text: "omitted names: %d", Doc: "Multi Theft Auto keeps its short reply below 1350 bytes. Players without room for their names have none."}
	columnsUnknown = finding.New(dissect.Warning, "ase.columns", "unknown columns %x in a player",
		"The byte that names the columns of a player has undefined bits: the position is wrong, often because of a length before it (see ase.lenwrap), or the protocol was extended.", "Look at the text before it: if it is 255 bytes or longer, shorten it on the server. If the game is new, report it to qdissect.")
)

var findings = []*dissect.FindingType{
	unanswered, tooOften, unrequested, several, amplification,
	partMissing, partEndless, partDuplicate, partReorder, partConflict, partFirst,
	lengthWrapped, noEnd, playersCount, playersCut, playersHidden, columnsUnknown,
}
