package doom3

import (
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// The major numbers of protocol versions. The engine's source says: "Use a different
// major for each game".
const (
	majorDoom3         = 1
	majorQuake4        = 2
	majorPrey          = 3
	majorPreyDemo      = 4
	majorQuakeWars     = 10
	majorQuakeWarsBeta = 13
	majorWolfenstein   = 30
	thirdParty         = 0x8000 // bit 31 of a version in getServers

	// The kinds of servers of Quake Wars.
	serverNormal = 0
	serverTV     = 1

	printGameDeny = 3 // SERVER_PRINT_GAMEDENY: a second number follows
	reasonText    = 3 // AUTH_REPLY_PRINT: a text follows
	keyGood       = 1 // AUTHKEY_GUID: the number of the player follows
	keyInvalid    = 0 // AUTHKEY_BAD_INVALID: the validity of both keys follows
	keyText       = 3 // AUTHKEY_BAD_MSG: a text follows
)

// The topics of requests.
const (
	topicInfo dissect.Topic = 1 << iota
	topicInfoEx
	topicServers
	topicRcon
	topicChallenge
	topicConnect
	topicAuth
	topicVersion
)

var (
	mInfoRequest      = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "getInfo: asks for the settings and the players of a server."})
	mInfoReply        = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info reply", Role: dissect.Reply, Doc: "infoResponse: settings and players of a server."})
	mInfoExRequest    = catalog.Message(dissect.MessageType{Name: "info_ex_request", Title: "extended info request", Role: dissect.Request, Doc: "getInfoEx: asks for the settings and the players with their results (Quake Wars)."})
	mInfoExReply      = catalog.Message(dissect.MessageType{Name: "info_ex_reply", Title: "extended info reply", Role: dissect.Reply, Doc: "infoExResponse: settings, players and their results."})
	mServersRequest   = catalog.Message(dissect.MessageType{Name: "servers_request", Title: "servers request", Role: dissect.Request, Purpose: dissect.ServerList, Doc: "getServers: asks a master server for addresses of servers."})
	mServersReply     = catalog.Message(dissect.MessageType{Name: "servers_reply", Title: "servers reply", Role: dissect.Reply, Doc: "servers: addresses of servers, in one or more messages."})
	mHeartbeat        = catalog.Message(dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Purpose: dissect.Heartbeat | dissect.Unconfirmed, Doc: "heartbeat: a server announces itself to the master server. The master server may query it with getInfo."})
	mRcon             = catalog.Message(dissect.MessageType{Name: "rcon_request", Title: "rcon command", Role: dissect.Request, Doc: "rcon: a command for the server's console. The password is not encrypted."})
	mPrint            = catalog.Message(dissect.MessageType{Name: "print", Title: "print", Role: dissect.Reply, Doc: "print: text for the receiver: the output of an rcon command, or the reason why the server refuses a client."})
	mChallengeRequest = catalog.Message(dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "challenge: a game client asks for the challenge that it needs to connect."})
	mChallengeReply   = catalog.Message(dissect.MessageType{Name: "challenge_reply", Title: "challenge", Role: dissect.Reply, Doc: "challengeResponse: the number that connect must carry."})
	mConnectRequest   = catalog.Message(dissect.MessageType{Name: "connect_request", Title: "connect request", Role: dissect.Request, Doc: "connect: a game client connects."})
	mConnectReply     = catalog.Message(dissect.MessageType{Name: "connect_reply", Title: "connected", Role: dissect.Reply, Doc: "connectResponse: the server accepts the client."})
	mDisconnect       = catalog.Message(dissect.MessageType{Name: "disconnect", Title: "disconnect", Role: dissect.OneWay, Doc: "disconnect: the server knows no connection with this client."})
	mAuthRequest      = catalog.Message(dissect.MessageType{Name: "auth_request", Title: "authorization request", Role: dissect.Request, Doc: "clAuth, gameAuth, srvAuth: a client or a server asks the master server to check a serial number."})
	mAuthReply        = catalog.Message(dissect.MessageType{Name: "auth_reply", Title: "authorization reply", Role: dissect.Reply, Doc: "auth, authKey: the master server's verdict."})
	mVersionRequest   = catalog.Message(dissect.MessageType{Name: "version_request", Title: "version request", Role: dissect.Request, Doc: "versionCheck: asks the master server for a newer version of the game. The master server answers only if there is one."})
	mVersionReply     = catalog.Message(dissect.MessageType{Name: "version_reply", Title: "version reply", Role: dissect.Reply, Doc: "newVersion: the address of a newer version."})
	mOther            = catalog.Message(dissect.MessageType{Name: "other", Title: "other message", Role: dissect.OneWay, Doc: "A message that is not a query. Its content is not decoded."})
)

