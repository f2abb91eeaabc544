package quake3

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/internal/core"
)

var fields = dissect.NewCatalog("quake3")

// Every message.
var (
	words = quake.Declare(fields, dissect.FreeText)
	fSide = fields.Add("side", dissect.Uint, "Medal of Honor: sender of the message.", dissect.Framing, dissect.Names(
		dissect.Name{Value: fromServer, Name: "server"}, dissect.Name{Value: fromClient, Name: "client"}))
)

// Queries. Servers return the challenge of a query as the setting challenge.
var fQueryChallenge = fields.Add("query.challenge", dissect.String, "Text that the client chose; the reply must return it.", dissect.Token, dissect.Chosen, core.InJSON("challenge_text"))

// The settings of a server.
var rules = keyvalue.Declare(fields, core.InStyle(dissect.Quake3))

// The players. Their lines differ from game to game.
var (
	fPlayers = fields.Add("players", dissect.List, "The players.")
	fPlayer  = fields.Add("players.player", dissect.Group, "One player.")
	fScore   = fields.Add("players.score", dissect.Decimal, "Score; a fraction in some modes of Xonotic. Medal of Honor has none.")
	fPing    = fields.Add("players.ping", dissect.Decimal, "Round-trip time in milliseconds; 0 for bots, 999 while connecting.")
	fTeam    = fields.Add("players.team", dissect.Decimal, "Number of the team. It is before the name in Nexuiz, Xonotic and Soldier of Fortune II, after it in Warsow.")
	fColumn1 = fields.Add("players.column_1", dissect.Decimal, "Medal of Honor: Pacific Assault: unknown.")
	fColumn3 = fields.Add("players.column_3", dissect.Decimal, "Medal of Honor: Pacific Assault: unknown.")
	fPlaying = fields.Add("players.time", dissect.Decimal, "Medal of Honor: Pacific Assault: time on the server.")
	fColumn5 = fields.Add("players.column_5", dissect.Decimal, "Medal of Honor: Pacific Assault: unknown.")
	fColumns = fields.Add("players.columns", dissect.List, "Unknown numbers before the name.")
	fColumn  = fields.Add("players.columns.column", dissect.String, "One number.", dissect.FreeText)
	fRank    = fields.Add("players.rank", dissect.String, "Medal of Honor: Pacific Assault: rank.", dissect.FreeText, core.InStyle(dissect.Quake3))
	fName    = fields.Add("players.name", dissect.String, "Name, with colour codes.", dissect.PersonName, core.InStyle(dissect.Quake3))
	fAddress = fields.Add("players.address", dissect.String, "Address of the player; a few engines publish it.", dissect.Address)
	fLine    = fields.Add("players.line", dissect.String, "A line that has no format of a player.", dissect.FreeText, dissect.Framing)

	// Connecting.
	fClientChallenge = fields.Add("connect.client_challenge", dissect.Decimal, "Number that the client chose; the server returns it.", dissect.Token, dissect.Chosen)
	fGame            = fields.Add("connect.game", dissect.String, "Name of the game (ioquake3).", dissect.Public)
	fKeyHash         = fields.Add("connect.key_hash", dissect.String, "Call of Duty: hash of the CD key, which identifies the player.", dissect.Secret)
	fChallenge       = fields.Add("connect.challenge", dissect.Decimal, "Number that proves that the client receives packets at its address.", dissect.Token, dissect.Chosen)
	fProtocol        = fields.Add("connect.protocol", dissect.Decimal, "Version of the network protocol.")
	fPacked          = fields.Add("connect.packed", dissect.Bytes, "The userinfo, packed by the engine.", core.Becomes("unpacked"), dissect.Framing, dissect.Secret)
	fCrypto          = fields.Add("connect.crypto", dissect.Bytes, "DarkPlaces: keys and methods by which client and server may encrypt the game.")
	fUserinfo        = fields.Add("userinfo", dissect.List, "Settings of the client.")
	fSetting         = fields.Add("userinfo.setting", dissect.Group, "One setting.")
	fKey             = fields.Add("userinfo.key", dissect.String, "Name of the setting.", dissect.SettingName)
	fValue           = fields.Add("userinfo.value", dissect.String, "Value of the setting.", dissect.Setting, core.InStyle(dissect.Quake3))
	fSecret          = fields.Add("userinfo.secret.value", dissect.String, "Value of a secret setting: password, key, ticket, or the identifier by which servers recognise admins.", dissect.Secret)

	// The token that proves a client's address.
	fEchoWord  = fields.Add("echo.word", dissect.String, "First word of the client's answer: echoResponse.", dissect.Framing)
	fEchoQuery = fields.Add("echo.query", dissect.String, "Word of the client's query.", dissect.Public)
	fEchoToken = fields.Add("echo.token", dissect.String, "Text that the server chose; the client must return it.", dissect.Token, dissect.Chosen)

	// The remote console, and text for people.
	rcon  = quake.DeclareRcon(fields)
	fText = fields.Add("text", dissect.String, "Text for people.", dissect.FreeText, core.InStyle(dissect.Quake3))

	// DarkPlaces' commands without a password.
	fMethod = fields.Add("srcon.method", dissect.String, "How the digest is made: HMAC-MD4.", dissect.Public)
	fMode   = fields.Add("srcon.mode", dissect.String, "What goes into the digest, so that it is valid for one command only: TIME or CHALLENGE.", dissect.Public)
	fDigest = fields.Add("srcon.digest", dissect.Bytes, "Digest of the password and of all that follows.", dissect.Chosen)
	fTime   = fields.Add("srcon.time", dissect.Decimal, "Time of the client in seconds since 1970.", dissect.Public, dissect.Chosen)

	fHiddenText = fText.Hidden() // contains a password

	// The authorization of CD keys (authorize.quake3arena.com and others).
	fAnonymous   = fields.Add("authorize.anonymous", dissect.Decimal, "The client has no key, or the server accepts such clients.")
	fCDKey       = fields.Add("authorize.cd_key", dissect.String, "CD key of the game.", dissect.Secret)
	fIPChallenge = fields.Add("authorize.challenge", dissect.Decimal, "Challenge that the server gave to the client.", dissect.Token, dissect.Chosen)
	fIP          = fields.Add("authorize.ip", dissect.String, "Address of the client.", dissect.Address)
	fDirectory   = fields.Add("authorize.game", dissect.String, "Directory of the game.", dissect.Public)
	fHiddenRest  = words.Arguments.Hidden() // the hash of a key
	fVerdict     = fields.Add("authorize.verdict", dissect.String, "accept, demo, deny or unknown.", dissect.Public)
)
