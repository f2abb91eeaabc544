package anonymize

import (
	"bytes"
	"cmp"
	_ "embed"
	"strings"
	"sync"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// wordList has the words that need no replacement, one in a line after the name of its list.
//
//go:embed words.txt
var wordList string

var (
	// facts are settings about the game. Their values are one of a few words, or names that many servers share.
	// ngsecret is whether statistics are kept.
	facts = listed("fact")
	// names are the settings, in a userinfo and elsewhere, with the name of a player.
	names = listed("name")
	// harmless are words that settings use in place of numbers.
	harmless = listed("harmless")
	// games are the common game descriptions in replies to A2S_INFO. Any other may be the name of a mission, a mode or
	// a community.
	games = listed("game")
)

// listed returns a list of words, read when it is first needed.
func listed(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		words := map[string]bool{}
		for line := range strings.Lines(wordList) {
			if of, word, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "\t"); of == list {
				words[word] = true
			}
		}
		return words
	})
}

func knownGame(text []byte) bool { return games()[strings.ToLower(strings.TrimSpace(string(text)))] }

// versionLike reports whether a value can be that of a setting that names a
// version: short ASCII text with a digit.
func versionLike(v []byte) bool {
	digits := false
	for _, c := range v {
		if c >= 0x80 || c == '@' {
			return false
		}
		digits = digits || c >= '0' && c <= '9'
	}
	return digits && len(v) <= 80
}

func isHarmless(v []byte) bool {
	const longest = 16
	return len(v) <= longest && harmless()[strings.ToLower(string(v))]
}

// plain reports whether a value is a number or a harmless word.
func plain(v []byte) bool {
	v = bytes.Trim(v, " ")
	digits, dots := 0, 0
	for i, c := range v {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '.':
			dots++
		case (c == '-' || c == '+') && i == 0:
		default:
			return isHarmless(v)
		}
	}
	// A number with more digits than 32 bits need is an identifier.
	return digits <= 11 && dots <= 1
}

// concreteRole returns the role of a value whose field leaves it to the key, or
// to the value itself. Other roles are returned unchanged.
func (w *rewriter) concreteRole(f *dissect.Field, v []byte, r dissect.Privacy, k []byte) dissect.Privacy {
	numbers := false
	switch {
	case f.Keyed != nil && f.Secret:
		return cmp.Or(f.Keyed[string(k)], core.Key)
	case f.Keyed != nil:
		return cmp.Or(f.Keyed[string(k)], dissect.Public)
	case r == dissect.Setting:
		r, numbers = w.settingRole(k, v)
		if f.Kind == dissect.String && r == dissect.ServerText && !numbers && plain(v) {
			r = dissect.Public
		}
		if r == core.Key && (len(v) <= 1 || isHarmless(v)) {
			r = dissect.Public // it says only whether there is a password
		}
	case r == core.Cell:
		if r, numbers = w.settingRole([]byte(f.Key()), v); r == dissect.ServerText {
			r = dissect.FreeText // of a player, not of the server
		}
		if plain(v) && !numbers {
			r = dissect.Public
		}
	}
	if r == dissect.PersonID && numbers && len(v) < 2 && plain(v) {
		r = dissect.Public
	}
	return r
}
