// Package armagetron dissects the server queries of Armagetron Advanced: what a server
// browser asks servers and masters without a login.
//
// A datagram is a list of messages and the number of the sender, which is 0 for a server
// and has no meaning in a query. A message is a descriptor, a number for
// acknowledgements (0 in queries), the number of words, and the words. All are words of
// 16 bits, big-endian, but a number of 32 bits begins with its lower word, and each word
// of a text has its first character in the lower byte. So the bytes of each word are
// swapped first; everything is little-endian then.
//
// Sources: recorded traffic of Armagetron Advanced 0.2.9; its source (nServerInfo.cpp,
// nNetwork.cpp) for what masters send.
package armagetron

import (
	"math"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var style = wire.Style{Charset: dissect.Latin1, Codes: core.Armagetron}

var catalog = dissect.NewCatalog("armagetron")

var asText = dissect.InText(style.Charset, style.Codes)

var (
	fWords = catalog.Add("words", dissect.Bytes, "The datagram, in which the bytes of each word are swapped.", core.Becomes("swapped"), dissect.Framing)

	fType   = catalog.Add("descriptor", dissect.Uint, "Kind of message.", dissect.Framing, dissect.Names(kinds[:]...))
	fNumber = catalog.Add("message_id", dissect.Uint, "Number for an acknowledgement: 0 for none.", dissect.Framing)
	fLength = catalog.Add("length", dissect.Uint, "Words of the message.", dissect.Framing)
	fSender = catalog.Add("sender_id", dissect.Uint, "Number of the sender: 0 for a server.", dissect.Framing)

	fServers = catalog.Add("servers", dissect.List, "Servers.")
	fServer  = catalog.Add("servers.server", dissect.Group, "A server.")
	fOthers  = catalog.Add("others", dissect.List, "Further messages of the datagram.")
	fOther   = catalog.Add("others.other", dissect.Group, "A message.")

	fPort        = catalog.Add("port", dissect.Uint, "Port of the server.")
	fHost        = catalog.Add("host", dissect.String, "Address of the server: empty, except from a master or if the server is told its name.", dissect.Address, asText)
	fTransaction = catalog.Add("transaction", dissect.Uint, "Number by which a master counts changes of its list; 0 from a server.")
	fName        = catalog.Add("name", dissect.String, "Name of the server.", dissect.ServerText, asText)
	fUsers       = catalog.Add("num_players", dissect.Uint, "Players on the server.")
	fVersionMin  = catalog.Add("version_min", dissect.Uint, "Lowest version of the network protocol that clients may have.")
	fVersionMax  = catalog.Add("version_max", dissect.Uint, "Highest version of the network protocol.")
	fRelease     = catalog.Add("release", dissect.String, "Version of the program.", dissect.Public, asText)
	fMaxUsers    = catalog.Add("max_players", dissect.Uint, "Maximum number of players.")
	fPlayers     = catalog.Add("players", dissect.List, "Names of the players. Servers may hide them.")
	fPlayer      = catalog.Add("players.player", dissect.Group, "A player.")
	fPlayerName  = catalog.Add("players.name", dissect.String, "Name.", dissect.PersonName, asText)
	fOptions     = catalog.Add("options", dissect.String, "What the operator says of the settings.", dissect.ServerText, asText)
	fURL         = catalog.Add("url", dissect.String, "Website of the server.", dissect.ServerText, asText)
	fLines       = catalog.Add("lines", dissect.Uint, "Bytes of the lines that follow.", dissect.Framing)
	fPadding     = catalog.Add("padding", dissect.Bytes, "End of the lines, up to a whole word.", dissect.Framing)
	fIDs         = catalog.Add("global_ids", dissect.List, "Accounts of the players, in their order.")
	fID          = catalog.Add("global_ids.player", dissect.Group, "Account of a player.")
	fAccount     = catalog.Add("global_ids.account", dissect.String, "name@authority, empty for a player without one.", dissect.PersonID, asText)

	fSettings = catalog.Add("settings", dissect.Group, "Settings by which clients filter servers.")
	fFlags    = catalog.Add("settings.flags", dissect.Uint, "Flags: 1 only for authenticated players, 2 a map of its own, 4 play in teams.")
	fTotal    = catalog.Add("settings.min_play_time_total", dissect.Uint, "Minutes that a client must have been played in all.")
	fOnline   = catalog.Add("settings.min_play_time_online", dissect.Uint, "Minutes that a client must have been played online.")
	fTeam     = catalog.Add("settings.min_play_time_team", dissect.Uint, "Minutes that a client must have been played in teams.")
	fDelay    = catalog.Add("settings.cycle_delay", dissect.Float, "Seconds between two turns.")
	fAccel    = catalog.Add("settings.acceleration", dissect.Float, "Strength of the acceleration next to walls.")
	fHump     = catalog.Add("settings.rubber_wall_hump", dissect.Float, "Rubber, for the time in front of a wall.")
	fRatio    = catalog.Add("settings.rubber_hit_wall_ratio", dissect.Float, "Rubber, for hitting a wall.")
	fWalls    = catalog.Add("settings.walls_length", dissect.Float, "Length of the walls, negative for no limit.")

	fArguments = catalog.Add("arguments", dissect.Bytes, "Words of a request: a master is told here what the client knows.")
	fText      = catalog.Add("text", dissect.String, "What the server says.", dissect.FreeText, asText)
	fMore      = catalog.Add("more", dissect.Bytes, "Words that newer versions add.")
)

// Descriptors.
const (
	idRefusal   = 3
	idSmall     = 50
	idBig       = 51
	idAskSmall  = 52
	idAskBig    = 53
	idMaster    = 54
	idAskMaster = 55
)

var kinds = [...]dissect.Name{
	{Value: idRefusal, Name: "refusal"}, {Value: idSmall, Name: "small info"}, {Value: idBig, Name: "big info"}, {Value: idAskSmall, Name: "small info request"},
	{Value: idAskBig, Name: "big info request"}, {Value: idMaster, Name: "big info for a master"}, {Value: idAskMaster, Name: "big info request of a master"},
}

const (
	topicSmall dissect.Topic = 1 << iota
	topicBig
	topicMaster
)

var (
	mAskSmall  = catalog.Message(dissect.MessageType{Name: "small_request", Title: "small info request", Role: dissect.Request, Doc: "Asks a server whether it is there, or a master for its list."})
	mSmall     = catalog.Message(dissect.MessageType{Name: "small_reply", Title: "small info", Role: dissect.Reply, Doc: "Port of the server; from a master, port and address of one or more servers."})
	mAskBig    = catalog.Message(dissect.MessageType{Name: "big_request", Title: "big info request", Role: dissect.Request, Unanswered: unasked, Doc: "Asks for name, players and settings."})
	mBig       = catalog.Message(dissect.MessageType{Name: "big_reply", Title: "big info", Role: dissect.Reply, Doc: "Name, players and settings of the server."})
	mAskMaster = catalog.Message(dissect.MessageType{Name: "master_request", Title: "big info request of a master", Role: dissect.Request, Doc: "The same request, from a master."})
	mMaster    = catalog.Message(dissect.MessageType{Name: "master_reply", Title: "big info for a master", Role: dissect.Reply, Doc: "The same reply, to a master."})
	mRefusal   = catalog.Message(dissect.MessageType{Name: "refusal", Title: "refusal", Role: dissect.Reply, Doc: "The server refuses a message or a login, and says why."})
	mUnknown   = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Another message, of the game."})
)

var (
	unanswered    = finding.NoReply(catalog, "armagetron.noreply", "The capture has no reply within the time that clients wait. The server is down, limits the rate of queries (PING_FLOOD_TIME settings), or a packet was lost, dropped by a firewall or not captured.")
	unasked       = finding.Unanswered(catalog, "armagetron.big.noreply", "The capture has no reply within the time that clients wait. Since 0.2.9 a server ignores this request until it has received a small one (descriptor 52), a defence against abuse for amplification: send that first, as the game does; clients that do not are never answered. The server may also be down or limit the rate of queries.")
	unrequested   = finding.Unrequested(catalog, "armagetron.unrequested", finding.NonePending)
	amplification = finding.Amplification(catalog, "armagetron.amplification", "The request has 8 bytes and no challenge, so its source address can be forged to flood somebody else. Servers since 0.2.9 answer it only after a small request, which does not prove the address either. Limit the rate with the PING_FLOOD_TIME settings.")
	refused       = catalog.Finding(dissect.FindingType{ID: "armagetron.refused", Severity: dissect.Note, Class: core.OfRefusal, Text: "the server refuses a message", Doc: "Servers send this, usually three times, to a client whose messages they cannot read or do not accept."})
	odd           = finding.New(catalog, dissect.Warning, "armagetron.odd", "one byte is left at the end: words have two",
		"Datagrams consist of words of 16 bits. Receivers ignore the last byte or the whole datagram. The sender has an error, or the datagram was cut.", "An own program should pad its messages to whole words.")
	overrun = finding.New(catalog, dissect.Warning, "armagetron.length", "the content has %d {byte|bytes} more than its length says",
		"The message states the number of its words, and its content is longer. Receivers stop at the stated end, or refuse the message. The sender has an error, or the message was damaged.", finding.WrongLength)
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "armagetron",
	Title:   "Armagetron",
	Doc:     "Queries of Armagetron Advanced, sent without a login to servers and masters.",
	Source:  "recorded traffic of Armagetron Advanced 0.2.9; its source (nServerInfo.cpp)",
	Ports:   []uint16{4534, 4533},
	Starts:  []string{"\x00"},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, amplification),
}

