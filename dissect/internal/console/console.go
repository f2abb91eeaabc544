// Package console finds passwords in the input and output of game consoles.
package console

import (
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Secret returns the offset of a password in text that a server prints or logs, or the
// length of the text if there is none. It finds passwords in a remote console command
// as the engine logs it (rcon 1234 "password" status), in the reply to a query of a
// setting ("rcon_password" = "password", "rconPassword" is:"password"), and in a line
// of a configuration (set g_password password).
func Secret(s string) int { return secretIn(s, false) }

// CommandSecret returns the offset of a password in a console command, or the length of
// the command if there is none. A password follows the name of a setting that holds
// one.
func CommandSecret(s string) int { return secretIn(s, true) }

// Hide hides the text that was read last if it contains a password.
func Hide(r *dissect.Reader, hidden *dissect.Field, text string) {
	if core.Tree(r) && Secret(text) < len(text) {
		core.Hide(r, hidden)
	}
}

// HideCommand is like Hide for a console command.
func HideCommand(r *dissect.Reader, hidden *dissect.Field, command string) {
	if core.Tree(r) && CommandSecret(command) < len(command) {
		core.Hide(r, hidden)
	}
}

func secretIn(s string, command bool) int {
	first := -1 // offset of the first word of the line or command
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
			at = afterRcon(s, i, first < 0)
		case 'w', 'W':
			if i >= 4 && has(s, i-4, "pass") {
				at = afterKey(s, i-4, first, command)
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

// logged precedes a command in the log of Source.
const logged = `command "`

// afterRcon returns the offset of the password in an rcon command at i, or -1 if there
// is none. A word after Half-Life's number, or in quotation marks, is always the
// password. first reports whether the command begins the line.
func afterRcon(s string, i int, first bool) int {
	if !has(s, i, "rcon ") {
		return -1
	}
	word := len(s) - len(strings.TrimLeft(s[i+len("rcon "):], " "))
	at := word
	if at < len(s) && (s[at] == '-' || s[at] == '+') {
		at++
	}
	digits := at
	at += wire.While(s[at:], nettext.Digit)
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

// Names of settings have at most maxKey bytes, and a value is searched within maxFar
// bytes of its name: a text may have 64 KiB and any number of names.
const (
	maxKey = 64
	maxFar = 512
)

// afterKey returns the offset of the value of a setting with "passw" at i in its name,
// or -1 if the value is missing or not secret. first is the offset of the first word of
// the line or command.
func afterKey(s string, i, first int, command bool) int {
	s = s[:min(len(s), i+maxFar)]
	key, end := i, i+len("passw")
	for key > max(first, 0) && i-key < maxKey && inKey(s[key-1]) {
		key--
	}
	end += wire.While(s[end:], func(c byte) bool { return inKey(c) && !nettext.Digit(c) })
	at := end
	if at < len(s) && key > 0 && s[at] == s[key-1] && (s[at] == '"' || s[at] == '\'') {
		at++
	}
	if at < len(s) && s[at] == '\\' { // in a userinfo
		return secretOr(s, at+1, until(s, at+1, "\\\"\n"))
	}
	at, gap, sign := afterWords(s, at)
	switch {
	case at == len(s), at == end, s[at] == '\n':
		return -1 // at the end, or part of another word: password123
	case s[at] == '"' || s[at] == '\'':
		return secretOr(s, at+1, until(s, at+1, s[at:at+1]))
	}
	named := key < i // not just the word password, which also occurs in sentences
	switch {
	case command && (named || key == first):
		return secretOr(s, at, until(s, at, ";\"\n"))
	case sign == '=', key-first <= len("seta ") && has(s, first, "set"):
		return secretOr(s, at, until(s, at, "\n"))
	case named && sign == ':' && gap > 0: // cvarlist of Source
		return secretOr(s, at, until(s, at, " \t\n"))
	case named || sign != 0 || gap > 1:
		// The last word of the line, so this is not a sentence.
		last := strings.Trim(s[at:until(s, at, "\n")], " \t\r\x00\"';")
		if !strings.ContainsAny(last, " \t") {
			return secretOr(s, at, until(s, at, "\n"))
		}
	}
	return -1
}

// afterWords skips the text that consoles write between the name of a setting and its
// value, with colour codes. gap is the number of blanks at its start, and sign the = or
// : in it.
func afterWords(s string, from int) (value, gap int, sign byte) {
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
		case c == '^' && at+1 < len(s) && nettext.Digit(s[at+1]):
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

// secretOr returns the offset of a value, or -1 if it is not secret.
func secretOr(s string, from, to int) int {
	return nettext.Either(nettext.SecretSetting("password", s[from:to]), from, -1)
}

// has reports whether s has an ASCII word at i, compared without case.
func has(s string, i int, word string) bool {
	return len(s)-i >= len(word) && strings.EqualFold(s[i:i+len(word)], word)
}

// until returns the offset of the first byte of stop, or the length if there is none.
func until(s string, from int, stop string) int {
	if n := strings.IndexAny(s[from:], stop); n >= 0 {
		return from + n
	}
	return len(s)
}

// inKey reports whether b may be part of the name of a setting.
func inKey(b byte) bool {
	return b|0x20 >= 'a' && b|0x20 <= 'z' || nettext.Digit(b) || b == '_' || b == '.' || b == '-'
}
