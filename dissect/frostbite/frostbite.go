// Package frostbite dissects the remote administration of Frostbite's games over TCP: Battlefield Bad Company 2, 3, 4 and Hardline, and
// Medal of Honor.
//
// A packet is a number of 32 bits, its length, the number of words, and the words: a length, text, and a zero byte; numbers are
// little-endian. Bit 30 of the first number marks a reply, bit 31 what the server began: events, which clients acknowledge; the other bits
// are the number of the request. The first word is a command or an event, or in replies OK or what is wrong. Without a login
// clients may ask for serverInfo, version and listPlayers. Replies do not repeat what was asked; these three show it by their form.
//
// Sources: DICE, BF3 PC Server Remote Administration Protocol; node-gamedig (battlefield.js); GameQ (Bf3.php, Bfbc2.php).
package frostbite

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

var catalog = dissect.NewCatalog("frostbite")

var style = wire.Style{Charset: dissect.Guessed}

var (
	fSequence = catalog.Add("sequence", dissect.Uint, "Number that the client chose; the reply returns it.", dissect.Chosen)
	fSize     = catalog.Add("size", dissect.Uint, "Bytes of the packet.", dissect.Framing)
	fCount    = catalog.Add("num_words", dissect.Uint, "Words of the packet.", dissect.Framing)
	fCommand  = catalog.Add("command", dissect.String, "Command of a client, or event of the server.", dissect.Public)
	fStatus   = catalog.Add("status", dissect.String, "OK, or what is wrong.", dissect.Public)
	fWords    = catalog.Add("words", dissect.List, "The other words. They are masked after a login, where the command is about a password, and in replies whose command is not in the capture.")
	fWord     = catalog.Add("words.word", dissect.String, "A word.", dissect.FreeText, core.InCharset(dissect.Guessed))
	fHidden   = fWord.Hidden()

	fTeams   = catalog.Add("info.teams", dissect.List, "Scores of the teams, in most modes tickets.")
	fScore   = catalog.Add("info.teams.score", dissect.Decimal, "Score of a team.")
	fMod     = catalog.Add("info.mod", dissect.String, "Game or extension of Bad Company 2: BC2 or VIETNAM.", dissect.Public)
	fLocked  = text("info.has_password", "Whether the game needs a password.")
	fMapPack = catalog.Add("info.map_pack", dissect.Decimal, "Number of the map pack, of Bad Company 2.")
	fColumns = catalog.Add("table.num_columns", dissect.Decimal, "Columns of the table of players.", dissect.Framing)
	fColumn  = catalog.Add("table.column", dissect.String, "Name of a column.", dissect.SettingName, dissect.Framing)
	fRows    = catalog.Add("table.num_players", dissect.Decimal, "Players in the table.", dissect.Framing)
	fTable   = catalog.Add("players", dissect.List, "Players, with the columns that the server names.")
	fRow     = catalog.Add("players.player", dissect.Group, "A player.")
	fCell    = catalog.Add("players.text", dissect.String, "Any other column, under its own name.", core.Cell, core.Open)
	fOdd     = catalog.Add("players.odd", dissect.String, "Value of a column whose name cannot be a key, or came before.", dissect.FreeText, dissect.Framing)
	fGame    = catalog.Add("version.game", dissect.String, "Game, such as BF3.", dissect.Public)
	fVersion = catalog.Add("version.version", dissect.String, "Version of the server.", dissect.Public)

	// info are the words of info before the scores, and after them. Bad Company 2 has two more before the address; servers of each game may
	// end early.
	info = [2][]*dissect.Field{{
		catalog.Add("info.name", dissect.String, "Name of the server.", dissect.ServerText, core.InCharset(dissect.Guessed)),
		number("info.num_players", "Number of players."),
		number("info.max_players", "Maximum number of players."),
		text("info.mode", "Mode of the game."),
		text("info.map", "Map being played."),
		number("info.rounds_played", "Rounds played on the map."),
		number("info.rounds_total", "Rounds on the map."),
		catalog.Add("info.num_teams", dissect.Decimal, "Number of scores that follow.", dissect.Framing),
	}, {
		number("info.target_score", "Score that ends the round."),
		text("info.online_state", "State of the connection to EA, often empty."),
		text("info.ranked", "Whether the server is ranked."),
		text("info.punkbuster", "Whether PunkBuster is on."),
		fLocked,
		number("info.uptime_s", "Seconds since the server started."),
		number("info.round_time_s", "Seconds since the round began."),
		fMod, fMapPack,
		catalog.Add("info.address", dissect.String, "Address and port of the game.", dissect.Address),
		text("info.punkbuster_version", "Version of PunkBuster."),
		text("info.join_queue", "Whether players queue for places."),
		text("info.region", "Region of the server."),
		text("info.ping_site", "Closest site of EA for pings."),
		text("info.country", "Country of the server."),
		text("info.quickmatch", "Whether players may come by matchmaking."),
	}}
	// known are the columns of players.
	known = map[string]*dissect.Field{
		"name":    catalog.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName, core.InCharset(dissect.Guessed)),
		"guid":    catalog.Add("players.guid", dissect.String, "Number of the player's account, empty without a login.", dissect.PersonID),
		"clanTag": catalog.Add("players.clan_tag", dissect.String, "Clan of the player.", dissect.PersonName),
		"teamId":  number("players.team", "Team."),
		"squadId": number("players.squad", "Squad."),
		"kills":   number("players.kills", "Kills."),
		"deaths":  number("players.deaths", "Deaths."),
		"score":   number("players.score", "Score."),
		"rank":    number("players.rank", "Rank."),
		"ping":    number("players.ping", "Round-trip time in milliseconds."),
		"type":    number("players.type", "0 for a player, others for spectators and commanders."),
	}

	mCommand = catalog.Message(dissect.MessageType{Name: "command_request", Title: "command", Role: dissect.Request, Doc: "A command of a client, such as serverInfo or a login."})
	mReply   = catalog.Message(dissect.MessageType{Name: "command_reply", Title: "reply", Role: dissect.Reply, Doc: "The reply to any other command than the following, or why there is none."})
	mInfo    = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info", Role: dissect.Reply, Doc: "Name, map, players and settings of the server."})
	mVersion = catalog.Message(dissect.MessageType{Name: "version_reply", Title: "version", Role: dissect.Reply, Doc: "Game and version of the server."})
	mPlayers = catalog.Message(dissect.MessageType{Name: "players_reply", Title: "players", Role: dissect.Reply, Doc: "The players, as a table."})
	mEvent   = catalog.Message(dissect.MessageType{Name: "event", Title: "event", Role: dissect.OneWay, Doc: "What happens on the server, for clients that asked for events."})
	mAck     = catalog.Message(dissect.MessageType{Name: "event_ack", Title: "event acknowledged", Role: dissect.OneWay, Doc: "The client has an event."})

	unanswered = finding.New(catalog, dissect.Warning, "frostbite.noreply", "%p unanswered%p", "The connection was made, and no reply came within the time that clients wait. The server is starting or hangs.",
		"Look at the log of the server, and whether other clients get replies.")
	unrequested = finding.Unrequested(catalog, "frostbite.unrequested", "The capture has requests of this connection, but no pending one with this number.")
	several     = finding.Several(catalog, "frostbite.several", "The server answered the number once more. Clients read the first reply.")
	refused     = catalog.Finding(dissect.FindingType{ID: "frostbite.refused", Severity: dissect.Note, Class: core.OfRefusal, Text: "the server refuses: %s", Doc: "The reply is not OK: the command is unknown or its words are wrong, it needs a login (LogInRequired), or the password is wrong."})
	wrongSize   = finding.Length(catalog, "frostbite.size", "the packet says %d bytes, %d are there", "The size of the packet is not that of its content.", finding.WrongLength)
	wrongCount  = finding.Length(catalog, "frostbite.words", "the packet says %d {word|words}, %d are there", "The packet has fewer words than it says.", finding.WrongCount)
)

