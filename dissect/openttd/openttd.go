// Package openttd dissects the UDP packets of OpenTTD: infos of servers, their
// companies, the names of NewGRFs, and what master servers say.
//
// A packet is its own length in two bytes, a type, and what the type has; numbers are
// little-endian, text ends with a zero byte. Servers since version 12 answer the
// request for their info with an empty packet, which only says that they are there:
// all else went to TCP, and the master servers with it.
//
// Sources: udp.h, network_udp.cpp and network_game_info.h of OpenTTD.
package openttd

import (
	"encoding/binary"
	"net/netip"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

var style = wire.Style{Charset: dissect.Guessed}

var catalog = dissect.NewCatalog("openttd")

var (
	fSize    = catalog.Add("size", dissect.Uint, "Length of the packet, with this number.", dissect.Framing)
	fType    = catalog.Add("type", dissect.Uint, "What kind of packet it is.", dissect.Framing)
	fVersion = catalog.Add("format_version", dissect.Uint, "Version of the format of what follows.")

	fTicks         = catalog.Add("info.ticks", dissect.Uint, "Version 7: how long the game has been running, in ticks.")
	fStorage       = catalog.Add("info.grf_storage", dissect.Uint, "Version 6: what is said of NewGRFs.", core.Counted(0, "id and checksum", "id, checksum and name", "index"))
	fScriptVersion = catalog.Add("info.script_version", dissect.Int, "Version 5: version of the game script; -1 for none.")
	fScript        = catalog.Add("info.script", dissect.String, "Version 5: name of the game script.", dissect.Public)
	fNumGRFs       = catalog.Add("num_grfs", dissect.Uint, "NewGRFs in the list.")
	fGRFs          = catalog.Add("grfs", dissect.List, "NewGRFs: graphics and vehicles that are added to the game.")
	fGRF           = catalog.Add("grfs.grf", dissect.Group, "One of them.")
	fGRFID         = catalog.Add("grfs.id", dissect.Bytes, "Identifier of its author and itself.", dissect.Public)
	fGRFSum        = catalog.Add("grfs.md5", dissect.Bytes, "Checksum (MD5).", dissect.Public)
	fGRFName       = catalog.Add("grfs.name", dissect.String, "Name.", dissect.Public)
	fGRFIndex      = catalog.Add("grfs.index", dissect.Uint, "Place in a table that was sent before.")
	fDate          = catalog.Add("info.date", dissect.Uint, "Date in the game, in days since the year 0.")
	fStart         = catalog.Add("info.start_date", dissect.Uint, "Date at which the game began, in days since the year 0.")
	fMaxCompanies  = catalog.Add("info.max_companies", dissect.Uint, "Most companies that there may be.")
	fCompanies     = catalog.Add("num_companies", dissect.Uint, "Companies in the game.")
	fMaxSpectators = catalog.Add("info.max_spectators", dissect.Uint, "Most spectators that there may be.")
	fName          = catalog.Add("info.name", dissect.String, "Name of the server.", dissect.ServerText)
	fRevision      = catalog.Add("info.revision", dissect.String, "Version of OpenTTD.", dissect.Public)
	fLanguage      = catalog.Add("info.language", dissect.Uint, "Up to version 5: language that is spoken on the server, 0 for any.")
	fPassword      = catalog.Add("info.password", dissect.Bool, "Whether a password is needed.")
	fMaxClients    = catalog.Add("info.max_clients", dissect.Uint, "Most clients that the server takes.")
	fClients       = catalog.Add("info.num_clients", dissect.Uint, "Clients on the server.")
	fSpectators    = catalog.Add("info.num_spectators", dissect.Uint, "Those of them that belong to no company.")
	fOldDate       = catalog.Add("info.date_1920", dissect.Uint, "Versions 1 and 2: date in the game, in days since the year 1920.")
	fOldStart      = catalog.Add("info.start_date_1920", dissect.Uint, "Versions 1 and 2: date at which the game began, in days since the year 1920.")
	fMap           = catalog.Add("info.map", dissect.String, "Up to version 5: name of the map.", dissect.Public)
	fWidth         = catalog.Add("info.width", dissect.Uint, "Width of the map in tiles.")
	fHeight        = catalog.Add("info.height", dissect.Uint, "Height of the map in tiles.")
	fLandscape     = catalog.Add("info.landscape", dissect.Uint, "Kind of landscape.", dissect.Names(landscapes...))
	fDedicated     = catalog.Add("info.dedicated", dissect.Bool, "Whether nobody plays at the machine of the server.")

	fList        = catalog.Add("companies", dissect.List, "Companies.")
	fCompany     = catalog.Add("companies.company", dissect.Group, "One of them.")
	fIndex       = catalog.Add("companies.number", dissect.Uint, "Number of the company, from 1.")
	fCompanyName = catalog.Add("companies.name", dissect.String, "Name.", dissect.PersonName)
	fFounded     = catalog.Add("companies.inaugurated", dissect.Uint, "Year in which it was founded.")
	fValue       = catalog.Add("companies.value", dissect.Int, "What it is worth, in pounds.")
	fMoney       = catalog.Add("companies.money", dissect.Int, "What it has, in pounds.")
	fIncome      = catalog.Add("companies.income", dissect.Int, "What it earned, in pounds.")
	fPerformance = catalog.Add("companies.performance", dissect.Uint, "Rating of the last quarter, up to 1000.")
	fCompanyPass = catalog.Add("companies.password", dissect.Bool, "Whether a password is needed to join it; up to version 4 servers say the opposite, by mistake.")
	fVehicles    = catalog.Add("companies.vehicles", dissect.List, "Trains, lorries, buses, aircraft, ships.")
	fVehicle     = catalog.Add("companies.vehicles.number", dissect.Uint, "How many of one kind.")
	fStations    = catalog.Add("companies.stations", dissect.List, "Stations for trains, for lorries, for buses, airports, docks.")
	fStation     = catalog.Add("companies.stations.number", dissect.Uint, "How many of one kind.")
	fAI          = catalog.Add("companies.ai", dissect.Bool, "Version 5: whether the computer leads it.")
	fPlayers     = catalog.Add("companies.players", dissect.List, "Up to version 4: who plays in it.")
	fSpecList    = catalog.Add("spectators", dissect.List, "Up to version 4: who watches.")
	fPlayer      = catalog.Add("companies.players.player", dissect.Group, "A client.")
	fMore        = catalog.Add("companies.players.more", dissect.Uint, "1: another client follows.", dissect.Framing)
	fPlayerName  = catalog.Add("companies.players.name", dissect.String, "Name.", dissect.PersonName)
	fUniqueID    = catalog.Add("companies.players.unique_id", dissect.String, "What the server knows the player by.", dissect.PersonID)
	fJoined      = catalog.Add("companies.players.join_date", dissect.Uint, "Date in the game at which the client joined.")
	fEndPlayers  = catalog.Add("companies.end_of_players", dissect.Uint, "0: no other client follows.", dissect.Framing)
	fEndSpecs    = catalog.Add("end_of_spectators", dissect.Uint, "0: no other client follows.", dissect.Framing)

	fWelcome  = catalog.Add("register.welcome", dissect.String, "OpenTTDRegister.", dissect.Public)
	fPort     = catalog.Add("register.port", dissect.Uint, "Port of the server.")
	fKey      = catalog.Add("register.session_key", dissect.Bytes, "Number by which the master knows the server, zeros at first.", dissect.Token, dissect.Chosen)
	fListType = catalog.Add("list_type", dissect.Uint, "Which addresses are wanted.", core.Counted(0, "IPv4", "IPv6", "as the request came"))
	fCount    = catalog.Add("num_servers", dissect.Uint, "Addresses in the list.")
	fServers  = catalog.Add("servers", dissect.List, "Addresses of game servers.")
	fServer   = catalog.Add("servers.server", dissect.Endpoint, "An address.")
)

var landscapes = []dissect.Name{{Value: 0, Name: "temperate"}, {Value: 1, Name: "arctic"}, {Value: 2, Name: "tropic"}, {Value: 3, Name: "toyland"}}

// The types of packets.
const (
	typeFind = iota
	typeInfo
	typeCompaniesRequest
	typeCompanies
	typeRegister
	typeRegistered
	typeListRequest
	typeList
	typeUnregister
	typeGRFsRequest
	typeGRFs
	typeSessionKey
	types
)

const (
	topicInfo dissect.Topic = 1 << iota
	topicCompanies
	topicRegister
	topicList
	topicGRFs
)

var (
	mInfoRequest      = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for the facts of a server; clients look for servers in the local network with it."})
	mInfo             = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info", Role: dissect.Reply, Doc: "Facts of a server and of its game."})
	mPong             = catalog.Message(dissect.MessageType{Name: "pong", Title: "pong", Role: dissect.Reply, Doc: "The empty reply of servers since version 12: they are there."})
	mCompaniesRequest = catalog.Message(dissect.MessageType{Name: "companies_request", Title: "companies request", Role: dissect.Request, Doc: "Asks for the companies of a game.", Unanswered: detailsUnanswered})
	mCompanies        = catalog.Message(dissect.MessageType{Name: "companies_reply", Title: "companies", Role: dissect.Reply, Doc: "The companies, up to version 4 with those who play in them."})
	mGRFsRequest      = catalog.Message(dissect.MessageType{Name: "grfs_request", Title: "NewGRF names request", Role: dissect.Request, Doc: "Asks for the names of NewGRFs that the client does not have.", Unanswered: detailsUnanswered})
	mGRFs             = catalog.Message(dissect.MessageType{Name: "grfs_reply", Title: "NewGRF names", Role: dissect.Reply, Doc: "The names of those that the server knows, as far as they fit into a packet."})
	mRegister         = catalog.Message(dissect.MessageType{Name: "register_request", Title: "registration", Role: dissect.Request, Purpose: dissect.Heartbeat, Doc: "A server tells a master that it is there, every few minutes."})
	mRegistered       = catalog.Message(dissect.MessageType{Name: "register_reply", Title: "registered", Role: dissect.Reply, Purpose: dissect.Listing, Doc: "The master could reach the server, and lists it."})
	mSessionKey       = catalog.Message(dissect.MessageType{Name: "session_key_reply", Title: "session key", Role: dissect.Reply, Doc: "The master gives the server a number to register with."})
	mUnregister       = catalog.Message(dissect.MessageType{Name: "unregister", Title: "removal", Role: dissect.OneWay, Doc: "A server leaves the list."})
	mListRequest      = catalog.Message(dissect.MessageType{Name: "servers_request", Title: "servers request", Role: dissect.Request, Purpose: dissect.ServerList, Doc: "Asks a master for the addresses of game servers."})
	mList             = catalog.Message(dissect.MessageType{Name: "servers_reply", Title: "servers", Role: dissect.Reply, Doc: "Addresses of game servers, as many as fit into a packet. Nothing says which packet is the last."})

	unanswered        = finding.NoReply(catalog, "openttd.noreply", "No reply came within the time that clients wait. The server is down or something on the way drops UDP; players may still be able to join, for games run over TCP. Servers ignore packets whose length is not what they say. The old master servers were switched off after version 12.")
	detailsUnanswered = catalog.Finding(dissect.FindingType{ID: "openttd.details", Severity: dissect.Note, Text: "%p unanswered%p: servers since version 12 do not answer it", Doc: "Companies and the names of NewGRFs are asked for by UDP before version 12 only; later servers are silent. A server does not answer either if it knows none of the NewGRFs that were asked for. An old server may be down."})
	pong              = catalog.Finding(dissect.FindingType{ID: "openttd.pong", Severity: dissect.Note, Text: "an empty reply: the server has version 12 or newer, and sends its details over TCP only",
		Doc: "Servers since version 12 answer the request with a packet of three bytes, for clients that look for servers in the local network. Name, map and players are had over TCP on the same port (PACKET_CLIENT_GAME_INFO). qstat and other clients that wait for the old reply time out; gamedig asks over TCP."})
	unrequested   = finding.Unrequested(catalog, "openttd.unrequested", "A reply in a conversation whose requests are in the capture, but none that it answers. A late reply, a request lost by the capture, or a forged packet.")
	several       = finding.Several(catalog, "openttd.several", "The request was answered already. The network duplicated the reply, the request was sent twice and one of the two is not in the capture, or two servers share the address.")
	amplification = finding.New(catalog, dissect.Warning, "openttd.amplification", "data sent without a proof of the address: %r times the request (%d bytes for %d)",
		"Before version 12 a request of three bytes brings the facts of the game, with 20 bytes for each NewGRF, and nothing proves that its sender has the address it came from: up to 130 times as much and more. Such servers are used to flood others. Version 12 answers with three bytes.", finding.LimitReplies)
	size = finding.New(catalog, dissect.Warning, "openttd.size", "length %d in the header, the packet has %d",
		"The length in the packet is not that of the datagram. OpenTTD ignores such packets. The sender is wrong, or something on the way cut the packet.", finding.WrongLength)
	count = finding.New(catalog, dissect.Warning, "openttd.count", "%d announced, %d {is|are} there",
		"The number before a list of companies or addresses is larger than the list: the reply was cut, or the server counts wrongly.", finding.WrongCount)
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "openttd",
	Title:   "OpenTTD",
	Doc:     "The UDP packets of OpenTTD: infos, companies and NewGRFs of servers before version 12, the pong since, and the old master servers.",
	Source:  "udp.h, network_udp.cpp and network_game_info.h of OpenTTD, and recorded traffic; companies, NewGRF names and masters from the source",
	Ports:   []uint16{3979, 3978, 3976},
	Sized:   true,
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, onePacket(several), finding.Amplified(amplification, 10)),
}

// onePacket is a rule for replies of which there is one to a request: not those of
// masters, who give a key and then confirm, or send a list in several packets.
func onePacket(rule dissect.Rule) dissect.Rule {
	return func(x *dissect.Turn) {
		if x.Type != mList && x.Type != mRegistered && x.Type != mSessionKey {
			rule(x)
		}
	}
}

const (
	head     = 3
	detected = 64 // bytes that Detect gets
	largest  = 1460
	welcome  = "OpenTTDRegister\x00"
	lenGRF   = 4 + 16
	// What an info has at least: of version 6 and newer, and of older ones, behind
	// the NewGRFs and the dates.
	lenInfo    = 2 + 1 + 3 + 4 + 2
	lenOldInfo = lenInfo + 1 + 1
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < head {
		return dissect.No
	}
	n := int(binary.LittleEndian.Uint16(b))
	if len(b) < detected && n != len(b) || n < len(b) || n > largest {
		return dissect.No
	}
	rest, n := b[head:], n-head
	switch b[2] {
	case typeFind, typeCompaniesRequest, typeRegistered:
		if n == 0 {
			return dissect.Possible
		}
	case typeInfo:
		switch {
		case n == 0:
			return dissect.Possible
		case isInfo(rest, n):
			return dissect.Likely
		}
	case typeCompanies:
		if n >= 2 && rest[0] >= 3 && rest[0] <= 6 && int(rest[1]) <= 15 && n >= 2+int(rest[1])*(1+1+4+3*8+2+1+20) {
			return dissect.Possible
		} else if n >= 2 {
			return dissect.Doubtful // the count is wrong
		}
	case typeRegister:
		if len(rest) >= len(welcome) && string(rest[:len(welcome)]) == welcome {
			return dissect.Certain
		}
	case typeListRequest:
		if n == 1 && rest[0] == 1 || n == 2 && rest[0] == 2 {
			return dissect.Possible
		}
	case typeList:
		if n >= 3 && (rest[0] == 1 || rest[0] == 2) && n == 3+int(binary.LittleEndian.Uint16(rest[1:]))*lenEntry(rest[0]) {
			return dissect.Likely
		} else if n >= 3 {
			return dissect.Doubtful // the count is wrong
		}
	case typeUnregister:
		if n == 3 && (rest[0] == 1 || rest[0] == 2) {
			return dissect.Possible
		}
	case typeGRFsRequest:
		if n > lenGRF && n == 1+int(rest[0])*lenGRF {
			return dissect.Likely
		}
	case typeGRFs:
		if n > lenGRF && n >= 1+int(rest[0])*(lenGRF+1) {
			return dissect.Possible
		}
	case typeSessionKey:
		if n == 8 {
			return dissect.Possible
		}
	}
	return dissect.No
}

// lenEntry is the length of an address in a list of masters.
func lenEntry(version uint8) int {
	return nettext.Either(version == 2, 16, 4) + 2
}

// isInfo reports whether b, which has n bytes or the first of them, begins as an info.
func isInfo(b []byte, n int) bool {
	version, at := b[0], 1
	least := nettext.Either(version >= 6, lenInfo, lenOldInfo)
	if version == 0 || version > 7 {
		return false
	}
	grf := lenGRF
	if version >= 7 {
		at += 8
	}
	if version >= 6 {
		if at >= len(b) || b[at] > 2 {
			return false
		}
		switch b[at] {
		case 1:
			grf++ // a name
		case 2:
			grf = 4
		}
		at++
	}
	if version >= 5 {
		at += 4
		for at < len(b) && b[at] != 0 {
			at++
		}
		at++
	}
	if version >= 4 {
		if at >= len(b) {
			return len(b) > detected-head-1 // the name of a script
		}
		at += 1 + int(b[at])*grf
	}
	if version >= 3 {
		if at+8 <= len(b) && (b[at+3] > 0x7f || b[at+7] > 0x7f) {
			return false // a date that no game reaches
		}
		at += 8
	}
	if version >= 2 {
		at += 3
	}
	if version < 3 {
		least += 4
	}
	return n >= at+least
}

