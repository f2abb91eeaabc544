// Package cube dissects the queries of games with the Cube engines: Sauerbraten,
// AssaultCube, Red Eclipse, Blood Frontier, Tesseract.
//
// A request is a few numbers, the first of which the client chose, usually its time. If
// that is 0, the second one says what is asked for (extended infos); otherwise the data of
// the server is. A reply begins with the bytes of the request, whatever they are, so that
// nothing else tells the two apart: a datagram is a reply if it begins with a request that
// waits for one, or if what follows some of its numbers is a reply to the end. The games
// have their data in different orders. Tesseract is queried on the port of the game: its
// requests begin with FF FF, which its replies do not repeat.
//
// Sources: recorded traffic of Sauerbraten and Red Eclipse; the servers of Sauerbraten
// (server.cpp, extinfo.h), AssaultCube (serverms.cpp, server.cpp), Red Eclipse
// (server.cpp) and Tesseract (server.cpp).
package cube

import (
	"cmp"
	"encoding/binary"
	"math"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var (
	unanswered    = finding.NoReply(catalog, "cube.noreply", "The capture has no reply. The server is down, the port is not its query port (the game's port plus 1, such as 28786 for 28785; Tesseract has only one port and expects FF FF first), or a packet was lost, dropped or not captured.")
	noExtended    = finding.Unanswered(catalog, "cube.noextended", "The capture has no reply to a request for extended infos. Red Eclipse never replies to those, and modified servers can be set not to, so this alone does not mean that the server is down: check whether it answers a request that begins with another number than 0. A packet may also have been lost, dropped or not captured.")
	unrequested   = finding.Unrequested(catalog, "cube.unrequested", "The capture has requests of this conversation, but none that this reply begins with. The request is missing from the capture, or the reply is late, a duplicate or forged.")
	refused       = catalog.Finding(dissect.FindingType{ID: "cube.refused", Severity: dissect.Note, Text: "the server knows no such player or command", Doc: "The player with this number has left, or the server does not know this kind of extended infos. Ask for all players (-1)."})
	amplification = finding.Amplification(catalog, "cube.amplification", "A request has as little as 1 byte and no challenge, and every player is a datagram of its own, so attackers can use the server to flood others. All datagrams so far are counted. Limit the rate of replies to each address.")
	listed        = catalog.Finding(dissect.FindingType{ID: "cube.players.count", Severity: dissect.Note, Text: "%d {player|players} announced, %d in the list", Doc: "AssaultCube lists another number of players than it states: the server counts players that are joining, the reply was cut, or the numbers are invented."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "cube",
	Title:   "Cube engines",
	Doc:     "Queries of Sauerbraten, AssaultCube, Red Eclipse, Blood Frontier and Tesseract. Replies begin with the bytes of the request, which can be any, so that queries are looked for on these ports alone; for others, as Tesseract's (42000), name the port with --decode-as.",
	Source:  "recorded traffic of Sauerbraten and Red Eclipse; the servers of Sauerbraten (server.cpp, extinfo.h), AssaultCube (serverms.cpp, server.cpp), Red Eclipse (server.cpp) and Tesseract (server.cpp)",
	Ports:   []uint16{28786, 28764, 28802, 28784},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, amplification),
}

const (
	askUptime  = 0
	askPlayers = 1
	askTeams   = 2

	askNothing  = 0 // AssaultCube
	askNames    = 1
	askText     = 2
	askRotation = 3
	askUplink   = 4

	ack        = -1
	kindIDs    = -10
	kindPlayer = -11

	withPassword = 4 // a master mode
	flagPassword = 1

	topicInfo    dissect.Topic = 1
	topicUptime  dissect.Topic = 2
	topicPlayers dissect.Topic = 4
	topicTeams   dissect.Topic = 8
	topicOther   dissect.Topic = 16
	anyTopic                   = topicInfo | topicUptime | topicPlayers | topicTeams | topicOther

	// Requests of clients have at most 8 bytes.
	maxRequest = 16
	maxNumbers = 4
)

// A layout is the order of data in a reply.
type layout uint8

const (
	noReply layout = iota
	sauerbraten
	redEclipse
	tesseract
	assaultCube
	extended
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if n, what := split(nil, b, len(b) < 64); n >= 0 {
		switch {
		case what == tesseract && (len(b) >= 64 || !wire.Varied(b)):
			return dissect.Doubtful // small numbers
		case len(b) < 64 || isText(b):
			return dissect.Likely
		}
	}
	n, what := split(nil, b, false)
	switch request := isRequest(b); {
	case request && len(b) > 1, n >= 0 && what != tesseract && isText(b):
		return dissect.Possible
	case request, n >= 0: // any byte, small numbers
		return dissect.Doubtful
	}
	return dissect.No
}

// isText reports whether most bytes of b are digits, letters of English and small numbers.
func isText(b []byte) bool {
	n := 0
	for _, c := range b {
		if c >= ' ' && c < 0x7f || c < 10 {
			n++
		}
	}
	return n > len(b)*3/5
}

// isRequest reports whether b is a few numbers, the second of which is one that servers
// know, or nearly.
func isRequest(b []byte) bool {
	if len(b) == 0 || len(b) > maxRequest {
		return false
	}
	s := scan(query(b))
	if len(s) == 0 {
		return true
	}
	zero := s[0] == 0
	if v, ok := s.Int(); !ok || v == 0 && !zero {
		return false
	}
	if len(s) == 0 {
		return true
	}
	if !zero && len(query(b)) < len(b) { // nothing follows this time of a ping
		return false
	}
	if !s.Between(0, 9) {
		return false
	}
	for n := 2; n < maxNumbers && len(s) > 0; n++ {
		if !s.Skip(1) {
			return false
		}
	}
	return len(s) == 0
}

// query returns a request as its reply repeats it.
func query(b []byte) []byte {
	if len(b) >= 2 && b[0] == 0xff && b[1] == 0xff {
		return b[2:]
	}
	return b
}

// id returns a hash of what request and reply have in common.
func id(b []byte) uint64 { return wire.Hash(query(b)) }

// split returns how many bytes of a reply are those of its request, and what the others
// are; -1 if b is no reply. If r is not nil, a request that waits for its reply decides, and
// otherwise the first number behind which all fits. If whole is false, b may break off or go on.
func split(r *dissect.Reader, b []byte, whole bool) (n int, what layout) {
	s := scan(b)
	n = -1
	awaited := false
	for i := 0; i <= maxNumbers && len(b)-len(s) <= maxRequest; i++ {
		at := len(b) - len(s)
		fits := fit(scan(b[:at]), s, whole)
		switch {
		case r != nil && core.Awaited(r, anyTopic, id(b[:at])):
			if fits == noReply {
				fits = fit(scan(b[:at]), s, false)
			}
			if len(s) > 0 && (!awaited || fits != noReply) {
				n, what, awaited = at, fits, true
			}
		case awaited || fits == noReply || i == 0:
		case n < 0 || what == tesseract && fits != tesseract: // small numbers fit by chance
			n, what = at, fits
		}
		if !s.Skip(1) {
			break
		}
	}
	return n, what
}

// fit returns which reply to a request the bytes behind it are.
func fit(request, s scan, whole bool) layout {
	if v, ok := request.Int(); ok && v == 0 {
		if command, _ := request.Int(); s.Between(ack, ack) && s.Between(100, 119) && fitsExtended(command, s, whole) {
			return extended
		}
		return noReply
	}
	for _, l := range [...]layout{sauerbraten, redEclipse, tesseract, assaultCube} {
		if fitsInfo(l, s, whole) {
			return l
		}
	}
	return noReply
}

const (
	many  = 255  // players
	first = 128  // version of a protocol
	last  = 9999 // and its end
)

func fitsInfo(l layout, s scan, whole bool) bool {
	texts, players := 2, int32(0)
	switch l {
	case sauerbraten, redEclipse:
		players, _ = s.Int()
		n, _ := s.Int()
		red := n == 6 || n > 7
		if players < 0 || players > many || n < 5 || n > 20 || red != (l == redEclipse) || !s.Between(first, last) || !s.Skip(int(n)-1) {
			return false
		}
		if rest := s; n >= withBranch {
			texts += 1 + 2*int(players)
		} else if red && rest.Texts(texts) && len(rest) > 0 {
			texts += 2 * int(players)
		}
	case tesseract:
		if !s.Between(1, 100) {
			return false
		}
		if players, _ = s.Int(); players < 0 || !s.Between(players, 128) {
			return false
		}
		if n, _ := s.Int(); n != 3 && n != 5 || !s.Skip(int(n)) {
			return false
		}
	default:
		if v, _ := s.Int(); v < 1000 && v > -1000 || v > last || v < -last || !s.Between(-1, 100) {
			return false
		}
		if players, _ = s.Int(); players < 0 || players > many || !s.Skip(1) {
			return false
		}
	}
	if !s.Texts(texts) {
		return !whole
	}
	if l == assaultCube {
		if limit, ok := s.Int(); ok && (limit < players || limit > many) {
			return false
		}
		if !s.Skip(1) {
			return !whole
		}
		if answer, ok := s.Int(); !ok || answer > askNothing && answer <= askUplink {
			return true
		}
	}
	return !whole || len(s) == 0
}

func fitsExtended(command int32, s scan, whole bool) bool {
	code, ok := s.Int()
	if !ok {
		return !whole
	}
	if len(s) == 0 && code == 1 {
		return true
	}
	switch command {
	case askUptime:
		return len(s) == 0 || s.Between(-100, -2)
	case askPlayers:
		kind, _ := s.Int()
		return code == 0 && (kind == kindIDs || kind == kindPlayer)
	case askTeams:
		return code == 0 || code == 1 && s.Skip(2) && len(s) == 0
	}
	return false
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	info    Info
	uptime  Uptime
	ids     PlayerIDs
	player  Player
	teams   Teams
	refusal Refusal
}

// Decode reads one datagram.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	b := r.Peek()
	n, what := split(r, b, true)
	if n < 0 && !isRequest(b) {
		if n, what = split(r, b, false); n < 0 {
			m.Type = mUnknown
			r.Fail(fTime, "neither a request nor a reply")
			return
		}
	}
	if n < 0 {
		d.request.Echo, m.Pair.Asks = readEcho(r, len(b))
		m.Type, m.Body, m.Pair.ID = cmp.Or(requestTypes[m.Pair.Asks], mCommand), &d.request, id(b)
		m.Pair.Challenge = dissect.ChallengeAbsent
		return
	}
	m.Pair.ID = id(core.PeekTo(r, n))
	var echo Echo
	if echo, m.Pair.Answers = readEcho(r, n); echo.Extended {
		d.extended(r, m, echo)
	} else {
		d.decodeInfo(r, m, echo, what)
	}
}

var requestTypes = map[dissect.Topic]*dissect.MessageType{topicInfo: mInfo, topicUptime: mUptime, topicPlayers: mPlayers, topicTeams: mTeams}

// readEcho reads a request of n bytes.
func readEcho(r *dissect.Reader, n int) (e Echo, topic dissect.Topic) {
	end := r.Offset() + n
	if n >= 2 && r.HasPrefix("\xff\xff") {
		r.Bytes(fMagic, 2)
	}
	topic = topicInfo
	if r.Offset() == end {
		return e, topic
	}
	if s := scan(r.Peek()); s.Between(0, 0) {
		e.Extended, topic = true, topicUptime // as servers read a command that is missing
		readInt(r, fExtended)
	} else {
		e.Time = readInt(r, fTime)
	}
	if e.Extended && r.Offset() < end {
		e.Command = readInt(r, fCommand)
		switch e.Command {
		case askUptime:
		case askPlayers:
			topic = topicPlayers
			if r.Offset() < end {
				e.Client = dissect.Some(readInt(r, fClient))
			}
		case askTeams:
			topic = topicTeams
		default:
			topic = topicOther
		}
	} else if !e.Extended && r.Offset() < end {
		e.Query = dissect.Some(readInt(r, fQuery))
	}
	if r.Offset() < end && !r.Failed() {
		e.Token = r.Bytes(fToken, end-r.Offset())
	}
	return e, topic
}

// withBranch is the number of attributes from which on Red Eclipse names its branch.
const withBranch = 15

func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message, echo Echo, what layout) {
	p := &d.info
	*p = Info{Echo: echo, Numbers: p.Numbers[:0], Names: p.Names[:0], Handles: p.Handles[:0], Lines: p.Lines[:0], Rotation: p.Rotation[:0], Game: Game(what)}
	m.Type, m.Body = mInfoReply, p
	switch what {
	case assaultCube:
		p.Protocol = readInt(r, fProtocol)
		p.Mode = readInt(r, fAssaultMode)
		p.Players = readInt(r, fNumPlayers)
		p.TimeLeft = readInt(r, fMinutes)
	case tesseract:
		p.Protocol = readInt(r, fProtocol)
		p.Players = readInt(r, fNumPlayers)
		p.MaxPlayers = readInt(r, fMaxPlayers)
		d.numbers(r, []*dissect.Field{fMode, fTimeLeft, fMasterMode, fPaused, fSpeed})
	default:
		p.Game = max(p.Game, Sauerbraten)
		p.Players = readInt(r, fNumPlayers)
		if what == redEclipse {
			d.numbers(r, redNumbers)
		} else {
			d.numbers(r, sauerNumbers)
		}
	}
	p.Map = readText(r, fMap)
	p.Description = readText(r, fName)
	if what == assaultCube {
		p.MaxPlayers = readInt(r, fMaxPlayers)
		p.Flags = readInt(r, fFlags)
	}
	if r.Failed() {
		return
	}
	m.Server = dissect.Server{
		Name: dissect.Some(p.Description), Map: dissect.Some(p.Map), Players: dissect.Some(int(p.Players)), MaxPlayers: dissect.Some(int(p.MaxPlayers)),
		Password: dissect.Some(p.MasterMode == withPassword || p.Flags&flagPassword != 0), Charset: style.Charset, Style: style.Codes,
	}
	p.server = m.Server
	switch {
	case what == redEclipse:
		if len(p.Numbers) >= withBranch {
			p.Branch = readText(r, fBranch)
		}
		if p.Players > 0 && (len(p.Numbers) >= withBranch || r.More()) {
			d.names(r, int(p.Players))
			p.Handles = wire.Items(r, fHandles, nil, p.Handles, wire.Times(r, int(p.Players)), func() string { return readText(r, fHandle) })
		}
	case what == assaultCube && r.More():
		d.more(r)
	}
}