func number(path, doc string) *dissect.Field { return catalog.Add(path, dissect.Decimal, doc) }

func text(path, doc string) *dissect.Field {
	return catalog.Add(path, dissect.String, doc, dissect.Public)
}

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "frostbite",
	Title:   "Battlefield (Frostbite)",
	Doc:     "The remote administration of Frostbite's games over TCP: Battlefield Bad Company 2, 3, 4 and Hardline. No recorded traffic of a real server.",
	Source:  "DICE, BF3 PC Server Remote Administration Protocol; node-gamedig (battlefield.js); GameQ (Bf3.php, Bfbc2.php)",
	Ports:   []uint16{47200, 48888, 22000},
	Stream:  Stream,
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return &decoder{columns: wire.NewColumns(fCell, known)} },
	Pairing: finding.Usual(unanswered, unrequested, several),
}

const (
	lenHeader = 12
	lenWord   = 5 // of an empty one
	maxSize   = 16384
	isReply   = 1 << 30

	topicCommand dissect.Topic = 1
	topicSecret  dissect.Topic = 2
)

// Stream returns the length of the packet that b begins with. See [dissect.Protocol].
func Stream(b []byte) (length int, over bool) {
	if len(b) < 8 {
		return 0, false
	}
	n := binary.LittleEndian.Uint32(b[4:])
	return nettext.Either(n < lenHeader+lenWord || n > maxSize, -1, int(n)), false
}

