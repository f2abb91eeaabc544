package doom3

import (
	"bytes"
	"encoding/binary"
)

// A layout is how the players of an info reply and what follows them are laid
// out. The engine writes a record for each player behind the settings and then
// the number of places that a server has; games differ in what a record holds,
// and in what comes last. No field tells them apart, and versions of mods and
// of betas do not keep to the numbers of the games. So a reply is held against
// the layouts, and the one that ends where the reply ends is taken.
type layout struct {
	name string
	task bool // a task and a size stand before the settings
	// The parts of a record between the ping and the end, in their order.
	rate, place, clan, bot bool
	// bits says that bot is one bit (WriteBool), after which the numbers
	// stand across bytes until the next text begins with a whole one.
	bits bool
	// end is the number of places, where the next player would stand.
	end  uint8
	tail tail
}

// A tail is what follows the players.
type tail uint8

const (
	tailDoom3     tail = iota // nothing, or systems
	tailQuake4                // systems; net_port and a flag
	tailQuakeWars             // systems, ranked; time, state; kind of server; and what belongs to the kind
)

const (
	places     = 32
	placesWolf = 16
)

// The layouts, those first that are met most.
var layouts = [...]layout{
	layoutDoom3:          {name: "Doom 3", rate: true, end: places, tail: tailDoom3},
	layoutQuake4:         {name: "Quake 4", rate: true, clan: true, end: places, tail: tailQuake4},
	layoutQuakeWars:      {name: "Quake Wars 1.4", task: true, place: true, clan: true, bot: true, end: places, tail: tailQuakeWars},
	layoutQuakeWarsClan:  {name: "Quake Wars 1.2", task: true, rate: true, place: true, clan: true, bot: true, end: places, tail: tailQuakeWars},
	layoutQuakeWarsFirst: {name: "Quake Wars 1.0", task: true, rate: true, bot: true, end: places, tail: tailQuakeWars},
	layoutWolfenstein:    {name: "Wolfenstein", task: true, rate: true, place: true, clan: true, bot: true, end: placesWolf, tail: tailQuakeWars},
	layoutBeta:           {name: "Quake Wars beta", task: true, rate: true, bot: true, bits: true, end: places, tail: tailQuakeWars},
	layoutBetaClan:       {name: "Quake Wars beta with clans", task: true, place: true, clan: true, bot: true, bits: true, end: places, tail: tailQuakeWars},
	layoutBetaBytes:      {name: "Quake Wars beta without rates", task: true, bot: true, end: places, tail: tailQuakeWars},
	layoutWolfPlain:      {name: "Wolfenstein without task", rate: true, end: placesWolf, tail: tailDoom3},
}

const (
	layoutDoom3 = iota
	layoutQuake4
	layoutQuakeWars
	layoutQuakeWarsClan
	layoutQuakeWarsFirst
	layoutWolfenstein
	layoutBeta
	layoutBetaClan
	layoutBetaBytes
	layoutWolfPlain
)

// promised returns the layout that a version stands for, and whether the
// version is that of a known game. Protocols 13.9 and 13.10 have the bit
// (qstat); of the other versions of the beta nothing is known but that they
// have a task, so that any layout is good.
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

// hasTask reports whether the task and the size of Quake Wars stand round the
// version: b begins behind the challenge. Elsewhere the settings stand where
// the size would, and no size is that large.
func hasTask(b []byte) bool {
	if len(b) < 12 || b[6] == 0 || b[7] != 0 || b[10] != 0 || b[11] != 0 {
		return false
	}
	if major := binary.LittleEndian.Uint16(b[2:]); major < majorDoom3 || major > majorPreyDemo {
		return true
	}
	return int(binary.LittleEndian.Uint32(b[8:])) == len(b)-12
}

// scanner goes through a message without telling what it finds.
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

// skipPlayer goes past a player up to the byte that says whether it is a bot.
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

// fits reports whether a message in the layout ends where b ends, which begins
// behind the settings; bits are already undone. stats is where the second list
// of an extended reply begins.
func (l *layout) fits(b []byte, extended bool) (stats int, ok bool) {
	s := scanner{b: b}
	last := -1
	for {
		id := s.u8()
		if id == l.end {
			break
		}
		// The engine goes through the places in order.
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
	for {
		id := s.u8()
		if id == l.end {
			break
		}
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
	mask := lenOSMask
	if !t.masked(len(b)) {
		mask = 0
	}
	switch n := len(b) - mask + lenOSMask; t {
	case tailQuake4:
		return n == lenQuake4
	case tailQuakeWars:
		return n == lenRanked || n == lenState || n == lenType || t.whole(b, mask) == len(b)
	}
	return false
}

// masked reports whether a tail of n bytes begins with the systems. Servers
// that have no game code for others to load leave them out.
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

// whole returns the length of a whole tail of Quake Wars at the start of b, with
// so many bytes for the systems; -1 if there is none.
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

// unshift undoes the bit for bots: it appends to dst what b would be with a
// byte for it. b begins behind the settings.
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
		// Nobody has a place behind the last one: then all that is left
		// stands across bytes, to the end.
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

// choice is the layout that a reply is read in.
type choice struct {
	layout *layout
	fits   bool
	// known says that the version is that of a known game, asPromised that
	// the layout is the one it stands for.
	known, asPromised bool
	stats             int // offset of the second list behind the settings
}

// choose finds the layout of a reply. b begins behind the settings. If the bits
// of the layout had to be undone, d.unshifted holds the result.
func (d *decoder) choose(b []byte, v Version, task, extended bool) choice {
	first, known, sure := promised(v, task)
	for i := -1; i < len(layouts); i++ {
		index := i
		if i < 0 {
			index = first
		}
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
	// None: the version's own, without undoing bits that are not there.
	l := &layouts[first]
	if l.bits || l.task != task {
		l = &layouts[layoutDoom3]
		if task {
			l = &layouts[layoutQuakeWars]
		}
	}
	return choice{layout: l, known: known}
}
