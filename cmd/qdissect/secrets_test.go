package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

// leak finds the password, or its first four or five bytes, or its last, as text or
// hex.
var leak = regexp.MustCompile(`(?i)` + secret[:4] + `|` + secret[4:] + `|54 ?72 ?30 ?75|62 ?34 ?64 ?6f ?72|T.{0,3}r.{0,3}0.{0,3}u.{0,3}b4`)

// leaks is quick where no part of the password is: each way to write it has one of these, or ends with a "b4" that the expression is asked about.
func leaks(out string) bool {
	lower := strings.ToLower(out)
	if strings.Contains(lower, strings.ToLower(secret[:4])) || strings.Contains(lower, secret[4:]) {
		return true
	}
	if bytes := strings.ReplaceAll(lower, " ", ""); strings.Contains(bytes, hexOf(secret[:4])) || strings.Contains(bytes, hexOf(secret[4:])) {
		return leak.MatchString(out)
	}
	for at, n := 0, 0; n >= 0; at += n + 1 {
		if n = strings.Index(lower[at:], secret[4:6]); n >= 0 && leak.MatchString(lower[max(0, at+n-60):at+n+2]) {
			return true
		}
	}
	return false
}

// about returns the text around the password.
func about(out string) string {
	i := leak.FindStringIndex(out)
	return out[max(0, i[0]-300):min(len(out), i[1]+30)]
}

func hexOf(s string) string { return fmt.Sprintf("%x", s) }

// captureOf returns a capture of one message. If mtu is not 0, the message is in IP
// fragments.
func captureOf(c confidence, mtu int, ng bool) []byte {
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{MTU: mtu, Ng: ng})
	client, server := netip.MustParseAddrPort("203.0.113.99:40000"), netip.AddrPortFrom(netip.MustParseAddr("203.0.113.66"), c.Port)
	if c.Reply {
		client, server = server, client
	}
	for i, p := range c.Parts {
		w.UDP(time.Unix(1e9, int64(i)*1e6), client, server, []byte(p))
	}
	return b.Bytes()
}

// annotated is the form of packet comments.
const annotated = "comments"

// forms are the output formats. The first four contain everything that the others do.
var forms = []string{"--all", "--all -x", "--all -o jsonl", annotated, "--all -V", "--all -o json"}

// outputs returns the output for a capture in some forms.
func outputs(t *testing.T, b []byte, forms []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, form := range forms {
		if form == annotated {
			out[form] = comments(t, b)
		} else {
			out[form] = runOn(t, b, strings.Fields(form)...)
		}
	}
	return out
}

// comments returns the packet comments of --annotate.
func comments(t *testing.T, b []byte) string {
	t.Helper()
	in := must.Get(capture.NewReader(strings.NewReader(runOn(t, b, "--all", "-q", "-w", "-", "--annotate=tree")), "annotated"))(t)
	defer in.Close()
	var all strings.Builder
	var f capture.Frame
	for in.Next(&f) == nil {
		for _, c := range f.Comments {
			all.WriteString(c + "\n")
		}
	}
	return all.String()
}

// TestSecretMessages checks that no output contains the password of any message in the
// table, whole, split or fragmented, and that the text beside it is shown.
func TestSecretMessages(t *testing.T) {
	for i, c := range confidences() {
		t.Run(fmt.Sprint(i, " ", c.Name), func(t *testing.T) {
			for _, mtu := range []int{0, 44} {
				if mtu > 0 && i%must.Try(4, 1) != 0 {
					continue
				}
				b := captureOf(c, mtu, false)
				out := outputs(t, b, must.Try([]string{"--all", forms[1+i%5]}, forms))
				for mode, out := range out {
					if leaks(out) {
						t.Errorf("MTU %d, %s: %q", mtu, mode, about(out))
					}
				}
				if !strings.Contains(out["--all"], c.Shown) {
					t.Errorf("MTU %d: no %q in %q", mtu, c.Shown, out["--all"])
				}
				if out := runOn(t, b, "--all", "-x", "--show-secrets"); mtu == 0 && len(c.Parts) == 1 && !strings.Contains(c.Name, "UTF-16") && !leaks(strings.Join(ascii(out), "")) {
					t.Errorf("--show-secrets hides it: %s", out)
				}
			}
		})
	}
}

