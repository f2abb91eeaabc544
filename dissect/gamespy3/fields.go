package gamespy3

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("gamespy3")

// style is the encoding of text: UTF-8 or Latin-1.
var style = wire.Style{Charset: dissect.Latin1}

// The head of every packet, and queries.
var (
	head = gamespy.DeclareHead(catalog,
		dissect.Name{Value: gamespy.TypeQuery, Name: "query"}, dissect.Name{Value: gamespy.TypeChallenge, Name: "challenge"},
		dissect.Name{Value: gamespy.TypeEcho, Name: "echo"}, dissect.Name{Value: gamespy.TypeHeartbeat, Name: "heartbeat"},
		dissect.Name{Value: gamespy.TypeAddError, Name: "error"}, dissect.Name{Value: gamespy.TypeEchoReply, Name: "echo reply"},
		dissect.Name{Value: gamespy.TypeMessage, Name: "client message"}, dissect.Name{Value: gamespy.TypeMessageAck, Name: "client message acknowledged"},
		dissect.Name{Value: gamespy.TypeKeepAlive, Name: "keepalive"}, dissect.Name{Value: gamespy.TypeHandshake, Name: "handshake"},
		dissect.Name{Value: gamespy.TypeRegistered, Name: "registered"})

	fPadding     = catalog.Add("handshake.padding", dissect.Bytes, "Bytes after a handshake request, without a meaning.")
	fGiven       = catalog.Add("handshake.challenge", dissect.Decimal, "Challenge that the server gives: a signed 32-bit number in text. 0 means that it requires none.", dissect.Token, dissect.Chosen)
	fChallenge   = catalog.Add("challenge", dissect.Int, "Challenge that the server gave, big-endian.", dissect.Token, dissect.Chosen)
	query        = declareQuery()
	fPart        = catalog.Add("part", dissect.Group, "Head of a part after the first.", dissect.Framing)
	fSplitNum    = catalog.Add("splitnum", dissect.String, "The word splitnum: the reply may have several parts.", dissect.Framing)
	fNumber      = catalog.Add("number", dissect.Uint, "Number of the part, from 0; bit 7 marks the last one.", dissect.Framing, dissect.Bits(dissect.Name{Value: gamespy.Last, Name: "last"}))
	fSection     = catalog.Add("section", dissect.Uint, "Section that follows.", dissect.Framing, dissect.Names(gamespy.SectionNames()...))
	fSteamID     = catalog.Add("players.steamid", dissect.String, "SteamID of the player (Just Cause 2).", dissect.PersonID, core.InLatin1)
	fShortPing   = catalog.Add("jc2.ping", dissect.Uint, "Round-trip time to the player in milliseconds, in two bytes (Just Cause 2).")
	fValues      = catalog.Add("values", dissect.List, "The values of the requested keys, in the order of the query, without the keys.")
	fValue       = catalog.Add("values.value", dissect.String, "One value.", dissect.Setting, core.InLatin1)
	fNumPlayers  = catalog.Add("num_players", dissect.Uint, "Number of rows of the table of players.")
	fNumTeams    = catalog.Add("num_teams", dissect.Uint, "Number of rows of the table of teams.")
	fColumn      = catalog.Add("column", dissect.String, "Name of a column. Names of player columns end with an underscore, those of team columns with _t.", dissect.Framing)
	fStart       = catalog.Add("start", dissect.Uint, "Row of the column's first value in this part.", dissect.Framing)
	fEnd         = catalog.Add("end", dissect.Bytes, "Zero bytes at the end of a column or a section.", dissect.Framing)
	fReplaced    = catalog.Add("replaced", dissect.String, "Value that was truncated at the end of a part and sent again in the next one.", core.Repeated, dissect.Framing, core.InLatin1)
	fUnread      = catalog.Add("unread", dissect.Bytes, "Bytes of a part that are not a section.", core.Opaque, dissect.Framing)
	pairs        = keyvalue.Declare(catalog, core.InLatin1)
	playerFields = gamespy.DeclarePlayers(catalog, style)
	teamFields   = gamespy.DeclareTeams(catalog, style)
)

