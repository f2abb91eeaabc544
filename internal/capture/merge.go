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
	err     error
	spent   *parcel // the last frame of it has been taken
	spare   chan *parcel
}

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

// The size of a parcel.
const (
	parcelFrames = 512
	parcelBytes  = 256 << 10
)

func newMerge(devices []device) *merge {
	m := &merge{
		devices: devices, lanes: make([]lane, len(devices)), offsets: make([]map[int]int, len(devices)),
		ready: make(chan handed, 2*len(devices)), quit: make(chan struct{}),
		timer: time.NewTimer(0),
	}
	now := time.Now()
	for i, d := range devices {
		m.offsets[i] = make(map[int]int)
		for k, in := range d.interfaces() {
			m.offsets[i][k] = len(m.list)
			m.list = append(m.list, in)
		}
		l := &m.lanes[i]
		l.until = now
		l.spare = make(chan *parcel, 3)
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
		p.frames, p.bytes, p.err = p.frames[:0], p.bytes[:0], nil
		for len(p.frames) < parcelFrames && len(p.bytes) < parcelBytes {
			if p.err = m.devices[i].next(&f); p.err != nil {
				break
			}
			start := len(p.bytes)
			p.bytes = append(p.bytes, f.Data...)
			f.Data = p.bytes[start:len(p.bytes):len(p.bytes)]
			f.Interface = m.number(i, f.Interface)
			p.frames = append(p.frames, f)
			p.until = f.Time
		}
		if p.err == ErrQuiet {
			// What the kernel still holds of this device is no older than
			// a block that it has not handed over.
			p.until = time.Now().Add(-LateTime / 2)
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
	armed := false
	for {
		i := m.oldest()
		for k := range m.lanes {
			// What others have had until then comes first.
			if l := &m.lanes[k]; l.err != nil && l.first() == nil && (i < 0 || l.until.Before(m.lanes[i].first().Time)) {
				return k, l.err
			}
		}
		if i >= 0 {
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
			return 0, ErrQuiet
		}
	}
}

// take puts a parcel into its lane.
func (m *merge) take(h handed) {
	l := &m.lanes[h.lane]
	l.until, l.err = h.until, h.err
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
	if best < 0 {
		return -1
	}
	at := m.lanes[best].first().Time
	for i := range m.lanes {
		if l := &m.lanes[i]; l.first() == nil && l.err == nil && l.until.Before(at) {
			return -1
		}
	}
	return best
}

// stop ends the goroutines.
func (m *merge) stop() {
	close(m.quit)
	m.running.Wait()
}
