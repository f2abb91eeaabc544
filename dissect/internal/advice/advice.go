// Package advice has the advice of findings that many protocols have.
package advice

const (
	// Amplification is for servers that send much data to addresses that nothing verifies.
	Amplification = "Limit the replies to each address, in the settings of the server if it has such a limit, else in a firewall: qdissect report suggests a rule that fits the traffic. A server that only known programs query can be opened to their addresses alone."
	// MissingParts is for replies whose parts did not all come.
	MissingParts = "Capture on the host of the server too. If all parts leave it, something on the way drops them: look for firewalls and NATs that drop IP fragments or later packets, and for full links. If they do not, look for limits on the server's host. If the capture itself lost frames, capture again with a larger buffer (-B). A client should show what it has after a timeout, and ask again."
	// MixedParts is for parts that contradict each other.
	MixedParts = "A client should discard such a set and ask again instead of mixing the parts, with a new id if it may choose one. If one server does so again and again, report it to its author with the capture (qdissect cut makes a small one). If the parts differ in TTL or come another way, somebody forges them."
	// FirstPart is for replies that cannot be read without their first part.
	FirstPart = "A client has to keep parts that arrive early until the first one is there, and ask again if it does not come. If it is always the first part that is missing, look for what drops it: a firewall, or a capture filter that the part does not match."
	// OddPairs is for keys and values that do not pair up.
	OddPairs = "Look at the bytes (qdissect -x). If a name or setting contains a backslash, remove it in the configuration of the server. A client should keep the pairs before it and must not rely on an even number of texts. If the reply ends in the middle, treat it as truncated."
	// CutList is for lists that end within an entry.
	CutList = "A client should keep the complete entries and ignore the rest. If the server truncates the list, make names, settings or the list shorter so that they fit into a packet. If the frames are incomplete, capture again with the whole length (tcpdump -s 0)."
	// WrongCount is for numbers that are not those of the entries.
	WrongCount = "A client should read entries until the data ends and take the number for a hint. On the server, look for plugins that change the list without changing the number."
	// WrongLength is for lengths that are not those of the data.
	WrongLength = "Check how the sender computes the length: which bytes of the header it includes, and its byte order. A receiver should check the length before it reads and drop the packet if it is longer than the data. If packets of all senders are like this, something on the way cuts or pads them."
	// KeepChallenge is for challenges that the server did not give.
	KeepChallenge = "A client should keep one challenge for each address and port of a server and of its own, return the bytes as they came, and begin again when the server answers with another one. If the challenge may be older than the capture, nothing has to be done."
	// LongReply is for requests with a challenge that have no reply.
	LongReply = "Compare captures of the client and of the server's host. If the long reply leaves the server, the way back drops it: let IP fragments and large UDP packets pass, or make the list shorter. If it does not leave, look at rate limits on the server and its host. A client should begin again with a new challenge."
	// ReturnedValue is for replies that do not return a value of their request.
	ReturnedValue = "A client should compare the value with that of its request and ignore replies that differ. If all replies of a server differ, it does not return the value as it came: report it to its author."
	// NoReply is for requests that have no reply.
	NoReply = "Ask qdissect why ADDRESS about the server: it compares all requests to it. Check that it runs, that the port is its query port, and that firewalls on its host and on the way pass UDP in both directions; a capture on the host shows which side is silent."
)
