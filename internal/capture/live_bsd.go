//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"syscall"
	"time"

	"github.com/gopacket/gopacket/bsdbpf"
)

// sniffer reads /dev/bpf. gopacket's reader cannot set a kernel filter and does not count
// losses, so sniffer filters frames itself.
type sniffer struct {
	packets  *bsdbpf.BPFSniffer
	list     []Interface
	match    func([]byte, int) bool
	snap     int
	received uint64
}

func openDevice(name string, o *LiveOptions, _ *namespace) (device, error) {
	if name == AnyInterface {
		return nil, errors.New("only Linux can capture from all interfaces at once; name each with -i")
	}
	if _, err := interfaceByName(name); err != nil {
		return nil, err
	}
	link, err := datalink(name)
	if err != nil {
		return nil, err
	}
	s := &sniffer{list: []Interface{{Name: name, LinkType: link, Known: true, Up: true}}, snap: o.Snap}
	if s.match, err = o.Matcher(link); err != nil {
		return nil, err
	}
	wait := syscall.NsecToTimeval(int64(QuietTime))
	s.packets, err = sniff(name, &bsdbpf.Options{
		ReadBufLen: min(o.Ring, 512<<10), Timeout: &wait, Promisc: o.Promiscuous, Immediate: true, PreserveLinkAddr: true,
	})
	return s, err
}

// sniff opens the interface. gopacket panics if all devices are in use.
func sniff(name string, o *bsdbpf.Options) (s *bsdbpf.BPFSniffer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("no free /dev/bpf: %v", p)
		}
	}()
	return bsdbpf.NewBPFSniffer(name, o)
}

// datalink returns the link type of an interface. It fails if privileges are missing.
func datalink(name string) (uint16, error) {
	var fd int
	err := error(fs.ErrNotExist)
	for i := range 99 {
		if fd, err = syscall.Open(fmt.Sprintf("/dev/bpf%d", i), syscall.O_RDWR, 0); err != syscall.EBUSY {
			break
		}
	}
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd)
	if err := syscall.SetBpfInterface(fd, name); err != nil {
		return 0, err
	}
	link, err := syscall.BpfDatalink(fd)
	if runtime.GOOS == "openbsd" { // OpenBSD numbers these differently
		switch link {
		case 12:
			link = 108
		case 14:
			link = 101
		}
	}
	return uint16(link), err
}

func (s *sniffer) next(f *Frame) error {
	var skipping time.Time // since when
	for {
		data, info, err := s.packets.ReadPacketData()
		switch {
		case err == syscall.EINTR || err == syscall.EAGAIN:
			return ErrQuiet
		case err == syscall.ENXIO || err == syscall.ENETDOWN:
			if _, err := interfaceByName(s.list[0].Name); err != nil && err != errDown {
				return errGone
			}
			return errWentDown
		case err != nil:
			return err
		case len(data) == 0: // the read ended by its timeout
			return ErrQuiet
		}
		s.received++
		at := info.Timestamp
		if at.IsZero() {
			at = time.Now()
		}
		if !s.match(data, info.Length) {
			if skipping.IsZero() {
				skipping = time.Now()
			} else if time.Since(skipping) >= QuietTime {
				f.Time = StampOf(at)
				return ErrQuiet
			}
			continue
		}
		if s.snap > 0 {
			data = data[:min(len(data), s.snap)]
		}
		*f = Frame{Time: StampOf(at), LinkType: s.list[0].LinkType, Data: data, Length: info.Length}
		return nil
	}
}

func (s *sniffer) interfaces() []Interface            { return s.list }
func (s *sniffer) counts() (received, dropped uint64) { return s.received, 0 }
func (s *sniffer) close() error                       { return s.packets.Close() }

func listDevices() ([]Interface, error) { return listNet() }
