package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/qdissect/qdissect/internal/golden"
)

// needDuckDB skips a test if DuckDB is not installed.
func needDuckDB(t *testing.T) {
	t.Helper()
	if os.Getenv("QDISSECT_DUCKDB") == "" {
		t.Skip("QDISSECT_DUCKDB does not name the folder of npm's @duckdb/node-api")
	}
}

// duckDB runs statements of SQL after a script, and returns the rows of each.
func duckDB(t *testing.T, script, sql string) (results [][][]any) {
	t.Helper()
	needDuckDB(t)
	init := filepath.Join(t.TempDir(), "q.sql")
	if err := os.WriteFile(init, []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("node", "testdata/duckdb.cjs", "-init", init)
	c.Stdin = strings.NewReader(sql)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.Bytes())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var rows [][]any
		if err := d.Decode(&rows); err != nil {
			t.Fatal(err)
		}
		results = append(results, rows)
	}
	return results
}

// A docQuestion is a section of docs/questions.md.
type docQuestion struct{ title, sql string }

func questions(t *testing.T) (list []docQuestion) {
	b, err := os.ReadFile("../../docs/questions.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, section := range strings.Split(string(b), "\n## ") {
		_, sql, ok := strings.Cut(section, "```sql\n")
		if i == 0 || !ok {
			continue
		}
		sql, _, _ = strings.Cut(sql, "```")
		title, _, _ := strings.Cut(section, "\n")
		list = append(list, docQuestion{title, sql})
	}
	return list
}

// A jsonLine is a line of the JSON output.
type jsonLine struct {
	Capture       int // which is unique, unlike the name of its file
	Type, File    string
	Frame         uint64
	Time          time.Time
	SrcIP         string `json:"src_ip"`
	SrcPort       int    `json:"src_port"`
	DstIP         string `json:"dst_ip"`
	DstPort       int    `json:"dst_port"`
	FlowID        string `json:"flow_id"`
	Protocol      string
	Message, Role string
	WireLength    int    `json:"wire_length"`
	RequestFrame  uint64 `json:"request_frame"`
	RTT           *int64 `json:"rtt_ns"`
	ICMPFrame     uint64 `json:"icmp_frame"`
	Split         struct {
		Variant string
		Missing []int
	}
	Server *struct {
		Game, Version *string
		Players       *int
	}
	Findings []struct{ ID, Severity string }
}

// An asked is a request with its replies.
type asked struct {
	*jsonLine
	replies  []*jsonLine
	findings []*jsonLine // of no message
}

func readLines(t *testing.T, paths []string) (list []*jsonLine) {
	for n, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file := ""
		for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
			l := jsonLine{Capture: n}
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				t.Fatal(err)
			}
			if bytes.HasPrefix(raw, []byte(`{"type":"summary"`)) {
				continue
			}
			if err := json.Unmarshal(raw, &l); err != nil {
				t.Fatal(err)
			}
			if l.Type == "capture" {
				file = l.File
				continue
			}
			l.File = file
			list = append(list, &l)
		}
	}
	return list
}

// exchangesOf finds the replies of requests.
func exchangesOf(lines []*jsonLine) (list []*asked) {
	type place struct {
		capture int
		frame   uint64
	}
	at := map[place]*asked{}
	for _, l := range lines {
		if l.Role == "request" {
			x := &asked{jsonLine: l}
			at[place{l.Capture, l.Frame}] = x
			list = append(list, x)
		}
	}
	for _, l := range lines {
		if x := at[place{l.Capture, l.RequestFrame}]; x != nil {
			x.replies = append(x.replies, l)
		}
		if x := at[place{l.Capture, l.Frame}]; x != nil && l.Type == "finding" {
			x.findings = append(x.findings, l)
		}
	}
	for _, x := range list {
		slices.SortStableFunc(x.replies, func(a, b *jsonLine) int { return cmp.Compare(a.Frame, b.Frame) })
	}
	return list
}

// refused and unanswered say what findings say of the request.
func (x *asked) refused() bool {
	return slices.ContainsFunc(x.findings, func(l *jsonLine) bool { return l.ICMPFrame > 0 && l.ICMPFrame != l.Frame })
}

func (x *asked) unanswered() bool {
	return slices.ContainsFunc(x.findings, func(l *jsonLine) bool {
		id := l.Findings[0].ID
		return strings.Contains(id, "noreply") || strings.HasSuffix(id, ".silent")
	})
}

// tally counts by the cells of rows.
type tally map[string][]int

func (c tally) add(key string, column, n int) {
	if c[key] == nil {
		c[key] = make([]int, 4)
	}
	c[key][column] += n
}

