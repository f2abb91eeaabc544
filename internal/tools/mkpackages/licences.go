package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A component is something of others in the program.
type component struct {
	name, version string
	license       string // its name in SPDX
	text          string // all of it
}

// components returns what a program was built from besides this module: what go version -m
// says, Go itself, and the chart library of reports.
func components(program string, t target) ([]component, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	if info.GoVersion == "" || len(info.Deps) < 10 {
		return nil, errors.New("the program does not say what it was built from")
	}
	list := []component{{name: "stdlib", version: strings.TrimPrefix(info.GoVersion, "go")}, {name: "uplot"}}
	folders := []string{"", filepath.Join("internal", "htmlreport", "uplot")}
	chart, err := os.ReadFile(filepath.Join(folders[1], "uPlot.iife.min.js"))
	if err != nil {
		return nil, err
	}
	version := regexp.MustCompile(`^/\*!.*\(v([0-9.]+)\)`).FindSubmatch(chart)
	if version == nil {
		return nil, errors.New("uPlot does not name its version")
	}
	list[1].version = string(version[1])
	command := []string{"go", "list", "-m", "-f", "{{.Dir}}"}
	for _, d := range info.Deps {
		if d.Replace != nil {
			return nil, fmt.Errorf("%s is replaced", d.Path)
		}
		command = append(command, d.Path)
		list = append(list, component{name: d.Path, version: d.Version})
	}
	out, err := output(command...)
	if err != nil {
		return nil, err
	}
	folders = append(folders, strings.Split(out, "\n")...)
	if len(folders) != len(list) {
		return nil, fmt.Errorf("%s: %d folders for %d modules", t, len(folders), len(list))
	}
	for i := range list {
		c := &list[i]
		if c.name == "golang.org/x/sys" {
			folders[0] = folders[i] // the licence of Go, which not every installation has
		}
	}
	for i := range list {
		if err := list[i].read(folders[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", list[i].name, err)
		}
	}
	slices.SortFunc(list, func(a, b component) int { return cmp.Compare(a.name, b.name) })
	return list, nil
}

// licenses are phrases of the licences that a component may have. A file with several of
// them has parts of others.
var licenses = []struct {
	id     string
	phrase *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`Apache License`)},
	{"BSD-3-Clause", regexp.MustCompile(`Redistribution and use in source and binary forms.*(Neither the|may (not )?be used to endorse)`)},
	{"BSD-2-Clause", regexp.MustCompile(`Redistribution and use in source and binary forms`)},
	{"ISC", regexp.MustCompile(`Permission to use, copy, modify, and`)},
	{"MIT", regexp.MustCompile(`(Permission|PERMISSION) is hereby granted, free of charge`)},
}

// licenseOf returns the licences in a text as an expression of SPDX, or "".
func licenseOf(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	var list []string
	for _, l := range licenses {
		if l.phrase.MatchString(text) && !(l.id == "BSD-2-Clause" && slices.Contains(list, "BSD-3-Clause")) {
			list = append(list, l.id)
		}
	}
	return strings.Join(list, " AND ")
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice)(\.\w+)?$`)

// read reads the licence.
func (c *component) read(folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !licenseFile.MatchString(f.Name()) || f.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return err
		}
		c.text += strings.TrimSpace(strings.ReplaceAll(string(b), "\r", "")) + "\n"
	}
	if c.license = licenseOf(c.text); c.license == "" {
		return errors.New("its licence is not one that we know")
	}
	return nil
}

// copyright returns the licences of the program and of all that is in it.
func copyright(list []component) []byte {
	var b bytes.Buffer
	b.WriteString("qdissect, https://github.com/qdissect/qdissect\nCopyright The qdissect authors. Licensed under the Apache License, Version 2.0.\n\nThe program contains:\n\n")
	for _, c := range list {
		fmt.Fprintf(&b, "  %s %s  %s\n", c.name, c.version, c.license)
	}
	var seen []string
	for _, c := range list {
		if slices.Contains(seen, c.text) {
			continue
		}
		seen = append(seen, c.text)
		b.WriteString("\n" + strings.Repeat("-", 78) + "\n")
		for _, other := range list {
			if other.text == c.text {
				b.WriteString(other.name + "\n")
			}
		}
		b.WriteString("\n" + c.text)
	}
	return b.Bytes()
}
