package anonymize

import (
	"bytes"
	"errors"
	"net/netip"

	"github.com/qdissect/qdissect/dissect"
)

// Values replaces single values as [Run] does in captures: with the same key by the same replacements.
type Values struct{ m *mapping }

// NewValues returns replacements for a key.
func NewValues(key []byte) (*Values, error) {
	if len(key) < leastKey {
		return nil, errShortKey
	}
	return &Values{newMapping(key)}, nil
}

// Addr returns the replacement of an address.
func (v *Values) Addr(a netip.Addr) netip.Addr { return v.m.addr(a) }

// Text returns the replacement of a name or another text.
func (v *Values) Text(b []byte) []byte {
	b = bytes.Clone(b)
	v.m.text(b, dissect.NoStyle)
	return b
}

// leastKey is the number of bytes of the shortest key.
const leastKey = 16

var errShortKey = errors.New("the key is too short: 16 bytes at least")
