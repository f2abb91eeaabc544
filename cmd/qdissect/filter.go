package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/nettext"
)

const filterHelp = `Expressions of -Y select messages, findings that belong to no message and, with
--all, unknown datagrams. A name that does not exist, an operator that its type
does not have and a value of another type are errors.

  players > 20 and map == de_dust2
  message == players_reply and a2s.players[*].score > 5
  protocol in {a2s, quake3} and not rtt < 100ms
  host in {192.0.2.0/24, 2001:db8::/32} and port == 27015
  finding == a2s.split.missing or severity >= warning
  name matches "(?i)dust" and players >= max_players

A name alone tests whether it is there. These operators compare it:

  == != < <= > >=     also = and eq ne lt le gt ge
  contains            text within a text
  matches, ~, !~      a regular expression (RE2), found anywhere in the text
  in, not in          one of {a, b, 5-9}; (a, b) and a, b will do
  exists              NAME exists, exists(NAME) or NAME alone

Tests are joined by and (&&), or (||), not (!) and parentheses; and binds
tighter. Of a list, one fitting element is enough. !=, !~ and not in match if
there are values and none fits. Filters of -f are in the language of tcpdump;
they select frames before anything is dissected.

Numbers have units: 1k 2M 3G (powers of 1000), 4KiB 5MiB, and for time spans ns
us ms s m h. A time is 2026-11-21 or 2026-11-21T05:41:00.5, in UTC. Text with
blanks or signs needs quotation marks, of either kind. Numbers can be compared
with each other: players >= max_players.

Fields of a protocol are PROTOCOL.NAME, as in JSON: a2s.map, quake3.rules.key;
qdissect protocols --fields lists them, and their paths are accepted as well.
The other names, with * for those that JSON does not have:

`

// newFilter returns a help topic.
func newFilter() *cobra.Command {
	cmd := &cobra.Command{Use: "filter", Short: "Expressions of -Y, a help topic"}
	cmd.SetHelpFunc(func(c *cobra.Command, _ []string) { fmt.Fprint(c.OutOrStdout(), filterTopic()) })
	return cmd
}

// filterTopic returns the text of the topic.
func filterTopic() string {
	var b strings.Builder
	b.WriteString(filterHelp)
	for _, n := range display.Names() {
		mark := nettext.Either(n.Short, "*", " ")
		fmt.Fprintf(&b, "%s %-18s %s\n", mark, n.Name, n.Doc)
	}
	return b.String()
}
