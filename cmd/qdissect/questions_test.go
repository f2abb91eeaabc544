package main

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
)

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
	for _, cells := range rows {
		list = append(list, strings.TrimSuffix(fmt.Sprintln(cells...), "\n"))
	}
	slices.Sort(list)
	return list
}

// asked returns the questions of the page, as one script. The examples after them come last.
func asked(t *testing.T) string {
	var sql strings.Builder
	for _, q := range questions(t) {
		sql.WriteString(q.sql)
	}
	return sql.String()
}

func goldens(t *testing.T) (paths []string) {
	for _, path := range captures(t) {
		paths = append(paths, golden.Path(path))
	}
	return paths
}

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
	if d := gocmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("the answers are others than in %s; -update writes it (-want +got):\n%s", name, d)
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
	paths := thorough.Captures(goldens(t))
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
	captures := thorough.Of([]string{"[ab]*/**", "hostile/**"}, []string{"**"})
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
		if d := gocmp.Diff(sorted(want), sorted(parquet[i])); d != "" {
			t.Errorf("query %d (-JSON +Parquet):\n%.3000s", i, d)
		}
	}
}
