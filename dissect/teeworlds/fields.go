package teeworlds

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
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
