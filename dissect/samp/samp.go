// Package samp dissects the queries of San Andreas Multiplayer (SA-MP), of open.mp,
// which took its place, and of Vice City Multiplayer (VC-MP).
//
// A request is a word, the address and the port of the server as the client has them,
// and a letter: i information, r rules, c players, d players with more, p ping, o what
// open.mp adds, x the remote console. A reply begins with the same 11 bytes, that of
// VC-MP with another word. Numbers are little-endian.
//
// Sources: sampwiki, Query Mechanism; open.mp (query.cpp); recorded replies of SA-MP.
// VC-MP is known from the sources of clients only.
package samp

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var style = wire.Style{Charset: dissect.Guessed}

var catalog = dissect.NewCatalog("samp")

var (
	fTag     = catalog.Add("tag", dissect.String, "SAMP, or VCMP and in replies MP04 in Vice City Multiplayer.", dissect.Public)
	fAddress = catalog.Add("address", dissect.Endpoint, "Address of the server, as the client has it; the reply carries the same.", dissect.Chosen)
	fOp      = catalog.Add("op", dissect.Char, "What is asked or answered.")
	fPadding = catalog.Add("padding", dissect.Bytes, "Bytes behind a request.", core.Ignored)
	fEcho    = catalog.Add("echo", dissect.Bytes, "Chosen by the client; the reply carries the same.", dissect.Public, dissect.Chosen)

	fVersion    = catalog.Add("info.version", dissect.String, "Version of the server (Vice City Multiplayer).", dissect.Public)
	fPassword   = catalog.Add("info.password", dissect.Bool, "Whether a password is needed.")
	fPlayers    = catalog.Add("info.num_players", dissect.Uint, "Players on the server.")
	fMaxPlayers = catalog.Add("info.max_players", dissect.Uint, "Most players that the server takes.")
	fName       = catalog.Add("info.name", dissect.String, "Name of the server.", dissect.ServerText)
	fGameMode   = catalog.Add("info.game_mode", dissect.String, "Mode of the game.", dissect.Public)
	fLanguage   = catalog.Add("info.language", dissect.String, "Language; the map on servers before 0.3.7.", dissect.Public)
	fMap        = catalog.Add("info.map", dissect.String, "Map being played (Vice City Multiplayer).", dissect.Public)

	fCount = catalog.Add("count", dissect.Uint, "Entries of the list.", dissect.Framing)
	pairs  = keyvalue.Declare(catalog)

	fPlayerList = catalog.Add("players", dissect.List, "The players.")
	fPlayer     = catalog.Add("players.player", dissect.Group, "A player.")
	fID         = catalog.Add("players.id", dissect.Uint, "Number of the player on the server.")
	fPlayerName = catalog.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName)
	fScore      = catalog.Add("players.score", dissect.Int, "Score.")
	fPing       = catalog.Add("players.ping", dissect.Uint, "Ping in milliseconds.")

	fDiscord = catalog.Add("extra.discord", dissect.String, "Invitation to the server's Discord.", dissect.ServerText)
	fLight   = catalog.Add("extra.light_banner", dissect.String, "Picture for a light background.", dissect.ServerText)
	fDark    = catalog.Add("extra.dark_banner", dissect.String, "Picture for a dark background.", dissect.ServerText)
	fLogo    = catalog.Add("extra.logo", dissect.String, "Logo.", dissect.ServerText)

	fRconPassword = catalog.Add("rcon.password", dissect.String, "Password of the remote console.", dissect.Secret, core.InJSON("rcon_password"))
	fCommand      = catalog.Add("rcon.command", dissect.String, "Command for the console of the server.", dissect.FreeText)
	fText         = catalog.Add("rcon.text", dissect.String, "A line of the console.", dissect.FreeText)

	// With a password in it.
	hiddenCommand, hiddenText = fCommand.Hidden(), fText.Hidden()
)

const (
	topicInfo dissect.Topic = 1 << iota
	topicRules
	topicClients
	topicPlayers
	topicPing
	topicExtra
	topicRcon
)

