package capture

import (
	"cmp"
	"errors"
	"io/fs"
	"net"
	"slices"
	"time"

	"golang.org/x/net/bpf"

	"github.com/qdissect/qdissect/internal/nettext"
)

// ErrQuiet is returned by [Live.Next] when no frame has come for [QuietTime]. The caller
// can do work that depends on the clock, and then call Next again.
var ErrQuiet = errors.New("no frame has come")

// QuietTime is how long [Live.Next] waits for a frame.
const QuietTime = 20 * time.Millisecond

// LateTime is the longest time that a frame stays in a buffer of the kernel, or waits for
// frames of other interfaces, before [Live.Next] returns it, on a machine that is not
// overloaded.
const LateTime = 100 * time.Millisecond

// DefaultRing is the size of the kernel's buffer for frames, per interface: about half a
// second of 300,000 small frames per second.
const DefaultRing = 32 << 20

// AnyInterface means all interfaces, also those that appear later. Only Linux supports it.
const AnyInterface = "any"

// LiveOptions configure a live capture.
type LiveOptions struct {
	// Interfaces are their names.
	Interfaces []string
	// Namespace is the network namespace they are in: the number of a process, a name of
	// ip netns, or a path; "" is that of the program. Only Linux has others.
	Namespace string
	// Promiscuous also captures frames that are not for this host.
	Promiscuous bool
	// Ring is the size of the kernel's buffer in bytes, 0 for DefaultRing.
	Ring int
	// Filter returns the program that selects frames of a link type and returns the number
	// of bytes to keep. Systems that cannot give a program to the kernel use Matcher and
	// Snap, the number of bytes to keep, or 0 for all.
	Filter  func(linkType uint16) ([]bpf.RawInstruction, error)
	Matcher func(linkType uint16) (func(data []byte, length int) bool, error)
	Snap    int
}

// An Interface is a network interface that frames can be captured from.
type Interface struct {
	Name string
	// Title is a description by the system, "" if there is none.
	Title string
	// LinkType is the link type of its frames. Known is false if the link type is not
	// known, or only after the capture started.
	LinkType  uint16
	Known     bool
	Up        bool
	Addresses []string
}

// A device captures the frames of one interface, or of all.
type device interface {
	// next fills all fields of f except Number, or returns ErrQuiet. With ErrQuiet, if it
	// skipped frames, it sets f.Time to the time of the last one: no older frame will
	// come. Otherwise it does not change f.
	next(f *Frame) error
	// interfaces returns the interfaces that frames have come from or may come from, at
	// least one.
	interfaces() []Interface
	// counts returns the numbers of frames received and lost since the start.
	counts() (received, dropped uint64)
	close() error
}

// Live is the [Source] of frames on interfaces. It must not be used by several goroutines
// at once.
type Live struct {
	devices []device
	names   []string
	ns      *namespace
	merge   *merge // nil for a single device
	frames  uint64
	seen    []Interface // as of the last frame
	began   time.Time
	asked   time.Time // start of the last wait: the next one begins later
	reached time.Time // see Complete
	err     error
}

// An InterfaceError is an error of one interface, or of a network namespace. errors.Is finds [fs.ErrPermission] if
// privileges are missing, and [fs.ErrNotExist] if there is no such interface.
type InterfaceError struct {
	Interface string
	Err       error
}

func (e *InterfaceError) Error() string { return e.Interface + ": " + e.Err.Error() }

// Unwrap returns the cause.
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

// Is makes errors.Is match fs.ErrNotExist, whose own text is about files.
func (noInterface) Is(target error) bool { return target == fs.ErrNotExist }

// enter opens a network namespace.
func enter(name string) (*namespace, error) {
	ns, err := openNamespace(name)
	if err != nil {
		return nil, &InterfaceError{"network namespace " + name, err}
	}
	return ns, nil
}

// OpenLive starts a capture. Frames that passed before it returns are dropped. Errors of
// an interface and of the network namespace are of type [*InterfaceError].
func OpenLive(o LiveOptions) (*Live, error) {
	if len(o.Interfaces) == 0 {
		return nil, errors.New("no interface given")
	}
	for i, name := range o.Interfaces {
		// Every frame would be captured twice.
		switch {
		case name == AnyInterface && len(o.Interfaces) > 1:
			return nil, &InterfaceError{name, errors.New("all interfaces are captured from, no others can be named")}
		case slices.Contains(o.Interfaces[:i], name):
			return nil, &InterfaceError{name, errors.New("the interface is named twice")}
		}
	}
	o.Ring = cmp.Or(max(o.Ring, 0), DefaultRing)
	ns, err := enter(o.Namespace)
	if err != nil {
		return nil, err
	}
	l := &Live{names: o.Interfaces, ns: ns, began: time.Now()}
	l.asked = l.began
	for _, name := range o.Interfaces {
		var d device
		err := ns.do(func() (err error) {
			d, err = openDevice(name, &o, ns)
			return err
		})
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

// Next fills f with the next frame. It returns [ErrQuiet] if none has come for
// [QuietTime]. Any other error ends the capture and is an [*InterfaceError].
func (l *Live) Next(f *Frame) error {
	if l.err != nil {
		return l.err
	}
	from := 0
	var err error
	if l.merge != nil {
		from, err = l.merge.next(f)
	} else {
		f.Time = 0
		err = l.devices[0].next(f)
	}
	switch err {
	case nil:
		l.frames++
		f.Number, f.Name = l.frames, l.nameOf(f.Interface)
	case ErrQuiet:
		if l.merge == nil {
			l.reached, l.asked = silence(l.asked, f.Time.UTC(), LateTime)
		}
	default:
		err = &InterfaceError{l.names[from], err}
		l.err = err
	}
	return err
}

// nameOf returns the name of an interface.
func (l *Live) nameOf(number int) string {
	if number >= len(l.seen) { // a new one
		l.seen = l.Interfaces()
	}
	return l.seen[number].Name
}

// silence interprets ErrQuiet: all frames older than reached have been returned, provided
// the kernel holds none back longer than late. asked is the time before the wait began;
// skipped, if not zero, is the time of the last frame that the device dropped. now is the
// current time.
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

// Complete returns a time such that all older frames have been returned. It is valid after
// Next has returned [ErrQuiet], and may be zero. An interface that blocks delays it by a
// second at most.
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

// Interfaces returns the interfaces, by [Frame].Interface. With [AnyInterface], their
// number may grow with each call of Next.
func (l *Live) Interfaces() []Interface {
	if l.merge != nil {
		return l.merge.interfaces()
	}
	return l.devices[0].interfaces()
}

// Began returns the start of the capture. No frame is older.
func (l *Live) Began() time.Time { return l.began }

// Counts returns the number of frames received, and the number of those that were lost
// because the kernel's buffer was full.
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
		return nil // a goroutine is still reading from them
	}
	errs := nettext.Each(l.devices, device.close)
	l.devices = l.devices[:0:0]
	l.ns.close()
	l.ns = nil
	return errors.Join(errs...)
}

// Interfaces returns the interfaces of this machine, in a network namespace as in
// [LiveOptions].
func Interfaces(namespace string) (list []Interface, err error) {
	ns, err := enter(namespace)
	if err != nil {
		return nil, err
	}
	defer ns.close()
	err = ns.do(func() error {
		list, err = listDevices()
		return err
	})
	return list, err
}

// interfaceByName returns an interface that exists and is up.
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

// listNet returns the interfaces that package net knows.
func listNet() ([]Interface, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []Interface
	for _, n := range list {
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
