package display

import "bytes"

// A step selects a member of an object or elements of a list.
type step struct {
	name  string
	index int // noIndex for a member
}

const (
	noIndex  = -1
	anyIndex = -2
)

// maxDepth limits the nesting, because objects may come from a file.
const maxDepth = 64

// walk calls visit for every value at a path until visit returns true. It reports
// whether visit did.
func walk(b []byte, path []step, visit func([]byte) bool) bool {
	return walkIn(b, path, visit, maxDepth)
}

func walkIn(b []byte, path []step, visit func([]byte) bool, depth int) bool {
	if len(path) == 0 {
		return visit(b)
	}
	if len(b) == 0 || depth == 0 {
		return false
	}
	s := path[0]
	if b[0] == '[' {
		n := 0
		return elements(b, func(_, value []byte) bool {
			if s.index == noIndex {
				return walkIn(value, path, visit, depth-1)
			}
			n++
			return (s.index == anyIndex || s.index == n-1) && walkIn(value, path[1:], visit, depth-1)
		})
	}
	if b[0] != '{' || s.index != noIndex {
		return false
	}
	return elements(b, func(key, value []byte) bool {
		return string(key) == s.name && walkIn(value, path[1:], visit, depth-1)
	})
}

// each calls holds for a value, or for the elements of a list.
func each(value []byte, holds func([]byte) bool) bool {
	if len(value) > 0 && value[0] == '[' {
		return elements(value, func(_, v []byte) bool { return holds(v) })
	}
	return holds(value)
}

// elements calls f for the members of an object or a list until f returns true. Keys
// of lists are nil. Keys of objects are not unescaped, because our keys contain no
// escapes.
func elements(b []byte, f func(key, value []byte) bool) bool {
	object := b[0] == '{'
	for i := 1; i < len(b); {
		if i = skip(b, i); i >= len(b) || b[i] == '}' || b[i] == ']' {
			return false
		}
		var key []byte
		if object {
			end := valueEnd(b, i)
			if b[i] != '"' || end-i < 2 {
				return false
			}
			key = b[i+1 : end-1]
			i = skip(b, end)
		}
		end := valueEnd(b, i)
		if end <= i {
			return false
		}
		if f(key, b[i:end]) {
			return true
		}
		i = end
	}
	return false
}

// skip skips the bytes between values.
func skip(b []byte, i int) int {
	for i < len(b) && bytes.IndexByte([]byte(" \t\r\n,:"), b[i]) >= 0 {
		i++
	}
	return i
}

// valueEnd returns the end of the value at i.
func valueEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch c := b[i]; c {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			i = min(i+1, len(b))
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			for i < len(b) && bytes.IndexByte([]byte(" \t\r\n,:]}[{\""), b[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}
