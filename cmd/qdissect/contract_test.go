package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/report"
)

// The keys of messages and findings before and after the fields of the protocol, in
// the order of the contract.
var (
	keysBefore = strings.Fields(`type frame frames time src_ip src_port dst_ip dst_port flow_id interface vlan protocol message role length wire_length
		detect split request_frame rtt_ns rtt_ambiguous over_tcp alternatives icmp_frame summary`)
	keysAfter = []string{"server", "findings", "data"}
)

// A contract records what the outputs contain.
type contract struct {
	*testing.T
	fields map[string]bool       // keys with the fields of a protocol
	order  []string              // keys of messages and findings
	types  map[string]jsonl.Kind // types by path, over all outputs
	where  map[string]string     // first place by path
	flows  map[string]string     // flow ids
}

// TestContract reads all goldens and checks what a schema cannot state. A path has one
// type in all lines and protocols. Keys have one order, and findings one form. The
// numbers of the summary agree with the lines and add up.
func TestContract(t *testing.T) {
	if report.Schema != jsonl.Schema {
		t.Errorf("written is %s, read is %s", report.Schema, jsonl.Schema)
	}
	c := &contract{t, make(map[string]bool), slices.Clone(keysBefore), make(map[string]jsonl.Kind), make(map[string]string), make(map[string]string)}
	for _, p := range all.Protocols() {
		if key := p.JSONKey(); slices.Contains(keysBefore, key) || slices.Contains(keysAfter, key) {
			t.Errorf("a protocol has the name of the key %s", key)
		}
		c.fields[p.JSONKey()] = true
		c.order = append(c.order, p.JSONKey())
	}
	c.order = append(c.order, keysAfter...)
	for _, path := range captures(t) {
		c.read(golden.Path(path))
	}
	if len(c.types) < 500 || len(c.flows) < 500 {
		t.Errorf("%d paths and %d conversations are too few to say anything", len(c.types), len(c.flows))
	}
}

// sums are the numbers of a summary by path.
type sums map[string]uint64

// read reads a golden.
func (c *contract) read(path string) {
	f := must.Get(os.Open(path))(c)
	defer f.Close()
	r := jsonl.NewReader(f)
	var d jsonl.Document
	counted := sums{}
	last := ""
	for number := 1; ; number++ {
		b, line, err := r.Next()
		if err != nil {
			break
		}
		if err := d.Parse(b); err != nil {
			c.Fatalf("%s:%d: %v", path, line, err)
		}
		where := path + ":" + strconv.Itoa(line)
		c.kinds(where, "", &d, 0)
		if last = d.Type(); (last == "capture") != (number == 1) {
			c.Errorf("%s: the line %d is a %s", where, number, last)
		}
		switch last {
		case "message", "finding":
			c.line(where, &d, counted)
		case "summary":
			c.summary(where, &d, counted)
		}
	}
	if last != "summary" {
		c.Errorf("%s does not end with a summary", path)
	}
}

// kinds compares the types of all values with those in other lines. All numbers have
// one type, with or without a fraction.
func (c *contract) kinds(where, path string, d *jsonl.Document, n int) {
	kind := d.Nodes[n].Kind
	if seen, ok := c.types[path]; !ok {
		c.types[path], c.where[path] = kind, where
	} else if seen != kind {
		c.Errorf("%s is of kind %d at %s and of kind %d at %s", path, kind, where, seen, c.where[path])
	}
	if kind == jsonl.Null {
		c.Errorf("%s: %s is null", where, path)
	}
	for i := range d.In(n) {
		next := nettext.Either(kind == jsonl.Object, path+"."+string(d.Nodes[i].Key), path+"[]")
		c.kinds(where, next, d, i)
	}
}

