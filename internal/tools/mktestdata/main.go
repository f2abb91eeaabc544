// Command mktestdata writes the captures in testdata/pcaps that are not recordings of real
// servers: dumps from protocol documents, rare cases and errors. Run it in the root of the
// project. Its output is always the same.
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
	"doom3/family.pcap":           {play: doom3Family},
	"doom3/trouble.pcap":          {play: doom3Trouble},
	"valve-master/documents.pcap": {play: masterDocuments},
	"valve-master/lists.pcap":     {play: masterLists},
	"valve-master/trouble.pcap":   {play: masterTrouble},
	"gamespy1/games.pcap":         {play: gamespy1Games},
	"gamespy1/trouble.pcap":       {play: gamespy1Trouble},
	"gamespy1/swat4.pcap":         {play: gamespy1Swat4},
	"gamespy2/games.pcap":         {play: gamespy2Games},
	"gamespy2/parts.pcap":         {play: gamespy2Parts},
	"gamespy2/trouble.pcap":       {play: gamespy2Trouble},
	"gamespy3/games.pcap":         {play: gamespy3Games},
	"gamespy3/master.pcap":        {play: gamespy3Master},
	"gamespy3/trouble.pcap":       {play: gamespy3Trouble},
	"minecraft/documents.pcap":    {play: minecraftDocuments},
	"minecraft/servers.pcap":      {o: mkpcap.Options{VLAN: 7}, play: minecraftServers},
	"minecraft/trouble.pcap":      {play: minecraftTrouble},
	"ase/mta.pcap":                {o: mkpcap.Options{MTU: 1500}, play: aseMTA},
	"ase/others.pcap":             {play: aseOthers},
	"ase/trouble.pcap":            {play: aseTrouble},
	"quake3/games.pcap":           {o: mkpcap.Options{MTU: 1500}, play: quake3Games},
	"quake3/echo.pcap":            {play: quake3Echo},
	"quake3/trouble.pcap":         {play: quake3Trouble},
	"icmp/errors4.pcap":           {play: icmpErrors},
	"icmp/errors6.pcap":           {o: mkpcap.Options{Link: mkpcap.SLL}, play: icmp6Errors},
	"icmp/trouble.pcapng":         {o: mkpcap.Options{Ng: true, VLAN: 12}, play: icmpTrouble},
	"quake3-master/lists.pcap":    {play: quake3Lists},
	"trouble/other-kind.pcap":     {play: otherKind},
	"trouble/pings.pcap":          {play: pings},
	"trouble/challenges.pcap":     {play: challengesTwice},
	"trouble/snaplen-parts.pcap":  {o: mkpcap.Options{Snap: 60}, play: snaplenParts},
	"mumble/pings.pcap":           {play: mumblePings},
	"mumble/trouble.pcap":         {play: mumbleTrouble},
	"unreal2/servers.pcap":        {play: unreal2Servers},
	"unreal2/trouble.pcap":        {play: unreal2Trouble},
	"raknet/games.pcap":           {play: raknetGames},
	"raknet/trouble.pcap":         {play: raknetTrouble},

	"foreign/others.pcap": {play: others},

	"zandronum/servers.pcap": {play: zandronumServers},
	"zandronum/trouble.pcap": {play: zandronumTrouble},

	"chocolatedoom/servers.pcap": {play: chocolateServers},
	"chocolatedoom/trouble.pcap": {play: chocolateTrouble},

	"odamex/servers.pcap": {play: odamexServers},
	"odamex/trouble.pcap": {play: odamexTrouble},

	"teamspeak3/handshakes.pcap": {play: teamspeakHandshakes},
	"teamspeak3/trouble.pcap":    {play: teamspeakTrouble},

	"quakeworld/games.pcap":          {play: quakeworldGames},
	"quakeworld/trouble.pcap":        {play: quakeworldTrouble},
	"quakeworld-master/masters.pcap": {play: quakeworldMasters},
	"quake2/games.pcap":              {play: quake2Games},
	"quake2/trouble.pcap":            {play: quake2Trouble},
	"quake2-master/masters.pcap":     {play: quake2Masters},
	"teeworlds/games.pcap":           {play: teeworldsGames},
	"teeworlds/masters.pcap":         {play: teeworldsMasters},
	"teeworlds/trouble.pcap":         {play: teeworldsTrouble},
	"openttd/servers.pcap":           {play: openttdServers},
	"openttd/trouble.pcap":           {play: openttdTrouble},
	"samp/servers.pcap":              {play: sampServers},
	"samp/trouble.pcap":              {play: sampTrouble},
	"sqp/servers.pcap":               {play: sqpServers},
	"sqp/trouble.pcap":               {play: sqpTrouble},

	"netquake/games.pcap":   {play: netquakeGames},
	"netquake/trouble.pcap": {play: netquakeTrouble},

	"battleye/sessions.pcap": {play: battleyeSessions},
	"battleye/trouble.pcap":  {play: battleyeTrouble},

	"satisfactory/servers.pcap": {play: satisfactoryServers},
	"satisfactory/trouble.pcap": {play: satisfactoryTrouble},

	"armagetron/servers.pcap": {play: armagetronServers},
	"armagetron/trouble.pcap": {play: armagetronTrouble},

	"xash3d/servers.pcap":    {play: xash3dServers},
	"xash3d/trouble.pcap":    {play: xash3dTrouble},
	"titanfall/servers.pcap": {play: titanfallServers},
	"bzflag/trouble.pcap":    {play: bzflagTrouble},
	"cube/servers.pcap":      {play: cubeServers},
	"cube/trouble.pcap":      {play: cubeTrouble},

	"ventrilo/servers.pcap": {play: ventriloServers},
	"ventrilo/trouble.pcap": {play: ventriloTrouble},

	"tribes/servers.pcap": {play: tribesServers},
	"tribes/masters.pcap": {play: tribesMasters},
	"tribes/trouble.pcap": {play: tribesTrouble},

	"savage/servers.pcap":  {play: savageServers},
	"savage2/servers.pcap": {play: savage2Servers},
	"rfactor/servers.pcap": {play: rfactorServers},

	"assettocorsa/pings.pcap": {play: assettoPings},

	"cs2d/servers.pcap": {play: cs2dServers},
	"cs2d/trouble.pcap": {play: cs2dTrouble},
	"lhmp/servers.pcap": {play: lhmpServers},
	"lhmp/trouble.pcap": {play: lhmpTrouble},
	"m2mp/servers.pcap": {play: m2mpServers},
	"m2mp/trouble.pcap": {play: m2mpTrouble},
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
