package all

import (
	"testing"

	"github.com/qdissect/qdissect/dissect/internal/console"
)

func TestConsoleSecret(t *testing.T) {
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
		if got := text[:console.Secret(text)]; got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestCommandSecret(t *testing.T) {
	for text, want := range map[string]string{
		`g_password hunter2`: `g_password `, `set rconpassword hunter2`: `set rconpassword `, `seta g_password "two words"`: `seta g_password "`,
		`password hunter2`: `password `, ` "password" hunter2`: ` "password" `, `map x;password hunter2`: `map x;password `, "map x\nPASSWORD hunter2": "map x\nPASSWORD ",
		`amx_cvar sv_password hunter2`: `amx_cvar sv_password `, `g_password 0; sv_password hunter2`: `g_password 0; sv_password `,
		`g_password 1 hunter2`: `g_password `, `rcon_password=hunter2`: `rcon_password=`, `rcon hunter2 status`: `rcon `,
		`status`: `status`, `map password1`: `map password1`, `map de_passwords`: `map de_passwords`, `kick password now`: `kick password now`, `kick password123 now`: `kick password123 now`,
		`g_password`: `g_password`, `g_password ""`: `g_password ""`, `g_password 0`: `g_password 0`, `g_needpass 1`: `g_needpass 1`, `exec passwords.cfg`: `exec passwords.cfg`,
	} {
		if got := text[:console.CommandSecret(text)]; got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// FuzzSecret checks that the offsets lie in the text.
func FuzzSecret(f *testing.F) {
	for _, s := range []string{`"rcon_password" = "x"`, `rcon 12 "x" y`, "RcOn 1 1 1", "passw\x00", `command "x_password y"`, "a\nset passw b c", "x_password : y", "\\passwd\\x\\y", "'passw' changed to x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n := console.Secret(s); n < 0 || n > len(s) {
			t.Fatalf("%d of %q", n, s)
		}
		if n := console.CommandSecret(s); n < 0 || n > len(s) {
			t.Fatalf("%d of the command %q", n, s)
		}
	})
}
