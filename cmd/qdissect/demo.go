package main

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/internal/whole"
)

func newDemo(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "demo [FILE]",
		Short: "Write a capture with trouble in it, to try things on",
		Long: `Write a capture of a made-up evening at a dozen game servers to FILE (demo.pcap; - is
standard output), to try things on: one server is flooded from forged addresses, two
serve for reflections at others, and one gets junk. It is the same each time.`,
		RunE: func(_ *cobra.Command, args []string) error {
			name := "demo.pcap"
			if len(args) > 1 {
				return fmt.Errorf("demo writes one FILE, %d given", len(args))
			} else if len(args) > 0 {
				name = args[0]
			}
			if _, err := os.Stat(name); err == nil && name != "-" {
				return fmt.Errorf("%s exists; use another file: qdissect demo FILE", name)
			}
			s, err := scenes.Find("mixed")
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if _, err := s.Write(&b, scenes.Options{Span: 24 * time.Second, Clients: 120, Rate: 500}); err != nil {
				return err
			}
			if name == "-" {
				_, err := env.out.Write(b.Bytes())
				return err
			}
			if err := whole.Write(name, b.Bytes(), false); err != nil {
				return err
			}
			word := shellWord(name)
			_, err = fmt.Fprintf(env.out, `%s: %.1f MB. Try:
  qdissect %[3]s | less
  qdissect report %[3]s
  qdissect why %[3]s
  qdissect rules %[3]s
  qdissect top %[3]s
`, name, float64(b.Len())/1e6, word)
			return err
		},
	}
}
