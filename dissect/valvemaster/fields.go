package valvemaster

import (
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("valve-master")

// Every message.
var (
	fHeader = catalog.Add("header", dissect.Int, "-1. Replies begin with it; requests may.", dissect.Framing)
	fType   = catalog.Add("type", dissect.Char, "Letter that names the message.", dissect.Names(
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
	fNewLine  = catalog.Add("new_line", dissect.Bytes, "Line end. WON's master sends only half of one.", dissect.Framing)
	fTrailing = catalog.Lookup("valve-master.trailing")

	// Requests for addresses ("Client to master server").
	fRegion = catalog.Add("region", dissect.Uint, "Region of the world of the servers.", dissect.Names(
		dissect.Name{Value: 0, Name: "US East coast"}, dissect.Name{Value: 1, Name: "US West coast"},
		dissect.Name{Value: 2, Name: "South America"}, dissect.Name{Value: 3, Name: "Europe"},
		dissect.Name{Value: 4, Name: "Asia"}, dissect.Name{Value: 5, Name: "Australia"},
		dissect.Name{Value: 6, Name: "Middle East"}, dissect.Name{Value: 7, Name: "Africa"},
		dissect.Name{Value: everywhere, Name: "rest of the world"}))
	fSeed    = catalog.Add("seed", dissect.String, "Address with which the previous reply ended, as IP:port; 0.0.0.0:0 for the first request.", dissect.Address)
	fCursor  = catalog.Add("cursor", dissect.Uint, "WON: number of the server from which to continue, 0 for the first. 0 in a reply means that the list ends.")
	fFilter  = catalog.Add("filter", dissect.String, "Which servers to list: codes and values, each after a backslash.", dissect.Public)
	fFilters = catalog.Add("filters", dissect.List, "The conditions of the filter.")
	fCond    = catalog.Add("filters.condition", dissect.Group, "One condition.")
	fKey     = catalog.Add("filters.key", dissect.String, "Code of the condition.", dissect.SettingName, meanings())
	fValue   = catalog.Add("filters.value", dissect.String, "Value of the condition. For nor, nand, or and and it is the number of conditions in the group.", core.ByKey(map[string]dissect.Privacy{"name_match": dissect.ServerText, "gameaddr": dissect.Address}), inWords())
	fNested  = catalog.Add("filters.filters", dissect.List, "The conditions in a group (nor, nand, or, and).")

	// Lists of addresses ("Reply format").
	fReplyKey  = catalog.Add("reply_key", dissect.Uint, "Xash3D: number that the client gave in its filter.", dissect.Chosen)
	fKeyMark   = catalog.Add("servers_reply.key_mark", dissect.Uint, "Xash3D: 127, a number follows.", dissect.Framing)
	fKeyEnd    = catalog.Add("servers_reply.key_end", dissect.Uint, "Xash3D: 8, the addresses follow.", dissect.Framing)
	fServers   = catalog.Add("servers", dissect.List, "Addresses of game servers.")
	fServer    = catalog.Add("servers.server", dissect.Endpoint, "Address and port of one server.")
	fEnd       = catalog.Add("end", dissect.Endpoint, "0.0.0.0:0 ends the list. Without it the client must ask for more.")
	fAuth      = catalog.Add("auth_servers", dissect.List, "WON: servers that check serial numbers.")
	fTitan     = catalog.Add("directory_servers", dissect.List, "WON: Titan directory servers.")
	fMasters   = catalog.Add("master_servers", dissect.List, "WON: master servers.")
	fMaster    = catalog.Add("master_servers.server", dissect.Endpoint, "Address and port of one server.")
	fDivider   = catalog.Add("masters_reply.divider", dissect.Bytes, "FF FF FF FF between two lists.", dissect.Framing)
	fVersion   = catalog.Add("version", dissect.String, "Game version of the client.", dissect.Public)
	fProduct   = catalog.Add("product", dissect.String, "Game of the client.", dissect.Public)
	fStatus    = catalog.Add("status", dissect.String, "outofdate: the version of the game is too old.", dissect.Public)
	fFirstMod  = catalog.Add("from", dissect.String, "Mod from which to continue; start-of-list for the first request.", dissect.Public)
	fMods      = catalog.Add("mods", dissect.List, "The mods that are played.", core.Loose)
	fMod       = catalog.Add("mods.mod", dissect.Group, "One mod.")
	fModName   = catalog.Add("mods.name", dissect.String, "Directory of the mod.", dissect.Public)
	fModCount  = catalog.Add("mods.num_servers", dissect.Decimal, "Number of servers that run the mod.")
	fModUsers  = catalog.Add("mods.num_players", dissect.Decimal, "Number of players on these servers.")
	fModEnd    = catalog.Add("mods.end", dissect.String, "end, sent twice, ends the mod.", dissect.Framing)
	fModsEnd   = catalog.Add("list_end", dissect.String, "end-of-list or more-in-list.", dissect.Public)
	fMOTD      = catalog.Add("motd", dissect.String, "Message of the day.", dissect.ServerText)
	fText      = catalog.Add("text", dissect.String, "Text for the operator of the server.", dissect.ServerText)
	fPayload   = catalog.Add("payload", dissect.Bytes, "Content of an unknown message, after its letter.")
	fTerminate = catalog.Add("nul", dissect.Bytes, "Zero byte at the end.", dissect.Framing)

	// Messages of game servers ("Game server to master server").
	fChallenge       = catalog.Add("challenge", dissect.Int, "Number that the heartbeat must carry. It proves the server's address to the master.", dissect.Token, dissect.Chosen)
	fServerChallenge = catalog.Add("server_challenge", dissect.Int, "Xash3D: number that the master returns, so that the server recognises the master.", dissect.Token, dissect.Chosen)
	fMark            = catalog.Add("join.mark", dissect.Uint, "Xash3D: 255, a number follows.", dissect.Framing)
	rules            = keyvalue.DeclareExplained(catalog, meaning, inWords())
	fOldChallenge    = catalog.Add("heartbeat.challenge", dissect.Decimal, "WON: the challenge.", dissect.Token, dissect.Chosen)
	fSequence        = catalog.Add("heartbeat.sequence", dissect.Decimal, "WON: sequence number of the heartbeat.", dissect.Chosen)
	fOldPlayers      = catalog.Add("heartbeat.num_players", dissect.Decimal, "WON: players on the server.")
	fOldProtocol     = catalog.Add("heartbeat.protocol", dissect.Decimal, "WON: version of the network protocol.")
	fOldGameDir      = catalog.Add("heartbeat.gamedir", dissect.String, "WON: directory of the game.", dissect.Public)
	fHeartbeatEnd    = catalog.Add("heartbeat.end", dissect.Bytes, "New line at the end.", dissect.Framing)
)

// Requests and replies.
var (
	unanswered        = finding.NoReply(catalog, "master.noreply", "The capture has no reply within the time that clients wait. The master is down or no longer exists (most of Valve's do not), or the request or the reply was lost, dropped by a firewall, or not captured. Today's masters answer little but the request for servers; some limit how often they answer a client, and ignore what they do not understand.")
	unrequested       = finding.Unrequested(catalog, "master.unrequested", "The capture has requests of this conversation, but none that this reply answers. The request is missing from the capture, the reply is late or a duplicate, or somebody forged it.")
	challengeMismatch = finding.New(catalog, dissect.Warning, "master.challenge.mismatch", "challenge %d is not among the latest that the master gave this server; the newest is %d",
		"The number in the heartbeat is not among the last four that this master gave to this address in the capture. The server kept it too long, took it from another master, or got it before the capture began. The master usually answers with a new challenge and does not list the server until it is used.", finding.KeepChallenge)
	challengeMissing = finding.New(catalog, dissect.Warning, "master.challenge.missing", "the heartbeat has no valid challenge",
		"The challenge is missing or not a decimal number. Masters usually do not list a server without one, because its address is not verified.", "The server has to repeat the challenge of the master as a decimal number, in the key challenge of its heartbeat. Until then it is not listed: check the version of the server.")
	listing   = catalog.Finding(dissect.FindingType{ID: "master.listing", Severity: dissect.Chat, Text: "end of the list: %d {server|servers} in %d replies; the first request is frame %d", Doc: "A list that does not fit in one datagram is requested page by page, each from the last address of the previous page. The numbers are those of the pages in the capture."})
	newSocket = finding.New(catalog, dissect.Warning, "master.socket", "one list over %d sockets: the previous page, in frame %d, went to port %d; the document forbids this",
		"The request continues from the last address of a page that another port of the same client received. According to the document, a master sends the first page to every new socket, whatever address the request names, and clients must keep their socket. Not every master does so. A NAT that changed the client's port looks the same, and so do two clients with one address if the second client's first page is not in the capture.", "A client must use one socket for a whole list. If a NAT changes its port, ask faster: its entry expired between two pages.")
	seedElsewhere = catalog.Finding(dissect.FindingType{ID: "master.seed.elsewhere", Severity: dissect.Note, Text: "the seed is not the last address of this client's newest page, in frame %d", Doc: "A list continues from the last address of the previous page. From any other address the master may omit servers, repeat them, or begin at the start. The client may have skipped ahead on purpose, a page may be missing from the capture, or two clients share one address."})
	filterChanged = finding.New(catalog, dissect.Warning, "master.filter.changed", "the filter differs from that of the previous page, in frame %d",
		"The request continues a list but asks for other servers. The two pages together are neither list. Masters look for the address in the new list and begin at the start if it is not there.", "A client must send the same filter with every page; to change it, begin again with 0.0.0.0:0.")
	regionChanged = finding.New(catalog, dissect.Warning, "master.region.changed", "the region differs from that of the previous page, in frame %d",
		"The request continues a list but names another region. The two pages together are neither list. Masters that ignore the region continue as before.", "A client must send the same region with every page; to change it, begin again with 0.0.0.0:0.")
	slowPage    = catalog.Finding(dissect.FindingType{ID: "master.slow", Severity: dissect.Note, Text: "the previous page, in frame %d, arrived %t ago", Doc: "Clients usually ask for the next page at once. Servers come and go in the meantime, so the pages may not fit together. The client waits between pages, was suspended, or continues an old list."})
	listRestart = finding.New(catalog, dissect.Warning, "master.restart", "begins with the first address of the list again",
		"The client asked for the next page, and the master sent one that begins like the first. Masters do so for a new socket (see master.socket), or when they do not know the address in the request. The client receives the same servers again. A list that contains the address twice looks the same.", "A client should keep its socket, name the last address as it came, and stop when addresses repeat.")
	cursorRepeat = finding.New(catalog, dissect.Warning, "master.cursor_repeat", "ends with the address from which the request continues",
		"A client that continues from the last address asks for the same page forever. Careful clients treat it as the end of the list, and some masters mean that.", "A client should stop when a page ends with the address from which it asked, and when it gets an address twice.")

	// Requests for addresses.
	noTerm  = catalog.Finding(dissect.FindingType{ID: "master.noterm", Severity: dissect.Note, Text: "no zero byte after the filter", Doc: "qstat and Xash3D omit it; a truncated request looks the same. A master that searches for the zero byte may read into the rest of an earlier request in its buffer."})
	badSeed = finding.New(catalog, dissect.Warning, "master.seed", "%s is not an address with a port",
		"The seed must be the address with which the previous reply ended, as text, or 0.0.0.0:0. Masters may ignore such a request or begin at the start.", "A client must name the last address of the previous page as text, 0.0.0.0:0 for the first page, with a zero byte at its end.")
	badRegion   = catalog.Finding(dissect.FindingType{ID: "master.region", Severity: dissect.Note, Text: "region %d is not documented", Doc: "The document names regions 0 to 7, and 255 for the rest of the world. Many masters ignore the region."})
	filterStart = finding.New(catalog, dissect.Warning, "master.filter.start", "the filter does not begin with a backslash",
		"Masters split the filter at backslashes; without the first one they may take the value for the code. Some masters accept such a filter.", "Begin the filter with a backslash: \\gamedir\\cstrike.")
	filterUnknown = catalog.Finding(dissect.FindingType{ID: "master.filter.unknown", Severity: dissect.Note, Text: "unknown filter %s", Doc: "Neither the document nor today's masters have this code: it is misspelt, belongs to a private master, or is newer. Masters usually ignore an unknown condition, so the list is longer than the client expects."})
	filterValue   = catalog.Finding(dissect.FindingType{ID: "master.filter.value", Severity: dissect.Note, Text: "filter %s with the undocumented value %s; the document has only %p", Doc: "The effect of this condition is unknown. Some masters look only at the code and treat any value as the documented one; others ignore the condition."})
	filterOdd     = finding.New(catalog, dissect.Warning, "master.filter.odd", "the code %s has no value",
		"Codes and values do not pair up: a value is missing, a value contains a backslash, or the request was truncated.", "Write pairs of code and value, each with a backslash before it, and no backslash in a value.")
	filterCount = finding.Length(catalog, "master.filter.count", "%p announces %s conditions, but has %d",
		"nor, nand, or and and apply to as many of the following conditions as their value says. With a wrong number the group has too many or too few conditions; a truncated request looks the same.", "Count the conditions after nor or nand: the number is that of the pairs which follow.")
	filterDepth = finding.New(catalog, dissect.Warning, "master.filter.depth", "groups nested deeper than %d",
		"No known client needs this. Deeper conditions are shown without nesting.", "Write the filter without nesting; masters may not understand it either.")

	// Lists of addresses.
	listLength = finding.Length(catalog, "master.len6", "%d {byte|bytes} at the end {is|are} not a whole address",
		"An address takes 6 bytes, 18 with IPv6. The list was truncated, or it contains other data.", finding.CutList)
	listEmpty = catalog.Finding(dissect.FindingType{ID: "master.empty", Severity: dissect.Note, Text: "neither a server nor the end of the list", Doc: "An empty list should contain 0.0.0.0:0; a truncated reply looks the same. Clients may wait for more."})
	listIPv6  = catalog.Finding(dissect.FindingType{ID: "master.ipv6", Severity: dissect.Chat, Text: "IPv6 addresses, recognised by an end of 18 zero bytes", Doc: "Xash3D masters send IPv6 addresses to clients that use IPv6. No field says so."})

	// Messages of game servers.
	heartbeatFlavour = catalog.Finding(dissect.FindingType{ID: "master.heartbeat.flavour", Severity: dissect.Chat, Text: "%p heartbeat, recognised by %p", Doc: "The engines send the same settings in different order. Nothing else distinguishes them."})
	heartbeatOdd     = finding.New(catalog, dissect.Warning, "master.heartbeat.odd", "the last key has no value",
		"Keys and values do not pair up: the heartbeat was truncated, or a value contains a backslash.", finding.OddPairs)
	heartbeatEnd    = catalog.Finding(dissect.FindingType{ID: "master.heartbeat.noterm", Severity: dissect.Note, Text: "no newline at the end", Doc: "Xash3D omits it; a truncated heartbeat looks the same. Masters that search for it may read into the rest of an earlier message in their buffer."})
	heartbeatCounts = catalog.Finding(dissect.FindingType{ID: "master.heartbeat.counts", Severity: dissect.Note, Text: "%d {player|players} of at most %d, %d {bot|bots}", Doc: "More players than slots, or more bots than players: reserved slots, bots that are counted separately, or invented numbers."})
	quitForm        = catalog.Finding(dissect.FindingType{ID: "master.quit.form", Severity: dissect.Chat, Text: "in the form of %p", Doc: "GoldSrc sends b and a new line; Source adds a zero byte. Other senders may use either form."})
	unknownType     = finding.New(catalog, dissect.Warning, "master.type", "unknown message type %x",
		"Neither the document nor the engine's source has this letter for master servers: another protocol on the same port, or a message that is newer than this program.", "Check that the port is that of a master server. If a game sends it, report it to qdissect.")
)

// slow is the age of the previous page from which it is reported: clients ask for the
// next page at once.
const slow = 30 * time.Second

// goesOn compares a request for a page with the page before it.
func goesOn(x *dissect.Turn) {
	p := x.Page
	if p == nil || p.Before == 0 {
		return
	}
	before := dissect.Num(p.Before)
	if p.Stray {
		x.Note(seedElsewhere, before)
		return
	}
	if p.Sockets > 0 {
		x.Note(newSocket, dissect.Num(p.Sockets), before, dissect.Num(p.Port))
	}
	if p.Filter {
		x.Note(filterChanged, before)
	}
	if p.Region {
		x.Note(regionChanged, before)
	}
	if p.Age >= slow {
		x.Note(slowPage, before, dissect.Dur(p.Age))
	}
}

// follows compares a page with its request and with the first page of the list.
func follows(x *dissect.Turn) {
	if p := x.Page; p != nil {
		if p.Restart {
			x.Note(listRestart)
		}
		if p.Repeat {
			x.Note(cursorRepeat)
		}
	}
}

// The letters of messages. The comments give the engine's names.
const (
	typeServersRequest = '1' // A2M_GET_SERVERS_BATCH2
	typeBatchRequest   = 'e' // A2M_GET_SERVERS_BATCH
	typeAllRequest     = 'c' // A2M_GET_SERVERS
	typeServersReply   = 'f' // M2A_SERVER_BATCH
	typeAllReply       = 'd' // M2A_SERVERS
	typeJoin           = 'q' // A2A_GETCHALLENGE
	typeChallenge      = 's' // M2A_CHALLENGE
	typeHeartbeat      = '0' // S2M_HEARTBEAT2
	typeOldHeartbeat   = 'a' // S2M_HEARTBEAT
	typeQuit           = 'b' // S2M_SHUTDOWN
	typePing           = 'i' // A2A_PING
	typePingReply      = 'j' // A2A_ACK
	typeMOTDRequest    = 'g' // A2M_GET_MOTD
	typeMOTDReply      = 'h' // M2A_MOTD
	typeMastersRequest = 'v' // A2M_GETMASTERSERVERS
	typeMastersReply   = 'w' // M2A_MASTERSERVERS
	typeModsRequest    = 'x' // A2M_GETACTIVEMODS
	typeModsRequest2   = '2' // A2M_GETACTIVEMODS2
	typeModsRequest3   = 'Q' // A2M_GETACTIVEMODS3
	typeModsReply      = 'y' // M2A_ACTIVEMODS
	typeModsReply2     = 'F' // M2A_ACTIVEMODS2
	typeModsReply3     = 'P' // M2A_ACTIVEMODS3
	typeReject         = 'l' // A2C_PRINT
	typeRestart        = 'O' // M2S_REQUESTRESTART
	typeNack           = 'k' // A2A_NACK
)

// everywhere is the region "rest of the world".
const everywhere = 0xff

// The topics of requests.
const (
	topicPing dissect.Topic = 1 << iota
	topicJoin
	topicServers
	topicMOTD
	topicMasters
	topicMods
)

var (
	mServersRequest = catalog.Message(dissect.MessageType{Name: "servers_request", Title: "servers request", Role: dissect.Request, Purpose: dissect.ServerList, Doc: "Asks for addresses of game servers: type 1 with region, seed and filter, or WON's older forms 1, e and c."})
	mServersReply   = catalog.Message(dissect.MessageType{Name: "servers_reply", Title: "servers reply", Role: dissect.Reply, Doc: "Addresses of game servers, as many as fit in a datagram."})
	mJoin           = catalog.Message(dissect.MessageType{Name: "join", Title: "join", Role: dissect.Request, Purpose: dissect.Heartbeat | dissect.ChallengeRequest, Doc: "A game server asks for the challenge that its heartbeat needs."})
	mChallenge      = catalog.Message(dissect.MessageType{Name: "challenge_reply", Title: "challenge", Role: dissect.Reply, Doc: "The challenge that a heartbeat must carry."})
	mHeartbeat      = catalog.Message(dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Purpose: dissect.Heartbeat, Doc: "A game server announces itself, with the settings that clients can filter by."})
	mQuit           = catalog.Message(dissect.MessageType{Name: "quit", Title: "quit", Role: dissect.OneWay, Doc: "A game server shuts down."})
	mReject         = catalog.Message(dissect.MessageType{Name: "reject", Title: "heartbeat rejected", Role: dissect.OneWay, Purpose: dissect.Refusal, Doc: "The master does not list the server and gives the reason."})
	mRestart        = catalog.Message(dissect.MessageType{Name: "restart", Title: "restart wanted", Role: dissect.OneWay, Purpose: dissect.Refusal, Doc: "The master does not list the server until it runs a newer version."})
	mPing           = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "Asks whether the master responds."})
	mPingReply      = catalog.Message(dissect.MessageType{Name: "ping_reply", Title: "ping reply", Role: dissect.Reply, Doc: "The master responds. A game server sends the same bytes."})
	mMOTDRequest    = catalog.Message(dissect.MessageType{Name: "motd_request", Title: "message of the day request", Role: dissect.Request, Doc: "WON: asks for the message of the day."})
	mMOTDReply      = catalog.Message(dissect.MessageType{Name: "motd_reply", Title: "message of the day", Role: dissect.Reply, Doc: "WON: the message of the day."})
	mMastersRequest = catalog.Message(dissect.MessageType{Name: "masters_request", Title: "master servers request", Role: dissect.Request, Doc: "WON: asks for the addresses of WON's own servers."})
	mMastersReply   = catalog.Message(dissect.MessageType{Name: "masters_reply", Title: "master servers reply", Role: dissect.Reply, Doc: "WON: servers that check serial numbers, directory servers and master servers."})
	mModsRequest    = catalog.Message(dissect.MessageType{Name: "mods_request", Title: "mods request", Role: dissect.Request, Doc: "WON: asks which mods are played."})
	mModsReply      = catalog.Message(dissect.MessageType{Name: "mods_reply", Title: "mods reply", Role: dissect.Reply, Doc: "WON: the mods with their servers and players."})
	mNack           = catalog.Message(dissect.MessageType{Name: "nack", Title: "refused", Role: dissect.OneWay, Purpose: dissect.Refusal, Doc: "A request was not understood; the message gives the reason."})
	mUnknown        = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Role: dissect.OneWay, Doc: "A message with an unknown letter."})
)