var (
	sauerNumbers = []*dissect.Field{fProtocol, fSauerMode, fTimeLeft, fMaxPlayers, fMasterMode, fPaused, fSpeed}
	redNumbers   = []*dissect.Field{fProtocol, fMode, fMutators, fTimeLeft, fMaxPlayers, fMasterMode, fVars, fMods,
		fMajor, fMinor, fPatch, fPlatform, fArch, fState, fStateLeft}
)

// numbers reads a count and that many numbers. Those beyond the known ones are a list.
func (d *decoder) numbers(r *dissect.Reader, known []*dissect.Field) {
	p := &d.info
	n, open := int(readInt(r, fNumbers)), -1
	for i := 0; i < n && !r.Failed(); i++ {
		f := fNumber
		if i < len(known) {
			f = known[i]
		}
		switch {
		case f == fMajor && n > i+2:
			open = r.Begin(fVersion)
		case i == len(known):
			open = r.Begin(fNumList)
		}
		v := readInt(r, f)
		if f == fPatch {
			r.End(open)
			open = -1
		}
		p.Numbers = append(p.Numbers, v)
		switch f {
		case fProtocol:
			p.Protocol = v
		case fSauerMode, fMode:
			p.Mode = v
		case fMutators:
			p.Mutators = v
		case fTimeLeft:
			p.TimeLeft = v
		case fMaxPlayers:
			p.MaxPlayers = v
		case fMasterMode:
			p.MasterMode = v
		}
	}
	r.End(open)
}

