package all_test

import (
	"fmt"

	"github.com/qdissect/qdissect/dissect/ase"
	"github.com/qdissect/qdissect/dissect/gamespy1"
	"github.com/qdissect/qdissect/dissect/gamespy2"
	"github.com/qdissect/qdissect/dissect/gamespy3"
	"github.com/qdissect/qdissect/dissect/halflife"
	"github.com/qdissect/qdissect/dissect/minecraft"
	"github.com/qdissect/qdissect/dissect/quake3master"
)

// A reply to the query infostring lists the settings of the server.
func Example_halflife() {
	payload := []byte("\xff\xff\xff\xffinfostringresponse\x00\\hostname\\A server\\map\\crossfire\x00")
	m, err := halflife.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	if reply, ok := m.(*halflife.InfoStringReply); ok {
		for _, rule := range reply.Rules {
			fmt.Printf("%s is %q\n", rule.Key, rule.Value)
		}
	}
	// Output:
	// hostname is "A server"
	// map is "crossfire"
}

// Decode the reply to a query for players and teams.
func Example_gamespy2() {
	payload := []byte("\x00CORX" +
		"\x00\x02player_\x00score_\x00team_\x00\x00Alice\x007\x000\x00Bob\x003\x001\x00" +
		"\x00\x02team_t\x00score_t\x00\x00Red\x001\x00Blue\x000\x00")
	m, err := gamespy2.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	if reply, ok := m.(*gamespy2.StatusReply); ok {
		for _, p := range reply.Players {
			name, _ := p.Get("player")
			score, _ := p.Get("score")
			fmt.Println(name, score)
		}
		fmt.Println(len(reply.Teams), "teams")
	}
	// Output:
	// Alice 7
	// Bob 3
	// 2 teams
}

// Decode a reply in one part.
func Example_gamespy3() {
	payload := []byte("\x00\x10\x20\x30\x40splitnum\x00\x80\x00" +
		"hostname\x00A server\x00mapname\x00Strike at Karkand\x00numplayers\x002\x00maxplayers\x0064\x00\x00" +
		"\x01player_\x00\x00Alice\x00Bob\x00\x00score_\x00\x0014\x00-3\x00\x00\x00" +
		"\x02team_t\x00\x00MEC\x00US\x00\x00\x00")
	m, err := gamespy3.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	if reply, ok := m.(*gamespy3.StatusReply); ok {
		fmt.Println(reply.Rules[0].Value)
		for _, p := range reply.Players {
			name, _ := p.Get("player")
			score, _ := p.Get("score")
			fmt.Println(name, score)
		}
		fmt.Println(len(reply.Teams), "teams")
	}
	// Output:
	// A server
	// Alice 14
	// Bob -3
	// 2 teams
}

// Decode a full stat.
func Example_minecraft() {
	payload := []byte("\x00\x00\x00\x00\x01splitnum\x00\x80\x00" +
		"hostname\x00A Minecraft Server\x00gametype\x00SMP\x00game_id\x00MINECRAFT\x00version\x001.21.4\x00" +
		"plugins\x00Paper on 1.21.4: WorldEdit 7.3.9; Essentials 2.21\x00map\x00world\x00numplayers\x002\x00maxplayers\x0020\x00" +
		"hostport\x0025565\x00hostip\x00127.0.0.1\x00\x00\x01player_\x00\x00barneygale\x00Vivalahelvig\x00\x00")
	m, err := minecraft.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	if stat, ok := m.(*minecraft.FullStat); ok {
		version, _ := stat.Get("version")
		fmt.Println(version, stat.Software, len(stat.Plugins))
		for _, p := range stat.Players {
			name, _ := p.Get("player")
			fmt.Println(name)
		}
	}
	// Output:
	// 1.21.4 Paper on 1.21.4 2
	// barneygale
	// Vivalahelvig
}

// Decode one of the replies that make up a list.
func Example_quake3master() {
	payload := []byte("\xff\xff\xff\xffgetserversResponse\\\xc6\x33\x64\x0a\x6d\x38\\\xc6\x33\x64\x0b\x6d\x39\\EOT\x00\x00\x00")
	m, err := quake3master.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	if reply, ok := m.(*quake3master.ServersReply); ok {
		for _, server := range reply.Servers {
			fmt.Println(server)
		}
		fmt.Println("end of the list:", reply.End != "")
	}
	// Output:
	// 198.51.100.10:27960
	// 198.51.100.11:27961
	// end of the list: true
}

// Decode a datagram from a socket or a bug report.
func Example_gamespy1() {
	payload := []byte(`\gamename\mohaa\hostname\A server\numplayers\2\maxplayers\20` +
		`\player_0\Anna\frags_0\12\ping_0\ 40\player_3\Borje\frags_3\-1\ping_3\ 107\final\\queryid\12.1`)
	m, err := gamespy1.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := m.(*gamespy1.Reply)
	for _, rule := range r.Rules {
		fmt.Println(rule.Key, "=", rule.Value)
	}
	for _, p := range r.Players {
		fmt.Println(p.Index, p.Name, p.Score.Value, p.Ping.Value)
	}
	// Output:
	// gamename = mohaa
	// hostname = A server
	// numplayers = 2
	// maxplayers = 20
	// 0 Anna 12 40
	// 3 Borje -1 107
}

// A datagram from a socket or from a bug report.
func Example_ase() {
	payload := []byte("EYE1\x04mta\x0622003\x09A server\x05Race\x03SF\x041.6\x020\x022\x0332\x01" +
		"\x3f\x05Anna\x01\x01\x027\x0331\x01" +
		"\x3f\x06Borje\x01\x01\x01\x04154\x01")
	m, err := ase.Parse(payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := m.(*ase.StatusReply)
	fmt.Println(s.HostName, s.Map, s.NumPlayers, s.MaxPlayers)
	for _, p := range s.Players {
		fmt.Println(p.Name, p.Ping.Value)
	}
	// Output:
	// A server SF 2 32
	// Anna 31
	// Borje 154
}
