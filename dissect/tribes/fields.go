package tribes

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/internal/core"
)

var style = summary.Style{Charset: dissect.Latin1}

var fields = dissect.NewCatalog("tribes")

var asText = core.InCharset(style.Charset)

var (
	fType      = fields.Add("type", dissect.Uint, "Kind of message.", dissect.Framing)
	fChallenge = fields.Add("challenge", dissect.Uint, "Number that the client chose; the reply repeats it.", dissect.Chosen)
	fRepeated  = fields.Add("request_type", dissect.Uint, "Type of the request.", dissect.Framing)
	fFlags     = fields.Add("flags", dissect.Uint, "How texts are written (Tribes 2).", dissect.Framing, dissect.Bits(
		dissect.Name{Value: plain, Name: "not compressed"}, dissect.Name{Value: 0x80, Name: "newer than build 22228"}))
	fKey   = fields.Add("key", dissect.Uint, "Number that the client chose; the reply repeats it (Tribes 2).", dissect.Chosen)
	fCoded = fields.Add("coded", dissect.Bytes, "Data whose texts are compressed with the Huffman table of the engine.")

	fGame       = fields.Add("game", dissect.String, "Name of the game.", dissect.Public, asText)
	fVersion    = fields.Add("version", dissect.String, "Version of the game.", dissect.Public, asText)
	fName       = fields.Add("name", dissect.String, "Name of the server.", dissect.ServerText, asText)
	fDedicated  = fields.Add("dedicated", dissect.Bool, "Whether it is a dedicated server.")
	fPassword   = fields.Add("password", dissect.Bool, "Whether the server has a password.")
	fNumPlayers = fields.Add("num_players", dissect.Uint, "Players on the server.")
	fMaxPlayers = fields.Add("max_players", dissect.Uint, "Maximum number of players.")
	fNumBots    = fields.Add("num_bots", dissect.Uint, "Bots among the players.")
	fCPU        = fields.Add("cpu_mhz", dissect.Uint, "Speed of the server's processor.")
	fMod        = fields.Add("mod", dissect.String, "Modifications.", dissect.Public, asText)
	fMission    = fields.Add("mission_type", dissect.String, "Kind of mission.", dissect.Public, asText)
	fMap        = fields.Add("map", dissect.String, "Mission being played.", dissect.Public, asText)
	fInfo       = fields.Add("info", dissect.String, "What the operator says of the server.", dissect.ServerText, asText)
	fMore       = fields.Add("more", dissect.Bytes, "Further bytes, whose meaning is unknown.")

	fNumTeams      = fields.Add("num_teams", dissect.Uint, "Number of teams that follow.", dissect.Framing)
	fTeamColumns   = fields.Add("team_columns", dissect.String, "Names of the columns of teams, each after a byte with its place.", dissect.Public, asText)
	fPlayerColumns = fields.Add("player_columns", dissect.String, "Names of the columns of players, each after a byte with its place.", dissect.Public, asText)
	fTeams         = fields.Add("teams", dissect.List, "The teams.")
	fTeam          = fields.Add("teams.team", dissect.Group, "A team.")
	fTeamName      = fields.Add("teams.name", dissect.String, "Name of the team.", dissect.Public, asText)
	fTeamCells     = fields.Add("teams.cells", dissect.String, "Its columns with tabs in between; %t is the name.", dissect.Public, asText)
	fTeamScore     = fields.Add("teams.score", dissect.Decimal, "Score of the team (Tribes 2).")
	fPlayers       = fields.Add("players", dissect.List, "The players.")
	fPlayer        = fields.Add("players.player", dissect.Group, "A player.")
	fPing          = fields.Add("players.ping", dissect.Uint, "Round-trip time in milliseconds; the byte has a quarter of it.")
	fLoss          = fields.Add("players.packet_loss", dissect.Uint, "Lost packets in percent.")
	fTeamID        = fields.Add("players.team_id", dissect.Uint, "Number of the team; 255: none. In Starsiege a set of colours.")
	fPlayerName    = fields.Add("players.name", dissect.String, "Name of the player. In Tribes 2 with control characters: 11 before the tag of a tribe.", dissect.PersonName, asText)
	fPlayerCells   = fields.Add("players.cells", dissect.String, "Columns with tabs in between; %n is the name, %p the ping, %l the packet loss, %t the team.", dissect.Public, asText)
	fPlayerTeam    = fields.Add("players.team", dissect.String, "Team of the player (Tribes 2).", dissect.Public, asText)
	fScore         = fields.Add("players.score", dissect.Decimal, "Score of the player (Tribes 2).")

	fDropIn       = fields.Add("starsiege.drop_in", dissect.Bool, "Whether players may join a running game.")
	fRunning      = fields.Add("starsiege.running", dissect.Bool, "Whether the game is running.")
	fTeamPlay     = fields.Add("starsiege.team_play", dissect.Bool, "Whether teams play.")
	fFactory      = fields.Add("starsiege.factory_vehicles", dissect.Bool, "Whether only factory vehicles are allowed.")
	fTechMix      = fields.Add("starsiege.tech_mix", dissect.Bool, "Whether technologies may be mixed.")
	fSpawnLimit   = fields.Add("starsiege.spawn_limit", dissect.Uint, "Most times that a player may come back.")
	fFragLimit    = fields.Add("starsiege.frag_limit", dissect.Uint, "Kills that end the game.")
	fTimeLimit    = fields.Add("starsiege.time_limit", dissect.Uint, "Minutes that end the game.")
	fTechLimit    = fields.Add("starsiege.tech_limit", dissect.Uint, "Highest level of technology.")
	fCombatLimit  = fields.Add("starsiege.combat_limit", dissect.Uint, "Highest combat value.")
	fMassLimit    = fields.Add("starsiege.mass_limit", dissect.Uint, "Highest mass.")
	fPlayersShown = fields.Add("starsiege.players_sent", dissect.Uint, "Number of players that follow.", dissect.Framing)

	fQueryVersion = fields.Add("query_version", dissect.String, "VER and the version of the queries, 3 or 5.", dissect.Public)
	fNetProtocol  = fields.Add("net_protocol", dissect.Uint, "Version of the network protocol.")
	fMinProtocol  = fields.Add("min_protocol", dissect.Uint, "Lowest version of the network protocol that clients may have.")
	fBuild        = fields.Add("build", dissect.Uint, "Build of the program.")
	fStatus       = fields.Add("status", dissect.Uint, "Properties of the server.", dissect.Bits(
		dissect.Name{Value: 1, Name: "dedicated"}, dissect.Name{Value: locked, Name: "password"}, dissect.Name{Value: 4, Name: "Linux"},
		dissect.Name{Value: 8, Name: "tournament"}, dissect.Name{Value: 16, Name: "no aliases"}, dissect.Name{Value: 32, Name: "team damage"},
		dissect.Name{Value: 64, Name: "tournament (VER3)"}, dissect.Name{Value: 128, Name: "no aliases (VER3)"}))
	fLength   = fields.Add("length", dissect.Uint, "Length of the text about teams and players.", dissect.Framing)
	fTeamsN   = fields.Add("teams_line", dissect.Decimal, "Number of teams that follow.", dissect.Framing)
	fPlayersN = fields.Add("players_line", dissect.Decimal, "Number of players that follow.", dissect.Framing)

	fAll        = fields.Add("all", dissect.Uint, "255: all packets of the list are wanted.", dissect.Framing)
	fPacket     = fields.Add("packet", dissect.Uint, "Number of the packet, from 1; from 0 in Tribes 2.")
	fPackets    = fields.Add("packets", dissect.Uint, "Packets of the list.")
	fMark       = fields.Add("mark", dissect.Uint, "Before the texts, mostly 66 in hexadecimal.", dissect.Framing)
	fNewsName   = fields.Add("master_name", dissect.String, "Name of the master.", dissect.ServerText, asText)
	fNews       = fields.Add("news", dissect.String, "News of the master.", dissect.ServerText, asText)
	fZero       = fields.Add("zero", dissect.Uint, "0.", dissect.Framing)
	fNumServers = fields.Add("num_servers", dissect.Uint, "Servers in this packet.", dissect.Framing)
	fServers    = fields.Add("servers", dissect.List, "The servers.")
	fSix        = fields.Add("servers.length", dissect.Uint, "Length of the address: 6.", dissect.Framing)
	fServer     = fields.Add("servers.server", dissect.Endpoint, "Address of the server.")

	fWantedGame    = fields.Add("filter.game", dissect.String, "Game that servers must have, or any.", dissect.Public, asText)
	fWantedMission = fields.Add("filter.mission_type", dissect.String, "Kind of mission, or any.", dissect.Public, asText)
	fMinPlayers    = fields.Add("filter.min_players", dissect.Uint, "Fewest players.")
	fMostPlayers   = fields.Add("filter.max_players", dissect.Uint, "Most players.")
	fRegions       = fields.Add("filter.regions", dissect.Uint, "Set of regions, all ones for all.")
	fWantedVersion = fields.Add("filter.build", dissect.Uint, "Build, 0 for any.")
	fWantedStatus  = fields.Add("filter.status", dissect.Uint, "Properties that servers must have.")
	fMaxBots       = fields.Add("filter.max_bots", dissect.Uint, "Most bots.")
	fMinCPU        = fields.Add("filter.min_cpu_mhz", dissect.Uint, "Lowest speed of the processor.")
	fBuddies       = fields.Add("filter.buddies", dissect.Uint, "Number of friends that follow.")
)
