package capture

import (
	"errors"
	"io/fs"
	"net"
	"slices"
	"time"

	"golang.org/x/net/bpf"
)

// ErrQuiet is what [Live.Next] returns when no frame has come for [QuietTime].
// It is the occasion to do what the clock demands; the next call goes on.
var ErrQuiet = errors.New("no frame has come")

// QuietTime is how long [Live.Next] waits for a frame.
const QuietTime = 20 * time.Millisecond

// LateTime is how long a frame may lie in a buffer of the kernel, or wait for
// those of other interfaces, before [Live.Next] returns it, on a machine that
// is not too busy.
const LateTime = 100 * time.Millisecond

// DefaultRing is the size of the buffer in which the kernel puts frames, per
// interface: about half a second of 300,000 small frames a second.
const DefaultRing = 32 << 20

// AnyInterface stands for all interfaces, also those that appear later. Only
// Linux knows it.
const AnyInterface = "any"

// LiveOptions say what to capture.
type LiveOptions struct {
	// Interfaces are their names.
	Interfaces []string
	// Promiscuous asks for frames that are not for this host as well.
	Promiscuous bool
	// Ring is the size of the kernel's buffer in bytes, 0 for DefaultRing.
	Ring int
	// Filter returns the program that chooses frames of a link type and says
	// how much of them to keep. Matcher and Snap, the number of bytes or 0
	// for all, are for systems that have no way to give it to the kernel.
	Filter  func(linkType uint16) ([]bpf.RawInstruction, error)
	Matcher func(linkType uint16) (func(data []byte, length int) bool, error)
	Snap    int
}

// An Interface is one that can be captured from.
type Interface struct {
	Name string
	// Title is what the system calls it besides, "" for nothing.
	Title string
	// LinkType is the kind of its frames; false if it is not known, or not
	// before the capture.
	LinkType  uint16
	Known     bool
	Up        bool
	Addresses []string
}

// A device gives the frames of one interface.
type device interface {
	// next fills all fields of f but the number, or returns ErrQuiet. If it
	// has left frames out meanwhile, f then has the time of the last of them:
	// older ones are not to come. It leaves f alone otherwise.
	next(f *Frame) error
	// interfaces are those that have given frames, or will: at least one.
	interfaces() []Interface
	// counts are what came and what was lost since the beginning.
	counts() (received, dropped uint64)
	close() error
}

// Live is the [Source] of what passes on interfaces. It must not be used by
// several goroutines at once.
type Live struct {
	devices []device
	names   []string
	merge   *merge // with more than one
	frames  uint64
	seen    []Interface // as of the last frame
	began   time.Time
	asked   time.Time // the call that comes next began later
	reached time.Time // see Complete
	err     error
}

// An InterfaceError tells what is wrong with an interface. errors.Is finds
// [fs.ErrPermission] in it if rights are missing, and [fs.ErrNotExist] if there
// is no such interface.
type InterfaceError struct {
	Interface string
	Err       error
}

func (e *InterfaceError) Error() string { return e.Interface + ": " + e.Err.Error() }

// Unwrap returns what happened.
func (e *InterfaceError) Unwrap() error { return e.Err }

// Errors of interfaces.
var (
	errNoInterface = noInterface{}
	errDown        = errors.New("the interface is down")
	errWentDown    = errors.New("the interface went down")
	errGone        = errors.New("the interface is gone")
)

// noInterface is the error of a name that no interface has.
type noInterface struct{}

func (noInterface) Error() string { return "no such interface" }

// Is makes errors.Is find fs.ErrNotExist, whose words are about files.
func (noInterface) Is(target error) bool { return target == fs.ErrNotExist }

// OpenLive begins to capture. Frames that were on their way before it returns
// are left out. The error is an [*InterfaceError].
func OpenLive(o LiveOptions) (*Live, error) {
	if len(o.Interfaces) == 0 {
		return nil, errors.New("no interface given")
	}
	for i, name := range o.Interfaces {
		// Every frame would come twice, and be taken for a retransmission.
		switch {
		case name == AnyInterface && len(o.Interfaces) > 1:
			return nil, &InterfaceError{name, errors.New("all interfaces are captured from, no others can be named")}
		case slices.Contains(o.Interfaces[:i], name):
			return nil, &InterfaceError{name, errors.New("the interface is named twice")}
		}
	}
	if o.Ring <= 0 {
		o.Ring = DefaultRing
	}
	l := &Live{names: o.Interfaces, began: time.Now()}
	l.asked = l.began
	for _, name := range o.Interfaces {
		d, err := openDevice(name, &o)
		if err != nil {
			l.Close()
			return nil, &InterfaceError{name, err}
		}
		l.devices = append(l.devices, d)
	}
	if len(l.devices) > 1 {
		l.merge = newMerge(l.devices)
	}
	return l, nil
}

