package cube

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/internal/core"
)

var style = summary.Style{Charset: core.CubeChars, Codes: core.Cube}

var fields = dissect.NewCatalog("cube")

var asText = dissect.InText(style.Charset, style.Codes)

var (
	fMagic    = fields.Add("magic", dissect.Bytes, "FF FF: a query on the port of the game (Tesseract).", dissect.Framing)
	fTime     = fields.Add("time", dissect.Int, "Number that the client chose, usually its time in milliseconds. The reply repeats it.", dissect.Chosen)
	fExtended = fields.Add("extended", dissect.Int, "0: a request for extended infos.", dissect.Framing)
	fCommand  = fields.Add("command", dissect.Int, "What is asked for.", dissect.Names(
		dissect.Name{Value: askUptime, Name: "uptime"}, dissect.Name{Value: askPlayers, Name: "players"}, dissect.Name{Value: askTeams, Name: "teams"}))
	fClient = fields.Add("client", dissect.Int, "Number of the player that is asked for, -1 for all.")
	fQuery  = fields.Add("query", dissect.Int, "What AssaultCube is asked for besides. Other servers only repeat it.", dissect.Names(queries...))
	fToken  = fields.Add("token", dissect.Bytes, "More of the request, which the reply repeats: a number of the client, or the language of the texts.", dissect.Public, dissect.Chosen)

	fNumPlayers = fields.Add("num_players", dissect.Int, "Players on the server. Sauerbraten counts clients.")
	fNumbers    = fields.Add("attributes", dissect.Int, "How many numbers follow before the map: 5 or 7 in Sauerbraten, 6 or more in Red Eclipse, 3 or 5 in Tesseract.")
	fProtocol   = fields.Add("protocol", dissect.Int, "Version of the network protocol, or of the game. AssaultCube: negative for modifications.")
	fMode       = fields.Add("mode", dissect.Int, "Number of the mode. Each version of Red Eclipse has its own list.")
	fSauerMode  = fields.Add("sauerbraten.mode", dissect.Int, "Mode of Sauerbraten.", dissect.Names(modes(
		"free for all", "coop edit", "teamplay", "instagib", "insta team", "efficiency", "efficiency team", "tactics", "tactics team", "capture", "regen capture", "ctf",
		"insta ctf", "protect", "insta protect", "hold", "insta hold", "efficiency ctf", "efficiency protect", "efficiency hold", "collect", "insta collect", "efficiency collect")...))
	fAssaultMode = fields.Add("assaultcube.mode", dissect.Int, "Mode of AssaultCube.", dissect.Names(modes(
		"team deathmatch", "coop edit", "deathmatch", "survivor", "team survivor", "ctf", "pistol frenzy", "bot team deathmatch", "bot deathmatch", "last swiss standing",
		"one shot one kill", "team one shot one kill", "bot one shot one kill", "hunt the flag", "team keep the flag", "keep the flag")...))
	fMutators   = fields.Add("mutators", dissect.Int, "Mutators, a bit for each.")
	fTimeLeft   = fields.Add("time_left_s", dissect.Int, "Time left in the match in seconds. Servers of Sauerbraten before 2010 send minutes.")
	fMinutes    = fields.Add("time_left_min", dissect.Int, "Time left in the match in minutes.")
	fMaxPlayers = fields.Add("max_players", dissect.Int, "Maximum number of players.")
	fMasterMode = fields.Add("mastermode", dissect.Int, "Who may join and lead.", dissect.Names(
		dissect.Name{Value: 1<<64 - 1, Name: "auth"}, dissect.Name{Value: 0, Name: "open"}, dissect.Name{Value: 1, Name: "veto"},
		dissect.Name{Value: 2, Name: "locked"}, dissect.Name{Value: 3, Name: "private"}, dissect.Name{Value: withPassword, Name: "password"}))
	fPaused    = fields.Add("paused", dissect.Int, "1 if the game is paused.")
	fSpeed     = fields.Add("speed", dissect.Int, "Speed of the game in percent.")
	fVars      = fields.Add("game_vars", dissect.Int, "Variables of the game.")
	fMods      = fields.Add("game_mods", dissect.Int, "Variables that differ from the standard.")
	fVersion   = fields.Add("version", dissect.Group, "Version of the server.")
	fMajor     = fields.Add("version.major", dissect.Int, "Major version.")
	fMinor     = fields.Add("version.minor", dissect.Int, "Minor version.")
	fPatch     = fields.Add("version.patch", dissect.Int, "Patch.")
	fPlatform  = fields.Add("platform", dissect.Int, "Operating system.", dissect.Names(modes("windows", "macOS", "linux")...))
	fArch      = fields.Add("arch", dissect.Int, "Bits of the processor.")
	fState     = fields.Add("game_state", dissect.Int, "State of the game.")
	fStateLeft = fields.Add("state_left_s", dissect.Int, "Time left in this state in seconds.")
	fNumber    = fields.Add("attribute", dissect.Int, "Further number.")
	fNumList   = fields.Add("more_attributes", dissect.List, "Further numbers.")
	fMap       = fields.Add("map", dissect.String, "Map being played.", dissect.Public, asText)
	fName      = fields.Add("description", dissect.String, "Name of the server.", dissect.ServerText, asText)
	fBranch    = fields.Add("branch", dissect.String, "Branch of the development.", dissect.Public, asText)
	fFlags     = fields.Add("flags", dissect.Uint, "Flags of AssaultCube; the bits from 6 on are who may join.", dissect.Bits(
		dissect.Name{Value: flagPassword, Name: "password"}, dissect.Name{Value: 2, Name: "you are banned"}, dissect.Name{Value: 4, Name: "you are on the black list"}))
	fAnswer     = fields.Add("answer", dissect.Int, "Which of the further queries is answered.", dissect.Names(queries...))
	fLanguage   = fields.Add("language", dissect.String, "Language of the text, empty if there is no text.", dissect.Public, asText)
	fLines      = fields.Add("info", dissect.List, "Lines about the server.")
	fLine       = fields.Add("info.line", dissect.String, "A line.", dissect.ServerText, asText)
	fSettings   = fields.Add("settings", dissect.Int, "Numbers for each map of the rotation.", dissect.Framing)
	fRotation   = fields.Add("rotation", dissect.List, "The maps that follow each other.")
	fNext       = fields.Add("rotation.map", dissect.Group, "A map.")
	fNextMap    = fields.Add("rotation.name", dissect.String, "Name of the map.", dissect.Public, asText)
	fNextList   = fields.Add("rotation.settings", dissect.List, "Its mode, minutes and limits.")
	fNextNumber = fields.Add("rotation.settings.number", dissect.Int, "A setting.")
	fStats      = fields.Add("uplink", dissect.Bytes, "Quality of the connection at different numbers of players.", dissect.Public)
	fEnd        = fields.Add("end", dissect.String, "Empty: the end of the list.", dissect.Framing)

	fPlayers    = fields.Add("players", dissect.List, "The players.")
	fEach       = fields.Add("players.player", dissect.Group, "A player.")
	fPlayerName = fields.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName, asText)
	fHandles    = fields.Add("handles", dissect.List, "Accounts of the players in the same order, empty for those without.")
	fHandle     = fields.Add("handles.handle", dissect.String, "An account.", dissect.PersonName, asText)

	fAck        = fields.Add("ack", dissect.Int, "-1: a reply with extended infos.", dissect.Framing)
	fExtVersion = fields.Add("extinfo_version", dissect.Int, "Version of the extended infos: 104 AssaultCube, 105 Sauerbraten.")
	fUptime     = fields.Add("uptime_s", dissect.Int, "Time since the server was started, in seconds.")
	fMod        = fields.Add("mod", dissect.Int, "Modification of the server.", dissect.Names(
		dissect.Name{Value: 1<<64 - 2, Name: "hopmod"}, dissect.Name{Value: 1<<64 - 3, Name: "oomod"}, dissect.Name{Value: 1<<64 - 4, Name: "spaghettimod"},
		dissect.Name{Value: 1<<64 - 5, Name: "suckerserv"}, dissect.Name{Value: 1<<64 - 6, Name: "remod"}, dissect.Name{Value: 1<<64 - 7, Name: "noobmod"},
		dissect.Name{Value: 1<<64 - 8, Name: "zeromod"}))
	fModData = fields.Add("mod_data", dissect.Bytes, "What a modification of the server adds.")
	fError   = fields.Add("error", dissect.Int, "Result.", core.Counted(0, "no error", "no such client or command, or no mode with teams"))
	fKind    = fields.Add("kind", dissect.Int, "What follows.", dissect.Framing, dissect.Names(
		dissect.Name{Value: 1<<64 - 10, Name: "numbers of the players"}, dissect.Name{Value: 1<<64 - 11, Name: "a player"}))
	fIDs = fields.Add("clients", dissect.List, "Numbers of the players. A datagram for each follows.")
	fID  = fields.Add("clients.client", dissect.Int, "Number of a player.")

	fPlayer    = fields.Add("player", dissect.Group, "A player.")
	fNum       = fields.Add("player.id", dissect.Int, "Number of the player; bots have those from 128 on.")
	fPing      = fields.Add("player.ping", dissect.Int, "Round-trip time in milliseconds.")
	fPName     = fields.Add("player.name", dissect.String, "Name of the player.", dissect.PersonName, asText)
	fTeam      = fields.Add("player.team", dissect.String, "Team.", dissect.PersonName, asText)
	fScore     = fields.Add("player.score", dissect.Int, "Frags.")
	fPFlags    = fields.Add("player.flags", dissect.Int, "Flags scored.")
	fDeaths    = fields.Add("player.deaths", dissect.Int, "Deaths.")
	fTeamkills = fields.Add("player.teamkills", dissect.Int, "Kills of players of the own team.")
	fAccuracy  = fields.Add("player.accuracy", dissect.Int, "Hits in percent.")
	fHealth    = fields.Add("player.health", dissect.Int, "Health.")
	fArmour    = fields.Add("player.armour", dissect.Int, "Armour.")
	fGun       = fields.Add("player.gun", dissect.Int, "Weapon.")
	fPrivilege = fields.Add("player.privilege", dissect.Int, "0 none, 1 master (AssaultCube: admin), more for those with more rights.")
	fAlive     = fields.Add("player.state", dissect.Int, "State.", dissect.Names(modes("alive", "dead", "spawning", "lagged", "editing", "spectator")...))
	fAddress   = fields.Add("player.ip", dissect.Bytes, "The first three bytes of the address.")

	fTeams     = fields.Add("teams", dissect.List, "The teams.")
	fTeamGroup = fields.Add("teams.team", dissect.Group, "A team.")
	fTeamName  = fields.Add("teams.name", dissect.String, "Name of the team.", dissect.PersonName, asText)
	fTeamScore = fields.Add("teams.score", dissect.Int, "Score.")
	fTeamFlags = fields.Add("teams.flags", dissect.Int, "Flags of AssaultCube, or how many bases follow; -1 if the mode has none.")
	fBases     = fields.Add("teams.bases", dissect.List, "Bases that the team holds.")
	fBase      = fields.Add("teams.bases.base", dissect.Int, "Number of a base.")
	fTeamEnd   = fields.Add("teams.end", dissect.Int, "-1: the end of the team (AssaultCube).", dissect.Framing)
)

var queries = modes("nothing", "names of the players", "text about the server", "rotation of maps", "quality of the connection")

// modes are the names of the numbers from 0 on.
func modes(list ...string) (names []dissect.Name) {
	for i, name := range list {
		names = append(names, dissect.Name{Value: uint64(i), Name: name})
	}
	return names
}
