package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
)

// Unread are the datagrams of the captures that no protocol reads, by their first
// bytes in hex, with the reason.
var unread = map[string]map[string]string{
	"openttd-tcp-udp": {
		"040009":               "says it has 4 bytes and has 3: servers ignore it",
		"03000000":             "says it has 3 bytes and has 4",
		"0b000700000000000000": "says it has 11 bytes and has 10",
	},
	"cube2":                  {"801027": "qstat asks the port after that of the infos, which nobody answers"},
	"raknet-open-connection": {"80": "a frame of the game", "c0": "acknowledges frames of the game"},
}

// Damaged are the datagrams that clients damaged on purpose, by frame.
var damaged = map[string][]string{"armagetronad": {"10"}}

// Unwritten are the captures of protocols that are not there yet.
var unwritten = map[string]string{"bzflag": "bzflag", "chocolate-doom": "chocolatedoom", "cube2": "cube", "cube2-server": "cube"}

// TestCapturesComplete checks that every datagram of every capture is recognised, or
// stands in the table.
func TestCapturesComplete(t *testing.T) {
	paths := must.Get(filepath.Glob(filepath.Join(captures, "*.pcap")))(t)
	if len(paths) == 0 {
		t.Skip("the captures of real servers are not beside the project")
	}
	names := map[string]bool{}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".pcap")
		names[name] = true
		t.Run(name, func(t *testing.T) {
			if p := unwritten[name]; p != "" && !slices.ContainsFunc(all.Protocols(), func(q *dissect.Protocol) bool { return q.Name == p }) {
				return
			}
			met := map[string]bool{}
			for _, l := range capture(t, name) {
				if l["type"] == "message" && l["protocol"] != "unknown" {
					if list, ok := l["findings"].([]any); ok && slices.ContainsFunc(list, func(f any) bool { return f.(object)["id"] == "malformed" }) &&
						!slices.Contains(damaged[name], fmt.Sprint(l["frame"])) {
						t.Errorf("frame %v is malformed: %v", l["frame"], l["summary"])
					}
				}
				if l["protocol"] != "unknown" {
					continue
				}
				found := false
				for start := range unread[name] {
					if strings.HasPrefix(l["data"].(string), start) {
						found, met[start] = true, true
					}
				}
				if !found {
					t.Errorf("frame %v, %v > %v, is not recognised: %v", l["frame"], l["src_port"], l["dst_port"], l["data"])
				}
			}
			for start, reason := range unread[name] {
				if !met[start] {
					t.Errorf("%s (%s) does not occur, or is recognised", start, reason)
				}
			}
		})
	}
	for name := range unread {
		if !names[name] {
			t.Errorf("there is no capture %s", name)
		}
	}
}

// captures is the folder with captures of real servers and clients.
var captures = filepath.Join("..", "..", "..", "shared", "captures")

// capture dissects one of them.
func capture(t *testing.T, name string) []object {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, name+".pcap"))
	if os.IsNotExist(err) {
		t.Skip("the captures of real servers are not beside the project")
	}
	must.Do(t, err)
	return dissectAll(t, b)
}

// known fails if a datagram is not recognised.
func known(t *testing.T, lines []object) {
	t.Helper()
	for _, l := range lines {
		if l["protocol"] == "unknown" {
			t.Errorf("frame %v is not recognised: %v", l["frame"], l["data"])
		}
	}
}
