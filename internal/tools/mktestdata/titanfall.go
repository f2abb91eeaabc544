package main

import "strings"

// titanfallReply writes a reply; rest is what follows the map.
func titanfallReply(version, players byte, platforms, rest string) string {
	return single + "N" + string(rune(version)) + "\x01\x02\x11\x22\x33\x44\x0e\x02\x01\x02\x03\x04\x05\x06\x07\x08" +
		"R5pc_r5launch\x00west europe\x00survival\x00\x97\x90PC\x003\x00\x01\x00\x00\x00des_ranked\x00" + platforms + string(rune(players)) + "\x3cmp_rr_desertlands\x00" + rest
}

// titanfallServers plays servers of several versions, and what goes wrong.
func titanfallServers(s *stage) {
	const (
		match  = "\x02\x01\x00\x01\x08\x07\x10\x00\x32\x00"
		frames = "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40"
		nobody = "\x00\x00\x00\x00\x00\x00\x00\x00"
		score  = "\x64\x00\x00\x00\x05\x00\x02\x00"
	)
	ask := func(version, key string) string {
		b := single + "M" + version + key
		return b + strings.Repeat("\x00", 1200-len(b))
	}
	s.between("192.0.2.20:50000", "198.51.100.10:37015")
	s.ask(ask("\x03", ""))
	s.answer(titanfallReply(3, 1, "", match+"\x02\x05\x00\x03\x07\x00\xff\x07\x00\x00\x00\x00\x00\x00\x01Anna\x00\x02"+score+nobody))
	s.ask(ask("\x05", "s3cret-key\x00"))
	s.answer(titanfallReply(5, 1, "", frames+match+"\xff\x08\x00\x00\x00\x00\x00\x00\x01Anna\x00\x02192.0.2.77:37005\x00\x28\x00\x00\x00\x10\x27\x00\x00\x01\x00\x00\x00"+score+nobody))
	s.between("192.0.2.20:50000", "198.51.100.11:37005")
	s.ask(ask("\x07", ""))
	s.answer(titanfallReply(7, 0, "\x02ps3\x00\x10pc\x00\x06", frames+match+"\x06\x00\xff"+nobody))
	s.ask(single + "M\x07")
	s.answer(titanfallReply(7, 0, "\x02ps3\x00\x11pc\x00\x06", frames+match+"\x06\x00\xff"+nobody))
	s.ask(ask("\x02", ""))
	s.answer(titanfallReply(2, 0, "", "")[:60])
}
