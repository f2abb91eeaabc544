package capture

import (
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gopacket/gopacket/afpacket"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The ring consists of blocks. The kernel hands a block over when it is full, or after
// blockTime.
const (
	blockSize = 1 << 20
	blockTime = QuietTime
	ringFrame = 2 << 10 // required by the kernel; frames may be longer
)

// ring is an AF_PACKET socket with a ring of TPACKET_V3.
type ring struct {
	packets *afpacket.TPacket
	name    string
	link    uint16
	all     bool // all interfaces
	ns      *namespace
	began   time.Time
	settled bool // no more frames from before the filter was set
	list    []Interface
	numbers map[int]int // from the system's number to the place in list
	broke   error       // ends the capture once the ring is empty
}

func openDevice(name string, o *LiveOptions, ns *namespace) (device, error) {
	r := &ring{name: name, ns: ns, all: name == AnyInterface, numbers: make(map[int]int)}
	opts := []any{
		afpacket.TPacketVersion3, afpacket.SocketRaw,
		afpacket.OptFrameSize(ringFrame), afpacket.OptBlockSize(blockSize), afpacket.OptNumBlocks(max(2, o.Ring/blockSize)),
		afpacket.OptBlockTimeout(blockTime), afpacket.OptPollTimeout(QuietTime), afpacket.OptAddVLANHeader(true),
	}
	var program []bpf.RawInstruction
	var err error
	if r.all {
		r.link = linkEthernet
		r.list = []Interface{{Name: AnyInterface, LinkType: linkEthernet, Known: true, Up: true}}
		r.numbers[0] = 0
		program, err = filterAll(o.Filter)
	} else {
		var i *net.Interface
		if i, err = interfaceByName(name); err != nil {
			return nil, err
		}
		if r.link, err = linkOf(name); err != nil {
			return nil, err
		}
		r.list = []Interface{{Name: name, LinkType: r.link, Known: true, Up: true}}
		r.numbers[i.Index] = 0
		opts = append(opts, afpacket.OptInterface(name))
		if program, err = o.Filter(r.link); err == nil && i.Flags&net.FlagLoopback != 0 {
			program, err = assemble(append(dropSent(), raw(program)...))
		}
	}
	if err != nil {
		return nil, err
	}
	if r.packets, err = afpacket.NewTPacket(opts...); err != nil {
		return nil, err
	}
	if err = r.packets.SetBPF(program); err == nil && o.Promiscuous && !r.all {
		err = r.packets.SetPromiscuous(true)
	}
	if err != nil {
		r.packets.Close()
		return nil, err
	}
	r.began = time.Now()
	return r, nil
}

func (r *ring) next(f *Frame) error {
	var skipping time.Time // since when
	for {
		data, info, err := r.packets.ZeroCopyReadPacketData()
		switch {
		case err == afpacket.ErrTimeout:
			r.settled = true
			return ErrQuiet
		case err == afpacket.ErrPoll:
			if r.broke == nil {
				// Frames from before the error may be in a block that the kernel hands
				// over later.
				r.broke = r.broken()
				time.Sleep(holdTime)
				continue
			}
			return r.broke
		case err != nil:
			return err
		}
		if !r.settled {
			// Before the filter is set, the socket receives every frame.
			if info.Timestamp.Before(r.began) && time.Since(r.began) < time.Second {
				continue
			}
			r.settled = true
		}
		number, ok := r.numbers[info.InterfaceIndex]
		if !ok {
			number = r.discover(info.InterfaceIndex)
		}
		i := &r.list[number]
		if !i.Known {
			if skipping.IsZero() {
				skipping = time.Now()
			} else if time.Since(skipping) >= QuietTime {
				f.Time = StampOf(info.Timestamp)
				return ErrQuiet
			}
			continue
		}
		*f = Frame{Time: StampOf(info.Timestamp), LinkType: i.LinkType, Data: data, Length: info.Length, Interface: number}
		return nil
	}
}

// discover adds a new interface. If its hardware type is unknown, it has no link type.
func (r *ring) discover(index int) int {
	entry := Interface{Name: fmt.Sprintf("interface %d", index), Up: true}
	_ = r.ns.do(func() error { // an error leaves the number
		i, err := net.InterfaceByIndex(index)
		if err == nil {
			entry.Name = i.Name
			entry.LinkType, err = linkOf(i.Name)
			entry.Known = err == nil
		}
		return err
	})
	r.list = append(r.list, entry)
	r.numbers[index] = len(r.list) - 1
	return len(r.list) - 1
}

// broken returns the reason for an error of the socket, which the system does not state.
func (r *ring) broken() error {
	err := r.ns.do(func() error {
		_, err := net.InterfaceByName(r.name)
		return err
	})
	switch {
	case r.all:
		return afpacket.ErrPoll
	case err != nil:
		return errGone
	}
	return errWentDown // or it is up again, but the socket has failed
}

func (r *ring) interfaces() []Interface { return r.list }

func (r *ring) counts() (received, dropped uint64) {
	_, s, err := r.packets.SocketStats()
	if err != nil {
		return 0, 0
	}
	// The kernel's number of received packets includes the dropped ones.
	return uint64(s.Packets()), uint64(s.Drops())
}

func (r *ring) close() error {
	r.packets.Close()
	return nil
}

// linkOf returns the link type of an interface.
func linkOf(name string) (uint16, error) {
	typ, err := hardware(name)
	if err != nil {
		return 0, err
	}
	link, ok := linkOfHardware[typ]
	if !ok {
		return 0, fmt.Errorf("frames of hardware type %d are not known", typ)
	}
	return link, nil
}

// linkOfHardware maps the hardware types of <linux/if_arp.h> to link types, for sockets
// that return frames with the link-layer header.
var linkOfHardware = map[uint16]uint16{
	unix.ARPHRD_ETHER:     linkEthernet,
	unix.ARPHRD_LOOPBACK:  linkEthernet,
	unix.ARPHRD_NONE:      linkRaw, // tun, WireGuard
	unix.ARPHRD_RAWIP:     linkRaw,
	unix.ARPHRD_PPP:       linkRaw,
	unix.ARPHRD_TUNNEL:    linkRaw,
	unix.ARPHRD_TUNNEL6:   linkRaw,
	unix.ARPHRD_SIT:       linkRaw,
	unix.ARPHRD_IPGRE:     linkRaw,
	unix.ARPHRD_IP6GRE:    linkRaw,
	unix.ARPHRD_VOID:      linkRaw,
	unix.ARPHRD_RAWHDLC:   linkRaw,
	unix.ARPHRD_IPDDP:     linkRaw,
	unix.ARPHRD_IEEE80211: 105,
}

const (
	linkEthernet = 1
	linkRaw      = 101
)

// hardware returns the hardware type of an interface.
func hardware(name string) (uint16, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFHWADDR, req); err != nil {
		return 0, err
	}
	return req.Uint16(), nil // the family of the address that is returned
}

