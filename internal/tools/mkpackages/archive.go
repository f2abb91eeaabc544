package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// archive writes a .tar.gz or .zip of files by their names in it, below the folder base. All
// have the same time, and nothing else of the machine.
func archive(file, base string, list map[string]string, at time.Time) error {
	var b bytes.Buffer
	var err error
	if strings.HasSuffix(file, ".zip") {
		err = writeZip(&b, base, list, at)
	} else {
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err = writeTar(z, base, list, at); err == nil {
			err = z.Close()
		}
	}
	if err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// mode returns the mode of a file in an archive.
func mode(name string) int64 {
	if strings.HasPrefix(path.Base(name), "qdissect") && !strings.Contains(name, "/") && !strings.Contains(name, "@") {
		return 0o755
	}
	return 0o644
}

func writeTar(out io.Writer, base string, list map[string]string, at time.Time) error {
	w := tar.NewWriter(out)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		b, err := os.ReadFile(list[name])
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: base + "/" + name, Mode: mode(name), Size: int64(len(b)), ModTime: at, Format: tar.FormatPAX}); err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return w.Close()
}

func writeZip(out io.Writer, base string, list map[string]string, at time.Time) error {
	w := zip.NewWriter(out)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		b, err := os.ReadFile(list[name])
		if err != nil {
			return err
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: base + "/" + name, Method: zip.Deflate, Modified: at})
		if err != nil {
			return err
		}
		if _, err := f.Write(b); err != nil {
			return err
		}
	}
	return w.Close()
}

// squeeze compresses a file, without its name and time.
func squeeze(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if _, err = z.Write(b); err == nil {
		err = z.Close()
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, out.Bytes(), 0o644)
}
