package capture

import (
	"sync"
	"time"
)

// merge merges the frames of several devices by time. Each device has a goroutine that
// copies frames into parcels and states the time up to which its frames are complete.
type merge struct {
	devices []device
	lanes   []lane
	ready   chan handed
	quit    chan struct{}
	running sync.WaitGroup
	offsets []map[int]int // of each device: its interfaces in the common list
	list    []Interface
	listed  sync.Mutex
	last    int // the lane of the frame that was returned
	timer   *time.Timer
}

// A lane is the queue of frames from one device.
type lane struct {
	waiting []*parcel // none is empty
	next    int       // index into the first
	until   time.Time // no older frame will come
	err     error     // no frame will come
	silent  int       // number of timeouts since its last parcel
	spent   *parcel   // its last frame has been returned
	spare   chan *parcel
}

// patience is the number of timeouts of QuietTime after which a silent lane is no longer
// waited for. A working device sends a parcel every one or two timeouts, with or without
// frames.
const patience = 50

// hangs reports whether the device seems to block forever.
func (l *lane) hangs() bool { return l.silent >= patience }

// first returns the oldest frame of the lane, nil if there is none.
func (l *lane) first() *Frame {
	if len(l.waiting) == 0 {
		return nil
	}
	return &l.waiting[0].frames[l.next]
}

// drop removes the oldest frame. The caller borrows the frame until the next call, so its
// parcel is returned only then.
func (l *lane) drop() {
	if l.next++; l.next < len(l.waiting[0].frames) {
		return
	}
	l.spent = l.waiting[0]
	copy(l.waiting, l.waiting[1:])
	l.waiting = l.waiting[:len(l.waiting)-1]
	l.next = 0
}

// A parcel is a batch of frames with their bytes.
type parcel struct {
	frames []Frame
	bytes  []byte
	until  time.Time
	err    error
}

type handed struct {
	lane int
	*parcel
}

// The limits of a parcel. It also ends after QuietTime, so that frames of slow traffic do
// not wait until it is full. The clock is read only if frames are at least lookTime apart.
const (
	parcelFrames = 512
	parcelBytes  = 256 << 10
	lookTime     = time.Millisecond
)

// parcels is the number of parcels per lane: enough for the time that frames wait for
// other lanes, and a bound on memory.
const parcels = 6

// holdTime is how long the kernel may keep a frame in a block that is not full. It should
// hand the block over after QuietTime.
const holdTime = LateTime / 2

func newMerge(devices []device) *merge {
	m := &merge{
		devices: devices, lanes: make([]lane, len(devices)), offsets: make([]map[int]int, len(devices)),
		ready: make(chan handed, parcels*len(devices)), quit: make(chan struct{}),
		timer: time.NewTimer(0),
	}
	for i, d := range devices {
		m.offsets[i] = make(map[int]int)
		for k, in := range d.interfaces() {
			m.offsets[i][k] = len(m.list)
			m.list = append(m.list, in)
		}
		l := &m.lanes[i]
		l.spare = make(chan *parcel, parcels)
		for range cap(l.spare) {
			l.spare <- &parcel{bytes: make([]byte, 0, parcelBytes+MaxFrame)}
		}
		m.running.Go(func() { m.read(i) })
	}
	return m
}

// read reads frames from a device until it fails.
func (m *merge) read(i int) {
	var f Frame
	for {
		var p *parcel
		select {
		case p = <-m.lanes[i].spare:
		case <-m.quit:
			return
		}
		p.frames, p.bytes, p.until, p.err = p.frames[:0], p.bytes[:0], time.Time{}, nil
		asked, looked := time.Now(), time.Time{}
		for len(p.frames) < parcelFrames && len(p.bytes) < parcelBytes {
			f.Time = 0
			if p.err = m.devices[i].next(&f); p.err != nil {
				break
			}
			start := len(p.bytes)
			p.bytes = append(p.bytes, f.Data...)
			f.Data = p.bytes[start:len(p.bytes):len(p.bytes)]
			f.Interface = m.number(i, f.Interface)
			p.frames = append(p.frames, f)
			p.until = f.Time.UTC()
			if p.until.Sub(looked).Abs() >= lookTime {
				if looked = p.until; time.Since(asked) >= QuietTime {
					break
				}
			}
		}
		if p.err == ErrQuiet {
			if reached, _ := silence(asked, f.Time.UTC(), holdTime); reached.After(p.until) {
				p.until = reached
			}
			p.err = nil
		}
		last := p.err != nil
		if last {
			p.until = time.Now()
		}
		select {
		case m.ready <- handed{i, p}:
		case <-m.quit:
			return
		}
		if last {
			return
		}
	}
}

