package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
)

// rulesOptions are the flags of rules.
type rulesOptions struct {
	countOptions
	format, where string
	dry           bool
}

func newRules(env environment) *cobra.Command {
	var o rulesOptions
	cmd := &cobra.Command{
		Use:   "rules [flags] FILE... | -i INTERFACE [FILTER]",
		Short: "Print the firewall rules that would have helped",
		Long: `Print the limits that would have stopped what qdissect report finds in a capture,
ready for a firewall, each with what it would have stopped and what it would have cost
honest requests. Nothing is printed, and the exit status is 1, if no limit would have helped.

  qdissect rules evening.pcapng | nft -f -
  qdissect rules --for iptables evening.pcapng | iptables-restore --noflush
  qdissect rules --for ip6tables evening.pcapng | ip6tables-restore --noflush
  qdissect rules --dry-run evening.pcapng | nft -f -

The last one only counts: nft list table inet qdissect shows how much.

The rules are a table (nft) or a chain (iptables) of their own; the first comment says
how to remove them. Where they apply follows from the address of the server in the
capture: on the host that has it, before destinations are translated, so that servers in
containers behind it are protected too; or, for an address that Docker or Podman gives,
a private one that is not the host's own (with -i) and with --netns, at what the host
forwards to it or takes in itself. --where says it otherwise: container for a container's
own address of any network, router for a machine before the server's host.

A flood with challenges that nobody was given is told by these: the rules remember which
address the server gave which challenge. iptables remembers the newest 100 addresses
(ip_list_tot of xt_recent raises it), nft all.`,
		RunE: func(_ *cobra.Command, args []string) error { return o.run(args, env) },
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "for", "nft", "print for this `FIREWALL`: nft, iptables (IPv4), ip6tables, or json, which has the limits themselves")
	f.StringVar(&o.where, "where", "", "`PLACE` of the machine that loads them: host, container or router (default as the addresses say)")
	f.BoolVar(&o.dry, "dry-run", false, "only count what would be dropped")
	o.add(f)
	return cmd
}

func (o *rulesOptions) run(args []string, env environment) error {
	places := []stats.Place{stats.OnHost, stats.OnContainer, stats.OnRouter}
	switch {
	case !slices.Contains([]string{"nft", "iptables", "ip6tables", "json"}, o.format):
		return fmt.Errorf("--for %q is none of nft, iptables, ip6tables, json", o.format)
	case o.where != "" && !slices.Contains(places, stats.Place(o.where)):
		return fmt.Errorf("--where %q is none of host, container, router", o.where)
	}
	p, err := o.plan(args, "rules", whyTime, env)
	if err != nil {
		return err
	}
	a := stats.New()
	sum, err := p.countShown(a)
	if err != nil {
		return err
	}
	so := stats.Options{Packets: sum.Packets, OneSided: sum.OneSided > 0, Home: p.own()}
	if p.live {
		so.HomeBy = "interface"
	}
	list := a.Report(so).Remedies
	place := nettext.Either(o.where == "" && o.live.netns != "", stats.OnContainer, stats.Place(cmp.Or(o.where, string(stats.PlaceOf(list, so.Home)))))
	if len(list) == 0 && o.format != "json" {
		complain(env, errors.New("no limit would have helped: qdissect report says what the capture has"))
		return cmp.Or(p.end(), error(status(exitJudged)))
	}
	hint := ""
	if o.where == "" && place == stats.OnHost && len(so.Home) == 0 {
		for _, m := range list {
			for _, s := range m.Servers {
				if s.Addr().IsPrivate() {
					hint = fmt.Sprintf("# They are for the host that has %s. If that is a container or a machine on this one (LXD, Incus, libvirt): --where container\n", s.Addr())
				}
			}
		}
	}
	text, err := o.text(list, place, hint)
	if err != nil {
		return err
	}
	if _, err := env.out.Write(text); err != nil {
		return err
	}
	return p.end()
}

// text returns the rules with a comment in front, which has the hint.
func (o *rulesOptions) text(list []stats.Remedy, place stats.Place, hint string) ([]byte, error) {
	if o.format == "json" {
		if list == nil {
			list = []stats.Remedy{}
		}
		b, err := json.Marshal(struct {
			Type  string         `json:"type"`
			Where stats.Place    `json:"where"`
			Rules []stats.Remedy `json:"rules"`
		}{"rules", place, list})
		return append(escapeUnsafe(b), '\n'), err
	}
	var b bytes.Buffer
	again := nettext.Either(o.format == "nft", "", ", also before others are loaded") // the table of nft replaces itself
	fmt.Fprintf(&b, "# Made by qdissect rules. To remove them%s: %s\n", again, stats.Removal(o.format, list, place))
	b.WriteString(hint)
	if o.dry {
		b.WriteString("# They only count what they would drop.\n")
	}
	for _, m := range list {
		at := ""
		if m.Total {
			at = " at " + m.Servers[0].String()
		}
		fmt.Fprintf(&b, "# %s%s. %s\n", m.Title, at, m.Effect)
	}
	text := stats.NFT(list, place, o.dry)
	if o.format != "nft" {
		if text = stats.IPTables(list, place, o.dry, o.format == "ip6tables"); text == "" {
			return nil, fmt.Errorf("no server of these limits has an address for %s", o.format)
		}
	}
	b.WriteString(text)
	return b.Bytes(), nil
}
