package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
)

var qdissect string // the program

// fake runs this program as a qdissect with so many units; long_test.go has it.
var fake func(units int)

func TestMain(m *testing.M) {
	if os.Getenv("QDISSECT_FLEET_SELF") != "" && os.Getenv("QDISSECT_FLEET_FAKE") == "" { // a process of a test
		main()
	}
	if n, err := strconv.Atoi(os.Getenv("QDISSECT_FLEET_FAKE")); err == nil {
		fake(n)
	}
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		panic(err)
	}
	qdissect = filepath.Join(dir, "qdissect")
	build := exec.Command("go", "build", "-o", qdissect, "./cmd/qdissect")
	build.Dir = filepath.Join("..", "..", "..")
	if text, err := build.CombinedOutput(); err != nil {
		panic(string(text))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// A scene is a folder with captures in c, and in single what one process makes of them.
type scene struct {
	dir  string
	tree map[string][32]byte
	page string
}

// captures makes captures and the scene of them once.
var captures = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp(filepath.Dir(qdissect), "captures-")
	if err != nil {
		panic(err)
	}
	pcaps, err := filepath.Abs("../../../testdata/pcaps")
	if err != nil {
		panic(err)
	}
	script := `mkdir -p c/a c/b c/c
	$Q -q -w c/a/t.pcapng -b packets:3 $P/a2s/source.pcap
	$Q -q -w c/b/q.pcapng -b packets:40 $P/quake3/trouble.pcap
	$Q -q -w c/c/m.pcapng -b packets:5 $P/minecraft/documents.pcap
	for f in $P/*/*.pcap; do n=$(basename $(dirname $f))-$(basename $f .pcap); mkdir -p c/s/$n; cp $f c/s/$n/x.pcap; done
	mkdir c/s/a2s-cut && head -c 900 $P/a2s/source.pcap >c/s/a2s-cut/x.pcap
	find c/s -name x.pcap -size +400k -delete
	ls c/s | sed -n '25,$p' | while read d; do rm -r c/s/$d; done
	$Q read --series --unit 1/1 -o jsonl --out single 'c/**'
	$Q report --from single -o single.html; true`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "Q="+qdissect, "P="+pcaps)
	if text, err := cmd.CombinedOutput(); err != nil {
		panic(string(text))
	}
	return dir
})

// newScene returns a folder with captures.
func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{dir: t.TempDir()}
	must.Do(t, os.Symlink(filepath.Join(captures(), "c"), filepath.Join(s.dir, "c")))
	s.tree, s.page = treeOf(t, filepath.Join(captures(), "single")), pageOf(t, filepath.Join(captures(), "single.html"))
	if len(s.tree) < 60 {
		t.Fatalf("%d files", len(s.tree))
	}
	return s
}

// treeOf returns the sums of all files below a folder, but for what is not complete.
func treeOf(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	tree := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		tree[strings.TrimPrefix(path, dir)] = sha256.Sum256(b)
		return err
	})
	must.Do(t, err)
	return tree
}

var command = regexp.MustCompile(`report --from [\w/.-]+`)

// pageOf returns a page of report without its command.
func pageOf(t *testing.T, name string) string {
	t.Helper()
	b := must.Get(os.ReadFile(name))(t)
	if !command.Match(b) {
		t.Fatalf("%s: no command", name)
	}
	return command.ReplaceAllString(string(b), "COMMAND")
}

// same checks that a folder has what one process makes of the captures, and that the report is the same.
func (s *scene) same(t *testing.T, out string) {
	t.Helper()
	got := treeOf(t, filepath.Join(s.dir, out))
	for name, sum := range s.tree {
		if got[name] != sum {
			t.Errorf("%s differs", name)
		}
	}
	if len(got) != len(s.tree) {
		t.Errorf("%d files, want %d", len(got), len(s.tree))
	}
	s.samePage(t, out)
}

func (s *scene) samePage(t *testing.T, out string) {
	t.Helper()
	cmd := exec.Command(qdissect, "report", "--from", out, "-o", out+".html")
	cmd.Dir = s.dir
	if text, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 2 { // some captures are damaged
		t.Fatalf("%v\n%s", err, text)
	}
	if pageOf(t, filepath.Join(s.dir, out+".html")) != s.page {
		t.Error("the page differs")
	}
}

