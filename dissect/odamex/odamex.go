// Package odamex dissects the queries of Odamex: launchers ask servers, and masters for
// lists of servers.
//
// A query and its reply begin with a tag of 32 bits: AD0, the sender (1 launcher, 2 client,
// 3 server, 4 master), 1 for a query or 2 for a reply, and a type. A query goes on with the
// version of the game, the version of the protocol, and a time, which the reply returns. A
// server with a newer version than the launcher replies with its version only. Numbers are
// little-endian, text ends with a NUL.
//
// What a reply contains depends on settings in it: whether there is a limit of time, and
// whether there are teams.
//
// Source: Odamex (sv_sqp.cpp, sv_master.cpp). No recorded traffic was at hand.
package odamex

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

var catalog = dissect.NewCatalog("odamex")

var (
	fTag = catalog.Add("tag", dissect.Uint, "What the message is and who sends it.", dissect.Framing, dissect.Names(
		dissect.Name{Value: tagQuery | 1, Name: "version query"}, dissect.Name{Value: tagQuery | 2, Name: "query"}, dissect.Name{Value: tagReply | 1, Name: "version"},
		dissect.Name{Value: tagReply | 2, Name: "version for an old launcher"}, dissect.Name{Value: tagReply | 3, Name: "info"},
		dissect.Name{Value: tagMaster, Name: "list of servers"}, dissect.Name{Value: tagHeartbeat, Name: "heartbeat"}))
	fVersion  = catalog.Add("version", dissect.Uint, "Version of the game: 256 times the major, 10 times the minor, and the patch version.")
	fProtocol = catalog.Add("protocol", dissect.Uint, "Version of the protocol of the launcher; in a reply that in which it is written.")
	fTime     = catalog.Add("time", dissect.Uint, "Number that the launcher chose; the reply returns it.", dissect.Chosen)
	fReal     = catalog.Add("real_protocol", dissect.Uint, "Version of the protocol of the server.")
	fRevision = catalog.Add("revision", dissect.String, "Version of the server in words.", dissect.Public, core.InLatin1)
	fOldRev   = catalog.Add("revision_number", dissect.Int, "Number of the revision, in old versions of the protocol; -1 if unknown.")

	fNumRules = catalog.Add("rules.count", dissect.Uint, "Number of settings.", dissect.Framing)
	fRules    = catalog.Add("rules", dissect.List, "Settings of the server that are not 0 or empty.")
	fRule     = catalog.Add("rules.rule", dissect.Group, "A setting.")
	fKey      = catalog.Add("rules.key", dissect.String, "Name of the setting.", dissect.SettingName, core.InLatin1)
	fType     = catalog.Add("rules.type", dissect.Uint, "Type of the value.", dissect.Framing, dissect.Names(
		dissect.Name{Value: typeNone, Name: "none"}, dissect.Name{Value: typeBool, Name: "true"}, dissect.Name{Value: typeByte, Name: "8 bits"},
		dissect.Name{Value: typeWord, Name: "16 bits"}, dissect.Name{Value: typeInt, Name: "32 bits"}, dissect.Name{Value: typeFloat, Name: "float"}, dissect.Name{Value: typeText, Name: "text"}))
	fValue      = catalog.Add("rules.value", dissect.Int, "Value, if it is a whole number; 1 for true.")
	fFloat      = catalog.Add("rules.float", dissect.Decimal, "Value, if it is a float.", core.InJSON("value_float"))
	fText       = catalog.Add("rules.text", dissect.String, "Value, if it is text.", dissect.Setting, core.InJSON("value_text"), core.InLatin1)
	fHiddenText = fText.Hidden()

	fPassword    = catalog.Add("password_md5", dissect.Bytes, "MD5 of the password that players need; empty if they need none.", dissect.Secret)
	fMap         = catalog.Add("map", dissect.String, "Map being played.", dissect.Public, core.InLatin1)
	fTimeLeft    = catalog.Add("time_left", dissect.Uint, "Minutes that are left.")
	fNumTeams    = catalog.Add("teams.count", dissect.Uint, "Number of teams.", dissect.Framing)
	fTeams       = catalog.Add("teams", dissect.List, "The teams.")
	fTeam        = catalog.Add("teams.team", dissect.Group, "A team.")
	fTeamName    = catalog.Add("teams.name", dissect.String, "Name of the team: its color.", dissect.Public, core.InLatin1)
	fTeamColor   = catalog.Add("teams.color", dissect.Uint, "Color of the team, 8 bits each of blue, green and red.")
	fPoints      = catalog.Add("teams.score", dissect.Int, "Points of the team.")
	fNumPatches  = catalog.Add("patches.count", dissect.Uint, "Number of patches.", dissect.Framing)
	fPatches     = catalog.Add("patches", dissect.List, "DeHackEd patches that the server has loaded.")
	fPatch       = catalog.Add("patches.name", dissect.String, "Name of a patch.", dissect.Public, core.InLatin1)
	fNumWADs     = catalog.Add("wads.count", dissect.Uint, "Number of files.", dissect.Framing)
	fWADs        = catalog.Add("wads", dissect.List, "Files that the server has loaded.")
	fWAD         = catalog.Add("wads.wad", dissect.Group, "A file.")
	fWADName     = catalog.Add("wads.name", dissect.String, "Name of the file.", dissect.Public, core.InLatin1)
	fWADHash     = catalog.Add("wads.md5", dissect.Bytes, "MD5 of the file.", dissect.Public)
	fNumPlayers  = catalog.Add("players.count", dissect.Uint, "Number of players.", dissect.Framing)
	fPlayers     = catalog.Add("players", dissect.List, "The players.")
	fPlayer      = catalog.Add("players.player", dissect.Group, "A player.")
	fPlayerName  = catalog.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName, core.InLatin1)
	fPlayerColor = catalog.Add("players.color", dissect.Uint, "Color of the player, 8 bits each of blue, green, red and opacity.")
	fPlayerTeam  = catalog.Add("players.team", dissect.Uint, "Index of the team. Only in modes with teams.")
	fPing        = catalog.Add("players.ping", dissect.Uint, "Ping in milliseconds.")
	fMinutes     = catalog.Add("players.minutes", dissect.Uint, "Minutes on the server.")
	fSpectator   = catalog.Add("players.spectator", dissect.Bool, "Whether the player only watches.")
	fFrags       = catalog.Add("players.score", dissect.Int, "Frags.")
	fKills       = catalog.Add("players.kills", dissect.Int, "Monsters killed.")
	fDeaths      = catalog.Add("players.deaths", dissect.Uint, "Deaths.")

	fNumServers = catalog.Add("servers.count", dissect.Uint, "Number of servers.", dissect.Framing)
	fServers    = catalog.Add("servers", dissect.List, "Addresses of servers.")
	fServer     = catalog.Add("servers.server", dissect.Endpoint, "Address of a server.")
	fPort       = catalog.Add("port", dissect.Uint, "Port of the server that registers.")

	mQuery        = catalog.Message(dissect.MessageType{Name: "query_request", Title: "query", Role: dissect.Request, Doc: "A launcher asks a server for its settings and players."})
	mVersionQuery = catalog.Message(dissect.MessageType{Name: "version_request", Title: "version query", Role: dissect.Request, Doc: "A launcher asks a server for its version."})
	mInfo         = catalog.Message(dissect.MessageType{Name: "query_reply", Title: "info", Role: dissect.Reply, Doc: "Settings, map, files and players of the server."})
	mVersion      = catalog.Message(dissect.MessageType{Name: "version_reply", Title: "version", Role: dissect.Reply, Doc: "The version of the server, on request or because the launcher is too old for more."})
	mServers      = catalog.Message(dissect.MessageType{Name: "servers_request", Title: "servers request", Role: dissect.Request, Purpose: dissect.ServerList, Doc: "A launcher asks a master for servers."})
	mList         = catalog.Message(dissect.MessageType{Name: "servers_reply", Title: "servers", Role: dissect.Reply, Doc: "Servers that the master knows."})
	mHeartbeat    = catalog.Message(dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Purpose: dissect.Heartbeat | dissect.Unconfirmed, Doc: "A server registers with a master."})
	mUnknown      = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Role: dissect.OneWay, Doc: "A tag with a type that is not known."})

	unanswered  = finding.NoReply(catalog, "odamex.noreply", "No reply came within the time that launchers wait. The server is down, the port is another one, or a packet was lost. Servers also ignore a query with the version 0.")
	unrequested = finding.Unrequested(catalog, "odamex.unrequested", finding.NonePending)
	otherTime   = finding.New(catalog, dissect.Warning, "odamex.time", "reply to the request in frame %d has the time %d instead of %d",
		"A reply returns the time of its query, from which launchers compute the round-trip time. This one has another: it answers an earlier query, or is forged.", finding.ReturnedValue)
	amplification = finding.Amplification(catalog, "odamex.amplification", "The server sends much data to an address that it has not verified. The source of a query can be forged to flood somebody else. Limit the rate of queries in a firewall.")
	tooOld        = catalog.Finding(dissect.FindingType{ID: "odamex.version", Severity: dissect.Note, Text: "the server sends only its version, %d.%d.%d: the launcher is too old", Doc: "Servers with a newer major version than the launcher states send their version and nothing else. Update the launcher, or let it state the version of the server."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "odamex",
	Title:   "Odamex",
	Group:   "Quake and Doom",
	Doc:     "Queries of launchers to servers and masters of Odamex (Doom). From the source; no real traffic was at hand.",
	Source:  "Odamex (sv_sqp.cpp, sv_master.cpp)",
	Ports:   []uint16{10666, 10667, 10668, 10669, 10670, 15000},
	Starts:  []string{"\x01", "\x02", "\x03", "\xa3\xdb", "\xd4\xd6"},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.WithIDs(unanswered, unrequested, otherTime, amplification),
}

const (
	tagQuery     = 0xad011000 // of a launcher
	tagReply     = 0xad032000 // of a server
	tagMaster    = 777123     // both ways
	tagHeartbeat = 5560020

	lenTag       = 4
	lenQuery     = 16
	lenVersion   = 16
	lenInfo      = 28
	lenHeartbeat = 6
	detected     = 64 // bytes that Detect gets

	// Values of rules.type.
	typeNone  = 0
	typeBool  = 1
	typeByte  = 2
	typeWord  = 3
	typeInt   = 4
	typeFloat = 5
	typeText  = 6

	revisionText  = 7 // version of the protocol with the revision as text
	timeLeftAsked = 6 // version of the protocol with the time left only if there is a limit

	topicInfo    dissect.Topic = 1
	topicVersion dissect.Topic = 2
	topicServers dissect.Topic = 4
)

// kindOf returns the tag of a message without its sender if that is a query or a reply,
// and the tag otherwise.
func kindOf(tag uint32) uint32 {
	switch sender := tag >> 16 & 15; {
	case tag>>20 != tagQuery>>20:
	case tag>>12&15 == 1 && sender >= 1 && sender <= 4:
		return tagQuery | tag&0xfff
	case tag>>12&15 == 2 && sender == 3:
		return tagReply | tag&0xfff
	}
	return tag
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < lenTag {
		return dissect.No
	}
	switch tag := kindOf(binary.LittleEndian.Uint32(b)); {
	case tag == tagQuery|1 || tag == tagQuery|2:
		return nettext.Either(len(b) == lenQuery || len(b) == lenTag, dissect.Certain, dissect.Likely)
	case tag == tagReply|1 || tag == tagReply|2:
		return nettext.Either(len(b) == lenVersion, dissect.Certain, dissect.Likely)
	case tag == tagReply|3:
		return nettext.Either(len(b) >= lenInfo, dissect.Certain, dissect.Likely)
	case tag == tagMaster && len(b) == lenTag:
		return dissect.Likely
	case tag == tagMaster && len(b) >= lenTag+2:
		if n := lenTag + 2 + 6*int(binary.LittleEndian.Uint16(b[lenTag:])); n == len(b) || n > len(b) && len(b) == detected {
			return dissect.Likely
		}
		if (len(b)-lenTag-2)%6 == 0 {
			return dissect.Possible // whole entries, but not as many as announced
		}
	case tag == tagHeartbeat && len(b) == lenHeartbeat:
		return dissect.Likely
	}
	return dissect.No
}

// A Message is a pointer to one of the structs of this package.
type Message any

// Query asks a server. Some launchers send the tag alone; the numbers are then -1, as
// servers read them.
type Query struct{ Version, Protocol, Time uint32 }

// Version is the version of a server: 256 times the major, 10 times the minor, and the
// patch version.
type Version struct{ Version, Protocol, Time uint32 }

// Info is what a server says of itself. Text is as on the wire.
type Info struct {
	Version, Protocol, Time, RealProtocol uint32
	Revision                              string
	Rules                                 []Rule
	// PasswordMD5 has 16 bytes, or none if players need no password.
	PasswordMD5 string
	Map         string
	// TimeLeft is stated if there is a limit, Teams in modes with teams.
	TimeLeft dissect.Opt[uint16]
	Teams    []Team
	Patches  []string
	WADs     []WAD
	Players  []Player
}

// Rule is a setting: a number, or a text, which may also stand for a float.
type Rule struct {
	Key    string
	Type   uint8
	Number int32
	Text   string
}

// Team is a team.
type Team struct {
	Name  string
	Color uint32
	Score int16
}

// WAD is a file that the server has loaded. MD5 has 16 bytes.
type WAD struct{ Name, MD5 string }

// Player is a player.
type Player struct {
	Name      string
	Color     uint32
	Team      dissect.Opt[uint8]
	Ping      uint16
	Minutes   uint16
	Spectator bool
	Frags     int16
	Kills     int16
	Deaths    uint16
}

// Servers asks a master for servers.
type Servers struct{}

// List is the reply of a master, with the number of servers.
type List struct{ Count int }

// Heartbeat registers a server.
type Heartbeat struct{ Port uint16 }

// Unknown has a tag that is not known.
type Unknown struct{ Tag uint32 }

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	query     Query
	version   Version
	info      Info
	servers   Servers
	list      List
	heartbeat Heartbeat
	unknown   Unknown
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	left := r.Left()
	tag := r.U32(fTag)
	wire.Message(m, mUnknown, &d.unknown, Unknown{Tag: tag})
	switch kind := kindOf(tag); {
	case r.Failed():
	case kind == tagQuery|1 || kind == tagQuery|2:
		m.Type, m.Body, m.Pair.Asks = mQuery, &d.query, topicInfo
		if kind == tagQuery|1 {
			m.Type, m.Pair.Asks = mVersionQuery, topicVersion
		}
		d.query = Query{1<<32 - 1, 1<<32 - 1, 1<<32 - 1}
		if left != lenTag {
			d.query = Query{Version: r.U32(fVersion), Protocol: r.U32(fProtocol), Time: r.U32(fTime)}
		}
		m.Pair.ID, m.Pair.Challenge = uint64(d.query.Time), dissect.ChallengeAbsent
	case kind == tagReply|1 || kind == tagReply|2:
		wire.Message(m, mVersion, &d.version, Version{Version: r.U32(fVersion), Protocol: r.U32(fProtocol), Time: r.U32(fTime)})
		m.Pair.Answers, m.Pair.ID = topicVersion|topicInfo, uint64(d.version.Time)
		if kind == tagReply|2 && !r.Failed() {
			v := d.version.Version
			r.Note(tooOld, dissect.Num(v/256), dissect.Num(v%256/10), dissect.Num(v%256%10))
		}
	case kind == tagReply|3:
		d.decodeInfo(r, m)
	case kind == tagMaster && left == lenTag:
		m.Type, m.Body, m.Pair.Asks, m.Pair.Challenge = mServers, &d.servers, topicServers, dissect.ChallengeAbsent
	case kind == tagMaster:
		m.Type, m.Body, m.Pair.Answers = mList, &d.list, topicServers
		n := int(r.U16(fNumServers))
		d.list = List{Count: len(wire.List(r, fServers, nil, n, func() (none struct{}) { r.Endpoint4(fServer, true); return none }))}
	case kind == tagHeartbeat:
		wire.Message(m, mHeartbeat, &d.heartbeat, Heartbeat{Port: r.U16(fPort)})
	default:
		r.Fail(fTag, "no such type")
	}
}

func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message) {
	p := &d.info
	*p = Info{Rules: p.Rules[:0], Teams: p.Teams[:0], Patches: p.Patches[:0], WADs: p.WADs[:0], Players: p.Players[:0]}
	m.Type, m.Body = mInfo, p
	p.Version = r.U32(fVersion)
	p.Protocol = r.U32(fProtocol)
	p.Time = r.U32(fTime)
	m.Pair.Answers, m.Pair.ID = topicInfo, uint64(p.Time)
	p.RealProtocol = r.U32(fReal)
	if p.Protocol >= revisionText {
		p.Revision = r.CString(fRevision)
	} else {
		r.I32(fOldRev)
	}
	p.rules(r)
	p.PasswordMD5 = wire.Latin(r, fPassword)
	p.Map = r.CString(fMap)
	if p.Protocol < timeLeftAsked || p.number("sv_timelimit") != 0 {
		p.TimeLeft = dissect.Opt[uint16]{Value: r.U16(fTimeLeft), OK: !r.Failed()}
	}
	mode := p.number("sv_gametype")
	inTeams := mode == 2 || mode == 3 // team deathmatch, capture the flag
	if inTeams {
		p.teams(r)
	}
	p.files(r)
	p.players(r, inTeams)
	m.Server = dissect.Server{Charset: dissect.Latin1}
	if p.Revision != "" {
		m.Server.Version = dissect.Some(p.Revision)
	}
	if name := p.rule("sv_hostname").Text; name != "" {
		m.Server.Name = dissect.Some(name)
	}
	if p.Map != "" {
		m.Server.Map = dissect.Some(p.Map)
	}
	if !r.Failed() {
		m.Server.Players = dissect.Some(len(p.Players))
		m.Server.Password = dissect.Some(len(p.PasswordMD5) > 0)
		if n := p.number("sv_maxclients"); n > 0 {
			m.Server.MaxPlayers = dissect.Some(int(n))
		}
	}
}

// rules reads the settings.
func (p *Info) rules(r *dissect.Reader) {
	p.Rules = wire.Counted(r, fRules, fRule, p.Rules, int(r.U8(fNumRules)), func() Rule {
		one := Rule{Key: r.CString(fKey), Type: r.U8(fType)}
		switch one.Type {
		case typeBool:
			one.Number = 1
			r.Span(fValue, 1, 0, 0, 0) // the type says it
		case typeByte:
			one.Number = int32(r.U8(fValue))
		case typeWord:
			one.Number = int32(core.I16(r, fValue))
		case typeInt:
			one.Number = r.I32(fValue)
		case typeFloat:
			one.Text = r.CString(fFloat)
		case typeText:
			one.Text = r.CString(fText)
			core.HideSetting(r, fHiddenText, one.Key, one.Text)
		}
		return one
	})
}

// number returns the value of a setting without its fraction, 0 if it is not stated.
func (p *Info) number(key string) int32 {
	one := p.rule(key)
	if one.Text == "" {
		return one.Number
	}
	whole, _, _ := strings.Cut(one.Text, ".")
	n, _ := nettext.ParseInt(whole)
	return int32(n)
}

// rule returns a setting, an empty one if it is not stated.
func (p *Info) rule(key string) (one Rule) {
	if i := slices.IndexFunc(p.Rules, func(r Rule) bool { return r.Key == key }); i >= 0 {
		one = p.Rules[i]
	}
	return one
}

func (p *Info) teams(r *dissect.Reader) {
	p.Teams = wire.Counted(r, fTeams, fTeam, p.Teams, int(r.U8(fNumTeams)), func() Team {
		return Team{Name: r.CString(fTeamName), Color: r.U32(fTeamColor), Score: core.I16(r, fPoints)}
	})
}

// files reads the patches and the files.
func (p *Info) files(r *dissect.Reader) {
	p.Patches = wire.Texts(r, fNumPatches, fPatches, fPatch, p.Patches)
	p.WADs = wire.Counted(r, fWADs, fWAD, p.WADs, int(r.U8(fNumWADs)), func() WAD {
		return WAD{Name: r.CString(fWADName), MD5: wire.Latin(r, fWADHash)}
	})
}

func (p *Info) players(r *dissect.Reader, inTeams bool) {
	p.Players = wire.Counted(r, fPlayers, fPlayer, p.Players, int(r.U8(fNumPlayers)), func() Player {
		one := Player{Name: r.CString(fPlayerName), Color: r.U32(fPlayerColor)}
		if inTeams {
			one.Team = dissect.Some(r.U8(fPlayerTeam))
		}
		one.Ping = r.U16(fPing)
		one.Minutes = r.U16(fMinutes)
		one.Spectator = r.Bool(fSpectator)
		one.Frags = core.I16(r, fFrags)
		one.Kills = core.I16(r, fKills)
		one.Deaths = r.U16(fDeaths)
		return one
	})
}

// appendVersion appends a version with its dots.
func appendVersion(dst []byte, v uint32) []byte {
	dst = strconv.AppendUint(dst, uint64(v/256), 10)
	dst = strconv.AppendUint(append(dst, '.'), uint64(v%256/10), 10)
	return strconv.AppendUint(append(dst, '.'), uint64(v%256%10), 10)
}

// AppendSummary appends the versions.
func (q *Query) AppendSummary(dst []byte) []byte {
	if q.Version == 1<<32-1 {
		return append(dst, "without a version"...)
	}
	return wire.Number(appendVersion(append(dst, 'v'), q.Version), ", protocol ", q.Protocol)
}

// AppendSummary appends the versions.
func (v *Version) AppendSummary(dst []byte) []byte {
	return wire.Number(appendVersion(append(dst, 'v'), v.Version), ", protocol ", v.Protocol)
}

// AppendSummary appends the number of servers.
func (l *List) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", l.Count, "server", "servers")
}

// AppendSummary appends the port.
func (h *Heartbeat) AppendSummary(dst []byte) []byte { return wire.Number(dst, "port ", h.Port) }

// AppendSummary appends the tag.
func (u *Unknown) AppendSummary(dst []byte) []byte { return wire.Hex(dst, "tag ", u.Tag) }
