package main

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/qdissect/qdissect/internal/hostile"
)

// writeHostile writes the captures of attacks, and the damaged ones.
func writeHostile() error {
	dir := filepath.Join("testdata", "pcaps", "hostile")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, s := range hostile.Scenes() {
		var b bytes.Buffer
		st := hostile.NewStage(&b, s.Options)
		s.Play(st)
		if err := st.W.Err(); err != nil {
			return err
		}
		if err := replace(filepath.Join(dir, s.Name), b.Bytes()); err != nil {
			return err
		}
	}
	for _, f := range hostile.Files() {
		if err := replace(filepath.Join(dir, f.Name), f.Make()); err != nil {
			return err
		}
	}
	return nil
}