// A process is qdissect-fleet with arguments.
type process struct {
	*exec.Cmd
	t    *testing.T
	text *bytes.Buffer
	done chan struct{}
}

// start starts qdissect-fleet.
func (s *scene) start(t *testing.T, args ...string) *process {
	t.Helper()
	self := must.Get(os.Executable())(t)
	if args[0] == "run" || args[0] == "work" {
		args = append([]string{args[0], "--qdissect", qdissect}, args[1:]...)
	}
	p := &process{exec.Command(self, args...), t, &bytes.Buffer{}, make(chan struct{})}
	p.Dir, p.Env = s.dir, append(os.Environ(), "QDISSECT_FLEET_SELF=1", "TMPDIR="+s.dir)
	p.Stdout, p.Stderr = p.text, p.text
	must.Do(t, p.Start())
	go func() {
		_ = p.Wait() // ProcessState says it
		close(p.done)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill kills the process as the kernel does.
func (p *process) kill() {
	_ = p.Process.Kill() // it may have ended
	<-p.done
}

// patience is how long a process may take.
const patience = 20 * time.Minute

// ends waits for the end of a process and returns what it wrote.
func (p *process) ends(status int) string {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.kill()
		p.t.Fatalf("%v does not end:\n%s", p.Args[1:], p.text)
	}
	if got := p.ProcessState.ExitCode(); got != status {
		p.t.Fatalf("%v: exit status %d, want %d:\n%s", p.Args[1:], got, status, p.text)
	}
	return p.text.String()
}

// address returns an address of loopback on which nobody listens.
func address(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

// contains checks that a text has parts, in this order.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, p := range parts {
		at := strings.Index(rest, p)
		if at < 0 {
			t.Fatalf("no %q in\n%s", p, text)
		}
		rest = rest[at:]
	}
}

// The captures of the tests have damaged ones among them.
const damaged = 2

func TestWorkers(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"1", "3", "5"} {
		s := newScene(t)
		text := s.start(t, "run", "c/**", "--out", "out", "--workers", n).ends(damaged)
		contains(t, text, "c/s/a2s-cut/x.pcap: ", "units dissected, 0 done before\n")
		s.same(t, "out")
		if n == "1" {
			text = s.start(t, "run", "c/**", "--out", "out").ends(damaged)
			contains(t, text, "c/s/a2s-cut/x.pcap: ", "0 units dissected, ", " done before\n")
		}
	}
}

func TestShards(t *testing.T) {
	s := newScene(t)
	s.start(t, "run", "c/**", "--out", "out", "--shards", "3").ends(damaged)
	s.samePage(t, "out")
}

// A worker that is killed loses nothing, whenever it happens.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	seeds := thorough.Of(1, 3)
	if os.Getenv("QDISSECT_FLEET_LONG") != "" {
		seeds = 20
	}
	for seed := range uint64(seeds) {
		killWorker(t, seed)
	}
}

func killWorker(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	s := newScene(t)
	at := address(t)
	run := s.start(t, "run", "c/**", "--out", "out", "--workers", "0", "--listen", at, "--lost-after", "1s")
	var workers []*process
	for range 2 {
		workers = append(workers, s.start(t, "work", "--join", s.joined(t, at), "--workers", "1"))
	}
	time.Sleep(time.Duration(r.IntN(600)) * time.Millisecond)
	workers[0].kill()
	text := run.ends(damaged)
	if strings.Contains(text, "failed") {
		t.Errorf("seed %d:\n%s", seed, text)
	}
	contains(t, workers[1].ends(0), "the run run has ended")
	s.same(t, "out")
}

