package reassembly

import "time"

// A Part is the content of a split header.
type Part struct {
	// ID distinguishes the sets of one sender.
	ID uint64
	// Index is the index of the part, from 0; -1 if the header has none and parts are in
	// order of arrival.
	Index int
	// Total is the number of parts, 0 if this part does not state it (in GameSpy only the
	// last one does). A part whose Index is not below its own Total is accepted if other
	// parts state a larger Total.
	Total int
	// Cut says that by its Total this is the only part, but the message in it is cut
	// short: other parts with a larger Total may follow.
	Cut bool
	// Last says that this is the last part. It is for parts without an index, whose Total
	// is unknown until then.
	Last bool
	// Size is another number that must be equal in all parts of a set, for variants that
	// are distinguished by it; 0 if there is none.
	Size int
	// Header is the length of the split header.
	Header int
	// Variant is the protocol's number for the format of the header, at most [MaxVariant]
	// if formats are guessed. It is 0 if this part alone does not decide the format; then
	// Index and Total are guesses. A protocol with a single format uses a number other
	// than 0 too.
	Variant uint8
	// Guess is the variant in which Index and Total were read while Variant is 0. The
	// parts of a set are read in another variant if only that fits all of them.
	Guess uint8
	// Sum is a checksum of the payload with the split header, if the caller of [Parts.Add]
	// has one of all parts, otherwise 0. A [ReadPart] leaves it 0.
	Sum uint32
}

// MaxVariant is the highest variant that is guessed.
const MaxVariant = 8

// A ReadPart reads a split header in the given variant, or decides the variant by the
// content if it is 0. It reports false if the payload is not a part in this variant.
type ReadPart func(payload []byte, variant uint8) (Part, bool)

// Asked is what is known about requests to the sender of parts. Unknown times are zero.
type Asked struct {
	// Newest is the time of the newest request. A part with a taken index and other bytes
	// may answer it.
	Newest time.Time
	// Waiting is the time of the oldest unanswered request. Late parts from before it
	// answer no request.
	Waiting time.Time
	// Doubled says that the capture holds the datagrams of this conversation twice, so
	// that it made every other set of copies.
	Doubled bool
}

// incoming is a part that is being added, with its context.
type incoming struct {
	Part
	payload         []byte // with the split header
	frames          []uint64
	read            ReadPart
	now             int64
	newest, waiting int64 // requests, see [Asked]
	doubled         bool
}

// piece returns the piece that the table keeps for a part.
func (in *incoming) piece(part *Part) piece {
	return piece{
		pos: int32(part.Index), header: int32(min(part.Header, len(in.payload))), total: int32(part.Total),
		span: int32(part.Size), cut: part.Cut, sum: in.Sum, at: in.now, again: noTime,
	}
}

// nanos returns a time in nanoseconds since 1970, noTime for the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return t.UnixNano()
}

func lastOf(frames []uint64) uint64 {
	if len(frames) == 0 {
		return 0
	}
	return frames[len(frames)-1]
}
