package valvemaster

import (
	"net/netip"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

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
