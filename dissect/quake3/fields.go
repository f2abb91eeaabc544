package quake3

import (
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
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
	declined      = finding.Declined(catalog, "q3.refused", mPrint, mConnectRequest, mChallengeRequest)
	rconRefused   = catalog.Finding(dissect.FindingType{ID: "q3.rcon.refused", Severity: dissect.Note, Class: core.OfRefusal, Text: "the server refused a remote console command", Doc: "The password is wrong, or the server has none set. Many of these in a row mean that somebody is guessing passwords."})
)

// The topics of requests.
const (
	topicStatus dissect.Topic = 1 << iota
	topicInfo
	topicChallenge
	topicConnect
	topicRcon
	topicKey
	topicAddress
	topicMotd
	topicPing
	topicSrcon
)

var (
	mStatusRequest    = catalog.Message(dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "getstatus: asks for all public settings and the players."})
	mStatusReply      = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status reply", Role: dissect.Reply, Doc: "statusResponse: the settings in one line, and a line for each player."})
	mInfoRequest      = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "getinfo: asks for the basic settings that a list of servers shows. Masters send it as well, to check that a server responds."})
	mInfoReply        = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info reply", Role: dissect.Reply, Doc: "infoResponse: basic settings. Servers also answer their master with it."})
	mGameComplete     = catalog.Message(dissect.MessageType{Name: "game_complete", Title: "game complete", Role: dissect.OneWay, Doc: "gameCompleteStatus: the Wolfenstein games report the end of a match to their masters, in the format of a status reply."})
	mChallengeRequest = catalog.Message(dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "getchallenge: the first message of a client that connects."})
	mChallengeReply   = catalog.Message(dissect.MessageType{Name: "challenge_reply", Title: "challenge", Role: dissect.Reply, Doc: "challengeResponse, or challenge from DarkPlaces: the number that connect must carry."})
	mConnectRequest   = catalog.Message(dissect.MessageType{Name: "connect_request", Title: "connect request", Role: dissect.Request, Doc: "connect: the second message of a client that connects, with its settings, among them the password and identifiers. All but the oldest engines pack them."})
	mConnectReply     = catalog.Message(dissect.MessageType{Name: "connect_reply", Title: "connect reply", Role: dissect.Reply, Doc: "connectResponse: the server accepts the client."})
	mDisconnect       = catalog.Message(dissect.MessageType{Name: "disconnect", Title: "disconnect", Role: dissect.OneWay, Doc: "disconnect: the server does not know this client."})
	mRcon             = catalog.Message(dissect.MessageType{Name: "rcon_request", Title: "rcon command", Role: dissect.Request, Doc: "rcon: a command for the server's console. The password is not encrypted."})
	mSrcon            = catalog.Message(dissect.MessageType{Name: "srcon_request", Title: "secure rcon command", Role: dissect.Request, Unanswered: srconUnanswered, Doc: "srcon: a command for the console of a DarkPlaces server, with a digest in place of the password."})
	mPingRequest      = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "ping: asks a DarkPlaces server for a sign of life."})
	mPingReply        = catalog.Message(dissect.MessageType{Name: "ping_reply", Title: "ping reply", Role: dissect.Reply, Doc: "ack: a sign of life."})
	mPrint            = catalog.Message(dissect.MessageType{Name: "print", Title: "print", Role: dissect.Reply, Doc: "print, or n from DarkPlaces: output of a remote command in one or more messages, or the reason why the server refuses a client."})
	mEcho             = catalog.Message(dissect.MessageType{Name: "echo", Title: "echo", Role: dissect.OneWay, Doc: "echo: asks a client to return the text."})
	mEchoChallenge    = catalog.Message(dissect.MessageType{Name: "echo_challenge", Title: "echo challenge", Role: dissect.Reply, Doc: "echo \"echoResponse getstatus TOKEN\": a server (JK2MV, OpenJK) verifies the client's address before it answers the query."})
	mEchoResponse     = catalog.Message(dissect.MessageType{Name: "echo_response", Title: "echo response", Role: dissect.Request, Doc: "echoResponse: the client returns the query and the token of the server's echo, which asks for the same as the query."})
	mKeyRequest       = catalog.Message(dissect.MessageType{Name: "key_authorize_request", Title: "key authorization request", Role: dissect.Request, Doc: "getKeyAuthorize: a client sends its CD key to the authorization server."})
	mKeyReply         = catalog.Message(dissect.MessageType{Name: "key_authorize_reply", Title: "key authorization", Role: dissect.Reply, Doc: "keyAuthorize: the reply, which clients ignore."})
	mAddressRequest   = catalog.Message(dissect.MessageType{Name: "ip_authorize_request", Title: "address authorization request", Role: dissect.Request, Doc: "getIpAuthorize: a server asks the authorization server whether the client at an address has sent a key."})
	mAddressReply     = catalog.Message(dissect.MessageType{Name: "ip_authorize_reply", Title: "address authorization", Role: dissect.Reply, Doc: "ipAuthorize: the verdict."})
	mMotdRequest      = catalog.Message(dissect.MessageType{Name: "motd_request", Title: "motd request", Role: dissect.Request, Doc: "getmotd: a client describes its system to the update server and asks for the message of the day."})
	mMotdReply        = catalog.Message(dissect.MessageType{Name: "motd_reply", Title: "motd", Role: dissect.Reply, Doc: "motd: the message of the day."})
	mUnknown          = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown", Role: dissect.OneWay, Doc: "The header of a message with an unknown word or none."})
)

