package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/internal/whole"
)

// A countFolder keeps the counts of the last hour in a folder: a unit for each five minutes, as report --from reads them.
type countFolder struct {
	dir, name string // the folder of the units, and what is captured
	trouble   func(error)
	slot      time.Time
	before    []byte // what another process had counted in the slot
	failed    bool
}

// slots makes a run keep its counts in the folder of --counts.
func (o *readOptions) slots(p *plan) {
	if o.live.counts == "" {
		return
	}
	name := strings.Join(o.live.interfaces, ", ")
	if !p.live {
		name = "a pipe"
	}
	c := &countFolder{dir: o.live.counts, name: name, trouble: func(err error) { p.run.Trouble(err) }}
	p.run.Counts.Slots = &pipeline.Slots{Width: unitfile.SlotTime, Every: unitfile.SlotEvery, Counts: c.take}
}

// take writes the counts of a slot so far.
func (c *countFolder) take(start time.Time, packets uint64, s *stats.Shards) {
	err := c.write(start, packets, s)
	if err != nil && !c.failed {
		c.trouble(fmt.Errorf("--counts: %w", err))
	}
	c.failed = err != nil
}

func (c *countFolder) write(start time.Time, packets uint64, s *stats.Shards) error {
	folder := filepath.Join(c.dir, unitfile.SlotFolder(start))
	name := filepath.Join(folder, aggregateFile)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	if c.slot != start {
		before, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		c.slot, c.before = start, before
	}
	u := &unitfile.Unit{
		Captures: fmt.Sprintf("%s, %s to %s UTC", c.name, start.Format("15:04"), start.Add(unitfile.SlotTime).Format("15:04")),
		Names:    []string{c.name}, Part: unitfile.All, Packets: packets, Shards: s,
	}
	if c.before != nil { // the capture was interrupted
		old, err := unitfile.ReadSmall(c.before, all.Protocols(), unitfile.SlotBounds(start))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		u.Packets += old.Packets
		old.Shards.Fold(s)
		u.Shards = old.Shards
	}
	b, err := unitfile.AppendSmall(nil, u, unitfile.SlotBytes)
	if err != nil {
		return err
	}
	if err := whole.Write(name, b, false); err != nil {
		return err
	}
	return c.prune()
}

// prune removes what was written first, if there is more than an hour.
func (c *countFolder) prune() error {
	names, err := filepath.Glob(filepath.Join(c.dir, "slot=*", aggregateFile))
	if err != nil || len(names) <= unitfile.Slots {
		return err
	}
	age := map[string]time.Time{}
	for _, name := range names {
		if st, err := os.Stat(name); err == nil {
			age[name] = st.ModTime()
		}
	}
	slices.SortFunc(names, func(a, b string) int { return age[a].Compare(age[b]) })
	for _, name := range names[:len(names)-unitfile.Slots] {
		err = errors.Join(err, os.RemoveAll(filepath.Dir(name)))
	}
	return err
}