// A Message is one of *Info, *Companies, *GRFs, *Servers, *Registration and *Empty.
//
// Text in messages is as on the wire; dissect.AppendText decodes it and makes it
// safe to show.
type Message any

// Info is what a server says of itself and of its game.
type Info struct {
	// Version is that of the format, 1 to 7: Ticks are since 7, the names of NewGRFs
	// since 6, scripts since 5, NewGRFs since 4, Companies and MaxSpectators since 2.
	// Language and Map are up to 5.
	Version       uint8
	Ticks         uint64
	ScriptVersion int32
	Script        string
	GRFs          []GRF
	// Date and Start are in days since the year 0, those of versions 1 and 2 as well.
	Date, Start                            uint32
	MaxCompanies, Companies, MaxSpectators uint8
	Name, Revision, Map                    string
	Language, Landscape                    uint8
	Password, Dedicated                    bool
	MaxClients, Clients, Spectators        uint8
	Width, Height                          uint16

	server dissect.Server
}

// GRF is something that was added to the game. Index stands in place of the rest
// where a table was sent before.
type GRF struct {
	ID    [4]byte
	MD5   [16]byte
	Name  string
	Index uint32
}

// Companies is the reply to a companies request.
type Companies struct {
	// Version is that of the format: up to 4 there are players, in 5 there is AI.
	Version   uint8
	Companies []Company
	// Players are those of all companies, Spectators come behind them.
	Players    []Player
	Spectators int
}

