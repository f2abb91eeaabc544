package a2s

import (
	"github.com/qdissect/qdissect/dissect"
)

// The letters of messages. The names in comments are those of the engines'
// sources and of the documents.
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

	// Seen on the same ports, not part of the queries.
	typeConnectRequest = 'q' // A2S_GETCHALLENGE: a game client asks to connect
	typeJoin           = 'k' // C2S_CONNECT: it connects
	typeConnection     = 'B' // S2C_CONNECTION
	typeConnectReject  = '9' // S2C_CONNREJECT
	typeRconChallenge  = 'c' // GoldSrc: challenge for the remote console
	typePrint          = 'l' // A2C_PRINT: text for the console, replies of rcon
	typeLog            = 'R' // S2A_LOGSTRING: a line of the server's log
	typeSecretLog      = 'S' // S2A_LOGSTRING2: the same with a secret
)

const (
	singleHeader  = -1
	splitHeader   = -2
	compressedBit = 1 << 31
)

// The topics of requests. Package halflife numbers its own alike.
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
	mInfoRequest      = &dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "A2S_INFO: asks for the basic facts of a server. 25 bytes, or 29 with a challenge since December 2020."}
	mInfoReply        = &dissect.MessageType{Name: "info_reply", Title: "info reply", Role: dissect.Reply, Doc: "Basic facts of a server: type I from Source and most other engines, type m from GoldSrc."}
	mPlayersRequest   = &dissect.MessageType{Name: "players_request", Title: "players request", Role: dissect.Request, Doc: "A2S_PLAYER: asks for the list of players."}
	mPlayersReply     = &dissect.MessageType{Name: "players_reply", Title: "players reply", Role: dissect.Reply, Doc: "The players with score and time; on The Ship also with deaths and money."}
	mRulesRequest     = &dissect.MessageType{Name: "rules_request", Title: "rules request", Role: dissect.Request, Doc: "A2S_RULES: asks for the settings of a server."}
	mRulesReply       = &dissect.MessageType{Name: "rules_reply", Title: "rules reply", Role: dissect.Reply, Doc: "The settings of a server as keys and values."}
	mChallengeRequest = &dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request, Doc: "A2S_SERVERQUERY_GETCHALLENGE: asks for a challenge. Most servers no longer answer it.", Unanswered: challengeDead}
	mChallengeReply   = &dissect.MessageType{Name: "challenge_reply", Title: "challenge", Role: dissect.Reply, Doc: "S2C_CHALLENGE: the number to be sent with the next request."}
	mPingRequest      = &dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "A2A_PING: asks for any sign of life."}
	mPingReply        = &dissect.MessageType{Name: "ping_reply", Title: "ping reply", Role: dissect.Reply, Doc: "A2A_ACK: a sign of life."}
	mConnectRequest   = &dissect.MessageType{Name: "connect_request", Title: "connect request", Role: dissect.Request, Doc: "A2S_GETCHALLENGE: a game client asks for the challenge with which it can connect. Used for floods as well."}
	mJoin             = &dissect.MessageType{Name: "join_request", Title: "join request", Role: dissect.Request, Doc: "C2S_CONNECT: a game client connects, with the password of the server and its Steam ticket."}
	mConnection       = &dissect.MessageType{Name: "connect_reply", Title: "connected", Role: dissect.Reply, Doc: "S2C_CONNECTION: the server accepts a game client."}
	mConnectReject    = &dissect.MessageType{Name: "connect_reject", Title: "connection rejected", Role: dissect.Reply, Doc: "S2C_CONNREJECT: the server refuses a game client, with the reason."}
	mRconChallenge    = &dissect.MessageType{Name: "rcon_challenge_reply", Title: "rcon challenge", Role: dissect.Reply, Doc: "GoldSrc: the challenge for commands of the remote console."}
	mPrint            = &dissect.MessageType{Name: "print", Title: "print", Role: dissect.Reply, Doc: "Text for the console of the receiver; GoldSrc sends what rcon commands say with it."}
	mLog              = &dissect.MessageType{Name: "log", Title: "log line", Role: dissect.OneWay, Doc: "A line of the server's log, sent to an address set with logaddress_add."}
	mSplit            = &dissect.MessageType{Name: "split", Title: "split message", Role: dissect.Reply, Doc: "Parts of a split message that cannot be read: the first is missing, they are compressed and not all are there, their header is damaged, or what they make together is no message."}
	mUnknown          = &dissect.MessageType{Name: "unknown", Title: "unknown message", Role: dissect.OneWay, Doc: "The header of a message of Valve's engines, and no letter behind it that is known."}
)

