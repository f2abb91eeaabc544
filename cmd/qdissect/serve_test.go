package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

// serving is a running serve command.
type serving struct {
	t    *testing.T
	at   map[string]string // addresses by captured server
	stop context.CancelFunc
	done chan error
	log  safeBuffer
	err  safeBuffer
	read chan struct{} // closed when the log is complete
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// startServe starts serve and waits until it listens on n ports.
func startServe(t *testing.T, n int, args ...string) *serving {
	t.Helper()
	s := &serving{t: t, at: map[string]string{}, done: make(chan error, 1)}
	r, w := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	cmd := newServe(environment{in: strings.NewReader(""), out: w, err: &s.err, getenv: func(string) string { return "" }})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	go func() {
		err := cmd.ExecuteContext(ctx)
		w.CloseWithError(io.EOF)
		s.done <- err
	}()
	t.Cleanup(func() { s.end() })
	lines := bufio.NewReader(r)
	for range n {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("serve %v: %v", args, s.end())
		}
		f := strings.Fields(line)
		if len(f) < 5 || f[1] != "answers" {
			t.Fatalf("serve %v: %q", args, line)
		}
		s.at[f[3]] = f[0]
	}
	s.read = make(chan struct{})
	go func() {
		io.Copy(&s.log, lines)
		close(s.read)
	}()
	return s
}

// TestServeJSON checks what programs read, and that serve ends with its standard input.
func TestServeJSON(t *testing.T) {
	in, hold := io.Pipe()
	r, w := io.Pipe()
	cmd := newServe(environment{in: in, out: w, err: io.Discard, getenv: func(string) string { return "" }})
	cmd.SetArgs([]string{"--format", "jsonl", "--until-eof", "--no-delay", testPcap("a2s/a2s-goldsrc.pcap")})
	done := make(chan error, 1)
	go func() {
		done <- cmd.Execute()
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	next := func() (v map[string]any) {
		lines.Scan()
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		return v
	}
	first := next()
	server := first["servers"].([]any)[0].(map[string]any)
	at := server["address"].(string)
	if first["type"] != "serving" || at != net.JoinHostPort(server["host"].(string), fmt.Sprint(server["port"])) || server["captured"] != "10.77.0.1:27015" || fmt.Sprint(server["protocols"]) != "[a2s halflife]" {
		t.Errorf("%v", first)
	}
	talk(t, at, "\xff\xff\xff\xffV\xff\xff\xff\xff", 1)
	want := map[string]any{"type": "exchange", "to": at, "protocol": "a2s", "request": "rules request  challenge -1", "result": "challenged", "reply": "challenge", "frame": 17.0, "datagrams": 1.0, "bytes": 9.0}
	got := next()
	want["from"], want["text"] = got["from"], fmt.Sprintf("%v > %s  A2S  rules request  challenge -1 → challenge  [1 datagram, 9 bytes]", got["from"], at)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant\n%v", got, want)
	}
	talk(t, at, "what?", 0)
	if got = next(); got["result"] != "not_captured" || got["reply"] != nil {
		t.Errorf("%v", got)
	}
	hold.Close()
	if got = next(); got["type"] != "summary" || got["text"] != "2 requests, 0 answered, 1 challenged; 1 datagram, 9 bytes sent; 1 not in the capture" {
		t.Errorf("%v", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// end stops serve and returns its error.
func (s *serving) end() error {
	s.stop()
	err := <-s.done
	s.done <- err
	if s.read != nil {
		<-s.read // the log has the last line
	}
	return err
}

// only returns the only address.
func (s *serving) only() string {
	for _, at := range s.at {
		return at
	}
	return ""
}

// talk sends a datagram and returns n replies.
func talk(t *testing.T, to string, request string, n int) (replies []string) {
	t.Helper()
	c := must.Get(net.Dial("udp", to))(t)
	defer c.Close()
	must.Get(c.Write([]byte(request)))(t)
	buf := make([]byte, 1<<16)
	c.SetReadDeadline(time.Now().Add(2 * time.Minute))
	for range n {
		k, err := c.Read(buf)
		if err != nil {
			t.Fatalf("%q: %d of %d replies: %v", request, len(replies), n, err)
		}
		replies = append(replies, string(buf[:k]))
	}
	return replies
}

func testPcap(name string) string {
	return filepath.Join("..", "..", "testdata", "pcaps", filepath.FromSlash(name))
}

func TestServe(t *testing.T) {
	s := startServe(t, 1, testPcap("a2s/a2s-goldsrc-split.pcap"))
	at := s.at["10.77.0.1:27015"]
	if !strings.HasPrefix(at, "127.0.0.1:") || at == "127.0.0.1:0" {
		t.Fatalf("served on %q", at)
	}
	start := time.Now()
	challenge := talk(t, at, "\xff\xff\xff\xffV\xff\xff\xff\xff", 1)[0]
	if len(challenge) != 9 || challenge[4] != 'A' {
		t.Fatalf("challenge %q", challenge)
	}
	// Another port, because a challenge is valid for the address.
	parts := talk(t, at, "\xff\xff\xff\xffV"+challenge[5:], 4)
	for i, p := range parts {
		if !strings.HasPrefix(p, "\xfe\xff\xff\xff") || int(p[8]) != i<<4|4 {
			t.Errorf("part %d: %q", i, p[:min(len(p), 12)])
		}
	}
	if took := time.Since(start); took < 15*time.Millisecond { // 10 ms each in the capture
		t.Errorf("answered in %s, faster than the captured server", took)
	}
	if err := s.end(); err != nil {
		t.Errorf("ended with %v", err)
	}
	for _, want := range []string{
		" A2S  rules request  challenge -1 → challenge  ", "rules reply  149 rules  [4 datagrams, 5530 bytes]\n",
		"2 requests, 1 answered, 1 challenged; 5 datagrams, 5539 bytes sent\n",
	} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, s.log.String())
		}
	}
}

