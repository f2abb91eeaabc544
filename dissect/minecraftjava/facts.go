package minecraftjava

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
)

// facts collects what a status says: texts one after the other, and what each of them is.
type facts struct {
	text []byte
	list []fact
	seen uint8 // of stated
	// What is left to state at the end.
	rest  []byte
	rules []fact
	path  []byte // the key, behind those that it is in and dots

	s     string // the JSON
	i     int    // offset of the next byte
	bad   bool
	fresh bool // an object or a list was opened
}

// A fact is a text of n bytes, or the beginning of a list or a group.
type fact struct {
	field *dissect.Field
	n     int
}

// maxDepth is how deep texts may be nested that are read.
const maxDepth = 16

// reset begins a new status, whose texts are appended to text.
func (f *facts) reset(text []byte) {
	*f = facts{text: text, list: f.list[:0], rest: f.rest[:0], rules: f.rules[:0], path: f.path[:0]}
}

// old notes what a status before version 1.7 says: §1, protocol, version, message, players and maximum between zero bytes, or before
// version 1.4 message, players and maximum between section signs.
func (f *facts) old(s string) {
	add := func(field *dissect.Field, n int) { f.list = append(f.list, fact{field, n}) }
	if rest, ok := strings.CutPrefix(s, "§1\x00"); ok && strings.Count(rest, "\x00") == 4 {
		mark := len("§1\x00")
		for _, field := range [...]*dissect.Field{fNumber, fVersion, fMOTD, fOnline, fMax} {
			part, after, _ := strings.Cut(rest, "\x00")
			add(fOld, mark)
			add(field, len(part))
			rest, mark = after, 1
		}
		return
	}
	const sign = len("§")
	last := strings.LastIndex(s, "§")
	first := strings.LastIndex(s[:max(last, 0)], "§")
	if first < 0 {
		add(fMOTD, len(s)) // the reason why the server disconnects
		return
	}
	add(fMOTD, first)
	add(fOld, sign)
	add(fOnline, last-first-sign)
	add(fOld, sign)
	add(fMax, len(s)-last-sign)
}

// json notes what a status in JSON says, and returns the offset of its end or, if it is bad, of what is wrong.
func (f *facts) json(s string) int {
	f.s = s
	f.object()
	if f.space(); !f.bad && f.i < len(f.s) {
		f.bad = true
	}
	if len(f.rules) > 0 {
		f.list = append(append(f.list, fact{field: fRules}), f.rules...)
		f.text = append(f.text, f.rest...)
	}
	return min(f.i, len(f.s))
}

// stated are the facts that count once.
var stated = [...]*dissect.Field{fVersion, fNumber, fOnline, fMax, fPlayers, fMOTD, fIcon}

// known are the keys, behind those that they are in, whose values are a text or a number.
var known = map[string]*dissect.Field{"version.name": fVersion, "version.protocol": fNumber, "players.online": fOnline, "players.max": fMax}

// object reads the status, or an object in it.
func (f *facts) object() {
	inner := len(f.path) > 0
	for f.open('{'); f.more('}'); {
		key := f.key()
		path := len(f.path)
		f.path = append(f.path, key...)
		switch field := known[string(f.path)]; {
		case !inner && (key == "version" || key == "players") && f.peek() == '{':
			f.path = append(f.path, '.')
			f.object()
		case inner && field != nil && f.scalar() && f.once(field):
			f.value(field)
		case inner && string(f.path) == "players.sample" && f.peek() == '[' && f.once(fPlayers):
			f.sample()
		case key == "description" && !inner && f.once(fMOTD):
			n := len(f.text)
			f.component(0)
			f.add(fMOTD, n)
		case key == "favicon" && !inner && f.peek() == '"' && f.once(fIcon):
			n, from := len(f.text), f.i
			f.skip()
			f.text = strconv.AppendInt(f.text, int64(max(f.i-from-2, 0)), 10)
			f.add(fIcon, n)
		default:
			f.rule()
		}
		f.path = f.path[:path]
	}
}

// sample reads a list of players.
func (f *facts) sample() {
	f.list = append(f.list, fact{field: fPlayers})
	for f.open('['); f.more(']'); {
		if f.peek() != '{' {
			f.skip()
			continue
		}
		f.list = append(f.list, fact{field: fPlayer})
		named, known := false, false
		for f.open('{'); f.more('}'); {
			switch key := f.key(); {
			case key == "name" && !named && f.scalar():
				named = true
				f.value(fName)
			case key == "id" && !known && f.scalar():
				known = true
				f.value(fUUID)
			default:
				f.skip()
			}
		}
	}
}

// once reports whether a fact is not stated yet.
func (f *facts) once(field *dissect.Field) bool {
	bit := uint8(1) << slices.Index(stated[:], field)
	is := f.seen&bit == 0
	f.seen |= bit
	return is
}

// add notes the text from n on.
func (f *facts) add(field *dissect.Field, n int) {
	f.list = append(f.list, fact{field, len(f.text) - n})
}

// value notes a text or a number.
func (f *facts) value(field *dissect.Field) {
	n := len(f.text)
	f.text = f.plain(f.text)
	f.add(field, n)
}

