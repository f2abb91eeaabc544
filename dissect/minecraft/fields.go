package minecraft

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("minecraft")

// style is the encoding of text: UTF-8 today, once the lower byte of every character,
// which is Latin-1, with codes after a section sign.
var style = summary.Style{Charset: dissect.Latin1, Codes: core.Minecraft}

var asText = dissect.InText(style.Charset, style.Codes)

var (
	head       = gamespy.DeclareHead(catalog, dissect.Name{Value: gamespy.TypeQuery, Name: "stat"}, dissect.Name{Value: gamespy.TypeHandshake, Name: "handshake"})
	fMangled   = catalog.Add("handshake.mangled_session_id", dissect.Bytes, "Session id that the server mangled: EF BF BD replaces bytes that are not valid UTF-8.", dissect.Public, dissect.Chosen)
	fGiven     = catalog.Add("handshake.challenge", dissect.Decimal, "Challenge token, a 32-bit number in text.", dissect.Token, dissect.Chosen)
	fChallenge = catalog.Add("challenge", dissect.Int, "Challenge token, big-endian.", dissect.Token, dissect.Chosen)
	fPadding   = catalog.Add("padding", dissect.Bytes, "Bytes after the token. Four bytes of any value ask for the full stat.", dissect.Public, core.Ignored)

	fMOTD       = catalog.Add("basic.motd", dissect.String, "Message of the day: the name of the server.", dissect.ServerText, asText)
	fGameType   = catalog.Add("basic.gametype", dissect.String, "SMP.", dissect.Public, asText)
	fMap        = catalog.Add("basic.map", dissect.String, "Name of the world.", dissect.Public, asText)
	fNumPlayers = catalog.Add("basic.numplayers", dissect.Decimal, "Players on the server.")
	fMaxPlayers = catalog.Add("basic.maxplayers", dissect.Decimal, "Maximum number of players.")
	fHostPort   = catalog.Add("basic.hostport", dissect.Uint, "Port of the server, little-endian, contrary to the document.")
	fHostIP     = catalog.Add("basic.hostip", dissect.String, "The server's own address as it knows it.", dissect.Address, asText)

	fSplitNum = catalog.Add("splitnum", dissect.String, "Nine bytes without meaning: the word splitnum, or GeyserMC from Geyser.", dissect.Framing)
	fNumber   = catalog.Add("number", dissect.Uint, "80: the first and last part.", dissect.Framing, dissect.Bits(dissect.Name{Value: gamespy.Last, Name: "last"}))
	full      = gamespy.SectionFields{
		Section:  catalog.Add("section", dissect.Uint, "Section that follows.", dissect.Framing, dissect.Names(gamespy.SectionNames()...)),
		Pairs:    keyvalue.Declare(catalog, asText),
		Players:  gamespy.DeclarePlayers(catalog, style),
		Column:   catalog.Add("column", dissect.String, "Name of a column: player_.", dissect.Framing),
		Start:    catalog.Add("start", dissect.Uint, "Row of the column's first value.", dissect.Framing),
		End:      catalog.Add("end", dissect.Bytes, "Zero bytes at the end of a list.", dissect.Framing),
		Replaced: catalog.Add("replaced", dissect.String, "A value that a later one replaces.", core.Repeated, dissect.Framing, core.InCharset(style.Charset)),
		Unread:   catalog.Add("unread", dissect.Bytes, "Bytes that are not a list.", core.Opaque, dissect.Framing),
	}

	fSoftware = catalog.Add("software", dissect.String, "Software of the server, from the setting plugins.", dissect.Public, asText)
	fPlugins  = catalog.Add("plugins", dissect.List, "Plugins of the server, from the setting of that name.")
	fPlugin   = catalog.Add("plugins.plugin", dissect.String, "Name and version of one plugin.", dissect.Public, asText)
)

