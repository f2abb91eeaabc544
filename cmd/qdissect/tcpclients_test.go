package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// listener collects the bytes of messages.
type listener struct {
	report.Reporter
	from  string              // the address of the client
	sides [2]bytes.Buffer     // of client and server
	named map[string][]string // the messages of each name
}

func (h *listener) Record(r *dissect.Record) error {
	b := r.Sources[0].Data
	h.named[r.Type.Name] = append(h.named[r.Type.Name], string(b))
	if r.Src.String() == h.from {
		h.sides[0].Write(b)
	} else {
		h.sides[1].Write(b)
	}
	return nil
}

// hear reads a capture.
func hear(t *testing.T, capture []byte, from string) *listener {
	h := &listener{Reporter: report.NewJSON(report.JSONOptions{}), from: from, named: map[string][]string{}}
	_, err := pipeline.Run(pipeline.Options{
		Inputs: []string{"-"}, Stdin: bytes.NewReader(capture), Out: io.Discard, Workers: 1, Reporter: func() report.Reporter { return h },
		Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true}, Trouble: func(err error) { t.Error(err) },
	})
	must.Do(t, err)
	return h
}

// A talker is a connection of a server for a test. It keeps what is said.
type talker struct {
	net.Conn
	said  []remark
	sides [2]bytes.Buffer
}

type remark struct {
	at         time.Time
	fromServer bool
	text       []byte
}

func (c *talker) note(fromServer bool, b []byte) {
	c.said = append(c.said, remark{time.Now(), fromServer, bytes.Clone(b)})
	side := nettext.Either(fromServer, 1, 0)
	c.sides[side].Write(b)
}

func (c *talker) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.note(false, b[:n])
	}
	return n, err
}

func (c *talker) Write(b []byte) (int, error) {
	c.note(true, b)
	return c.Conn.Write(b)
}

// capture returns a capture of the connection.
func (c *talker) capture(port uint16) []byte {
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{Nano: true})
	client, server := c.RemoteAddr().(*net.TCPAddr).AddrPort(), c.LocalAddr().(*net.TCPAddr).AddrPort()
	conn := w.Connect(c.said[0].at, client, netip.AddrPortFrom(server.Addr(), cmp.Or(port, server.Port())))
	for _, s := range c.said {
		conn.Send(s.at, s.fromServer, s.text, 0)
	}
	conn.Close(time.Now())
	return b.Bytes()
}

// servedTCP is a server for a test.
type servedTCP struct {
	port    int
	mu      sync.Mutex
	talkers []*talker
	busy    sync.WaitGroup
}

// serveTCP starts a server that answers each connection by a function.
func serveTCP(t *testing.T, answer func(*talker)) *servedTCP {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	s := &servedTCP{port: l.Addr().(*net.TCPAddr).Port}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c := &talker{Conn: conn}
			s.mu.Lock()
			s.talkers = append(s.talkers, c)
			s.mu.Unlock()
			s.busy.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(20 * time.Second))
				answer(c)
			})
		}
	}()
	return s
}

// minecraftServer answers with the bytes of a recorded server, of which old gives the replies to clients before version 1.7 by their requests.
func minecraftServer(status string, old map[string]string) func(*talker) {
	return func(c *talker) {
		b := make([]byte, 4096)
		for have := 0; ; {
			n, err := c.Read(b[have:])
			if have += n; err != nil {
				return
			}
			if b[0] == 0xfe { // the last bytes of a request of 1.6 are its port
				time.Sleep(20 * time.Millisecond)
				c.Write([]byte(old[string(b[:min(have, 3)])]))
				return
			}
			for have > 0 && have > int(b[0]) {
				p := slices.Clone(b[:1+int(b[0])])
				have = copy(b, b[len(p):have])
				switch {
				case len(p) == 2:
					c.Write([]byte(status))
				case p[1] == 1:
					c.Write(p)
				}
			}
		}
	}
}

