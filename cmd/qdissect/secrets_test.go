package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
)

// leak finds the password, or its first four or five bytes, or its last, as text or
// hex.
var leak = regexp.MustCompile(`(?i)` + secret[:4] + `|` + secret[4:] + `|54 ?72 ?30 ?75|62 ?34 ?64 ?6f ?72|T.{0,3}r.{0,3}0.{0,3}u.{0,3}b4`)

func leaks(out string) bool { return leak.MatchString(out) }

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
				if mtu > 0 && i%thorough.Of(4, 1) != 0 {
					continue
				}
				b := captureOf(c, mtu, false)
				out := outputs(t, b, thorough.Of([]string{"--all", forms[1+i%5]}, forms))
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
			if i%thorough.Of(20, 1) != 0 {
				continue
			}
			var b bytes.Buffer
			s := hostile.NewStage(&b, mkpcap.Options{})
			for i, c := range confidences() {
				c.Port, c.Reply = port, reply
				confide(s, c, uint16(30000+i))
			}
			some := forms[2*(i%3):]
			if reply {
				some = forms[2*((i+1)%3):]
			}
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
	secrets := readFile(t, attackFile("secrets.pcap"))
	dir := t.TempDir()
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
