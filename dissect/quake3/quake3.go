package quake3

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/judge"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:        "quake3",
	Title:       "Quake 3 queries",
	Group:       "Quake and Doom",
	Doc:         "getstatus and getinfo of Quake 3 and its descendants (Jedi Academy, Enemy Territory, Medal of Honor, Call of Duty, Urban Terror, OpenArena, Xonotic, FiveM and more), the remote console, and the messages by which clients connect.",
	Source:      "ioquake3 (sv_main.c, sv_client.c, cl_main.c, net_chan.c); dpmaster techinfo.txt; A gameserver Query Library (CodeProject), Quake 3",
	Ports:       ports(),
	Starts:      []byte{0xff},
	Wire:        "quake",
	AfterHeader: []byte("gsicdrpekmanGSICDRPEKMA\x01\x02"),
	Fields:      fields, Messages: messages, Findings: findings,
	Detect: Detect,
	New:    func() dissect.Decoder { return new(decoder) },
	Pairing: dissect.Pairing{
		Unanswered: unanswered, OtherIDs: true,
		OnRequest: []dissect.Rule{judge.SamePort(samePort), judge.Mismatch(tokenMismatch)},
		OnReply:   []dissect.Rule{judge.OtherID(challengeEcho), judge.Required(tokenRequired), judge.Amplification(amplification, 20)},
		OnStray:   []dissect.Rule{judge.OtherKind(dissect.OtherKind), judge.Unrequested(unrequested)},
	},
}

// ports are the default ports of the games. Where several servers run on one machine,
// admins count up from there.
func ports() (list []uint16) {
	for _, base := range []uint16{
		27960, // Quake 3, Wolfenstein, Enemy Territory, Urban Terror, OpenArena
		28960, // Call of Duty
		29070, // Jedi Academy
		28070, // Jedi Outcast
		20100, // Soldier of Fortune II
		26000, // Nexuiz, Xonotic
	} {
		for i := range uint16(10) {
			list = append(list, base+i)
		}
	}
	return append(list,
		12203, // Medal of Honor
		27951, // update server
		27952, // authorization server
		29253, // Elite Force II
		30120, // FiveM
		30720, // Tremulous
		44400, // Warsow
	)
}

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
	{"challenge", mChallengeReply, 0, topicChallenge, wire.Forms{wire.No(" rcon", nil), wire.No(" ", numbered), argued[0]}, (*decoder).decodeChallengeReply},
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
	own    = wire.Forms{wire.Certain("", ends)}
	shared = wire.Forms{wire.Possible("", ends)}
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
		wire.No(" ", func(rest []byte) bool { return len(rest) > 0 && digit(rest[0]) }),
		wire.Likely(" ", func(rest []byte) bool { return len(rest) > 3 && rest[2] == packedQuote && rest[3] == packedBackslash }),
		argued[0],
	}
)

// ends reports whether the word ends before rest.
func ends(rest []byte) bool { return len(rest) == 0 || blank(rest[0]) }

func beginsNumber(rest []byte) bool { return len(rest) > 0 && (digit(rest[0]) || rest[0] == '-') }

// numbered reports whether rest begins with a number as a whole word.
func numbered(rest []byte) bool {
	n := 0
	for n < len(rest) && digit(rest[n]) {
		n++
	}
	return n > 0 && (n == len(rest) || rest[n] <= ' ')
}

// asksBack reports whether the text of an echo is an echoResponse, which the client
// must send back.
func asksBack(rest []byte) bool {
	rest = bytes.TrimPrefix(bytes.TrimPrefix(rest, []byte{' '}), []byte{'"'})
	return bytes.HasPrefix(rest, []byte("echoResponse "))
}

// find returns the command with a word of letters, or nil if there is none.
func find(b []byte) *command {
	if len(b) < len("ack") {
		return nil
	}
	for i := range commands {
		if c := &commands[i]; len(c.word) == len(b) && wire.Same(b, c.word) {
			return c
		}
	}
	return nil
}

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
	if c := find(b[:n]); c != nil {
		return c.forms.Judge(b[n:])
	}
	return prints.Judge(b)
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

// blank reports whether a byte ends a word: a blank, a tab, a line end or a zero byte.
func blank(b byte) bool { return b <= ' ' }

// ender reports whether a byte ends a line of text.
func ender(b byte) bool { return b == '\n' || b == '\r' || b == 0 }

