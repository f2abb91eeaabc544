package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	libpcap "github.com/gopacket/gopacket/pcap"
	"golang.org/x/net/bpf"
)

// npcap captures with the library of Npcap (https://npcap.com), which must be installed.
type npcap struct {
	packets *libpcap.Handle
	list    []Interface
}

var errNpcap = errors.New("Npcap is needed to capture on Windows: install it from https://npcap.com")

func openDevice(name string, o *LiveOptions, _ *namespace) (device, error) {
	if libpcap.LoadWinPCAP() != nil {
		return nil, errNpcap
	}
	if name == AnyInterface {
		return nil, errors.New("only Linux can capture from all interfaces at once; name each with -i")
	}
	list, err := listDevices()
	if err != nil {
		return nil, err
	}
	device := ""
	for _, i := range list {
		if strings.EqualFold(i.Name, name) || strings.EqualFold(i.Title, name) {
			device = i.Name
		}
	}
	if device == "" {
		return nil, errNoInterface
	}
	handle, err := activate(device, o)
	if err != nil {
		return nil, err
	}
	link := uint16(handle.LinkType())
	n := &npcap{packets: handle, list: []Interface{{Name: name, LinkType: link, Known: true, Up: true}}}
	program, err := o.Filter(link)
	if err == nil {
		err = handle.SetBPFInstructionFilter(instructions(program))
	}
	if err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

func activate(name string, o *LiveOptions) (*libpcap.Handle, error) {
	h, err := libpcap.NewInactiveHandle(name)
	if err != nil {
		return nil, err
	}
	defer h.CleanUp()
	err = errors.Join(h.SetSnapLen(MaxFrame), h.SetPromisc(o.Promiscuous), h.SetTimeout(QuietTime), h.SetBufferSize(o.Ring))
	if err != nil {
		return nil, err
	}
	handle, err := h.Activate()
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "permission") {
		err = fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	return handle, err
}

func instructions(program []bpf.RawInstruction) []libpcap.BPFInstruction {
	list := make([]libpcap.BPFInstruction, len(program))
	for i, in := range program {
		list[i] = libpcap.BPFInstruction{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	return list
}

func (n *npcap) next(f *Frame) error {
	data, info, err := n.packets.ZeroCopyReadPacketData()
	if err == libpcap.NextErrorTimeoutExpired {
		return ErrQuiet
	}
	if err != nil {
		return err
	}
	*f = Frame{Time: StampOf(info.Timestamp), LinkType: n.list[0].LinkType, Data: data, Length: info.Length}
	return nil
}

func (n *npcap) interfaces() []Interface { return n.list }

func (n *npcap) counts() (received, dropped uint64) {
	s, err := n.packets.Stats()
	if err != nil {
		return 0, 0
	}
	return uint64(s.PacketsReceived), uint64(s.PacketsDropped + s.PacketsIfDropped)
}

func (n *npcap) close() error {
	n.packets.Close()
	return nil
}

func listDevices() ([]Interface, error) {
	if libpcap.LoadWinPCAP() != nil {
		return nil, errNpcap
	}
	all, err := libpcap.FindAllDevs()
	if err != nil {
		return nil, err
	}
	var list []Interface
	for _, d := range all {
		i := Interface{Name: d.Name, Title: d.Description, Up: true}
		for _, a := range d.Addresses {
			i.Addresses = append(i.Addresses, a.IP.String())
		}
		list = append(list, i)
	}
	return list, nil
}