// dropSent is the start of a program for the loopback interface, where the kernel shows
// every frame twice: when it is sent and when it is received.
func dropSent() []bpf.Instruction {
	return []bpf.Instruction{bpf.LoadExtension{Num: bpf.ExtType}, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.PACKET_OUTGOING, SkipTrue: 1}, bpf.RetConstant{}}
}

// filterAll returns the program for all interfaces. It drops sent frames on the loopback
// interface and then applies the program of the interface's link type.
func filterAll(filter func(uint16) ([]bpf.RawInstruction, error)) ([]bpf.RawInstruction, error) {
	var program []bpf.Instruction
	if lo := loopback(); lo > 0 {
		drop := dropSent()
		program = append(program, bpf.LoadExtension{Num: bpf.ExtInterfaceIndex},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(lo), SkipTrue: uint8(len(drop))})
		program = append(program, drop...)
	}
	ethernet, err := filter(linkEthernet)
	if err != nil {
		return nil, err
	}
	bare, err := filter(linkRaw)
	if err != nil {
		return nil, err
	}
	program = append(program, bpf.LoadExtension{Num: bpf.ExtLinkLayerType},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ARPHRD_ETHER, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ARPHRD_LOOPBACK, SkipTrue: 1},
		bpf.Jump{Skip: uint32(len(ethernet))})
	program = append(program, raw(ethernet)...)
	return assemble(append(program, raw(bare)...))
}