// Company is one company. Money is in pounds.
type Company struct {
	Number               uint8
	Name                 string
	Founded              uint32
	Value, Money, Income int64
	Performance          uint16
	Password, AI         bool
	// Vehicles are trains, lorries, buses, aircraft and ships, Stations what they
	// stop at.
	Vehicles, Stations [5]uint16
	// Players is how many of the list of players are its own.
	Players int
}

// Player is a client, of a company or not.
type Player struct {
	Name, UniqueID string
	Joined         uint32
}

// GRFs asks for the names of NewGRFs or gives them.
type GRFs struct{ GRFs []GRF }

// Servers is a part of the list of a master server.
type Servers struct{ Servers []netip.AddrPort }

// Registration is what a server tells a master, and the key that it gets.
type Registration struct {
	Version uint8
	Port    uint16
	Key     dissect.Opt[[8]byte]
}

// Empty is a packet that is nothing but its type, and perhaps a version and a kind of
// list.
type Empty struct{ Type, Version, List uint8 }

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

// decoder owns what a message is read into.
type decoder struct {
	info         Info
	companies    Companies
	grfs         GRFs
	servers      Servers
	registration Registration
	empty        Empty
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	e := wire.Message(m, mInfoRequest, &d.empty, Empty{})
	n := r.Left()
	finding.Differs(r, size, fSize, 0, 2, int(r.U16(fSize)), n)
	e.Type = r.U8(fType)
	switch e.Type {
	case typeFind:
		m.Pair = dissect.Pair{Asks: topicInfo, Challenge: dissect.ChallengeAbsent}
	case typeInfo:
		m.Type, m.Pair.Answers = mPong, topicInfo
		if r.More() {
			m.Type = mInfo
			d.decodeInfo(r, m)
		} else if !r.Failed() {
			r.Note(pong)
		}
	case typeCompaniesRequest:
		m.Type, m.Pair = mCompaniesRequest, dissect.Pair{Asks: topicCompanies, Challenge: dissect.ChallengeAbsent}
	case typeCompanies:
		m.Type, m.Pair.Answers = mCompanies, topicCompanies
		d.decodeCompanies(r, m)
	case typeRegister, typeUnregister, typeSessionKey:
		d.decodeRegistration(r, m, e.Type)
	case typeRegistered:
		m.Type, m.Pair.Answers = mRegistered, topicRegister
	case typeListRequest:
		m.Type, m.Pair = mListRequest, dissect.Pair{Asks: topicList, Challenge: dissect.ChallengeAbsent}
		if e.Version = r.U8(fVersion); e.Version >= 2 {
			e.List = r.U8(fListType)
		}
	case typeList:
		m.Type, m.Pair.Answers = mList, topicList
		d.decodeServers(r, m)
	case typeGRFsRequest:
		m.Type, m.Pair = mGRFsRequest, dissect.Pair{Asks: topicGRFs, Challenge: dissect.ChallengeAbsent}
		m.Body, d.grfs.GRFs = &d.grfs, readGRFs(r, d.grfs.GRFs[:0], storeSum)
	case typeGRFs:
		m.Type, m.Pair.Answers = mGRFs, topicGRFs
		m.Body, d.grfs.GRFs = &d.grfs, readGRFs(r, d.grfs.GRFs[:0], storeName)
	default:
		r.Fail(fType, "no such type")
	}
}

