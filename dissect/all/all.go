// Package all lists the protocols that this module knows.
package all

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/dissect/halflife"
)

// Protocols returns all protocols. The order decides where nothing else does.
func Protocols() []*dissect.Protocol {
	return []*dissect.Protocol{
		a2s.Protocol(),
		halflife.Protocol(),
	}
}
