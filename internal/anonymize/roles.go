package anonymize

import (
	"bytes"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
)

// A role says what a field reveals about people and servers, and so how it is replaced.
type role uint8

const (
	// fact is kept: numbers, words of the protocol, and information about the game rather
	// than about a person or a server.
	fact role = iota
	// name is the name of a player or of a group of players.
	name
	// speech is text written by people: console, chat, logs.
	speech
	// about is text that identifies a server or was written by its operator.
	about
	// ident is text that identifies a player: hashes, identifiers.
	ident
	// steam is a SteamID of 64 bits.
	steam
	// token is a number or a text that one side chose and the other returns. Equal tokens
	// get equal replacements.
	token
	// secret is a password, a key or a ticket.
	secret
	// address is an address, in bytes or in text.
	address
	// hexAddress is an IPv4 address and a port in hexadecimal digits.
	hexAddress
	// opaque are bytes of unknown meaning.
	opaque
	// key is the name of a setting; setting is its value, whose role depends on the key.
	key
	setting
	// condition is a value in a master server's filter, argument a value in a GameSpy
	// query. Their roles depend on the key.
	condition
	argument
	// cell is a value in a column that the message names.
	cell
	// verb is a word of the protocol, kept, on which the value that follows it depends.
	verb
	// part is a piece of a joined message, packed a message in compressed form, and chunk
	// a piece of one that is escaped. They are rebuilt from their decoded contents.
	part
	packed
	chunk
	// again is a cut value that a later part repeats in full.
	again
	// game is the name of a game, or another text in its place.
	game
	// sum is the CRC-32 of the bytes behind it, little-endian.
	sum
	// said is the text of A2S messages that consist of text.
	said
)

