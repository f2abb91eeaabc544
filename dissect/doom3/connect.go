package doom3

import (
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
)

func addrPort(addr [4]byte, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4(addr), port)
}

// decodeRcon reads rcon (idAsyncClient, RemoteConsole).
func (d *decoder) decodeRcon(r *dissect.Reader, m *dissect.Message) {
	c := &d.rcon
	m.Type, m.Body = mRcon, c
	m.Pair.Asks = topicRcon
	*c = Rcon{Password: r.CString(fPassword), Command: r.CString(fCommandLine)}
	if r.Tree() && !r.Failed() && c.secretAt() < len(c.Command) {
		r.Hide(fHiddenLine)
	}
	if c.Password == "" && r.More() {
		r.Fail(fPassword, "missing")
	}
}

// secretAt returns where in the command a password stands, the length if
// nowhere. Where there is none before the command, it may stand in its place.
func (m *Rcon) secretAt() int {
	if m.Password == "" {
		return 0
	}
	return console.CommandSecret(m.Command)
}

// decodePrint reads print (idAsyncServer, PrintOOB). It says what a command of
// the remote console says, and why a client is refused.
func (d *decoder) decodePrint(r *dissect.Reader, m *dissect.Message) {
	p := &d.print
	*p = Print{Opcode: r.U32(fOpcode)}
	m.Type, m.Body = mPrint, p
	m.Pair.Answers = topicRcon | topicChallenge | topicConnect
	if p.Opcode == printGameDeny {
		p.GameOpcode = dissect.Some(r.U32(fGameOpcode))
	}
	if p.Text = r.CString(fText); r.Tree() && console.Secret(p.Text) < len(p.Text) {
		r.Hide(fHiddenText)
	}
}

// decodeChallenge reads challenge (idAsyncClient, SetupConnection).
func (d *decoder) decodeChallenge(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body = mChallengeRequest, &d.challenge
	m.Pair = dissect.Pair{Asks: topicChallenge, Challenge: dissect.ChallengeSeed}
	d.challenge = Challenge{ClientID: r.I32(fClientID)}
}

// decodeChallengeResponse reads challengeResponse (idAsyncServer,
// ProcessChallengeMessage).
func (d *decoder) decodeChallengeResponse(r *dissect.Reader, m *dissect.Message) {
	c := &d.challenge
	*c = Challenge{Reply: true, Challenge: r.I32(fChallenge), ServerID: r.U16(fServerID)}
	m.Type, m.Body = mChallengeReply, c
	m.Pair = dissect.Pair{Answers: topicChallenge, Challenge: dissect.ChallengeIssued, Value: uint64(uint32(c.Challenge))}
	if r.More() { // Doom 3 before 1.2 ends here
		c.GameBase = r.CString(fGameBase)
		c.Game = r.CString(fGame)
	}
}

// decodeConnect reads connect (idAsyncClient, SetupConnection). dhewm3 leaves
// the operating system out.
func (d *decoder) decodeConnect(r *dissect.Reader, m *dissect.Message) {
	c := &d.connect
	*c = Connect{Protocol: readVersion(r)}
	m.Type, m.Body = mConnectRequest, c
	m.Pair = dissect.Pair{Asks: topicConnect, Challenge: dissect.ChallengeUsed}
	if !connectWithoutOS(r.Peek()) {
		c.OS = dissect.Some(r.U16(fOS))
	}
	c.Checksum = r.U32(fChecksum)
	c.Challenge = r.I32(fChallenge)
	c.ClientID = r.U16(fClientID16)
	c.MaxRate = r.U32(fMaxRate)
	c.GUID = r.CString(fGUID)
	c.Password = r.CString(fPassword)
	r.U16(fPunkBuster)
	m.Pair.Value = uint64(uint32(c.Challenge))
}

// connectWithoutOS reports whether what follows the version of connect ends
// where the message ends if no operating system is stated.
func connectWithoutOS(b []byte) bool {
	s := scanner{b: b}
	s.skip(4 + 4 + 2 + 4)
	s.text()
	s.text()
	return !s.failed && string(s.b) == "\x00\x00"
}

// decodeConnectResponse reads connectResponse (idAsyncServer,
// ProcessConnectMessage).
func (d *decoder) decodeConnectResponse(r *dissect.Reader, m *dissect.Message) {
	c := &d.connected
	*c = Connected{Rules: c.Rules[:0]}
	m.Type, m.Body = mConnectReply, c
	m.Pair.Answers = topicConnect
	c.ClientNumber = r.U32(fClientNumber)
	c.GameInitID = r.U32(fGameInit)
	c.GameFrame = r.U32(fGameFrame)
	c.GameTime = time.Duration(r.U32(fGameTime)) * time.Millisecond
	c.Rules = readRules(r, c.Rules)
	m.Server = serverOf(c.Rules)
}

