package qdissecttest

import (
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/serve"
	"github.com/qdissect/qdissect/internal/serve/host"
)

// ask sends a datagram and returns n replies.
func ask(t *testing.T, addr, request string, n int) (replies []string) {
	t.Helper()
	c := must.Get(net.Dial("udp", addr))(t)
	defer c.Close()
	must.Do(t, c.SetDeadline(time.Now().Add(2*time.Minute)))
	must.Get(c.Write([]byte(request)))(t)
	b := make([]byte, 1<<16)
	for range n {
		k, err := c.Read(b)
		if err != nil {
			t.Fatalf("%q: %d of %d replies: %v", request, len(replies), n, err)
		}
		replies = append(replies, string(b[:k]))
	}
	return replies
}

// TestServe checks challenges, splits, delays and the log.
func TestServe(t *testing.T) {
	const rules = "\xff\xff\xff\xffV"
	addr, took := "", time.Duration(0)
	log, failed := try(t, func(inner testing.TB) {
		addr = Serve(inner, pcap("a2s/a2s-goldsrc-split.pcap"))
		challenge := ask(t, addr, rules+"\xff\xff\xff\xff", 1)[0]
		start := time.Now()
		parts := ask(t, addr, rules+challenge[5:], 4)
		took = time.Since(start)
		for i, p := range parts {
			if !strings.HasPrefix(p, "\xfe\xff\xff\xff") || int(p[8]) != i<<4|4 {
				t.Errorf("part %d: %q", i, p[:min(len(p), 12)])
			}
		}
		ask(t, addr, "\xff\xff\xff\xffX", 0)
		ask(t, addr, rules+"\xff\xff\xff\xff", 1) // so that the one before was read
	})
	if failed || took < 5*time.Millisecond { // 10 ms in the capture
		t.Errorf("failed: %v, took %v", failed, took)
	}
	for _, want := range []string{
		"  A2S  rules request  challenge -1 → challenge  [1 datagram, 9 bytes]\n",
		" → rules reply  149 rules  [4 datagrams, 5530 bytes]\n",
		"  ~ no such request in the capture\n",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	// The port is free when the test has ended.
	c := must.Get(net.ListenPacket("udp", addr))(t)
	c.Close()
}

// TestServeFaults sends every datagram twice.
func TestServeFaults(t *testing.T) {
	addr := Serve(t, pcap("a2s/a2s-goldsrc-split.pcap"), NoDelay(), WithFaults(Faults{Duplicate: 1}))
	replies := ask(t, addr, "\xff\xff\xff\xffV\xff\xff\xff\xff", 2)
	if replies[0] != replies[1] {
		t.Errorf("%q", replies)
	}
}

// TestServeLog checks that equal requests are shown once, and that faults are named.
func TestServeLog(t *testing.T) {
	log, _ := try(t, func(inner testing.TB) {
		addr := Serve(inner, pcap("a2s/a2s-goldsrc-split.pcap"), NoDelay(), WithFaults(Faults{Duplicate: 1}))
		c := must.Get(net.Dial("udp", addr))(t)
		defer c.Close()
		b := make([]byte, 100)
		for _, request := range []string{"V", "V", "V", "Q", "V"} {
			must.Get(c.Write([]byte("\xff\xff\xff\xff" + request + "\xff\xff\xff\xff")))(t)
			for range 2 * strings.Count(request, "V") {
				must.Get(c.Read(b))(t)
			}
		}
	})
	const rules = `\S+ > \S+  A2S  rules request  challenge -1 → challenge  \[2 datagrams, 18 bytes, 1 duplicated\]\n`
	want := "^" + rules + "… 2 more like this\n" + `\S+ > \S+  A2S  unknown message  type 0x51  ~ no such request in the capture\n` + rules + "$"
	if !regexp.MustCompile(want).MatchString(log) {
		t.Errorf("the log is\n%s", log)
	}
	if log, _ = try(t, func(t testing.TB) {
		l := &serveLog{t: t}
		for i := range maxServeLog + 10 {
			e := &host.Exchange{Answer: serve.Answer{Request: fmt.Sprint(i)}}
			l.exchange(e)
			l.exchange(e)
		}
		l.flush()
	}); strings.Count(log, "\n") != 2*maxServeLog+1 || !strings.HasSuffix(log, "\n… 1 more like this\n… further requests are not shown\n") {
		t.Errorf("%d lines, the end is %q", strings.Count(log, "\n"), log[max(0, len(log)-200):])
	}
}

// TestServeMany serves captures with several servers.
func TestServeMany(t *testing.T) {
	const many = "quake3-master/q3-master-dpmaster.pcap"
	const info = "\xff\xff\xff\xffgetinfo mine"
	all := ServeAll(t, pcap(many), NoDelay())
	if len(all) != 9 {
		t.Errorf("%d servers", len(all))
	}
	for _, at := range []string{all["[fd77::1]:27960"], all["10.77.0.1:27960"], Serve(t, pcap(many), ServeAs("10.77.0.1:27960"), NoDelay())} {
		if got := ask(t, at, info, 1)[0]; !strings.Contains(got, `\challenge\mine`) || !strings.Contains(got, "OA 27960") {
			t.Errorf("%q", got)
		}
	}
	log, failed := try(t, func(t testing.TB) { Serve(t, pcap(many)) })
	if want := "serving 10.77.0.1:27960 (quake3), the first of 9 servers in " + pcap(many) + "; ServeAs chooses another, ServeAll serves all: [fd77::1]:27960, "; failed || !strings.HasPrefix(log, want) {
		t.Errorf("failed: %v\n%s", failed, log)
	}
	if log, failed = try(t, func(t testing.TB) { Serve(t, pcap(many), ServeAs("27960")) }); failed || !strings.Contains(log, "serving 10.77.0.1:27960 (quake3), the first of 2 servers in ") {
		t.Errorf("failed: %v\n%s", failed, log)
	}
}

// TestServeNothing checks what a test says that cannot serve.
func TestServeNothing(t *testing.T) {
	source := readFile(t, pcap("a2s/source.pcap"))
	none, cut := filepath.Join(t.TempDir(), "none.pcap"), filepath.Join(t.TempDir(), "cut.pcap")
	writeFile(t, none, source[:24])
	writeFile(t, cut, source[:1500])
	for _, c := range []struct {
		path string
		opts []ServeOption
		want string
		fine bool
	}{
		{none, nil, none + " has no server: no request in it is answered\n", false},
		{pcap("a2s/source.pcap"), []ServeOption{ServeAs("192.0.2.1:1")}, " has no server 192.0.2.1:1 that answers, but 198.51.100.10:27015, ", false},
		{pcap("a2s/source.pcap"), []ServeOption{ServeAs("nobody")}, "ServeAs(\"nobody\"): neither ADDR:PORT nor a port\n", false},
		{"nowhere.pcap", nil, "nowhere.pcap", false},
		{cut, nil, "what follows is not served\n", true},
	} {
		log, failed := try(t, func(t testing.TB) { Serve(t, c.path, c.opts...) })
		if failed == c.fine || !strings.Contains(log, c.want) {
			t.Errorf("failed: %v\n%swant\n%s", failed, log, c.want)
		}
	}
}

// TestServeRecorded records a client that queries a served capture: both are the same
// conversation.
func TestServeRecorded(t *testing.T) {
	addr := Serve(t, pcap("a2s/source.pcap"), NoDelay())
	conn := must.Get(net.Dial("udp", addr))(t)
	defer conn.Close()
	file := filepath.Join(t.TempDir(), "x.pcapng")
	conn = RecordConn(t, conn, File(file))
	const info = "\xff\xff\xff\xffTSource Engine Query\x00"
	b := make([]byte, 1400)
	for _, end := range []string{"", "challenge"} {
		if end != "" {
			end = string(b[5:9])
		}
		must.Get(conn.Write([]byte(info + end)))(t)
		must.Get(conn.Read(b))(t)
	}
	got, want := Bodies[a2s.InfoReply](Messages(t, file)), Bodies[a2s.InfoReply](Messages(t, pcap("a2s/source.pcap")))
	if len(got) != 1 || !slices.ContainsFunc(want, func(m *a2s.InfoReply) bool { return m.Name == got[0].Name && m.Map == got[0].Map }) {
		t.Errorf("%+v", got)
	}
}
