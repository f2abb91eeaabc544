// Package quake3 dissects the connectionless messages of Quake 3 and its many
// descendants: the queries getstatus and getinfo with their replies, the remote
// console, and the messages by which a client connects. Jedi Outcast, Jedi Academy,
// Return to Castle Wolfenstein, Enemy Territory, Soldier of Fortune II, Elite Force,
// Medal of Honor, Call of Duty, Urban Terror, OpenArena, Tremulous, Warsow, Nexuiz,
// Xonotic and FiveM use it.
//
// A message is FF FF FF FF and a word. In Medal of Honor a byte between the two names
// the sender. Words are compared without case, as the engines do. Blanks separate the
// arguments after the word; an argument that contains blanks is in quotation marks.
//
// Package quake3master has the master servers and their lists.
//
// Sources: ioquake3 and the games' published sources (sv_main.c, sv_client.c,
// cl_main.c, net_chan.c), dpmaster's techinfo.txt, "A gameserver Query Library", and
// recorded traffic of the games above.
package quake3

import (
	"bytes"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "quake3",
	Title:  "Quake 3 queries",
	Group:  "Quake and Doom",
	Doc:    "getstatus and getinfo of Quake 3 and its descendants (Jedi Academy, Enemy Territory, Medal of Honor, Call of Duty, Urban Terror, OpenArena, Xonotic, FiveM and more), the remote console, and the messages by which clients connect.",
	Source: "ioquake3 (sv_main.c, sv_client.c, cl_main.c, net_chan.c); dpmaster techinfo.txt; A gameserver Query Library (CodeProject), Quake 3",
	Ports:  ports,
	// Text may follow an n, a word the byte of a side, and anything echo and motd; only
	// the end of the datagram ping and ack.
	Starts: append(wire.Starts("neEmM\x01\x02", quake.Header), wire.Words(quake.Header,
		"ping\x00", "ping\n", "ping\r", "ack\n\x00", "ack\r\n", "getstatus", "statusResponse", "getinfo", "infoResponse", "gameCompleteStatus", "getchallenge", "challenge", "connect",
		"disconnect", "rcon ", "srcon", "print", "getKeyAuthorize", "keyAuthorize", "getIpAuthorize", "ipAuthorize", "getmotd")...),
	Wire:      "quake",
	Catalog:   catalog,
	Detect:    Detect,
	New:       func() dissect.Decoder { return new(decoder) },
	Handshake: dissect.Handshake{Setting: "challenge"},
	Pairing: dissect.Pairing{
		Unanswered: unanswered, OtherIDs: true,
		OnRequest: []dissect.Rule{finding.SamePort(samePort), finding.Mismatch(tokenMismatch)},
		OnReply:   []dissect.Rule{finding.OtherID(challengeEcho), finding.Required(tokenRequired), finding.Amplified(amplification, 20), declined},
		OnStray:   []dissect.Rule{finding.OtherKind(core.OtherKind), unrequested},
	},
}

// ports are the default ports of the games. Where several servers run on one machine,
// admins count up from there.
var ports = slices.Concat(
	wire.Ports(27960, 27969), // Quake 3, Wolfenstein, Enemy Territory, Urban Terror, OpenArena
	wire.Ports(28960, 28969), // Call of Duty
	wire.Ports(29070, 29079), // Jedi Academy
	wire.Ports(28070, 28079), // Jedi Outcast
	wire.Ports(20100, 20109), // Soldier of Fortune II
	wire.Ports(26000, 26009), // Nexuiz, Xonotic
	[]uint16{
		12203, // Medal of Honor
		27951, // update server
		27952, // authorization server
		29253, // Elite Force II
		30120, // FiveM
		30720, // Tremulous
		44400, // Warsow
	})

// The byte between header and word in Medal of Honor.
const (
	fromServer = 1
	fromClient = 2
)

// A command is a type of message: the word that names it, what it asks for or
// answers, the forms of what follows the word, and its decoder. What follows does
// not begin with a letter.
type command struct {
	word          string
	message       *dissect.MessageType
	asks, answers dissect.Topic
	forms         wire.Forms
	decode        func(*decoder, *dissect.Reader, *dissect.Message)
}

