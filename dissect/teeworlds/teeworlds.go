// Package teeworlds dissects the queries of Teeworlds and DDNet: infos of servers,
// the tokens of 0.7, and what master servers say.
//
// What is outside of a connection begins with six bytes, which are all ones or 20
// and zeros before 0.7, four bytes of ones, and a word of four letters. Behind it
// stand texts that end with zero bytes, numbers among them. In 0.7 it begins with 21
// and the tokens of both sides, and numbers are in the format of the game's packets;
// a token is had by a control packet first. The packets of running games, which have
// other first bytes, are not read.
//
// Several versions are spoken on one port. They are told apart by the words, except
// for gie3, which brings inf3: it is of 0.6, of 0.7 behind tokens, and of DDNet
// behind xe, which brings iext and iex+.
//
// Sources: network.h, mastersrv.h and server.cpp of Teeworlds and of DDNet.
package teeworlds

import (
	"math"
	"net/netip"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
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

// Text was Latin-1 before 0.5, and is UTF-8 since.
var style = wire.Style{Charset: dissect.Latin1}

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "teeworlds",
	Title:   "Teeworlds",
	Doc:     "The queries of Teeworlds and DDNet: infos in the versions 0.4 to 0.7, for 64 players and extended, the tokens of 0.7, and master servers.",
	Source:  "network.h, mastersrv.h and server.cpp of Teeworlds and DDNet, and recorded traffic",
	Ports:   []uint16{8303, 8304, 8305, 8306, 8307, 8308, 8309, 8310, 8283, 8300},
	Starts:  []string{header, headerQW, extended, "\x21", token},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: dissect.Pairing{
		Unanswered: unanswered,
		OnRequest:  []dissect.Rule{finding.Mismatch(tokenWrong)},
		OnReply:    []dissect.Rule{onePacket(several), finding.Amplified(amplification, 10)},
		OnStray:    []dissect.Rule{finding.OtherKind(core.OtherKind), unrequested},
	},
}

// onePacket is a rule for replies of which there is one to a request.
func onePacket(rule dissect.Rule) dissect.Rule {
	return func(x *dissect.Turn) {
		switch b := x.Body.(type) {
		case *Servers:
			return
		case *Info:
			if b.Word == "dtsf" || b.Word == "iext" || b.Word == "iex+" {
				return
			}
		}
		rule(x)
	}
}

const (
	ones     = "\xff\xff\xff\xff"
	header   = ones + "\xff\xff"
	headerQW = "\x20\x00\x00\x00\x00\x00" // from clients that set only the flag of it
	extended = "xe"

	starts7   = 0x21 // outside of a connection, version 1
	lenHead   = 6    // the header before 0.7
	lenHead7  = 1 + 4 + 4
	lenMarker = 4
	lenWord   = 4

	startsToken  = 0x04 // a control packet
	token        = "\x04\x00\x00"
	controlToken = 5
	noToken      = 1<<32 - 1
	lenToken     = 3 + 4 + 1 + 4
	lenAskToken  = lenToken + 508
	detected     = 64 // bytes that Detect gets
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	switch at := head(b); {
	case at > 0 && find(b[at:]) >= 0, at > 0 && string(b[at:]) == "gie":
		return dissect.Certain
	case len(b) < lenToken || string(b[:len(token)]) != token || b[7] != controlToken:
	case string(b[3:7]) == ones && len(b) == detected && zeros(b[lenToken:]):
		return dissect.Certain
	case len(b) == lenToken && string(b[3:7]) != "\x00\x00\x00\x00":
		return dissect.Likely
	case string(b[3:7]) != ones:
		return dissect.Doubtful
	}
	return dissect.No
}

func zeros(b []byte) bool { return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) }

// head returns where the word of a packet outside of a connection begins, 0 if b is
// none.
func head(b []byte) int {
	at := lenHead
	switch {
	case len(b) < lenHead+lenMarker:
		return 0
	case b[0] == starts7:
		at = lenHead7
	case string(b[:lenHead]) == header, string(b[:lenHead]) == headerQW, string(b[:len(extended)]) == extended:
	default:
		return 0
	}
	return nettext.Either(len(b) < at+lenMarker || string(b[at:at+lenMarker]) != ones, 0, at+lenMarker)
}

// find returns the number of the word that b begins with, -1 if it is none.
func find(b []byte) int {
	if len(b) < lenWord {
		return -1
	}
	for i := range words {
		if w := words[i].word; b[0] == w[0] && string(b[:lenWord]) == w {
			return i
		}
	}
	return -1
}

