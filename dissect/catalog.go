package dissect

import (
	"slices"

	"github.com/qdissect/qdissect/internal/core"
)

// A Catalog lists what one protocol declares: the fields of its messages ([Catalog.Add]), its messages, and the findings about them.
// It is filled while its package is initialised and not modified afterwards.
type Catalog struct {
	*core.Catalog
	messages declared[MessageType]
	findings declared[FindingType]
}

// NewCatalog returns the catalog of a protocol. It has two fields: PROTOCOL.data for bytes that could not be decoded, and
// PROTOCOL.trailing for bytes after the end of a message.
func NewCatalog(protocol string) *Catalog { return &Catalog{Catalog: core.NewCatalog(protocol)} }

// Message declares a kind of message.
func (c *Catalog) Message(t MessageType) *MessageType { return c.messages.add(&t) }

// Finding declares a kind of finding.
func (c *Catalog) Finding(t FindingType) *FindingType { return c.findings.add(&t) }

// Messages returns everything that messages can be, in the order of their declaration.
func (c *Catalog) Messages() []*MessageType { return c.messages.list }

// Findings returns every finding that messages can have beside [CommonFindings], in the order of their declaration.
func (c *Catalog) Findings() []*FindingType { return c.findings.list }

// declared are types in the order of their declaration, and room for more: hundreds are declared at each start of a program.
type declared[T any] struct {
	list []*T
	room []T
}

func (d *declared[T]) add(t *T) *T {
	const most = 12
	if len(d.room) == cap(d.room) {
		d.room = make([]T, 0, most)
		d.list = slices.Grow(d.list, most)
	}
	d.room = append(d.room, *t)
	d.list = append(d.list, &d.room[len(d.room)-1])
	return d.list[len(d.list)-1]
}
