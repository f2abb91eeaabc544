package gamespy2

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/internal/core"
)

var fields = dissect.NewCatalog("gamespy2")

// style is the encoding of text: Latin-1, in America's Army with the colours of Unreal.
var style = summary.Style{Charset: dissect.Latin1, Codes: core.Unreal}

var (
	head  = gamespy.DeclareHead(fields, dissect.Name{Value: gamespy.TypeQuery, Name: "query"})
	query = gamespy.DeclareQuery(fields)
	body  = gamespy.BodyFields{
		Pairs:      keyvalue.Declare(fields, core.InCharset(style.Charset), core.InStyle(style.Codes)),
		NumPlayers: fields.Add("num_players", dissect.Uint, "Number of rows of the table of players."),
		Players:    gamespy.DeclarePlayers(fields, style),
		NumTeams:   fields.Add("num_teams", dissect.Uint, "Number of rows of the table of teams."),
		Teams:      gamespy.DeclareTeams(fields, style),
		Column:     fields.Add("column", dissect.String, "Name of a column. Names of player columns end with an underscore, those of team columns with _t.", dissect.Framing),
		End:        fields.Add("end", dissect.Bytes, "Zero bytes at the end of the settings, of the names of columns, or of the reply.", dissect.Framing),
		Data:       fields.Data(),
	}

	// The datagrams of a split reply.
	fPartHead = fields.Add("part.head", dissect.Bytes, "A zero byte and the session id.", core.EchoFrom(1), dissect.Framing)
	fPart     = fields.Add("part.data", dissect.Bytes, "Data of the reply in one datagram.", core.Becomes("joined"), dissect.Framing)
)
