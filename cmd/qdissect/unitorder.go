package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// An order is a line of the list of units that are not done. The last line counts those that are.
type order struct {
	Unit   string         `json:"unit,omitempty"`
	Inputs []orderedInput `json:"inputs,omitempty"`
	Done   *int           `json:"done,omitempty"`
}

type orderedInput struct {
	Path string `json:"path"`
	Name string `json:"name"`
}

// order lists a unit unless it is done.
func (m *many) order(u unit, s *unitSummary) error {
	before, err := unitBefore(filepath.Join(m.o.dir, u.folder))
	if err != nil {
		return err
	}
	if before != nil && !m.o.force && before.same(s) {
		m.finished(before)
		return nil
	}
	line := order{Unit: u.folder}
	for _, in := range u.inputs {
		line.Inputs = append(line.Inputs, orderedInput{in.path, in.name})
	}
	return json.NewEncoder(m.env.out).Encode(line)
}

// An outcome is what became of a unit that was ordered.
type outcome struct {
	Unit     string   `json:"unit"`
	Version  string   `json:"version,omitempty"` // of the program, its flags and the captures
	SHA256   string   `json:"sha256,omitempty"`  // of what was written
	Packets  uint64   `json:"packets"`
	Messages uint64   `json:"messages"`
	Before   bool     `json:"before,omitempty"` // it was done already
	Trouble  []string `json:"trouble,omitempty"`
	Error    string   `json:"error,omitempty"` // it is not done
}

// ordered dissects the units that are listed on standard input, and says on standard output what became of each.
func (m *many) ordered(p *plan) error {
	in, out := json.NewDecoder(p.env.in), json.NewEncoder(p.env.out)
	for {
		var line order
		switch err := in.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("--unit -: standard input is not a list of units: %w", err)
		case line.Done != nil:
			continue
		case !filepath.IsLocal(line.Unit) || len(line.Inputs) == 0:
			return fmt.Errorf("--unit -: %q is not a unit", line.Unit)
		}
		u := unit{folder: line.Unit}
		for _, in := range line.Inputs {
			u.inputs = append(u.inputs, input{in.Path, in.Name})
		}
		result := outcome{Unit: u.folder}
		before := m.done
		s, err := m.describe(u)
		if err == nil {
			err = m.unit(u, s, p.o.quiet)
		}
		switch {
		case m.stop.Err() != nil:
			return errors.New("interrupted")
		case err != nil:
			result.Error = err.Error()
		default:
			result.Version = digest(s.Program, s.Flags, s.Inputs)
			result.SHA256 = digest(s.Outputs)
			result.Packets, result.Messages, result.Before, result.Trouble = s.Packets, s.Messages, m.done > before, s.Trouble
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
}
