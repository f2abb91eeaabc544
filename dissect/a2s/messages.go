package a2s

import (
	"math/bits"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

// The letters of messages. The comments give the names from the engines' sources and
// the documents.
const (
	typeInfoRequest      = 'T' // A2S_INFO
	typePlayersRequest   = 'U' // A2S_PLAYER
	typeRulesRequest     = 'V' // A2S_RULES
	typeChallengeRequest = 'W' // A2S_SERVERQUERY_GETCHALLENGE
	typePingRequest      = 'i' // A2A_PING
	typePingReply        = 'j' // A2A_ACK
	typeChallengeReply   = 'A' // S2C_CHALLENGE
	typeInfoReply        = 'I' // S2A_INFO_SRC
	typeGoldSrcInfoReply = 'm' // S2A_INFO_DETAILED
	typePlayersReply     = 'D' // S2A_PLAYER
	typeRulesReply       = 'E' // S2A_RULES
	typeFuelRequest      = 'F' // Frontlines: Fuel of War asks for its info so

	// Messages on the same ports that are not queries.
	typeConnectRequest = 'q' // A2S_GETCHALLENGE: a game client asks for a connection challenge
	typeJoin           = 'k' // C2S_CONNECT: the game client connects
	typeConnection     = 'B' // S2C_CONNECTION
	typeConnectReject  = '9' // S2C_CONNREJECT
	typeRconChallenge  = 'c' // GoldSrc: challenge for the remote console
	typePrint          = 'l' // A2C_PRINT: text for the console, output of rcon
	typeLog            = 'R' // S2A_LOGSTRING: a line of the server's log
	typeSecretLog      = 'S' // S2A_LOGSTRING2: a log line with a secret
)

// compressedBit of a split id says that the message is compressed (Source).
const compressedBit = 1 << 31

// The topics of requests. Package halflife uses the same numbers.
const (
	topicPing dissect.Topic = 1 << iota
	topicChallenge
	topicInfo
	topicPlayers
	topicRules
	topicConnect
	_
	topicRcon
)

const anyChallenged = topicChallenge | topicInfo | topicPlayers | topicRules | topicConnect

var (
	mInfoRequest      = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "A2S_INFO: asks for basic information about a server. 25 bytes, or 29 with a challenge since December 2020."})
	mInfoReply        = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info reply", Role: dissect.Reply, Doc: "Basic information about a server: type I from Source and most other engines, type m from GoldSrc."})
	mPlayersRequest   = catalog.Message(dissect.MessageType{Name: "players_request", Title: "players request", Role: dissect.Request, Doc: "A2S_PLAYER: asks for the list of players."})
	mPlayersReply     = catalog.Message(dissect.MessageType{Name: "players_reply", Title: "players reply", Role: dissect.Reply, Doc: "The players with score and connection time; on The Ship also deaths and money."})
	mRulesRequest     = catalog.Message(dissect.MessageType{Name: "rules_request", Title: "rules request", Role: dissect.Request, Doc: "A2S_RULES: asks for the settings of a server."})
	mRulesReply       = catalog.Message(dissect.MessageType{Name: "rules_reply", Title: "rules reply", Role: dissect.Reply, Doc: "The settings of a server as keys and values."})
	mChallengeRequest = catalog.Message(dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "A2S_SERVERQUERY_GETCHALLENGE: asks for a challenge. Most servers no longer answer it.", Unanswered: challengeDead})
	mChallengeReply   = catalog.Message(dissect.MessageType{Name: "challenge_reply", Title: "challenge", Role: dissect.Reply, Doc: "S2C_CHALLENGE: the number that the next request must carry."})
	mPingRequest      = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "A2A_PING: asks whether the server responds."})
	mPingReply        = catalog.Message(dissect.MessageType{Name: "ping_reply", Title: "ping reply", Role: dissect.Reply, Doc: "A2A_ACK: the server responds."})
	mConnectRequest   = catalog.Message(dissect.MessageType{Name: "connect_request", Title: "connect request", Role: dissect.Request, Doc: "A2S_GETCHALLENGE: a game client asks for the challenge that it needs to connect. Floods use it as well."})
	mJoin             = catalog.Message(dissect.MessageType{Name: "join_request", Title: "join request", Role: dissect.Request, Doc: "C2S_CONNECT: a game client connects. The message contains the server's password and the client's Steam ticket."})
	mConnection       = catalog.Message(dissect.MessageType{Name: "connect_reply", Title: "connected", Role: dissect.Reply, Doc: "S2C_CONNECTION: the server accepts a game client."})
	mConnectReject    = catalog.Message(dissect.MessageType{Name: "connect_reject", Title: "connection rejected", Role: dissect.Reply, Doc: "S2C_CONNREJECT: the server refuses a game client and gives the reason."})
	mRconChallenge    = catalog.Message(dissect.MessageType{Name: "rcon_challenge_reply", Title: "rcon challenge", Role: dissect.Reply, Doc: "GoldSrc: the challenge for remote console commands."})
	mPrint            = catalog.Message(dissect.MessageType{Name: "print", Title: "print", Role: dissect.Reply, Doc: "Text for the receiver's console. GoldSrc sends the output of rcon commands in it."})
	mLog              = catalog.Message(dissect.MessageType{Name: "log", Title: "log line", Role: dissect.OneWay, Doc: "A line of the server's log, sent to an address set with logaddress_add."})
	mSplit            = catalog.Message(dissect.MessageType{Name: "split", Title: "split message", Role: dissect.Reply, Doc: "Parts of a split message that cannot be decoded: the first part is missing, a part of a compressed message is missing, a header is damaged, or the joined data is not a message."})
	mUnknown          = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Role: dissect.OneWay, Doc: "The header of Valve's engines with an unknown letter or none."})
)

