//go:build long

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
)

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
			last = must.Get(strconv.Atoi(strings.Fields(rest)[0]))(t)
			if most = max(most, last); int(time.Since(start).Seconds())%10 == 0 {
				t.Logf("%s: %d MiB", time.Since(start).Round(time.Second), last>>10)
			}
		}
	}
}