// number returns the number of a device's interface in the common list.
func (m *merge) number(dev, local int) int {
	m.listed.Lock()
	defer m.listed.Unlock()
	n, ok := m.offsets[dev][local]
	if !ok {
		n = len(m.list)
		m.offsets[dev][local] = n
		m.list = append(m.list, m.devices[dev].interfaces()[local])
	}
	return n
}

func (m *merge) interfaces() []Interface {
	m.listed.Lock()
	defer m.listed.Unlock()
	return m.list[:len(m.list):len(m.list)]
}

// next returns the oldest frame, once no lane can have an older one. With an error it
// returns the number of the device.
func (m *merge) next(f *Frame) (int, error) {
	if l := &m.lanes[m.last]; l.spent != nil {
		l.spare <- l.spent
		l.spent = nil
	}
	for armed := false; ; {
		if k := m.ended(); k >= 0 {
			return k, m.lanes[k].err
		}
		if i := m.oldest(); i >= 0 {
			l := &m.lanes[i]
			*f = *l.first()
			l.drop()
			m.last = i
			return i, nil
		}
		if !armed {
			m.timer.Reset(QuietTime)
			armed = true
		}
		select {
		case h := <-m.ready:
			m.take(h)
		case <-m.timer.C:
			for len(m.ready) > 0 {
				m.take(<-m.ready)
			}
			for i := range m.lanes {
				if l := &m.lanes[i]; l.first() == nil { // it can fill a parcel
					l.silent++
				}
			}
			return 0, ErrQuiet
		}
	}
}

// take appends a parcel to its lane.
func (m *merge) take(h handed) {
	l := &m.lanes[h.lane]
	l.until, l.err, l.silent = h.until, h.err, 0
	if len(h.frames) == 0 {
		l.spare <- h.parcel
		return
	}
	l.waiting = append(l.waiting, h.parcel)
}

// oldest returns the lane with the oldest frame, -1 if there is none or another lane may
// still have an older one.
func (m *merge) oldest() int {
	best := -1
	for i := range m.lanes {
		if f := m.lanes[i].first(); f != nil && (best < 0 || f.Time < m.lanes[best].first().Time) {
			best = i
		}
	}
	if best >= 0 && m.awaited(m.lanes[best].first().Time.UTC()) {
		return -1
	}
	return best
}

// awaited reports whether a lane may still have a frame older than at. A frame from the
// future dates from before the clock was set back: nothing waits for it, because the lanes
// would take long to reach its time.
func (m *merge) awaited(at time.Time) bool {
	for i := range m.lanes {
		if l := &m.lanes[i]; l.first() == nil && l.err == nil && l.until.Before(at) && !l.hangs() {
			return !at.After(time.Now().Add(LateTime))
		}
	}
	return false
}

// ended returns the lane whose device failed first, once all frames from before the
// failure have been returned; -1 otherwise.
func (m *merge) ended() int {
	end := -1
	for i := range m.lanes {
		if l := &m.lanes[i]; l.err != nil && l.first() == nil && (end < 0 || l.until.Before(m.lanes[end].until)) {
			end = i
		}
	}
	if end < 0 {
		return -1
	}
	until := m.lanes[end].until
	for i := range m.lanes {
		if f := m.lanes[i].first(); f != nil && !f.Time.UTC().After(until) {
			return -1
		}
	}
	if m.awaited(until) {
		return -1
	}
	return end
}

// complete returns a time such that all older frames of the lanes that do not hang have
// been returned.
func (m *merge) complete() time.Time {
	t := time.Now()
	for i := range m.lanes {
		l := &m.lanes[i]
		switch f := l.first(); {
		case f != nil:
			if at := f.Time.UTC(); at.Before(t) {
				t = at
			}
		case l.err == nil && !l.hangs() && l.until.Before(t):
			t = l.until
		}
	}
	if t.IsZero() {
		return t
	}
	return t.Add(holdTime - LateTime)
}

// stop ends the goroutines. It reports false if one of them hangs.
func (m *merge) stop() bool {
	close(m.quit)
	ended := make(chan struct{})
	go func() {
		m.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-time.After(patience * QuietTime):
		return false
	}
}