// A Message is one of *InfoRequest, *InfoReply, *GoldSrcInfoReply, *PlayersRequest,
// *PlayersReply, *RulesRequest, *RulesReply, *ChallengeRequest, *ChallengeReply,
// *PingRequest, *PingReply, *Part and *Other.
//
// Strings hold the bytes of the wire. [dissect.AppendText] decodes them and makes them
// safe to print.
type Message any

// InfoRequest is A2S_INFO.
type InfoRequest struct {
	// Query is "Source Engine Query" in a valid request.
	Query string
	// Challenge is present in the form of 29 bytes.
	Challenge dissect.Opt[int32]
	// Padding is the number of bytes after the query and the challenge.
	Padding int
}

// PlayersRequest is A2S_PLAYER.
type PlayersRequest struct {
	// Challenge is the number that the server gave; -1 or 0 asks for one. Very old
	// clients send none.
	Challenge dissect.Opt[int32]
}

// RulesRequest is A2S_RULES.
type RulesRequest struct {
	// Challenge is as in [PlayersRequest].
	Challenge dissect.Opt[int32]
}

// ChallengeRequest is A2S_SERVERQUERY_GETCHALLENGE.
type ChallengeRequest struct{}

// ChallengeReply is S2C_CHALLENGE.
type ChallengeReply struct {
	// Challenge is the number to use.
	Challenge int32
	// Connect reports whether this answers a game client that wants to connect. Text
	// is GoldSrc's form of such an answer; the other fields are Source's.
	Connect         bool
	Text            string
	Magic           uint32
	ClientChallenge uint32
	AuthProtocol    uint32
}

// PingRequest is A2A_PING.
type PingRequest struct{}

// PingReply is A2A_ACK.
type PingReply struct {
	// Content is a row of zeros from Source and empty from GoldSrc.
	Content string
}

