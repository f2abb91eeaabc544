package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/whole"
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

// installFile writes a file into the first folder of Wireshark that exists under one of
// these names.
func installFile(env environment, name string, data []byte, mode os.FileMode, names ...string) error {
	out, err := exec.Command("tshark", "-G", "folders").Output()
	if err != nil {
		return fmt.Errorf("tshark -G folders, which says where Wireshark looks for files, does not work: %w", err)
	}
	folder := ""
	for _, want := range names {
		for line := range strings.Lines(string(out)) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && strings.EqualFold(key, want) && folder == "" {
				folder = strings.TrimSpace(value)
			}
		}
	}
	if folder == "" {
		return errors.New("tshark -G folders names no folder for this; does this tshark support it?")
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	path := filepath.Join(folder, name)
	if err := whole.Write(path, data, false); err != nil {
		return err
	}
	if err := os.Chmod(path, mode); err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.out, path)
	return err
}
