package valvemaster

import (
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// Requests and replies.
var (
	unanswered = &dissect.FindingType{ID: "master.noreply", Severity: dissect.Note, Text: "%p unanswered%p",
		Doc: "No reply within the time that clients wait is in the capture. The master is down or gone, as most of Valve's are, a packet was lost, a firewall drops it, or the reply took a way past the capture. Masters of today answer little but the list of servers; some answer a client only every so often, and drop what they do not understand."}
	unrequested = &dissect.FindingType{ID: "master.unrequested", Severity: dissect.Note, Text: "no request seen for this reply",
		Doc: "A reply in a conversation whose requests are in the capture, but none that it answers: the request is missing from the capture, the reply is a copy or came too late, or somebody forged it."}
	challengeMismatch = &dissect.FindingType{ID: "master.challenge.mismatch", Severity: dissect.Warning, Text: "challenge %d is none of the last that the master gave this server, the newest is %d",
		Doc: "The heartbeat carries a number that is not among the last four that this master gave to this address in the capture. The server kept it for too long, took it from another master, or got it before the capture began. The master usually gives another one, and does not list the server until that is used."}
	challengeMissing = &dissect.FindingType{ID: "master.challenge.missing", Severity: dissect.Warning, Text: "the heartbeat has no number as challenge",
		Doc: "It is missing, or not a decimal number. Masters usually do not list a server that does not prove its address."}
	listing = &dissect.FindingType{ID: "master.listing", Severity: dissect.Chat, Text: "end of the list: %d {server|servers} in %d replies, the first asked for in frame %d",
		Doc: "A list that does not fit into one datagram is asked for page by page, each from the last address of the page before. The numbers are those of the pages in the capture."}
	newSocket = &dissect.FindingType{ID: "master.socket", Severity: dissect.Warning, Text: "one listing over %d sockets: the page before, in frame %d, went to port %d; the document forbids it",
		Doc: "The request goes on from the last address of a page that another port of the same client got. The document says that a master sends the first page to every new socket, whatever address the request names, and that clients must keep their socket. Not every master does so. A NAT that gives the client a new port in between looks the same, and so do two clients behind one address if the first page of the second one is not in the capture."}
	seedElsewhere = &dissect.FindingType{ID: "master.seed.elsewhere", Severity: dissect.Note, Text: "the seed is not the last address of the newest page for this client, in frame %d",
		Doc: "A list goes on from the last address of the page before. From any other address the master may leave servers out, send them again, or begin at the start. The client may have skipped ahead on purpose, a page may be missing from the capture, or two clients share one address."}
	filterChanged = &dissect.FindingType{ID: "master.filter.changed", Severity: dissect.Warning, Text: "the filter is not that of the page before, in frame %d",
		Doc: "The request goes on with a list and asks for other servers than the page before. What the two pages say together is neither list. Masters look for the address in the new list, and begin at the start if it is not there."}
	regionChanged = &dissect.FindingType{ID: "master.region.changed", Severity: dissect.Warning, Text: "the region is not that of the page before, in frame %d",
		Doc: "The request goes on with a list and names another region than the page before. What the two pages say together is neither list. Masters that ignore the region go on as before."}
	slowPage = &dissect.FindingType{ID: "master.slow", Severity: dissect.Note, Text: "the page before, in frame %d, came %t ago",
		Doc: "Clients ask for the next page at once. Meanwhile the list changes: servers come and go, so that the pages need not fit together. The client waits between pages, was stopped, or goes on with an old list."}
	listRestart = &dissect.FindingType{ID: "master.restart", Severity: dissect.Warning, Text: "begins with the first address of the list again",
		Doc: "The client asked for the next page, and the master sent one that begins as the list did: it does so for a new socket (see master.socket) or when it does not know the address to go on from. A client that goes on collects the same servers again. A list in which the address really stands twice looks the same."}
	cursorRepeat = &dissect.FindingType{ID: "master.cursor_repeat", Severity: dissect.Warning, Text: "ends with the address that the request goes on from",
		Doc: "A client that goes on from the last address asks for the same page for ever. Careful clients take it for the end of the list; some masters mean just that."}
)

// Requests for addresses.
var (
	noTerm = &dissect.FindingType{ID: "master.noterm", Severity: dissect.Note, Text: "no zero byte after the filter",
		Doc: "qstat and Xash3D leave it out; a request that was cut looks the same. A master that looks for the zero byte may read on into what an earlier request left in its buffer."}
	badSeed = &dissect.FindingType{ID: "master.seed", Severity: dissect.Warning, Text: "%s is not an address and port",
		Doc: "The place from which to go on must be the address that the last reply ended with, as text, or 0.0.0.0:0. Masters may ignore such a request or begin at the start."}
	badRegion = &dissect.FindingType{ID: "master.region", Severity: dissect.Note, Text: "region %d is not documented",
		Doc: "The document names 0 to 7, and 255 for the rest of the world. Many masters ignore the region."}
	filterStart = &dissect.FindingType{ID: "master.filter.start", Severity: dissect.Warning, Text: "the filter does not begin with a backslash",
		Doc: "Masters cut the filter at backslashes: without the first one they may take the value for the code. Some accept it all the same."}
	filterUnknown = &dissect.FindingType{ID: "master.filter.unknown", Severity: dissect.Note, Text: "the filter %s is not known",
		Doc: "Neither the document nor the masters of today that were read have this code: a misspelt one, one of a private master, or one that is newer. Masters usually leave out a condition that they do not know, and the list is then longer than the client means."}
	filterValue = &dissect.FindingType{ID: "master.filter.value", Severity: dissect.Note, Text: "the filter %s has the value %s, the document knows it only with %p",
		Doc: "What such a condition asks for is not known. Some masters look only for the code and take any value for the documented one, others leave the condition out."}
	filterOdd = &dissect.FindingType{ID: "master.filter.odd", Severity: dissect.Warning, Text: "the code %s has no value",
		Doc: "Codes and values do not pair up: a value is missing, one holds a backslash and moves all that follow, or the request was cut."}
	filterCount = &dissect.FindingType{ID: "master.filter.count", Severity: dissect.Warning, Text: "%p is for %s conditions, it got %d",
		Doc: "nor, nand, or and and take the conditions that follow, as many as their value says. A wrong number lets conditions in or out that do not belong there; a request that was cut looks the same."}
	filterDepth = &dissect.FindingType{ID: "master.filter.depth", Severity: dissect.Warning, Text: "more than %d groups in one another",
		Doc: "No known client needs this. What is deeper is shown flat."}
)

// Lists of addresses.
var (
	listLength = &dissect.FindingType{ID: "master.len6", Severity: dissect.Warning, Text: "%d {byte|bytes} at the end do not make an address",
		Doc: "An address takes 6 bytes, over IPv6 18. The list was cut, or it holds something else."}
	listEmpty = &dissect.FindingType{ID: "master.empty", Severity: dissect.Note, Text: "neither a server nor the end of the list",
		Doc: "A list with nothing in it should hold 0.0.0.0:0; a reply that was cut looks the same. Clients may wait for more."}
	listIPv6 = &dissect.FindingType{ID: "master.ipv6", Severity: dissect.Chat, Text: "addresses of IPv6, known by an end of 18 zero bytes",
		Doc: "Masters of Xash3D list servers with IPv6 to clients that come over it. No field says so."}
)

// What game servers say.
var (
	heartbeatFlavour = &dissect.FindingType{ID: "master.heartbeat.flavour", Severity: dissect.Chat, Text: "%p heartbeat, known by %p",
		Doc: "The engines state the same facts in different order. Nothing else tells them apart."}
	heartbeatOdd = &dissect.FindingType{ID: "master.heartbeat.odd", Severity: dissect.Warning, Text: "the last key has no value",
		Doc: "Keys and values do not pair up: the heartbeat was cut, or a value holds a backslash."}
	heartbeatEnd = &dissect.FindingType{ID: "master.heartbeat.noterm", Severity: dissect.Note, Text: "no new line at the end",
		Doc: "Xash3D leaves it out; a heartbeat that was cut looks the same. Masters that look for it may read on into what an earlier message left in their buffer."}
	heartbeatCounts = &dissect.FindingType{ID: "master.heartbeat.counts", Severity: dissect.Note, Text: "%d {player|players} of at most %d, %d {bot|bots}",
		Doc: "More players than places, or more bots than players: reserved places, bots that are counted apart, or invented numbers."}
	quitForm = &dissect.FindingType{ID: "master.quit.form", Severity: dissect.Chat, Text: "as %p says it",
		Doc: "GoldSrc sends b and a new line, Source a zero byte after them. Other senders may use either form."}
	unknownType = &dissect.FindingType{ID: "master.type", Severity: dissect.Warning, Text: "no message has the type %x",
		Doc: "A letter that neither the document nor the engine's source has for master servers: another protocol on the same port, or a message newer than this program."}
)

var findings = []*dissect.FindingType{
	unanswered, unrequested, challengeMismatch, challengeMissing, listing, cursorRepeat,
	newSocket, seedElsewhere, filterChanged, regionChanged, slowPage, listRestart,
	noTerm, badSeed, badRegion, filterStart, filterUnknown, filterValue, filterOdd, filterCount, filterDepth,
	listLength, listEmpty, listIPv6,
	heartbeatFlavour, heartbeatOdd, heartbeatEnd, heartbeatCounts, quitForm, unknownType,
}

// slow is the age from which the page before is worth a finding: clients ask for the
// next one at once.
const slow = 30 * time.Second

// goesOn compares a request for a page with the one that it goes on from.
func goesOn(x *dissect.Turn) {
	p := x.Page
	if p == nil || p.Before == 0 {
		return
	}
	before := dissect.Num(p.Before)
	if p.Stray {
		x.Note(seedElsewhere, before)
		return
	}
	if p.Sockets > 0 {
		x.Note(newSocket, dissect.Num(p.Sockets), before, dissect.Num(p.Port))
	}
	if p.Filter {
		x.Note(filterChanged, before)
	}
	if p.Region {
		x.Note(regionChanged, before)
	}
	if p.Age >= slow {
		x.Note(slowPage, before, dissect.Dur(p.Age))
	}
}

// follows compares a page with its request and with the first one of the list.
func follows(x *dissect.Turn) {
	if p := x.Page; p != nil {
		if p.Restart {
			x.Note(listRestart)
		}
		if p.Repeat {
			x.Note(cursorRepeat)
		}
	}
}
