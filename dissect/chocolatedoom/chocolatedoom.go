// Package chocolatedoom dissects the queries of Chocolate Doom, Crispy Doom and others
// that descend from it, and of their master server.
//
// A message is a type of 16 bits, big-endian, and text that ends with NULs, or bytes. The
// packets of a game have the same form; masters use types of their own, which are those of
// other packets in a game. So only what has the length and the content of a query is read.
//
// Sources: Chocolate Doom (net_defs.h, net_structrw.c, net_query.c); recorded traffic of
// queries.
package chocolatedoom

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var style = wire.Style{Charset: dissect.Latin1}

var catalog = dissect.NewCatalog("chocolatedoom")

var (
	fType = catalog.Add("type", dissect.Uint, "Kind of message.", dissect.Framing)

	fVersion      = catalog.Add("version", dissect.String, "Program and version of the server.", dissect.Public, core.InLatin1)
	fState        = catalog.Add("state", dissect.Uint, "What the server does.", core.Counted(0, "waiting for launch", "waiting for start", "in game"))
	fPlayers      = catalog.Add("num_players", dissect.Uint, "Players on the server.")
	fMax          = catalog.Add("max_players", dissect.Uint, "Maximum number of players.")
	fMode         = catalog.Add("mode", dissect.Uint, "Edition of the game.", core.Counted(0, "shareware", "registered", "commercial", "retail", "unknown"))
	fMission      = catalog.Add("mission", dissect.Uint, "Game, once a player is there.", core.Counted(0, "Doom", "Doom II", "TNT: Evilution", "The Plutonia Experiment", "Chex Quest", "Hacx", "Heretic", "Hexen", "Strife", "none"))
	fDescription  = catalog.Add("description", dissect.String, "Name of the server.", dissect.ServerText, core.InLatin1)
	fNumProtocols = catalog.Add("protocols.count", dissect.Uint, "Number of protocols.", dissect.Framing)
	fProtocols    = catalog.Add("protocols", dissect.List, "Protocols of the game that the server speaks, since version 3.0.")
	fProtocol     = catalog.Add("protocols.name", dissect.String, "Name of a protocol.", dissect.Public, core.InLatin1)

	fServers = catalog.Add("servers", dissect.List, "Servers that the master knows.")
	fServer  = catalog.Add("servers.address", dissect.String, "Address of a server.", dissect.Address, core.InLatin1)
	fAdded   = catalog.Add("added", dissect.Uint, "1 if the master has added the server to its list.")
	fAddress = catalog.Add("address", dissect.String, "Address to which the other side should send a packet.", dissect.Address, core.InLatin1)

	mQuery    = catalog.Message(dissect.MessageType{Name: "query_request", Title: "query", Role: dissect.Request, Doc: "Asks a server for its state."})
	mReply    = catalog.Message(dissect.MessageType{Name: "query_reply", Title: "state", Role: dissect.Reply, Doc: "Name, players and game of the server."})
	mList     = catalog.Message(dissect.MessageType{Name: "servers_request", Title: "servers request", Role: dissect.Request, Purpose: dissect.ServerList, Doc: "Asks the master for servers."})
	mServers  = catalog.Message(dissect.MessageType{Name: "servers_reply", Title: "servers", Role: dissect.Reply, Doc: "Servers that the master knows."})
	mAdd      = catalog.Message(dissect.MessageType{Name: "add_request", Title: "registration", Role: dissect.Request, Doc: "A server registers with the master."})
	mAdded    = catalog.Message(dissect.MessageType{Name: "add_reply", Title: "registration reply", Role: dissect.Reply, Doc: "Whether the master lists the server."})
	mPunch    = catalog.Message(dissect.MessageType{Name: "hole_punch", Title: "hole punch", Role: dissect.OneWay, Doc: "A client asks the master, and the master a server, for a packet to an address, which opens the router on the way."})
	mPunchAll = catalog.Message(dissect.MessageType{Name: "hole_punch_all", Title: "hole punch of all", Role: dissect.OneWay, Doc: "A client asks the master to let all servers send it a packet."})
	mUnknown  = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Role: dissect.OneWay, Doc: "Not a message of this protocol."})

	unanswered    = finding.NoReply(catalog, "chocolatedoom.noreply", "No reply came within the time that clients wait. The server is down, the port is another one (2342 as a rule), it is behind a router that drops the packet, or a packet was lost. Clients ask three times.")
	unrequested   = finding.Unrequested(catalog, "chocolatedoom.unrequested", finding.NonePending)
	amplification = finding.Amplification(catalog, "chocolatedoom.amplification", "A request has 2 bytes and no challenge, so its source can be forged to flood somebody else. Limit the rate of queries in a firewall.")
	refused       = catalog.Finding(dissect.FindingType{ID: "chocolatedoom.refused", Severity: dissect.Note, Text: "the master does not list the server", Doc: "The master could not reach the server, or refuses it. Open the port on the router."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "chocolatedoom",
	Title:   "Chocolate Doom",
	Group:   "Quake and Doom",
	Doc:     "Queries of Chocolate Doom, Crispy Doom and others that descend from it, and their master.",
	Source:  "Chocolate Doom (net_defs.h, net_structrw.c, net_query.c); recorded traffic",
	Ports:   []uint16{2342},
	Starts:  []string{"\x00"},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, amplification),
}

