package doom3

import (
	"bytes"
	"encoding/binary"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A layout is the format of the players of an info reply and of the data after them.
// The engine writes a record for each player after the settings, and then the number of
// player slots of the server. Games differ in the fields of a record and in the data at
// the end. No field names the layout, and versions of mods and betas do not follow the
// numbers of the games. So the layout is the one with which reading ends where the
// reply ends.
type layout struct {
	name string
	task bool // a task and a size precede the settings
	// The fields of a record between the ping and the end, in their order.
	rate, place, clan, bot bool
	// bits reports whether bot is a single bit (WriteBool). The numbers after it are
	// not aligned to bytes; the next text is.
	bits bool
	// end is the number of player slots. It replaces the id of the next player.
	end  uint8
	tail tail
}

// A tail is the format of the data after the players.
type tail uint8

const (
	tailDoom3     tail = iota // nothing, or systems
	tailQuake4                // systems; net_port and a flag
	tailQuakeWars             // systems, ranked; time, state; kind of server, and its data
)

const (
	places     = 32
	placesWolf = 16
)

// The layouts, most frequent first.
var layouts = [...]layout{
	layoutDoom3:          {name: "Doom 3", rate: true, end: places, tail: tailDoom3},
	layoutQuake4:         {name: "Quake 4", rate: true, clan: true, end: places, tail: tailQuake4},
	layoutQuakeWars:      {name: "Quake Wars 1.4", task: true, place: true, clan: true, bot: true, end: places, tail: tailQuakeWars},
	layoutQuakeWarsClan:  {name: "Quake Wars 1.2", task: true, rate: true, place: true, clan: true, bot: true, end: places, tail: tailQuakeWars},
	layoutQuakeWarsFirst: {name: "Quake Wars 1.0", task: true, rate: true, bot: true, end: places, tail: tailQuakeWars},
	layoutWolfenstein:    {name: "Wolfenstein", task: true, rate: true, place: true, clan: true, bot: true, end: placesWolf, tail: tailQuakeWars},
	layoutBeta:           {name: "Quake Wars beta", task: true, rate: true, bot: true, bits: true, end: places, tail: tailQuakeWars},
	{name: "Quake Wars beta with clans", task: true, place: true, clan: true, bot: true, bits: true, end: places, tail: tailQuakeWars},
	{name: "Quake Wars beta without rates", task: true, bot: true, end: places, tail: tailQuakeWars},
	{name: "Wolfenstein without task", rate: true, end: placesWolf, tail: tailDoom3},
}

const (
	layoutDoom3 = iota
	layoutQuake4
	layoutQuakeWars
	layoutQuakeWarsClan
	layoutQuakeWarsFirst
	layoutWolfenstein
	layoutBeta
)

// promised returns the index of the layout for a version, and whether the version is
// that of a known game. Protocols 13.9 and 13.10 have the bit (qstat). The other
// versions of the beta are unknown except for their task, so that any layout is
// possible; sure is false for them.
func promised(v Version, task bool) (index int, known, sure bool) {
	switch v.Major {
	case majorDoom3, majorPrey, majorPreyDemo:
		return layoutDoom3, true, true
	case majorQuake4:
		return layoutQuake4, true, true
	case majorQuakeWars:
		switch {
		case v.Minor >= 19: // no rate since 1.4
			return layoutQuakeWars, true, true
		case v.Minor >= 17: // clans since 1.2
			return layoutQuakeWarsClan, true, true
		}
		return layoutQuakeWarsFirst, true, true
	case majorQuakeWarsBeta:
		return layoutBeta, true, false
	case majorWolfenstein:
		return layoutWolfenstein, true, true
	}
	if task {
		return layoutQuakeWars, false, false
	}
	return layoutDoom3, false, false
}

// hasTask reports whether the version has the task before it and the size after it, as
// in Quake Wars; b follows the challenge. In other games the settings are in the place
// of the size, and no size is that large.
func hasTask(b []byte) bool {
	if len(b) < 12 || b[6] == 0 || b[7] != 0 || b[10] != 0 || b[11] != 0 {
		return false
	}
	if major := binary.LittleEndian.Uint16(b[2:]); major < majorDoom3 || major > majorPreyDemo {
		return true
	}
	return int(binary.LittleEndian.Uint32(b[8:])) == len(b)-12
}

// A scanner walks through a message without recording fields.
type scanner struct {
	b      []byte
	failed bool
}

func (s *scanner) u8() (v uint8) {
	if len(s.b) == 0 {
		s.failed = true
		return 0
	}
	v, s.b = s.b[0], s.b[1:]
	return v
}

func (s *scanner) skip(n int) {
	if s.failed = s.failed || len(s.b) < n; !s.failed {
		s.b = s.b[n:]
	}
}

func (s *scanner) text() {
	n := bytes.IndexByte(s.b, 0)
	if s.failed = s.failed || n < 0; !s.failed {
		s.b = s.b[n+1:]
	}
}

// skipPlayer skips a player up to the byte that tells whether it is a bot.
func (l *layout) skipPlayer(s *scanner) {
	s.skip(2)
	if l.rate {
		s.skip(4)
	}
	s.text()
	if l.place {
		s.skip(1)
	}
	if l.clan {
		s.text()
	}
}

// fits reports whether a message in the layout ends where b ends; b follows the
// settings and is aligned. stats is the offset of the second list of an extended reply.
func (l *layout) fits(b []byte, extended bool) (stats int, ok bool) {
	s := scanner{b: b}
	last := -1
	for id := s.u8(); id != l.end; id = s.u8() {
		// The engine writes players in the order of their ids.
		if s.failed || int(id) <= last || id > l.end {
			return 0, false
		}
		last = int(id)
		l.skipPlayer(&s)
		if l.bot && s.u8() > 1 || s.failed {
			return 0, false
		}
	}
	if !extended {
		return 0, !s.failed && l.tail.ends(s.b)
	}
	for _, mask := range [...]int{lenOSMask, 0} {
		if n := l.tail.whole(s.b, mask); n >= 0 && l.endsStats(s.b[n:]) {
			return len(b) - len(s.b) + n, true
		}
	}
	return 0, false
}

// endsStats reports whether b is the second list of an extended reply.
func (l *layout) endsStats(b []byte) bool {
	s := scanner{b: b}
	for id := s.u8(); id != l.end; id = s.u8() {
		s.skip(4)
		s.text()
		s.skip(8)
		if s.failed || id > l.end {
			return false
		}
	}
	return !s.failed && len(s.b) == 0
}

// The lengths of tails.
const (
	lenOSMask  = 4
	lenQuake4  = lenOSMask + 4 + 1
	lenRanked  = lenOSMask + 1
	lenState   = lenRanked + 4 + 1
	lenType    = lenState + 1
	lenRegular = lenType + 1
	lenTV      = lenType + 4 + 4
)

// ends reports whether b is a tail.
func (t tail) ends(b []byte) bool {
	if len(b) == 0 || len(b) == lenOSMask {
		return true
	}
	mask := nettext.Either(t.masked(len(b)), lenOSMask, 0)
	switch n := len(b) - mask + lenOSMask; t {
	case tailQuake4:
		return n == lenQuake4
	case tailQuakeWars:
		return n == lenRanked || n == lenState || n == lenType || t.whole(b, mask) == len(b)
	}
	return false
}

// masked reports whether a tail of n bytes begins with the systems. Servers without
// game code to download omit them.
func (t tail) masked(n int) bool {
	if n == 0 {
		return false
	}
	switch n += lenOSMask; t {
	case tailQuake4:
		return n != lenQuake4
	case tailQuakeWars:
		return n != lenRanked && n != lenState && n != lenType && n != lenRegular && n != lenTV
	}
	return true
}

// whole returns the length of a complete Quake Wars tail at the start of b, with mask
// bytes for the systems, or -1 if there is none.
func (t tail) whole(b []byte, mask int) int {
	kind := lenState - lenOSMask + mask
	switch {
	case t != tailQuakeWars || len(b) <= kind:
	case b[kind] == serverNormal && len(b) >= lenRegular-lenOSMask+mask:
		return lenRegular - lenOSMask + mask
	case b[kind] == serverTV && len(b) >= lenTV-lenOSMask+mask:
		return lenTV - lenOSMask + mask
	}
	return -1
}

// unshift aligns a message with a bit for bots: it appends b to dst with a byte instead
// of the bit. b follows the settings.
func (l *layout) unshift(dst, b []byte) ([]byte, bool) {
	head := 1 + 2 // number and ping
	if l.rate {
		head += 4
	}
	if len(b) > 0 && b[0] == l.end {
		return append(dst, b...), true // no players, no bits
	}
	if len(b) < head {
		return dst, false
	}
	dst = append(dst, b[:head]...)
	b = b[head:]
	for {
		n := bytes.IndexByte(b, 0) + 1
		if l.place && n > 0 && n < len(b) {
			n++
		}
		if clan := bytes.IndexByte(b[n:], 0); l.clan && n > 0 {
			if clan < 0 {
				return dst, false
			}
			n += clan + 1
		}
		if n == 0 || len(b)-n < 2 {
			return dst, false
		}
		dst = append(dst, b[:n]...)
		b = b[n:]
		dst = append(dst, b[0]&1)
		// No player has this id, so the rest is unaligned to the end.
		if id := b[0]>>1 | b[1]<<7; id == l.end {
			for i := 0; i+1 < len(b); i++ {
				dst = append(dst, b[i]>>1|b[i+1]<<7)
			}
			return dst, b[len(b)-1]>>1 == 0
		}
		if len(b) < head+1 {
			return dst, false
		}
		for i := range head {
			dst = append(dst, b[i]>>1|b[i+1]<<7)
		}
		b = b[head+1:] // the name begins with a whole byte
	}
}

// A choice is the layout in which a reply is read.
type choice struct {
	layout *layout
	fits   bool
	// known reports whether the version is that of a known game, asPromised whether
	// the layout is the one for that version.
	known, asPromised bool
	stats             int // offset of the second list after the settings
}

// choose returns the layout of a reply; b follows the settings. If the layout has bits,
// d.unshifted holds the aligned data.
func (d *decoder) choose(b []byte, v Version, task, extended bool) choice {
	first, known, sure := promised(v, task)
	for i := -1; i < len(layouts); i++ {
		index := nettext.Either(i < 0, first, i)
		l := &layouts[index]
		if l.task != task || i == first {
			continue
		}
		data := b
		if l.bits {
			var ok bool
			if d.unshifted, ok = l.unshift(d.unshifted[:0], b); !ok {
				continue
			}
			data = d.unshifted
		}
		if stats, ok := l.fits(data, extended); ok {
			return choice{layout: l, fits: true, known: known, asPromised: index == first || known && !sure, stats: stats}
		}
	}
	// No layout fits: use the one for the version, unless it needs alignment.
	l := &layouts[first]
	if l.bits || l.task != task {
		l = &layouts[layoutDoom3]
		if task {
			l = &layouts[layoutQuakeWars]
		}
	}
	return choice{layout: l, known: known}
}
