package anonymize

import "strings"

// games are the common game descriptions in replies to A2S_INFO. Any other may be the name
// of a mission, a mode or a community.
var games = map[string]bool{
	"half-life": true, "half-life 2 deathmatch": true, "half-life deathmatch: source": true, "opposing force": true, "deathmatch classic": true, "ricochet": true,
	"counter-strike": true, "counter-strike: condition zero": true, "counter-strike: source": true, "counter-strike: global offensive": true, "counter-strike 2": true,
	"team fortress": true, "team fortress classic": true, "team fortress 2": true, "day of defeat": true, "day of defeat: source": true, "day of defeat source": true,
	"left 4 dead": true, "left 4 dead 2": true, "alien swarm": true, "alien swarm: reactive drop": true, "garry's mod": true, "sandbox": true, "darkrp": true,
	"the ship": true, "sin 1": true, "sin episodes": true, "rag doll kung fu": true, "dark messiah": true, "natural selection": true, "sven co-op": true,
	"black mesa": true, "insurgency": true, "day of infamy": true, "no more room in hell": true, "zombie panic! source": true, "fistful of frags": true, "synergy": true,
	"nuclear dawn": true, "empires": true, "age of chivalry": true, "pirates, vikings, and knights ii": true, "brainbread 2": true, "codename cure": true,
	"arma": true, "arma 2": true, "arma 3": true, "dayz": true, "rust": true, "squad": true, "ark: survival evolved": true, "ark: survival ascended": true,
	"conan exiles": true, "7 days to die": true, "unturned": true, "valheim": true, "killing floor": true, "killing floor 2": true, "the forest": true, "v rising": true,
	"project zomboid": true, "space engineers": true, "quake live": true, "chivalry": true, "mordhau": true, "red orchestra 2": true, "rising storm 2": true,
}

func knownGame(text []byte) bool { return games[strings.ToLower(strings.TrimSpace(string(text)))] }
