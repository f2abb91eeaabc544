package doom3

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
)

var fields = dissect.NewCatalog("doom3")

// The engine draws its own fonts in Latin-1.
var (
	latin1 = dissect.InCharset(dissect.Latin1)
	styled = dissect.InStyle(dissect.Doom3)
)

// Every message.
var (
	fHeader  = fields.Add("header", dissect.Uint, "65535: the message belongs to no connection.", dissect.Framing)
	fCommand = fields.Add("command", dissect.String, "The word that says which message it is.")
)

// getInfo, getInfoEx and what both replies begin with.
var (
	fChallenge = fields.Add("challenge", dissect.Int, "Number that the server sends back with its reply.", dissect.Chosen)
	fPadding   = fields.Add("padding", dissect.Bytes, "Bytes behind the challenge, which no server reads.")
	fTask      = fields.Add("info.task", dissect.Int, "Quake Wars, Wolfenstein: number of the task that the reply belongs to, -1 if there is none.")
	fMinor     = fields.Add("protocol_minor", dissect.Uint, "Version of the network protocol, the second number: 41 of 1.41.")
	fMajor     = fields.Add("protocol_major", dissect.Uint, "Version of the network protocol, the first number, which is that of the game.", dissect.Names(
		dissect.Name{Value: majorDoom3, Name: "Doom 3"}, dissect.Name{Value: majorQuake4, Name: "Quake 4"},
		dissect.Name{Value: majorPrey, Name: "Prey"}, dissect.Name{Value: majorPreyDemo, Name: "Prey demo"},
		dissect.Name{Value: majorQuakeWars, Name: "Enemy Territory: Quake Wars"},
		dissect.Name{Value: majorQuakeWarsBeta, Name: "Enemy Territory: Quake Wars beta"},
		dissect.Name{Value: majorWolfenstein, Name: "Wolfenstein"},
		dissect.Name{Value: majorQuake4 | thirdParty, Name: "Quake 4, asked by another program"}))
	fSize     = fields.Add("info.size", dissect.Uint, "Quake Wars, Wolfenstein: bytes of the message behind this number.", dissect.Framing)
	rules     = keyvalue.Declare(fields, latin1, styled)
	fRulesEnd = fields.Add("info.rules_end", dissect.Bytes, "An empty name and an empty value: the settings end here.", dissect.Framing)
)

// The players of an info reply.
var (
	fBits       = fields.Add("info.bits", dissect.Bytes, "Quake Wars beta: the rest of the message, in which a bit for bots moves all that follows it.", dissect.Framing)
	fPlayers    = fields.Add("players", dissect.List, "The players.")
	fPlayer     = fields.Add("players.player", dissect.Group, "One player.")
	fPlayerID   = fields.Add("players.id", dissect.Uint, "Place of the player on the server, from 0.")
	fPing       = fields.Add("players.ping", dissect.Uint, "Round-trip time in milliseconds.")
	fRate       = fields.Add("players.rate", dissect.Uint, "Bytes per second that the player takes. Quake Wars does not say it since protocol 10.19.")
	fPlayerName = fields.Add("players.name", dissect.String, "Name of the player.", latin1, styled)
	fClanPlace  = fields.Add("players.clan_position", dissect.Uint, "Quake Wars, Wolfenstein: where the clan's tag is shown.", dissect.Names(
		dissect.Name{Value: 0, Name: "before the name"}, dissect.Name{Value: 1, Name: "behind the name"}))
	fClan      = fields.Add("players.clan", dissect.String, "Quake 4, Quake Wars, Wolfenstein: tag of the player's clan.", latin1, styled)
	fBot       = fields.Add("players.bot", dissect.Bool, "Quake Wars, Wolfenstein: the player is a bot.")
	fPlayerEnd = fields.Add("info.players_end", dissect.Uint, "The number of places on a server, where the next player would stand: the list ends here.", dissect.Framing)

	// The second list of infoExResponse. It is told with the players.
	fXP       = fields.Add("players.xp", dissect.Float, "infoExResponse: experience. Stands in a second list on the wire.")
	fTeam     = fields.Add("players.team", dissect.String, "infoExResponse: gdf, strogg or spectating.", latin1, styled)
	fScore    = fields.Add("players.score", dissect.Int, "infoExResponse: kills.")
	fDeaths   = fields.Add("players.deaths", dissect.Int, "infoExResponse: deaths.")
	fStats    = fields.Add("info.stats", dissect.List, "infoExResponse: the second list, where it is not of the players of the first.")
	fStat     = fields.Add("info.stats.player", dissect.Group, "One player of the second list.")
	fStatsID  = fields.Add("players.stats_id", dissect.Uint, "infoExResponse: the player whom the second list goes on with.", dissect.Framing)
	fStatsEnd = fields.Add("info.stats_end", dissect.Uint, "The second list ends here.", dissect.Framing)
)