// row writes cells as text. A nil pointer is NULL.
func row(cells ...any) string {
	var list []string
	for _, c := range cells {
		if v := reflect.ValueOf(c); v.Kind() == reflect.Pointer && !v.IsNil() {
			c = v.Elem().Interface()
		} else if v.Kind() == reflect.Pointer {
			c = nil
		}
		list = append(list, fmt.Sprint(c))
	}
	return strings.Join(list, " | ")
}

// answers are the answers to the questions, without SQL.
var answers = []func(lines []*jsonLine, all []*asked) []string{
	func(_ []*jsonLine, all []*asked) (rows []string) { // who asks most
		requests, servers := map[string]int{}, map[string]map[string]bool{}
		for _, x := range all {
			requests[x.SrcIP]++
			if servers[x.SrcIP] == nil {
				servers[x.SrcIP] = map[string]bool{}
			}
			servers[x.SrcIP][row(x.DstIP, x.DstPort)] = true
		}
		clients := slices.SortedFunc(maps.Keys(requests), func(a, b string) int {
			return cmp.Or(cmp.Compare(requests[b], requests[a]), cmp.Compare(a, b))
		})
		for _, c := range clients[:min(10, len(clients))] {
			rows = append(rows, row(c, requests[c], len(servers[c])))
		}
		return rows
	},
	func(_ []*jsonLine, all []*asked) (rows []string) { // which servers do not answer
		c := tally{}
		for _, x := range all {
			key := row(x.DstIP, x.DstPort, x.Protocol)
			c.add(key, 0, 1)
			c.add(key, 1, len(x.replies))
			if len(x.replies) == 0 && x.refused() {
				c.add(key, 2, 1)
			} else if x.unanswered() {
				c.add(key, 3, 1)
			}
		}
		for key, n := range c {
			if n[1] == 0 && n[2]+n[3] > 0 {
				rows = append(rows, row(key, n[0], n[2]))
			}
		}
		return rows
	},
	func(_ []*jsonLine, all []*asked) (rows []string) { // round trips
		times := map[string][]int64{}
		for _, x := range all {
			for _, r := range x.replies {
				if r.RTT != nil {
					times[row(x.DstIP, x.DstPort)] = append(times[row(x.DstIP, x.DstPort)], *r.RTT)
					break
				}
			}
		}
		for server, list := range times {
			slices.Sort(list)
			rank := func(q float64) float64 { return float64(list[max(0, int(math.Ceil(q*float64(len(list))))-1)]) / 1e6 }
			rows = append(rows, row(server, len(list), rank(0.5), rank(0.99)))
		}
		return rows
	},
	func(lines []*jsonLine, _ []*asked) (rows []string) { // one direction
		roles, flows, sided := map[[3]string]map[string]bool{}, map[string]int{}, map[string]int{}
		for _, l := range lines {
			if l.Role == "request" || l.Role == "reply" {
				k := [3]string{l.Protocol, l.File, l.FlowID}
				if roles[k] == nil {
					roles[k] = map[string]bool{}
				}
				roles[k][l.Role] = true
			}
		}
		for k, r := range roles {
			if flows[k[0]]++; len(r) == 1 {
				sided[k[0]]++
			}
		}
		for p, n := range flows {
			rows = append(rows, row(p, n, sided[p], math.Round(1000*float64(sided[p])/float64(n))/10))
		}
		return rows
	},
	func(lines []*jsonLine, _ []*asked) (rows []string) { // what is wrong
		n, flows := map[string]int{}, map[string]map[string]bool{}
		for _, l := range lines {
			for _, f := range l.Findings {
				if f.Severity != "warning" && f.Severity != "error" {
					continue
				}
				key := row(f.Severity, f.ID)
				if n[key]++; flows[key] == nil {
					flows[key] = map[string]bool{}
				}
				flows[key][row(l.File, l.FlowID)] = true
			}
		}
		for key := range n {
			rows = append(rows, row(key, n[key], len(flows[key])))
		}
		return rows
	},
	func(lines []*jsonLine, _ []*asked) (rows []string) { // players over time
		players := map[string]int{}
		for _, l := range lines {
			if l.Server == nil || l.Server.Players == nil {
				continue
			}
			key := row(l.Time.Truncate(5*time.Minute).Format(time.DateTime), l.SrcIP, l.SrcPort)
			n, ok := players[key]
			if !ok || *l.Server.Players > n {
				players[key] = *l.Server.Players
			}
		}
		for key, n := range players {
			rows = append(rows, row(key, n))
		}
		return rows
	},
	func(lines []*jsonLine, _ []*asked) (rows []string) { // refused
		n := map[string]int{}
		for _, l := range lines {
			if l.Type == "finding" && l.ICMPFrame > 0 && l.ICMPFrame != l.Frame {
				n[row(l.SrcIP, "icmp")]++
			}
			for _, f := range l.Findings {
				if l.Type == "message" && strings.HasSuffix(f.ID, ".refused") {
					n[row(l.DstIP, f.ID)]++
				}
			}
		}
		for key := range n {
			rows = append(rows, row(key, n[key]))
		}
		return rows
	},
	func(_ []*jsonLine, all []*asked) (rows []string) { // versions
		servers := map[string]map[string]bool{}
		for _, x := range all {
			for _, r := range x.replies {
				if r.Server == nil {
					continue
				}
				if r.Server.Version != nil {
					key := row(r.Server.Game, r.Server.Version)
					if servers[key] == nil {
						servers[key] = map[string]bool{}
					}
					servers[key][row(x.DstIP, x.DstPort)] = true
				}
				break // the first that describes the server
			}
		}
		for key := range servers {
			rows = append(rows, row(key, len(servers[key])))
		}
		return rows
	},
	func(_ []*jsonLine, all []*asked) (rows []string) { // amplification
		c := tally{}
		for _, x := range all {
			if len(x.replies) == 0 {
				continue
			}
			key := row(x.Protocol, x.Message)
			c.add(key, 0, 1)
			c.add(key, 1, x.WireLength)
			for _, r := range x.replies {
				c.add(key, 2, r.WireLength)
			}
		}
		for key, n := range c {
			rows = append(rows, row(key, n[0], math.Round(100*float64(n[2])/float64(n[1]))/100))
		}
		return rows
	},
	func(lines []*jsonLine, _ []*asked) (rows []string) { // incomplete
		c := tally{}
		for _, l := range lines {
			if n := len(l.Split.Missing); n > 0 {
				key := row(l.SrcIP, l.SrcPort, l.Message, l.Split.Variant)
				c.add(key, 0, 1)
				c.add(key, 1, n)
			}
		}
		for key, n := range c {
			rows = append(rows, row(key, n[0], n[1]))
		}
		return rows
	},
}

