package all

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/must"
)

// samplesFile is the path of the samples in the folder of a protocol.
const samplesFile = "testdata/samples.txt"

// TestSamples runs the conformance suite for every protocol whose samples stand in testdata/samples.txt
// in its folder. Each is a section:
//
//	## a reply with more players than it counts
//	likely info_reply "\xffI{head}" "a second part"
//	finds game.players.count trailing
//	sound 4 6-9
//
// that is what Detect says at least, the type of the message and its payload, or its parts; then what
// [dissecttest.Sample] says of Findings and Sound, and the words cut and allocates. Payloads are Go strings,
// and {name} stands for the bytes of a line `name := "..."` at the beginning of the file. Notes may
// follow it, or how many times the bytes are repeated: `zeros := "\x00" 300 times`.
func TestSamples(t *testing.T) {
	for _, p := range Protocols() {
		if list := samplesOf(t, p); list != nil {
			t.Run(p.Name, func(t *testing.T) { dissecttest.Run(t, p, list) })
		}
	}
}

// TestSampled: every protocol has samples, in a file or in a Go test of its own, and no file is of none.
func TestSampled(t *testing.T) {
	files := must.Get(filepath.Glob("../*/" + samplesFile))(t)
	for _, p := range Protocols() {
		name := samplesPath(p)
		tests := must.Get(filepath.Glob(filepath.Join("..", strings.ReplaceAll(p.Name, "-", ""), "*_test.go")))(t)
		inGo := slices.ContainsFunc(tests, func(file string) bool {
			return strings.Contains(string(must.Get(os.ReadFile(file))(t)), "dissecttest.Run(t, Protocol(), ")
		})
		if inFile := slices.Contains(files, name); inFile == inGo {
			t.Errorf("%s has samples in %s: %v, in Go: %v", p.Name, samplesFile, inFile, inGo)
		}
		files = slices.DeleteFunc(files, func(file string) bool { return file == name })
	}
	if len(files) > 0 {
		t.Errorf("samples of no protocol: %q", files)
	}
}

// FuzzSamples fuzzes the decoders of the protocols with samples in a file, or that of the one whose folder
// QDISSECT_PROTOCOL in the environment names.
func FuzzSamples(f *testing.F) {
	var list []*dissect.Protocol
	only := cmp.Or(os.Getenv("QDISSECT_PROTOCOL"), "all")
	for _, p := range Protocols() {
		if samples := samplesOf(f, p); samples != nil && (only == "all" || only == strings.ReplaceAll(p.Name, "-", "")) {
			for _, payload := range dissecttest.Seeds(samples) {
				f.Add(uint8(len(list)), payload)
			}
			list = append(list, p)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, payload []byte) {
		p := list[int(n)%len(list)]
		dissecttest.Check(t, p, payload)
		_, _, _ = dissect.Parse(p, payload)
	})
}

func samplesPath(p *dissect.Protocol) string {
	return filepath.Join("..", strings.ReplaceAll(p.Name, "-", ""), samplesFile)
}

// samplesOf returns the samples in the file of a protocol, nil if it has none.
func samplesOf(t testing.TB, p *dissect.Protocol) (list []dissecttest.Sample) {
	t.Helper()
	data, err := os.ReadFile(samplesPath(p))
	if os.IsNotExist(err) {
		return nil
	}
	must.Do(t, err)
	head, sections, _ := strings.Cut(string(data), "\n\n## ")
	var names []string // and values, in turns
	for line := range strings.Lines(head) {
		name, rest, found := strings.Cut(line, " := ")
		if !found {
			continue
		}
		values, note := quoted(rest, strings.NewReplacer(names...))
		times := 1
		if count, ok := strings.CutSuffix(note, " times"); ok {
			times = must.Get(strconv.Atoi(count))(t)
		}
		names = append(names, "{"+name+"}", strings.Repeat(values[0], times))
	}
	for section := range strings.SplitSeq(strings.TrimSpace(sections), "\n\n## ") {
		lines := strings.Split(section, "\n")
		var s dissecttest.Sample
		if err := read(&s, lines, strings.NewReplacer(names...)); err != nil {
			t.Fatalf("%s: %s: %v", samplesPath(p), lines[0], err)
		}
		list = append(list, s)
	}
	return list
}

// read reads the lines of a sample.
func read(s *dissecttest.Sample, lines []string, names *strings.Replacer) error {
	words := strings.SplitN(lines[1], " ", 3)
	parts, rest := quoted(words[2], names)
	s.Name, s.Message = lines[0], words[1]
	for s.Verdict = dissect.No; s.Verdict.String() != words[0]; s.Verdict++ {
	}
	for _, part := range parts {
		s.Parts = append(s.Parts, []byte(part))
	}
	if len(parts) == 0 || rest != "" {
		return fmt.Errorf("%q follows the payload", rest)
	}
	for _, line := range lines[2:] {
		words := strings.Fields(line)
		switch words[0] {
		case "finds":
			s.Findings = words[1:]
		case "sound":
			for _, word := range words[1:] {
				from, to, _ := strings.Cut(word+"-"+word, "-")
				to, _, _ = strings.Cut(to, "-")
				first, err := strconv.Atoi(from)
				last, err2 := strconv.Atoi(to)
				if err != nil || err2 != nil {
					return fmt.Errorf("%s is no length", word)
				}
				for n := first; n <= last; n++ {
					s.Sound = append(s.Sound, n)
				}
			}
		case "cut":
			s.Cut = true
		case "allocates":
			s.Allocates = true
		default:
			return fmt.Errorf("what is %q?", line)
		}
	}
	return nil
}

// quoted returns the strings at the beginning of a line, and what follows them.
func quoted(line string, names *strings.Replacer) (list []string, rest string) {
	for {
		first, err := strconv.QuotedPrefix(line)
		if err != nil {
			return list, strings.TrimSpace(line)
		}
		text, _ := strconv.Unquote(first)
		list, line = append(list, names.Replace(text)), strings.TrimLeft(line[len(first):], " ")
	}
}
