package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/serve"
	"github.com/qdissect/qdissect/internal/serve/host"
)

// A serveLog writes what serve does.
type serveLog interface {
	started(*started) error
	exchange(*host.Exchange)
	summary(text string) error
}

// started is the object that --format jsonl begins with.
type started struct {
	Type    string          `json:"type"`
	Servers []startedServer `json:"servers"`
	Seed    *uint64         `json:"seed,omitempty"`
}

type startedServer struct {
	Address   string   `json:"address"`
	Host      string   `json:"host"`
	Port      uint16   `json:"port"`
	Captured  string   `json:"captured"`
	Protocols []string `json:"protocols"`
}

// textLog is for people.
type textLog struct{ w io.Writer }

func (l textLog) started(s *started) (err error) {
	for _, c := range s.Servers {
		_, err = fmt.Fprintf(l.w, "%s  answers for %s  %s\n", c.Address, c.Captured, strings.Join(c.Protocols, ", "))
	}
	if s.Seed != nil {
		_, err = fmt.Fprintf(l.w, "seed %d\n", *s.Seed)
	}
	return err
}

func (l textLog) exchange(e *host.Exchange) { fmt.Fprintln(l.w, e) }

func (l textLog) summary(text string) error {
	_, err := fmt.Fprintln(l.w, text)
	return err
}

// jsonLog is for programs.
type jsonLog struct{ w io.Writer }

func (l jsonLog) started(s *started) error { return l.line(s) }

func (l jsonLog) exchange(e *host.Exchange) {
	_ = l.line(struct {
		Type      string `json:"type"`
		From      string `json:"from"`
		To        string `json:"to"`
		Protocol  string `json:"protocol"`
		Request   string `json:"request"`
		Result    string `json:"result"`
		Reply     string `json:"reply,omitempty"`
		Frame     uint64 `json:"frame,omitempty"`
		Datagrams int    `json:"datagrams"`
		Bytes     int    `json:"bytes"`
		Text      string `json:"text"`
	}{
		"exchange", e.From.String(), e.To.String(), e.Protocol, host.Clipped(e.Request), e.Result.Key(), host.Clipped(e.Reply),
		e.Frame, len(e.Datagrams), e.Bytes(), e.String(),
	})
}

func (l jsonLog) summary(text string) error {
	return l.line(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"summary", text})
}

// line writes an object in a line of its own. The values are safe on a terminal.
func (l jsonLog) line(v any) error {
	enc := json.NewEncoder(l.w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// listServers prints the exchanges that can be answered.
func listServers(w io.Writer, list []*serve.Captured, listen netip.AddrPort, o *serveOptions) error {
	var b strings.Builder
	for i, c := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		at := o.address(c, listen, i)
		where := nettext.Either(at.Port() == 0, "a free port of "+at.Addr().String(), at.String())
		fmt.Fprintf(&b, "%s  %s  will listen on %s\n", c.Address, strings.Join(c.Names(), ", "), where)
		column := 13
		for _, e := range c.Entries() {
			column = max(column, len(e.Protocol))
		}
		for _, e := range c.Entries() {
			fmt.Fprintf(&b, "  %-*s %s → %s  [%s, %d bytes", column, e.Protocol, e.Request, e.Reply, host.Parts(e.Datagrams, e.TCP), e.Bytes)
			if e.Times > 1 {
				fmt.Fprintf(&b, "; first of %d", e.Times)
			}
			if e.Incomplete {
				b.WriteString("; incomplete")
			}
			fmt.Fprintf(&b, "; frame %d]\n", e.Frame)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
