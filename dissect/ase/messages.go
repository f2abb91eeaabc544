package ase

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

// The topics of requests.
const (
	topicStatus dissect.Topic = 1 << iota
	topicLight
	topicXfire
	topicVersion
	topicPing
)

var (
	mStatus       = catalog.Message(dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "s: asks for all data of a server. The reply is EYE1."})
	mLight        = catalog.Message(dissect.MessageType{Name: "light_request", Title: "light request", Role: dissect.Request, Doc: "b or r: Multi Theft Auto's browser asks for basic data and player names. The reply is EYE2."})
	mXfire        = catalog.Message(dissect.MessageType{Name: "xfire_request", Title: "Xfire request", Role: dissect.Request, Doc: "x: asks a Multi Theft Auto server for basic data. The reply is EYE3."})
	mVersion      = catalog.Message(dissect.MessageType{Name: "version_request", Title: "version request", Role: dissect.Request, Doc: "v: asks a Multi Theft Auto server for its version."})
	mPing         = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "p: asks whether the server responds."})
	mStatusReply  = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status reply", Role: dissect.Reply, Doc: "EYE1: basic data, settings and players."})
	mLightReply   = catalog.Message(dissect.MessageType{Name: "light_reply", Title: "light reply", Role: dissect.Reply, Doc: "EYE2: basic data of a Multi Theft Auto server, and the names of the players."})
	mXfireReply   = catalog.Message(dissect.MessageType{Name: "xfire_reply", Title: "Xfire reply", Role: dissect.Reply, Doc: "EYE3: basic data of a Multi Theft Auto server."})
	mVersionReply = catalog.Message(dissect.MessageType{Name: "version_reply", Title: "version reply", Role: dissect.Reply, Doc: "The version of Multi Theft Auto."})
	mPart         = catalog.Message(dissect.MessageType{Name: "part", Title: "part of a reply", Role: dissect.Reply, Doc: "Datagrams of a reply whose first one is missing."})
)

// A Message is one of *Request, *StatusReply, *LightReply, *VersionReply and
// *Part.
type Message any

// Request is a request of one letter: s, b, r, x, v or p.
type Request struct{ Query byte }

// StatusReply is EYE1. Numbers are in the server's text form.
type StatusReply struct {
	Game, HostName, GameType, Map, Version string
	Port, Password, NumPlayers, MaxPlayers string
	Rules                                  []dissect.KeyValue
	Players                                []Player

	skimmed int // players that are not in the list
}

// Player is one player of a status reply. Values that the server omits or leaves empty
// are absent.
type Player struct {
	Name        string
	Team, Skin  dissect.Opt[string]
	Score, Ping dissect.Opt[int]
	// Seconds is the player's time on the server.
	Seconds dissect.Opt[int]
}

// LightReply is EYE2 or EYE3. EYE3 has neither port nor names.
type LightReply struct {
	Game, HostName, GameType, Map, Version string
	Port                                   string
	// Count is the number of players and the maximum, such as "3/32".
	Count                                                 string
	BuildType, Build, PingStatus, Route, Uptime, HTTPPort string
	Password                                              bool
	Serials                                               dissect.Opt[bool]
	// NumPlayers and MaxPlayers are at most 255.
	NumPlayers, MaxPlayers uint8
	// Players are the names. A name is empty if the reply had no room for it.
	Players []string

	counted bool // the reply does not end before MaxPlayers
}

// VersionReply is the version of the server.
type VersionReply struct{ Version string }

// Part is one datagram of a reply, or the datagrams of a reply without the first one.
type Part struct {
	// Number is the number of the datagram, from 1.
	Number int
	ID     uint32
}

var style = wire.Style{Charset: dissect.Latin1}

// AppendSummary appends what the title does not say.
func (m *Request) AppendSummary(dst []byte) []byte {
	if m.Query == 'r' {
		return append(dst, "of a release version"...)
	}
	return dst
}

// AppendSummary appends the name, the game and the players.
func (p *StatusReply) AppendSummary(dst []byte) []byte {
	s := p.server()
	return s.AppendSummary(dst)
}

// AppendSummary appends the name, the game and the players.
func (p *LightReply) AppendSummary(dst []byte) []byte {
	s := p.server()
	return s.AppendSummary(dst)
}

// AppendSummary appends the version.
func (m *VersionReply) AppendSummary(dst []byte) []byte { return style.Text(dst, "", m.Version) }

// AppendSummary appends the number of the datagram.
func (m *Part) AppendSummary(dst []byte) []byte { return wire.Number(dst, "datagram ", m.Number) }
