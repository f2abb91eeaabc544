// Package quake reads the words and lines of which the engines descended from
// Quake make their connectionless messages.
package quake

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// Header begins a connectionless message.
const Header = "\xff\xff\xff\xff"

// Fields are the fields of a catalog that all messages share.
type Fields struct {
	Header, Command, Blanks, Arguments, Quote, End *dissect.Field
}

// Declare adds them to a catalog. arguments is the privacy of text after the known arguments.
func Declare(c *dissect.Catalog, arguments dissect.Privacy) Fields {
	return Fields{
		Header:    c.Add("header", dissect.Int, "-1: the message belongs to no connection.", dissect.Framing),
		Command:   c.Add("command", dissect.String, "Word that names the message.", dissect.Public),
		Blanks:    c.Add("blanks", dissect.Bytes, "Blanks between words.", dissect.Framing),
		Arguments: c.Add("arguments", dissect.String, "Text after the known arguments.", arguments),
		Quote:     c.Add("quote", dissect.Bytes, "Quotation mark around the settings.", dissect.Framing),
		End:       c.Add("end", dissect.Bytes, "Line ends and zero bytes.", dissect.Framing),
	}
}

// Begin reads the header and the word that follows it, with one blank after the
// word.
func (f *Fields) Begin(r *dissect.Reader) string {
	r.I32(f.Header)
	return f.Word(r)
}

// Word reads the word that names a message, up to a blank or a backslash, and one
// blank or line end after it.
func (f *Fields) Word(r *dissect.Reader) string { return f.word(r, Blank) }

// LineWord is like Word, but leaves the line end.
func (f *Fields) LineWord(r *dissect.Reader) string {
	return f.word(r, func(c byte) bool { return c == ' ' || c == '\t' })
}

func (f *Fields) word(r *dissect.Reader, after func(byte) bool) string {
	n, suf := core.While(r, 0, func(c byte) bool { return !Blank(c) && c != '\\' }), 0
	if c := r.PeekByte(n); c >= 0 && after(byte(c)) {
		suf = 1
	}
	return r.Span(f.Command, 0, 0, n, suf)
}

// WordEnds reports whether a word ends before rest.
func WordEnds(rest []byte) bool { return len(rest) == 0 || Blank(rest[0]) }

// NumberOrEnd reports whether a number or nothing follows a word.
func NumberOrEnd(rest []byte) bool { return Ends(rest) || rest[0] == ' ' && Numbered(rest[1:]) }

// Ends reports whether a command ends where rest begins: nothing follows but a
// line end and a zero byte.
func Ends(rest []byte) bool {
	return !slices.ContainsFunc(rest, func(c byte) bool { return !Ender(c) })
}

// Blank reports whether a byte ends a word.
func Blank(c byte) bool { return c <= ' ' }

// Ender reports whether a byte ends a line.
func Ender(c byte) bool { return c == '\n' || c == '\r' || c == 0 }

// Digit reports whether a byte is a decimal digit.
func Digit(c byte) bool { return c >= '0' && c <= '9' }

// Numbered reports whether b begins with a whole number that a blank or the end
// follows.
func Numbered(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("-"))
	n := wire.While(b, Digit)
	return n > 0 && (n == len(b) || Blank(b[n]))
}

// MaxBlanks is the largest number of blanks that a leaf has before its value.
const MaxBlanks = 200

// Argument reads the next word of the line as the engines split it: after
// blanks, up to a blank, or up to a quotation mark if it begins with one. It
// returns "" at the end of the line.
func (f *Fields) Argument(r *dissect.Reader, field *dissect.Field) string {
	pre, n, suf := NextWord(r.Peek())
	if pre > MaxBlanks {
		r.Bytes(f.Blanks, pre)
		pre, n, suf = NextWord(r.Peek())
	}
	if pre+n+suf == 0 {
		return ""
	}
	return r.Span(field, 0, pre, n, suf)
}