// names reads up to n names of players, or those up to an empty one if n is negative.
func (d *decoder) names(r *dissect.Reader, n int) {
	more := wire.Times(r, n)
	if n < 0 {
		more = another(r)
	}
	d.info.Names = wire.Items(r, fPlayers, fEach, d.info.Names, more, func() string { return readText(r, fPlayerName) })
}

// another reports whether another text follows, and not the empty one at the end of a list.
func another(r *dissect.Reader) func() bool { return func() bool { return r.More() && !r.Next(0) } }

// more reads what AssaultCube was asked for besides.
func (d *decoder) more(r *dissect.Reader) {
	p := &d.info
	switch readInt(r, fAnswer) {
	case askNames:
		d.names(r, -1)
		readText(r, fEnd)
		if n := len(p.Names); n != int(p.Players) && !r.Failed() {
			r.Note(listed, dissect.Num(int(p.Players)), dissect.Num(n))
		}
	case askText:
		if readText(r, fLanguage) == "" {
			return
		}
		p.Lines = wire.Items(r, fLines, nil, p.Lines, another(r), func() string { return readText(r, fLine) })
		readText(r, fEnd)
	case askRotation:
		n := readInt(r, fSettings)
		p.Rotation = wire.Items(r, fRotation, fNext, p.Rotation, another(r), func() string {
			name := readText(r, fNextMap)
			countedInts(r, fNextList, fNextNumber, n)
			return name
		})
		readText(r, fEnd)
	case askUplink:
		r.Rest(fStats)
	}
}