// A Message is one of *InfoRequest, *InfoReply, *ServersRequest, *ServersReply, *Rcon,
// *Print, *Challenge, *Connect, *Connected, *Auth, *NewVersion and *Other.
//
// Strings hold the bytes of the wire. [dissect.AppendText] decodes them and makes them
// safe to print.
type Message any

// A Version is a version of the network protocol.
type Version struct{ Major, Minor uint16 }

func (v Version) String() string { return string(v.append(nil)) }

func (v Version) append(dst []byte) []byte {
	return wire.Number(wire.Number(dst, "", v.Major), ".", v.Minor)
}

// InfoRequest is getInfo or getInfoEx.
type InfoRequest struct {
	// Extended reports whether it is getInfoEx.
	Extended bool
	// Challenge is returned by the reply. It is present if all 4 bytes are.
	Challenge dissect.Opt[int32]
	// Padding is the number of bytes after the challenge.
	Padding int
}

// InfoReply is infoResponse or infoExResponse.
type InfoReply struct {
	// Extended reports whether it is infoExResponse, in which players have results.
	Extended  bool
	Challenge int32              // of the request
	Task      dissect.Opt[int32] // Quake Wars, Wolfenstein: -1 if there is none
	Protocol  Version
	Rules     []dissect.KeyValue
	Players   []Player
	// Layout names the game in whose layout the reply was read.
	Layout     string
	OSMask     dissect.Opt[uint32] // absent from dhewm3
	NetPort    dissect.Opt[uint32] // Quake 4
	Ranked     dissect.Opt[bool]   // this and the following: Quake Wars, Wolfenstein
	TimeLeft   dissect.Opt[time.Duration]
	State      dissect.Opt[uint8] // bits: warmup, running, reviewing, loading
	ServerType dissect.Opt[uint8] // 0 game, 1 TV
	Interested dissect.Opt[uint8] // players who consider joining
	TVClients  dissect.Opt[uint32]
	TVMax      dissect.Opt[uint32]

	whole bool // read to the end
}

// Player is one player.
type Player struct {
	ID           uint8 // place on the server
	Ping         uint16
	Rate         dissect.Opt[uint32] // bytes per second
	Name         string
	Clan         dissect.Opt[string]
	ClanPosition dissect.Opt[uint8] // 0 before the name, 1 after it
	Bot          dissect.Opt[bool]
	Result       dissect.Opt[Result] // infoExResponse
}

// Result is the result of a player.
type Result struct {
	XP            float32
	Team          string // gdf, strogg, spectating
	Kills, Deaths int32
}

// ServersRequest is getServers.
type ServersRequest struct {
	// Protocol is the protocol of the wanted servers; 0.0 is any.
	Protocol Version
	// ThirdParty reports that another program than the game asks (Quake 4).
	ThirdParty bool
	Mod        string // fs_game
	// Player and Clan are present in the form of Quake 4.
	Player, Clan dissect.Opt[string]
	Filter       uint8 // bits
}

// ServersReply is servers.
type ServersReply struct{ Servers []netip.AddrPort }

// Rcon is a command for the remote console.
type Rcon struct{ Password, Command string }

// Print is text for the receiver.
type Print struct {
	Opcode     uint32
	GameOpcode dissect.Opt[uint32]
	Text       string
}

// Challenge is challenge or challengeResponse.
type Challenge struct {
	Reply     bool
	ClientID  int32 // of the request
	Challenge int32 // this and the following: of the reply
	ServerID  uint16
	GameBase  string // fs_game_base
	Game      string // fs_game
}

// Connect is connect.
type Connect struct {
	Protocol       Version
	OS             dissect.Opt[uint16] // absent from dhewm3
	Checksum       uint32
	Challenge      int32
	ClientID       uint16
	MaxRate        uint32 // bytes per second
	GUID, Password string
}

// Connected is connectResponse.
type Connected struct {
	ClientNumber, GameInitID, GameFrame uint32
	GameTime                            time.Duration
	Rules                               []dissect.KeyValue
}

// Auth is one of clAuth, gameAuth, srvAuth, auth and authKey.
type Auth struct {
	Command           string
	Protocol          Version
	Address           netip.AddrPort // of the server (clAuth) or of the client
	Key, ExpansionKey string
	ClientID          int32
	GUID              string
	Verdict, Reason   uint8
	Text              string
}

// NewVersion is versionCheck or newVersion.
type NewVersion struct {
	Reply         bool
	Protocol      Version
	Version       string // si_version
	GUID          string
	Text          string
	URL, Fallback string
}

// Other is a message without arguments, or one whose content is not decoded.
type Other struct {
	Command string
	Data    []byte
}

var style = wire.Style{Charset: dissect.Latin1, Codes: core.Doom3}

// AppendSummary appends the challenge.
func (m *InfoRequest) AppendSummary(dst []byte) []byte {
	if !m.Challenge.OK {
		return append(dst, "without a whole challenge"...)
	}
	return wire.Number(dst, "challenge ", m.Challenge.Value)
}

// AppendSummary appends the name, the game, the players and the version of the
// protocol.
func (m *InfoReply) AppendSummary(dst []byte) []byte {
	settings := keyvalue.IndexOf(m.Rules)
	s := dissect.Server{Name: settings.Text("si_name"), Charset: dissect.Latin1, Style: core.Doom3}
	if !m.whole {
		return s.AppendSummary(dst)
	}
	s.Game, s.Map = gameOf(&settings), mapName(settings.Text("si_map"))
	s.Players, s.MaxPlayers = dissect.Some(len(m.Players)), settings.Number("si_maxPlayers")
	for i := range m.Players {
		if m.Players[i].Bot.Value {
			s.Bots.Value++
		}
	}
	dst = s.AppendSummary(dst)
	if m.TVClients.OK {
		dst = wire.Plural(dst, ", ", int(m.TVClients.Value), "viewer", "viewers")
	}
	dst = append(dst, "  protocol "...)
	return m.Protocol.append(dst)
}

// AppendSummary appends the version, the mod and whom to look for.
func (m *ServersRequest) AppendSummary(dst []byte) []byte {
	if m.Protocol == (Version{}) {
		dst = append(dst, "any protocol"...)
	} else {
		dst = append(dst, "protocol "...)
		dst = m.Protocol.append(dst)
	}
	for _, f := range [...]struct{ before, value string }{{", mod ", m.Mod}, {", player ", m.Player.Value}, {", clan ", m.Clan.Value}} {
		if f.value != "" {
			dst = style.Quoted(dst, f.before, f.value)
		}
	}
	if m.Filter != 0 {
		dst = wire.Hex(dst, ", filter ", m.Filter)
	}
	return dst
}

// AppendSummary appends the number of addresses.
func (m *ServersReply) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(m.Servers), "server", "servers")
}

// AppendSummary appends the command, never a password.
func (m *Rcon) AppendSummary(dst []byte) []byte { return style.Concealed(dst, m.Command, m.secretAt()) }

// AppendSummary appends the text.
func (m *Print) AppendSummary(dst []byte) []byte {
	return style.Concealed(dst, m.Text, console.Secret(m.Text))
}

// AppendSummary appends the number.
func (m *Challenge) AppendSummary(dst []byte) []byte {
	if !m.Reply {
		return wire.Number(dst, "client ", m.ClientID)
	}
	dst = wire.Number(dst, "", m.Challenge)
	if m.Game != "" {
		dst = style.Quoted(dst, ", mod ", m.Game)
	}
	return dst
}

// AppendSummary appends the version and the challenge.
func (m *Connect) AppendSummary(dst []byte) []byte {
	dst = append(dst, "protocol "...)
	dst = m.Protocol.append(dst)
	return wire.Number(dst, ", challenge ", m.Challenge)
}

// AppendSummary appends the place of the client.
func (m *Connected) AppendSummary(dst []byte) []byte {
	return wire.Number(dst, "client ", m.ClientNumber)
}

// AppendSummary appends the command and whom it is about, never a key.
func (m *Auth) AppendSummary(dst []byte) []byte {
	dst = style.Text(dst, "", m.Command)
	if m.Address != (netip.AddrPort{}) {
		dst = append(dst, ' ')
		dst = m.Address.AppendTo(dst)
	}
	if m.Text != "" {
		dst = style.Quoted(dst, " ", m.Text)
	}
	return dst
}

// AppendSummary appends the version, or where a newer one is.
func (m *NewVersion) AppendSummary(dst []byte) []byte {
	if m.Reply {
		return style.Quoted(dst, "", m.URL)
	}
	return style.Quoted(dst, "", m.Version)
}

// AppendSummary appends the command of a message that is not a query.
func (m *Other) AppendSummary(dst []byte) []byte {
	if len(m.Data) == 0 {
		return dst
	}
	dst = style.Text(dst, "", m.Command)
	return wire.Plural(dst, ", ", len(m.Data), "byte", "bytes")
}
