package valvemaster

import (
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/nettext"
)

// decodeJoin reads type q ("Join"). Xash3D adds a challenge of its own.
func (d *decoder) decodeJoin(r *dissect.Reader, m *dissect.Message, _ byte) {
	wire.Body(m, &d.join, Join{})
	m.Pair.Challenge = dissect.ChallengeSeed
	if r.Next(0xff) {
		r.U8(fMark)
		if r.More() {
			d.join.Challenge = dissect.Some(r.I32(fServerChallenge))
		}
		return
	}
	skipLine(r)
	readNul(r)
}

// decodeChallenge reads type s ("Join").
func (d *decoder) decodeChallenge(r *dissect.Reader, m *dissect.Message, _ byte) {
	c := wire.Body(m, &d.challenge, Challenge{})
	r.Bytes(fNewLine, 1)
	c.Challenge = r.I32(fChallenge)
	m.Pair.Challenge, m.Pair.Value = dissect.ChallengeIssued, uint64(uint32(c.Challenge))
	if r.More() {
		c.ServerChallenge = dissect.Some(r.I32(fServerChallenge))
	}
}

// decodeHeartbeat reads type 0 ("Challenge response").
func (d *decoder) decodeHeartbeat(r *dissect.Reader, m *dissect.Message, _ byte) {
	h := wire.Body(m, &d.heartbeat, Heartbeat{Rules: d.heartbeat.Rules[:0]})
	r.Bytes(fNewLine, 1)
	at, n := r.Offset(), r.Until("\n\x00")
	var odd bool
	if h.Rules, odd = keyvalue.Read(r, rules, n, h.Rules); odd {
		r.Find(heartbeatOdd, rules.Key, at, n)
	}
	if r.Next('\n') {
		r.Bytes(fHeartbeatEnd, 1)
	} else if !r.Failed() {
		r.Note(heartbeatEnd)
	}
	readNul(r)
	if r.Failed() {
		return
	}
	d.state(r, m, keyvalue.Number(h.Rules, "challenge"))
	if why := ""; !odd {
		if h.Flavour, why = flavour(h.Rules); h.Flavour != "" {
			r.Note(heartbeatFlavour, dissect.Str(h.Flavour), dissect.Str(why))
		}
	}
}

// A fact is a value that a heartbeat encodes as a letter or a number.
type fact struct{ key, value, meaning string }

var facts = [...]fact{
	{"type", "d", "dedicated"}, {"type", "l", "listen"}, {"type", "p", "SourceTV or HLTV proxy"},
	{"os", "l", "Linux"}, {"os", "w", "Windows"}, {"os", "m", "macOS"}, {"os", "o", "macOS"},
	{"region", "0", "US East coast"}, {"region", "1", "US West coast"}, {"region", "2", "South America"}, {"region", "3", "Europe"},
	{"region", "4", "Asia"}, {"region", "5", "Australia"}, {"region", "6", "Middle East"}, {"region", "7", "Africa"},
	{"region", "255", "rest of the world"}, {"region", "-1", "rest of the world"},
}

// meaning returns the index of a value among the facts, from 1, or 0 if it is not one
// of them.
func meaning(key, value string) uint64 {
	switch key {
	case "type", "os", "region":
		return uint64(slices.IndexFunc(facts[:], func(f fact) bool { return f.key == key && f.value == value }) + 1)
	}
	return 0
}

// inWords returns the facts as names of values.
func inWords() dissect.Option {
	var names []dissect.Name
	for i, f := range facts {
		names = append(names, dissect.Name{Value: uint64(i + 1), Name: f.meaning, Text: f.key + " " + f.value})
	}
	return dissect.Names(names...)
}

// state sets the server's data and reports findings about them.
func (d *decoder) state(r *dissect.Reader, m *dissect.Message, challenge dissect.Opt[int]) {
	h := &d.heartbeat
	if challenge.OK {
		h.Challenge = dissect.Some(int32(challenge.Value))
		m.Pair = dissect.Pair{May: topicJoin, Challenge: dissect.ChallengeUsed, Value: uint64(uint32(challenge.Value))}
	} else {
		r.Note(challengeMissing)
	}
	s := &m.Server
	s.Map = keyvalue.Text(h.Rules, "map")
	s.Game = keyvalue.Text(h.Rules, "gamedir")
	s.Version = keyvalue.Text(h.Rules, "version")
	s.Players = keyvalue.Number(h.Rules, "players")
	s.MaxPlayers = keyvalue.Number(h.Rules, "max")
	s.Bots = keyvalue.Number(h.Rules, "bots")
	s.Password = keyvalue.Flag(h.Rules, "password")
	h.server = *s
	if s.Players.OK && s.MaxPlayers.OK && (s.Players.Value > s.MaxPlayers.Value || s.Bots.Value > s.Players.Value) {
		r.Note(heartbeatCounts, dissect.Num(s.Players.Value), dissect.Num(s.MaxPlayers.Value), dissect.Num(s.Bots.Value))
	}
}

// flavour returns the engine that wrote a heartbeat and the key that shows it
// ("Differences").
func flavour(pairs []dissect.KeyValue) (name, why string) {
	if _, ok := keyvalue.Get(pairs, "nat"); ok {
		return "Xash3D", "nat"
	}
	if _, ok := keyvalue.Get(pairs, "gametype"); ok {
		return "Orange Box", "gametype"
	}
	for i := range len(pairs) - 1 {
		if pairs[i].Key == "map" {
			switch pairs[i+1].Key {
			case "type":
				return "GoldSrc", "type after map"
			case "password":
				return "Source", "password after map"
			}
		}
	}
	return "", ""
}

// decodeOldHeartbeat reads type a: lines that game servers sent to WON.
func (d *decoder) decodeOldHeartbeat(r *dissect.Reader, m *dissect.Message, _ byte) {
	h := wire.Body(m, &d.heartbeat, Heartbeat{Flavour: "WON", Rules: d.heartbeat.Rules[:0]})
	skipLine(r)
	challenge, ok := nettext.ParseInt(line(r, fOldChallenge))
	line(r, fSequence)
	players, playersOK := nettext.ParseInt(line(r, fOldPlayers))
	line(r, fOldProtocol)
	game := line(r, fOldGameDir)
	if r.Next('\\') {
		at, n := r.Offset(), r.Until("\r\n\x00")
		var odd bool
		if h.Rules, odd = keyvalue.Read(r, rules, n, h.Rules); odd {
			r.Find(heartbeatOdd, rules.Key, at, n)
		}
	}
	skipLine(r)
	readNul(r)
	if r.Failed() {
		return
	}
	d.state(r, m, dissect.Opt[int]{Value: int(challenge), OK: ok})
	if game == "" {
		r.Note(heartbeatEnd)
		return
	}
	m.Server.Game = dissect.Some(game)
	if playersOK {
		m.Server.Players = dissect.Some(int(players))
	}
	h.server = m.Server
}

// decodeQuit reads type b ("Quit").
func (d *decoder) decodeQuit(r *dissect.Reader, m *dissect.Message, _ byte) {
	wire.Body(m, &d.quit, Quit{Flavour: "GoldSrc"})
	skipLine(r)
	if r.Next(0) {
		d.quit.Flavour = "Source"
		r.Bytes(fTerminate, 1)
	}
	r.Note(quitForm, dissect.Str(d.quit.Flavour))
}