// rule notes the key of the path with any value.
func (f *facts) rule() {
	if f.bad {
		return
	}
	f.rest = append(f.rest, f.path...)
	from := f.i
	f.skip()
	f.rest = append(f.rest, f.s[from:f.i]...)
	f.rules = append(f.rules, fact{fKey, len(f.path)}, fact{fSetting, f.i - from})
}

// component appends the text of a value: text, or an object or a list with texts.
func (f *facts) component(depth int) {
	switch f.peek() {
	case '{':
		extra := 0
		for f.open('{'); f.more('}'); {
			switch key := f.key(); {
			case (key == "text" || key == "translate") && f.scalar():
				f.text = f.plain(f.text)
			case key == "extra" && f.peek() == '[' && depth < maxDepth:
				extra = f.i
				f.skip()
			default:
				f.skip()
			}
		}
		if end := f.i; extra > 0 && !f.bad {
			f.i = extra
			f.component(depth + 1)
			f.i, f.fresh = end, false
		}
	case '[':
		if depth >= maxDepth {
			f.skip()
			return
		}
		for f.open('['); f.more(']'); {
			f.component(depth + 1)
		}
	default:
		f.text = f.plain(f.text)
	}
}

func (f *facts) space() {
	for f.i < len(f.s) && strings.IndexByte(" \t\r\n", f.s[f.i]) >= 0 {
		f.i++
	}
}

// peek returns the first byte of the next value, 0 if there is none.
func (f *facts) peek() byte {
	if f.space(); f.bad || f.i >= len(f.s) {
		return 0
	}
	return f.s[f.i]
}

// scalar reports whether the next value is a text, a number or a word.
func (f *facts) scalar() bool { c := f.peek(); return c != '{' && c != '[' && c != 0 }

// take passes a byte, which must be the next one.
func (f *facts) take(c byte) {
	if f.peek() != c {
		f.bad = true
		return
	}
	f.i++
}

// open begins an object or a list.
func (f *facts) open(c byte) {
	f.take(c)
	f.fresh = true
}

// more reports whether an object or a list goes on, which c ends.
func (f *facts) more(c byte) bool {
	first := f.fresh
	f.fresh = false
	switch next := f.peek(); {
	case next == c:
		f.i++
		return false
	case !first:
		f.take(',')
	case next == 0:
		f.bad = true
	}
	return !f.bad
}

// key reads a key and the colon behind it, without undoing escapes.
func (f *facts) key() string {
	f.space()
	from := f.i
	if f.peek() != '"' {
		f.bad = true
		return ""
	}
	f.skip()
	key := f.s[from:f.i]
	if f.take(':'); f.bad {
		return ""
	}
	f.space()
	return key[1 : len(key)-1]
}

// skip passes a value of any kind. What is in it is not checked but for the ends of texts.
func (f *facts) skip() {
	depth := 0
	for first := true; f.peek() != 0; first = false {
		switch c := f.s[f.i]; c {
		case '"':
			f.quoted()
		case '{', '[':
			depth++
			f.i++
		case '}', ']':
			if depth == 0 {
				f.bad = first
				return
			}
			depth--
			f.i++
		case ',', ':':
			if depth == 0 {
				f.bad = first
				return
			}
			f.i++
			continue
		default:
			f.word()
		}
		if depth == 0 {
			return
		}
	}
	f.bad = true
}

// quoted passes a text in quotation marks.
func (f *facts) quoted() {
	for at := f.i + 1; at < len(f.s); at++ {
		switch f.s[at] {
		case '\\':
			at++
		case '"':
			f.i = at + 1
			return
		}
	}
	f.bad, f.i = true, len(f.s)
}

// word passes a number or a word.
func (f *facts) word() {
	for f.i < len(f.s) && strings.IndexByte(" \t\r\n,:{}[]\"", f.s[f.i]) < 0 {
		f.i++
	}
}

// plain appends a text without its escapes, or a number or a word, and passes it.
func (f *facts) plain(dst []byte) []byte {
	isText := f.peek() == '"'
	f.space()
	from := f.i
	if f.skip(); f.bad {
		return dst
	}
	s := f.s[from:f.i]
	if !isText {
		return append(dst, s...)
	}
	for s = s[1 : len(s)-1]; s != ""; {
		n := strings.IndexByte(s, '\\')
		if n < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:n]...)
		dst, s = unescape(dst, s[n:])
	}
	return dst
}

// unescape appends what an escape at the beginning of s stands for, and returns what follows it.
func unescape(dst []byte, s string) ([]byte, string) {
	if len(s) < 2 {
		return append(dst, s...), ""
	}
	if at := strings.IndexByte("bfnrt", s[1]); at >= 0 {
		return append(dst, "\b\f\n\r\t"[at]), s[2:]
	}
	if s[1] != 'u' {
		return append(dst, s[1]), s[2:]
	}
	c, ok := unit(s)
	if !ok {
		return append(dst, s[:2]...), s[2:]
	}
	s = s[6:]
	if utf16.IsSurrogate(c) {
		if low, ok := unit(s); ok {
			if both := utf16.DecodeRune(c, low); both != utf8.RuneError {
				return utf8.AppendRune(dst, both), s[6:]
			}
		}
	}
	return utf8.AppendRune(dst, c), s
}

// unit returns the unit of UTF-16 that an escape stands for.
func unit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	c, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(c), err == nil
}