// What is said of a NewGRF.
const (
	storeSum uint8 = iota
	storeName
	storeIndex
)

// readGRFs reads a list of NewGRFs behind its count.
func readGRFs(r *dissect.Reader, list []GRF, store uint8) []GRF {
	n := int(r.U8(fNumGRFs))
	return wire.Counted(r, fGRFs, fGRF, list, n, func() (g GRF) {
		if store == storeIndex {
			g.Index = r.U32(fGRFIndex)
			return g
		}
		copy(g.ID[:], r.Bytes(fGRFID, len(g.ID)))
		copy(g.MD5[:], r.Bytes(fGRFSum, len(g.MD5)))
		if store == storeName {
			g.Name = r.CString(fGRFName)
		}
		return g
	})
}

// days1920 is the number of days from the year 0 to 1920.
const days1920 = 701265

func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message) {
	i := wire.Body(m, &d.info, Info{GRFs: d.info.GRFs[:0]})
	i.Version = r.U8(fVersion)
	if i.Version == 0 || i.Version > 7 {
		r.Fail(fVersion, "no such version")
	}
	store := storeSum
	if i.Version >= 7 {
		i.Ticks = r.U64(fTicks)
	}
	if i.Version >= 6 {
		store = core.Enum(r, fStorage)
	}
	if i.Version >= 5 {
		i.ScriptVersion = r.I32(fScriptVersion)
		i.Script = r.CString(fScript)
	}
	if i.Version >= 4 {
		i.GRFs = readGRFs(r, i.GRFs, store)
	}
	if i.Version >= 3 {
		i.Date = r.U32(fDate)
		i.Start = r.U32(fStart)
	}
	if i.Version >= 2 {
		i.MaxCompanies = r.U8(fMaxCompanies)
		i.Companies = r.U8(fCompanies)
		i.MaxSpectators = r.U8(fMaxSpectators)
	}
	s := &m.Server
	s.Charset = style.Charset
	i.Name = wire.Fact(r, &s.Name, r.CString(fName))
	i.Revision = wire.Fact(r, &s.Version, r.CString(fRevision))
	if i.Version <= 5 {
		i.Language = r.U8(fLanguage)
	}
	i.Password = wire.Fact(r, &s.Password, core.Flag(r, fPassword))
	i.MaxClients = wire.Count(r, &s.MaxPlayers, r.U8(fMaxClients))
	i.Clients = wire.Count(r, &s.Players, r.U8(fClients))
	i.Spectators = r.U8(fSpectators)
	if i.Version < 3 {
		i.Date = days1920 + uint32(r.U16(fOldDate))
		i.Start = days1920 + uint32(r.U16(fOldStart))
	}
	if i.Version <= 5 {
		i.Map = wire.Fact(r, &s.Map, r.CString(fMap))
	}
	i.Width = r.U16(fWidth)
	i.Height = r.U16(fHeight)
	i.Landscape = core.Enum(r, fLandscape)
	i.Dedicated = core.Flag(r, fDedicated)
	i.server = *s
}

