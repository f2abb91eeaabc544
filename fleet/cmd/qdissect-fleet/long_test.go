//go:build long

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
)

// shell runs a script in the folder of a scene.
func (s *scene) shell(t *testing.T, script string) time.Duration {
	t.Helper()
	root := must.Get(filepath.Abs("../../.."))(t)
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "Q="+qdissect, "ROOT="+root)
	start := time.Now()
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, text)
	}
	return time.Since(start)
}

// Three million packets in 60 files of four series.
func TestLong(t *testing.T) {
	s := &scene{dir: t.TempDir()}
	s.shell(t, `make() { name=$1 size=$2; shift 2
		(cd $ROOT && go run ./internal/tools/mklarge -o $OLDPWD/one.pcap "$@")
		mkdir -p c/$name && editcap -F pcap -c $size one.pcap c/$name/eth.pcap && rm one.pcap; }
	make a 60000 -n 900000
	make b 40000 -n 600000 -plain
	make c 50000 -n 300000 -flood 450000
	make d 50000 -n 750000
	[ $(find c -type f | wc -l) = 60 ]`)
	single := s.shell(t, "$Q read -j 1 --series --unit 1/1 -o jsonl --out single 'c/**'")
	s.shell(t, "$Q report --from single -o single.html")
	s.tree, s.page = treeOf(t, filepath.Join(s.dir, "single")), pageOf(t, filepath.Join(s.dir, "single.html"))
	if len(s.tree) != 12 {
		t.Fatalf("%d files", len(s.tree))
	}
	for _, n := range []int{1, 3, 5} {
		s.start(t, "run", "c/**", "--out", "out", "--workers", strconv.Itoa(n)).ends(0)
		s.same(t, "out")
		s.shell(t, "rm -r out")
	}
	s.start(t, "run", "c/**", "--out", "out", "--shards", "4").ends(0)
	s.samePage(t, "out")
	s.shell(t, "rm -r out")
	// One of three workers is killed, and in every other run the server as well.
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		at := address(t)
		server := s.start(t, "server", "--store", "store", "--listen", at)
		url := s.joined(t, at)
		run := s.start(t, "run", "c/**", "--out", "out", "--workers", "0", "--nats", url, "--lost-after", "2s")
		var workers []*process
		for range 3 {
			workers = append(workers, s.start(t, "work", "--join", url, "--workers", "1"))
		}
		time.Sleep(time.Duration(r.Int64N(int64(single))) / 2)
		workers[0].kill()
		if seed%2 == 1 {
			time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
			server.kill()
			server = s.start(t, "server", "--store", "store", "--listen", at)
		}
		text := run.ends(0)
		if strings.Contains(text, "failed") {
			t.Errorf("seed %d:\n%s", seed, text)
		}
		workers[1].ends(0)
		workers[2].ends(0)
		server.kill()
		s.same(t, "out")
		s.shell(t, "rm -r out store")
	}
}

func init() { fake = fakeUnits }

// fakeUnits is a qdissect whose captures are n units that take no time.
func fakeUnits(n int) {
	out := bufio.NewWriter(os.Stdout)
	switch {
	case slices.Contains(os.Args, "version"):
		fmt.Fprintln(out, "qdissect fake")
	case slices.Contains(os.Args, "list"):
		for i := range n {
			fmt.Fprintf(out, `{"unit":"sensor=none/date=2026-01-02/hour=03/unit=%d","inputs":[{"path":"captures/%d.pcap","name":"%d.pcap"}]}`+"\n", i, i, i)
		}
		fmt.Fprintln(out, `{"done":0}`)
	default:
		in := json.NewDecoder(os.Stdin)
		for {
			var order struct{ Unit string }
			if in.Decode(&order) != nil {
				break
			}
			fmt.Fprintf(out, `{"unit":%q,"version":"%064d","sha256":"%064d","packets":1,"messages":1}`+"\n", order.Unit, 1, 2)
			out.Flush()
		}
	}
	out.Flush()
	os.Exit(0)
}

// The server needs the same memory for any number of units.
func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc here")
	}
	const units = 100_000
	self := must.Get(os.Executable())(t)
	s := &scene{dir: t.TempDir()}
	program := filepath.Join(s.dir, "fake")
	must.Do(t, os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\nQDISSECT_FLEET_FAKE=%d exec %s \"$@\"\n", units, self), 0o777))
	at := address(t)
	server := s.start(t, "server", "--store", "store", "--listen", at)
	url := s.joined(t, at)
	run := s.start(t, "run", "c", "--out", "out", "--nats", url, "--workers", "4", "--qdissect", program)
	var most, last int
	start := time.Now()
	for {
		select {
		case <-run.done:
			contains(t, run.ends(0), "100000 units dissected")
			t.Logf("%s: %d MiB at most, %d MiB at last", time.Since(start), most>>10, last>>10)
			if most > 120<<10 {
				t.Error("more than 120 MiB")
			}
			return
		case <-time.After(time.Second):
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", server.Process.Pid))
			must.Do(t, err)
			_, rest, _ := strings.Cut(string(b), "VmRSS:")
			if last, err = strconv.Atoi(strings.Fields(rest)[0]); err != nil {
				t.Fatal(err)
			}
			if most = max(most, last); int(time.Since(start).Seconds())%10 == 0 {
				t.Logf("%s: %d MiB", time.Since(start).Round(time.Second), last>>10)
			}
		}
	}
}
