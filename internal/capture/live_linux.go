package capture

import (
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/gopacket/gopacket/afpacket"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The ring: blocks that the kernel fills and hands over when they are full, or
// after a while.
const (
	blockSize = 1 << 20
	blockTime = QuietTime
	ringFrame = 2 << 10 // the kernel wants a frame size; frames may be longer
)

// ring is an AF_PACKET socket with a ring of TPACKET_V3.
type ring struct {
	packets *afpacket.TPacket
	name    string
	link    uint16
	all     bool // all interfaces
	began   time.Time
	settled bool // no more frames from before the filter was set
	list    []Interface
	numbers map[int]int // from the system's number to the place in list
	lost    uint64      // of link types that nobody knows
	broke   error       // what ends the capture once all has been read
}

func openDevice(name string, o *LiveOptions) (device, error) {
	r := &ring{name: name, all: name == AnyInterface, numbers: make(map[int]int)}
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
				// What came before is in a block that the kernel does not
				// hand over at once.
				r.broke = r.broken()
				time.Sleep(holdTime)
				continue
			}
			return r.broke
		case err != nil:
			return err
		}
		if !r.settled {
			// Between the socket and its filter anything gets in.
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
			r.lost++
			if skipping.IsZero() {
				skipping = time.Now()
			} else if time.Since(skipping) >= QuietTime {
				f.Time = info.Timestamp.UTC()
				return ErrQuiet
			}
			continue
		}
		*f = Frame{Time: info.Timestamp.UTC(), LinkType: i.LinkType, Data: data, Length: info.Length, Interface: number}
		return nil
	}
}

// discover notes an interface that was not known before. One whose frames
// nobody can read has no link type.
func (r *ring) discover(index int) int {
	entry := Interface{Name: fmt.Sprintf("interface %d", index), Up: true}
	if i, err := net.InterfaceByIndex(index); err == nil {
		entry.Name = i.Name
		if entry.LinkType, err = linkOf(i.Name); err == nil {
			entry.Known = true
		}
	}
	r.list = append(r.list, entry)
	r.numbers[index] = len(r.list) - 1
	return len(r.list) - 1
}

// broken says why the socket has an error: the system tells no more than that.
func (r *ring) broken() error {
	i, err := net.InterfaceByName(r.name)
	switch {
	case r.all:
		return afpacket.ErrPoll
	case err != nil:
		return errGone
	case i.Flags&net.FlagUp == 0:
		return errWentDown
	}
	return errWentDown // and is up again, but the socket has been told
}

func (r *ring) interfaces() []Interface { return r.list }

func (r *ring) counts() (received, dropped uint64) {
	_, s, err := r.packets.SocketStats()
	if err != nil {
		return 0, 0
	}
	// The kernel counts what it lost among what came.
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

// linkOfHardware maps the hardware types of <linux/if_arp.h> to link types, for
// sockets that give frames with the header of the interface, if it has one.
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

// hardware asks for the hardware type of an interface.
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

// dropSent is the beginning of a program for the loopback interface, where
// every frame passes twice, once on its way out and once on its way in.
func dropSent() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtType},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.PACKET_OUTGOING, SkipTrue: 1},
		bpf.RetConstant{},
	}
}

// filterAll is the program for all interfaces at once: one copy of what passes
// on the loopback interface, and the program of the link type that the
// interface has.
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

// loopback returns the number of the loopback interface, 0 if there is none.
func loopback() int {
	list, err := net.Interfaces()
	if err != nil {
		return 0
	}
	for _, i := range list {
		if i.Flags&net.FlagLoopback != 0 {
			return i.Index
		}
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

// maxProgram is how many instructions the kernel takes (BPF_MAXINSNS).
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
