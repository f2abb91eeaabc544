package corpus

import (
	"fmt"
	"testing"
)

// checkFFOW compares the replies of Frontlines: Fuel of War with what GameQ made of them.
// It reads the port and the time left in the other byte order.
func checkFFOW(t *testing.T, _ *testCase, lines []object, want object) {
	sameProtocol(t, lines, "a2s")
	want = only(t, want)
	infos, rules := messages(lines, "info_reply"), messages(lines, "rules_reply")
	if len(infos) != 1 || len(rules) != 1 || len(messages(lines, "players_reply")) != 1 {
		t.Fatalf("%v", lines)
	}
	number := func(v any) (n int) {
		fmt.Sscan(fmt.Sprint(v), &n)
		return n
	}
	swapped := func(v any) int { return number(v)>>8 | number(v)&0xff<<8 }
	f := fields(infos[0])
	for _, c := range [][2]any{
		{f["name"], want["servername"]}, {f["map"], want["mapname"]}, {f["folder"], want["modname"]}, {f["game_mode"], want["gamemode"]},
		{f["game"], want["description"]}, {f["version"], want["version"]}, {f["num_players"], want["num_players"]}, {f["max_players"], want["max_players"]},
		{f["server_type"], string(rune(number(want["dedicated"])))}, {f["os"], string(rune(number(want["os"])))}, {f["average_fps"], want["average_fps"]},
		{f["round"], want["round"]}, {f["max_rounds"], want["max_rounds"]}, {f["port"], swapped(want["port"])}, {f["time_left_s"], swapped(want["time_left"])},
	} {
		if fmt.Sprint(c[0]) != fmt.Sprint(c[1]) {
			t.Errorf("%v, want %v, in %v", c[0], c[1], f)
		}
	}
	for _, r := range rows(rules[0], "rules") {
		if k := r["key"].(string); len(k) > 3 && k[:4] != "Map:" && !equal(r["value"], want[k]) {
			t.Errorf("%s: %v, want %v", k, r["value"], want[k])
		}
	}
}
