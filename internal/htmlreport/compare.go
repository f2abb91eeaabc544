package htmlreport

import (
	_ "embed" // for the page
	"html/template"
	"io"
	"strings"

	"github.com/qdissect/qdissect/internal/stats"
)

//go:embed compare.tmpl
var compareTemplate string

// WriteComparison writes a comparison of reports as a page without scripts.
func WriteComparison(w io.Writer, c *stats.Comparison) error {
	p := struct {
		page
		*stats.Comparison
		Tone, Head string
	}{Comparison: c, Tone: "unsure"}
	p.Style = template.CSS(ownStyle)
	p.Policy = "default-src 'none'; style-src " + Hash(string(p.Style)) + "; img-src data:; base-uri 'none'; form-action 'none'"
	p.Head, _, _ = strings.Cut(c.Answer[0], ":")
	switch {
	case c.Helped == "no":
		p.Tone = "bad"
	case c.Helped == "nothing_to_stop":
	case c.Cost == "some":
		p.Tone, p.Head = "warn", p.Head+", and honest clients paid"
	case c.Cost == "none" && c.Helped == "yes":
		p.Tone, p.Head = "good", p.Head+", and cost honest clients nothing"
	default:
		p.Tone = "warn"
	}
	t, err := template.New("compare").Funcs(p.funcs()).Parse(pageTemplate + compareTemplate)
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, "comparison", p)
}