func declareQuery() gamespy.QueryFields {
	f := gamespy.DeclareQuery(catalog)
	f.Challenge = fChallenge
	f.Options = catalog.Add("options", dissect.Uint, "Bit 0 asks for a reply in parts (SDK). 2 asks Just Cause 2 for its own list of players.",
		core.BitsFrom(1, "parts", "Just Cause 2"))
	return f
}

var sections = gamespy.SectionFields{
	Section: fSection, Pairs: pairs, Players: playerFields, Teams: &teamFields,
	Column: fColumn, Start: fStart, End: fEnd, Replaced: fReplaced, Unread: fUnread,
}

var body = gamespy.BodyFields{
	Pairs: pairs, NumPlayers: fNumPlayers, NumTeams: fNumTeams, Players: playerFields, Teams: teamFields,
	Column: fColumn, End: fEnd, Values: fValues, Value: fValue, Data: catalog.Data(),
}

// Between servers and the master server.
var (
	fMasterChallenge = catalog.Add("master.challenge", dissect.String, "Text that the server must encrypt with the key of its game.", dissect.PersonID, dissect.Chosen, core.InJSON("challenge_text"))
	fBackendOptions  = catalog.Add("master.backend_options", dissect.String, "Options that the master server sets, in hex: 80 to require challenges from clients.", dissect.Public)
	fPublicAddress   = catalog.Add("master.public_address", dissect.String, "Address and port of the server as the master server sees it, in hex.", core.HexAddress)
	fResponse        = catalog.Add("master.response", dissect.String, "The challenge, encrypted and in Base64.", dissect.PersonID, dissect.Chosen)
	fEcho            = catalog.Add("master.echo", dissect.Bytes, "Bytes to return, at most 32.", dissect.Chosen)
	fErrorCode       = catalog.Add("master.error_code", dissect.Uint, "Reason why the server is not listed.")
	fErrorText       = catalog.Add("master.error_text", dissect.String, "The reason in words.", dissect.Public, core.InLatin1)
	fMessageID       = catalog.Add("master.message_id", dissect.Uint, "Number of the message; the acknowledgement returns it.", dissect.Chosen)
	fMessage         = catalog.Add("master.message", dissect.Bytes, "Message of a client, forwarded by the master server.")
	fNatNegMagic     = catalog.Add("master.natneg", dissect.Bytes, "FD FC 1E 66 6A B2: the client asks for NAT negotiation.", dissect.Framing)
	fCookie          = catalog.Add("master.cookie", dissect.Uint, "Number that identifies both sides at the NAT negotiation server.", dissect.Chosen)
	fGameName        = catalog.Add("available.gamename", dissect.String, "Name of the client's game.", dissect.Public)
	fStatus          = catalog.Add("available.status", dissect.Uint, "Status of the services for the game.", core.Counted(0, "available", "unavailable", "temporarily unavailable"))
)

