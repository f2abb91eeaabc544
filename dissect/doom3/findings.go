package doom3

import "github.com/qdissect/qdissect/dissect"

// Requests and replies.
var (
	unanswered = &dissect.FindingType{ID: "doom3.noreply", Severity: dissect.Note, Text: "%p unanswered%p",
		Doc: "No reply came within the time that clients wait. The server is down, has no map loaded, or something on the way drops the request or the reply. A version request is answered only if there is a newer version."}
	unrequested = &dissect.FindingType{ID: "doom3.unrequested", Severity: dissect.Note, Text: "no request seen for this reply",
		Doc: "A reply in a conversation whose requests are in the capture, but none that it answers: another challenge, a duplicate, a late reply, or a forged packet."}
	challengeShort = &dissect.FindingType{ID: "doom3.challenge.short", Severity: dissect.Note, Text: "%d {byte|bytes} of challenge instead of 4",
		Doc: "The server reads 4 bytes whatever the request holds: what it sends back ends in bytes of its own memory (GameQ's request to Quake Wars), or is -1."}
	challengeLong = &dissect.FindingType{ID: "doom3.challenge.long", Severity: dissect.Chat, Text: "%d bytes behind the command; the server sends the first 4 back",
		Doc: "GameQ and gamedig send eight letters and a zero byte, as other protocols have it."}
	challengeEcho = &dissect.FindingType{ID: "doom3.challenge.echo", Severity: dissect.Note, Text: "the challenge is not that of the request in frame %d",
		Doc: "Servers send the challenge of the request back. Where the request was too short, its last bytes are of the server's memory; otherwise the reply answers another request, or is forged."}
	noTerm = &dissect.FindingType{ID: "doom3.noterm", Severity: dissect.Note, Text: "no zero byte after the command",
		Doc: "The article from which many clients were written leaves it out. Servers read what happens to stand there."}
	unknownWord = &dissect.FindingType{ID: "doom3.command", Severity: dissect.Note, Text: "%s is no command of the known games",
		Doc: "FF FF, letters and a zero byte as in all messages of the engine, with a word that its public sources do not have: a mod, or another game."}
)

// Info replies.
var (
	layoutUsed = &dissect.FindingType{ID: "doom3.layout", Severity: dissect.Chat, Text: "players and end as in %p: fits to the last byte",
		Doc: "No field says how the list of players and what follows it are laid out; it differs between games and versions. The one that uses up the message is the right one."}
	layoutOther = &dissect.FindingType{ID: "doom3.layout.version", Severity: dissect.Note, Text: "protocol %d.%d promises the layout of %p, what fits is that of %p",
		Doc: "Programs that go by the version misread the list of players of this server. A mod may have changed the protocol, or the version was forged."}
	layoutUnknown = &dissect.FindingType{ID: "doom3.layout.unknown", Severity: dissect.Note, Text: "protocol %d.%d is of no known game; the layout of %p fits",
		Doc: "Another game of the engine, or a version newer than this program."}
	noMask = &dissect.FindingType{ID: "doom3.osmask.missing", Severity: dissect.Chat, Text: "no systems behind the players",
		Doc: "Servers say there for which systems they have game code to load. dhewm3 and the first versions of Doom 3 leave it out; a reply that was cut right there looks the same."}
	layoutNone = &dissect.FindingType{ID: "doom3.layout.none", Severity: dissect.Warning, Text: "no known layout fits; read as %p",
		Doc: "The list of players and what follows it do not end where the message ends in any layout that is known: it was cut, or it is of a version that is not known. What is shown of the players may be wrong."}
	sizeWrong = &dissect.FindingType{ID: "doom3.size", Severity: dissect.Warning, Text: "%d {byte|bytes} announced, %d {follows|follow}",
		Doc: "The size in the reply is not what is there: the message was cut, or a proxy changed it and left the size."}
	tooMany = &dissect.FindingType{ID: "doom3.players.count", Severity: dissect.Note, Text: "%d {player|players} on a server for %d",
		Doc: "More players in the list than si_maxPlayers allows: the setting was lowered during the game, or the list is invented."}
	statsOrder = &dissect.FindingType{ID: "doom3.stats.order", Severity: dissect.Note, Text: "the second list is not of the same players: %d in the first, %d in the second",
		Doc: "infoExResponse goes on with experience, team, kills and deaths of all players in the same order. Programs that take the order for granted mix up these players."}
)

// Master servers.
var (
	thirdPartyAsks = &dissect.FindingType{ID: "doom3.thirdparty", Severity: dissect.Chat, Text: "asked by another program than the game",
		Doc: "Bit 31 of the version: qstat sets it when it asks the master server of Quake 4, so that id Software can tell players from programs."}
	listLength = &dissect.FindingType{ID: "doom3.len6", Severity: dissect.Warning, Text: "bytes that make no whole address: %d",
		Doc: "An address takes 6 bytes. The list was cut, or what is in it is something else."}
)

var findings = []*dissect.FindingType{
	unanswered, unrequested, challengeShort, challengeLong, challengeEcho, noTerm, unknownWord,
	layoutUsed, layoutOther, layoutUnknown, layoutNone, noMask, sizeWrong, tooMany, statsOrder,
	thirdPartyAsks, listLength,
}
