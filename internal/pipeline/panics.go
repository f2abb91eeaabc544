package pipeline

import "fmt"

// A PanicError is the number of datagrams that a decoder panicked on. It is
// reported once, at the end of a run.
type PanicError uint64

func (n PanicError) Error() string {
	what := "datagrams"
	if n == 1 {
		what = "datagram"
	}
	return fmt.Sprintf("%d %s could not be dissected because of a mistake in qdissect (finding internal.panic): please report it as SECURITY.md says, with the stack of the finding, what qdissect version prints and, if you may share it, the frame", uint64(n), what)
}