// TestSecretPorts repeats the check on the ports of other protocols and in the other
// direction, each in some of the forms.
func TestSecretPorts(t *testing.T) {
	ports := []uint16{4000}
	for _, p := range all.Protocols() {
		ports = append(ports, p.Ports[0], p.Ports[len(p.Ports)-1])
	}
	for i, port := range ports {
		for _, reply := range []bool{true, false} {
			if i%must.Try(20, 1) != 0 {
				continue
			}
			var b bytes.Buffer
			s := hostile.NewStage(&b, mkpcap.Options{})
			for i, c := range confidences() {
				c.Port, c.Reply = port, reply
				confide(s, c, uint16(30000+i))
			}
			some := nettext.Either(reply, forms[2*((i+1)%3):], forms[2*(i%3):])
			for mode, out := range outputs(t, b.Bytes(), some[:2]) {
				if leaks(out) {
					t.Errorf("port %d, replies %v, %s: %q", port, reply, mode, about(out))
				}
			}
		}
	}
}

// ascii returns the text column of a hex dump.
func ascii(out string) (rows []string) {
	for _, m := range regexp.MustCompile(`(?m)^  [0-9a-f]{6}  .{48}\|(.{16})\|`).FindAllStringSubmatch(out, -1) {
		rows = append(rows, strings.Trim(m[1], " "))
	}
	return rows
}

// TestNotSecrets checks that text that only looks like a secret is shown.
func TestNotSecrets(t *testing.T) {
	for _, c := range openness() {
		t.Run(c.Name, func(t *testing.T) {
			b := captureOf(c, 0, false)
			if out := runOn(t, b, "--all"); !strings.Contains(out, c.Shown) {
				t.Errorf("no %q in %q", c.Shown, out)
			}
			for _, mode := range [][]string{{"-V"}, {"-x"}, {"-o", "jsonl"}} {
				hidden := runOn(t, b, append([]string{"--all"}, mode...)...)
				open := runOn(t, b, append([]string{"--all", "--show-secrets"}, mode...)...)
				if !strings.Contains(c.Parts[0], "rcon secret") && !strings.Contains(c.Parts[0], "rcon\x00secret") && hidden != open {
					t.Errorf("%v:\n%s\nwith secrets:\n%s", mode, hidden, open)
				}
				if n := strings.Count(hidden, "***"); strings.Contains(hidden, `"***"`) && n > 1 {
					t.Errorf("%v: %s", mode, hidden)
				}
			}
		})
	}
}