// ask asks the questions and compares the answers with those of lines.
func ask(t *testing.T, script string, lines []*jsonLine) {
	t.Helper()
	list := questions(t)
	var sql []string
	for _, q := range list {
		sql = append(sql, q.sql)
	}
	results := duckDB(t, script, strings.Join(sql, "\n"))
	all := exchangesOf(lines)
	if len(lines) < 1000 || len(all) < 500 {
		t.Errorf("%d lines and %d exchanges are too few to say anything", len(lines), len(all))
	}
	for i, answer := range answers {
		if !strings.HasPrefix(list[i].title, fmt.Sprint(i+1, ".")) {
			t.Fatalf("docs/questions.md: %q is not question %d", list[i].title, i+1)
		}
		want, got := answer(lines, all), []string(nil)
		for _, cells := range results[i] {
			got = append(got, row(cells...))
		}
		slices.Sort(want)
		slices.Sort(got)
		if len(want) == 0 || !slices.Equal(want, got) {
			t.Errorf("%s: want\n%s\ngot\n%s", list[i].title, strings.Join(want, "\n"), strings.Join(got, "\n"))
		}
	}
	for i := len(answers); i < len(results); i++ { // the examples after the questions
		if len(results[i]) == 0 {
			t.Errorf("example %d of docs/questions.md finds nothing", i+1)
		}
	}
}

func goldens(t *testing.T) (paths []string) {
	for _, path := range captures(t) {
		paths = append(paths, golden.Path(path))
	}
	return paths
}

// TestQuestions loads all goldens into DuckDB and asks the questions of docs/questions.md.
func TestQuestions(t *testing.T) {
	script, _, status := runIn(t, ".", append([]string{"schema", "--sql", "duckdb"}, goldens(t)...)...)
	if status != 0 {
		t.Fatal(status)
	}
	ask(t, script, readLines(t, goldens(t)))
}

// TestUnitsInDuckDB asks the question of docs/scale.md about the units of all captures.
func TestUnitsInDuckDB(t *testing.T) {
	b, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sql, _ := strings.Cut(string(b), "\n    select ")
	sql, _, found := strings.Cut("select "+sql, ";")
	if !found {
		t.Fatal("docs/scale.md has no question")
	}
	out := t.TempDir()
	_, text, _ := runIn(t, ".", "read", "--series", "--series-by", ".*", "--unit", "1/1", "-o", "parquet", "--sensor", "ams1", "--out", out, "../../testdata/pcaps/a*/*.pcap")
	rows := duckDB(t, "select 1;", strings.ReplaceAll(sql, "'out/", "'"+filepath.ToSlash(out)+"/")+";\n")[0]
	if len(rows) < 3 || rows[0][0] != "ams1" || rows[0][1] != "a2s" {
		t.Errorf("%v\n%s", rows, text)
	}
}

