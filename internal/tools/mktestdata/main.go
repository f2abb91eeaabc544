// Command mktestdata writes captures in testdata/pcaps: dumps from protocol documents, splits,
// fragments, ICMP errors and hostile traffic, and those of protocols that are being added. Run
// it in the root of the project. Its output is always the same.
//
// A capture that is there needs no generator. Scenes stay where a change of the writer or of
// the wire format has to reach many packets at once; others may go after their capture is
// committed.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
)

func main() {
	for name, scene := range scenes {
		if err := write(filepath.Join("testdata", "pcaps", filepath.FromSlash(name)), scene); err != nil {
			fmt.Fprintln(os.Stderr, "mktestdata:", err)
			os.Exit(1)
		}
	}
	if err := writeHostile(); err != nil {
		fmt.Fprintln(os.Stderr, "mktestdata:", err)
		os.Exit(1)
	}
}

// scenes are the captures by their path below testdata/pcaps.
var scenes = map[string]scene{
	"a2s/documents.pcap":          {play: a2sDocuments},
	"a2s/source.pcap":             {play: a2sSource},
	"a2s/compressed.pcapng":       {o: mkpcap.Options{Ng: true}, play: a2sCompressed},
	"a2s/fragments.pcap":          {o: mkpcap.Options{MTU: 1500, Nano: true}, play: a2sFragments},
	"a2s/trouble.pcap":            {o: mkpcap.Options{VLAN: 12}, play: a2sTrouble},
	"a2s/same-id.pcap":            {play: a2sSameID},
	"a2s/fragments-lost.pcap":     {play: a2sFragmentsLost},
	"a2s/challenges.pcap":         {play: a2sChallenges},
	"a2s/requests-only.pcap":      {play: oneSided(true)},
	"a2s/replies-only.pcap":       {play: oneSided(false)},
	"a2s/frontlines.pcap":         {play: a2sFrontlines},
	"valve-master/documents.pcap": {play: masterDocuments},
	"valve-master/lists.pcap":     {play: masterLists},
	"valve-master/trouble.pcap":   {play: masterTrouble},
	"gamespy1/games.pcap":         {play: gamespy1Games},
	"gamespy1/trouble.pcap":       {play: gamespy1Trouble},
	"gamespy1/swat4.pcap":         {play: gamespy1Swat4},
	"quake3/games.pcap":           {o: mkpcap.Options{MTU: 1500}, play: quake3Games},
	"quake3/echo.pcap":            {play: quake3Echo},
	"quake3/trouble.pcap":         {play: quake3Trouble},
	"icmp/errors4.pcap":           {play: icmpErrors},
	"icmp/errors6.pcap":           {o: mkpcap.Options{Link: mkpcap.SLL}, play: icmp6Errors},
	"icmp/trouble.pcapng":         {o: mkpcap.Options{Ng: true, VLAN: 12}, play: icmpTrouble},
	"quake3-master/lists.pcap":    {play: quake3Lists},
	"trouble/pings.pcap":          {play: pings},
	"trouble/challenges.pcap":     {play: challengesTwice},
	"trouble/snaplen-parts.pcap":  {o: mkpcap.Options{Snap: 60}, play: snaplenParts},
	"foreign/others.pcap":         {play: others},
}

type scene struct {
	o    mkpcap.Options
	play func(*stage)
}

func write(path string, s scene) error {
	var b bytes.Buffer
	st := &stage{w: mkpcap.NewWriter(&b, s.o), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), made: s.o}
	s.play(st)
	if err := st.w.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return replace(path, b.Bytes())
}

// replace writes a file atomically, because tests may be reading it.
func replace(path string, data []byte) error {
	aside := path + ".new"
	if err := os.WriteFile(aside, data, 0o666); err != nil {
		return err
	}
	return os.Rename(aside, path)
}

// stage is a client, a server and the current time.
type stage struct {
	w      *mkpcap.Writer
	now    time.Time
	made   mkpcap.Options
	client netip.AddrPort
	server netip.AddrPort
}

// between sets who talks.
func (s *stage) between(client, server string) {
	s.client, s.server = netip.MustParseAddrPort(client), netip.MustParseAddrPort(server)
}

// wait lets time pass.
func (s *stage) wait(d time.Duration) { s.now = s.now.Add(d) }

// ask sends from the client, answer from the server. Each advances the time.
func (s *stage) ask(payload string) {
	s.w.UDP(s.now, s.client, s.server, []byte(payload))
	s.wait(12345 * time.Microsecond)
}

func (s *stage) answer(payload string) {
	s.w.UDP(s.now, s.server, s.client, []byte(payload))
	s.wait(678 * time.Microsecond)
}

func le32(n int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }
