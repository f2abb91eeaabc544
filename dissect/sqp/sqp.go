// Package sqp dissects the Server Query Protocol of Unity's game servers: challenges,
// infos, rules, players, teams and metrics.
//
// A packet is a type, 0 or 1, and a challenge, which is 0 in the request for one; all
// numbers are big-endian. A query of type 1 has a version and a set of what it asks
// for; the reply has a chunk for each of these, in the order of the bits, and may come in
// several packets, cut anywhere. Nothing in the reply says which chunks they are; they
// are told apart by what they hold. A table of players looks like one of teams: if there
// is only one, it is called entries.
//
// Sources: Unity, Server Query Protocol; go-svrquery for rules, players, teams and
// metrics.
package sqp

import (
	"encoding/binary"
	"math/bits"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/reassembly"
)

var catalog = dissect.NewCatalog("sqp")

var valueTypes = dissect.Names(
	dissect.Name{Value: type8, Name: "byte"}, dissect.Name{Value: type16, Name: "16 bits"}, dissect.Name{Value: type32, Name: "32 bits"},
	dissect.Name{Value: type64, Name: "64 bits"}, dissect.Name{Value: typeText, Name: "text"}, dissect.Name{Value: typeFloat, Name: "float"})

var (
	fType      = catalog.Add("type", dissect.Uint, "0: challenge. 1: query or its reply.", dissect.Framing)
	fChallenge = catalog.Add("challenge", dissect.Uint, "Number that the server gave to this client; 0 asks for one.", dissect.Token, dissect.Chosen)
	fVersion   = catalog.Add("version", dissect.Uint, "Version of the protocol: 1.")
	fChunks    = catalog.Add("chunks", dissect.Uint, "What is asked for.", core.BitsFrom(1, "info", "rules", "players", "teams", "metrics"))

	fHeader     = catalog.Add("header", dissect.Group, "Header of a reply, or of one of its packets.", dissect.Framing)
	fHType      = catalog.Add("header.type", dissect.Uint, "1: reply to a query.", dissect.Framing)
	fHChallenge = catalog.Add("header.challenge", dissect.Uint, "Challenge, as in the first packet.", dissect.Token, dissect.Framing, dissect.Chosen)
	fHVersion   = catalog.Add("header.version", dissect.Uint, "Version, as in the first packet.", dissect.Framing)
	fCurrent    = catalog.Add("current", dissect.Uint, "Number of the packet, from 0.")
	fLast       = catalog.Add("last", dissect.Uint, "Number of the last packet.")
	fLength     = catalog.Add("header.length", dissect.Uint, "Length of what follows in this packet.", dissect.Framing)
	fPart       = catalog.Add("part", dissect.Bytes, "Piece of a reply in several packets.", core.Becomes("joined"), dissect.Framing)

	fChunkLength = catalog.Add("chunk_length", dissect.Uint, "Length of a chunk.", dissect.Framing)
	fMore        = catalog.Add("more", dissect.Bytes, "Fields of a newer version at the end of a chunk.", core.Opaque, dissect.Framing)
	fChunk       = catalog.Add("chunk", dissect.Bytes, "A chunk of a kind that is not known, or that is not whole.", core.Opaque, dissect.Framing)

	fPlayers    = catalog.Add("info.num_players", dissect.Uint, "Players on the server.")
	fMaxPlayers = catalog.Add("info.max_players", dissect.Uint, "Most players that it takes.")
	fName       = catalog.Add("info.name", dissect.String, "Name of the server.", dissect.ServerText)
	fGameType   = catalog.Add("info.game_type", dissect.String, "Kind of game.", dissect.Public)
	fBuild      = catalog.Add("info.build", dissect.String, "Version of the game.", dissect.Public)
	fMap        = catalog.Add("info.map", dissect.String, "Map being played.", dissect.Public)
	fPort       = catalog.Add("info.port", dissect.Uint, "Port of the game.")

	fRules     = catalog.Add("rules", dissect.List, "Settings of the server.")
	fRule      = catalog.Add("rules.rule", dissect.Group, "One of them.")
	fKey       = catalog.Add("rules.key", dissect.String, "Name of the setting.", dissect.SettingName)
	fValueType = catalog.Add("rules.type", dissect.Uint, "Type of the value.", dissect.Framing, valueTypes)
	fValue     = catalog.Add("rules.value", dissect.Uint, "Value, if it is a whole number.")
	fValueText = catalog.Add("rules.text", dissect.String, "Value, if it is text.", dissect.Setting, core.InJSON("value_text"))
	fValueReal = catalog.Add("rules.float", dissect.Float, "Value, if it is a float.", core.InJSON("value_float"))

	fPlayerList = catalog.Add("players", dissect.List, "Players, with the columns that the server names.")
	fTeamList   = catalog.Add("teams", dissect.List, "Teams, with the columns that the server names.")
	fEntries    = catalog.Add("entries", dissect.List, "Players or teams, whichever was asked for: the reply does not say which.")
	fNumRows    = catalog.Add("table.num_rows", dissect.Uint, "Rows of the table that follows.", dissect.Framing)
	fNumColumns = catalog.Add("table.num_columns", dissect.Uint, "Its columns.", dissect.Framing)
	fColumn     = catalog.Add("table.column", dissect.String, "Name of a column.", dissect.SettingName, dissect.Framing)
	fColumnType = catalog.Add("table.column_type", dissect.Uint, "Type of its values.", dissect.Framing, valueTypes)
	fEntry      = catalog.Add("entries.entry", dissect.Group, "A player or a team.")
	fEntryName  = catalog.Add("entries.name", dissect.String, "Name.", dissect.PersonName)
	fNumber     = catalog.Add("entries.number", dissect.Uint, "Any column of numbers, under its own name.", core.Open)
	fText       = catalog.Add("entries.text", dissect.String, "Any other column of text, under its own name.", core.Cell, core.Open)
	fReal       = catalog.Add("entries.float", dissect.Float, "Any column of floats, under its own name.", core.Open)
	fCells      = catalog.Add("entries.cells", dissect.List, "Values of columns whose names cannot be keys, in their order.")
	fCellNumber = catalog.Add("entries.cells.number", dissect.Uint, "A value that is a whole number.")
	fCellText   = catalog.Add("entries.cells.text", dissect.String, "A value that is text.", dissect.FreeText)
	fCellReal   = catalog.Add("entries.cells.float", dissect.Float, "A value that is a float.")

	fNumMetrics = catalog.Add("num_metrics", dissect.Uint, "Metrics in the list.", dissect.Framing)
	fMetrics    = catalog.Add("metrics", dissect.List, "Numbers that the server measures, in an order of its own.")
	fMetric     = catalog.Add("metrics.metric", dissect.Float, "One of them.")
)

