package a2s

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// shipAppID is the application number of The Ship, whose info reply has three bytes
// more.
const shipAppID = 2400

// The bits of the extra data flag, in the order of their fields on the wire. The
// document lacks SteamID and GameID; their place is that of all clients and recorded
// replies.
const (
	edfPort     = 0x80
	edfSteamID  = 0x10
	edfSourceTV = 0x40
	edfKeywords = 0x20
	edfGameID   = 0x01
	edfKnown    = edfPort | edfSteamID | edfSourceTV | edfKeywords | edfGameID
)

// decodeInfoReply reads the info reply of Source (Server queries, "A2S_INFO", "Source
// servers"; The Ship, "A2S_INFO").
func (d *decoder) decodeInfoReply(r *dissect.Reader, m *dissect.Message) {
	i := wire.Body(m, &d.info, InfoReply{})

	i.Protocol = r.U8(fProtocol)
	i.Name = wire.Fact(r, &m.Server.Name, r.CString(fName))
	i.Map = wire.Fact(r, &m.Server.Map, r.CString(fMap))
	i.Folder = r.CString(fFolder)
	if i.Protocol == fuelProtocol && isFuel(r.Peek()) {
		d.decodeFuel(r, m)
		return
	}
	i.Game = r.CString(fGame)
	m.Server.Game = wire.Known(r, gameOf(i.Folder, i.Game))
	appID := r.Offset()
	i.AppID = r.U16(fAppID)
	counts := r.Offset()
	i.Players = r.U8(fPlayers)
	i.MaxPlayers = r.U8(fMaxPlayers)
	i.Bots = r.U8(fBots)
	other, at := otherLayout(r.Peek()), r.Offset()
	if other {
		r.Find(infoLayout, fOS, at+1, 3)
		i.ServerType, i.OS, i.Password, i.VAC = r.U8(fServerType), r.U8(fOS), r.Bool(fPassword), r.Bool(fVAC)
	} else {
		i.ServerType, i.OS, i.Password, i.VAC = core.Enum(r, fServerType), core.Enum(r, fOS), core.Flag(r, fPassword), core.Flag(r, fVAC)
	}
	if i.AppID == shipAppID {
		i.Ship = dissect.Some(Ship{Mode: core.Enum(r, fMode), Witnesses: r.U8(fWitnesses), Duration: r.U8(fDuration)})
	}
	i.Version = r.CString(fVersion)

	switch {
	case other:
		m.Server.Game = dissect.Opt[string]{}
	case !r.Failed():
		s := &m.Server
		s.Version = dissect.Some(i.Version)
		s.Players, s.MaxPlayers, s.Bots = dissect.Some(int(i.Players)), dissect.Some(int(i.MaxPlayers)), dissect.Some(int(i.Bots))
		s.Password = dissect.Some(i.Password)
		checkCounts(r, counts, i.Players, i.MaxPlayers, i.Bots)
	}
	if !r.More() {
		// Servers of 2004, The Ship, SiN, Rag Doll Kung Fu and Xash3D end here.
		if !r.Failed() {
			r.Note(infoNoEDF)
		}
		return
	}
	i.decodeExtra(r, m)
	if i.GameID.OK && !other && uint32(i.AppID) != i.Application() {
		r.Find(infoAppID, fAppID, appID, 2, dissect.Num(i.Application()))
	}
}

// decodeExtra reads the extra data flag and the fields that it announces.
func (i *InfoReply) decodeExtra(r *dissect.Reader, m *dissect.Message) {
	at := r.Offset()
	edf := r.U8(fEDF)
	i.EDF = dissect.Some(edf)
	if edf&edfPort != 0 {
		i.Port = wire.Known(r, r.U16(fPort))
		m.Pair.Port = i.Port.Value
	}
	if edf&edfSteamID != 0 {
		i.SteamID = wire.Known(r, r.U64(fSteamID))
	}
	if edf&edfSourceTV != 0 {
		i.SourceTVPort = wire.Known(r, r.U16(fSTVPort))
		i.SourceTVName = wire.Known(r, r.CString(fSTVName))
	}
	if edf&edfKeywords != 0 {
		i.Keywords = wire.Known(r, r.CString(fKeywords))
	}
	if edf&edfGameID != 0 {
		i.GameID = wire.Known(r, r.U64(fGameID))
	}
	if edf&^edfKnown != 0 {
		r.Find(infoUnknownEDF, fEDF, at, 1, dissect.Num(edf))
	}
}

const (
	fuelProtocol = 2
	fuelNumbers  = 13 // bytes
)

// isFuel reports whether b is what follows the directory in the info reply of
// Frontlines: Fuel of War: three strings, and numbers to the end.
func isFuel(b []byte) bool {
	for range 3 {
		n := bytes.IndexByte(b, 0)
		if n < 0 {
			return false
		}
		b = b[n+1:]
	}
	return len(b) == fuelNumbers && fServerType.NameOf(uint64(b[4])) != "" && fOS.NameOf(uint64(b[5])) != ""
}

