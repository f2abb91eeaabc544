// Package console finds passwords in what the consoles of games read and write.
package console

import (
	"strings"

	"github.com/qdissect/qdissect/internal/nettext"
)

// Secret returns where in text that a server prints or logs a password
// stands, the length if nowhere: in a command for the remote console as the
// engine logs it (rcon 1234 "password" status), in the answer to the question
// for a setting ("rcon_password" = "password", "rconPassword" is:"password"), in
// a line of a configuration (set g_password password).
func Secret(s string) int { return secretIn(s, false) }

// CommandSecret returns where in a command for a console a password stands,
// the length if nowhere: behind the name of a setting that holds one.
func CommandSecret(s string) int { return secretIn(s, true) }

func secretIn(s string, command bool) int {
	first := -1 // what the line begins with, or the command, but for blanks and quotation marks
	for i := 0; i < len(s); i++ {
		at := -1
		switch c := s[i]; c {
		case ' ', '\t', '"':
			continue
		case '\n':
			first = -1
			continue
		case ';':
			if command {
				first = -1
				continue
			}
		case 'r', 'R':
			at = behindRcon(s, i, first < 0)
		case 'w', 'W':
			if i >= 4 && has(s, i-4, "pass") {
				at = behindKey(s, i-4, first, command)
			}
		case 'c':
			if has(s, i, logged) {
				command, first = true, -1
				i += len(logged) - 1
				continue
			}
		}
		if at >= 0 {
			return at
		}
		if first < 0 {
			first = i
		}
	}
	return len(s)
}

// logged is what stands before a command in the log of Source.
const logged = `command "`

// behindRcon returns where the password of a command rcon at i begins, -1 if
// there is none. Behind the number that Half-Life has there, or in quotation
// marks, it can be nothing else; first says that nothing stands before it.
func behindRcon(s string, i int, first bool) int {
	if !has(s, i, "rcon ") {
		return -1
	}
	word := i + len("rcon ")
	for word < len(s) && s[word] == ' ' {
		word++
	}
	at := word
	if at < len(s) && (s[at] == '-' || s[at] == '+') {
		at++
	}
	digits := at
	for at < len(s) && digit(s[at]) {
		at++
	}
	switch {
	case word == len(s):
	case s[word] == '"':
		return word + 1
	case at > digits && at < len(s) && s[at] == ' ':
		return at + 1
	case at > digits && at == len(s), has(s, word, "from "), has(s, word, "passw"):
	case first:
		return word
	}
	return -1
}

// No name of a setting is longer than maxKey, and what stands farther from it
// than maxFar is not looked at: texts have 64 KiB, and any number of names.
const (
	maxKey = 64
	maxFar = 512
)

// behindKey returns where the value of a setting begins in whose name a "passw"
// stands at i, -1 if there is none or it is no secret. first is what the line
// begins with, or the command.
func behindKey(s string, i, first int, command bool) int {
	s = s[:min(len(s), i+maxFar)]
	key, end := i, i+len("passw")
	for key > max(first, 0) && i-key < maxKey && inKey(s[key-1]) {
		key--
	}
	for end < len(s) && inKey(s[end]) && !digit(s[end]) {
		end++
	}
	at := end
	if at < len(s) && key > 0 && s[at] == s[key-1] && (s[at] == '"' || s[at] == '\'') {
		at++
	}
	if at < len(s) && s[at] == '\\' { // in a userinfo
		return secretOr(s, at+1, until(s, at+1, "\\\"\n"))
	}
	at, gap, sign := behindWords(s, at)
	switch {
	case at == len(s), at == end, s[at] == '\n':
		return -1 // at the end, or a part of something else: password123
	case s[at] == '"' || s[at] == '\'':
		return secretOr(s, at+1, until(s, at+1, s[at:at+1]))
	}
	named := key < i // it is not the word password alone, which sentences have as well
	switch {
	case command && (named || key == first):
		return secretOr(s, at, until(s, at, ";\"\n"))
	case sign == '=', key-first <= len("seta ") && has(s, first, "set"):
		return secretOr(s, at, until(s, at, "\n"))
	case named && sign == ':' && gap > 0: // cvarlist of Source
		return secretOr(s, at, until(s, at, " \t\n"))
	case named || sign != 0 || gap > 1:
		// Not in a sentence: it is the last word of the line.
		last := strings.Trim(s[at:until(s, at, "\n")], " \t\r\x00\"';")
		if !strings.ContainsAny(last, " \t") {
			return secretOr(s, at, until(s, at, "\n"))
		}
	}
	return -1
}

// behindWords skips what consoles write between the name of a setting and its
// value, colour codes as well. gap is how many blanks come first, sign the one
// that there is among it.
func behindWords(s string, from int) (value, gap int, sign byte) {
	at := from
next:
	for at < len(s) {
		switch c := s[at]; {
		case c == ' ' || c == '\t':
			if at == from+gap {
				gap++
			}
			at++
			continue
		case c == '=' || c == ':':
			sign = c
			at++
			continue
		case c == '^' && at+1 < len(s) && digit(s[at+1]):
			at += 2
			continue
		}
		for _, w := range [...]string{"is ", "is:", "changed to ", "set to ", "to "} {
			if has(s, at, w) {
				at += len(w) - 1
				continue next
			}
		}
		break
	}
	return at, gap, sign
}

// secretOr returns where a value begins, -1 if it is no secret.
func secretOr(s string, from, to int) int {
	if nettext.SecretSetting("password", s[from:to]) {
		return from
	}
	return -1
}

// has reports whether s has a word of ASCII at i, in small or capital letters.
func has(s string, i int, word string) bool {
	return len(s)-i >= len(word) && strings.EqualFold(s[i:i+len(word)], word)
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

// until returns where the first of some bytes stands, the length if none does.
func until(s string, from int, stop string) int {
	if n := strings.IndexAny(s[from:], stop); n >= 0 {
		return from + n
	}
	return len(s)
}

// inKey reports whether a byte can be of the name of a setting.
func inKey(b byte) bool {
	return b|0x20 >= 'a' && b|0x20 <= 'z' || digit(b) || b == '_' || b == '.' || b == '-'
}
