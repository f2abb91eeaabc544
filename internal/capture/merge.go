package capture

import (
	"sync"
	"time"
)

// merge puts the frames of several devices into one order, that of their
// times. Each device has a goroutine, which copies frames into batches and says
// up to which time it has nothing more.
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

// A lane is what has come from one device and has not been taken.
type lane struct {
	waiting []*parcel // none of them is empty
	next    int       // in the first
	until   time.Time // nothing older will come
	err     error     // nothing at all will come
	silent  int       // how often nothing had been heard of it since the last time
	spent   *parcel   // the last frame of it has been taken
	spare   chan *parcel
}

// patience is how often QuietTime passes before a lane of which nothing is heard
// is not waited for any more. One that works is heard every time or two,
// whether frames come or not.
const patience = 50

// hangs tells whether the device seems to let its reader wait for ever.
func (l *lane) hangs() bool { return l.silent >= patience }

// first returns the oldest frame of the lane, nil if there is none.
func (l *lane) first() *Frame {
	if len(l.waiting) == 0 {
		return nil
	}
	return &l.waiting[0].frames[l.next]
}

// drop takes the oldest frame away. What a caller has of it is borrowed until
// the next call, so that its parcel is given back when the one behind it is.
func (l *lane) drop() {
	if l.next++; l.next < len(l.waiting[0].frames) {
		return
	}
	l.spent = l.waiting[0]
	copy(l.waiting, l.waiting[1:])
	l.waiting = l.waiting[:len(l.waiting)-1]
	l.next = 0
}

// A parcel is a number of frames with their bytes.
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

// The size of a parcel. What comes slowly does not wait until it is full: it also
// ends after QuietTime. The clock is looked at when as much as lookTime lies
// between frames.
const (
	parcelFrames = 512
	parcelBytes  = 256 << 10
	lookTime     = time.Millisecond
)

// parcels is how many a lane has: enough for the time that frames wait for those
// of other lanes, and few enough for what they may take of the memory.
const parcels = 6

// holdTime is how long the kernel may hold a frame back in a block that is not
// full; it is to hand it over after QuietTime.
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

// read takes frames from a device until it ends.
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
			f.Time = time.Time{}
			if p.err = m.devices[i].next(&f); p.err != nil {
				break
			}
			start := len(p.bytes)
			p.bytes = append(p.bytes, f.Data...)
			f.Data = p.bytes[start:len(p.bytes):len(p.bytes)]
			f.Interface = m.number(i, f.Interface)
			p.frames = append(p.frames, f)
			p.until = f.Time
			if f.Time.Sub(looked).Abs() >= lookTime {
				if looked = f.Time; time.Since(asked) >= QuietTime {
					break
				}
			}
		}
		if p.err == ErrQuiet {
			if reached, _ := silence(asked, f.Time, holdTime); reached.After(p.until) {
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

// number finds an interface of a device in the common list.
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

// next returns the oldest frame, when it is certain that it is the oldest, and
// which device an error is from.
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
				if l := &m.lanes[i]; l.first() == nil { // it has a parcel to fill
					l.silent++
				}
			}
			return 0, ErrQuiet
		}
	}
}

// take puts a parcel into its lane.
func (m *merge) take(h handed) {
	l := &m.lanes[h.lane]
	l.until, l.err, l.silent = h.until, h.err, 0
	if len(h.frames) == 0 {
		l.spare <- h.parcel
		return
	}
	l.waiting = append(l.waiting, h.parcel)
}

// oldest returns the lane with the oldest frame; -1 if there is none, or if
// another lane can still come up with an older one.
func (m *merge) oldest() int {
	best := -1
	for i := range m.lanes {
		if f := m.lanes[i].first(); f != nil && (best < 0 || f.Time.Before(m.lanes[best].first().Time)) {
			best = i
		}
	}
	if best >= 0 && m.awaited(m.lanes[best].first().Time) {
		return -1
	}
	return best
}

// awaited tells whether a lane may come up with a frame older than at. What is
// later than the clock is from before it was set back; it would be a long time
// before the lanes say that they have got there.
func (m *merge) awaited(at time.Time) bool {
	for i := range m.lanes {
		if l := &m.lanes[i]; l.first() == nil && l.err == nil && l.until.Before(at) && !l.hangs() {
			return !at.After(time.Now().Add(LateTime))
		}
	}
	return false
}

// ended returns the lane whose device ended first, if everything has been
// returned that came before, from all lanes; -1 otherwise.
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
		if f := m.lanes[i].first(); f != nil && !f.Time.After(until) {
			return -1
		}
	}
	if m.awaited(until) {
		return -1
	}
	return end
}

// complete returns a time: whatever is older has been returned, as far as the
// lanes that do not hang can tell.
func (m *merge) complete() time.Time {
	t := time.Now()
	for i := range m.lanes {
		l := &m.lanes[i]
		switch f := l.first(); {
		case f != nil:
			if f.Time.Before(t) {
				t = f.Time
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

// stop ends the goroutines. It returns false if one of them hangs.
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
