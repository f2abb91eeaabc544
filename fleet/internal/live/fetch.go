package live

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/qdissect/qdissect/fleet/internal/work"
	"github.com/qdissect/qdissect/internal/whole"
)

// A Cut is what somebody wants of the packets of a sensor.
type Cut struct {
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	Filter string    `json:"filter,omitempty"` // of qdissect, for messages
	Most   int64     `json:"most"`             // bytes
}

// The limits of a fetch.
const (
	MaxFetch   = 256 << 20 // bytes
	maxCutTime = 2 * time.Minute
	maxFilter  = 1000
	chunk      = 256 << 10
)

// The headers of a piece of the packets, and of the end.
const (
	pieceHeader = "Qdissect-Piece"
	endHeader   = "Qdissect-End"
)

// An ending is what a sensor says at the end.
type ending struct {
	SHA256 string `json:"sha256"`
	Error  string `json:"error,omitempty"`
	Note   string `json:"note,omitempty"`
}

// answer returns what answers requests for packets, one at a time.
func (s *Sensor) answer(ctx context.Context) nats.MsgHandler {
	busy := make(chan struct{}, 1)
	return func(m *nats.Msg) {
		if m.Reply == "" {
			return
		}
		select {
		case busy <- struct{}{}:
		default:
			s.end(m.Reply, &ending{Error: "it is busy with another fetch"})
			return
		}
		go func() {
			defer func() { <-busy }()
			e := new(ending)
			if err := s.cut(ctx, m, e); err != nil {
				e.Error = err.Error()
			}
			s.end(m.Reply, e)
		}()
	}
}

func (s *Sensor) end(to string, e *ending) {
	b, err := json.Marshal(e)
	if err == nil {
		err = s.Conn.PublishMsg(&nats.Msg{Subject: to, Data: b, Header: nats.Header{endHeader: {"1"}}})
	}
	if err != nil {
		s.Say(fmt.Sprintf("fetch: %v", err))
	}
}

// wanted reads a request for packets, and returns the words for qdissect: those of others are values of flags, and no shell sees them.
func wanted(request []byte) (c Cut, args []string, err error) {
	if err := json.Unmarshal(request, &c); err != nil {
		return c, nil, errors.New("not a request for packets")
	}
	switch {
	case c.Since.IsZero() || !c.Since.Before(c.Until):
		return c, nil, errors.New("--since must be before --until")
	case len(c.Filter) > maxFilter:
		return c, nil, fmt.Errorf("the filter is longer than %d bytes", maxFilter)
	}
	c.Most = min(max(c.Most, 0), MaxFetch)
	args = []string{"read", "-q", "-w", "-", "--since=" + c.Since.UTC().Format(time.RFC3339Nano), "--until=" + c.Until.UTC().Format(time.RFC3339Nano)}
	if c.Filter != "" {
		args = append(args, "--display-filter="+c.Filter)
	}
	return c, args, nil
}

// cut sends the packets that somebody wants.
func (s *Sensor) cut(ctx context.Context, m *nats.Msg, e *ending) error {
	c, args, err := wanted(m.Data)
	if err != nil {
		return err
	}
	files := covering(s.ring(), c.Since, c.Until)
	if len(files) == 0 {
		return errors.New("its ring has no packets of that time")
	}
	ctx, stop := context.WithTimeout(ctx, maxCutTime)
	defer stop()
	if run(files[0]) == run(files[len(files)-1]) {
		args = append(args, "--series") // else some were written before a restart
	}
	p := exec.CommandContext(ctx, s.Program, append(append(args, "--"), files...)...)
	words := new(work.LastWords)
	p.Stderr, p.WaitDelay = words, time.Second
	out, err := p.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	sent, whole, err := s.pieces(ctx, m.Reply, out, c.Most, e)
	if !whole {
		stop()
	}
	ended := p.Wait()
	switch {
	case err != nil:
		return err
	case !whole:
		e.Note = fmt.Sprintf("cut short at %d bytes: there are more packets", sent)
	case ctx.Err() != nil:
		return fmt.Errorf("it takes longer than %v", maxCutTime)
	case ended != nil && sent == 0:
		return errors.New(words.String())
	case ended != nil:
		e.Note = words.String()
	}
	return nil
}

