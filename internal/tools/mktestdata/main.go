// Command mktestdata writes captures in testdata/pcaps: hostile traffic, a few scenes as
// examples, and those of protocols that are being added. Run it in the root of the project.
// Its output is always the same.
//
// A capture that is there needs no generator: its scene may go after it is committed.
package main

import (
	"bytes"
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
	"a2s/requests-only.pcap":  {play: oneSided(true)},
	"a2s/replies-only.pcap":   {play: oneSided(false)},
	"trouble/pings.pcap":      {play: pings},
	"trouble/challenges.pcap": {play: challengesTwice},
	"foreign/others.pcap":     {play: others},
}

type scene struct {
	o    mkpcap.Options
	play func(*stage)
}

func write(path string, s scene) error {
	var b bytes.Buffer
	st := &stage{w: mkpcap.NewWriter(&b, s.o), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
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

// What the scenes ask of servers of Valve.
const (
	single  = "\xff\xff\xff\xff"
	infoAsk = single + "TSource Engine Query\x00"
)
