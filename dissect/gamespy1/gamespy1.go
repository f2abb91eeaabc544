// Package gamespy1 dissects the first GameSpy protocol: text queries such as \status\,
// which Unreal, Unreal Tournament, Battlefield 1942, Medal of Honor: Allied Assault,
// Operation Flashpoint and several dozen games of 1997 to 2004 answer, and the
// heartbeats that announce their servers to a master.
//
// A request is one or more words between backslashes: \info\\players\. A reply is keys
// and values, each after a backslash, without a header. Keys of a player end with the
// player's number (\frags_3\12). Replies that exceed a datagram are cut between two
// pairs. Each datagram has \queryid\N.M: N is the number that the server gave to the
// request, and M counts the datagrams from 1. The last datagram has the key final,
// before or after the queryid; only it shows how many there are.
//
// Text is Latin-1 (Windows-1252) or, from newer servers, UTF-8.
//
// Sources: "A gameserver Query Library" for the requests and the numbered keys;
// GameSpy's Query & Reporting SDK, which most games contain, Unreal's UdpServerQuery,
// Descent 3 and recorded traffic for the rest. Where servers differ, comments name
// them.
package gamespy1

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "gamespy1",
	Title:  "GameSpy 1",
	Group:  "GameSpy",
	Doc:    "The first GameSpy protocol, keys and values in text (\\status\\): Unreal, Unreal Tournament, Deus Ex, Rune, Serious Sam, Battlefield 1942, Medal of Honor: Allied Assault, Operation Flashpoint, Vietcong, Descent 3 and many other games of 1997 to 2004; and the heartbeats of their servers.",
	Source: "A gameserver Query Library (CodeProject), Gamespy; GameSpy Query & Reporting SDK; Unreal's UdpServerQuery",
	// Games choose their query port in many ways. Masters receive heartbeats on 27900.
	Ports: []uint16{
		2303, 6500, 7778, 7787, 7788, 7792, 8911, 12300, 15425, 20142, 23000, 25300, 25601, 27888, 27900, 28672, 61220,
	},
	Starts:  []string{`\`},
	Catalog: catalog,
	Detect:  Detect, Confirm: confirm,
	New: func() dissect.Decoder { return newDecoder() },
	Split: &dissect.Splitting{
		Read: readPart, Alone: true, Incomplete: partMissing, Endless: finalMissing, Duplicate: partDuplicate, Reordered: partReorder, Conflict: partConflict, Totals: partTotals,
	},
	Handshake: dissect.Handshake{Words: []string{"echo"}},
	Pairing: dissect.Pairing{
		Unanswered: unanswered, Named: named,
		OnReply: []dissect.Rule{several, finding.Amplified(amplification, 10)},
		OnStray: []dissect.Rule{finding.OtherKind(core.OtherKind), unrequested},
	},
}

// A word is a query.
type word struct {
	name    string
	message *dissect.MessageType
	// reply is the type of its reply, nil if the reply shows its type itself.
	reply *dissect.MessageType
	topic dissect.Topic
	// argument reports whether the query takes an argument.
	argument bool
}

var words = []word{
	{"status", mStatus, mStatusReply, topicStatus, false},
	{"info", mInfo, mInfoReply, topicInfo, false},
	{"basic", mBasic, mBasicReply, topicBasic, false},
	{"rules", mRules, mRulesReply, topicRules, false},
	{"players", mPlayers, mPlayersReply, topicPlayers, false},
	{"teams", mTeams, mTeamsReply, topicTeams, false},
	{"packets", mPackets, mStatusReply, topicPackets, false},
	{"echo", mEcho, nil, topicEcho, true},
	{"secure", mSecure, nil, topicSecure, true},
	{"level_property", mProperty, mRulesReply, topicProperty, true},
	{"game_property", mProperty, mRulesReply, topicProperty, true},
	{"player_property", mProperty, mRulesReply, topicProperty, true},
}

// wordOf returns the query with a name, or nil if there is none.
func wordOf[T string | []byte](name T) *word {
	for i := range words {
		if string(name) == words[i].name {
			return &words[i]
		}
	}
	return nil
}

// named returns the type of a reply whose request is known. The content does not
// determine the type, because servers differ in what they send.
func named(request, reply *dissect.MessageType) *dissect.MessageType {
	if reply == mEchoReply || reply == mSecureReply {
		return nil
	}
	for i := range words {
		if words[i].message == request {
			return words[i].reply
		}
	}
	return nil
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < 2 || b[0] != '\\' {
		return dissect.No
	}
	key := b[1:]
	n := bytes.IndexByte(key, '\\')
	if n < 0 {
		// A single word without a backslash after it: a query without its last
		// backslash.
		if w := wordOf(bytes.TrimRight(key, "\x00")); w != nil {
			return dissect.Likely
		}
		return dissect.No
	}
	key, rest := key[:n], key[n+1:]
	switch {
	case !canBeKey(key):
		return dissect.No
	case wordOf(key) != nil, isKnown(key), string(key) == "heartbeat":
		return dissect.Certain
	}
	// A key of some game, or a query that is not known: text must follow, and a key or a query
	// that is known, as much else is text between backslashes.
	if slices.ContainsFunc(rest, func(c byte) bool { return c < 0x20 && c != 0x1b && c != 0 }) {
		return dissect.No
	}
	verdict := nettext.Either(len(rest) == 0, dissect.Possible, dissect.Doubtful)
	for closed := false; len(rest) > 0; {
		key, rest, closed = bytes.Cut(rest, []byte{'\\'})
		switch query := wordOf(key) != nil; {
		case isKnown(key), query && closed && len(rest) == 0:
			return dissect.Likely
		case query:
			verdict = dissect.Possible
		}
	}
	return verdict
}

// confirm reports whether a payload with no known key among its first bytes has one, or a mark
// of the end of a reply.
func confirm(b []byte) bool {
	at := findMarkers(b)
	return at.queryID.n+at.final.n > 0
}

// canBeKey reports whether s may be a key: it begins with a letter, as all recorded
// keys do, and has no control characters.
func canBeKey[T string | []byte](s T) bool {
	return len(s) > 0 && s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z' && wire.While(s, func(c byte) bool { return c > ' ' && c < 0x7f }) == len(s)
}

// isKnown reports whether a key is known; see [classify]. Known keys are short.
func isKnown(key []byte) bool { return len(key) <= 32 && classify(string(key)).known }

// Parse decodes one payload: a request, a reply or a datagram of one, or a heartbeat.
// The caller owns the result. The error is a *dissect.Error that says where reading
// ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

// A decoder owns one message of each type and the scratch data about the current reply,
// and reuses them.
type decoder struct {
	request   Request
	reply     Reply
	heartbeat Heartbeat
	values    []dissect.KeyValue // columns of all players and teams

	joined, numbered bool // the reply has parts; the parts have numbers
	final, whole     bool // the last part is present; all parts are
	segments         []segment
	tokens           []token
	pairs            []pair
	bad              badText      // of a reply that nobody reads
	firsts           [special]int // offset of the first key of each table, -1 if there is none
	players, teams   table
	hashes           []string
}

// The columns of players and teams that are in the catalog.
var (
	ofPlayer = [columnCount]*dissect.Field{
		colName: fName, colScore: fScore, colFrags: fFrags, colKills: fKills, colDeaths: fDeaths, colPing: fPing, colTeam: fTeam,
		colKeyHash: fKeyHash, colMesh: fMesh, colSkin: fSkin, colFace: fFace,
	}
	ofTeam = [columnCount]*dissect.Field{colName: fTeamName, colScore: fTeamScore}
)

func newDecoder() *decoder {
	d := new(decoder)
	d.players = table{declared: &ofPlayer, texts: wire.NewColumns(fColumn, nil), numbers: wire.NewColumns(fColumnNumber, nil)}
	d.teams = table{declared: &ofTeam, texts: wire.NewColumns(fTeamColumn, nil), numbers: wire.NewColumns(fTeamNumber, nil)}
	return d
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if r.Parts() > 0 {
		d.decodeReply(r, m, markers{})
		return
	}
	b := r.Peek()
	d.joined = false
	switch at := findMarkers(b); kindOf(b, at) {
	case aRequest:
		d.decodeRequest(r, m, at.body)
	case aHeartbeat:
		d.decodeHeartbeat(r, m, at)
	case aReply:
		d.decodeReply(r, m, at)
	default:
		wire.Message(m, mUnknown, &d.request, Request{})
		r.Fail(fQuery, "no backslash")
	}
}

// maxRequest is the size of the longest request with an unknown first word. Servers
// read 256 bytes.
const maxRequest = 512

// A kind is the kind of a payload.
type kind uint8

const (
	unknownKind kind = iota
	aRequest
	aHeartbeat
	aReply
)

// kindOf returns the kind of a payload. Requests have none of the keys that end a
// reply.
func kindOf(b []byte, at markers) kind {
	if len(b) == 0 || b[0] != '\\' {
		return nettext.Either(at.queryID.n+at.final.n > 0, aReply, unknownKind)
	}
	key, _, _ := bytes.Cut(b[1:at.body], []byte{'\\'})
	switch {
	case string(key) == "heartbeat":
		return aHeartbeat
	case at.number.n+at.queryID.n+at.final.n > 0:
		return aReply
	case wordOf(key) != nil, bytes.Count(b, []byte{'\\'}) <= 2 && !isKnown(key):
		return aRequest
	}
	// A reply without markers, or a request whose first word is unknown.
	if len(b) > maxRequest {
		return aReply
	}
	query := false
	for rest := b[1:at.body]; len(rest) > 0; {
		key, rest, _ = bytes.Cut(rest, []byte{'\\'})
		if isKnown(key) {
			return aReply
		}
		query = query || wordOf(key) != nil
	}
	return nettext.Either(query, aRequest, aReply)
}

// decodeRequest reads words and their arguments. A word is between two backslashes.
// Clients write \info\\rules\ and \info\rules\ alike, and \status\xserverquery
// (gamedig, for a modification of Unreal Tournament).
func (d *decoder) decodeRequest(r *dissect.Reader, m *dissect.Message, end int) {
	q := wire.Message(m, mUnknown, &d.request, Request{Queries: d.request.Queries[:0]})
	m.Pair.Challenge = dissect.ChallengeAbsent
	var name *dissect.MessageType // of all words but echo and secure, which accompany others
	list := r.Begin(fQueries)
	for r.More() && r.Offset() < end {
		w := readQuery(r, q, end)
		switch {
		case w == nil:
			continue
		case w.topic&(topicEcho|topicSecure) != 0:
			if m.Type == mUnknown {
				m.Type = w.message
			}
		case name == nil:
			name = w.message
		case name != w.message:
			name = mCombined
		}
		m.Pair.Asks |= w.topic
	}
	r.End(list)
	if name != nil {
		m.Type = name
	}
	m.Pair.Asks = cmp.Or(m.Pair.Asks, topicOther)
	if len(q.Queries) == 0 {
		r.Note(unknownQuery, dissect.Str(""))
	}
	core.Remaining(r, fEnd)
}

// readQuery reads one query. It returns its word, or nil if the word is unknown.
func readQuery(r *dissect.Reader, q *Request, end int) *word {
	s := scanQuery(core.PeekTo(r, end-r.Offset()))
	if s.n+s.closed == 0 { // only backslashes
		r.Bytes(fEnd, s.pre)
		return nil
	}
	at := r.Offset() + s.pre
	entry := r.Begin(fEntry)
	one := Query{Name: r.Span(fQuery, 0, s.pre, s.n, s.closed)}
	if s.value > 0 {
		one.Value = r.Span(fValue, 0, 0, s.value, s.valueClosed)
		core.HideSetting(r, fHidden, one.Name, one.Value)
	}
	r.End(entry)
	q.Queries = append(q.Queries, one)
	switch {
	case s.word == nil:
		r.Find(unknownQuery, fQuery, at, s.n, dissect.Str(one.Name))
	case s.closed == 0:
		r.Find(openQuery, fQuery, at, s.n, dissect.Str(one.Name))
	}
	return s.word
}

// A queryAt has the lengths of the parts of a query: backslashes before the word, the
// word, its argument if it has one, and a backslash after each.
type queryAt struct {
	pre, n, closed     int
	word               *word // nil if unknown
	value, valueClosed int
}

// scanQuery scans the query at the start of b.
func scanQuery(b []byte) (q queryAt) {
	q.pre = wire.While(b[:min(len(b), 8)], func(c byte) bool { return c == '\\' })
	b = b[q.pre:]
	q.n = wordLen(b)
	q.word = wordOf(b[:q.n])
	b = b[q.n:]
	q.closed = min(1, len(b))
	b = b[q.closed:]
	if k := wordLen(b); q.word == nil || q.word.argument || wordOf(b[:k]) == nil {
		q.value, q.valueClosed = k, min(1, len(b)-k)
	}
	return q
}

// wordLen returns the index of the first backslash, or the length if there is none.
func wordLen(b []byte) int {
	if i := bytes.IndexByte(b, '\\'); i >= 0 {
		return i
	}
	return len(b)
}

// decodeHeartbeat reads a heartbeat such as \heartbeat\7778\gamename\ut. The SDK adds
// \statechanged\ without a value when the game begins or ends. Later SDKs send 1, or 2
// when the server shuts down.
func (d *decoder) decodeHeartbeat(r *dissect.Reader, m *dissect.Message, at markers) {
	h := wire.Message(m, mHeartbeat, &d.heartbeat, Heartbeat{Rules: d.heartbeat.Rules[:0]})
	b := core.PeekText(r)
	d.segment(b, markers{body: at.body})
	d.find(b, r)
	var port, game, changed bool
	for i := range d.pairs {
		switch d.keyOf(b, i) {
		case "heartbeat":
			d.special(i, fHeartbeat, &port)
		case "gamename":
			d.special(i, fGameName, &game)
		case "statechanged":
			d.special(i, fChanged, &changed)
		}
	}
	rules := false
	for i := range d.pairs {
		switch p := &d.pairs[i]; p.field {
		case fHeartbeat:
			if n, ok := nettext.ParseInt(p.read(r)); ok && n >= 0 && n <= 65535 {
				h.Port = dissect.Some(uint16(n))
			}
		case fGameName:
			h.Game = p.read(r)
		case fChanged:
			h.StateChanged = dissect.Some(p.read(r))
		default:
			if !rules {
				rules = true
				h.Rules = d.readRules(r, i, h.Rules)
			}
		}
	}
	r.Seek(at.body)
	core.Remaining(r, fEnd)
}