// covering returns the files of a ring that may have packets of a time: each was written until it was changed last.
func covering(ring []string, since, until time.Time) (list []string) {
	var before time.Time
	for _, name := range ring {
		at := changed(name)
		if !at.Add(slack).Before(since) && before.Add(-slack).Before(until) {
			list = append(list, name)
		}
		before = at
	}
	return list
}

// slack is how late frames may be written.
const slack = time.Minute

// pieces sends what r has, at most so many bytes, piece by piece: each is acknowledged before the next is sent. whole reports
// whether that was all.
func (s *Sensor) pieces(ctx context.Context, to string, r io.Reader, most int64, e *ending) (sent int64, whole bool, err error) {
	h := sha256.New()
	b := make([]byte, chunk)
	for n := 0; ; n++ {
		k, err := io.ReadFull(r, b)
		if rest := most - sent; int64(k) > rest {
			k, most = int(rest), 0
		}
		if k > 0 {
			m := &nats.Msg{Subject: to, Data: b[:k], Header: nats.Header{pieceHeader: {strconv.Itoa(n)}}}
			asked, end := context.WithTimeout(ctx, 2*askTime)
			_, err := s.Conn.RequestMsgWithContext(asked, m)
			if end(); err != nil {
				return sent, false, fmt.Errorf("not acknowledged: %w", err)
			}
			h.Write(b[:k])
			sent += int64(k)
		}
		e.SHA256 = hex.EncodeToString(h.Sum(nil))
		switch {
		case most == 0:
			return sent, false, nil
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return sent, true, nil
		case err != nil:
			return sent, false, err
		}
	}
}

// Fetch brings packets of a sensor. The note says what is missing.
func Fetch(ctx context.Context, conn *nats.Conn, name string, c Cut, out io.Writer) (n int64, note string, err error) {
	if !ValidName(name) {
		return 0, "", errName
	}
	inbox := conn.NewInbox()
	sub, err := conn.SubscribeSync(inbox)
	if err != nil {
		return 0, "", err
	}
	defer sub.Unsubscribe()
	b, err := json.Marshal(&c)
	if err != nil {
		return 0, "", err
	}
	if err := conn.PublishRequest(fetchSubject(name), inbox, b); err != nil {
		return 0, "", err
	}
	h := sha256.New()
	for piece := 0; ; piece++ {
		wait, end := context.WithTimeout(ctx, maxCutTime)
		m, err := sub.NextMsgWithContext(wait)
		end()
		switch {
		case errors.Is(err, nats.ErrNoResponders) || err == nil && m.Header.Get("Status") == "503":
			return n, "", fmt.Errorf("the sensor %s does not answer: it is not connected, or its name is another", name)
		case err != nil:
			return n, "", fmt.Errorf("sensor %s: %w", name, err)
		}
		if m.Header.Get(endHeader) != "" {
			var e ending
			switch err := json.Unmarshal(m.Data, &e); {
			case err != nil || len(m.Data) > 1<<16:
				return n, "", fmt.Errorf("sensor %s: not an answer", name)
			case e.Error != "":
				return n, "", fmt.Errorf("sensor %s: %s", name, e.Error)
			case e.SHA256 != hex.EncodeToString(h.Sum(nil)):
				return n, "", fmt.Errorf("sensor %s: what came is not what was sent", name)
			}
			return n, e.Note, nil
		}
		if m.Header.Get(pieceHeader) != strconv.Itoa(piece) {
			return n, "", fmt.Errorf("sensor %s: a piece is missing", name)
		}
		if n += int64(len(m.Data)); n > c.Most {
			return n, "", fmt.Errorf("sensor %s: it sends more than was asked for", name)
		}
		if piece == 0 && !bytes.HasPrefix(m.Data, []byte{0x0a, 0x0d, 0x0d, 0x0a}) {
			return n, "", fmt.Errorf("sensor %s: what it sends is no pcapng", name)
		}
		if _, err := out.Write(m.Data); err != nil {
			return n, "", err
		}
		h.Write(m.Data)
		if err := m.Respond(nil); err != nil {
			return n, "", err
		}
	}
}

// FetchFile is as Fetch, into a file that is complete or not there.
func FetchFile(ctx context.Context, conn *nats.Conn, name string, c Cut, file string) (n int64, note string, err error) {
	f, err := whole.Create(file, true)
	if err != nil {
		return 0, "", err
	}
	defer f.Discard()
	if n, note, err = Fetch(ctx, conn, name, c, f); err != nil {
		return n, note, err
	}
	return n, note, f.Place()
}
