// Package live brings what sensors count to a view, and packets to whoever asks for them.
//
// A sensor publishes the units that its qdissect keeps, one for each five minutes of the last hour, each again and again while it
// grows. A unit replaces the one before it in its place in the stream, so that a sensor never has more than its places, and what
// is lost or comes twice changes nothing.
package live

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/qdissect/qdissect/internal/unitfile"
)

// Stream is the name of the stream of all sensors.
const Stream = "qdissect-sensors"

// The headers of a message: the sensor's time when it was sent, and the slot of the counts.
const (
	sentHeader = "Qdissect-Sent"
	slotHeader = "Qdissect-Slot"
)

// StreamMiB is the size of the stream. It holds the units of more than 2000 sensors, however large these are.
const StreamMiB = 2048

// maxStatus is the size of the status of a sensor.
const maxStatus = 4 << 10

// ValidName reports whether a sensor may have a name.
func ValidName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

func countsSubject(name string, place int) string {
	return fmt.Sprintf("qdissect.sensor.%s.counts.%d", name, place)
}

func statusSubject(name string) string { return fmt.Sprintf("qdissect.sensor.%s.status", name) }

func fetchSubject(name string) string { return "qdissect.fetch." + name }

// slotOf returns the slot of a time.
func slotOf(t time.Time) time.Time { return t.UTC().Truncate(unitfile.SlotTime) }

// placeOf returns the place of a slot in the stream.
func placeOf(slot time.Time) int {
	return int(slot.Unix() / int64(unitfile.SlotTime/time.Second) % unitfile.Slots)
}

// parseSubject returns the sensor and the place of counts, or -1 for a status.
func parseSubject(s string) (name string, place int, ok bool) {
	list := strings.Split(s, ".")
	switch {
	case len(list) < 4 || !ValidName(list[2]):
		return "", 0, false
	case len(list) == 4 && list[3] == "status":
		return list[2], -1, true
	case len(list) != 5 || list[3] != "counts":
		return "", 0, false
	}
	n, err := strconv.Atoi(list[4])
	return list[2], n, err == nil && n >= 0 && n < unitfile.Slots
}

// MakeStream makes the stream of the sensors, or changes it to what it should be. Each sensor has a message in each of its
// places, and no more.
func MakeStream(ctx context.Context, conn *nats.Conn, bytes int64) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	c := jetstream.StreamConfig{
		Name: Stream, Description: "the last hour of all sensors of qdissect", Subjects: []string{statusSubject("*")}, Storage: jetstream.FileStorage,
		MaxMsgsPerSubject: 1, MaxMsgSize: unitfile.SlotBytes + 1<<10, MaxAge: unitfile.Slots*unitfile.SlotTime + time.Minute, MaxBytes: bytes,
		Discard: jetstream.DiscardOld, Duplicates: 2 * time.Minute,
	}
	for i := range unitfile.Slots {
		c.Subjects = append(c.Subjects, countsSubject("*", i))
	}
	_, err = js.CreateOrUpdateStream(ctx, c)
	return err
}

// A Status is what a sensor says about itself.
type Status struct {
	Program  string    `json:"program"`
	Since    time.Time `json:"since"`    // the sensor was started
	Restarts int       `json:"restarts"` // of its qdissect
	Ended    string    `json:"ended,omitempty"`
	EndedAt  time.Time `json:"ended_at,omitzero"`
	Dropped  int       `json:"dropped"`       // units that were removed before the server had them
	Ring     time.Time `json:"ring,omitzero"` // the packets reach back to this time, or further
}

var errName = errors.New("the name of a sensor has 1 to 64 characters: a to z, digits, - and _")