var (
	mInfo         = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for the facts of a server."})
	mRules        = catalog.Message(dissect.MessageType{Name: "rules_request", Title: "rules request", Role: dissect.Request, Doc: "Asks for the settings."})
	mClients      = catalog.Message(dissect.MessageType{Name: "clients_request", Title: "players request", Role: dissect.Request, Doc: "Asks for the names and scores of players.", Unanswered: silent})
	mPlayers      = catalog.Message(dissect.MessageType{Name: "players_request", Title: "detailed players request", Role: dissect.Request, Doc: "Asks for the players with numbers and pings.", Unanswered: silent})
	mPing         = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "Asks for the same bytes."})
	mExtra        = catalog.Message(dissect.MessageType{Name: "extra_request", Title: "extra info request", Role: dissect.Request, Doc: "Asks for what only servers of open.mp have.", Unanswered: silent})
	mRcon         = catalog.Message(dissect.MessageType{Name: "rcon_request", Title: "rcon command", Role: dissect.Request, Doc: "A command for the console of the server, with its password in the clear.", Unanswered: silent})
	mInfoReply    = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info", Role: dissect.Reply, Doc: "The facts of a server."})
	mRulesReply   = catalog.Message(dissect.MessageType{Name: "rules_reply", Title: "rules", Role: dissect.Reply, Doc: "The settings."})
	mClientsReply = catalog.Message(dissect.MessageType{Name: "clients_reply", Title: "players", Role: dissect.Reply, Doc: "The names and scores of players; names alone in Vice City Multiplayer."})
	mPlayersReply = catalog.Message(dissect.MessageType{Name: "players_reply", Title: "detailed players", Role: dissect.Reply, Doc: "The players with numbers and pings."})
	mPingReply    = catalog.Message(dissect.MessageType{Name: "ping_reply", Title: "ping", Role: dissect.Reply, Doc: "The bytes of the request. Nothing but the request tells the two apart."})
	mExtraReply   = catalog.Message(dissect.MessageType{Name: "extra_reply", Title: "extra info", Role: dissect.Reply, Doc: "What only servers of open.mp have."})
	mRconReply    = catalog.Message(dissect.MessageType{Name: "rcon_reply", Title: "rcon reply", Role: dissect.Reply, Doc: "A line of the console: a command brings as many replies as it prints lines."})

	unanswered = finding.NoReply(catalog, "samp.noreply", "No reply came. The server is down, its queries are off, or it answers so many in a second and no more. open.mp answers only requests of exactly 11 bytes, pings of 15; newer servers of SA-MP do not answer addresses that ask too often.")
	silent     = finding.Unanswered(catalog, "samp.silent", "No reply came, which says nothing of the server: with more than 100 players it does not list them (c, d), open.mp never lists them with pings (d), nobody else knows what open.mp adds (o), and the console says nothing if a command prints nothing, or if the password is wrong on open.mp (x).")
	padded     = finding.Length(catalog, "samp.padded", "%d {byte|bytes} after the request",
		"open.mp answers only requests of exactly 11 bytes; SA-MP does not care. Clients that send more find no server of open.mp.", "An own client should send exactly 11 bytes, 15 for a ping.")
	unrequested   = finding.Unrequested(catalog, "samp.unrequested", "A reply in a conversation whose requests are in the capture, but none that it answers. A late reply, a request lost by the capture, or a forged packet.")
	amplification = finding.Amplification(catalog, "samp.amplification", "Requests have 11 bytes and no challenge, lists of players fifty times as much: a server that answers any address can be abused to flood others. Limit the rate of replies to each address.")
	count         = finding.Length(catalog, "samp.count", "%d {entry|entries} announced, %d {is|are} there",
		"The number before a list is not that of its entries: the reply was cut, or the server counts wrongly. Clients that trust the number read past the end.", finding.WrongCount)
	refused = catalog.Finding(dissect.FindingType{ID: "samp.rcon.refused", Severity: dissect.Note, Class: core.OfRefusal, Text: "the server refuses the password",
		Doc:    "The password of the remote console is wrong. Many of these say that somebody is guessing; servers write each into their log.",
		Advice: "If it is yourself, correct the password. If many come from others, close the remote console to other addresses (rcon 0, or a firewall) and choose a long password."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "samp",
	Title:   "SA-MP",
	Doc:     "Queries of San Andreas Multiplayer, open.mp and Vice City Multiplayer.",
	Source:  "SA-MP wiki, Query Mechanism; open.mp (query.cpp); Vice City Multiplayer from sources of clients",
	Ports:   []uint16{7777, 8192},
	Starts:  []string{tagSAMP, tagVCMP, tagReply},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, amplification),
}

const (
	tagSAMP  = "SAMP"
	tagVCMP  = "VCMP"
	tagReply = "MP04"

	lenHead = 11
	lenPing = lenHead + 4
)

// ops are what each of the letters asks for and what answers it.
var ops = [len(letters)]struct {
	request, reply *dissect.MessageType
	topic          dissect.Topic
}{
	{mInfo, mInfoReply, topicInfo}, {mRules, mRulesReply, topicRules}, {mClients, mClientsReply, topicClients},
	{mPlayers, mPlayersReply, topicPlayers}, {mPing, mPingReply, topicPing}, {mExtra, mExtraReply, topicExtra},
	{mRcon, mRconReply, topicRcon},
}

