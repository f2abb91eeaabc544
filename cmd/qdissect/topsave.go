package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/cut"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/top"
	"github.com/qdissect/qdissect/internal/whole"
)

// save writes the frames of the messages that match an expression.
func (w *watching) save(name string, s *top.Snapshot, expr string) (string, error) {
	if _, err := os.Lstat(name); err == nil {
		return "", fmt.Errorf("%s exists; use another name", name)
	}
	if expr == "" {
		return "", errors.New("select a server, a client or a conversation first")
	}
	f, err := display.Compile(expr)
	if err != nil {
		return "", err
	}
	c := cut.Options{Out: name, Filter: f, Analysis: w.run.Analysis}
	if s.Frames == nil && len(w.run.Inputs) == 1 && w.run.Frames.Window == nil {
		c.In = w.run.Inputs[0]
	} else {
		dir, err := whole.Temp("qdissect-top")
		if err != nil {
			return "", err
		}
		defer dir.Discard()
		c.In = filepath.Join(dir.Name(), "frames.pcapng")
		if err := w.spill(c.In, s); err != nil {
			return "", err
		}
	}
	r, err := cut.Run(c)
	switch {
	case err != nil:
		return "", err
	case r.Frames == 0:
		return "", errors.New("no messages of it are in memory; no file written")
	}
	return fmt.Sprintf("%s of %d messages written to %s", nettext.Count(int(r.Frames), "frame"), r.Chosen, name), nil
}

// spill writes the frames of a snapshot to a file.
func (w *watching) spill(name string, s *top.Snapshot) error {
	out, err := capture.Create(name)
	if err != nil {
		return err
	}
	o := w.again(s).Only(func(_, _ netip.AddrPort) bool { return false })
	o.Out, o.Save = io.Discard, &pipeline.Saving{Saver: stream{out}}
	o.Reporter, o.Trouble = w.run.Reporter, func(error) {}
	_, err = pipeline.Run(o)
	return errors.Join(err, out.Close())
}
