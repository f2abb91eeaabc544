package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/qdissect/qdissect/internal/whole"
)

// installFile writes a file into the first folder of Wireshark that exists under one of
// these names.
func installFile(env environment, name string, data []byte, mode os.FileMode, names ...string) error {
	out, err := exec.Command("tshark", "-G", "folders").Output()
	if err != nil {
		return fmt.Errorf("tshark -G folders, which says where Wireshark looks for files, does not work: %w", err)
	}
	folder := ""
	for _, want := range names {
		for line := range strings.Lines(string(out)) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && strings.EqualFold(key, want) && folder == "" {
				folder = strings.TrimSpace(value)
			}
		}
	}
	if folder == "" {
		return errors.New("tshark -G folders names no folder for this; does this tshark support it?")
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	path := filepath.Join(folder, name)
	if err := whole.Write(path, data, false); err != nil {
		return err
	}
	if err := os.Chmod(path, mode); err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.out, path)
	return err
}
