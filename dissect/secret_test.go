package dissect

import (
	"bytes"
	"strings"
	"testing"
)

func TestSecretIn(t *testing.T) {
	for text, want := range map[string]string{
		`Bad Rcon: "rcon 2045268312 "hunter2" status" from "1.2.3.4:5"`: `Bad Rcon: "rcon 2045268312 `,
		`Rcon: "rcon -17 "hunter2" status" from "1.2.3.4:5"`:            `Rcon: "rcon -17 `,
		`Bad Rcon: "rcon "hunter2" status" from "1.2.3.4:5"`:            `Bad Rcon: "rcon "`,
		`rcon 17 hunter2 status`:                                        `rcon 17 `,
		"Bad rcon from 1.2.3.4:\nrcon hunter2 status\n":                 "Bad rcon from 1.2.3.4:\nrcon ",
		`rcon from "1.2.3.4:5": command`:                                `rcon from "1.2.3.4:5": command`,
		`rcon from "1.2.3.4:5": command "status"`:                       `rcon from "1.2.3.4:5": command "status"`,
		`rcon from "1.2.3.4:5": command "sv_password hunter2"`:          `rcon from "1.2.3.4:5": command "sv_password `,
		`rcon from "1.2.3.4:5": command "say a;password hunter2"`:       `rcon from "1.2.3.4:5": command "say a;password `,
		`Bad rconpassword.`:                                             `Bad rconpassword.`,
		`No rconpassword set on the server.`:                            `No rconpassword set on the server.`,
		`Must set 'rcon_password' before using this command.`:           `Must set 'rcon_password' before using this command.`,
		`"rcon_password" = "hunter2"`:                                   `"rcon_password" = "`,
		`'rcon_password' = 'hunter2'`:                                   `'rcon_password' = '`,
		`"rconPassword" is:"hunter2^7"`:                                 `"rconPassword" is:"`,
		`"rcon_password" is: "hunter2^7" default: "^7"`:                 `"rcon_password" is: "`,
		`"rconPassword" is:"^7" default:"^7"`:                           `"rconPassword" is:"^7" default:"^7"`,
		"^3rcon_password^7 is \"^7hunter2^7\" [\"^7\"]":                 `^3rcon_password^7 is "`,
		`"sv_password" is "" `:                                          `"sv_password" is "" `,
		"\"a_password\" is \"\"\n\"b_password\" is \"hunter2\"":         "\"a_password\" is \"\"\n\"b_password\" is \"",
		`server_cvar: "sv_password" "hunter2"`:                          `server_cvar: "sv_password" "`,
		`Server cvar 'sv_password' changed to hunter2`:                  `Server cvar 'sv_password' changed to `,
		`sv_password = hunter2`:                                         `sv_password = `,
		`password = two words`:                                          `password = `,
		"sv_password      : hunter2  : , \"prot\" : Text":               "sv_password      : ",
		"sv_password      : 0        : , \"prot\" : Text":               "sv_password      : 0        : , \"prot\" : Text",
		"set g_password two words\nmap x":                               "set g_password ",
		"ip        1.2.3.4\npassword        hunter2\n":                  "ip        1.2.3.4\npassword        ",
		`\name\x\password\hunter2\rate\1`:                               `\name\x\password\`,
		`\name\x\password\1\rate\1`:                                     `\name\x\password\1\rate\1`,
		`password protected server`:                                     `password protected server`,
		`Your password is wrong`:                                        `Your password is wrong`,
		`"password123<2><STEAM_1:0:1><CT>" say "hi"`:                    `"password123<2><STEAM_1:0:1><CT>" say "hi"`,
		`"password<2><STEAM_1:0:1><CT>" say "hi"`:                       `"password<2><STEAM_1:0:1><CT>" say "hi"`,
		`Started map "de_password" (CRC "-17")`:                         `Started map "de_password" (CRC "-17")`,
		`rcon`:                                                          `rcon`, ``: ``, `rcon 17`: `rcon 17`, `rcon `: `rcon `, `PASSWORD"x`: `PASSWORD"x`, `passw`: `passw`, `"passw"`: `"passw"`, `passw=`: `passw=`,
		`passw "`: `passw "`, `x_passw '`: `x_passw '`, `passw\`: `passw\`, `passw is`: `passw is`, `passw  ^7`: `passw  ^7`,
	} {
		if got := text[:SecretIn(text)]; got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestSecretInCommand(t *testing.T) {
	for text, want := range map[string]string{
		`g_password hunter2`: `g_password `, `set rconpassword hunter2`: `set rconpassword `, `seta g_password "two words"`: `seta g_password "`,
		`password hunter2`: `password `, ` "password" hunter2`: ` "password" `, `map x;password hunter2`: `map x;password `, "map x\nPASSWORD hunter2": "map x\nPASSWORD ",
		`amx_cvar sv_password hunter2`: `amx_cvar sv_password `, `g_password 0; sv_password hunter2`: `g_password 0; sv_password `,
		`g_password 1 hunter2`: `g_password `, `rcon_password=hunter2`: `rcon_password=`, `rcon hunter2 status`: `rcon `,
		`status`: `status`, `map password1`: `map password1`, `map de_passwords`: `map de_passwords`, `kick password now`: `kick password now`, `kick password123 now`: `kick password123 now`,
		`g_password`: `g_password`, `g_password ""`: `g_password ""`, `g_password 0`: `g_password 0`, `g_needpass 1`: `g_needpass 1`, `exec passwords.cfg`: `exec passwords.cfg`,
	} {
		if got := text[:SecretInCommand(text)]; got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestSecretSetting(t *testing.T) {
	for _, key := range []string{"password", "passwd", "sv_password", "rconPassword", "ADMINPASSWORD", "x.PassWord.y", "passw", "w_passw", "wwwpasswwww", "net_serverRemoteConsolePassword"} {
		for _, value := range []string{"hunter2", "12", "-12", "x", "^", "not", "0 0", "true dat", "\xff"} {
			if !SecretSetting(key, value) {
				t.Errorf("%s %q is shown", key, value)
			}
		}
		for _, value := range []string{"", " ", "0", "1", "-1", " 1 ", "true", "FALSE", "Yes", "no", "on", "Off", "none", "N", "y", "^7", "^1^7", "^10^7", "0\x00"} {
			if SecretSetting(key, value) {
				t.Errorf("%s %q is hidden", key, value)
			}
		}
	}
	for _, key := range []string{"", "pass", "passe", "needpass", "sv_passtime", "w", "wwwwwwwwwwww", "hostname", "pas_sword", "throw", "sv_wateraccelerate", "passive", "pass word"} {
		if SecretSetting(key, "hunter2") {
			t.Errorf("%s is hidden", key)
		}
	}
}

func TestShownBytes(t *testing.T) {
	for text, want := range map[string]string{
		"\xff\xff\xff\xffrcon hunter2 quit": "\xff\xff\xff\xffrcon*************", "RCON hunter2": "RCON********",
		"x password\\hunter2\\y": "x passw*************", "connect 47 x": "connect ****", "connectResponse": "connectResponse", "rcon": "rcon", "": "",
		"login pass=x pwd=y": "login pass=*******", "a&pwd=y": "a&pwd=*", "pass on": "pass on", "r\x00c\x00o\x00n\x00 \x00x\x00": "r\x00c\x00o\x00n\x00****",
		"\x00R\x00C\x00O\x00N\x00x": "\x00R\x00C\x00O\x00N\x00*", "r\x00c\x00o\x00n": "r\x00c\x00o\x00n", "r\x00": "r\x00",
		"BE\x01\x02\x03\x04\xff\x00hunter2": "BE\x01\x02\x03\x04\xff\x00*******", "BE\x01\x02\x03\x04\xff\x00\x01": "BE\x01\x02\x03\x04\xff\x00\x01", "BE\x01\x02\x03\x04\xff\x01\x00x": "BE\x01\x02\x03\x04\xff\x01\x00x",
		"SAMP\x7f\x00\x00\x01\x61\x1ex\x02\x00ab\x01\x00c": "SAMP\x7f\x00\x00\x01\x61\x1ex\x02\x00*****", "SAMP\x7f\x00\x00\x01\x61\x1ex\x02\x00ab": "SAMP\x7f\x00\x00\x01\x61\x1ex\x02\x00ab", "SAMP\x7f\x00\x00\x01\x61\x1ei\x02\x00abc": "SAMP\x7f\x00\x00\x01\x61\x1ei\x02\x00abc",
		"\x80\x00\x00\x0a\x05ab\x00c\x00": "\x80\x00\x00\x0a\x05*****", "\x80\x00\x00\x0a\x05ab": "\x80\x00\x00\x0a\x05**", "\x80\x00\x00\x0a\x05a\xffcde": "\x80\x00\x00\x0a\x05a\xffcde", "\x80\x00\x00\x06\x83a": "\x80\x00\x00\x06\x83a",
	} {
		if got := string(ShownBytes([]byte(text), false)); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
		if got := string(ShownBytes([]byte(text), true)); got != text {
			t.Errorf("%q is shown as %q though secrets are asked for", text, got)
		}
	}
}

// FuzzSecret: hiding changes no length and nothing before the secret, and what
// is borrowed stays as it is.
func FuzzSecret(f *testing.F) {
	for _, s := range []string{"\xff\xff\xff\xffrcon a b", `"rcon_password" = "x"`, `rcon 12 "x" y`, "cdkey", "RcOn 1 1 1", "passw\x00", "ticketticket", `command "x_password y"`, "a\nset passw b c", "x_password : y", "\\passwd\\x\\y", "'passw' changed to x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		got := ShownBytes(b, false)
		if !bytes.Equal(b, before) || len(got) != len(b) {
			t.Fatalf("%q became %q", before, got)
		}
		at := secretAt(b)
		if !bytes.Equal(got[:at], b[:at]) || strings.Trim(string(got[at:]), "*") != "" {
			t.Fatalf("%q is shown as %q", b, got)
		}
		s := string(b)
		if n := SecretIn(s); n < 0 || n > len(b) {
			t.Fatalf("%d of %q", n, b)
		}
		if n := SecretInCommand(s); n < 0 || n > len(b) {
			t.Fatalf("%d of the command %q", n, b)
		}
		if key, value, _ := strings.Cut(s, " "); SecretSetting(key, value) && !strings.Contains(strings.ToLower(key), "passw") {
			t.Fatalf("%q %q", key, value)
		}
	})
}

// TestManyRecords: what a message can hold is bounded, and that it was is said.
func TestManyRecords(t *testing.T) {
	var r Reader
	list := &Field{Path: "x.list", Kind: List}
	r.Reset([]byte("data"), 1, true)
	n := 0
	for r.More() {
		r.End(r.Begin(list))
		if n++; n > 2*MaxRecords {
			t.Fatal("there is no end")
		}
	}
	if n != MaxRecords+1 || r.Err() == nil || r.records <= MaxRecords {
		t.Errorf("%d records, %v", n, r.Err())
	}
}

// TestManyFindings: the findings of a message are bounded, and those left out
// are counted.
func TestManyFindings(t *testing.T) {
	var r Reader
	r.Reset(nil, 1, false)
	for range maxFindings + 7 {
		r.Note(Trailing, Num(1))
	}
	if len(r.findings) != maxFindings || r.leftOut != 7 {
		t.Errorf("%d findings, %d left out", len(r.findings), r.leftOut)
	}
}
