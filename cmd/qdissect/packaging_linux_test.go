package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
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
	text, err := exec.Command("unshare", "-pf", "qdissect", "-B", "4", "-i", "lo", "-a", "duration:1").CombinedOutput()
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
	for _, args := range [][]string{{"-w", private + "/x.pcap"}, {"-w", private + "/x.pcap", "-b", "packets:1"}, {"--counts", private + "/counts"}, {"--user", "nosuch"}} {
		r := launch(t, sudo, append([]string{"-i", "veth1"}, args...)...)
		r.end(exitTrouble)
		r.says(`^qdissect: (` + private + `.*permission denied|the user .*: user: unknown user nosuch); .*--user`)
	}
}

// TestCheckUnreadable checks that an unreadable folder sets the exit status, and that
// the captures after it are compared.
func TestCheckUnreadable(t *testing.T) {
	root := t.TempDir()
	b := must.Get(os.ReadFile("../../testdata/pcaps/a2s/source.pcap"))(t)
	for _, dir := range []string{"a", "b", "c"} {
		must.Do(t, os.Mkdir(filepath.Join(root, dir), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(root, dir, "x.pcap"), b, 0o644))
	}
	check := func(args ...string) (int, string, string) {
		var out, errs strings.Builder
		code := run(append([]string{"check"}, args...), environment{in: strings.NewReader(""), out: &out, err: &errs, getenv: func(string) string { return "" }})
		return code, out.String(), errs.String()
	}
	// Change into the folder, because other users may not be able to read its parents.
	t.Chdir(root)
	if code, _, errs := check("--update", "."); code != 0 {
		t.Fatal(code, errs)
	}
	locked := filepath.Join(root, "b")
	must.Do(t, os.Chmod(locked, 0))
	defer os.Chmod(locked, 0o755)
	if os.Geteuid() == 0 { // root can read everything
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		must.Do(t, syscall.Setfsuid(65534))
		defer syscall.Setfsuid(0)
	}
	code, out, errs := check(".")
	if code != exitTrouble || !strings.Contains(out, "2 captures: 2 equal") || strings.Count(errs, "permission denied") != 1 || !strings.Contains(errs, "b: permission denied") {
		t.Errorf("exit status %d\n%s%s", code, out, errs)
	}
}

// packaged returns a file of the packages.
func packaged(t *testing.T, name string) string {
	t.Helper()
	b := must.Get(os.ReadFile(filepath.Join("..", "..", "packaging", name)))(t)
	return string(b)
}

// TestCaptureService runs what the unit of systemd runs, without rights but cap_net_raw: it
// keeps annotated files. The dashboard and the alerts have no other counters than it serves.
func TestCaptureService(t *testing.T) {
	namespace(t)
	unit := packaged(t, "qdissect-capture@.service")
	line := func(key string) string {
		m := regexp.MustCompile(`(?m)^` + key + `=(.*)$`).FindStringSubmatch(unit)
		if m == nil {
			t.Fatalf("the unit has no %s", key)
		}
		return m[1]
	}
	dir := must.Get(os.MkdirTemp("", "service"))(t)
	defer os.RemoveAll(dir)
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	must.Do(t, os.Chown(dir, int(nobody.Uid), int(nobody.Gid)))
	for i := range 60 {
		old := filepath.Join(dir, fmt.Sprintf("capture_%05d_20260314190000.pcapng.zst", i+1))
		must.Do(t, errors.Join(os.WriteFile(old, nil, 0o600), os.Chtimes(old, time.Time{}, time.Unix(int64(i), 0))))
	}
	command := line("ExecStartPre") + "\n" + line("ExecStart")
	for _, m := range regexp.MustCompile(`"(\w+)=(.*?)"`).FindAllStringSubmatch(line("Environment"), -1) {
		command = strings.NewReplacer("${"+m[1]+"}", m[2], "$"+m[1], m[2]).Replace(command)
	}
	command = strings.NewReplacer("/var/lib/"+line("StateDirectory"), dir, "127.0.0.1:9317", "127.0.0.1:0", "%i", "lo").Replace(command)
	before, command, _ := strings.Cut(command, "\n")
	shell(t, before)
	left, err := filepath.Glob(filepath.Join(dir, "capture_*"))
	if err != nil || len(left) != 47 || !strings.HasSuffix(left[0], "capture_00014_20260314190000.pcapng.zst") {
		t.Errorf("%d files of earlier starts are left: %v", len(left), left)
	}
	for _, name := range left {
		os.Remove(name)
	}
	args := strings.Fields(command)
	if args[0] != "/usr/bin/qdissect" || !slices.Contains(args, filepath.Join(dir, "capture.pcapng.zst")) || strings.ContainsAny(command, "$%") {
		t.Fatalf("%q", args)
	}
	r := launch(t, func(c *exec.Cmd) {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: nobody, AmbientCaps: []uintptr{unix.CAP_NET_RAW}}
	}, args[1:]...)
	metrics := ""
	r.until("count", func() bool {
		if m := regexp.MustCompile(`metrics at (http://\S+)`).FindStringSubmatch(r.err.String()); m != nil {
			if metrics = get(t, m[1]); strings.Contains(metrics, "qdissect_kernel_received") {
				exchange(t)
			}
		}
		return strings.Contains(metrics, "qdissect_server_") && strings.Contains(metrics, "round_trip_seconds_bucket")
	})
	r.cmd.Process.Signal(syscall.SIGTERM)
	r.end(exitDone)
	files, err := filepath.Glob(filepath.Join(dir, "capture_*.pcapng.zst"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files: %v, %v", files, err)
	}
	packed, z := must.Get(os.ReadFile(files[0]))(t), must.Get(zstd.NewReader(nil))(t)
	if plain, err := z.DecodeAll(packed, nil); err != nil || !bytes.Contains(plain, []byte("info request")) {
		t.Errorf("the file has no comments: %v\n%q", err, plain)
	}
	if out, stderr, _ := runIn(t, ".", files...); !strings.Contains(out, "A2S") {
		t.Errorf("the file: %s%s", out, stderr)
	}

	known := map[string][]string{} // the labels of each name
	for _, m := range regexp.MustCompile(`(?m)^(?:# TYPE )?(qdissect_\w+)(?:\{(.*)\})? `).FindAllStringSubmatch(metrics, -1) {
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
			known[m[1]] = append(known[m[1]], l[1])
		}
		known[m[1]] = append(known[m[1]], "instance", "le")
	}
	queries := map[string][]string{"prometheus-alerts.yaml": {packaged(t, "prometheus-alerts.yaml")}, "grafana-dashboard.json": nil}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	must.Do(t, json.Unmarshal([]byte(packaged(t, "grafana-dashboard.json")), &board))
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			queries["grafana-dashboard.json"] = append(queries["grafana-dashboard.json"], q.Expr)
		}
	}
	used := 0
	for file, list := range queries {
		for _, q := range list {
			for _, name := range regexp.MustCompile(`qdissect_\w+`).FindAllString(q, -1) {
				if used++; known[name] == nil {
					t.Errorf("%s: nothing serves %s", file, name)
				}
			}
			if strings.HasSuffix(file, ".json") { // each has one name
				name := regexp.MustCompile(`qdissect_\w+`).FindString(q)
				for _, by := range regexp.MustCompile(`by \(([\w, ]+)\)`).FindAllStringSubmatch(q, -1) {
					for label := range strings.SplitSeq(by[1], ", ") {
						if !slices.Contains(known[name], label) {
							t.Errorf("%s: %s has no label %s: %s", file, name, label, q)
						}
					}
				}
			}
		}
		for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(strings.Join(list, "\n"), -1) {
			if !slices.Contains([]string{"server", "protocol", "instance", "kind"}, m[1]) {
				t.Errorf("%s: no alert has the label %s", file, m[1])
			}
		}
	}
	if used < 30 {
		t.Errorf("only %d names of counters", used)
	}
}

