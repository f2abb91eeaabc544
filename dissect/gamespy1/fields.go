package gamespy1

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/internal/core"
)

var fields = dissect.NewCatalog("gamespy1")

// asText sets the encoding of names and values. Games of Unreal's engine 2 colour them.
var asText = dissect.InText(dissect.Latin1, core.Unreal)

// Requests.
var (
	fQueries = fields.Add("queries", dissect.List, "The queries, in order.")
	fEntry   = fields.Add("queries.entry", dissect.Group, "One query.")
	fQuery   = fields.Add("queries.query", dissect.String, "Word of the query, such as status, info or players.", core.Word, asText)
	fValue   = fields.Add("queries.value", dissect.String, "Argument of the query: the text to return (echo), the text to sign (secure), the name of a property, or xserverquery.", core.ByKey(map[string]dissect.Privacy{"echo": dissect.PersonID, "secure": dissect.PersonID}), asText)
)

var fHidden = fValue.Hidden() // a password

// Replies.
var (
	pairs     = keyvalue.Declare(fields, asText)
	fQueryID  = fields.Add("queryid", dissect.String, "Server's number of the request, a dot, number of the datagram.", dissect.Public, asText, dissect.Chosen)
	fNumber   = fields.Add("statusresponse", dissect.String, "Number of the datagram within the reply, from 0, by the AdminMod of SWAT 4.", asText, dissect.Framing)
	fEOF      = fields.Add("eof", dissect.String, "Ends every datagram of the AdminMod of SWAT 4.", dissect.Framing)
	fFinal    = fields.Add("final", dissect.String, "Marks the last datagram of the reply.", dissect.Framing)
	fEcho     = fields.Add("echo", dissect.String, "Text of the request.", dissect.PersonID, asText, dissect.Chosen)
	fValidate = fields.Add("validate", dissect.String, "Text of the query secure, signed with the key of the game.", dissect.PersonID, asText, dissect.Chosen)
	fEnd      = fields.Add("end", dissect.Bytes, "Bytes after the end: zero bytes, as C programs send them, or backslashes.", dissect.Framing)

	// The table of players. The number at the end of a player's keys is read from the first
	// of them.
	fPlayers      = fields.Add("players", dissect.List, "The players.")
	fPlayer       = fields.Add("players.player", dissect.Group, "One player: all keys with the same number.")
	fIndex        = fields.Add("players.index", dissect.Uint, "Number in the keys of the player. The numbers may have gaps.")
	fName         = fields.Add("players.name", dissect.String, "Name (player_N, playername_N).", dissect.PersonName, asText)
	fScore        = fields.Add("players.score", dissect.Decimal, "Score: score_N, or frags_N or kills_N if the reply has no score.")
	fFrags        = fields.Add("players.frags", dissect.Decimal, "Frags, if the reply has a score as well.")
	fKills        = fields.Add("players.kills", dissect.Decimal, "Kills, if the reply has a score or frags as well.")
	fDeaths       = fields.Add("players.deaths", dissect.Decimal, "Deaths.")
	fPing         = fields.Add("players.ping", dissect.Decimal, "Round-trip time in milliseconds, as the server measures it.")
	fTeam         = fields.Add("players.team", dissect.Decimal, "Team, a number or a name. Battlefield 1942 counts teams from 1 here and from 0 in teamname_N; Unreal Tournament sends 255 for none.")
	fKeyHash      = fields.Add("players.keyhash", dissect.String, "Hash of the player's CD key, which identifies the player (Battlefield 1942).", dissect.PersonID, asText)
	fMesh         = fields.Add("players.mesh", dissect.String, "Character model of the player (Unreal Tournament).", dissect.Public, asText)
	fSkin         = fields.Add("players.skin", dissect.String, "Skin of the model (Unreal Tournament).", dissect.Public, asText)
	fFace         = fields.Add("players.face", dissect.String, "Face of the model (Unreal Tournament).", dissect.Public, asText)
	fColumn       = fields.Add("players.column", dissect.String, "Any other key of the player, under its own name.", core.Cell, core.Open, asText)
	fColumnNumber = fields.Add("players.number", dissect.Decimal, "Any other key of the player whose value is a number, under its own name.", core.Open)

	// The table of teams.
	fTeams      = fields.Add("teams", dissect.List, "The teams.")
	fOneTeam    = fields.Add("teams.team", dissect.Group, "One team: all keys with the same number.")
	fTeamIndex  = fields.Add("teams.index", dissect.Uint, "Number in the keys of the team.")
	fTeamName   = fields.Add("teams.name", dissect.String, "Name (teamname_N, team_tN).", dissect.ServerText, asText)
	fTeamScore  = fields.Add("teams.score", dissect.Decimal, "Score (score_tN, teamscore_N).")
	fTeamColumn = fields.Add("teams.column", dissect.String, "Any other key of the team, under its own name.", core.Cell, core.Open, asText)
	fTeamNumber = fields.Add("teams.number", dissect.Decimal, "Any other key of the team whose value is a number, under its own name.", core.Open)

	// Heartbeats.
	fHeartbeat = fields.Add("heartbeat.port", dissect.Decimal, "Query port of the server.")
	fGameName  = fields.Add("heartbeat.gamename", dissect.String, "Name of the game at GameSpy.", dissect.Public, asText)
	fChanged   = fields.Add("heartbeat.statechanged", dissect.Decimal, "The state of the game has changed. 2 means that the server shuts down; older servers send no number.")

	// The datagrams of a split reply.
	fPart       = fields.Add("part.data", dissect.Bytes, "Keys and values of one datagram.", core.Becomes("joined"), dissect.Framing)
	fPartID     = fields.Add("part.queryid", dissect.String, "Server's number of the request, a dot, number of the datagram from 1.", dissect.Framing, dissect.Chosen)
	fPartFinal  = fields.Add("part.final", dissect.String, "Marks the last datagram.", dissect.Framing)
	fPartNumber = fields.Add("part.statusresponse", dissect.String, "Number of the datagram within the reply, from 0, by the AdminMod of SWAT 4.", dissect.Framing)
	fPartEOF    = fields.Add("part.eof", dissect.String, "Ends the datagram (AdminMod).", dissect.Framing)
	fPartEnd    = fields.Add("part.end", dissect.Bytes, "Zero bytes after the text.", dissect.Framing)
)
