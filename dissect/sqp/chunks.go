package sqp

import "encoding/binary"

// A kind is what a chunk of a reply says. Nothing on the wire names it: the request
// asked for some kinds, and they come in this order.
type kind uint8

const (
	kindInfo kind = iota
	kindRules
	kindTable // players or teams
	kindMetrics
	kindOther
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
		return scanTable(b)
	case kindMetrics:
		if len(b) > 0 && len(b) == 1+4*int(b[0]) {
			return len(b)
		}
	}
	return -1
}

func scanTable(b []byte) int {
	if len(b) < 2 {
		return -1
	}
	rows := int(binary.BigEndian.Uint16(b))
	if rows == 0 {
		return 2
	}
	if len(b) < 3 {
		return -1
	}
	const head = 3
	at, columns := head, int(b[2])
	for range columns {
		if at = skipText(b, at); at < 0 || at >= len(b) {
			return -1
		}
		at++
	}
	if columns == 0 || rows*columns > len(b)-at {
		return -1
	}
	for range rows {
		name := head
		for range columns {
			of := skipText(b, name)
			if at = skipValue(b, at, b[of]); at < 0 {
				return -1
			}
			name = of + 1
		}
	}
	return at
}

// maxChunks is how many chunks a reply can have.
const maxChunks = 5

// chunks are the kinds of the chunks of a reply, as far as they are whole.
type chunks struct {
	kinds  [maxChunks]kind
	n      int
	tables int
}

// find tells the chunks of a reply apart. What a kind ends in the middle of may have
// been extended: then the bytes behind it are for newer clients.
func (c *chunks) find(b []byte) {
	*c = chunks{}
	for next := kindInfo; len(b) >= 4 && c.n < maxChunks; c.n++ {
		n := int(binary.BigEndian.Uint32(b))
		if n < 0 || n > len(b)-4 {
			return
		}
		body := b[4 : 4+n]
		b = b[4+n:]
		c.kinds[c.n] = kindOther
		found := false
		for _, whole := range [...]bool{true, false} {
			for k := next; k <= kindMetrics && !found; k++ {
				if end := scan(body, k); end == n || end > 0 && !whole && k != kindRules {
					c.kinds[c.n], found = k, true
				}
			}
		}
		switch k := c.kinds[c.n]; {
		case k == kindTable:
			c.tables++
			if next = kindTable; c.tables == 2 {
				next = kindMetrics
			}
		case found:
			next = k + 1
		}
	}
}
