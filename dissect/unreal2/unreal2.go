// Package unreal2 dissects the queries of games with Unreal Engine 2: Unreal Tournament
// 2003 and 2004, Killing Floor, Red Orchestra, Unreal II XMP.
//
// A request is a 32-bit number for the version of the game, and a byte: 0 for details,
// 1 for rules, 2 for players, 3 for all of these. The replies begin in the same way;
// all games since 2004 send 128 as the number. Rules and players are sent in as many
// datagrams as they need, cut between records. The datagrams have no numbers and no
// mark of the last one, so each is decoded alone.
//
// Numbers are little-endian. A text follows its length, which is a compact index as in
// Unreal's files. It is Latin-1 with a zero byte at its end, or UTF-16 if the length is
// negative.
//
// Sources: recorded traffic of Unreal Tournament 2004 and Killing Floor; node-gamedig
// and qstat for Unreal II XMP and the differences between games.
package unreal2

import (
	"encoding/binary"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var style = wire.Style{Charset: dissect.Latin1, Codes: core.Unreal}

var catalog = dissect.NewCatalog("unreal2")

var asText = dissect.InText(style.Charset, style.Codes)

var (
	fVersion = catalog.Add("version", dissect.Uint, "Version of the sender's protocol.", dissect.Framing, dissect.Names(
		dissect.Name{Value: 0x77, Name: "Pariah"}, dissect.Name{Value: 0x78, Name: "UT2003 demo"}, dissect.Name{Value: 0x79, Name: "UT2003"},
		dissect.Name{Value: xmp, Name: "Unreal II XMP"}, dissect.Name{Value: 0x7f, Name: "UT2004 demo"}, dissect.Name{Value: latest, Name: "UT2004 and later"}))
	fType = catalog.Add("type", dissect.Uint, "Kind of data that is requested or sent.", dissect.Framing, core.Counted(0, "details", "rules", "players", "all"))

	fServerID   = catalog.Add("details.server_id", dissect.Uint, "Number of the server: 0, except from a master.")
	fAddress    = catalog.Add("details.address", dissect.String, "Address of the server: empty, except from a master.", dissect.Address, asText)
	fGamePort   = catalog.Add("details.game_port", dissect.Uint, "Port of the game.")
	fQueryPort  = catalog.Add("details.query_port", dissect.Uint, "Port of the queries: 0, except from a master.")
	fName       = catalog.Add("details.name", dissect.String, "Name of the server.", dissect.ServerText, asText)
	fMap        = catalog.Add("details.map", dissect.String, "Map being played.", dissect.Public, asText)
	fGameType   = catalog.Add("details.game_type", dissect.String, "Class of the game being played.", dissect.Public, asText)
	fPlayers    = catalog.Add("details.num_players", dissect.Uint, "Players on the server.")
	fMaxPlayers = catalog.Add("details.max_players", dissect.Uint, "Maximum number of players.")
	fWave       = catalog.Add("details.wave", dissect.Uint, "Wave of enemies (Killing Floor).")
	fFinalWave  = catalog.Add("details.final_wave", dissect.Uint, "Last wave (Killing Floor).")
	fPing       = catalog.Add("details.ping", dissect.Uint, "Round-trip time, which the client fills in.")
	fFlags      = catalog.Add("details.flags", dissect.Uint, "Flags.")
	fSkill      = catalog.Add("details.skill", dissect.String, "Skill of the bots.", dissect.Public, asText)
	fMore       = catalog.Add("details.more", dissect.Bytes, "One or two zero bytes, which newer games add.", dissect.Public)

	pairs = keyvalue.Declare(catalog, asText)

	fPlayerList   = catalog.Add("players", dissect.List, "The players of this datagram.")
	fPlayer       = catalog.Add("players.player", dissect.Group, "A player, or with the id 0 a line of the scoreboard, such as a team.")
	fNumber       = catalog.Add("players.number", dissect.Uint, "Number of the player (Unreal II XMP).")
	fID           = catalog.Add("players.id", dissect.Uint, "Id of the player on the server.")
	fPlayerName   = catalog.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName, asText)
	fPlayerPing   = catalog.Add("players.ping", dissect.Uint, "Round-trip time in milliseconds, 0 for bots.")
	fScore        = catalog.Add("players.score", dissect.Int, "Score.")
	fStatsID      = catalog.Add("players.stats_id", dissect.Uint, "Id of the player in the statistics.")
	fTeam         = catalog.Add("players.team", dissect.Uint, "Team.", dissect.Names(dissect.Name{Value: 0x20, Name: "red"}, dissect.Name{Value: 0x40, Name: "blue"}))
	fPropertyList = catalog.Add("players.properties", dissect.List, "Properties of the player (Unreal II XMP).")
	fProperties   = catalog.Add("players.properties.count", dissect.Uint, "Number of properties.", dissect.Framing)
	fProperty     = catalog.Add("players.properties.property", dissect.Group, "A property.")
	fKey          = catalog.Add("players.properties.key", dissect.String, "Name of the property.", dissect.SettingName, asText)
	fValue        = catalog.Add("players.properties.value", dissect.String, "Value of the property.", dissect.Setting, asText)
)

