package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/qdissect/qdissect/internal/must"
)

// nobody is the user of these tests.
const nobody = 65534

// ownedFolder returns a folder of nobody that nobody can reach.
func ownedFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "qdissect-test-")
	if err == nil {
		err = os.Chown(dir, nobody, nobody)
	}
	must.Do(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// sudo makes a command look as if nobody had called sudo.
func sudo(c *exec.Cmd) { c.Env = append(os.Environ(), "SUDO_UID="+fmt.Sprint(nobody)) }

// TestPrivileges: every thread of a capture has given up what it had.
func TestPrivileges(t *testing.T) {
	namespace(t)
	text, err := exec.Command("unshare", "-pf", "qdissect", "-i", "lo", "-a", "duration:1").CombinedOutput()
	if err == nil || !strings.Contains(string(text), "/proc is of another PID namespace") {
		t.Errorf("with the /proc of another PID namespace: %v\n%s", err, text)
	}
	dir := ownedFolder(t)
	ring, counts := filepath.Join(dir, "x.pcapng"), filepath.Join(dir, "counts")
	for _, c := range []struct {
		sudo     bool
		uid, nnp int
		args     []string
	}{
		{false, 0, 1, nil},
		{true, nobody, 1, []string{"-w", ring, "-b", "packets:1", "--counts", counts}},
		{true, 0, 1, []string{"--user", "root", "-q"}},
		{false, nobody, 1, []string{"--user", "nobody", "--metrics", "127.0.0.1:0"}},
		{false, nobody, 0, []string{"--user", fmt.Sprint(nobody), "--on-verdict", "id -u >" + dir + "/id"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			r := launch(t, func(cmd *exec.Cmd) {
				if c.sudo {
					sudo(cmd)
				}
			}, append([]string{"-i", "lo", "-o", "jsonl", "-l"}, c.args...)...)
			w := connect(t, "lo")
			r.await(r.first, "begin") // the line of the schema, or with -q the end
			w.send(udp(client, server, question))
			if !strings.Contains(fmt.Sprint(c.args), "-q") {
				r.has(1)
			}
			r.isUser(c.uid, c.nnp)
			r.stop(os.Interrupt)
		})
	}
	for _, pattern := range []string{"x_*.pcapng", "counts/slot=*/" + aggregateFile} {
		list, _ := filepath.Glob(filepath.Join(dir, pattern))
		if len(list) == 0 {
			t.Errorf("no %s", pattern)
		}
		for _, name := range list {
			if st, err := os.Stat(name); err != nil || st.Sys().(*syscall.Stat_t).Uid != nobody {
				t.Errorf("%s is not the user's: %v", name, err)
			}
		}
	}
}

// isUser checks what all threads may do.
func (r *running) isUser(uid, nnp int) {
	r.t.Helper()
	list, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", r.cmd.Process.Pid))
	if err != nil || len(list) < 2 {
		r.t.Fatalf("%d threads: %v", len(list), err)
	}
	for _, name := range list {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		for _, want := range []string{fmt.Sprintf(`Uid:\t%d\t%[1]d\t%[1]d\t%[1]d`, uid), `CapInh:\t0+`, `CapPrm:\t0+`, `CapEff:\t0+`, `CapAmb:\t0+`, fmt.Sprintf(`NoNewPrivs:\t%d`, nnp)} {
			if !regexp.MustCompile(`(?m)^` + want + `$`).Match(b) {
				r.t.Errorf("%s has not %s:\n%s", name, want, b)
			}
		}
	}
}

// TestConfined: a capture opens no file outside of its folder, not even as root and through a link; and it says which folder it
// may not write to.
func TestConfined(t *testing.T) {
	namespace(t)
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	r := start(t, "-i", "veth1", "-l", "-w", filepath.Join(dir, "x.pcapng"), "-b", "packets:1", "--on-write-error", "continue")
	w := connect(t, "veth0")
	w.send(numbered(0))
	r.has(1)
	now := time.Now()
	for i := range 60 {
		at := now.Add(time.Duration(i) * time.Second).Format("20060102150405")
		must.Do(t, os.Symlink(out, filepath.Join(dir, "x_00002_"+at+".pcapng")))
	}
	w.send(numbered(1))
	r.has(2)
	r.cmd.Process.Signal(os.Interrupt)
	r.await(r.ended, "end")
	abi, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if _, err := os.Stat(out); err == nil && int(abi) > 0 {
		t.Error("it wrote outside of its folder")
	}

	private := t.TempDir()
	for _, args := range [][]string{{"-w", private + "/x.pcap"}, {"-w", private + "/x.pcap", "-b", "packets:1"}, {"--counts", private + "/counts"}} {
		r := launch(t, sudo, append([]string{"-i", "veth1"}, args...)...)
		r.end(exitTrouble)
		r.says(`^qdissect: ` + private + `.*permission denied; .*--user`)
	}
}
