package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tables"
	"github.com/qdissect/qdissect/report"
)

// protocolOptions are the flags that choose the protocols.
type protocolOptions struct {
	decodeAs []string
	names    []string
}

func (o *protocolOptions) add(f *pflag.FlagSet) {
	o.addDecodeAs(f)
	f.StringSliceVar(&o.names, "protocols", nil, "recognise only these protocols, for example a2s,halflife")
}

func (o *protocolOptions) addDecodeAs(f *pflag.FlagSet) {
	f.StringArrayVar(&o.decodeAs, "decode-as", nil, "decode all datagrams of a port as this protocol: udp.port==`N,PROTOCOL`")
}

// config returns the configuration of the dissector.
func (o *protocolOptions) config() (c dissect.Config, err error) {
	c.Foreign = all.Foreign()
	if c.Protocols, err = selected(o.names); err == nil {
		c.DecodeAs, err = parseDecodeAs(o.decodeAs, c.Protocols)
	}
	return c, err
}

// selected returns the named protocols, or all if names is empty.
func selected(names []string) ([]*dissect.Protocol, error) {
	known := all.Protocols()
	if len(names) == 0 {
		return known, nil
	}
	chosen := map[*dissect.Protocol]bool{}
	for _, name := range names {
		p := lookup(known, name)
		if p == nil {
			return nil, unknownProtocol(name, known)
		}
		chosen[p] = true
	}
	return slices.DeleteFunc(known, func(p *dissect.Protocol) bool { return !chosen[p] }), nil
}

func lookup(list []*dissect.Protocol, name string) *dissect.Protocol {
	for _, p := range list {
		if strings.EqualFold(strings.TrimSpace(name), p.Name) {
			return p
		}
	}
	return nil
}

func unknownProtocol(name string, known []*dissect.Protocol) error {
	names := nettext.Each(known, func(p *dissect.Protocol) string { return p.Name })
	return unknown("unknown protocol", name, nettext.Closest(name, names), "use one of "+strings.Join(names, ", "))
}

// parseDecodeAs parses tshark's notation, udp.port==27015,a2s. The part before the
// number is optional.
func parseDecodeAs(args []string, protocols []*dissect.Protocol) (map[uint16]*dissect.Protocol, error) {
	var as map[uint16]*dissect.Protocol
	for _, arg := range args {
		port, name, ok := strings.Cut(arg, ",")
		port = strings.ReplaceAll(port, " ", "")
		port = strings.TrimPrefix(strings.TrimPrefix(port, "udp.port=="), "tcp.port==")
		n, err := strconv.ParseUint(port, 10, 16)
		if !ok || err != nil || n == 0 {
			return nil, fmt.Errorf("--decode-as %q is not udp.port==N,PROTOCOL", arg)
		}
		p := lookup(protocols, name)
		if p == nil {
			return nil, unknownProtocol(name, protocols)
		}
		if strings.HasPrefix(arg, "tcp") && !p.OverTCP() {
			return nil, fmt.Errorf("--decode-as %q: %s is read over UDP; use udp.port==%d,%s", arg, name, n, name)
		}
		if as == nil {
			as = make(map[uint16]*dissect.Protocol)
		}
		as[uint16(n)] = p
	}
	return as, nil
}

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