func (d *decoder) authRequest(r *dissect.Reader, m *dissect.Message) *Auth {
	d.auth = Auth{}
	m.Type, m.Body = mAuthRequest, &d.auth
	m.Pair.Asks = topicAuth
	d.auth.Protocol = readVersion(r)
	return &d.auth
}

// decodeClientAuth reads clAuth (idAsyncClient, SetupConnection).
func (d *decoder) decodeClientAuth(r *dissect.Reader, m *dissect.Message) {
	a := d.authRequest(r, m)
	addr, port := r.Endpoint4(fServerAddress, true)
	a.Address = addrPort(addr, port)
	r.Bool(fHasGUID)
	a.Key = r.CString(fKey)
	if r.More() && r.Bool(fHasXPKey) { // since protocol 1.37
		a.ExpansionKey = r.CString(fXPKey)
	}
}

// decodeGameAuth reads gameAuth (idAsyncClient, SendAuthCheck).
func (d *decoder) decodeGameAuth(r *dissect.Reader, m *dissect.Message) {
	a := d.authRequest(r, m)
	r.Bool(fHasKey)
	a.Key = r.CString(fKey)
	r.Bool(fHasXPKey)
	a.ExpansionKey = r.CString(fXPKey)
}

// decodeServerAuth reads srvAuth (idAsyncServer, ProcessChallengeMessage and
// ProcessConnectMessage, of which the latter knows the client's number).
func (d *decoder) decodeServerAuth(r *dissect.Reader, m *dissect.Message) {
	a := d.authRequest(r, m)
	addr, port := r.Endpoint4(fClientAddress, true)
	a.Address = addrPort(addr, port)
	if a.ClientID = r.I32(fClientID); a.ClientID != noClient {
		a.GUID = r.CString(fGUID)
	}
	if r.More() { // since protocol 1.37
		r.Bool(fExpansion)
	}
}

// noClient stands for a client that has not tried to connect yet.
const noClient = -1

// decodeAuth reads auth (idAsyncServer, ProcessAuthMessage).
func (d *decoder) decodeAuth(r *dissect.Reader, m *dissect.Message) {
	a := &d.auth
	*a = Auth{Verdict: r.U8(fVerdict)}
	m.Type, m.Body = mAuthReply, a
	m.Pair.Answers = topicAuth
	a.ClientID = int32(int16(r.U16(fClientID16)))
	addr, port := r.Endpoint4(fClientAddress, true)
	a.Address = addrPort(addr, port)
	a.GUID = r.CString(fGUID)
	if !r.More() { // the verdict is ok
		return
	}
	if a.Reason = r.U8(fReason); a.Reason == reasonText {
		a.Text = r.CString(fText)
	}
}

// decodeAuthKey reads authKey (idAsyncClient, ProcessAuthKeyMessage).
func (d *decoder) decodeAuthKey(r *dissect.Reader, m *dissect.Message) {
	a := &d.auth
	*a = Auth{Verdict: r.U8(fKeyVerdict)}
	m.Type, m.Body = mAuthReply, a
	m.Pair.Answers = topicAuth
	if a.Verdict == keyGood {
		a.GUID = r.CString(fGUID)
		return
	}
	switch a.Reason = r.U8(fKeyReason); a.Reason {
	case keyText:
		a.Text = r.CString(fText)
	case keyInvalid:
		r.Bool(fKeyValid)
		r.Bool(fXPKeyValid)
	default:
		r.U8(fKeyIndex)
	}
}

// decodeVersionCheck reads versionCheck (idAsyncClient, SendVersionCheck).
// dhewm3 leaves the operating system out.
func (d *decoder) decodeVersionCheck(r *dissect.Reader, m *dissect.Message) {
	v := &d.version
	*v = NewVersion{Protocol: readVersion(r)}
	m.Type, m.Body = mVersionRequest, v
	m.Pair.Asks = topicVersion
	if r.Left() > 2 && r.PeekByte(0) < ' ' && r.PeekByte(1) == 0 {
		r.U16(fOS)
	}
	v.Version = r.CString(fGameVersion)
	v.GUID = r.CString(fGUID)
}

// decodeNewVersion reads newVersion (idAsyncClient, ProcessVersionMessage).
func (d *decoder) decodeNewVersion(r *dissect.Reader, m *dissect.Message) {
	v := &d.version
	*v = NewVersion{Reply: true, Text: r.CString(fText)}
	m.Type, m.Body = mVersionReply, v
	m.Pair.Answers = topicVersion
	r.Bool(fDirect)
	v.URL = r.CString(fURL)
	r.U8(fMime)
	v.Fallback = r.CString(fFallback)
}
