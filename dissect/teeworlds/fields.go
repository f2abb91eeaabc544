package teeworlds

import (
	"net/netip"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("teeworlds")

var (
	fHeader     = catalog.Add("header", dissect.Bytes, "The packet is outside of any connection.", dissect.Framing)
	fVersion7   = catalog.Add("packet_version", dissect.Uint, "1: the packet is of 0.7, and tokens follow.")
	fExtended   = catalog.Add("extended", dissect.String, "xe: the client takes the extended info of DDNet, in several packets.", dissect.Public)
	fExtraToken = catalog.Add("extra_token", dissect.Uint, "Upper 16 bits of the token.", dissect.Framing)
	fReserved   = catalog.Add("reserved", dissect.Bytes, "Zeros.", dissect.Framing)
	fMarker     = catalog.Add("marker", dissect.Bytes, "Four bytes of ones.", dissect.Framing)
	fWord       = catalog.Add("word", dissect.String, "What is asked or answered, in four letters: gie3 asks for the info of 0.6 and of 0.7.", dissect.Public)

	fReceiver = catalog.Add("receiver_token", dissect.Uint, "0.7: the token of the side that gets the packet.", dissect.Token, dissect.Chosen)
	fSender   = catalog.Add("sender_token", dissect.Uint, "0.7: the token of the side that sends the packet.", dissect.Token, dissect.Chosen)
	fNoToken  = catalog.Add("no_token", dissect.Bytes, "All ones: the client has no token yet.", dissect.Framing)
	fControl  = catalog.Add("control", dissect.Uint, "5: gives a token.", dissect.Framing)
	fPadding  = catalog.Add("padding", dissect.Bytes, "Zeros that make the request longer than its reply.", dissect.Framing)

	fAskToken = catalog.Add("token", dissect.Uint, "Chosen by the client; the reply carries the same.", dissect.Chosen)
	fToken    = catalog.Add("info.token", dissect.Decimal, "The token of the request.", dissect.Public, dissect.Chosen)
	fToken7   = catalog.Add("info7.token", dissect.Int, "0.7: chosen by the client; the reply carries the same.", dissect.Chosen)

	fVersion    = catalog.Add("info.version", dissect.String, "Version of the server.", dissect.Public)
	fName       = catalog.Add("info.name", dissect.String, "Name of the server. Servers with more than 16 slots append the players and the slots for old clients.", dissect.ServerText)
	fHostname   = catalog.Add("info.hostname", dissect.String, "0.7: host name that the operator set.", dissect.ServerText)
	fMap        = catalog.Add("info.map", dissect.String, "Map being played.", dissect.Public)
	fMapCRC     = catalog.Add("info.map_crc", dissect.Decimal, "CRC-32 of the map, as a signed number.")
	fMapSize    = catalog.Add("info.map_size", dissect.Decimal, "Size of the map in bytes.")
	fGameType   = catalog.Add("info.gametype", dissect.String, "Kind of game, cut after 15 bytes.", dissect.Public)
	fFlags      = catalog.Add("info.flags", dissect.Decimal, "1: a password is needed.")
	fProgress   = catalog.Add("info.progress", dissect.Decimal, "0.5: how far the round is, in per cent; -1 if it has no end.")
	fPlayers    = catalog.Add("info.num_players", dissect.Decimal, "Players in the game.")
	fMaxPlayers = catalog.Add("info.max_players", dissect.Decimal, "Most players that the game takes.")
	fClients    = catalog.Add("info.num_clients", dissect.Decimal, "Players and spectators.")
	fMaxClients = catalog.Add("info.max_clients", dissect.Decimal, "Most players and spectators; at most 16 are told to old clients.")
	fOffset     = catalog.Add("info.offset", dissect.Int, "64 players: how many of them the packets before this one list.")
	fPacket     = catalog.Add("info.packet", dissect.Decimal, "Number of the packet; the first one has none.")
	fExtra      = catalog.Add("info.extra", dissect.String, "Reserved for extensions.", dissect.FreeText)

	fFlags7      = catalog.Add("info7.flags", dissect.Int, "0.7: set of flags.", core.BitsFrom(1, "password", "scores are times"))
	fSkill7      = catalog.Add("info7.skill_level", dissect.Int, "0.7: for whom the server is.", core.Counted(0, "casual", "normal", "competitive"))
	fPlayers7    = catalog.Add("info7.num_players", dissect.Int, "0.7: players in the game.")
	fMaxPlayers7 = catalog.Add("info7.max_players", dissect.Int, "0.7: most players that the game takes.")
	fClients7    = catalog.Add("info7.num_clients", dissect.Int, "0.7: players and spectators.")
	fMaxClients7 = catalog.Add("info7.max_clients", dissect.Int, "0.7: most players and spectators.")

	fList        = catalog.Add("players", dissect.List, "Players and spectators.", core.Loose)
	fPlayer      = catalog.Add("players.player", dissect.Group, "One of them.")
	fPlayerName  = catalog.Add("players.name", dissect.String, "Name.", dissect.PersonName)
	fPlayerClan  = catalog.Add("players.clan", dissect.String, "Clan.", dissect.PersonName)
	fCountry     = catalog.Add("players.country", dissect.Decimal, "Country in the numbers of ISO 3166; -1 for none.")
	fScore       = catalog.Add("players.score", dissect.Decimal, "Points; on race servers the best time in seconds, negative, and -9999 for none.")
	fIsPlayer    = catalog.Add("players.is_player", dissect.Decimal, "1: plays. 0: watches.")
	fPlayerExtra = catalog.Add("players.extra", dissect.String, "Reserved for extensions.", dissect.FreeText)
	fCountry7    = catalog.Add("players7.country", dissect.Int, "0.7: country in the numbers of ISO 3166; -1 for none.")
	fScore7      = catalog.Add("players7.score", dissect.Int, "0.7: points; on race servers a time in seconds, -1 for none.")
	fKind7       = catalog.Add("players7.flag", dissect.Int, "0.7: what kind of player it is.", core.Counted(0, "player", "spectator", "bot"))

	fServers   = catalog.Add("servers", dissect.List, "Addresses of game servers.")
	fServer    = catalog.Add("servers.server", dissect.Endpoint, "An address.")
	fCount     = catalog.Add("count", dissect.Uint, "Servers in the list of the master.")
	fPort      = catalog.Add("port", dissect.Uint, "Another port of the server, for the check of its firewall.")
	fSecret    = catalog.Add("challenge.secret", dissect.String, "The secret that the server sent when it registered over HTTPS.", dissect.Token, dissect.Chosen)
	fProtocol  = catalog.Add("challenge.protocol", dissect.String, "The protocol and the family of addresses that are checked.", dissect.Public)
	fChalToken = catalog.Add("challenge.token", dissect.String, "What the server has to send over HTTPS to be listed.", dissect.Token, dissect.Chosen, core.InJSON("challenge_token"))
)

var (
	unanswered    = finding.NoReply(catalog, "teeworlds.noreply", "No reply came within the time that clients wait. The server is down, speaks another version of the protocol (0.6 and 0.7 ask differently, on the same port), answers only so many requests per second, or something on the way drops UDP. Clients ask in several versions at once; one that is answered is enough. Servers of 0.7 are silent if the token in the request is not theirs.")
	oldUnanswered = catalog.Finding(dissect.FindingType{ID: "teeworlds.oldversion", Severity: dissect.Note, Text: "%p unanswered%p: only servers of 0.4 and 0.5 answer it", Doc: "The requests gief and gie2 are of Teeworlds 0.4 and 0.5. Servers since 0.6, which is all that are left, do not answer them; they answer gie3. Old tools send all versions one after the other. An old server may also be down."})
	unrequested   = finding.Unrequested(catalog, "teeworlds.unrequested", "A reply in a conversation whose requests are in the capture, but none with its token. A late reply, a request lost by the capture, or a forged packet.")
	several       = finding.Several(catalog, "teeworlds.several", "The request was answered by one packet already, and this kind of reply has one. The network duplicated it, the request was sent twice and one of the two is not in the capture, or two servers share the address.")
	amplification = finding.New(catalog, dissect.Warning, "teeworlds.amplification", "data sent without a proof of the address: %r times the request (%d bytes for %d)",
		"Before 0.7 a request of 14 or 15 bytes brings the info with all players, in several packets on servers with 64 slots, and nothing proves that its sender has the address it came from. Such servers are used to flood others. The limit sv_info_requests or sv_serverinfo_per_second bounds it; 0.7 wants a token first.", finding.LimitReplies)
	tokenShort = finding.New(catalog, dissect.Warning, "teeworlds.token.short", "%d {byte|bytes}: servers ignore token requests of less than 520",
		"A request for a token must be longer than its reply, so that it cannot be used to flood others: 12 bytes and 508 zeros. Servers of 0.7 do not answer shorter ones. The client is wrong, or something on the way cut the packet.", "An own client should send 12 bytes and 508 zeros.")
	tokenWrong = finding.New(catalog, dissect.Warning, "teeworlds.token.wrong", "token %d was not given to this client: the server gave %d",
		"Since 0.7 the server gives a token to each address, and answers no request that carries another one. Tokens change every 16 seconds or so and with the port of the client. The client kept one too long, or uses that of another server or port.", finding.KeepChallenge)
	shortWord = catalog.Finding(dissect.FindingType{ID: "teeworlds.word", Severity: dissect.Note, Text: "a request of three letters: no server answers it", Doc: "qstat sends gie without its fourth letter to every server, besides the right requests. Servers ignore it."})
	listed    = catalog.Finding(dissect.FindingType{ID: "teeworlds.players.count", Severity: dissect.Note, Text: "%d {player|players} announced, %d in the list", Doc: "The reply lists another number of players than it states. Servers that get many requests leave the list out, and say how many there are; servers with more than 16 slots list no more for old clients. Otherwise the packet was cut, or the numbers are invented."})
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