// TestLossless checks that DuckDB has everything that is in the goldens: in the lines,
// and in the fields with their types.
func TestLossless(t *testing.T) {
	script, _, _ := runIn(t, ".", append([]string{"schema", "--sql", "duckdb"}, goldens(t)...)...)
	var sql strings.Builder
	var protocols []string
	sql.WriteString("SELECT to_json(l) FROM lines l ORDER BY rowid;\n")
	for _, rest := range strings.Split(script, "CREATE OR REPLACE VIEW ")[1:] {
		if key, rest, _ := strings.Cut(rest, " AS "); strings.Contains(rest, "from_json(") {
			protocols = append(protocols, key)
			fmt.Fprintf(&sql, "SELECT to_json(fields) FROM %s;\n", key)
		}
	}
	results := duckDB(t, script, sql.String())
	fields, n := map[string][]string{}, 0
	for _, path := range goldens(t) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			want, got := parsed(t, line), parsed(t, results[0][n][0].(string))
			if !reflect.DeepEqual(want, got) {
				t.Fatalf("%s\nis in DuckDB\n%s", line, results[0][n][0])
			}
			for key, of := range want.(map[string]any) {
				if slices.Contains(protocols, key) {
					fields[key] = append(fields[key], canonical(of))
				}
			}
			n++
		}
	}
	for i, key := range protocols {
		var got []string
		for _, cells := range results[i+1] {
			got = append(got, canonical(parsed(t, cells[0].(string))))
		}
		slices.Sort(fields[key])
		slices.Sort(got)
		if d := gocmp.Diff(fields[key], got); d != "" {
			t.Errorf("the fields of %s with types (-want +got):\n%s", key, d)
		}
	}
}

// canonical writes a value with its keys in order.
func canonical(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// parsed parses an object and removes what is null. Times lose their zeros.
func parsed(t *testing.T, text string) any {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return plain("", v)
}

func plain(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if v[k] == nil {
				delete(v, k)
			} else {
				v[k] = plain(k, v[k])
			}
		}
	case []any:
		for i := range v {
			v[i] = plain("", v[i])
		}
	case string:
		if at, err := time.Parse(time.RFC3339, strings.Replace(strings.TrimSuffix(v, "Z"), " ", "T", 1)+"Z"); err == nil && strings.HasSuffix(key, "time") {
			return at.String()
		}
	}
	return v
}

// TestParquet dissects all captures to Parquet and to JSON. DuckDB has the same messages,
// findings and exchanges from both, and the questions have the same answers.
func TestParquet(t *testing.T) {
	needDuckDB(t)
	dir := t.TempDir()
	in := filepath.Join("..", "..", "testdata", "pcaps")
	var scripts []string
	for _, format := range []string{"parquet", "jsonl"} {
		out := filepath.Join(dir, format)
		_, errs, status := runIn(t, in, "read", "--all", "-o", format, "--out", out, "**")
		if status == 0 || !strings.Contains(errs, " dissected") { // some captures are damaged
			t.Fatalf("%d: %s", status, errs)
		}
		args := []string{"schema", "--sql", "duckdb", out}
		if format == "jsonl" {
			args[3] += "/**/*.jsonl"
		}
		script, _, _ := runIn(t, ".", args...)
		scripts = append(scripts, script)
		t.Chdir(filepath.Join("..", "..", "cmd", "qdissect"))
	}
	var paths []string
	err := filepath.WalkDir(filepath.Join(dir, "jsonl"), func(path string, _ os.DirEntry, err error) error {
		if filepath.Ext(path) == ".jsonl" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, scripts[0], readLines(t, paths))

	const sql = `SELECT COLUMNS(* EXCLUDE (fields))::VARCHAR, json(fields) FROM messages ORDER BY ALL;
		SELECT COLUMNS(*)::VARCHAR FROM findings ORDER BY ALL;
		SELECT COLUMNS(*)::VARCHAR FROM exchanges ORDER BY ALL;
		SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal AND table_name IN ('messages', 'findings', 'exchanges') ORDER BY ALL;`
	parquet, json := duckDB(t, scripts[0], sql), duckDB(t, scripts[1], sql)
	for i, want := range json {
		if d := gocmp.Diff(want, parquet[i]); d != "" {
			t.Errorf("query %d (-JSON +Parquet):\n%.3000s", i, d)
		}
	}
}