// A Message is one of *ServersRequest, *ServersReply, *Join, *Challenge, *Heartbeat,
// *Quit, *Request, *Text, *MastersReply, *ModsReply and *Unknown.
//
// Strings hold the bytes of the wire. [dissect.AppendText] decodes them and makes them
// safe to print.
type Message any

// ServersRequest asks for addresses.
type ServersRequest struct {
	Region dissect.Opt[uint8]
	// Seed is the text of the address from which to continue, and Address its value.
	// 0.0.0.0:0 is the beginning.
	Seed    string
	Address netip.AddrPort
	// Cursor is the number from which to continue (WON).
	Cursor dissect.Opt[uint32]
	Filter string
	// Conditions are the conditions of the filter.
	Conditions []Condition
}

// A Condition is one condition of a filter. Conditions are in the order of the text.
// Those that belong to a group (nor, nand, or, and) follow it with a larger depth.
type Condition struct {
	Key, Value string
	Depth      int
}

// ServersReply is a list of addresses.
type ServersReply struct {
	Servers []netip.AddrPort
	// End reports whether the list ends here.
	End bool
	// Cursor is the number from which to continue (WON).
	Cursor dissect.Opt[uint32]
	// Key is the number that a Xash3D client gave in its filter.
	Key dissect.Opt[uint32]

	skimmed int // servers that were left out because nobody reads the body
}

