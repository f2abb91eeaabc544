package anonymize

import (
	"bytes"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// facts are settings about the game. Their values are one of a few words, or names that
// many servers share.
var facts = map[string]bool{
	"map": true, "mapname": true, "maptitle": true, "si_map": true, "world": true, "level": true,
	"game": true, "gamename": true, "gamedir": true, "gamedescription": true, "game_id": true, "mod": true, "modname": true, "fs_game": true, "si_game": true,
	"gametype": true, "g_gametype": true, "si_gametype": true, "gamemode": true, "gamevariant": true, "gamever": true, "gamestyle": true, "gamestate": true, "gamestatus": true,
	"protocol": true, "plugins": true, "software": true, "server_engine": true, "os": true, "platform": true, "arch": true, "type": true, "product": true, "ruleset": true,
	"mingamever": true, "minnetver": true, "language": true, "si_version": true, "shortversion": true, "build": true, "date": true, "com_protocol": true,
	"neterror": true, "g_gameversion": true, "qcversion": true, "mutators": true, "queryid": true,
	"natneg": true, "statechanged": true, "dedicated": true, "rate": true, "snaps": true, "model": true, "headmodel": true, "team_model": true, "team_headmodel": true,
	"secure": true, "ngsecret": true, // whether statistics are kept
}

// names are the settings, in a userinfo and elsewhere, with the name of a player.
var names = map[string]bool{"name": true, "player": true, "clan": true}

// A kind is what the key of a setting says about its value.
type kind struct {
	privacy dissect.Privacy
	numbers bool // numbers are replaced too
	fact    bool // of the game, or privacy if the value has an equals sign
	version bool // a version if the value looks like one
}

func kindOf(key string) (k kind) {
	key = strings.ToLower(strings.TrimSpace(key))
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(key, p) })
	}
	k.fact, k.version = facts[key], has("version")
	switch {
	case names[key]:
		k.privacy, k.numbers = dissect.PersonName, true
	case has("challenge"):
		k.privacy, k.numbers = dissect.Token, true
	case has("pass", "pwd"):
		k.privacy = core.Key // 0 and 1 say only whether there is a password
	case has("guid", "hash", "steamid", "steam_id", "uuid", "cdkey", "cd_key", "token", "ticket", "secret", "serial", "xuid", "blaid"):
		k.privacy, k.numbers = dissect.PersonID, true
	case has("hostname", "servername", "server_name"):
		k.privacy, k.numbers = dissect.ServerText, true
	default:
		k.privacy = dissect.ServerText
	}
	return k
}

// Limits of the cached kinds.
const maxKinds, maxKind = 1 << 12, 64

// settingRole returns the role of a setting with a key and a value, and whether numbers in
// it are replaced too.
func (w *rewriter) settingRole(key, v []byte) (r dissect.Privacy, numbers bool) {
	k, ok := w.kinds[string(key)]
	if !ok {
		k = kindOf(string(key))
		if len(w.kinds) >= maxKinds {
			clear(w.kinds)
		}
		if len(key) <= maxKind {
			w.kinds[string(key)] = k
		}
	}
	if k.fact && bytes.IndexByte(v, '=') < 0 || k.version && versionLike(v) {
		return dissect.Public, false // Unreal Tournament 3 puts other settings after equals signs
	}
	return k.privacy, k.numbers
}

// concreteRole returns the role of a value whose field leaves it to the key, or
// to the value itself. Other roles are returned unchanged.
func (w *rewriter) concreteRole(f *dissect.Field, v []byte, r dissect.Privacy, k []byte) dissect.Privacy {
	numbers := false
	switch {
	case f.Keyed != nil && f.Keyed[string(k)] > 0:
		return f.Keyed[string(k)]
	case f.Keyed != nil && f.Secret:
		return core.Key
	case f.Keyed != nil:
		return dissect.Public
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

// harmless are words that settings use in place of numbers.
var harmless = map[string]bool{
	"true": true, "false": true, "yes": true, "no": true, "on": true, "off": true, "none": true, "enabled": true, "disabled": true,
	"red": true, "blue": true, "green": true, "yellow": true, "spectator": true, "spectators": true, "spectating": true, "free": true,
	"smp": true, "deathmatch": true, "teamplay": true, "openplaying": true, "openwaiting": true, "closedplaying": true, "closedwaiting": true,
}

func isHarmless(v []byte) bool {
	const longest = 16
	return len(v) <= longest && harmless[strings.ToLower(string(v))]
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
