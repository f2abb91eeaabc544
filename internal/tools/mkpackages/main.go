// Command mkpackages builds what is released: archives of the program for six targets,
// packages for Debian, Red Hat and Alpine, and checksums.
//
//	go run ./internal/tools/mkpackages [-o dist] [-only linux/amd64] [-formats deb,rpm,apk,tar]
//
// Run it in the root of the module. The same commit and version of Go give the same bytes.
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A target is a system that the program is built for.
type target struct{ os, arch string }

var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"freebsd", "amd64"},
}

func (t target) String() string { return t.os + "/" + t.arch }

// A making is a run.
type making struct {
	dir     string // for what is made
	stage   string // for what goes into it
	nfpm    []string
	formats []string
	version string
	time    time.Time // of the commit
}

func main() {
	m := &making{}
	nfpm := flag.String("nfpm", "nfpm", "the command that makes packages")
	only := flag.String("only", "", "build for these targets, such as linux/amd64,linux/arm64 (default all)")
	formats := flag.String("formats", "deb,rpm,apk,tar", "what to make")
	flag.StringVar(&m.dir, "o", "dist", "write to this folder")
	flag.StringVar(&m.version, "version", "", "the version, if it is not that of the git tag; then SOURCE_DATE_EPOCH must have the time")
	flag.Parse()
	m.nfpm, m.formats = strings.Fields(*nfpm), strings.Split(*formats, ",")
	chosen := targets
	if *only != "" {
		list := strings.Split(*only, ",")
		chosen = slices.DeleteFunc(slices.Clone(targets), func(t target) bool { return !slices.Contains(list, t.String()) })
		if len(chosen) != len(list) {
			exit(fmt.Errorf("-only %s: must be some of %v", *only, targets))
		}
	}
	exit(m.run(chosen))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "mkpackages:", err)
		os.Exit(1)
	}
}

// run makes everything.
func (m *making) run(chosen []target) (err error) {
	if err := m.identify(); err != nil {
		return err
	}
	if m.stage, err = os.MkdirTemp("", "mkpackages"); err != nil {
		return err
	}
	defer os.RemoveAll(m.stage)
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return err
	}
	if err := m.prepare(); err != nil {
		return err
	}
	var made []string
	for _, t := range chosen {
		list, err := m.target(t)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		made = append(made, list...)
	}
	var sums bytes.Buffer
	slices.Sort(made)
	for _, name := range made {
		b, err := os.ReadFile(filepath.Join(m.dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(b), name)
	}
	return os.WriteFile(filepath.Join(m.dir, "SHA256SUMS"), sums.Bytes(), 0o644)
}

// identify finds the version and its time.
func (m *making) identify() error {
	if m.version != "" {
		seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
		m.time = time.Unix(seconds, 0).UTC()
		return err
	}
	out, err := output("git", "log", "-1", "--abbrev=12", "--format=%ct %h")
	if err != nil {
		return err
	}
	var seconds int64
	var hash string
	if _, err := fmt.Sscan(out, &seconds, &hash); err != nil {
		return err
	}
	m.time = time.Unix(seconds, 0).UTC()
	tag, err := output("git", "describe", "--tags", "--match", "v[0-9]*")
	if err != nil {
		tag = "" // there is none yet
	}
	changes, err := output("git", "status", "--porcelain")
	m.version = versionOf(tag, hash, m.time, changes != "")
	return err
}

// versionOf returns the version for the output of git describe. Between two releases it is
// greater than the first.
func versionOf(described, hash string, at time.Time, changed bool) string {
	git := "git" + at.Format("20060102") + "." + hash
	tag, after, between := strings.Cut(strings.TrimPrefix(described, "v"), "-")
	version := tag
	switch {
	case tag == "":
		version = "0.0.0~" + git
	case between && !strings.Contains(after, "-g"): // v1.2.3-rc1
		version = tag + "~" + after
	case between:
		version = tag + "+" + git
	}
	if changed {
		version += ".changed"
	}
	return version
}

// alpine returns a version as Alpine writes it, which allows only numbers after a word.
func alpine(version string) string {
	version, _, _ = strings.Cut(strings.NewReplacer("~git", "_git", "+git", "_git", "~", "_").Replace(version), ".g")
	if i := strings.Index(version, "_git"); i >= 0 {
		version = version[:min(len(version), i+len("_git20060102"))]
	}
	return strings.TrimSuffix(version, ".changed")
}

// prepare makes what is the same for all targets: manual pages, completions, the changelog.
func (m *making) prepare() error {
	man, err := filepath.Abs(filepath.Join(m.stage, "man1"))
	if err != nil {
		return err
	}
	if err := os.Mkdir(man, 0o755); err != nil {
		return err
	}
	// Built as the program is, so that its packages are compiled once.
	if _, err := run(exec.Command("go", "test", "-trimpath", "-count=1", "./cmd/qdissect", "-run", "^TestManPages$", "-man", man, "-man-version", m.version, "-man-date", m.time.Format(time.DateOnly)), "CGO_ENABLED=0"); err != nil {
		return err
	}
	here := filepath.Join(m.stage, "here")
	if err := m.build(target{runtime.GOOS, runtime.GOARCH}, here); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "qdissect.bash", "zsh": "_qdissect", "fish": "qdissect.fish", "powershell": "qdissect.ps1"} {
		script, err := output(here, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(m.stage, name), []byte(script+"\n"), 0o644); err != nil {
			return err
		}
	}
	// Packages have compressed pages and the changelog in their place.
	pages, err := os.ReadDir(man)
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(m.stage, "man"), 0o755); err != nil {
		return err
	}
	for _, page := range pages {
		err = errors.Join(err, squeeze(filepath.Join(man, page.Name()), filepath.Join(m.stage, "man", page.Name()+".gz")))
	}
	return errors.Join(err, squeeze("CHANGELOG.md", filepath.Join(m.stage, "changelog.gz")))
}