// TestSecretFlags checks that settings that only tell whether there is a password are
// shown.
func TestSecretFlags(t *testing.T) {
	for _, value := range []string{"", "0", "1", "-1", "true", "False", "no", "Yes", "off", "on", "none"} {
		c := confidence{Port: 7778, Reply: true, Parts: []string{`\hostname\x\password\` + value + `\final\\queryid\1.1`}}
		out := runOn(t, captureOf(c, 0, false), "-o", "jsonl")
		if !strings.Contains(out, `{"key":"password","value":"`+value+`"}`) || !strings.Contains(out, `"password":`) {
			t.Errorf("%q: %s", value, out)
		}
	}
	c := confidence{Port: 7778, Reply: true, Parts: []string{`\hostname\x\password\` + secret + `\final\\queryid\1.1`}}
	if out := runOn(t, captureOf(c, 0, false), "-o", "jsonl"); !strings.Contains(out, `{"key":"password","value":"***"}`) || !strings.Contains(out, `"password":true`) {
		t.Error(out)
	}
}

// TestSecretSplits checks that parts are masked only if their message contains a
// secret.
func TestSecretSplits(t *testing.T) {
	rules := "\xff\xff\xff\xffE\x03\x00sv_contact\x00" + strings.Repeat("somebody ", 9) + "\x00sv_password\x00%s\x00tv_title\x00SourceTV\x00"
	for value, masked := range map[string]bool{"0": false, "": false, secret: true} {
		c := confidence{Port: 27015, Reply: true, Parts: hostile.Split(7, 60, fmt.Sprintf(rules, value))}
		out := runOn(t, captureOf(c, 0, false), "-x")
		if got := !strings.Contains(strings.Join(ascii(out[:strings.Index(out, "joined")]), ""), "somebody somebody"); got != masked {
			t.Errorf("%q: %s", value, out)
		}
		if joined := strings.Join(ascii(out[strings.Index(out, "joined"):]), ""); !strings.Contains(joined, "somebody somebody") {
			t.Errorf("%q: %s", value, joined)
		}
	}
}

// TestSecrets checks that no captured password is in any output unless requested.
func TestSecrets(t *testing.T) {
	secrets, dir := readFile(t, attackFile("secrets.pcap")), t.TempDir()
	path := filepath.Join(dir, "secrets.pcap")
	must.Do(t, os.WriteFile(path, secrets, 0o600))
	shown := outputs(t, secrets, forms)
	if !strings.Contains(shown[annotated], `quake3: rcon command  "g_password " ***`) {
		t.Errorf("comments: %s", shown[annotated])
	}
	for _, mode := range [][]string{{"-V"}, {"-x"}, {"-o", "jsonl"}, {"-o", "json"}} {
		if !leaks(runOn(t, secrets, append([]string{"--show-secrets", "--all"}, mode...)...)) {
			t.Errorf("%v: --show-secrets hides them", mode)
		}
	}
	// The output of the commands that compare: the golden, and the differences to one
	// in which every value differs.
	out, errs, status := runIn(t, dir, "check", "--update", "secrets.pcap")
	if status != exitDone {
		t.Fatal(out, errs)
	}
	goldenPath := filepath.Join(dir, "secrets.golden.jsonl")
	lines := must.Get(os.ReadFile(goldenPath))(t)
	shown["golden"] = string(lines)
	other := bytes.ReplaceAll(secrets, []byte(secret), []byte("another12"))
	for name, data := range map[string][]byte{"other.pcap": other, "none.pcap": bytes.ReplaceAll(secrets, []byte(secret), []byte("0        "))} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		for _, args := range [][]string{{"diff", "--strict", "--max", "1000"}, {"diff", "--max", "1000"}} {
			for _, files := range [][]string{{"secrets.pcap", name}, {name, "secrets.pcap"}, {"secrets.golden.jsonl", name}} {
				args := append(args[:len(args):len(args)], files...)
				out, errs, _ := runIn(t, dir, args...)
				shown[fmt.Sprint(args)] = out + errs
			}
		}
	}
	must.Do(t, os.WriteFile(goldenPath, bytes.ReplaceAll(lines, []byte("***"), []byte("+++")), 0o600))
	for _, format := range golden.Formats {
		out, errs, _ := runIn(t, dir, "check", "--format", format, "secrets.pcap")
		shown["check as "+format] = out + errs
	}
	login := "424501020304ff00" + hexOf(secret) // BattlEye
	for _, payload := range []string{"ffffffff72636f6e20" + hexOf(secret) + "20737461747573", "72636f6e20" + hexOf(secret), login} {
		for _, mode := range [][]string{{}, {"-V"}, {"-x"}, {"-o", "jsonl"}} {
			out, errs, _ := runIn(t, dir, append(append([]string{"decode"}, mode...), payload)...)
			shown[fmt.Sprint("decode", mode, payload)] = out + errs
			if payload == login { // an unread datagram
				out, errs, _ := runIn(t, dir, append(append([]string{"decode", "--as", "ase"}, mode...), payload)...)
				shown[fmt.Sprint("decode as", mode)] = out + errs
			}
		}
	}
	for what, out := range shown {
		if leaks(out) {
			t.Errorf("%s shows a password: %q", what, about(out))
		}
	}
}

// secret is the password that must not appear in any output.
const secret = "Tr0ub4dor"

// A confidence is a message that contains [secret], as its datagrams.
type confidence struct {
	Name string
	// Port is the port of the server.
	Port  uint16
	Reply bool
	Parts []string
	// Shown is text that must appear in the line of the message.
	Shown string
}

// Ports that identify messages whose content does not.
const (
	portValve     = 27015
	portQuake3    = 27960
	portDoom3     = 27666
	portGameSpy1  = 7778
	portGameSpy2  = 23000
	portGameSpy3  = 29900
	portMinecraft = 25565
	portASE       = 22126
	portMaster    = 27010
	portNobody    = 4000
)

func asks(name string, port uint16, shown string, parts ...string) confidence {
	return confidence{name, port, false, parts, shown}
}

func says(name string, port uint16, shown string, parts ...string) confidence {
	return confidence{name, port, true, parts, shown}
}

// single begins a message that is one datagram.
const single = "\xff\xff\xff\xff"

const logged = "L 01/02/2026 - 03:04:05: "

// confidences returns messages that contain [secret], each in a different way.
func confidences() []confidence {
	return slices.Concat(toQuake(), toValve(), toOthers(), toNobody(), inParts())
}

// rules returns a rules reply.
func rules(pairs ...string) string {
	return single + "E" + string([]byte{byte(len(pairs) / 2), 0}) + strings.Join(pairs, "\x00") + "\x00"
}

// toQuake are messages of Quake 3 and its descendants.
func toQuake() []confidence {
	const s = secret
	userinfo := `"\name\Mallory\password\` + s + `\rate\25000\cl_guid\` + s + `GUID"`
	return []confidence{
		// Console commands of Quake 3 and its descendants.
		asks("rcon", portQuake3, `"status"`, single+"rcon "+s+" status"),
		asks("rcon without a command", portQuake3, "rcon command", single+"rcon "+s),
		asks("rcon, cut", portQuake3, "rcon command", single+`rcon "`+s),
		asks("rcon in capitals", portQuake3, "map x", single+"RCON "+s+" map x"),
		asks("rcon behind a tab", portQuake3, "", single+"rcon\t"+s+" status"),
		asks("rcon behind a new line", portQuake3, "", single+"rcon\n"+s+" status"),
		asks("rcon in quotation marks", portQuake3, `"status"`, single+`rcon "a `+s+`" status`),
		asks("g_password", portQuake3, `"g_password " ***`, single+"rcon x g_password "+s),
		asks("set rconpassword", portQuake3, `"set rconpassword " ***`, single+"rcon x set rconpassword "+s),
		asks("seta of many words", portQuake3, "***", single+`rcon x seta g_password a b `+s),
		asks("a password in quotation marks", portQuake3, "***", single+`rcon x sv_privatePassword "`+s+`"; status`),
		asks("the second command", portQuake3, "say hello", single+"rcon x say hello; g_password 0;rconPassword "+s),
		asks("a plugin's command", portQuake3, "amx_cvar", single+"rcon x amx_cvar sv_password "+s),
		asks("password", portQuake3, `"password " ***`, single+"rcon x password "+s),
		asks("with an equals sign", portQuake3, "***", single+"rcon x rcon_password="+s),
		asks("in an infostring", portQuake3, "***", single+`rcon x settings \a\b\password\`+s+`\c\d`),
		asks("a challenge, no quotation marks", portQuake3, `*** "status"`, single+"rcon 12345 "+s+" status"),
		asks("a challenge with a sign", portQuake3, `*** "status"`, single+"rcon -12345 "+s+" status"),
		asks("a challenge, other quotation marks", portQuake3, "***", single+"rcon 1 '"+s+"' status"),
		asks("a challenge and no command", portQuake3, "***", single+"rcon 12345 "+s),
		asks("connect", portQuake3, "Mallory", single+"connect "+userinfo),
		asks("connect, cut", portQuake3, "Mallory", single+"connect "+userinfo[:len(userinfo)-20]),
		asks("connect of Half-Life", portQuake3, "", single+`connect 47 -5 "\prot\3\unique\1\raw\`+s+`\cdkey\`+s+`" `+userinfo),
		asks("getKeyAuthorize", portQuake3, "key authorization", single+"getKeyAuthorize 0 "+s+" x"),
		asks("getIpAuthorize of Call of Duty", portQuake3, "192.0.2.7", single+`getIpAuthorize 1 192.0.2.7 "" 0 `+s),
		// Console output.
		says("the value of rconPassword", portQuake3, "***", single+"print\n\"rconPassword\" is:\""+s+"^7\" default:\"^7\"\n"),
		says("the value of g_password", portQuake3, "***", single+"print\n\"g_password\" is:\""+s+"^7\" default:\"^7\"\n"),
		says("the second value", portQuake3, "print", single+"print\n\"g_password\" is:\"^7\" default:\"^7\"\n\"rconPassword\" is:\""+s+"^7\"\n"),
		says("the value in DarkPlaces", portQuake3, "***", single+"print\n^3rcon_password^7 is \"^7"+s+"^7\" [\"^7\"]\n"),
		says("dumpuser", portQuake3, "print", single+"print\nuserinfo\n--------\nip                  192.0.2.7\npassword            "+s+"\n"),
		says("a configuration", portQuake3, "print", single+"print\nset g_gametype 3\nset g_password "+s+"\n"),
		says("a configuration in quotation marks", portQuake3, "print", single+"print\nseta rconpassword \""+s+"\"\n"),
		says("cvarlist", portQuake3, "print", single+"print\n  S R     rconPassword \""+s+"\"\n"),
		says("Bad rcon", portQuake3, "print", single+"print\nBad rcon from 192.0.2.7:\nrcon "+s+" status\n"),
		says("a command repeated", portQuake3, "print", single+"print\nrcon_password "+s),
		says("changed to", portQuake3, "print", single+"print\nServer cvar 'sv_password' changed to "+s+"\n"),
		says("status reply", portQuake3, `"x"`, single+"statusResponse\n\\sv_hostname\\x\\g_password\\"+s+"\\rconpassword\\"+s+"\n"),
		says("info reply", portQuake3, `"x"`, single+"infoResponse\n\\hostname\\x\\sv_passwordText\\"+s),
	}
}

// toValve are messages of Half-Life and Source.
func toValve() []confidence {
	const s = secret
	return []confidence{
		// Half-Life and Source.
		asks("rcon of Half-Life", portValve, `"status"`, single+`rcon 17 "`+s+"\" status\x00"),
		asks("rcon without quotation marks", portValve, `"status"`, single+"rcon 12345 "+s+" status"),
		asks("sv_password", portValve, `"sv_password " ***`, single+`rcon 17 "x" sv_password `+s+"\n\x00"),
		says("infostring", portValve, "infostring reply", single+"infostringresponse\x00\\password\\"+s+"\\rcon_password\\"+s+"\x00"),
		says("infostring, cut", portValve, `"x"`, single+"infostringresponse\x00\\hostname\\x\\rcon_password\\"+s),
		says("log", portValve, "", single+"log "+logged+`Rcon: "rcon 123 "`+s+"\" status\" from \"192.0.2.7:5\"\n\x00"),
		says("log with a sign", portValve, "", single+"log "+logged+`Rcon: "rcon -123 "`+s+"\" status\" from \"192.0.2.7:5\"\n\x00"),
		says("log without quotation marks", portValve, "", single+"log "+logged+"Bad Rcon: \"rcon 123 "+s+" status\" from \"192.0.2.7:5\"\n\x00"),
		says("log without a challenge", portValve, "", single+"log "+logged+`Bad Rcon: "rcon "`+s+"\" status\" from \"192.0.2.7:5\"\n\x00"),
		says("log of a setting", portValve, "", single+"log "+logged+`Server cvar "sv_password" = "`+s+"\"\n\x00"),
		says("log of a command", portValve, "log line", single+"R"+logged+"rcon from \"192.0.2.7:5\": command \"sv_password "+s+"\"\n\x00"),
		says("log of another command", portValve, "log line", single+"R"+logged+"rcon from \"192.0.2.7:5\": command \"say hi;rcon_password "+s+" \"\n\x00"),
		says("log of a bad command", portValve, "log line", single+"R"+logged+"Bad Rcon: \"rcon 2045268312 \""+s+"\" status\" from \"192.0.2.7:5\"\n\x00"),
		says("log of a change", portValve, "log line", single+"R"+logged+`server_cvar: "sv_password" "`+s+"\"\n\x00"),
		says("log with a secret", portValve, "log line", single+"S"+s+logged+"World triggered \"Round_Start\"\n\x00"),
		says("log with a secret of a change", portValve, "log line", single+"S7"+logged+`server_cvar: "tv_password" "`+s+"\"\n\x00"),
		says("the value of rcon_password", portValve, "print", single+"l\"rcon_password\" = \""+s+"\"\n\x00"),
		says("the value in Source", portValve, "print", single+`l"sv_password" = "`+s+"\" ( def. \"\" )\n\x00"),
		says("cvarlist of Source", portValve, "print", single+"lsv_password                              : "+s+"   : , \"prot\" : Server password\n\x00"),
		says("two values", portValve, "print", single+"l\"rcon_password\" is \"\"\n\"sv_password\" is \""+s+"\"\n\x00"),
		says("the value in Source 2", portValve, "print", single+"lsv_password = "+s+"\n\x00"),
		says("rules", portValve, "rules", rules("mp_timelimit", "30", "rcon_password", s, "sv_password", s, "AdminPassword", s)),
		says("rules, cut", portValve, "rules", strings.TrimSuffix(rules("mp_timelimit", "30", "sv_password", s), "\x00")),
		asks("connect of Source", portValve, "join request", single+"k\x18\x00\x00\x00\x03\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08Mallory\x00"+s+"\x002000\x00\x08\x00"+s),
	}
}

// toOthers are messages of Doom 3, GameSpy and the descendants of both.
func toOthers() []confidence {
	const s = secret
	return []confidence{
		// Doom 3 and its descendants.
		asks("rcon of Doom 3", portDoom3, `"status"`, "\xff\xffrcon\x00"+s+"\x00status\x00"),
		asks("rcon of Doom 3, cut", portDoom3, "", "\xff\xffrcon\x00"+s),
		asks("rcon of Doom 3 without a password", portDoom3, "rcon command", "\xff\xffrcon\x00\x00"+s+"\x00"),
		asks("rcon of Doom 3 with an empty word", portDoom3, "rcon command", "\xff\xffrcon\x00\x00"+s+"\x00status\x00\x00"),
		asks("rcon of Doom 3 with empty words", portDoom3, "rcon command", "\xff\xffrcon\x00\x00\x00"+s+"\x00status\x00"),
		asks("a setting of Doom 3", portDoom3, "net_serverRemoteConsolePassword", "\xff\xffrcon\x00x\x00net_serverRemoteConsolePassword "+s+"\x00"),
		says("the value in Doom 3", portDoom3, "print", "\xff\xffprint\x00\x02\x00\x00\x00\"g_password\" is:\""+s+"^0\" default:\"\"\n\x00"),
		says("info reply of Doom 3", portDoom3, `"x"`, "\xff\xffinfoResponse\x00abcd\x29\x00\x01\x00si_name\x00x\x00g_password\x00"+s+"\x00\x00\x00\x20\x00\x00\x00\x00"),
		// GameSpy and its descendants.
		says("GameSpy 1", portGameSpy1, `"x"`, `\hostname\x\adminpassword\`+s+`\password\`+s+`\final\\queryid\1.1`),
		says("GameSpy 1 with a backslash", portGameSpy1, `"x"`, `\hostname\x\password\(`+s+`\=)\mapname\y\final\\queryid\1.1`),
		says("GameSpy 1 in a player", portGameSpy1, `"x"`, `\hostname\x\player_0\Ann\password_0\`+s+`\final\\queryid\1.1`),
		asks("GameSpy 1 request", portGameSpy1, "", `\login\x\password\`+s+`\basic\`),
		says("GameSpy 2", portGameSpy2, `"x"`, "\x00CORYhostname\x00x\x00password\x00"+s+"\x00numplayers\x000\x00\x00\x00\x00\x00"),
		says("GameSpy 2, cut", portGameSpy2, `"x"`, "\x00CORYhostname\x00x\x00password\x00"+s),
		says("GameSpy 3", portGameSpy3, `"x"`, "\x00CORYsplitnum\x00\x80\x00hostname\x00x\x00gamever\x001\x00sv_password\x00"+s+"\x00\x00\x01player_\x00\x00Ann\x00\x00"),
		says("GameSpy 3, cut", portGameSpy3, `"x"`, "\x00CORYsplitnum\x00\x80\x00hostname\x00x\x00gamever\x001\x00sv_password\x00"+s),
		says("GameSpy 3 in a player", portGameSpy3, `"x"`, "\x00CORYsplitnum\x00\x80\x00hostname\x00x\x00gamever\x001\x00\x00\x01player_\x00\x00Ann\x00\x00password_\x00\x00"+s+"\x00\x00"),
		says("Minecraft", portMinecraft, `"x"`, "\x00\x00\x00\x00\x01splitnum\x00\x80\x00hostname\x00x\x00gametype\x00SMP\x00game_id\x00MINECRAFT\x00rcon.password\x00"+s+"\x00\x00\x01player_\x00\x00\x00"),
		says("The All-Seeing Eye", portASE, `"x"`, "EYE1\x04mta\x0622003\x02x\x02y\x02z\x02a\x020\x020\x022\x0eadminpassword\x0a"+s+"\x01"),
		says("The All-Seeing Eye, cut", portASE, `"x"`, "EYE1\x04mta\x0622003\x02x\x02y\x02z\x02a\x020\x020\x022\x09password\x0a"+s[:6]),
		asks("heartbeat", portMaster, "heartbeat", "0\n\\protocol\\48\\challenge\\5\\players\\0\\max\\8\\gamedir\\cstrike\\map\\x\\password\\"+s+"\\os\\l\n"),
	}
}

// toNobody are messages that no protocol recognises, or on other ports.
func toNobody() []confidence {
	const s = secret
	return []confidence{
		// Messages that no protocol recognises.
		asks("rcon on any port", portNobody, "remote console", single+"rcon "+s+" status"),
		asks("rcon without a header", portNobody, "", "rcon "+s+" quit"),
		asks("rcon behind blanks", portNobody, "", single+" rcon "+s+" quit"),
		asks("rcon in UTF-16", portNobody, "", "\xff\xff"+wide("rcon "+s)),
		asks("login", portNobody, "", "login pass="+s),
		asks("another login", portNobody, "", "login user=x&pwd="+s),
		asks("BattlEye", 2302, "login request", "BE\x12\x34\x56\x78\xff\x00"+s),
		asks("San Andreas Multiplayer", 7777, "rcon command", "SAMP\x7f\x00\x00\x01\x61\x1ex\x09\x00"+s+"\x04\x00exit"),
		asks("San Andreas Multiplayer, cut", 7777, "rcon command", "SAMP\x7f\x00\x00\x01\x61\x1ex\x09\x00"+s[:6]),
		asks("Vice City Multiplayer", 8192, "rcon command", "VCMP\x7f\x00\x00\x01\x61\x1ex\x09\x00"+s+"\x04\x00exit"),
		asks("NetQuake", 26000, "NETQUAKE", "\x80\x00\x00\x16\x05"+s+"\x00status\x00"),
		asks("connect of Source on any port", portNobody, "", single+"k\x18\x00\x00\x00\x03\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08Mallory\x00"+s+"\x002000\x00"),
		says("print on any port", portNobody, "", single+"print\n\"rconPassword\" is:\""+s+"^7\""),
	}
}

// inParts are split messages, with the cut before, inside and after the password.
func inParts() (list []confidence) {
	const s = secret
	long := "x" + strings.Repeat(" ", 60)
	log := single + "R" + logged + long + "Bad Rcon: \"rcon 123 \"" + s + "\" status\" from \"192.0.2.7:5\"\n\x00"
	long = rules("sv_contact", long, "sv_password", s, "tv_title", long)
	for i, message := range []string{log, long, single + "l\"rcon_password\" = \"" + s + "\"\n\x00", single + "infostringresponse\x00\\password\\" + s + "\x00"} {
		at := strings.Index(message, s)
		for _, size := range []int{at, at + 4, at + len(s) + 1, (at + 8) / 2} {
			list = append(list,
				says("in parts of Source", portValve, "source split", hostile.Split(uint32(100+10*i), size, message)...),
				says("in parts of GoldSrc", portValve, "goldsrc split", goldSrc(uint32(100+10*i), size, message)...))
		}
		list = append(list, says("compressed", portValve, "bzip2", hostile.Pack(uint32(100+i), 60, message)...))
	}
	return append(list,
		says("GameSpy 1 in parts", portGameSpy1, "2 parts", `\hostname\x\adminpassword\`+s+`\queryid\2.1`, `\player_0\Ann\queryid\2.2\final\`),
		says("GameSpy 1, a part missing", portGameSpy1, "split", `\hostname\x\adminpassword\`+s+`\queryid\2.1`, `\player_0\Ann\queryid\2.2`),
		says("GameSpy 3 in parts", portGameSpy3, "2 parts", "\x00CORYsplitnum\x00\x00\x00hostname\x00x\x00gamever\x001\x00sv_password\x00"+s[:6]+"\x00", "\x00CORYsplitnum\x00\x81\x00sv_password\x00"+s+"\x00\x00\x01player_\x00\x00Ann\x00\x00"),
		says("The All-Seeing Eye, the first part missing", portASE, "", "EYE2\x09password\x0a"+s+"\x01\x07\x00\x00\x00"),
	)
}

// openness returns messages that look as if they had a secret. All of their content
// must be shown.
func openness() []confidence {
	return []confidence{
		asks("a command", portQuake3, `"status"`, single+"rcon secret status"),
		asks("a map", portQuake3, `"map password1"`, single+"rcon secret map password1"),
		asks("a map and more", portQuake3, `"map de_passwords;say hi there"`, single+"rcon secret map de_passwords;say hi there"),
		asks("a player", portQuake3, `"kick password123 now"`, single+"rcon secret kick password123 now"),
		asks("a question", portQuake3, `"g_password"`, single+"rcon secret g_password"),
		asks("no password any longer", portQuake3, `"g_password \"\"; map x"`, single+`rcon secret g_password ""; map x`),
		asks("a flag", portQuake3, `"g_needpass 1; sv_password 0"`, single+"rcon secret g_needpass 1; sv_password 0"),
		asks("a command of Doom 3", portDoom3, `"serverInfo passwords"`, "\xff\xffrcon\x00secret\x00serverInfo passwords\x00"),
		says("a refusal", portQuake3, `"Bad rconpassword."`, single+"print\nBad rconpassword.\n"),
		says("another refusal", portQuake3, `"No rconpassword set on the server."`, single+"print\nNo rconpassword set on the server.\n"),
		says("yet another refusal", portQuake3, `"Invalid password"`, single+"print\nInvalid password\n"),
		says("a sentence", portQuake3, `"password protected server, ask for the password"`, single+"print\npassword protected server, ask for the password\n"),
		says("no password", portQuake3, `default:`, single+"print\n\"g_password\" is:\"^7\" default:\"^7\"\n"),
		says("status of players", portQuake3, "1/8 players", single+"statusResponse\n\\sv_hostname\\x\\sv_maxclients\\8\\password\\1\\needpassword\\true\n1 2 \"password123\"\n"),
		says("cvarlist", portValve, "Server password", single+"lsv_password                              : 0        : , \"prot\" : Server password\n\x00"),
		says("a name in a log", portValve, `password123<2><STEAM_1:0:1><CT>\" say \"hi there`, single+"R"+logged+"\"password123<2><STEAM_1:0:1><CT>\" say \"hi there\"\n\x00"),
		says("another name in a log", portValve, `password<2><STEAM_1:0:1><CT>\" say \"hi there`, single+"R"+logged+"\"password<2><STEAM_1:0:1><CT>\" say \"hi there\"\n\x00"),
		says("a map in a log", portValve, `CRC \"-17\")`, single+"R"+logged+"Started map \"de_password\" (CRC \"-17\")\n\x00"),
		says("a command in a log", portValve, `command \"status\"`, single+"R"+logged+"rcon from \"192.0.2.7:5\": command \"status\"\n\x00"),
		says("a refusal of Half-Life", portValve, `"Bad rcon_password.\n"`, single+"lBad rcon_password.\n\x00"),
		says("a map", portValve, "de_password", single+"I\x11password123\x00de_password\x00tf\x00Team Fortress\x00\xb8\x01\x01\x20\x00dl\x00\x019543365\x00\x00"),
		says("players", portValve, "1 player", hostile.Players("password123 rcon 5 x")),
		says("San Andreas Multiplayer, an answer", 7777, "hello", "SAMP\x7f\x00\x00\x01\x61\x1ex\x05\x00hello"),
		says("BattlEye, an answer", 2302, "accepted", "BE\x12\x34\x56\x78\xff\x00\x01"),
		says("BattlEye, a command", 2302, `"players"`, "BE\x12\x34\x56\x78\xff\x01\x00players"),
		says("NetQuake, an answer", 26000, "83 68 65 6c", "\x80\x00\x00\x09\x83help"),
		asks("no login", portNobody, "compass", "compass: pass on"),
	}
}

// goldSrc splits a message in the format of GoldSrc.
func goldSrc(id uint32, size int, message string) (parts []string) {
	total := (len(message) + size - 1) / size
	for i := range total {
		b := binary.LittleEndian.AppendUint32([]byte("\xfe\xff\xff\xff"), id)
		parts = append(parts, string(append(b, byte(i<<4|total)))+message[i*size:min((i+1)*size, len(message))])
	}
	return parts
}

// wide encodes text in UTF-16, little-endian.
func wide(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

// confide sends a message to or from a client with its own port.
func confide(s *hostile.Stage, c confidence, clientPort uint16) {
	src, dst := netip.AddrPortFrom(netip.MustParseAddr("203.0.113.99"), clientPort), netip.AddrPortFrom(netip.MustParseAddr("203.0.113.66"), c.Port)
	if c.Reply {
		src, dst = dst, src
	}
	for _, p := range c.Parts {
		s.Strike(src, dst, p)
	}
}
