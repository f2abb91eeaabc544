// Command mkscenes writes scenes: captures of floods, of servers in trouble and of a quiet
// evening, each with the truth about it as JSON beside it. See package scenes. The same
// arguments give the same bytes.
//
//	mkscenes -o DIR                  all scenes, 90 seconds each
//	mkscenes -o DIR -rate 20000 forged-open
//	mkscenes -o DIR -span 300s -rate 50000 -sources 5000000 forged-open
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/qdissect/qdissect/internal/tools/scenes"
)

func main() {
	var o scenes.Options
	dir := flag.String("o", "", "folder to write to")
	flag.Uint64Var(&o.Seed, "seed", 1, "seed of the random numbers")
	flag.DurationVar(&o.Span, "span", 0, "length of a scene (90s)")
	flag.DurationVar(&o.From, "from", 0, "beginning of the event; 0 is what suits the scene")
	flag.DurationVar(&o.To, "to", 0, "end of the event; 0 is what suits the scene")
	flag.IntVar(&o.Servers, "servers", 0, "servers (12)")
	flag.IntVar(&o.Clients, "clients", 0, "honest clients (3000)")
	flag.Float64Var(&o.Rate, "rate", 0, "requests per second of the event; 0 is what suits the scene")
	flag.IntVar(&o.Sources, "sources", 0, "forged sources; 0 is one for each request")
	flag.Float64Var(&o.Loss, "loss", 0, "share of packets lost (0.001); negative for none")
	flag.Parse()
	if err := run(*dir, flag.Args(), o); err != nil {
		fmt.Fprintln(os.Stderr, "mkscenes:", err)
		os.Exit(1)
	}
}

func run(dir string, names []string, o scenes.Options) error {
	if dir == "" {
		return fmt.Errorf("no folder to write to: -o")
	}
	list := scenes.All()
	if len(names) > 0 {
		list = list[:0]
		for _, name := range names {
			s, err := scenes.Find(name)
			if err != nil {
				return err
			}
			list = append(list, s)
		}
	}
	for _, s := range list {
		if err := write(filepath.Join(dir, s.Name), s, o); err != nil {
			return err
		}
	}
	return nil
}

func write(base string, s scenes.Scene, o scenes.Options) error {
	f, err := os.Create(base + ".pcap")
	if err != nil {
		return err
	}
	defer f.Close()
	t, err := s.Write(f, o)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	b, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s.pcap: %d packets, %d requests of %d sources\n", base, t.Totals.Wire.Packets, t.Totals.Requests, t.Totals.Clients)
	return os.WriteFile(base+".json", append(b, '\n'), 0o666)
}
