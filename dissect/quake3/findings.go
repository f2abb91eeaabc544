package quake3

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/advice"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/internal/core"
)

// Requests and replies.
var (
	unanswered      = finding.NoReply("q3.noreply", "The capture has no reply within the time that clients wait. The server is down, the port is wrong, the request or the reply was lost, dropped by a firewall or not captured, or the server limits its replies: ioquake3 to ten at once and one per second for an address, DarkPlaces to one per second. DarkPlaces refuses a remote command in silence if its password is wrong or rcon_secure is set. Some servers answer only requests from their own port number (see q3.srcport), and none answer a challenge of more than 128 characters.")
	srconUnanswered = finding.Unanswered("q3.srcon.noreply", "The capture has no reply within the time that clients wait. DarkPlaces refuses in silence: the password is another, the clocks of client and server differ by more than rcon_secure_maxdiff (5 seconds) in the mode TIME, or the challenge is not one that the server gave to this client or was used before. A command may also print nothing. Else the server is down, or a packet was lost.")
	unrequested     = finding.Unrequested("q3.unrequested", "The capture has requests of this conversation, but none that this reply answers. The request is missing from the capture, the reply is late or a duplicate, or somebody forged it.")
	amplification   = &dissect.FindingType{ID: "q3.amplification", Severity: dissect.Note, Text: "replies without address verification: %r times the request (%d bytes for %d)",
		Doc: "The server does not verify the client's address, so whoever forges the address of a request makes the server flood it, usually with status replies. Current servers limit how often they answer; operators set limits in the firewall. The challenge of a query protects clients from forged replies, but not others from the server."}
	challengeEcho = &dissect.FindingType{ID: "q3.challenge_echo", Severity: dissect.Warning, Class: core.OfServer, Text: "the reply does not have the challenge of the request in frame %d",
		Doc:    "A server returns the text after getstatus or getinfo as the setting challenge, so that clients and masters can reject forged replies. This reply has another text or none: it was made for another client (a cache in front of the server, an attack), the server is not a Quake 3 server, or the text contains characters that servers drop (see q3.challenge_form). Masters do not list such a server.",
		Advice: "A client should ignore the reply, or ask with a text of letters and digits. On the server, look for a cache or a DDoS protection that answers with stored replies."}
	challengeForm = &dissect.FindingType{ID: "q3.challenge_form", Severity: dissect.Note, Text: "servers do not return this challenge unchanged", Doc: "A setting cannot contain a backslash, a quotation mark or a semicolon, so servers omit such a challenge from the reply. ioquake3 does not answer a challenge of more than 128 characters."}
	tokenRequired = &dissect.FindingType{ID: "q3.token.required", Severity: dissect.Chat, Text: "the server requires a token before it answers", Doc: "JK2MV and OpenJK can answer a query with a token and send data only after the client has returned it, so that nobody can use them to flood a forged address. Query clients that do not support this get no data from such servers."}
	tokenMismatch = finding.New(dissect.Warning, "q3.token.mismatch", "the server did not give this token to this client",
		"The token in echoResponse is not among the latest that this server gave to this address in the capture. The client changed it, kept it too long, asked from another address, or got it before the capture began. The server ignores the message or sends a new token.", advice.KeepChallenge)
	samePort = &dissect.FindingType{ID: "q3.srcport", Severity: dissect.Note, Class: core.OfCapture, Text: "client and server use the same port", Doc: "The ports do not show which side is the server. Game clients use the server's default port themselves; some servers (Call of Duty, Jedi Academy) answer only such requests, and query clients for them do the same."}

	// Settings and players.
	oddKey  = finding.OddKey("q3.oddkv", "Keys and values do not pair up: the reply was truncated, or a value contains a backslash and shifts everything after it. Strict clients reject the reply.")
	noStart = finding.New(dissect.Warning, "q3.start", "the settings do not begin with a backslash",
		"Clients that skip the first character lose the first letter of the first key; strict clients reject the reply.", "The server should begin the settings with a backslash. A client should skip the first character only if it is one.")
	newLine = &dissect.FindingType{ID: "q3.newline", Severity: dissect.Note, Text: "the value of %s contains a newline", Doc: "The settings should be one line. Clients that read line by line take the rest for players. ioquake3 servers with fs_manifest send such replies."}
	noEnd   = &dissect.FindingType{ID: "q3.noeol", Length: true, Severity: dissect.Warning, Text: "no newline at the end",
		Doc:    "A status reply ends with a new line. This one was truncated, or its server is of another kind. Some clients lose the last player or reject the reply.",
		Advice: "A client should accept the end of the data as the end of a line."}
	cutPlayer = &dissect.FindingType{ID: "q3.cut", Length: true, Severity: dissect.Warning, Text: "truncated in the middle of a player",
		Doc:    "The reply ends within a line. Complete lines are shown; the rest is in the field data.",
		Advice: advice.CutList}
	notPlayer = finding.New(dissect.Warning, "q3.line", "not a line of a player: %s",
		"A line after the settings has no known format of a player. It is shown but not counted.", "A client should skip the line. On the server, look for a mod or plugin that prints into the status.")
	nameQuote = finding.New(dissect.Warning, "q3.name_quote", "the name %s contains a quotation mark",
		"Names are in quotation marks, and a quotation mark within a name is not escaped. Clients that read up to the next one truncate the name, or take the rest for another column.", "A client should read the name up to the last quotation mark of the line.")
	counts = &dissect.FindingType{ID: "q3.counts", Severity: dissect.Note, Text: "%d {player|players} of at most %d", Doc: "More players than slots: invented players, or a server that does not count its bots or its private slots."}

	// Others.
	empty = finding.New(dissect.Failed, "q3.empty", "header without a message",
		"The datagram is FF FF FF FF and nothing else: a scanner, or a truncated datagram.", "Ignore it. If one address sends many, limit it in a firewall.")
	connectCut = &dissect.FindingType{ID: "q3.connect.cut", Length: true, Severity: dissect.Warning, Text: "the packed userinfo is incomplete",
		Doc:    "The packed userinfo unpacks to fewer bytes than it announces, or to more than the engine allows. The unpacked part is shown.",
		Advice: "Ignore it if it is an attack. If players cannot join, compare with a capture at the client: something on the way cuts the packet."}
	connectPacked = &dissect.FindingType{ID: "q3.connect.packed", Severity: dissect.Note, Text: "the userinfo is packed in an unknown way", Doc: "Most engines use the adaptive Huffman code of Quake 3; some later ones have another code. Damaged data looks the same."}
	rconRefused   = &dissect.FindingType{ID: "q3.rcon.refused", Severity: dissect.Note, Text: "the server refused a remote console command", Doc: "The password is wrong, or the server has none set. Many of these in a row mean that somebody is guessing passwords."}
)

var findings = []*dissect.FindingType{
	unanswered, srconUnanswered, unrequested, amplification, challengeEcho, challengeForm, tokenRequired, tokenMismatch, samePort,
	oddKey, noStart, newLine, noEnd, cutPlayer, notPlayer, nameQuote, counts,
	empty, connectCut, connectPacked, rconRefused,
}
