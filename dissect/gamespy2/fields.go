package gamespy2

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/internal/core"
)

var fields = dissect.NewCatalog("gamespy2")

// style is the encoding of text: Latin-1, in America's Army with the colours of Unreal.
var style = summary.Style{Charset: dissect.Latin1, Codes: core.Unreal}

var (
	head  = gamespy.DeclareHead(fields, dissect.Name{Value: gamespy.TypeQuery, Name: "query"})
	query = gamespy.DeclareQuery(fields)
	body  = gamespy.BodyFields{
		Pairs:      keyvalue.Declare(fields, core.InCharset(style.Charset), core.InStyle(style.Codes)),
		NumPlayers: fields.Add("num_players", dissect.Uint, "Number of rows of the table of players."),
		Players:    gamespy.DeclarePlayers(fields, style),
		NumTeams:   fields.Add("num_teams", dissect.Uint, "Number of rows of the table of teams."),
		Teams:      gamespy.DeclareTeams(fields, style),
		Column:     fields.Add("column", dissect.String, "Name of a column. Names of player columns end with an underscore, those of team columns with _t.", dissect.Framing),
		End:        fields.Add("end", dissect.Bytes, "Zero bytes at the end of the settings, of the names of columns, or of the reply.", dissect.Framing),
		Data:       fields.Data(),
	}

	// The datagrams of a split reply.
	fPartHead = fields.Add("part.head", dissect.Bytes, "A zero byte and the session id.", core.EchoFrom(1), dissect.Framing)
	fPart     = fields.Add("part.data", dissect.Bytes, "Data of the reply in one datagram.", core.Becomes("joined"), dissect.Framing)
)

var (
	unanswered    = finding.NoReply("gs2.noreply", "The capture has no reply. The server is down, the port is not its query port, or a packet was lost, dropped or not captured. Or the game uses GameSpy 3 and requires a challenge: such servers ignore a query without one.")
	unrequested   = finding.Unrequested("gs2.unrequested", "The capture has requests of this conversation, but no pending one with this session id. The request is missing from the capture, or the reply is late, a duplicate or forged.")
	amplification = finding.Amplification("gs2.amplification", "GameSpy 2 has no challenge, so attackers can use a server that answers it to flood others. GameSpy 3 added challenges for this reason.")
	several       = &dissect.FindingType{ID: "gs2.several", Severity: dissect.Note, Text: "extra datagram with the session id of the request in frame %d: number %d", Doc: "The server sends settings and tables in separate datagrams, which the format does not distinguish from whole replies, or a reply was duplicated."}

	partMissing = finding.New(dissect.Warning, "gs2.part.missing", "%d of %d {datagram|datagrams} of this reply arrived; missing: %p (%p)",
		"Some datagrams of a reply are not in the capture. The data of the others is shown.", finding.MissingParts)
	endMissing = finding.New(dissect.Warning, "gs2.part.end", "%d {datagram|datagrams} arrived, and none ends the reply",
		"The reply breaks off after a zero byte, and no datagram with its session id that continues and ends it arrived within ten seconds. It was lost, or there is none: servers with GameSpy's code truncate a reply at 1400 bytes, and some omit the end of a list.", finding.MissingParts)
	beginMissing = finding.New(dissect.Warning, "gs2.part.begin", "the beginning of the reply is missing",
		"The datagram does not begin with known settings or a table. It continues a reply of which the first datagram was lost or arrived later; or the request names single keys, and this is their values. Without the beginning, nothing says what the texts mean.", "Ask for the whole status instead of single keys. If the first datagram is missing, see gs2.part.missing.")
	partDuplicate = &dissect.FindingType{ID: "gs2.part.duplicate", Severity: dissect.Note, Class: core.OfCapture, Text: "duplicate datagrams: %d", Doc: "The network, the server or the capture duplicated datagrams of the reply. They are used once; clients that append datagrams as they arrive list players twice."}
	partReorder   = &dissect.FindingType{ID: "gs2.part.reorder", Severity: dissect.Note, Class: core.OfCapture, Text: "the datagrams arrived out of order", Doc: "Datagrams have no numbers: clients append them as they arrive and misplace rows."}
	partConflict  = finding.New(dissect.Warning, "gs2.part.conflict", "different beginnings of the same reply: %d; the first one is used",
		"Two different datagrams with the same session id begin a reply that breaks off: two requests with the same id crossed, or somebody forges replies.", finding.MixedParts)

	tableCount = finding.Length("gs2.table.count", "%d {row|rows} announced, %d {is|are} there",
		"The number before a table differs from the number of its rows. Clients that rely on it lose rows, or read past the end. A reply that filled its 1400 bytes was truncated there.", finding.WrongCount)
	noCount  = &dissect.FindingType{ID: "gs2.table.nocount", Severity: dissect.Note, Text: "a table without the number of its rows", Doc: "America's Army sends one byte instead of the number's two. Clients that read a number take the first letter of the first column for a part of it."}
	tableCut = finding.Length("gs2.table.cut", "the packet ends within a row",
		"The last row of a table does not have all of its values: the reply did not fit in the 1400 bytes of a packet, or its continuation did not arrive.", finding.CutList)
	noEnd = &dissect.FindingType{ID: "gs2.end", Severity: dissect.Note, Text: "the zero byte at the end is missing", Doc: "The settings or the names of columns should end with an empty text, but end with the packet. Some servers omit it; a truncated reply looks the same."}
)

var bodyFindings = gamespy.BodyFindings{Count: tableCount, NoCount: noCount, NoEnd: noEnd, Cut: tableCut}

var findings = []*dissect.FindingType{unanswered, unrequested, several, amplification, partMissing, endMissing, beginMissing, partDuplicate, partReorder, partConflict, tableCount, noCount, tableCut, noEnd}
