package main

import "github.com/spf13/cobra"

func newDecode(env environment) *cobra.Command {
	return &cobra.Command{Use: "decode"}
}
