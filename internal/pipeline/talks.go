package pipeline

import "github.com/qdissect/qdissect/internal/talks"

// talks yields the conversations in the order of shards. The workers must be idle.
func (e *engine) talks(yield func(*talks.Talks) bool) {
	n := len(e.workers)
	for i := range shards {
		if t := e.workers[i%n].shards[i/n].talks; t == nil || !yield(t) {
			return
		}
	}
}

// foldTalks makes those of the options the conversations of all shards so far. The workers must be idle.
func (e *engine) foldTalks() {
	if e.o.Talks != nil {
		*e.o.Talks = *talks.New()
	}
	for t := range e.talks {
		e.o.Talks.Merge(t)
	}
}
