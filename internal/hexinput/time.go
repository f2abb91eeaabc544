package hexinput

import (
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

var (
	// stamp matches the time at the beginning of a line of a log.
	stamp = lazyregexp.New(`^[ \t]*[\[(]?(?:` +
		`\d{4}[-/.]\d\d[-/.]\d\d(?:[T ]\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?)?|` +
		`\d\d?:\d\d:\d\d(?:[.,]\d+)?)` +
		`(?:Z| ?[+-]\d\d:?\d\d)?` +
		`(?:[\])][:,]?[ \t]*|:?[ \t]+|$)(?:[-|][ \t]+)?`)
	// epochStart matches the seconds since 1970 that tcpdump -tt writes before a
	// packet, and what Wireshark says of one.
	epochStart = lazyregexp.New(`^[ \t]*(?:Epoch (?:Arrival )?Time: )?(\d{9,10}\.\d{3,9})(?: seconds| IP| eth|[: ]+\S)`)
	epoch      = lazyregexp.New(`^\d{9,10}(?:\.\d{1,9})?$`)
)

// mayBeTime reports whether the text from i on may begin with a time.
func mayBeTime(text string, i int) bool {
	return i < len(text) && (isDigit(text[i]) || strings.IndexByte("[(E", text[i]) >= 0)
}

// timeOf returns the time with which a line begins, zero if there is none.
func timeOf(text string) time.Time {
	if !mayBeTime(text, skipBlanks(text, 0)) {
		return time.Time{}
	}
	if m := epochStart().FindStringSubmatch(right(text, 0)); m != nil {
		return parseTime(m[1])
	}
	s := strings.Trim(stamp().FindString(right(text, 0)), " \t[](),:|-")
	return parseTime(strings.NewReplacer(",", ".", "T", " ", " +", "+").Replace(s))
}

// begin returns where a line begins after its time.
func (l *line) begin() (int, label) {
	i := skipBlanks(l.text, 0)
	if mayBeTime(l.text, i) {
		if n := skipBlanks(l.text, len(stamp().FindString(right(l.text, 0)))); n > i && n < len(l.text) {
			return l.start + n, timed
		}
	}
	return l.start + i, unlabelled
}

// parseTime reads the time that a dump gives: seconds since 1970, or a date with
// a time, in UTC if it names no zone. It is zero for anything else. A time of the
// day alone is one of the year 0.
func parseTime(s string) time.Time {
	for _, layout := range [...]string{
		time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006/01/02 15:04:05.999999999",
		"2006-01-02T15:04:05.999999999", "15:04:05.999999999",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	if seconds, err := time.ParseDuration(s + "s"); err == nil && epoch().MatchString(s) {
		return time.Unix(0, int64(seconds)).UTC()
	}
	return time.Time{}
}
