package doom3

import (
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// decodeRcon reads rcon (idAsyncClient, RemoteConsole).
func (d *decoder) decodeRcon(r *dissect.Reader, m *dissect.Message) {
	c := &d.rcon
	m.Body = c
	*c = Rcon{Password: r.CString(fPassword), Command: r.CString(fCommandLine)}
	if core.Tree(r) && !r.Failed() && c.secretAt() < len(c.Command) {
		core.Hide(r, fHiddenLine)
	}
	if c.Password == "" && r.More() {
		r.Fail(fPassword, "missing")
	}
}

// secretAt returns the offset of a password in the command, or its length if there is
// none. Without a password before the command, the command may contain it.
func (m *Rcon) secretAt() int {
	if m.Password == "" {
		return 0
	}
	return console.CommandSecret(m.Command)
}

// decodePrint reads print (idAsyncServer, PrintOOB): the output of a remote console
// command, or the reason why a client is refused.
func (d *decoder) decodePrint(r *dissect.Reader, m *dissect.Message) {
	p := &d.print
	*p = Print{Opcode: r.U32(fOpcode)}
	m.Body = p
	if p.Opcode == printGameDeny {
		p.GameOpcode = dissect.Some(r.U32(fGameOpcode))
	}
	p.Text = r.CString(fText)
	console.Hide(r, fHiddenText, p.Text)
}

// decodeChallenge reads challenge (idAsyncClient, SetupConnection).
func (d *decoder) decodeChallenge(r *dissect.Reader, m *dissect.Message) {
	m.Body = &d.challenge
	m.Pair.Challenge = dissect.ChallengeSeed
	d.challenge = Challenge{ClientID: r.I32(fClientID)}
}

// decodeChallengeResponse reads challengeResponse (idAsyncServer,
// ProcessChallengeMessage).
func (d *decoder) decodeChallengeResponse(r *dissect.Reader, m *dissect.Message) {
	c := &d.challenge
	*c = Challenge{Reply: true, Challenge: r.I32(fChallenge), ServerID: r.U16(fServerID)}
	m.Body = c
	m.Pair.Challenge, m.Pair.Value = dissect.ChallengeIssued, pairID(c.Challenge)
	if r.More() { // Doom 3 before 1.2 ends here
		c.GameBase = r.CString(fGameBase)
		c.Game = r.CString(fGame)
	}
}

// decodeConnect reads connect (idAsyncClient, SetupConnection). dhewm3 omits the
// operating system.
func (d *decoder) decodeConnect(r *dissect.Reader, m *dissect.Message) {
	c := &d.connect
	*c = Connect{Protocol: readVersion(r)}
	m.Body = c
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
	m.Pair.Challenge, m.Pair.Value = dissect.ChallengeUsed, pairID(c.Challenge)
}

// connectWithoutOS reports whether connect ends where the message ends if it has no
// operating system. b follows the version.
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
	m.Body = c
	c.ClientNumber = r.U32(fClientNumber)
	c.GameInitID = r.U32(fGameInit)
	c.GameFrame = r.U32(fGameFrame)
	c.GameTime = time.Duration(r.U32(fGameTime)) * time.Millisecond
	c.Rules = readRules(r, c.Rules)
	m.Server = serverOf(c.Rules)
}

func (d *decoder) authRequest(r *dissect.Reader, m *dissect.Message) *Auth {
	d.auth = Auth{Protocol: readVersion(r)}
	m.Body = &d.auth
	return &d.auth
}

// decodeClientAuth reads clAuth (idAsyncClient, SetupConnection).
func (d *decoder) decodeClientAuth(r *dissect.Reader, m *dissect.Message) {
	a := d.authRequest(r, m)
	a.Address = wire.Endpoint(r, fServerAddress, false, true)
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
// ProcessConnectMessage; only the latter knows the client's number).
func (d *decoder) decodeServerAuth(r *dissect.Reader, m *dissect.Message) {
	a := d.authRequest(r, m)
	a.Address = wire.Endpoint(r, fClientAddress, false, true)
	if a.ClientID = r.I32(fClientID); a.ClientID != noClient {
		a.GUID = r.CString(fGUID)
	}
	if r.More() { // since protocol 1.37
		r.Bool(fExpansion)
	}
}

// noClient is the number of a client that has not tried to connect.
const noClient = -1

// decodeAuth reads auth (idAsyncServer, ProcessAuthMessage).
func (d *decoder) decodeAuth(r *dissect.Reader, m *dissect.Message) {
	a := &d.auth
	*a = Auth{Verdict: r.U8(fVerdict)}
	m.Body = a
	a.ClientID = int32(int16(r.U16(fClientID16)))
	a.Address = wire.Endpoint(r, fClientAddress, false, true)
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
	m.Body = a
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

// decodeVersionCheck reads versionCheck (idAsyncClient, SendVersionCheck). dhewm3 omits
// the operating system.
func (d *decoder) decodeVersionCheck(r *dissect.Reader, m *dissect.Message) {
	v := &d.version
	*v = NewVersion{Protocol: readVersion(r)}
	m.Body = v
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
	m.Body = v
	r.Bool(fDirect)
	v.URL = r.CString(fURL)
	r.U8(fMime)
	v.Fallback = r.CString(fFallback)
}