// Requests and replies.
var (
	unanswered          = finding.NoReply(catalog, "gs3.noreply", "The capture has no reply. The server is down, the port is not its query port, a packet was lost, dropped or not captured, or the server requires a challenge: servers ignore a query without one, or with one that they did not give.")
	unansweredChallenge = finding.New(catalog, dissect.Warning, "gs3.noreply.after_handshake", "%p with the server's challenge unanswered%p",
		"The server gave a challenge, the client used it, and the capture has no reply. A firewall or a rate limit passes the short reply but drops the long one, a packet was lost or not captured, the challenge was used before (servers of the SDK accept each one once), or it had expired.", finding.LongReply)
	unrequested       = finding.Unrequested(catalog, "gs3.unrequested", "The capture has requests of this conversation, but no pending one with this session id. The request is missing from the capture, or the reply is late, a duplicate or forged.")
	challengeMismatch = finding.New(catalog, dissect.Warning, "gs3.challenge.mismatch", "challenge %d is not among the latest that the server gave this client; the newest is %d",
		"The number is not among the last four that this server gave to this address in the capture. The client read it in the wrong byte order (it is big-endian) or as an unsigned number, or kept it too long, or got it before the capture began. Servers do not answer a wrong challenge.", finding.KeepChallenge)
	amplification = finding.Amplification(catalog, "gs3.amplification", "The server sends much data to an address that has not been verified, so attackers can use it to flood others. Battlefield 2 does so, and any server whose master server does not require challenges.")
	challenge0    = catalog.Finding(dissect.FindingType{ID: "gs3.challenge0", Severity: dissect.Note, Text: "the server requires no challenge", Doc: "A challenge of 0 means that the next query must not carry one (Battlefield 2). Clients that send four zero bytes get an empty reply."})
	zeroChallenge = finding.New(catalog, dissect.Warning, "gs3.challenge.zero", "a query with the challenge 0",
		"A server that requires no challenge takes the four zero bytes for three empty lists of keys and sends an empty reply.", "If the handshake answers with the challenge 0, send a request without a challenge: the four bytes are left out.")

	// Parts.
	splitMissing = finding.New(catalog, dissect.Failed, "gs3.split.missing", "%d of %d parts of a reply arrived; missing: %p (%p)",
		"Some parts of a reply are not in the capture. The data of the others is shown.", finding.MissingParts)
	splitEndless = finding.New(catalog, dissect.Failed, "gs3.split.endless", "%d {part|parts} of a reply arrived, but not the last; missing: %p (%p)",
		"Only the last part shows how many there are, and it is not in the capture. The data of the others is shown. Servers of the SDK stop after seven parts, even if data is left.", finding.MissingParts)
	splitDuplicate = finding.Duplicate(catalog, "gs3.split.duplicate", "The network, the server or the capture duplicated parts. They are used once.")
	splitReorder   = finding.Reordered(catalog, "gs3.split.reorder", "Clients that append parts as they arrive misread this reply: a later part replaces the end of the one before.")
	splitTotals    = finding.New(catalog, dissect.Warning, "gs3.split.totals", "parts of one reply state different totals: %p",
		"Only the last part shows the total. Two parts are marked as the last, or one has a number beyond the last: the server's count restarted, two replies crossed, or somebody forges parts. The reply counts as complete when as many parts are present as the highest number says.", finding.MixedParts)
	splitConflict      = finding.Conflict(catalog, "gs3.split.conflict", "Two different parts have the same session id and number: two queries with the same id crossed, or somebody forges parts.")
	splitOverlap       = catalog.Finding(dissect.FindingType{ID: "gs3.split.overlap", Severity: dissect.Note, Text: "values truncated at the end of a part and sent again: %d", Doc: "The server fills a part to its last byte, and truncates the value or name that does not fit. The next part has it complete. Clients that append instead of replacing show a player twice, or shift the rows of a column."})
	splitContradiction = finding.New(catalog, dissect.Warning, "gs3.split.contradiction", "values sent twice that differ: %d; the last ones are used",
		"Two values for the same row and column differ, and the first is not the beginning of the second: the data changed while the server wrote the reply, or the parts belong to two replies.", finding.MixedParts)

	// The content of replies.
	noValue = catalog.Finding(dissect.FindingType{ID: "gs3.novalue", Severity: dissect.Note, Text: "keys without a value: %d", Doc: "The server sent keys without a value and without a zero byte for it, as Unreal Tournament 3 does. Clients that read in pairs take every later key for a value."})
	gap     = finding.New(catalog, dissect.Warning, "gs3.gap", "empty keys within the settings: %d",
		"An empty key ends the settings, but they continue. Clients stop here.", "A client that finds no table can read on. Report it to the author of the server with the capture.")
	noEnd  = catalog.Finding(dissect.FindingType{ID: "gs3.end", Severity: dissect.Note, Text: "the reply ends within a list", Doc: "The zero byte at the end of a list is missing: the reply was truncated, or the server omits it."})
	broken = catalog.Finding(dissect.FindingType{ID: "gs3.section", Length: true, Severity: dissect.Failed, Text: "%d {byte that is|bytes that are} not a section",
		Doc:    "The data is neither settings nor a list of players or teams, and is not decoded. The reply is damaged, or its format is newer.",
		Advice: "If the game is known, report it to qdissect with the capture."})
	playersCount = catalog.Finding(dissect.FindingType{ID: "gs3.players.count", Severity: dissect.Note, Text: "numplayers is %d, the list has %d", Doc: "The number of players differs from the length of the list. Unreal Tournament 3 and servers that count bots send such replies, and so do servers with invented players."})
	tableCount   = finding.Length(catalog, "gs3.table.count", "%d {row|rows} announced, %d {is|are} there",
		"The number before a table differs from the number of its rows. A reply that filled its 1400 bytes was truncated there.", finding.WrongCount)
	tableCut = finding.Length(catalog, "gs3.table.cut", "the packet ends within a row",
		"The last row of a table does not have all of its values: a reply without parts must fit in 1400 bytes, or the packet was truncated.", finding.CutList)
)

