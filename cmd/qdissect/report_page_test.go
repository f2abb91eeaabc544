package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
)

// pages are captures whose pages have goldens: what a screen reader says, and the bytes of the conversations.
var pages = []string{"a2s/documents.pcap", "a2s/trouble.pcap", "icmp/errors4.pcap", oneSided, "quake3/trouble.pcap"}

// oneSided is a capture of one direction: a file is read ahead to find that out, a pipe is not.
const oneSided = "a2s/requests-only.pcap"

// TestReportPages compares pages with their goldens. They are the same for any number of cores, and the conversations
// are the same from a pipe.
func TestReportPages(t *testing.T) {
	dir := must.Get(filepath.Abs(filepath.Join("testdata", "report")))(t)
	captures := must.Get(filepath.Abs(filepath.Join("..", "..", "testdata", "pcaps")))(t)
	for _, name := range pages {
		t.Run(name, func(t *testing.T) {
			one, errs, _ := runIn(t, captures, "report", "--format", "html", "-j", "1", name)
			if errs != "" {
				t.Error(errs)
			}
			for _, n := range []string{"2", "8"} {
				if more, _, _ := runIn(t, captures, "report", "--format", "html", "-j", n, name); more != one {
					t.Errorf("with -j %s the page differs", n)
				}
			}
			if len(one) > 500_000 {
				t.Errorf("%d bytes", len(one))
			}
			compare(t, filepath.Join(dir, strings.ReplaceAll(strings.TrimSuffix(name, path.Ext(name)), "/", "-")+".txt"), spoken(t, one))

			if name == oneSided {
				return
			}
			fromFile, _, _ := runIn(t, captures, "report", "--format", "json", name)
			capture := must.Get(os.ReadFile(filepath.Join(captures, filepath.FromSlash(name))))(t)
			fromPipe, _ := streams(capture, "report", "--format", "json")
			if a, b := unnamed(t, fromFile), unnamed(t, fromPipe); !reflect.DeepEqual(a, b) {
				t.Error("the report differs if the capture comes from a pipe")
			}
		})
	}
}

// TestReportKinds reads all captures as one: no kind of request is left out, because which one depends on the workers.
func TestReportKinds(t *testing.T) {
	kinds := 0
	for _, p := range all.Protocols() {
		for _, m := range p.Catalog.Messages() {
			if m.Role != dissect.Reply {
				kinds++
			}
		}
	}
	if kinds > 310 { // stats.maxKinds, with room for "other"
		t.Errorf("%d kinds of requests: raise the limit of internal/stats", kinds)
	}
	args := []string{"report", "--format", "json", "-j"}
	paths := captures(t)
	one, _, _ := runIn(t, ".", append(append(slices.Clone(args), "1"), paths...)...)
	two, _, _ := runIn(t, ".", append(append(slices.Clone(args), "2"), paths...)...)
	if one != two || len(one) < 100_000 {
		t.Errorf("%d bytes with one worker, %d with two, and they differ", len(one), len(two))
	}
}

// unnamed returns a report without what names its capture.
func unnamed(t *testing.T, report string) map[string]any {
	t.Helper()
	var r map[string]any
	must.Do(t, json.Unmarshal([]byte(report), &r))
	delete(r, "made")
	var clean func(v any)
	clean = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "file")
			delete(v, "command")
			for _, e := range v {
				clean(e)
			}
		case []any:
			for _, e := range v {
				clean(e)
			}
		}
	}
	clean(r)
	if talks, ok := r["conversations"].([]any); !ok || len(talks) == 0 {
		t.Error("no conversations")
	}
	return r
}

// spoken returns the text of a page, with an element on each line, and the bytes of its messages.
func spoken(t *testing.T, page string) string {
	t.Helper()
	root := must.Get(html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false)))(t)
	var out strings.Builder
	var line []string
	flush := func() {
		if text := strings.Join(strings.Fields(strings.Join(line, "")), " "); text != "" {
			out.WriteString(text + "\n")
		}
		line = nil
	}
	lines := map[string]bool{"h1": true, "h2": true, "h3": true, "p": true, "li": true, "tr": true, "dt": true, "summary": true, "section": true, "article": true, "pre": true, "thead": true, "title": true, "label": true, "legend": true}
	var data string
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		attr := func(key string) string {
			for _, a := range n.Attr {
				if a.Key == key {
					return a.Val
				}
			}
			return ""
		}
		switch {
		case n.Type == html.TextNode:
			line = append(line, n.Data)
			return
		case n.Type == html.ElementNode && attr("id") == "data":
			data = n.FirstChild.Data
			return
		case n.Type == html.ElementNode && (n.Data == "script" || n.Data == "style" || n.Data == "symbol"):
			return
		case n.Data == "summary" && strings.HasPrefix(text(n), "Licence of"):
			n.NextSibling.FirstChild.Data = "…"
		}
		if lines[n.Data] {
			flush()
		}
		switch n.Data {
		case "h1", "h2", "h3":
			line = append(line, strings.Repeat("#", int(n.Data[1]-'0'))+" ")
		case "td", "th", "dd", "span", "button":
			line = append(line, " ")
		case "a":
			line = append(line, " ["+attr("href")+"] ")
		}
		if n.Data == "svg" && attr("role") == "img" {
			line = append(line, " [picture: "+attr("aria-label")+"] ")
			return
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if lines[n.Data] {
			flush()
		}
	}
	walk(root)
	flush()
	var d struct {
		Talks [][]struct {
			B string
			N int
			F [][4]any
		}
	}
	must.Do(t, json.Unmarshal([]byte(data), &d))
	for i, talk := range d.Talks {
		for k, m := range talk {
			fmt.Fprintf(&out, "conversation %d, message %d, %d bytes: %s\n", i+1, k+1, m.N, m.B)
			for _, f := range m.F {
				fmt.Fprintf(&out, "  %v+%v %v = %v\n", f[0], f[1], f[2], f[3])
			}
		}
	}
	return regexp.MustCompile(`(?m)^(Program) .*$`).ReplaceAllString(out.String(), "$1 …")
}

// text returns the text within a node.
func text(n *html.Node) (s string) {
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			s += c.Data
		}
	}
	return s
}