// Join asks the master for the challenge of a heartbeat.
type Join struct {
	// Challenge is sent by Xash3D; the reply returns it.
	Challenge dissect.Opt[int32]
}

// Challenge is the reply to a join: the number that a heartbeat must carry.
type Challenge struct {
	Challenge int32
	// ServerChallenge is the number from the join (Xash3D).
	ServerChallenge dissect.Opt[int32]
}

// Heartbeat announces a game server.
type Heartbeat struct {
	// Flavour is GoldSrc, Source, Orange Box, Xash3D or WON, "" if unknown.
	Flavour   string
	Challenge dissect.Opt[int32]
	Rules     []dissect.KeyValue

	server dissect.Server
}

// Quit announces that a game server shuts down.
type Quit struct {
	// Flavour is GoldSrc or Source.
	Flavour string
}

// Request is a request that is a letter with few or no arguments.
type Request struct {
	Type byte
	// Version and Product describe the client that asks for masters. From is the mod
	// from which to continue.
	Version, Product, From string
}

// Text is a message of the day, a rejection, or a refusal.
type Text struct {
	Type byte
	Text string
}

// MastersReply lists the servers of WON.
type MastersReply struct {
	Auth, Directory, Masters []netip.AddrPort
	// OutOfDate reports that the client is too old and receives no lists.
	OutOfDate bool
}

