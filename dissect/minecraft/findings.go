package minecraft

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
)

// Requests and replies.
var (
	unanswered = &dissect.FindingType{ID: "mc.noreply", Severity: dissect.Note, Text: "%p unanswered%p",
		Doc: "No reply came. The server is down, its query is off (enable-query=true switches it on), the port is not its query port (query.port), or the token is not valid: servers drop such requests and say nothing."}
	unansweredChallenge = &dissect.FindingType{ID: "mc.noreply.after_handshake", Severity: dissect.Warning, Text: "%p with the right token unanswered%p",
		Doc: "The server gave a token, the client used it, and no reply came: a firewall or a rate limit lets the short reply pass and drops the long one, or the token was too old. The server forgets all of them every 30 seconds."}
	unrequested = &dissect.FindingType{ID: "mc.unrequested", Severity: dissect.Note, Text: "no request seen for this reply",
		Doc: "A reply in a conversation whose requests are in the capture, but none that it could answer waits. A duplicate, a late reply, a request lost by the capture, or a forged packet."}
	otherSession = &dissect.FindingType{ID: "mc.session.other", Severity: dissect.Warning, Text: "not the session id of the request in frame %d: %x instead of %x",
		Doc: "The reply is of the kind that this request asks for, and no request that waits has its session id. The server sends another id back than it was given, the reply is a late one to an earlier request, or it is forged. Clients that compare the id drop it. In handshakes, bytes of the id from 80 up stand as 80 here, because servers spoil them."}
	otherKind = &dissect.FindingType{ID: "mc.stat.other", Severity: dissect.Note, Text: "a reply of another kind than the %p in frame %d asks for",
		Doc: "The length of the request decides which stat comes: 15 bytes ask for the full one, 11 for the basic one. The server or a proxy before it decides otherwise, knows one of the two only, or the request was changed on its way."}
	tokenMismatch = &dissect.FindingType{ID: "mc.token.mismatch", Severity: dissect.Warning, Text: "token %d was not given to this client, the newest one is %d",
		Doc: "The request carries a number that this server did not give to this address: read with the wrong byte order (it is big-endian), or kept for too long. The server stays silent."}
	tokenLength = &dissect.FindingType{ID: "mc.token.length", Severity: dissect.Warning, Text: "%d {byte|bytes}; 15 ask for the full stat, 11 for the basic one",
		Doc: "The server looks at the length alone: 15 bytes ask for the full stat, any other length for the basic one. A client that pads its request otherwise gets less than it wants."}
	tokenMissing = &dissect.FindingType{ID: "mc.token.missing", Severity: dissect.Warning, Text: "a request without a token",
		Doc: "The server answers only requests with the token of its handshake. The client left it out; the server stays silent."}
	tokenText = &dissect.FindingType{ID: "mc.token.text", Severity: dissect.Warning, Text: "the token is sent as text",
		Doc: "The handshake gives the token as text, and the request must carry it as a number of four bytes, big-endian. The server stays silent."}
	tokenNul = &dissect.FindingType{ID: "mc.token.noterm", Severity: dissect.Note, Text: "no zero byte after the token",
		Doc: "The token is text that ends with a zero byte. Some servers leave it off, and some clients then cut off the last digit."}
	mangled = &dissect.FindingType{ID: "mc.session.mangled", Severity: dissect.Warning, Text: "the session id came back spoilt: %d bytes instead of 4",
		Doc: "The server makes its handshake reply from text, and bytes of the session id from 80 up, which are no UTF-8, come back as EF BF BD. Clients that compare the id, or read the token at its usual place, fail. Choose session ids whose bytes are all below 80; clients mask them with 0F0F0F0F."}
	cached = &dissect.FindingType{ID: "mc.cached", Severity: dissect.Chat, Text: "the same as in frame %d, %t before",
		Doc: "The server keeps a full stat for five seconds and sends it again, so that players and counts can be that old. Asking more often tells nothing new."}
	amplification = &dissect.FindingType{ID: "mc.amplification", Severity: dissect.Warning, Text: "data without a token: %r times the request (%d for %d bytes)",
		Doc: "The server sends data to an address that has not shown to be real, so it can be abused to flood others."}
)

// What replies hold.
var (
	motdNul = &dissect.FindingType{ID: "mc.motd.nul", Severity: dissect.Warning, Text: "a zero byte inside of the name",
		Doc: "Old servers write the lower byte of every character; characters like U+2A00 become a zero byte, which ends the name too early. Clients that do not look for the next key are out of step from here on."}
	notLast = &dissect.FindingType{ID: "mc.number", Severity: dissect.Note, Text: "number %d without the mark of the last part",
		Doc: "Servers write 80 there: part 0, and the last one. This reply claims that more parts follow, and replies of Minecraft have one. The server leaves the mark out, and clients that join the parts of GameSpy 3 wait for the rest; or the reply is one of GameSpy 3 and taken for Minecraft's because of its keys."}
	playersCount = &dissect.FindingType{ID: "mc.players.count", Severity: dissect.Note, Text: "numplayers is %d, the list has %d",
		Doc: "The server says another number of players than it lists: the players of a whole network, or invented ones. Pocket editions and proxies do."}
	noValue = &dissect.FindingType{ID: "mc.novalue", Severity: dissect.Note, Text: "keys without a value: %d",
		Doc: "The server wrote a key and nothing behind it, not even a zero byte."}
	gap = &dissect.FindingType{ID: "mc.gap", Severity: dissect.Warning, Text: "empty keys inside of the settings: %d",
		Doc: "An empty key ends the settings, and they went on. Clients stop here."}
	noEnd = &dissect.FindingType{ID: "mc.end", Severity: dissect.Note, Text: "the reply ends inside of a list",
		Doc: "The zero byte at the end of a list is missing: the reply was cut, or the server leaves it off."}
	broken = &dissect.FindingType{ID: "mc.section", Severity: dissect.Failed, Text: "%d {byte that is|bytes that are} no list",
		Doc: "What stands here is neither settings nor a list of players, and cannot be read."}
)

var sectionFindings = gamespy.SectionFindings{NoValue: noValue, Gap: gap, NoEnd: noEnd, Broken: broken}

var findings = []*dissect.FindingType{
	unanswered, unansweredChallenge, unrequested, otherSession, otherKind, tokenMismatch, tokenLength, tokenMissing, tokenText, tokenNul, mangled, cached, amplification,
	motdNul, notLast, playersCount, noValue, gap, noEnd, broken,
}

// again reports a server that says what it said a moment ago.
func again(x *dissect.Turn) {
	if x.SaidIn != 0 {
		x.Note(cached, dissect.Num(x.SaidIn), dissect.Dur(x.SaidAgo))
	}
}

// instead reports a reply of another kind than its request asks for.
func instead(x *dissect.Turn) {
	if q := x.Other; q != nil {
		x.Note(otherKind, dissect.Str(q.Type.Title), dissect.Num(q.Frame))
	}
}