const (
	topicDetails dissect.Topic = 1 << iota
	topicRules
	topicPlayers
)

var (
	mDetails      = catalog.Message(dissect.MessageType{Name: "details_request", Title: "details request", Role: dissect.Request, Doc: "Asks for basic data of a server."})
	mRules        = catalog.Message(dissect.MessageType{Name: "rules_request", Title: "rules request", Role: dissect.Request, Doc: "Asks for the settings; the reply is several datagrams."})
	mPlayers      = catalog.Message(dissect.MessageType{Name: "players_request", Title: "players request", Role: dissect.Request, Doc: "Asks for the players; the reply is several datagrams.", Unanswered: noPlayers})
	mAll          = catalog.Message(dissect.MessageType{Name: "all_request", Title: "request for all", Role: dissect.Request, Doc: "Asks for rules and players, and from some servers for details, with one request."})
	mDetailsReply = catalog.Message(dissect.MessageType{Name: "details_reply", Title: "details", Role: dissect.Reply, Doc: "Basic data of a server."})
	mRulesReply   = catalog.Message(dissect.MessageType{Name: "rules_reply", Title: "rules", Role: dissect.Reply, Doc: "Settings, in one or more datagrams. The key Mutator occurs once for each mutator."})
	mPlayersReply = catalog.Message(dissect.MessageType{Name: "players_reply", Title: "players", Role: dissect.Reply, Doc: "Players, in one or more datagrams."})
	mUnknown      = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Role: dissect.OneWay, Doc: "Not a message of this protocol. The user selected the protocol for it."})

	unanswered    = finding.NoReply(catalog, "unreal2.noreply", "The capture has no reply. The server is down, the port is not its query port (the game's port plus 1, such as 7778 for 7777; at the game's port plus 10 it answers GameSpy 1), or a packet was lost, dropped or not captured.")
	noPlayers     = finding.Unanswered(catalog, "unreal2.noplayers", "The capture has no players reply. Servers without players send none, so this alone does not mean that the server is down: check whether it answers the request for details. A packet may also have been lost, dropped or not captured.")
	unrequested   = finding.Unrequested(catalog, "unreal2.unrequested", "The capture has requests of this conversation, but none that this reply answers. The request is missing from the capture, or the reply is late, a duplicate or forged.")
	amplification = finding.Amplification(catalog, "unreal2.amplification", "Requests have 5 bytes and no challenge, replies a thousand and more, so attackers can use the server to flood others. All datagrams so far are counted. Limit the rate of replies to each address, or open the query port only to known addresses.")
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "unreal2",
	Title:   "Unreal 2",
	Doc:     "Queries of Unreal Engine 2: Unreal Tournament 2003 and 2004, Killing Floor, Red Orchestra, Unreal II XMP.",
	Source:  "recorded traffic; node-gamedig (unreal2.js); qstat (ut2003), of which Unreal II XMP is known only",
	Ports:   []uint16{7778, 7708, 7758, 7788},
	Starts:  []string{"\x77\x00", "\x78\x00", "\x79\x00", "\x7e\x00", "\x7f\x00", "\x80\x00"},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, amplification),
}