// TestServeTCP talks to servers over TCP: messages in one segment and in pieces, numbers that the client chooses, and the end of a connection.
func TestServeTCP(t *testing.T) {
	packet := func(id, kind uint32, body string) string {
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(body)+10))
		b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, id), kind)
		return string(b) + body + "\x00\x00"
	}
	const handshake = "\x10\x00\xfd\x05\x09localhost\x00\x07\x01"
	for _, test := range []struct {
		name, pcap, server string
		say                []string // segments
		begin, end         string   // of what comes
		size               int
		closes             bool
		log                string
	}{
		{"list ping", "minecraft-java/servers.pcap", "198.51.100.40:25565", []string{handshake + "\x01\x00\x09", "\x0112345", "678"},
			"\xff\x1c\x00\xfc\x1c{\"version\":{\"name\":\"Paper 1.21.4\",", "}\x09\x0112345678", 3723, false,
			"4 requests, 2 answered, 0 challenged; 2 messages over TCP, 3723 bytes sent; 1 not in the capture; 1 that ask for nothing\n"},
		{"before 1.4", "minecraft-java/servers.pcap", "198.51.100.40:25565", []string{"\xfe"},
			"\xff\x00\x16\x00A\x00 \x00F", "\x003\x00\xa7\x004\x000", 47, true, "MINECRAFT-JAVA  legacy ping → legacy status"},
		{"console", "source-rcon/servers.pcap", "198.51.100.40:27015", []string{packet(77, 3, "s3cret-rcon"), packet(6, 2, "cvarlist") + packet(7, 0, ""), "GET / HTTP/1.1"},
			packet(77, 0, "") + packet(77, 2, ""), packet(7, 0, "") + packet(7, 0, "\x00\x00\x00\x01\x00\x00\x00\x00"), 2378, true,
			"SOURCE-RCON  end mark  7 → reply  4713, reply  4713"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := startServe(t, 1, "--no-delay", "--loss", "1", "--server", test.server, testPcap(test.pcap))
			c := must.Get(net.Dial("tcp", s.at[test.server]))(t)
			defer c.Close()
			for _, part := range test.say {
				must.Get(c.Write([]byte(part)))(t)
				time.Sleep(20 * time.Millisecond)
			}
			c.SetReadDeadline(time.Now().Add(time.Minute))
			got := make([]byte, test.size)
			n, err := io.ReadFull(c, got)
			if err != nil || !strings.HasPrefix(string(got), test.begin) || !strings.HasSuffix(string(got), test.end) {
				t.Errorf("%d bytes, %v: %.80q … %q", n, err, got, got[max(0, n-80):n])
			}
			if !test.closes {
				must.Get(c.Write([]byte("\x01\x07")))(t) // no such packet
			}
			if n, err := c.Read(got); n != 0 || err == nil || os.IsTimeout(err) {
				t.Errorf("then %q, %v", got[:n], err)
			}
			if err := s.end(); err != nil || !strings.Contains(s.log.String(), test.log) {
				t.Errorf("%v: %q is not in the log:\n%s", err, test.log, s.log.String())
			}
		})
	}
}

