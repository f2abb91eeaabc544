package a2s

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
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
		mark, n := r.Mark(), len(p.Players)
		for r.More() && !cut {
			cut = !p.readPlayer(r, 0)
		}
		if cut {
			p.Players = p.Players[:n]
			r.Return(mark)
			cut = false
		}
	}
	r.End(list)
	switch {
	case p.Ship:
		r.Seek(block)
	case cut:
		r.Find(playersCut, nil, r.Offset(), r.Left())
		r.Rest(fields.Data())
	}
	if !r.Failed() {
		m.Pair.Lists, m.Pair.Entries = true, len(p.Players)
	}
	if !r.Failed() && len(p.Players) != int(p.Count) {
		r.Find(playersCount, fNumPlayers, at, 1, dissect.Num(p.Count), dissect.Num(len(p.Players)))
	}
	p.check(r)
}

// readPlayer reads one record, whole or not at all. On The Ship, block is the offset of
// the player's deaths and money.
func (p *PlayersReply) readPlayer(r *dissect.Reader, block int) bool {
	mark := r.Mark()
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
			r.Recover()
		}
		r.Return(mark)
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
		name := bytes.IndexByte(b[min(at+1, len(b)):], 0)
		if name < 0 {
			return 0
		}
		if at += 1 + name + 1 + 4 + 4; at > len(b) {
			return 0
		}
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
		name := bytes.IndexByte(b[1:], 0)
		if name < 0 || len(b) < 1+name+1+4+4 {
			return false
		}
		b = b[1+name+1+4+4:]
	}
	return true
}

// check reports lists that look hidden or invented.
func (p *PlayersReply) check(r *dissect.Reader) {
	unnamed, equal := 0, 0
	for i := range p.Players {
		q := &p.Players[i]
		if q.Name == "" {
			unnamed++
		}
		if i > 0 && q.Duration > 0 && q.Duration == p.Players[i-1].Duration {
			equal++
		}
		if q.Name == "Max Players" && len(p.Players) == 1 {
			r.Note(playersMax)
		}
	}
	if unnamed > 0 && unnamed == len(p.Players) {
		r.Note(playersUnnamed, dissect.Num(unnamed))
	}
	if equal >= 2 && equal+1 == len(p.Players) {
		r.Note(playersEqual, dissect.Num(equal+1))
	}
}
