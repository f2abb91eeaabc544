package host

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/serve"
)

// Limits of the connections to a socket.
const (
	maxTalking = 256
	idle       = 2 * time.Minute
	// paused is how long a client waits in the middle of what it sends before that is taken for whole.
	paused = 300 * time.Millisecond
)

// accept takes a connection.
func (s *socket) accept(ctx context.Context) error {
	c, err := s.tcp.AcceptTCP()
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		time.Sleep(10 * time.Millisecond) // too many files are open
		return err
	case s.talking.Add(1) > maxTalking:
		s.talking.Add(-1)
		c.Close()
		return nil
	}
	s.host.running.Go(func() {
		defer s.talking.Add(-1)
		defer c.Close()
		defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
		s.converse(ctx, c)
	})
	return nil
}

// converse answers the messages of a connection, one after the other.
func (s *socket) converse(ctx context.Context, c *net.TCPConn) {
	var sent []byte
	buf := make([]byte, 1<<12)
	for waits := false; ; {
		wait := nettext.Either(len(sent) > 0 && !waits, paused, idle)
		_ = c.SetReadDeadline(time.Now().Add(wait))
		n, err := c.Read(buf)
		if ctx.Err() != nil || err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || len(sent) == 0 || waits) {
			return
		}
		waits = err != nil
		for sent = append(sent, buf[:n]...); len(sent) > 0; {
			n, open := s.next(ctx, c, sent, waits)
			if !open {
				return
			}
			if sent = sent[n:]; n == 0 {
				break
			}
		}
	}
}

// next answers the first message of what a client has sent, and returns its length, 0 if it is not whole. It reports whether the connection
// goes on.
func (s *socket) next(ctx context.Context, c *net.TCPConn, sent []byte, waits bool) (n int, open bool) {
	now, from := time.Now(), c.RemoteAddr().(*net.TCPAddr).AddrPort()
	e := s.exchange(from)
	s.mu.Lock()
	n, answer, over := s.server.Next(from, now, sent, waits)
	s.mu.Unlock()
	if n == 0 {
		return 0, true
	}
	if !s.host.admit(now) {
		return max(n, 0), n > 0
	}
	if e.Answer = answer; n < 0 {
		e.Answer = serve.Unknown(sent)
	}
	s.host.exchanged(&e)
	for _, d := range e.Datagrams {
		select {
		case <-time.After(time.Until(now.Add(d.After))):
		case <-ctx.Done():
			return n, false
		}
		_ = c.SetWriteDeadline(time.Now().Add(idle))
		_, err := c.Write(d.Payload)
		if s.host.wrote(&s.host.counts.messages, len(d.Payload), err); err != nil {
			return n, false
		}
	}
	return n, n > 0 && !over
}