func (d *decoder) decodeCompanies(r *dissect.Reader, m *dissect.Message) {
	c := wire.Body(m, &d.companies, Companies{Companies: d.companies.Companies[:0], Players: d.companies.Players[:0]})
	if c.Version = r.U8(fVersion); c.Version < 3 || c.Version > 6 {
		r.Fail(fVersion, "no such version")
	}
	n := int(r.U8(fCompanies))
	left := n
	more := func() bool { left--; return left >= 0 && !r.Failed() && (r.More() || left == n-1) }
	c.Companies = wire.Records(r, fList, fCompany, c.Companies, more, func() Company { return d.decodeCompany(r, c.Version) })
	counted(r, n, len(c.Companies))
	if c.Version <= 4 {
		before := len(c.Players)
		d.decodePlayers(r, fSpecList, fEndSpecs)
		c.Spectators = len(c.Players) - before
	}
}

// counted notes that a list has fewer entries than announced.
func counted(r *dissect.Reader, n, there int) {
	if there < n && !r.Failed() && !r.Cut() {
		r.Note(count, dissect.Num(n), dissect.Num(there))
	}
}

func (d *decoder) decodeCompany(r *dissect.Reader, version uint8) (c Company) {
	c.Number = r.U8(fIndex)
	c.Name = r.CString(fCompanyName)
	c.Founded = r.U32(fFounded)
	c.Value = int64(r.U64(fValue))
	c.Money = int64(r.U64(fMoney))
	c.Income = int64(r.U64(fIncome))
	c.Performance = r.U16(fPerformance)
	c.Password = core.Flag(r, fCompanyPass)
	wire.Fill(r, fVehicles, c.Vehicles[:], func() uint16 { return r.U16(fVehicle) })
	wire.Fill(r, fStations, c.Stations[:], func() uint16 { return r.U16(fStation) })
	switch {
	case version == 5:
		c.AI = core.Flag(r, fAI)
	case version <= 4:
		before := len(d.companies.Players)
		d.decodePlayers(r, fPlayers, fEndPlayers)
		c.Players = len(d.companies.Players) - before
	}
	return c
}

