// Package tribes dissects the queries of Starsiege: Tribes, Starsiege and Tribes 2, and
// of the master servers of Tribes and Tribes 2.
//
// A request of Tribes and Starsiege is a letter and two bytes that the client chose; the
// reply begins with the next letter, these two and the letter of the request. Messages of
// Tribes 2 begin with a type, flags and a number of four bytes. Numbers are little-endian,
// texts follow a length.
//
// Sources: qstat, node-gamedig, GameQ 0.3.5 (Starsiege). No recorded traffic.
package tribes

import (
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("tribes")

var (
	fType      = catalog.Add("type", dissect.Uint, "Kind of message.", dissect.Framing)
	fChallenge = catalog.Add("challenge", dissect.Uint, "Number that the client chose; the reply repeats it.", dissect.Chosen)
	fRepeated  = catalog.Add("request_type", dissect.Uint, "Type of the request.", dissect.Framing)
	fFlags     = catalog.Add("flags", dissect.Uint, "How texts are written (Tribes 2).", dissect.Framing, dissect.Bits(
		dissect.Name{Value: plain, Name: "not compressed"}, dissect.Name{Value: 0x80, Name: "newer than build 22228"}))
	fKey   = catalog.Add("key", dissect.Uint, "Number that the client chose; the reply repeats it (Tribes 2).", dissect.Chosen)
	fCoded = catalog.Add("coded", dissect.Bytes, "Data whose texts are compressed with the Huffman table of the engine.")

	fGame       = catalog.Add("game", dissect.String, "Name of the game.", dissect.Public, core.InLatin1)
	fVersion    = catalog.Add("version", dissect.String, "Version of the game.", dissect.Public, core.InLatin1)
	fName       = catalog.Add("name", dissect.String, "Name of the server.", dissect.ServerText, core.InLatin1)
	fDedicated  = catalog.Add("dedicated", dissect.Bool, "Whether it is a dedicated server.")
	fPassword   = catalog.Add("password", dissect.Bool, "Whether the server has a password.")
	fNumPlayers = catalog.Add("num_players", dissect.Uint, "Players on the server.")
	fMaxPlayers = catalog.Add("max_players", dissect.Uint, "Maximum number of players.")
	fNumBots    = catalog.Add("num_bots", dissect.Uint, "Bots among the players.")
	fCPU        = catalog.Add("cpu_mhz", dissect.Uint, "Speed of the server's processor.")
	fMod        = catalog.Add("mod", dissect.String, "Modifications.", dissect.Public, core.InLatin1)
	fMission    = catalog.Add("mission_type", dissect.String, "Kind of mission.", dissect.Public, core.InLatin1)
	fMap        = catalog.Add("map", dissect.String, "Mission being played.", dissect.Public, core.InLatin1)
	fInfo       = catalog.Add("info", dissect.String, "What the operator says of the server.", dissect.ServerText, core.InLatin1)
	fMore       = catalog.Add("more", dissect.Bytes, "Further bytes, whose meaning is unknown.")

	fNumTeams      = catalog.Add("num_teams", dissect.Uint, "Number of teams that follow.", dissect.Framing)
	fTeamColumns   = catalog.Add("team_columns", dissect.String, "Names of the columns of teams, each after a byte with its place.", dissect.Public, core.InLatin1)
	fPlayerColumns = catalog.Add("player_columns", dissect.String, "Names of the columns of players, each after a byte with its place.", dissect.Public, core.InLatin1)
	fTeams         = catalog.Add("teams", dissect.List, "The teams.")
	fTeam          = catalog.Add("teams.team", dissect.Group, "A team.")
	fTeamName      = catalog.Add("teams.name", dissect.String, "Name of the team.", dissect.Public, core.InLatin1)
	fTeamCells     = catalog.Add("teams.cells", dissect.String, "Its columns with tabs in between; %t is the name.", dissect.Public, core.InLatin1)
	fTeamScore     = catalog.Add("teams.score", dissect.Decimal, "Score of the team (Tribes 2).")
	fPlayers       = catalog.Add("players", dissect.List, "The players.")
	fPlayer        = catalog.Add("players.player", dissect.Group, "A player.")
	fPing          = catalog.Add("players.ping", dissect.Uint, "Round-trip time in milliseconds; the byte has a quarter of it.")
	fLoss          = catalog.Add("players.packet_loss", dissect.Uint, "Lost packets in percent.")
	fTeamID        = catalog.Add("players.team_id", dissect.Uint, "Number of the team; 255: none. In Starsiege a set of colours.")
	fPlayerName    = catalog.Add("players.name", dissect.String, "Name of the player. In Tribes 2 with control characters: 11 before the tag of a tribe.", dissect.PersonName, core.InLatin1)
	fPlayerCells   = catalog.Add("players.cells", dissect.String, "Columns with tabs in between; %n is the name, %p the ping, %l the packet loss, %t the team.", dissect.Public, core.InLatin1)
	fPlayerTeam    = catalog.Add("players.team", dissect.String, "Team of the player (Tribes 2).", dissect.Public, core.InLatin1)
	fScore         = catalog.Add("players.score", dissect.Decimal, "Score of the player (Tribes 2).")

	fDropIn       = catalog.Add("starsiege.drop_in", dissect.Bool, "Whether players may join a running game.")
	fRunning      = catalog.Add("starsiege.running", dissect.Bool, "Whether the game is running.")
	fTeamPlay     = catalog.Add("starsiege.team_play", dissect.Bool, "Whether teams play.")
	fFactory      = catalog.Add("starsiege.factory_vehicles", dissect.Bool, "Whether only factory vehicles are allowed.")
	fTechMix      = catalog.Add("starsiege.tech_mix", dissect.Bool, "Whether technologies may be mixed.")
	fSpawnLimit   = catalog.Add("starsiege.spawn_limit", dissect.Uint, "Most times that a player may come back.")
	fFragLimit    = catalog.Add("starsiege.frag_limit", dissect.Uint, "Kills that end the game.")
	fTimeLimit    = catalog.Add("starsiege.time_limit", dissect.Uint, "Minutes that end the game.")
	fTechLimit    = catalog.Add("starsiege.tech_limit", dissect.Uint, "Highest level of technology.")
	fCombatLimit  = catalog.Add("starsiege.combat_limit", dissect.Uint, "Highest combat value.")
	fMassLimit    = catalog.Add("starsiege.mass_limit", dissect.Uint, "Highest mass.")
	fPlayersShown = catalog.Add("starsiege.players_sent", dissect.Uint, "Number of players that follow.", dissect.Framing)

	fQueryVersion = catalog.Add("query_version", dissect.String, "VER and the version of the queries, 3 or 5.", dissect.Public)
	fNetProtocol  = catalog.Add("net_protocol", dissect.Uint, "Version of the network protocol.")
	fMinProtocol  = catalog.Add("min_protocol", dissect.Uint, "Lowest version of the network protocol that clients may have.")
	fBuild        = catalog.Add("build", dissect.Uint, "Build of the program.")
	fStatus       = catalog.Add("status", dissect.Uint, "Properties of the server.", dissect.Bits(
		dissect.Name{Value: 1, Name: "dedicated"}, dissect.Name{Value: locked, Name: "password"}, dissect.Name{Value: 4, Name: "Linux"},
		dissect.Name{Value: 8, Name: "tournament"}, dissect.Name{Value: 16, Name: "no aliases"}, dissect.Name{Value: 32, Name: "team damage"},
		dissect.Name{Value: 64, Name: "tournament (VER3)"}, dissect.Name{Value: 128, Name: "no aliases (VER3)"}))
	fLength   = catalog.Add("length", dissect.Uint, "Length of the text about teams and players.", dissect.Framing)
	fTeamsN   = catalog.Add("teams_line", dissect.Decimal, "Number of teams that follow.", dissect.Framing)
	fPlayersN = catalog.Add("players_line", dissect.Decimal, "Number of players that follow.", dissect.Framing)

	fAll        = catalog.Add("all", dissect.Uint, "255: all packets of the list are wanted.", dissect.Framing)
	fPacket     = catalog.Add("packet", dissect.Uint, "Number of the packet, from 1; from 0 in Tribes 2.")
	fPackets    = catalog.Add("packets", dissect.Uint, "Packets of the list.")
	fMark       = catalog.Add("mark", dissect.Uint, "Before the texts, mostly 66 in hexadecimal.", dissect.Framing)
	fNewsName   = catalog.Add("master_name", dissect.String, "Name of the master.", dissect.ServerText, core.InLatin1)
	fNews       = catalog.Add("news", dissect.String, "News of the master.", dissect.ServerText, core.InLatin1)
	fZero       = catalog.Add("zero", dissect.Uint, "0.", dissect.Framing)
	fNumServers = catalog.Add("num_servers", dissect.Uint, "Servers in this packet.", dissect.Framing)
	fServers    = catalog.Add("servers", dissect.List, "The servers.")
	fSix        = catalog.Add("servers.length", dissect.Uint, "Length of the address: 6.", dissect.Framing)
	fServer     = catalog.Add("servers.server", dissect.Endpoint, "Address of the server.")

	fWantedGame    = catalog.Add("filter.game", dissect.String, "Game that servers must have, or any.", dissect.Public, core.InLatin1)
	fWantedMission = catalog.Add("filter.mission_type", dissect.String, "Kind of mission, or any.", dissect.Public, core.InLatin1)
	fMinPlayers    = catalog.Add("filter.min_players", dissect.Uint, "Fewest players.")
	fMostPlayers   = catalog.Add("filter.max_players", dissect.Uint, "Most players.")
	fRegions       = catalog.Add("filter.regions", dissect.Uint, "Set of regions, all ones for all.")
	fWantedVersion = catalog.Add("filter.build", dissect.Uint, "Build, 0 for any.")
	fWantedStatus  = catalog.Add("filter.status", dissect.Uint, "Properties that servers must have.")
	fMaxBots       = catalog.Add("filter.max_bots", dissect.Uint, "Most bots.")
	fMinCPU        = catalog.Add("filter.min_cpu_mhz", dissect.Uint, "Lowest speed of the processor.")
	fBuddies       = catalog.Add("filter.buddies", dissect.Uint, "Number of friends that follow.")
)

// The types of messages.
const (
	typeInfo        = 0x60 // the replies are one more
	typeStatus      = 0x62
	typeStarsiege   = 0x72
	typeMaster      = 0x10 // and a second byte
	masterQuery     = 3
	masterReply     = 6
	typeList        = 0x06
	typeListReply   = 0x08
	typePing        = 0x0e
	typePingReply   = 0x10
	typeDetails     = 0x12
	typeDetailReply = 0x14

	plain  = 2 // flag: texts are not compressed
	locked = 2 // status: there is a password

	lenQuery  = 3
	lenQuery2 = 6
	lenMaster = 8 // of the head of a reply
	lenList   = 10
	lenFilter = 15 // without texts
	entry     = 7
	endpoint  = 6

	starsiege = "Starsiege"
)

const (
	topicInfo dissect.Topic = 1 << iota
	topicStatus
	topicPing
	topicDetails
	topicMaster
	topicList
)

func request(name, title, doc string) *dissect.MessageType {
	return catalog.Message(dissect.MessageType{Name: name, Title: title, Role: dissect.Request, Doc: doc})
}

func reply(name, title, doc string) *dissect.MessageType {
	return catalog.Message(dissect.MessageType{Name: name, Title: title, Role: dissect.Reply, Doc: doc})
}

var (
	mInfo         = request("info_request", "info request", "Tribes: asks for name and number of players.")
	mInfoReply    = reply("info_reply", "info", "Name and number of players.")
	mStatus       = request("status_request", "status request", "Tribes and Starsiege: asks for settings, teams and players.")
	mStatusReply  = reply("status_reply", "status", "Settings, teams and players.")
	mPing         = request("ping_request", "ping request", "Tribes 2: asks for name and versions.")
	mPingReply    = reply("ping_reply", "ping", "Name and versions.")
	mDetails      = request("details_request", "details request", "Tribes 2: asks for settings, teams and players.")
	mDetailsReply = reply("details_reply", "details", "Settings, teams and players.")
	mMaster       = request("servers_request", "servers request", "Asks a master of Tribes for servers.")
	mMasterReply  = reply("servers_reply", "servers", "A packet of the list of a master of Tribes.")
	mList         = request("list_request", "server list request", "Asks a master of Tribes 2 for servers.")
	mListReply    = reply("list_reply", "server list", "A packet of the list of a master of Tribes 2.")
	mUnknown      = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Not a message of this protocol."})

	unanswered    = finding.NoReply(catalog, "tribes.noreply", "The capture has no reply within the time that clients wait. The server is down or is one of another of these games, whose requests differ, or a packet was lost, dropped by a firewall or not captured.")
	unrequested   = finding.Unrequested(catalog, "tribes.unrequested", "The capture has requests of this conversation, but no pending one with the number of this reply. The request is missing from the capture, or the reply is late, a duplicate or forged.")
	several       = finding.Several(catalog, "tribes.several", finding.Twice)
	amplification = finding.Amplification(catalog, "tribes.amplification", "The requests have 3 to 6 bytes, and nothing proves their source address, so it can be forged to flood somebody else with players or addresses. Limit the rate of queries in a firewall.")
	otherCount    = catalog.Finding(dissect.FindingType{ID: "tribes.players", Severity: dissect.Note, Text: "%d {player|players} announced, %d listed", Doc: "The number of players differs from that in the list: the reply was truncated, or the server counts players that are joining."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "tribes",
	Title:  "Tribes queries",
	Doc:    "Queries of Starsiege: Tribes, Starsiege and Tribes 2, and of the masters of Tribes and Tribes 2: from the source of clients, not compared with recorded traffic.",
	Source: "qstat; node-gamedig (tribes1.js, starsiege.js, tribes1master.js); GameQ 0.3.5 (inc.starsiege.php)",
	Ports:  []uint16{28000, 28001, 28002, 29001},
	Starts: wire.Starts(string([]byte{
		typeInfo, typeInfo + 1, typeStatus, typeStatus + 1, typeStarsiege, typeStarsiege + 1,
		typeMaster, typeList, typeListReply, typePing, typeDetails, typeDetailReply,
	}), ""),
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, onceOnly, amplification),
}

// onceOnly reports extra replies. Lists come in several packets.
func onceOnly(x *dissect.Turn) {
	if x.Type != mMasterReply && x.Type != mListReply {
		several(x)
	}
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < lenQuery {
		return dissect.No
	}
	switch b[0] {
	case typeInfo, typeStatus, typeStarsiege:
		switch {
		case string(b) == "b\n\x00":
			return dissect.Doubtful // a server leaves a master of Valve's
		case len(b) == lenQuery:
			return dissect.Possible
		}
	case typeInfo + 1, typeStatus + 1, typeStarsiege + 1:
		// The letter of an info is that of a status, for qstat.
		// The name of the game is short, else any text would do; its version follows.
		if len(b) > 5 && (b[3] == b[0]-1 || b[3] == typeStatus) && b[4] < ' ' && 5+int(b[4]) <= len(b) && areTexts(b[4:], 2) {
			return dissect.Likely
		}
	case typePing, typeDetails:
		if len(b) == lenQuery2 && b[1]&^plain == 0 {
			return dissect.Possible
		}
	case typePingReply: // or of a master
		switch {
		case b[1] == masterQuery && len(b) <= lenQuery2 && len(b) >= lenQuery2-1 && b[2] == 0xff && b[3] == 0:
			return dissect.Possible
		case b[1] == masterReply && len(b) >= lenMaster && b[2] > 0 && b[2] <= b[3] && b[6] == 0 && b[7] == 0x66:
			return dissect.Likely
		case b[1] == masterReply && len(b) >= lenMaster && b[2] > 0 && b[2] <= b[3]:
			return dissect.Doubtful
		case b[1] == plain && len(b) > 10 && string(b[6:10]) == "\x04VER":
			return dissect.Likely
		case b[1] == 0 && len(b) > 10:
			return dissect.Doubtful
		}
	case typeDetailReply:
		switch {
		case len(b) > lenQuery2 && b[1] == plain && areTexts(b[lenQuery2:], 3):
			return dissect.Likely
		case len(b) > lenQuery2 && b[1] == 0:
			return dissect.Doubtful
		}
	case typeList:
		if len(b) >= lenQuery2+lenFilter && b[1]&0x7f == 0 && b[6] == 0xff && isText(b[7:]) {
			return dissect.Possible
		}
	case typeListReply:
		if len(b) >= lenList && b[6] < b[7] {
			n := lenList + endpoint*(int(b[8])|int(b[9])<<8)
			if len(b) == 64 && n >= 64 || len(b) == n {
				return dissect.Possible
			}
		}
	}
	return dissect.No
}

// areTexts reports whether b begins with n texts, as far as they are there.
func areTexts(b []byte, n int) bool {
	for ; n > 0 && len(b) > 0; n-- {
		if !isText(b) {
			return false
		}
		b = b[min(len(b), 1+int(b[0])):]
	}
	return true
}

// isText reports whether b begins with a text after its length, as far as it is there.
func isText(b []byte) bool {
	return b[0] > 0 && b[0] <= 64 && len(b) > 1 && !slices.ContainsFunc(b[1:min(len(b), 1+int(b[0]))], wire.Unprintable)
}

// A Message is one of *Request, *Status, *Ping and *Servers, or nil if its kind is not known.
type Message any

// Request is any request, with the number that the client chose.
type Request struct{ Challenge uint32 }

// Status is what a server states about itself. Text holds the bytes of the wire, in
// Latin-1.
type Status struct {
	Game, Version, Name string
	Dedicated, Password bool
	Players, MaxPlayers int
	Mod, MissionType    string
	Map, Info           string
	Teams               []Team
	List                []Player

	server dissect.Server
}

// A Team is a team. Cells are its columns in Tribes, Score is that of Tribes 2.
type Team struct{ Name, Cells, Score string }

// A Player is a player. Ping is in milliseconds. Team and Score are text, of Tribes 2.
type Player struct {
	Name, Cells, Team, Score string
	Ping                     int
	TeamID                   uint8
}

// Ping is the reply to a ping of Tribes 2.
type Ping struct {
	QueryVersion                    string
	NetProtocol, MinProtocol, Build uint32
	Name                            string

	server dissect.Server
}

// Servers is a packet of a list.
type Servers struct {
	Packet, Packets uint8
	Name, News      string
	Count           int

	from uint8 // 1 if packets count from 0
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	status  Status
	ping    Ping
	servers Servers
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	m.Type = mUnknown
	second, length := r.PeekByte(1), r.Left()
	switch first := r.PeekByte(0); {
	case first == typeInfo && length == lenQuery:
		d.query(r, m, mInfo, topicInfo)
	case (first == typeStatus || first == typeStarsiege) && length == lenQuery:
		d.query(r, m, mStatus, topicStatus)
	case first == typeInfo+1:
		d.tribes(r, m, mInfoReply, topicInfo)
	case first == typeStatus+1, first == typeStarsiege+1:
		d.tribes(r, m, mStatusReply, topicStatus)
	case first == typeMaster && second == masterQuery:
		d.masterQuery(r, m)
	case first == typeMaster && second == masterReply:
		d.masterReply(r, m)
	case first == typePing:
		d.query2(r, m, mPing, topicPing)
	case first == typeDetails:
		d.query2(r, m, mDetails, topicDetails)
	case first == typePingReply && second&^plain == 0:
		d.decodePing(r, m)
	case first == typeDetailReply:
		d.details(r, m)
	case first == typeList:
		d.listQuery(r, m)
	case first == typeListReply:
		d.listReply(r, m)
	default:
		r.Fail(fType, "no such message")
	}
}

// asks sets the message to a request.
func (d *decoder) asks(m *dissect.Message, t *dissect.MessageType, topic dissect.Topic) {
	d.request = Request{}
	m.Type, m.Body, m.Pair = t, &d.request, dissect.Pair{Asks: topic, Challenge: dissect.ChallengeAbsent}
}

// challenge reads the number of a request of Tribes.
func challenge(r *dissect.Reader, m *dissect.Message) uint32 {
	c := uint32(r.U16(fChallenge))
	m.Pair.ID = 1<<16 | uint64(c) // 0 would be none
	return c
}

// head reads the head of a message of Tribes 2. It reports whether its texts are plain.
func head(r *dissect.Reader, m *dissect.Message) (key uint32, isPlain bool) {
	r.U8(fType)
	flags := r.U8(fFlags)
	key = r.U32(fKey)
	m.Pair.ID = 1<<32 | uint64(key)
	return key, flags&plain != 0
}

func (d *decoder) query(r *dissect.Reader, m *dissect.Message, t *dissect.MessageType, topic dissect.Topic) {
	d.asks(m, t, topic)
	r.U8(fType)
	d.request.Challenge = challenge(r, m)
}

func (d *decoder) query2(r *dissect.Reader, m *dissect.Message, t *dissect.MessageType, topic dissect.Topic) {
	d.asks(m, t, topic)
	d.request.Challenge, _ = head(r, m)
}

// begin sets the message to what a server states.
func (d *decoder) begin(m *dissect.Message, t *dissect.MessageType, topic dissect.Topic) *Status {
	p := wire.Message(m, t, &d.status, Status{Teams: d.status.Teams[:0], List: d.status.List[:0], server: dissect.Server{Charset: dissect.Latin1}})
	m.Pair.Answers = topic
	return p
}

// tribes reads a reply of Tribes or Starsiege.
func (d *decoder) tribes(r *dissect.Reader, m *dissect.Message, t *dissect.MessageType, topic dissect.Topic) {
	p := d.begin(m, t, topic)
	r.U8(fType)
	challenge(r, m)
	r.U8(fRepeated)
	s := &p.server
	p.Game = wire.Fact(r, &s.Game, wire.Latin(r, fGame))
	if p.Version = wire.Latin(r, fVersion); p.Version != "" {
		s.Version = wire.Known(r, p.Version)
	}
	p.Name = wire.Fact(r, &s.Name, wire.Latin(r, fName))
	stated := 0
	if p.Game == starsiege {
		stated = p.starsiege(r)
	} else {
		p.Dedicated = r.U8(fDedicated) != 0
		p.Password = wire.Fact(r, &s.Password, r.U8(fPassword) != 0)
		p.counts(r)
		if stated = p.Players; t == mInfoReply {
			core.Remaining(r, fMore)
		} else {
			p.tribes(r)
		}
	}
	if t == mStatusReply && !r.Failed() && stated != len(p.List) {
		r.Note(otherCount, dissect.Num(stated), dissect.Num(len(p.List)))
	}
	m.Server = p.server
}

// counts reads the players of Tribes and Tribes 2.
func (p *Status) counts(r *dissect.Reader) {
	p.Players = wire.Fact(r, &p.server.Players, int(r.U8(fNumPlayers)))
	p.MaxPlayers = wire.Fact(r, &p.server.MaxPlayers, int(r.U8(fMaxPlayers)))
}

func (p *Status) tribes(r *dissect.Reader) {
	r.U16(fCPU)
	p.Mod = wire.Latin(r, fMod)
	p.MissionType = wire.Latin(r, fMission)
	p.Map = wire.Fact(r, &p.server.Map, wire.Latin(r, fMap))
	p.Info = wire.Latin(r, fInfo)
	n := int(r.U8(fNumTeams))
	wire.Latin(r, fTeamColumns)
	wire.Latin(r, fPlayerColumns)
	p.Teams = wire.Counted(r, fTeams, fTeam, p.Teams, n, func() Team {
		return Team{Name: wire.Latin(r, fTeamName), Cells: wire.Latin(r, fTeamCells)}
	})
	p.List = wire.Records(r, fPlayers, fPlayer, p.List, r.More, func() Player {
		one := Player{Ping: 4 * max(r.PeekByte(0), 0)}
		r.Span(fPing, uint64(one.Ping), 1, 0, 0)
		r.U8(fLoss)
		one.TeamID = r.U8(fTeamID)
		one.Name = wire.Latin(r, fPlayerName)
		one.Cells = wire.Latin(r, fPlayerCells)
		return one
	})
}

// starsiege reads the rest of a reply of Starsiege. It returns how many players it has.
func (p *Status) starsiege(r *dissect.Reader) int {
	s := &p.server
	p.Password = wire.Fact(r, &s.Password, r.U8(fPassword) != 0)
	p.Dedicated = r.U8(fDedicated) != 0
	r.U8(fDropIn)
	r.U8(fRunning)
	p.Players = wire.Fact(r, &s.Players, int(r.U32(fNumPlayers)))
	p.MaxPlayers = wire.Fact(r, &s.MaxPlayers, int(r.U32(fMaxPlayers)))
	r.U8(fTeamPlay)
	p.Map = wire.Fact(r, &s.Map, wire.Latin(r, fMap))
	r.U16(fCPU)
	r.U8(fFactory)
	r.U8(fTechMix)
	for _, f := range [...]*dissect.Field{fSpawnLimit, fFragLimit, fTimeLimit, fTechLimit, fCombatLimit, fMassLimit} {
		r.U32(f)
	}
	n := int(r.U32(fPlayersShown))
	p.List = wire.Records(r, fPlayers, fPlayer, p.List, r.More, func() Player {
		return Player{Name: wire.Latin(r, fPlayerName), TeamID: r.U8(fTeamID)}
	})
	return n
}

func (d *decoder) decodePing(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mPingReply, &d.ping, Ping{})
	m.Pair.Answers = topicPing
	if _, isPlain := head(r, m); !isPlain {
		r.Rest(fCoded)
		return
	}
	p.QueryVersion = r.PString(fQueryVersion)
	if p.QueryVersion != "VER3" {
		p.NetProtocol = r.U32(fNetProtocol)
	}
	p.MinProtocol = r.U32(fMinProtocol)
	p.Build = r.U32(fBuild)
	if p.Name = wire.Latin(r, fName); !r.Failed() {
		m.Server = dissect.Server{Name: dissect.Some(p.Name), Charset: dissect.Latin1}
	}
	p.server = m.Server
}

// details reads the reply to a details request of Tribes 2.
func (d *decoder) details(r *dissect.Reader, m *dissect.Message) {
	p := d.begin(m, mDetailsReply, topicDetails)
	if _, isPlain := head(r, m); !isPlain {
		r.Rest(fCoded)
		return
	}
	s := &p.server
	p.Game = wire.Fact(r, &s.Game, wire.Latin(r, fGame))
	p.MissionType = wire.Latin(r, fMission)
	p.Map = wire.Fact(r, &s.Map, wire.Latin(r, fMap))
	status := r.U8(fStatus)
	p.Dedicated, p.Password = status&1 != 0, status&locked != 0
	s.Password = wire.Known(r, p.Password)
	p.counts(r)
	s.Bots = wire.Known(r, int(r.U8(fNumBots)))
	m.Server = *s
	r.U16(fCPU)
	p.Info = wire.Latin(r, fInfo)
	if n := int(r.U16(fLength)); n > r.Left() {
		r.Fail(fLength, "longer than the message")
	} else if r.More() {
		p.lines(r)
	}
}

// lines reads the text about teams and players of Tribes 2.
func (p *Status) lines(r *dissect.Reader) {
	n := keyvalue.Int(r.Delimited(fTeamsN, 0, "\n", 1)).Value
	more := func() bool { n--; return n >= 0 && r.More() }
	p.Teams = wire.Items(r, fTeams, fTeam, p.Teams, more, func() Team {
		return Team{Name: r.Delimited(fTeamName, 0, "\t\n", 1), Score: r.Delimited(fTeamScore, 0, "\n", 1)}
	})
	if !r.More() {
		return
	}
	n = keyvalue.Int(r.Delimited(fPlayersN, 0, "\n", 1)).Value
	p.List = wire.Items(r, fPlayers, fPlayer, p.List, more, func() Player {
		name := r.Until("\x11\n") // 10 before it, 11 and a tab after it
		one := Player{Name: core.Latin(r, fPlayerName, 0, name, min(2, r.Left()-name))}
		one.Team = r.Delimited(fPlayerTeam, 0, "\t\n", 1)
		one.Score = r.Delimited(fScore, 0, "\n", 1)
		return one
	})
}

func (d *decoder) masterQuery(r *dissect.Reader, m *dissect.Message) {
	d.asks(m, mMaster, topicMaster)
	r.U16(fType)
	r.U8(fAll)
	r.U8(fZero)
	if r.Left() == 1 { // qstat
		d.request.Challenge = uint32(r.U8(fChallenge))
	} else {
		d.request.Challenge = uint32(r.U16(fChallenge))
	}
	m.Pair.ID = 1<<16 | uint64(d.request.Challenge)
}

func (d *decoder) masterReply(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mMasterReply, &d.servers, Servers{})
	m.Pair.Answers = topicMaster
	r.U16(fType)
	p.Packet = r.U8(fPacket)
	p.Packets = r.U8(fPackets)
	challenge(r, m)
	r.U16(fMark)
	if r.More() && !r.Next(0) {
		p.Name = wire.Latin(r, fNewsName)
		p.News = wire.Latin(r, fNews)
	}
	r.U8(fZero)
	n := int(r.U8(fNumServers))
	p.Count = len(wire.List(r, fServers, nil, n, func() (none struct{}) {
		if r.U8(fSix) != endpoint {
			r.Fail(fSix, "not 6")
		}
		r.Endpoint4(fServer, true)
		return none
	}))
}

