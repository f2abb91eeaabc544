package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/report"
)

func newVersion(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return printVersion(env) },
	}
}

func printVersion(env environment) error {
	_, err := fmt.Fprintf(env.out, "qdissect %s, output %s, %s %s/%s\n", versionText(), report.Schema, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// versionText returns the version of a release, or the version control revision of the
// build.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+changes"
		}
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	if revision == "" {
		return "(devel)"
	}
	return revision[:min(12, len(revision))] + modified
}
