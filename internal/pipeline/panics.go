package pipeline

import (
	"fmt"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A PanicError is the number of datagrams that a decoder panicked on. It is
// reported once, at the end of a run.
type PanicError uint64

func (n PanicError) Error() string {
	return fmt.Sprintf("%s could not be dissected because of a mistake in qdissect (finding internal.panic): please report it as SECURITY.md says, with the stack of the finding, what qdissect version prints and, if you may share it, the frame", nettext.Count(int(n), "datagram"))
}