// countedInts reads a list of n numbers.
func countedInts(r *dissect.Reader, list, f *dissect.Field, n int32) {
	wire.Each(r, list, nil, wire.Times(r, int(n)), func() { readInt(r, f) })
}

// extended reads a reply with extended infos.
func (d *decoder) extended(r *dissect.Reader, m *dissect.Message, echo Echo) {
	m.Type, m.Body, d.refusal = mRefusalReply, &d.refusal, Refusal{echo}
	readInt(r, fAck)
	readInt(r, fExtVersion)
	if m.Pair.Answers == topicUptime {
		p := wire.Message(m, mUptimeReply, &d.uptime, Uptime{Echo: echo, Seconds: readInt(r, fUptime)})
		if r.More() {
			p.Mod = dissect.Some(readInt(r, fMod))
			core.Remaining(r, fModData)
		}
		return
	}
	code := readInt(r, fError)
	switch {
	case m.Pair.Answers == topicTeams && (code == 0 || r.More()):
		d.decodeTeams(r, m, echo, code)
	case m.Pair.Answers == topicPlayers && code == 0:
		d.decodePlayers(r, m, echo)
	case !r.Failed():
		r.Note(refused)
	}
}

func (d *decoder) decodePlayers(r *dissect.Reader, m *dissect.Message, echo Echo) {
	if readInt(r, fKind) != kindPlayer {
		p := wire.Message(m, mIDsReply, &d.ids, PlayerIDs{Echo: echo, IDs: d.ids.IDs[:0]})
		p.IDs = wire.Items(r, fIDs, nil, p.IDs, r.More, func() int32 { return readInt(r, fID) })
		return
	}
	p := &d.player
	group := r.Begin(fPlayer)
	*p = Player{Echo: echo, ID: readInt(r, fNum), Ping: readInt(r, fPing), Name: readText(r, fPName), Team: readText(r, fTeam)}
	m.Type, m.Body = mPlayerReply, p
	for _, c := range [...]struct {
		to *int32
		f  *dissect.Field
	}{
		{&p.Frags, fScore}, {&p.Flags, fPFlags}, {&p.Deaths, fDeaths}, {&p.Teamkills, fTeamkills}, {&p.Accuracy, fAccuracy},
		{&p.Health, fHealth}, {&p.Armour, fArmour}, {&p.Gun, fGun}, {&p.Privilege, fPrivilege}, {&p.State, fAlive},
	} {
		*c.to = readInt(r, c.f)
	}
	p.Address = r.Bytes(fAddress, 3)
	r.End(group)
	core.Remaining(r, fModData)
}