// TestServeMany serves several servers on a socket each, in IPv4 what was captured in
// IPv6.
func TestServeMany(t *testing.T) {
	s := startServe(t, 9, "--no-delay", testPcap("quake3-master/q3-master-dpmaster.pcap"))
	if reply := talk(t, s.at["[fd77::1]:27960"], "\xff\xff\xff\xffgetinfo mine", 1)[0]; !strings.Contains(reply, `\challenge\mine`) || !strings.Contains(reply, "OA 27960") {
		t.Errorf("%q", reply)
	}
	if reply := talk(t, s.at["10.77.0.2:27950"], "\xff\xff\xff\xffgetservers 71 empty full\n", 1)[0]; !strings.HasPrefix(reply, "\xff\xff\xff\xffgetserversResponse\\") {
		t.Errorf("%q", reply)
	}
}

// TestServeIPv6 serves in IPv6 what was captured in IPv4.
func TestServeIPv6(t *testing.T) {
	c, err := net.ListenPacket("udp", "[::1]:0")
	if err != nil {
		t.Logf("no IPv6 here: %v", err)
		return
	}
	c.Close()
	s := startServe(t, 1, "--listen", "::1", "--no-delay", testPcap("minecraft/gs4-nukkit.pcap"))
	if at := s.only(); !strings.HasPrefix(at, "[::1]:") {
		t.Fatalf("served on %q", at)
	}
	if reply := talk(t, s.only(), "\xfe\xfd\x09abcd", 1)[0]; !strings.HasPrefix(reply, "\x09abcd") {
		t.Errorf("%q", reply)
	}
}

// TestServeGuarded listens on all addresses, where strangers can send requests.
func TestServeGuarded(t *testing.T) {
	s := startServe(t, 1, "--listen", "0.0.0.0", "--no-delay", "--duplicate", "1", testPcap("a2s/a2s-goldsrc.pcap"))
	_, port, _ := net.SplitHostPort(s.only())
	at, info := "127.0.0.1:"+port, "\xff\xff\xff\xffTSource Engine Query\x00"
	c := talk(t, at, info, 2)[0] // two replies of 9 bytes for a request of 25
	if len(c) != 9 || c[4] != 'A' {
		t.Fatalf("info without a challenge: %q", c)
	}
	if reply := talk(t, at, info+c[5:], 2)[0]; !strings.HasPrefix(reply, "\xff\xff\xff\xffm") {
		t.Errorf("info with a challenge: %q", reply)
	}
}

func TestServeInterrupt(t *testing.T) {
	s := startServe(t, 1, testPcap("a2s/a2s-goldsrc.pcap"))
	self := must.Get(os.FindProcess(os.Getpid()))(t)
	must.Do(t, self.Signal(os.Interrupt))
	select {
	case err := <-s.done:
		s.done <- err
	case <-time.After(2 * time.Minute):
		t.Fatal("an interrupt does not end it")
	}
	if err := s.end(); err != nil { // waits for the log
		t.Errorf("ended with %v", err)
	}
	if !strings.Contains(s.log.String(), "0 requests, 0 answered, 0 challenged; 0 datagrams, 0 bytes sent\n") {
		t.Errorf("no summary:\n%s", s.log.String())
	}
}

