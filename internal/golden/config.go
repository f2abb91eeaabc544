package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// ConfigName is the name of the configuration file beside captures.
const ConfigName = ".qdissect.toml"

// A Config is the content of that file.
type Config struct {
	// File is its path, "" if there is none.
	File string `toml:"-"`
	// Ignore are patterns of values that may differ: see [ParsePattern].
	Ignore []string `toml:"ignore"`
	// RelativeTime compares times relative to the first packet of the capture.
	RelativeTime bool `toml:"relative_time"`
}

// maxConfig limits the size of the file.
const maxConfig = 1 << 20

// FindConfig returns the configuration for captures in a folder: that of the nearest file
// in the folder or above it.
func FindConfig(dir string) (Config, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Config{}, err
	}
	for {
		path := filepath.Join(dir, ConfigName)
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.Mode().IsRegular():
			return Config{}, fmt.Errorf("%s: not a regular file", path)
		case err == nil:
			return readConfig(path, info.Size())
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
			return Config{}, err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return Config{}, nil
		}
		dir = parent
	}
}

func readConfig(path string, size int64) (Config, error) {
	c := Config{File: path}
	if size > maxConfig {
		return c, fmt.Errorf("%s: %d bytes, no configuration is as long", path, size)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	d := toml.NewDecoder(bytes.NewReader(b)).DisallowUnknownFields()
	var wrong *toml.DecodeError
	var unknown *toml.StrictMissingError
	switch err := d.Decode(&c); {
	case errors.As(err, &unknown):
		return c, fmt.Errorf("%s: unknown key %q; known are ignore and relative_time", path, strings.Join(unknown.Errors[0].Key(), "."))
	case errors.As(err, &wrong):
		line, _ := wrong.Position()
		why, _, _ := strings.Cut(strings.TrimPrefix(wrong.Error(), "toml: "), " into struct field ")
		switch key := strings.Join(wrong.Key(), "."); key {
		case "":
		case "ignore":
			why = `ignore must be a list of texts, such as ["rtt_ns"]`
		case "relative_time":
			why = "relative_time must be true or false"
		default:
			why = key + ": " + why
		}
		return c, fmt.Errorf("%s: line %d: %s", path, line, why)
	case err != nil:
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := ParsePatterns(c.Ignore); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Rules returns the rules of the configuration.
func (c *Config) Rules() Rules {
	patterns, _ := ParsePatterns(c.Ignore) // checked when it was read
	return Rules{Ignore: patterns, Relative: c.RelativeTime}
}
