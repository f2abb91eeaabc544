package a2s

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

var fields = dissect.NewCatalog("a2s")

// The header of a whole message, and its letter.
var (
	fHeader = fields.Add("header", dissect.Int, "-1: the message is in one piece.", dissect.Framing)
	fExtra  = fields.Add("extra", dissect.Uint, "255: a fifth byte FF in the header.", dissect.Framing)
	fType   = fields.Add("type", dissect.Char, "Letter that names the message.", dissect.Names(
		dissect.Name{Value: typeInfoRequest, Name: "A2S_INFO"}, dissect.Name{Value: typePlayersRequest, Name: "A2S_PLAYER"},
		dissect.Name{Value: typeRulesRequest, Name: "A2S_RULES"}, dissect.Name{Value: typeChallengeRequest, Name: "A2S_SERVERQUERY_GETCHALLENGE"},
		dissect.Name{Value: typePingRequest, Name: "A2A_PING"}, dissect.Name{Value: typePingReply, Name: "A2A_ACK"},
		dissect.Name{Value: typeChallengeReply, Name: "S2C_CHALLENGE"}, dissect.Name{Value: typeInfoReply, Name: "S2A_INFO_SRC"},
		dissect.Name{Value: typeGoldSrcInfoReply, Name: "S2A_INFO_DETAILED"}, dissect.Name{Value: typePlayersReply, Name: "S2A_PLAYER"},
		dissect.Name{Value: typeRulesReply, Name: "S2A_RULES"}, dissect.Name{Value: typeFuelRequest, Name: "info of Frontlines: Fuel of War"}, dissect.Name{Value: typeConnectRequest, Name: "A2S_GETCHALLENGE"},
		dissect.Name{Value: typeJoin, Name: "C2S_CONNECT"}, dissect.Name{Value: typeConnection, Name: "S2C_CONNECTION"},
		dissect.Name{Value: typeConnectReject, Name: "S2C_CONNREJECT"}, dissect.Name{Value: typeRconChallenge, Name: "rcon challenge"},
		dissect.Name{Value: typePrint, Name: "A2C_PRINT"}, dissect.Name{Value: typeLog, Name: "S2A_LOGSTRING"},
		dissect.Name{Value: typeSecretLog, Name: "S2A_LOGSTRING2"},
	))

	// Split packets (Server queries, "Protocol").
	fSplit         = fields.Add("split", dissect.Group, "Header of one part of a split message.", dissect.Framing)
	fSplitHeader   = fields.Add("split.header", dissect.Int, "-2: the message is split.", dissect.Framing)
	fSplitID       = fields.Add("split.id", dissect.Uint, "Number that all parts of a message share. Bit 31 means that the message is compressed (Source).", dissect.Framing, dissect.Bits(dissect.Name{Value: compressedBit, Name: "compressed"}))
	fSplitTotal    = fields.Add("split.total", dissect.Uint, "Number of parts. GoldSrc: the lower four bits of the byte that holds the index.", dissect.Framing)
	fSplitIndex    = fields.Add("split.index", dissect.Uint, "Index of the part, from 0. GoldSrc: the upper four bits of a byte.", dissect.Framing)
	fSplitSize     = fields.Add("split.size", dissect.Uint, "Source: the largest amount of data in a part, in bytes. Old engines leave it out.", dissect.Framing)
	fSplitUnpacked = fields.Add("split.unpacked_size", dissect.Uint, "Size of the message after decompression, in bytes.", dissect.Framing)
	fSplitCRC      = fields.Add("split.crc32", dissect.Uint, "CRC-32 of the message after decompression.", dissect.Framing, core.Checksum)
	fPartData      = fields.Add("part", dissect.Bytes, "Data of one part.", core.Becomes("joined"), dissect.Framing)
	fPacked        = fields.Add("packed", dissect.Bytes, "The message, compressed with bzip2.", core.Becomes("decompressed"), dissect.Framing)

	// Requests.
	fQuery     = fields.Add("query", dissect.String, "\"Source Engine Query\"; LSQ asks Frontlines: Fuel of War.", dissect.Public)
	fChallenge = fields.Add("challenge", dissect.Int, "Number that proves that the client receives packets at its address. -1 or 0 asks for one.", dissect.Token, dissect.Chosen)
	fPadding   = fields.Add("padding", dissect.Bytes, "Padding. It makes the request longer, so that the reply amplifies less.", core.Ignored)
	fConnect   = fields.Add("connect", dissect.String, "\"connect\" and a number: a game client asks for a connection.", dissect.Public)

	// Challenge and ping replies.
	fContent         = fields.Add("content", dissect.String, "Content of the ping reply: zeros from Source, empty from GoldSrc.", dissect.Public)
	fChallengeText   = fields.Add("text", dissect.String, "Text of the message.", core.Console)
	fHiddenText      = fChallengeText.Hidden() // contains a password
	fMagic           = fields.Add("magic", dissect.Uint, "Version of the connection challenge (Source).")
	fClientChallenge = fields.Add("client_challenge", dissect.Uint, "Number that the client chose, echoed by the server.", dissect.Token, dissect.Chosen)
	fAuthProtocol    = fields.Add("auth_protocol", dissect.Uint, "How the client must authenticate.", dissect.Names(
		dissect.Name{Value: 1, Name: "auth certificate"}, dissect.Name{Value: 2, Name: "hashed CD key"}, dissect.Name{Value: 3, Name: "Steam"}))
	fAuthData = fields.Add("auth_data", dissect.Bytes, "Data of the authentication.")
	fPayload  = fields.Add("payload", dissect.Bytes, "Content of an unknown message, after its letter.")

	fNetProtocol = fields.Add("join.protocol", dissect.Uint, "Version of the network protocol of a game client.")
	fJoin        = fields.Add("join.client", dissect.Bytes, "Data of the client: challenges, its name, the server's password, the game version, its Steam ticket.", dissect.Secret)

	fSecret = fields.Add("log_secret", dissect.String, "Secret that identifies the server to the receiver of its log.", dissect.Secret)
)

