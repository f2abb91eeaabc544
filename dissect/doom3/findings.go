package doom3

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/advice"
	"github.com/qdissect/qdissect/dissect/internal/finding"
)

// Requests and replies.
var (
	unanswered     = finding.NoReply("doom3.noreply", "The capture has no reply within the time that clients wait. The server is down or has no map loaded, or the request or the reply was lost, dropped by a firewall or not captured. A version request is answered only if there is a newer version.")
	unrequested    = finding.Unrequested("doom3.unrequested", "The capture has requests of this conversation, but none that this reply answers. The challenge differs, the request is missing from the capture, or the reply is late, a duplicate or forged.")
	challengeShort = &dissect.FindingType{ID: "doom3.challenge.short", Severity: dissect.Note, Text: "%d {byte|bytes} of challenge instead of 4", Doc: "The server reads 4 bytes whatever the request contains. The challenge that it returns ends in bytes of its own memory (GameQ's request to Quake Wars), or is -1."}
	challengeLong  = &dissect.FindingType{ID: "doom3.challenge.long", Severity: dissect.Chat, Text: "%d {byte|bytes} after the command; the server returns the first 4", Doc: "GameQ and gamedig send eight letters and a zero byte, as other protocols do."}
	challengeEcho  = &dissect.FindingType{ID: "doom3.challenge.echo", Severity: dissect.Note, Text: "the reply does not have the challenge of the request in frame %d", Doc: "Servers return the challenge of the request. If the request was too short, the last bytes come from the server's memory. Otherwise the reply answers another request, or is forged."}
	noTerm         = &dissect.FindingType{ID: "doom3.noterm", Severity: dissect.Note, Text: "no zero byte after the command", Doc: "The article that many client authors followed omits it; a truncated message looks the same. Servers read whatever follows in their buffer."}
	unknownWord    = &dissect.FindingType{ID: "doom3.command", Severity: dissect.Note, Text: "unknown command %s", Doc: "The message has FF FF, letters and a zero byte like all messages of the engine, but the public sources do not have the word: a mod, another game, or other traffic."}

	// Info replies.
	layoutUsed    = &dissect.FindingType{ID: "doom3.layout", Severity: dissect.Chat, Text: "players and end in the layout of %p, which fits exactly", Doc: "The layout of the list of players and of the data after it differs between games and versions, and no field names it. This layout ends where the message ends."}
	layoutOther   = &dissect.FindingType{ID: "doom3.layout.version", Severity: dissect.Note, Text: "protocol %d.%d has the layout of %p, but that of %p fits", Doc: "Programs that rely on the version misread the list of players of this server. A mod may have changed the protocol, or the version was forged."}
	layoutUnknown = &dissect.FindingType{ID: "doom3.layout.unknown", Severity: dissect.Note, Text: "protocol %d.%d belongs to no known game; the layout of %p fits", Doc: "Another game of the engine, or a version that is newer than this program."}
	noMask        = &dissect.FindingType{ID: "doom3.osmask.missing", Severity: dissect.Chat, Text: "no operating systems after the players", Doc: "This field says for which systems the server has game code. dhewm3 and the first versions of Doom 3 omit it; a reply truncated at this point looks the same."}
	layoutNone    = finding.New(dissect.Warning, "doom3.layout.none", "no known layout fits; decoded as %p",
		"In no known layout does the message end where the data ends: it was truncated, or its version is unknown. The players shown may be wrong.", "If the game is known, report it to qdissect with the capture. A client should use the settings, and not the players.")
	sizeWrong = &dissect.FindingType{ID: "doom3.size", Length: true, Severity: dissect.Warning, Text: "%d {byte|bytes} announced, %d {follows|follow}",
		Doc:    "The size in the reply differs from the size of the data: the message was truncated, or a proxy changed it and kept the size.",
		Advice: advice.WrongLength}
	tooMany    = &dissect.FindingType{ID: "doom3.players.count", Severity: dissect.Note, Text: "%d {player|players} on a server for %d", Doc: "The list has more players than si_maxPlayers allows: the setting was lowered during the game, or the list is invented."}
	statsOrder = &dissect.FindingType{ID: "doom3.stats.order", Severity: dissect.Note, Text: "the two lists have different players: %d in the first, %d in the second up to the first difference", Doc: "infoExResponse repeats all players in the same order, with experience, team, kills and deaths. Programs that rely on the order mix up these players."}

	// Master servers.
	thirdPartyAsks = &dissect.FindingType{ID: "doom3.thirdparty", Severity: dissect.Chat, Text: "sent by a program other than the game", Doc: "Bit 31 of the version is set. qstat sets it when it asks the master server of Quake 4, so that id Software can tell players from programs."}
	listLength     = &dissect.FindingType{ID: "doom3.len6", Length: true, Severity: dissect.Warning, Text: "%d {byte|bytes} at the end {is|are} not a whole address",
		Doc:    "An address takes 6 bytes. The list was truncated, or it contains other data.",
		Advice: advice.CutList}
)

var findings = []*dissect.FindingType{
	unanswered, unrequested, challengeShort, challengeLong, challengeEcho, noTerm, unknownWord,
	layoutUsed, layoutOther, layoutUnknown, layoutNone, noMask, sizeWrong, tooMany, statsOrder,
	thirdPartyAsks, listLength,
}