// line checks and counts a message or a finding.
func (c *contract) line(where string, d *jsonl.Document, counted sums) {
	protocol, at := d.Str(0, "protocol"), 0
	for i := range d.In(0) {
		key := string(d.Nodes[i].Key)
		k := slices.Index(c.order, key)
		if k < at {
			c.Errorf("%s: %s is not where it should be", where, key)
		}
		at = max(at, k)
		if c.fields[key] && key != jsonl.FieldsKey(protocol) {
			c.Errorf("%s: the fields of %s stand in a message of %s", where, key, protocol)
		}
	}
	if id := d.Str(0, "flow_id"); id != "" {
		ends := []string{d.End("src"), d.End("dst")}
		slices.Sort(ends)
		if was := c.flows[id]; was != "" && was != strings.Join(ends, " ") {
			c.Errorf("%s: %s is also the id of %s", where, id, was)
		}
		c.flows[id] = strings.Join(ends, " ")
	} else if d.Member(0, "src_port") >= 0 {
		c.Errorf("%s: no flow_id", where)
	}
	if n := d.Member(0, "findings"); n >= 0 {
		c.findings(where, d, n, counted)
	} else if d.Type() == "finding" {
		c.Errorf("%s: no findings", where)
	}
	if d.Type() == "finding" {
		return
	}
	if protocol == "unknown" {
		counted["unknown.datagrams"]++
		if s := d.Str(0, "summary"); s != "" {
			counted["unknown.guesses."+s]++
		}
		return
	}
	if d.Fields() < 0 {
		c.Errorf("%s: no fields", where)
	}
	counted["messages."+protocol]++
	counted["message_types."+protocol+"."+d.Str(0, "message")]++
	if d.Member(0, "rtt_ns") >= 0 {
		counted["round_trips."+protocol+".count"]++
	}
	if d.Member(0, "rtt_ambiguous") >= 0 {
		counted["ambiguous_round_trips"]++
	}
}

// findings checks and counts the findings of a line.
func (c *contract) findings(where string, d *jsonl.Document, n int, counted sums) {
	count := 0
	for i := range d.In(n) {
		count++
		var keys []string
		for k := range d.In(i) {
			keys = append(keys, string(d.Nodes[k].Key))
		}
		if got := strings.Join(keys, " "); !slices.Contains([]string{"id severity text", "id severity text field", "id severity text offset length", "id severity text field offset length"}, got) {
			c.Errorf("%s: a finding has %s", where, got)
		}
		counted["findings_by_id."+d.Str(i, "id")]++
		counted["findings_by_severity."+d.Str(i, "severity")]++
	}
	if count == 0 || d.Type() == "finding" && count > 1 {
		c.Errorf("%s: %d findings", where, count)
	}
}

// summary compares the summary with the counts.
func (c *contract) summary(where string, d *jsonl.Document, counted sums) {
	said := sums{}
	var gather func(path string, n int)
	gather = func(path string, n int) {
		for i := range d.In(n) {
			next := strings.TrimPrefix(path+"."+string(d.Nodes[i].Key), ".")
			if d.Nodes[i].Kind == jsonl.Object {
				gather(next, i)
			} else if u, err := strconv.ParseUint(string(d.Nodes[i].Raw), 10, 64); err == nil {
				said[next] = u
			}
		}
	}
	gather("", 0)
	for key, n := range counted {
		if said[key] != n {
			c.Errorf("%s: %s is %d, the lines have %d", where, key, said[key], n)
		}
	}
	for key, n := range said {
		top, _, _ := strings.Cut(key, ".")
		countable := slices.Contains([]string{"messages", "message_types", "findings_by_id", "findings_by_severity", "unknown", "ambiguous_round_trips"}, top) || strings.HasSuffix(key, ".count")
		if key == "unknown.game_traffic" {
			continue // no line says it
		}
		if countable && n != counted[key] {
			c.Errorf("%s: %s is %d, the lines have %d", where, key, n, counted[key])
		}
	}
	became := uint64(0)
	for _, key := range slices.Sorted(maps.Keys(said)) {
		if strings.HasPrefix(key, "requests.") && key != "requests.sent" {
			became += said[key]
		}
	}
	if became != said["requests.sent"] {
		c.Errorf("%s: of %d requests the summary says what became of %d", where, said["requests.sent"], became)
	}
	var trips struct {
		Of map[string]struct {
			Min uint64 `json:"min_ns"`
			P50 uint64 `json:"p50_ns"`
			P90 uint64 `json:"p90_ns"`
			P99 uint64 `json:"p99_ns"`
			Max uint64 `json:"max_ns"`
		} `json:"round_trips"`
	}
	if err := json.Unmarshal(d.Nodes[0].Raw, &trips); err != nil {
		c.Error(err)
	}
	for protocol, t := range trips.Of {
		if t.Min > t.P50 || t.P50 > t.P90 || t.P90 > t.P99 || t.P99 > t.Max {
			c.Errorf("%s: %s: %+v", where, protocol, t)
		}
	}
}