// lineLen returns the length of the first line of b.
func lineLen(b []byte) int {
	n := 0
	for n < len(b) && !ender(b[n]) {
		n++
	}
	return n
}

// textLen returns the length of b without the line ends at its end.
func textLen(b []byte) int {
	n := len(b)
	for n > 0 && ender(b[n-1]) {
		n--
	}
	return n
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](new(decoder), payload) }

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
	r.I32(fHeader)
	if r.Next(fromServer) || r.Next(fromClient) {
		r.U8(fSide)
	}
	n := wire.Letters(r.Peek())
	if c := find(r.PeekTo(n)); c != nil && (n == r.Left() || r.PeekByte(n) == '\\' || r.PeekByte(n) <= ' ') {
		m.Type, m.Pair.Asks, m.Pair.Answers = c.message, c.asks, c.answers
		c.decode(d, r, m)
		return
	}
	if r.Next('n') {
		m.Type, m.Pair.Answers = mPrint, topicRcon|topicConnect|topicSrcon
		if r.Awaited(topicSrcon, 0) { // a server that takes these refuses the others in silence
			m.Pair.Answers = topicSrcon
		}
		r.Span(fCommand, 0, 0, 1, 0)
		d.readText(r, m)
		return
	}
	d.other = Other{}
	m.Type, m.Body = mUnknown, &d.other
	switch {
	case r.More():
		r.Fail(fCommand, "no such message")
	case !r.Failed():
		r.Find(empty, fHeader, 0, 4)
	}
}

// begin reads the word of the message and the blank after it.
func begin(r *dissect.Reader) string {
	n, suf := wire.Letters(r.Peek()), 0
	if c := r.PeekByte(n); c == ' ' || c == '\t' {
		suf = 1
	}
	return r.Span(fCommand, 0, 0, n, suf)
}

// beginLine is begin for messages whose word has its own line.
func beginLine(r *dissect.Reader) {
	n, suf := wire.Letters(r.Peek()), 0
	if c := r.PeekByte(n); c > 0 && blank(byte(c)) {
		suf = 1
	}
	r.Span(fCommand, 0, 0, n, suf)
}

// maxBlanks is the largest number of blanks in a leaf before its value.
const maxBlanks = 200

// argument reads the next word of the line as the engines do: after blanks, up to the
// next blank or, if it begins with a quotation mark, up to the next quotation mark. It
// returns "" at the end of the line.
func argument(r *dissect.Reader, f *dissect.Field) string {
	pre, n, suf := word(r.Peek())
	if pre > maxBlanks {
		r.Bytes(fBlanks, pre)
		pre, n, suf = word(r.Peek())
	}
	if pre+n+suf == 0 {
		return ""
	}
	return r.Span(f, 0, pre, n, suf)
}

// word returns the length of the next word of a line, and of the bytes before and after
// it that are read with it. All are 0 at the end of the line.
func word[T string | []byte](b T) (pre, n, suf int) {
	for pre < len(b) && blank(b[pre]) && !ender(b[pre]) {
		pre++
	}
	quoted := pre < len(b) && b[pre] == '"'
	if quoted {
		pre++
	}
	end := pre
	for end < len(b) && !ender(b[end]) && (quoted || !blank(b[end])) && (!quoted || b[end] != '"') {
		end++
	}
	if n = end - pre; n == 0 && !quoted {
		return 0, 0, 0
	}
	if quoted && end < len(b) && b[end] == '"' {
		suf++
	}
	if end += suf; end < len(b) && blank(b[end]) && !ender(b[end]) {
		suf++
	}
	return pre, n, suf
}

// finish reads the unused rest of the line, and its end.
func finish(r *dissect.Reader) {
	if n := lineLen(r.Peek()); n > 0 {
		r.Text(fArguments, n)
	}
	end(r)
}

