package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tables"
	"github.com/qdissect/qdissect/report"
)

func newSchema(env environment) *cobra.Command {
	ofReport, sql := false, ""
	cmd := &cobra.Command{
		Use:   "schema [flags] [FILE...]",
		Short: "Print the JSON Schema of the JSON output, or its tables for DuckDB",
		Long: `Print the JSON Schema of the JSON output, or tables and views of it for DuckDB:

  qdissect schema                                         the JSON Schema
  qdissect schema --sql duckdb > q.sql                    tables and views
  qdissect schema --sql duckdb server.jsonl > q.sql       and the file is loaded
  qdissect schema --sql duckdb DIR > q.sql                views of Parquet files

Then, for example: duckdb -init q.sql -c 'select * from exchanges'`,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case sql != "" && sql != "duckdb":
				return fmt.Errorf("--sql %s: must be duckdb", sql)
			case sql == "" && len(args) > 0:
				return errors.New("files need --sql duckdb")
			case sql != "" && ofReport:
				return errors.New("--sql and --report cannot be combined")
			case sql != "":
				return writeDuckDB(env.out, args)
			case ofReport:
				return stats.WriteSchema(env.out)
			}
			return report.WriteSchema(env.out, all.Protocols())
		},
	}
	cmd.Flags().BoolVar(&ofReport, "report", false, "the schema of qdissect report --format json")
	cmd.Flags().StringVar(&sql, "sql", "", "tables and views for this `DATABASE`: duckdb")
	return cmd
}

// writeDuckDB writes tables and views of JSON files, or of a folder of Parquet files.
func writeDuckDB(w io.Writer, args []string) error {
	folder := ""
	for _, name := range args {
		if st, err := os.Stat(name); err == nil && st.IsDir() {
			if len(args) > 1 {
				return fmt.Errorf("%s: a folder of Parquet files must be the only argument", name)
			}
			folder = filepath.ToSlash(name)
		}
	}
	if folder != "" {
		args = nil
	}
	return tables.WriteDuckDB(w, all.Protocols(), args, folder)
}

// version is set by releases: -ldflags "-X main.version=1.2.3".
var version = ""
