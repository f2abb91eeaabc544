package zandronum

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var (
	fMasterVersion = catalog.Add("master_version", dissect.Uint, "Version of the protocol of masters: 2.")
	fMasterCode    = catalog.Add("refusal", dissect.Uint, "Why the master refuses.", dissect.Names(
		dissect.Name{Value: codeMasterBan, Name: "this address is banned"}, dissect.Name{Value: codeMasterWait, Name: "this address has asked too recently"},
		dissect.Name{Value: codeVersion, Name: "its protocol has another version"}))
	fPacket       = catalog.Add("packet", dissect.Uint, "Number of the packet of the list, from 0.")
	fMarker       = catalog.Add("marker", dissect.Uint, "What follows: 8 servers by their addresses, 1 a server, 7 nothing in this packet, 2 nothing more.", dissect.Framing)
	fServers      = catalog.Add("servers", dissect.List, "Servers that the master knows.")
	fServer       = catalog.Add("servers.server", dissect.Group, "Servers on one address.")
	fNumPorts     = catalog.Add("servers.count", dissect.Uint, "Number of servers on the address; 0 ends the list.", dissect.Framing)
	fAddress      = catalog.Add("servers.address", dissect.Endpoint, "Address and port of a server.")
	fOtherPorts   = catalog.Add("servers.other_ports", dissect.List, "Ports of further servers on the address.")
	fOtherPort    = catalog.Add("servers.other_ports.port", dissect.Uint, "Port of a server.")
	fVerification = catalog.Add("verification", dissect.String, "Text by which the server recognises its master.", dissect.Secret)
	fRevisionTime = catalog.Add("revision_time", dissect.Uint, "When the version of the server was made, in seconds since 1970.")

	mServers   = catalog.Message(dissect.MessageType{Name: "servers_request", Title: "servers request", Role: dissect.Request, Purpose: dissect.ServerList, Doc: "A launcher asks the master for servers."})
	mList      = catalog.Message(dissect.MessageType{Name: "servers_reply", Title: "servers", Role: dissect.Reply, Doc: "Servers that the master knows, in one datagram or several."})
	mRefusal   = catalog.Message(dissect.MessageType{Name: "servers_refusal", Title: "refusal of the master", Role: dissect.Reply, Doc: "The master does not send a list."})
	mHeartbeat = catalog.Message(dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Purpose: dissect.Heartbeat | dissect.Unconfirmed, Doc: "A server registers with the master, every 30 seconds."})
)

var refused = catalog.Finding(dissect.FindingType{ID: "zandronum.master.refused", Severity: dissect.Note, Class: core.OfRefusal, Text: "the master refuses: %p",
	Doc: "The master sends a list to an address once within ten seconds, only in its version of the protocol, and not to addresses that it has banned."})

// The codes and markers of masters.
const (
	codeEnd        = 2
	codeMasterBan  = 3
	codeMasterWait = 4
	codeVersion    = 5
	codeList       = 6
	codeBlock      = 8

	codeHeartbeat = 5660020
	codeServers   = 5660028

	lenServers = 6 // a request

	topicServers dissect.Topic = 2
)

// Servers asks a master for servers.
type Servers struct{ Version uint16 }

// List is a packet of a list.
type List struct {
	Packet uint8
	// Count is the number of servers in this packet; Last says that it is the last one.
	Count int
	Last  bool
}

// MasterRefusal says that the master does not send a list: 3 banned, 4 too soon, 5 wrong
// version.
type MasterRefusal struct{ Code uint32 }

// Heartbeat registers a server.
type Heartbeat struct {
	Verification       string
	EnforcesMasterBans bool
	RevisionTime       uint32
}

func (d *decoder) decodeList(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mList, &d.list, List{Packet: r.U8(fPacket)})
	m.Pair.Answers = topicServers
	if r.Next(codeBlock) {
		r.U8(fMarker)
		wire.Each(r, fServers, nil, func() bool { return r.PeekByte(0) > 0 }, func() { p.servers(r) })
		r.U8(fNumPorts)
	}
	p.Last = r.U8(fMarker) == codeEnd
}

// servers reads the servers on one address.
func (p *List) servers(r *dissect.Reader) {
	mark := core.Here(r)
	group := r.Begin(fServer)
	n := r.U8(fNumPorts)
	r.Endpoint4(fAddress, true)
	if n > 1 {
		wire.Each(r, fOtherPorts, nil, wire.Times(r, int(n)-1), func() { r.U16(fOtherPort) })
	}
	if r.End(group); r.Failed() {
		core.Return(r, mark)
		return
	}
	p.Count += int(n)
}

func (d *decoder) decodeMasterRefusal(r *dissect.Reader, m *dissect.Message) {
	d.masterRefusal = MasterRefusal{Code: r.U32(fMasterCode)}
	m.Type, m.Body, m.Pair.Answers = mRefusal, &d.masterRefusal, topicServers
	r.Note(refused, dissect.Str(fMasterCode.NameOf(uint64(d.masterRefusal.Code))))
}

func (d *decoder) decodeHeartbeat(r *dissect.Reader, m *dissect.Message) {
	wire.Message(m, mHeartbeat, &d.heartbeat, Heartbeat{Verification: r.CString(fVerification), EnforcesMasterBans: r.Bool(fSecurity)})
	if r.More() {
		d.heartbeat.RevisionTime = r.U32(fRevisionTime)
	}
}

// AppendSummary appends the version.
func (s *Servers) AppendSummary(dst []byte) []byte { return wire.Number(dst, "version ", s.Version) }

// AppendSummary appends the number of servers.
func (p *List) AppendSummary(dst []byte) []byte {
	dst = wire.Plural(dst, "", p.Count, "server", "servers")
	if dst = wire.Number(dst, ", packet ", p.Packet); p.Last {
		dst = append(dst, ", the last one"...)
	}
	return dst
}
