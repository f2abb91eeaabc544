package gamespy1

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

var catalog = dissect.NewCatalog("gamespy1")

// asText sets the encoding of names and values. Games of Unreal's engine 2 colour them.
var asText = dissect.InText(dissect.Latin1, core.Unreal)

// Requests.
var (
	fQueries = catalog.Add("queries", dissect.List, "The queries, in order.")
	fEntry   = catalog.Add("queries.entry", dissect.Group, "One query.")
	fQuery   = catalog.Add("queries.query", dissect.String, "Word of the query, such as status, info or players.", core.Word, asText)
	fValue   = catalog.Add("queries.value", dissect.String, "Argument of the query: the text to return (echo), the text to sign (secure), the name of a property, or xserverquery.", core.ByKey(map[string]dissect.Privacy{"echo": dissect.PersonID, "secure": dissect.PersonID}), asText)
)

var fHidden = fValue.Hidden() // a password

// Replies.
var (
	pairs     = keyvalue.Declare(catalog, asText)
	fQueryID  = catalog.Add("queryid", dissect.String, "Server's number of the request, a dot, number of the datagram.", dissect.Public, asText, dissect.Chosen)
	fNumber   = catalog.Add("statusresponse", dissect.String, "Number of the datagram within the reply, from 0, by the AdminMod of SWAT 4.", asText, dissect.Framing)
	fEOF      = catalog.Add("eof", dissect.String, "Ends every datagram of the AdminMod of SWAT 4.", dissect.Framing)
	fFinal    = catalog.Add("final", dissect.String, "Marks the last datagram of the reply.", dissect.Framing)
	fEcho     = catalog.Add("echo", dissect.String, "Text of the request.", dissect.PersonID, asText, dissect.Chosen)
	fValidate = catalog.Add("validate", dissect.String, "Text of the query secure, signed with the key of the game.", dissect.PersonID, asText, dissect.Chosen)
	fEnd      = catalog.Add("end", dissect.Bytes, "Bytes after the end: zero bytes, as C programs send them, or backslashes.", dissect.Framing)

	// The table of players. The number at the end of a player's keys is read from the first
	// of them.
	fPlayers      = catalog.Add("players", dissect.List, "The players.")
	fPlayer       = catalog.Add("players.player", dissect.Group, "One player: all keys with the same number.")
	fIndex        = catalog.Add("players.index", dissect.Uint, "Number in the keys of the player. The numbers may have gaps.")
	fName         = catalog.Add("players.name", dissect.String, "Name (player_N, playername_N).", dissect.PersonName, asText)
	fScore        = catalog.Add("players.score", dissect.Decimal, "Score: score_N, or frags_N or kills_N if the reply has no score.")
	fFrags        = catalog.Add("players.frags", dissect.Decimal, "Frags, if the reply has a score as well.")
	fKills        = catalog.Add("players.kills", dissect.Decimal, "Kills, if the reply has a score or frags as well.")
	fDeaths       = catalog.Add("players.deaths", dissect.Decimal, "Deaths.")
	fPing         = catalog.Add("players.ping", dissect.Decimal, "Round-trip time in milliseconds, as the server measures it.")
	fTeam         = catalog.Add("players.team", dissect.Decimal, "Team, a number or a name. Battlefield 1942 counts teams from 1 here and from 0 in teamname_N; Unreal Tournament sends 255 for none.")
	fKeyHash      = catalog.Add("players.keyhash", dissect.String, "Hash of the player's CD key, which identifies the player (Battlefield 1942).", dissect.PersonID, asText)
	fMesh         = catalog.Add("players.mesh", dissect.String, "Character model of the player (Unreal Tournament).", dissect.Public, asText)
	fSkin         = catalog.Add("players.skin", dissect.String, "Skin of the model (Unreal Tournament).", dissect.Public, asText)
	fFace         = catalog.Add("players.face", dissect.String, "Face of the model (Unreal Tournament).", dissect.Public, asText)
	fColumn       = catalog.Add("players.column", dissect.String, "Any other key of the player, under its own name.", core.Cell, core.Open, asText)
	fColumnNumber = catalog.Add("players.number", dissect.Decimal, "Any other key of the player whose value is a number, under its own name.", core.Open)

	// The table of teams.
	fTeams      = catalog.Add("teams", dissect.List, "The teams.")
	fOneTeam    = catalog.Add("teams.team", dissect.Group, "One team: all keys with the same number.")
	fTeamIndex  = catalog.Add("teams.index", dissect.Uint, "Number in the keys of the team.")
	fTeamName   = catalog.Add("teams.name", dissect.String, "Name (teamname_N, team_tN).", dissect.ServerText, asText)
	fTeamScore  = catalog.Add("teams.score", dissect.Decimal, "Score (score_tN, teamscore_N).")
	fTeamColumn = catalog.Add("teams.column", dissect.String, "Any other key of the team, under its own name.", core.Cell, core.Open, asText)
	fTeamNumber = catalog.Add("teams.number", dissect.Decimal, "Any other key of the team whose value is a number, under its own name.", core.Open)

	// Heartbeats.
	fHeartbeat = catalog.Add("heartbeat.port", dissect.Decimal, "Query port of the server.")
	fGameName  = catalog.Add("heartbeat.gamename", dissect.String, "Name of the game at GameSpy.", dissect.Public, asText)
	fChanged   = catalog.Add("heartbeat.statechanged", dissect.Decimal, "The state of the game has changed. 2 means that the server shuts down; older servers send no number.")

	// The datagrams of a split reply.
	fPart       = catalog.Add("part.data", dissect.Bytes, "Keys and values of one datagram.", core.Becomes("joined"), dissect.Framing)
	fPartID     = catalog.Add("part.queryid", dissect.String, "Server's number of the request, a dot, number of the datagram from 1.", dissect.Framing, dissect.Chosen)
	fPartFinal  = catalog.Add("part.final", dissect.String, "Marks the last datagram.", dissect.Framing)
	fPartNumber = catalog.Add("part.statusresponse", dissect.String, "Number of the datagram within the reply, from 0, by the AdminMod of SWAT 4.", dissect.Framing)
	fPartEOF    = catalog.Add("part.eof", dissect.String, "Ends the datagram (AdminMod).", dissect.Framing)
	fPartEnd    = catalog.Add("part.end", dissect.Bytes, "Zero bytes after the text.", dissect.Framing)
)

