package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/golden"
)

// TestCheckOwn: the captures of the project are as they should be, by the
// program's own word.
func TestCheckOwn(t *testing.T) {
	if *update {
		t.Skip("the goldens are being written")
	}
	out, stderr, status := runIn(t, filepath.Join("..", ".."), "check", filepath.Join("testdata", "pcaps"))
	if status != exitDone || !regexp.MustCompile(`^\d+ captures: \d+ equal(, \d+ damaged)?\n$`).MatchString(out) {
		t.Errorf("status %d\n%s%s", status, out, stderr)
	}
}

// TestCheckFlipped: one byte of any capture that is another is found, wherever in
// the file it is, and what is said of it names what it is in. All bytes are tried
// in internal/golden.
func TestCheckFlipped(t *testing.T) {
	if *update {
		t.Skip("the goldens are being written")
	}
	dir := t.TempDir()
	for i, path := range captures(t) {
		t.Run(filepath.ToSlash(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(golden.Path(path))
			if err != nil {
				t.Fatal(err)
			}
			copied := filepath.Join(dir, filepath.Base(path))
			if err := os.WriteFile(golden.Path(copied), want, 0o666); err != nil {
				t.Fatal(err)
			}
			step := 1 + len(data)/12
			for at := i % step; at < len(data); at += step {
				data[at] ^= 1
				if err := os.WriteFile(copied, data, 0o666); err != nil {
					t.Fatal(err)
				}
				data[at] ^= 1
				out, stderr, status := runIn(t, dir, "check", "--max", "1000", filepath.Base(copied))
				if status == exitDone || !difference.MatchString(out) {
					t.Errorf("byte %d is another: status %d\n%s%s", at, status, out, stderr)
				}
			}
		})
	}
}

// difference is what a message that differs looks like, or a frame, or the file.
var difference = regexp.MustCompile(`(?m)^  (frame \d+.*|capture)\n    [a-z].*: .* → .*$`)

// TestCheckTrouble: what cannot be compared is told once to people, and in the
// reports of tests as well, which are read without what else was said.
func TestCheckTrouble(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "saved.jsonl"), []byte(`{"type":"capture"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "nowhere"}, {"diff", "saved.jsonl", "nowhere"}} {
		for _, format := range golden.Formats {
			out, stderr, status := runIn(t, dir, append(args, "--format", format)...)
			told := strings.Count(out, "no such file or directory")
			if status != exitTrouble || strings.Count(stderr, "qdissect: ") != 1 || (format == "text") != (told == 0) || told > 1 {
				t.Errorf("%v as %s: status %d\n%s%s", args, format, status, out, stderr)
			}
		}
	}
}