// Requests and replies.
var (
	unanswered          = finding.NoReply(catalog, "mc.noreply", "The capture has no reply. The server is down, its query is disabled (enable-query=true enables it), the port is not its query port (query.port), the token is invalid, or a packet was lost, dropped or not captured. Servers ignore invalid requests.")
	unansweredChallenge = finding.New(catalog, dissect.Warning, "mc.noreply.after_handshake", "%p with the server's token unanswered%p",
		"The server gave a token, the client used it, and the capture has no reply. A firewall or a rate limit passes the short reply but drops the long one, a packet was lost or not captured, or the token had expired: the server discards all tokens every 30 seconds.", finding.LongReply)
	unrequested  = finding.Unrequested(catalog, "mc.unrequested", "The capture has requests of this conversation, but no pending one that this reply may answer. The request is missing from the capture, or the reply is late, a duplicate or forged.")
	otherSession = finding.New(catalog, dissect.Warning, "mc.session.other", "session id differs from the request in frame %d: %x instead of %x",
		"The reply has the kind that this request asks for, but no pending request has its session id. The server returns another id than it received, the reply is a late one to an earlier request, or it is forged. Clients that compare the id ignore it. For handshakes, bytes of the id from 80 up are shown as 80, because servers mangle them.", "A client should ignore the reply. If all replies of a server differ, compare only the lower four bits of each byte, as the protocol demands of session ids.")
	otherKind     = catalog.Finding(dissect.FindingType{ID: "mc.stat.other", Severity: dissect.Note, Text: "not the kind of reply that the %p in frame %d asks for", Doc: "The length of the request selects the stat: 15 bytes ask for the full one, 11 for the basic one. The server or a proxy decides otherwise or supports only one of the two, the request was changed in transit, or the reply answers another request."})
	tokenMismatch = finding.New(catalog, dissect.Warning, "mc.token.mismatch", "token %d is not among the latest that the server gave this client; the newest is %d",
		"The number is not among the last four that this server gave to this address in the capture. The client read it in the wrong byte order (it is big-endian) or kept it too long, or it was given before the capture began. Servers do not answer a wrong token.", finding.KeepChallenge)
	tokenLength = finding.New(catalog, dissect.Warning, "mc.token.length", "%d {byte|bytes}; 15 ask for the full stat, 11 for the basic one",
		"Servers look only at the length: 15 bytes ask for the full stat, any other length for the basic one. A client that pads its request differently gets less than it expects.", "Send 11 bytes for the basic stat (FE FD 00, session id, token) and exactly 4 more zero bytes for the full stat.")
	tokenMissing = finding.New(catalog, dissect.Warning, "mc.token.missing", "request without a token",
		"Servers answer only requests with the token of their handshake. The client omitted it, or the request was truncated.", "Send a handshake first (type 9) and repeat its token as four bytes in the request.")
	tokenText = finding.New(catalog, dissect.Warning, "mc.token.text", "the token is sent as text",
		"The handshake has the token as text, but the request must carry it as a big-endian number of four bytes. Servers do not answer this request.", "Convert the text of the handshake to a number and send it as four bytes, the highest first.")
	tokenNul = catalog.Finding(dissect.FindingType{ID: "mc.token.noterm", Severity: dissect.Note, Text: "no zero byte after the token", Doc: "The token is text that ends with a zero byte. Some servers omit it, and some clients then drop the last digit; a truncated reply looks the same."})
	mangled  = finding.New(catalog, dissect.Warning, "mc.session.mangled", "mangled session id: %d {byte|bytes} instead of 4",
		"The server builds its handshake reply from text. Bytes of the session id from 80 up are not valid UTF-8 and return as EF BF BD. Clients that compare the id, or read the token at its usual offset, fail. Choose session ids with all bytes below 80, for example by masking with 0F0F0F0F.", "Choose session ids that survive: mask a random number with 0F0F0F0F.")
	cached        = catalog.Finding(dissect.FindingType{ID: "mc.cached", Severity: dissect.Chat, Text: "equal to the reply in frame %d, %t earlier", Doc: "Servers cache a full stat for five seconds, so players and counts may be that old. More frequent requests give no newer data."})
	amplification = finding.New(catalog, dissect.Warning, "mc.amplification", "data sent without a token: %r times the request (%d bytes for %d)",
		"The server sends data to an address that has not been verified, so attackers can use it to flood others.", finding.LimitReplies)

	// The content of replies.
	motdNul = finding.New(catalog, dissect.Warning, "mc.motd.nul", "the name contains a zero byte",
		"Old servers write only the lower byte of every character. Characters such as U+2A00 become a zero byte, which seems to end the name. Clients that do not look for the next key misread everything after it.", "A client should look for the next key (00 \"gametype\" 00) instead of the first zero byte. In server.properties, use characters below U+0100 in the motd.")
	notLast      = catalog.Finding(dissect.FindingType{ID: "mc.number", Severity: dissect.Note, Text: "number %d without the mark of the last part", Doc: "Servers send 80 here: part 0, which is also the last one. This reply announces more parts, but replies of Minecraft have one. The server omits the mark, and clients that join the parts of GameSpy 3 wait for the rest; or this is a reply of GameSpy 3 with keys of Minecraft."})
	playersCount = catalog.Finding(dissect.FindingType{ID: "mc.players.count", Severity: dissect.Note, Text: "numplayers is %d, the list has %d", Doc: "The number of players differs from the length of the list: it counts a whole network or invented players. Pocket editions and proxies send such replies."})
	noValue      = catalog.Finding(dissect.FindingType{ID: "mc.novalue", Severity: dissect.Note, Text: "keys without a value: %d", Doc: "The server sent keys without a value and without a zero byte for it."})
	gap          = finding.New(catalog, dissect.Warning, "mc.gap", "empty keys within the settings: %d",
		"An empty key ends the settings, but they continue. Clients stop here.", "A client that sees known words instead of the players can read on. Report it to the author of the server with the capture.")
	noEnd  = catalog.Finding(dissect.FindingType{ID: "mc.end", Severity: dissect.Note, Text: "the reply ends within a list", Doc: "The zero byte at the end of a list is missing: the reply was truncated, or the server omits it."})
	broken = catalog.Finding(dissect.FindingType{ID: "mc.section", Length: true, Severity: dissect.Failed, Text: "%d {byte that is|bytes that are} not a list",
		Doc:    "The data is neither settings nor a list of players, and is not decoded. The reply is damaged, or its format is newer.",
		Advice: "If the server is a known one, report it to qdissect with the capture."})
)

var sectionFindings = gamespy.SectionFindings{NoValue: noValue, Gap: gap, NoEnd: noEnd, Broken: broken}

// again reports a server that repeats a recent reply.
func again(x *dissect.Turn) {
	if x.SameIn != 0 {
		x.Note(cached, dissect.Num(x.SameIn), dissect.Dur(x.SameAgo))
	}
}