// TestAlerts: the alerts fire for a dead server, a capture that is gone and a verdict, and not without.
func TestAlerts(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed")
	}
	for _, args := range [][]string{{"check", "rules", "prometheus-alerts.yaml"}, {"test", "rules", "prometheus-alerts-test.yaml"}} {
		cmd := exec.Command("promtool", args...)
		cmd.Dir = filepath.Join("..", "..", "packaging")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestUnit: systemd accepts the unit, and finds that it may do little.
func TestUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd is not installed")
	}
	unit := strings.Replace(packaged(t, "qdissect-capture@.service"), "/usr/bin/qdissect", "/bin/true", 1)
	path := filepath.Join(t.TempDir(), "qdissect-capture@lo.service")
	must.Do(t, os.WriteFile(path, []byte(unit), 0o644))
	// Other units of this machine may have mistakes of their own.
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if out, err := exec.Command("systemd-analyze", "security", "--no-pager", "--offline=yes", "--threshold=18", path).CombinedOutput(); err != nil {
		t.Errorf("security: %v\n%s", err, out)
	}
}

// TestPackaged: what packaging/build says of versions and of licences.
func TestPackaged(t *testing.T) {
	for _, x := range [][2]string{
		{"version_of '' 0123456789ab 20260314", "0.0.0~git20260314.0123456789ab"}, {"version_of v1.2.3 0123456789ab 20260314", "1.2.3"},
		{"version_of v1.2.3-4-g0123456789ab 0123456789ab 20260314", "1.2.3+git20260314.0123456789ab"}, {"version_of v1.2.3-rc1 0123456789ab 20260314", "1.2.3~rc1"},
		{"alpine 0.0.0~git20260314.0123456789ab.changed", "0.0.0_git20260314"}, {"alpine 1.2.3.changed", "1.2.3"},
		{"alpine 1.2.3+git20260314.0123456789ab", "1.2.3_git20260314"}, {"alpine 1.2.3~rc1", "1.2.3_rc1"},
		{"licences <<<$'Permission is hereby\ngranted, free of charge, to any person'", "MIT"},
		{"licences <<<'Redistribution and use in source and binary forms ...'", "BSD-2-Clause"},
		{"licences <<<$'Redistribution and use in source and binary forms ... Neither the copyright holder nor the\nnames of its contributors'", "BSD-3-Clause"},
		{"licences <<<$'Apache License\nVersion 2.0 ... Permission is hereby granted, free of charge'", "Apache-2.0 AND MIT"}, {"licences <<<'All rights reserved.'", ""},
	} {
		if out, err := exec.Command("bash", "-c", ". ../../packaging/build; "+x[0]).CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != x[1] {
			t.Errorf("%s: %s%v, want %s", x[0], out, err, x[1])
		}
	}
}