// ModsReply lists mods.
type ModsReply struct {
	Mods []Mod
	// More reports whether the list continues.
	More bool
}

// Mod is one mod: its directory, and the numbers of its servers and players.
type Mod struct {
	Name             string
	Servers, Players int64
}

// Unknown is a message with an unknown letter.
type Unknown struct {
	Type byte
	Data []byte
}

var style = wire.Style{Charset: dissect.Guessed}

// AppendSummary appends the place to go on from, the region and the filter.
func (m *ServersRequest) AppendSummary(dst []byte) []byte {
	switch {
	case m.Cursor.OK && m.Cursor.Value == 0, m.Region.OK && page(m.Address) == 0 && m.Address.IsValid():
		dst = append(dst, "from the start"...)
	case m.Cursor.OK:
		dst = wire.Number(dst, "from number ", m.Cursor.Value)
	case m.Region.OK:
		dst = append(dst, "from "...)
		if m.Address.IsValid() {
			dst = m.Address.AppendTo(dst)
		} else {
			dst = style.Quoted(dst, "", m.Seed)
		}
	default:
		return append(dst, "all"...)
	}
	if m.Region.OK {
		dst = append(dst, ", "...)
		if name := fRegion.NameOf(uint64(m.Region.Value)); name != "" {
			dst = append(dst, name...)
		} else {
			dst = wire.Number(dst, "region ", m.Region.Value)
		}
	}
	if m.Filter != "" {
		// A backslash is part of the filter and is not escaped.
		dst = append(dst, ", "...)
		for i := 0; i < len(m.Filter); {
			j := i
			for j < len(m.Filter) && m.Filter[j] != '\\' {
				j++
			}
			dst = style.Text(dst, "", m.Filter[i:j])
			if j < len(m.Filter) {
				dst = append(dst, '\\')
			}
			i = j + 1
		}
	}
	return dst
}