var serverTypes = dissect.Names(
	dissect.Name{Value: 'd', Name: "dedicated"}, dissect.Name{Value: 'l', Name: "listen"},
	dissect.Name{Value: 'p', Name: "SourceTV or HLTV proxy"}, dissect.Name{Value: 0, Name: "not stated"},
	dissect.Name{Value: 'D', Name: "dedicated"}, dissect.Name{Value: 'L', Name: "listen"}, dissect.Name{Value: 'P', Name: "proxy"})

var systems = dissect.Names(
	dissect.Name{Value: 'l', Name: "Linux"}, dissect.Name{Value: 'w', Name: "Windows"},
	dissect.Name{Value: 'm', Name: "macOS"}, dissect.Name{Value: 'o', Name: "macOS"},
	dissect.Name{Value: 'L', Name: "Linux"}, dissect.Name{Value: 'W', Name: "Windows"})

// A2S_INFO replies, in the order of both formats.
var (
	fProtocol   = fields.Add("info.protocol", dissect.Uint, "Version of the network protocol: 17 on modern servers, 48 from GoldSrc, 7 on those of 2006.")
	fAddress    = fields.Add("info.address", dissect.String, "GoldSrc: the server's own address as it knows it, often a private one.", dissect.Address)
	fName       = fields.Add("info.name", dissect.String, "Name of the server.", dissect.ServerText)
	fMap        = fields.Add("info.map", dissect.String, "Map being played.", dissect.Public)
	fFolder     = fields.Add("info.folder", dissect.String, "Directory of the game: cstrike, tf.", dissect.Public)
	fGame       = fields.Add("info.game", dissect.String, "Name of the game.", core.GameName)
	fAppID      = fields.Add("info.appid", dissect.Uint, "Steam application, lower 16 bits. 0 if the number does not fit; game_id then has it.")
	fPlayers    = fields.Add("info.num_players", dissect.Uint, "Players on the server, bots included.")
	fMaxPlayers = fields.Add("info.max_players", dissect.Uint, "Maximum number of players.")
	fBots       = fields.Add("info.num_bots", dissect.Uint, "Number of bots among the players.")
	fServerType = fields.Add("info.server_type", dissect.Char, "Kind of server.", serverTypes)
	fOS         = fields.Add("info.os", dissect.Char, "Operating system of the server.", systems)
	fPassword   = fields.Add("info.password", dissect.Bool, "A password is needed to join.")
	fVAC        = fields.Add("info.vac", dissect.Bool, "Valve Anti-Cheat is on.")
	fMode       = fields.Add("info.mode", dissect.Uint, "The Ship: game mode.", dissect.Names(
		dissect.Name{Value: 0, Name: "Hunt"}, dissect.Name{Value: 1, Name: "Elimination"}, dissect.Name{Value: 2, Name: "Duel"},
		dissect.Name{Value: 3, Name: "Deathmatch"}, dissect.Name{Value: 4, Name: "Team VIP"}, dissect.Name{Value: 5, Name: "Team Elimination"}))
	fWitnesses = fields.Add("info.witnesses", dissect.Uint, "The Ship: witnesses needed for an arrest.")
	fDuration  = fields.Add("info.duration", dissect.Uint, "The Ship: seconds that a player must be witnessed before an arrest.")
	fGameMode  = fields.Add("info.game_mode", dissect.String, "Frontlines: Fuel of War: game mode.", dissect.Public)
	fFPS       = fields.Add("info.average_fps", dissect.Uint, "Frontlines: Fuel of War: frames per second of the server.")
	fRound     = fields.Add("info.round", dissect.Uint, "Frontlines: Fuel of War: round being played.")
	fMaxRounds = fields.Add("info.max_rounds", dissect.Uint, "Frontlines: Fuel of War: rounds of a match.")
	fTimeLeft  = fields.Add("info.time_left_s", dissect.Uint, "Frontlines: Fuel of War: time left in seconds, big-endian, as its port is.")
	fVersion   = fields.Add("info.version", dissect.String, "Version of the game.", dissect.Public)
	fEDF       = fields.Add("info.edf", dissect.Uint, "Extra data flag: says which fields follow.", dissect.Bits(
		dissect.Name{Value: edfPort, Name: "port"}, dissect.Name{Value: edfSteamID, Name: "steam_id"},
		dissect.Name{Value: edfSourceTV, Name: "stv"}, dissect.Name{Value: edfKeywords, Name: "keywords"},
		dissect.Name{Value: edfGameID, Name: "game_id"}))
	fPort     = fields.Add("info.port", dissect.Uint, "Port that players connect to.")
	fSteamID  = fields.Add("info.steam_id", dissect.ID, "SteamID of the server.")
	fSTVPort  = fields.Add("info.stv_port", dissect.Uint, "Port of SourceTV.")
	fSTVName  = fields.Add("info.stv_name", dissect.String, "Name of the SourceTV server.", dissect.ServerText)
	fKeywords = fields.Add("info.keywords", dissect.String, "Tags of the server. Some games put further data here.", dissect.ServerText)
	fGameID   = fields.Add("info.game_id", dissect.ID, "Steam GameID: application in the lower 24 bits, kind in the next 8, mod in the upper 32.", dissect.Public)
	fIsMod    = fields.Add("info.is_mod", dissect.Bool, "GoldSrc: the game is a mod, and the mod block follows.")

	fMod        = fields.Add("info.mod", dissect.Group, "GoldSrc: the mod block.")
	fModURL     = fields.Add("info.mod.url", dissect.String, "Web site of the mod.", dissect.ServerText)
	fModURLDL   = fields.Add("info.mod.url_download", dissect.String, "Download address of the mod.", dissect.ServerText)
	fModNul     = fields.Add("info.mod.nul", dissect.Uint, "0.", dissect.Framing)
	fModVersion = fields.Add("info.mod.version", dissect.Int, "Version of the mod.")
	fModSize    = fields.Add("info.mod.size", dissect.Int, "Size of the download, in bytes.")
	fModSvOnly  = fields.Add("info.mod.server_only", dissect.Bool, "The mod runs only on the server.")
	fModClDLL   = fields.Add("info.mod.client_dll", dissect.Bool, "The mod has its own client library.")

	// A2S_PLAYER replies.
	fNumPlayers = fields.Add("players_reply.num_players", dissect.Uint, "Number of players that the reply announces.")
	fPlayerList = fields.Add("players", dissect.List, "The players.")
	fPlayer     = fields.Add("players.player", dissect.Group, "One player.")
	fIndex      = fields.Add("players.index", dissect.Uint, "Index of the player. Source sends 0 for every player.")
	fPlayerName = fields.Add("players.name", dissect.String, "Name. Empty while the player connects; some games hide every name.", dissect.PersonName)
	fScore      = fields.Add("players.score", dissect.Int, "Score, usually kills.")
	fPlayerTime = fields.Add("players.duration_s", dissect.Float, "Seconds since the player connected. Some games send -1 for bots.")
	fDeaths     = fields.Add("players.deaths", dissect.Int, "The Ship: deaths. On the wire they follow the list of players.")
	fMoney      = fields.Add("players.money", dissect.Int, "The Ship: money, may be negative. On the wire it follows the list of players.")

	// A2S_RULES replies.
	fNumRules = fields.Add("rules_reply.num_rules", dissect.Uint, "Number of rules that the reply announces.")
	fRuleList = fields.Add("rules", dissect.List, "The rules.")
	fRule     = fields.Add("rules.rule", dissect.Group, "One rule.")
	fKey      = fields.Add("rules.key", dissect.String, "Name of the rule.", dissect.SettingName)
	fValue    = fields.Add("rules.value", dissect.String, "Value of the rule.", dissect.Setting)

	fHiddenValue = fValue.Hidden() // a password

	fChunkList  = fields.Add("chunks", dissect.List, "Arma 3 and DayZ: binary data, escaped and cut into pieces, each sent as a rule.")
	fChunk      = fields.Add("chunks.chunk", dissect.Group, "One piece.")
	fChunkIndex = fields.Add("chunks.index", dissect.Uint, "Number of the piece, from 1.")
	fChunkTotal = fields.Add("chunks.total", dissect.Uint, "Number of pieces.")
	fChunkNul   = fields.Add("chunks.nul", dissect.Uint, "End of the name.", dissect.Framing)
	fChunkData  = fields.Add("chunks.data", dissect.Bytes, "The piece, escaped.", core.Becomes("unescaped"))

	// The binary rules of Arma 3 and DayZ, unescaped.
	fArma         = fields.Add("server_browser", dissect.Group, "Arma 3 and DayZ: content of the binary rules.")
	fArmaVersion  = fields.Add("server_browser.version", dissect.Uint, "Version of the format: 3 from Arma 3, 2 from DayZ.")
	fArmaOverflow = fields.Add("server_browser.overflow", dissect.Uint, "Lists that did not fit.", dissect.Bits(
		dissect.Name{Value: 1, Name: "mods"}, dissect.Name{Value: 2, Name: "signatures"}))
	fArmaDLCBits    = fields.Add("server_browser.dlc_bits", dissect.Uint, "Add-ons in use, one bit each.")
	fArmaDifficulty = fields.Add("server_browser.difficulty", dissect.Uint, "Difficulty: level in bits 0-2, AI skill in bits 3-5.", dissect.Bits(
		dissect.Name{Value: 0x40, Name: "advanced flight model"}, dissect.Name{Value: 0x80, Name: "third person"}))
	fArmaCrosshair = fields.Add("server_browser.crosshair", dissect.Bool, "A crosshair is shown.")
	fArmaDLCs      = fields.Add("server_browser.dlcs", dissect.List, "The add-ons.")
	fArmaDLCItem   = fields.Add("server_browser.dlcs.dlc", dissect.Group, "One add-on.")
	fArmaHash      = fields.Add("server_browser.dlcs.hash", dissect.Uint, "Hash of the add-on.", armaDLC)
	fArmaNumMods   = fields.Add("server_browser.num_mods", dissect.Uint, "Number of mods.")
	fArmaMods      = fields.Add("server_browser.mods", dissect.List, "The mods.")
	fArmaMod       = fields.Add("server_browser.mods.mod", dissect.Group, "One mod.")
	fArmaModHash   = fields.Add("server_browser.mods.hash", dissect.Uint, "Hash of the mod.")
	fArmaModFlags  = fields.Add("server_browser.mods.flags", dissect.Uint, "Length of the identifier in bits 0-3.", dissect.Bits(dissect.Name{Value: 0x10, Name: "dlc"}))
	fArmaModID     = fields.Add("server_browser.mods.steam_id", dissect.ID, "Identifier in the Steam workshop.", dissect.Public)
	fArmaModName   = fields.Add("server_browser.mods.name", dissect.String, "Name of the mod.", dissect.Public)
	fArmaNumSigs   = fields.Add("server_browser.num_signatures", dissect.Uint, "Number of signatures.")
	fArmaSigs      = fields.Add("server_browser.signatures", dissect.List, "Names of the accepted keys.")
	fArmaSig       = fields.Add("server_browser.signatures.signature", dissect.String, "Name of one key.", dissect.ServerText)
	fArmaLeft      = fields.Add("server_browser.unread", dissect.Bytes, "Data that could not be read.")
)

var armaDLC = dissect.Names(
	dissect.Name{Value: 0x58a5c510, Name: "Karts"}, dissect.Name{Value: 0xa8e5ee75, Name: "Marksmen"},
	dissect.Name{Value: 0xe9bda741, Name: "Helicopters"}, dissect.Name{Value: 0x925d03b0, Name: "Zeus"},
	dissect.Name{Value: 0xda0e3bbd, Name: "Apex"}, dissect.Name{Value: 0x456e1ae6, Name: "Jets"},
	dissect.Name{Value: 0x630e5234, Name: "Laws of War"}, dissect.Name{Value: 0x3b10ba25, Name: "Malden"},
	dissect.Name{Value: 0x8646e5fd, Name: "Tac-Ops"}, dissect.Name{Value: 0x6b26ff75, Name: "Tanks"},
	dissect.Name{Value: 0x0c3ba4c1, Name: "Contact"}, dissect.Name{Value: 0x0bb26feb, Name: "Art of War"})
