package quake3

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("quake3")

// Every message.
var (
	words = quake.Declare(catalog, dissect.FreeText)
	fSide = catalog.Add("side", dissect.Uint, "Medal of Honor: sender of the message.", dissect.Framing, dissect.Names(
		dissect.Name{Value: fromServer, Name: "server"}, dissect.Name{Value: fromClient, Name: "client"}))
)

// Queries. Servers return the challenge of a query as the setting challenge.
var fQueryChallenge = catalog.Add("query.challenge", dissect.String, "Text that the client chose; the reply must return it.", dissect.Token, dissect.Chosen, core.InJSON("challenge_text"))

// The settings of a server.
var rules = keyvalue.Declare(catalog, core.InStyle(dissect.Quake3))

// The players. Their lines differ from game to game.
var (
	fPlayers = catalog.Add("players", dissect.List, "The players.")
	fPlayer  = catalog.Add("players.player", dissect.Group, "One player.")
	fScore   = catalog.Add("players.score", dissect.Decimal, "Score; a fraction in some modes of Xonotic. Medal of Honor has none.")
	fPing    = catalog.Add("players.ping", dissect.Decimal, "Round-trip time in milliseconds; 0 for bots, 999 while connecting.")
	fTeam    = catalog.Add("players.team", dissect.Decimal, "Number of the team. It is before the name in Nexuiz, Xonotic and Soldier of Fortune II, after it in Warsow.")
	fColumn1 = catalog.Add("players.column_1", dissect.Decimal, "Medal of Honor: Pacific Assault: unknown.")
	fColumn3 = catalog.Add("players.column_3", dissect.Decimal, "Medal of Honor: Pacific Assault: unknown.")
	fPlaying = catalog.Add("players.time", dissect.Decimal, "Medal of Honor: Pacific Assault: time on the server.")
	fColumn5 = catalog.Add("players.column_5", dissect.Decimal, "Medal of Honor: Pacific Assault: unknown.")
	fColumns = catalog.Add("players.columns", dissect.List, "Unknown numbers before the name.")
	fColumn  = catalog.Add("players.columns.column", dissect.String, "One number.", dissect.FreeText)
	fRank    = catalog.Add("players.rank", dissect.String, "Medal of Honor: Pacific Assault: rank.", dissect.FreeText, core.InStyle(dissect.Quake3))
	fName    = catalog.Add("players.name", dissect.String, "Name, with colour codes.", dissect.PersonName, core.InStyle(dissect.Quake3))
	fAddress = catalog.Add("players.address", dissect.String, "Address of the player; a few engines publish it.", dissect.Address)
	fLine    = catalog.Add("players.line", dissect.String, "A line that has no format of a player.", dissect.FreeText, dissect.Framing)

	// Connecting.
	fClientChallenge = catalog.Add("connect.client_challenge", dissect.Decimal, "Number that the client chose; the server returns it.", dissect.Token, dissect.Chosen)
	fGame            = catalog.Add("connect.game", dissect.String, "Name of the game (ioquake3).", dissect.Public)
	fKeyHash         = catalog.Add("connect.key_hash", dissect.String, "Call of Duty: hash of the CD key, which identifies the player.", dissect.Secret)
	fChallenge       = catalog.Add("connect.challenge", dissect.Decimal, "Number that proves that the client receives packets at its address.", dissect.Token, dissect.Chosen)
	fProtocol        = catalog.Add("connect.protocol", dissect.Decimal, "Version of the network protocol.")
	fPacked          = catalog.Add("connect.packed", dissect.Bytes, "The userinfo, packed by the engine.", core.Becomes("unpacked"), dissect.Framing, dissect.Secret)
	fCrypto          = catalog.Add("connect.crypto", dissect.Bytes, "DarkPlaces: keys and methods by which client and server may encrypt the game.")
	fUserinfo        = catalog.Add("userinfo", dissect.List, "Settings of the client.")
	fSetting         = catalog.Add("userinfo.setting", dissect.Group, "One setting.")
	fKey             = catalog.Add("userinfo.key", dissect.String, "Name of the setting.", dissect.SettingName)
	fValue           = catalog.Add("userinfo.value", dissect.String, "Value of the setting.", dissect.Setting, core.InStyle(dissect.Quake3))
	fSecret          = catalog.Add("userinfo.secret.value", dissect.String, "Value of a secret setting: password, key, ticket, or the identifier by which servers recognise admins.", dissect.Secret)

	// The token that proves a client's address.
	fEchoWord  = catalog.Add("echo.word", dissect.String, "First word of the client's answer: echoResponse.", dissect.Framing)
	fEchoQuery = catalog.Add("echo.query", dissect.String, "Word of the client's query.", dissect.Public)
	fEchoToken = catalog.Add("echo.token", dissect.String, "Text that the server chose; the client must return it.", dissect.Token, dissect.Chosen)

	// The remote console, and text for people.
	rcon  = quake.DeclareRcon(catalog)
	fText = catalog.Add("text", dissect.String, "Text for people.", dissect.FreeText, core.InStyle(dissect.Quake3))

	// DarkPlaces' commands without a password.
	fMethod = catalog.Add("srcon.method", dissect.String, "How the digest is made: HMAC-MD4.", dissect.Public)
	fMode   = catalog.Add("srcon.mode", dissect.String, "What goes into the digest, so that it is valid for one command only: TIME or CHALLENGE.", dissect.Public)
	fDigest = catalog.Add("srcon.digest", dissect.Bytes, "Digest of the password and of all that follows.", dissect.Chosen)
	fTime   = catalog.Add("srcon.time", dissect.Decimal, "Time of the client in seconds since 1970.", dissect.Public, dissect.Chosen)

	fHiddenText = fText.Hidden() // contains a password

	// The authorization of CD keys (authorize.quake3arena.com and others).
	fAnonymous   = catalog.Add("authorize.anonymous", dissect.Decimal, "The client has no key, or the server accepts such clients.")
	fCDKey       = catalog.Add("authorize.cd_key", dissect.String, "CD key of the game.", dissect.Secret)
	fIPChallenge = catalog.Add("authorize.challenge", dissect.Decimal, "Challenge that the server gave to the client.", dissect.Token, dissect.Chosen)
	fIP          = catalog.Add("authorize.ip", dissect.String, "Address of the client.", dissect.Address)
	fDirectory   = catalog.Add("authorize.game", dissect.String, "Directory of the game.", dissect.Public)
	fHiddenRest  = words.Arguments.Hidden() // the hash of a key
	fVerdict     = catalog.Add("authorize.verdict", dissect.String, "accept, demo, deny or unknown.", dissect.Public)
)