// roles are the roles of fields whose kind does not determine them. Other fields are
// replaced unless they are numbers: text as [about], bytes as [opaque], SteamIDs and
// endpoints by kind. So a new field is replaced until this table says that it is harmless.
var roles = map[string]role{
	"a2s.query": fact, "a2s.info.game_mode": fact, "a2s.connect": fact, "a2s.content": fact, "a2s.text": said, "a2s.challenge": token, "a2s.client_challenge": token,
	"a2s.info.address": address, "a2s.info.map": fact, "a2s.info.folder": fact, "a2s.info.game": game, "a2s.info.version": fact,
	"a2s.info.game_id": fact, "a2s.players.name": name, "a2s.rules.key": key, "a2s.rules.value": setting,
	"a2s.part": part, "a2s.packed": packed, "a2s.chunks.data": chunk,
	"a2s.server_browser.mods.steam_id": fact, "a2s.server_browser.mods.name": fact, // of the workshop, known to all

	"halflife.command": fact, "halflife.info.address": address, "halflife.info.map": fact, "halflife.info.folder": fact,
	"halflife.info.game": game, "halflife.rules.key": key, "halflife.rules.value": setting, "halflife.rcon.challenge": token,
	"halflife.rcon.command_line": speech,

	"valve-master.seed": address, "valve-master.filter": fact, "valve-master.filters.key": key, "valve-master.filters.value": condition,
	"valve-master.version": fact, "valve-master.product": fact, "valve-master.status": fact, "valve-master.from": fact,
	"valve-master.mods.name": fact, "valve-master.list_end": fact, "valve-master.challenge": token, "valve-master.server_challenge": token,
	"valve-master.rules.key": key, "valve-master.rules.value": setting, "valve-master.heartbeat.challenge": token,
	"valve-master.heartbeat.gamedir": fact,

	"doom3.command": fact, "doom3.challenge": token, "doom3.rules.key": key, "doom3.rules.value": setting, "doom3.info.bits": packed,
	"doom3.players.name": name, "doom3.players.clan": name, "doom3.players.team": fact, "doom3.mod": fact, "doom3.player": name,
	"doom3.clan": name, "doom3.command_line": speech, "doom3.text": speech, "doom3.fs_game_base": fact, "doom3.fs_game": fact,
	"doom3.guid": ident, "doom3.si_version": fact,

	"gamespy1.queries.query": verb, "gamespy1.queries.value": argument, "gamespy1.rules.key": key, "gamespy1.rules.value": setting,
	"gamespy1.queryid": fact, "gamespy1.echo": ident, "gamespy1.validate": ident, "gamespy1.players.name": name,
	"gamespy1.players.keyhash": ident, "gamespy1.players.mesh": fact, "gamespy1.players.skin": fact, "gamespy1.players.face": fact,
	"gamespy1.players.team": cell, "gamespy1.players.column": cell, "gamespy1.players.number": cell, "gamespy1.teams.column": cell,
	"gamespy1.teams.number": cell, "gamespy1.heartbeat.gamename": fact, "gamespy1.part.data": part, "gamespy1.statusresponse": fact,

	"gamespy2.rules.key": key, "gamespy2.rules.value": setting, "gamespy2.players.name": name, "gamespy2.players.other": cell,
	"gamespy2.players.team": cell, "gamespy2.teams.other": cell, "gamespy2.part.data": part,

	"gamespy3.rules.key": key, "gamespy3.rules.value": setting, "gamespy3.players.name": name, "gamespy3.players.other": cell,
	"gamespy3.players.team": cell, "gamespy3.teams.other": cell, "gamespy3.players.steamid": ident, "gamespy3.values.value": setting,
	"gamespy3.handshake.challenge": token, "gamespy3.challenge": token, "gamespy3.replaced": again, "gamespy3.unread": opaque,
	"gamespy3.master.challenge": ident, "gamespy3.master.backend_options": fact, "gamespy3.master.public_address": hexAddress,
	"gamespy3.master.response": ident, "gamespy3.master.error_text": fact, "gamespy3.available.gamename": fact,

	"minecraft.handshake.mangled_session_id": fact, "minecraft.handshake.challenge": token, "minecraft.challenge": token, "minecraft.padding": fact,
	"minecraft.basic.gametype": fact, "minecraft.basic.map": fact, "minecraft.basic.hostip": address, "minecraft.rules.key": key,
	"minecraft.rules.value": setting, "minecraft.players.name": name, "minecraft.players.other": cell, "minecraft.players.team": cell,
	"minecraft.software": fact, "minecraft.plugins.plugin": fact, "minecraft.replaced": again, "minecraft.unread": opaque,

	"ase.gamename": fact, "ase.gametype": fact, "ase.map": fact, "ase.version": fact, "ase.rules.key": key, "ase.rules.value": setting,
	"ase.players.name": name, "ase.players.team": cell, "ase.players.skin": fact, "ase.players.score": cell,
	"ase.light.player_count": fact, "ase.part.data": part,

	"zandronum.packing.bits": packed, "zandronum.piece": part, "zandronum.time": fact, "zandronum.version": fact, "zandronum.map": fact,
	"zandronum.pwads.name": fact, "zandronum.game": fact, "zandronum.iwad": fact, "zandronum.players.name": name,
	"zandronum.testing_binary": fact, "zandronum.md5": fact, "zandronum.dehacked.name": fact, "zandronum.pwad_hashes.md5": fact,
	"zandronum.country": fact, "zandronum.mode_text": fact, "zandronum.mode_short": fact,
	"odamex.revision": fact, "odamex.rules.key": key, "odamex.rules.text": setting, "odamex.map": fact, "odamex.teams.name": fact,
	"odamex.patches.name": fact, "odamex.wads.name": fact, "odamex.wads.md5": fact, "odamex.players.name": name,
	"chocolatedoom.version": fact, "chocolatedoom.protocols.name": fact, "chocolatedoom.servers.address": address, "chocolatedoom.address": address,
	"teamspeak3.client_challenge": token, "teamspeak3.command": fact, "teamspeak3.arguments": ident,
	"xash3d.command": fact, "xash3d.refusal": fact, "xash3d.context": fact, "xash3d.rules.key": key, "xash3d.rules.value": setting, "xash3d.players.name": name,
	"ventrilo.key": fact, "ventrilo.encrypted_header": fact, "ventrilo.encrypted_body": packed, "ventrilo.header.body_key": fact,
	"ventrilo.rules.key": key, "ventrilo.rules.value": setting, "ventrilo.channel_fields": fact, "ventrilo.client_fields": fact,
	"ventrilo.channels.name": about, "ventrilo.players.name": name, "ventrilo.players.comment": speech, "ventrilo.players.more": speech,
	"ventrilo.channels.more": speech,

	"tribes.game": fact, "tribes.version": fact, "tribes.mod": fact, "tribes.mission_type": fact,
	"tribes.map": fact, "tribes.query_version": fact, "tribes.team_columns": fact, "tribes.player_columns": fact, "tribes.teams.cells": fact,
	"tribes.players.cells": fact, "tribes.players.name": name, "tribes.teams.name": fact, "tribes.players.team": fact,
	"savage.magic": fact, "savage.marker": fact, "savage.token": fact, "savage.rules.key": key, "savage.rules.value": setting,
	"savage.players_key": fact, "savage.teams.players.name": name, "savage.teams.name": fact,
	"savage2.time": fact, "savage2.map": fact, "savage2.next_map": fact, "savage2.game_type": fact, "savage2.version": fact,
	"rfactor.query": fact, "rfactor.product": fact, "rfactor.game": fact, "rfactor.map": fact, "rfactor.vehicles": fact, "rfactor.more": fact,
	"tribes.filter.game": fact, "tribes.filter.mission_type": fact,

	"titanfall.build": fact, "titanfall.game_mode": fact, "titanfall.platform": fact, "titanfall.platforms.name": fact, "titanfall.playlist_version": fact,
	"titanfall.playlist": fact, "titanfall.map": fact, "titanfall.padding": fact, "titanfall.players.name": name, "titanfall.players.address": address,
	"bzflag.version": fact, "bzflag.padding": fact,
	"cube.token": fact, "cube.map": fact, "cube.branch": fact, "cube.language": fact, "cube.rotation.name": fact, "cube.uplink": fact,
	"cube.players.name": name, "cube.handles.handle": name, "cube.player.name": name, "cube.player.team": name, "cube.teams.name": name,
	"cs2d.map": fact, "cs2d.players.name": name,
	"lhmp.tag": fact, "lhmp.protocol": fact, "lhmp.mode": fact, "lhmp.map": fact, "lhmp.players.name": name,
	"m2mp.tag": fact, "m2mp.mode": fact, "m2mp.players.name": name,
	"armagetron.words": packed, "armagetron.host": address, "armagetron.release": fact, "armagetron.players.name": name,
	"armagetron.global_ids.account": ident, "armagetron.text": speech,

	"quakeworld.command": fact, "quakeworld.arguments": speech, "quakeworld.text": speech, "quakeworld.status.bits": fact,
	"quakeworld.stats.match": fact, "quakeworld.rcon.command_line": speech, "quakeworld.connect.protocol": fact,
	"quakeworld.connect.qport": fact, "quakeworld.connect.challenge": token, "quakeworld.userinfo.key": key,
	"quakeworld.userinfo.value": setting, "quakeworld.extensions.name": fact, "quakeworld.rules.key": key, "quakeworld.rules.value": setting,
	"quakeworld.players.score": fact, "quakeworld.players.name": name, "quakeworld.players.skin": fact, "quakeworld.players.team": name,
	"quakeworld.players.login": name, "quakeworld.players.client": fact, "quakeworld.players.line": speech,
	"quakeworld.streams.tag": fact, "quakeworld.streams.name": about, "quakeworld.streams.address": about, "quakeworld.viewers.name": name,
	"quakeworld.stats.json": speech, "quakeworld.log.kills.killer": name, "quakeworld.log.kills.victim": name,
	"quakeworld-master.text": speech,

	"quake2.command": fact, "quake2.arguments": fact, "quake2.text": speech, "quake2.status.bits": fact, "quake2.info.protocol": fact,
	"quake2.info.options": fact, "quake2.rcon.command_line": speech, "quake2.connect.protocol": fact, "quake2.connect.qport": fact,
	"quake2.connect.challenge": token, "quake2.challenge.protocols.protocol": fact, "quake2.connect.options": speech, "quake2.userinfo.key": key,
	"quake2.userinfo.value": setting, "quake2.status.before": speech, "quake2.rules.key": key, "quake2.rules.value": setting,
	"quake2.players.name": name, "quake2.players.address": address, "quake2.players.line": speech, "quake2.info.name": about,
	"quake2.info.map": fact, "quake2.info.refusal": fact, "quake2.info.facts.key": fact, "quake2.info.facts.value": fact, "quake2.info.facts.name.value": about,
	"quake2-master.command": fact, "quake2-master.arguments": fact, "quake2-master.rules.key": key, "quake2-master.rules.value": setting,
	"quake2-master.players.name": name, "quake2-master.players.address": address, "quake2-master.players.line": speech,

	"quake3.command": fact, "quake3.arguments": speech, "quake3.query.challenge": token, "quake3.rules.key": key,
	"quake3.rules.value": setting, "quake3.players.name": name, "quake3.players.address": address, "quake3.players.line": speech,
	"quake3.connect.client_challenge": token, "quake3.connect.challenge": token, "quake3.connect.game": fact,
	"quake3.connect.packed": packed, "quake3.userinfo.key": key, "quake3.userinfo.value": setting, "quake3.rcon.command_line": speech,
	"quake3.srcon.method": fact, "quake3.srcon.mode": fact, "quake3.srcon.time": fact,
	"quake3.text": speech, "quake3.authorize.challenge": token, "quake3.authorize.ip": address, "quake3.authorize.game": fact,
	"quake3.authorize.verdict": fact, "quake3.echo.word": fact, "quake3.echo.query": fact, "quake3.echo.token": token,

	"quake3-master.command": fact, "quake3-master.arguments": speech, "quake3-master.request.game": fact, "quake3-master.filter": fact,
	"quake3-master.filters.key": key, "quake3-master.filters.value": fact, "quake3-master.heartbeat.tag": fact,
	"quake3-master.reply.label": fact, "quake3-master.reply.hex": packed, "quake3-master.reply.end_of_list": fact,

	"battleye.text": speech, "battleye.split.data": part, "battleye.crc32": sum,

	"netquake.connect.game": fact, "netquake.connect.reason": speech, "netquake.connect.more": opaque, "netquake.server.address": address,
	"netquake.server.map": fact, "netquake.player.name": name, "netquake.player.address": address, "netquake.rule.after": fact,
	"netquake.rule.key": key, "netquake.rule.value": setting, "netquake.rcon.command_line": speech, "netquake.rcon.text": speech,

	"raknet.magic": fact, "raknet.time": fact, "raknet.client_guid": opaque, "raknet.server_guid": opaque, "raknet.padding": fact,
	"raknet.pong.edition": fact, "raknet.pong.version": fact, "raknet.pong.server_id": ident, "raknet.pong.level": about,
	"raknet.pong.game_mode": fact, "raknet.cookie": fact,

	"samp.tag": fact, "samp.echo": fact, "samp.info.version": fact, "samp.info.game_mode": fact, "samp.info.language": fact, "samp.info.map": fact,
	"samp.rules.key": key, "samp.rules.value": setting, "samp.players.name": name, "samp.rcon.command": speech, "samp.rcon.text": speech,

	"unreal2.details.address": address, "unreal2.details.map": fact, "unreal2.details.game_type": fact, "unreal2.details.skill": fact,
	"unreal2.details.more": fact, "unreal2.rules.key": key, "unreal2.rules.value": setting, "unreal2.players.name": name,
	"unreal2.players.stats_id": fact, "unreal2.players.properties.key": key, "unreal2.players.properties.value": setting,

	"teeworlds.word": fact, "teeworlds.extended": fact, "teeworlds.padding": fact, "teeworlds.receiver_token": token,
	"teeworlds.sender_token": token, "teeworlds.info.token": fact, "teeworlds.info.version": fact, "teeworlds.info.map": fact,
	"teeworlds.info.gametype": fact, "teeworlds.info.extra": speech, "teeworlds.players.name": name, "teeworlds.players.clan": name,
	"teeworlds.players.extra": speech, "teeworlds.challenge.secret": token, "teeworlds.challenge.protocol": fact,
	"teeworlds.challenge.token": token,

	"openttd.info.script": fact, "openttd.grfs.id": fact, "openttd.grfs.md5": fact, "openttd.grfs.name": fact, "openttd.info.revision": fact,
	"openttd.info.map": fact, "openttd.companies.name": name, "openttd.companies.players.name": name,
	"openttd.companies.players.unique_id": ident, "openttd.register.welcome": fact, "openttd.register.session_key": token,

	"sqp.challenge": token, "sqp.header.challenge": token, "sqp.part": part, "sqp.info.game_type": fact, "sqp.info.build": fact,
	"sqp.info.map": fact, "sqp.rules.key": key, "sqp.rules.text": setting, "sqp.table.column": key, "sqp.entries.name": name,
	"sqp.entries.text": cell, "sqp.entries.cells.text": speech, "sqp.more": opaque, "sqp.chunk": opaque,

	"leftover": opaque,
}

