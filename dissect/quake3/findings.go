package quake3

import "github.com/qdissect/qdissect/dissect"

// Requests and replies.
var (
	unanswered = &dissect.FindingType{ID: "q3.noreply", Severity: dissect.Note, Text: "%p unanswered%p",
		Doc: "No reply came within the time that clients wait. The server is down, the port is another, a firewall drops the request or the reply, or the server limits how often it answers: ioquake3 to ten at once and one a second from one address, DarkPlaces to one a second. Some servers answer only requests whose source port is their own (see q3.srcport), and none a challenge over 128 characters."}
	unrequested = &dissect.FindingType{ID: "q3.unrequested", Severity: dissect.Note, Text: "no request seen for this reply",
		Doc: "A reply in a conversation whose requests are in the capture, but none that it answers. A duplicate, a late reply, a request lost by the capture, or a forged packet."}
	amplification = &dissect.FindingType{ID: "q3.amplification", Severity: dissect.Note, Text: "a forged address would get %r times the request (%d for %d bytes)",
		Doc: "The protocol has no challenge that a server gives: whoever forges the address of a request makes the server flood that address. A status reply is the usual means. Servers of today limit how often they answer; operators limit it in the firewall. The challenge of a query protects clients from forged replies, not others from the server."}
	challengeEcho = &dissect.FindingType{ID: "q3.challenge_echo", Severity: dissect.Warning, Text: "the challenge of the reply is not that of the request in frame %d",
		Doc: "A server sends the text behind getstatus or getinfo back as the setting challenge, so that clients and masters know forged replies. This one brings another text, or none: the reply was made for somebody else (a cache in front of the server, an attack), the server is no Quake 3, or the text holds characters that servers drop (see q3.challenge_form). Masters do not list such a server."}
	challengeForm = &dissect.FindingType{ID: "q3.challenge_form", Severity: dissect.Note, Text: "servers do not send this challenge back as it is",
		Doc: "A setting cannot hold a backslash, a quotation mark or a semicolon, so servers leave the challenge out of the reply. ioquake3 does not answer at all if it is longer than 128 characters."}
	tokenRequired = &dissect.FindingType{ID: "q3.token.required", Severity: dissect.Chat, Text: "the server wants a token sent back before it answers",
		Doc: "JK2MV and OpenJK can answer a query with a token, and with data only once the client has sent it back: so nobody can make them flood a forged address. Query clients that do not know the exchange get no data from such servers."}
	tokenMismatch = &dissect.FindingType{ID: "q3.token.mismatch", Severity: dissect.Warning, Text: "the server did not give this token to this client",
		Doc: "The token in echoResponse is none of those that this server gave to this address of late, as far as the capture shows: the client changed it, kept it for too long, or asked from another address. The server stays silent or sends a new one."}
	samePort = &dissect.FindingType{ID: "q3.srcport", Severity: dissect.Note, Text: "client and server use the same port",
		Doc: "Which of the two is the server cannot be told from the ports. Game clients use the port of servers by themselves; some servers (Call of Duty, Jedi Academy) answer no other, and query clients for them do the same."}
)

// Settings and players.
var (
	oddKey = &dissect.FindingType{ID: "q3.oddkv", Severity: dissect.Warning, Text: "the last key, %s, has no value",
		Doc: "Keys and values do not pair up: the reply was cut, or a value holds a backslash and everything behind it is shifted. Strict clients reject the reply."}
	noStart = &dissect.FindingType{ID: "q3.start", Severity: dissect.Warning, Text: "the settings do not begin with a backslash",
		Doc: "Clients that skip the first character lose one of the first key, strict ones reject the reply."}
	newLine = &dissect.FindingType{ID: "q3.newline", Severity: dissect.Note, Text: "the value of %s holds a new line",
		Doc: "The settings should be one line. Clients that read line by line take the rest for players; ioquake3 servers with fs_manifest send such replies."}
	noEnd = &dissect.FindingType{ID: "q3.noeol", Severity: dissect.Warning, Text: "no new line at the end",
		Doc: "A status reply ends with a new line. This one was cut, or its server is of another kind; some clients lose the last player or reject the reply."}
	cutPlayer = &dissect.FindingType{ID: "q3.cut", Severity: dissect.Warning, Text: "cut in the middle of a player",
		Doc: "The reply ends within a line. Whole lines are shown, the rest is the field data."}
	notPlayer = &dissect.FindingType{ID: "q3.line", Severity: dissect.Warning, Text: "not a line of a player: %s",
		Doc: "A line behind the settings is not in any format of a player that is known. It is shown and not counted."}
	nameQuote = &dissect.FindingType{ID: "q3.name_quote", Severity: dissect.Warning, Text: "the name %s holds a quotation mark",
		Doc: "Names stand between quotation marks and nothing escapes one within. Clients that read up to the next one cut the name, or take the rest for another column."}
	counts = &dissect.FindingType{ID: "q3.counts", Severity: dissect.Note, Text: "%d {player|players} of at most %d",
		Doc: "More players than places: invented ones, or a server that does not count its bots or its private places."}
)

// Others.
var (
	empty = &dissect.FindingType{ID: "q3.empty", Severity: dissect.Failed, Text: "a header and no message",
		Doc: "FF FF FF FF and nothing behind it: a scanner, or a datagram cut short."}
	connectCut = &dissect.FindingType{ID: "q3.connect.cut", Severity: dissect.Warning, Text: "the userinfo ends too early",
		Doc: "The packed userinfo announces more bytes than it unfolds to. What came out is shown."}
	connectPacked = &dissect.FindingType{ID: "q3.connect.packed", Severity: dissect.Note, Text: "the userinfo is packed in a way that is not known",
		Doc: "Most engines pack it with the adaptive Huffman code of Quake 3; some of the later ones have a code of their own."}
	rconRefused = &dissect.FindingType{ID: "q3.rcon.refused", Severity: dissect.Note, Text: "the server refuses the password of the remote console",
		Doc: "A wrong password, or the server has none set. Many in a row are somebody trying passwords."}
)

var findings = []*dissect.FindingType{
	unanswered, unrequested, amplification, challengeEcho, challengeForm, tokenRequired, tokenMismatch, samePort,
	oddKey, noStart, newLine, noEnd, cutPlayer, notPlayer, nameQuote, counts,
	empty, connectCut, connectPacked, rconRefused,
}
