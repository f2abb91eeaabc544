package a2s

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
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
	i := &d.info
	*i = InfoReply{}
	m.Body = i

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
	if len(b) < 4 || fOS.NameOf(uint64(b[1])) != "" || b[1] == 0 {
		return false
	}
	if wire.Letters(b[:2]) == 2 && (b[2] < ' ' || b[3] < ' ') {
		return false
	}
	return b[2] > 1 || b[3] > 1
}

// gameOf returns the directory, which is the same in every language, or the name if a
// server leaves the directory empty.
func gameOf(folder, game string) string {
	if folder != "" {
		return folder
	}
	return game
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
	i := &d.goldSrc
	*i = GoldSrcInfoReply{}
	m.Body = i

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
