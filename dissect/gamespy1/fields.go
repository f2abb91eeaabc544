package gamespy1

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
)

var fields = dissect.NewCatalog("gamespy1")

// asText is how names and values are encoded. Games with Unreal's engine 2
// colour them.
func asText(f *dissect.Field) {
	f.Charset, f.Style = dissect.Latin1, dissect.Unreal
}

// Requests.
var (
	fQueries = fields.Add("queries", dissect.List, "What is asked for, in order.")
	fEntry   = fields.Add("queries.entry", dissect.Group, "One query.")
	fQuery   = fields.Add("queries.query", dissect.String, "Its word: status, info, players ...", asText)
	fValue   = fields.Add("queries.value", dissect.String, "What stands behind the word: the text to send back (echo), the text to sign (secure), the name of a property, or xserverquery.", asText)
)

var fHidden = fValue.Hidden() // a password

// Replies.
var (
	pairs     = keyvalue.Declare(fields, asText)
	fQueryID  = fields.Add("queryid", dissect.String, "Number of the request by the server's count, a dot, number of the datagram.", asText, dissect.Chosen)
	fNumber   = fields.Add("statusresponse", dissect.String, "Number of the datagram within the reply, from 0, by the AdminMod of SWAT 4.", asText, dissect.Framing)
	fEOF      = fields.Add("eof", dissect.String, "Ends every datagram of the AdminMod of SWAT 4.", dissect.Framing)
	fFinal    = fields.Add("final", dissect.String, "Marks the last datagram of the reply.", dissect.Framing)
	fEcho     = fields.Add("echo", dissect.String, "The text that the client wanted back.", asText, dissect.Chosen)
	fValidate = fields.Add("validate", dissect.String, "The text of the request's secure, signed with the key of the game.", asText, dissect.Chosen)
	fEnd      = fields.Add("end", dissect.Bytes, "What ends the text and says nothing: zero bytes, as C programs send them, or more backslashes.", dissect.Framing)
)

// The table of players. The number that ends the keys of one player stands in
// the first of them.
var (
	fPlayers      = fields.Add("players", dissect.List, "The players.")
	fPlayer       = fields.Add("players.player", dissect.Group, "One player: all keys with the same number.")
	fIndex        = fields.Add("players.index", dissect.Uint, "Number in the keys of the player. Numbers need not be without gaps.")
	fName         = fields.Add("players.name", dissect.String, "Name (player_N, playername_N).", asText)
	fScore        = fields.Add("players.score", dissect.Decimal, "Score: score_N, or frags_N or kills_N where the reply has no other.")
	fFrags        = fields.Add("players.frags", dissect.Decimal, "Frags, where the reply has a score as well.")
	fKills        = fields.Add("players.kills", dissect.Decimal, "Kills, where the reply has a score or frags as well.")
	fDeaths       = fields.Add("players.deaths", dissect.Decimal, "Deaths.")
	fPing         = fields.Add("players.ping", dissect.Decimal, "Ping in milliseconds, as the server measures it.")
	fTeam         = fields.Add("players.team", dissect.Decimal, "Team, a number or a name. Battlefield 1942 counts teams from 1 here and from 0 in teamname_N; Unreal Tournament says 255 for none.")
	fKeyHash      = fields.Add("players.keyhash", dissect.String, "Hash of the player's CD key: the same for the same player (Battlefield 1942).", asText)
	fMesh         = fields.Add("players.mesh", dissect.String, "Kind of the player's figure (Unreal Tournament).", asText)
	fSkin         = fields.Add("players.skin", dissect.String, "Clothes of the figure (Unreal Tournament).", asText)
	fFace         = fields.Add("players.face", dissect.String, "Face of the figure (Unreal Tournament).", asText)
	fColumn       = fields.Add("players.column", dissect.String, "Any other key of the player, under its own name.", dissect.Open, asText)
	fColumnNumber = fields.Add("players.number", dissect.Decimal, "Any other key of the player whose value is a number, under its own name.", dissect.Open)
)

// The table of teams.
var (
	fTeams      = fields.Add("teams", dissect.List, "The teams.")
	fOneTeam    = fields.Add("teams.team", dissect.Group, "One team: all keys with the same number.")
	fTeamIndex  = fields.Add("teams.index", dissect.Uint, "Number in the keys of the team.")
	fTeamName   = fields.Add("teams.name", dissect.String, "Name (teamname_N, team_tN).", asText)
	fTeamScore  = fields.Add("teams.score", dissect.Decimal, "Score (score_tN, teamscore_N).")
	fTeamColumn = fields.Add("teams.column", dissect.String, "Any other key of the team, under its own name.", dissect.Open, asText)
	fTeamNumber = fields.Add("teams.number", dissect.Decimal, "Any other key of the team whose value is a number, under its own name.", dissect.Open)
)

// Heartbeats.
var (
	fHeartbeat = fields.Add("heartbeat.port", dissect.Decimal, "Port on which the server answers queries.")
	fGameName  = fields.Add("heartbeat.gamename", dissect.String, "Name of the game at GameSpy.", asText)
	fChanged   = fields.Add("heartbeat.statechanged", dissect.Decimal, "The state of the game has changed. 2 says that the server shuts down; older servers give no number.")
)

// The datagrams of a split reply.
var (
	fPart       = fields.Add("part.data", dissect.Bytes, "Keys and values of one datagram.", dissect.Framing)
	fPartID     = fields.Add("part.queryid", dissect.String, "Number of the request by the server's count, a dot, number of the datagram from 1.", dissect.Framing, dissect.Chosen)
	fPartFinal  = fields.Add("part.final", dissect.String, "Marks the last datagram.", dissect.Framing)
	fPartNumber = fields.Add("part.statusresponse", dissect.String, "Number of the datagram within the reply, from 0, by the AdminMod of SWAT 4.", dissect.Framing)
	fPartEOF    = fields.Add("part.eof", dissect.String, "Ends the datagram (AdminMod).", dissect.Framing)
	fPartEnd    = fields.Add("part.end", dissect.Bytes, "Zero bytes behind the text.", dissect.Framing)
)