// The types of messages; the first ones are those of the master.
const (
	typeAdd      = 0
	typeAdded    = 1
	typeList     = 2
	typeServers  = 3
	typePunch    = 10
	typePunchAll = 11
	typeQuery    = 13
	typeReply    = 14

	lenType    = 2
	lenAdded   = 4
	lenNumbers = 5  // between the version and the description
	detected   = 64 // bytes that Detect gets

	topicQuery   dissect.Topic = 1
	topicServers dissect.Topic = 2
	topicAdd     dissect.Topic = 4
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < lenType || b[0] != 0 {
		return dissect.No
	}
	rest := b[lenType:]
	fits := false
	switch b[1] {
	case typeAdd, typeList, typePunchAll, typeQuery:
		fits = len(rest) == 0
	case typeAdded:
		fits = len(b) == lenAdded && binary.BigEndian.Uint16(rest) <= 1
	case typeServers, typePunch:
		fits = addresses(rest, len(b) == detected)
	case typeReply:
		return judgeReply(rest, len(b) == detected)
	}
	if fits {
		return dissect.Possible
	}
	return dissect.No
}

// judgeReply judges what follows the type of a reply. cut says that more may follow.
func judgeReply(b []byte, cut bool) dissect.Verdict {
	n := bytes.IndexByte(b, 0)
	if n < 0 && cut {
		n = len(b)
	}
	if n < 1 || slices.ContainsFunc(b[:n], wire.Unprintable) {
		return dissect.No
	}
	if after := b[n:]; len(after) > 1+lenNumbers { // state, players, how many of them, mode, mission
		if after[1] > 2 || after[2] > after[3] || after[4] > 4 || after[5] > 9 {
			return dissect.No
		}
	} else if !cut {
		return dissect.No
	}
	if bytes.HasPrefix(b, []byte("Chocolate ")) || bytes.HasPrefix(b, []byte("Crispy ")) {
		return dissect.Likely
	}
	return dissect.Possible
}

// addresses reports whether b is a list of addresses, each with a NUL. cut says that more
// may follow.
func addresses(b []byte, cut bool) bool {
	const shortest = len("1.1.1.1\x00")
	if len(b) < shortest || b[len(b)-1] != 0 && !cut {
		return false
	}
	for i, c := range b {
		digit := c >= '0' && c <= '9'
		if !digit && (i == 0 || c != '.' && c != ':' && c != 0 || c == b[i-1]) {
			return false
		}
	}
	return true
}

// A Message is a pointer to one of the structs of this package, or nil if its kind is
// not known.
type Message any

