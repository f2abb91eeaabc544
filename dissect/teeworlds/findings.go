package teeworlds

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/advice"
	"github.com/qdissect/qdissect/dissect/internal/finding"
)

var (
	unanswered    = finding.NoReply("teeworlds.noreply", "No reply came within the time that clients wait. The server is down, speaks another version of the protocol (0.6 and 0.7 ask differently, on the same port), answers only so many requests per second, or something on the way drops UDP. Clients ask in several versions at once; one that is answered is enough. Servers of 0.7 are silent if the token in the request is not theirs.")
	oldUnanswered = &dissect.FindingType{ID: "teeworlds.oldversion", Severity: dissect.Note, Text: "%p unanswered%p: only servers of 0.4 and 0.5 answer it", Doc: "The requests gief and gie2 are of Teeworlds 0.4 and 0.5. Servers since 0.6, which is all that are left, do not answer them; they answer gie3. Old tools send all versions one after the other. An old server may also be down."}
	unrequested   = finding.Unrequested("teeworlds.unrequested", "A reply in a conversation whose requests are in the capture, but none with its token. A late reply, a request lost by the capture, or a forged packet.")
	several       = finding.Several("teeworlds.several", "The request was answered by one packet already, and this kind of reply has one. The network duplicated it, the request was sent twice and one of the two is not in the capture, or two servers share the address.")
	amplification = finding.New(dissect.Warning, "teeworlds.amplification", "data sent without a proof of the address: %r times the request (%d bytes for %d)",
		"Before 0.7 a request of 14 or 15 bytes brings the info with all players, in several packets on servers with 64 slots, and nothing proves that its sender has the address it came from. Such servers are used to flood others. The limit sv_info_requests or sv_serverinfo_per_second bounds it; 0.7 wants a token first.", advice.Amplification)
	tokenShort = finding.New(dissect.Warning, "teeworlds.token.short", "%d {byte|bytes}: servers ignore token requests of less than 520",
		"A request for a token must be longer than its reply, so that it cannot be used to flood others: 12 bytes and 508 zeros. Servers of 0.7 do not answer shorter ones. The client is wrong, or something on the way cut the packet.", "An own client should send 12 bytes and 508 zeros.")
	tokenWrong = finding.New(dissect.Warning, "teeworlds.token.wrong", "token %d was not given to this client: the server gave %d",
		"Since 0.7 the server gives a token to each address, and answers no request that carries another one. Tokens change every 16 seconds or so and with the port of the client. The client kept one too long, or uses that of another server or port.", advice.KeepChallenge)
	shortWord = &dissect.FindingType{ID: "teeworlds.word", Severity: dissect.Note, Text: "a request of three letters: no server answers it", Doc: "qstat sends gie without its fourth letter to every server, besides the right requests. Servers ignore it."}
	listed    = &dissect.FindingType{ID: "teeworlds.players.count", Severity: dissect.Note, Text: "%d {player|players} announced, %d in the list", Doc: "The reply lists another number of players than it states. Servers that get many requests leave the list out, and say how many there are; servers with more than 16 slots list no more for old clients. Otherwise the packet was cut, or the numbers are invented."}
)