const (
	topicChallenge dissect.Topic = 1 << iota
	topicQuery
)

var (
	mChallengeRequest = catalog.Message(dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "Asks for the challenge that queries need."})
	mChallenge        = catalog.Message(dissect.MessageType{Name: "challenge_reply", Title: "challenge", Role: dissect.Reply, Doc: "Gives it."})
	mQuery            = catalog.Message(dissect.MessageType{Name: "query_request", Title: "query", Role: dissect.Request, Doc: "Asks for info, rules, players, teams and metrics, or some of them."})
	mReply            = catalog.Message(dissect.MessageType{Name: "query_reply", Title: "reply", Role: dissect.Reply, Doc: "What was asked for, in the order of the bits."})
	mPart             = catalog.Message(dissect.MessageType{Name: "part", Title: "part of a reply", Role: dissect.Reply, Doc: "Packets of a reply of which the first is missing."})

	unanswered = finding.NoReply(catalog, "sqp.noreply", "No reply came within the time that clients wait. The server is down, the game has not started the query service, the port is another one (that of the game and 10, as a rule), or something on the way drops UDP. Servers are silent if the challenge is not the one that they gave.")
	mismatch   = finding.New(catalog, dissect.Warning, "sqp.challenge.mismatch", "challenge %d was not given to this client: the server gave %d",
		"Servers do not answer a query with another challenge than the one that they gave to this address and port. The client kept one too long, or uses that of another server.", finding.KeepChallenge)
	unrequested    = finding.Unrequested(catalog, "sqp.unrequested", "A reply in a conversation whose requests are in the capture, but none with its challenge. A late reply, a request lost by the capture, or a forged packet.")
	several        = finding.Several(catalog, "sqp.several", "The request was answered already. The network duplicated the reply, the request was sent twice and one of the two is not in the capture, or two servers share the address.")
	otherChallenge = finding.New(catalog, dissect.Warning, "sqp.challenge.other", "reply to the request in frame %d has challenge %d instead of %d",
		"Replies bring back the challenge of the query. This one has another: the server is wrong, the reply is one to an earlier query, or it is forged. Clients ignore it.", finding.ReturnedValue)
	oddChunk = finding.New(catalog, dissect.Warning, "sqp.chunk", "a chunk of an unknown kind, %d {byte|bytes} long",
		"Replies do not say what their chunks are. This one reads neither as info, rules, players, teams nor metrics: the server writes it wrongly, or the protocol was extended.", "If the game is new, report it to qdissect with the capture. A client should skip the chunk by its length.")
	fewerRows = finding.New(catalog, dissect.Warning, "sqp.rows", "%d {row|rows} announced, %d {is|are} there",
		"A table of players or teams ends before its last row: the server counts wrongly, or something on the way cut the chunk. Clients that trust the number read past the end.", finding.WrongCount)
	lengthOff = finding.Length(catalog, "sqp.length", "%d {byte|bytes} announced, %d {follows|follow}",
		"The length in the header is not that of the packet. Clients that go by it misread the reply or give up. The server writes it wrongly, or something on the way cut the packet.", finding.WrongLength)
	partMissing = finding.New(catalog, dissect.Warning, "sqp.part.missing", "%d of %d {packet|packets} of this reply arrived; missing: %p (%p)",
		"Packets of a reply did not arrive. What stands before the gap is shown.", finding.MissingParts)
	partDuplicate = catalog.Finding(dissect.FindingType{ID: "sqp.part.duplicate", Severity: dissect.Note, Class: core.OfCapture, Text: "duplicate packets: %d", Doc: "The network or the server sent packets of a reply twice. They are used once."})
	partReorder   = catalog.Finding(dissect.FindingType{ID: "sqp.part.reorder", Severity: dissect.Note, Class: core.OfCapture, Text: "the packets arrived out of order", Doc: "Clients that append packets as they come misread this reply."})
	partConflict  = finding.New(catalog, dissect.Warning, "sqp.part.conflict", "packets that arrived again with different content: %d; the first ones are used",
		"Two different packets with the same number in one reply: another reply to the same challenge, or a forged packet.", finding.MixedParts)
	partFirst = finding.New(catalog, dissect.Warning, "sqp.part.unread", "the first packet is missing: the others cannot be read",
		"Replies are cut anywhere, and only the first packet begins at a known place.", finding.FirstPart)
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "sqp",
	Title:   "Unity SQP",
	Doc:     "The Server Query Protocol of Unity's game servers (Multiplay), with challenges, info, rules, players, teams and metrics.",
	Source:  "Unity, Server Query Protocol; go-svrquery for rules, players, teams and metrics",
	Ports:   []uint16{7787, 9010, 9011},
	Starts:  []string{"\x00", "\x01"},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return newDecoder() },
	Split:   &dissect.Splitting{Read: readPart, Incomplete: partMissing, Duplicate: partDuplicate, Reordered: partReorder, Conflict: partConflict},
	Pairing: dissect.Pairing{
		Unanswered: unanswered,
		OnRequest:  []dissect.Rule{finding.Mismatch(mismatch)},
		OtherIDs:   true,
		OnReply:    []dissect.Rule{several, finding.OtherID(otherChallenge)},
		OnStray:    []dissect.Rule{finding.OtherKind(core.OtherKind), unrequested},
	},
}

