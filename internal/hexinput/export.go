package hexinput

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"regexp"
	"strconv"
	"time"
)

// An export is a form in which tshark writes packets with the same bytes in
// several places: whole, by layers and by fields. Each packet gives one
// datagram.
type export struct {
	packet  *regexp.Regexp // begins a packet
	payload *regexp.Regexp // of UDP, in hex
	data    *regexp.Regexp // what no dissector took, if there is no payload
	frame   *regexp.Regexp // the whole frame, in hex
	// The addresses and ports: source, destination.
	addrs, ports [2]*regexp.Regexp
	at           *regexp.Regexp // seconds since 1970, or a time with its date
}

var exports = [...]export{
	{ // -T json and -T ek, with -x or without
		packet:  regexp.MustCompile(`"_source"\s*:|"timestamp"\s*:\s*"\d+"\s*,\s*"layers"`),
		payload: regexp.MustCompile(`"(?:udp_)?udp[._]payload(?:_raw)?"\s*:\s*(?:\[\s*)?"([0-9a-fA-F:]+)"`),
		data:    regexp.MustCompile(`"(?:data_)?data[._]data(?:_raw)?"\s*:\s*(?:\[\s*)?"([0-9a-fA-F:]+)"`),
		frame:   regexp.MustCompile(`"frame_raw"\s*:\s*(?:\[\s*)?"([0-9a-fA-F]+)"`),
		addrs: [2]*regexp.Regexp{
			regexp.MustCompile(`"(?:ipv?6?_)?ip(?:v6)?[._]src"\s*:\s*"([^"]+)"`), regexp.MustCompile(`"(?:ipv?6?_)?ip(?:v6)?[._]dst"\s*:\s*"([^"]+)"`),
		},
		ports: [2]*regexp.Regexp{
			regexp.MustCompile(`"(?:udp_)?udp[._]srcport"\s*:\s*"(\d+)"`), regexp.MustCompile(`"(?:udp_)?udp[._]dstport"\s*:\s*"(\d+)"`),
		},
		at: regexp.MustCompile(`"(?:frame_)?frame[._]time_epoch"\s*:\s*"([^"]+)"`),
	},
	{ // -T pdml
		packet:  regexp.MustCompile(`<packet>`),
		payload: regexp.MustCompile(`<field name="udp\.payload"[^>]* value="([0-9a-fA-F]+)"`),
		data:    regexp.MustCompile(`<field name="data(?:\.data)?"[^>]* value="([0-9a-fA-F]+)"`),
		addrs: [2]*regexp.Regexp{
			regexp.MustCompile(`<field name="ip(?:v6)?\.src"[^>]* show="([^"]+)"`), regexp.MustCompile(`<field name="ip(?:v6)?\.dst"[^>]* show="([^"]+)"`),
		},
		ports: [2]*regexp.Regexp{
			regexp.MustCompile(`<field name="udp\.srcport"[^>]* show="(\d+)"`), regexp.MustCompile(`<field name="udp\.dstport"[^>]* show="(\d+)"`),
		},
		at: regexp.MustCompile(`<field name="timestamp"[^>]* value="([^"]+)"`),
	},
}

// readExport returns the datagrams of a text that tshark exported; nil if it is
// none, or has no UDP in it.
func readExport(text []byte) (list []Datagram) {
	for i := range exports {
		e := &exports[i]
		begins := e.packet.FindAllIndex(text, MaxDatagrams+1)
		line, counted := 1, 0
		for k, at := range begins {
			end := len(text)
			if k+1 < len(begins) {
				end = begins[k+1][0]
			}
			line += bytes.Count(text[counted:at[0]], []byte{'\n'})
			counted = at[0]
			if d, ok := e.datagram(text[at[0]:end]); ok && k < MaxDatagrams {
				d.Line, d.Form = line, Wireshark
				list = append(list, d)
			}
		}
	}
	return list
}

// last returns what a pattern finds last: the innermost of a tunnel.
func last(p *regexp.Regexp, text []byte) string {
	if p == nil {
		return ""
	}
	found := p.FindAllSubmatch(text, -1)
	if len(found) == 0 {
		return ""
	}
	return string(found[len(found)-1][1])
}

func (e *export) datagram(text []byte) (d Datagram, ok bool) {
	payload := last(e.payload, text)
	whole, err := hex.DecodeString(last(e.frame, text))
	if payload == "" && err == nil && len(whole) > 0 {
		if p, reason := readPacket(whole, false); reason == "" {
			d.Data, d.Src, d.Dst, d.Note = p.payload, p.src, p.dst, p.note
		}
	}
	if len(d.Data) == 0 {
		if payload == "" && len(whole) == 0 {
			payload = last(e.data, text)
		}
		b, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(payload), []byte(":"), nil)))
		if err != nil || len(b) == 0 || len(b) > MaxDatagram {
			return d, false
		}
		d.Data = b
		var ends [2]netip.AddrPort
		for i := range ends {
			addr, err := netip.ParseAddr(last(e.addrs[i], text))
			port, err2 := strconv.ParseUint(last(e.ports[i], text), 10, 16)
			if err == nil && err2 == nil {
				ends[i] = netip.AddrPortFrom(addr, uint16(port))
			}
		}
		d.Src, d.Dst = ends[0], ends[1]
	}
	d.Time = parseTime(last(e.at, text))
	return d, true
}

// parseTime reads a time that a dump gives: seconds since 1970, or a date with
// a time, in UTC if it names no zone. It is zero for anything else. A time of the
// day alone is one of the year 0.
func parseTime(s string) time.Time {
	for _, layout := range [...]string{
		time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006/01/02 15:04:05.999999999",
		"2006-01-02T15:04:05.999999999", "15:04:05.999999999",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	if !epoch.MatchString(s) {
		return time.Time{}
	}
	whole, fraction, _ := bytes.Cut([]byte(s), []byte{'.'})
	seconds, _ := strconv.ParseInt(string(whole), 10, 64)
	nano, _ := strconv.ParseInt((string(fraction) + "000000000")[:9], 10, 64)
	return time.Unix(seconds, nano).UTC()
}

var epoch = regexp.MustCompile(`^\d{9,10}(?:\.\d{1,9})?$`)
