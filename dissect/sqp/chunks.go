package sqp

import (
	"encoding/binary"
	"slices"

	"github.com/qdissect/qdissect/dissect/internal/wire"
)

// A kind is what a chunk of a reply says. Nothing on the wire names it: the request
// asked for some kinds, and they come in this order.
type kind uint8

const (
	kindInfo kind = iota
	kindRules
	kindTable // players or teams
	kindMetrics
	kindOther
	kindShort // a table that has fewer rows than it says
)

// The types of values.
const (
	type8 = iota
	type16
	type32
	type64
	typeText
	typeFloat
	types
)

// lengths are those of the values of each type; that of text stands before it.
var lengths = [types]int{type8: 1, type16: 2, type32: 4, type64: 8, typeText: 1, typeFloat: 4}

// skipText returns where the text at offset at of b ends, -1 if it does not.
func skipText(b []byte, at int) int {
	if at < 0 || at >= len(b) || at+1+int(b[at]) > len(b) {
		return -1
	}
	return at + 1 + int(b[at])
}

// skipValue is skipText for a value of a type.
func skipValue(b []byte, at int, of uint8) int {
	switch {
	case of == typeText:
		return skipText(b, at)
	case of >= types || at < 0 || at+lengths[of] > len(b):
		return -1
	}
	return at + lengths[of]
}

// scan returns where a chunk of a kind would end if b is one, -1 if it is not.
func scan(b []byte, of kind) (at int) {
	switch of {
	case kindInfo:
		at = 4 // players, and how many may be
		for range 4 {
			at = skipText(b, at)
		}
		if at < 0 || at+2 > len(b) {
			return -1
		}
		return at + 2
	case kindRules:
		for at >= 0 && at < len(b) {
			if at = skipText(b, at); at < 0 || at >= len(b) {
				return -1
			}
			at = skipValue(b, at+1, b[at])
		}
		return at
	case kindTable:
		if end, rows := scanTable(b); end > 0 && rows == announced(b) {
			return end
		}
	case kindMetrics:
		if len(b) > 0 && len(b) == 1+4*int(b[0]) {
			return len(b)
		}
	}
	return -1
}

// announced returns how many rows a table says it has.
func announced(b []byte) int { return int(binary.BigEndian.Uint16(b)) }

const lenTable = 2 + 1 // rows and columns, before the names of the columns

// scanTable returns where the whole rows of a table end and how many they are, -1 if b
// does not begin as a table.
func scanTable(b []byte) (at, rows int) {
	if len(b) >= 2 && announced(b) == 0 {
		return 2, 0
	}
	if len(b) < lenTable || b[2] == 0 {
		return -1, 0
	}
	at, columns := lenTable, int(b[2])
	for range columns {
		if at = skipText(b, at); at < 0 || at >= len(b) {
			return -1, 0
		}
		at++
	}
	for ; rows < announced(b); rows++ {
		end, name := at, lenTable
		for range columns {
			of := skipText(b, name)
			if end = skipValue(b, end, b[of]); end < 0 {
				return at, rows
			}
			name = of + 1
		}
		at = end
	}
	return at, rows
}

// isShort reports whether b is a table with fewer rows than it says, and how many it
// has. Any bytes can look like columns: only those count that have a name in ASCII and a
// type.
func isShort(b []byte) (rows int, ok bool) {
	end, rows := scanTable(b)
	if end < 0 || rows == announced(b) {
		return 0, false
	}
	at := lenTable
	for range b[2] {
		name := b[at+1 : skipText(b, at)]
		at += 1 + len(name)
		if len(name) == 0 || slices.ContainsFunc(name, wire.Unprintable) || b[at] >= types {
			return 0, false
		}
		at++
	}
	return rows, true
}

// maxChunks is how many chunks a reply can have.
const maxChunks = 5

// chunks are the kinds of the chunks of a reply, as far as they are whole.
type chunks struct {
	kinds  [maxChunks]kind
	rows   [maxChunks]int // of those of kindShort
	n      int
	tables int
}

// find tells the chunks of a reply apart.
func (c *chunks) find(b []byte) {
	*c = chunks{}
	for next := kindInfo; len(b) >= 4 && c.n < maxChunks; c.n++ {
		n := int(binary.BigEndian.Uint32(b))
		if n < 0 || n > len(b)-4 {
			return
		}
		k, rows := tell(b[4:4+n], next)
		c.kinds[c.n], c.rows[c.n] = k, rows
		b = b[4+n:]
		switch k {
		case kindTable, kindShort:
			c.tables++
			if next = kindTable; c.tables == 2 {
				next = kindMetrics
			}
		case kindOther:
		default:
			next = k + 1
		}
	}
}

// tell returns the kind of a chunk, which is not before next, and the rows of one of
// kindShort. What a kind ends in the middle of may have been extended: then the bytes
// behind it are for newer clients.
func tell(b []byte, next kind) (k kind, rows int) {
	for k := next; k <= kindMetrics; k++ {
		if scan(b, k) == len(b) {
			return k, 0
		}
	}
	// A long table can pass for an info with something behind it.
	if rows, ok := isShort(b); ok && next <= kindTable {
		return kindShort, rows
	}
	for k := next; k <= kindMetrics; k++ {
		if k != kindRules && scan(b, k) > 0 {
			return k, 0
		}
	}
	return kindOther, 0
}
