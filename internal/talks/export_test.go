package talks

// The limits, and what is kept, for tests.
const (
	MaxTalks = maxTalks
	AllBytes = allBytes
	Room     = ringBytes
)

// Kept returns the numbers of conversations and of their bytes.
func (t *Talks) Kept() (conversations, size int) {
	for _, k := range t.talks {
		for _, m := range k.messages {
			size += len(m.data)
		}
	}
	return len(t.talks), size
}