const (
	xmp    = 0x7e
	latest = 0x80 // all since UT2004

	headLen = 5
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
//
// QUIC and RakNet have packets that begin with 80 00 00 00 00, so the visible rest must
// be a reply.
func Detect(b []byte) dissect.Verdict {
	if len(b) < headLen || string(b[1:4]) != "\x00\x00\x00" || b[4] > 3 {
		return dissect.No
	}
	switch b[0] {
	case 0x77, 0x78, 0x79, xmp, 0x7f:
		if len(b) == headLen {
			return dissect.Likely
		}
	case latest:
		if len(b) == headLen { // an empty reply, or a query of the game itself
			return dissect.Possible
		}
	default:
		return dissect.No
	}
	s := scan{rest: b[headLen:], sure: true}
	switch b[4] {
	case 0:
		id := s.number()
		s.text()
		port, query := s.number(), s.number()
		if port > 0xffff || query > 0xffff {
			return dissect.No
		}
		s.sure = s.sure && id == 0 && port > 0 && !s.ended && wire.Varied(b[headLen:])
		s.text()
		s.text()
		s.text()
	case 1:
		s.sure = s.rest[0] > 1 && wire.Varied(b[headLen:]) // a key
		for len(s.rest) > 0 {
			s.text()
			s.text()
		}
	case 2:
		for len(s.rest) > 0 {
			if b[0] == xmp {
				s.number()
			}
			s.number()
			s.text()
			if s.number() > 0xffff {
				return dissect.No
			}
			s.number()
			s.number()
			if b[0] == xmp {
				break
			}
		}
	default:
		return dissect.No
	}
	switch {
	case s.wrong:
		return dissect.No
	case s.sure && (!s.ended || len(b) >= 64):
		return dissect.Likely
	}
	return dissect.Possible
}

// A scan walks through the first bytes of a reply.
type scan struct {
	rest  []byte
	ended bool // the data ends within a value
	wrong bool // a text contains a zero byte
	sure  bool // all texts end with a zero byte
}

func (s *scan) take(n int) []byte {
	if n > len(s.rest) {
		n, s.ended = len(s.rest), true
	}
	b := s.rest[:n]
	s.rest = s.rest[n:]
	return b
}

func (s *scan) number() uint32 {
	if b := s.take(4); len(b) == 4 {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (s *scan) text() {
	length := s.take(1)
	if len(length) == 0 || length[0] == 0 {
		return
	}
	n := int(length[0] &^ wideBit)
	if n&moreBit != 0 && len(s.rest) > 0 && s.rest[0] < ' ' {
		n = n&^moreBit | int(s.take(1)[0])<<6
	}
	if length[0]&wideBit != 0 {
		s.take(2 * n)
		return
	}
	b := s.take(n)
	for i, c := range b {
		if c == 0 && i != n-1 {
			s.wrong = true
		}
	}
	s.sure = s.sure && (len(b) < n || n > 0 && b[n-1] == 0)
}

// A Message is one of *Request, *DetailsReply, *RulesReply and *PlayersReply, or
// nil if its kind is not known.
type Message any

// Request is any request.
type Request struct {
	// Version is the version of the game. Servers ignore it.
	Version uint32
	// Type is 0 for details, 1 for rules, 2 for players, 3 for all.
	Type uint8
}

// DetailsReply has basic data of a server. Strings hold the bytes of the wire, or UTF-8
// if these are UTF-16.
type DetailsReply struct {
	Version             uint32
	ServerID            uint32
	Address             string
	GamePort, QueryPort uint32
	Name, Map, GameType string
	Players, MaxPlayers uint32
	Wave, FinalWave     dissect.Opt[uint32]
	Ping                uint32
	Flags               dissect.Opt[uint32]
	Skill               dissect.Opt[string]

	server dissect.Server
}

// RulesReply has settings. A key may occur more than once.
type RulesReply struct {
	Version uint32
	Rules   []dissect.KeyValue
}

// PlayersReply has players.
type PlayersReply struct {
	Version uint32
	Players []Player
	// Properties are the properties of all players (Unreal II XMP).
	Properties []Property
}

// A Player is a player, or a line of the scoreboard if ID is 0.
type Player struct {
	ID      uint32
	Name    string
	Ping    uint32
	Score   int32
	StatsID uint32
	// Team is 0x20 for red, 0x40 for blue.
	Team uint8
}

// A Property is a property of the player with an index.
type Property struct {
	Player     int
	Key, Value string
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	details DetailsReply
	rules   RulesReply
	players PlayersReply
}

// requests are the messages by their types.
var requests = [...]struct {
	message *dissect.MessageType
	topics  dissect.Topic
}{{mDetails, topicDetails}, {mRules, topicRules}, {mPlayers, topicPlayers}, {mAll, topicDetails | topicRules | topicPlayers}}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	left, kind := r.Left(), r.PeekByte(4)
	// A reply may be empty: then it is what the newer games ask themselves.
	empty := left == headLen && (kind == 1 && core.Awaited(r, topicRules, 0) || kind == 2 && core.Awaited(r, topicPlayers, 0))
	m.Type = mUnknown
	switch {
	case kind < 0 || kind >= len(requests):
		r.U32(fVersion)
		r.U8(fType)
		r.Fail(fType, "no such query")
	case left == headLen && !empty || kind == 3:
		q := &requests[kind]
		m.Type, m.Body = q.message, &d.request
		m.Pair = dissect.Pair{Asks: q.topics, Challenge: dissect.ChallengeAbsent}
		d.request = Request{Version: r.U32(fVersion), Type: r.U8(fType)}
	case kind == 0:
		d.decodeDetails(r, m)
	case kind == 1:
		d.decodeRules(r, m)
	default:
		d.decodePlayers(r, m)
	}
}

func (d *decoder) decodeDetails(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mDetailsReply, &d.details, DetailsReply{Version: r.U32(fVersion)})
	m.Pair.Answers = topicDetails
	r.U8(fType)
	p.ServerID = r.U32(fServerID)
	p.Address = text(r, fAddress)
	p.GamePort = r.U32(fGamePort)
	p.QueryPort = r.U32(fQueryPort)
	codes := style.Codes
	if r.PeekByte(0) >= wideBit {
		codes = codes.Wide()
	}
	p.Name = text(r, fName)
	p.Map = text(r, fMap)
	p.GameType = text(r, fGameType)
	p.Players = r.U32(fPlayers)
	p.MaxPlayers = r.U32(fMaxPlayers)
	wire.State(r, m, dissect.Server{
		Name: dissect.Some(p.Name), Map: dissect.Some(p.Map), Game: dissect.Some(p.GameType),
		Players: dissect.Some(int(int32(p.Players))), MaxPlayers: dissect.Some(int(int32(p.MaxPlayers))),
		Charset: style.Charset, Style: codes,
	})
	p.server = m.Server
	if hasWaves(r) {
		p.Wave = dissect.Some(r.U32(fWave))
		p.FinalWave = dissect.Some(r.U32(fFinalWave))
	}
	p.Ping = r.U32(fPing)
	if !r.More() {
		return // the first games end here
	}
	p.Flags = dissect.Some(r.U32(fFlags))
	p.Skill = dissect.Some(text(r, fSkill))
	if n := r.Left(); n > 0 && n <= maxMore {
		r.Bytes(fMore, n)
	}
}

// maxMore is the largest number of bytes that newer games add.
const maxMore = 2

// hasWaves reports whether two numbers precede ping and flags: the text after these
// ends the reply only if it begins 8 bytes later.
func hasWaves(r *dissect.Reader) bool {
	ends := func(at int) bool {
		left := r.Left() - at - 1 - max(r.PeekByte(at), 0)
		return left >= 0 && left <= maxMore
	}
	return !ends(8) && ends(16)
}

func (d *decoder) decodeRules(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mRulesReply, &d.rules, RulesReply{Version: r.U32(fVersion), Rules: d.rules.Rules[:0]})
	m.Pair.Answers = topicRules
	r.U8(fType)
	if !r.More() {
		return // no list either: anonymize takes it for the request that it looks like
	}
	p.Rules = wire.Records(r, pairs.List, pairs.Pair, p.Rules, r.More, func() dissect.KeyValue {
		rule := dissect.KeyValue{Key: text(r, pairs.Key), Value: text(r, pairs.Value)}
		core.HideSetting(r, pairs.Hidden, rule.Key, rule.Value)
		return rule
	})
	m.Server = dissect.Server{
		Version: keyvalue.Text(p.Rules, "ServerVersion"), Password: keyvalue.Flag(p.Rules, "GamePassword"),
		Charset: style.Charset, Style: style.Codes,
	}
}

