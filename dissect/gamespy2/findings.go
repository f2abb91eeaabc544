package gamespy2

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
)

var (
	unanswered = &dissect.FindingType{ID: "gs2.noreply", Severity: dissect.Note, Text: "%p unanswered%p",
		Doc: "No reply came. The server is down, the port is not its query port, or the game has gone over to GameSpy 3 and wants a challenge: servers drop a query without one and say nothing."}
	unrequested = &dissect.FindingType{ID: "gs2.unrequested", Severity: dissect.Note, Text: "no request seen for this reply",
		Doc: "A reply in a conversation whose requests are in the capture, but none that it answers waits with its session id. A duplicate, a late reply, a request lost by the capture, or a forged packet."}
	amplification = &dissect.FindingType{ID: "gs2.amplification", Severity: dissect.Warning, Text: "data without a challenge: %r times the request (%d for %d bytes)",
		Doc: "GameSpy 2 has no challenge: a server that answers it can be abused to flood others. GameSpy 3 with challenges was made for that reason."}
	several = &dissect.FindingType{ID: "gs2.several", Severity: dissect.Note, Text: "one more datagram answers the request in frame %d: number %d",
		Doc: "The same session id came back again: the server sends settings and tables in datagrams of their own, which the format does not tell from whole replies, or a reply was duplicated."}

	partMissing = &dissect.FindingType{ID: "gs2.part.missing", Severity: dissect.Warning, Text: "%d of %d {datagram|datagrams} of this reply came; missing: %p (%p)",
		Doc: "Datagrams of a reply did not arrive. What the others say is shown."}
	endMissing = &dissect.FindingType{ID: "gs2.part.end", Severity: dissect.Warning, Text: "%d {datagram|datagrams} came, and none ends the reply",
		Doc: "The reply breaks off behind a zero byte, and no datagram with its session id that goes on with it and ends came within ten seconds. It was lost; or there is none: servers with the code of GameSpy cut a reply at 1400 bytes, and some leave the end of a list off."}
	beginMissing = &dissect.FindingType{ID: "gs2.part.begin", Severity: dissect.Warning, Text: "the beginning of the reply is missing",
		Doc: "The datagram does not begin with settings or a table that is known, so it goes on with a reply of which the first datagram was lost or came later; or its request names single keys, and these are their values. Without it nothing says what the texts are."}
	partDuplicate = &dissect.FindingType{ID: "gs2.part.duplicate", Severity: dissect.Note, Text: "datagrams that had come already: %d",
		Doc: "The network or the server sent datagrams of the reply twice. They are used once; clients that append what comes list players twice."}
	partReorder = &dissect.FindingType{ID: "gs2.part.reorder", Severity: dissect.Note, Text: "the datagrams did not come in order",
		Doc: "Nothing numbers them: clients append them as they come, and read rows in the wrong place."}
	partConflict = &dissect.FindingType{ID: "gs2.part.conflict", Severity: dissect.Warning, Text: "beginnings of the same reply with other bytes: %d; the first one is used",
		Doc: "Two datagrams with the same session id begin a reply that breaks off: two requests with the same id crossed, or somebody forges replies."}

	tableCount = &dissect.FindingType{ID: "gs2.table.count", Severity: dissect.Warning, Text: "%d {row|rows} announced, %d {is|are} there",
		Doc: "The number before a table is not that of its rows. Clients that trust it lose rows, or read past the end. A reply that filled its 1400 bytes was cut there."}
	noCount = &dissect.FindingType{ID: "gs2.table.nocount", Severity: dissect.Note, Text: "a table without the number of its rows",
		Doc: "America's Army sends one byte where the number has two. Clients that read the number take the first letter of the first column for it."}
	tableCut = &dissect.FindingType{ID: "gs2.table.cut", Severity: dissect.Warning, Text: "the packet ends inside of a row",
		Doc: "The last row of a table has not all of its values: the reply did not fit into the 1400 bytes of a packet, or what goes on with it did not come."}
	noEnd = &dissect.FindingType{ID: "gs2.end", Severity: dissect.Note, Text: "the zero byte at the end is missing",
		Doc: "The settings, or the names of columns, end with the packet instead of with an empty one. Some servers leave it off; it is also what a cut reply looks like."}
)

var bodyFindings = gamespy.BodyFindings{Count: tableCount, NoCount: noCount, NoEnd: noEnd, Cut: tableCut}

var findings = []*dissect.FindingType{unanswered, unrequested, several, amplification, partMissing, endMissing, beginMissing, partDuplicate, partReorder, partConflict, tableCount, noCount, tableCut, noEnd}