// AppendSummary appends the number of addresses, and whether there are more.
func (m *ServersReply) AppendSummary(dst []byte) []byte {
	dst = wire.Plural(dst, "", len(m.Servers)+m.skimmed, "server", "servers")
	switch {
	case m.End:
		return append(dst, ", end of the list"...)
	case m.Cursor.OK:
		return wire.Number(dst, ", more from number ", m.Cursor.Value)
	}
	return append(dst, ", more to ask for"...)
}

// AppendSummary appends the number that Xash3D adds.
func (m *Join) AppendSummary(dst []byte) []byte {
	if m.Challenge.OK {
		dst = wire.Number(dst, "server challenge ", m.Challenge.Value)
	}
	return dst
}

// AppendSummary appends the number.
func (m *Challenge) AppendSummary(dst []byte) []byte {
	dst = wire.Number(dst, "", m.Challenge)
	if m.ServerChallenge.OK {
		dst = wire.Number(dst, ", server challenge ", m.ServerChallenge.Value)
	}
	return dst
}

// AppendSummary appends the engine, the game and the players.
func (m *Heartbeat) AppendSummary(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, m.Flavour...)
	if m.server.Stated() {
		dst = m.server.AppendSummary(wire.Gap(dst, start))
	}
	if m.Challenge.OK {
		dst = wire.Number(wire.Gap(dst, start), "challenge ", m.Challenge.Value)
	}
	return dst
}

