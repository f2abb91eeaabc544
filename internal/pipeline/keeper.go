package pipeline

import (
	"time"

	"github.com/qdissect/qdissect/internal/capture"
)

// A keeper passes frames to the saver, at once or when it is known what belongs to them.
type keeper interface {
	// before gets a frame before it is dissected; after, when it was. given says that it
	// carries something that could be reported. now is the time of the newest frame.
	before(f *capture.Frame, now time.Time)
	after(f *capture.Frame, given bool, now time.Time)
	// advance saves frames about which nothing more is expected, although none follows.
	advance(now time.Time)
	// end saves all frames.
	end()
	// lost returns an error if frames could not be saved.
	lost() error
}

func newKeeper(o *Options, s *safe) keeper {
	switch {
	case o.Save.Saver == nil:
		return nil
	case o.Save.Chosen || o.Save.Annotate:
		return &selection{o: o, safe: s, every: !o.Save.Chosen}
	}
	return s
}

// A safe saves frames at once.
type safe struct {
	saver   Saver
	trouble func(error)
	over    bool // the saver takes no more frames
	dirty   bool // frames were saved late since the last flush
}

func (s *safe) before(f *capture.Frame, _ time.Time)  { s.save(f) }
func (s *safe) after(*capture.Frame, bool, time.Time) {}
func (s *safe) advance(time.Time)                     {}
func (s *safe) end()                                  {}
func (s *safe) lost() error                           { return nil }

// save gives a frame to the saver. If the saver returns an error, the run ends.
func (s *safe) save(f *capture.Frame) {
	if !s.over {
		s.saved(s.saver.Save(f))
	}
}

// flush makes all saved frames readable.
func (s *safe) flush() {
	if s.saver != nil && !s.over {
		s.saved(s.saver.Flush())
	}
}

func (s *safe) saved(err error) {
	if err != nil {
		s.over = true
		if err != ErrEnough {
			s.trouble(err)
		}
	}
}