// What follows the players.
var (
	fOSMask = fields.Add("info.os_mask", dissect.Uint, "Operating systems for which the server has the code of the game; all bits if the game is not modified.", dissect.Bits(
		dissect.Name{Value: 1, Name: "Windows"}, dissect.Name{Value: 2, Name: "macOS"}, dissect.Name{Value: 4, Name: "Linux"}))
	fNetPort  = fields.Add("info.net_port", dissect.Uint, "Quake 4: port that the server was told to use, 0 if none.")
	fNetFlag  = fields.Add("info.net_flag", dissect.Uint, "Quake 4: 1 on all servers that were seen.")
	fRanked   = fields.Add("info.ranked", dissect.Bool, "Quake Wars, Wolfenstein: the results count.")
	fTimeLeft = fields.Add("info.time_left_ms", dissect.Uint, "Quake Wars, Wolfenstein: milliseconds until the round ends.")
	fState    = fields.Add("info.game_state", dissect.Uint, "Quake Wars, Wolfenstein: what the server is doing.", dissect.Bits(
		dissect.Name{Value: 1, Name: "warmup"}, dissect.Name{Value: 2, Name: "running"}, dissect.Name{Value: 4, Name: "reviewing"},
		dissect.Name{Value: 8, Name: "loading"}))
	fServerType = fields.Add("info.server_type", dissect.Uint, "Quake Wars: kind of server.", dissect.Names(
		dissect.Name{Value: serverNormal, Name: "game server"}, dissect.Name{Value: serverTV, Name: "TV server"}))
	fInterested = fields.Add("info.interested_clients", dissect.Uint, "Quake Wars: players who are thinking of joining.")
	fTVClients  = fields.Add("info.tv_clients", dissect.Uint, "Quake Wars TV: viewers.")
	fTVMax      = fields.Add("info.tv_max_clients", dissect.Uint, "Quake Wars TV: most viewers that it takes.")
)

// getServers and servers.
var (
	fMod        = fields.Add("mod", dissect.String, "Directory of the mod (fs_game) that servers must run.")
	fPlayerLike = fields.Add("player", dissect.String, "Quake 4: name of a player who must be on the servers.", latin1)
	fClanLike   = fields.Add("clan", dissect.String, "Quake 4: clan of which somebody must be on the servers.", latin1)
	fFilter     = fields.Add("filter_bits", dissect.Uint, "Which servers to leave out: 2 bits each for password, players and kind of game.", dissect.Bits(
		dissect.Name{Value: 0x01, Name: "with password"}, dissect.Name{Value: 0x02, Name: "without password"},
		dissect.Name{Value: 0x04, Name: "not full"}, dissect.Name{Value: 0x08, Name: "neither full nor empty"},
		dissect.Name{Value: 0x10, Name: "kind of game 1"}, dissect.Name{Value: 0x20, Name: "kind of game 2"}))
	fServers = fields.Add("servers", dissect.List, "Addresses of servers.")
	fServer  = fields.Add("servers.server", dissect.Endpoint, "Address and port of one server; the port is little-endian.")
)

