package ase

import "github.com/qdissect/qdissect/dissect"

// The topics of requests.
const (
	topicStatus dissect.Topic = 1 << iota
	topicLight
	topicXfire
	topicVersion
	topicPing
)

var (
	mStatus       = &dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "s: asks for everything. Answered with EYE1."}
	mLight        = &dissect.MessageType{Name: "light_request", Title: "light request", Role: dissect.Request, Doc: "b or r: Multi Theft Auto's browser asks for facts and names. Answered with EYE2."}
	mXfire        = &dissect.MessageType{Name: "xfire_request", Title: "Xfire request", Role: dissect.Request, Doc: "x: asks Multi Theft Auto for a few facts. Answered with EYE3."}
	mVersion      = &dissect.MessageType{Name: "version_request", Title: "version request", Role: dissect.Request, Doc: "v: asks Multi Theft Auto for its version."}
	mPing         = &dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "p: asks for a sign of life."}
	mStatusReply  = &dissect.MessageType{Name: "status_reply", Title: "status reply", Role: dissect.Reply, Doc: "EYE1: facts, settings and players."}
	mLightReply   = &dissect.MessageType{Name: "light_reply", Title: "light reply", Role: dissect.Reply, Doc: "EYE2: facts of a server of Multi Theft Auto, and the names of players."}
	mXfireReply   = &dissect.MessageType{Name: "xfire_reply", Title: "Xfire reply", Role: dissect.Reply, Doc: "EYE3: a few facts of a server of Multi Theft Auto."}
	mVersionReply = &dissect.MessageType{Name: "version_reply", Title: "version reply", Role: dissect.Reply, Doc: "The version of Multi Theft Auto and nothing else."}
	mPart         = &dissect.MessageType{Name: "part", Title: "part of a reply", Role: dissect.Reply, Doc: "Datagrams of a reply whose first one is missing."}

	messages = []*dissect.MessageType{
		mStatus, mLight, mXfire, mVersion, mPing, mStatusReply, mLightReply, mXfireReply, mVersionReply, mPart,
	}
)

// A Message is one of *Request, *StatusReply, *LightReply, *VersionReply and
// *Part.
type Message interface{ ase() }

// Request is a letter: s, b, r, x, v or p.
type Request struct{ Query byte }

// StatusReply is EYE1. Numbers are as the server writes them.
type StatusReply struct {
	Game, HostName, GameType, Map, Version string
	Port, Password, NumPlayers, MaxPlayers string
	Rules                                  []dissect.KeyValue
	Players                                []Player
}

// Player is one player of a status reply. What the server leaves out or empty
// is absent.
type Player struct {
	Name        string
	Team, Skin  dissect.Opt[string]
	Score, Ping dissect.Opt[int]
	// Seconds is how long the player has been there.
	Seconds dissect.Opt[int]
}

// LightReply is EYE2, and EYE3, which has neither port nor names.
type LightReply struct {
	Game, HostName, GameType, Map, Version string
	Port                                   string
	// Count is "3/32": players and most players.
	Count                                                 string
	BuildType, Build, PingStatus, Route, Uptime, HTTPPort string
	Password                                              bool
	Serials                                               dissect.Opt[bool]
	// NumPlayers and MaxPlayers end at 255.
	NumPlayers, MaxPlayers uint8
	// Players are the names; those for which there was no room are empty.
	Players []string
}

// VersionReply is the version alone.
type VersionReply struct{ Version string }

// Part is one datagram of a reply, or several of which the first is missing.
type Part struct {
	// Number is that of the datagram, from 1.
	Number int
	ID     uint32
}

func (*Request) ase()      {}
func (*StatusReply) ase()  {}
func (*LightReply) ase()   {}
func (*VersionReply) ase() {}
func (*Part) ase()         {}