// decodeFuel reads the info reply of Frontlines: Fuel of War from behind the directory
// (node-gamedig, ffow.js).
func (d *decoder) decodeFuel(r *dissect.Reader, m *dissect.Message) {
	i, s := &d.info, &m.Server
	var f Fuel
	f.Mode = r.CString(fGameMode)
	i.Game = r.CString(fGame)
	i.Version = r.CString(fVersion)
	i.Port = wire.Known(r, r.U16BE(fPort))
	m.Pair.Port = i.Port.Value
	counts := r.Offset()
	i.Players, i.MaxPlayers = r.U8(fPlayers), r.U8(fMaxPlayers)
	i.ServerType, i.OS, i.Password, i.VAC = core.Enum(r, fServerType), core.Enum(r, fOS), core.Flag(r, fPassword), core.Flag(r, fVAC)
	f.AverageFPS, f.Round, f.MaxRounds, f.TimeLeft = r.U8(fFPS), r.U8(fRound), r.U8(fMaxRounds), r.U16BE(fTimeLeft)
	if i.Fuel = wire.Known(r, f); i.Fuel.OK {
		s.Game, s.Version = dissect.Some(gameOf(i.Folder, i.Game)), dissect.Some(i.Version)
		s.Players, s.MaxPlayers = dissect.Some(int(i.Players)), dissect.Some(int(i.MaxPlayers))
		s.Password = dissect.Some(i.Password)
		if i.Players > i.MaxPlayers {
			r.Find(infoCounts, fPlayers, counts, 2, dissect.Num(i.Players), dissect.Num(i.MaxPlayers), dissect.Num(0))
		}
	}
}

// otherLayout reports whether b cannot begin with server type, system, password and
// VAC: the system is unknown and a flag is neither 0 nor 1. Two letters that no text
// follows are just an unknown type or system.
func otherLayout(b []byte) bool {
	if len(b) < 4 || fOS.NameOf(uint64(b[1])) != "" || b[1] == 0 || wire.Letters(b[:2]) == 2 && (b[2] < ' ' || b[3] < ' ') {
		return false
	}
	return b[2] > 1 || b[3] > 1
}

// gameOf returns the directory, which is the same in every language, or the name if a
// server leaves the directory empty.
func gameOf(folder, game string) string {
	return nettext.Either(folder != "", folder, game)
}

func checkCounts(r *dissect.Reader, at int, players, maxPlayers, bots uint8) {
	if players > maxPlayers || bots > players {
		r.Find(infoCounts, fPlayers, at, 3, dissect.Num(players), dissect.Num(maxPlayers), dissect.Num(bots))
	}
}

// modBlock is the size of the shortest mod block: two empty strings and 11 bytes.
const modBlock = 2 + 1 + 4 + 4 + 1 + 1

// decodeGoldSrcInfoReply reads the info reply of GoldSrc (Server queries, "A2S_INFO",
// "Goldsource servers").
func (d *decoder) decodeGoldSrcInfoReply(r *dissect.Reader, m *dissect.Message) {
	i := wire.Body(m, &d.goldSrc, GoldSrcInfoReply{})

	i.Address = r.CString(fAddress)
	i.Name = wire.Fact(r, &m.Server.Name, r.CString(fName))
	i.Map = wire.Fact(r, &m.Server.Map, r.CString(fMap))
	i.Folder = r.CString(fFolder)
	i.Game = r.CString(fGame)
	m.Server.Game = wire.Known(r, gameOf(i.Folder, i.Game))
	counts := r.Offset()
	i.Players = r.U8(fPlayers)
	i.MaxPlayers = r.U8(fMaxPlayers)
	i.Protocol = r.U8(fProtocol)
	i.ServerType = core.Enum(r, fServerType)
	i.OS = core.Enum(r, fOS)
	i.Password = core.Flag(r, fPassword)
	isMod := r.Offset()
	i.IsMod = core.Flag(r, fIsMod)
	if i.IsMod && r.More() {
		if r.Left() < modBlock && !r.Cut() {
			// The flag is set, but the block is missing.
			r.Find(infoNoMod, fIsMod, isMod, 1)
		} else {
			open := r.Begin(fMod)
			mod := Mod{URL: r.CString(fModURL), DownloadURL: r.CString(fModURLDL)}
			r.U8(fModNul)
			mod.Version = r.I32(fModVersion)
			mod.Size = r.I32(fModSize)
			mod.ServerOnly = core.Flag(r, fModSvOnly)
			mod.ClientDLL = core.Flag(r, fModClDLL)
			r.End(open)
			i.Mod = wire.Known(r, mod)
		}
	}
	if r.More() {
		i.VAC = wire.Known(r, core.Flag(r, fVAC))
		i.Bots = wire.Known(r, r.U8(fBots))
	} else if !r.Failed() {
		r.Note(infoHLTV) // HLTV ends here
	}
	if !r.Failed() {
		s := &m.Server
		s.Players, s.MaxPlayers = dissect.Some(int(i.Players)), dissect.Some(int(i.MaxPlayers))
		s.Bots = dissect.Opt[int]{Value: int(i.Bots.Value), OK: i.Bots.OK}
		s.Password = dissect.Some(i.Password)
		checkCounts(r, counts, i.Players, i.MaxPlayers, i.Bots.Value)
	}
}

// decodeRulesReply reads the rules (Server queries, "A2S_RULES"). Engines often cut the
// reply, so the list is read to the end of the data and the count is only compared.
func (d *decoder) decodeRulesReply(r *dissect.Reader, m *dissect.Message) {
	p := wire.Body(m, &d.rules, RulesReply{Rules: d.rules.Rules[:0]})

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
	return nettext.Either(texts%2 > 0 || !bytes.HasSuffix(b, nul), 0, texts/2)
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
	a.Signatures = wire.List(r, fArmaSigs, a.Signatures, n, func() string { return r.PString(fArmaSig) })
	return len(a.Signatures) == n
}

// shipRecord is the size of one player's deaths and money.
const shipRecord = 8

// decodePlayersReply reads the list of players (Server queries, "A2S_PLAYER"). The
// count is unreliable: Left 4 Dead servers with fake players send 170, others send
// fewer records than they announce.
func (d *decoder) decodePlayersReply(r *dissect.Reader, m *dissect.Message) {
	p := wire.Body(m, &d.players, PlayersReply{Players: d.players.Players[:0]})
	m.Pair.Also = topicInfo

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
	for _, q := range p.Players {
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