const (
	typeChallenge = 0
	typeQuery     = 1
	version       = 1
	allChunks     = 31

	lenChallenge = 1 + 4
	lenQuery     = 1 + 4 + 2 + 1
	lenHead      = 1 + 4 + 2 + 1 + 1 + 2
	detected     = 64 // bytes that Detect gets
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	switch {
	case len(b) == lenChallenge && b[0] == typeChallenge:
		if b[1]|b[2]|b[3]|b[4] == 0 {
			return dissect.Possible
		}
		return dissect.Doubtful // as an empty reply of GameSpy 2
	case len(b) > lenChallenge && len(b) < lenQuery && b[0] == typeChallenge && wire.Varied(b[1:lenChallenge]):
		return dissect.Doubtful // with more bytes than it has
	case len(b) < lenQuery || b[0] != typeQuery || binary.BigEndian.Uint16(b[5:]) != version:
	case len(b) == lenQuery:
		if b[7] != 0 && b[7] <= allChunks {
			return ofChallenge(b, dissect.Doubtful)
		}
	case len(b) > lenHead && b[7] <= b[8]:
		n, rest := int(binary.BigEndian.Uint16(b[9:])), b[lenHead:]
		if n != len(rest) && (len(b) < detected || n < len(rest)) {
			if b[8] == 0 {
				return dissect.Doubtful // cut, or the header is wrong: what waits for it may take it
			}
			break
		}
		// The first packet begins with the length of a chunk, and the last one has all
		// of it.
		if b[7] == 0 && len(rest) >= 4 {
			chunk := binary.BigEndian.Uint32(rest)
			if b[8] == 0 && chunk > uint32(n-4) || chunk > 256*1<<16 {
				break
			}
			return dissect.Likely
		}
		return ofChallenge(b, dissect.Possible)
	}
	return dissect.No
}