const (
	wordLen     = 2
	minLen      = 4 * wordLen // a header and the sender
	maxLen      = 1500        // of a datagram
	lenSettings = 2 + 3*4 + 5*4
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < minLen || b[0] != 0 {
		return dissect.No
	}
	kind, numbered := b[1], b[2] != 0 || b[3] != 0
	words := int(b[4])<<8 | int(b[5])
	end := minLen + wordLen*words
	fits := end == len(b) || len(b) >= 64 && end >= 64 && end <= maxLen
	switch {
	case kind == idRefusal && !numbered && fits && words > 2:
		text := int(b[6])<<8 | int(b[7])
		if text <= 2 || text > wordLen*(words-1) {
			return dissect.No
		}
		for _, c := range b[8:min(8+text-2, len(b))] { // the last word may have a zero byte
			if c < ' ' {
				return dissect.No
			}
		}
		return dissect.Likely
	case kind < idSmall || kind > idAskMaster || numbered && !fits:
		return dissect.No
	case len(b) == minLen && !numbered && words == 0xffff && kind != idSmall && kind != idBig && kind != idMaster:
		return dissect.Likely // probes what the server does; other lengths are numbers of Quake's packets
	case numbered, !fits, end != len(b) && (kind == idAskSmall || kind == idAskBig || kind == idAskMaster): // requests are short
		return dissect.Possible
	case kind == idSmall, kind == idBig, kind == idMaster:
		if len(b) < minLen+4 || b[8] != 0 || b[9] != 0 { // the upper word of the port
			return dissect.No
		}
	}
	return dissect.Likely
}