// loopback returns the index of the loopback interface, 0 if there is none.
func loopback() int {
	list, _ := net.Interfaces() // of an error, none
	if i := slices.IndexFunc(list, func(i net.Interface) bool { return i.Flags&net.FlagLoopback != 0 }); i >= 0 {
		return list[i].Index
	}
	return 0
}

func raw(program []bpf.RawInstruction) []bpf.Instruction {
	list := make([]bpf.Instruction, len(program))
	for i, in := range program {
		list[i] = in
	}
	return list
}

// maxProgram is the kernel's limit of instructions (BPF_MAXINSNS).
const maxProgram = 4096

func assemble(program []bpf.Instruction) ([]bpf.RawInstruction, error) {
	if len(program) > min(maxProgram, math.MaxUint16) {
		return nil, errors.New("the filter is too long for the kernel")
	}
	return bpf.Assemble(program)
}

func listDevices() ([]Interface, error) {
	list, err := listNet()
	if err != nil {
		return nil, err
	}
	for i := range list {
		if link, err := linkOf(list[i].Name); err == nil {
			list[i].LinkType, list[i].Known = link, true
		}
	}
	return append(list, Interface{Name: AnyInterface, Title: "all interfaces", Up: true}), nil
}

// namespace is a network namespace. A nil one is that of the program. A thread stays in it, because
// to enter it needs privileges, which the program gives up.
type namespace struct {
	calls chan func()
	over  chan struct{}
}

// openNamespace finds a network namespace: that of a process by its number, one of
// ip netns by its name, or a file such as /proc/1234/ns/net. "" is that of the program.
func openNamespace(name string) (*namespace, error) {
	if name == "" {
		return nil, nil
	}
	path, missing := "/run/netns/"+name, errors.New("no such name; ip netns lists them, and processes have numbers")
	switch {
	case name == "0":
		return nil, errors.New("0 is the process of a container that is not running")
	case strings.Trim(name, "0123456789") == "":
		path, missing = "/proc/"+name+"/ns/net", errors.New("no such process")
	case strings.Contains(name, "/"):
		path, missing = name, errors.New("no such file")
	case name == "." || name == "..":
		return nil, missing
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH), errors.Is(err, unix.ENAMETOOLONG):
		return nil, missing
	case err != nil:
		return nil, err
	}
	defer unix.Close(fd)
	n := &namespace{make(chan func()), make(chan struct{})}
	entered := make(chan error)
	go n.serve(fd, entered)
	if err = <-entered; errors.Is(err, unix.EINVAL) {
		err = errors.New("not a network namespace")
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// serve calls functions on a thread that is in the namespace. The thread ends with it, since it is never unlocked.
func (n *namespace) serve(fd int, entered chan<- error) {
	runtime.LockOSThread()
	err := unix.Setns(fd, unix.CLONE_NEWNET)
	entered <- err
	for err == nil {
		select {
		case f := <-n.calls:
			f()
		case <-n.over:
			return
		}
	}
}

// do calls f on the thread that is in the namespace.
func (n *namespace) do(f func() error) (err error) {
	if n == nil {
		return f()
	}
	done := make(chan error, 1)
	select {
	case n.calls <- func() { done <- f() }:
		return <-done
	case <-n.over:
		return net.ErrClosed
	}
}

func (n *namespace) close() {
	if n != nil {
		close(n.over)
	}
}
