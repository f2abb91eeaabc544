package golden

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
)

// sarifFormat is SARIF 2.1.0, the format of static analysis that GitHub and others read.
// A finding that is missing or new is a result of its own, with its id and severity; the
// other differences of a message are one result.
type sarifFormat struct {
	w     io.Writer
	o     FormatOptions
	run   sarifRun
	rules map[string]int // indexes by id
	more  int            // results left out
	types map[string]*dissect.FindingType
}

// maxResults limits the results of a run. GitHub shows 5,000.
const maxResults = 5000

// The rules of differences. Those of findings have the ids of the findings.
var sarifRules = map[string]string{
	"difference.changed": "A message or another part of the output differs from the golden.",
	"difference.missing": "The golden has a message that is missing now.",
	"difference.new":     "There is a message that is not in the golden.",
	"check.failed":       "A capture has no golden, or a golden has no capture.",
	"check.error":        "A capture could not be compared.",
}

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	ColumnKind  string            `json:"columnKind"`
	Results     []sarifResult     `json:"results"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string       `json:"id"`
	ShortDescription sarifMessage `json:"shortDescription"`
	FullDescription  sarifMessage `json:"fullDescription"`
	HelpURI          string       `json:"helpUri"`
	Configuration    sarifLevel   `json:"defaultConfiguration"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifLevel struct {
	Level string `json:"level"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level   string       `json:"level"`
	Message sarifMessage `json:"message"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI    string `json:"uri"`
			BaseID string `json:"uriBaseId,omitempty"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int `json:"startLine"`
		} `json:"region"`
	} `json:"physicalLocation"`
}

const home = "https://github.com/qdissect/qdissect"

func newSARIF(w io.Writer, o FormatOptions) *sarifFormat {
	f := &sarifFormat{w: w, o: o, rules: make(map[string]int), types: make(map[string]*dissect.FindingType)}
	f.run.Tool.Driver = sarifDriver{Name: "qdissect", Version: o.Version, InformationURI: home, Rules: []sarifRule{}}
	f.run.Invocations = []sarifInvocation{{Successful: true}}
	f.run.ColumnKind = "utf16CodeUnits"
	f.run.Results = []sarifResult{}
	list := dissect.CommonFindings()
	for _, p := range all.Protocols() {
		list = append(list, p.Findings...)
	}
	for _, t := range list {
		f.types[t.ID] = t
	}
	return f
}

func (f *sarifFormat) Case(c *Case) error {
	if c.Problem != nil {
		id := "check.failed"
		if !c.Failed {
			id = "check.error"
			f.run.Invocations[0].Successful = false
		}
		f.add(c, id, 0, c.title())
		return nil
	}
	if c.equal() {
		return nil
	}
	moved := 0 // lines that the output has more than the golden, so far
	for i := range c.Result.Differences {
		d := &c.Result.Differences[i]
		m := d.Message()
		name, line := d.name(), d.Want.Line
		switch d.Kind {
		case New:
			line = d.Got.Line - moved
			moved++
		case Missing:
			moved--
		}
		var text strings.Builder
		for _, field := range d.Fields {
			if id := field.finding(); id != "" {
				f.add(c, id, line, name+": "+map[bool]string{true: "new", false: "missing"}[field.From == ""]+" finding "+field.From+field.To)
				continue
			}
			fmt.Fprintf(&text, "\n%s: %s → %s", field.place(), orAbsent(field.From), orAbsent(field.To))
		}
		id := "difference." + d.Kind.String()
		switch {
		case d.Kind == Changed && text.Len() == 0:
			continue
		case d.Kind != Changed:
			if text.WriteString(d.Kind.String()); m.Summary != "" {
				text.WriteString(": " + clipped(m.Summary))
			}
			if d.More > 0 {
				fmt.Fprintf(&text, ", and %s", count(d.More, "more message of its conversation", "more of its conversation"))
			}
			if m.Type == "finding" {
				id = short(m.Name)
			}
			f.add(c, id, line, name+" is "+text.String())
			continue
		}
		f.add(c, id, line, name+":"+text.String())
	}
	if more := c.Result.Count - c.Result.shown; more > 0 {
		f.add(c, "difference.changed", 0, "… "+count(more, "more difference", "more differences")+"; --max shows them")
	}
	return nil
}

// finding returns the id of a finding that only one side has, or "".
func (f *Field) finding() string {
	if !strings.HasPrefix(f.Path, "findings[") || strings.Contains(f.Path, "].") || f.From != "" && f.To != "" {
		return ""
	}
	const start = `{"id":"`
	id, ok := strings.CutPrefix(f.From+f.To, start)
	if !ok {
		return ""
	}
	id, _, _ = strings.Cut(id, `"`)
	return id
}

// add adds a result.
func (f *sarifFormat) add(c *Case, id string, line int, text string) {
	if len(f.run.Results) >= maxResults {
		f.more++
		return
	}
	level, doc := "error", sarifRules[id]
	if doc == "" {
		level, doc = "warning", "A finding that this version of qdissect does not know."
		if t := f.types[id]; t != nil {
			level, doc = [...]string{dissect.Chat: "note", dissect.Note: "note", dissect.Warning: "warning", dissect.Failed: "error"}[t.Severity], t.Doc
		}
	}
	index, ok := f.rules[id]
	if !ok {
		rules := &f.run.Tool.Driver.Rules
		index = len(*rules)
		f.rules[id] = index
		page := home + "/blob/main/docs/testing-with-captures.md"
		if sarifRules[id] == "" {
			page = home + "/blob/main/docs/findings.md"
		}
		first, _, more := strings.Cut(doc, ". ")
		if more {
			first += "."
		}
		*rules = append(*rules, sarifRule{id, sarifMessage{first}, sarifMessage{doc}, page, sarifLevel{level}})
	}
	r := sarifResult{RuleID: id, RuleIndex: index, Level: level, Message: sarifMessage{text}, Locations: make([]sarifLocation, 1)}
	at := &r.Locations[0].Physical
	at.Artifact.URI, at.Artifact.BaseID = f.uri(c.File)
	at.Region.StartLine = max(line, 1)
	f.run.Results = append(f.run.Results, r)
}

// uri returns a path relative to the root, or an absolute URI if it lies elsewhere.
func (f *sarifFormat) uri(name string) (uri, base string) {
	name = inRoot(f.o.Root, name)
	if !filepath.IsAbs(name) {
		return (&url.URL{Path: filepath.ToSlash(name)}).String(), "%SRCROOT%"
	}
	return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(name), "/")}).String(), ""
}

func (f *sarifFormat) End(string) error {
	if f.more > 0 {
		f.run.Invocations[0].Notifications = []sarifNotification{{"warning", sarifMessage{count(f.more, "result", "results") + " left out"}}}
	}
	return writeJSON(f.w, &sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{f.run},
	})
}
