package capture

import "time"

// A Window is a time span that depends on the first frame.
type Window struct {
	since, until time.Time // zero for none
	known        bool
}

// Has reports whether a time is in the window, which of returns for that of the first frame. Frames without a time are in it.
func (w *Window) Has(t time.Time, of func(first time.Time) (since, until time.Time)) bool {
	if t.IsZero() {
		return true
	}
	if !w.known {
		w.known = true
		w.since, w.until = of(t)
	}
	return !t.Before(w.since) && (w.until.IsZero() || t.Before(w.until))
}
