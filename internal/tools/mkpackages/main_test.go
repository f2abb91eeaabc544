package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
)

var day = time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC)

func TestVersions(t *testing.T) {
	for _, x := range []struct {
		described, version, alpine string
		changed                    bool
	}{
		{"", "0.0.0~git20260314.0123456789ab", "0.0.0_git20260314", false},
		{"", "0.0.0~git20260314.0123456789ab.changed", "0.0.0_git20260314", true},
		{"v1.2.3", "1.2.3", "1.2.3", false},
		{"v1.2.3", "1.2.3.changed", "1.2.3", true},
		{"v1.2.3-4-g0123456789ab", "1.2.3+git20260314.0123456789ab", "1.2.3_git20260314", false},
		{"v1.2.3-rc1", "1.2.3~rc1", "1.2.3_rc1", false},
	} {
		got := versionOf(x.described, "0123456789ab", day, x.changed)
		if got != x.version || alpine(got) != x.alpine {
			t.Errorf("%q: %s and %s, want %s and %s", x.described, got, alpine(got), x.version, x.alpine)
		}
	}
}

// TestArchives: an archive holds nothing of the machine.
func TestArchives(t *testing.T) {
	for _, kind := range []string{".tar.gz", ".zip"} {
		var made [2][]byte
		for i := range made {
			dir := t.TempDir()
			list := map[string]string{}
			for _, name := range []string{"qdissect", "man/qdissect.1", "qdissect-capture@.service", "LICENSE"} {
				list[name] = filepath.Join(dir, filepath.Base(name))
				must.Do(t, os.WriteFile(list[name], []byte(name), []os.FileMode{0o600, 0o755}[i]))
				must.Do(t, os.Chtimes(list[name], day, day.Add(time.Duration(i)*time.Hour)))
			}
			file := filepath.Join(dir, "x"+kind)
			must.Do(t, archive(file, "base", list, day))
			made[i], _ = os.ReadFile(file)
		}
		if len(made[0]) == 0 || !bytes.Equal(made[0], made[1]) {
			t.Errorf("%s: not the same bytes", kind)
		}
		if kind != ".tar.gz" {
			continue
		}
		z := must.Get(gzip.NewReader(bytes.NewReader(made[0])))(t)
		var got []string
		for r := tar.NewReader(z); ; {
			h, err := r.Next()
			if err != nil {
				break
			}
			got = append(got, h.FileInfo().Mode().String()+" "+h.Name)
		}
		want := "-rw-r--r-- base/LICENSE, -rw-r--r-- base/man/qdissect.1, -rwxr-xr-x base/qdissect, -rw-r--r-- base/qdissect-capture@.service"
		if strings.Join(got, ", ") != want {
			t.Errorf("%q", got)
		}
	}
}

// TestSources: what the packages and the container take is there.
func TestSources(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", ".."))
	text := must.Get(os.ReadFile("packaging/nfpm.yaml"))(t)
	n := 0
	for _, m := range regexp.MustCompile(`(?m)(?:src: |remove: |install: |upgrade: )([a-z][^,\s]*)`).FindAllStringSubmatch(string(text), -1) {
		n++
		if _, err := os.Stat(m[1]); err != nil {
			t.Error(err)
		}
	}
	if n < 8 {
		t.Errorf("only %d files", n)
	}
	m := &making{stage: t.TempDir()}
	must.Do(t, os.Mkdir(filepath.Join(m.stage, "man1"), 0o755))
	list, err := m.contents(target{"linux", "amd64"}, "qdissect")
	must.Do(t, err)
	for name, path := range list {
		if _, err := os.Stat(path); err != nil && !strings.HasPrefix(path, m.stage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, err = os.ReadFile("packaging/Containerfile")
	must.Do(t, err)
	copies := regexp.MustCompile(`(?m)^COPY (.*) \S+$`).FindAllStringSubmatch(string(text), -1)
	for _, c := range copies {
		for name := range strings.FieldsSeq(c[1]) {
			if list[name] == "" {
				t.Errorf("the container takes %s, which no archive has", name)
			}
		}
	}
	if len(copies) != 2 || !bytes.Contains(text, []byte("\nFROM scratch\n")) {
		t.Errorf("%s", text)
	}
}

// TestLicenses: phrases are told apart.
func TestLicenses(t *testing.T) {
	for text, want := range map[string]string{
		"Permission is hereby\ngranted, free of charge, to any person":                                                                      "MIT",
		"Redistribution and use in source and binary forms ...":                                                                             "BSD-2-Clause",
		"Redistribution and use in source and binary forms ... Neither the name of Google Inc. nor ...":                                     "BSD-3-Clause",
		"Redistribution and use in source and binary forms ... Neither the copyright holder nor the\nnames of its contributors may be used": "BSD-3-Clause",
		"Apache License\nVersion 2.0 ... Permission is hereby granted, free of charge":                                                      "Apache-2.0 AND MIT",
		"All rights reserved.": "",
	} {
		if got := licenseOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