// A Message is one of *Request, *SmallReply, *BigReply and *Refusal, or nil if its kind is not known.
type Message any

// Request is any request.
type Request struct {
	// Descriptor is 52 for the small info, 53 for the big one, 55 for the big one from a
	// master.
	Descriptor uint16
}

// SmallReply has addresses of servers.
type SmallReply struct{ Servers []Server }

// A Server is where a server is.
type Server struct {
	Port uint32
	// Host is empty in the reply of the server itself.
	Host string
	// Transaction counts the changes of a master's list.
	Transaction uint32
}

// BigReply is the state of a server. Text holds the bytes of the wire in their right
// order, in Latin-1 with colours as 0xRRGGBB.
type BigReply struct {
	Port                   uint32
	Host, Name             string
	Users                  uint32
	VersionMin, VersionMax uint32
	Release                string
	MaxUsers               dissect.Opt[uint32]
	Players                []string
	Options, URL           string
	// GlobalIDs are the accounts of the players, empty for a player without one.
	GlobalIDs []string
	Settings  dissect.Opt[Settings]
}

// Settings are those by which clients filter servers.
type Settings struct {
	Flags uint16
	// MinPlayTimeTotal, Online and Team are minutes that the client must have played.
	MinPlayTimeTotal, MinPlayTimeOnline, MinPlayTimeTeam                      uint32
	CycleDelay, Acceleration, RubberWallHump, RubberHitWallRatio, WallsLength float32
}

// Refusal is what a server says to a message that it does not accept.
type Refusal struct{ Text string }

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	small   SmallReply
	big     BigReply
	refusal Refusal
	end     int // of the message within the datagram
}

