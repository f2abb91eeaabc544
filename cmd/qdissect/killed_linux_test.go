package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

// writing are the commands that write files. IN is a capture, IN2 one that follows it, UNITS the folder of units of both, SERVER one
// that answers, OUT the file or folder.
var writing = []struct {
	args  string
	more  string // says more than what it writes itself: the folder has it before
	stdin bool   // reads IN
	check string // what is written has times, or goes on from what is there: this command reads it
	once  bool   // refuses a file that exists
	waits bool   // takes a second of waiting, and writes at its end
	every bool   // reads IN in two pieces, and has a page of the first in between
	like  bool   // writes as one of the others does
}{
	{args: "read -r IN -w OUT.pcapng"},
	{args: "read -r IN -w OUT.pcap.zst", like: true},
	{args: "read -r IN -w OUT.pcapng --annotate=tree -Y a2s"},
	{args: "read -r IN -w OUT.pcapng -b packets:300"},
	{args: "read --out OUT -o jsonl IN IN2"},
	{args: "read --out OUT -o parquet IN IN2", like: true},
	{args: "read --series --unit 1/1 --out OUT -o jsonl IN IN2"},
	{args: "read --series --unit 1/1 --out OUT -o parquet IN IN2"},
	{args: "read -q --counts OUT -", stdin: true, check: "report --from OUT"},
	{args: "report IN -o OUT.html"},
	{args: "report IN -o OUT.json", like: true},
	{args: "report --every 1 -o OUT.html -", stdin: true, every: true},
	{args: "report --series IN IN2 -o OUT.html", like: true},
	{args: "report --from UNITS -o OUT.html", like: true},
	{args: "anonymize --key 00112233445566778899aabbccddeeff IN OUT.pcapng"},
	{args: "cut -Y a2s IN OUT.pcapng"},
	{args: "cut -Y a2s - OUT.pcapng", stdin: true, like: true},
	{args: "check --update OUT.pcapng", more: "OUT.pcapng"},
	{args: "demo OUT.pcap", once: true},
	{args: "query --protocol mumble -w OUT.pcap SERVER", check: "read -q OUT.pcap", waits: true},
	{args: "lua --install"},
	{args: "extcap --install"},
}

// TestKilled kills every command that writes at several points: each file with a name that is
// not hidden is one that the command writes when it is left alone, byte by byte. The next run
// gives all of them, and leaves nothing else, neither there nor among the temporary files.
func TestKilled(t *testing.T) {
	in := filepath.Join(t.TempDir(), "many_00001_20260102030405.pcapng")
	copies(t, in, must.Try(10, 100), 0)
	next := strings.Replace(in, "00001_20260102030405", "00002_20260102130405", 1)
	copies(t, next, 20, 10*time.Hour)
	units := filepath.Join(t.TempDir(), "units")
	outputOf(t, "read", "-q", "--series", "--unit", "1/1", "--out", units, in, next)
	wireshark := filepath.Join(t.TempDir(), "tshark") // says where it looks for files
	must.Do(t, os.WriteFile(wireshark, []byte("#!/bin/sh\nprintf 'Personal Lua Plugins:\\t%s\\nPersonal Extcap path:\\t%s\\n' \"$TMPDIR\" \"$TMPDIR\"\n"), 0o777))
	server, points := mumbles(t), must.Try(1, 20)
	for _, c := range writing {
		if c.like && !must.TryAll() {
			continue
		}
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			words := func(dir, args string) []string {
				return strings.Fields(strings.NewReplacer("IN2", next, "IN", in, "UNITS", units, "SERVER", server, "OUT", filepath.Join(dir, "out")).Replace(args))
			}
			start := func(dir string) *exec.Cmd {
				cmd := exec.Command("qdissect", words(dir, c.args)...)
				cmd.Env = append(os.Environ(), "TMPDIR="+dir, "PATH="+filepath.Dir(wireshark)+":"+os.Getenv("PATH"))
				err := error(nil)
				if c.stdin {
					var f *os.File
					if f, err = os.Open(in); err == nil {
						t.Cleanup(func() { f.Close() })
						cmd.Stdin = f
						if c.every {
							cmd.Stdin = &halves{file: f}
						}
					}
				}
				if c.more != "" {
					var b []byte
					if b, err = os.ReadFile(in); err == nil {
						err = os.WriteFile(strings.ReplaceAll(c.more, "OUT", filepath.Join(dir, "out")), b, 0o666)
					}
				}
				if err != nil {
					t.Error(err)
				}
				return cmd
			}
			end := func(cmd *exec.Cmd) {
				if text, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != exitJudged {
					t.Errorf("%v: %v\n%s", cmd, err, text)
				}
			}
			alone, began := t.TempDir(), time.Now()
			end(start(alone))
			took, want := time.Since(began), filesIn(t, alone)
			if len(want) == 0 {
				t.Fatal("no files")
			}
			// whole checks the files that have their names.
			whole := func(when, dir string, files map[string]string) {
				if c.check != "" && len(files) > 0 {
					if _, text, status := runHere(words(dir, c.check)...); status != exitDone {
						t.Errorf("%s: exit status %d\n%s", when, status, text)
					}
					return
				}
				for name, b := range files {
					if b != want[name] {
						t.Errorf("%s: %s has %d bytes, of %d", when, name, len(b), len(want[name]))
					}
				}
			}
			kill := func(i int) {
				dir, when := t.TempDir(), fmt.Sprintf("killed after %d of %d", i+1, points+1)
				cmd := start(dir)
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(nettext.Either(c.waits, took+time.Duration(2*i-points)*4*time.Millisecond, took*time.Duration(i+1)/time.Duration(points+1)))
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				left := filesIn(t, dir)
				maps.DeleteFunc(left, func(name, b string) bool { return hidden(name) || c.every && strings.HasSuffix(b, "</html>\n") })
				whole(when, dir, left)
				if c.once {
					_ = os.RemoveAll(filepath.Join(dir, "out.pcap"))
				}
				end(start(dir))
				got := filesIn(t, dir)
				if names, all := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(names, all) {
					t.Errorf("%s, and run again: %q, want %q", when, names, all)
				}
				maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasSuffix(name, ".done") }) // stamps have times
				whole(when+", and run again", dir, got)
			}
			var killing sync.WaitGroup
			for i := range points {
				if killing.Go(func() { kill(i) }); !c.waits && !c.every {
					killing.Wait()
				}
			}
			killing.Wait()
		})
	}
}