// Requests and replies.
var (
	unanswered    = finding.NoReply(catalog, "gs1.noreply", "The capture has no reply within the time that clients wait. The server is down, the port is not its query port (often the game's port plus 1, 10 or 123), or the request or the reply was lost, dropped by a firewall or not captured.")
	unrequested   = finding.Unrequested(catalog, "gs1.unrequested", "The capture has requests of this conversation, but none that this reply answers. The request is missing from the capture, the reply is late, a duplicate or forged, or the server answers any datagram: servers with GameSpy's code send an empty reply to queries of other protocols.")
	several       = finding.Several(catalog, "gs1.several", "The reply arrived twice, or the server answers the parts of a combined request one by one. Clients that expect one reply take the second for the answer to their next request.")
	amplification = catalog.Finding(dissect.FindingType{ID: "gs1.amplification", Severity: dissect.Chat, Text: "data sent without a challenge: %r times the request (%d bytes for %d)", Doc: "The protocol has no challenge, so attackers can use any server to flood others. Only a rate limit helps."})

	// Split replies.
	partMissing = finding.New(catalog, dissect.Warning, "gs1.part.missing", "%d of %d {datagram|datagrams} of this reply arrived; missing: %p (%p)",
		"Some datagrams of a split reply are not in the capture. The others are shown, because each can be decoded alone. Clients that wait for all of them report a timeout.", finding.MissingParts)
	finalMissing = finding.New(catalog, dissect.Warning, "gs1.final.missing", "no datagram with final: %d arrived; missing: %p (%p)",
		"The last datagram of the reply is not in the capture, or the server never marks one, so the length of the reply is unknown. The datagrams that arrived are shown. Clients wait until they time out.", finding.MissingParts)
	partDuplicate = catalog.Finding(dissect.FindingType{ID: "gs1.part.duplicate", Severity: dissect.Note, Class: core.OfCapture, Text: "duplicate datagrams: %d", Doc: "The network, the server or the capture duplicated datagrams of a split reply. They are used once; clients that append datagrams as they arrive list players twice."})
	partReorder   = catalog.Finding(dissect.FindingType{ID: "gs1.part.reorder", Severity: dissect.Note, Class: core.OfCapture, Text: "the datagrams arrived out of order", Doc: "Clients that use the queryid are not affected; others mix up the keys."})
	partTotals    = finding.New(catalog, dissect.Warning, "gs1.part.totals", "datagrams of one reply state different totals: %p",
		"Only the last datagram shows the total. Two datagrams are marked as the last, or one has a number beyond the last: the server's count restarted, two replies crossed, or somebody forges datagrams. The reply counts as complete when as many datagrams are present as the highest number says.", finding.MixedParts)
	partConflict = finding.New(catalog, dissect.Warning, "gs1.part.conflict", "datagrams that arrived again with different content: %d; the first ones are used",
		"Two different datagrams have the same queryid or statusresponse: the server's count restarted, or somebody forges replies.", finding.MixedParts)

	// Contents.
	queryIDMissing = catalog.Finding(dissect.FindingType{ID: "gs1.queryid.missing", Severity: dissect.Note, Text: "no queryid", Doc: "Nothing shows which request the reply answers and which datagram of the reply this is. Clients can only use the order of arrival."})
	queryIDShort   = catalog.Finding(dissect.FindingType{ID: "gs1.queryid.short", Severity: dissect.Note, Text: "queryid %s has no second number", Doc: "A queryid is the number of the request, a dot and the number of the datagram. If one of them is missing, datagrams are joined in the order of arrival. A single number from 1 to 32 counts as that of the datagram, as in the GS1 modification of SWAT 4, if other datagrams belong to it."})
	statusNumber   = finding.New(catalog, dissect.Warning, "gs1.statusresponse.number", "statusresponse %s does not number the datagram",
		"The AdminMod of SWAT 4 sends the number of the datagram here, from 0 to 254. Without it the datagram is shown alone: it was truncated, or another program uses the key differently.", "A client should take such a datagram for a whole reply, or ask again. Check the version of the AdminMod.")
	finalValue = catalog.Finding(dissect.FindingType{ID: "gs1.final.novalue", Severity: dissect.Note, Text: "no empty value after final", Doc: "Every key has a value, and the value of final is empty. Descent 3 omits it: clients that read keys and values alternately lose the queryid."})
	oddKey     = finding.New(catalog, dissect.Warning, "gs1.oddkv", "the last key has no value",
		"Keys and values do not pair up: the datagram was truncated, or a value contains a backslash that cannot be told from the next key.", finding.OddPairs)
	backslash   = catalog.Finding(dissect.FindingType{ID: "gs1.backslash", Severity: dissect.Note, Text: "the value of %s contains a backslash", Doc: "Values are not escaped, so a name with a backslash looks like another key. The following text shows that it is not. Clients that read keys and values alternately misread the rest of the datagram."})
	columnTwice = finding.New(catalog, dissect.Warning, "gs1.column.twice", "duplicate keys of players or teams: %d; they are listed among the rules",
		"The same key with the same number occurs twice in one reply. Clients show one of the two.", "A client should choose one rule (most keep the last) and not read past the players. Report it to the author of the server or mod.")
	stalePlayers = finding.New(catalog, dissect.Warning, "gs1.stale_players", "%d {player|players} listed, numplayers says %d",
		"Battlefield 1942 keeps players in the list who have left, after those who are present. Clients truncate the list at numplayers. Another game may count differently.", "A client should show only the first numplayers players.")
	fewPlayers       = catalog.Finding(dissect.FindingType{ID: "gs1.few_players", Severity: dissect.Note, Text: "%d {player|players} listed, numplayers says %d", Doc: "The list is shorter than the server's count: bots, spectators or players who are still loading may be counted but not listed."})
	duplicateKeyHash = finding.New(catalog, dissect.Warning, "gs1.dup_keyhash", "players with the keyhash of an earlier player: %d",
		"Battlefield 1942 lists the same player twice, under two numbers, and the keyhash shows it. Players may also share a CD key.", "A client can show each keyhash once. If players share a CD key, both are there, and nothing has to be done.")
	unnamed      = catalog.Finding(dissect.FindingType{ID: "gs1.unnamed", Severity: dissect.Note, Text: "players without a name: %d", Doc: "None of the keys with a player's number is the name: it is in a missing datagram, or the server omits it."})
	spread       = catalog.Finding(dissect.FindingType{ID: "gs1.spread", Severity: dissect.Chat, Text: "players whose keys are in more than one datagram: %d", Doc: "Servers cut a reply between any two keys. Clients that read datagram by datagram, or lose one, show incomplete players."})
	empty        = catalog.Finding(dissect.FindingType{ID: "gs1.empty", Severity: dissect.Chat, Text: "reply without content", Doc: "The server has no data for this query, or does not know it."})
	unknownQuery = catalog.Finding(dissect.FindingType{ID: "gs1.query.unknown", Severity: dissect.Note, Text: "unknown query %s", Doc: "No server is known to answer it. Servers ignore unknown queries; those with GameSpy's code send an empty reply."})
	openQuery    = finding.Length(catalog, "gs1.query.open", "no backslash after %s",
		"GameSpy's code expects the word between two backslashes, does not recognise this one and sends an empty reply. Other servers answer. A truncated request looks the same.", "An own client should ask with a backslash at the end: \\status\\.")
)

