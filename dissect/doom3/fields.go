package doom3

import (
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("doom3")

// The engine's fonts are in Latin-1.
var (
	styled = core.InStyle(core.Doom3)

	// Every message.
	fHeader  = catalog.Add("header", dissect.Uint, "65535: the message belongs to no connection.", dissect.Framing)
	fCommand = catalog.Add("command", dissect.String, "Word that names the message.", dissect.Public)

	// getInfo, getInfoEx, and the beginning of both replies.
	fChallenge = catalog.Add("challenge", dissect.Int, "Number that the server returns in its reply.", dissect.Token, dissect.Chosen)
	fPadding   = catalog.Add("padding", dissect.Bytes, "Bytes after the challenge, which no server reads.", core.Ignored)
	fTask      = catalog.Add("info.task", dissect.Int, "Quake Wars, Wolfenstein: number of the task of the reply, -1 if there is none.")
	fMinor     = catalog.Add("protocol_minor", dissect.Uint, "Minor number of the protocol version: 41 of 1.41.")
	fMajor     = catalog.Add("protocol_major", dissect.Uint, "Major number of the protocol version. It names the game.", dissect.Names(
		dissect.Name{Value: majorDoom3, Name: "Doom 3"}, dissect.Name{Value: majorQuake4, Name: "Quake 4"},
		dissect.Name{Value: majorPrey, Name: "Prey"}, dissect.Name{Value: majorPreyDemo, Name: "Prey demo"},
		dissect.Name{Value: majorQuakeWars, Name: "Enemy Territory: Quake Wars"},
		dissect.Name{Value: majorQuakeWarsBeta, Name: "Enemy Territory: Quake Wars beta"},
		dissect.Name{Value: majorWolfenstein, Name: "Wolfenstein"},
		dissect.Name{Value: majorQuake4 | thirdParty, Name: "Quake 4, asked by another program"}))
	fSize     = catalog.Add("info.size", dissect.Uint, "Quake Wars, Wolfenstein: size of the rest of the message, in bytes.", dissect.Framing)
	rules     = keyvalue.Declare(catalog, core.InLatin1, styled)
	fRulesEnd = catalog.Add("info.rules_end", dissect.Bytes, "An empty name and an empty value, which end the settings.", dissect.Framing)

	// The players of an info reply.
	fBits       = catalog.Add("info.bits", dissect.Bytes, "Quake Wars beta: the rest of the message. Bits for bots shift the data after them.", core.Becomes("unshifted"), dissect.Framing)
	fPlayers    = catalog.Add("players", dissect.List, "The players.")
	fPlayer     = catalog.Add("players.player", dissect.Group, "One player.")
	fPlayerID   = catalog.Add("players.id", dissect.Uint, "Slot of the player on the server, from 0.")
	fPing       = catalog.Add("players.ping", dissect.Uint, "Round-trip time in milliseconds.")
	fRate       = catalog.Add("players.rate", dissect.Uint, "Bytes per second that the player accepts. Quake Wars omits it since protocol 10.19.")
	fPlayerName = catalog.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName, core.InLatin1, styled)
	fClanPlace  = catalog.Add("players.clan_position", dissect.Uint, "Quake Wars, Wolfenstein: position of the clan's tag.", core.Counted(0, "before the name", "behind the name"))
	fClan       = catalog.Add("players.clan", dissect.String, "Quake 4, Quake Wars, Wolfenstein: tag of the player's clan.", dissect.PersonName, core.InLatin1, styled)
	fBot        = catalog.Add("players.bot", dissect.Bool, "Quake Wars, Wolfenstein: the player is a bot.")
	fPlayerEnd  = catalog.Add("info.players_end", dissect.Uint, "The number of player slots in place of the next player's id: the list ends here.", dissect.Framing)

	// The second list of infoExResponse, shown with the players.
	fXP       = catalog.Add("players.xp", dissect.Float, "infoExResponse: experience. On the wire it is in a second list.")
	fTeam     = catalog.Add("players.team", dissect.String, "infoExResponse: gdf, strogg or spectating.", dissect.Public, core.InLatin1, styled)
	fScore    = catalog.Add("players.score", dissect.Int, "infoExResponse: kills.")
	fDeaths   = catalog.Add("players.deaths", dissect.Int, "infoExResponse: deaths.")
	fStats    = catalog.Add("info.stats", dissect.List, "infoExResponse: the second list, if it has other players than the first.")
	fStat     = catalog.Add("info.stats.player", dissect.Group, "One player of the second list.")
	fStatsID  = catalog.Add("players.stats_id", dissect.Uint, "infoExResponse: id of the player in the second list.", dissect.Framing)
	fStatsEnd = catalog.Add("info.stats_end", dissect.Uint, "End of the second list.", dissect.Framing)

	// The data after the players.
	fOSMask     = catalog.Add("info.os_mask", dissect.Uint, "Operating systems for which the server has game code; all bits if the game is not modified.", core.BitsFrom(1, "Windows", "macOS", "Linux"))
	fNetPort    = catalog.Add("info.net_port", dissect.Uint, "Quake 4: configured port of the server, 0 if there is none.")
	fNetFlag    = catalog.Add("info.net_flag", dissect.Uint, "Quake 4: 1 in all recorded replies.")
	fRanked     = catalog.Add("info.ranked", dissect.Bool, "Quake Wars, Wolfenstein: the results count.")
	fTimeLeft   = catalog.Add("info.time_left_ms", dissect.Uint, "Quake Wars, Wolfenstein: milliseconds until the round ends.")
	fState      = catalog.Add("info.game_state", dissect.Uint, "Quake Wars, Wolfenstein: state of the game.", core.BitsFrom(1, "warmup", "running", "reviewing", "loading"))
	fServerType = catalog.Add("info.server_type", dissect.Uint, "Quake Wars: kind of server.", dissect.Names(
		dissect.Name{Value: serverNormal, Name: "game server"}, dissect.Name{Value: serverTV, Name: "TV server"}))
	fInterested = catalog.Add("info.interested_clients", dissect.Uint, "Quake Wars: players who consider joining.")
	fTVClients  = catalog.Add("info.tv_clients", dissect.Uint, "Quake Wars TV: viewers.")
	fTVMax      = catalog.Add("info.tv_max_clients", dissect.Uint, "Quake Wars TV: maximum number of viewers.")

	// getServers and servers.
	fMod        = catalog.Add("mod", dissect.String, "Directory of the mod (fs_game) that servers must run.", dissect.Public)
	fPlayerLike = catalog.Add("player", dissect.String, "Quake 4: name of a player who must be on the servers.", dissect.PersonName, core.InLatin1)
	fClanLike   = catalog.Add("clan", dissect.String, "Quake 4: clan of which a member must be on the servers.", dissect.PersonName, core.InLatin1)
	fFilter     = catalog.Add("filter_bits", dissect.Uint, "Servers to exclude: 2 bits each for password, players and kind of game.", core.BitsFrom(0x01, "with password", "without password", "not full", "neither full nor empty", "kind of game 1", "kind of game 2"))
	fServers    = catalog.Add("servers", dissect.List, "Addresses of servers.")
	fServer     = catalog.Add("servers.server", dissect.Endpoint, "Address and port of one server; the port is little-endian.")

	// The remote console, and connecting.
	fPassword    = catalog.Add("password", dissect.String, "Password of the remote console or of the game.", dissect.Secret)
	fCommandLine = catalog.Add("command_line", dissect.String, "Command for the console of the server.", dissect.FreeText, core.InLatin1)
	fHiddenLine  = fCommandLine.Hidden() // contains a password
	fOpcode      = catalog.Add("opcode", dissect.Uint, "Subject of the text.", dissect.Names(
		dissect.Name{Value: 0, Name: "miscellaneous"}, dissect.Name{Value: 1, Name: "wrong protocol"},
		dissect.Name{Value: 2, Name: "remote console"}, dissect.Name{Value: printGameDeny, Name: "refused by the game"},
		dissect.Name{Value: 4, Name: "wrong challenge"}))
	fGameOpcode   = catalog.Add("game_opcode", dissect.Uint, "Reason why the game refuses the client.", core.Counted(0, "allowed", "wrong password", "not yet", "no"))
	fText         = catalog.Add("text", dissect.String, "Text for people. #str_ and a number names a text in the client's language.", dissect.FreeText, core.InLatin1, styled)
	fHiddenText   = fText.Hidden() // contains a password
	fClientID     = catalog.Add("client_id", dissect.Int, "Number that the client chose.", dissect.Chosen)
	fClientID16   = catalog.Add("connect.client_id", dissect.Uint, "The lower 16 bits of the client's number.", dissect.Chosen)
	fServerID     = catalog.Add("server_id", dissect.Uint, "Number that identifies the packets of the connection.", dissect.Chosen)
	fGameBase     = catalog.Add("fs_game_base", dissect.String, "Directory of the game on which the mod is based.", dissect.Public)
	fGame         = catalog.Add("fs_game", dissect.String, "Directory of the mod.", dissect.Public)
	fOS           = catalog.Add("os", dissect.Uint, "Operating system of the client.", core.Counted(0, "Windows", "macOS", "Linux"))
	fChecksum     = catalog.Add("data_checksum", dissect.Uint, "Checksum of the client's game data.")
	fMaxRate      = catalog.Add("max_rate", dissect.Uint, "Bytes per second that the client accepts.")
	fGUID         = catalog.Add("guid", dissect.String, "Identifier by which servers recognise the player.", dissect.PersonID)
	fPunkBuster   = catalog.Add("punkbuster", dissect.Uint, "0.")
	fClientNumber = catalog.Add("client_number", dissect.Uint, "Slot of the client on the server.")
	fGameInit     = catalog.Add("game_init_id", dissect.Uint, "Number of the map since the start of the server.")
	fGameFrame    = catalog.Add("game_frame", dissect.Uint, "Frames of the game so far.")
	fGameTime     = catalog.Add("game_time_ms", dissect.Uint, "Milliseconds of the game so far.")
	fKeys         = catalog.Add("keys", dissect.Bytes, "Content of a message about the serial number of a client.", dissect.Secret)
	fPayload      = catalog.Add("payload", dissect.Bytes, "Content of a message that is not decoded.")
)

