package cube

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

var (
	mInfo    = request("info_request", "info request", "Asks for the data of the server, and in AssaultCube for more.", nil)
	mUptime  = request("uptime_request", "uptime request", "Asks how long the server has been running.", noExtended)
	mPlayers = request("players_request", "players request", "Asks for one player, or for all.", noExtended)
	mTeams   = request("teams_request", "teams request", "Asks for the scores of the teams.", noExtended)
	mCommand = request("extended_request", "extended request", "Asks for other extended infos.", noExtended)

	mInfoReply    = reply("info_reply", "info", "The data of the server.")
	mUptimeReply  = reply("uptime_reply", "uptime", "How long the server has been running.")
	mIDsReply     = reply("player_ids_reply", "player numbers", "The numbers of the players; the players follow in datagrams of their own.")
	mPlayerReply  = reply("player_reply", "player", "One player.")
	mTeamsReply   = reply("teams_reply", "teams", "The scores of the teams.")
	mRefusalReply = reply("refusal", "refusal", "There is no such player or command.")
	mUnknown      = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Another message, such as a packet of the game."})
)

func request(name, title, doc string, silence *dissect.FindingType) *dissect.MessageType {
	return catalog.Message(dissect.MessageType{Name: name, Title: title, Role: dissect.Request, Doc: doc, Unanswered: silence})
}

func reply(name, title, doc string) *dissect.MessageType {
	return catalog.Message(dissect.MessageType{Name: name, Title: title, Role: dissect.Reply, Doc: doc})
}

// A Message is one of *Request, *Info, *Uptime, *PlayerIDs, *Player, *Teams and *Refusal,
// or nil if its kind is not known. Replies have the Echo of their request. Text holds the bytes of the wire; see
// [dissect.CubeChars].
type Message any

// An Echo is what a request says and its replies repeat.
type Echo struct {
	// Time is the number that the client chose, 0 in requests for extended infos.
	Time int32
	// Extended is set in requests for extended infos. Command then says for which: 0
	// uptime, 1 players, 2 teams.
	Extended bool
	Command  int32
	// Client is the player asked for, -1 for all.
	Client dissect.Opt[int32]
	// Query is what AssaultCube is asked for besides: 1 names, 2 text, 3 rotation of maps, 4
	// quality of the connection.
	Query dissect.Opt[int32]
	// Token is what follows.
	Token []byte
}

// Request is any request.
type Request struct{ Echo }

// Info has the data of a server.
type Info struct {
	Echo
	// Game is the order of the data: Sauerbraten's also if a server of another game has it.
	Game                Game
	Players, MaxPlayers int32
	Protocol            int32
	Mode, Mutators      int32
	// TimeLeft is in seconds, in AssaultCube in minutes.
	TimeLeft   int32
	MasterMode int32
	// Numbers are all numbers between their count and the map; not in AssaultCube.
	Numbers          []int32
	Map, Description string
	Branch           string
	// Flags are those of AssaultCube: 1 password, 2 banned, 4 on the black list.
	Flags int32
	// Names are those of the players, Handles their accounts in the same order.
	Names, Handles []string
	// Lines are the text of AssaultCube about itself, Rotation its next maps.
	Lines, Rotation []string

	server dissect.Server
}

// A Game is one of the orders of data.
type Game uint8

const (
	Sauerbraten Game = iota + 1
	RedEclipse
	Tesseract
	AssaultCube
)

// Uptime is how long a server has been running.
type Uptime struct {
	Echo
	Seconds int32
	// Mod is the number of the modification of the server, negative.
	Mod dissect.Opt[int32]
}

// PlayerIDs are the numbers of players, each of which follows in a datagram of its own.
type PlayerIDs struct {
	Echo
	IDs []int32
}

// Player is one player.
type Player struct {
	Echo
	ID, Ping                        int32
	Name, Team                      string
	Frags, Flags, Deaths, Teamkills int32
	Accuracy                        int32
	Health, Armour, Gun             int32
	Privilege, State                int32
	// Address are the first three bytes of the address.
	Address []byte
}

// Teams are the scores of the teams.
type Teams struct {
	Echo
	// None is set if the mode has no teams.
	None       bool
	Mode, Left int32
	Teams      []Team
}

// A Team is a team.
type Team struct {
	Name  string
	Score int32
	// Flags are those of AssaultCube, and the number of bases of Sauerbraten; -1 is none.
	Flags int32
}

// Refusal says that there is no such player or command.
type Refusal struct{ Echo }

// AppendSummary appends the player asked for, or the number of an unknown command.
func (q *Request) AppendSummary(dst []byte) []byte {
	switch {
	case q.Extended && q.Command > askTeams:
		dst = wire.Number(dst, "command ", q.Command)
	case q.Client.OK && q.Client.Value >= 0:
		dst = wire.Number(dst, "number ", q.Client.Value)
	}
	return dst
}

// AppendSummary appends the name, the map and the players, and how much AssaultCube was
// asked for besides.
func (p *Info) AppendSummary(dst []byte) []byte {
	dst = p.server.AppendSummary(dst)
	if n := len(p.Lines); n > 0 {
		dst = wire.Plural(dst, "  ", n, "line of text", "lines of text")
	}
	if n := len(p.Rotation); n > 0 {
		dst = wire.Plural(dst, "  rotation of ", n, "map", "maps")
	}
	return dst
}

// AppendSummary appends the time.
func (p *Uptime) AppendSummary(dst []byte) []byte {
	return append(wire.Number(dst, "", p.Seconds), " s"...)
}

// AppendSummary appends how many there are.
func (p *PlayerIDs) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(p.IDs), "player", "players")
}

// AppendSummary appends the name, the team, the score and the ping.
func (p *Player) AppendSummary(dst []byte) []byte {
	dst = style.Quoted(dst, "", p.Name)
	if p.Team != "" {
		dst = style.Text(dst, "  ", p.Team)
	}
	return wire.Number(wire.Number(dst, "  score ", p.Frags), "  ping ", p.Ping)
}

// AppendSummary appends the scores.
func (p *Teams) AppendSummary(dst []byte) []byte {
	if p.None {
		return append(dst, "mode without teams"...)
	}
	start := len(dst)
	for i := range p.Teams {
		t := &p.Teams[i]
		dst = style.Quoted(wire.Gap(dst, start), "", t.Name)
		dst = wire.Number(dst, " ", t.Score)
	}
	return dst
}
