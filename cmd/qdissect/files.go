package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/spf13/pflag"
)

// inAndOut checks the two arguments of a command that writes one capture from another.
func inAndOut(args []string, env environment) (in, out string, err error) {
	if len(args) != 2 {
		return "", "", errors.New("two arguments needed: the capture to read and the capture to write")
	}
	in, out = args[0], args[1]
	read := filesOf(args[:1], env.in)
	if out == "-" {
		if st, ok := regular(env.out); ok && among(st, read) {
			return "", "", errors.New("standard output is the input file; use another file")
		}
		return in, out, nil
	}
	switch st, err := os.Stat(out); {
	case err == nil && among(st, read):
		return "", "", fmt.Errorf("%s: input and output are the same file; use another name", out)
	case err == nil && !st.Mode().IsRegular():
		// The output is renamed into place, which would replace a device.
		return "", "", fmt.Errorf("%s: not a regular file; use another name, or - for standard output", out)
	}
	if _, err := os.Stat(filepath.Dir(out)); err != nil {
		return "", "", err
	}
	return in, out, nil
}

// filesOf returns the regular files among the inputs. The name "-" means stdin.
func filesOf(names []string, stdin io.Reader) (list []os.FileInfo) {
	for _, name := range names {
		st, err := os.Stat(name)
		ok := err == nil && st.Mode().IsRegular()
		if name == "-" {
			st, ok = regular(stdin)
		}
		if ok {
			list = append(list, st)
		}
	}
	return list
}

// regular returns the file behind a stream and reports whether it is a regular file.
func regular(stream any) (os.FileInfo, bool) {
	f, ok := stream.(*os.File)
	if !ok {
		return nil, false
	}
	st, err := f.Stat()
	return st, err == nil && st.Mode().IsRegular()
}

// among reports whether the list contains the file.
func among(st os.FileInfo, list []os.FileInfo) bool {
	return slices.ContainsFunc(list, func(one os.FileInfo) bool { return os.SameFile(one, st) })
}

// spool copies a stream into a file.
func spool(name string, from io.Reader) (string, error) {
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, from)
	return name, errors.Join(err, f.Close())
}

func copyFile(to io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, f)
	return err
}

// escapeUnsafe returns JSON that a terminal can show.
func escapeUnsafe(b []byte) []byte { return nettext.EscapeJSON(b) }

// shellWord quotes a path for a shell if necessary.
func shellWord(s string) string { return nettext.ShellWord(s) }

// saveOptions are the flags for writing captures.
type saveOptions struct {
	file     string
	annotate string
	rotate   []string
	onError  string
}

func (o *saveOptions) add(f *pflag.FlagSet) {
	f.StringVarP(&o.file, "write", "w", "", "write the frames that pass the filter to this `file`: pcapng, or pcap by extension, compressed by .gz or .zst; - is standard output")
	f.StringVar(&o.annotate, "annotate", "", "with -w: add messages and findings as packet comments, which Wireshark shows; `=tree` also adds all fields, for the script of qdissect lua")
	f.Lookup("annotate").NoOptDefVal = "line"
	f.StringArrayVarP(&o.rotate, "ring-buffer", "b", nil, "with -w: begin the next file at a `CONDITION`: filesize:kB, duration:S, interval:S or packets:N; files:N keeps the last N")
	f.StringVar(&o.onError, "on-write-error", "stop", "with -w: if a file cannot be written, stop or continue without it")
}

// conditions parses the conditions of -a or -b, such as files:3, by name.
func conditions(flag string, args []string, known ...string) (map[string]int64, error) {
	values := map[string]int64{}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, ":")
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n <= 0 || !slices.Contains(known, name) {
			return nil, fmt.Errorf("-%s %q is not one of %s:N", flag, arg, strings.Join(known, ":N, "))
		}
		values[name] = n
	}
	return values, nil
}

// limits are the conditions of -a.
type limits struct {
	duration time.Duration
	size     int64
	files    int
	packets  uint64
}

func (o *liveOptions) limits() (limits, error) {
	v, err := conditions("a", o.autostop, "duration", "filesize", "files", "packets")
	return limits{time.Duration(v["duration"]) * time.Second, v["filesize"] * 1000, int(v["files"]), uint64(v["packets"])}, err
}

// A saver writes frames as the flags ask.
type saver struct {
	env     environment
	file    string
	out     *capture.Series // nil if frames are only counted
	live    *capture.Live   // names the interfaces; nil for files
	known   int             // the number of interfaces named
	limits  limits
	frames  uint64
	refused uint64
	goOn    bool
	failed  bool
}

