package reassembly

import "time"

// A Part is what the header of a split packet says.
type Part struct {
	// ID tells the sets of one sender apart.
	ID uint64
	// Index is the place of the part, from 0; -1 if the header does not say
	// and parts count in the order of their arrival.
	Index int
	// Total is the number of parts of the whole, 0 if this part does not
	// know (GameSpy: only the last one does). A part with an Index that is not
	// below its own Total has its place if others state a larger one.
	Total int
	// Cut says that the part is all by its Total, and that the message in it is
	// cut short: others can come that state a larger Total.
	Cut bool
	// Last says that no part comes behind this one. It is for parts without
	// an index, whose Total nobody knows before they are there.
	Last bool
	// Size is what else must be the same in all parts of a set, for formats
	// that are told apart by it; 0 if there is nothing.
	Size int
	// Header is the number of bytes before the part's own data.
	Header int
	// Variant is the protocol's number for the format of the header, at most
	// [MaxVariant] where formats have to be guessed; 0 if this part alone does
	// not decide it, and Index and Total are a guess. A protocol with one
	// format only gives it a number as well.
	Variant uint8
	// Guess is the format that Index and Total are read in while Variant is 0.
	// The parts of a set are read in another one if that alone fits all.
	Guess uint8
}

// MaxVariant is the highest number of a format that is tried in a guess.
const MaxVariant = 8

// A ReadPart reads a split header in the format of variant, or decides the
// format by the content if variant is 0. It reports false for a payload that
// is no part, or none of this format.
type ReadPart func(payload []byte, variant uint8) (Part, bool)

// Asked is what is known of the requests to a sender of parts. The times are zero
// where nothing is.
type Asked struct {
	// Newest is when the newest request was sent: a part with other bytes in a
	// place that is taken can be the answer to it.
	Newest time.Time
	// Waiting is when the oldest one was sent that waits for a reply. Late parts
	// from before it answer nothing.
	Waiting time.Time
	// Doubled says that the capture holds the datagrams of this conversation
	// twice: every other set of copies is what the capture made.
	Doubled bool
}

// incoming is a part on its way into the table, with what is known when it comes.
type incoming struct {
	Part
	payload         []byte // with the split header
	frames          []uint64
	read            ReadPart
	now             int64
	newest, waiting int64 // requests, see [Asked]
	doubled         bool
}

// piece returns what the table keeps of a part.
func (in *incoming) piece(part *Part) piece {
	return piece{
		pos: int32(part.Index), header: int32(min(part.Header, len(in.payload))), total: int32(part.Total),
		span: int32(part.Size), cut: part.Cut, at: in.now, again: noTime,
	}
}

// nanos returns a time as the table counts it.
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