// needDuckDB skips a test if DuckDB is not installed.
func needDuckDB(t *testing.T) {
	t.Helper()
	if os.Getenv("QDISSECT_DUCKDB") == "" {
		t.Skip("QDISSECT_DUCKDB does not name the folder of npm's @duckdb/node-api")
	}
}

// duckDB runs statements of SQL after a script, and returns the rows of each.
func duckDB(t *testing.T, script, sql string) [][][]any {
	t.Helper()
	results, errs := tryDuckDB(t, script, sql)
	if errs != "" {
		t.Fatal(errs)
	}
	return results
}

func tryDuckDB(t *testing.T, script, sql string) (results [][][]any, failed string) {
	t.Helper()
	needDuckDB(t)
	init := filepath.Join(t.TempDir(), "q.sql")
	must.Do(t, os.WriteFile(init, []byte(script), 0o666))
	c := exec.Command("node", "testdata/duckdb.cjs", "-init", init)
	c.Stdin = strings.NewReader(sql)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		return nil, err.Error() + ": " + errs.String()
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var rows [][]any
		must.Do(t, d.Decode(&rows))
		results = append(results, rows)
	}
	return results, ""
}

// A docQuestion is a section of docs/questions.md.
type docQuestion struct{ title, sql string }

func questions(t *testing.T) (list []docQuestion) {
	b := must.Get(os.ReadFile("../../docs/questions.md"))(t)
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

// sorted returns rows as text, in order: some questions leave it open for equal rows.
func sorted(rows [][]any) (list []string) {
	list = nettext.Each(rows, func(cells []any) string { return strings.TrimSuffix(fmt.Sprintln(cells...), "\n") })
	slices.Sort(list)
	return list
}

// differ returns the differences of two lists of lines.
func differ(oldName string, old []string, newName string, new []string) string {
	text := func(lines []string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }
	return string(diff.Diff(oldName, text(old), newName, text(new)))
}

// asked returns the questions of the page, as one script. The examples after them come last.
func asked(t *testing.T) string {
	var sql strings.Builder
	for _, q := range questions(t) {
		sql.WriteString(q.sql)
	}
	return sql.String()
}

func goldens(t *testing.T) []string { return nettext.Each(captures(t), golden.Path) }

// tabled dissects captures of testdata as flags say, and returns the script that makes tables of the output. damaged says that some are.
func tabled(t *testing.T, damaged bool, flags []string, captures ...string) string {
	out := t.TempDir()
	_, errs, status := runIn(t, filepath.Join("..", "..", "testdata", "pcaps"), slices.Concat([]string{"read", "--all", "--out", out}, flags, captures)...)
	t.Chdir(filepath.Join("..", "..", "cmd", "qdissect"))
	if (status != 0) != damaged || !strings.Contains(errs, " dissected") {
		t.Fatalf("%d: %s", status, errs)
	}
	if flags[1] == "jsonl" {
		out += "/**/*.jsonl"
	}
	script, _, _ := runIn(t, ".", "schema", "--sql", "duckdb", out)
	return script
}

// TestQuestions loads the output for a few folders into DuckDB and asks the questions of
// docs/questions.md. testdata/questions.txt has the answers.
func TestQuestions(t *testing.T) {
	loaded := t.TempDir()
	for _, folder := range []string{"a2s", "icmp", "quake3", "trouble", "valve-master"} {
		must.Do(t, os.CopyFS(filepath.Join(loaded, folder), os.DirFS("../../testdata/pcaps/"+folder)))
	}
	var got strings.Builder
	results := duckDB(t, tabled(t, false, []string{"-o", "jsonl", "--exchanges"}, loaded+"/**"), asked(t))
	for i, q := range questions(t) {
		if q.title == "More" { // examples that leave the order open
			break
		}
		fmt.Fprintf(&got, "%s\n", q.title)
		for _, row := range sorted(results[i]) {
			fmt.Fprintln(&got, row)
		}
		got.WriteByte('\n')
	}
	if i := slices.IndexFunc(results, func(rows [][]any) bool { return len(rows) == 0 }); i >= 0 {
		t.Errorf("statement %d finds nothing", i+1)
	}
	const name = "testdata/questions.txt"
	if *update {
		must.Do(t, os.WriteFile(name, []byte(got.String()), 0o666))
	}
	want := must.Get(os.ReadFile(name))(t)
	if d := diff.Diff("want", want, "got", []byte(got.String())); d != nil {
		t.Errorf("the answers are others than in %s; -update writes it:\n%s", name, d)
	}
}

// TestNoExchanges: lines without exchanges have none by mistake, and that is said.
func TestNoExchanges(t *testing.T) {
	for _, c := range []struct{ capture, want string }{{"a2s/source", "write the lines with qdissect -o jsonl --exchanges"}, {"a2s/replies-only", ""}} {
		script, _, _ := runIn(t, ".", "schema", "--sql", "duckdb", "../../testdata/pcaps/"+c.capture+".golden.jsonl")
		if _, errs := tryDuckDB(t, script, "SELECT count(*) FROM exchanges;"); (errs == "") != (c.want == "") || !strings.Contains(errs, c.want) {
			t.Errorf("%s: %q", c.capture, errs)
		}
	}
}

// TestUnitsInDuckDB asks the question of docs/scale.md about the units of all captures.
func TestUnitsInDuckDB(t *testing.T) {
	b := must.Get(os.ReadFile("../../docs/scale.md"))(t)
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
	paths := must.TryCaptures(goldens(t))
	script, _, _ := runIn(t, ".", append([]string{"schema", "--sql", "duckdb"}, paths...)...)
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
	for _, path := range paths {
		b := must.Get(os.ReadFile(path))(t)
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
		got := nettext.Each(results[i+1], func(cells []any) string { return canonical(parsed(t, cells[0].(string))) })
		slices.Sort(fields[key])
		slices.Sort(got)
		if d := differ("want", fields[key], "got", got); d != "" {
			t.Errorf("the fields of %s with types:\n%s", key, d)
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
	must.Do(t, json.Unmarshal([]byte(text), &v))
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
	captures := must.Try([]string{"[ab]*/**", "hostile/**"}, []string{"**"})
	sql := `SELECT COLUMNS(* EXCLUDE (fields))::VARCHAR, json(fields) FROM messages ORDER BY ALL;
		SELECT COLUMNS(*)::VARCHAR FROM findings ORDER BY ALL;
		SELECT COLUMNS(*)::VARCHAR FROM exchanges ORDER BY ALL;
		SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal AND table_name IN ('messages', 'findings', 'exchanges') ORDER BY ALL;
`
	for _, q := range questions(t) {
		if q.title != "More" {
			sql += q.sql
		}
	}
	parquet := duckDB(t, tabled(t, true, []string{"-o", "parquet"}, captures...), sql)
	json := duckDB(t, tabled(t, true, []string{"-o", "jsonl", "--exchanges"}, captures...), sql)
	for i, want := range json {
		if d := differ("JSON", sorted(want), "Parquet", sorted(parquet[i])); d != "" {
			t.Errorf("query %d:\n%.3000s", i, d)
		}
	}
}