// A Message is a pointer to one of the structs of this package.
type Message any

// Query is getstatus or getinfo.
type Query struct {
	// Challenge is a text that the reply returns, "" for none.
	Challenge string
}

// StatusReply is statusResponse, or gameCompleteStatus.
type StatusReply struct {
	// Rules are the settings in the order of the message.
	Rules   []dissect.KeyValue
	Players []Player

	server dissect.Server
}

// Player is one line of a status reply. Its values depend on the game.
type Player struct {
	// Name holds the bytes of the wire, with colour codes.
	Name string
	// Score may have a fraction in some modes of Xonotic.
	Score dissect.Opt[float64]
	// Ping is in milliseconds; 0 for bots.
	Ping dissect.Opt[int]
	// Team is a number; its meaning depends on the game.
	Team dissect.Opt[int]
	// Address is the player's address, "" if the server does not send it.
	Address string
	// Rank is sent by Medal of Honor: Pacific Assault.
	Rank string
}

// InfoReply is infoResponse.
type InfoReply struct {
	// Rules are the settings in the order of the message.
	Rules []dissect.KeyValue

	server dissect.Server
}

// ChallengeRequest is getchallenge.
type ChallengeRequest struct {
	// ClientChallenge and Game are "" from engines older than ioquake3.
	ClientChallenge, Game string
	// KeyHash is the hash of the CD key (Call of Duty).
	KeyHash string
}

// ChallengeReply is challengeResponse or challenge.
type ChallengeReply struct {
	// Challenge is a number in text; any text from DarkPlaces.
	Challenge string
	// ClientChallenge and Protocol are "" from engines older than ioquake3.
	ClientChallenge, Protocol string
}

// Connect is connect.
type Connect struct {
	// Userinfo holds the client's settings, its password among them.
	Userinfo []dissect.KeyValue
	// Packed is the size of the packed userinfo in bytes, 0 if it was not packed.
	Packed int
}

// ConnectReply is connectResponse.
type ConnectReply struct {
	// Challenge is "" from engines older than ioquake3.
	Challenge string
}

// Rcon is a command for the remote console.
type Rcon struct{ Password, Command string }

// Srcon is a command for the remote console of DarkPlaces, with a digest in place of
// the password.
type Srcon struct {
	// Mode is TIME or CHALLENGE, and says which of the other two is set. Time is in
	// seconds since 1970, as text.
	Mode, Time, Challenge string
	Digest                [16]byte
	Command               string
}

// Text is print or echo.
type Text struct{ Text string }

// Echo is an echo by which a server verifies an address, or the client's answer.
type Echo struct {
	// Query is the word of the client's query, such as getstatus.
	Query string
	// Token is a text that the server chose.
	Token string
}

// Authorize is a message to or from the authorization server.
type Authorize struct {
	// Challenge and IP are those of the client, in getIpAuthorize and ipAuthorize.
	Challenge, IP string
	// CDKey is the client's key, or a part of it.
	CDKey string
	// Game is the directory of the game.
	Game string
	// Verdict is accept, demo, deny or unknown.
	Verdict string
}

