// Package gamespy2 dissects the second query protocol of GameSpy, used by America's
// Army, Battlefield Vietnam, Halo, SWAT 4, Hidden & Dangerous 2, ArmA and other games
// of 2002 to 2007.
//
// A request is FE FD 00, a session id of four bytes, and three flags, 00 or FF: for
// settings, players and teams. The reply is 00, the session id, and the requested data
// in one packet: keys and values, then tables of players and of teams, row by row.
// Numbers are big-endian. Text ends with a zero byte and is UTF-8 or Latin-1.
//
// Sources: "A gameserver Query Library" (Gamespy v2) for the request; the Query and
// Reporting 2 SDK of GameSpy for the format of tables; recorded traffic for the
// differences between games.
package gamespy2

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/reassembly"
)

const topicStatus dissect.Topic = 1

var (
	mRequest = catalog.Message(dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "Asks for the settings, the players or the teams of a server."})
	mReply   = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status", Role: dissect.Reply, Doc: "The requested settings, players and teams of a server."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "gamespy2",
	Title:   "GameSpy 2",
	Group:   "GameSpy",
	Doc:     "Queries of America's Army, Battlefield Vietnam, Halo, SWAT 4, Hidden & Dangerous 2, Neverwinter Nights, ArmA and other games of 2002 to 2007.",
	Source:  "A gameserver Query Library (CodeProject), Gamespy v2; GameSpy Query and Reporting 2 SDK",
	Ports:   []uint16{1717, 2302, 2303, 3658, 5121, 6500, 10481, 11004, 15250, 16250, 23000, 27888},
	Starts:  []string{"\xfe\xfd", "\x00"},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return newDecoder() },
	Split: &dissect.Splitting{
		Read: readPart, Incomplete: partMissing, Endless: endMissing, Duplicate: partDuplicate, Reordered: partReorder, Conflict: partConflict,
	},
	Pairing: finding.Usual(unanswered, unrequested, finding.Surplus(several), amplification),
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
//
// A request with only the three flags belongs to no other protocol. Replies begin like
// those of gamespy3 and minecraft; only the data after the session id differs.
func Detect(b []byte) dissect.Verdict {
	if gamespy.IsRequest(b) {
		if len(b) < gamespy.RequestHead || b[2] != gamespy.TypeQuery {
			return dissect.No
		}
		return detectQuery(b[gamespy.RequestHead:])
	}
	if len(b) < gamespy.ReplyHead || b[0] != gamespy.TypeQuery {
		return dissect.No
	}
	switch rest := b[gamespy.ReplyHead:]; {
	case len(rest) == 0:
		return gamespy.OfSession(b)
	case bytes.HasPrefix(rest, []byte("splitnum\x00")), gamespy.OnlyMinecraft(rest):
		return dissect.No
	case gamespy.IsPairs(rest), gamespy.IsTable(rest):
		return dissect.Likely
	case rest[0] == 0:
		// Tables without columns, or the continuation of a reply.
		if len(rest) <= 6 && len(bytes.Trim(rest, "\x00")) == 0 || gamespy.GoesOn(rest) && gamespy.ASCII(rest) {
			return gamespy.OfSession(b)
		}
		if gamespy.GoesOn(rest) {
			return dissect.Doubtful
		}
	default:
		// An unknown key, or the continuation of a reply. Much other traffic begins
		// with a zero byte and a number.
		if w, ok := gamespy.Word(rest); ok && isAlphanumeric(rest[0]) && gamespy.ASCII(w) {
			return gamespy.OfSession(b)
		}
	}
	return dissect.No
}