var commands = [...]command{
	{"getstatus", mStatusRequest, topicStatus, 0, own, (*decoder).decodeQuery},
	{"statusResponse", mStatusReply, 0, topicStatus, settled, (*decoder).decodeStatus},
	{"getinfo", mInfoRequest, topicInfo, 0, own, (*decoder).decodeQuery},
	{"infoResponse", mInfoReply, 0, topicInfo, settled, (*decoder).decodeInfoReply},
	{"gameCompleteStatus", mGameComplete, 0, 0, settled, (*decoder).decodeStatus},
	// ioquake3 and Call of Duty add a number. The other engines send the word
	// alone; Quake 2 and QuakeWorld do too, with a new line.
	{"getchallenge", mChallengeRequest, topicChallenge, 0, wire.Forms{wire.Likely(" ", beginsNumber), shared[0]}, (*decoder).decodeChallengeRequest},
	{"challengeResponse", mChallengeReply, 0, topicChallenge, own, (*decoder).decodeChallengeReply},
	// DarkPlaces sends eleven characters of any kind. Quake 2 and Xash3D send a
	// number, and Half-Life sends "challenge rcon".
	{"challenge", mChallengeReply, 0, topicChallenge, wire.Forms{wire.No(" rcon", nil), wire.Likely(" ", hasKeys), wire.No(" ", quake.Numbered), argued[0]}, (*decoder).decodeChallengeReply},
	{"connect", mConnectRequest, topicConnect, 0, connects, (*decoder).decodeConnect},
	{"connectResponse", mConnectReply, 0, topicConnect, own, (*decoder).decodeConnectReply},
	{"disconnect", mDisconnect, 0, 0, shared, (*decoder).decodeDisconnect},
	// Quake, Quake 2 and others have the same command. Half-Life's form has a
	// challenge, by which its own detector is certain.
	{"rcon", mRcon, topicRcon, 0, argued, (*decoder).decodeRcon},
	{"srcon", mSrcon, topicSrcon, 0, wire.Forms{wire.Certain(" HMAC-MD4 ", nil)}, (*decoder).decodeSrcon},
	// DarkPlaces. Quake 2 has both as well, and QuakeWorld the first.
	{"ping", mPingRequest, topicPing, 0, alone, (*decoder).decodeDisconnect},
	{"ack", mPingReply, 0, topicPing, alone, (*decoder).decodeDisconnect},
	// In Quake 2's status reply, settings follow at once.
	{"print", mPrint, 0, topicRcon | topicConnect, wire.Forms{wire.No("\n\\", nil), shared[0]}, (*decoder).decodePrint},
	{"echo", mEcho, 0, 0, wire.Forms{wire.Certain("", asksBack), shared[0]}, (*decoder).decodeEcho},
	{"echoResponse", mEchoResponse, 0, 0, own, (*decoder).decodeEchoResponse},
	{"getKeyAuthorize", mKeyRequest, topicKey, 0, own, (*decoder).decodeKeyRequest},
	{"keyAuthorize", mKeyReply, 0, topicKey, own, (*decoder).decodeKeyReply},
	{"getIpAuthorize", mAddressRequest, topicAddress, 0, own, (*decoder).decodeAddressRequest},
	{"ipAuthorize", mAddressReply, 0, topicAddress, own, (*decoder).decodeAddressReply},
	{"getmotd", mMotdRequest, topicMotd, 0, motd, (*decoder).decodeMotd},
	{"motd", mMotdReply, 0, topicMotd, motd, (*decoder).decodeMotd},
}

