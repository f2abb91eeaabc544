// Package unitfile keeps what a run counted of a unit, a series of captures, in a file, so that several processes can count and
// one can report.
package unitfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/coder"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/report"
)

// A Unit is what a run counted of a series of captures.
type Unit struct {
	// Captures names them for people. Names are their paths, or a pattern for them.
	Captures string
	Names    []string
	Series   bool
	// Words are those for a shell that read the captures. They are not in the file: a shell must not get what others wrote.
	Words    string
	Part     uint16 // the shards that were dissected
	Packets  uint64
	OneSided uint64 // captures that have one direction only
	Guesses  []stats.Guess
	Shards   *stats.Shards
	Talks    *talks.Talks
}

// An Order is a line of the list of units that are not done. The last line counts those that are.
type Order struct {
	Unit   string  `json:"unit,omitempty"`
	Inputs []Input `json:"inputs,omitempty"`
	Done   *int    `json:"done,omitempty"`
}

// An Input is a capture and the name of its output, which is relative to the fixed part of a pattern.
type Input struct {
	Path string `json:"path"`
	Name string `json:"name"`
}

// An Outcome is what became of a unit that was ordered.
type Outcome struct {
	Unit     string   `json:"unit"`
	Version  string   `json:"version,omitempty"` // of the program, its flags and the captures
	SHA256   string   `json:"sha256,omitempty"`  // of what was written
	Packets  uint64   `json:"packets"`
	Messages uint64   `json:"messages"`
	Before   bool     `json:"before,omitempty"`  // it was done already
	Trouble  []string `json:"trouble,omitempty"` // it is done, but for what could not be read
	Error    string   `json:"error,omitempty"`   // it is not done
}

// magic begins the file; a change of what follows changes its last byte.
const magic = "qdissect aggregate 3\n"

// The limits of what is read.
const (
	maxFile    = 64 << 20 // bytes, unpacked
	maxSmall   = 4 << 20  // of a unit without conversations
	maxPart    = 32 << 20
	maxGuesses = 256
	maxText    = 4096
	maxNames   = 3
)

var errLarge = errors.New("larger than any aggregate")

// Append appends a unit in binary form: the same for the same counts.
func Append(b []byte, u *Unit) ([]byte, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	c := coder.Coder{}
	u.code(&c)
	counts, words := u.Shards.AppendBinary(nil), u.Talks.AppendBinary(nil)
	c.Bytes(&counts, maxPart)
	c.Bytes(&words, maxPart)
	if c.Err != nil {
		return nil, c.Err
	}
	return z.EncodeAll(c.B, append(b, magic...)), nil
}

func (u *Unit) code(c *coder.Coder) {
	c.String(&u.Captures, maxText)
	for name := range coder.List(c, &u.Names, maxNames) {
		c.String(name, maxText)
	}
	c.Bool(&u.Series)
	coder.Num(c, &u.Part)
	coder.Num(c, &u.Packets)
	coder.Num(c, &u.OneSided)
	for g := range coder.List(c, &u.Guesses, maxGuesses) {
		c.Text(&g.What, maxText)
		coder.Num(c, &g.Count)
	}
}

// AppendSmall is as Append, for a unit without conversations, in at most so many bytes: what does not fit into the tables is in
// the sums.
func AppendSmall(b []byte, u *Unit, most int) ([]byte, error) {
	small := *u
	for n := largeTable; n >= smallTable; n /= 2 {
		small.Shards, small.Talks = u.Shards.Compact(n), talks.New()
		if out, err := Append(b, &small); err != nil || len(out)-len(b) <= most {
			return out, err
		}
	}
	return nil, errLarge
}

// The sizes of tables that are tried.
const (
	largeTable = 512
	smallTable = 16
)

// Read reads a unit, whose messages are of these protocols. It may come from anybody.
func Read(r io.Reader, protocols []*dissect.Protocol) (*Unit, error) {
	return read(r, protocols, maxFile, nil)
}

// ReadSmall is as Read, for a unit that AppendSmall wrote, with counts within bounds.
func ReadSmall(b []byte, protocols []*dissect.Protocol, within *stats.Bounds) (*Unit, error) {
	u, err := read(bytes.NewReader(b), protocols, maxSmall, within)
	if err == nil && (u.Part != All || u.Packets > within.Most || u.OneSided > 0 || len(u.Guesses) > 0) {
		err = errors.New("damaged: not a unit of counts")
	}
	return u, err
}

// read reads a unit of so many bytes, and conversations only if there are no bounds.
func read(r io.Reader, protocols []*dissect.Protocol, most int, within *stats.Bounds) (*Unit, error) {
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(r, head); err != nil || string(head) != magic {
		if bytes.HasPrefix(head, []byte(magic[:len(magic)-2])) {
			return nil, errors.New("an aggregate of another version of qdissect; make it again")
		}
		return nil, errors.New("not an aggregate")
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(most)))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	b, err := io.ReadAll(io.LimitReader(z, int64(most)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("damaged: %w", err)
	case len(b) > most:
		return nil, errLarge
	}
	u := new(Unit)
	c := coder.Coder{B: b, Reading: true}
	u.code(&c)
	var counts, words []byte
	c.Bytes(&counts, maxPart)
	c.Bytes(&words, maxPart)
	if c.Err == nil {
		u.Shards, c.Err = stats.UnmarshalBinary(counts, protocols, within)
	}
	if u.Talks = talks.New(); within != nil {
		if c.Err == nil && !bytes.Equal(words, u.Talks.AppendBinary(nil)) {
			c.Err = errors.New("there are conversations")
		}
	} else if c.Err == nil {
		u.Talks, c.Err = talks.UnmarshalBinary(words, protocols)
	}
	if c.Err != nil {
		return nil, fmt.Errorf("damaged: %w", c.Err)
	}
	return u, nil
}