func (d *decoder) decodePlayers(r *dissect.Reader, m *dissect.Message) {
	p := &d.players
	*p = PlayersReply{Version: r.U32(fVersion), Players: p.Players[:0], Properties: p.Properties[:0]}
	m.Type, m.Body, m.Pair.Answers = mPlayersReply, p, topicPlayers
	r.U8(fType)
	if !r.More() {
		return
	}
	list := r.Begin(fPlayerList)
	for r.More() {
		properties := len(p.Properties)
		player := r.BeginRecord(fPlayer)
		if p.Version == xmp {
			r.U32(fNumber)
		}
		one := Player{ID: r.U32(fID), Name: text(r, fPlayerName), Ping: r.U32(fPlayerPing), Score: r.I32(fScore)}
		one.StatsID = uint32(core.UintN(r, fStatsID, 3))
		one.Team = r.U8(fTeam)
		if p.Version == xmp {
			d.decodeProperties(r)
		}
		if !r.EndRecord(player) {
			p.Properties = p.Properties[:properties]
			break
		}
		p.Players = append(p.Players, one)
	}
	r.End(list)
}

func (d *decoder) decodeProperties(r *dissect.Reader) {
	p := &d.players
	n := int(r.U8(fProperties))
	p.Properties = wire.Items(r, fPropertyList, fProperty, p.Properties, wire.Times(r, n), func() Property {
		return Property{Player: len(p.Players), Key: text(r, fKey), Value: text(r, fValue)}
	})
}