// ofChallenge judges a payload that fits by its challenge: servers give random numbers, those of tests
// count, and much else has few different bytes.
func ofChallenge(b []byte, fits dissect.Verdict) dissect.Verdict {
	switch n := binary.BigEndian.Uint32(b[1:]); {
	case wire.Varied(b[1:lenChallenge]):
		return dissect.Likely
	case n > 0 && n < 256:
		return dissect.Possible
	}
	return fits
}

// readPart reads the header of a packet of several. See [reassembly.ReadPart].
func readPart(b []byte, _ uint8) (reassembly.Part, bool) {
	if len(b) <= lenHead || b[0] != typeQuery || binary.BigEndian.Uint16(b[5:]) != version || b[8] == 0 || b[7] > b[8] ||
		int(binary.BigEndian.Uint16(b[9:])) != len(b)-lenHead {
		return reassembly.Part{}, false
	}
	return reassembly.Part{ID: uint64(binary.BigEndian.Uint32(b[1:])), Index: int(b[7]), Total: int(b[8]) + 1, Header: lenHead, Variant: 1}, true
}

// A Message is one of *Challenge, *Query, *Reply and *Part.
type Message any

// Challenge asks for a challenge if it is 0, and gives one otherwise.
type Challenge struct{ Challenge uint32 }

// Query asks a server for chunks: 1 info, 2 rules, 4 players, 8 teams, 16 metrics.
type Query struct {
	Challenge uint32
	Version   uint16
	Chunks    uint8
}

// Reply is what a server answers.
type Reply struct {
	Challenge uint32
	Version   uint16
	Info      dissect.Opt[Info]
	Rules     []Rule
	// Tables are those of players and of teams, if there are two; if there is one, it
	// is of whichever was asked for.
	Tables  []Table
	Columns []Column
	Cells   []Value
	Metrics []float32

	server dissect.Server
}

