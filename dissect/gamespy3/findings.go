package gamespy3

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
)

// Requests and replies.
var (
	unanswered = &dissect.FindingType{ID: "gs3.noreply", Severity: dissect.Note, Text: "%p unanswered%p",
		Doc: "No reply came. The server is down, the port is not its query port, or it wants a challenge: servers drop a query with none, or with one that they did not give, and say nothing."}
	unansweredChallenge = &dissect.FindingType{ID: "gs3.noreply.after_handshake", Severity: dissect.Warning, Text: "%p with the right challenge unanswered%p",
		Doc: "The server gave a challenge, the client used it, and no reply came: a firewall or a rate limit lets the short reply pass and drops the long one, the challenge was used before (servers of the SDK take each one once), or it was too old."}
	unrequested = &dissect.FindingType{ID: "gs3.unrequested", Severity: dissect.Note, Text: "no request seen for this reply",
		Doc: "A reply in a conversation whose requests are in the capture, but none with its session id. A duplicate, a late reply, a request lost by the capture, or a forged packet."}
	challengeMismatch = &dissect.FindingType{ID: "gs3.challenge.mismatch", Severity: dissect.Warning, Text: "challenge %d was not given to this client, the newest one is %d",
		Doc: "The query carries a number that this server did not give to this address: read with the wrong byte order (it is big-endian), not read as a signed number, or kept for too long. The server will not answer."}
	amplification = &dissect.FindingType{ID: "gs3.amplification", Severity: dissect.Warning, Text: "data without a challenge: %r times the request (%d for %d bytes)",
		Doc: "The server sends much data to an address that has not shown to be real, so it can be abused to flood others. Battlefield 2 does, and any server whose master server does not ask for challenges."}
	challenge0 = &dissect.FindingType{ID: "gs3.challenge0", Severity: dissect.Note, Text: "the server wants no challenge",
		Doc: "A challenge of 0 means that the next query must not carry one (Battlefield 2). Clients that send four zero bytes ask for nothing and get nothing."}
	zeroChallenge = &dissect.FindingType{ID: "gs3.challenge.zero", Severity: dissect.Warning, Text: "a query with the challenge 0",
		Doc: "A server that wants no challenge takes the four zero bytes for three empty lists of keys: its reply will be empty."}
)

// Parts.
var (
	splitMissing = &dissect.FindingType{ID: "gs3.split.missing", Severity: dissect.Failed, Text: "%d of %d parts of a reply came; missing: %p (%p)",
		Doc: "A reply of which not all parts arrived. What the others say is shown."}
	splitEndless = &dissect.FindingType{ID: "gs3.split.endless", Severity: dissect.Failed, Text: "%d {part|parts} of a reply came, and not the last; missing: %p (%p)",
		Doc: "Only the last part tells how many there are, and it did not arrive. What the others say is shown. Servers of the SDK stop after seven parts, whatever is left."}
	splitDuplicate = &dissect.FindingType{ID: "gs3.split.duplicate", Severity: dissect.Note, Text: "parts that had come already: %d",
		Doc: "The network or the server sent parts twice. They are used once."}
	splitReorder = &dissect.FindingType{ID: "gs3.split.reorder", Severity: dissect.Note, Text: "the parts did not come in order",
		Doc: "Clients that append parts as they come misread this reply: a later part stands in for the end of the one before."}
	splitTotals = &dissect.FindingType{ID: "gs3.split.totals", Severity: dissect.Warning, Text: "parts of one reply state different totals: %p",
		Doc: "Only the last says how many there are, and two say that they are the last, or one has a number beyond it: the server's count began anew, two replies crossed, or somebody forges them. The reply is taken for complete when as many are there as the highest number says."}
	splitConflict = &dissect.FindingType{ID: "gs3.split.conflict", Severity: dissect.Warning, Text: "parts that came again with other bytes: %d; the first ones are used",
		Doc: "Two different parts with the same session id and number: two queries with the same id crossed, or somebody forges parts."}
	splitOverlap = &dissect.FindingType{ID: "gs3.split.overlap", Severity: dissect.Note, Text: "cut at the end of a part and sent again whole: %d",
		Doc: "A part is filled to its last byte and the value or the name that no longer fits is cut; the next part has it whole. Clients that append instead of replacing show a player twice, or shift the rows of a column."}
	splitContradiction = &dissect.FindingType{ID: "gs3.split.contradiction", Severity: dissect.Warning, Text: "values that came twice and differ: %d; the last ones are used",
		Doc: "The same row of the same column came twice and one value is not the beginning of the other: the server changed while it wrote the reply, or the parts are of two replies."}
)

// What replies hold.
var (
	noValue = &dissect.FindingType{ID: "gs3.novalue", Severity: dissect.Note, Text: "keys without a value: %d",
		Doc: "The server wrote a key and nothing behind it, not even a zero byte; Unreal Tournament 3 does. Clients that read in pairs take every key after it for a value."}
	gap = &dissect.FindingType{ID: "gs3.gap", Severity: dissect.Warning, Text: "empty keys inside of the settings: %d",
		Doc: "An empty key ends the settings, and they went on. Clients stop here."}
	noEnd = &dissect.FindingType{ID: "gs3.end", Severity: dissect.Note, Text: "the reply ends inside of a list",
		Doc: "The zero byte at the end of a list is missing: the reply was cut, or the server leaves it off."}
	broken = &dissect.FindingType{ID: "gs3.section", Severity: dissect.Failed, Text: "%d {byte that is|bytes that are} no section",
		Doc: "What stands here is neither settings nor a list of players or teams, and cannot be read."}
	playersCount = &dissect.FindingType{ID: "gs3.players.count", Severity: dissect.Note, Text: "numplayers is %d, the list has %d",
		Doc: "The server says another number of players than it lists. Unreal Tournament 3 and servers that count bots do; so do servers with invented players."}
	tableCount = &dissect.FindingType{ID: "gs3.table.count", Severity: dissect.Warning, Text: "%d {row|rows} announced, %d {is|are} there",
		Doc: "The number before a table is not that of its rows. A reply that filled its 1400 bytes was cut there."}
	tableCut = &dissect.FindingType{ID: "gs3.table.cut", Severity: dissect.Warning, Text: "the packet ends inside of a row",
		Doc: "The last row of a table has not all of its values: without parts a reply must fit into 1400 bytes."}
)

var sectionFindings = gamespy.SectionFindings{
	NoValue: noValue, Gap: gap, Overlap: splitOverlap, Contradiction: splitContradiction, NoEnd: noEnd, Broken: broken,
}

var bodyFindings = gamespy.BodyFindings{Count: tableCount, NoEnd: noEnd, Cut: tableCut}

var findings = []*dissect.FindingType{
	unanswered, unansweredChallenge, unrequested, challengeMismatch, amplification, challenge0, zeroChallenge,
	splitMissing, splitEndless, splitDuplicate, splitReorder, splitConflict, splitTotals, splitOverlap, splitContradiction,
	noValue, gap, noEnd, broken, playersCount, tableCount, tableCut,
}
