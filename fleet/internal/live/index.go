package live

import (
	"bytes"
	"cmp"
	_ "embed" // for the page
	"fmt"
	"html/template"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/whole"
)

// A row is a sensor on the page of all sensors.
type row struct {
	Name, Heard, Clock            string
	Bad                           bool
	Packets, Requests, Unanswered uint64
	Share                         string
	Trouble                       []string
	Says                          []said
}

// A said is a verdict in the list.
type said struct {
	Bad  bool
	Text string
}

// listed returns verdicts for the list.
func listed(list []stats.Verdict) (says []said) {
	for i := range list {
		v := &list[i]
		says = append(says, said{v.Kind != stats.NothingUnusual && v.Kind != stats.CannotTell && v.Kind != stats.Growth, string(nettext.AppendSafe(nil, []byte(v.Text)))})
	}
	return says
}

// row says what is known of a sensor.
func (s *sensor) row(now time.Time) row {
	r := row{Name: s.name, Heard: ago(now, s.heard), Says: listed(s.says)}
	for i := range s.units {
		u := &s.units[i]
		r.Packets, r.Requests, r.Unanswered = r.Packets+u.packets, r.Requests+u.requests, r.Unanswered+u.unanswered
	}
	if r.Requests > 0 {
		r.Share = fmt.Sprintf("%.1f %%", 100*float64(r.Unanswered)/float64(r.Requests))
	}
	say := func(format string, args ...any) {
		r.Trouble = append(r.Trouble, string(nettext.AppendSafe(nil, fmt.Appendf(nil, format, args...))))
	}
	if now.Sub(s.heard) > silent {
		say("nothing has come for %s", strings.TrimSuffix(ago(now, s.heard), " ago"))
	}
	if off := s.clock.Abs(); off >= clockNamed {
		way, sum := "ahead", ""
		if s.clock < 0 {
			way = "behind"
		}
		if off >= clockWrong {
			sum = ", so that its counts are not in the sum"
		}
		say("the clock of sensor %s is %s %s%s", s.name, off.Round(time.Second), way, sum)
	}
	if st := &s.status; st.Restarts > 0 && !st.EndedAt.IsZero() && now.Add(s.clock).Sub(st.EndedAt) < hour {
		say("its qdissect has been restarted (%d in all), %s: %.300s", st.Restarts, ago(now.Add(s.clock), st.EndedAt), st.Ended)
	}
	if n := s.status.Dropped; n > 0 {
		say("%d of its units were dropped before the server had them, because the server was away for more than an hour", n)
	}
	if s.refused > 0 {
		say("%d of its messages were refused, the last one because of %.200s", s.refused, s.why)
	}
	r.Bad = len(r.Trouble) > 0
	return r
}

func ago(now, t time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return "never"
	case d < 2*time.Second:
		return "now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// rank is 0 for a sensor with trouble, 1 for one whose servers have it.
func (r *row) rank() int {
	switch {
	case r.Bad:
		return 0
	case slices.ContainsFunc(r.Says, func(s said) bool { return s.Bad }):
		return 1
	}
	return 2
}

// index writes the page that lists the sensors, those with trouble first.
func (v *View) index(now time.Time, list []*sensor) error {
	page := struct {
		At           string
		Reload       float64
		Says         []said
		Rows         []row
		Trouble      []string
		Bad, Sensors int
	}{At: now.UTC().Format("2006-01-02 15:04:05 UTC"), Reload: reloadEvery.Seconds(), Says: listed(v.says), Sensors: len(list)}
	for _, s := range list {
		r := s.row(now)
		if page.Rows = append(page.Rows, r); r.Bad {
			page.Bad++
		}
	}
	slices.SortStableFunc(page.Rows, func(a, b row) int { return cmp.Compare(a.rank(), b.rank()) })
	if v.refused > 0 {
		page.Trouble = append(page.Trouble, fmt.Sprintf("%d messages of no sensor were refused", v.refused))
	}
	if v.crowd > 0 {
		page.Trouble = append(page.Trouble, fmt.Sprintf("there is room for %d sensors: %d messages of others were refused", maxSensors, v.crowd))
	}
	if len(v.Without) > 0 {
		page.Trouble = append(page.Trouble, "left out: "+strings.Join(v.Without, ", "))
	}
	var b bytes.Buffer
	if err := indexPage.Execute(&b, page); err != nil {
		return err
	}
	return whole.Write(filepath.Join(v.Dir, "index.html"), b.Bytes(), false)
}

//go:embed index.tmpl
var indexTemplate string

var indexPage = template.Must(template.New("index").Parse(indexTemplate))