// Info is what a server says of itself.
type Info struct {
	Players, MaxPlayers        uint16
	Name, GameType, Build, Map string
	Port                       uint16
}

// Rule is a setting of a server.
type Rule struct {
	Key   string
	Value Value
}

// Value is a number, a text or a float, by its Type: 0 to 3 are numbers of 1, 2, 4 and 8
// bytes, 4 is text, 5 is a float.
type Value struct {
	Type   uint8
	Number uint64
	Text   string
	Float  float32
}

// Table has Rows rows of Columns columns, whose names stand in the list of columns of
// the reply, and whose values in its list of cells, row by row.
type Table struct{ Rows, Columns int }

// Column is a column of a table.
type Column struct {
	Name string
	Type uint8
}

// Part is what came of a reply without its beginning.
type Part struct{ Challenge uint32 }

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

// decoder owns what a message is read into.
type decoder struct {
	challenge Challenge
	query     Query
	reply     Reply
	part      Part
	chunks    chunks
	catalog   []*dissect.Field // of the columns of a table; nil where a name cannot be a key

	numbers, texts, reals *wire.Columns
}

func newDecoder() *decoder {
	return &decoder{
		numbers: wire.NewColumns(fNumber, nil), reals: wire.NewColumns(fReal, nil),
		texts: wire.NewColumns(fText, map[string]*dissect.Field{"name": fEntryName}),
	}
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	switch {
	case r.Parts() > 0:
		d.decodeChunks(r, m)
	case r.Next(typeQuery) && r.Left() > lenQuery:
		p := &d.reply
		d.begin(m)
		says := d.readHeader(r, fType, fChallenge, fVersion)
		finding.Differs(r, lengthOff, fLength, lenHead-2, 2, says, r.Left())
		m.Pair = dissect.Pair{Answers: topicQuery, ID: id(p.Challenge)}
		d.decodeChunks(r, m)
	case r.Next(typeQuery):
		q := wire.Message(m, mQuery, &d.query, Query{})
		r.U8(fType)
		q.Challenge = r.U32BE(fChallenge)
		q.Version = r.U16BE(fVersion)
		q.Chunks = r.U8(fChunks)
		m.Pair = dissect.Pair{Asks: topicQuery, ID: id(q.Challenge), Challenge: dissect.ChallengeUsed, Value: uint64(q.Challenge)}
	default:
		c := wire.Message(m, mChallengeRequest, &d.challenge, Challenge{})
		r.U8(fType)
		c.Challenge = r.U32BE(fChallenge)
		m.Pair = dissect.Pair{Asks: topicChallenge, Challenge: dissect.ChallengeWanted}
		if c.Challenge != 0 {
			m.Type = mChallenge
			m.Pair = dissect.Pair{Answers: topicChallenge, Challenge: dissect.ChallengeIssued, Value: uint64(c.Challenge)}
		}
	}
}

// id is a challenge as an identifier, which is not 0.
func id(challenge uint32) uint64 { return 1<<32 | uint64(challenge) }

func (d *decoder) begin(m *dissect.Message) {
	p := &d.reply
	*p = Reply{Rules: p.Rules[:0], Tables: p.Tables[:0], Columns: p.Columns[:0], Cells: p.Cells[:0], Metrics: p.Metrics[:0]}
	m.Type, m.Body = mReply, p
}

// readHeader reads the header of a reply, with the fields for its beginning, and returns the length in it.
func (d *decoder) readHeader(r *dissect.Reader, typ, challenge, version *dissect.Field) int {
	r.U8(typ)
	d.reply.Challenge = r.U32BE(challenge)
	d.reply.Version = r.U16BE(version)
	r.U8(fCurrent)
	r.U8(fLast)
	return int(r.U16BE(fLength))
}