// decoder owns what a message is read into.
type decoder struct {
	info      Info
	token     Token
	servers   Servers
	challenge Challenge
	short     Short

	seven    bool   // the packet is of 0.7
	receiver uint32 // its tokens
	sender   uint32
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	d.seven = false
	if r.HasPrefix(token) {
		d.decodeToken(r, m)
		return
	}
	s := wire.Message(m, mOldRequest, &d.short, Short{})
	extra := uint16(0)
	switch {
	case r.Next(starts7):
		d.seven = true
		r.Span(fVersion7, starts7&3, 0, 1, 0)
		d.receiver = r.U32BE(fReceiver)
		d.sender = r.U32BE(fSender)
	case r.HasPrefix(extended):
		s.Extended = true
		r.Text(fExtended, len(extended))
		extra = r.U16BE(fExtraToken)
		r.Bytes(fReserved, 2)
	default:
		r.Bytes(fHeader, lenHead)
	}
	r.Bytes(fMarker, lenMarker)
	i := find(r.Peek())
	if i < 0 {
		if s.Word = r.Text(fWord, len("gie")); s.Word == "gie" {
			r.Note(shortWord)
		} else {
			r.Fail(fWord, "no such word")
		}
		return
	}
	w := &words[i]
	s.Word, s.Seven = r.Text(fWord, lenWord), d.seven
	m.Type = w.message
	switch w.message.Role {
	case dissect.Request:
		m.Pair.Asks, m.Pair.Challenge = w.topic, dissect.ChallengeAbsent
	case dissect.Reply:
		m.Pair.Answers = w.topic
	}
	if d.seven {
		m.Pair.ID = id7(d.receiver, 0)
		if m.Pair.Asks != 0 {
			m.Pair.ID, m.Pair.Challenge, m.Pair.Value = id7(d.sender, 0), dissect.ChallengeUsed, uint64(d.receiver)
		}
	}
	d.decodeRest(r, m, extra)
}

// decodeRest reads what follows the word; extra is the upper part of an extended token.
func (d *decoder) decodeRest(r *dissect.Reader, m *dissect.Message, extra uint16) {
	switch s := &d.short; m.Type {
	case mInfoRequest, mOldRequest:
		switch {
		case d.seven:
			s.Token = varint(r, fToken7)
			m.Pair.ID = id7(d.sender, s.Token)
		case s.Word != "gief":
			s.Token = int64(extra) << 8
			if c := r.PeekByte(0); c >= 0 {
				s.Token += int64(c)
			}
			r.Span(fAskToken, uint64(s.Token), 0, 1, 0)
			m.Pair.ID = id(s.Token)
		}
	case mInfo, mMore:
		d.decodeInfo(r, m)
	case mServers:
		d.decodeServers(r, m)
	case mCount:
		s.Number = r.U16BE(fCount)
	case mHeartbeat:
		s.Number = r.U16BE(fPort)
	case mChallenge:
		c := wire.Body(m, &d.challenge, Challenge{})
		c.Secret = r.Delimited(fSecret, 0, ":", 1)
		c.Protocol = r.CString(fProtocol)
		c.Token = r.CString(fChalToken)
	}
}

// id makes an identifier of a token of 8 or of 24 bits. Of the latter all servers
// but those of DDNet bring back only the last 8.
func id(token int64) uint64 { return 0x100 | uint64(uint8(token)) }

// id7 makes an identifier of the tokens of a client, that of its packets and that of
// the request.
func id7(client uint32, token int64) uint64 {
	return max(1, min(uint64(client)<<32|uint64(uint32(token)), dissect.AnyID-1))
}

// decodeToken reads the control packet that asks for a token or gives it.
func (d *decoder) decodeToken(r *dissect.Reader, m *dissect.Message) {
	t := wire.Message(m, mToken, &d.token, Token{})
	size := r.Left()
	r.Bytes(fHeader, len(token))
	if r.HasPrefix(ones) {
		t.Receiver = noToken
		r.Bytes(fNoToken, 4)
	} else {
		t.Receiver = r.U32BE(fReceiver)
	}
	control := r.U8(fControl)
	t.Own = r.U32BE(fSender)
	if t.Receiver != noToken {
		m.Pair = dissect.Pair{Answers: topicToken, ID: id7(t.Receiver, 0), Challenge: dissect.ChallengeIssued, Value: uint64(t.Own)}
	} else {
		m.Type = mTokenRequest
		m.Pair = dissect.Pair{Asks: topicToken, ID: id7(t.Own, 0), Challenge: dissect.ChallengeWanted}
		r.Rest(fPadding)
		if !r.Failed() && size < lenAskToken && !r.Cut() {
			r.Note(tokenShort, dissect.Num(size))
		}
	}
	if control != controlToken {
		r.Fail(fControl, "another control packet")
	}
}