// The remote console and the way into a game.
var (
	fPassword    = fields.Add("password", dissect.String, "Password of the remote console or of the game.", dissect.Secret)
	fCommandLine = fields.Add("command_line", dissect.String, "Command for the console of the server.", latin1)
	fHiddenLine  = fCommandLine.Hidden() // with a password in it
	fOpcode      = fields.Add("opcode", dissect.Uint, "What the text is about.", dissect.Names(
		dissect.Name{Value: 0, Name: "miscellaneous"}, dissect.Name{Value: 1, Name: "wrong protocol"},
		dissect.Name{Value: 2, Name: "remote console"}, dissect.Name{Value: printGameDeny, Name: "refused by the game"},
		dissect.Name{Value: 4, Name: "wrong challenge"}))
	fGameOpcode = fields.Add("game_opcode", dissect.Uint, "Why the game refuses.", dissect.Names(
		dissect.Name{Value: 0, Name: "allowed"}, dissect.Name{Value: 1, Name: "wrong password"},
		dissect.Name{Value: 2, Name: "not yet"}, dissect.Name{Value: 3, Name: "no"}))
	fText          = fields.Add("text", dissect.String, "Text for people; #str_ and a number stands for a sentence in the language of the client.", latin1, styled)
	fHiddenText    = fText.Hidden() // with a password in it
	fClientID      = fields.Add("client_id", dissect.Int, "Number that the client chose for itself.", dissect.Chosen)
	fClientID16    = fields.Add("connect.client_id", dissect.Uint, "The same, cut to 16 bits.", dissect.Chosen)
	fServerID      = fields.Add("server_id", dissect.Uint, "Number by which packets of the connection are known.", dissect.Chosen)
	fGameBase      = fields.Add("fs_game_base", dissect.String, "Directory of the game that the mod is based on.")
	fGame          = fields.Add("fs_game", dissect.String, "Directory of the mod.")
	fOS            = fields.Add("os", dissect.Uint, "Operating system of the client.", systems)
	fChecksum      = fields.Add("data_checksum", dissect.Uint, "Checksum of the client's game data.")
	fMaxRate       = fields.Add("max_rate", dissect.Uint, "Bytes per second that the client takes.")
	fGUID          = fields.Add("guid", dissect.String, "Number by which servers know the player again.")
	fPunkBuster    = fields.Add("punkbuster", dissect.Uint, "0.")
	fClientNumber  = fields.Add("client_number", dissect.Uint, "Place of the client on the server.")
	fGameInit      = fields.Add("game_init_id", dissect.Uint, "Number of the map since the server was started.")
	fGameFrame     = fields.Add("game_frame", dissect.Uint, "Frames of the game so far.")
	fGameTime      = fields.Add("game_time_ms", dissect.Uint, "Milliseconds of the game so far.")
	fClientAddress = fields.Add("client_address", dissect.Endpoint, "Address of the client, its port little-endian.")
	fServerAddress = fields.Add("server_address", dissect.Endpoint, "Address of the server that the client wants to join, its port little-endian.")
	fHasKey        = fields.Add("has_key", dissect.Bool, "A key follows.")
	fKey           = fields.Add("cd_key", dissect.String, "Serial number of the game.", dissect.Secret)
	fHasXPKey      = fields.Add("has_expansion_key", dissect.Bool, "A key of the expansion follows.")
	fXPKey         = fields.Add("expansion_key", dissect.String, "Serial number of the expansion.", dissect.Secret)
	fHasGUID       = fields.Add("has_guid", dissect.Bool, "The client knows its number and needs no answer.")
	fExpansion     = fields.Add("expansion", dissect.Bool, "The server runs the expansion.")
	fVerdict       = fields.Add("verdict", dissect.Uint, "What the authorization server decided.", dissect.Names(
		dissect.Name{Value: 1, Name: "ok"}, dissect.Name{Value: 2, Name: "wait"}, dissect.Name{Value: 3, Name: "deny"}))
	fReason = fields.Add("reason", dissect.Uint, "Why.", dissect.Names(
		dissect.Name{Value: 1, Name: "client is unknown"}, dissect.Name{Value: 2, Name: "key is in use"},
		dissect.Name{Value: reasonText, Name: "see the text"}, dissect.Name{Value: 4, Name: "waiting for the client"}))
	fKeyVerdict = fields.Add("key_verdict", dissect.Uint, "What the authorization server thinks of the key.", dissect.Names(
		dissect.Name{Value: 0, Name: "refused"}, dissect.Name{Value: keyGood, Name: "good"}))
	fKeyReason = fields.Add("key_reason", dissect.Uint, "Why it is refused.", dissect.Names(
		dissect.Name{Value: keyInvalid, Name: "invalid"}, dissect.Name{Value: 1, Name: "banned"}, dissect.Name{Value: 2, Name: "in use"},
		dissect.Name{Value: keyText, Name: "see the text"}))
	fKeyValid    = fields.Add("key_valid", dissect.Bool, "The serial number of the game is good.")
	fXPKeyValid  = fields.Add("expansion_key_valid", dissect.Bool, "The serial number of the expansion is good.")
	fKeyIndex    = fields.Add("key_index", dissect.Uint, "Which serial number: 0 the game's, 1 the expansion's.")
	fGameVersion = fields.Add("si_version", dissect.String, "Version of the game and of its build.")
	fDirect      = fields.Add("direct_download", dissect.Bool, "The address is that of a file, not of a page.")
	fURL         = fields.Add("url", dissect.String, "Where the new version is.")
	fMime        = fields.Add("mime", dissect.Uint, "Kind of the file.", dissect.Names(
		dissect.Name{Value: 0, Name: "page"}, dissect.Name{Value: 1, Name: "program"}))
	fFallback = fields.Add("fallback_url", dissect.String, "Page to go to if the download fails.")
	fPayload  = fields.Add("payload", dissect.Bytes, "What belongs to a word whose content is not read further.")
)

var systems = dissect.Names(
	dissect.Name{Value: 0, Name: "Windows"}, dissect.Name{Value: 1, Name: "macOS"}, dissect.Name{Value: 2, Name: "Linux"})