// TestKilledRun kills a run at several points: with a server in the same process, with another one, and with workers that joined it.
// The same command goes on at once, and in the end the folder has each unit once, and nothing else is left.
func TestKilledRun(t *testing.T) {
	points := thorough.Of(3, 20)
	for _, way := range []string{"alone", "nats", "joined"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s, at := newScene(t), address(t)
			slow := s.wrapper(t, "sleep 0.02")
			args := []string{"run", "c/**", "--qdissect", slow, "--workers", "2"}
			switch way {
			case "nats":
				s.start(t, "server", "--store", "store", "--listen", at)
				args = append(args, "--nats", s.joined(t, at))
			case "joined":
				args = append(args, "--workers", "0", "--listen", at)
			}
			begin := func(out string) *process {
				p := s.start(t, append(slices.Clone(args), "--out", out)...)
				if way == "joined" {
					s.start(t, "work", "--join", s.joined(t, at), "--workers", "2", "--qdissect", slow)
				}
				return p
			}
			all := func(out string) time.Duration {
				began := time.Now()
				begin(out).ends(damaged)
				return time.Since(began)
			}
			took, units := all("whole"), len(s.tree)/3
			for i := range points {
				out := fmt.Sprint("out", i)
				killed := begin(out)
				time.Sleep(took * time.Duration(i+1) / time.Duration(points+1))
				killed.kill()
				began := time.Now()
				text := s.start(t, append(slices.Clone(args), "--out", out)...).ends(damaged)
				again := time.Since(began)
				if again > took+4*time.Second { // the machine may be slower now
					took = max(took, all("whole"+out))
				}
				if again > took+4*time.Second {
					t.Errorf("killed after %d of %d: going on took %v, all of it %v\n%s", i+1, points+1, again, took, text)
				}
				var done, before int
				last := strings.Split(strings.TrimSpace(text), "\n")
				if _, err := fmt.Sscanf(strings.Replace(last[len(last)-1], "unit ", "units ", 1), "%d units dissected, %d done before", &done, &before); err != nil || done+before != units {
					t.Errorf("killed after %d of %d: %d units, want %d (%v)\n%s", i+1, points+1, done+before, units, err, text)
				}
				until(t, "nothing is left", func() bool {
					left := exec.Command("find", out, "-name", ".new-*")
					left.Dir = s.dir
					text, err := left.CombinedOutput()
					tmp, _ := filepath.Glob(filepath.Join(s.dir, ".new-*"))
					return err == nil && len(text) == 0 && len(tmp) == 0
				})
				s.same(t, out)
			}
		})
	}
}

// joined returns the URL of a server when it listens.
func (s *scene) joined(t *testing.T, at string) string {
	t.Helper()
	until(t, "somebody listens at "+at, func() bool {
		c, err := net.Dial("tcp", at)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return "nats://" + at
}

// reports waits until the status of a run has a text.
func (s *scene) reports(t *testing.T, url, text string) {
	t.Helper()
	until(t, "status has "+text, func() bool {
		p := s.start(t, "status", "--nats", url)
		<-p.done
		return strings.Contains(p.text.String(), text)
	})
}

// A server may be killed in the middle of a run, and even lose its files.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	for _, lose := range []bool{true, false}[:thorough.Of(1, 2)] {
		s := newScene(t)
		at := address(t)
		serve := func() *process { return s.start(t, "server", "--store", "store", "--listen", at) }
		server := serve()
		url := s.joined(t, at)
		run := s.start(t, "run", "c/**", "--out", "out", "--nats", url, "--workers", "1", "--lost-after", "1s", "--qdissect", s.wrapper(t, "sleep 0.05"))
		until(t, "the first unit is done", func() bool {
			done, _ := filepath.Glob(filepath.Join(s.dir, "out", "*", "*", "*", "unit=*"))
			return len(done) > 0
		})
		server.kill()
		if lose {
			must.Do(t, os.RemoveAll(filepath.Join(s.dir, "store")))
		}
		serve()
		contains(t, run.ends(damaged), "the server was away", "units dissected")
		s.same(t, "out")
	}
}

