package streams

// Kept returns the number of bytes that s accounts for.
func (s *Streams) Kept() int { return s.bytes }