type roleOfField struct {
	field *dissect.Field
	role  role
}

// roleOf returns the role of a field.
func (w *rewriter) roleOf(f *dissect.Field) role {
	if f.Column != nil {
		f = f.Column
	}
	r, ok := w.roles[f]
	if !ok {
		r = roleOf(f)
		w.roles[f] = r
	}
	return r
}

func roleOf(f *dissect.Field) role {
	r, ok := roles[f.Path]
	switch {
	case ok && (!f.Secret || r == packed):
		return r
	case f.Secret:
		return secret
	case f.Framing:
		return fact // of the transport of the message
	}
	return byKind[f.Kind]
}

// byKind has the roles of fields without one of their own. All other kinds are facts.
var byKind = map[dissect.Kind]role{
	dissect.String: about, dissect.Bytes: opaque, dissect.ID: steam, dissect.Endpoint: address,
	dissect.Decimal: cell, // text in place of a number is replaced
}

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
	role    role
	numbers bool // numbers are replaced too
	fact    bool // of the game, or role if the value has an equals sign
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
		k.role, k.numbers = name, true
	case has("challenge"):
		k.role, k.numbers = token, true
	case has("pass", "pwd"):
		k.role = secret // 0 and 1 say only whether there is a password
	case has("guid", "hash", "steamid", "steam_id", "uuid", "cdkey", "cd_key", "token", "ticket", "secret", "serial", "xuid", "blaid"):
		k.role, k.numbers = ident, true
	default:
		k.role = about
	}
	return k
}

