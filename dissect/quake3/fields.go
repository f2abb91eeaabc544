package quake3

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
)

var fields = dissect.NewCatalog("quake3")

// Every message.
var (
	fHeader = fields.Add("header", dissect.Int, "-1: the message stands outside of a connection.", dissect.Framing)
	fSide   = fields.Add("side", dissect.Uint, "Medal of Honor: who sends.", dissect.Framing, dissect.Names(
		dissect.Name{Value: fromServer, Name: "server"}, dissect.Name{Value: fromClient, Name: "client"}))
	fCommand   = fields.Add("command", dissect.String, "The word that says which message it is.")
	fArguments = fields.Add("arguments", dissect.String, "What follows those words that the message has.")
	fBlanks    = fields.Add("blanks", dissect.Bytes, "Blanks between words.", dissect.Framing)
	fQuote     = fields.Add("quote", dissect.Bytes, "Quotation mark around the settings.", dissect.Framing)
	fEnd       = fields.Add("end", dissect.Bytes, "New lines and zero bytes.", dissect.Framing)
)

// Queries. The challenge of a query is any text; servers send it back as a
// setting of that name.
var fQueryChallenge = fields.Add("query.challenge", dissect.String, "Text of the client's choice that the reply has to bring back.", dissect.Chosen, dissect.InJSON("challenge_text"))

// The settings of a server.
var rules = keyvalue.Declare(fields, dissect.InStyle(dissect.Quake3))

// The players. Their lines differ from game to game.
var (
	fPlayers = fields.Add("players", dissect.List, "The players.")
	fPlayer  = fields.Add("players.player", dissect.Group, "One player.")
	fScore   = fields.Add("players.score", dissect.Decimal, "Score; a fraction in some modes of Xonotic. Medal of Honor has none.")
	fPing    = fields.Add("players.ping", dissect.Decimal, "Round-trip time in milliseconds; 0 for bots, 999 while connecting.")
	fTeam    = fields.Add("players.team", dissect.Decimal, "Number of the team: before the name in Nexuiz, Xonotic and Soldier of Fortune II, behind it in Warsow.")
	fColumn1 = fields.Add("players.column_1", dissect.Decimal, "Medal of Honor: Pacific Assault: not known.")
	fColumn3 = fields.Add("players.column_3", dissect.Decimal, "Medal of Honor: Pacific Assault: not known.")
	fTime    = fields.Add("players.time", dissect.Decimal, "Medal of Honor: Pacific Assault: time on the server.")
	fColumn5 = fields.Add("players.column_5", dissect.Decimal, "Medal of Honor: Pacific Assault: not known.")
	fColumns = fields.Add("players.columns", dissect.List, "Numbers before the name that no known game has.")
	fColumn  = fields.Add("players.columns.column", dissect.String, "One of them.")
	fRank    = fields.Add("players.rank", dissect.String, "Medal of Honor: Pacific Assault: rank.", dissect.InStyle(dissect.Quake3))
	fName    = fields.Add("players.name", dissect.String, "Name, with colour codes.", dissect.InStyle(dissect.Quake3))
	fAddress = fields.Add("players.address", dissect.String, "Address of the player, which a few engines tell everybody.")
	fLine    = fields.Add("players.line", dissect.String, "A line that is not one of a player.", dissect.Framing)
)

// Connecting.
var (
	fClientChallenge = fields.Add("connect.client_challenge", dissect.Decimal, "Number of the client's choice that the server sends back.", dissect.Chosen)
	fGame            = fields.Add("connect.game", dissect.String, "Name of the game (ioquake3).")
	fKeyHash         = fields.Add("connect.key_hash", dissect.String, "Call of Duty: hash of the CD key, by which servers know the player.", dissect.Secret)
	fChallenge       = fields.Add("connect.challenge", dissect.Decimal, "Number by which the server knows that the client receives what it sends there.", dissect.Chosen)
	fProtocol        = fields.Add("connect.protocol", dissect.Decimal, "Version of the network protocol.")
	fPacked          = fields.Add("connect.packed", dissect.Bytes, "The userinfo as the engine packed it.", dissect.Framing, dissect.Secret)
	fUserinfo        = fields.Add("userinfo", dissect.List, "What the client says of itself.")
	fSetting         = fields.Add("userinfo.setting", dissect.Group, "One setting.")
	fKey             = fields.Add("userinfo.key", dissect.String, "Name of the setting.")
	fValue           = fields.Add("userinfo.value", dissect.String, "Value of the setting.", dissect.InStyle(dissect.Quake3))
	fSecret          = fields.Add("userinfo.secret.value", dissect.String, "Value of a setting that nobody else should know: passwords, keys, tickets, and the identifier that admins are known by.", dissect.Secret)
)

// The token by which a server knows that a client's address is not forged.
var (
	fEchoWord  = fields.Add("echo.word", dissect.String, "Word that the client has to begin with: echoResponse.", dissect.Framing)
	fEchoQuery = fields.Add("echo.query", dissect.String, "Word of the client's query.")
	fEchoToken = fields.Add("echo.token", dissect.String, "Text of the server's choice that the client has to send back.", dissect.Chosen)
)

// The remote console, and text for people.
var (
	fPassword = fields.Add("rcon.password", dissect.String, "Password of the remote console.", dissect.Secret)
	fSecond   = fields.Add("rcon.second_word", dissect.String, "What follows a number in the place of the password: the password in Half-Life's form, whose number is a challenge, or the command.", dissect.Secret)
	fLineOf   = fields.Add("rcon.command_line", dissect.String, "Command for the console of the server.")
	fText     = fields.Add("text", dissect.String, "Text for people.", dissect.InStyle(dissect.Quake3))

	fHiddenLine, fHiddenText = fLineOf.Hidden(), fText.Hidden() // with a password in them
)

// The authorization of CD keys (authorize.quake3arena.com and others).
var (
	fAnonymous   = fields.Add("authorize.anonymous", dissect.Decimal, "Whether the client has no key, or the server takes such clients.")
	fCDKey       = fields.Add("authorize.cd_key", dissect.String, "CD key of the game.", dissect.Secret)
	fIPChallenge = fields.Add("authorize.challenge", dissect.Decimal, "Challenge that the server gave to the client in question.", dissect.Chosen)
	fIP          = fields.Add("authorize.ip", dissect.String, "Address of that client.")
	fDirectory   = fields.Add("authorize.game", dissect.String, "Directory of the game.")
	fHiddenRest  = fArguments.Hidden() // the hash of a key
	fVerdict     = fields.Add("authorize.verdict", dissect.String, "accept, demo, deny or unknown.")
)