var messages = []*dissect.MessageType{
	mInfoRequest, mInfoReply, mPlayersRequest, mPlayersReply, mRulesRequest, mRulesReply, mChallengeRequest, mChallengeReply,
	mPingRequest, mPingReply, mConnectRequest, mJoin, mConnection, mConnectReject, mRconChallenge, mPrint, mLog, mSplit, mUnknown,
}

// A Message is one of *InfoRequest, *InfoReply, *GoldSrcInfoReply,
// *PlayersRequest, *PlayersReply, *RulesRequest, *RulesReply,
// *ChallengeRequest, *ChallengeReply, *PingRequest, *PingReply, *Part and
// *Other.
//
// Text in messages is as on the wire; dissect.AppendText decodes it and makes
// it safe to print.
type Message interface {
	a2s()
}

// InfoRequest is A2S_INFO.
type InfoRequest struct {
	// Query is "Source Engine Query".
	Query string
	// Challenge is stated in the form of 29 bytes.
	Challenge dissect.Opt[int32]
	// Padding is the number of bytes behind, which say nothing.
	Padding int
}

// PlayersRequest is A2S_PLAYER.
type PlayersRequest struct {
	// Challenge is what the server gave; -1 or 0 asks for one. Very old
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
	// Connect says that this answers a game client that wants to connect;
	// Text is GoldSrc's form of that, and the other fields are Source's.
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
	// Content is zeros from Source, empty from GoldSrc.
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
	EDF                 dissect.Opt[uint8] // not stated by servers of 2004 and of some other engines
	Port                dissect.Opt[uint16]
	SteamID             dissect.Opt[uint64]
	SourceTVPort        dissect.Opt[uint16]
	SourceTVName        dissect.Opt[string]
	Keywords            dissect.Opt[string]
	GameID              dissect.Opt[uint64]

	server dissect.Server // the same facts, as far as they were read
}

// Ship is what The Ship adds to its info reply.
type Ship struct {
	Mode      uint8
	Witnesses uint8 // needed for an arrest
	Duration  uint8 // seconds of being witnessed before an arrest
}

// Application returns the Steam application: from the GameID where there is
// one, because the 16 bits of AppID are 0 for any that does not fit.
func (m *InfoReply) Application() uint32 {
	if m.GameID.OK {
		return uint32(m.GameID.Value & 0xffffff)
	}
	return uint32(m.AppID)
}

// GoldSrcInfoReply is the reply to A2S_INFO in the format of GoldSrc (type m).
type GoldSrcInfoReply struct {
	Address             string // as the server believes
	Name, Map           string
	Folder, Game        string
	Players, MaxPlayers uint8
	Protocol            uint8
	ServerType          byte // d, l, p
	OS                  byte // l, w
	Password            bool
	IsMod               bool
	Mod                 dissect.Opt[Mod]
	VAC                 dissect.Opt[bool]  // not stated by HLTV
	Bots                dissect.Opt[uint8] // not stated by HLTV

	server dissect.Server
}

// Mod is what GoldSrc says of a mod.
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
	// Ship says that deaths and money are stated.
	Ship bool
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
	// Chunks is the number of pieces of binary rules, which ServerBrowser
	// then says.
	Chunks        int
	ServerBrowser dissect.Opt[ServerBrowser]
}

// ServerBrowser is what Arma 3 and DayZ pack into binary rules.
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

// Part is one part of a split message. The analyzer of package dissect joins
// parts; Parse shows a single one.
type Part struct {
	noID         bool // the datagram ends before it
	ID           uint32
	Index, Total int    // of the first that is there
	Variant      string // goldsrc, source, source-nosize; "" if undecided
	Compressed   bool
	Data         []byte
}

// Other is a message that is not a query and was seen on the same ports.
type Other struct {
	Type byte
	Text string
	Data []byte
}

func (*InfoRequest) a2s()      {}
func (*InfoReply) a2s()        {}
func (*GoldSrcInfoReply) a2s() {}
func (*PlayersRequest) a2s()   {}
func (*PlayersReply) a2s()     {}
func (*RulesRequest) a2s()     {}
func (*RulesReply) a2s()       {}
func (*ChallengeRequest) a2s() {}
func (*ChallengeReply) a2s()   {}
func (*PingRequest) a2s()      {}
func (*PingReply) a2s()        {}
func (*Part) a2s()             {}
func (*Other) a2s()            {}