func isAlphanumeric(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// detectQuery judges a request after its session id.
func detectQuery(b []byte) dissect.Verdict {
	q, ok := gamespy.ParseQuery(b)
	switch {
	case !ok || q.Challenged || q.Selection.Options.OK:
		return dissect.No
	case q.Selection.Plain() && q.Selection.Asks():
		return dissect.Likely
	}
	return dissect.Possible
}

// A Message is one of *StatusRequest and *StatusReply.
type Message any

// Keys are the requested keys of one kind: all, none, or single ones by their numbers
// in the SDK.
type Keys = gamespy.Keys

// A Row is a player or a team: its values in the order of the wire. The key of a value
// is the name of its column without the underscore or _t at its end.
type Row = gamespy.Row

// StatusRequest asks for the settings, the players or the teams.
type StatusRequest struct {
	// Session is chosen by the client.
	Session                uint32
	Server, Players, Teams Keys
}

// StatusReply has the requested data. Strings hold the bytes of the wire.
type StatusReply struct {
	// Session is that of the request.
	Session uint32
	Rules   []dissect.KeyValue
	// NumPlayers and NumTeams are the announced numbers of rows, if the reply has
	// these tables. Players and Teams are the rows present.
	NumPlayers, NumTeams dissect.Opt[int]
	Players, Teams       []Row
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request StatusRequest
	reply   StatusReply
	body    gamespy.Body
	session uint32 // of a joined reply
	middle  bool   // its beginning is missing
}

func newDecoder() *decoder { return &decoder{body: gamespy.NewBody(&body, &bodyFindings)} }

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	joined := r.Parts() > 0
	if !joined && gamespy.IsRequest(r.Peek()) {
		q := wire.Message(m, mRequest, &d.request, StatusRequest{})
		_, _, q.Session = head.Read(r)
		m.Pair = dissect.Pair{Asks: topicStatus, ID: gamespy.ID(q.Session), Challenge: dissect.ChallengeAbsent}
		s, _ := query.Read(r)
		q.Server, q.Players, q.Teams = s.Selection.Server, s.Selection.Players, s.Selection.Teams
		return
	}
	p := wire.Message(m, mReply, &d.reply, StatusReply{})
	if p.Session = d.session; !joined {
		_, _, p.Session = head.Read(r)
	}
	m.Pair = dissect.Pair{Answers: topicStatus, ID: gamespy.ID(p.Session)}
	b := &d.body
	if joined && d.middle || !joined && isMiddle(r.Peek()) {
		b.Begin(r)
		r.Find(beginMissing, nil, 0, r.Left())
		r.Rest(catalog.Data())
	} else {
		b.Read(r)
	}
	p.Rules, p.Players, p.Teams, p.NumPlayers, p.NumTeams = b.Rules, b.Players, b.Teams, b.NumPlayers, b.NumTeams
	m.Server = gamespy.Server(p.Rules, style)
}

// readPart reads the place of a datagram in a reply. See [reassembly.ReadPart].
//
// The datagrams of a reply have no numbers. Each begins with the session id of the
// request and is cut after a zero byte (A gameserver Query Library, "Gamespy v1 and
// v2"). So a reply that breaks off in its settings or in a table is a first part, and a
// datagram that does not begin like a reply continues it. Two zero bytes end a reply.
func readPart(b []byte, _ uint8) (reassembly.Part, bool) {
	if len(b) <= gamespy.ReplyHead || b[0] != gamespy.TypeQuery || b[len(b)-1] != 0 {
		return reassembly.Part{}, false
	}
	rest := b[gamespy.ReplyHead:]
	p := reassembly.Part{ID: uint64(gamespy.Session(b)), Header: gamespy.ReplyHead, Variant: 1}
	if gamespy.BeginsBody(rest) {
		return p, gamespy.BreaksOff(rest)
	}
	p.Index = -1
	p.Last = len(rest) > 1 && rest[len(rest)-2] == 0
	return p, true
}

// Join joins the data of all parts.
func (d *decoder) Join(r *dissect.Reader, _ uint8, m *dissect.Message) bool {
	m.Variant = "session"
	d.middle = isMiddle(core.PeekFrom(r, gamespy.ReplyHead))
	joined := core.Buffer(r)
	for i := range r.Parts() {
		r.Part(i)
		if i == 0 {
			_, _, d.session = head.Read(r)
		} else {
			r.Bytes(fPartHead, gamespy.ReplyHead)
		}
		joined = append(joined, r.Rest(fPart)...)
	}
	core.Keep(r, joined)
	r.Open("joined", joined)
	return true
}

// isMiddle reports whether b continues a reply whose beginning is missing.
func isMiddle(b []byte) bool { return !gamespy.BeginsBody(b) && !gamespy.ArePairs(b) }

// AppendSummary appends the requested data.
func (m *StatusRequest) AppendSummary(dst []byte) []byte {
	return gamespy.AppendKeys(dst, &m.Server, &m.Players, &m.Teams)
}

// AppendSummary appends the name, the map and the players, as far as they are present,
// and the lengths of the lists.
func (m *StatusReply) AppendSummary(dst []byte) []byte {
	s := gamespy.Server(m.Rules, style)
	dst = gamespy.AppendServer(dst, &s, m.Rules)
	return gamespy.AppendCounts(dst, len(m.Players), len(m.Teams), "team", "teams")
}

var catalog = dissect.NewCatalog("gamespy2")

// style is the encoding of text: Latin-1, in America's Army with the colours of Unreal.
var style = wire.Style{Charset: dissect.Latin1, Codes: core.Unreal}