var sectionFindings = gamespy.SectionFindings{
	NoValue: noValue, Gap: gap, Overlap: splitOverlap, Contradiction: splitContradiction, NoEnd: noEnd, Broken: broken,
}

var bodyFindings = gamespy.BodyFindings{Count: tableCount, NoEnd: noEnd, Cut: tableCut}

const (
	topicHandshake dissect.Topic = 1 << iota
	topicStatus
	topicMaster
	topicEcho
	topicMessage
	topicAvailable
)

var (
	mHandshake        = catalog.Message(dissect.MessageType{Name: "handshake_request", Title: "handshake request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "Asks for the challenge that a query must carry (SDK: prequery IP verify). The reply to an availability check may look the same."})
	mHandshakeReply   = catalog.Message(dissect.MessageType{Name: "handshake_reply", Title: "handshake", Role: dissect.Reply, Doc: "Gives the challenge, a signed number in text; 0 if none is required."})
	mStatus           = catalog.Message(dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "Asks for the settings, the players or the teams of a server, in one packet or in parts."})
	mStatusReply      = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status", Role: dissect.Reply, Doc: "The settings, the players and the teams of a server."})
	mHeartbeat        = catalog.Message(dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Purpose: dissect.Heartbeat, Doc: "A server announces itself to the master server, with all data of its query replies."})
	mKeepAlive        = catalog.Message(dissect.MessageType{Name: "keepalive", Title: "keepalive", Role: dissect.OneWay, Doc: "A server keeps the path from the master server open, or the master server confirms that it knows the server."})
	mChallengeRequest = catalog.Message(dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "The master server asks a server to prove that it belongs to the game, and sends it its public address."})
	mChallengeReply   = catalog.Message(dissect.MessageType{Name: "challenge_reply", Title: "challenge response", Role: dissect.Reply, Doc: "A server proves that it belongs to the game."})
	mRegistered       = catalog.Message(dissect.MessageType{Name: "registered", Title: "registered", Role: dissect.OneWay, Purpose: dissect.Listing, Doc: "The master server has added the server to its list."})
	mError            = catalog.Message(dissect.MessageType{Name: "error", Title: "error", Role: dissect.OneWay, Purpose: dissect.Refusal, Doc: "The master server does not list the server and gives the reason."})
	mEchoRequest      = catalog.Message(dissect.MessageType{Name: "echo_request", Title: "echo request", Role: dissect.Request, Doc: "The master server asks whether the server responds."})
	mEchoReply        = catalog.Message(dissect.MessageType{Name: "echo_reply", Title: "echo", Role: dissect.Reply, Doc: "The server responds."})
	mMessage          = catalog.Message(dissect.MessageType{Name: "message_request", Title: "client message", Role: dissect.Request, Doc: "The master server forwards a message of a client, usually a request for NAT negotiation."})
	mMessageAck       = catalog.Message(dissect.MessageType{Name: "message_reply", Title: "client message acknowledged", Role: dissect.Reply, Doc: "The server has received the message."})
	mAvailable        = catalog.Message(dissect.MessageType{Name: "available_request", Title: "availability request", Role: dissect.Request, Doc: "A game asks whether GameSpy's services for it are available."})
	mAvailableReply   = catalog.Message(dissect.MessageType{Name: "available_reply", Title: "availability", Role: dissect.Reply, Doc: "Whether the services are available."})
)

// A Message is one of *HandshakeRequest, *HandshakeReply, *StatusRequest, *StatusReply,
// *Heartbeat and *Master.
//
// Strings hold the bytes of the wire. [dissect.AppendText] decodes them and makes them
// safe to print.
type Message any

// Keys are the requested keys of one kind: all, none, or single ones by their numbers
// in the SDK.
type Keys = gamespy.Keys

// A Row is a player or a team: its values in the order of the wire. The key of a value
// is the name of its column without the underscore or _t at its end.
type Row = gamespy.Row

