package hexinput

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// exports are the formats in which tshark writes the same bytes of a packet
// several times: whole, by layer and by field. Each packet becomes one datagram.
var exports = [...]struct {
	packet func() *regexp.Regexp // begins a packet
	field  func() *regexp.Regexp // its name, and its value
}{
	{ // -T json and -T ek, with -x or without
		lazyregexp.New(`"_source"\s*:|"timestamp"\s*:\s*"\d+"\s*,\s*"layers"`),
		lazyregexp.New(`"(?:(?:frame|ip|ipv6|udp|data)_)?(frame_raw|frame[._]time_epoch|ip(?:v6)?[._](?:src|dst)|udp[._](?:src|dst)port|` +
			`udp[._]payload(?:_raw)?|data[._]data(?:_raw)?)"\s*:\s*(?:\[\s*)?"([^"]*)"`),
	},
	{ // -T pdml
		lazyregexp.New(`<packet>`),
		lazyregexp.New(`<field name="(?:(timestamp|udp\.payload|data|data\.data)"[^>]* value|(ip(?:v6)?\.(?:src|dst)|udp\.(?:src|dst)port)"[^>]* show)="([^"]*)"`),
	},
}

// fieldNames maps the names of a field in the exports to one.
var fieldNames = strings.NewReplacer("frame_raw", "frame", "frame_time_epoch", "time", "frame.time_epoch", "time", "timestamp", "time", "data_data", "data", "data.data", "data", "_raw", "", "v6", "", ".", "_")

// readExport returns the datagrams of a text that tshark exported; nil if it is
// not an export, or has no UDP in it.
func readExport(text []byte) (list []Datagram, err error) {
	for _, e := range exports {
		starts := e.packet().FindAllIndex(text, MaxDatagrams+1)
		if len(starts) > MaxDatagrams {
			return nil, fmt.Errorf("more than %d packets", MaxDatagrams)
		}
		line, counted := 1, 0
		for k, at := range starts {
			end := len(text)
			if k+1 < len(starts) {
				end = starts[k+1][0]
			}
			fields := map[string]string{} // the last of each name: the innermost of a tunnel
			for _, m := range e.field().FindAllSubmatch(text[at[0]:end], -1) {
				name, value := bytes.Join(m[1:len(m)-1], nil), m[len(m)-1]
				fields[fieldNames.Replace(string(name))] = string(value)
			}
			line += bytes.Count(text[counted:at[0]], []byte{'\n'})
			counted = at[0]
			if d := exported(fields); len(d.Data) > 0 && len(d.Data) <= MaxDatagram {
				d.Line, d.Time = line, parseTime(fields["time"])
				list = append(list, d)
			}
		}
	}
	return list, nil
}

// exported returns the datagram of a packet. It has no data if the packet has
// none.
func exported(fields map[string]string) Datagram {
	payload := fields["udp_payload"]
	if payload == "" {
		frame, _ := hex.DecodeString(fields["frame"])
		if d := (Datagram{Data: frame}); len(frame) > 0 && d.unwrap(false) == "" {
			return d
		}
		payload = fields["data"]
	}
	data, err := hex.DecodeString(strings.ReplaceAll(payload, ":", ""))
	if err != nil {
		return Datagram{}
	}
	return Datagram{
		Data: data,
		Src:  socket(fields["ip_src"], fields["udp_srcport"]), Dst: socket(fields["ip_dst"], fields["udp_dstport"]),
	}
}

// socket returns an address with its port; zero if they are not valid.
func socket(addr, port string) netip.AddrPort {
	a, err := netip.ParseAddr(strings.Trim(addr, "[]"))
	n, err2 := strconv.ParseUint(port, 10, 16)
	if err != nil || err2 != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a, uint16(n))
}
