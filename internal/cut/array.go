package cut

import (
	"encoding/binary"
	"errors"
	"github.com/qdissect/qdissect/internal/whole"
	"io"
)

// An array holds numbers by index in a temporary file, so that its memory does not grow.
// A number is 0 until it is set. Only one page is in memory: an index should be near the
// one before.
type array struct {
	file *whole.File
	page [4096]byte
	at   int64 // offset of the page in the file
	err  error // the first
}

func newArray(dir string) (*array, error) {
	f, err := whole.Scratch(dir)
	return &array{file: f}, err
}

func (a *array) close() error { return errors.Join(a.err, a.file.Remove()) }

// place returns the bytes of a number.
func (a *array) place(i uint64) []byte {
	at := int64(i) * 8
	if page := at - at%int64(len(a.page)); page != a.at {
		a.flush()
		n, err := a.file.ReadAt(a.page[:], page)
		if err != nil && err != io.EOF && a.err == nil {
			a.err = err
		}
		clear(a.page[n:])
		a.at = page
	}
	return a.page[at-a.at:][:8]
}

// flush writes the page.
func (a *array) flush() {
	if _, err := a.file.WriteAt(a.page[:], a.at); err != nil && a.err == nil {
		a.err = err
	}
}

func (a *array) get(i uint64) uint64 { return binary.LittleEndian.Uint64(a.place(i)) }

func (a *array) set(i, n uint64) { binary.LittleEndian.PutUint64(a.place(i), n) }
