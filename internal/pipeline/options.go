package pipeline

import (
	"errors"
	"io"
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
)

// Options configure a run. Groups that are nil are not used.
type Options struct {
	// Inputs are the names of the captures, "-" for Stdin.
	Inputs []string
	Stdin  io.Reader
	// Series says that the Inputs are one capture in several files: state is kept from one
	// file to the next, and frame numbers continue.
	Series bool
	// Source is read if there are no Inputs.
	Source *Source
	// Stop ends the run when it is closed. Frames from before that are still dissected.
	Stop <-chan struct{}
	// Frames chooses the frames to dissect.
	Frames *Frames
	// Analysis configures the analyzers. Its budget and limits apply to all analyzers
	// together.
	Analysis dissect.Config
	Limits   *Limits
	// Workers is the number of goroutines that dissect. With 1 or less, the caller's
	// goroutine does all work.
	Workers int
	// Choice chooses what is reported.
	Choice *Choice
	// All also reports datagrams that no protocol recognises.
	All bool
	// Count is the number of messages after which the run ends, 0 for no limit. The run
	// then uses one worker.
	Count uint64
	// Reporter returns a new reporter. It is called for each worker. Out receives the
	// output.
	Reporter func() report.Reporter
	Out      io.Writer
	// Output, if not nil, returns the writer for the output of an input, which then ends
	// with its own summary. It is called after the output of the previous input is
	// complete.
	Output func(input int) (io.Writer, error)
	// Lines writes the output after every frame. The run then uses one worker.
	Lines bool
	// Counts are the counts beside those of the summary.
	Counts *Counts
	// Save saves frames.
	Save *Saving
	// Trouble is called for inputs that cannot be read to their end, after the output so
	// far has been written. The run continues with the next input.
	Trouble func(error)
	// Events are told while the run goes on.
	Events *Events
}

// A Source is a capture in memory, or one of interfaces if it is [Live].
type Source struct {
	capture.Source
	// Name is the name in the output.
	Name string
	// Duration is the duration of a live capture, 0 for no limit.
	Duration time.Duration
}

// Frames choose frames and datagrams. What is nil chooses all.
type Frames struct {
	// Filter returns a filter for frames of a link type. A live capture has applied it
	// already, except to ICMP errors, because the kernel cannot filter by the packets that
	// they quote.
	Filter func(linkType uint16) (func(data []byte, length int) bool, error)
	// Window is called with the time of the first frame (with Output: of each input that begins anew) and
	// returns the times from which on, and until which, frames are wanted; a zero time is no limit.
	Window func(first time.Time) (since, until time.Time)
	// Only selects the datagrams to dissect by their addresses.
	Only func(src, dst netip.AddrPort) bool
}

// Limits bound the memory of a run.
type Limits struct {
	// Budget is the number of bytes for incomplete split messages, and again for IP
	// fragments; 0 means reassembly.DefaultBudget.
	Budget int
	// Fragments limits the incomplete IP packets.
	Fragments reassembly.Limits
}

// A Choice chooses what is reported.
type Choice struct {
	// New, if not nil, chooses messages, unknown datagrams and findings. It is called for each worker.
	New func() Chooser
	// Only says that nothing else is counted.
	Only bool
	// Exchanges says that the reporters are [ExchangeReporter]s, which get what became of requests.
	Exchanges bool
}

// Saving configures the frames that are kept.
type Saving struct {
	// Saver saves the frames. It may be nil.
	Saver Saver
	// Chosen says that Saver gets only the frames that carried what was chosen. The run
	// then uses one worker.
	Chosen bool
	// Annotate adds comments about messages to the frames for Saver. The run then uses one
	// worker.
	Annotate bool
	// Tree, if not nil, also adds the tree of fields to the comments. It needs Annotate and
	// Analysis.Tree. Hold is how long frames wait for what belongs to them, 0 for a time that
	// depends on the capture.
	Tree *report.TreeNote
	Hold time.Duration
	// Recent, if not nil, gets the frames of messages, of parts, of fragments and of ICMP errors.
	Recent *capture.Recent
}