// Request has no content: a query, a request for servers, a registration, or a request for
// a hole punch of all servers.
type Request struct{ Type uint16 }

// Reply is the state of a server. Text is as on the wire.
type Reply struct {
	Version                    string
	State, Players, MaxPlayers uint8
	Mode, Mission              uint8
	Description                string
	Protocols                  []string

	server dissect.Server
}

// Servers are the addresses of servers.
type Servers struct{ Addresses []string }

// Added says whether the master lists a server.
type Added struct{ Added bool }

// Punch asks for a packet to an address.
type Punch struct{ Address string }

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	reply   Reply
	servers Servers
	added   Added
	punch   Punch
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	m.Type = mUnknown
	kind := r.U16BE(fType)
	if r.Failed() {
		return
	}
	d.request = Request{Type: kind}
	switch kind {
	case typeQuery:
		m.Type, m.Body, m.Pair = mQuery, &d.request, dissect.Pair{Asks: topicQuery, Challenge: dissect.ChallengeAbsent}
	case typeList:
		m.Type, m.Body, m.Pair = mList, &d.request, dissect.Pair{Asks: topicServers, Challenge: dissect.ChallengeAbsent}
	case typeAdd:
		m.Type, m.Body, m.Pair.Asks = mAdd, &d.request, topicAdd
	case typePunchAll:
		m.Type, m.Body = mPunchAll, &d.request
	case typeReply:
		d.decodeReply(r, m)
	case typeServers:
		p := &d.servers
		p.Addresses = p.Addresses[:0]
		m.Type, m.Body, m.Pair.Answers = mServers, p, topicServers
		p.Addresses = wire.Values(r, fServers, p.Addresses, func() string { return r.CString(fServer) })
	case typeAdded:
		m.Type, m.Body, m.Pair.Answers = mAdded, &d.added, topicAdd
		at := r.Offset()
		if d.added.Added = r.U16BE(fAdded) != 0; !d.added.Added && !r.Failed() {
			r.Find(refused, fAdded, at, 2)
		}
	case typePunch:
		d.punch.Address = r.CString(fAddress)
		m.Type, m.Body = mPunch, &d.punch
	default:
		r.Fail(fType, "no such query")
	}
}

func (d *decoder) decodeReply(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mReply, &d.reply, Reply{Protocols: d.reply.Protocols[:0]})
	m.Pair.Answers = topicQuery
	p.Version = r.CString(fVersion)
	p.State = r.U8(fState)
	p.Players = r.U8(fPlayers)
	p.MaxPlayers = r.U8(fMax)
	p.Mode = r.U8(fMode)
	p.Mission = r.U8(fMission)
	p.Description = r.CString(fDescription)
	wire.State(r, m, dissect.Server{
		Name: dissect.Some(p.Description), Version: dissect.Some(p.Version), Players: dissect.Some(int(p.Players)), MaxPlayers: dissect.Some(int(p.MaxPlayers)), Charset: style.Charset,
	})
	p.server = m.Server
	if !r.More() {
		return // servers before version 3.0 end here
	}
	p.Protocols = wire.Texts(r, fNumProtocols, fProtocols, fProtocol, p.Protocols)
}

// AppendSummary appends the facts and the state.
func (p *Reply) AppendSummary(dst []byte) []byte {
	dst = p.server.AppendSummary(dst)
	if name := fState.NameOf(uint64(p.State)); name != "" && p.Version != "" {
		dst = append(append(dst, "  "...), name...)
	}
	return dst
}

// AppendSummary appends the number of servers.
func (s *Servers) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(s.Addresses), "server", "servers")
}

// AppendSummary says whether the master lists the server.
func (a *Added) AppendSummary(dst []byte) []byte {
	if a.Added {
		return append(dst, "listed"...)
	}
	return append(dst, "not listed"...)
}

// AppendSummary appends the address.
func (p *Punch) AppendSummary(dst []byte) []byte { return style.Text(dst, "", p.Address) }