// The topics of requests. A combined request has several.
const (
	topicBasic dissect.Topic = 1 << iota
	topicInfo
	topicRules
	topicPlayers
	topicTeams
	topicStatus
	topicPackets
	topicProperty
	topicEcho
	topicSecure
	topicOther

	anyTopic = 1<<iota - 1
)

var (
	mBasic    = catalog.Message(dissect.MessageType{Name: "basic_request", Title: "basic request", Role: dissect.Request, Doc: "Asks for the name and the version of the game."})
	mInfo     = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for basic data of a server."})
	mRules    = catalog.Message(dissect.MessageType{Name: "rules_request", Title: "rules request", Role: dissect.Request, Doc: "Asks for the settings."})
	mPlayers  = catalog.Message(dissect.MessageType{Name: "players_request", Title: "players request", Role: dissect.Request, Doc: "Asks for the players."})
	mTeams    = catalog.Message(dissect.MessageType{Name: "teams_request", Title: "teams request", Role: dissect.Request, Doc: "Asks for the teams. Few servers support it."})
	mStatus   = catalog.Message(dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "Asks for everything: basic, info, rules and players."})
	mPackets  = catalog.Message(dissect.MessageType{Name: "packets_request", Title: "packets request", Role: dissect.Request, Doc: "Asks for basic, info, rules and players in separate datagrams: a test of the client's reassembly."})
	mProperty = catalog.Message(dissect.MessageType{Name: "property_request", Title: "property request", Role: dissect.Request, Doc: "Asks Unreal servers for a property of the level, of the game or of each player."})
	mEcho     = catalog.Message(dissect.MessageType{Name: "echo_request", Title: "echo request", Role: dissect.Request, Doc: "Asks the server to return a text."})
	mSecure   = catalog.Message(dissect.MessageType{Name: "secure_request", Title: "secure request", Role: dissect.Request, Doc: "A master asks the server to sign a text, which proves that it is a server of the game."})
	mCombined = catalog.Message(dissect.MessageType{Name: "combined_request", Title: "combined request", Role: dissect.Request, Doc: "Several of these queries in one datagram."})
	mUnknown  = catalog.Message(dissect.MessageType{Name: "unknown_request", Title: "unknown request", Role: dissect.Request, Doc: "A word between backslashes that is not a known query."})

	mBasicReply   = catalog.Message(dissect.MessageType{Name: "basic_reply", Title: "basic reply", Role: dissect.Reply, Doc: "Name and version of the game."})
	mInfoReply    = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info reply", Role: dissect.Reply, Doc: "Basic data of a server."})
	mRulesReply   = catalog.Message(dissect.MessageType{Name: "rules_reply", Title: "rules reply", Role: dissect.Reply, Doc: "Settings."})
	mPlayersReply = catalog.Message(dissect.MessageType{Name: "players_reply", Title: "players reply", Role: dissect.Reply, Doc: "Players."})
	mTeamsReply   = catalog.Message(dissect.MessageType{Name: "teams_reply", Title: "teams reply", Role: dissect.Reply, Doc: "Teams."})
	mStatusReply  = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status reply", Role: dissect.Reply, Doc: "Basic data, settings and players together: the reply to status, packets and combined requests."})
	mEchoReply    = catalog.Message(dissect.MessageType{Name: "echo_reply", Title: "echo reply", Role: dissect.Reply, Doc: "The text of the request."})
	mSecureReply  = catalog.Message(dissect.MessageType{Name: "secure_reply", Title: "secure reply", Role: dissect.Reply, Doc: "The text of the request, signed: validate."})
	mEmptyReply   = catalog.Message(dissect.MessageType{Name: "empty_reply", Title: "empty reply", Role: dissect.Reply, Doc: "The end of a reply without content. A known request determines its type."})

	mHeartbeat = catalog.Message(dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Purpose: dissect.Heartbeat | dissect.Unconfirmed, Doc: "A server announces itself to a master."})
)