// Counts configure what is counted beside the summary.
type Counts struct {
	// Detailed fills the tally of the summary.
	Detailed bool
	// Stats, if not nil, gets the counts of all shards at the end.
	Stats *stats.Aggregate
	// Shards, if not nil, gets the counts of each shard instead of Stats.
	Shards *stats.Shards
	// Part, if not 0, has a bit for each shard whose datagrams are dissected. What no shard gets belongs to shard 0.
	Part uint16
	// Talks, if not nil, gets the conversations of all shards at the end, and before each snapshot those so far.
	Talks *talks.Talks
	// Slots, if not nil, divides the counts. It needs Stats, which then get those of the last slot.
	Slots *Slots
}

// Events are told while a run goes on. Those that are nil are not.
type Events struct {
	// Ended is called for every input that was read to its end, with its link type and the
	// times of its first and last frame.
	Ended func(name string, link uint16, first, last time.Time)
	// Read is called when an input has been read, with the number and the times of the packets that were taken.
	Read func(number int, packets uint64, first, last time.Time)
	// Progress is called from time to time.
	Progress func(packets, bytes uint64)
	// Watch is called with the statistics so far, at intervals of Every, during a live
	// capture or while reading a pipe.
	Watch func(*report.Summary)
	Every time.Duration
	// Snapshot is called with the counts so far, which it may keep, at intervals of Every or longer: making
	// the snapshots takes at most a twentieth of the time. It needs Counts.Stats.
	Snapshot func(*report.Summary, *stats.Aggregate)
	// Idle, if not nil, reports that nobody wants a snapshot now.
	Idle func() bool
	// Clock returns the time; nil means [time.Now]. It is used only while no frames come,
	// and for Every.
	Clock func() time.Time
}

// Live is a source that returns [capture.ErrQuiet] while no frames come.
type Live interface {
	capture.Source
	// Complete returns a time such that all older frames have been returned. It is valid
	// after [capture.ErrQuiet].
	Complete() time.Time
	// Counts returns the numbers of frames received and lost.
	Counts() (received, dropped uint64)
}

// A Saver saves frames.
type Saver interface {
	// Save saves a frame, which it must not keep. An error ends the run and is reported as
	// trouble, unless it is [ErrEnough].
	Save(f *capture.Frame) error
	// Flush makes all saved frames readable.
	Flush() error
}

// ErrEnough is returned by a [Saver] with the last frame that it wants.
var ErrEnough = errors.New("enough")

// New returns options whose groups are there, but for Source.
func New() Options {
	return Options{Limits: new(Limits), Frames: new(Frames), Choice: new(Choice), Counts: new(Counts), Save: new(Saving), Events: new(Events)}
}

// Only returns options for the datagrams that only accepts.
func (o Options) Only(only func(src, dst netip.AddrPort) bool) Options {
	frames := Frames{}
	if o.Frames != nil {
		frames = *o.Frames
	}
	frames.Only, o.Frames = only, &frames
	return o
}

// filled returns options without nil groups.
func (o Options) filled() *Options {
	fill(&o.Source)
	fill(&o.Limits)
	fill(&o.Frames)
	fill(&o.Choice)
	fill(&o.Counts)
	fill(&o.Save)
	fill(&o.Events)
	if o.Events.Clock == nil {
		e := *o.Events
		e.Clock = time.Now
		o.Events = &e
	}
	return &o
}

func fill[T any](group **T) {
	if *group == nil {
		*group = new(T)
	}
}

// budget returns the bytes for incomplete split messages in all shards together.
func (o *Options) budget() int {
	return nettext.Either(o.Limits.Budget > 0, o.Limits.Budget, reassembly.DefaultBudget)
}

// live returns the live source, nil if there is none.
func (o *Options) live() Live {
	l, _ := o.Source.Source.(Live)
	return l
}

// atOnce reports whether each datagram is dissected before the next frame is read.
func (o *Options) atOnce() bool { return o.Count > 0 || o.Lines || o.Save.Annotate || o.Save.Chosen }

// workers returns the number of workers that the output allows.
func (o *Options) workers() int {
	return nettext.Either(o.atOnce(), 1, max(1, min(o.Workers, shards)))
}
