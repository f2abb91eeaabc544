package hexinput

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// A label is what stands before hex on its line.
type label uint8

const (
	unlabelled label = iota
	timed            // the time of a log
	arrow            // ->, <, and the like
	message          // a word for a message, as in "reply:"
	content          // a word that may also introduce a number, as in "received:"
	decoder          // what certainly is followed by hex
	named            // another word
	prose            // words, and nothing that separates them from the hex
)

// labelWords are words of labels. Those of content may also introduce a number.
var labelWords = map[string]label{
	"request": message, "response": message, "reply": message, "query": message, "answer": message, "payload": message,
	"raw": message, "hex": message, "rx": message, "tx": message, "recv": message,

	"received": content, "rcvd": content, "sent": content, "send": content, "data": content, "byte": content, "bytes": content,
	"udp": content, "message": content, "msg": content, "packet": content, "datagram": content, "buffer": content, "body": content,
	"content": content, "dump": content, "in": content, "out": content, "client": content, "server": content, "challenge": content,
}

// labelTail is what may stand between a label and the hex.
const labelTail = " \t\"'`([{"

var (
	// decoderEnd matches a label of what certainly is followed by hex, afterMessage
	// what may stand between a word for a message and the hex.
	decoderEnd   = lazyregexp.New(`(?:<buffer |(?:hex\w*|\bdecodestring)\W*\()[` + labelTail + `]*$`)
	afterMessage = lazyregexp.New(`^(?:\W*\([^(]*\))?["'` + "`" + `\s]*[:=(][` + labelTail + `]*$`)
)

// labelAt returns the label before i, on a line that begins at start after its
// time. kind is that of the line.
func (p *parser) labelAt(start, i int, kind label) label {
	if i <= start {
		return kind
	}
	before := strings.ToLower(p.s[max(start, i-window):i])
	words := strings.TrimRight(before, labelTail)
	tail := before[len(words):]
	arrows := strings.TrimRight(words, "-=")
	last := byte(' ')
	if words != "" {
		last = words[len(words)-1]
	}
	separated := last == ':' || last == '=' || strings.Contains(tail, "(")
	switch {
	case words == "": // brackets, at the beginning of the line
		return named
	case strings.Trim(words, "-=<>") == "" && strings.ContainsAny(words, "<>"):
		return arrow
	case tail == "" && (last == '<' || last == '>'): // a bracket
		return named
	case last == '>', strings.HasSuffix(arrows, "<"):
		return content
	case (strings.Contains(before, "<buffer ") || strings.Contains(tail, "(") && (strings.Contains(before, "hex") || strings.Contains(before, "decodestring"))) &&
		decoderEnd().MatchString(before):
		return decoder
	case !separated:
		return prose // as most text
	}
	return labelIn(before)
}

// labelIn returns the label in a text that ends in what separates one from the hex.
func labelIn(before string) label {
	best := named
	for i := 0; i < len(before); i++ {
		from := i
		for i < len(before) && isWord(before[i]) {
			i++
		}
		switch labelWords[before[from:i]] {
		case message:
			if afterMessage().MatchString(before[i:]) {
				return message
			}
			best = content
		case content:
			best = content
		}
	}
	return best
}

// A heading is what the lines above plain hex say of it.
type heading struct {
	bytes    int
	src, dst netip.AddrPort
}

// headings are lines that say something of a payload. Those that say something of
// the next one end the plain hex above them.
var headings = [...]struct {
	match func() *regexp.Regexp
	ends  bool
	read  func(p *parser, m []string)
}{
	{lazyregexp.New(`Buffer length: (\d{1,5}) bytes`), true, func(p *parser, m []string) { p.flow.bytes, _ = strconv.Atoi(m[1]) }},
	{lazyregexp.New(`([\[\]0-9a-fA-F:.]+):(\d+) UDP(?:\(\d+\))?-->`), true, func(p *parser, m []string) { p.flow = heading{dst: socket(m[1], m[2])} }},
	{lazyregexp.New(`([\[\]0-9a-fA-F:.]+):(\d+) <--UDP`), true, func(p *parser, m []string) { p.flow = heading{src: socket(m[1], m[2])} }},
	{lazyregexp.New(`^Node ([01]): (\S+):(\d+)`), false, func(p *parser, m []string) {
		p.nodes[m[1][0]-'0'] = socket(m[2], m[3])
		clear(p.streams)
	}},
	{lazyregexp.New(`^[ \t]*Frame \d+: `), false, func(p *parser, _ []string) { p.frame = frame{place: details, first: len(p.found)} }},
	{lazyregexp.New(`^Data \((\d{1,5}) bytes?\)`), false, func(p *parser, m []string) { p.frame.payload, _ = strconv.Atoi(m[1]) }},
}

// heading reads a line that says something of those below it.
func (p *parser) heading(l line) bool {
	if strings.HasSuffix(strings.TrimRight(l.text, blanks), "!!binary |") { // Wireshark's YAML
		next, _, _ := p.afterBlanks(l)
		if p.base64Lines(next, true) {
			return true
		}
	}
	for _, h := range headings {
		if !strings.ContainsAny(l.text, "BUFND") { // as in their words
			break
		}
		if m := h.match().FindStringSubmatch(l.text); m != nil {
			p.endBlock()
			if h.read(p, m); h.ends {
				return true
			}
		}
	}
	p.flow = heading{}
	return false
}
