package valvemaster

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/internal/core"
)

var fields = dissect.NewCatalog("valve-master")

// Every message.
var (
	fHeader = fields.Add("header", dissect.Int, "-1. Replies begin with it; requests may.", dissect.Framing)
	fType   = fields.Add("type", dissect.Char, "Letter that names the message.", dissect.Names(
		dissect.Name{Value: typeServersRequest, Name: "A2M_GET_SERVERS_BATCH2"}, dissect.Name{Value: typeBatchRequest, Name: "A2M_GET_SERVERS_BATCH"},
		dissect.Name{Value: typeAllRequest, Name: "A2M_GET_SERVERS"}, dissect.Name{Value: typeServersReply, Name: "M2A_SERVER_BATCH"},
		dissect.Name{Value: typeAllReply, Name: "M2A_SERVERS"}, dissect.Name{Value: typeJoin, Name: "A2A_GETCHALLENGE"},
		dissect.Name{Value: typeChallenge, Name: "M2A_CHALLENGE"}, dissect.Name{Value: typeHeartbeat, Name: "S2M_HEARTBEAT2"},
		dissect.Name{Value: typeOldHeartbeat, Name: "S2M_HEARTBEAT"}, dissect.Name{Value: typeQuit, Name: "S2M_SHUTDOWN"},
		dissect.Name{Value: typePing, Name: "A2A_PING"}, dissect.Name{Value: typePingReply, Name: "A2A_ACK"},
		dissect.Name{Value: typeMOTDRequest, Name: "A2M_GET_MOTD"}, dissect.Name{Value: typeMOTDReply, Name: "M2A_MOTD"},
		dissect.Name{Value: typeMastersRequest, Name: "A2M_GETMASTERSERVERS"}, dissect.Name{Value: typeMastersReply, Name: "M2A_MASTERSERVERS"},
		dissect.Name{Value: typeModsRequest, Name: "A2M_GETACTIVEMODS"}, dissect.Name{Value: typeModsRequest2, Name: "A2M_GETACTIVEMODS2"},
		dissect.Name{Value: typeModsRequest3, Name: "A2M_GETACTIVEMODS3"}, dissect.Name{Value: typeModsReply, Name: "M2A_ACTIVEMODS"},
		dissect.Name{Value: typeModsReply2, Name: "M2A_ACTIVEMODS2"}, dissect.Name{Value: typeModsReply3, Name: "M2A_ACTIVEMODS3"},
		dissect.Name{Value: typeReject, Name: "A2C_PRINT"}, dissect.Name{Value: typeRestart, Name: "M2S_REQUESTRESTART"},
		dissect.Name{Value: typeNack, Name: "A2A_NACK"},
	))
	fNewLine  = fields.Add("new_line", dissect.Bytes, "Line end. WON's master sends only half of one.", dissect.Framing)
	fTrailing = fields.Lookup("valve-master.trailing")

	// Requests for addresses ("Client to master server").
	fRegion = fields.Add("region", dissect.Uint, "Region of the world of the servers.", dissect.Names(
		dissect.Name{Value: 0, Name: "US East coast"}, dissect.Name{Value: 1, Name: "US West coast"},
		dissect.Name{Value: 2, Name: "South America"}, dissect.Name{Value: 3, Name: "Europe"},
		dissect.Name{Value: 4, Name: "Asia"}, dissect.Name{Value: 5, Name: "Australia"},
		dissect.Name{Value: 6, Name: "Middle East"}, dissect.Name{Value: 7, Name: "Africa"},
		dissect.Name{Value: everywhere, Name: "rest of the world"}))
	fSeed    = fields.Add("seed", dissect.String, "Address with which the previous reply ended, as IP:port; 0.0.0.0:0 for the first request.", dissect.Address)
	fCursor  = fields.Add("cursor", dissect.Uint, "WON: number of the server from which to continue, 0 for the first. 0 in a reply means that the list ends.")
	fFilter  = fields.Add("filter", dissect.String, "Which servers to list: codes and values, each after a backslash.", dissect.Public)
	fFilters = fields.Add("filters", dissect.List, "The conditions of the filter.")
	fCond    = fields.Add("filters.condition", dissect.Group, "One condition.")
	fKey     = fields.Add("filters.key", dissect.String, "Code of the condition.", dissect.SettingName, meanings())
	fValue   = fields.Add("filters.value", dissect.String, "Value of the condition. For nor, nand, or and and it is the number of conditions in the group.", core.ByKey(map[string]dissect.Privacy{"name_match": dissect.ServerText, "gameaddr": dissect.Address}), inWords())
	fNested  = fields.Add("filters.filters", dissect.List, "The conditions in a group (nor, nand, or, and).")

	// Lists of addresses ("Reply format").
	fReplyKey  = fields.Add("reply_key", dissect.Uint, "Xash3D: number that the client gave in its filter.", dissect.Chosen)
	fKeyMark   = fields.Add("servers_reply.key_mark", dissect.Uint, "Xash3D: 127, a number follows.", dissect.Framing)
	fKeyEnd    = fields.Add("servers_reply.key_end", dissect.Uint, "Xash3D: 8, the addresses follow.", dissect.Framing)
	fServers   = fields.Add("servers", dissect.List, "Addresses of game servers.")
	fServer    = fields.Add("servers.server", dissect.Endpoint, "Address and port of one server.")
	fEnd       = fields.Add("end", dissect.Endpoint, "0.0.0.0:0 ends the list. Without it the client must ask for more.")
	fAuth      = fields.Add("auth_servers", dissect.List, "WON: servers that check serial numbers.")
	fTitan     = fields.Add("directory_servers", dissect.List, "WON: Titan directory servers.")
	fMasters   = fields.Add("master_servers", dissect.List, "WON: master servers.")
	fMaster    = fields.Add("master_servers.server", dissect.Endpoint, "Address and port of one server.")
	fDivider   = fields.Add("masters_reply.divider", dissect.Bytes, "FF FF FF FF between two lists.", dissect.Framing)
	fVersion   = fields.Add("version", dissect.String, "Game version of the client.", dissect.Public)
	fProduct   = fields.Add("product", dissect.String, "Game of the client.", dissect.Public)
	fStatus    = fields.Add("status", dissect.String, "outofdate: the version of the game is too old.", dissect.Public)
	fFirstMod  = fields.Add("from", dissect.String, "Mod from which to continue; start-of-list for the first request.", dissect.Public)
	fMods      = fields.Add("mods", dissect.List, "The mods that are played.", core.Loose)
	fMod       = fields.Add("mods.mod", dissect.Group, "One mod.")
	fModName   = fields.Add("mods.name", dissect.String, "Directory of the mod.", dissect.Public)
	fModCount  = fields.Add("mods.num_servers", dissect.Decimal, "Number of servers that run the mod.")
	fModUsers  = fields.Add("mods.num_players", dissect.Decimal, "Number of players on these servers.")
	fModEnd    = fields.Add("mods.end", dissect.String, "end, sent twice, ends the mod.", dissect.Framing)
	fModsEnd   = fields.Add("list_end", dissect.String, "end-of-list or more-in-list.", dissect.Public)
	fMOTD      = fields.Add("motd", dissect.String, "Message of the day.", dissect.ServerText)
	fText      = fields.Add("text", dissect.String, "Text for the operator of the server.", dissect.ServerText)
	fPayload   = fields.Add("payload", dissect.Bytes, "Content of an unknown message, after its letter.")
	fTerminate = fields.Add("nul", dissect.Bytes, "Zero byte at the end.", dissect.Framing)

	// Messages of game servers ("Game server to master server").
	fChallenge       = fields.Add("challenge", dissect.Int, "Number that the heartbeat must carry. It proves the server's address to the master.", dissect.Token, dissect.Chosen)
	fServerChallenge = fields.Add("server_challenge", dissect.Int, "Xash3D: number that the master returns, so that the server recognises the master.", dissect.Token, dissect.Chosen)
	fMark            = fields.Add("join.mark", dissect.Uint, "Xash3D: 255, a number follows.", dissect.Framing)
	rules            = keyvalue.DeclareExplained(fields, meaning, inWords())
	fOldChallenge    = fields.Add("heartbeat.challenge", dissect.Decimal, "WON: the challenge.", dissect.Token, dissect.Chosen)
	fSequence        = fields.Add("heartbeat.sequence", dissect.Decimal, "WON: sequence number of the heartbeat.", dissect.Chosen)
	fOldPlayers      = fields.Add("heartbeat.num_players", dissect.Decimal, "WON: players on the server.")
	fOldProtocol     = fields.Add("heartbeat.protocol", dissect.Decimal, "WON: version of the network protocol.")
	fOldGameDir      = fields.Add("heartbeat.gamedir", dissect.String, "WON: directory of the game.", dissect.Public)
	fHeartbeatEnd    = fields.Add("heartbeat.end", dissect.Bytes, "New line at the end.", dissect.Framing)
)
