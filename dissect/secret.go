package dissect

import "bytes"

// words are those behind which people keep what nobody else should see. In
// traffic that nothing understands, all behind one of them is taken for it.
var words = [...]string{"rcon", "passw", "cdkey", "cd_key", "ticket", "connect "}

// secretAt returns where in opaque bytes a password or ticket could begin, the
// length if there is none. It is a guess and rather hides too much.
func secretAt(b []byte) int {
	for i := range b {
		for _, w := range words {
			if len(b)-i > len(w) && has(b, i, w) {
				return i + len(w)
			}
		}
	}
	return len(b)
}

// mask returns b with asterisks from at on.
func mask(b []byte, at int) []byte {
	if at >= len(b) {
		return b
	}
	c := bytes.Clone(b)
	for i := at; i < len(c); i++ {
		c[i] = '*'
	}
	return c
}

// ShownBytes returns opaque bytes of a message as people and programs may see
// them: those that a protocol could not read, or that stand behind its end.
func ShownBytes(b []byte, secrets bool) []byte {
	if secrets {
		return b
	}
	return mask(b, secretAt(b))
}

// SecretIn returns where in text that a server prints or logs a password
// stands, the length if nowhere: a command for the remote console as the engine
// logs it (rcon 1234 "password" status), and the answer to the question for a
// setting ("rcon_password" = "password", "rconPassword" is:"password").
func SecretIn[T ~string | ~[]byte](s T) int {
	for i := range len(s) {
		switch {
		case has(s, i, "rcon "):
			j := i + 5
			for j < len(s) && digit(s[j]) {
				j++
			}
			if j > i+5 && j < len(s) && s[j] == ' ' {
				return j + 1
			}
		case has(s, i, `password"`):
			for j := i + 9; j < len(s) && j < i+16; j++ {
				if s[j] == '"' {
					return j + 1
				}
			}
		}
	}
	return len(s)
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

// Hidden returns a field that stands for f where it holds a secret.
func (f *Field) Hidden() *Field {
	h := *f
	h.Secret, h.Column = true, f
	return &h
}
