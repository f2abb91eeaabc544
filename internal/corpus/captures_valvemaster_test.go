package corpus

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// pythonBytes parses a bytes literal of Python.
func pythonBytes(t *testing.T, s string) []byte {
	t.Helper()
	s = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(s, "b'"), "'"), `"`, `\"`)
	text, err := strconv.Unquote(`"` + s + `"`)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return []byte(text)
}

func readCapture(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCapturesValveMaster compares with the output of the clients of a recorded master
// server.
func TestCapturesValveMaster(t *testing.T) {
	const name = "valve-master-goldsrc"
	lines := capture(t, name)
	known(t, lines)
	answers := map[string]object{} // by frame of the request
	for _, m := range messages(lines) {
		if m["role"] == "reply" {
			if m["request_frame"] == nil {
				t.Errorf("frame %v answers nothing", m["frame"])
				continue
			}
			answers[fmt.Sprint(m["request_frame"])] = m
		}
	}

	// The last requests are raw datagrams.
	raw := strings.Split(strings.TrimSpace(string(readCapture(t, name+".client-raw.txt"))), "\n")
	var requests []object
	for _, m := range messages(lines) {
		if m["role"] == "request" && m["message"] != "join" {
			requests = append(requests, m)
		}
	}
	if len(requests) < len(raw) {
		t.Fatalf("%d requests, %d in what was sent", len(requests), len(raw))
	}
	requests = requests[len(requests)-len(raw):]
	literal := regexp.MustCompile(`^(b'.*?[^\\]') (b'.*'|timed out)$`)
	for i, l := range raw {
		parts := literal.FindStringSubmatch(l)
		if parts == nil {
			t.Fatalf("%q", l)
		}
		sent, m := pythonBytes(t, parts[1]), requests[i]
		if !equal(m["length"], len(sent)) {
			t.Errorf("frame %v: %v bytes, sent %q", m["frame"], m["length"], sent)
		}
		if sent[0] == '1' {
			texts := bytes.Split(sent[2:], []byte{0})
			if f := fields(m); !equal(f["region"], sent[1]) || f["seed"] != string(texts[0]) || f["filter"] != string(texts[1]) {
				t.Errorf("frame %v: %v, sent %q", m["frame"], f, sent)
			}
		}
		answer := answers[fmt.Sprint(m["frame"])]
		if parts[2] == "timed out" {
			if answer != nil {
				t.Errorf("frame %v: %v, the client saw nothing", m["frame"], answer)
			}
			continue
		}
		received := pythonBytes(t, parts[2])
		if answer == nil {
			t.Errorf("frame %v: no answer, the client saw %q", m["frame"], received)
			continue
		}
		if received[4] != 'f' {
			continue
		}
		var want []any
		for b := received[6:]; len(b) >= 6 && !bytes.Equal(b[:6], make([]byte, 6)); b = b[6:] {
			want = append(want, netip.AddrPortFrom(netip.AddrFrom4([4]byte(b)), binary.BigEndian.Uint16(b[4:])).String())
		}
		if got := fields(answer)["servers"]; !reflect.DeepEqual(got, any(want)) || fields(answer)["end"] != "0.0.0.0:0" {
			t.Errorf("frame %v: %v, the client saw %v", answer["frame"], fields(answer), want)
		}
	}

	// The lists as other clients printed them.
	replies := messages(lines, "servers_reply")
	for i, file := range []string{".client.json", ".client-npm-filter.json"} {
		var want []any
		if err := json.Unmarshal(readCapture(t, name+file), &want); err != nil {
			t.Fatal(err)
		}
		if got := fields(replies[i])["servers"]; !reflect.DeepEqual(got, any(want)) {
			t.Errorf("%v, %s has %v", got, file, want)
		}
	}
	qstat, _, _ := strings.Cut(string(readCapture(t, name+".client-qstat-hla2sm.txt")), "\n")
	if got, _ := fields(replies[2])["servers"].([]any); qstat != fmt.Sprintf("HLA2SM,10.77.0.2:27010,%d", len(got)) {
		t.Errorf("%d servers, qstat has %s", len(got), qstat)
	}

	// Three servers joined with the challenge that the master gave them.
	heartbeats := messages(lines, "heartbeat")
	if len(heartbeats) != 3 {
		t.Errorf("%d heartbeats", len(heartbeats))
	}
	for _, m := range heartbeats {
		for _, f := range m["findings"].([]any) {
			if id := f.(object)["id"]; id != "master.heartbeat.flavour" {
				t.Errorf("frame %v: %v", m["frame"], f)
			}
		}
	}
}
