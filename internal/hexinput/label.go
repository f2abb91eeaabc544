package hexinput

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
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

// labels are the labels by what the text before the hex ends in, in lower case.
// The first that matches counts.
var labels = [...]struct {
	match *regexp.Regexp
	kind  label
}{
	{labelRegexp(`^`), named}, // brackets, at the beginning of the line
	{labelRegexp(`^[-=<>]*[<>][-=<>]*`), arrow},
	{regexp.MustCompile(`[<>]$`), named}, // a bracket
	{labelRegexp(`(?:<[-=]*|>)`), content},
	{labelRegexp(`(?:<buffer |(?:hex\w*|\bdecodestring)\W*\()`), decoder},
	{labelRegexp(`\b(?:request|response|reply|query|answer|payload|raw|hex|rx|tx|recv)(?:\W*\([^(]*\))?["'` + "`" + `\s]*[:=(]`), message},
	{labelRegexp(`\b(?:request|response|reply|query|answer|payload|raw|hex|rx|tx|recv|received|rcvd|sent|send|data|bytes?|udp|` +
		`message|msg|packet|datagram|buffer|body|content|dump|in|out|client|server|challenge)\b.*[:=(]`), content},
	{labelRegexp(`[:=(]`), named},
}

// labelRegexp matches a text that ends in a label with quotes and brackets.
func labelRegexp(s string) *regexp.Regexp { return regexp.MustCompile(s + "[ \t\"'`(\\[{]*$") }

// labelAt returns the label before i, on a line that begins at start after its
// time. kind is that of the line.
func (p *parser) labelAt(start, i int, kind label) label {
	if i <= start {
		return kind
	}
	before := strings.ToLower(p.s[max(start, i-window):i])
	words := strings.TrimRight(before, " \t\"'`([{")
	if words != "" && strings.IndexByte(":=<>", words[len(words)-1]) < 0 && !strings.Contains(before[len(words):], "(") && !strings.HasSuffix(words, "<buffer") {
		return prose // as most text
	}
	for _, l := range labels {
		if l.match.MatchString(before) {
			return l.kind
		}
	}
	return prose
}

// A heading is what the lines above plain hex say of it.
type heading struct {
	bytes    int
	src, dst netip.AddrPort
}

// headings are lines that say something of a payload. Those that say something of
// the next one end the plain hex above them.
var headings = [...]struct {
	match *regexp.Regexp
	ends  bool
	read  func(p *parser, m []string)
}{
	{regexp.MustCompile(`Buffer length: (\d{1,5}) bytes`), true, func(p *parser, m []string) { p.flow.bytes, _ = strconv.Atoi(m[1]) }},
	{regexp.MustCompile(`([\[\]0-9a-fA-F:.]+):(\d+) UDP(?:\(\d+\))?-->`), true, func(p *parser, m []string) { p.flow = heading{dst: socket(m[1], m[2])} }},
	{regexp.MustCompile(`([\[\]0-9a-fA-F:.]+):(\d+) <--UDP`), true, func(p *parser, m []string) { p.flow = heading{src: socket(m[1], m[2])} }},
	{regexp.MustCompile(`^Node ([01]): (\S+):(\d+)`), false, func(p *parser, m []string) {
		p.nodes[m[1][0]-'0'] = socket(m[2], m[3])
		clear(p.streams)
	}},
	{regexp.MustCompile(`^[ \t]*Frame \d+: `), false, func(p *parser, _ []string) { p.frame = frame{place: details, first: len(p.found)} }},
	{regexp.MustCompile(`^Data \((\d{1,5}) bytes?\)`), false, func(p *parser, m []string) { p.frame.payload, _ = strconv.Atoi(m[1]) }},
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
		if m := h.match.FindStringSubmatch(l.text); m != nil {
			p.endBlock()
			if h.read(p, m); h.ends {
				return true
			}
		}
	}
	p.flow = heading{}
	return false
}
