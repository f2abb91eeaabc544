// Command newproto creates the files of a new protocol: its folder under dissect, with a
// working ping that you replace, and the lines in other files that name the protocol.
//
//	go run ./internal/tools/newproto [-title "My game"] [-port 1234] [-tcp] mygame
//
// Run it in the root of the module. docs/adding-a-protocol.md has the next steps.
package main

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"go/format"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
)

//go:embed files
var files embed.FS

// A protocol contains the values for the templates.
type protocol struct {
	Name    string // as in the output
	Package string // without hyphens
	Title   string
	Port    uint
	TCP     bool
}

// Payload returns a message of the ping: what follows the name of the package, over TCP after its length.
func (p *protocol) Payload(text string) string {
	text = p.Package + text
	if p.TCP {
		text = string(binary.BigEndian.AppendUint32(nil, uint32(len(text)))) + text
	}
	return text
}

// made are the files by their templates.
var made = map[string]string{
	"files/protocol.go.tmpl": "dissect/{{.Package}}/{{.Package}}.go",
	"files/samples.txt.tmpl": "dissect/{{.Package}}/testdata/samples.txt",
	"files/README.md.tmpl":   "testdata/pcaps/{{.Name}}/README.md",
}

// An insertion is a line that goes into a file, before the first line that begins
// with before, from the one on that begins with after.
type insertion struct{ file, after, before, line string }

var insertions = []insertion{
	{"dissect/all/all.go", "import (", ")", "\t\"github.com/qdissect/qdissect/dissect/{{.Package}}\""},
	{"dissect/all/all.go", "\treturn []*dissect.Protocol{", "\t}", "\t\t{{.Package}}.Protocol(),"},
	{"docs/protocols.md", "| name | what | both directions of |", "\n", "| `{{.Name}}` | {{.Title}}, TODO: games and servers | ping |"},
	{"CHANGELOG.md", "### Added", "*", "* `{{.Name}}`: {{.Title}}. TODO: what can be read."},
}

func main() {
	title := flag.String("title", "", "the name for people; that of the protocol without it")
	port, tcp := flag.Uint("port", 1234, "the port that servers use"), flag.Bool("tcp", false, "it is spoken over TCP")
	flag.Parse()
	p := protocol{Name: flag.Arg(0), Package: strings.ReplaceAll(flag.Arg(0), "-", ""), Title: *title, Port: *port, TCP: *tcp}
	p.Title = cmp.Or(p.Title, p.Name)
	if err := begin(".", &p); err != nil {
		fmt.Fprintln(os.Stderr, "newproto:", err)
		os.Exit(1)
	}
	fmt.Printf("dissect/%s is there and works: a ping, to be replaced where TODO stands. docs/adding-a-protocol.md says how to go on.\n", p.Package)
}

// begin makes the files of a protocol in a checkout, and changes those that name it.
// If something is wrong, nothing is written.
func begin(root string, p *protocol) error {
	if !regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`).MatchString(p.Name) || p.Port > 65535 {
		return errors.New("it takes the name of a protocol, of lower case letters, digits and hyphens, and a port")
	}
	out := make(map[string][]byte)
	for from, to := range made {
		path := filepath.Join(root, p.fill(to))
		if _, err := os.Stat(path); err == nil {
			return fmt.Errorf("%s exists", path)
		}
		text, err := files.ReadFile(from)
		if err != nil {
			return err
		}
		out[path] = []byte(p.fill(string(text)))
	}
	capture, err := p.pings()
	if err != nil {
		return err
	}
	out[filepath.Join(root, "testdata", "pcaps", p.Name, "pings.pcap")] = capture
	for _, in := range insertions {
		path := filepath.Join(root, in.file)
		if out[path] == nil {
			text, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("%w: newproto is run at the top of the module", err)
			}
			out[path] = text
		}
		text, ok := in.into(string(out[path]), p)
		if !ok {
			return fmt.Errorf("%s has no place for %q", path, p.fill(in.line))
		}
		out[path] = []byte(text)
	}
	for path, text := range out {
		if filepath.Ext(path) == ".go" {
			var err error
			if text, err = format.Source(text); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// into returns a text with the line.
func (in *insertion) into(text string, p *protocol) (string, bool) {
	var b strings.Builder
	passed, done := false, false
	for line := range strings.Lines(text) {
		if passed && !done && strings.HasPrefix(line, in.before) {
			b.WriteString(p.fill(in.line) + "\n")
			done = true
		}
		passed = passed || strings.HasPrefix(line, in.after)
		b.WriteString(line)
	}
	return b.String(), done
}

// pings returns a capture of pings: three that are answered, the third of them twice, and
// one that is not answered.
func (p *protocol) pings() ([]byte, error) {
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{})
	client, server := netip.MustParseAddrPort("192.0.2.20:50000"), netip.AddrPortFrom(netip.MustParseAddr("198.51.100.10"), uint16(p.Port))
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	send := func(fromServer bool, text string) {
		if fromServer {
			w.UDP(now, server, client, []byte(p.Payload(text)))
		} else {
			w.UDP(now, client, server, []byte(p.Payload(text)))
		}
	}
	if p.TCP {
		c := w.Connect(now, client, server)
		send = func(fromServer bool, text string) { c.Send(now, fromServer, []byte(p.Payload(text)), 0) }
	}
	ask := func(id string) {
		now = now.Add(12345 * time.Microsecond)
		send(false, "?"+id)
	}
	answer := func(id, name string) {
		now = now.Add(678 * time.Microsecond)
		send(true, "!"+id+name)
	}
	for _, id := range []string{"\x01\x02\x03\x04", "\x11\x12\x13\x14", "\x21\x22\x23\x24"} {
		ask(id)
		answer(id, "A server")
	}
	now = now.Add(200 * time.Millisecond)
	answer("\x21\x22\x23\x24", "Another server") // the same bytes again would be a copy
	ask("\x31\x32\x33\x34")
	return b.Bytes(), w.Err()
}

// fill fills a template.
func (p *protocol) fill(text string) string {
	var b bytes.Buffer
	if err := template.Must(template.New("").Parse(text)).Execute(&b, p); err != nil {
		panic(err)
	}
	return b.String()
}