// A Message is one of *Request, *Reply and *Heartbeat.
type Message any

// Request is a request of one or more queries.
type Request struct{ Queries []Query }

// A Query is a word of a request with its argument: the text of echo and secure, the
// name of a property, "xserverquery", or nothing.
type Query struct{ Name, Value string }

// Reply is a reply of keys and values: of the server, its players and its teams. If it
// was split, it is the whole reply.
type Reply struct {
	// QueryID is the queryid of the datagram, such as "12.1". It is absent from a
	// joined reply and from servers that send none.
	QueryID dissect.Opt[string]
	// Final reports whether the last datagram of the reply is present.
	Final bool
	// Rules are all other pairs. A key is empty if it is in a missing datagram.
	Rules   []dissect.KeyValue
	Players []Player
	Teams   []Team
	// Echo and Validate are the replies to the queries echo and secure.
	Echo, Validate dissect.Opt[string]
}

// Player is a player: the keys with one number. Values that should be numbers but are
// not are absent here; Columns has their text.
type Player struct {
	// Index is the number in the keys.
	Index int
	Name  string
	// Score is score_N, or frags_N or kills_N if the reply has no other.
	Score, Deaths dissect.Opt[int]
	// Ping is in milliseconds.
	Ping dissect.Opt[int]
	// Team is a number or a name.
	Team dissect.Opt[string]
	// Columns are all keys of the player without their number, in the order of the
	// wire. player_N and playername_N are both called name.
	Columns []dissect.KeyValue
}

