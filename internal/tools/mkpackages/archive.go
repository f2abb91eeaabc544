package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
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
	zipped := zip.NewWriter(&b)
	begin := func(name string, _ int) (io.Writer, error) {
		return zipped.CreateHeader(&zip.FileHeader{Name: base + "/" + name, Method: zip.Deflate, Modified: at})
	}
	end := zipped.Close
	if !strings.HasSuffix(file, ".zip") {
		packed, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		tarred := tar.NewWriter(packed)
		begin = func(name string, size int) (io.Writer, error) {
			return tarred, tarred.WriteHeader(&tar.Header{Name: base + "/" + name, Mode: mode(name), Size: int64(size), ModTime: at, Format: tar.FormatPAX})
		}
		end = func() error { return errors.Join(tarred.Close(), packed.Close()) }
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		text, err := os.ReadFile(list[name])
		if err != nil {
			return err
		}
		out, err := begin(name, len(text))
		if err == nil {
			_, err = out.Write(text)
		}
		if err != nil {
			return err
		}
	}
	if err := end(); err != nil {
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