// A worker whose server does not come back ends, and says so. Its unit is given to another one.
func TestAway(t *testing.T) {
	s := newScene(t)
	at := address(t)
	server := s.start(t, "server", "--store", "store", "--listen", at)
	url := s.joined(t, at)
	run := s.start(t, "run", "c/a/*", "--out", "out", "-q", "--workers", "0", "--nats", url)
	worker := s.start(t, "work", "--join", url, "--workers", "1", "--give-up", "1500ms", "--qdissect", s.wrapper(t, "touch '"+s.dir+"/begun'; sleep 5"))
	until(t, "the worker works", func() bool { _, err := os.Stat(filepath.Join(s.dir, "begun")); return err == nil })
	server.kill()
	contains(t, worker.ends(2), "the server is away; trying again for 1.5s\n", "the server has been away for too long\n")
	run.kill()
	s.start(t, "run", "c/a/*", "--out", "out", "-q", "--workers", "1").ends(0)
}

// wrapper makes a qdissect that executes a shell command before each unit, whose line is in $line.
func (s *scene) wrapper(t *testing.T, before string) string {
	t.Helper()
	name := filepath.Join(s.dir, "wrapper")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *'--unit -'*) while read -r line; do %s; printf '%%s\\n' \"$line\" | %s \"$@\"; done;; *) exec %s \"$@\";; esac\n", before, qdissect, qdissect)
	must.Do(t, os.WriteFile(name, []byte(script), 0o777))
	return name
}

// A unit that crashes is named, and all others are done.
func TestCrash(t *testing.T) {
	s := newScene(t)
	at := address(t)
	s.start(t, "server", "--store", "store", "--listen", at)
	url := s.joined(t, at)
	text := s.start(t, "run", "c/**", "--out", "out", "--nats", url, "--qdissect",
		s.wrapper(t, `case "$line" in *c/a/t_00001*) echo 'panic: boom' >&2; echo 'goroutine 1' >&2; exit 2;; esac`)).ends(2)
	crashed := "unit=a~t_00001_"
	contains(t, text, crashed, ": qdissect ended: panic: boom (", ", try 3)\n", "units dissected, 0 done before, 1 failed\n")
	contains(t, s.start(t, "status", "--nats", url).ends(0), "ended 20", "output: out in ", "units: ", " done, 0 done before\n", "worker ", "ended (done)", crashed, "panic: boom")
	for name := range s.tree {
		_, err := os.Stat(filepath.Join(s.dir, "out", name))
		if strings.Contains(name, crashed) != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The same command does what is left.
	text = s.start(t, "run", "c/**", "--out", "out", "--nats", url).ends(damaged)
	contains(t, text, "1 unit dissected, ")
	s.same(t, "out")
	if text := s.start(t, "status", "--nats", url).ends(0); strings.Contains(text, "boom") {
		t.Error(text)
	}
}

// Units that are in the queue twice are done twice, and give the same.
func TestDuplicates(t *testing.T) {
	s := newScene(t)
	name := filepath.Join(s.dir, "twice")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *'--unit list'*) %s \"$@\" | sed '/\"done\"/!p';; *) exec %s \"$@\";; esac\n", qdissect, qdissect)
	must.Do(t, os.WriteFile(name, []byte(script), 0o777))
	text := s.start(t, "run", "c/**", "--out", "out", "--workers", "3", "--qdissect", name).ends(damaged)
	contains(t, text, fmt.Sprintf("%d units dissected", 2*len(s.tree)/3))
	s.same(t, "out")
}

// A unit that has other bytes than before, with the same program and captures, is an error, and the first entry stays.
func TestOtherBytes(t *testing.T) {
	s := newScene(t)
	at := address(t)
	s.start(t, "server", "--store", "store", "--listen", at)
	url := s.joined(t, at)
	s.start(t, "run", "c/a/*", "--out", "out", "-q", "--nats", url).ends(0)
	for range 2 {
		must.Do(t, os.RemoveAll(filepath.Join(s.dir, "out")))
		name := filepath.Join(s.dir, "other")
		script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *'--unit -'*) %s \"$@\" | sed -u 's/\"sha256\":\"....../\"sha256\":\"abcdef/';; *) exec %s \"$@\";; esac\n", qdissect, qdissect)
		must.Do(t, os.WriteFile(name, []byte(script), 0o777))
		text := s.start(t, "run", "c/a/*", "--out", "out", "-q", "--nats", url, "--qdissect", name).ends(2)
		contains(t, text, "other bytes than before: SHA-256 ", " and abcdef", "with the same program, flags and captures", "1 failed")
		contains(t, s.start(t, "status", "--nats", url).ends(0), "other bytes than before")
	}
	s.start(t, "run", "c/a/*", "--out", "out", "-q", "--nats", url, "--force").ends(0)
}

