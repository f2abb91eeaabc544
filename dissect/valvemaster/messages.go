package valvemaster

import (
	"net/netip"

	"github.com/qdissect/qdissect/dissect"
)

// The letters of messages. The names in comments are those of the engine.
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

// everywhere is the region that stands for all others.
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
	mServersRequest = &dissect.MessageType{Name: "servers_request", Title: "servers request", Role: dissect.Request, Doc: "Asks for addresses of game servers: type 1 with region, place and filter, or in the older forms 1, e and c of WON."}
	mServersReply   = &dissect.MessageType{Name: "servers_reply", Title: "servers reply", Role: dissect.Reply, Doc: "Addresses of game servers, as many as fit into a datagram."}
	mJoin           = &dissect.MessageType{Name: "join", Title: "join", Role: dissect.Request, Doc: "A game server asks for the challenge that its heartbeat needs."}
	mChallenge      = &dissect.MessageType{Name: "challenge_reply", Title: "challenge", Role: dissect.Reply, Doc: "That number."}
	mHeartbeat      = &dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Doc: "A game server tells that it is there, and what clients can filter by."}
	mQuit           = &dissect.MessageType{Name: "quit", Title: "quit", Role: dissect.OneWay, Doc: "A game server shuts down."}
	mReject         = &dissect.MessageType{Name: "reject", Title: "heartbeat rejected", Role: dissect.OneWay, Doc: "The master does not list the server, with the reason."}
	mRestart        = &dissect.MessageType{Name: "restart", Title: "restart wanted", Role: dissect.OneWay, Doc: "The master does not list the server until it runs a newer version."}
	mPing           = &dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "Asks for a sign of life."}
	mPingReply      = &dissect.MessageType{Name: "ping_reply", Title: "ping reply", Role: dissect.Reply, Doc: "A sign of life; the same bytes as from a game server."}
	mMOTDRequest    = &dissect.MessageType{Name: "motd_request", Title: "message of the day request", Role: dissect.Request, Doc: "WON: asks for the message of the day."}
	mMOTDReply      = &dissect.MessageType{Name: "motd_reply", Title: "message of the day", Role: dissect.Reply, Doc: "WON: the message of the day."}
	mMastersRequest = &dissect.MessageType{Name: "masters_request", Title: "master servers request", Role: dissect.Request, Doc: "WON: asks for the servers of the network itself."}
	mMastersReply   = &dissect.MessageType{Name: "masters_reply", Title: "master servers reply", Role: dissect.Reply, Doc: "WON: servers that check serial numbers, directory servers and master servers."}
	mModsRequest    = &dissect.MessageType{Name: "mods_request", Title: "mods request", Role: dissect.Request, Doc: "WON: asks which mods are played."}
	mModsReply      = &dissect.MessageType{Name: "mods_reply", Title: "mods reply", Role: dissect.Reply, Doc: "WON: the mods with their servers and players."}
	mNack           = &dissect.MessageType{Name: "nack", Title: "refused", Role: dissect.OneWay, Doc: "A request was not understood, with the reason."}
	mUnknown        = &dissect.MessageType{Name: "unknown", Title: "unknown message", Role: dissect.OneWay, Doc: "A letter that no message to or from a master server has."}
)

var messages = []*dissect.MessageType{
	mServersRequest, mServersReply, mJoin, mChallenge, mHeartbeat, mQuit, mReject, mRestart, mPing, mPingReply,
	mMOTDRequest, mMOTDReply, mMastersRequest, mMastersReply, mModsRequest, mModsReply, mNack, mUnknown,
}

// A Message is one of *ServersRequest, *ServersReply, *Join, *Challenge,
// *Heartbeat, *Quit, *Request, *Text, *MastersReply, *ModsReply and *Unknown.
//
// Text in messages is as on the wire; dissect.AppendText decodes it and makes
// it safe to print.
type Message interface{ valvemaster() }

// ServersRequest asks for addresses.
type ServersRequest struct {
	Region dissect.Opt[uint8]
	// Seed is the address to go on from as the client wrote it, Address what
	// it says; that of 0.0.0.0:0 is the beginning.
	Seed    string
	Address netip.AddrPort
	// Cursor is the place to go on from in the forms of WON.
	Cursor dissect.Opt[uint32]
	Filter string
	// Conditions are those of the filter.
	Conditions []Condition
}

// A Condition is a part of a filter. The conditions of a filter stand in the
// order of the text; those that belong to a group (nor, nand, or, and) follow it
// with a greater depth.
type Condition struct {
	Key, Value string
	Depth      int
}

// ServersReply is a list of addresses.
type ServersReply struct {
	Servers []netip.AddrPort
	// End says that the list ends here; otherwise there is more to ask for.
	End bool
	// Cursor is the place of the next piece in the form of WON.
	Cursor dissect.Opt[uint32]
	// Key is what a client of Xash3D gave in its filter.
	Key dissect.Opt[uint32]
}

// Join is the wish of a game server to be listed.
type Join struct {
	// Challenge is stated by Xash3D: it wants it back.
	Challenge dissect.Opt[int32]
}

// Challenge is the number that a heartbeat needs.
type Challenge struct {
	Challenge int32
	// ServerChallenge is that of the join, from masters of Xash3D.
	ServerChallenge dissect.Opt[int32]
}

// Heartbeat is what a game server says of itself.
type Heartbeat struct {
	// Flavour is GoldSrc, Source, Orange Box, Xash3D or WON, "" if it is not
	// known.
	Flavour   string
	Challenge dissect.Opt[int32]
	Rules     []dissect.KeyValue

	server dissect.Server
}

// Quit is the end of a game server.
type Quit struct {
	// Flavour is GoldSrc or Source.
	Flavour string
}

// Request is a request that is a letter, with what little belongs to it.
type Request struct {
	Type byte
	// Version and Product are those of the client that asks for masters,
	// From is the mod from which to go on.
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
	// OutOfDate says that there is no list because the client is too old.
	OutOfDate bool
}

// ModsReply lists mods.
type ModsReply struct {
	Mods []Mod
	// More says that there are more to ask for.
	More bool
}

// Mod is one mod: its directory, and servers and players on the internet.
type Mod struct {
	Name             string
	Servers, Players int64
}

// Unknown is a message that is not known.
type Unknown struct {
	Type byte
	Data []byte
}

func (*ServersRequest) valvemaster() {}
func (*ServersReply) valvemaster()   {}
func (*Join) valvemaster()           {}
func (*Challenge) valvemaster()      {}
func (*Heartbeat) valvemaster()      {}
func (*Quit) valvemaster()           {}
func (*Request) valvemaster()        {}
func (*Text) valvemaster()           {}
func (*MastersReply) valvemaster()   {}
func (*ModsReply) valvemaster()      {}
func (*Unknown) valvemaster()        {}