var (
	// own are the forms of words that no other protocol has; shared of those that
	// Quake 2, QuakeWorld or Half-Life have as well; argued of those with an argument.
	own    = wire.Forms{wire.Certain("", quake.WordEnds)}
	shared = wire.Forms{wire.Possible("", quake.WordEnds)}
	argued = wire.Forms{wire.Possible(" ", wire.AtLeast(1))}
	alone  = wire.Forms{wire.Possible("", wire.Ends)}
	// prints are those of DarkPlaces, a letter and text. QuakeWorld's are the same, with
	// words of their own, and Xash3D has netinfo.
	prints = wire.Forms{
		wire.No("netinfo", nil), wire.No("nqtv", nil), wire.No("nlaststats ", nil), wire.No("n\\", nil),
		wire.Possible("n", func(rest []byte) bool { return len(rest) > 0 && (rest[0] >= ' ' || rest[0] == '\n') }),
	}
	settled = wire.Forms{wire.Certain("\\", nil), own[0]}
	motd    = wire.Forms{wire.Certain(` "\`, nil), shared[0]}
	// connects are recognised by the userinfo: plain with its quotation mark, or
	// packed, when the first two characters always are the same bits. Other engines
	// send the number of their protocol first, or the userinfo without a blank.
	connects = wire.Forms{
		wire.Likely(` "\`, nil),
		wire.No(" ", func(rest []byte) bool { return len(rest) > 0 && quake.Digit(rest[0]) }),
		wire.Likely(" ", func(rest []byte) bool { return len(rest) > 3 && rest[2] == packedQuote && rest[3] == packedBackslash }),
		argued[0],
	}
)

func beginsNumber(rest []byte) bool { return len(rest) > 0 && (quake.Digit(rest[0]) || rest[0] == '-') }

// asksBack reports whether the text of an echo is an echoResponse, which the client
// must send back.
func asksBack(rest []byte) bool {
	rest = bytes.TrimPrefix(bytes.TrimPrefix(rest, []byte{' '}), []byte{'"'})
	return bytes.HasPrefix(rest, []byte("echoResponse "))
}

var lexicon = wire.NewLexicon(commands[:], func(c *command) string { return c.word })

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < 4 || string(b[:4]) != "\xff\xff\xff\xff" {
		return dissect.No
	}
	if b = b[4:]; len(b) == 0 {
		return dissect.Possible
	}
	if b[0] == fromServer || b[0] == fromClient {
		b = b[1:]
	}
	n := wire.Letters(b)
	if c := lexicon.Find(b[:n], wire.Same); c != nil {
		return c.forms.Judge(b[n:])
	}
	return prints.Judge(b)
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

// A decoder owns one message of each type and reuses it.
type decoder struct {
	query            Query
	status           StatusReply
	info             InfoReply
	challengeRequest ChallengeRequest
	challenge        ChallengeReply
	connect          Connect
	connectReply     ConnectReply
	rcon             Rcon
	srcon            Srcon
	text             Text
	echo             Echo
	authorize        Authorize
	motd             Motd
	other            Other
	tree             tree
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	r.I32(words.Header)
	if r.Next(fromServer) || r.Next(fromClient) {
		r.U8(fSide)
	}
	n := wire.Letters(r.Peek())
	if c := lexicon.Find(core.PeekTo(r, n), wire.Same); c != nil && (n == r.Left() || r.PeekByte(n) == '\\' || r.PeekByte(n) <= ' ') {
		m.Type, m.Pair.Asks, m.Pair.Answers = c.message, c.asks, c.answers
		c.decode(d, r, m)
		return
	}
	if r.Next('n') {
		m.Type, m.Pair.Answers = mPrint, topicRcon|topicConnect|topicSrcon
		if core.Awaited(r, topicSrcon, 0) { // a server that takes these refuses the others in silence
			m.Pair.Answers = topicSrcon
		}
		r.Span(words.Command, 0, 0, 1, 0)
		d.readText(r, m)
		return
	}
	wire.Message(m, mUnknown, &d.other, Other{})
	switch {
	case r.More():
		r.Fail(words.Command, "no such message")
	case !r.Failed():
		r.Find(empty, words.Header, 0, 4)
	}
}

// fingerprint returns the FNV-1a hash of a challenge, or 0 if it is empty. When they
// read a message, some engines replace per cent signs and bytes above 127 by dots.
func fingerprint(challenge string) uint64 {
	if challenge == "" {
		return 0
	}
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(challenge) {
		c := challenge[i]
		if c == '%' || c >= 0x80 {
			c = '.'
		}
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h | 1
}

// maxChallenge is the longest challenge that ioquake3 answers.
const maxChallenge = 128

func (d *decoder) decodeQuery(r *dissect.Reader, m *dissect.Message) {
	q := wire.Body(m, &d.query, Query{})
	words.LineWord(r)
	at := r.Offset()
	q.Challenge = words.Argument(r, fQueryChallenge)
	for i := range len(q.Challenge) {
		if c := q.Challenge[i]; c == '\\' || c == '"' || c == ';' || i == maxChallenge {
			r.Find(challengeForm, fQueryChallenge, at, r.Offset()-at)
			break
		}
	}
	words.Finish(r)
	m.Pair.ID, m.Pair.Challenge = fingerprint(q.Challenge), dissect.ChallengeAbsent
}

// hasKeys reports whether keys follow a challenge, as DarkPlaces sends them for encryption. The
// challenge may be digits alone.
func hasKeys(rest []byte) bool { return bytes.Contains(rest, []byte("\x00vlen")) }

// decodeChallengeRequest reads getchallenge. ioquake3 adds a number that the client
// chose and the name of the game, Call of Duty a hash.
func (d *decoder) decodeChallengeRequest(r *dissect.Reader, m *dissect.Message) {
	q := wire.Body(m, &d.challengeRequest, ChallengeRequest{})
	words.LineWord(r)
	q.ClientChallenge = words.Argument(r, fClientChallenge)
	if isHash(r.Peek()) {
		q.KeyHash = words.Argument(r, fKeyHash)
	} else {
		q.Game = words.Argument(r, fGame)
	}
	words.Finish(r)
}

// isHash reports whether b begins with 32 hexadecimal digits, with or without quotation
// marks.
func isHash(b []byte) bool {
	b = bytes.TrimLeft(b[:min(len(b), quake.MaxBlanks)], " \"")
	if len(b) < 32 || len(b) > 32 && b[32] != '"' && !quake.Blank(b[32]) {
		return false
	}
	return !slices.ContainsFunc(b[:32], func(c byte) bool { return !quake.Digit(c) && (c|0x20 < 'a' || c|0x20 > 'f') })
}

func (d *decoder) decodeChallengeReply(r *dissect.Reader, m *dissect.Message) {
	c := &d.challenge
	m.Body = c
	words.LineWord(r)
	*c = ChallengeReply{Challenge: words.Argument(r, fChallenge), ClientChallenge: words.Argument(r, fClientChallenge), Protocol: words.Argument(r, fProtocol)}
	if c.Challenge == "" {
		r.Fail(fChallenge, "missing")
	}
	if r.HasPrefix("\x00vlen") {
		r.Bytes(words.End, 1)
		r.Rest(fCrypto)
		return
	}
	words.Finish(r)
}

func (d *decoder) decodeConnectReply(r *dissect.Reader, m *dissect.Message) {
	m.Body = &d.connectReply
	words.LineWord(r)
	d.connectReply = ConnectReply{Challenge: words.Argument(r, fChallenge)}
	words.Finish(r)
}

func (d *decoder) decodeDisconnect(r *dissect.Reader, m *dissect.Message) {
	m.Body = &d.other
	d.other = Other{Command: words.LineWord(r)}
	words.Finish(r)
}

func (d *decoder) decodeRcon(r *dissect.Reader, m *dissect.Message) {
	m.Body = &d.rcon
	words.LineWord(r)
	d.rcon.Password, d.rcon.Command = words.Rcon(r, &rcon)
}

// The digest of DarkPlaces' secure commands.
const (
	lenDigest = 16
	byTime    = "TIME"
)

// decodeSrcon reads a command with a digest in place of the password. Its bytes may be
// blanks, line ends and zeros.
func (d *decoder) decodeSrcon(r *dissect.Reader, m *dissect.Message) {
	c := wire.Body(m, &d.srcon, Srcon{})
	words.LineWord(r)
	spaced(r, fMethod)
	c.Mode = spaced(r, fMode)
	copy(c.Digest[:], r.Bytes(fDigest, lenDigest))
	if r.Next(' ') {
		r.Bytes(words.Blanks, 1)
	}
	if c.Mode == byTime {
		c.Time = spaced(r, fTime)
	} else {
		c.Challenge = spaced(r, fChallenge)
	}
	if n := quake.TextLen(core.PeekTo(r, r.Until("\x00"))); n > 0 {
		c.Command = r.Text(rcon.Line, n)
		console.HideCommand(r, rcon.Hidden, c.Command)
	} else {
		r.Fail(rcon.Line, "missing")
	}
	words.Ending(r)
}

// spaced reads a word and the blank after it.
func spaced(r *dissect.Reader, f *dissect.Field) string { return r.Delimited(f, 0, " ", 1) }

func (d *decoder) decodePrint(r *dissect.Reader, m *dissect.Message) {
	m.Pair.Also = topicChallenge
	d.decodeText(r, m)
}

func (d *decoder) decodeEcho(r *dissect.Reader, m *dissect.Message) {
	if !asksBack(core.PeekFrom(r, len("echo"))) {
		d.decodeText(r, m)
		return
	}
	m.Type = mEchoChallenge
	m.Pair.Challenge = dissect.ChallengeIssued
	words.LineWord(r)
	quoted := r.Next('"')
	if quoted {
		r.Bytes(words.Quote, 1)
	}
	echoWord(r, fEchoWord)
	m.Pair.Answers = d.decodeEchoed(r, m)
	if quoted && r.Next('"') {
		r.Bytes(words.Quote, 1)
	}
	words.Finish(r)
}

// decodeEchoResponse reads the client's answer to an echo: the query and the token,
// without quotation marks.
func (d *decoder) decodeEchoResponse(r *dissect.Reader, m *dissect.Message) {
	m.Pair.Challenge = dissect.ChallengeUsed
	words.LineWord(r)
	m.Pair.Asks = d.decodeEchoed(r, m)
	words.Finish(r)
}

// decodeEchoed reads a query and a token. It returns what the query asks for.
func (d *decoder) decodeEchoed(r *dissect.Reader, m *dissect.Message) dissect.Topic {
	e := wire.Body(m, &d.echo, Echo{Query: echoWord(r, fEchoQuery), Token: echoWord(r, fEchoToken)})
	if e.Token == "" {
		r.Fail(fEchoToken, "missing")
	}
	// Neither message has the arguments of the query.
	m.Pair.ID, m.Pair.Value = dissect.AnyID, fingerprint(e.Token)
	switch e.Query {
	case "getstatus":
		return topicStatus
	case "getinfo":
		return topicInfo
	}
	return topicStatus | topicInfo | topicChallenge | topicConnect | topicRcon
}

// echoWord reads a word after blanks, up to a blank or a quotation mark.
func echoWord(r *dissect.Reader, f *dissect.Field) string {
	pre := min(core.While(r, 0, func(c byte) bool { return c == ' ' }), quake.MaxBlanks)
	n := core.While(r, pre, func(c byte) bool { return !quake.Blank(c) && c != '"' }) - pre
	if n <= 0 {
		return ""
	}
	return r.Span(f, 0, pre, n, 0)
}

// decodeText reads text of any number of lines, without the line ends and zero bytes at
// its end.
func (d *decoder) decodeText(r *dissect.Reader, m *dissect.Message) {
	words.Word(r)
	d.readText(r, m)
}

func (d *decoder) readText(r *dissect.Reader, m *dissect.Message) {
	wire.Body(m, &d.text, Text{Text: quake.Print(r, quake.TextLen(core.PeekTo(r, r.Until("\x00"))), fText, fHiddenText, rconRefused)})
	words.Ending(r)
}

func (d *decoder) decodeKeyRequest(r *dissect.Reader, m *dissect.Message) {
	a := wire.Body(m, &d.authorize, Authorize{})
	words.LineWord(r)
	words.Argument(r, fAnonymous)
	a.CDKey = words.Line(r, fCDKey)
	words.Ending(r)
}

func (d *decoder) decodeKeyReply(r *dissect.Reader, m *dissect.Message) {
	wire.Body(m, &d.authorize, Authorize{})
	words.LineWord(r)
	words.Finish(r)
}

func (d *decoder) decodeAddressRequest(r *dissect.Reader, m *dissect.Message) {
	a := &d.authorize
	m.Body = a
	words.LineWord(r)
	*a = Authorize{Challenge: words.Argument(r, fIPChallenge), IP: words.Argument(r, fIP), Game: words.Argument(r, fDirectory)}
	words.Argument(r, fAnonymous)
	// A flag follows, or the hash of the key in Call of Duty.
	core.HideSetting(r, fHiddenRest, "password", words.Line(r, words.Arguments))
	words.Ending(r)
	m.Pair.ID = fingerprint(a.Challenge)
}

func (d *decoder) decodeAddressReply(r *dissect.Reader, m *dissect.Message) {
	a := &d.authorize
	m.Body = a
	words.LineWord(r)
	*a = Authorize{Challenge: words.Argument(r, fIPChallenge), Verdict: words.Argument(r, fVerdict)}
	words.Finish(r)
	m.Pair.ID = fingerprint(a.Challenge)
}

// The third and fourth byte of a packed userinfo, after its length: the bits of a
// quotation mark and of a backslash, with which every userinfo begins.
const (
	packedQuote     = 0x44
	packedBackslash = 0x74
)

// decodeConnect reads connect. All but the oldest engines pack the userinfo (ioquake3,
// NET_OutOfBandData).
func (d *decoder) decodeConnect(r *dissect.Reader, m *dissect.Message) {
	c := wire.Body(m, &d.connect, Connect{Userinfo: d.connect.Userinfo[:0]})
	words.LineWord(r)
	if !r.More() {
		r.Fail(fUserinfo, "missing")
		return
	}
	if isUserinfo(r.Peek()) {
		c.Userinfo = readUserinfo(r, c.Userinfo)
		words.Ending(r)
		return
	}
	at, packed := r.Offset(), r.Rest(fPacked)
	c.Packed = len(packed)
	unpacked, whole := d.tree.unpack(core.Buffer(r), packed)
	core.Keep(r, unpacked)
	if !isUserinfo(unpacked) {
		r.Find(connectPacked, fPacked, at, len(packed))
		return
	}
	if !whole {
		r.Find(connectCut, fPacked, at, len(packed))
	}
	r.Open("unpacked", unpacked)
	c.Userinfo = readUserinfo(r, c.Userinfo)
	words.Ending(r)
}

// isUserinfo reports whether b begins like a userinfo.
func isUserinfo(b []byte) bool {
	return bytes.HasPrefix(b, []byte(`"\`)) || bytes.HasPrefix(b, []byte(`\`))
}

// readUserinfo reads settings in quotation marks. Values of secret settings are hidden.
func readUserinfo(r *dissect.Reader, dst []dissect.KeyValue) []dissect.KeyValue {
	quoted := r.Next('"')
	if quoted {
		r.Bytes(words.Quote, 1)
	}
	limit := r.Offset() + quake.TextLen(r.Peek())
	if n := r.Until(`"`); quoted && n < r.Left() {
		limit = r.Offset() + n
	}
	more := func() bool { return r.More() && r.Offset() < limit }
	dst = wire.Records(r, fUserinfo, fSetting, dst, more, func() dissect.KeyValue {
		kv := dissect.KeyValue{Key: core.Element(r, fKey, '\\', limit)}
		if r.Offset() == limit {
			r.Find(oddKey, fKey, limit-len(kv.Key), len(kv.Key), dissect.Str(kv.Key))
		} else if isSecret(kv.Key) {
			kv.Value = core.Element(r, fSecret, '\\', limit)
		} else {
			kv.Value = core.Element(r, fValue, '\\', limit)
		}
		return kv
	})
	if r.Next('"') {
		r.Bytes(words.Quote, 1)
	}
	return dst
}

// secrets are parts of the names of secret settings.
var secrets = []string{"pass", "cdkey", "cd_key", "ticket", "token", "secret", "auth", "guid"}

// isSecret reports whether a setting is secret: a password, a CD key, a ticket, or an
// identifier by which servers recognise admins.
func isSecret(key string) bool {
	for _, s := range secrets {
		for i := 0; i+len(s) <= len(key); i++ {
			if key[i]|0x20 == s[0] && strings.EqualFold(key[i:i+len(s)], s) {
				return true
			}
		}
	}
	return false
}
