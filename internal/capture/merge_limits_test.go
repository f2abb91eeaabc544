package capture

import (
	"sync/atomic"
	"testing"
	"time"
)

// endless returns frames of a size without end; silent returns nothing until it is closed.
type endless struct {
	data  []byte
	taken atomic.Int64
}

func (d *endless) next(f *Frame) error {
	d.taken.Add(1)
	*f = Frame{LinkType: 1, Data: d.data, Length: len(d.data)}
	return nil
}

func (d *endless) interfaces() []Interface            { return []Interface{{Name: "endless"}} }
func (d *endless) counts() (received, dropped uint64) { return 0, 0 }
func (d *endless) close() error                       { return nil }

type silent struct {
	endless
	closed chan struct{}
}

func (d *silent) next(*Frame) error {
	<-d.closed
	return ErrQuiet
}

// TestMergeLimits: the limits of docs/limits.md for several interfaces. At the limit, an
// interface is no longer read.
func TestMergeLimits(t *testing.T) {
	for size, most := range map[int]int64{60: 6 * 512, 1 << 10: 6 * 256, MaxFrame: 6 * 1, MaxFrame / 2: 6 * 2} {
		one := &endless{data: make([]byte, size)}
		other := &silent{closed: make(chan struct{})}
		m := newMerge([]device{one, other})
		for began := time.Now(); one.taken.Load() < most && time.Since(began) < 2*time.Minute; {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond) // for more, if there is room
		if taken := one.taken.Load(); taken != most {
			t.Errorf("%d frames of %d bytes are taken, %d should be", taken, size, most)
		}
		close(other.closed)
		m.stop()
		for i := range m.lanes {
			for len(m.lanes[i].spare) > 0 {
				if p := <-m.lanes[i].spare; cap(p.bytes) > 512<<10 {
					t.Errorf("a parcel has room for %d bytes", cap(p.bytes))
				}
			}
		}
	}
}