// Limits of the cached kinds.
const maxKinds, maxKind = 1 << 12, 64

// settingRole returns the role of a setting with a key and a value, and whether numbers in
// it are replaced too.
func (w *rewriter) settingRole(key, v []byte) (r role, numbers bool) {
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
		return fact, false // Unreal Tournament 3 puts other settings after equals signs
	}
	return k.role, k.numbers
}

// concreteRole returns the role of a value whose field leaves it to the key, or
// to the value itself. Other roles are returned unchanged.
func (w *rewriter) concreteRole(f *dissect.Field, v []byte, r role, k []byte) role {
	numbers := false
	switch r {
	case setting:
		r, numbers = w.settingRole(k, v)
		if f.Kind == dissect.String && r == about && plain(v) {
			r = fact
		}
		if r == secret && (len(v) <= 1 || isHarmless(v)) {
			r = fact // it says only whether there is a password
		}
	case condition:
		switch string(k) {
		case "name_match":
			r = about
		case "gameaddr":
			r = address
		default:
			r = fact
		}
	case argument:
		switch r = fact; {
		case string(k) == "echo" || string(k) == "secure":
			r = ident
		case f.Secret:
			r = secret
		}
	case cell:
		if r, numbers = w.settingRole([]byte(f.Key()), v); r == about {
			r = speech // of a player, not of the server
		}
		if plain(v) && !numbers {
			r = fact
		}
	}
	if numbers && len(v) < 2 && r != token {
		r = fact
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
