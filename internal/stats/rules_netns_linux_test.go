package stats_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
	"github.com/qdissect/qdissect/internal/tools/scenes"
)

// TestRulesOfNamespace: of a scene that the program captures in the namespace of a container with --netns, what the rules that it prints let
// pass, when the scene is played again, is within five points of what their comment promises. By default TestRulesPlayed plays the rules of a
// container, and the test of this name in cmd/qdissect captures in its namespace.
func TestRulesOfNamespace(t *testing.T) {
	run, wait := beside(t)
	defer wait()
	names := thorough.Of(nil, []string{"greedy", "made-up"})
	if len(names) == 0 {
		return
	}
	program := filepath.Join(t.TempDir(), "qdissect")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/qdissect").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, name := range names {
		s, err := scenes.Find(name)
		must.Do(t, err)
		for format, v6 := range map[string]bool{"iptables": false, "ip6tables": true} {
			run(name+" "+format, func(t *testing.T) {
				o := scenes.Options{Span: 9 * time.Second, Clients: 800, Rate: 500, IPv6: v6}
				printed := map[string]*bytes.Buffer{"nft": {}, format: {}}
				playScene(t, s, o, inContainer, watched(func(pid int) func() error {
					var ends []func() error
					for tool, out := range printed {
						end, err := startRules(program, tool, pid, out)
						ends = append(ends, func() error { return errors.Join(err, end()) })
					}
					return func() (err error) {
						for _, end := range ends {
							err = errors.Join(err, end())
						}
						return err
					}
				}))
				for tool, out := range printed {
					rule := byNFT(out.String())
					if tool != "nft" {
						rule = byShell(tool + "-restore --noflush <<'END'\n" + out.String() + "END\n")
					}
					kept(t, tool, out.String(), playScene(t, s, o, inContainer, rule))
				}
			})
		}
	}
}

// startRules starts the program, which captures in the namespace of a process, and waits until it listens. end interrupts it.
func startRules(program, tool string, pid int, out *bytes.Buffer) (end func() error, err error) {
	c := exec.Command(program, "rules", "--for", tool, "-i", "eth0", "--netns", fmt.Sprint(pid))
	c.Stdout = out
	errs, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return func() error { return nil }, err
	}
	said := make([]byte, 4096)
	n, _ := errs.Read(said) // its first line
	if !strings.HasPrefix(string(said[:n]), "listening on eth0") {
		err = fmt.Errorf("it says %q", said[:n])
	}
	return func() error { return errors.Join(c.Process.Signal(os.Interrupt), c.Wait()) }, err
}

// kept compares what passed with what the comment of rules promises.
func kept(t *testing.T, tool, text string, got shares) {
	t.Helper()
	promises := regexp.MustCompile(`(\d[\d.]*) % of (forged|honest|requests of greedy)`).FindAllStringSubmatch(text, -1)
	if len(promises) < 2 || strings.Count(text, "Over the whole capture") != 1 {
		t.Fatalf("%s: %s", tool, text)
	}
	judged := 0
	for _, p := range promises {
		var sum share
		for _, class := range map[string][]string{"forged": {scenes.Forged}, "requests of greedy": {scenes.Greedy}, "honest": {scenes.Honest, scenes.Infra, scenes.Scanner}}[p[2]] {
			sum.Sent += got.Class[class].Sent
			sum.Passed += got.Class[class].Passed
		}
		promised := must.Get(strconv.ParseFloat(p[1], 64))(t)
		if sum.Sent == 0 {
			continue // the report may count a few as forged that lost their replies
		}
		judged++
		t.Logf("%s: %s: %.1f %% of %d are dropped, promised %s %% (late %v)", tool, p[2], 100-sum.Percent(), sum.Sent, p[1], got.Late)
		if d := 100 - sum.Percent() - promised; d < -5 || d > 5 {
			t.Errorf("%s: %s: %.1f %% of %d are dropped, promised %s %%\n%s", tool, p[2], 100-sum.Percent(), sum.Sent, p[1], text)
		}
	}
	if judged != 2 { // the honest ones and the others
		t.Errorf("%s: %d of the classes were sent: %v", tool, judged, got.Class)
	}
}
