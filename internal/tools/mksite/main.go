// Command mksite builds the site of web: one page that holds the program, its scripts and its style, and so works from any web server and
// from a file. It needs xz, which packs the program a third smaller than gzip.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/qdissect/qdissect/internal/htmlreport"
	"github.com/qdissect/qdissect/web"
)

func main() {
	out := flag.String("o", "dist/web/index.html", "file to write")
	version := flag.String("version", "(devel)", "version that reports name")
	flag.Parse()
	page, err := build(*version)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(*out), 0o777)
	}
	if err == nil {
		err = os.WriteFile(*out, page, 0o666)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mksite:", err)
		os.Exit(1)
	}
	fmt.Printf("%s: %d bytes\n", *out, len(page))
}

// build returns the page.
func build(version string) ([]byte, error) {
	program, err := pack(version)
	if err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	support, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return nil, err
	}
	part := func(name string) string { b, _ := web.Parts.ReadFile(name); return string(b) }
	style, script := part("app.css"), part("app.js")
	worker := strings.Replace(part("worker.js"), "/* wasm_exec.js */", string(support), 1)
	scripts, styles := htmlreport.Policy()
	// The scripts and the style of reports are those of frames, which are under the policy of the page too.
	policy := "default-src 'none'; script-src 'wasm-unsafe-eval' " + htmlreport.Hash(script) + " " + scripts + "; worker-src blob:; style-src " + htmlreport.Hash(style) + " " + styles +
		"; img-src data:; base-uri 'none'; form-action 'none'"
	page := part("index.html")
	for name, text := range map[string]string{"policy": policy, "style": style, "script": script, "worker": worker, "unpack": part("unpack.js"), "program": program} {
		if strings.Contains(strings.ToLower(text), "</s") {
			return nil, fmt.Errorf("%s would end its element", name)
		}
		page = strings.Replace(page, "{{"+name+"}}", text, 1)
	}
	return []byte(page), nil
}

// Calls cost much in WebAssembly. The functions of other packages, which take little of the time, are not inlined: that saves a fifteenth of
// the size.
const inlined = `github.com/qdissect/qdissect/... runtime internal/runtime/... internal/byteorder internal/bytealg internal/stringslite
	bytes encoding/binary math/bits net/netip slices strconv strings time unicode/utf8
	crypto/internal/fips140/... crypto/internal/fips140deps/... hash/crc32 github.com/dsnet/...`

// pack builds the program for browsers and returns it as an LZMA stream in base64.
func pack(version string) (string, error) {
	dir, err := os.MkdirTemp("", "mksite")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "web.wasm")
	args := []string{"build", "-trimpath", "-ldflags=-s -w -X main.version=" + version, "-o", file, "-gcflags=all=-l"}
	for inlined := range strings.FieldsSeq(inlined) {
		args = append(args, "-gcflags="+inlined+"=")
	}
	cmd := exec.Command("go", append(args, "github.com/qdissect/qdissect/web/program")...)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", err
	}
	module, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	module, jumps := direct(module)
	if jumps == 0 {
		return "", fmt.Errorf("the compiler makes jumps in another way than jumps.go knows")
	}
	cmd = exec.Command("xz", "--format=lzma", "-9e", "-c")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(module), os.Stderr
	packed, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("xz: %w", err)
	}
	binary.LittleEndian.PutUint64(packed[5:], uint64(len(module))) // xz leaves it open
	return base64.StdEncoding.EncodeToString(packed), nil
}