// Requests and replies.
var (
	unanswered      = finding.NoReply(catalog, "q3.noreply", "The capture has no reply within the time that clients wait. The server is down, the port is wrong, the request or the reply was lost, dropped by a firewall or not captured, or the server limits its replies: ioquake3 to ten at once and one per second for an address, DarkPlaces to one per second. DarkPlaces refuses a remote command in silence if its password is wrong or rcon_secure is set. Some servers answer only requests from their own port number (see q3.srcport), and none answer a challenge of more than 128 characters.")
	srconUnanswered = finding.Unanswered(catalog, "q3.srcon.noreply", "The capture has no reply within the time that clients wait. DarkPlaces refuses in silence: the password is another, the clocks of client and server differ by more than rcon_secure_maxdiff (5 seconds) in the mode TIME, or the challenge is not one that the server gave to this client or was used before. A command may also print nothing. Else the server is down, or a packet was lost.")
	unrequested     = finding.Unrequested(catalog, "q3.unrequested", "The capture has requests of this conversation, but none that this reply answers. The request is missing from the capture, the reply is late or a duplicate, or somebody forged it.")
	amplification   = catalog.Finding(dissect.FindingType{ID: "q3.amplification", Severity: dissect.Note, Text: "replies without address verification: %r times the request (%d bytes for %d)",
		Doc: "The server does not verify the client's address, so whoever forges the address of a request makes the server flood it, usually with status replies. Current servers limit how often they answer; operators set limits in the firewall. The challenge of a query protects clients from forged replies, but not others from the server."})
	challengeEcho = catalog.Finding(dissect.FindingType{ID: "q3.challenge_echo", Severity: dissect.Warning, Class: core.OfServer, Text: "the reply does not have the challenge of the request in frame %d",
		Doc:    "A server returns the text after getstatus or getinfo as the setting challenge, so that clients and masters can reject forged replies. This reply has another text or none: it was made for another client (a cache in front of the server, an attack), the server is not a Quake 3 server, or the text contains characters that servers drop (see q3.challenge_form). Masters do not list such a server.",
		Advice: "A client should ignore the reply, or ask with a text of letters and digits. On the server, look for a cache or a DDoS protection that answers with stored replies."})
	challengeForm = catalog.Finding(dissect.FindingType{ID: "q3.challenge_form", Severity: dissect.Note, Text: "servers do not return this challenge unchanged", Doc: "A setting cannot contain a backslash, a quotation mark or a semicolon, so servers omit such a challenge from the reply. ioquake3 does not answer a challenge of more than 128 characters."})
	tokenRequired = catalog.Finding(dissect.FindingType{ID: "q3.token.required", Severity: dissect.Chat, Text: "the server requires a token before it answers", Doc: "JK2MV and OpenJK can answer a query with a token and send data only after the client has returned it, so that nobody can use them to flood a forged address. Query clients that do not support this get no data from such servers."})
	tokenMismatch = finding.New(catalog, dissect.Warning, "q3.token.mismatch", "the server did not give this token to this client",
		"The token in echoResponse is not among the latest that this server gave to this address in the capture. The client changed it, kept it too long, asked from another address, or got it before the capture began. The server ignores the message or sends a new token.", finding.KeepChallenge)
	samePort = catalog.Finding(dissect.FindingType{ID: "q3.srcport", Severity: dissect.Note, Class: core.OfCapture, Text: "client and server use the same port", Doc: "The ports do not show which side is the server. Game clients use the server's default port themselves; some servers (Call of Duty, Jedi Academy) answer only such requests, and query clients for them do the same."})

	// Settings and players.
	oddKey  = finding.OddKey(catalog, "q3.oddkv", "Keys and values do not pair up: the reply was truncated, or a value contains a backslash and shifts everything after it. Strict clients reject the reply.")
	noStart = finding.New(catalog, dissect.Warning, "q3.start", "the settings do not begin with a backslash",
		"Clients that skip the first character lose the first letter of the first key; strict clients reject the reply.", "The server should begin the settings with a backslash. A client should skip the first character only if it is one.")
	newLine = catalog.Finding(dissect.FindingType{ID: "q3.newline", Severity: dissect.Note, Text: "the value of %s contains a newline", Doc: "The settings should be one line. Clients that read line by line take the rest for players. ioquake3 servers with fs_manifest send such replies."})
	noEnd   = finding.Length(catalog, "q3.noeol", "no newline at the end",
		"A status reply ends with a new line. This one was truncated, or its server is of another kind. Some clients lose the last player or reject the reply.", "A client should accept the end of the data as the end of a line.")
	cutPlayer = finding.Length(catalog, "q3.cut", "truncated in the middle of a player",
		"The reply ends within a line. Complete lines are shown; the rest is in the field data.", finding.CutList)
	notPlayer = finding.New(catalog, dissect.Warning, "q3.line", "not a line of a player: %s",
		"A line after the settings has no known format of a player. It is shown but not counted.", "A client should skip the line. On the server, look for a mod or plugin that prints into the status.")
	nameQuote = finding.New(catalog, dissect.Warning, "q3.name_quote", "the name %s contains a quotation mark",
		"Names are in quotation marks, and a quotation mark within a name is not escaped. Clients that read up to the next one truncate the name, or take the rest for another column.", "A client should read the name up to the last quotation mark of the line.")
	counts = catalog.Finding(dissect.FindingType{ID: "q3.counts", Severity: dissect.Note, Text: "%d {player|players} of at most %d", Doc: "More players than slots: invented players, or a server that does not count its bots or its private slots."})

	// Others.
	empty = finding.New(catalog, dissect.Failed, "q3.empty", "header without a message",
		"The datagram is FF FF FF FF and nothing else: a scanner, or a truncated datagram.", "Ignore it. If one address sends many, limit it in a firewall.")
	connectCut = finding.Length(catalog, "q3.connect.cut", "the packed userinfo is incomplete",
		"The packed userinfo unpacks to fewer bytes than it announces, or to more than the engine allows. The unpacked part is shown.", "Ignore it if it is an attack. If players cannot join, compare with a capture at the client: something on the way cuts the packet.")
	connectPacked = catalog.Finding(dissect.FindingType{ID: "q3.connect.packed", Severity: dissect.Note, Text: "the userinfo is packed in an unknown way", Doc: "Most engines use the adaptive Huffman code of Quake 3; some later ones have another code. Damaged data looks the same."})
	rconRefused   = catalog.Finding(dissect.FindingType{ID: "q3.rcon.refused", Severity: dissect.Note, Text: "the server refused a remote console command", Doc: "The password is wrong, or the server has none set. Many of these in a row mean that somebody is guessing passwords."})
)