const letters = "ircdpox"

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < lenHead {
		return dissect.No
	}
	tag := string(b[:4])
	switch {
	case strings.IndexByte(letters, b[lenHead-1]) < 0:
	case tag == tagSAMP, tag == tagVCMP && (len(b) == lenHead || len(b) == lenPing && b[lenHead-1] == 'p'):
		return dissect.Certain
	case tag == tagVCMP && b[lenHead-1] == 'x' && len(b) >= lenHead+4 && b[lenHead+1] == 0, tag == tagReply && len(b) > lenHead:
		return dissect.Likely
	}
	return dissect.No
}

// A Message is one of *Request, *Info, *Rules, *Players, *Ping, *Extra, *Rcon and
// *RconReply.
type Message any

// A Head begins every message.
type Head struct {
	// Tag is SAMP, VCMP or MP04.
	Tag string
	// Address is that of the server, as the client has it.
	Address netip.AddrPort
	// Op is the letter.
	Op byte
}

// Request asks for what its letter says.
type Request struct{ Head }

// Info has the facts of a server.
type Info struct {
	Head
	// Version is that of servers of VC-MP.
	Version                  string
	Password                 bool
	Players, MaxPlayers      uint16
	Name, GameMode, Language string
	// Map is that of servers of VC-MP, which have no Language.
	Map string
}

// Rules has the settings.
type Rules struct {
	Head
	Rules []dissect.KeyValue
}

// Players has the players.
type Players struct {
	Head
	Players []Player
}

// A Player is on the server. Of replies without details ID and Ping are 0.
type Player struct {
	ID    uint8
	Name  string
	Score int32
	// Ping is in milliseconds.
	Ping uint32
}

// Ping is a request or its reply.
type Ping struct {
	Head
	Echo [4]byte
}

// Extra has what only servers of open.mp have.
type Extra struct {
	Head
	Discord, LightBanner, DarkBanner, Logo string
}

// Rcon is a command for the remote console.
type Rcon struct {
	Head
	Password, Command string
}

// RconReply is a line of the console.
type RconReply struct {
	Head
	Text string
}

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request   Request
	info      Info
	rules     Rules
	players   Players
	ping      Ping
	extra     Extra
	rcon      Rcon
	rconReply RconReply
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	asks := isRequest(r)
	var h Head
	h.Tag = r.Text(fTag, len(tagSAMP))
	h.Address = wire.Endpoint(r, fAddress, false, true)
	h.Op = r.U8(fOp)
	wire.Message(m, mInfo, &d.request, Request{h})
	i := strings.IndexByte(letters, h.Op)
	if i < 0 {
		r.Fail(fOp, "no such query")
		return
	}
	if m.Type, m.Pair = ops[i].reply, (dissect.Pair{Answers: ops[i].topic}); asks {
		m.Type, m.Pair = ops[i].request, dissect.Pair{Asks: ops[i].topic, Challenge: dissect.ChallengeAbsent}
	}
	switch h.Op {
	case 'p':
		wire.Body(m, &d.ping, Ping{Head: h})
		copy(d.ping.Echo[:], r.Bytes(fEcho, len(d.ping.Echo)))
		m.Pair.ID = 1<<32 | uint64(binary.BigEndian.Uint32(d.ping.Echo[:]))
		if core.Awaited(r, topicPing, m.Pair.ID) {
			m.Type, m.Pair = mPingReply, dissect.Pair{Answers: topicPing, ID: m.Pair.ID}
		}
	case 'x':
		d.decodeRcon(r, m, h, asks)
	default:
		if !asks {
			d.decodeReply(r, m, h)
		} else if n := r.Left(); n > 0 {
			r.Find(padded, fPadding, r.Offset(), n, dissect.Num(n))
			r.Bytes(fPadding, n)
		}
	}
}

// isRequest reports whether a message is one. Only pings are the same in both
// directions; of the console, the lengths of the texts tell, and what fits neither, or is
// cut by the capture, is taken for what has a password.
func isRequest(r *dissect.Reader) bool {
	switch {
	case r.HasPrefix(tagVCMP):
		return true
	case r.HasPrefix(tagReply):
		return false
	case r.PeekByte(lenHead-1) == 'x':
		return r.Cut() && !core.Awaited(r, topicRcon, 0) || !r.Cut() && u16(r, lenHead) != r.Left()-lenHead-2
	}
	// What is too short for a reply is a request with something behind it, unless a reply is due.
	least := lenHead + 2
	switch r.PeekByte(lenHead - 1) {
	case 'i':
		least = lenHead + 1 + 2 + 2 + 3*4
	case 'o':
		least = lenHead + 4*4
	case 'p':
		return true
	}
	return !r.Cut() && (r.Left() == lenHead || r.Left() < least && !core.Awaited(r, ^(topicPing|topicRcon), 0))
}

func u16(r *dissect.Reader, at int) int { return max(r.PeekByte(at), 0) | max(r.PeekByte(at+1), 0)<<8 }

