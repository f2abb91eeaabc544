package minecraft_test

import (
	"fmt"

	"github.com/qdissect/qdissect/dissect/minecraft"
)

// Decode a full stat.
func ExampleParse() {
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