// halves reads a file, with a pause in the middle.
type halves struct {
	file   *os.File
	paused bool
}

func (h *halves) Read(b []byte) (int, error) {
	st, err := h.file.Stat()
	at, err2 := h.file.Seek(0, io.SeekCurrent)
	if err := errors.Join(err, err2); err != nil {
		return 0, err
	}
	if left := st.Size()/2 - at; left > 0 {
		b = b[:min(int64(len(b)), left)]
	} else if !h.paused {
		h.paused = true
		time.Sleep(1500 * time.Millisecond)
	}
	return h.file.Read(b)
}

// mumbles starts a server that clients ask once, and returns its address.
func mumbles(t *testing.T) string {
	t.Helper()
	c := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { c.Close() })
	go func() {
		for b := make([]byte, 100); ; {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			if n == 12 {
				_, _ = c.WriteTo([]byte("\x00\x01\x03\x04"+string(b[4:12])+"\x00\x00\x00\x05\x00\x00\x00\x64\x00\x01\xd4\xc0"), from)
			}
		}
	}()
	return c.LocalAddr().String()
}

// TestKilledQuery asks DuckDB for what docs/scale.md does, during a run and after it was killed, each time a bit later: the rows
// are those of the units that are finished, each once.
func TestKilledQuery(t *testing.T) {
	needDuckDB(t)
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	must.Do(t, os.Mkdir(in, 0o777))
	const units = 4
	for i := range units {
		copies(t, filepath.Join(in, fmt.Sprintf("%c_00001_202601020%d0405.pcapng", 'a'+i, i)), must.Try(10, 100), time.Duration(i)*time.Hour)
	}
	run := func(out string) *exec.Cmd {
		return exec.Command("qdissect", "read", "--series", "--unit", "1/1", "--out", out, "-o", "parquet", in+"/*")
	}
	rows := func(out string) (n, finished int) {
		list := must.Get(filepath.Glob(filepath.Join(out, "*", "*", "*", "unit=*", summaryFile)))(t)
		if len(list) == 0 { // and DuckDB says that there are no files
			return 0, 0
		}
		got := duckDB(t, "select 1", "select count(*), count(distinct unit) from read_parquet('"+out+"/**/messages.parquet', hive_partitioning = true)")[0][0]
		return atoi(t, got[0]), atoi(t, got[1])
	}
	whole, began := filepath.Join(dir, "whole"), time.Now()
	if text, err := run(whole).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	took := time.Since(began)
	all, finished := rows(whole)
	if finished != units || all == 0 {
		t.Fatalf("%d rows of %d units", all, finished)
	}
	points := must.Try(2, 20)
	for i := range points {
		out := filepath.Join(dir, fmt.Sprint("out", i))
		cmd := run(out)
		must.Do(t, cmd.Start())
		time.Sleep(took * time.Duration(i+1) / time.Duration(points+1))
		if i%2 == 0 { // during the run
			if n, u := rows(out); n*units != u*all {
				t.Errorf("during the run: %d rows of %d units, all have %d of %d", n, u, all, units)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if n, u := rows(out); n*units != u*all {
			t.Errorf("killed after %d of %d: %d rows of %d units, all have %d of %d", i+1, points+1, n, u, all, units)
		}
		if text, err := run(out).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if n, u := rows(out); n != all || u != units {
			t.Errorf("started again: %d rows of %d units", n, u)
		}
		left := filesIn(t, out)
		for name := range left {
			if strings.Contains(name, ".new-") || strings.HasSuffix(name, ".part") {
				t.Errorf("started again: %s is left", name)
			}
		}
	}
}

// atoi returns a number of DuckDB, which may be a text.
func atoi(t *testing.T, v any) int {
	t.Helper()
	n := must.Get(strconv.Atoi(fmt.Sprint(v)))(t)
	return n
}

// hidden reports whether no pattern of the documentation matches a path.
func hidden(name string) bool {
	base := filepath.Base(name)
	return strings.HasSuffix(base, ".part") || strings.Contains(name, "-qdissect-cut.part/") || strings.HasPrefix(base, ".") && strings.HasSuffix(base, ".done")
}

// filesIn returns the contents of the files below a folder.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(b)
		return err
	})
	must.Do(t, err)
	return files
}

// copies writes a capture n times, one after the other.
func copies(t *testing.T, name string, n int, later time.Duration) {
	t.Helper()
	out := must.Get(capture.Create(name))(t)
	for i := range n {
		in := must.Get(capture.Open("../../testdata/pcaps/a2s/a2s-goldsrc-split.pcap"))(t)
		var f capture.Frame
		for {
			err := in.Next(&f)
			if err == io.EOF {
				break
			}
			must.Do(t, err)
			f.Time += capture.Stamp(later + time.Duration(i)*time.Minute)
			if err := out.Write(&f); err != nil {
				t.Fatal(fmt.Errorf("%s: %w", name, err))
			}
		}
		in.Close()
	}
	must.Do(t, out.Close())
}
