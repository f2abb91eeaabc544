package samp

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// head begins a message, with 192.0.2.10:7777.
func head(tag, op string) string { return tag + "\xc0\x00\x02\x0a\x61\x1e" + op }

func words(list ...uint16) string {
	var b []byte
	for _, n := range list {
		b = binary.LittleEndian.AppendUint16(b, n)
	}
	return string(b)
}

// long writes texts behind 32 bits of length, short behind 8, middle behind 16.
func long(list ...string) string {
	var b []byte
	for _, s := range list {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	return string(b)
}

func short(list ...string) string {
	var b []byte
	for _, s := range list {
		b = append(append(b, byte(len(s))), s...)
	}
	return string(b)
}

func middle(list ...string) string {
	var b []byte
	for _, s := range list {
		b = append(binary.LittleEndian.AppendUint16(b, uint16(len(s))), s...)
	}
	return string(b)
}

var (
	info     = head("SAMP", "i") + "\x01" + words(34, 350) + long("\xd2\xe5\xf1\xf2 server", "RPG v6", "Romanian/English")
	infoVC   = head("MP04", "i") + "04rel006\x00\x00\x00\x00" + "\x00" + words(3, 50) + long("VC", "DM", "Vice")
	rules    = head("SAMP", "r") + words(3) + short("mapname", "San Andreas", "version", "0.3.7-R2", "rcon_password", "hidden1")
	clients  = head("SAMP", "c") + words(2) + short("Anna") + "\x05\x00\x00\x00" + short("B\xf6rje") + "\xff\xff\xff\xff"
	namesVC  = head("MP04", "c") + words(2) + short("Anna", "Borje")
	detailed = head("SAMP", "d") + words(2) + "\x21" + short("Anna") + "\x20\x00\x00\x00\x29\x00\x00\x00\x00" + short("Borje") + "\xfb\xff\xff\xff\x78\x00\x00\x00"
	extra    = head("SAMP", "o") + long("https://discord.example/abc", "", "", "https://example.com/l.png")
)

func samples() []dissecttest.Sample {
	const certain, likely = dissect.Certain, dissect.Likely
	one := dissecttest.One
	reply := func(name, message string, verdict dissect.Verdict, payload string, findings ...string) dissecttest.Sample {
		s := one(name, message, verdict, payload, findings...)
		s.Sound = []int{lenHead} // a request
		return s
	}
	list := []dissecttest.Sample{
		one("ping", "ping_request", certain, head("SAMP", "p")+"\x11\x22\x33\x44"),
		one("ping of VC-MP", "ping_request", certain, head("VCMP", "p")+"\x11\x22\x33\x44"),
		reply("info", "info_reply", certain, info, "enc.notutf8"),
		one("info of VC-MP", "info_reply", likely, infoVC),
		one("info of a version without an end", "info_reply", likely, strings.Replace(infoVC, "04rel006\x00\x00\x00\x00", "04rel0065678", 1)),
		reply("rules", "rules_reply", certain, rules),
		reply("no rules", "rules_reply", certain, head("SAMP", "r")+words(0)),
		reply("players", "clients_reply", certain, clients, "enc.notutf8"),
		one("players of VC-MP", "clients_reply", likely, namesVC),
		reply("detailed players", "players_reply", certain, detailed),
		reply("fewer players than announced", "players_reply", certain, strings.Replace(detailed, "d\x02", "d\x03", 1), "samp.count"),
		reply("more players than announced", "players_reply", certain, strings.Replace(detailed, "d\x02", "d\x01", 1), "trailing"),
		reply("extra info", "extra_reply", certain, extra),
		reply("request with something behind it", "info_request", certain, head("SAMP", "i")+"\x00\x00", "samp.padded"),
		one("rcon", "rcon_request", certain, head("SAMP", "x")+middle("hidden1", "players")),
		one("rcon of VC-MP", "rcon_request", likely, head("VCMP", "x")+middle("hidden1", "players")),
		one("rcon with a password in the command", "rcon_request", certain, head("SAMP", "x")+middle("hidden1", "rcon_password hidden2")),
		one("rcon cut", "rcon_request", certain, head("SAMP", "x")+middle("hidden1", "players")[:6], "malformed"),
		one("rcon reply", "rcon_reply", certain, head("SAMP", "x")+middle("ID\tName")),
		one("rcon reply of VC-MP", "rcon_reply", likely, head("MP04", "x")+middle("ID\tName")),
		one("rcon reply of an empty line", "rcon_reply", certain, head("SAMP", "x")+middle("")),
		one("rcon reply with a password", "rcon_reply", certain, head("SAMP", "x")+middle(`rcon_password = "hidden1"  (string)`)),
		one("rcon refused", "rcon_reply", certain, head("SAMP", "x")+middle("Invalid RCON password."), "samp.rcon.refused"),
		one("another letter", "info_request", dissect.No, head("SAMP", "q"), "malformed"),
	}
	for _, o := range ops {
		if o.letter != 'p' && o.letter != 'x' {
			list = append(list,
				one(o.request.Title, o.request.Name, certain, head("SAMP", string(o.letter))),
				one(o.request.Title+" of VC-MP", o.request.Name, certain, head("VCMP", string(o.letter))))
		}
	}
	// The engine makes a reply of a ping that a request waits for; the suite has no requests.
	for i := range list {
		s := &list[i]
		switch s.Name {
		case "more players than announced":
			s.Sound = append(s.Sound, lenHead+2+14)
		case "rcon", "rcon with a password in the command":
			s.Sound = append(s.Sound, lenHead+2+len("hidden1")) // a reply
		}
	}
	echo := one("ping reply", "ping_reply", likely, head("MP04", "p")+"\x11\x22\x33\x44")
	return append(list, echo)
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

// TestSecrets: what is a password, or could be a part of one, is masked.
func TestSecrets(t *testing.T) {
	request := head("SAMP", "x") + middle("hidden1", "players")
	for _, payload := range []string{request, request[:len(request)-3], request[:18], head("SAMP", "x") + middle("hidden1", "rcon_password hidden2"), rules} {
		r := dissecttest.Decode(t, Protocol(), []byte(payload))
		for i := range r.Nodes {
			n := &r.Nodes[i]
			if v := string(n.Value(r.Sources[0].Data)); strings.Contains(v, "hid") && !n.Field.Secret && !n.Field.Kind.Container() {
				t.Errorf("%q: %s shows %q", payload, n.Field.Path, v)
			}
		}
	}
}
