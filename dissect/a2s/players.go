package a2s

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// shipRecord is the size of one player's deaths and money.
const shipRecord = 8

// decodePlayersReply reads the list of players (Server queries, "A2S_PLAYER"). The
// count is unreliable: Left 4 Dead servers with fake players send 170, others send
// fewer records than they announce.
func (d *decoder) decodePlayersReply(r *dissect.Reader, m *dissect.Message) {
	p := &d.players
	*p = PlayersReply{Players: p.Players[:0]}
	m.Body, m.Pair.Also = p, topicInfo

	at := r.Offset()
	p.Count = r.U8(fNumPlayers)
	if core.Skim(r, 1+int(p.Count)) { // the list and its players
		if t, ok := wholePlayers(r.Peek(), int(p.Count)); ok {
			p.skimmed = t.players
			core.Pass(r, 1+t.players, r.Left())
			m.Pair.Lists, m.Pair.Entries = true, t.players
			t.check(r)
			return
		}
	}
	block := shipBlock(r.Peek(), int(p.Count))
	if p.Ship = block > 0; p.Ship {
		block += r.Offset()
		r.Find(shipFound, fDeaths, block, shipRecord*int(p.Count), dissect.Num(p.Count))
	}
	list := r.Begin(fPlayerList)
	cut := false
	for len(p.Players) < int(p.Count) && r.More() && !cut {
		cut = !p.readPlayer(r, block)
		block += shipRecord
	}
	if !p.Ship && !cut && r.More() && !zeros(r.Peek()) {
		// The list goes on if everything left reads as records.
		mark, n := core.Here(r), len(p.Players)
		for r.More() && !cut {
			cut = !p.readPlayer(r, 0)
		}
		if cut {
			p.Players = p.Players[:n]
			core.Return(r, mark)
			cut = false
		}
	}
	r.End(list)
	switch {
	case p.Ship:
		r.Seek(block)
	case cut:
		r.Find(playersCut, nil, r.Offset(), r.Left())
		r.Rest(catalog.Data())
	}
	if !r.Failed() {
		m.Pair.Lists, m.Pair.Entries = true, len(p.Players)
	}
	if !r.Failed() && len(p.Players) != int(p.Count) {
		r.Find(playersCount, fNumPlayers, at, 1, dissect.Num(p.Count), dissect.Num(len(p.Players)))
	}
	var t tally
	for i := range p.Players {
		q := &p.Players[i]
		t.add(q.Name == "", q.Name == maxPlayers, q.Duration)
	}
	t.check(r)
}

// wholePlayers counts the n players of which b consists. It reports false if there is
// anything else, or a name that is not UTF-8.
func wholePlayers(b []byte, n int) (t tally, ok bool) {
	const numbers = 4 + 4 // score and time
	for range n {
		if len(b) == 0 {
			return t, false
		}
		b = b[1:]
		end, high := nettext.UntilNUL(b)
		if end < 0 || len(b) < end+1+numbers || high && !utf8.Valid(b[:end]) {
			return t, false
		}
		name, duration := b[:end], math.Float32frombits(binary.LittleEndian.Uint32(b[end+1+4:]))
		t.add(len(name) == 0, string(name) == maxPlayers, duration)
		b = b[end+1+numbers:]
	}
	return t, len(b) == 0
}

// readPlayer reads one record, whole or not at all. On The Ship, block is the offset of
// the player's deaths and money.
func (p *PlayersReply) readPlayer(r *dissect.Reader, block int) bool {
	mark := core.Here(r)
	open := r.Begin(fPlayer)
	one := Player{Index: r.U8(fIndex), Name: r.CString(fPlayerName), Score: r.I32(fScore), Duration: r.F32(fPlayerTime)}
	if p.Ship {
		next := r.Offset()
		r.Seek(block)
		one.Deaths, one.Money = r.I32(fDeaths), r.I32(fMoney)
		r.Seek(next)
	}
	r.End(open)
	if r.Failed() {
		if !p.Ship { // shipBlock has checked the records
			core.Recover(r)
		}
		core.Return(r, mark)
		return false
	}
	p.Players = append(p.Players, one)
	return true
}

// shipBlock returns the offset of the block with deaths and money of The Ship's
// players, or 0 if there is none. The block follows the n records and has 8 bytes for
// each. Recorded replies have it there. The document does not describe it, and clients
// that look for the values in each record misread the list.
func shipBlock(b []byte, n int) int {
	at := 0
	for range n {
		size := recordLen(b[at:])
		if size == 0 {
			return 0
		}
		at += size
	}
	switch left := len(b) - at - shipRecord*n; {
	case n == 0:
	case left == 0, left == 1 && !records(b[at:]): // any list may have a stray byte after it
		return at
	}
	return 0
}

// records reports whether b consists of whole player records.
func records(b []byte) bool {
	for len(b) > 0 {
		n := recordLen(b)
		if n == 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// recordLen returns the length of the player record at the start of b, 0 if there is none: index, name, score and time.
func recordLen(b []byte) int {
	name := bytes.IndexByte(b[min(1, len(b)):], 0)
	if n := 1 + name + 1 + 4 + 4; name >= 0 && n <= len(b) {
		return n
	}
	return 0
}

// A tally is what the findings about a list of players need.
type tally struct {
	players, unnamed int
	equal            int     // players with the time of the one before
	last             float32 // the time of the last player
	max              bool    // a player is called maxPlayers
}

const maxPlayers = "Max Players"

func (t *tally) add(unnamed, max bool, duration float32) {
	if unnamed {
		t.unnamed++
	}
	t.max = t.max || max
	if t.players > 0 && duration > 0 && duration == t.last {
		t.equal++
	}
	t.last = duration
	t.players++
}

// check reports lists that look hidden or invented.
func (t *tally) check(r *dissect.Reader) {
	if t.max && t.players == 1 {
		r.Note(playersMax)
	}
	if t.unnamed > 0 && t.unnamed == t.players {
		r.Note(playersUnnamed, dissect.Num(t.unnamed))
	}
	if t.equal >= 2 && t.equal+1 == t.players {
		r.Note(playersEqual, dissect.Num(t.equal+1))
	}
}