// A full disk ends the run, and the same command goes on when there is room.
func TestFullDisk(t *testing.T) {
	s := newScene(t)
	if text, err := exec.Command("unshare", "-rm", "true").CombinedOutput(); err != nil {
		t.Skipf("no mount namespace here: %s", text)
	}
	self := must.Get(os.Executable())(t)
	script := `mkdir -p out && mount -t tmpfs -o size=300k none out || exit 99
	run() { $SELF run --qdissect $Q 'c/**' --out out --workers 2; }
	run; echo status $?
	mount -o remount,size=30m out; run; echo status $?
	cp -r out kept`
	cmd := exec.Command("unshare", "-rm", "sh", "-c", script)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "QDISSECT_FLEET_SELF=1", "SELF="+self, "Q="+qdissect)
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	contains(t, string(text), " units done, then no worker was left: ", "no space left on device\nstatus 2\n", "units dissected, ", " done before\nstatus 2\n")
	s.same(t, "kept")
}

// status names workers that are gone.
func TestGone(t *testing.T) {
	s := newScene(t)
	at := address(t)
	s.start(t, "run", "c/a/*", "--out", "out", "-q", "--workers", "0", "--listen", at, "--lost-after", "1s")
	url := s.joined(t, at)
	worker := s.start(t, "work", "--join", url, "--workers", "1", "--qdissect", s.wrapper(t, "sleep 10"))
	s.reports(t, url, "unit=")
	text := s.start(t, "status", "--nats", url).ends(0)
	contains(t, text, ", at work\n", "units: 0 of 1 done", "worker ", "unit=t_00001_", " for ")
	worker.kill()
	s.reports(t, url, ": gone since ")
	contains(t, s.start(t, "status", "--nats", url).ends(0), ": gone since ", " during sensor=none/", "unit=t_00001_")
}

func TestMistakes(t *testing.T) {
	s := newScene(t)
	for _, c := range []struct{ args, want string }{
		{"run", "run needs captures"},
		{"run c/**", "run needs --out DIR"},
		{"run c/** --out out --workers -1", "must be 0 or more"},
		{"work --join nats://127.0.0.1:1 --give-up 0s", "--give-up 0s: must be more than 0"},
		{"run c/** --out out --workers 0", "others need --listen or --nats"},
		{"run c/** --out out --shards 5", "must be 1 to 4"},
		{"run c/** --out out --lost-after 1ms", "must be 1s or more"},
		{"run c/** --out out --nats nats://127.0.0.1:1 --store x", "leave out --listen"},
		{"run c/** --out out --nats nats://127.0.0.1:1", "nats://127.0.0.1:1: "},
		{"run c/** --out out --name a.b", "use a to z"},
		{"run away/* --out out", "no captures"},
		{"run c/** --out out -- --shoe", "unknown flag: --shoe"},
		{"run c/** --out out --listen :4222", "needs --users, --tls-cert and --tls-key"},
		{"run c/** --out out --listen x", "must be host:port"},
		{"work", "work needs --join URL"},
		{"work --join nats://127.0.0.1:1", "nats://127.0.0.1:1: "},
		{"status --nats nats://127.0.0.1:1", "nats://127.0.0.1:1: "},
		{"server", "server needs --store FOLDER"},
	} {
		var text bytes.Buffer
		args := strings.Fields(c.args)
		if args[0] == "run" || args[0] == "work" {
			args = append([]string{args[0], "--qdissect", qdissect}, args[1:]...)
		}
		t.Chdir(s.dir)
		if got := run(context.Background(), args, environment{&text, &text}); got != exitTrouble {
			t.Errorf("%s: exit status %d", c.args, got)
		}
		contains(t, text.String(), c.want)
		if strings.Contains(text.String(), "panic") {
			t.Error(text.String())
		}
	}
}