// saver returns the writer of frames, or nil if none is needed.
func (o *saveOptions) saver(env environment, l limits, live *capture.Live, snap int, m capture.Making) (*saver, error) {
	if o.file == "" {
		return nettext.Either(l.packets == 0, nil, &saver{limits: l}), nil
	}
	s := &saver{env: env, file: o.file, live: live, limits: l, goOn: o.onError == "continue"}
	v, err := conditions("b", o.rotate, "filesize", "duration", "interval", "packets", "files")
	if err != nil {
		return nil, err
	}
	r := capture.Rotation{
		Files: l.files, Keep: int(v["files"]), Size: v["filesize"] * 1000, Frames: uint64(v["packets"]),
		Time: time.Duration(v["duration"]) * time.Second, Every: time.Duration(v["interval"]) * time.Second,
	}
	if o.file == "-" {
		s.out = capture.SeriesTo(env.out, snap)
		return s, nil
	}
	if r.Keep+r.Files > 0 && r == (capture.Rotation{Keep: r.Keep, Files: r.Files}) {
		return nil, errors.New("-b files:N and -a files:N need another -b that ends a file, such as -b filesize:100000")
	}
	if o.annotate != "" {
		if format, _ := capture.FormatOf(o.file); format == capture.Pcap {
			return nil, fmt.Errorf("%s: --annotate needs pcapng, because pcap has no comments", o.file)
		}
	}
	m.Whole = live == nil
	s.out, err = capture.CreateSeries(o.file, r, m, snap)
	return s, err
}

// Save writes a frame, unless the limits of -a are reached.
func (s *saver) Save(f *capture.Frame) error {
	if s.failed { // and --on-write-error=continue
		return nil
	}
	var err error
	if s.out != nil {
		s.name()
		err = s.out.Save(f)
	}
	if _, ok := errors.AsType[*capture.RefusedError](err); ok {
		if s.refused++; s.refused == 1 {
			complain(s.env, fmt.Errorf("%s: %w", s.file, err))
		}
		err = nil
	}
	if errors.Is(err, capture.ErrSeriesEnd) {
		return pipeline.ErrEnough
	}
	if err != nil {
		return s.fail(err)
	}
	s.frames++
	l := &s.limits
	return nettext.Either(l.packets > 0 && s.frames >= l.packets || l.size > 0 && s.out.Size() >= l.size, pipeline.ErrEnough, nil)
}

// folders returns those in which files begin during a capture.
func (o *readOptions) folders() (list []string) {
	if len(o.save.rotate) > 0 {
		list = append(list, filepath.Dir(o.save.file))
	}
	if o.live.counts != "" {
		_ = os.MkdirAll(o.live.counts, 0o777) // its files say why not
		list = append(list, o.live.counts)
	}
	return list
}

// name passes the names of new interfaces to the writer.
func (s *saver) name() {
	if s.live == nil {
		return
	}
	list := s.live.Interfaces()
	if len(list) == s.known {
		return
	}
	s.known = len(list)
	s.out.SetInterfaces(namesOf(list))
}

// fail ends the run with an error, or ends only the file with
// --on-write-error=continue.
func (s *saver) fail(err error) error {
	var path *fs.PathError // a file of the series
	switch {
	case errors.As(err, &path):
		err = fmt.Errorf("%s: %w", path.Path, path.Err)
	case !strings.Contains(err.Error(), s.file):
		err = fmt.Errorf("%s: %w", s.file, err)
	}
	s.failed = true
	if s.goOn && s.file != "-" {
		complain(s.env, fmt.Errorf("%w; continuing without it", err))
		return nil
	}
	return err
}

// Flush makes the file readable up to its last frame.
func (s *saver) Flush() error {
	if s.failed || s.out == nil {
		return nil
	}
	if err := s.out.Flush(); err != nil {
		return s.fail(err)
	}
	return nil
}

// Close closes the file.
func (s *saver) Close() error {
	if s == nil || s.out == nil {
		return nil
	}
	if err := s.out.Close(); err != nil && !s.failed {
		return s.fail(err)
	}
	if s.refused > 0 {
		complain(s.env, fmt.Errorf("%s: %d frames could not be written", s.file, s.refused))
	}
	return nil
}

// incomplete reports whether the file lacks frames.
func (s *saver) incomplete() bool { return s != nil && (s.failed || s.refused > 0) }