// A length is a compact index of Unreal: six bits, and seven in the next byte if
// moreBit is set. If wideBit is set, the length is negative and counts UTF-16 units.
const (
	wideBit = 0x80
	moreBit = 0x40
)

// text reads a text after its length, which counts the zero byte at its end if there is
// one. Without it the length may be a plain byte, as some servers send and most clients
// read. A text in UTF-16 may have a byte 01 without meaning after it.
func text(r *dissect.Reader, f *dissect.Field) string {
	first := max(r.PeekByte(0), 0)
	size := 1 + core.Bit[int](first&wideBit != 0)
	pre, n := 1, first&0x3f
	if first&moreBit != 0 {
		pre, n = 2, n|max(r.PeekByte(1), 0)<<6
	}
	ends := func(pre, n int) bool {
		return n > 0 && r.PeekByte(pre+size*n-1) == 0 && r.PeekByte(pre+size*n-size) == 0
	}
	ended := ends(pre, n)
	switch plain := first &^ wideBit; {
	case ended:
	case ends(1, plain):
		pre, n, ended = 1, plain, true
	case size == 2 && r.PeekByte(1) == 1 && ends(2, plain):
		pre, n, ended = 2, plain, true
	}
	suf := 0
	if ended {
		n, suf = n-1, size
	}
	if size == 2 {
		return core.Wide(r, f, pre, n, suf)
	}
	return core.Latin(r, f, pre, n, suf)
}

// AppendSummary appends the name, the game, the map and the players.
func (m *DetailsReply) AppendSummary(dst []byte) []byte {
	dst = m.server.AppendSummary(dst)
	if m.Wave.OK {
		dst = wire.Number(wire.Number(dst, "  wave ", m.Wave.Value), " of ", m.FinalWave.Value)
	}
	return dst
}

// AppendSummary appends the number of settings.
func (m *RulesReply) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(m.Rules), "rule", "rules")
}

// AppendSummary appends the number of players.
func (m *PlayersReply) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(m.Players), "player", "players")
}
