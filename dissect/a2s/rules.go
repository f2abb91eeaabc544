package a2s

import (
	"bytes"
	"math/bits"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// decodeRulesReply reads the rules (Server queries, "A2S_RULES"). Engines often cut the
// reply, so the list is read to the end of the data and the count is only compared.
func (d *decoder) decodeRulesReply(r *dissect.Reader, m *dissect.Message) {
	p := &d.rules
	*p = RulesReply{Rules: p.Rules[:0]}
	m.Body = p

	at := r.Offset()
	p.Count = r.U16(fNumRules)
	d.readChunks(r, p)
	if p.Chunks > 0 && !r.More() {
		d.checkRules(r, p, at, false)
		return
	}
	list := r.Begin(fRuleList)
	if p.Chunks == 0 && core.Skim(r, int(p.Count)) {
		if n := wholeRules(r.Peek()); n > 0 && n <= int(p.Count) && core.Sound(r, r.Left()) {
			p.skimmed = n
			core.Pass(r, n, r.Left())
		}
	}
	p.Rules = core.ReadPairs(r, fRule, fKey, fValue, fHiddenValue, int(p.Count)-p.Chunks, p.Rules)
	cut := false
	for r.More() {
		if p.Chunks+len(p.Rules) == int(p.Count) && zeros(r.Peek()) {
			break // padding, not rules without a name
		}
		rule, ok := core.ReadPair(r, fRule, fKey, fValue, fHiddenValue)
		if !ok {
			core.Recover(r)
			// After the announced number of rules, the rest is trailing data.
			got := p.Chunks + len(p.Rules)
			cut = got < int(p.Count) && got != int(bits.ReverseBytes16(p.Count))
			break
		}
		p.Rules = append(p.Rules, rule)
	}
	r.End(list)
	if cut {
		r.Rest(catalog.Data())
	}
	d.checkRules(r, p, at, cut)
}

// wholeRules returns the number of rules of which b consists, 0 if there is more.
func wholeRules(b []byte) int {
	texts := bytes.Count(b, nul)
	if texts%2 > 0 || !bytes.HasSuffix(b, nul) {
		return 0
	}
	return texts / 2
}

var nul = []byte{0}

// zeros reports whether b consists of zero bytes.
func zeros(b []byte) bool { return len(bytes.TrimRight(b, "\x00")) == 0 }

// checkRules compares the announced count with the list, and then reads the binary
// rules.
func (d *decoder) checkRules(r *dissect.Reader, p *RulesReply, at int, cut bool) {
	switch got := p.Chunks + p.rules(); {
	case r.Failed():
	case !cut && got != int(p.Count) && got == int(bits.ReverseBytes16(p.Count)):
		r.Find(rulesBigEndian, fNumRules, at, 2, dissect.Num(got))
	case cut || got < int(p.Count):
		r.Find(rulesTruncated, fNumRules, at, 2, dissect.Num(p.Count), dissect.Num(got))
	case got > int(p.Count):
		r.Find(rulesCount, fNumRules, at, 2, dissect.Num(p.Count), dissect.Num(got))
	}
	d.readServerBrowser(r, p)
}

// armaBuffers is scratch memory for binary rules.
type armaBuffers struct {
	dlcs []uint32
	mods []ArmaMod
	sigs []string
	blob []byte
}

// maxChunks is the largest number of pieces: it is sent as a byte.
const maxChunks = 255

// readChunks reads the pieces of binary rules (Arma 3 and DayZ, server browser
// protocol). Each piece is a rule. Its name is two bytes: the number of the piece, from
// 1, and the number of pieces. Its value is escaped, so that it contains no zero byte.
// Plain rules may follow.
func (d *decoder) readChunks(r *dissect.Reader, p *RulesReply) {
	if !hasChunks(r.Peek()) {
		return
	}
	d.arma.blob = d.arma.blob[:0]
	escaped, first := false, 0
	list := r.Begin(fChunkList)
	for p.Chunks < maxChunks {
		index, total, n := chunk(r.Peek())
		if n < 0 || index != p.Chunks+1 || p.Chunks > 0 && total != first {
			break // not a piece: it is read as a plain rule
		}
		first = total
		open := r.Begin(fChunk)
		r.U8(fChunkIndex)
		r.U8(fChunkTotal)
		r.U8(fChunkNul)
		d.arma.blob, escaped = appendUnescaped(d.arma.blob, r.Bytes(fChunkData, n), escaped)
		r.U8(fChunkNul)
		r.End(open)
		if p.Chunks++; p.Chunks == total {
			break
		}
	}
	r.End(list)
	if escaped {
		d.arma.blob = append(d.arma.blob, 1)
	}
}

// hasChunks reports whether a list begins with the first piece. The name of a plain
// rule may be a control character and a letter, which looks like the first of many
// pieces; then the second piece must follow.
func hasChunks(b []byte) bool {
	index, total, ok := chunkName(b)
	if !ok || index != 1 || total < ' ' {
		return ok && index == 1
	}
	second, of, ok := chunkName(b[3+max(0, bytes.IndexByte(b[3:], 0))+1:])
	return ok && second == 2 && of == total
}

// chunkName reads the name of a piece.
func chunkName(b []byte) (index, total int, ok bool) {
	if len(b) < 4 || b[2] != 0 || b[0] == 0 || b[0] > b[1] {
		return 0, 0, false
	}
	return int(b[0]), int(b[1]), true
}

// chunk reads the name of a piece and returns the length of its value, -1 if b does not
// begin with a piece.
func chunk(b []byte) (index, total, n int) {
	index, total, ok := chunkName(b)
	if !ok {
		return 0, 0, -1
	}
	return index, total, bytes.IndexByte(b[3:], 0)
}

// appendUnescaped undoes the escaping: 01 01 is 01, 01 02 is 00, 01 03 is FF. Servers
// cut the escaped data every 127 bytes, so an escape may span two pieces: open reports
// that the last byte was a 01 whose second byte is still to come.
func appendUnescaped(dst, b []byte, open bool) ([]byte, bool) {
	for _, c := range b {
		if !open && c == 1 {
			open = true
			continue
		}
		if open {
			switch c {
			case 1: // 01 stands for itself
			case 2:
				c = 0x00
			case 3:
				c = 0xff
			default:
				dst = append(dst, 1)
			}
		}
		open = false
		dst = append(dst, c)
	}
	return dst, open
}

// readServerBrowser reads the joined and unescaped pieces as a source of their own.
func (d *decoder) readServerBrowser(r *dissect.Reader, p *RulesReply) {
	if p.Chunks == 0 || r.Failed() {
		return
	}
	r.Note(rulesBinary, dissect.Num(p.Chunks), dissect.Num(len(d.arma.blob)))
	if n := r.Left(); n > 0 {
		r.Find(core.Trailing, catalog.Data(), r.Offset(), n, dissect.Num(n))
		r.Rest(catalog.Data())
	}
	r.Open("unescaped", d.arma.blob)
	a := ServerBrowser{DLCs: d.arma.dlcs[:0], Mods: d.arma.mods[:0], Signatures: d.arma.sigs[:0]}
	open := r.Begin(fArma)
	a.Version = r.U8(fArmaVersion)
	a.Overflow = r.U8(fArmaOverflow)
	mask := r.U16(fArmaDLCBits)
	if a.Version >= 3 { // DayZ's version 2 has no difficulty
		a.Difficulty = r.U8(fArmaDifficulty)
		a.Crosshair = r.Bool(fArmaCrosshair)
	}
	a.DLCs = wire.Items(r, fArmaDLCs, fArmaDLCItem, a.DLCs, func() bool { return mask != 0 && r.More() }, func() uint32 {
		mask &= mask - 1
		return r.U32(fArmaHash)
	})
	short := mask != 0
	short = !a.readMods(r) || short
	short = !r.More() || !a.readSignatures(r) || short
	if r.Failed() {
		// The rules themselves were read completely, so the message has not failed.
		core.Recover(r)
		short = true
	}
	if short {
		r.Find(rulesBinaryBroken, fArma, r.Offset(), r.Left(), dissect.Num(r.Offset()))
	}
	core.Remaining(r, fArmaLeft)
	r.End(open)
	d.arma.dlcs, d.arma.mods, d.arma.sigs = a.DLCs, a.Mods, a.Signatures
	p.ServerBrowser = dissect.Some(a)
}

// readMods reads the mods. It reports whether all are there.
func (a *ServerBrowser) readMods(r *dissect.Reader) bool {
	n := int(r.U8(fArmaNumMods))
	a.Mods = wire.Counted(r, fArmaMods, fArmaMod, a.Mods, n, func() (mod ArmaMod) {
		mod.Hash = r.U32(fArmaModHash)
		flags := r.U8(fArmaModFlags)
		mod.DLC, mod.SteamID = flags&0x10 != 0, core.UintN(r, fArmaModID, int(flags&0x0f))
		mod.Name = r.PString(fArmaModName)
		return mod
	})
	return len(a.Mods) == n
}

// readSignatures reads the names of keys. It reports whether all are there.
func (a *ServerBrowser) readSignatures(r *dissect.Reader) bool {
	n := int(r.U8(fArmaNumSigs))
	list := r.Begin(fArmaSigs)
	for ; n > 0 && r.More(); n-- {
		mark := core.Here(r)
		sig := r.PString(fArmaSig)
		if r.Failed() {
			core.Return(r, mark)
			break
		}
		a.Signatures = append(a.Signatures, sig)
	}
	r.End(list)
	return n <= 0
}