// NextWord returns the lengths of the next word of a line, of what precedes it and
// of what follows it in the same leaf; all are 0 at the end of the line.
func NextWord[T string | []byte](b T) (pre, n, suf int) {
	pre = wire.While(b, func(c byte) bool { return Blank(c) && !Ender(c) })
	quoted := pre < len(b) && b[pre] == '"'
	if quoted {
		pre++
	}
	end := pre
	for end < len(b) && !Ender(b[end]) && (quoted || !Blank(b[end])) && (!quoted || b[end] != '"') {
		end++
	}
	if n = end - pre; n == 0 && !quoted {
		return 0, 0, 0
	}
	if quoted && end < len(b) && b[end] == '"' {
		suf++
	}
	if end += suf; end < len(b) && Blank(b[end]) && !Ender(b[end]) {
		suf++
	}
	return pre, n, suf
}

// LineLen returns the length of the line that r is in.
func LineLen(r *dissect.Reader) int { return core.While(r, 0, func(c byte) bool { return !Ender(c) }) }

// Line reads the rest of the line.
func (f *Fields) Line(r *dissect.Reader, field *dissect.Field) string {
	if n := LineLen(r); n > 0 {
		return r.Text(field, n)
	}
	return ""
}

// Finish reads the rest of the line and its end.
func (f *Fields) Finish(r *dissect.Reader) {
	f.Line(r, f.Arguments)
	f.Ending(r)
}

// Ending reads line ends and zero bytes, if there are any.
func (f *Fields) Ending(r *dissect.Reader) { core.BytesWhile(r, f.End, Ender) }

// LineEnd reads the end of a line, and those of empty lines after it.
func (f *Fields) LineEnd(r *dissect.Reader) {
	core.BytesWhile(r, f.End, func(c byte) bool { return c == '\n' || c == '\r' })
}

// Rcon are the fields of a command for the remote console.
type Rcon struct{ Password, Second, Line, Hidden *dissect.Field }

// DeclareRcon adds them to a catalog.
func DeclareRcon(c *dissect.Catalog) Rcon {
	f := Rcon{
		Password: c.Add("rcon.password", dissect.String, "Password of the remote console, or the hash that stands for it.", dissect.Secret),
		Second:   c.Add("rcon.second_word", dissect.String, "What follows a number in the place of the password: the password in Half-Life's form, whose number is a challenge, or the command.", dissect.Secret),
		Line:     c.Add("rcon.command_line", dissect.String, "Command for the console of the server.", dissect.FreeText),
	}
	f.Hidden = f.Line.Hidden()
	return f
}

// Rcon reads the password and the command.
func (f *Fields) Rcon(r *dissect.Reader, into *Rcon) (password, command string) {
	if password = f.Argument(r, into.Password); password == "" && !r.More() {
		r.Fail(into.Password, "missing")
	}
	if keyvalue.Int(password).OK {
		mark := core.Here(r)
		command = f.Line(r, f.Blanks)
		core.Return(r, mark)
		f.Argument(r, into.Second)
	}
	line := f.Line(r, into.Line)
	console.HideCommand(r, into.Hidden, line)
	f.Ending(r)
	command = cmp.Or(command, line)
	return password, command
}

// DeclareUserinfo adds the fields of what a client states about itself.
func DeclareUserinfo(c *dissect.Catalog) keyvalue.Fields {
	text := core.InCharset(core.QuakeChars)
	f := keyvalue.Fields{
		List:  c.Add("userinfo", dissect.List, "What the client states about itself."),
		Pair:  c.Add("userinfo.setting", dissect.Group, "One setting."),
		Key:   c.Add("userinfo.key", dissect.String, "Name of the setting.", dissect.SettingName, text),
		Value: c.Add("userinfo.value", dissect.String, "Value of the setting.", dissect.Setting, text),
	}
	f.Hidden = f.Value.Hidden()
	return f
}

// Userinfo reads settings in quotation marks and appends them to dst. odd is
// reported if the last key has no value; it takes that key.
func (f *Fields) Userinfo(r *dissect.Reader, into keyvalue.Fields, odd *dissect.FindingType, dst []dissect.KeyValue) []dissect.KeyValue {
	quoted := r.Next('"')
	if quoted {
		r.Bytes(f.Quote, 1)
	}
	if r.Next('\\') {
		dst = keyvalue.ReadPairs(r, into, r.Until("\"\n\x00"), odd, dst)
	}
	if quoted && r.Next('"') {
		r.Bytes(f.Quote, 1)
	}
	return dst
}