// Team is a team: the keys with one number.
type Team struct {
	Index int
	Name  string
	Score dissect.Opt[int]
	// Columns are all keys of the team without their number. The key of its name is
	// called name.
	Columns []dissect.KeyValue
}

// Heartbeat announces a server to a master.
type Heartbeat struct {
	// Port is the server's query port.
	Port dissect.Opt[uint16]
	Game string
	// StateChanged is present when the state of the game has changed. It is empty or
	// "1", or "2" when the server shuts down.
	StateChanged dissect.Opt[string]
	// Rules are all other keys.
	Rules []dissect.KeyValue
}

var style = wire.Style{Charset: fName.Charset, Codes: fName.Style}

// AppendSummary appends the queries and their arguments, unless the title has them.
func (m *Request) AppendSummary(dst []byte) []byte {
	if len(m.Queries) == 1 {
		if w := wordOf(m.Queries[0].Name); w != nil && w.topic != topicProperty {
			return style.Text(dst, "", m.Queries[0].Value)
		}
	}
	for i, q := range m.Queries {
		if i == 8 {
			return append(dst, " …"...)
		}
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = style.Text(dst, "", q.Name)
		switch {
		case q.Value == "":
		case nettext.SecretSetting(q.Name, q.Value):
			dst = append(dst, " ***"...)
		default:
			dst = style.Text(dst, " ", q.Value)
		}
	}
	return dst
}

// AppendSummary appends the name, the game and the players, or what the reply has
// instead.
func (p *Reply) AppendSummary(dst []byte) []byte {
	start := len(dst)
	server := dissect.Server{
		Name: keyvalue.Text(p.Rules, "hostname"), Game: keyvalue.Text(p.Rules, "gamename"), Map: keyvalue.Text(p.Rules, "mapname"),
		Players: keyvalue.Number(p.Rules, "numplayers"), MaxPlayers: keyvalue.Number(p.Rules, "maxplayers"),
		Charset: style.Charset, Style: style.Codes,
	}
	listed := len(p.Players)
	if !server.Players.OK && listed > 0 {
		server.Players, server.MaxPlayers.OK = dissect.Some(listed), false
	}
	dst = server.AppendSummary(dst)
	if listed > 0 && listed != server.Players.Value {
		dst = append(wire.Number(dst, ", ", listed), " listed"...)
	}
	rest := dissect.Server{Version: keyvalue.Text(p.Rules, "gamever"), Password: keyvalue.Flag(p.Rules, "password"), Charset: style.Charset, Style: style.Codes}
	if rest.Version.Value != "" || rest.Password.Value {
		dst = rest.AppendSummary(wire.Gap(dst, start))
	}
	if len(dst) == start && len(p.Rules) > 0 {
		dst = wire.Plural(dst, "", len(p.Rules), "rule", "rules")
	}
	if len(dst) == start && len(p.Teams) > 0 {
		dst = wire.Plural(dst, "", len(p.Teams), "team", "teams")
	}
	if p.Echo.OK {
		dst = style.Quoted(wire.Gap(dst, start), "echo ", p.Echo.Value)
	}
	if p.Validate.OK {
		dst = style.Text(wire.Gap(dst, start), "validate ", p.Validate.Value)
	}
	return dst
}

// AppendSummary appends the game, the port and what happened.
func (m *Heartbeat) AppendSummary(dst []byte) []byte {
	dst = style.Text(dst, "", m.Game)
	if m.Port.OK {
		dst = wire.Number(dst, ", queries on port ", m.Port.Value)
	}
	if m.StateChanged.OK {
		if m.StateChanged.Value == "2" {
			return append(dst, ", shuts down"...)
		}
		dst = append(dst, ", state changed"...)
	}
	return dst
}
