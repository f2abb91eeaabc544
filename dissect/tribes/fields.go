package tribes

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var style = wire.Style{Charset: dissect.Latin1}

var catalog = dissect.NewCatalog("tribes")

var asText = core.InCharset(style.Charset)

var (
	fType      = catalog.Add("type", dissect.Uint, "Kind of message.", dissect.Framing)
	fChallenge = catalog.Add("challenge", dissect.Uint, "Number that the client chose; the reply repeats it.", dissect.Chosen)
	fRepeated  = catalog.Add("request_type", dissect.Uint, "Type of the request.", dissect.Framing)
	fFlags     = catalog.Add("flags", dissect.Uint, "How texts are written (Tribes 2).", dissect.Framing, dissect.Bits(
		dissect.Name{Value: plain, Name: "not compressed"}, dissect.Name{Value: 0x80, Name: "newer than build 22228"}))
	fKey   = catalog.Add("key", dissect.Uint, "Number that the client chose; the reply repeats it (Tribes 2).", dissect.Chosen)
	fCoded = catalog.Add("coded", dissect.Bytes, "Data whose texts are compressed with the Huffman table of the engine.")

	fGame       = catalog.Add("game", dissect.String, "Name of the game.", dissect.Public, asText)
	fVersion    = catalog.Add("version", dissect.String, "Version of the game.", dissect.Public, asText)
	fName       = catalog.Add("name", dissect.String, "Name of the server.", dissect.ServerText, asText)
	fDedicated  = catalog.Add("dedicated", dissect.Bool, "Whether it is a dedicated server.")
	fPassword   = catalog.Add("password", dissect.Bool, "Whether the server has a password.")
	fNumPlayers = catalog.Add("num_players", dissect.Uint, "Players on the server.")
	fMaxPlayers = catalog.Add("max_players", dissect.Uint, "Maximum number of players.")
	fNumBots    = catalog.Add("num_bots", dissect.Uint, "Bots among the players.")
	fCPU        = catalog.Add("cpu_mhz", dissect.Uint, "Speed of the server's processor.")
	fMod        = catalog.Add("mod", dissect.String, "Modifications.", dissect.Public, asText)
	fMission    = catalog.Add("mission_type", dissect.String, "Kind of mission.", dissect.Public, asText)
	fMap        = catalog.Add("map", dissect.String, "Mission being played.", dissect.Public, asText)
	fInfo       = catalog.Add("info", dissect.String, "What the operator says of the server.", dissect.ServerText, asText)
	fMore       = catalog.Add("more", dissect.Bytes, "Further bytes, whose meaning is unknown.")

	fNumTeams      = catalog.Add("num_teams", dissect.Uint, "Number of teams that follow.", dissect.Framing)
	fTeamColumns   = catalog.Add("team_columns", dissect.String, "Names of the columns of teams, each after a byte with its place.", dissect.Public, asText)
	fPlayerColumns = catalog.Add("player_columns", dissect.String, "Names of the columns of players, each after a byte with its place.", dissect.Public, asText)
	fTeams         = catalog.Add("teams", dissect.List, "The teams.")
	fTeam          = catalog.Add("teams.team", dissect.Group, "A team.")
	fTeamName      = catalog.Add("teams.name", dissect.String, "Name of the team.", dissect.Public, asText)
	fTeamCells     = catalog.Add("teams.cells", dissect.String, "Its columns with tabs in between; %t is the name.", dissect.Public, asText)
	fTeamScore     = catalog.Add("teams.score", dissect.Decimal, "Score of the team (Tribes 2).")
	fPlayers       = catalog.Add("players", dissect.List, "The players.")
	fPlayer        = catalog.Add("players.player", dissect.Group, "A player.")
	fPing          = catalog.Add("players.ping", dissect.Uint, "Round-trip time in milliseconds; the byte has a quarter of it.")
	fLoss          = catalog.Add("players.packet_loss", dissect.Uint, "Lost packets in percent.")
	fTeamID        = catalog.Add("players.team_id", dissect.Uint, "Number of the team; 255: none. In Starsiege a set of colours.")
	fPlayerName    = catalog.Add("players.name", dissect.String, "Name of the player. In Tribes 2 with control characters: 11 before the tag of a tribe.", dissect.PersonName, asText)
	fPlayerCells   = catalog.Add("players.cells", dissect.String, "Columns with tabs in between; %n is the name, %p the ping, %l the packet loss, %t the team.", dissect.Public, asText)
	fPlayerTeam    = catalog.Add("players.team", dissect.String, "Team of the player (Tribes 2).", dissect.Public, asText)
	fScore         = catalog.Add("players.score", dissect.Decimal, "Score of the player (Tribes 2).")

	fDropIn       = catalog.Add("starsiege.drop_in", dissect.Bool, "Whether players may join a running game.")
	fRunning      = catalog.Add("starsiege.running", dissect.Bool, "Whether the game is running.")
	fTeamPlay     = catalog.Add("starsiege.team_play", dissect.Bool, "Whether teams play.")
	fFactory      = catalog.Add("starsiege.factory_vehicles", dissect.Bool, "Whether only factory vehicles are allowed.")
	fTechMix      = catalog.Add("starsiege.tech_mix", dissect.Bool, "Whether technologies may be mixed.")
	fSpawnLimit   = catalog.Add("starsiege.spawn_limit", dissect.Uint, "Most times that a player may come back.")
	fFragLimit    = catalog.Add("starsiege.frag_limit", dissect.Uint, "Kills that end the game.")
	fTimeLimit    = catalog.Add("starsiege.time_limit", dissect.Uint, "Minutes that end the game.")
	fTechLimit    = catalog.Add("starsiege.tech_limit", dissect.Uint, "Highest level of technology.")
	fCombatLimit  = catalog.Add("starsiege.combat_limit", dissect.Uint, "Highest combat value.")
	fMassLimit    = catalog.Add("starsiege.mass_limit", dissect.Uint, "Highest mass.")
	fPlayersShown = catalog.Add("starsiege.players_sent", dissect.Uint, "Number of players that follow.", dissect.Framing)

	fQueryVersion = catalog.Add("query_version", dissect.String, "VER and the version of the queries, 3 or 5.", dissect.Public)
	fNetProtocol  = catalog.Add("net_protocol", dissect.Uint, "Version of the network protocol.")
	fMinProtocol  = catalog.Add("min_protocol", dissect.Uint, "Lowest version of the network protocol that clients may have.")
	fBuild        = catalog.Add("build", dissect.Uint, "Build of the program.")
	fStatus       = catalog.Add("status", dissect.Uint, "Properties of the server.", dissect.Bits(
		dissect.Name{Value: 1, Name: "dedicated"}, dissect.Name{Value: locked, Name: "password"}, dissect.Name{Value: 4, Name: "Linux"},
		dissect.Name{Value: 8, Name: "tournament"}, dissect.Name{Value: 16, Name: "no aliases"}, dissect.Name{Value: 32, Name: "team damage"},
		dissect.Name{Value: 64, Name: "tournament (VER3)"}, dissect.Name{Value: 128, Name: "no aliases (VER3)"}))
	fLength   = catalog.Add("length", dissect.Uint, "Length of the text about teams and players.", dissect.Framing)
	fTeamsN   = catalog.Add("teams_line", dissect.Decimal, "Number of teams that follow.", dissect.Framing)
	fPlayersN = catalog.Add("players_line", dissect.Decimal, "Number of players that follow.", dissect.Framing)

	fAll        = catalog.Add("all", dissect.Uint, "255: all packets of the list are wanted.", dissect.Framing)
	fPacket     = catalog.Add("packet", dissect.Uint, "Number of the packet, from 1; from 0 in Tribes 2.")
	fPackets    = catalog.Add("packets", dissect.Uint, "Packets of the list.")
	fMark       = catalog.Add("mark", dissect.Uint, "Before the texts, mostly 66 in hexadecimal.", dissect.Framing)
	fNewsName   = catalog.Add("master_name", dissect.String, "Name of the master.", dissect.ServerText, asText)
	fNews       = catalog.Add("news", dissect.String, "News of the master.", dissect.ServerText, asText)
	fZero       = catalog.Add("zero", dissect.Uint, "0.", dissect.Framing)
	fNumServers = catalog.Add("num_servers", dissect.Uint, "Servers in this packet.", dissect.Framing)
	fServers    = catalog.Add("servers", dissect.List, "The servers.")
	fSix        = catalog.Add("servers.length", dissect.Uint, "Length of the address: 6.", dissect.Framing)
	fServer     = catalog.Add("servers.server", dissect.Endpoint, "Address of the server.")

	fWantedGame    = catalog.Add("filter.game", dissect.String, "Game that servers must have, or any.", dissect.Public, asText)
	fWantedMission = catalog.Add("filter.mission_type", dissect.String, "Kind of mission, or any.", dissect.Public, asText)
	fMinPlayers    = catalog.Add("filter.min_players", dissect.Uint, "Fewest players.")
	fMostPlayers   = catalog.Add("filter.max_players", dissect.Uint, "Most players.")
	fRegions       = catalog.Add("filter.regions", dissect.Uint, "Set of regions, all ones for all.")
	fWantedVersion = catalog.Add("filter.build", dissect.Uint, "Build, 0 for any.")
	fWantedStatus  = catalog.Add("filter.status", dissect.Uint, "Properties that servers must have.")
	fMaxBots       = catalog.Add("filter.max_bots", dissect.Uint, "Most bots.")
	fMinCPU        = catalog.Add("filter.min_cpu_mhz", dissect.Uint, "Lowest speed of the processor.")
	fBuddies       = catalog.Add("filter.buddies", dissect.Uint, "Number of friends that follow.")
)
