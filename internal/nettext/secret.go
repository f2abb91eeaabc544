package nettext

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// words introduce secrets: whatever follows one is masked in traffic that no
// protocol decodes.
var words = [...]string{"rcon", "passw", "pass=", "pwd=", "cdkey", "cd_key", "ticket", "connect "}

// SecretAt returns the offset of a possible secret in opaque bytes, or their length.
// It is a guess that rather masks too much.
func SecretAt(b []byte) int {
	for i, c := range b {
		if !begins[c] {
			continue
		}
		for _, w := range words {
			if c|0x20 != w[0] {
				continue
			}
			if at := after(b, i, w); at < len(b) {
				return at
			}
		}
	}
	return len(b)
}

// begins says of a byte whether one of words begins with it.
var begins = func() (is [256]bool) {
	for _, w := range words {
		is[w[0]], is[w[0]&^0x20] = true, true
	}
	return is
}()

// after returns the offset after a word at i, in single bytes or in UTF-16, or the
// length of b if the word is not there.
func after(b []byte, i int, word string) int {
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

// Mask returns b with asterisks from at on. It uses the memory of dst if b changes.
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

// SecretSetting reports whether the value of a setting is a password: the key names
// one, and the value is more than a flag.
func SecretSetting(key, value string) bool { return SecretKey(key) && !isFlag(value) }

// SecretKey reports whether the key of a setting, or a part of it, names a password.
func SecretKey(key string) bool {
	if len(key) >= 8 && !hasW(key) {
		return false
	}
	for i := len("pass"); i < len(key); i++ {
		if key[i]|0x20 == 'w' && has(key, i-len("pass"), "passw") {
			return true
		}
	}
	return false
}

// SecretKeyAt returns the offset, from one on, of what makes the key of a setting that of a password, or the length of b.
func SecretKeyAt(b []byte, from int) int {
	const word = "passw"
	for i := from; ; i++ {
		n := bytes.IndexByte(b[i:], 'w')
		if n < 0 {
			n = len(b) - i
		}
		if k := bytes.IndexByte(b[i:i+n], 'W'); k >= 0 {
			n = k
		}
		if i += n; i == len(b) {
			return i
		}
		if at := i + 1 - len(word); at >= from && has(b, at, word) {
			return at
		}
	}
}

// hasW reports whether b, of at least eight bytes, may contain a w. Few keys do.
func hasW(b string) bool {
	const small, w = ' ' * ones, 'w' * ones
	x := (binary.LittleEndian.Uint64(Bytes(b[len(b)-8:])) | small) ^ w
	found := (x - ones) &^ x
	for ; len(b) > 8; b = b[8:] {
		x = (binary.LittleEndian.Uint64(Bytes(b)) | small) ^ w
		found |= (x - ones) &^ x
	}
	return found&HighBits != 0
}

// flags are values of settings that are on, off or unset.
var flags = [...]string{"true", "false", "yes", "no", "y", "n", "on", "off", "none", "enabled", "disabled"}

// isFlag reports whether a value is not a password: empty, a number of one digit, or
// a word for yes or no, without regard to colour codes.
func isFlag(v string) bool {
	for {
		v = strings.Trim(v, " \t\r\n\x00")
		n := len(v)
		switch {
		case n >= 2 && v[0] == '^' && Digit(v[1]):
			v = v[2:]
			continue
		case n >= 2 && v[n-2] == '^' && Digit(v[n-1]):
			v = v[:n-2]
			continue
		case n == 0:
			return true
		case n <= 2 && Digit(v[n-1]):
			return n == 1 || v[0] == '-' || v[0] == '+'
		}
		return slices.ContainsFunc(flags[:], func(f string) bool { return n == len(f) && strings.EqualFold(v, f) })
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