// Motd is getmotd or motd.
type Motd struct{ Rules []dissect.KeyValue }

// Other is a message without content, or an unknown message.
type Other struct{ Command string }

// style is for text of players, plain for text of programs.
var (
	style = wire.Style{Charset: dissect.Guessed, Codes: dissect.Quake3}
	plain = wire.Style{Charset: dissect.Guessed}
)

// labelled appends a label and a value, or nothing if the value is empty.
func labelled(dst []byte, label, s string) []byte {
	if s == "" {
		return dst
	}
	return plain.Text(dst, label, s)
}

// AppendSummary appends the challenge.
func (m *Query) AppendSummary(dst []byte) []byte { return labelled(dst, "challenge ", m.Challenge) }

// AppendSummary appends the query and the token.
func (m *Echo) AppendSummary(dst []byte) []byte {
	dst = plain.Text(dst, "", m.Query)
	return labelled(dst, "  token ", m.Token)
}

// appendServer appends the name, the game and the players.
func appendServer(dst []byte, s *dissect.Server) []byte {
	short := *s
	short.Version = dissect.Opt[string]{} // long, and the same everywhere
	return short.AppendSummary(dst)
}

// AppendSummary appends the name, the game and the players.
func (m *StatusReply) AppendSummary(dst []byte) []byte { return appendServer(dst, &m.server) }

// AppendSummary appends the name, the game and the players.
func (m *InfoReply) AppendSummary(dst []byte) []byte { return appendServer(dst, &m.server) }

// AppendSummary appends the client's number and the game.
func (m *ChallengeRequest) AppendSummary(dst []byte) []byte {
	dst = labelled(dst, "", m.ClientChallenge)
	return labelled(dst, " for ", m.Game)
}

// AppendSummary appends the number.
func (m *ChallengeReply) AppendSummary(dst []byte) []byte { return labelled(dst, "", m.Challenge) }

// AppendSummary appends the name of the player.
func (m *Connect) AppendSummary(dst []byte) []byte {
	for i := range m.Userinfo {
		if kv := &m.Userinfo[i]; kv.Key == "name" {
			return style.Quoted(dst, "", kv.Value)
		}
	}
	return dst
}

// AppendSummary appends the number.
func (m *ConnectReply) AppendSummary(dst []byte) []byte {
	return labelled(dst, "challenge ", m.Challenge)
}

// AppendSummary appends the command, never a password.
func (m *Rcon) AppendSummary(dst []byte) []byte {
	command := m.Command
	if pre, n, suf := quake.NextWord(command); keyvalue.Int(m.Password).OK && pre+n+suf > 0 {
		dst = append(dst, "*** "...)
		command = command[pre+n+suf:]
	}
	return plain.Concealed(dst, command, console.CommandSecret(command))
}

// AppendSummary appends the command, never a password.
func (m *Srcon) AppendSummary(dst []byte) []byte {
	return plain.Concealed(dst, m.Command, console.CommandSecret(m.Command))
}

// maxLine is how many bytes of a line a summary shows.
const maxLine = 60

// AppendSummary appends the first line.
func (m *Text) AppendSummary(dst []byte) []byte {
	line, rest, _ := strings.Cut(strings.TrimLeft(m.Text, " \n"), "\n")
	if n := console.Secret(line); n < len(line) {
		return style.Concealed(dst, line, n)
	}
	if dst = style.Quoted(dst, "", nettext.Cut(line, maxLine)); len(line) > maxLine {
		dst = append(dst, " …"...)
	}
	if rest != "" {
		dst = wire.Plural(dst, " and ", 1+strings.Count(rest, "\n"), "line", "lines")
	}
	return dst
}

// AppendSummary appends the address and the verdict, never the key.
func (m *Authorize) AppendSummary(dst []byte) []byte {
	dst = labelled(dst, "", m.IP)
	return labelled(dst, "", m.Verdict)
}

// AppendSummary appends the message of the day.
func (m *Motd) AppendSummary(dst []byte) []byte {
	for i := range m.Rules {
		if kv := &m.Rules[i]; kv.Key == "motd" {
			return style.Quoted(dst, "", kv.Value)
		}
	}
	return dst
}
