package ase

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
)

var fields = dissect.NewCatalog("ase")

var latin1 = dissect.InCharset(dissect.Latin1)

// Requests and the mark of replies.
var (
	fQuery = fields.Add("query", dissect.Char, "The letter that says what is asked for.", dissect.Names(
		dissect.Name{Value: 's', Name: "status"},
		dissect.Name{Value: 'b', Name: "light"},
		dissect.Name{Value: 'r', Name: "light, release version"},
		dissect.Name{Value: 'x', Name: "Xfire"},
		dissect.Name{Value: 'v', Name: "version"},
		dissect.Name{Value: 'p', Name: "ping"},
	))
	fMagic = fields.Add("magic", dissect.String, "EYE1, or EYE2 and EYE3 for the shorter replies of Multi Theft Auto.", dissect.Framing)
)

// What all replies begin with.
var (
	fGame     = fields.Add("gamename", dissect.String, "Short name of the game: mta, farcry ...", latin1)
	fPort     = fields.Add("port", dissect.Decimal, "Port of the game.")
	fHostName = fields.Add("hostname", dissect.String, "Name of the server.", latin1)
	fGameType = fields.Add("gametype", dissect.String, "Kind of game being played.", latin1)
	fMap      = fields.Add("map", dissect.String, "Map being played.", latin1)
	fVersion  = fields.Add("version", dissect.String, "Version of the server.", latin1)
)

// The reply to s.
var (
	fPassword   = fields.Add("password", dissect.Decimal, "1 if a password is needed.")
	fHidden     = fPassword.Hidden() // the password itself
	fNumPlayers = fields.Add("numplayers", dissect.Decimal, "Players on the server.")
	fMaxPlayers = fields.Add("maxplayers", dissect.Decimal, "Most players that the server takes.")
	rules       = keyvalue.Declare(fields, latin1)
	fRulesEnd   = fields.Add("rules_end", dissect.String, "An empty text ends the settings.", dissect.Framing)
)

// Players. Each has texts for those columns only that its flags name.
var (
	fPlayers = fields.Add("players", dissect.List, "The players.")
	fPlayer  = fields.Add("players.player", dissect.Group, "One player.")
	fFlags   = fields.Add("players.columns", dissect.Uint, "Which columns follow.", dissect.Framing, dissect.Bits(
		dissect.Name{Value: hasName, Name: "name"}, dissect.Name{Value: hasTeam, Name: "team"}, dissect.Name{Value: hasSkin, Name: "skin"},
		dissect.Name{Value: hasScore, Name: "score"}, dissect.Name{Value: hasPing, Name: "ping"}, dissect.Name{Value: hasTime, Name: "time"}))
	fName  = fields.Add("players.name", dissect.String, "Name.", latin1)
	fTeam  = fields.Add("players.team", dissect.Decimal, "Team, a number or a name.")
	fSkin  = fields.Add("players.skin", dissect.String, "Figure.", latin1)
	fScore = fields.Add("players.score", dissect.Decimal, "Score. Scripts of Multi Theft Auto may set it to any text.")
	fPing  = fields.Add("players.ping", dissect.Decimal, "Ping in milliseconds, as the server measures it.")
	fTime  = fields.Add("players.duration_s", dissect.Decimal, "Time that the player has been there, in seconds as qstat takes it.")
	fEnd   = fields.Add("players_end", dissect.Bytes, "A player without columns ends the list.", dissect.Framing)
)

// Columns that the server names and leaves empty, as Multi Theft Auto does with
// most: they are no part of the output, so that a score is a number if it is
// there.
var (
	fNoTeam  = fields.Add("players.empty.team", dissect.String, "The team is left empty.", dissect.Framing)
	fNoSkin  = fields.Add("players.empty.skin", dissect.String, "The figure is left empty.", dissect.Framing)
	fNoScore = fields.Add("players.empty.score", dissect.String, "The score is left empty.", dissect.Framing)
	fNoPing  = fields.Add("players.empty.ping", dissect.String, "The ping is left empty.", dissect.Framing)
	fNoTime  = fields.Add("players.empty.duration_s", dissect.String, "The time is left empty.", dissect.Framing)
)

// The shorter replies of Multi Theft Auto. What they have beside the name of
// the map stands behind a zero byte in the same text, where clients that are
// older do not see it.
var (
	fCount       = fields.Add("light.player_count", dissect.String, "Players on the server, a slash, most players: the numbers below end at 255.")
	fBuildType   = fields.Add("light.build_type", dissect.Decimal, "Kind of build of the server.")
	fBuild       = fields.Add("light.build_number", dissect.Decimal, "Number of the build of the server.")
	fPingStatus  = fields.Add("light.ping_status", dissect.String, "What the server says of its network.", latin1)
	fNetRoute    = fields.Add("light.net_route", dissect.String, "What the server says of its route.", latin1)
	fUptime      = fields.Add("light.uptime_s", dissect.Decimal, "Seconds since the server began.")
	fHTTPPort    = fields.Add("light.http_port", dissect.Decimal, "Port of the server's downloads.")
	fMore        = fields.Add("light.more", dissect.String, "What newer servers add.", latin1)
	fLocked      = fields.Add("light.password", dissect.Bool, "Whether a password is needed.", dissect.InJSON("has_password"))
	fSerials     = fields.Add("light.serial_verification", dissect.Bool, "Whether the server verifies the serials of clients.")
	fPlayersByte = fields.Add("light.numplayers", dissect.Uint, "Players on the server, at most 255.")
	fMaxByte     = fields.Add("light.maxplayers", dissect.Uint, "Most players that the server takes, at most 255.")
)

// Datagrams of a reply in several.
var (
	fPartMagic  = fields.Add("part.magic", dissect.String, "EYE.", dissect.Framing)
	fPartNumber = fields.Add("part.number", dissect.Char, "Number of the datagram, from 1.", dissect.Framing)
	fPart       = fields.Add("part.data", dissect.Bytes, "Piece of the reply. It may end in the middle of a text.", dissect.Framing)
	fPartID     = fields.Add("part.id", dissect.Uint, "Number that the datagrams of a reply share.", dissect.Framing)
)