// Decode reads one datagram.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	m.Type = mUnknown
	swap(r)
	switch kind := r.PeekByte(0) | r.PeekByte(1)<<8; kind {
	case idAskSmall:
		d.decodeRequest(r, m, mAskSmall, topicSmall)
	case idAskBig:
		d.decodeRequest(r, m, mAskBig, topicBig)
	case idAskMaster:
		d.decodeRequest(r, m, mAskMaster, topicMaster)
	case idSmall:
		d.decodeSmall(r, m)
	case idBig:
		d.decodeBig(r, m, mBig, topicBig)
	case idMaster:
		d.decodeBig(r, m, mMaster, topicMaster)
	case idRefusal:
		d.decodeRefusal(r, m)
	default:
		d.header(r)
		r.Fail(fType, "not a query")
	}
	if more := func() bool { return r.Left() > wordLen }; more() {
		wire.Each(r, fOthers, fOther, more, func() {
			d.header(r)
			r.Bytes(fMore, d.left(r))
		})
	}
	r.U16(fSender)
}

// swap opens the payload with the bytes of each word swapped.
func swap(r *dissect.Reader) {
	words := append(core.Buffer(r), r.Bytes(fWords, r.Left()&^1)...)
	for i := 1; i < len(words); i += wordLen {
		words[i-1], words[i] = words[i], words[i-1]
	}
	core.Keep(r, words)
	if r.Left() > 0 {
		if !r.Cut() {
			r.Note(odd)
		}
		r.Rest(catalog.Data())
	}
	r.Open("swapped", words)
}

// header reads what a message begins with, and notes its end.
func (d *decoder) header(r *dissect.Reader) {
	r.U16(fType)
	r.U16(fNumber)
	length := int(r.U16(fLength))
	d.end = r.Offset() + wordLen*length
}

// left returns how many bytes are left of the message. They need not be there.
func (d *decoder) left(r *dissect.Reader) int { return max(d.end-r.Offset(), 0) }

// finish reads what newer versions add to a message.
func (d *decoder) finish(r *dissect.Reader) {
	if n := d.left(r); n > 0 {
		r.Bytes(fMore, n)
	} else if n := r.Offset() - d.end; n > 0 && !r.Failed() {
		r.Note(overrun, dissect.Num(n))
	}
}

func (d *decoder) decodeRequest(r *dissect.Reader, m *dissect.Message, kind *dissect.MessageType, topic dissect.Topic) {
	m.Type, m.Body, m.Pair.Asks = kind, &d.request, topic
	d.request = Request{Descriptor: uint16(r.PeekByte(0))}
	d.header(r)
	if n := d.left(r); n > 0 {
		r.Bytes(fArguments, n)
	}
}

func (d *decoder) decodeSmall(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mSmall, &d.small, SmallReply{Servers: d.small.Servers[:0]})
	m.Pair.Answers = topicSmall
	n := 0
	more := func() bool {
		n++
		return n == 1 || r.Left() > wordLen && r.PeekByte(0) == idSmall && r.PeekByte(1) == 0
	}
	p.Servers = wire.Records(r, fServers, fServer, p.Servers, more, func() Server {
		d.header(r)
		one := Server{Port: r.U32(fPort), Host: text(r, fHost), Transaction: r.U32(fTransaction)}
		d.finish(r)
		return one
	})
}

