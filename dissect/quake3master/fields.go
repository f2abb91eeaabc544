package quake3master

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

var fields = dissect.NewCatalog("quake3-master")

// Every message.
var (
	fHeader    = fields.Add("header", dissect.Int, "-1: the message belongs to no connection.", dissect.Framing)
	fCommand   = fields.Add("command", dissect.String, "Word that names the message.", dissect.Public)
	fArguments = fields.Add("arguments", dissect.String, "Text after the known arguments.", dissect.FreeText)
	fBlanks    = fields.Add("blanks", dissect.Bytes, "Blanks between words.", dissect.Framing)
	fEnd       = fields.Add("end", dissect.Bytes, "New lines and zero bytes.", dissect.Framing)
	fTrailing  = fields.Lookup("quake3-master.trailing")

	// Requests, and heartbeats.
	fGame     = fields.Add("request.game", dissect.String, "Name of the game. Masters of a single game omit it.", dissect.Public)
	fProtocol = fields.Add("request.protocol", dissect.Decimal, "Network protocol version of the listed servers.")
	fFilter   = fields.Add("filter", dissect.String, "The keywords: empty and full include such servers, ipv4 and ipv6 select addresses, gametype=N the kind of game.", dissect.Public)
	fFilters  = fields.Add("filters", dissect.List, "The keywords, one by one.")
	fKeyword  = fields.Add("filters.keyword", dissect.Group, "One keyword.")
	fKey      = fields.Add("filters.key", dissect.String, "The keyword, up to an equals sign.", dissect.SettingName)
	fValue    = fields.Add("filters.value", dissect.String, "Text after the equals sign.", dissect.Public)
	fTag      = fields.Add("heartbeat.tag", dissect.String, "Kind of server: QuakeArena-1, DarkPlaces, EnemyTerritory-1, COD-4. Some games have another tag for a server that shuts down.", dissect.Public)

	// Replies.
	fPrelude  = fields.Add("reply.prelude", dissect.Bytes, "Bytes between the word and the first entry.", dissect.Framing)
	fPacket   = fields.Add("reply.packet", dissect.Decimal, "Tremulous: number of this reply, from 1.")
	fPackets  = fields.Add("reply.packets", dissect.Decimal, "Tremulous: number of replies that make up the list.")
	fLabel    = fields.Add("reply.label", dissect.String, "Tremulous: label of the servers in this reply.", dissect.Public)
	fHex      = fields.Add("reply.hex", dissect.String, "Elite Force: the entries, in hexadecimal digits.", core.Becomes("decoded"), dissect.Framing)
	fServers  = fields.Add("servers", dissect.List, "The servers.")
	fServer   = fields.Add("servers.server", dissect.Endpoint, "Address and port of a server.")
	fFiller   = fields.Add("servers.filler", dissect.Endpoint, "An entry without an address or a port: not a server.", dissect.Framing)
	fListEnds = fields.Add("reply.end_of_list", dissect.String, "EOT or EOF: the list ends here.", dissect.Public)
)
