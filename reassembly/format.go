package reassembly

// agree makes a part and its set use the same variant. The first part that decides the
// variant decides it for the earlier parts too.
func (s *set) agree(in *incoming) Part {
	switch {
	case s.variant == 0 && in.Variant != 0:
		s.variant = in.Variant
		s.reread(s.variant, in.read)
	case in.Variant != s.variant:
		if again, ok := in.read(in.payload, s.variant); ok {
			return again
		}
	case s.variant == 0 && in.Guess != s.guess:
		if again, ok := in.read(in.payload, s.guess); ok {
			return again
		}
	}
	return in.Part
}

// reread reads the headers of all parts again in a variant.
func (s *set) reread(variant uint8, read ReadPart) {
	for j := range s.pieces {
		q := &s.pieces[j]
		if again, ok := read(s.bytesOf(q), variant); ok {
			q.pos, q.header, q.total, q.span = int32(again.Index), int32(again.Header), int32(again.Total), int32(again.Size)
		}
	}
	s.recount()
}

// fit finds a variant in which all parts of an undecided set are consistent.
func (s *set) fit(read ReadPart) {
	if s.has(isUnfit) || s.fits(s.guess, read) {
		return
	}
	for v := uint8(1); v <= MaxVariant; v++ {
		if s.fits(v, read) {
			s.guess = v
			s.reread(v, read)
			return
		}
	}
	s.setIf(isUnfit, true)
}

// fits reports whether all parts, read in a variant, have different indexes in one
// message.
func (s *set) fits(variant uint8, read ReadPart) bool {
	var taken [4]uint64
	var first Part
	for j := range s.pieces {
		q, ok := read(s.bytesOf(&s.pieces[j]), variant)
		if j == 0 {
			first = q
		}
		if !ok || q.Total != first.Total || q.Total > 0 && q.Index >= q.Total || q.Size != first.Size || q.Index < 0 || q.Index > 255 || taken[q.Index>>6]>>(q.Index&63)&1 != 0 {
			return false
		}
		taken[q.Index>>6] |= 1 << (q.Index & 63)
	}
	return true
}
