package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/wireshark"
)

func newLua(env environment) *cobra.Command {
	install := false
	cmd := &cobra.Command{
		Use:   "lua",
		Short: "Print a script that shows messages in Wireshark",
		Long: `Print a script for Wireshark and tshark. It shows the fields of messages with
their bytes, and makes them display filters such as qd.a2s.info.num_players > 10.
It decodes nothing: it reads the comments that qdissect writes into captures.

  qdissect lua --install
  qdissect -q -w shown.pcapng --annotate=tree server.pcap
  wireshark shown.pcapng

Without --install, print it: qdissect lua > qdissect.lua, and then
tshark -X lua_script:qdissect.lua -r shown.pcapng. See docs/wireshark.md.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			script := wireshark.Script(all.Protocols(), versionText())
			if !install {
				_, err := io.WriteString(env.out, script)
				return err
			}
			return installFile(env, "qdissect.lua", []byte(script), 0o644, "Personal Lua Plugins", "Personal Plugins")
		},
	}
	cmd.Flags().BoolVar(&install, "install", false, "write it into the folder of Wireshark for the plugins of this user")
	return cmd
}
