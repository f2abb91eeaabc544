package gamespy3

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/internal/core"
)

// Just Cause 2 Multiplayer has its own format of replies: the settings, the number of
// players in two bytes, and for each player the name, the SteamID and the ping in two
// bytes. A reply is one packet of any length with the number 0, without the mark of the
// last part.

// justCauseList returns the data after the settings of a reply.
func justCauseList(b []byte) ([]byte, bool) {
	if len(b) <= gamespy.SplitHead || b[gamespy.SplitHead] != 0 {
		return nil, false
	}
	b = b[gamespy.SplitHead+1:]
	for {
		key := bytes.IndexByte(b, 0)
		if key < 0 {
			return nil, false
		}
		if b = b[key+1:]; key == 0 {
			return b, true
		}
		value := bytes.IndexByte(b, 0)
		if value < 0 {
			return nil, false
		}
		b = b[value+1:]
	}
}

// isJustCause reports whether a reply has this format: the data after the settings is
// not a section.
func isJustCause(b []byte) bool {
	b, ok := justCauseList(b)
	if !ok || len(b) < 2 {
		return false
	}
	if len(b) == 2 {
		return b[0] == 0 && b[1] == 0 // no players
	}
	name := bytes.IndexByte(b[2:], 0)
	return name >= 0 && bytes.HasPrefix(b[2+name+1:], []byte("STEAM_"))
}

// decodeJustCause reads such a reply after its number.
func (d *decoder) decodeJustCause(r *dissect.Reader, p *StatusReply) {
	d.sections.Server(r)
	at := r.Offset()
	count := int(r.U16BE(fNumPlayers))
	p.JustCause = d.justCause[:0]
	list := r.Begin(playerFields.List)
	cut := false
	for r.More() {
		open := r.BeginRecord(playerFields.Row)
		one := JustCausePlayer{Name: r.CString(playerFields.Name()), SteamID: r.CString(fSteamID), Ping: r.U16BE(fShortPing)}
		if !r.EndRecord(open) {
			core.Recover(r)
			cut = true
			break
		}
		p.JustCause = append(p.JustCause, one)
	}
	d.justCause = p.JustCause
	r.End(list)
	if len(p.JustCause) != count && !r.Failed() {
		r.Find(tableCount, fNumPlayers, at, 2, dissect.Num(count), dissect.Num(len(p.JustCause)))
	}
	if cut {
		r.Find(tableCut, nil, r.Offset(), r.Left())
		r.Rest(fields.Data())
	}
}
