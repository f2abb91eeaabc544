package valvemaster

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
)

var fields = dissect.NewCatalog("valve-master")

// Every message.
var (
	fHeader = fields.Add("header", dissect.Int, "-1: replies begin with it, and requests may.", dissect.Framing)
	fType   = fields.Add("type", dissect.Char, "The letter that says which message it is.", dissect.Names(
		dissect.Name{Value: typeServersRequest, Name: "A2M_GET_SERVERS_BATCH2"},
		dissect.Name{Value: typeBatchRequest, Name: "A2M_GET_SERVERS_BATCH"},
		dissect.Name{Value: typeAllRequest, Name: "A2M_GET_SERVERS"},
		dissect.Name{Value: typeServersReply, Name: "M2A_SERVER_BATCH"},
		dissect.Name{Value: typeAllReply, Name: "M2A_SERVERS"},
		dissect.Name{Value: typeJoin, Name: "A2A_GETCHALLENGE"},
		dissect.Name{Value: typeChallenge, Name: "M2A_CHALLENGE"},
		dissect.Name{Value: typeHeartbeat, Name: "S2M_HEARTBEAT2"},
		dissect.Name{Value: typeOldHeartbeat, Name: "S2M_HEARTBEAT"},
		dissect.Name{Value: typeQuit, Name: "S2M_SHUTDOWN"},
		dissect.Name{Value: typePing, Name: "A2A_PING"},
		dissect.Name{Value: typePingReply, Name: "A2A_ACK"},
		dissect.Name{Value: typeMOTDRequest, Name: "A2M_GET_MOTD"},
		dissect.Name{Value: typeMOTDReply, Name: "M2A_MOTD"},
		dissect.Name{Value: typeMastersRequest, Name: "A2M_GETMASTERSERVERS"},
		dissect.Name{Value: typeMastersReply, Name: "M2A_MASTERSERVERS"},
		dissect.Name{Value: typeModsRequest, Name: "A2M_GETACTIVEMODS"},
		dissect.Name{Value: typeModsRequest2, Name: "A2M_GETACTIVEMODS2"},
		dissect.Name{Value: typeModsRequest3, Name: "A2M_GETACTIVEMODS3"},
		dissect.Name{Value: typeModsReply, Name: "M2A_ACTIVEMODS"},
		dissect.Name{Value: typeModsReply2, Name: "M2A_ACTIVEMODS2"},
		dissect.Name{Value: typeModsReply3, Name: "M2A_ACTIVEMODS3"},
		dissect.Name{Value: typeReject, Name: "A2C_PRINT"},
		dissect.Name{Value: typeRestart, Name: "M2S_REQUESTRESTART"},
		dissect.Name{Value: typeNack, Name: "A2A_NACK"},
	))
	fNewLine  = fields.Add("new_line", dissect.Bytes, "A new line, or the half of one that WON's master sends.", dissect.Framing)
	fTrailing = fields.Lookup("valve-master.trailing")
)

// Requests for addresses ("Client to master server").
var (
	fRegion = fields.Add("region", dissect.Uint, "Region of the world that the servers are in.", dissect.Names(
		dissect.Name{Value: 0, Name: "US East coast"}, dissect.Name{Value: 1, Name: "US West coast"},
		dissect.Name{Value: 2, Name: "South America"}, dissect.Name{Value: 3, Name: "Europe"},
		dissect.Name{Value: 4, Name: "Asia"}, dissect.Name{Value: 5, Name: "Australia"},
		dissect.Name{Value: 6, Name: "Middle East"}, dissect.Name{Value: 7, Name: "Africa"},
		dissect.Name{Value: everywhere, Name: "rest of the world"}))
	fSeed    = fields.Add("seed", dissect.String, "IP:Port, the address that the last reply ended with; 0.0.0.0:0 for the first.")
	fCursor  = fields.Add("cursor", dissect.Uint, "WON: number of the server from which to go on, 0 for the first; in a reply 0 if there are no more.")
	fFilter  = fields.Add("filter", dissect.String, "Which servers to list: codes and values, each behind a backslash.")
	fFilters = fields.Add("filters", dissect.List, "The conditions of the filter. They are read as a source of their own.")
	fCond    = fields.Add("filters.condition", dissect.Group, "One condition.")
	fKey     = fields.Add("filters.key", dissect.String, "Code of the condition.", meanings())
	fValue   = fields.Add("filters.value", dissect.String, "Value of the condition; of nor, nand, or and and the number of conditions that belong to them.", inWords())
	fNested  = fields.Add("filters.filters", dissect.List, "The conditions that belong to nor, nand, or and and.")
)