func (d *decoder) decodeTeams(r *dissect.Reader, m *dissect.Message, echo Echo, code int32) {
	p := &d.teams
	*p = Teams{Echo: echo, None: code != 0, Mode: readInt(r, fMode), Left: readInt(r, fTimeLeft), Teams: p.Teams[:0]}
	m.Type, m.Body = mTeamsReply, p
	if p.None {
		return
	}
	p.Teams = wire.Records(r, fTeams, fTeamGroup, p.Teams, r.More, func() Team {
		team := Team{Name: readText(r, fTeamName), Score: readInt(r, fTeamScore), Flags: readInt(r, fTeamFlags)}
		if r.Next(0xff) { // no name begins so
			readInt(r, fTeamEnd)
		} else if team.Flags > 0 {
			countedInts(r, fBases, fBase, team.Flags)
		}
		return team
	})
}

// readInt reads a number: one byte, signed; or 0x80 and 16 bits; or 0x81 and 32 bits,
// little-endian.
func readInt(r *dissect.Reader, f *dissect.Field) int32 {
	v, n := number(core.PeekTo(r, 5))
	if n > r.Left() || n == 0 {
		r.Bytes(f, max(n, 1)) // fails
		return 0
	}
	r.Span(f, uint64(int64(v)), 0, n, 0)
	return v
}

