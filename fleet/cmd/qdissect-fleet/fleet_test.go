package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
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
	seeds := must.Try(1, 3)
	if os.Getenv("QDISSECT_FLEET_LONG") != "" {
		seeds = 20
	}
	for seed := range uint64(seeds) {
		killWorker(t, seed)
	}
}

func killWorker(t *testing.T, seed uint64) {
	t.Helper()
	r, s := rand.New(rand.NewPCG(seed, 1)), newScene(t)
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
	points := must.Try(3, 20)
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
			var worker *process
			join := func() { worker = s.start(t, "work", "--join", s.joined(t, at), "--workers", "2", "--qdissect", slow) }
			begin := func(out string) *process {
				p := s.start(t, append(slices.Clone(args), "--out", out)...)
				if way == "joined" {
					join()
				}
				return p
			}
			ends := func(p *process) string {
				for tries := 0; worker != nil && tries < 3; tries++ {
					select {
					case <-p.done:
					case <-worker.done: // one that had not connected yet when the run was killed
						if !strings.Contains(worker.text.String(), "has ended") {
							t.Logf("another worker joins after: %s", worker.text)
							join()
						}
					}
				}
				return p.ends(damaged)
			}
			all := func(out string) time.Duration {
				began := time.Now()
				ends(begin(out))
				return time.Since(began)
			}
			took, units := all("whole"), len(s.tree)/3
			for i := range points {
				out := fmt.Sprint("out", i)
				killed := begin(out)
				time.Sleep(took * time.Duration(i+1) / time.Duration(points+1))
				killed.kill()
				began := time.Now()
				goesOn := s.start(t, append(slices.Clone(args), "--out", out)...)
				text, again := ends(goesOn), time.Since(began)
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

// joined returns the URL of a server when it answers: before it listens, the program tries for a moment whether it can.
func (s *scene) joined(t *testing.T, at string) string {
	t.Helper()
	until(t, "somebody listens at "+at, func() bool {
		c, err := net.Dial("tcp", at)
		if err != nil {
			return false
		}
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
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
	for _, lose := range []bool{true, false}[:must.Try(1, 2)] {
		s, at := newScene(t), address(t)
		serve := func() *process { return s.start(t, "server", "--store", "store", "--listen", at) }
		server, url := serve(), s.joined(t, at)
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
	s, at := newScene(t), address(t)
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
	s, at := newScene(t), address(t)
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
	s, at := newScene(t), address(t)
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
	s, at := newScene(t), address(t)
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

// until waits until something is so.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}

// TestLoopback captures on lo with a sensor, looks at the pages of a view, and fetches packets.
func TestLoopback(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("no network namespace here: not root")
	}
	s := &scene{dir: t.TempDir()}
	address := address(t)
	game := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	defer game.Close()
	go func() {
		b := make([]byte, 100)
		for n := byte(0); ; n++ { // the players: replies without their requests must not look like copies
			_, from, err := game.ReadFrom(b)
			if err != nil {
				return
			}
			game.WriteTo([]byte("\xff\xff\xff\xffI\x11Old town\x00de_dust2\x00cstrike\x00Counter-Strike\x00\x0a\x00"+string([]byte{n, 16})+"\x00dl\x00\x001.0\x00"), from)
		}
	}()
	client := must.Get(net.Dial("udp", game.LocalAddr().String()))(t)
	defer client.Close()
	ask := func() {
		time.Sleep(15 * time.Millisecond) // else it looks like a copy
		client.Write([]byte("\xff\xff\xff\xffTSource Engine Query\x00"))
		client.SetReadDeadline(time.Now().Add(time.Minute))
		client.Read(make([]byte, 1500))
	}

	s.start(t, "server", "--store", "hub", "--listen", address)
	url := s.joined(t, address)
	sensor := s.start(t, "sensor", "-i", "lo", "--name", "a", "--dir", "a", "--nats", url, "--qdissect", qdissect,
		"udp", "port", strings.TrimPrefix(game.LocalAddr().String(), "127.0.0.1:"))
	ring := func() int {
		names, _ := filepath.Glob(filepath.Join(s.dir, "a", "ring-*_*.pcapng"))
		return len(names)
	}
	until(t, "the sensor captures", func() bool {
		ask()
		return ring() > 0
	})
	for range 20 {
		ask()
	}
	view := s.start(t, "view", "-o", "pages", "--nats", url, "--every", "1")

	fetched := filepath.Join(s.dir, "cut.pcapng")
	until(t, "packets are fetched", func() bool {
		text := s.start(t, "fetch", "a", "--since", "-1m", "-Y", "message == info_reply", "-w", "cut.pcapng", "--nats", url)
		<-text.done
		out, _ := exec.Command(qdissect, "-q", fetched).Output()
		return text.ProcessState.ExitCode() == 0 && regexp.MustCompile(`a2s +\d\d messages`).Match(out)
	})
	if text := s.start(t, "fetch", "a", "--since", "-1m", "-Y", "message = no", "-w", "no.pcapng", "--nats", url).ends(2); !strings.Contains(text, `sensor a: -Y: `) && !strings.Contains(text, "offset") {
		t.Error(text)
	}

	must.Do(t, sensor.Process.Signal(os.Interrupt))
	sensor.ends(0)
	out := must.Get(exec.Command(qdissect, "report", "--from", filepath.Join(s.dir, "a", "counts"), "--format", "json").Output())(t)
	var r struct {
		Totals struct{ Requests, Replies int }
	}
	if err := json.Unmarshal(out, &r); err != nil || r.Totals.Requests < 10 || r.Totals.Replies != r.Totals.Requests {
		t.Fatal(r, err)
	}
	want := fmt.Sprintf(`<td class="n">%d</td><td class="n">0.0 %%</td><td><p class="said">Nothing unusual`, r.Totals.Requests)
	until(t, "the view has all that the sensor counted: "+want, func() bool {
		b, _ := os.ReadFile(filepath.Join(s.dir, "pages", "index.html"))
		return strings.Contains(string(b), want)
	})
	for _, name := range []string{"all.html", "sensors/a.html"} {
		if b, err := os.ReadFile(filepath.Join(s.dir, "pages", name)); err != nil || !strings.Contains(string(b), "Old town") {
			t.Errorf("%s: %v", name, err)
		}
	}
	view.kill()

	// A sensor that is killed leaves no qdissect behind: the next one can work in its folder.
	lock := filepath.Join(s.dir, "a", "lock")
	held := func() bool { return exec.Command("flock", "-n", lock, "true").Run() != nil }
	until(t, "the qdissect of the first sensor ends", func() bool { return !held() })
	before := ring()
	time.Sleep(time.Second) // files are named by the second
	second := s.start(t, "sensor", "-i", "lo", "--name", "a", "--dir", "a", "--nats", url, "--qdissect", qdissect)
	until(t, "the second sensor works", func() bool { // who looks at the lock now has it when qdissect wants it
		ask()
		return ring() > before
	})
	second.kill()
	until(t, "its qdissect ends", func() bool { return !held() })
}

// TestDown has two servers that are asked every second. One is killed, the other hangs: within 15 s both are down on every page,
// from the time of the last reply on.
func TestDown(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("no network namespace here: not root")
	}
	t.Parallel()
	s := &scene{dir: t.TempDir()}
	games := map[string]net.PacketConn{"killed": nil, "hangs": nil}
	silent := make(chan struct{})
	over := make(chan struct{})
	filter := []string{"udp", "and", "("}
	var asking sync.WaitGroup
	defer asking.Wait()
	defer close(over)
	for name := range games {
		game := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
		defer game.Close()
		games[name] = game
		filter = append(filter, "port", strings.TrimPrefix(game.LocalAddr().String(), "127.0.0.1:"), "or")
		client := must.Get(net.Dial("udp", game.LocalAddr().String()))(t)
		defer client.Close()
		asking.Go(func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(time.Second):
					client.Write([]byte("\xff\xff\xff\xffTSource Engine Query\x00"))
				}
			}
		})
		go func() {
			b := make([]byte, 100)
			for n := byte(0); ; n++ {
				_, from, err := game.ReadFrom(b)
				if err != nil {
					return
				}
				select {
				case <-silent:
				default:
					game.WriteTo([]byte("\xff\xff\xff\xffI\x11Old town\x00de_dust2\x00cstrike\x00Counter-Strike\x00\x0a\x00"+string([]byte{n, 16})+"\x00dl\x00\x001.0\x00"), from)
				}
			}
		}()
	}
	filter[len(filter)-1] = ")"
	hub := address(t)
	s.start(t, "server", "--store", "hub", "--listen", hub)
	url := s.joined(t, hub)
	s.start(t, append([]string{"sensor", "-i", "lo", "--name", "a", "--dir", "a", "--nats", url, "--qdissect", qdissect}, filter...)...)
	s.start(t, "view", "-o", "pages", "--nats", url)
	page := func(name string) func() string {
		return func() string {
			b, _ := os.ReadFile(filepath.Join(s.dir, name))
			return strings.ReplaceAll(string(b), "<wbr>", "")
		}
	}
	views := map[string]func() string{"pages/index.html": nil, "pages/all.html": nil, "pages/sensors/a.html": nil}
	for name := range views {
		views[name] = page(name)
	}
	lacks, began := "", time.Now()
	defer func() {
		if t.Failed() {
			t.Log(lacks)
		}
	}()
	until(t, "every page has both servers", func() bool {
		for _, game := range games {
			at := game.LocalAddr().String()
			for name, view := range views {
				if name != "pages/index.html" && !strings.Contains(view(), at) {
					lacks = name
					return false
				}
			}
		}
		return true
	})
	usual := time.Since(began)
	time.Sleep(5 * time.Second)
	down := time.Now().UTC()
	close(silent)
	games["killed"].Close()
	for left := len(views) * len(games); left > 0; {
		if time.Since(down) > max(15*time.Second, 3*usual) { // a slow machine was slow before, too
			t.Fatalf("%d of the statements do not come; that there are servers came after %v", left, usual)
		}
		time.Sleep(50 * time.Millisecond)
		left = 0
		for game, c := range games {
			at := c.LocalAddr().String()
			for name, view := range views {
				_, text, found := strings.Cut(view(), "Down: "+at)
				if !found {
					left++
					continue
				}
				text = text[:min(len(text), 200)]
				m := regexp.MustCompile(`stopped replying at (\d\d:\d\d:\d\d)`).FindStringSubmatch(text)
				if m == nil {
					left++
					continue
				}
				from, err := time.Parse(time.DateTime, down.Format(time.DateOnly)+" "+m[1])
				if off := down.Sub(from); err != nil || off < -time.Second || off > 3*time.Second {
					t.Errorf("%s: %s is down from %s on, and was from %s on", name, game, m[1], down.Format(time.TimeOnly))
				}
			}
		}
	}
	t.Logf("everything says so after %v; that there are servers came after %v", time.Since(down), usual)
}

// TestReadme does what the README says for several machines, command by command, on one whose name is hub. Only the interface and the
// folder of the sensor are others.
func TestReadme(t *testing.T) {
	if text, err := exec.Command("unshare", "-rmnpf", "--mount-proc", "openssl", "version").CombinedOutput(); err != nil {
		t.Skipf("no namespaces or no openssl here: %s", text)
	}
	page := must.Get(os.ReadFile("../../README.md"))(t)
	_, text, _ := strings.Cut(string(page), "### Who may do what")
	text, _, _ = strings.Cut(text, "For a NATS server that exists")
	script := "mount --bind hosts /etc/hosts; ip link set lo up\nkey() { qdissect-fleet key $1.nk >$1.key; }\n"
	commands, keys, users := 0, "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if words := strings.Fields(line); len(words) == 3 && len(words[2]) == 56 { // of the file of users
			keys += "key " + words[1] + "\n"
			users += fmt.Sprintf("echo %s %s $(cat %s.key) >>users\n", words[0], words[1], words[1])
			continue
		}
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok || command == "cat users" || strings.HasPrefix(command, "qdissect-fleet key") {
			continue
		}
		commands++
		switch program := strings.Fields(command + " x"); program[1] {
		case "server":
			script += keys + users + "cp hub.pem ca.pem\n" + command + " &\nsleep 1\n"
		case "sensor":
			command = strings.NewReplacer("-i eth0", "-i lo", "/var/lib/qdissect", "ams1", "sensor ", "sensor --qdissect $Q ").Replace(command)
			fallthrough
		case "view":
			script += command + " &\n"
		default:
			script += command + "\n"
		}
	}
	if commands != 5 {
		t.Fatalf("%d commands in README.md", commands)
	}
	script += "for i in $(seq 1200); do grep -q ams1.html pages/index.html 2>/dev/null && exit 0; sleep 0.1; done; exit 9"
	s := &scene{dir: t.TempDir()}
	self := must.Get(os.Executable())(t)
	must.Do(t, errors.Join(os.Symlink(self, filepath.Join(s.dir, "qdissect-fleet")), os.WriteFile(filepath.Join(s.dir, "hosts"), []byte("127.0.0.1 hub localhost\n"), 0o600)))
	cmd := exec.Command("unshare", "-rmnpf", "--mount-proc", "--kill-child", "sh", "-ec", script)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "QDISSECT_FLEET_SELF=1", "Q="+qdissect, "PATH="+s.dir+":"+os.Getenv("PATH"))
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, text)
	}
}

// TestViewFirst: a view that is there first waits for the server, and has its first page within three seconds of it.
func TestViewFirst(t *testing.T) {
	s := &scene{dir: t.TempDir()}
	at := address(t)
	view := s.start(t, "view", "--nats", "nats://"+at, "-o", "pages")
	select {
	case <-view.done:
		t.Fatalf("the view does not wait: %s", view.text)
	case <-time.After(1500 * time.Millisecond):
	}
	s.start(t, "server", "--store", "hub", "--listen", at)
	url := s.joined(t, at)
	page := func(dir string) time.Duration {
		began := time.Now()
		until(t, "there is a page", func() bool { _, err := os.Stat(filepath.Join(s.dir, dir, "index.html")); return err == nil })
		return time.Since(began)
	}
	past := page("pages")
	s.start(t, "view", "--nats", url, "-o", "second")
	usual := page("second")
	if past > max(4*time.Second, 2*time.Second+3*usual) { // a second of it is the pause between tries
		t.Errorf("the first page came after %v, that of a view that begins after the server after %v", past, usual)
	}
}