// rconServer answers as Source does: texts that are long come in several packets.
func rconServer(password string, replies map[string]string) func(*talker) {
	return func(c *talker) {
		say := func(id, kind uint32, text string) {
			b := binary.LittleEndian.AppendUint32(nil, uint32(len(text)+10))
			b = binary.LittleEndian.AppendUint32(b, id)
			b = binary.LittleEndian.AppendUint32(b, kind)
			c.Write(append(b, text+"\x00\x00"...))
			time.Sleep(100 * time.Millisecond) // rcon-srcds takes what it reads at once for one packet, and waits for ever for the others
		}
		for {
			b := make([]byte, 4)
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			b = make([]byte, binary.LittleEndian.Uint32(b))
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			id, text := binary.LittleEndian.Uint32(b), string(b[8:len(b)-2])
			switch b[4] {
			case 3:
				if say(id, 0, ""); text != password {
					id = ^uint32(0)
				}
				say(id, 2, "")
			case 2:
				for part := range slices.Chunk([]byte(replies[text]), 4096) {
					say(id, 0, string(part))
				}
			case 0:
				say(id, 0, "")
			}
		}
	}
}

// frostbiteServer answers commands with the bytes of a recorded server.
func frostbiteServer(replies map[string]string) func(*talker) {
	return func(c *talker) {
		for {
			b := make([]byte, 8)
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			b = make([]byte, binary.LittleEndian.Uint32(b[4:])-8)
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			command, _, _ := strings.Cut(string(b[8:]), "\x00")
			c.Write([]byte(replies[command]))
		}
	}
}

// askOverTCP is a program for Node.js that asks the servers, one client after the other, and prints what the clients return.
const askOverTCP = `
const [npm, minecraft, rcon, frostbite] = JSON.parse(process.argv[1])
const { createRequire } = await import('node:module')
const require = createRequire(npm + '/x.js')
const { GameDig } = await import(npm + '/gamedig/lib/index.js')
const util = require('minecraft-server-util')
const { Rcon } = require('rcon-client')
const Srcds = require('rcon-srcds').default
const host = '127.0.0.1', out = {}
out.gamedig = await GameDig.query({ type: 'minecraft', host, port: minecraft, givenPortOnly: true, socketTimeout: 1000, maxRetries: 1 })
for (const how of ['status', 'statusFE', 'statusFE01']) out[how] = await util[how](host, minecraft, { enableSRV: false })
const client = await Rcon.connect({ host, port: rcon, password: 's3cret-rcon', timeout: 5000 })
out.rcon = [await client.send('status'), await client.send('cvarlist')]
await client.end()
const srcds = new Srcds({ host, port: rcon, timeout: 5000 })
await srcds.authenticate('s3cret-rcon')
out.srcds = await srcds.execute('cvarlist')
await srcds.disconnect()
out.battlefield = await GameDig.query({ type: 'battlefield3', host, port: frostbite, givenPortOnly: true, socketTimeout: 5000 })
console.log(JSON.stringify(out))
process.exit()
`

