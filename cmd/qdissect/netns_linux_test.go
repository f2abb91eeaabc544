package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/must"
)

// elsewhere moves the test into a new network namespace, as a server in a container is, and
// returns the number of a process in it, and how to run the program outside of it.
func elsewhere(t *testing.T) (pid string, outside func(*exec.Cmd)) {
	t.Helper()
	runtime.LockOSThread()
	home := must.Get(os.Open("/proc/thread-self/ns/net"))(t)
	t.Cleanup(func() { home.Close() })
	namespace(t)
	box := exec.Command("sleep", "600")
	must.Do(t, box.Start())
	t.Cleanup(func() {
		box.Process.Kill()
		box.Wait()
	})
	return fmt.Sprint(box.Process.Pid), func(c *exec.Cmd) {
		through(t, c, "nsenter", fmt.Sprintf("--net=/proc/%d/fd/%d", os.Getpid(), home.Fd()))
	}
}

// through makes a command run by another program.
func through(t *testing.T, c *exec.Cmd, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err) // util-linux has it
	}
	c.Args = slices.Concat([]string{name}, args, []string{c.Path}, c.Args[1:])
	c.Path = path
}

// TestNamespace: a program outside of a network namespace captures in it, by the number of a
// process, by a path, or by a name of ip netns, and serves its own counters outside.
func TestNamespace(t *testing.T) {
	t.Run("a process", func(t *testing.T) {
		pid, outside := elsewhere(t)
		file := filepath.Join(t.TempDir(), "lo.pcapng")
		r := launch(t, outside, "-o", "jsonl", "-l", "-i", "lo", "--netns", pid, "-w", file, "--metrics", "127.0.0.1:0")
		r.listens("lo")
		r.says(", network namespace " + pid + "$")
		address := regexp.MustCompile(`http://([0-9.:]+)/metrics`).FindStringSubmatch(r.err.String())
		if _, err := net.Dial("tcp", address[1]); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the counters are served inside of the namespace: %v", err)
		}
		exchange(t)
		r.has(2)
		r.stop(os.Interrupt)
		if out, stderr, _ := runIn(t, ".", file); strings.Count(out, "A2S") != 2 {
			t.Errorf("written: %s%s", out, stderr)
		}
	})
	t.Run("for Wireshark", func(t *testing.T) {
		pid, outside := elsewhere(t)
		name := filepath.Join(t.TempDir(), "fifo")
		must.Do(t, syscall.Mkfifo(name, 0o600))
		r := launch(t, outside, "extcap", "--capture", "--extcap-interface", "qdissect", "--fifo", name, "--iface", "lo", "--netns", pid)
		fifo := must.Get(os.Open(name))(t)
		defer fifo.Close()
		in := bufio.NewReader(fifo)
		if _, err := in.Peek(4); err != nil { // a header, written when the interface is open
			t.Fatal(err)
		}
		exchange(t)
		c := must.Get(capture.NewReader(in, "fifo"))(t)
		var f capture.Frame
		if err := c.Next(&f); err != nil || !strings.HasPrefix(strings.Join(f.Comments, ""), "a2s: ") {
			t.Errorf("%q, %v", f.Comments, err)
		}
		fifo.Close()
		r.end(exitDone)
	})
	t.Run("a path, all interfaces", func(t *testing.T) {
		pid, outside := elsewhere(t)
		r := launch(t, outside, "-o", "jsonl", "-l", "-i", "any", "--netns", "/proc/"+pid+"/ns/net")
		r.listens("any")
		shell(t, "ip link add late0 type veth peer name late1; ip link set late0 addrgenmode none up; ip link set late1 addrgenmode none up")
		connect(t, "late0").send(udp(client, server, question))
		r.has(1)
		if line := r.messages()[0]; !strings.Contains(line, `"interface":"late`) {
			t.Errorf("a later interface has no name: %s", line)
		}
		r.stop(os.Interrupt)
	})
	t.Run("a name, report", func(t *testing.T) {
		pid, outside := elsewhere(t)
		name := "qdissect-test-" + pid
		shell(t, "ip netns attach "+name+" "+pid)
		t.Cleanup(func() { exec.Command("ip", "netns", "delete", name).Run() })
		r := launch(t, outside, "report", "-a", "packets:2", "--format", "json", "-i", "lo", "--netns", name)
		r.listens("lo")
		exchange(t)
		var report struct {
			Home    []string
			Servers []struct{ Address string }
		}
		if out := r.end(exitDone); json.Unmarshal([]byte(strings.Join(out, "\n")), &report) != nil || len(report.Servers) != 1 || !strings.HasPrefix(report.Servers[0].Address, "127.0.0.1:") ||
			!slices.Contains(report.Home, "127.0.0.1/32") {
			t.Errorf("%s", strings.Join(out, "\n"))
		}
	})
	t.Run("the interfaces", func(t *testing.T) {
		pid, outside := elsewhere(t)
		shell(t, "ip link set veth1 down name onlyhere")
		r := launch(t, outside, "-D", "--netns", pid)
		if out := strings.Join(r.end(exitDone), "\n"); !strings.Contains(out, "onlyhere") {
			t.Errorf("%s", out)
		}
		r = launch(t, outside, "-i", "nope", "--netns", pid)
		r.end(exitTrouble)
		r.says("^qdissect: nope: no such interface; available are lo, .*onlyhere")
	})
	t.Run("gone", func(t *testing.T) {
		pid, outside := elsewhere(t)
		r := launch(t, outside, "-i", "veth1", "--netns", pid)
		r.listens("veth1")
		shell(t, "ip link delete veth0")
		r.end(exitTrouble)
		r.says("^qdissect: veth1: the interface is gone$")
	})
	t.Run("no rights", func(t *testing.T) {
		pid, outside := elsewhere(t)
		for _, capability := range []string{"net_raw", "sys_admin"} {
			r := launch(t, func(c *exec.Cmd) {
				through(t, c, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all,+"+capability, "--ambient-caps=-all,+"+capability)
				outside(c)
			}, "-i", "lo", "--netns", pid)
			r.end(exitTrouble)
			r.says("^qdissect: no permission to capture in network namespace " + pid + ": run as root; the capability cap_net_raw is not enough to enter a namespace$")
		}
	})
}

// TestNamespaceErrors: mistakes are named.
func TestNamespaceErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, syscall.Mkfifo(file, 0o600))
	for name, want := range map[string]string{
		"0":                   "0 is the process of a container that is not running\n",
		"4294967295":          "no such process\n",
		"nope":                "no such name; ip netns lists them, and processes have numbers\n",
		"..":                  "no such name; ip netns lists them, and processes have numbers\n",
		"/nope/x":             "no such file\n",
		"/proc/self/ns/mnt":   "not a network namespace\n",
		file:                  "not a network namespace\n",
		"/proc/self/ns/net/x": "not a directory\n",
	} {
		_, stderr, code := runIn(t, ".", "-i", "lo", "--netns", name)
		if want = "qdissect: network namespace " + name + ": " + want; code != exitTrouble || stderr != want {
			t.Errorf("--netns %s: %d, %s, want %s", name, code, stderr, want)
		}
	}
	for _, args := range []string{"--netns 1 x.pcap", "report --netns 1 x.pcap"} {
		if _, stderr, code := runIn(t, ".", strings.Fields(args)...); code != exitTrouble || stderr != "qdissect: --netns needs -i: a file has no interfaces\n" {
			t.Errorf("%s: %d, %s", args, code, stderr)
		}
	}
}
