package quakeworld

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/advice"
	"github.com/qdissect/qdissect/dissect/internal/finding"
)

var (
	unanswered    = finding.NoReply("qw.noreply", "No reply came within the time that clients wait. The server is down, the port is another, or a firewall drops the request or the reply. To log, laststats, lastscores and qtvusers only servers answer that know them (mvdsv with KTX); others stay silent.")
	unrequested   = finding.Unrequested("qw.unrequested", "The conversation has requests in the capture, but none that this reply answers. It is a duplicate, a late reply or a forged packet, or the capture lost the request.")
	amplification = &dissect.FindingType{ID: "qw.amplification", Severity: dissect.Note, Text: "a forged address would get at least %r times the request (%d bytes for %d)", Doc: "Queries need no challenge: whoever forges the address of a request makes the server flood that address. A full server answers the 10 bytes of status with 60 times as many, laststats with more than 200 times. mvdsv does not limit queries; operators limit them in the firewall."}
	oddKey        = finding.OddKey("qw.oddkv", "Keys and values do not pair up: the reply was cut, or a value holds a backslash and everything after it is shifted.")
	cutPlayer     = &dissect.FindingType{ID: "qw.cut", Length: true, Severity: dissect.Warning, Text: "cut in the middle of a line",
		Doc:    "The reply ends within a line. Whole lines are shown; the rest is the field data.",
		Advice: advice.CutList}
	notPlayer = finding.New(dissect.Warning, "qw.line", "not a line of a player: %s",
		"A line after the settings has none of the formats of a player. It is shown and not counted. The server prints something into its status, or the reply is damaged.", "A client should skip the line. On the server, look for a mod that prints into the status.")
	rconRefused  = &dissect.FindingType{ID: "qw.rcon.refused", Severity: dissect.Note, Text: "the server refuses the password of the remote console", Doc: "The password is wrong, or the server has none set. Many in a row are somebody who tries passwords."}
	extensionCut = finding.New(dissect.Warning, "qw.extensions", "%d {byte|bytes} after the challenge {is|are} not an extension",
		"After the challenge stand extensions of eight bytes each: a name of four letters and a number. What is left over is shorter. The reply was cut, or the server writes something else there.", "A client should ignore what is left over, or ask for another challenge.")
)

var findings = []*dissect.FindingType{unanswered, unrequested, amplification, oddKey, cutPlayer, notPlayer, rconRefused, extensionCut}