// TestServeFullPipe checks that serve ends although nobody reads its log.
func TestServeFullPipe(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cmd := newServe(environment{in: strings.NewReader(""), out: w, err: io.Discard, getenv: func(string) string { return "" }})
	cmd.SetArgs([]string{testPcap("a2s/a2s-goldsrc.pcap")})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	line := must.Get(bufio.NewReaderSize(r, 16).ReadString('\n'))(t)
	talk(t, strings.Fields(line)[0], "\xff\xff\xff\xffV\xff\xff\xff\xff", 1) // the line for this exchange blocks
	stop()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "full and not read") {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("serve waits for a reader of its log")
	}
	file := must.Get(os.Open(testPcap("a2s/a2s-goldsrc.pcap")))(t) // which cannot be written to
	defer file.Close()
	if status := run([]string{"serve", "--until-eof", file.Name()}, environment{strings.NewReader(""), file, io.Discard, func(string) string { return "" }}); status != exitTrouble {
		t.Errorf("status %d, and nobody has its address", status)
	}
}

// TestServeLog checks that log lines are readable whatever the request contains, and
// that replies lost on purpose do not count as answered.
func TestServeLog(t *testing.T) {
	s := startServe(t, 1, "--loss", "100%", testPcap("quake3/q3-openarena.pcap"))
	at := s.only()
	c := must.Get(net.Dial("udp", at))(t)
	defer c.Close()
	for _, request := range []string{"\xff\xff\xff\xffgetstatus x", "\xff\xff\xff\xffconnect \"\\name\\" + strings.Repeat("é", 10000) + "\"", "\xff\xff\xff\xffgetstatus " + strings.Repeat("y", 10000), "", "\x01"} {
		lines := strings.Count(s.log.String(), "\n")
		must.Get(c.Write([]byte(request)))(t)
		for range 1000 {
			if strings.Count(s.log.String(), "\n") > lines {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	must.Do(t, s.end())
	log := s.log.String()
	for line := range strings.Lines(log) {
		if len(line) > 600 || !utf8.ValidString(line) {
			t.Errorf("%d bytes: %q", len(line), line)
		}
	}
	if !strings.Contains(log, "…") || !strings.Contains(log, "  UNKNOWN  0 bytes  ~ ") || !strings.Contains(log, "  UNKNOWN  1 byte  01  ~ ") ||
		!strings.Contains(log, "5 requests, 0 answered, 0 challenged; 0 datagrams, 0 bytes sent; 3 not in the capture; 2 left unanswered on purpose; 2 lost on purpose\n") {
		t.Error(log)
	}
}

// A clientRun is a run of a real client whose output is stored beside the capture. The
// capture is that of a real server, or a generated one (protocol/name) that people
// compared with the output.
type clientRun struct {
	capture, file string
	server        string // if the capture has several servers
	kind          string // the name of the protocol in the client
	shift         int    // the difference between the port that the client queries and the one it is given
	// late marks a client that came after others, so that the server state it saw
	// differs from the one served.
	late bool
	// misled marks a client that takes a duplicate for the reply to its next request.
	misled bool
	// first marks a client that reads only the first part of a split reply, or whose
	// output depends on the order of arrival.
	first bool
}

// path returns the path of the capture with another ending.
func (r *clientRun) path(ending string) string {
	return nettext.Either(strings.Contains(r.capture, "/"), testPcap(r.capture+ending), filepath.Join(realCaptures, r.capture+ending))
}

// The runs of qstat and of gamedig.
var qstatRuns = []clientRun{
	{capture: "a2s-goldsrc", file: "client", kind: "a2s"},
	{capture: "a2s-goldsrc", file: "client-qstat-hls", kind: "hls"},
	{capture: "a2s-goldsrc", file: "client-qstat-hlqs", kind: "hlqs"},
	{capture: "a2s-goldsrc", file: "client-qstat-hla2s", kind: "hla2s", late: true},
	{capture: "a2s-goldsrc-split", file: "client", kind: "a2s"},
	{capture: "a2s-goldsrc-split", file: "client-qstat-hls", kind: "hls"},
	{capture: "a2s-goldsrc-split", file: "client-qstat-hlqs", kind: "hlqs"},
	{capture: "a2s-goldsrc-split", file: "client-qstat-hla2s", kind: "hla2s", late: true},
	{capture: "a2s-xash3d", file: "client", kind: "a2s"},
	{capture: "cube2", file: "client", kind: "cubes", server: "10.77.0.1:28786", shift: 1},
	{capture: "cube2", file: "client-re", kind: "cubes", server: "10.77.0.1:28802", shift: 1},
	{capture: "ddnet", file: "client-qstat", kind: "tees"},
	{capture: "gs-qr2-challenge", file: "client-qstat-gs4", kind: "gs4"},
	{capture: "gs1-qr1", file: "client", kind: "gps"},
	{capture: "gs1-qr1", file: "client-qstat-mhs", kind: "mhs"},
	{capture: "gs1-qr1-split", file: "client", kind: "gps"},
	{capture: "gs1-qr1-split", file: "client-qstat-mhs", kind: "mhs"},
	{capture: "gs4-nukkit", file: "client", kind: "gs4"},
	{capture: "mumble-ping", file: "client", kind: "mumble", server: "10.77.0.1:64738"},
	{capture: "q2-alienarena", file: "client", kind: "alienarenas"},
	{capture: "q2-alienarena", file: "client-q2s", kind: "q2s"},
	{capture: "q3-openarena", file: "client", kind: "q3s"},
	{capture: "q3-openarena-any-sll", file: "client", kind: "q3s"},
	{capture: "q3-openarena-lo", file: "client", kind: "q3s"},
	{capture: "qw-mvdsv", file: "client", kind: "qws"},
	{capture: "unreal2/servers", file: "client-qstat", kind: "ut2s", server: "198.51.100.10:7778", shift: 1, misled: true},
}

var gamedigRuns = []clientRun{
	{capture: "a2s-goldsrc", file: "client-gamedig-goldsrc", kind: "counterstrike15", misled: true},
	{capture: "a2s-goldsrc-split", file: "client-gamedig-goldsrc", kind: "counterstrike15", misled: true, first: true},
	{capture: "a2s-xash3d", file: "client-gamedig", kind: "protocol-valve"},
	{capture: "bedrock-gophertunnel", file: "client-gamedig", kind: "mbe", server: "10.77.0.1:19133"},
	{capture: "gs-qr2-challenge", file: "client-gamedig-gs3", kind: "battlefield2"},
	{capture: "gs1-qr1", file: "client-gamedig-gs1", kind: "battlefield1942"},
	{capture: "gs1-qr1-split", file: "client-gamedig-gs1", kind: "battlefield1942"},
	{capture: "gs4-nukkit", file: "client-gamedig", kind: "minecraft"},
	{capture: "mumble-ping", file: "client-gamedig", kind: "mumble", server: "10.77.0.1:64738"},
	{capture: "q2-alienarena", file: "client-gamedig", kind: "alienarena"},
	{capture: "q3-openarena", file: "client-gamedig", kind: "q3a"},
	{capture: "q3-openarena", file: "client-gamedig2", kind: "openarena"},
	{capture: "qw-mvdsv", file: "client-gamedig", kind: "quake"},
	{capture: "rfactor/servers", file: "client-gamedig", kind: "rfactor", server: "198.51.100.10:34297"},
	{capture: "savage2/servers", file: "client-gamedig", kind: "s2ats", server: "198.51.100.10:11235"},
	{capture: "tribes/servers", file: "client-gamedig", kind: "t1s", server: "198.51.100.10:28001"},
	{capture: "tribes/servers", file: "client-gamedig-starsiege", kind: "starsiege", server: "198.51.100.11:29001"},
	{capture: "ventrilo/servers", file: "client-gamedig", kind: "ventrilo", server: "198.51.100.10:3784"},
	{capture: "samp/servers", file: "client-gamedig", kind: "gtasam", server: "198.51.100.10:7777", misled: true},
	{capture: "unreal2/servers", file: "client-gamedig", kind: "unrealtournament2004", server: "198.51.100.10:7778", misled: true, first: true},
}

// realCaptures is the folder with captures of real servers.
var realCaptures = filepath.Join("..", "..", "..", "shared", "captures")

// clientProgram returns the first installed program of several names.
func clientProgram(t *testing.T, names ...string) string {
	t.Helper()
	if _, err := os.Stat(realCaptures); err != nil {
		t.Skip("the captures of real servers are not beside the project")
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed", names[len(names)-1])
	return ""
}

// troubles are flags that simulate networks without loss.
var troubles = map[string][]string{
	"plain":      {"--no-delay"},
	"as it was":  {},
	"reordered":  {"--reorder", "50%", "--seed", "3"},
	"duplicated": {"--duplicate", "50%", "--reorder", "30%", "--seed", "5"},
}

// served is a server for one run of a client.
type served struct {
	clientRun
	*serving
	name string
	at   string // the address that the client queries
	want any
}

// serveFor starts a server for each run and each kind of network, by default for one
// kind per run.
func serveFor(t *testing.T, ways []string, runs []clientRun) (list []*served) {
	for i, r := range runs {
		possible := slices.DeleteFunc(slices.Clone(ways), func(how string) bool {
			return r.misled && how == "duplicated" || r.first && how == "reordered"
		})
		i %= len(possible)
		for _, how := range must.Try(possible[i:i+1], possible) {
			args := append(slices.Clone(troubles[how]), r.path(".pcap"))
			if r.server != "" {
				args = append([]string{"--server", r.server}, args...)
			}
			b := must.Get(os.ReadFile(r.path("." + r.file + ".json")))(t)
			s := &served{clientRun: r, serving: startServe(t, 1, args...), want: parseJSON(t, b)}
			s.name = fmt.Sprintf("%s/%s/%s", strings.ReplaceAll(how, " ", "_"), r.capture, r.kind)
			host, port, _ := net.SplitHostPort(s.only())
			var n int
			fmt.Sscan(port, &n)
			s.at = fmt.Sprintf("%s:%d", host, n-r.shift)
			list = append(list, s)
		}
	}
	return list
}

// same compares the output of a client with its output at the time of the capture.
func (s *served) same(t *testing.T, got any) {
	if !reflect.DeepEqual(got, s.want) {
		t.Errorf("the client prints\n%s\nand printed\n%s\nof this:\n%s", show(got), show(s.want), s.log.String())
	}
}

func parseJSON(t *testing.T, b []byte) (v any) {
	t.Helper()
	// qstat prints bytes of the network unescaped.
	b = bytes.Map(func(r rune) rune {
		return nettext.Either(r < ' ' && r != '\n' && r != '\t', -1, r)
	}, bytes.ToValidUTF8(b, []byte("?")))
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v: %q", err, b)
	}
	return v
}

func show(v any) string {
	b, _ := json.MarshalIndent(v, "", " ")
	return string(b)
}

func TestServeQstat(t *testing.T) {
	program := clientProgram(t, "quakestat", "qstat")
	normal := func(s *served, v any) any {
		for _, server := range v.([]any) {
			m := server.(map[string]any)
			// The address and the distance of the server.
			for _, k := range []string{"address", "hostname", "ping", "retries"} {
				delete(m, k)
			}
			rules, _ := m["rules"].(map[string]any)
			// qstat prints the port only if it differs from the one queried, the host
			// name of Quake 3 only if the info reply is duplicated, and uninitialised
			// memory for Cube 2.
			for _, k := range []string{"hostport", "hostname", "mm"} {
				delete(rules, k)
			}
			players, _ := m["players"].([]any)
			for _, p := range players {
				if s.late {
					delete(p.(map[string]any), "time")
				}
			}
			slices.SortFunc(players, func(a, b any) int { return strings.Compare(show(a), show(b)) })
		}
		return v
	}
	for _, s := range serveFor(t, []string{"plain", "as it was", "reordered", "duplicated"}, qstatRuns) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			out := must.Get(exec.Command(program, "-json", "-R", "-P", "-interval", "2", "-"+s.kind, s.at).Output())(t)
			s.want = normal(s, s.want)
			s.same(t, normal(s, parseJSON(t, out)))
		})
	}
}

