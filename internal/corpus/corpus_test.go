// Package corpus compares the dissection of recorded replies of real servers with the
// results of other clients. The recordings are not part of the project. Tests skip if
// they are missing.
package corpus

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// root is the folder with the recordings, relative to this package.
var root = filepath.Join("..", "..", "..", "shared", "corpus")

// A testCase is an entry of MANIFEST.json.
type testCase struct {
	Repo, Proto, Case, Game string
	ServerPort              uint16 `json:"server_port"`
	Requests                []struct {
		Hex, Dir  string
		Synthetic bool
		Before    int // negative if after the datagrams
	}
	Datagrams   []struct{ File, Role string }
	Expected    string
	ExpectError bool `json:"expect_error"`
}

func (c *testCase) name() string { return c.Repo + "/" + c.Proto + "/" + c.Case }

func manifest(t *testing.T) (cases []testCase) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "MANIFEST.json"))
	if os.IsNotExist(err) {
		t.Skip("the recorded replies are not beside the project")
	}
	must.Do(t, err)
	must.Do(t, json.Unmarshal(b, &cases))
	return cases
}

// forms are the ways to put a case into a capture.
var forms = map[string]struct {
	o  mkpcap.Options
	v6 bool
}{
	"plain":                {},
	"fragmented":           {o: mkpcap.Options{MTU: 576}},
	"fragmented, reversed": {o: mkpcap.Options{MTU: 576, Reverse: true}},
	"vlan":                 {o: mkpcap.Options{VLAN: 5}},
	"sll":                  {o: mkpcap.Options{Link: mkpcap.SLL}},
	"sll2, pcapng":         {o: mkpcap.Options{Link: mkpcap.SLL2, Ng: true}},
	"ipv6":                 {v6: true},
	"ipv6, fragmented":     {o: mkpcap.Options{MTU: 1280}, v6: true},
	"raw":                  {o: mkpcap.Options{Link: mkpcap.Raw}},
	"null, big-endian":     {o: mkpcap.Options{Link: mkpcap.Null, BigEndian: true}},
	"nanosecond":           {o: mkpcap.Options{Nano: true}},
	"big-endian pcapng":    {o: mkpcap.Options{Ng: true, BigEndian: true}},
}

// record writes the capture of a case.
func (c *testCase) record(t *testing.T, form string) []byte {
	t.Helper()
	f := forms[form]
	client, server := netip.MustParseAddr("192.0.2.20"), netip.MustParseAddr("198.51.100.10")
	if f.v6 {
		client, server = netip.MustParseAddr("2001:db8:2::20"), netip.MustParseAddr("2001:db8:1::10")
	}
	port := c.ServerPort
	if port == 0 {
		port = 27015
	}
	var out bytes.Buffer
	w := mkpcap.NewWriter(&out, f.o)
	at := time.Unix(1600000000, 0)
	send := func(dir string, payload []byte) {
		src, dst := netip.AddrPortFrom(client, 40000), netip.AddrPortFrom(server, port)
		if dir == "s2c" {
			src, dst = dst, src
		}
		w.UDP(at, src, dst, payload)
		at = at.Add(10 * time.Millisecond)
	}
	request := func(after bool) {
		for _, r := range c.Requests {
			if r.Before < 0 == after {
				b := must.Get(hex.DecodeString(r.Hex))(t)
				send(r.Dir, b)
			}
		}
	}
	request(false)
	for _, d := range c.Datagrams {
		b := must.Get(os.ReadFile(filepath.Join(root, filepath.FromSlash(d.File))))(t)
		dir := "s2c"
		if c.Proto == "master-valve" && c.Case == "quit" {
			dir = "c2s"
		}
		send(dir, b)
	}
	request(true)
	must.Do(t, w.Err())
	return out.Bytes()
}

type object = map[string]any

// dissectAll returns the JSON lines for a capture.
func dissectAll(t *testing.T, file []byte) (lines []object) {
	t.Helper()
	var out bytes.Buffer
	_, err := pipeline.Run(pipeline.Options{
		Inputs: []string{"-"}, Stdin: bytes.NewReader(file), Out: &out, All: true,
		Reporter: func() report.Reporter { return report.NewJSON(report.JSONOptions{}) },
		Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true},
		Trouble:  func(err error) { t.Errorf("trouble: %v", err) },
	})
	must.Do(t, err)
	d := json.NewDecoder(&out)
	d.UseNumber()
	for d.More() {
		var o object
		must.Do(t, d.Decode(&o))
		lines = append(lines, o)
	}
	return lines
}

// messages returns the messages of a protocol or its relatives, optionally only those
// with some names.
func messages(lines []object, names ...string) (list []object) {
	for _, l := range lines {
		if l["type"] == "message" && (len(names) == 0 || slices.Contains(names, fmt.Sprint(l["message"]))) {
			list = append(list, l)
		}
	}
	return list
}

// fields returns the fields of a message in the form of the peers: addresses as text,
// and numbers that JSON has as text under the name of the number.
func fields(m object) object {
	return asPeers(m[strings.ReplaceAll(m["protocol"].(string), "-", "_")]).(object)
}

func asPeers(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = asPeers(v[i])
		}
		return list
	case object:
		if ip, ok := v["ip"].(string); ok && len(v) == 2 && v["port"] != nil {
			return net.JoinHostPort(ip, fmt.Sprint(v["port"]))
		}
		o := object{}
		for k, e := range v {
			if base := strings.TrimSuffix(k, core.TextSuffix); v[base] == nil {
				k = base
			}
			o[k] = asPeers(e)
		}
		return o
	}
	return v
}

// equal compares a value with the expectation of a peer, which may be a number as
// text, a boolean as a number, or a float with fewer digits.
func equal(got, want any) bool {
	g, w := fmt.Sprint(got), fmt.Sprint(want)
	if g == w {
		return true
	}
	switch {
	case g == "true" && w == "1", g == "false" && w == "0", g == "1" && w == "true", g == "0" && w == "false":
		return true
	}
	var a, b float64
	if n, _ := fmt.Sscanf(g, "%g", &a); n == 1 {
		if n, _ := fmt.Sscanf(w, "%g", &b); n == 1 {
			return a == b || math.Abs(a-b) < 1e-5*math.Abs(b)
		}
	}
	return false
}

func load(t *testing.T, c *testCase) (o object) {
	t.Helper()
	b := must.Get(os.ReadFile(filepath.Join(root, filepath.FromSlash(c.Expected))))(t)
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	must.Do(t, d.Decode(&v))
	if list, ok := v.([]any); ok {
		return object{"list": list}
	}
	return v.(object)
}

// severities counts the findings of messages by severity.
func severities(lines []object) map[string]int {
	n := map[string]int{}
	for _, l := range lines {
		list, _ := l["findings"].([]any)
		for _, f := range list {
			n[f.(object)["severity"].(string)]++
		}
	}
	return n
}
