package hexinput

import (
	"net/netip"
	"regexp"
	"slices"
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
	named            // other words, as in prose
)

// labelWords are words of labels. After those for messages it can be nothing but a
// payload, after the others also a number.
const (
	messageWords = "request|response|reply|query|answer|payload|raw|hex|rx|tx|recv"
	labelWords   = "|" + messageWords + "|received|rcvd|sent|send|data|byte|bytes|udp|message|msg|packet|datagram|buffer|body|" +
		"content|dump|in|out|client|server|challenge|"
)

// labelTail is what may stand between a label and the hex.
const labelTail = " \t\"'`([{"

var (
	// decoderEnd matches a label of what certainly is followed by hex, messageEnd one with
	// a word for a message.
	decoderEnd = lazyregexp.New(`(?:<buffer |(?:hex\w*|\bdecodestring)\W*\()[` + labelTail + `]*$`)
	messageEnd = lazyregexp.New(`\b(?:` + messageWords + `)(?:\W*\([^(]*\))?["'` + "`" + `\s]*[:=(][` + labelTail + `]*$`)
)

// labelAt returns the label before i, on a line that begins at start after its
// time. kind is that of the line.
func (p *parser) labelAt(start, i int, kind label) label {
	if i <= start {
		return kind
	}
	before := strings.ToLower(p.s[max(start, i-window):i])
	words := strings.TrimRight(before, labelTail)
	switch pointed := strings.HasSuffix(words, ">") || strings.HasSuffix(strings.TrimRight(words, "-="), "<"); {
	case strings.Trim(words, "-=<>") == "" && strings.ContainsAny(words, "<>"):
		return arrow
	case words == "", words == before && strings.ContainsAny(words[len(words)-1:], "<>"): // brackets
		return named
	case pointed:
		return content
	case !strings.ContainsAny(before[len(words)-1:], ":=(") && !strings.HasSuffix(words, "<buffer"):
		return named // nothing separates them from the hex
	case decoderEnd().MatchString(before):
		return decoder
	}
	all := strings.FieldsFunc(before, func(r rune) bool { return !isWord(byte(r)) })
	switch {
	case !slices.ContainsFunc(all, func(word string) bool { return strings.Contains(labelWords, "|"+word+"|") }):
		return named
	case messageEnd().MatchString(before):
		return message
	}
	return content
}

// headings are lines that say something of the payloads below them.
var headings = [...]struct {
	match func() *regexp.Regexp
	read  func(p *parser, m []string)
}{
	{lazyregexp.New(`^Node ([01]): (\S+):(\d+)`), func(p *parser, m []string) {
		p.nodes[m[1][0]-'0'] = socket(m[2], m[3])
		clear(p.streams)
	}},
	{lazyregexp.New(`^[ \t]*Frame \d+: `), func(p *parser, _ []string) { p.frame = frame{details: true, first: len(p.found)} }},
	{lazyregexp.New(`^Data \((\d{1,5}) bytes?\)`), func(p *parser, m []string) { p.frame.payload, _ = strconv.Atoi(m[1]) }},
}

// heading reads a line that says something of those below it.
func (p *parser) heading(l line) bool {
	if !strings.ContainsAny(l.text, "FND") { // as in their words
		return false
	}
	for _, h := range headings {
		if m := h.match().FindStringSubmatch(l.text); m != nil {
			p.endBlock()
			h.read(p, m)
		}
	}
	return false
}

// socket returns an address with its port; zero if they are not valid.
func socket(addr, port string) netip.AddrPort {
	a, err := netip.ParseAddr(strings.Trim(addr, "[]"))
	n, err2 := strconv.ParseUint(port, 10, 16)
	if err != nil || err2 != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a, uint16(n))
}