// Join joins what follows the headers of all packets.
func (d *decoder) Join(r *dissect.Reader, _ uint8, m *dissect.Message) bool {
	m.Variant = "sqp"
	d.begin(m)
	p := &d.reply
	joined := core.Buffer(r)
	for i := range r.Parts() {
		r.Part(i)
		if i == 0 {
			d.readHeader(r, fType, fChallenge, fVersion)
		} else {
			head := r.Begin(fHeader)
			d.readHeader(r, fHType, fHChallenge, fHVersion)
			r.End(head)
		}
		data := r.Rest(fPart)
		if gap := r.Gap(); gap < 0 || i < gap {
			joined = append(joined, data...)
		}
	}
	core.Keep(r, joined)
	m.Pair = dissect.Pair{Answers: topicQuery, ID: id(p.Challenge)}
	if r.Gap() == 0 {
		wire.Message(m, mPart, &d.part, Part{Challenge: p.Challenge})
		r.Note(partFirst)
		return false
	}
	r.Open("joined", joined)
	return true
}

// decodeChunks reads the chunks of a reply.
func (d *decoder) decodeChunks(r *dissect.Reader, m *dissect.Message) {
	c := &d.chunks
	c.find(r.Peek())
	for i, table := 0, 0; r.More(); i++ {
		n := int(r.U32BE(fChunkLength))
		if r.Failed() {
			return
		}
		if n > r.Left() {
			r.Rest(fChunk)
			if r.Gap() < 0 && !r.Cut() {
				r.Fail(fChunkLength, "longer than the reply")
			}
			return
		}
		end := r.Offset() + n
		of, rest := kindOther, fMore
		if i < c.n {
			of = c.kinds[i]
		}
		switch of {
		case kindInfo:
			d.decodeInfo(r, m)
		case kindRules:
			d.decodeRules(r, end)
		case kindTable, kindShort:
			list := fEntries
			if c.tables > 1 {
				list = [...]*dissect.Field{fPlayerList, fTeamList}[table]
			}
			rows := -1
			if of == kindShort {
				rows, rest = c.rows[i], fChunk
			}
			d.decodeTable(r, list, rows)
			table++
		case kindMetrics:
			r.U8(fNumMetrics)
			d.reply.Metrics = wire.Items(r, fMetrics, nil, d.reply.Metrics, until(r, end), func() float32 { return core.F32BE(r, fMetric) })
		default:
			r.Find(oddChunk, fChunk, r.Offset(), n, dissect.Num(n))
			r.Bytes(fChunk, n)
		}
		if left := end - r.Offset(); left > 0 && !r.Failed() {
			r.Bytes(rest, left)
		}
	}
}

func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message) {
	i := Info{
		Players: r.U16BE(fPlayers), MaxPlayers: r.U16BE(fMaxPlayers), Name: r.PString(fName), GameType: r.PString(fGameType),
		Build: r.PString(fBuild), Map: r.PString(fMap), Port: r.U16BE(fPort),
	}
	if r.Failed() {
		return
	}
	d.reply.Info = dissect.Some(i)
	m.Pair.Port = i.Port
	m.Server = dissect.Server{
		Name: dissect.Some(i.Name), Game: dissect.Some(i.GameType), Map: dissect.Some(i.Map), Version: dissect.Some(i.Build),
		Players: dissect.Some(int(i.Players)), MaxPlayers: dissect.Some(int(i.MaxPlayers)),
	}
	d.reply.server = m.Server
}

func (d *decoder) decodeRules(r *dissect.Reader, end int) {
	d.reply.Rules = wire.Items(r, fRules, fRule, d.reply.Rules, until(r, end), func() Rule {
		rule := Rule{Key: r.PString(fKey)}
		of := r.U8(fValueType)
		rule.Value = readValue(r, of, fValue, fValueText, fValueReal)
		core.HideSetting(r, fHidden, rule.Key, rule.Value.Text)
		return rule
	})
}

// until reports whether there is more of a chunk that ends at end.
func until(r *dissect.Reader, end int) func() bool {
	return func() bool { return r.Offset() < end && !r.Failed() }
}

var fHidden = fValueText.Hidden()

