package stats

import "time"

// Numbers as the text form writes them, for other views.

// FormatNumber writes 1,234,567.
func FormatNumber(n uint64) string { return number(n) }

// FormatRate writes a number without decimals, or with one if it is small.
func FormatRate(v float64) string { return rounded(v) }

// FormatShare writes n as a percentage of a number, "" if that is 0.
func FormatShare(n, of uint64) string { return share(n, of) }

// FormatDuration writes a duration in a suitable unit.
func FormatDuration(d time.Duration) string { return duration(d) }

// FormatSize writes a number of bytes in a suitable unit.
func FormatSize(n uint64) string { return size(n) }

// Spark draws a series in a number of columns.
func Spark(s Series, columns int) string { return spark(s, columns) }

// RepliedShare writes how many of the requests got a reply, if only a challenge or a part, of those whose outcome is known.
func (o *Outcome) RepliedShare(requests uint64) string {
	return share(o.replied(), less(requests, o.Other))
}

// less returns a - b, or 0 if that is less.
func less[N uint32 | uint64 | float64](a, b N) N { return a - min(a, b) }

// nearest returns the number nearest to one that is not negative.
func nearest(v float64) uint64 { return uint64(v + 0.5) }
