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

	s     string // what is left of the JSON
	bad   bool
	fresh bool // an object or a list was opened
}

// A fact is a text of n bytes, or the beginning of a list or a group.
type fact struct {
	field *dissect.Field
	n     int
}

// spaces are those of JSON.
const spaces = " \t\r\n"

// maxDepth is how deep texts may be nested that are read.
const maxDepth = 16

// reset begins a new status, whose texts are appended to text.
func (f *facts) reset(text []byte) {
	*f = facts{text: text, list: f.list[:0], rest: f.rest[:0], rules: f.rules[:0], path: f.path[:0]}
}

// old notes what a status before version 1.7 says: §1, protocol, version, message, players and maximum between zero bytes, or before
// version 1.4 message, players and maximum between section signs.
func (f *facts) old(s string) {
	fields := [...]*dissect.Field{fNumber, fVersion, fMOTD, fOnline, fMax}
	said, mark := fields[2:], "§"
	if rest, ok := strings.CutPrefix(s, "§1\x00"); ok && strings.Count(rest, "\x00") == len(fields)-1 {
		f.list = append(f.list, fact{fOld, len(s) - len(rest)})
		s, said, mark = rest, fields[:], "\x00"
	} else if strings.Count(s, mark) < len(said)-1 {
		said = said[:1] // the reason why the server disconnects
	}
	begin := len(f.list)
	for i := len(said) - 1; i > 0; i-- { // from the end, since the message may have section signs as well
		at := strings.LastIndex(s, mark)
		f.list = slices.Insert(f.list, begin, fact{fOld, len(mark)}, fact{said[i], len(s) - at - len(mark)})
		s = s[:at]
	}
	f.list = slices.Insert(f.list, begin, fact{said[0], len(s)})
}

// json notes what a status in JSON says, and returns the offset of its end or, if it is bad, of what is wrong.
func (f *facts) json(s string) int {
	f.s = s
	f.object()
	f.peek()
	f.bad = f.bad || f.s != ""
	if len(f.rules) > 0 {
		f.list = append(append(f.list, fact{field: fRules}), f.rules...)
		f.text = append(f.text, f.rest...)
	}
	return len(s) - len(f.s)
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
			n := len(f.text)
			f.text = strconv.AppendInt(f.text, int64(max(len(f.skip())-len(`""`), 0)), 10)
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
	f.plain()
	f.add(field, n)
}

// rule notes the key of the path with any value.
func (f *facts) rule() {
	if f.bad {
		return
	}
	value := f.skip()
	f.rest = append(append(f.rest, f.path...), value...)
	f.rules = append(f.rules, fact{fKey, len(f.path)}, fact{fSetting, len(value)})
}

// component appends the text of a value: text, or an object or a list with texts.
func (f *facts) component(depth int) {
	switch c := f.peek(); {
	case c == '{':
		extra := ""
		for f.open('{'); f.more('}'); {
			switch key := f.key(); {
			case (key == "text" || key == "translate") && f.scalar():
				f.plain()
			case key == "extra" && f.peek() == '[' && depth < maxDepth:
				extra = f.s
				f.skip()
			default:
				f.skip()
			}
		}
		if rest := f.s; extra != "" && !f.bad {
			f.s = extra
			f.component(depth + 1)
			f.s = rest
		}
	case c == '[' && depth >= maxDepth, c == 'n': // null
		f.skip()
	case c == '[':
		for f.open('['); f.more(']'); {
			f.component(depth + 1)
		}
	default:
		f.plain()
	}
}

// peek returns the first byte of the next value, 0 if there is none.
func (f *facts) peek() byte {
	for f.s != "" && strings.IndexByte(spaces, f.s[0]) >= 0 {
		f.s = f.s[1:]
	}
	if f.bad || f.s == "" {
		return 0
	}
	return f.s[0]
}

// scalar reports whether the next value is a text, a number or a word.
func (f *facts) scalar() bool { c := f.peek(); return c != '{' && c != '[' && c != 0 }

// take passes a byte, which must be the next one.
func (f *facts) take(c byte) {
	if f.bad = f.peek() != c; !f.bad {
		f.s = f.s[1:]
	}
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
	if f.peek() == c {
		f.take(c)
		return false
	}
	if !first {
		f.take(',')
	}
	return !f.bad
}

// key reads a key and the colon after it, without undoing escapes.
func (f *facts) key() string {
	if f.peek() != '"' {
		f.bad = true
		return ""
	}
	key := f.skip()
	if f.take(':'); f.bad {
		return ""
	}
	return key[1 : len(key)-1]
}

// skip passes a value of any kind and returns it. What is in it is not checked but for the ends of texts.
func (f *facts) skip() string {
	f.bad = strings.IndexByte("\x00,:]}", f.peek()) >= 0
	value := f.s
	for depth := 0; f.peek() != 0; {
		n := 1
		switch f.s[0] {
		case '"':
			n = f.quoted()
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',', ':':
		default: // a number or a word
			for n < len(f.s) && strings.IndexByte(spaces+`,:{}[]"`, f.s[n]) < 0 {
				n++
			}
		}
		if f.s = f.s[n:]; depth == 0 {
			return value[:len(value)-len(f.s)]
		}
	}
	f.bad = true
	return value[:len(value)-len(f.s)]
}

// quoted returns the length of a text in quotation marks.
func (f *facts) quoted() int {
	for at := 1; at < len(f.s); at++ {
		switch f.s[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	f.bad = true
	return len(f.s)
}

// plain appends a text without its escapes, or a number or a word, and passes it.
func (f *facts) plain() {
	isText := f.peek() == '"'
	s := f.skip()
	if f.bad {
		return
	}
	if isText {
		s = s[1 : len(s)-1]
	}
	for isText {
		at := strings.IndexByte(s, '\\')
		if at < 0 {
			break
		}
		f.text, s = unescape(append(f.text, s[:at]...), s[at:])
	}
	f.text = append(f.text, s...)
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
	low, _ := unit(s[6:])
	if both := utf16.DecodeRune(c, low); both != utf8.RuneError {
		return utf8.AppendRune(dst, both), s[12:]
	}
	return utf8.AppendRune(dst, c), s[6:]
}

// unit returns the unit of UTF-16 that an escape stands for.
func unit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	c, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(c), err == nil
}