// readValue reads a value of a type into one of three fields.
func readValue(r *dissect.Reader, of uint8, number, text, real *dissect.Field) Value {
	v := Value{Type: of}
	switch of {
	case type8:
		v.Number = uint64(r.U8(number))
	case type16:
		v.Number = uint64(r.U16BE(number))
	case type32:
		v.Number = uint64(r.U32BE(number))
	case type64:
		v.Number = core.U64BE(r, number)
	case typeText:
		v.Text = r.PString(text)
	case typeFloat:
		v.Float = core.F32BE(r, real)
	default:
		r.Fail(number, "no such type of values")
	}
	return v
}

// decodeTable reads a table. If rows is not negative, it has only so many of its rows.
func (d *decoder) decodeTable(r *dissect.Reader, f *dissect.Field, rows int) {
	p := &d.reply
	at := r.Offset()
	t := Table{Rows: int(r.U16BE(fNumRows))}
	if t.Rows > 0 {
		t.Columns = int(r.U8(fNumColumns))
	}
	if rows >= 0 {
		r.Find(fewerRows, fNumRows, at, 2, dissect.Num(t.Rows), dissect.Num(rows))
		t.Rows = rows
	}
	d.catalog = d.catalog[:0]
	first := len(p.Columns)
	for range t.Columns {
		c := Column{Name: r.PString(fColumn), Type: r.U8(fColumnType)}
		if r.Failed() {
			return
		}
		d.catalog = append(d.catalog, d.fieldOf(c, p.Columns[first:]))
		p.Columns = append(p.Columns, c)
	}
	p.Tables = append(p.Tables, t)
	wire.Each(r, f, fEntry, wire.Times(r, t.Rows), func() {
		cells := -1
		for i, c := range p.Columns[first:] {
			if f := d.catalog[i]; f != nil {
				p.Cells = append(p.Cells, readValue(r, c.Type, f, f, f))
				continue
			}
			if cells < 0 {
				cells = r.Begin(fCells)
			}
			p.Cells = append(p.Cells, readValue(r, c.Type, fCellNumber, fCellText, fCellReal))
		}
		if cells >= 0 {
			r.End(cells)
		}
	})
}

// fieldOf returns the field of a column, nil if its name cannot be a key: names are
// keys once. Behind a column without a field there are none, so that the values without
// one stand in one list.
func (d *decoder) fieldOf(c Column, before []Column) *dissect.Field {
	for i, b := range before {
		if d.catalog[i] == nil || b.Name == c.Name {
			return nil
		}
	}
	switch c.Type {
	case typeText:
		return d.texts.Field(c.Name)
	case typeFloat:
		return d.reals.Field(c.Name)
	}
	return d.numbers.Field(c.Name)
}

// AppendSummary says what is asked for.
func (q *Query) AppendSummary(dst []byte) []byte {
	start := len(dst)
	for set := q.Chunks & allChunks; set != 0; set &= set - 1 {
		if len(dst) > start {
			dst = append(dst, ", "...)
		}
		dst = append(dst, fChunks.Bits[bits.TrailingZeros8(set)].Name...)
	}
	return dst
}

// AppendSummary gives the server and how long the lists are.
func (p *Reply) AppendSummary(dst []byte) []byte {
	start := len(dst)
	dst = p.server.AppendSummary(dst)
	if n := len(p.Rules); n > 0 {
		dst = wire.Plural(wire.Gap(dst, start), "", n, "rule", "rules")
	}
	for i, t := range p.Tables {
		one, many := "entry", "entries"
		if len(p.Tables) > 1 {
			one, many = [...]string{"player", "team"}[min(i, 1)], [...]string{"players", "teams"}[min(i, 1)]
		}
		dst = wire.Plural(wire.Gap(dst, start), "", t.Rows, one, many)
	}
	if n := len(p.Metrics); n > 0 {
		dst = wire.Plural(wire.Gap(dst, start), "", n, "metric", "metrics")
	}
	return dst
}