// AppendSummary appends the engine.
func (m *Quit) AppendSummary(dst []byte) []byte { return append(dst, m.Flavour...) }

// AppendSummary appends the version and the product, or the mod to go on from.
func (m *Request) AppendSummary(dst []byte) []byte {
	switch {
	case m.From != "":
		return style.Text(dst, "from ", m.From)
	case m.Version != "":
		dst = style.Text(dst, "", m.Version)
		if m.Product != "" {
			dst = style.Text(dst, " ", m.Product)
		}
	}
	return dst
}

// AppendSummary appends the text.
func (m *Text) AppendSummary(dst []byte) []byte { return style.Quoted(dst, "", m.Text) }

// AppendSummary appends the numbers of servers.
func (m *MastersReply) AppendSummary(dst []byte) []byte {
	if m.OutOfDate {
		return append(dst, "the client is out of date"...)
	}
	dst = wire.Plural(dst, "", len(m.Auth), "auth server", "auth servers")
	dst = wire.Plural(dst, ", ", len(m.Directory), "directory server", "directory servers")
	return wire.Plural(dst, ", ", len(m.Masters), "master server", "master servers")
}

// AppendSummary appends the number of mods.
func (m *ModsReply) AppendSummary(dst []byte) []byte {
	dst = wire.Plural(dst, "", len(m.Mods), "mod", "mods")
	if m.More {
		dst = append(dst, ", more to ask for"...)
	}
	return dst
}

// AppendSummary appends the letter.
func (m *Unknown) AppendSummary(dst []byte) []byte {
	if m.Type == 0 {
		return dst
	}
	return wire.Hex(dst, "type ", m.Type)
}