// HandshakeRequest asks for a challenge.
type HandshakeRequest struct {
	// Session is chosen by the client; every packet of the exchange carries
	// it.
	Session uint32
}

// HandshakeReply gives a challenge.
type HandshakeReply struct {
	Session uint32
	// Challenge is the number that the query must carry, big-endian. 0 means that the
	// query must not carry one.
	Challenge int32
}

// StatusRequest asks for the settings, the players or the teams.
type StatusRequest struct {
	Session                uint32
	Challenge              dissect.Opt[int32]
	Server, Players, Teams Keys
	// Options is the optional last byte: 1 asks for parts, 2 for the list of Just
	// Cause 2.
	Options dissect.Opt[uint8]
}

// StatusReply has the requested data.
type StatusReply struct {
	Session uint32
	// Parts is the number of parts of the reply; 0 in the format without parts.
	Parts   int
	Rules   []dissect.KeyValue
	Players []Row
	Teams   []Row
	// Values are the reply to a query for single keys: their values, in the order of
	// the query.
	Values []string
	// JustCause is the list of players of Just Cause 2 Multiplayer.
	JustCause []JustCausePlayer
}

// JustCausePlayer is a player of Just Cause 2 Multiplayer.
type JustCausePlayer struct {
	Name, SteamID string
	Ping          uint16 // milliseconds
}

// Heartbeat announces a server to the master server.
type Heartbeat struct {
	// Key is a number that the server chose; every packet between the two carries it.
	Key     uint32
	Rules   []dissect.KeyValue
	Players []Row
	Teams   []Row
}

// Master is any other message between a server or a game and the servers of GameSpy.
// Only the fields of the message are set.
type Master struct {
	Type uint8
	Key  uint32
	// Text is the challenge, the response, the error or the name of the game.
	Text string
	// Code is the number of the error or of the message, or the status of the
	// services.
	Code   uint32
	Cookie dissect.Opt[uint32]
	Data   []byte
}

// AppendSummary appends the session id.
func (m *HandshakeRequest) AppendSummary(dst []byte) []byte {
	return gamespy.AppendSession(dst, m.Session)
}

// AppendSummary appends the challenge.
func (m *HandshakeReply) AppendSummary(dst []byte) []byte {
	return wire.Number(dst, "challenge ", m.Challenge)
}

// AppendSummary appends the requested data and the challenge.
func (m *StatusRequest) AppendSummary(dst []byte) []byte {
	dst = gamespy.AppendKeys(dst, &m.Server, &m.Players, &m.Teams)
	if m.Challenge.OK {
		return wire.Number(dst, ", challenge ", m.Challenge.Value)
	}
	return append(dst, ", without challenge"...)
}

// AppendSummary appends the name, the map and the players, as far as they are present,
// and the lengths of the lists.
func (m *StatusReply) AppendSummary(dst []byte) []byte {
	if len(m.Values) > 0 {
		for i, v := range m.Values {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = style.Quoted(dst, "", v)
		}
		return dst
	}
	return appendServer(dst, m.Rules, len(m.Players)+len(m.JustCause), len(m.Teams))
}

func appendServer(dst []byte, rules []dissect.KeyValue, players, teams int) []byte {
	s := gamespy.Server(rules, style)
	dst = gamespy.AppendServer(dst, &s, rules)
	return gamespy.AppendCounts(dst, players, teams, "team", "teams")
}

// AppendSummary appends the name, the map and the players, and whether the server shuts
// down.
func (m *Heartbeat) AppendSummary(dst []byte) []byte {
	dst = appendServer(dst, m.Rules, len(m.Players), len(m.Teams))
	for i := range m.Rules {
		if m.Rules[i].Key == "statechanged" && m.Rules[i].Value == "2" {
			dst = append(dst, "shutting down"...)
		}
	}
	return dst
}

// AppendSummary appends the content of the message.
func (m *Master) AppendSummary(dst []byte) []byte {
	switch {
	case m.Text != "":
		dst = style.Quoted(dst, "", m.Text)
	case m.Cookie.OK:
		dst = wire.Number(dst, "NAT negotiation, cookie ", m.Cookie.Value)
	case m.Type == gamespy.TypeHandshake:
		dst = append(dst, fStatus.NameOf(uint64(m.Code))...)
	}
	return dst
}
