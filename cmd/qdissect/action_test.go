package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/qdissect/qdissect/internal/must"
)

// An action is the file action.yml. Unknown keys are errors.
type action struct {
	Name, Description, Author string
	Branding                  map[string]string
	Inputs                    map[string]struct {
		Description string
		Default     *string
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []struct {
			Name, ID, Shell, Run string
			Env                  map[string]string
			WorkingDirectory     string `yaml:"working-directory"`
		}
	}
	root string // of the project; the test changes its folder
}

// expression is an expression of GitHub Actions.
var expression = regexp.MustCompile(`\$\{\{ *([a-z_.-]+) *\}\}`)

func readAction(t *testing.T) *action {
	t.Helper()
	b := must.Get(os.ReadFile(filepath.Join("..", "..", "action.yml")))(t)
	a := &action{}
	a.root = must.Get(filepath.Abs(filepath.Join("..", "..")))(t)
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	must.Do(t, d.Decode(a))
	return a
}

// An actionRun is a run of the action's steps, as a runner of GitHub does it.
type actionRun struct {
	out    string
	status int
}

// run runs the steps in a workspace.
func (a *action) run(t *testing.T, workspace, path string, inputs map[string]string) (r actionRun) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	temp := t.TempDir()
	values := map[string]string{"github.action_path": a.root, "runner.temp": temp}
	for name, in := range a.Inputs {
		values["inputs."+name] = *in.Default
	}
	for name, value := range inputs {
		if _, ok := a.Inputs[name]; !ok {
			t.Fatalf("the action has no input %s", name)
		}
		values["inputs."+name] = value
	}
	evaluate := func(s string) string {
		return expression.ReplaceAllStringFunc(s, func(e string) string {
			name := expression.FindStringSubmatch(e)[1]
			v, ok := values[name]
			if !ok {
				t.Errorf("the expression %s has no value", name)
			}
			return v
		})
	}
	output := filepath.Join(temp, "output")
	for _, step := range a.Runs.Steps {
		script := filepath.Join(temp, "step.sh")
		must.Do(t, os.WriteFile(script, []byte(step.Run), 0o600))
		cmd := exec.Command(bash, "--noprofile", "--norc", "-eo", "pipefail", script)
		cmd.Dir = filepath.Join(workspace, evaluate(step.WorkingDirectory))
		cmd.Env = append(os.Environ(), "GITHUB_WORKSPACE="+workspace, "GITHUB_OUTPUT="+output, "PATH="+path)
		for name, value := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+evaluate(value))
		}
		var exit *exec.ExitError
		out, err := cmd.CombinedOutput()
		if r.out += string(out); errors.As(err, &exit) {
			r.status = exit.ExitCode()
			break
		}
		must.Do(t, err)
		b, _ := os.ReadFile(output)
		for line := range strings.Lines(string(b)) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			values["steps."+step.ID+".outputs."+name] = value
		}
	}
	return r
}

// TestAction runs the steps of action.yml.
func TestAction(t *testing.T) {
	a := readAction(t)
	if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 {
		t.Errorf("%+v", a)
	}
	all := must.Get(os.ReadFile(filepath.Join("..", "..", "action.yml")))(t)
	for name, in := range a.Inputs {
		if in.Description == "" || in.Default == nil || !strings.Contains(string(all), "${{ inputs."+name+" }}") {
			t.Errorf("input %s: %+v", name, in)
		}
	}
	for _, step := range a.Runs.Steps {
		// An expression in a script would run what an input contains.
		if step.Name == "" || step.Shell != "bash" || strings.Contains(step.Run, "${{") {
			t.Errorf("step %+v", step)
		}
	}

	if runtime.GOOS == "windows" {
		t.Skip("the paths of this test are not those of bash")
	}
	program := must.Get(exec.LookPath("qdissect"))(t) // this test, by TestMain
	workspace := t.TempDir()
	caps := filepath.Join(workspace, "sub", "my caps")
	must.Do(t, os.MkdirAll(caps, 0o700))
	data := must.Get(os.ReadFile(testPcap("a2s/source.pcap")))(t)
	put := func(name string, data []byte) {
		must.Do(t, os.WriteFile(filepath.Join(caps, name), data, 0o600))
	}
	put("a.pcap", data)
	put("b.pcap", data)
	if _, errs, status := runIn(t, caps, "check", "--update", "."); status != exitDone {
		t.Fatal(errs)
	}
	path := os.Getenv("PATH")
	inputs := map[string]string{"binary": program}
	if r := a.run(t, workspace, path, inputs); r.status != exitDone || !strings.HasSuffix(r.out, "2 captures: 2 equal\n") || strings.Contains(r.out, "::") {
		t.Errorf("status %d\n%s", r.status, r.out)
	}
	put("b.pcap", bytes.Replace(data, []byte("ctf_2fort"), []byte("ctf_3fort"), 1))
	inputs["working-directory"] = "sub"
	inputs["paths"] = "my caps/a.pcap\nmy caps/b.pcap\n"
	const annotation = "::error file=sub/my caps/b.golden.jsonl,line=5,title=qdissect check my caps/b.pcap::2 differences%0Aframe 4 a2s info_reply"
	r := a.run(t, workspace, path, inputs)
	if r.status != exitJudged || !strings.Contains(r.out, "\n"+annotation) || strings.Count(r.out, "\n::error ") != 1 {
		t.Errorf("status %d\n%s", r.status, r.out)
	}
	inputs["arguments"] = "--ignore=a2s.map\n--ignore=**.map\n"
	if r := a.run(t, workspace, path, inputs); r.status != exitDone {
		t.Errorf("status %d\n%s", r.status, r.out)
	}
	inputs["paths"] = "nowhere; echo $(date)"
	if r := a.run(t, workspace, path, inputs); r.status != exitTrouble || !strings.Contains(r.out, "::error file=sub/nowhere; echo $(date),") {
		t.Errorf("status %d\n%s", r.status, r.out)
	}

	// It builds the program, with a go that says how it is called.
	inputs = map[string]string{}
	bin := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(bin, "go"), []byte("#!/usr/bin/env bash\necho \"go $*, $GOTOOLCHAIN, in $PWD, to $GOBIN\"\nto=$GOBIN; [ \"$1\" = build ] && to=$3\ncp "+
		shellWord(program)+" \"$to/qdissect\"\n"), 0o700))
	fake := bin + string(os.PathListSeparator) + path
	for version, want := range map[string]string{
		"":       `^go build -o .*/qdissect/ ./cmd/qdissect, auto, in .*, to \n`,
		"v1.2.3": `^go install github.com/qdissect/qdissect/cmd/qdissect@v1.2.3, auto, in .*, to .*/qdissect\n`,
	} {
		inputs["version"] = version
		if r := a.run(t, workspace, fake, inputs); r.status != exitJudged || !regexp.MustCompile(want).MatchString(r.out) || !strings.Contains(r.out, "\nqdissect ") || !strings.Contains(r.out, "\n::error ") {
			t.Errorf("version %q: status %d\n%s", version, r.status, r.out)
		}
	}
	if must.TryAll() {
		inputs["version"] = ""
		if r := a.run(t, workspace, path, inputs); r.status != exitJudged || !strings.Contains(r.out, "\n::error ") {
			t.Errorf("status %d\n%s", r.status, r.out)
		}
	}
}