// TextLen returns the length of b without the line ends and zero bytes at its end.
func TextLen(b []byte) int { return len(bytes.TrimRight(b, "\n\r\x00")) }

// refusals are the beginnings of texts with which servers refuse a command: its password is wrong, or there is none.
var refusals = []string{"Bad rcon", "No rcon", "Invalid password"}

// Print reads n bytes that a server prints, which may be a refusal.
func Print(r *dissect.Reader, n int, text, hidden *dissect.Field, refused *dissect.FindingType) string {
	if n == 0 {
		return ""
	}
	at, s := r.Offset(), r.Text(text, n)
	console.Hide(r, hidden, s)
	if slices.ContainsFunc(refusals, func(begin string) bool { return strings.HasPrefix(s, begin) }) {
		r.Find(refused, text, at, n)
	}
	return s
}

// maxLine is how much of a text a summary shows.
const maxLine = 60

// AppendRcon appends a command to a summary, never a password.
func AppendRcon(dst []byte, password, command string) []byte {
	if keyvalue.Int(password).OK { // the command may begin with the password
		return append(dst, "***"...)
	}
	return wire.Style{Charset: core.QuakeChars}.Concealed(dst, command, console.CommandSecret(command))
}

// AppendText appends the first line of a text in quotation marks, and three dots if
// there is more. A password ends it.
func AppendText(dst []byte, text string) []byte {
	style := wire.Style{Charset: core.QuakeChars}
	line, rest, _ := strings.Cut(strings.TrimLeft(text, " \n"), "\n")
	if n := console.Secret(line); n < len(line) {
		return style.Concealed(dst, line, n)
	}
	if len(line) > maxLine {
		line, rest = line[:maxLine], line
	}
	dst = style.Quoted(dst, "", line)
	if strings.Trim(rest, " \n") != "" {
		dst = append(dst, " …"...)
	}
	return dst
}

// A Player is a line of a status of Quake 2.
type Player struct {
	// Name is in the character set of Quake.
	Name string
	// Score is in frags, Ping in milliseconds.
	Score, Ping int
	// Address is the player's, "" if the server does not tell.
	Address string
}

// Status are the fields of a status of Quake 2: settings in one line, then a line
// for each player.
type Status struct {
	Lines
	Rules keyvalue.Fields
	// OddKey is a setting without a value.
	OddKey *dissect.FindingType

	score, ping, name, address *dissect.Field
}

// Lines are the fields of a list with a line for each player.
type Lines struct {
	Words *Fields
	// Line is what is left of a line, or one that is not of a player.
	List, Player, Line *dissect.Field
	// Cut is a line without an end, NotPlayer another line that is not one of a player.
	Cut, NotPlayer *dissect.FindingType
}

// ReadLines reads lines while more reports that another follows, and appends those of players to dst.
func ReadLines[T any](r *dissect.Reader, l *Lines, dst []T, more func() bool, isPlayer func([]byte) bool, read func() T) []T {
	list := r.Begin(l.List)
	for more() {
		if !isPlayer(r.Peek()) {
			at, n := r.Offset(), LineLen(r)
			if n == r.Left() {
				r.Find(l.Cut, l.Line, at, n)
				r.Text(l.Line, n)
				break
			}
			r.Find(l.NotPlayer, l.Line, at, n, dissect.Str(r.Text(l.Line, n)))
			l.Words.LineEnd(r)
			continue
		}
		player := r.BeginRecord(l.Player)
		p := read()
		l.Words.Line(r, l.Line)
		l.Words.LineEnd(r)
		if !r.EndRecord(player) {
			break
		}
		dst = append(dst, p)
	}
	r.End(list)
	return dst
}

