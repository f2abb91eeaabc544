package nettext

import (
	"encoding/binary"
	"strings"
	"unsafe"
)

// words are those behind which people keep what nobody else should see. In
// traffic that nothing understands, all behind one of them is taken for it.
var words = [...]string{"rcon", "passw", "pass=", "pwd=", "cdkey", "cd_key", "ticket", "connect "}

// SecretAt returns where in opaque bytes a password or ticket could begin, the
// length if there is none. It is a guess and rather hides too much.
func SecretAt(b []byte) int {
	for i := range b {
		switch b[i] | 0x20 {
		case 'r', 'p', 'c', 't': // with which all of them begin
			for _, w := range words {
				if at := behind(b, i, w); at < len(b) {
					return at
				}
			}
		}
	}
	return len(b)
}

// behind returns what follows a word at i, in one byte for each letter or in
// two, as UTF-16 has it; the length if it is not there.
func behind(b []byte, i int, word string) int {
	if has(b, i, word) {
		return i + len(word)
	}
	if len(b)-i < 2*len(word) || b[i+1] != 0 {
		return len(b)
	}
	for k := range len(word) {
		if b[i+2*k+1] != 0 || !has(b, i+2*k, word[k:k+1]) {
			return len(b)
		}
	}
	return i + 2*len(word)
}

// Mask returns b with asterisks from at on, in the memory of dst if it changes.
func Mask(dst, b []byte, at int) []byte {
	if at >= len(b) {
		return b
	}
	dst = append(dst[:0], b...)
	for i := at; i < len(dst); i++ {
		dst[i] = '*'
	}
	return dst
}

// SecretSetting reports whether the value of a setting is a password: the name
// says that it is one, and the value not only whether there is one.
func SecretSetting(key, value string) bool { return SecretKey(key) && !isFlag(value) }

// SecretKey reports whether a setting is called a password, or a part of its
// name is.
func SecretKey(key string) bool {
	switch {
	case len(key) < len("passw"):
		return false
	case len(key) >= 8 && !hasW(key):
		return false
	}
	for i := range len(key) - len("pass") {
		if has(key, i, "passw") {
			return true
		}
	}
	return false
}

// hasW reports whether b, of eight bytes at least, has a w. It may say so where
// there is none. Few names of settings have one.
func hasW(b string) bool {
	const (
		ones  = 0x0101010101010101
		small = ' ' * ones
		w     = 'w' * ones
		high  = 0x80 * ones
	)
	x := (word(b[len(b)-8:]) | small) ^ w
	found := (x - ones) &^ x & high
	for ; len(b) > 8; b = b[8:] {
		x = (word(b) | small) ^ w
		found |= (x - ones) &^ x & high
	}
	return found != 0
}

// flags are what a setting says that is on or off, or has no value.
var flags = [...]string{"true", "false", "yes", "no", "y", "n", "on", "off", "none", "enabled", "disabled"}

// isFlag reports whether a value is no password: nothing, a number of one digit,
// a word for yes or no. Colour codes count for nothing.
func isFlag(v string) bool {
	for {
		v = strings.Trim(v, " \t\r\n\x00")
		n := len(v)
		switch {
		case n >= 2 && v[0] == '^' && digit(v[1]):
			v = v[2:]
			continue
		case n >= 2 && v[n-2] == '^' && digit(v[n-1]):
			v = v[:n-2]
			continue
		case n == 0:
			return true
		case n <= 2 && digit(v[n-1]):
			return n == 1 || v[0] == '-' || v[0] == '+'
		}
		for _, f := range flags {
			if n == len(f) && strings.EqualFold(v, f) {
				return true
			}
		}
		return false
	}
}

// has reports whether s has word at i, in small or capital letters.
func has[T ~string | ~[]byte](s T, i int, word string) bool {
	if len(s)-i < len(word) {
		return false
	}
	for k := range len(word) {
		if s[i+k] != word[k] && (s[i+k]|0x20 != word[k] || word[k] < 'a') {
			return false
		}
	}
	return true
}

// word returns the first eight bytes of s, of which there must be as many.
func word(s string) uint64 {
	return binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(s), len(s)))
}
