package a2s

import "github.com/qdissect/qdissect/dissect"

// shipRecord is the size of deaths and money of one player.
const shipRecord = 8

// decodePlayersReply reads the list of players (Server queries, "A2S_PLAYER").
// The count is not to be trusted: Left 4 Dead servers with fake players send
// 170, others send fewer records than they announce.
func (d *decoder) decodePlayersReply(r *dissect.Reader, m *dissect.Message) {
	p := &d.players
	*p = PlayersReply{Players: p.Players[:0]}
	m.Type, m.Body = mPlayersReply, p
	m.Pair.Answers, m.Pair.Also = topicPlayers, topicInfo

	at := r.Offset()
	p.Count = r.U8(fNumPlayers)
	list := r.Begin(fPlayerList)
	cut := false
	for len(p.Players) < int(p.Count) && r.More() && !cut {
		cut = !p.readPlayer(r)
	}
	if !cut && r.More() && !p.shipFollows(r) {
		// More records than announced, if what is left reads as such to
		// its end.
		mark, n := r.Mark(), len(p.Players)
		for r.More() && !cut {
			cut = !p.readPlayer(r)
		}
		if cut {
			p.Players = p.Players[:n]
			r.Return(mark)
			cut = false
		}
	}
	r.End(list)
	if !cut && p.shipFollows(r) {
		p.readShip(r)
	}
	if cut {
		r.Find(playersCut, nil, r.Offset(), r.Left())
		r.Rest(fields.Data())
	}
	if !r.Failed() && len(p.Players) != int(p.Count) {
		r.Find(playersCount, fNumPlayers, at, 1, dissect.Num(p.Count), dissect.Num(len(p.Players)))
	}
	p.check(r)
}

// readPlayer reads one record, whole or not at all.
func (p *PlayersReply) readPlayer(r *dissect.Reader) bool {
	mark := r.Mark()
	open := r.Begin(fPlayer)
	one := Player{Index: r.U8(fIndex), Name: r.CString(fPlayerName), Score: r.I32(fScore), Duration: r.F32(fPlayerTime)}
	r.End(open)
	if r.Failed() {
		r.Recover()
		r.Return(mark)
		return false
	}
	p.Players = append(p.Players, one)
	return true
}

// shipFollows reports whether what is left is The Ship's block: 8 bytes for
// each player. Recorded replies of The Ship have it behind all records; the
// document does not know it.
func (p *PlayersReply) shipFollows(r *dissect.Reader) bool {
	return len(p.Players) > 0 && r.Left() == shipRecord*len(p.Players)
}

func (p *PlayersReply) readShip(r *dissect.Reader) {
	r.Find(shipBlock, fShip, r.Offset(), r.Left(), dissect.Num(len(p.Players)))
	p.Ship = true
	list := r.Begin(fShip)
	for i := range p.Players {
		open := r.Begin(fShipPlayer)
		p.Players[i].Deaths = r.I32(fDeaths)
		p.Players[i].Money = r.I32(fMoney)
		r.End(open)
	}
	r.End(list)
}

// check looks for lists that are not what they seem.
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