// readText reads a text as it is on the wire, which is a number for each character, and 0.
// Most characters are one byte; those of the bytes 0x80 and 0x81 are three.
func readText(r *dissect.Reader, f *dissect.Field) string {
	s := scan(r.Peek())
	end, ok := s.text()
	if !ok {
		r.Fail(f, "no terminator")
		return ""
	}
	size := r.Left() - len(s)
	return core.Latin(r, f, 0, end, min(size-end, math.MaxUint16))
}

// number returns the number that b begins with, and of how many bytes it is, which may be
// more than are there.
func number(b []byte) (v int32, n int) {
	switch {
	case len(b) == 0:
		return 0, 0
	case b[0] == 0x80:
		if len(b) >= 3 {
			v = int32(int16(binary.LittleEndian.Uint16(b[1:])))
		}
		return v, 3
	case b[0] == 0x81:
		if len(b) >= 5 {
			v = int32(binary.LittleEndian.Uint32(b[1:]))
		}
		return v, 5
	}
	return int32(int8(b[0])), 1
}

// A scan is what is left of bytes that are looked at before they are read.
type scan []byte

// Int returns the next number. It reports false at the end.
func (s *scan) Int() (int32, bool) {
	v, n := number(*s)
	if n == 0 || n > len(*s) {
		*s = nil
		return 0, false
	}
	*s = (*s)[n:]
	return v, true
}

// Between skips a number and reports whether it is one from lo to hi.
func (s *scan) Between(lo, hi int32) bool {
	v, ok := s.Int()
	return ok && v >= lo && v <= hi
}

// Skip skips n numbers. It reports false at the end.
func (s *scan) Skip(n int) bool {
	for ; n > 0; n-- {
		if _, ok := s.Int(); !ok {
			return false
		}
	}
	return true
}

// Texts skips n texts. It reports false at the end.
func (s *scan) Texts(n int) bool {
	for ; n > 0; n-- {
		if _, ok := s.text(); !ok {
			return false
		}
	}
	return true
}

// text skips a text and returns its length without its end.
func (s *scan) text() (n int, ok bool) {
	for all := len(*s); ; {
		n = all - len(*s)
		v, ok := s.Int()
		if !ok || uint8(v) == 0 {
			return n, ok
		}
	}
}
