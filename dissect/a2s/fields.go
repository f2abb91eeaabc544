package a2s

import (
	"math/bits"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("a2s")

// The header of a whole message, and its letter.
var (
	fHeader = catalog.Add("header", dissect.Int, "-1: the message is in one piece.", dissect.Framing)
	fExtra  = catalog.Add("extra", dissect.Uint, "255: a fifth byte FF in the header.", dissect.Framing)
	fType   = catalog.Add("type", dissect.Char, "Letter that names the message.", dissect.Names(
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
	fSplit         = catalog.Add("split", dissect.Group, "Header of one part of a split message.", dissect.Framing)
	fSplitHeader   = catalog.Add("split.header", dissect.Int, "-2: the message is split.", dissect.Framing)
	fSplitID       = catalog.Add("split.id", dissect.Uint, "Number that all parts of a message share. Bit 31 means that the message is compressed (Source).", dissect.Framing, dissect.Bits(dissect.Name{Value: compressedBit, Name: "compressed"}))
	fSplitTotal    = catalog.Add("split.total", dissect.Uint, "Number of parts. GoldSrc: the lower four bits of the byte that holds the index.", dissect.Framing)
	fSplitIndex    = catalog.Add("split.index", dissect.Uint, "Index of the part, from 0. GoldSrc: the upper four bits of a byte.", dissect.Framing)
	fSplitSize     = catalog.Add("split.size", dissect.Uint, "Source: the largest amount of data in a part, in bytes. Old engines leave it out.", dissect.Framing)
	fSplitUnpacked = catalog.Add("split.unpacked_size", dissect.Uint, "Size of the message after decompression, in bytes.", dissect.Framing)
	fSplitCRC      = catalog.Add("split.crc32", dissect.Uint, "CRC-32 of the message after decompression.", dissect.Framing, core.Checksum)
	fPartData      = catalog.Add("part", dissect.Bytes, "Data of one part.", core.Becomes("joined"), dissect.Framing)
	fPacked        = catalog.Add("packed", dissect.Bytes, "The message, compressed with bzip2.", core.Becomes("decompressed"), dissect.Framing)

	// Requests.
	fQuery     = catalog.Add("query", dissect.String, "\"Source Engine Query\"; LSQ asks Frontlines: Fuel of War.", dissect.Public)
	fChallenge = catalog.Add("challenge", dissect.Int, "Number that proves that the client receives packets at its address. -1 or 0 asks for one.", dissect.Token, dissect.Chosen)
	fPadding   = catalog.Add("padding", dissect.Bytes, "Padding. It makes the request longer, so that the reply amplifies less.", core.Ignored)
	fConnect   = catalog.Add("connect", dissect.String, "\"connect\" and a number: a game client asks for a connection.", dissect.Public)

	// Challenge and ping replies.
	fContent         = catalog.Add("content", dissect.String, "Content of the ping reply: zeros from Source, empty from GoldSrc.", dissect.Public)
	fChallengeText   = catalog.Add("text", dissect.String, "Text of the message.", core.Console)
	fHiddenText      = fChallengeText.Hidden() // contains a password
	fMagic           = catalog.Add("magic", dissect.Uint, "Version of the connection challenge (Source).")
	fClientChallenge = catalog.Add("client_challenge", dissect.Uint, "Number that the client chose, echoed by the server.", dissect.Token, dissect.Chosen)
	fAuthProtocol    = catalog.Add("auth_protocol", dissect.Uint, "How the client must authenticate.", core.Counted(1, "auth certificate", "hashed CD key", "Steam"))
	fAuthData        = catalog.Add("auth_data", dissect.Bytes, "Data of the authentication.")
	fPayload         = catalog.Add("payload", dissect.Bytes, "Content of an unknown message, after its letter.")

	fNetProtocol = catalog.Add("join.protocol", dissect.Uint, "Version of the network protocol of a game client.")
	fJoin        = catalog.Add("join.client", dissect.Bytes, "Data of the client: challenges, its name, the server's password, the game version, its Steam ticket.", dissect.Secret)

	fSecret = catalog.Add("log_secret", dissect.String, "Secret that identifies the server to the receiver of its log.", dissect.Secret)
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
	fProtocol   = catalog.Add("info.protocol", dissect.Uint, "Version of the network protocol: 17 on modern servers, 48 from GoldSrc, 7 on those of 2006.")
	fAddress    = catalog.Add("info.address", dissect.String, "GoldSrc: the server's own address as it knows it, often a private one.", dissect.Address)
	fName       = catalog.Add("info.name", dissect.String, "Name of the server.", dissect.ServerText)
	fMap        = catalog.Add("info.map", dissect.String, "Map being played.", dissect.Public)
	fFolder     = catalog.Add("info.folder", dissect.String, "Directory of the game: cstrike, tf.", dissect.Public)
	fGame       = catalog.Add("info.game", dissect.String, "Name of the game.", core.GameName)
	fAppID      = catalog.Add("info.appid", dissect.Uint, "Steam application, lower 16 bits. 0 if the number does not fit; game_id then has it.")
	fPlayers    = catalog.Add("info.num_players", dissect.Uint, "Players on the server, bots included.")
	fMaxPlayers = catalog.Add("info.max_players", dissect.Uint, "Maximum number of players.")
	fBots       = catalog.Add("info.num_bots", dissect.Uint, "Number of bots among the players.")
	fServerType = catalog.Add("info.server_type", dissect.Char, "Kind of server.", serverTypes)
	fOS         = catalog.Add("info.os", dissect.Char, "Operating system of the server.", systems)
	fPassword   = catalog.Add("info.password", dissect.Bool, "A password is needed to join.")
	fVAC        = catalog.Add("info.vac", dissect.Bool, "Valve Anti-Cheat is on.")
	fMode       = catalog.Add("info.mode", dissect.Uint, "The Ship: game mode.", core.Counted(0, "Hunt", "Elimination", "Duel", "Deathmatch", "Team VIP", "Team Elimination"))
	fWitnesses  = catalog.Add("info.witnesses", dissect.Uint, "The Ship: witnesses needed for an arrest.")
	fDuration   = catalog.Add("info.duration", dissect.Uint, "The Ship: seconds that a player must be witnessed before an arrest.")
	fGameMode   = catalog.Add("info.game_mode", dissect.String, "Frontlines: Fuel of War: game mode.", dissect.Public)
	fFPS        = catalog.Add("info.average_fps", dissect.Uint, "Frontlines: Fuel of War: frames per second of the server.")
	fRound      = catalog.Add("info.round", dissect.Uint, "Frontlines: Fuel of War: round being played.")
	fMaxRounds  = catalog.Add("info.max_rounds", dissect.Uint, "Frontlines: Fuel of War: rounds of a match.")
	fTimeLeft   = catalog.Add("info.time_left_s", dissect.Uint, "Frontlines: Fuel of War: time left in seconds, big-endian, as its port is.")
	fVersion    = catalog.Add("info.version", dissect.String, "Version of the game.", dissect.Public)
	fEDF        = catalog.Add("info.edf", dissect.Uint, "Extra data flag: says which fields follow.", dissect.Bits(
		dissect.Name{Value: edfPort, Name: "port"}, dissect.Name{Value: edfSteamID, Name: "steam_id"},
		dissect.Name{Value: edfSourceTV, Name: "stv"}, dissect.Name{Value: edfKeywords, Name: "keywords"},
		dissect.Name{Value: edfGameID, Name: "game_id"}))
	fPort     = catalog.Add("info.port", dissect.Uint, "Port that players connect to.")
	fSteamID  = catalog.Add("info.steam_id", dissect.ID, "SteamID of the server.")
	fSTVPort  = catalog.Add("info.stv_port", dissect.Uint, "Port of SourceTV.")
	fSTVName  = catalog.Add("info.stv_name", dissect.String, "Name of the SourceTV server.", dissect.ServerText)
	fKeywords = catalog.Add("info.keywords", dissect.String, "Tags of the server. Some games put further data here.", dissect.ServerText)
	fGameID   = catalog.Add("info.game_id", dissect.ID, "Steam GameID: application in the lower 24 bits, kind in the next 8, mod in the upper 32.", dissect.Public)
	fIsMod    = catalog.Add("info.is_mod", dissect.Bool, "GoldSrc: the game is a mod, and the mod block follows.")

	fMod        = catalog.Add("info.mod", dissect.Group, "GoldSrc: the mod block.")
	fModURL     = catalog.Add("info.mod.url", dissect.String, "Web site of the mod.", dissect.ServerText)
	fModURLDL   = catalog.Add("info.mod.url_download", dissect.String, "Download address of the mod.", dissect.ServerText)
	fModNul     = catalog.Add("info.mod.nul", dissect.Uint, "0.", dissect.Framing)
	fModVersion = catalog.Add("info.mod.version", dissect.Int, "Version of the mod.")
	fModSize    = catalog.Add("info.mod.size", dissect.Int, "Size of the download, in bytes.")
	fModSvOnly  = catalog.Add("info.mod.server_only", dissect.Bool, "The mod runs only on the server.")
	fModClDLL   = catalog.Add("info.mod.client_dll", dissect.Bool, "The mod has its own client library.")

	// A2S_PLAYER replies.
	fNumPlayers = catalog.Add("players_reply.num_players", dissect.Uint, "Number of players that the reply announces.")
	fPlayerList = catalog.Add("players", dissect.List, "The players.")
	fPlayer     = catalog.Add("players.player", dissect.Group, "One player.")
	fIndex      = catalog.Add("players.index", dissect.Uint, "Index of the player. Source sends 0 for every player.")
	fPlayerName = catalog.Add("players.name", dissect.String, "Name. Empty while the player connects; some games hide every name.", dissect.PersonName)
	fScore      = catalog.Add("players.score", dissect.Int, "Score, usually kills.")
	fPlayerTime = catalog.Add("players.duration_s", dissect.Float, "Seconds since the player connected. Some games send -1 for bots.")
	fDeaths     = catalog.Add("players.deaths", dissect.Int, "The Ship: deaths. On the wire they follow the list of players.")
	fMoney      = catalog.Add("players.money", dissect.Int, "The Ship: money, may be negative. On the wire it follows the list of players.")

	// A2S_RULES replies.
	fNumRules = catalog.Add("rules_reply.num_rules", dissect.Uint, "Number of rules that the reply announces.")
	fRuleList = catalog.Add("rules", dissect.List, "The rules.")
	fRule     = catalog.Add("rules.rule", dissect.Group, "One rule.")
	fKey      = catalog.Add("rules.key", dissect.String, "Name of the rule.", dissect.SettingName)
	fValue    = catalog.Add("rules.value", dissect.String, "Value of the rule.", dissect.Setting)

	fHiddenValue = fValue.Hidden() // a password

	fChunkList  = catalog.Add("chunks", dissect.List, "Arma 3 and DayZ: binary data, escaped and cut into pieces, each sent as a rule.")
	fChunk      = catalog.Add("chunks.chunk", dissect.Group, "One piece.")
	fChunkIndex = catalog.Add("chunks.index", dissect.Uint, "Number of the piece, from 1.")
	fChunkTotal = catalog.Add("chunks.total", dissect.Uint, "Number of pieces.")
	fChunkNul   = catalog.Add("chunks.nul", dissect.Uint, "End of the name.", dissect.Framing)
	fChunkData  = catalog.Add("chunks.data", dissect.Bytes, "The piece, escaped.", core.Becomes("unescaped"))

	// The binary rules of Arma 3 and DayZ, unescaped.
	fArma           = catalog.Add("server_browser", dissect.Group, "Arma 3 and DayZ: content of the binary rules.")
	fArmaVersion    = catalog.Add("server_browser.version", dissect.Uint, "Version of the format: 3 from Arma 3, 2 from DayZ.")
	fArmaOverflow   = catalog.Add("server_browser.overflow", dissect.Uint, "Lists that did not fit.", core.BitsFrom(1, "mods", "signatures"))
	fArmaDLCBits    = catalog.Add("server_browser.dlc_bits", dissect.Uint, "Add-ons in use, one bit each.")
	fArmaDifficulty = catalog.Add("server_browser.difficulty", dissect.Uint, "Difficulty: level in bits 0-2, AI skill in bits 3-5.", core.BitsFrom(0x40, "advanced flight model", "third person"))
	fArmaCrosshair  = catalog.Add("server_browser.crosshair", dissect.Bool, "A crosshair is shown.")
	fArmaDLCs       = catalog.Add("server_browser.dlcs", dissect.List, "The add-ons.")
	fArmaDLCItem    = catalog.Add("server_browser.dlcs.dlc", dissect.Group, "One add-on.")
	fArmaHash       = catalog.Add("server_browser.dlcs.hash", dissect.Uint, "Hash of the add-on.", armaDLC)
	fArmaNumMods    = catalog.Add("server_browser.num_mods", dissect.Uint, "Number of mods.")
	fArmaMods       = catalog.Add("server_browser.mods", dissect.List, "The mods.")
	fArmaMod        = catalog.Add("server_browser.mods.mod", dissect.Group, "One mod.")
	fArmaModHash    = catalog.Add("server_browser.mods.hash", dissect.Uint, "Hash of the mod.")
	fArmaModFlags   = catalog.Add("server_browser.mods.flags", dissect.Uint, "Length of the identifier in bits 0-3.", dissect.Bits(dissect.Name{Value: 0x10, Name: "dlc"}))
	fArmaModID      = catalog.Add("server_browser.mods.steam_id", dissect.ID, "Identifier in the Steam workshop.", dissect.Public)
	fArmaModName    = catalog.Add("server_browser.mods.name", dissect.String, "Name of the mod.", dissect.Public)
	fArmaNumSigs    = catalog.Add("server_browser.num_signatures", dissect.Uint, "Number of signatures.")
	fArmaSigs       = catalog.Add("server_browser.signatures", dissect.List, "Names of the accepted keys.")
	fArmaSig        = catalog.Add("server_browser.signatures.signature", dissect.String, "Name of one key.", dissect.ServerText)
	fArmaLeft       = catalog.Add("server_browser.unread", dissect.Bytes, "Data that could not be read.")
)

var armaDLC = dissect.Names(
	dissect.Name{Value: 0x58a5c510, Name: "Karts"}, dissect.Name{Value: 0xa8e5ee75, Name: "Marksmen"},
	dissect.Name{Value: 0xe9bda741, Name: "Helicopters"}, dissect.Name{Value: 0x925d03b0, Name: "Zeus"},
	dissect.Name{Value: 0xda0e3bbd, Name: "Apex"}, dissect.Name{Value: 0x456e1ae6, Name: "Jets"},
	dissect.Name{Value: 0x630e5234, Name: "Laws of War"}, dissect.Name{Value: 0x3b10ba25, Name: "Malden"},
	dissect.Name{Value: 0x8646e5fd, Name: "Tac-Ops"}, dissect.Name{Value: 0x6b26ff75, Name: "Tanks"},
	dissect.Name{Value: 0x0c3ba4c1, Name: "Contact"}, dissect.Name{Value: 0x0bb26feb, Name: "Art of War"})

// Requests and replies.
var (
	unanswered          = finding.NoReply(catalog, "a2s.noreply", "The capture has no reply within the time that clients wait. The server may be down or restarting, the port may not be its query port, or the server may not answer this query. Or the request or the reply was lost, dropped by a firewall or a rate limit, or not captured. The text adds what the capture shows of the same host.")
	unansweredChallenge = finding.New(catalog, dissect.Warning, "a2s.noreply.after_challenge", "%p with the server's challenge unanswered%p",
		"The server gave a challenge, the client used it, and the capture has no reply. A packet may have been lost; a firewall or a rate limit may pass the short challenge but drop the long reply; the reply may need IP fragments that did not arrive or that the capture filter dropped; the challenge may have expired; or the server may not answer this query.", finding.LongReply)
	challengeDead = catalog.Finding(dissect.FindingType{ID: "a2s.noreply.getchallenge", Severity: dissect.Note, Text: "%p unanswered%p; GoldSrc servers have not answered GETCHALLENGE (57) since 2008",
		Doc: "The capture has no reply. According to the document on The Ship's queries, GoldSrc servers have not answered this request since 2 November 2008; most other servers no longer do either. Clients ask for a challenge with -1 in A2S_PLAYER or A2S_RULES instead. Other causes: the server is down, the port is not its query port, or a packet was lost, dropped by a firewall or not captured."})
	unrequested       = finding.Unrequested(catalog, "a2s.unrequested", "The capture has requests of this conversation, but none that this reply answers. The request is missing from the capture, the reply is late or a duplicate, the server sends it without a request, or somebody forged it.")
	otherKind         = catalog.Finding(dissect.FindingType{ID: "a2s.reply.other", Severity: dissect.Note, Text: "not the kind of reply that the %p in frame %d asks for", Doc: "The request is pending, and this reply answers no pending request. The server confuses the kinds, sends replies without a request (old GoldSrc servers send the players), or the reply is late, a duplicate or forged. The request stays pending unless the reply is shown as its own."})
	several           = finding.Several(catalog, "a2s.info.multi", "Old GoldSrc servers and dproto or ReHLDS answer one info request with several messages: m, D and I. Clients that expect one take the second for the answer to their next request. A retransmitted reply, two servers behind one address, and the reply to a request that is missing from the capture look the same.")
	challengeRequired = catalog.Finding(dissect.FindingType{ID: "a2s.challenge.required", Severity: dissect.Chat, Text: "the server requires a challenge for this request", Doc: "Since December 2020 servers may answer A2S_INFO with a challenge; the client must repeat the request with it, in 29 bytes. Requests for players and rules have always needed one. Clients that do not support this report the server as offline."})
	challengeMissing  = finding.New(catalog, dissect.Warning, "a2s.challenge.missing", "repeated without the challenge given in frame %d",
		"The server answered this request with a challenge, and the client sent the request again without one. Clients from before December 2020 do so, receive a challenge each time, and report the server as offline. Or the challenge did not reach the client, or the client has started its next round of queries.", "A client must repeat A2S_INFO, A2S_PLAYER and A2S_RULES with the four bytes of the challenge at their end. Update the query library if it is from before December 2020. If only some requests have it, the challenge was lost: nothing has to be done.")
	challengeMismatch = finding.New(catalog, dissect.Warning, "a2s.challenge.mismatch", "challenge %d is not among the latest that the server gave this client; the newest is %d",
		"The number is not among the last four that this server gave to this address in the capture. The client kept it too long, took it from another server or invented it, or it was given before the capture began.", finding.KeepChallenge)
	challengeRefused = catalog.Finding(dissect.FindingType{ID: "a2s.challenge.refused", Severity: dissect.Note, Text: "the server answered a challenge with a challenge", Doc: "The request carried a challenge, and the server sent a challenge instead of data. The challenge was wrong or had expired, the server gives a new one for every request, a proxy gives its own, or the server answers an earlier request again. A challenge that could be an earlier one, duplicated by the network, has this finding once no data came after it."})
	challengeLoop    = catalog.Finding(dissect.FindingType{ID: "a2s.challenge.loop", Severity: dissect.Warning, Class: core.OfClient, Text: "%d challenges in a row and no data",
		Doc:    "The server sent this client repeated challenges, some of them in answer to a challenge, and no data. The server or a proxy refuses the challenges that it gives, the client sends wrong ones, or the capture lacks the replies with data. Clients that retry forever load the server; others report it as offline.",
		Advice: "A client should give up after two or three challenges and take care to return the last one, from the same port. On the server, look for a proxy or DDoS protection that answers challenges for it and must be told about the server, and for several servers behind one address."})
	challengeChanged = catalog.Finding(dissect.FindingType{ID: "a2s.challenge.changed", Severity: dissect.Note, Text: "new challenge after %t", Doc: "The server gave this address a new number although the last one is less than 30 seconds old. Some servers make one for each request or each port; others restarted, or several servers share one address. Requests in flight with the old number may be refused."})
	refused          = catalog.Finding(dissect.FindingType{ID: "a2s.refused", Severity: dissect.Note, Class: core.OfRefusal, Text: "the server refuses, and says why", Doc: "It does not take a game client, or GoldSrc a command for its remote console: the password or the challenge is wrong, or the address is banned. Many in a row are somebody who tries passwords."})
	amplification    = finding.Amplification(catalog, "a2s.amplification", "The server sends much data to an address that has not been verified, so attackers can use it to flood others. HLTV does this for players and rules, old servers for everything. A server that exempts its own network or known clients from the challenge looks the same.")

	// Splits.
	splitMissing = finding.New(catalog, dissect.Failed, "a2s.split.missing", "%d of %d parts of a split message arrived; missing: %p (%p)",
		"Some parts of a split message are not in the capture: the network or the capture lost them. The data before the first gap is shown as the message that it begins. If the first part is missing or the message is compressed, the parts are shown as data. The request counts as answered in part.", finding.MissingParts)
	splitDuplicate = finding.Duplicate(catalog, "a2s.split.duplicate", "The same bytes with the same id arrived more than once: the network, the server or the capture duplicated them (mirror ports and the interface any do). They are used once. Duplicates of a complete message are reported once per conversation.")
	splitReorder   = finding.Reordered(catalog, "a2s.split.reorder", "Clients that append parts as they arrive misread this message.")
	splitConflict  = finding.Conflict(catalog, "a2s.split.conflict", "Two different parts have the same id and index. The server reused an id, or somebody forges parts.")
	splitTotals    = finding.New(catalog, dissect.Warning, "a2s.split.totals", "parts with the same id state different totals: %p",
		"Every part states the number of parts, and all must agree. The server made a mistake or reused an id at once, or somebody forges parts. The message counts as complete when as many parts are present as the largest total says. An incomplete one is shown with the total that most parts state.", finding.MixedParts)
	splitSizes = finding.New(catalog, dissect.Warning, "a2s.split.sizes", "parts with the same id state different sizes: %p",
		"Every part states the maximum size of a part, and all must agree. The server made a mistake or reused an id at once, or somebody forges parts. The sizes are not used.", finding.MixedParts)
	splitDamaged = finding.New(catalog, dissect.Failed, "a2s.split.header", "invalid split header: total %d, index %d",
		"No message can contain this part: the total is 0, or the index is not below it, nor below the total of another part. The server made a mistake, the bytes were damaged in transit, or somebody sends invalid packets.", "If it comes from one sender only, block it. If it comes from a real server, report it with the capture. A client must reject a total of 0 and an index that is not below the total before it allocates anything.")
	splitHeaderShort = finding.New(catalog, dissect.Failed, "a2s.split.header.short", "invalid split header: %d {byte|bytes}, the shortest has 9",
		"The datagram begins like a part of a split message and ends within its header. It was truncated in transit, or somebody sends invalid packets.", "Ignore it; a client must check the length before it reads the header.")
	splitVariant = catalog.Finding(dissect.FindingType{ID: "a2s.split.variant", Severity: dissect.Chat, Text: "%p split header, recognised by %p", Doc: "The format of the split header and what decided it. The document does not say which games use which format."})
	splitGuess   = finding.New(catalog, dissect.Warning, "a2s.split.guess", "the format of the split header is a guess: no message begins in the first part",
		"Neither FF FF FF FF nor a bzip2 stream begins where the known formats have it. The format is newer or belongs to another engine, or the first part is damaged or forged.", "If the game is new, report it to qdissect with the capture. If only one message is like this, its first part is damaged: ask again.")
	splitBit15 = catalog.Finding(dissect.FindingType{ID: "a2s.split.bit15", Severity: dissect.Note, Text: "bit 15 of the split id is set, bit 31 is not", Doc: "Only bit 31 marks a compressed message, so the server does nothing wrong. Clients that test bit 15, python-a2s up to 1.4 among them, try to decompress this message and fail."})
	splitShort = finding.New(catalog, dissect.Failed, "a2s.split.unread", "the joined parts are not a message",
		"All parts arrived, but their joined data does not begin like a message. Their format was not recognised, or they are damaged or forged.", "If the game is new, report it to qdissect with the capture: its format is unknown. Else ask again.")
	bzipPlain = finding.New(catalog, dissect.Warning, "a2s.bz2.plain", "marked as compressed, but not compressed",
		"Bit 31 of the id marks a compressed message, but the data is a plain message. The server sets the bit by mistake, or counts its ids up to it.", "A client should look whether the data begins with BZh before it decompresses it, whatever bit 31 says.")
	bzipCRC = catalog.Finding(dissect.FindingType{ID: "a2s.bz2.crc", Severity: dissect.Failed, Class: core.OfServer, Text: "CRC-32 is %x, the header says %x",
		Doc:    "The CRC-32 of the decompressed message differs from the header. A part is damaged, forged or belongs to another message, or the server computes the number differently.",
		Advice: "A client should discard the message and ask again. If all messages of a server have it, report it to its author."})
	bzipSize = finding.New(catalog, dissect.Failed, "a2s.bz2.size", "%d {byte|bytes} after decompression, the header says %d",
		"The size of the decompressed message differs from the header. The server states a wrong size, or a part is damaged, forged or belongs to another message.", "A client should discard the message and ask again, and must never allocate as much as the header says without a limit.")
	bzipLong = finding.New(catalog, dissect.Failed, "a2s.bz2.long", "decompresses to more than the announced %d {byte|bytes}",
		"The compressed data is larger than the header announces, and decompression stopped there. Decompression bombs look like this, and so does a server that states a wrong size.", "A client must stop at the announced size and at a limit of its own, and discard the message. If it comes from a real server, report it to its author; else block the sender.")
	bzipTrailing = catalog.Finding(dissect.FindingType{ID: "a2s.bz2.trailing", Severity: dissect.Note, Text: "bytes after the end of the bzip2 stream: %d", Doc: "The parts contain more than the compressed message: padding, or data that no document describes."})
	bzipBomb     = finding.New(catalog, dissect.Failed, "a2s.bz2.bomb", "not decompressed: %d bytes announced, the limit is %d",
		"The header announces more than any message can have, or a hundred times the size of the compressed data. The message is not decompressed. The header may also be damaged.", "A client must refuse to decompress it. Block the sender unless it is a server whose header is merely wrong.")
	bzipBroken = finding.New(catalog, dissect.Failed, "a2s.bz2.stream", "the bzip2 stream is damaged after %d {byte|bytes} of output",
		"The compressed data cannot be decompressed to its end: a part is damaged, forged or belongs to another message. The output is not shown, because nothing verifies it.", "A client should discard the message and ask again. If it happens always with one server, compare the parts in a capture on its host.")
	bzipTail = catalog.Finding(dissect.FindingType{ID: "a2s.bz2.tail", Severity: dissect.Note, Text: "the bzip2 stream is damaged after the message", Doc: "The size and the CRC-32 of the message are correct; only the end of the stream is damaged."})

	// Info replies.
	infoNoEDF      = catalog.Finding(dissect.FindingType{ID: "a2s.info.noedf", Severity: dissect.Chat, Text: "no extra data flag", Doc: "The reply ends after the version. Servers of 2004 and some other engines send it so; a reply truncated at this point looks the same. Some clients fail on it."})
	infoUnknownEDF = finding.New(catalog, dissect.Warning, "a2s.info.edf_unknown", "undocumented bits in the extra data flag %x",
		"Nothing says which fields these bits announce, so the fields after them may be misread. The reply is newer than this program, has another layout, or is invented.", "A client should use the fields before the extra data and ignore the rest. If the game is new and its documents name the bits, report it to qdissect.")
	infoAppID  = catalog.Finding(dissect.FindingType{ID: "a2s.info.appid0", Severity: dissect.Chat, Text: "the application is %d, from the GameID", Doc: "The 16-bit field is 0 or differs because the application number does not fit. The GameID has the whole number."})
	infoCounts = catalog.Finding(dissect.FindingType{ID: "a2s.info.counts", Severity: dissect.Note, Text: "%d {player|players} of at most %d, %d {bot|bots}", Doc: "More players than slots, or more bots than players: reserved slots, a queue, bots that are counted separately, or invented numbers."})
	infoNoMod  = catalog.Finding(dissect.FindingType{ID: "a2s.info.nomod", Severity: dissect.Note, Text: "marked as a mod, but the mod block is missing", Doc: "Some servers set the flag and omit the block; a truncated reply looks the same. Clients that trust the flag misread the end of the reply."})
	infoHLTV   = catalog.Finding(dissect.FindingType{ID: "a2s.info.short", Severity: dissect.Chat, Text: "ends before VAC and bots", Doc: "HLTV omits the last two bytes; a reply truncated at this point looks the same. Some clients fail on it."})
	infoLayout = finding.New(catalog, dissect.Warning, "a2s.info.layout", "system and flags have invalid values: probably another layout",
		"The layout is that of another game, or the reply is invented. One of Frontlines: Fuel of War, which has other fields, looks so if its end is missing. Fields after the strings are misread, and only name and map are taken from them.", "Do not rely on other fields than name and map. If it is a real game, report it to qdissect with the capture.")
	requestOther = finding.New(catalog, dissect.Warning, "a2s.info.query", "the query is %s, not \"Source Engine Query\"",
		"No document has this query. Scanners, floods and faulty clients send such queries, and servers usually ignore them.", "Ignore it. If one address sends many, limit it in a firewall. An own client should send \"Source Engine Query\" and a zero byte.")
	requestNul = finding.Length(catalog, "a2s.info.noterm", "no zero byte after the query",
		"The text must end with a zero byte. The client omits it, or the datagram was truncated. Servers usually ignore such a request.", "An own client should send the zero byte after \"Source Engine Query\": 25 bytes in all without a challenge.")
	requestBogus = catalog.Finding(dissect.FindingType{ID: "a2s.info.bogus_challenge", Severity: dissect.Note, Text: "the challenge is %d, which asks for a challenge", Doc: "Some clients append -1 or 0 to their first info request. The value asks for a challenge, unless the server happened to give just that number."})

	// Players and rules replies.
	playersCount = finding.Length(catalog, "a2s.players.count", "%d {player|players} announced, %d in the reply",
		"The announced count differs from the number of players in the reply. Plugins with fake players announce more, servers truncate long lists, or the reply was damaged.", finding.WrongCount)
	playersListed = catalog.Finding(dissect.FindingType{ID: "a2s.players.info", Severity: dissect.Note, Text: "%d {player|players} listed, the previous info reply says %d", Doc: "The list has more or fewer players than the server's latest info reply. Players who are still connecting are counted but not listed, and somebody may have joined or left meanwhile. Otherwise the server hides players, omits bots, or invents players."})
	playersCut    = catalog.Finding(dissect.FindingType{ID: "a2s.players.cut", Length: true, Severity: dissect.Warning, Class: core.OfServer, Text: "truncated in the middle of a player",
		Doc:    "The reply ends within a record: the server truncated the list, or the reply was damaged. Complete records are shown; the rest is in the field data.",
		Advice: finding.CutList})
	playersUnnamed = catalog.Finding(dissect.FindingType{ID: "a2s.players.unnamed", Severity: dissect.Note, Text: "players without a name: all %d", Doc: "Some games hide names from queries (Rust, 7 Days to Die, Valheim, Counter-Strike 2 by default). Players who are still connecting have no name either."})
	playersMax     = catalog.Finding(dissect.FindingType{ID: "a2s.players.max_entry", Severity: dissect.Note, Text: "the only player is called \"Max Players\"", Doc: "CS:GO replaces its players with one invented entry unless host_players_show is 2. A player may also have chosen this name."})
	playersEqual   = catalog.Finding(dissect.FindingType{ID: "a2s.players.equal_time", Severity: dissect.Note, Text: "%d players have been connected for exactly the same time", Doc: "Real players join one after another, so the list is probably invented. Some servers restart the time for everyone after a change of map."})
	shipFound      = catalog.Finding(dissect.FindingType{ID: "a2s.ship.block", Severity: dissect.Chat, Text: "deaths and money of %d {player|players} after the list", Doc: "The Ship sends these values in a block after all records, not in each record as many clients expect."})
	rulesCount     = finding.New(catalog, dissect.Warning, "a2s.rules.count", "%d {rule|rules} announced, %d in the reply",
		"The announced count differs from the number of rules in the reply. The server counts other rules than it sends, or an empty rule at the end is padding.", finding.WrongCount)
	rulesTruncated = finding.Length(catalog, "a2s.rules.truncated", "truncated: %d {rule|rules} announced, %d complete in the reply",
		"The reply has fewer rules than it announces. CS:GO and others truncate the list at the size of a packet; a server that counts rules which it does not send looks the same. Complete rules are shown; the rest is in the field data.", finding.CutList)
	rulesBigEndian    = catalog.Finding(dissect.FindingType{ID: "a2s.rules.bigendian", Severity: dissect.Note, Text: "the number of rules is big-endian: %d", Doc: "Frontlines: Fuel of War sends its numbers in this byte order. Clients that read the number as documented expect more rules than there are."})
	rulesBinary       = catalog.Finding(dissect.FindingType{ID: "a2s.rules.binary", Severity: dissect.Chat, Text: "binary rules in %d {piece|pieces}, %d {byte|bytes} unescaped", Doc: "Arma 3 and DayZ send mods, add-ons and signatures as binary data, escaped and cut into rules."})
	rulesBinaryBroken = finding.New(catalog, dissect.Warning, "a2s.rules.binary_broken", "the binary rules cannot be decoded beyond byte %d",
		"A piece is missing, the server truncated the data at its size limit, or the format is newer.", "A client should show the mods that are complete. Check that the reply has all parts; if the server cuts it, fewer mods or shorter names help. If the game is new, report it to qdissect.")

	// Others.
	noType = finding.New(catalog, dissect.Failed, "a2s.empty", "header without a message",
		"The datagram is FF FF FF FF and nothing else: a scanner, a keep-alive, or a truncated datagram.", "Ignore it. If one address sends many, limit it in a firewall.")
	headerExtra = finding.New(catalog, dissect.Warning, "a2s.header.extra", "five bytes FF before the type instead of four",
		"A server in qstat's tests sends its challenge so. Clients that expect the type in the fifth byte ignore the message.", "A client may skip FF until another byte comes.")
	unknownType = finding.New(catalog, dissect.Warning, "a2s.type", "unknown message type %x",
		"The header of Valve's engines with an unknown letter: a flood, another protocol on the same port, or a message that is newer than this program.", "If it is a flood, limit it in a firewall. If another program uses the port, name its protocol with --decode-as. If a game sends it, report it to qdissect.")
	challengeLong = catalog.Finding(dissect.FindingType{ID: "a2s.challenge.long", Severity: dissect.Chat, Text: "a challenge for a game client that wants to connect", Doc: "The same letter answers queries and connection attempts. The answer to a connection attempt is longer."})
)

// young is the age below which a changed challenge is reported. Valve's servers keep a
// challenge for at least as long.
const young = 30 * time.Second

func changed(x *dissect.Turn) {
	if x.Changed && x.ChangedAfter < young {
		x.Note(challengeChanged, dissect.Dur(x.ChangedAfter))
	}
}

// loop reports repeated challenges without data, some of them in answer to a challenge.
func loop(x *dissect.Turn) {
	if x.InARow >= 3 && x.Refused >= 2 {
		x.Note(challengeLoop, dissect.Num(x.InARow))
	}
}

// listed compares the number of listed players with the number in the latest info
// reply.
func listed(x *dissect.Turn) {
	if n := x.Pair.Entries; x.Stated >= 0 && x.Stated != n {
		x.Note(playersListed, dissect.Num(n), dissect.Num(x.Stated))
	}
}

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

	rconChallenge = "hallenge rcon " // after its letter
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
		text := strings.TrimPrefix(m.Text, rconChallenge)
		return style.Concealed(dst, text, console.Secret(text))
	}
	if m.Type == 0 && m.Data == nil || m.Type == typeJoin {
		return dst
	}
	return wire.Hex(dst, "type ", m.Type)
}