// InfoReply is the reply to A2S_INFO in the format of Source (type I).
type InfoReply struct {
	Protocol            uint8
	Name, Map           string
	Folder, Game        string
	AppID               uint16
	Players, MaxPlayers uint8
	Bots                uint8
	ServerType          byte // d, l, p; 0 from Rag Doll Kung Fu
	OS                  byte // l, w, m, o
	Password, VAC       bool
	Ship                dissect.Opt[Ship]
	Version             string
	Fuel                dissect.Opt[Fuel]  // AppID, Bots and EDF are absent then
	EDF                 dissect.Opt[uint8] // absent from servers of 2004 and some other engines
	Port                dissect.Opt[uint16]
	SteamID             dissect.Opt[uint64]
	SourceTVPort        dissect.Opt[uint16]
	SourceTVName        dissect.Opt[string]
	Keywords            dissect.Opt[string]
	GameID              dissect.Opt[uint64]
}

// Ship holds the fields that The Ship adds to its info reply.
type Ship struct {
	Mode      uint8
	Witnesses uint8 // needed for an arrest
	Duration  uint8 // seconds that a player must be witnessed before an arrest
}

// Fuel holds the fields that only Frontlines: Fuel of War has in its info reply.
type Fuel struct {
	Mode             string // short name of the game mode
	AverageFPS       uint8
	Round, MaxRounds uint8
	TimeLeft         uint16 // seconds
}

// Application returns the number of the Steam application. It comes from the GameID if
// there is one: the 16 bits of AppID are 0 for a number that does not fit.
func (i *InfoReply) Application() uint32 {
	if i.GameID.OK {
		return uint32(i.GameID.Value & 0xffffff)
	}
	return uint32(i.AppID)
}

// GoldSrcInfoReply is the reply to A2S_INFO in the format of GoldSrc (type m).
type GoldSrcInfoReply struct {
	Address             string // the server's own address as it knows it
	Name, Map           string
	Folder, Game        string
	Players, MaxPlayers uint8
	Protocol            uint8
	ServerType          byte // d, l, p
	OS                  byte // l, w
	Password            bool
	IsMod               bool
	Mod                 dissect.Opt[Mod]
	VAC                 dissect.Opt[bool]  // absent from HLTV
	Bots                dissect.Opt[uint8] // absent from HLTV
}

// Mod is GoldSrc's mod block.
type Mod struct {
	URL, DownloadURL string
	Version          int32
	Size             int32 // bytes
	ServerOnly       bool
	ClientDLL        bool
}

// PlayersReply is the reply to A2S_PLAYER.
type PlayersReply struct {
	// Count is what the reply announces; the list may be shorter or longer.
	Count   uint8
	Players []Player
	// Ship reports whether the players have deaths and money.
	Ship bool

	skimmed int // players that are not in the list
}

// Player is one player.
type Player struct {
	Index         uint8
	Name          string
	Score         int32
	Duration      float32 // seconds since the player connected
	Deaths, Money int32   // The Ship
}

// RulesReply is the reply to A2S_RULES.
type RulesReply struct {
	// Count is what the reply announces; the list may be shorter or longer.
	Count uint16
	Rules []dissect.KeyValue
	// Chunks is the number of pieces of binary rules. ServerBrowser holds their
	// content.
	Chunks        int
	ServerBrowser dissect.Opt[ServerBrowser]

	skimmed int // rules that are not in the list
}

// rules returns the number of rules.
func (m *RulesReply) rules() int { return len(m.Rules) + m.skimmed }

// ServerBrowser is the content of the binary rules of Arma 3 and DayZ.
type ServerBrowser struct {
	Version    uint8
	Overflow   uint8
	DLCs       []uint32 // hashes
	Difficulty uint8
	Crosshair  bool
	Mods       []ArmaMod
	Signatures []string
}

// ArmaMod is one mod of an Arma 3 or DayZ server.
type ArmaMod struct {
	Hash    uint32
	DLC     bool
	SteamID uint64
	Name    string
}