// Detect judges a packet by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	switch n, _ := Stream(b); {
	case n < 0:
		return dissect.No
	case len(b) < lenHeader+4:
		return dissect.Possible
	}
	size, count, n := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	if count == 0 || count > maxSize || lenHeader+count*lenWord+n > size || n < 2 || n > 40 {
		return dissect.No
	}
	text := b[lenHeader+4:]
	for i, c := range text[:min(int(n), len(text))] {
		if lower := c | 0x20; (lower < 'a' || lower > 'z') && (i == 0 || (c < '0' || c > '9') && c != '.' && c != '_') {
			return dissect.No
		}
	}
	switch {
	case len(text) <= int(n):
		return dissect.Possible
	case text[n] != 0:
		return dissect.No
	}
	return dissect.Likely
}

// kindOf tells what a reply answers by its form.
func kindOf(b []byte) *dissect.MessageType {
	var first [9]string
	for i, at := 0, lenHeader; i < len(first) && len(b)-at >= lenWord; i++ {
		n := int(binary.LittleEndian.Uint32(b[at:])) & (2*maxSize - 1)
		first[i] = nettext.View(b[min(at+4, len(b)):min(at+4+n, len(b))])
		at += lenWord + n
	}
	digits := func(list ...int) bool {
		return !slices.ContainsFunc(list, func(i int) bool { return first[i] == "" || strings.Trim(first[i], "0123456789") != "" })
	}
	switch {
	case first[0] != "OK":
	case digits(1) && (first[2] == "name" || first[2] == "clanTag"):
		return mPlayers
	case digits(2, 3, 6, 7, 8):
		return mInfo
	case number32(b[8:]) == 3 && digits(2) && (strings.HasPrefix(first[1], "BF") || strings.HasPrefix(first[1], "MOH")):
		return mVersion
	}
	return mReply
}

// Packet is a packet of any kind: a command, its reply, an event or what acknowledges it.
type Packet struct {
	// Header is the number of the command or the event, with bit 30 for a reply, and bit 31 for what the server began.
	Header uint32
	// Words are all words: the command or the event, or OK or what is wrong, and those that follow.
	Words []string

	server  dissect.Server
	secret  bool
	players int
}

// A Message is a *Packet.
type Message any

// Parse reads one packet. The result is the caller's own. The error is a *dissect.Error that says where reading ended; what had been read
// until there is returned with it.
func Parse(packet []byte) (Message, error) { return wire.Parse[Message](protocol, packet) }

type decoder struct {
	packet  Packet
	columns *wire.Columns
	fields  []*dissect.Field
}

