package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/games"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/whole"
)

// queryOptions are the flags of query.
type queryOptions struct {
	protocol, game, write string
	every                 time.Duration // between requests
}

// A server is asked at most so often: leastAsked times if it does not reply, so that something can be said.
const (
	mostAsked  = 10
	leastAsked = 4
	// lastWait is how many times the time between requests a reply to the last one may take: the five seconds of the analyzer, and one.
	lastWait = 6
	// experiment is an IP protocol without a meaning (RFC 3692).
	experiment = 253
)

func newQuery(env environment) *cobra.Command {
	o := queryOptions{every: time.Second}
	cmd := &cobra.Command{
		Use:   "query [flags] HOST[:PORT]",
		Short: "Ask one server, and say what came back",
		Long: `Ask one server as the clients of its protocol do, show the conversation as a capture
has it, and end with the words of qdissect why. It sends one request a second, at most
10 in all, to one address, and returns the challenge that the server gives. Replies from
another address or port of the server are shown too.

  qdissect query 198.51.100.10:27015
  qdissect query --game rust play.example.org
  qdissect query --protocol quake3 -w answer.pcap 198.51.100.10:27960

Without --protocol and --game, the port decides the protocol; with one of them, PORT
may be left out. Exit status as of qdissect why.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("query needs one server, %d given; see qdissect query --help", len(args))
			}
			return o.run(cmd.Context(), args[0], env)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.protocol, "protocol", "", "ask as clients of this `PROTOCOL` do")
	f.StringVar(&o.game, "game", "", "ask as clients of this `GAME` do: an id or a name of qdissect protocols --games")
	f.StringVarP(&o.write, "write", "w", "", "write the conversation to this `file`, as pcap")
	return cmd
}

// candidates returns the protocols that may be asked, and the port if none is given.
func (o *queryOptions) candidates(port uint16) (list []*dissect.Protocol, usual uint16, err error) {
	var names []string
	switch {
	case o.protocol != "" && o.game != "":
		return nil, 0, errors.New("--protocol and --game cannot be combined")
	case o.game != "":
		found, err := findGames(o.game)
		if err != nil {
			return nil, 0, err
		}
		if len(found) > 1 {
			return nil, 0, fmt.Errorf("--game %q are %d games; use an id, such as %s", o.game, len(found), found[0].ID)
		}
		if names, usual = found[0].Protocols, found[0].Port; len(names) == 0 {
			return nil, 0, fmt.Errorf("%s: %s", found[0].Name, readBy(&found[0]))
		}
	case o.protocol != "":
		names = []string{o.protocol}
	}
	for _, p := range all.Protocols() {
		if slices.Contains(names, p.Name) || names == nil && slices.Contains(p.Ports, port) {
			if games.Requests(p.Name) != nil {
				list = append(list, p)
				usual = cmp.Or(usual, p.Ports[0])
			}
		}
	}
	switch {
	case len(list) > 0:
		return list, usual, nil
	case names == nil && port == 0:
		return nil, 0, errors.New("which port? Use HOST:PORT, --game or --protocol")
	}
	known := slices.DeleteFunc(display.ProtocolNames(), func(name string) bool { return games.Requests(name) == nil })
	return nil, 0, fmt.Errorf("it is not known what clients of %s ask; --protocol names one of %s", cmp.Or(o.protocol, o.game, fmt.Sprint("port ", port)), strings.Join(known, ", "))
}

func (o *queryOptions) run(ctx context.Context, target string, env environment) error {
	host, digits, err := net.SplitHostPort(target)
	if err != nil {
		host, digits = target, "0"
	}
	port, err := strconv.ParseUint(cmp.Or(digits, "0"), 10, 16)
	if err != nil {
		return fmt.Errorf("%q: %s is not a port", target, digits)
	}
	list, usual, err := o.candidates(uint16(port))
	if err != nil {
		return err
	}
	port = cmp.Or(port, uint64(usual))
	ctx, done := interrupted(ctx)
	defer done()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return err
	}
	server := netip.AddrPortFrom(found[0].Unmap(), uint16(port))
	c := &conversation{server: server, every: o.every, challenge: -1, ctx: ctx}
	c.capture = mkpcap.NewWriter(&c.file, mkpcap.Options{Link: mkpcap.Raw, Nano: true})
	bar := &progress{env: env, on: isTerminal(env.err)}
	if bar.on {
		c.show = func() { bar.show(fmt.Sprintf("asking %s: %d requests, %d replies", server, c.asked, c.replies)) }
	}
	err = c.talk(list)
	bar.clear()
	if err != nil {
		return err
	}
	if o.write != "" {
		if err := whole.Write(o.write, c.file.Bytes(), false); err != nil {
			return err
		}
	}
	again := func(args ...string) int {
		e := env
		e.in = bytes.NewReader(c.file.Bytes())
		if len(list) == 1 && c.replies == 0 { // of some requests only the reply tells what they are
			args = append(args, "--decode-as", fmt.Sprintf("udp.port==%d,%s", server.Port(), list[0].Name))
		}
		return run(args, e)
	}
	if code := again("read", "-"); code != exitDone {
		return status(code)
	}
	if _, err := env.out.Write([]byte{'\n'}); err != nil {
		return err
	}
	if code := again("why", server.String(), "-"); code != exitDone {
		return status(code)
	}
	return nil
}

// maxTalk is how many bytes of a conversation are kept: more than ten of the longest replies.
const maxTalk = 4 << 20

// A conversation is with one server.
type conversation struct {
	ctx            context.Context
	server         netip.AddrPort
	own            netip.AddrPort
	conn           *net.UDPConn
	any            bool // conn takes what others than the server send
	every          time.Duration
	file           bytes.Buffer
	capture        *mkpcap.Writer
	asked, replies int
	errors         int   // of ICMP
	challenge      int32 // the newest, -1 if there is none
	given          bool  // the last request got one
	silent         bool  // nothing came after a request
	show           func()
}

// talk asks in the protocols, until one gets a reply.
func (c *conversation) talk(list []*dissect.Protocol) error {
	var err error
	if c.conn, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(c.server)); err != nil {
		return err
	}
	defer func() { c.conn.Close() }()
	own := c.conn.LocalAddr().(*net.UDPAddr).AddrPort()
	c.own = netip.AddrPortFrom(own.Addr().Unmap().WithZone(""), own.Port())
	for _, p := range list {
		for round := 0; round == 0 || c.replies > 0 && c.silent && round < leastAsked-1; round++ { // again, if a reply is missing: of more requests, something can be said
			for i, r := range games.Requests(p.Name) {
				if err := c.ask(p, r); err != nil {
					return err
				}
				if r.Challenged() && c.given {
					if err := c.ask(p, r); err != nil {
						return err
					}
				}
				if i == 0 && c.replies == 0 && len(list) > 1 {
					break
				}
			}
		}
		if c.replies > 0 {
			break
		}
	}
	for c.replies == 0 && c.asked < leastAsked {
		if err := c.ask(list[0], games.Requests(list[0].Name)[0]); err != nil {
			return err
		}
	}
	if c.silent { // a packet without contents says how long nothing came
		if err := c.read(list[0], nil, lastWait*c.every, nil); err != nil {
			return err
		}
		c.capture.Segment(time.Now(), c.own.Addr(), c.own.Addr(), experiment, nil)
	}
	return nil
}

// ask sends a request, and reads what comes until the next one may be sent.
func (c *conversation) ask(p *dissect.Protocol, r games.Request) error {
	if c.asked == mostAsked {
		return nil
	}
	c.asked++
	c.given = false
	payload := r.To(c.server, c.challenge)
	if c.asked > 2 && c.replies+c.errors == 0 && !c.any {
		if err := c.listen(p); err != nil {
			return err
		}
	}
	c.capture.UDP(time.Now(), c.own, c.server, payload)
	var err error
	if c.any {
		_, err = c.conn.WriteToUDPAddrPort(payload, c.server)
	} else {
		_, err = c.conn.Write(payload)
	}
	before := c.replies + c.errors
	err = c.read(p, payload, c.every, err)
	c.silent = c.silent || c.replies+c.errors == before
	return err
}

// listen goes on with a socket that is not connected: it sees replies from another address or port, but no ICMP errors, which the first
// requests have shown if there are any.
func (c *conversation) listen(p *dissect.Protocol) error {
	if err := c.read(p, nil, time.Millisecond, nil); err != nil || c.replies+c.errors > 0 { // what came since
		return err
	}
	own := c.conn.LocalAddr().(*net.UDPAddr)
	c.conn.Close()
	conn, err := net.ListenUDP("udp", own)
	if err == nil {
		c.conn, c.any = conn, true
	}
	return err
}

// read reads for a time what answers a request, which was sent with an error or without.
func (c *conversation) read(p *dissect.Protocol, request []byte, wait time.Duration, err error) error {
	conn := c.conn
	_ = conn.SetReadDeadline(time.Now().Add(wait))
	defer context.AfterFunc(c.ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	buf := make([]byte, 1<<16)
	for err == nil || errors.Is(err, syscall.ECONNREFUSED) {
		if c.show != nil {
			c.show()
		}
		if err != nil { // the kernel says only that an ICMP error came
			c.errors++
			c.refused(request)
		}
		var n int
		var from netip.AddrPort
		if n, from, err = conn.ReadFromUDPAddrPort(buf); err == nil {
			if c.file.Len() > maxTalk {
				return fmt.Errorf("more than %d MiB came: no game server sends so much", maxTalk>>20)
			}
			from = netip.AddrPortFrom(from.Addr().Unmap().WithZone(""), from.Port())
			c.capture.UDP(time.Now(), from, c.own, buf[:n])
			if from != netip.AddrPortFrom(c.server.Addr().WithZone(""), c.server.Port()) {
				continue // the program of a client would not get it
			}
			c.replies++
			if m, _, _ := dissect.Parse(p, buf[:n]); m.Pair.Challenge == dissect.ChallengeIssued {
				c.challenge, c.given = int32(uint32(m.Pair.Value)), true
			}
		}
	}
	if c.ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if e := net.Error(nil); errors.As(err, &e) && e.Timeout() {
		return c.capture.Err()
	}
	return err
}

// refused writes the ICMP error about a request: that nothing listens.
func (c *conversation) refused(payload []byte) {
	quote := mkpcap.IP(c.own.Addr(), c.server.Addr(), 0, 17, 0, false, false, mkpcap.UDPSegment(c.own, c.server, payload))
	kind, code, protocol := byte(3), byte(3), byte(1)
	if c.server.Addr().Is6() {
		kind, code, protocol = 1, 4, 58
	}
	c.capture.Segment(time.Now(), c.server.Addr(), c.own.Addr(), protocol, mkpcap.ICMP(c.server.Addr(), c.own.Addr(), kind, code, 0, quote))
}