func (d *decoder) decodeBig(r *dissect.Reader, m *dissect.Message, kind *dissect.MessageType, topic dissect.Topic) {
	p := wire.Message(m, kind, &d.big, BigReply{Players: d.big.Players[:0], GlobalIDs: d.big.GlobalIDs[:0]})
	m.Pair.Answers = topic
	d.header(r)
	p.Port = r.U32(fPort)
	p.Host = text(r, fHost)
	p.Name = text(r, fName)
	p.Users = r.U32(fUsers)
	if r.Failed() {
		return
	}
	m.Server = dissect.Server{Name: dissect.Some(p.Name), Players: dissect.Some(int(min(p.Users, math.MaxInt32))), Charset: style.Charset, Style: style.Codes}
	if d.left(r) > 0 {
		p.VersionMin = r.U32(fVersionMin)
		p.VersionMax = r.U32(fVersionMax)
		if p.Release = text(r, fRelease); p.Release != "" {
			m.Server.Version = dissect.Some(p.Release)
		}
	}
	if d.left(r) > 0 && !r.Failed() {
		if n := r.U32(fMaxUsers); !r.Failed() {
			p.MaxUsers, m.Server.MaxPlayers = dissect.Some(n), dissect.Some(int(min(n, math.MaxInt32)))
		}
	}
	if d.left(r) > 0 {
		p.Players = lines(r, fPlayers, fPlayer, fPlayerName, p.Players)
		p.Options = text(r, fOptions)
		p.URL = text(r, fURL)
	}
	if d.left(r) > 0 {
		p.GlobalIDs = lines(r, fIDs, fID, fAccount, p.GlobalIDs)
	}
	if d.left(r) >= lenSettings {
		group := r.Begin(fSettings)
		p.Settings = dissect.Some(Settings{
			Flags: r.U16(fFlags), MinPlayTimeTotal: r.U32(fTotal), MinPlayTimeOnline: r.U32(fOnline), MinPlayTimeTeam: r.U32(fTeam),
			CycleDelay: float(r, fDelay), Acceleration: float(r, fAccel), RubberWallHump: float(r, fHump), RubberHitWallRatio: float(r, fRatio), WallsLength: float(r, fWalls),
		})
		r.End(group)
	}
	d.finish(r)
}

func (d *decoder) decodeRefusal(r *dissect.Reader, m *dissect.Message) {
	p := &d.refusal
	m.Type, m.Body, m.Pair.Answers = mRefusal, p, topicSmall|topicBig|topicMaster
	d.header(r)
	*p = Refusal{Text: text(r, fText)}
	if !r.Failed() {
		r.Note(refused)
	}
	d.finish(r)
}

// extent returns the length of the text that comes next, and how many bytes are behind
// it: the zero byte that the stated length counts, and one up to a whole word.
func extent(r *dissect.Reader) (n, suf int) {
	n = max(r.PeekByte(0), 0) | max(r.PeekByte(1), 0)<<8
	suf = n % wordLen
	if n > 0 && r.PeekByte(wordLen+n-1) <= 0 {
		n, suf = n-1, suf+1
	}
	return n, suf
}

func text(r *dissect.Reader, f *dissect.Field) string {
	n, suf := extent(r)
	return core.Latin(r, f, wordLen, n, suf)
}

// lines reads a text with a line for each player.
func lines(r *dissect.Reader, list, group, f *dissect.Field, to []string) []string {
	n, suf := extent(r)
	r.U16(fLines)
	if r.Left() < n+suf {
		r.Bytes(fPadding, n+suf)
		return to
	}
	to = wire.Items(r, list, group, to, func() bool { return n > 0 && !r.Failed() }, func() string {
		k, end := r.Until("\n"), 1
		if k >= n {
			k, end = n, 0
		}
		n -= k + end
		return core.Latin(r, f, 0, k, end)
	})
	if suf > 0 {
		r.Bytes(fPadding, suf)
	}
	return to
}

// float reads a number in Armagetron's format: 25 bits of mantissa, a sign, and 6 bits
// of exponent.
func float(r *dissect.Reader, f *dissect.Field) float32 {
	const mantissa = 25
	var n uint32
	for i, c := range r.Bytes(f, 4) {
		n |= uint32(c) << (8 * i)
	}
	v := math.Ldexp(float64(n&(1<<mantissa-1)), int(n>>(mantissa+1))-mantissa)
	if n>>mantissa&1 != 0 {
		v = -v
	}
	core.Explain(r, 0, math.Float64bits(v))
	return float32(v)
}

// AppendSummary appends the first server and the number of the others.
func (p *SmallReply) AppendSummary(dst []byte) []byte {
	for i := range p.Servers {
		if s := &p.Servers[i]; i == 0 {
			if s.Host != "" {
				dst = append(style.Text(dst, "", s.Host), ' ')
			}
			dst = wire.Number(dst, "port ", s.Port)
		}
	}
	if n := len(p.Servers) - 1; n > 0 {
		dst = wire.Plural(dst, " and ", n, "more server", "more servers")
	}
	return dst
}

// AppendSummary appends what the server says.
func (p *Refusal) AppendSummary(dst []byte) []byte { return style.Quoted(dst, "", p.Text) }