// build builds the program. What the environment says about Go must not change it.
func (m *making) build(t target, path string) error {
	_, err := run(exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+m.version, "-o", path, "./cmd/qdissect"),
		"GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off")
	return err
}

// target makes the files for a target and returns their names.
func (m *making) target(t target) (made []string, err error) {
	program := "qdissect"
	if t.os == "windows" {
		program += ".exe"
	}
	path := filepath.Join(m.stage, program)
	if err := m.build(t, path); err != nil {
		return nil, err
	}
	if err := static(path, t); err != nil {
		return nil, err
	}
	parts, err := components(path, t)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(m.stage, "copyright"), copyright(parts), 0o644); err != nil {
		return nil, err
	}
	base := fmt.Sprintf("qdissect_%s_%s_%s", m.version, t.os, t.arch)
	if slices.Contains(m.formats, "tar") {
		list, err := m.contents(t, program)
		if err != nil {
			return nil, err
		}
		name := base + map[bool]string{false: ".tar.gz", true: ".zip"}[t.os == "windows"]
		if err := archive(filepath.Join(m.dir, name), base, list, m.time); err != nil {
			return nil, err
		}
		made = append(made, name)
	}
	for _, format := range []string{"deb", "rpm", "apk"} {
		if t.os != "linux" || !slices.Contains(m.formats, format) {
			continue
		}
		name, err := m.pack(t, format)
		if err != nil {
			return nil, err
		}
		made = append(made, name)
	}
	return made, nil
}

// static checks that a program needs nothing of its system: it runs in an empty container.
func static(path string, t target) error {
	if t.os != "linux" && t.os != "freebsd" {
		return nil
	}
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return errors.New("the program is not static")
	}
	return nil
}

// contents returns the files of an archive by their names in it.
func (m *making) contents(t target, program string) (map[string]string, error) {
	list := map[string]string{
		"LICENSE": "LICENSE", "README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md",
		program: filepath.Join(m.stage, program), "COPYRIGHT": filepath.Join(m.stage, "copyright"),
		"grafana-dashboard.json": "packaging/grafana-dashboard.json", "prometheus-alerts.yaml": "packaging/prometheus-alerts.yaml",
	}
	if t.os == "windows" {
		list["completions/qdissect.ps1"] = filepath.Join(m.stage, "qdissect.ps1")
		return list, nil
	}
	for _, name := range []string{"qdissect.bash", "_qdissect", "qdissect.fish"} {
		list["completions/"+name] = filepath.Join(m.stage, name)
	}
	pages, err := os.ReadDir(filepath.Join(m.stage, "man1"))
	for _, page := range pages {
		list["man/"+page.Name()] = filepath.Join(m.stage, "man1", page.Name())
	}
	if t.os == "linux" {
		for _, name := range []string{"Containerfile", "qdissect-capture@.service", "capture.env"} {
			list[name] = filepath.Join("packaging", name)
		}
	}
	return list, err
}

// What packages say about the program.
const (
	summary = "Dissector for game-server query traffic"
	details = `qdissect reads packet captures and network interfaces and prints the
queries of game servers in them: A2S, Quake, GameSpy, Minecraft, RakNet
and many more, with what is wrong with them.`
)

// pack makes a package and returns its name.
func (m *making) pack(t target, format string) (string, error) {
	version, foreign := m.version, map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[t.arch]
	description := summary + "\n" + details
	name := fmt.Sprintf("qdissect_%s_%s.deb", version, t.arch)
	switch format {
	case "rpm":
		name = fmt.Sprintf("qdissect-%s-1.%s.rpm", version, foreign)
	case "apk":
		version, description = alpine(m.version), summary // its format has no second line
		name = fmt.Sprintf("qdissect-%s-%s.apk", version, foreign)
		for _, script := range []string{"postinst", "prerm", "postrm"} { // the package has the times of these files
			if err := os.Chtimes(filepath.Join("packaging", script), m.time, m.time); err != nil {
				return "", err
			}
		}
	}
	path := filepath.Join(m.dir, name)
	_, err := run(exec.Command(m.nfpm[0], append(slices.Clone(m.nfpm[1:]), "package", "-f", "packaging/nfpm.yaml", "-p", format, "-t", path)...),
		"STAGE="+m.stage, "VERSION="+version, "ARCH="+t.arch, "DESCRIPTION="+description, fmt.Sprintf("SOURCE_DATE_EPOCH=%d", m.time.Unix()))
	return name, cmp.Or(err, os.Chmod(path, 0o644))
}

// output runs a command and returns what it prints, without the last newline.
func output(command ...string) (string, error) { return run(exec.Command(command[0], command[1:]...)) }

// run runs a command with additions to the environment.
func run(cmd *exec.Cmd, env ...string) (string, error) {
	var stderr bytes.Buffer
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, out, &stderr)
	}
	return strings.TrimRight(string(out), "\n"), err
}