// DeclareStatus adds the fields to a catalog.
func DeclareStatus(c *dissect.Catalog, words *Fields, oddKey, cut, notPlayer *dissect.FindingType) Status {
	text := core.InCharset(core.QuakeChars)
	rules := keyvalue.Declare(c, text)
	lines := Lines{
		Words: words, Cut: cut, NotPlayer: notPlayer,
		List:   c.Add("players", dissect.List, "The players."),
		Player: c.Add("players.player", dissect.Group, "One player."),
	}
	s := Status{
		Rules: rules, OddKey: oddKey,
		score:   c.Add("players.score", dissect.Decimal, "Frags."),
		ping:    c.Add("players.ping", dissect.Decimal, "Round-trip time in milliseconds."),
		name:    c.Add("players.name", dissect.String, "Name.", dissect.PersonName, text),
		address: c.Add("players.address", dissect.String, "Address of the player, which a few servers tell everybody.", dissect.Address),
	}
	lines.Line = c.Add("players.line", dissect.String, "A line that is not one of a player.", dissect.Framing, dissect.FreeText, text)
	s.Lines = lines
	return s
}

// Read reads a status. It appends the settings and the players to those given, and
// returns what they state about the server.
func (s *Status) Read(r *dissect.Reader, rules []dissect.KeyValue, players []Player) ([]dissect.KeyValue, []Player, dissect.Server) {
	n := LineLen(r)
	// Soldier of Fortune ends the settings with a backslash.
	final := n > 0 && r.PeekByte(n-1) == '\\'
	if final {
		n--
	}
	rules = keyvalue.ReadPairs(r, s.Rules, n, s.OddKey, rules)
	if final {
		r.Bytes(s.Words.Quote, 1)
	}
	s.Words.LineEnd(r)
	players = s.readPlayers(r, players)
	server := dissect.Server{
		Charset: core.QuakeChars,
		Name:    keyvalue.Text(rules, "hostname"), Map: keyvalue.Text(rules, "mapname"),
		Game: keyvalue.Text(rules, "gamename", "gamedir", "game"), Version: keyvalue.Text(rules, "version"),
		MaxPlayers: keyvalue.Number(rules, "maxclients"), Password: keyvalue.Flag(rules, "needpass"),
	}
	server.Game.Value = strings.TrimRight(server.Game.Value, " ") // Kingpin fills it up
	if !r.Failed() && !r.Cut() {
		server.Players = dissect.Some(len(players))
	}
	s.Words.Ending(r)
	return rules, players, server
}

func (s *Status) readPlayers(r *dissect.Reader, players []Player) []Player {
	if !r.More() || r.Next(0) {
		return players
	}
	return ReadLines(r, &s.Lines, players, func() bool { return r.More() && !r.Next(0) }, isPlayer, func() Player {
		p := Player{Score: keyvalue.Int(s.Words.Argument(r, s.score)).Value, Ping: keyvalue.Int(s.Words.Argument(r, s.ping)).Value}
		p.Name = s.Words.Argument(r, s.name)
		p.Address = s.Words.Argument(r, s.address)
		return p
	})
}

// isPlayer reports whether b begins with the line of a player: frags ping "name".
func isPlayer(b []byte) bool {
	if n := bytes.IndexByte(b, '\n'); n >= 0 {
		b = b[:n]
	}
	for range 2 {
		n := bytes.IndexByte(b, ' ')
		if n < 0 || !Numbered(b) {
			return false
		}
		b = b[n+1:]
	}
	return len(b) > 1 && b[0] == '"' && bytes.IndexByte(b[1:], '"') >= 0
}

// Servers reads what is left as IPv4 addresses and ports, six bytes each in network
// byte order, or with little-endian ports, and appends them to dst. If bytes are left over, it reports cut and
// reads them as data.
func Servers(r *dissect.Reader, portLE bool, list, server, data *dissect.Field, cut *dissect.FindingType, dst []netip.AddrPort) []netip.AddrPort {
	more := func() bool { return r.Left() >= 6 }
	dst = wire.Items(r, list, nil, dst, more, func() netip.AddrPort { return wire.Endpoint(r, server, false, portLE) })
	if n := r.Left(); n > 0 {
		r.Find(cut, list, r.Offset(), n, dissect.Num(n))
		r.Rest(data)
	}
	return dst
}