// end reads line ends and zero bytes, if there are any.
func end(r *dissect.Reader) {
	if n := r.While(0, ender); n > 0 {
		r.Bytes(fEnd, n)
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
	q := &d.query
	*q = Query{}
	m.Body = q
	begin(r)
	at := r.Offset()
	q.Challenge = argument(r, fQueryChallenge)
	for i := range len(q.Challenge) {
		if c := q.Challenge[i]; c == '\\' || c == '"' || c == ';' || i == maxChallenge {
			r.Find(challengeForm, fQueryChallenge, at, r.Offset()-at)
			break
		}
	}
	finish(r)
	m.Pair.ID, m.Pair.Challenge = fingerprint(q.Challenge), dissect.ChallengeAbsent
}

// decodeChallengeRequest reads getchallenge. ioquake3 adds a number that the client
// chose and the name of the game, Call of Duty a hash.
func (d *decoder) decodeChallengeRequest(r *dissect.Reader, m *dissect.Message) {
	q := &d.challengeRequest
	*q = ChallengeRequest{}
	m.Body = q
	begin(r)
	q.ClientChallenge = argument(r, fClientChallenge)
	if isHash(r.Peek()) {
		q.KeyHash = argument(r, fKeyHash)
	} else {
		q.Game = argument(r, fGame)
	}
	finish(r)
}

// isHash reports whether b begins with 32 hexadecimal digits, with or without quotation
// marks.
func isHash(b []byte) bool {
	b = bytes.TrimLeft(b[:min(len(b), maxBlanks)], " \"")
	if len(b) < 32 || len(b) > 32 && b[32] != '"' && !blank(b[32]) {
		return false
	}
	for _, c := range b[:32] {
		if !digit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

func (d *decoder) decodeChallengeReply(r *dissect.Reader, m *dissect.Message) {
	c := &d.challenge
	m.Body = c
	begin(r)
	*c = ChallengeReply{Challenge: argument(r, fChallenge), ClientChallenge: argument(r, fClientChallenge), Protocol: argument(r, fProtocol)}
	if c.Challenge == "" {
		r.Fail(fChallenge, "missing")
	}
	if r.HasPrefix("\x00vlen") {
		r.Bytes(fEnd, 1)
		r.Rest(fCrypto)
		return
	}
	finish(r)
}

func (d *decoder) decodeConnectReply(r *dissect.Reader, m *dissect.Message) {
	m.Body = &d.connectReply
	begin(r)
	d.connectReply = ConnectReply{Challenge: argument(r, fChallenge)}
	finish(r)
}

func (d *decoder) decodeDisconnect(r *dissect.Reader, m *dissect.Message) {
	m.Body = &d.other
	d.other = Other{Command: begin(r)}
	finish(r)
}

func (d *decoder) decodeRcon(r *dissect.Reader, m *dissect.Message) {
	c := &d.rcon
	*c = Rcon{}
	m.Body = c
	begin(r)
	if c.Password = argument(r, fPassword); !r.More() && c.Password == "" {
		r.Fail(fPassword, "missing")
	}
	c.Command = readCommand(r, isNumber(c.Password))
	end(r)
}

// The digest of DarkPlaces' secure commands.
const (
	lenDigest = 16
	byTime    = "TIME"
)

// decodeSrcon reads a command with a digest in place of the password. Its bytes may be
// blanks, line ends and zeros.
func (d *decoder) decodeSrcon(r *dissect.Reader, m *dissect.Message) {
	c := &d.srcon
	*c = Srcon{}
	m.Body = c
	begin(r)
	spaced(r, fMethod)
	c.Mode = spaced(r, fMode)
	copy(c.Digest[:], r.Bytes(fDigest, lenDigest))
	if r.Next(' ') {
		r.Bytes(fBlanks, 1)
	}
	if c.Mode == byTime {
		c.Time = spaced(r, fTime)
	} else {
		c.Challenge = spaced(r, fChallenge)
	}
	if n := textLen(r.PeekTo(r.Until("\x00"))); n > 0 {
		if c.Command = r.Text(fLineOf, n); r.Tree() && console.CommandSecret(c.Command) < n {
			r.Hide(fHiddenLine)
		}
	} else {
		r.Fail(fLineOf, "missing")
	}
	end(r)
}

// spaced reads a word and the blank after it.
func spaced(r *dissect.Reader, f *dissect.Field) string { return r.Delimited(f, 0, " ", 1) }

// readCommand reads the command after a password. If the password is a number, it may
// be Half-Life's challenge, and the next word the password.
func readCommand(r *dissect.Reader, behindNumber bool) string {
	whole := ""
	if behindNumber {
		mark := r.Mark()
		whole = line(r, fBlanks)
		r.Return(mark)
		argument(r, fSecond)
	}
	s := line(r, fLineOf)
	if r.Tree() && console.CommandSecret(s) < len(s) {
		r.Hide(fHiddenLine)
	}
	if behindNumber {
		return whole
	}
	return s
}

// isNumber reports whether s is an integer.
func isNumber(s string) bool {
	if len(s) > 1 && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	for i := range len(s) {
		if !digit(s[i]) {
			return false
		}
	}
	return s != ""
}

// line reads the rest of the line.
func line(r *dissect.Reader, f *dissect.Field) string {
	if n := lineLen(r.Peek()); n > 0 {
		return r.Text(f, n)
	}
	return ""
}

// refusals are the beginnings of the engines' replies to a wrong password, or to a
// command when no password is set.
var refusals = []string{"Bad rcon", "No rcon", "Invalid password"}

func (d *decoder) decodePrint(r *dissect.Reader, m *dissect.Message) {
	m.Pair.Also = topicChallenge
	at := r.Offset()
	d.decodeText(r, m)
	for _, s := range refusals {
		if len(d.text.Text) >= len(s) && d.text.Text[:len(s)] == s {
			r.Find(rconRefused, fText, at, r.Offset()-at)
			return
		}
	}
}

func (d *decoder) decodeEcho(r *dissect.Reader, m *dissect.Message) {
	if !asksBack(r.PeekFrom(len("echo"))) {
		d.decodeText(r, m)
		return
	}
	m.Type = mEchoChallenge
	m.Pair.Challenge = dissect.ChallengeIssued
	begin(r)
	quoted := r.Next('"')
	if quoted {
		r.Bytes(fQuote, 1)
	}
	echoWord(r, fEchoWord)
	m.Pair.Answers = d.decodeEchoed(r, m)
	if quoted && r.Next('"') {
		r.Bytes(fQuote, 1)
	}
	finish(r)
}

// decodeEchoResponse reads the client's answer to an echo: the query and the token,
// without quotation marks.
func (d *decoder) decodeEchoResponse(r *dissect.Reader, m *dissect.Message) {
	m.Pair.Challenge = dissect.ChallengeUsed
	begin(r)
	m.Pair.Asks = d.decodeEchoed(r, m)
	finish(r)
}

// decodeEchoed reads a query and a token. It returns what the query asks for.
func (d *decoder) decodeEchoed(r *dissect.Reader, m *dissect.Message) dissect.Topic {
	e := &d.echo
	*e = Echo{Query: echoWord(r, fEchoQuery), Token: echoWord(r, fEchoToken)}
	m.Body = e
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
	pre := min(r.While(0, func(c byte) bool { return c == ' ' }), maxBlanks)
	n := r.While(pre, func(c byte) bool { return !blank(c) && c != '"' }) - pre
	if n <= 0 {
		return ""
	}
	return r.Span(f, 0, pre, n, 0)
}

// decodeText reads text of any number of lines, without the line ends and zero bytes at
// its end.
func (d *decoder) decodeText(r *dissect.Reader, m *dissect.Message) {
	beginLine(r)
	d.readText(r, m)
}

func (d *decoder) readText(r *dissect.Reader, m *dissect.Message) {
	d.text = Text{}
	m.Body = &d.text
	if n := textLen(r.PeekTo(r.Until("\x00"))); n > 0 {
		d.text.Text = r.Text(fText, n)
		if r.Tree() && console.Secret(d.text.Text) < n {
			r.Hide(fHiddenText)
		}
	}
	end(r)
}

func (d *decoder) decodeKeyRequest(r *dissect.Reader, m *dissect.Message) {
	a := &d.authorize
	*a = Authorize{}
	m.Body = a
	begin(r)
	argument(r, fAnonymous)
	a.CDKey = line(r, fCDKey)
	end(r)
}

func (d *decoder) decodeKeyReply(r *dissect.Reader, m *dissect.Message) {
	d.authorize = Authorize{}
	m.Body = &d.authorize
	begin(r)
	finish(r)
}

func (d *decoder) decodeAddressRequest(r *dissect.Reader, m *dissect.Message) {
	a := &d.authorize
	m.Body = a
	begin(r)
	*a = Authorize{Challenge: argument(r, fIPChallenge), IP: argument(r, fIP), Game: argument(r, fDirectory)}
	argument(r, fAnonymous)
	// A flag follows, or the hash of the key in Call of Duty.
	r.HideSetting(fHiddenRest, "password", line(r, fArguments))
	end(r)
	m.Pair.ID = fingerprint(a.Challenge)
}

func (d *decoder) decodeAddressReply(r *dissect.Reader, m *dissect.Message) {
	a := &d.authorize
	m.Body = a
	begin(r)
	*a = Authorize{Challenge: argument(r, fIPChallenge), Verdict: argument(r, fVerdict)}
	finish(r)
	m.Pair.ID = fingerprint(a.Challenge)
}
