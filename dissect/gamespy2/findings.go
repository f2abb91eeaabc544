package gamespy2

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
)

var (
	unanswered = &dissect.FindingType{ID: "gs2.noreply", Severity: dissect.Note, Text: "%p unanswered%p",
		Doc: "No reply came. The server is down, the port is not its query port, or the game has gone over to GameSpy 3 and wants a challenge: servers drop a query without one and say nothing."}
	unrequested = &dissect.FindingType{ID: "gs2.unrequested", Severity: dissect.Note, Text: "no request seen for this reply",
		Doc: "A reply in a conversation whose requests are in the capture, but none with its session id. A late copy, a request lost by the capture, or a forged packet."}
	amplification = &dissect.FindingType{ID: "gs2.amplification", Severity: dissect.Warning, Text: "data without a challenge: %r times the request (%d for %d bytes)",
		Doc: "GameSpy 2 has no challenge: a server that answers it can be abused to flood others. GameSpy 3 with challenges was made for that reason."}
	tableCount = &dissect.FindingType{ID: "gs2.table.count", Severity: dissect.Warning, Text: "%d rows announced, %d are there",
		Doc: "The number before a table is not that of its rows. Clients that trust it lose rows, or read past the end. A reply that filled its 1400 bytes was cut there."}
	noCount = &dissect.FindingType{ID: "gs2.table.nocount", Severity: dissect.Note, Text: "a table without the number of its rows",
		Doc: "America's Army sends one byte where the number has two. Clients that read the number take the first letter of the first column for it."}
	tableCut = &dissect.FindingType{ID: "gs2.table.cut", Severity: dissect.Warning, Text: "the packet ends inside of a row",
		Doc: "The last row of a table has not all of its values: the reply did not fit into the 1400 bytes of a packet, and GameSpy 2 has no second one."}
	noEnd = &dissect.FindingType{ID: "gs2.end", Severity: dissect.Note, Text: "the zero byte at the end is missing",
		Doc: "The settings, or the names of columns, end with the packet instead of with an empty one. Some servers leave it off; it is also what a cut reply looks like."}
)

var bodyFindings = gamespy.BodyFindings{Count: tableCount, NoCount: noCount, NoEnd: noEnd, Cut: tableCut}

var findings = []*dissect.FindingType{unanswered, unrequested, amplification, tableCount, noCount, tableCut, noEnd}