// TestServeQstatOther tests servers without usable JSON of qstat beside the capture:
// masters, whose servers do not exist here, and servers that only other clients had
// queried.
func TestServeQstatOther(t *testing.T) {
	program := clientProgram(t, "quakestat", "qstat")
	for _, c := range []struct {
		capture, server, kind string
		want                  []string
	}{
		{"a2s-xash3d-ipv6", "", "a2s", []string{`"map": "qdbox"`, `"numplayers": 13`, `"maxplayers": 16`, `"gamename": "Half-Life"`, "Bot number 9 "}},
		{"q1-quakespasm", "", "qs", []string{`"name": "qdissect_QuakeSpasm"`, `"map": "start"`, `"numplayers": 1`, `"sv_gravity": "800"`, `"name": "unconnected"`}},
		{"cube2", "10.77.0.1:28786", "cubes", []string{`Cube2 server"`, `"maxplayers": 8`, `"mode": "0 coopedit"`}},
		{"q3-master-dpmaster", "10.77.0.2:27950", "q3m,71,full,empty", []string{`"servers": 3`, "10.77.0.1:27960", "10.77.0.21:27961", "10.77.0.22:27962"}},
		{"q3-master-dpmaster", "10.77.0.2:27950", "nexuizm", []string{`"servers": 1`, "10.77.0.1:26000"}},
		{"valve-master-goldsrc", "", "hla2sm", []string{`"servers": 3`, "10.77.0.1:27015", "10.77.0.1:27016", "10.77.0.1:27017"}},
	} {
		t.Run(c.capture+"/"+c.kind, func(t *testing.T) {
			t.Parallel() // qstat waits for servers that do not exist here
			args := []string{"--no-delay", "--duplicate", "20%", "--reorder", "20%", "--seed", "1", filepath.Join(realCaptures, c.capture+".pcap")}
			if c.server != "" {
				args = append([]string{"--server", c.server}, args...)
			}
			s := startServe(t, 1, args...)
			at := s.only()
			if c.kind == "cubes" { // the client adds 1 to the port
				var n int
				fmt.Sscan(at[strings.LastIndexByte(at, ':')+1:], &n)
				at = fmt.Sprintf("127.0.0.1:%d", n-1)
			}
			out := must.Get(exec.Command(program, "-json", "-R", "-P", "-retry", "1", "-"+c.kind, at).Output())(t)
			for _, want := range c.want {
				if !bytes.Contains(out, []byte(want)) {
					t.Errorf("%s is not in\n%s\nof this:\n%s", want, out, s.log.String())
				}
			}
		})
	}
}