// Part is one part of a split message. The analyzer of package dissect joins parts;
// Parse decodes a single one.
type Part struct {
	noID         bool // the datagram ends before the id
	ID           uint32
	Index, Total int    // of the first part present
	Variant      string // goldsrc, source or source-nosize; "" if undecided
	Compressed   bool
	Data         []byte
}

// Other is a message that is not a query but uses the same ports.
type Other struct {
	Type byte
	Text string
	Data []byte
}

var style = wire.Style{Charset: dissect.Guessed}

func appendChallenge(dst []byte, c dissect.Opt[int32]) []byte {
	if !c.OK {
		return append(dst, "without challenge"...)
	}
	return wire.Number(dst, "challenge ", c.Value)
}

// AppendSummary appends the challenge.
func (m *InfoRequest) AppendSummary(dst []byte) []byte {
	if m.Query != query {
		dst = append(style.Quoted(dst, "", m.Query), ", "...)
	}
	dst = appendChallenge(dst, m.Challenge)
	if m.Padding > 0 {
		dst = wire.Plural(dst, ", ", m.Padding, "byte of padding", "bytes of padding")
	}
	return dst
}

// AppendSummary appends the challenge.
func (m *PlayersRequest) AppendSummary(dst []byte) []byte { return appendChallenge(dst, m.Challenge) }

// AppendSummary appends the challenge.
func (m *RulesRequest) AppendSummary(dst []byte) []byte { return appendChallenge(dst, m.Challenge) }

// AppendSummary appends the number.
func (m *ChallengeReply) AppendSummary(dst []byte) []byte {
	if m.Connect && m.Text != "" {
		return style.Text(dst, "", m.Text)
	}
	dst = wire.Number(dst, "", m.Challenge)
	if m.Connect {
		dst = append(dst, " to connect"...)
	}
	return dst
}

// AppendSummary appends the content.
func (m *PingReply) AppendSummary(dst []byte) []byte { return style.Text(dst, "", m.Content) }

// AppendSummary appends the number of players.
func (p *PlayersReply) AppendSummary(dst []byte) []byte {
	return of(dst, len(p.Players)+p.skimmed, int(p.Count), "player", "players")
}

// of appends the number of entries, and the announced number if it is larger.
func of(dst []byte, n, announced int, one, many string) []byte {
	if n >= announced {
		return wire.Plural(dst, "", n, one, many)
	}
	return wire.Plural(wire.Number(dst, "", n), " of ", announced, one, many)
}

// AppendSummary appends the number of rules.
func (m *RulesReply) AppendSummary(dst []byte) []byte {
	if m.Chunks > 0 {
		s := &m.ServerBrowser.Value
		dst = wire.Plural(dst, "", len(s.Mods), "mod", "mods")
		dst = wire.Plural(dst, ", ", len(s.Signatures), "signature", "signatures")
		if m.rules() == 0 {
			return dst
		}
		dst = append(dst, ", "...)
	}
	if m.Chunks > 0 || m.rules() == int(bits.ReverseBytes16(m.Count)) {
		return wire.Plural(dst, "", m.rules(), "rule", "rules")
	}
	return of(dst, m.rules(), int(m.Count), "rule", "rules")
}

// AppendSummary appends the number of parts.
func (m *Part) AppendSummary(dst []byte) []byte {
	if m.noID {
		return dst
	}
	dst = wire.Number(dst, "id ", m.ID)
	if m.Total == 0 {
		return dst // damaged header
	}
	return wire.Plural(dst, ", ", m.Total, "part", "parts")
}

// AppendSummary appends the text.
func (m *Other) AppendSummary(dst []byte) []byte {
	if m.Text != "" {
		return style.Concealed(dst, m.Text, console.Secret(m.Text))
	}
	if m.Type == 0 && m.Data == nil || m.Type == typeJoin {
		return dst
	}
	return wire.Hex(dst, "type ", m.Type)
}
