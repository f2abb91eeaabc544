// Package columns keeps the fields of tables whose columns are named by the
// messages themselves, as those of GameSpy are.
package columns

import (
	"github.com/qdissect/qdissect/dissect"
)

// A Set holds the columns of one table: those of the catalog, and others, whose
// fields are made when a message first names them. It is part of a decoder and
// not safe for concurrent use.
type Set struct {
	open  *dissect.Field
	known map[string]*dissect.Field
	seen  map[string]*dissect.Field
}

// maxSeen bounds the fields that are kept: forged messages can name any number of
// columns. When it is reached all are evicted and made again as needed.
const maxSeen = 256

// New returns the columns of a table. open is the field that stands for columns
// outside the catalog. known maps names on the wire to fields of the catalog.
func New(open *dissect.Field, known map[string]*dissect.Field) *Set {
	return &Set{open: open, known: known, seen: make(map[string]*dissect.Field)}
}

// Field returns the field of a column, or nil if the name cannot be a key.
func (s *Set) Field(name string) *dissect.Field {
	if f := s.known[name]; f != nil {
		return f
	}
	if f := s.seen[name]; f != nil {
		return f
	}
	f := s.open.AsColumn(name)
	if f == nil {
		return nil
	}
	if len(s.seen) >= maxSeen {
		clear(s.seen)
	}
	s.seen[f.Key()] = f
	return f
}