// decodePlayers reads clients, each behind a 1, and the 0 behind them.
func (d *decoder) decodePlayers(r *dissect.Reader, f, end *dissect.Field) {
	more := func() bool { return r.Next(1) }
	d.companies.Players = wire.Records(r, f, fPlayer, d.companies.Players, more, func() Player {
		r.U8(fMore)
		return Player{Name: r.CString(fPlayerName), UniqueID: r.CString(fUniqueID), Joined: r.U32(fJoined)}
	})
	if r.U8(end) != 0 {
		r.Fail(end, "no 0 behind the clients")
	}
}

func (d *decoder) decodeRegistration(r *dissect.Reader, m *dissect.Message, kind uint8) {
	g := wire.Body(m, &d.registration, Registration{})
	switch kind {
	case typeSessionKey:
		m.Type, m.Pair.Answers = mSessionKey, topicRegister
	case typeRegister:
		m.Type, m.Pair.Asks = mRegister, topicRegister
		r.CString(fWelcome)
		g.Version = r.U8(fVersion)
		g.Port = r.U16(fPort)
	default:
		m.Type = mUnregister
		g.Version = r.U8(fVersion)
		g.Port = r.U16(fPort)
	}
	if kind == typeSessionKey || kind == typeRegister && g.Version >= 2 {
		var key [8]byte
		copy(key[:], r.Bytes(fKey, len(key)))
		g.Key = dissect.Opt[[8]byte]{Value: key, OK: !r.Failed()}
	}
}

// decodeServers reads a list of IPv4 (version 1) or IPv6 (version 2) addresses.
func (d *decoder) decodeServers(r *dissect.Reader, m *dissect.Message) {
	s := wire.Body(m, &d.servers, Servers{Servers: d.servers.Servers[:0]})
	version := r.U8(fVersion)
	n := int(r.U16(fCount))
	list := r.Begin(fServers)
	for range n {
		if !r.More() && len(s.Servers) > 0 {
			break
		}
		a := wire.Endpoint(r, fServer, version == 2, true)
		if r.Failed() {
			break
		}
		s.Servers = append(s.Servers, a)
	}
	r.End(list)
	counted(r, n, len(s.Servers))
	m.Pair.Entries = len(s.Servers)
}

// AppendSummary gives the name, the map, the clients, the version and the companies.
func (i *Info) AppendSummary(dst []byte) []byte {
	start := len(dst)
	dst = i.server.AppendSummary(dst)
	if i.Version >= 2 && i.server.Name.OK {
		dst = wire.Number(wire.Gap(dst, start), "", i.Companies)
		dst = wire.Number(dst, "/", i.MaxCompanies)
		dst = append(dst, " companies"...)
	}
	if n := len(i.GRFs); n > 0 {
		dst = wire.Plural(wire.Gap(dst, start), "", n, "NewGRF", "NewGRFs")
	}
	return dst
}

// AppendSummary gives the names of the companies.
func (c *Companies) AppendSummary(dst []byte) []byte {
	dst = wire.Plural(dst, "", len(c.Companies), "company", "companies")
	for i := range c.Companies {
		dst = style.Quoted(dst, "  ", c.Companies[i].Name)
	}
	return dst
}

// AppendSummary says how many there are.
func (g *GRFs) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(g.GRFs), "NewGRF", "NewGRFs")
}

// AppendSummary says how many there are.
func (s *Servers) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(s.Servers), "server", "servers")
}

// AppendSummary gives the port.
func (g *Registration) AppendSummary(dst []byte) []byte {
	if g.Port == 0 {
		return dst
	}
	return wire.Number(dst, "port ", g.Port)
}
