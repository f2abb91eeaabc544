package main

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
)

// A film is a capture that is being made: its packets with their times. Those of all causes are in internal/stats.
type film struct{ packets []filmed }

type filmed struct {
	at     float64 // seconds
	packet func(*mkpcap.Writer, time.Time)
}

var filmServer = netip.MustParseAddrPort("198.51.100.10:27015")

const (
	askInfo   = "\xff\xff\xff\xffTSource Engine Query\x00"
	infoReply = "\xff\xff\xff\xffI\x11Old town\x00dust2\x00cstrike\x00Counter-Strike\x00\xf0\x00\x03\x18\x00dl\x00\x011.0\x00\x00"
)

func to(port uint16) netip.AddrPort { return netip.AddrPortFrom(filmServer.Addr(), port) }

func askers(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(20 + n%60), 7, byte(n), 9}), uint16(40000+n))
}

func (f *film) udp(at float64, src, dst netip.AddrPort, payload string) {
	f.packets = append(f.packets, filmed{at, func(m *mkpcap.Writer, t time.Time) { m.UDP(t, src, dst, []byte(payload)) }})
}

// tcp adds a segment with flags.
func (f *film) tcp(at float64, src, dst netip.AddrPort, flags byte) {
	b := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, src.Port()), dst.Port())
	b = append(b, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0)
	f.packets = append(f.packets, filmed{at, func(m *mkpcap.Writer, t time.Time) { m.Segment(t, src.Addr(), dst.Addr(), 6, b) }})
}

// answered adds n requests, half a second apart, that are answered in a millisecond.
func (f *film) answered(n int, server netip.AddrPort) {
	for i := range n {
		f.udp(float64(i)/2, askers(i), server, askInfo)
		f.udp(float64(i)/2+.001, server, askers(i), infoReply)
	}
}

func (f *film) write(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	m := mkpcap.NewWriter(&b, mkpcap.Options{MTU: 1500})
	slices.SortStableFunc(f.packets, func(a, b filmed) int { return int((a.at - b.at) * 1e7) })
	for _, p := range f.packets {
		p.packet(m, time.Unix(1_700_000_000, int64(p.at*1e9)))
	}
	name := filepath.Join(t.TempDir(), "film.pcap")
	must.Do(t, m.Err())
	must.Do(t, os.WriteFile(name, b.Bytes(), 0o666))
	return name
}