// Lists of addresses ("Reply format").
var (
	fReplyKey  = fields.Add("reply_key", dissect.Uint, "Xash3D: the number that the client gave in its filter.", dissect.Chosen)
	fKeyMark   = fields.Add("servers_reply.key_mark", dissect.Uint, "Xash3D: 127, a number follows.", dissect.Framing)
	fKeyEnd    = fields.Add("servers_reply.key_end", dissect.Uint, "Xash3D: 8, the addresses follow.", dissect.Framing)
	fServers   = fields.Add("servers", dissect.List, "Addresses of game servers.")
	fServer    = fields.Add("servers.server", dissect.Endpoint, "Address and port of one server.")
	fEnd       = fields.Add("end", dissect.Endpoint, "0.0.0.0:0: the list ends here. Without it there is more to ask for.")
	fAuth      = fields.Add("auth_servers", dissect.List, "WON: servers that check serial numbers.")
	fTitan     = fields.Add("directory_servers", dissect.List, "WON: Titan directory servers.")
	fMasters   = fields.Add("master_servers", dissect.List, "WON: master servers.")
	fMaster    = fields.Add("master_servers.server", dissect.Endpoint, "Address and port of one server.")
	fDivider   = fields.Add("masters_reply.divider", dissect.Bytes, "FF FF FF FF between two lists.", dissect.Framing)
	fVersion   = fields.Add("version", dissect.String, "Version of the game that asks.")
	fProduct   = fields.Add("product", dissect.String, "Game that asks.")
	fStatus    = fields.Add("status", dissect.String, "outofdate: the version of the game is too old.")
	fFirstMod  = fields.Add("from", dissect.String, "Mod from which to go on; start-of-list for the first.")
	fMods      = fields.Add("mods", dissect.List, "The mods that are played.")
	fMod       = fields.Add("mods.mod", dissect.Group, "One mod.")
	fModName   = fields.Add("mods.name", dissect.String, "Directory of the mod.")
	fModCount  = fields.Add("mods.num_servers", dissect.Decimal, "Servers that run it.")
	fModUsers  = fields.Add("mods.num_players", dissect.Decimal, "Players on them.")
	fModEnd    = fields.Add("mods.end", dissect.String, "end, twice: the mod ends here.", dissect.Framing)
	fModsEnd   = fields.Add("list_end", dissect.String, "end-of-list, or more-in-list.")
	fMOTD      = fields.Add("motd", dissect.String, "Message of the day.")
	fText      = fields.Add("text", dissect.String, "Text for the operator of the server.")
	fPayload   = fields.Add("payload", dissect.Bytes, "What follows the letter of a message that is not known.")
	fTerminate = fields.Add("nul", dissect.Bytes, "Zero byte at the end.", dissect.Framing)
)

// What game servers say ("Game server to master server").
var (
	fChallenge       = fields.Add("challenge", dissect.Int, "Number to be sent with the heartbeat, so that the master knows that the server's address is real.", dissect.Chosen)
	fServerChallenge = fields.Add("server_challenge", dissect.Int, "Xash3D: number that the master sends back, so that the server knows that the master is the one it asked.", dissect.Chosen)
	fMark            = fields.Add("join.mark", dissect.Uint, "Xash3D: 255, a number follows.", dissect.Framing)
	rules            = keyvalue.Declare(fields).Explained(meaning, inWords())
	fOldChallenge    = fields.Add("heartbeat.challenge", dissect.Decimal, "WON: the challenge.", dissect.Chosen)
	fSequence        = fields.Add("heartbeat.sequence", dissect.Decimal, "WON: number of the heartbeat.", dissect.Chosen)
	fOldPlayers      = fields.Add("heartbeat.num_players", dissect.Decimal, "WON: players on the server.")
	fOldProtocol     = fields.Add("heartbeat.protocol", dissect.Decimal, "WON: version of the network protocol.")
	fOldGameDir      = fields.Add("heartbeat.gamedir", dissect.String, "WON: directory of the game.")
	fHeartbeatEnd    = fields.Add("heartbeat.end", dissect.Bytes, "New line at the end.", dissect.Framing)
)
