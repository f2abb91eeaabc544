package unitfile

import (
	"time"

	"github.com/qdissect/qdissect/internal/stats"
)

// A live capture has units for slots of time. A unit is written again and again while it grows; the newest ones are kept.
const (
	SlotTime  = 5 * time.Minute
	SlotEvery = 4 * time.Second
	// Slots reach back for an hour and a part of a slot.
	Slots = 13
	// SlotBytes is the largest size of the unit of a slot.
	SlotBytes = 64 << 10
)

// SlotFolder returns the name of the folder of a slot.
func SlotFolder(start time.Time) string { return start.UTC().Format(SlotLayout) }

// SlotLayout is the layout of the name.
const SlotLayout = "slot=2006-01-02T150405Z"

// SlotBounds bound what can be counted in a slot: requests are waited for, so that some were sent before.
func SlotBounds(start time.Time) *stats.Bounds {
	return &stats.Bounds{From: start.Add(-time.Minute).UnixNano(), To: start.Add(SlotTime + time.Minute).UnixNano(), Most: 1 << 44}
}