func (d *decoder) listQuery(r *dissect.Reader, m *dissect.Message) {
	d.asks(m, mList, topicList)
	d.request.Challenge, _ = head(r, m)
	r.U8(fAll)
	wire.Latin(r, fWantedGame)
	wire.Latin(r, fWantedMission)
	r.U8(fMinPlayers)
	r.U8(fMostPlayers)
	r.U32(fRegions)
	r.U32(fWantedVersion)
	r.U8(fWantedStatus)
	r.U8(fMaxBots)
	r.U16(fMinCPU)
	if r.U8(fBuddies) > 0 {
		r.Rest(fMore)
	}
}

func (d *decoder) listReply(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mListReply, &d.servers, Servers{from: 1})
	m.Pair.Answers = topicList
	head(r, m)
	p.Packet = r.U8(fPacket)
	p.Packets = r.U8(fPackets)
	n := int(r.U16(fNumServers))
	p.Count = len(wire.List(r, fServers, nil, n, func() (none struct{}) { r.Endpoint4(fServer, true); return none }))
}

// AppendSummary appends the name and the build.
func (p *Ping) AppendSummary(dst []byte) []byte {
	start := len(dst)
	return wire.Number(wire.Gap(p.server.AppendSummary(dst), start), "build ", p.Build)
}

// AppendSummary appends the number of servers.
func (p *Servers) AppendSummary(dst []byte) []byte {
	dst = wire.Plural(dst, "", p.Count, "server", "servers")
	dst = wire.Number(dst, "  packet ", p.Packet+p.from)
	return wire.Number(dst, " of ", p.Packets)
}