// decodeInfo reads an info behind its word.
func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message) {
	i := wire.Body(m, &d.info, Info{Word: d.short.Word, List: d.info.List[:0]})
	ext := m.Type == mMore || i.Word == "iext"
	if i.Word != "info" {
		i.Token = d.number(r, fToken, fToken7)
		switch {
		case d.seven:
			m.Pair.ID = id7(d.receiver, i.Token)
		case i.Token == -1 && !r.Failed():
			m.Type, m.Pair = mNotice, dissect.Pair{}
		default:
			m.Pair.ID = id(i.Token)
		}
	}
	if m.Type == mMore {
		i.Packet = d.number(r, fPacket, nil)
	} else {
		d.decodeServer(r, i, ext)
		m.Server = i.server
	}
	if ext {
		i.Extra = r.CString(fExtra)
	}
	if i.Word == "dtsf" {
		i.Offset = varint(r, fOffset)
	}
	i.List = wire.Items(r, fList, nil, i.List, r.More, func() Player { return d.decodePlayer(r, i.Word, ext) })
	whole := i.Word != "dtsf" && !ext && !r.Failed() && !r.Cut()
	if n := len(i.List); whole && int64(n) != i.Clients {
		r.Note(listed, dissect.Num(i.Clients), dissect.Num(n))
	}
}

// decodeServer reads what an info says of the server.
func (d *decoder) decodeServer(r *dissect.Reader, i *Info, ext bool) {
	i.Version = r.CString(fVersion)
	i.Name = r.CString(fName)
	if d.seven {
		i.Hostname = r.CString(fHostname)
	}
	i.Map = r.CString(fMap)
	if ext {
		i.MapCRC = d.number(r, fMapCRC, nil)
		i.MapSize = d.number(r, fMapSize, nil)
	}
	i.GameType = r.CString(fGameType)
	i.Flags = d.number(r, fFlags, fFlags7)
	old := i.Word == "info" || i.Word == "inf2"
	switch {
	case d.seven:
		i.Skill = varint(r, fSkill7)
	case old:
		i.Progress = d.number(r, fProgress, nil)
	}
	i.Players = d.number(r, fPlayers, fPlayers7)
	i.MaxPlayers = d.number(r, fMaxPlayers, fMaxPlayers7)
	i.Clients, i.MaxClients = i.Players, i.MaxPlayers
	if !old {
		i.Clients = d.number(r, fClients, fClients7)
		i.MaxClients = d.number(r, fMaxClients, fMaxClients7)
	}
	if r.Failed() {
		return
	}
	i.server = dissect.Server{
		Name: dissect.Some(i.Name), Map: dissect.Some(i.Map), Game: dissect.Some(i.GameType), Version: dissect.Some(i.Version),
		Players: count(i.Players), MaxPlayers: count(i.MaxPlayers), Password: dissect.Some(i.Flags&1 != 0), Charset: style.Charset,
	}
}

func count(n int64) dissect.Opt[int] {
	return dissect.Opt[int]{Value: int(n), OK: n >= 0 && n <= math.MaxInt32}
}

func (d *decoder) decodePlayer(r *dissect.Reader, word string, ext bool) (p Player) {
	at := core.Here(r)
	group := r.Begin(fPlayer)
	p.Name = r.CString(fPlayerName)
	if word == "info" || word == "inf2" {
		p.Score = d.number(r, fScore, nil)
	} else {
		p.Clan = r.CString(fPlayerClan)
		p.Country = d.number(r, fCountry, fCountry7)
		p.Score = d.number(r, fScore, fScore7)
		p.Kind = d.number(r, fIsPlayer, fKind7)
	}
	if ext {
		p.Extra = r.CString(fPlayerExtra)
	}
	if r.End(group); r.Failed() {
		core.Return(r, at)
	}
	return p
}

// number reads a number: as text before 0.7, as a varint since.
func (d *decoder) number(r *dissect.Reader, text, packed *dissect.Field) int64 {
	if d.seven && packed != nil {
		return varint(r, packed)
	}
	n, _ := nettext.ParseInt(r.CString(text))
	return n
}

// varint reads a number as the packets of the game have it: six bits and the sign in
// the first byte, seven bits in each of up to four more, whose highest bit says that
// one follows. Negative numbers are inverted.
func varint(r *dissect.Reader, f *dissect.Field) int64 {
	c := r.PeekByte(0)
	sign, v, n := int32(c<<25)>>31, int32(c&0x3f), 1
	for shift := 6; c >= 0 && c&0x80 != 0 && n < 5; shift += 7 {
		c = r.PeekByte(n)
		v |= int32(c&0x7f) << shift
		n++
	}
	v ^= sign
	if r.Span(f, uint64(int64(v)), 0, n, 0); r.Failed() {
		return 0
	}
	return int64(v)
}

// decodeServers reads the list of a master: since 0.6 addresses of IPv6, in which
// those of IPv4 are mapped, and ports in network byte order.
func (d *decoder) decodeServers(r *dissect.Reader, m *dissect.Message) {
	s := wire.Body(m, &d.servers, Servers{Servers: d.servers.Servers[:0]})
	old := d.short.Word == "list"
	s.Servers = wire.Values(r, fServers, s.Servers, func() netip.AddrPort { return wire.Endpoint(r, fServer, !old, old) })
	m.Pair.Entries = len(s.Servers)
}