// TestClientsOverTCP: programs of others ask servers over TCP. Each conversation is read whole, with the values that the clients return.
func TestClientsOverTCP(t *testing.T) {
	npm := os.Getenv("QDISSECT_NPM")
	if npm == "" {
		t.Skip("QDISSECT_NPM does not name a folder with npm's gamedig, minecraft-server-util, rcon-client and rcon-srcds")
	}
	recorded := func(capture string) map[string][]string {
		return hear(t, must.Get(os.ReadFile(testPcap(capture)))(t), "").named
	}
	var all strings.Builder
	for i := range 200 {
		fmt.Fprintf(&all, "sv_setting_%03d                 : %d        : , \"sv\"    : A setting.\n", i, i*7%13)
	}
	list := all.String()
	said := recorded("minecraft-java/servers.pcap")
	old := said["legacy_reply"]
	minecraft := serveTCP(t, minecraftServer(said["status_reply"][0], map[string]string{"\xfe": old[0], "\xfe\x01": old[1]}))
	status := "hostname: A test server\nmap     : de_nuke\nplayers : 2 humans, 0 bots (16/0 max)\n"
	rcon := serveTCP(t, rconServer("s3cret-rcon", map[string]string{"status": status, "cvarlist": list}))
	said = recorded("frostbite/servers.pcap")
	frostbite := serveTCP(t, frostbiteServer(map[string]string{"serverInfo": said["info_reply"][0], "version": said["version_reply"][0], "listPlayers": said["players_reply"][0]}))

	b, err := exec.Command("node", "--input-type=module", "-e", askOverTCP, show([]any{npm, minecraft.port, rcon.port, frostbite.port})).Output()
	if err != nil {
		t.Fatalf("node: %v %s", err, err.(*exec.ExitError).Stderr)
	}
	got := parseJSON(t, b).(map[string]any)
	for _, c := range []struct {
		client string
		server *servedTCP
		which  int
		port   uint16 // in the capture; that of the server if it is 0
		same   string // paths of the client's values with ours
	}{
		{"gamedig", minecraft, 0, 0, "name=motd_plain numplayers=online maxplayers=max version=version players.*.name=players.*.name players.*.raw.id=players.*.id"},
		{"status", minecraft, 1, 0, "motd.clean=motd_plain players.online=online players.max=max version.name=version version.protocol=version_protocol players.sample.*.name=players.*.name"},
		{"statusFE", minecraft, 2, 25565, "motd=motd players.online=online players.max=max"},
		{"statusFE01", minecraft, 3, 0, "motd.clean=motd players.online=online players.max=max version=version protocolVersion=version_protocol"},
		{"rcon", rcon, 0, 0, "0=status 1=first"},
		{"battlefield", frostbite, 0, 0, "name=name numplayers=num_players maxplayers=max_players map=map version=version raw.gametype=mode raw.uptime=uptime_s raw.region=region raw.teams.*.tickets=teams.* players.*.name=players.*.name players.*.raw.guid=players.*.guid players.*.raw.ping=players.*.ping"},
		{"srcds", rcon, 1, 0, "=cvarlist"},
	} {
		t.Run(c.client, func(t *testing.T) {
			c.server.busy.Wait()
			if len(c.server.talkers) <= c.which {
				t.Fatalf("%d connections", len(c.server.talkers))
			}
			ours := c.server.talkers[c.which].read(t, c.port)
			if list, ok := ours["cvarlist"].(string); ok {
				ours["first"] = list[:4096]
			}
			for same := range strings.FieldsSeq(c.same) {
				theirs, our, _ := strings.Cut(same, "=")
				if a, b := at(got[c.client], theirs), at(ours, our); !reflect.DeepEqual(a, b) || a == nil || reflect.DeepEqual(a, []any(nil)) {
					t.Errorf("%s: the client says %s, qdissect %s", same, show(a), show(b))
				}
			}
		})
	}
}

// read reads the conversation: all of its bytes are in messages. It returns their values; texts of the remote console by the command.
func (c *talker) read(t *testing.T, port uint16) map[string]any {
	t.Helper()
	capture := c.capture(port)
	h := hear(t, capture, c.RemoteAddr().String())
	for i := range c.sides {
		if want, got := c.sides[i].String(), h.sides[i].String(); got != want {
			t.Errorf("side %d: said %q, read %q", i, want, got)
		}
	}
	var out, errs bytes.Buffer
	if status := run([]string{"read", "--show-secrets", "-o", "jsonl", "-"}, environment{in: bytes.NewReader(capture), out: &out, err: &errs, getenv: func(string) string { return "" }}); status != exitDone {
		t.Fatal(status, errs.String())
	}
	values, commands := map[string]any{}, map[any]string{}
	for line := range strings.Lines(out.String()) {
		m := parseJSON(t, []byte(line)).(map[string]any)
		if m["type"] == "finding" || m["findings"] != nil && m["message"] != "command_reply" {
			t.Error(line)
		}
		for _, p := range []string{"minecraft_java", "source_rcon", "frostbite"} {
			said, _ := m[p].(map[string]any)
			maps.Copy(values, said)
			if command, ok := said["command"].(string); ok {
				commands[said["id"]] = command
			} else if text, ok := said["text"].(string); ok {
				command = commands[said["id"]]
				before, _ := values[command].(string)
				values[command] = before + text
			}
		}
	}
	return values
}

// at returns a value in JSON by a path, * for all elements of a list. Texts come without ends of lines, which clients drop.
func at(v any, path string) any {
	key, rest, _ := strings.Cut(path, ".")
	switch v := v.(type) {
	case map[string]any:
		return at(v[key], rest)
	case []any:
		if key != "*" {
			i, _ := strconv.Atoi(key)
			return at(v[i], rest)
		}
		return nettext.Each(v, func(x any) any { return at(x, rest) })
	case string:
		return strings.Join(strings.Fields(v), " ")
	}
	return v
}
