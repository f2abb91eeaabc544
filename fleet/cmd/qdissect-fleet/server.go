package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/fleet/internal/link"
	"github.com/qdissect/qdissect/fleet/internal/live"
)

// newServer returns the command for a server that outlives runs.
func newServer(env environment) *cobra.Command {
	o := link.ServerOptions{Listen: "localhost:4222"}
	cmd := &cobra.Command{
		Use:   "server --store FOLDER",
		Short: "Run a NATS server for work, sensors and views",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Store == "" {
				return errors.New("server needs --store FOLDER")
			}
			s, err := link.Start(o)
			if err != nil {
				return err
			}
			defer s.Stop()
			if err := sensors(cmd.Context(), s); err != nil {
				return err
			}
			fmt.Fprintf(env.err, "listening at %s\n", s.URL())
			<-cmd.Context().Done()
			return nil
		},
	}
	o.Add(cmd.Flags())
	o.TLS.Add(cmd.Flags())
	return cmd
}

// sensors makes the stream of sensors in a server.
func sensors(ctx context.Context, s *link.Server) error {
	conn, err := s.Connect("qdissect-fleet server")
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	return live.MakeStream(ctx, js, live.StreamMiB<<20)
}

// newKey returns the command that makes a key.
func newKey(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "key FILE",
		Short: "Make a secret key in FILE, and print the public key for the file of users",
		Args:  one("one FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			public, err := link.Key(args[0])
			if err == nil {
				fmt.Fprintln(env.out, public)
			}
			return err
		},
	}
}