// Requests and replies.
var (
	unanswered     = finding.NoReply(catalog, "doom3.noreply", "The capture has no reply within the time that clients wait. The server is down or has no map loaded, or the request or the reply was lost, dropped by a firewall or not captured.")
	unrequested    = finding.Unrequested(catalog, "doom3.unrequested", "The capture has requests of this conversation, but none that this reply answers. The challenge differs, the request is missing from the capture, or the reply is late, a duplicate or forged.")
	challengeShort = catalog.Finding(dissect.FindingType{ID: "doom3.challenge.short", Severity: dissect.Note, Text: "%d {byte|bytes} of challenge instead of 4", Doc: "The server reads 4 bytes whatever the request contains. The challenge that it returns ends in bytes of its own memory (GameQ's request to Quake Wars), or is -1."})
	challengeLong  = catalog.Finding(dissect.FindingType{ID: "doom3.challenge.long", Severity: dissect.Chat, Text: "%d {byte|bytes} after the command; the server returns the first 4", Doc: "GameQ and gamedig send eight letters and a zero byte, as other protocols do."})
	challengeEcho  = catalog.Finding(dissect.FindingType{ID: "doom3.challenge.echo", Severity: dissect.Note, Text: "the reply does not have the challenge of the request in frame %d", Doc: "Servers return the challenge of the request. If the request was too short, the last bytes come from the server's memory. Otherwise the reply answers another request, or is forged."})
	noTerm         = catalog.Finding(dissect.FindingType{ID: "doom3.noterm", Severity: dissect.Note, Text: "no zero byte after the command", Doc: "The article that many client authors followed omits it; a truncated message looks the same. Servers read whatever follows in their buffer."})
	unknownWord    = catalog.Finding(dissect.FindingType{ID: "doom3.command", Severity: dissect.Note, Text: "unknown command %s", Doc: "The message has FF FF, letters and a zero byte like all messages of the engine, but the public sources do not have the word: a mod, another game, or other traffic."})

	// Info replies.
	layoutUsed    = catalog.Finding(dissect.FindingType{ID: "doom3.layout", Severity: dissect.Chat, Text: "players and end in the layout of %p, which fits exactly", Doc: "The layout of the list of players and of the data after it differs between games and versions, and no field names it. This layout ends where the message ends."})
	layoutOther   = catalog.Finding(dissect.FindingType{ID: "doom3.layout.version", Severity: dissect.Note, Text: "protocol %d.%d has the layout of %p, but that of %p fits", Doc: "Programs that rely on the version misread the list of players of this server. A mod may have changed the protocol, or the version was forged."})
	layoutUnknown = catalog.Finding(dissect.FindingType{ID: "doom3.layout.unknown", Severity: dissect.Note, Text: "protocol %d.%d belongs to no known game; the layout of %p fits", Doc: "Another game of the engine, or a version that is newer than this program."})
	noMask        = catalog.Finding(dissect.FindingType{ID: "doom3.osmask.missing", Severity: dissect.Chat, Text: "no operating systems after the players", Doc: "This field says for which systems the server has game code. dhewm3 and the first versions of Doom 3 omit it; a reply truncated at this point looks the same."})
	layoutNone    = finding.New(catalog, dissect.Warning, "doom3.layout.none", "no known layout fits; decoded as %p",
		"In no known layout does the message end where the data ends: it was truncated, or its version is unknown. The players shown may be wrong.", "If the game is known, report it to qdissect with the capture. A client should use the settings, and not the players.")
	sizeWrong = finding.Length(catalog, "doom3.size", "%d {byte|bytes} announced, %d {follows|follow}",
		"The size in the reply differs from the size of the data: the message was truncated, or a proxy changed it and kept the size.", finding.WrongLength)
	tooMany    = catalog.Finding(dissect.FindingType{ID: "doom3.players.count", Severity: dissect.Note, Text: "%d {player|players} on a server for %d", Doc: "The list has more players than si_maxPlayers allows: the setting was lowered during the game, or the list is invented."})
	statsOrder = catalog.Finding(dissect.FindingType{ID: "doom3.stats.order", Severity: dissect.Note, Text: "the two lists have different players: %d in the first, %d in the second up to the first difference", Doc: "infoExResponse repeats all players in the same order, with experience, team, kills and deaths. Programs that rely on the order mix up these players."})

	// Master servers.
	thirdPartyAsks = catalog.Finding(dissect.FindingType{ID: "doom3.thirdparty", Severity: dissect.Chat, Text: "sent by a program other than the game", Doc: "Bit 31 of the version is set. qstat sets it when it asks the master server of Quake 4, so that id Software can tell players from programs."})
	listLength     = finding.Length(catalog, "doom3.len6", "%d {byte|bytes} at the end {is|are} not a whole address",
		"An address takes 6 bytes. The list was truncated, or it contains other data.", finding.CutList)
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
)

// The topics of requests.
const (
	topicInfo dissect.Topic = 1 << iota
	topicInfoEx
	topicServers
	topicRcon
	topicChallenge
	topicConnect
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
	mOther            = catalog.Message(dissect.MessageType{Name: "other", Title: "other message", Role: dissect.OneWay, Doc: "A message that is not a query. Its content is not decoded."})
)

// A Message is one of *InfoRequest, *InfoReply, *ServersRequest, *ServersReply, *Rcon,
// *Print, *Challenge, *Connect, *Connected and *Other.
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

// AppendSummary appends the command of a message that is not a query.
func (m *Other) AppendSummary(dst []byte) []byte {
	if len(m.Data) == 0 {
		return dst
	}
	dst = style.Text(dst, "", m.Command)
	return wire.Plural(dst, ", ", len(m.Data), "byte", "bytes")
}