var (
	head  = gamespy.DeclareHead(catalog, dissect.Name{Value: gamespy.TypeQuery, Name: "query"})
	query = gamespy.DeclareQuery(catalog)
	body  = gamespy.BodyFields{
		Pairs:      keyvalue.Declare(catalog, core.InCharset(style.Charset), core.InStyle(style.Codes)),
		NumPlayers: catalog.Add("num_players", dissect.Uint, "Number of rows of the table of players."),
		Players:    gamespy.DeclarePlayers(catalog, style),
		NumTeams:   catalog.Add("num_teams", dissect.Uint, "Number of rows of the table of teams."),
		Teams:      gamespy.DeclareTeams(catalog, style),
		Column:     catalog.Add("column", dissect.String, "Name of a column. Names of player columns end with an underscore, those of team columns with _t.", dissect.Framing),
		End:        catalog.Add("end", dissect.Bytes, "Zero bytes at the end of the settings, of the names of columns, or of the reply.", dissect.Framing),
		Data:       catalog.Data(),
	}

	// The datagrams of a split reply.
	fPartHead = catalog.Add("part.head", dissect.Bytes, "A zero byte and the session id.", core.EchoFrom(1), dissect.Framing)
	fPart     = catalog.Add("part.data", dissect.Bytes, "Data of the reply in one datagram.", core.Becomes("joined"), dissect.Framing)
)

var (
	unanswered    = finding.NoReply(catalog, "gs2.noreply", "The capture has no reply. The server is down, the port is not its query port, or a packet was lost, dropped or not captured. Or the game uses GameSpy 3 and requires a challenge: such servers ignore a query without one.")
	unrequested   = finding.Unrequested(catalog, "gs2.unrequested", "The capture has requests of this conversation, but no pending one with this session id. The request is missing from the capture, or the reply is late, a duplicate or forged.")
	amplification = finding.Amplification(catalog, "gs2.amplification", "GameSpy 2 has no challenge, so attackers can use a server that answers it to flood others. GameSpy 3 added challenges for this reason.")
	several       = catalog.Finding(dissect.FindingType{ID: "gs2.several", Severity: dissect.Note, Text: "extra datagram with the session id of the request in frame %d: number %d", Doc: "The server sends settings and tables in separate datagrams, which the format does not distinguish from whole replies, or a reply was duplicated."})

	partMissing = finding.New(catalog, dissect.Warning, "gs2.part.missing", "%d of %d {datagram|datagrams} of this reply arrived; missing: %p (%p)",
		"Some datagrams of a reply are not in the capture. The data of the others is shown.", finding.MissingParts)
	endMissing = finding.New(catalog, dissect.Warning, "gs2.part.end", "%d {datagram|datagrams} arrived, and none ends the reply",
		"The reply breaks off after a zero byte, and no datagram with its session id that continues and ends it arrived within ten seconds. It was lost, or there is none: servers with GameSpy's code truncate a reply at 1400 bytes, and some omit the end of a list.", finding.MissingParts)
	beginMissing = finding.New(catalog, dissect.Warning, "gs2.part.begin", "the beginning of the reply is missing",
		"The datagram does not begin with known settings or a table. It continues a reply of which the first datagram was lost or arrived later; or the request names single keys, and this is their values. Without the beginning, nothing says what the texts mean.", "Ask for the whole status instead of single keys. If the first datagram is missing, see gs2.part.missing.")
	partDuplicate = catalog.Finding(dissect.FindingType{ID: "gs2.part.duplicate", Severity: dissect.Note, Class: core.OfCapture, Text: "duplicate datagrams: %d", Doc: "The network, the server or the capture duplicated datagrams of the reply. They are used once; clients that append datagrams as they arrive list players twice."})
	partReorder   = catalog.Finding(dissect.FindingType{ID: "gs2.part.reorder", Severity: dissect.Note, Class: core.OfCapture, Text: "the datagrams arrived out of order", Doc: "Datagrams have no numbers: clients append them as they arrive and misplace rows."})
	partConflict  = finding.New(catalog, dissect.Warning, "gs2.part.conflict", "different beginnings of the same reply: %d; the first one is used",
		"Two different datagrams with the same session id begin a reply that breaks off: two requests with the same id crossed, or somebody forges replies.", finding.MixedParts)

	tableCount = finding.Length(catalog, "gs2.table.count", "%d {row|rows} announced, %d {is|are} there",
		"The number before a table differs from the number of its rows. Clients that rely on it lose rows, or read past the end. A reply that filled its 1400 bytes was truncated there.", finding.WrongCount)
	noCount  = catalog.Finding(dissect.FindingType{ID: "gs2.table.nocount", Severity: dissect.Note, Text: "a table without the number of its rows", Doc: "America's Army sends one byte instead of the number's two. Clients that read a number take the first letter of the first column for a part of it."})
	tableCut = finding.Length(catalog, "gs2.table.cut", "the packet ends within a row",
		"The last row of a table does not have all of its values: the reply did not fit in the 1400 bytes of a packet, or its continuation did not arrive.", finding.CutList)
	noEnd = catalog.Finding(dissect.FindingType{ID: "gs2.end", Severity: dissect.Note, Text: "the zero byte at the end is missing", Doc: "The settings or the names of columns should end with an empty text, but end with the packet. Some servers omit it; a truncated reply looks the same."})
)

var bodyFindings = gamespy.BodyFindings{Count: tableCount, NoCount: noCount, NoEnd: noEnd, Cut: tableCut}
