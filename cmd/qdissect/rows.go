package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/filter"
	"github.com/qdissect/qdissect/report"
)

// rowOptions are the flags of -o fields.
type rowOptions struct {
	names    []string
	settings []string
	raw      bool
}

func (o *rowOptions) add(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.names, "field", "e", nil, "with -o fields: write the values of this `NAME`, such as frame or server.name; see qdissect help filter")
	f.StringArrayVarP(&o.settings, "field-option", "E", nil, "with -o fields: header=y writes the names first, separator=, writes CSV instead of TSV")
	f.BoolVar(&o.raw, "raw-cells", false, "with -E separator=,: no apostrophe before texts that a spreadsheet would take for formulas")
}

// reporter returns what writes the rows.
func (o *rowOptions) reporter(secrets bool) (r func() report.Reporter, tree bool, err error) {
	if len(o.names) == 0 {
		return nil, false, errors.New("-o fields needs -e NAME, such as -e frame -e server.name")
	}
	var columns []*display.Column
	for _, name := range o.names {
		c, err := display.CompileColumn(name)
		var wrong *filter.Error
		if errors.As(err, &wrong) {
			return nil, false, fmt.Errorf("-e: %s", wrong.Text)
		}
		if err != nil {
			return nil, false, err
		}
		columns, tree = append(columns, c), tree || c.NeedsTree()
	}
	rows := display.RowOptions{Secrets: secrets, Raw: o.raw}
	for _, s := range o.settings {
		switch strings.TrimSpace(s) {
		case "header=y":
			rows.Header = true
		case "header=n":
			rows.Header = false
		case "separator=,":
			rows.CSV = true
		case "separator=/t", "separator=\t":
			rows.CSV = false
		default:
			return nil, false, fmt.Errorf("-E %s: use header=y, header=n, separator=, or separator=/t", s)
		}
	}
	return func() report.Reporter { return display.NewRows(columns, rows) }, tree, nil
}

// extension returns that of files with rows.
func (o *rowOptions) extension() string {
	for _, s := range o.settings {
		if strings.TrimSpace(s) == "separator=," {
			return ".csv"
		}
	}
	return ".tsv"
}