// Decode reads one packet.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	b, p := core.PeekTo(r, r.Left()), &d.packet
	*p = Packet{Header: uint32(number32(b)), Words: p.Words[:0]}
	r.Span(fSequence, uint64(p.Header&(isReply-1)), 0, 0, 4)
	finding.Differs(r, wrongSize, fSize, 4, 4, int(r.U32(fSize)), len(b))
	count, field := int(r.U32(fCount)), fCommand
	m.Body, m.Pair.ID = p, uint64(p.Header&(isReply-1))+1
	m.Type = [...]*dissect.MessageType{mCommand, mReply, mEvent, mAck}[p.Header>>30]
	if p.Header&isReply != 0 {
		field = fStatus
	}
	if m.Type == mReply {
		m.Pair.Answers, p.secret = topicCommand|topicSecret, !core.Awaited(r, topicCommand, m.Pair.ID)
		if !r.Failed() {
			m.Type = kindOf(b)
		}
	}
	first := d.word(r, field)
	switch m.Type {
	case mCommand:
		m.Pair.Asks = topicCommand
		if p.secret = strings.EqualFold(first[:min(len(first), len("login."))], "login.") || nettext.SecretKey(first); p.secret {
			m.Pair.Asks = topicSecret
		}
	case mReply:
		if first != "OK" && !r.Failed() {
			r.Find(refused, fStatus, lenHeader, r.Offset()-lenHeader, dissect.Str(first))
		}
	case mInfo:
		d.readInfo(r)
	case mVersion:
		d.word(r, fGame)
		p.server.Version = dissect.Some(d.word(r, fVersion))
	case mPlayers:
		d.readPlayers(r)
	}
	d.readWords(r, count)
	if n := len(p.Words); n < count && !r.Failed() && !r.Cut() {
		r.Find(wrongCount, fCount, 8, 4, dissect.Num(count), dissect.Num(n))
	}
	wire.State(r, m, p.server)
}

// word reads a word.
func (d *decoder) word(r *dissect.Reader, f *dissect.Field) string {
	s := r.Span(f, 0, 4, number32(core.PeekTo(r, 4)), 1)
	if !r.Failed() {
		d.packet.Words = append(d.packet.Words, s)
	}
	return s
}

// number32 returns the number that b begins with, 0 if it is incomplete.
func number32(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	return int(int32(binary.LittleEndian.Uint32(b)))
}

// readWords reads the words that are left.
func (d *decoder) readWords(r *dissect.Reader, count int) {
	p := &d.packet
	if len(p.Words) >= count || !r.More() {
		return
	}
	f := nettext.Either(p.secret, fHidden, fWord)
	wire.Each(r, fWords, nil, func() bool { return len(p.Words) < count && r.More() }, func() {
		if s := d.word(r, f); f == fWord && core.Tree(r) && console.Secret(s) < len(s) {
			core.Hide(r, fHidden)
		}
	})
}

func (d *decoder) readInfo(r *dissect.Reader) {
	p := &d.packet
	for _, f := range info[0] {
		d.word(r, f)
	}
	if r.Failed() {
		return
	}
	p.server = dissect.Server{Charset: style.Charset, Name: dissect.Some(p.Words[1]), Players: wire.Decimal(p.Words[2]), MaxPlayers: wire.Decimal(p.Words[3]), Map: dissect.Some(p.Words[5])}
	n := wire.Decimal(p.Words[8]).Value
	wire.Each(r, fTeams, nil, func() bool { n--; return n >= 0 && r.More() }, func() { d.word(r, fScore) })
	mod := false
	for _, f := range info[1] {
		if f == fMod {
			mod = r.HasPrefix("\x03\x00\x00\x00BC2\x00") || r.HasPrefix("\x07\x00\x00\x00VIETNAM\x00")
		}
		if r.More() && (mod || f != fMod && f != fMapPack) {
			if word := d.word(r, f); f == fLocked {
				p.server.Password = dissect.Some(word == "true")
			}
		}
	}
}

func (d *decoder) readPlayers(r *dissect.Reader) {
	d.fields = d.fields[:0]
	for n := wire.Decimal(d.word(r, fColumns)).Value; n > 0 && r.More(); n-- {
		f := d.columns.Field(d.word(r, fColumn))
		if f == nil || slices.Contains(d.fields, f) {
			f = fOdd
		}
		d.fields = append(d.fields, f)
	}
	rows := wire.Decimal(d.word(r, fRows)).Value
	more := func() bool { rows--; return rows >= 0 && len(d.fields) > 0 && r.More() }
	d.packet.players = len(wire.Records(r, fTable, fRow, nil, more, func() (row struct{}) {
		for _, f := range d.fields {
			d.word(r, f)
		}
		return row
	}))
}

// AppendSummary gives the command, the event, or what is wrong, and facts about the server.
func (p *Packet) AppendSummary(dst []byte) []byte {
	switch {
	case p.players > 0:
		return wire.Plural(dst, "", p.players, "player", "players")
	case len(p.Words) > 0 && p.Words[0] != "OK":
		return style.Text(dst, "", p.Words[0])
	}
	return p.server.AppendSummary(dst)
}
