package teeworlds

import (
	"net/netip"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

// The topics of requests.
const (
	topicInfo dissect.Topic = 1 << iota
	topicInfo64
	topicInfo5
	topicInfo4
	topicToken
	topicServers
	topicCount
	topicFirewall
)

var (
	mInfoRequest    = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for the facts of a server and its players: gie3 of 0.6 and 0.7, fstd of servers with 64 slots, gie3 behind xe of DDNet."})
	mOldRequest     = catalog.Message(dissect.MessageType{Name: "old_info_request", Title: "old info request", Role: dissect.Request, Doc: "The same in 0.4 and 0.5: gief and gie2.", Unanswered: oldUnanswered})
	mInfo           = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info", Role: dissect.Reply, Doc: "Facts of a server with its players. Servers with 64 slots send several to clients that ask with fstd, each with some of the players."})
	mMore           = catalog.Message(dissect.MessageType{Name: "more_players_reply", Title: "more players", Role: dissect.Reply, Doc: "DDNet: goes on with the players of an extended info."})
	mNotice         = catalog.Message(dissect.MessageType{Name: "info_notice", Title: "info, unasked", Role: dissect.OneWay, Doc: "The info that a server sends to its players when it changes, with the token -1."})
	mTokenRequest   = catalog.Message(dissect.MessageType{Name: "token_request", Title: "token request", Role: dissect.Request, Doc: "0.7: asks for the token that all else needs, to query a server as well as to join it."})
	mToken          = catalog.Message(dissect.MessageType{Name: "token_reply", Title: "token", Role: dissect.Reply, Doc: "0.7: gives that token."})
	mServersRequest = catalog.Message(dissect.MessageType{Name: "servers_request", Title: "servers request", Role: dissect.Request, Purpose: dissect.ServerList, Doc: "Asks a master server for the addresses of game servers."})
	mServers        = catalog.Message(dissect.MessageType{Name: "servers_reply", Title: "servers", Role: dissect.Reply, Doc: "Addresses of game servers, as many as fit into a packet. Nothing says which packet is the last."})
	mCountRequest   = catalog.Message(dissect.MessageType{Name: "count_request", Title: "count request", Role: dissect.Request, Doc: "Asks a master server how many servers its list has."})
	mCount          = catalog.Message(dissect.MessageType{Name: "count_reply", Title: "count", Role: dissect.Reply, Doc: "How many there are."})
	mHeartbeat      = catalog.Message(dissect.MessageType{Name: "heartbeat", Title: "heartbeat", Role: dissect.OneWay, Purpose: dissect.Heartbeat, Doc: "A game server tells a master that it is there."})
	mCheck          = catalog.Message(dissect.MessageType{Name: "firewall_request", Title: "firewall check", Role: dissect.Request, Doc: "A master asks from another port whether a server can be reached."})
	mChecked        = catalog.Message(dissect.MessageType{Name: "firewall_reply", Title: "firewall check passed", Role: dissect.Reply, Doc: "The server can be reached."})
	mListed         = catalog.Message(dissect.MessageType{Name: "listed", Title: "listed", Role: dissect.OneWay, Purpose: dissect.Listing, Doc: "The master lists the server."})
	mNotListed      = catalog.Message(dissect.MessageType{Name: "not_listed", Title: "not listed: the server cannot be reached", Role: dissect.OneWay, Purpose: dissect.Refusal, Doc: "The master does not list the server, for its checks were not answered: a firewall or a NAT is in the way."})
	mChallenge      = catalog.Message(dissect.MessageType{Name: "challenge", Title: "challenge", Role: dissect.OneWay, Doc: "The master of DDNet, which servers talk to over HTTPS, checks that a server can be reached."})
)

// words are what a packet outside of a connection can be.
var words = []struct {
	word    string
	message *dissect.MessageType
	topic   dissect.Topic
}{
	{"gie3", mInfoRequest, topicInfo},
	{"inf3", mInfo, topicInfo},
	{"iext", mInfo, topicInfo},
	{"iex+", mMore, topicInfo},
	{"fstd", mInfoRequest, topicInfo64},
	{"dtsf", mInfo, topicInfo64},
	{"gie2", mOldRequest, topicInfo5},
	{"inf2", mInfo, topicInfo5},
	{"gief", mOldRequest, topicInfo4},
	{"info", mInfo, topicInfo4},
	{"req2", mServersRequest, topicServers},
	{"lis2", mServers, topicServers},
	{"reqt", mServersRequest, topicServers},
	{"list", mServers, topicServers},
	{"cou2", mCountRequest, topicCount},
	{"siz2", mCount, topicCount},
	{"coun", mCountRequest, topicCount},
	{"size", mCount, topicCount},
	{"bea2", mHeartbeat, 0},
	{"beat", mHeartbeat, 0},
	{"fw??", mCheck, topicFirewall},
	{"fw!!", mChecked, topicFirewall},
	{"fwok", mListed, 0},
	{"fwer", mNotListed, 0},
	{"chal", mChallenge, 0},
}

// A Message is one of *Info, *Token, *Servers, *Challenge and *Short.
//
// Text in messages is as on the wire; dissect.AppendText decodes it and makes it
// safe to show.
type Message any

// Info is the reply to an info request, or more players of one.
type Info struct {
	// Word says which kind it is: info, inf2, inf3, dtsf, iext or iex+.
	Word  string
	Token int64
	// Hostname and Skill are of 0.7; MapCRC, MapSize and Extra of iext;
	// Progress of info and inf2; Offset of dtsf; Packet and Extra of iex+.
	Version, Name, Hostname, Map, GameType, Extra string
	MapCRC, MapSize, Progress                     int64
	Flags, Skill                                  int64
	// Players do not count spectators, Clients do.
	Players, MaxPlayers, Clients, MaxClients int64
	// Offset is how many players earlier packets list, Packet the number of this.
	Offset, Packet int64
	List           []Player

	server dissect.Server
}

// A Player is one player or spectator. 0.5 has names and scores alone.
type Player struct {
	Name, Clan, Extra string
	// Country is a number of ISO 3166, -1 for none.
	Country, Score int64
	// Kind is 1 for players and 0 for spectators; in 0.7 it is 0 for players, 1
	// for spectators and 2 for bots.
	Kind int64
}

// Token asks for a token of 0.7 or gives it.
type Token struct {
	// Receiver is the token of the other side, all ones in a request; Own is that
	// of the sender.
	Receiver, Own uint32
}

// Servers is a part of the list of a master server.
type Servers struct{ Servers []netip.AddrPort }

// Challenge is sent by the master of DDNet to a server that registers.
type Challenge struct{ Secret, Protocol, Token string }

// Short is any of the messages that are a word and at most a number.
type Short struct {
	Word string
	// Token is that of an info request; Extended says that it begins with xe, Seven
	// that it is of 0.7.
	Token           int64
	Extended, Seven bool
	// Number is the port of a heartbeat, or the servers that a master counts.
	Number uint16
}

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

// AppendSummary gives the name, the game, the map and the players.
func (i *Info) AppendSummary(dst []byte) []byte {
	start := len(dst)
	dst = i.server.AppendSummary(dst)
	if n := i.Clients - i.Players; n > 0 && n <= 1<<16 {
		dst = wire.Plural(wire.Gap(dst, start), "", int(n), "spectator", "spectators")
	}
	if i.Offset > 0 || i.Packet > 0 {
		dst = wire.Plural(wire.Gap(dst, start), "", len(i.List), "entry", "entries")
	}
	return dst
}

// AppendSummary says how many there are.
func (s *Servers) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(s.Servers), "server", "servers")
}

// AppendSummary gives the protocol that is checked.
func (c *Challenge) AppendSummary(dst []byte) []byte { return style.Text(dst, "", c.Protocol) }

// AppendSummary gives the version of a request for an info, or the number.
func (s *Short) AppendSummary(dst []byte) []byte {
	switch s.Word {
	case "gief":
		return append(dst, "0.4"...)
	case "gie2":
		return append(dst, "0.5"...)
	case "fstd":
		return append(dst, "0.6 for 64 players"...)
	case "gie3":
		switch {
		case s.Seven:
			return append(dst, "0.7"...)
		case s.Extended:
			return append(dst, "DDNet"...)
		}
		return append(dst, "0.6"...)
	case "siz2", "size":
		return wire.Plural(dst, "", int(s.Number), "server", "servers")
	case "bea2", "beat":
		return wire.Number(dst, "port ", s.Number)
	}
	return dst
}