// askGamedig is a program for Node.js that queries many servers at once. Starting
// gamedig for each takes a second.
const askGamedig = `
import { GameDig } from %q
const ask = async ({ type, host, port }) => {
  const options = { type, host, port, givenPortOnly: true, requestRules: true, requestPlayers: true, stripColors: true, portCache: true,
    socketTimeout: 6000, attemptTimeout: 60000 } // it is one of fifty, on a machine that may be busy
  try { return await new GameDig(options).query(options) } catch (error) { return { error: error.message } }
}
console.log(JSON.stringify(await Promise.all(JSON.parse(process.argv[1]).map(ask))))
`

func TestServeGamedig(t *testing.T) {
	program := clientProgram(t, "gamedig")
	program = must.Get(filepath.EvalSymlinks(program))(t)
	var drop func(v any) any
	drop = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range []string{"ping", "connect", "queryPort"} {
				delete(v, k)
			}
			for _, x := range v {
				drop(x)
			}
		case []any:
			for _, x := range v {
				drop(x)
			}
		}
		return v
	}
	list := serveFor(t, []string{"plain", "as it was", "reordered", "duplicated"}, gamedigRuns)
	for _, s := range list {
		s.want = drop(s.want)
	}
	lib := filepath.Join(filepath.Dir(program), "..", "lib", "index.js")
	ask := func(list []*served) []any {
		var asks []map[string]string
		for _, s := range list {
			host, port, _ := net.SplitHostPort(s.at)
			asks = append(asks, map[string]string{"type": s.kind, "host": host, "port": port})
		}
		out, err := exec.Command("node", "--input-type=module", "-e", fmt.Sprintf(askGamedig, lib), show(asks)).Output()
		if err != nil {
			t.Fatalf("node: %v", err)
		}
		return drop(parseJSON(t, out)).([]any)
	}
	got := make(map[*served]any)
	for i, v := range ask(list) {
		got[list[i]] = v
	}
	// On a busy machine the one process that asks eighty servers does not get to its replies in time: who gave up asks again, with few others.
	again := slices.DeleteFunc(slices.Clone(list), func(s *served) bool { return reflect.DeepEqual(got[s], s.want) })
	for few := range slices.Chunk(again, 8) {
		for i, v := range ask(few) {
			t.Logf("%s was asked again and printed first\n%.300s", few[i].name, show(got[few[i]]))
			got[few[i]] = v
		}
	}
	for _, s := range list {
		t.Run(s.name, func(t *testing.T) { s.same(t, got[s]) })
	}
}

