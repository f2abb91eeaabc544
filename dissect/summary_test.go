package dissect

import "testing"

// TestServerSummary: what is not stated, or empty, leaves no hole.
func TestServerSummary(t *testing.T) {
	for want, s := range map[string]Server{
		"":                              {},
		"1/2 players":                   {Name: Some(""), Game: Some(""), Map: Some(""), Version: Some(""), Players: Some(1), MaxPlayers: Some(2)},
		`"a"  1 player`:                 {Name: Some("a"), Players: Some(1)},
		`"a"  on m  2 players`:          {Name: Some("a"), Map: Some("m"), Players: Some(2)},
		"on m":                          {Game: Some(""), Map: Some("m")},
		"g  v1":                         {Game: Some("g"), Map: Some(""), Version: Some("1")},
		"g on m  2/3 players, 1 bot":    {Game: Some("g"), Map: Some("m"), Players: Some(2), MaxPlayers: Some(3), Bots: Some(1)},
		`"a"  0/3 players  x  password`: {Name: Some("a"), Players: Some(0), MaxPlayers: Some(3), Bots: Some(0), Version: Some("x"), Password: Some(true)},
	} {
		if got := string(s.AppendSummary([]byte("reply  "))); got != "reply  "+want {
			t.Errorf("%q, want %q", got, "reply  "+want)
		}
	}
}

// TestFindingText: numbers have the right words beside them.
func TestFindingText(t *testing.T) {
	char := &Field{Kind: Char}
	for _, tc := range []struct {
		text string
		f    *Field
		args []Arg
		want string
	}{
		{"%d {player|players} of %d", nil, []Arg{Num(1), Num(2)}, "1 player of 2"},
		{"%d {player|players}, %d {bot|bots}", nil, []Arg{Num(0), Num(1)}, "0 players, 1 bot"},
		{"%d {is|are} there", nil, []Arg{Num(2)}, "2 are there"},
		{"%t later", nil, []Arg{Dur(0)}, "less than 1 µs later"},
		{"%t later", nil, []Arg{Dur(1000)}, "1 µs later"},
		{"%p is %v", char, []Arg{Str("os"), Num('x')}, "os is 'x'"},
		{"%p is %v", char, []Arg{Str("os"), Num(7)}, "os is 7"},
		{"%p is %v", nil, []Arg{Str("vac"), Num('x')}, "vac is 120"},
		{"{", nil, nil, ""},
	} {
		f := NewFinding(&FindingType{Text: tc.text}, tc.args...)
		f.Field = tc.f
		if got := string(f.AppendText(nil)); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
}