// Join adds what another run counted of other shards of the same captures.
func (u *Unit) Join(o *Unit) error {
	if u.Captures != o.Captures || u.Packets != o.Packets {
		return fmt.Errorf("parts of different captures: %s with %d packets and %s with %d packets", u.Captures, u.Packets, o.Captures, o.Packets)
	}
	if u.Part&o.Part != 0 {
		return errors.New("a shard is in two parts")
	}
	u.Part |= o.Part
	u.Shards.Join(o.Shards)
	u.Talks.Merge(o.Talks)
	for _, g := range o.Guesses {
		i := slices.IndexFunc(u.Guesses, func(x stats.Guess) bool { return x.What == g.What })
		if i < 0 {
			u.Guesses = append(u.Guesses, g)
		} else {
			u.Guesses[i].Count += g.Count
		}
	}
	return nil
}

// All are all shards.
const All = 1<<4 - 1

// A Sum is what several units count, folded in the order in which they were added.
type Sum struct {
	Packets, OneSided uint64
	// Files are the captures of the units. Of very many the first are named.
	Files  []stats.File
	Units  int
	Shards *stats.Shards
	Talks  *talks.Talks
	looks  map[string]uint64
}

// maxFiles is the number of units that are named.
const maxFiles = 1000

// NewSum returns the sum of no units.
func NewSum() *Sum {
	return &Sum{Shards: stats.NewShards(), Talks: talks.New(), looks: make(map[string]uint64)}
}

// Add adds a unit, which must not be used afterwards.
func (s *Sum) Add(u *Unit) {
	u.Shards.Input(s.Units)
	u.Talks.Renumber(s.Units)
	s.Units++
	s.Packets += u.Packets
	s.OneSided += u.OneSided
	s.Shards.Fold(u.Shards)
	s.Talks.Fold(u.Talks)
	for _, g := range u.Guesses {
		if _, known := s.looks[g.What]; known || len(s.looks) < maxGuesses {
			s.looks[g.What] += g.Count
		}
	}
	if len(s.Files) < maxFiles {
		s.Files = append(s.Files, stats.File{Name: u.Captures, Word: u.Words, Packets: u.Packets})
	}
}

// Guesses returns what most unknown datagrams look like.
func (s *Sum) Guesses() []stats.Guess {
	list := guesses(s.looks)
	return list[:min(len(list), MostGuesses)]
}

// MostGuesses is the number of guesses in a report.
const MostGuesses = 10

// guesses returns what unknown datagrams look like, the most frequent first.
func guesses(looks map[string]uint64) (list []stats.Guess) {
	for what, n := range looks {
		list = append(list, stats.Guess{What: what, Count: n})
	}
	slices.SortFunc(list, func(a, b stats.Guess) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.What, b.What)) })
	return list
}

// GuessesOf returns what unknown datagrams look like, the most frequent first.
func GuessesOf(sum *report.Summary) []stats.Guess {
	looks := make(map[string]uint64, len(sum.Tally.Guesses))
	for what, n := range sum.Tally.Guesses {
		looks[what] = *n
	}
	return guesses(looks)
}

// Options returns options for the report of a run.
func Options(sum *report.Summary) stats.Options {
	o := stats.Options{Packets: sum.Packets, OneSided: sum.OneSided > 0, Unknowns: GuessesOf(sum)}
	o.Unknowns = o.Unknowns[:min(len(o.Unknowns), MostGuesses)]
	for _, s := range sum.Streams {
		o.Streams = append(o.Streams, stats.Stream(s))
	}
	return o
}

// A live capture has units for slots of time. A unit is written again and again while it grows; the newest ones are kept.
const (
	SlotTime  = 5 * time.Minute
	SlotEvery = 4 * time.Second
	// Slots reach back for an hour and a part of a slot.
	Slots = 13
	// SlotBytes is the largest size of the unit of a slot.
	SlotBytes = 64 << 10
)

// SlotFolder returns the name of the folder of a slot.
func SlotFolder(start time.Time) string { return start.UTC().Format(SlotLayout) }

// SlotLayout is the layout of the name.
const SlotLayout = "slot=2006-01-02T150405Z"

// SlotBounds bound what can be counted in a slot: requests are waited for, so that some were sent before.
func SlotBounds(start time.Time) *stats.Bounds {
	return &stats.Bounds{From: start.Add(-time.Minute).UnixNano(), To: start.Add(SlotTime + time.Minute).UnixNano(), Most: 1 << 44}
}