// TestWeb: the page of the site gets the names of the captures, which it may fetch, and only those; a page of the web whose name leads to
// this machine gets nothing.
func TestWeb(t *testing.T) {
	dir := t.TempDir()
	page, capture := filepath.Join(dir, "index.html"), filepath.Join(dir, "a</script>.pcap")
	if os.MkdirAll(filepath.Dir(capture), 0o777) != nil || os.WriteFile(capture, []byte("frames"), 0o666) != nil {
		t.Skip("this system has no such names of files")
	}
	must.Do(t, os.WriteFile(page, []byte(`<meta content="default-src 'none'; img-src data:"><script id="preload">[]</script>`), 0o666))
	in, out := io.Pipe()
	go run([]string{"web", "--site", page, capture}, environment{in: strings.NewReader(""), out: out, err: io.Discard, getenv: func(string) string { return "" }})
	url := strings.TrimSpace(must.Get(bufio.NewReader(in).ReadString('\n'))(t))
	get := func(path, host string) (string, int) {
		r := must.Get(http.NewRequest(http.MethodGet, url+path, http.NoBody))(t)
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		must.Do(t, err)
		defer answer.Body.Close()
		return string(must.Get(io.ReadAll(answer.Body))(t)), answer.StatusCode
	}
	want := `<meta content="default-src 'none'; connect-src 'self'; img-src data:"><script id="preload">["script\u003e.pcap"]</script>`
	if got, status := get("", ""); got != want || status != http.StatusOK {
		t.Errorf("the page: %d %s", status, got)
	}
	if got, status := get("capture/0", "localhost"); got != "frames" || status != http.StatusOK {
		t.Errorf("the capture: %d %s", status, got)
	}
	for _, path := range []string{"capture/1", "capture/-1", "index.html", "capture/..%2findex.html"} {
		if got, status := get(path, ""); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
	for _, path := range []string{"", "capture/0"} {
		if got, status := get(path, "evil.example"); status != http.StatusMisdirectedRequest || strings.Contains(got, "frames") {
			t.Errorf("%s for another host: %d %s", path, status, got)
		}
	}
}

// TestWebRefuses: other machines get nothing, and without a site the error says how to get it.
func TestWebRefuses(t *testing.T) {
	page := filepath.Join(t.TempDir(), "index.html")
	must.Do(t, os.WriteFile(page, nil, 0o666))
	for _, c := range []struct{ args, want string }{
		{"--site " + page + " --listen 0.0.0.0:0", "for this machine"},
		{"", "make web"},
		{"--site " + page + " missing.pcap", "missing.pcap"},
	} {
		var said strings.Builder
		if status := run(append([]string{"web"}, strings.Fields(c.args)...), environment{out: io.Discard, err: &said, getenv: os.Getenv}); status != exitTrouble || !strings.Contains(said.String(), c.want) {
			t.Errorf("web %s: status %d, %s", c.args, status, said.String())
		}
	}
}