func (d *decoder) decodeRcon(r *dissect.Reader, m *dissect.Message, h Head, asks bool) {
	if asks {
		p := wire.Body(m, &d.rcon, Rcon{Head: h})
		p.Password = core.PString16(r, fRconPassword)
		p.Command = core.PString16(r, fCommand)
		console.HideCommand(r, hiddenCommand, p.Command)
		return
	}
	p := wire.Body(m, &d.rconReply, RconReply{Head: h})
	p.Text = core.PString16(r, fText)
	console.Hide(r, hiddenText, p.Text)
	if p.Text == "Invalid RCON password." {
		r.Note(refused)
	}
}

func (d *decoder) decodeReply(r *dissect.Reader, m *dissect.Message, h Head) {
	vcmp := h.Tag == tagReply
	switch h.Op {
	case 'i':
		d.decodeInfo(r, m, h)
	case 'r':
		p := wire.Body(m, &d.rules, Rules{Head: h, Rules: d.rules.Rules[:0]})
		p.Rules = readList(r, pairs.List, pairs.Pair, p.Rules, func() dissect.KeyValue {
			one := dissect.KeyValue{Key: r.PString(pairs.Key), Value: r.PString(pairs.Value)}
			core.HideSetting(r, pairs.Hidden, one.Key, one.Value)
			return one
		})
		m.Server.Map, m.Server.Version = keyvalue.Text(p.Rules, "mapname"), keyvalue.Text(p.Rules, "version")
	case 'o':
		p := wire.Body(m, &d.extra, Extra{Head: h})
		p.Discord = core.PString32(r, fDiscord)
		p.LightBanner = core.PString32(r, fLight)
		p.DarkBanner = core.PString32(r, fDark)
		p.Logo = core.PString32(r, fLogo)
	default:
		p := wire.Body(m, &d.players, Players{Head: h, Players: d.players.Players[:0]})
		p.Players = readList(r, fPlayerList, fPlayer, p.Players, func() (one Player) {
			if h.Op == 'd' {
				one.ID = r.U8(fID)
			}
			one.Name = r.PString(fPlayerName)
			if !vcmp {
				one.Score = r.I32(fScore)
			}
			if h.Op == 'd' {
				one.Ping = r.U32(fPing)
			}
			return one
		})
	}
}

// decodeInfo reads the name, the mode and the players of a server.
func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message, h Head) {
	p := wire.Body(m, &d.info, Info{Head: h})
	s := &m.Server
	vcmp := h.Tag == tagReply
	if vcmp {
		const size = 12
		n := min(r.Until("\x00"), size)
		if r.Left() < size {
			n = size // fails
		}
		p.Version = wire.Fact(r, &s.Version, r.Span(fVersion, 0, 0, n, size-n))
	}
	p.Password = wire.Fact(r, &s.Password, r.Bool(fPassword))
	p.Players = wire.Count(r, &s.Players, r.U16(fPlayers))
	p.MaxPlayers = wire.Count(r, &s.MaxPlayers, r.U16(fMaxPlayers))
	p.Name = wire.Fact(r, &s.Name, core.PString32(r, fName))
	p.GameMode = wire.Fact(r, &s.Game, core.PString32(r, fGameMode))
	if vcmp {
		p.Map = wire.Fact(r, &s.Map, core.PString32(r, fMap))
	} else {
		p.Language = core.PString32(r, fLanguage)
	}
}

// readList reads a list behind the number of its entries.
func readList[T any](r *dissect.Reader, list, entry *dissect.Field, dst []T, read func() T) []T {
	at := r.Offset()
	announced := int(r.U16(fCount))
	left := announced
	dst = wire.Records(r, list, entry, dst, func() bool { left--; return left >= 0 && r.More() }, read)
	if n := len(dst); n < announced && !r.Failed() {
		r.Find(count, fCount, at, 2, dissect.Num(announced), dissect.Num(n))
	}
	return dst
}

// AppendSummary counts the settings.
func (m *Rules) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(m.Rules), "rule", "rules")
}

// AppendSummary counts the players.
func (m *Players) AppendSummary(dst []byte) []byte {
	return wire.Plural(dst, "", len(m.Players), "player", "players")
}

// AppendSummary gives the Discord.
func (m *Extra) AppendSummary(dst []byte) []byte { return style.Text(dst, "", m.Discord) }

// AppendSummary gives the command, never a password.
func (m *Rcon) AppendSummary(dst []byte) []byte {
	return style.Concealed(dst, m.Command, console.CommandSecret(m.Command))
}

// AppendSummary gives the line.
func (m *RconReply) AppendSummary(dst []byte) []byte {
	return style.Concealed(dst, m.Text, console.Secret(m.Text))
}