// Next fills f with the next frame. It returns [ErrQuiet] when none has come
// for a while. Any other error ends the capture: an interface that went away is
// an [*InterfaceError].
func (l *Live) Next(f *Frame) error {
	if l.err != nil {
		return l.err
	}
	from := 0
	var err error
	if l.merge != nil {
		from, err = l.merge.next(f)
	} else {
		f.Time = time.Time{}
		err = l.devices[0].next(f)
	}
	switch err {
	case nil:
		l.frames++
		f.Number, f.Name = l.frames, l.nameOf(f.Interface)
	case ErrQuiet:
		if l.merge == nil {
			l.reached, l.asked = silence(l.asked, f.Time, LateTime)
		}
	default:
		err = &InterfaceError{l.names[from], err}
		l.err = err
	}
	return err
}

// nameOf returns the name of an interface.
func (l *Live) nameOf(number int) string {
	if number >= len(l.seen) { // one that appeared since
		l.seen = l.Interfaces()
	}
	return l.seen[number].Name
}

// silence says what ErrQuiet means: all frames have come that are older than
// reached, if the kernel holds none back longer than late. The device was asked
// at some time after asked, and has left out frames up to skipped, if that is
// not zero. It may be a while ago that it answered.
func silence(asked, skipped time.Time, late time.Duration) (reached, now time.Time) {
	now = time.Now()
	reached = asked.Add(QuietTime)
	if now.Before(reached) {
		reached = now
	}
	reached = reached.Add(-late)
	if !skipped.IsZero() && skipped.Before(reached) {
		reached = skipped
	}
	return reached, now
}

// Complete returns a time: whatever is older has been returned. It is for when
// Next has returned [ErrQuiet], and can be zero then. An interface that does not
// let itself be read does not hold it back for more than a second.
func (l *Live) Complete() time.Time {
	if l.merge != nil {
		return l.merge.complete()
	}
	return l.reached
}

// LinkType returns the link type of the first interface.
func (l *Live) LinkType() (uint16, bool) {
	i := l.devices[0].interfaces()[0]
	return i.LinkType, i.Known
}

// Interfaces returns the interfaces that [Frame].Interface counts. With
// [AnyInterface], there can be more after each call of Next.
func (l *Live) Interfaces() []Interface {
	if l.merge != nil {
		return l.merge.interfaces()
	}
	return l.devices[0].interfaces()
}

// Began returns a time that no frame is older than.
func (l *Live) Began() time.Time { return l.began }

// Counts returns how many frames came and how many of them were lost because
// nobody took them out of the kernel's buffer in time.
func (l *Live) Counts() (received, dropped uint64) {
	for _, d := range l.devices {
		r, n := d.counts()
		received += r
		dropped += n
	}
	return received, dropped
}

// Close ends the capture.
func (l *Live) Close() error {
	l.err = fs.ErrClosed
	if l.merge != nil && !l.merge.stop() {
		return nil // somebody is still reading from them
	}
	var errs []error
	for _, d := range l.devices {
		errs = append(errs, d.close())
	}
	l.devices = l.devices[:0:0]
	return errors.Join(errs...)
}

// Interfaces lists the interfaces of this machine.
func Interfaces() ([]Interface, error) { return listDevices() }

// interfaceByName looks an interface up and says why if that fails.
func interfaceByName(name string) (*net.Interface, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil, errNoInterface
	}
	if i.Flags&net.FlagUp == 0 {
		return nil, errDown
	}
	return i, nil
}

// listNet lists what the net package knows.
func listNet() ([]Interface, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []Interface
	for i := range list {
		n := &list[i]
		entry := Interface{Name: n.Name, Up: n.Flags&net.FlagUp != 0}
		if addrs, err := n.Addrs(); err == nil {
			for _, a := range addrs {
				entry.Addresses = append(entry.Addresses, a.String())
			}
		}
		out = append(out, entry)
	}
	return out, nil
}
