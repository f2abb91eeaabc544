package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/stats"
)

// A hook posts verdicts. Its times are those of one attempt, and between the first two and later ones.
type hook struct {
	url             string
	port            uint16
	once, wait, max time.Duration
	client          http.Client
	warn            func(error)
	failing         bool
}

// pathOfAlerts is where Alertmanager takes alerts.
const pathOfAlerts = "/api/v2/alerts"

// newHook returns what posts verdicts to an address, and how they are passed on.
func newHook(to string, warn func(error)) (h *hook, c course, err error) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, c, errors.New("--webhook needs an address such as https://example.org/alerts")
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]), 10, 16)
	if err != nil {
		return nil, c, fmt.Errorf("--webhook: %q is not a port", u.Port())
	}
	c = course{flag: "--webhook", why: "the receiver is too slow, or refuses them", queued: 1000, end: 5 * time.Second, over: true, text: begun}
	if strings.HasSuffix(u.Path, pathOfAlerts) {
		c.again, c.text = true, alert
	}
	h = &hook{url: u.String(), port: uint16(port), once: 10 * time.Second, wait: time.Second / 2, max: time.Minute, warn: warn}
	h.client.Transport = new(http.Transport) // no proxy: a confined program reaches one port
	h.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return h, c, nil
}

// post posts a text until the receiver takes it or says that it will not, or ctx ends.
func (h *hook) post(ctx context.Context, text []byte) error {
	for wait := h.wait; ; wait = min(2*wait, h.max) {
		status, err := h.try(ctx, text)
		switch {
		case err == nil && status < 300:
			h.failing = false
			return nil
		case err == nil && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests:
			return fmt.Errorf("the receiver refuses a verdict: %d %s", status, http.StatusText(status))
		case err == nil:
			err = fmt.Errorf("the receiver says %d %s", status, http.StatusText(status))
		}
		if ctx.Err() != nil {
			return err
		}
		if !h.failing {
			h.failing = true
			h.warn(fmt.Errorf("--webhook: %w; trying again", err))
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

func (h *hook) try(ctx context.Context, text []byte) (status int, err error) {
	ctx, end := context.WithTimeout(ctx, h.once)
	defer end()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "qdissect")
	resp, err := h.client.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // the address may hold a secret
		}
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 1<<16) // so that the connection is used again
	return resp.StatusCode, nil
}

// begun is a verdict with its state.
func begun(v *stats.Verdict, over bool, _ time.Time) any {
	return struct {
		Type  string `json:"type"`
		State string `json:"state"`
		*stats.Verdict
	}{"verdict", map[bool]string{false: "begin", true: "end"}[over], v}
}

// alertHolds is how long an alert holds if nothing more is heard of it; it is posted again each minute.
const alertHolds = 5 * time.Minute

// alert is a verdict as Alertmanager takes it. Labels are what stays the same while it holds.
func alert(v *stats.Verdict, over bool, now time.Time) any {
	type object struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
		Starts      time.Time         `json:"startsAt,omitzero"`
		Ends        time.Time         `json:"endsAt"`
	}
	a := object{map[string]string{"alertname": v.Kind}, map[string]string{"summary": v.Text, "description": v.Advice, "certainty": string(v.Certainty)}, v.From, now.Add(alertHolds)}
	if over {
		a.Ends = v.To
	}
	for _, l := range []struct{ name, value string }{{"server", v.Server}, {"network", v.Network}} {
		if l.value != "" {
			a.Labels[l.name] = l.value
		}
	}
	if len(a.Labels) == 1 && len(v.Sources) > 0 {
		a.Labels["source"] = v.Sources[0]
	}
	if len(v.Sources) > 0 {
		a.Annotations["sources"] = strings.Join(v.Sources, " ")
	}
	return []object{a}
}
