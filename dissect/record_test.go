package dissect

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/reassembly"
)

// TestRecordClears: nothing of a message is left in the record of the next one.
func TestRecordClears(t *testing.T) {
	open := func(a *Analyzer) {
		var x arrival
		x.begin(&Datagram{Frame: 2, Payload: []byte("next")}, nil)
		x.protocol = 0
		a.whole(&x)
		a.record.stats = nil // its own
	}
	p := &Protocol{Name: "next"}
	clean, used := &Analyzer{scratch: new(scratch), protocols: []*Protocol{p}}, &Analyzer{scratch: new(scratch), protocols: []*Protocol{p}}
	rec := &used.record
	fill(reflect.ValueOf(rec).Elem())
	rec.also, rec.fields = 1, 1
	if reflect.ValueOf(rec).Elem().NumField() < 20 || rec.Server.Bots.Value == 0 || rec.Pair.Begins == 0 || rec.Findings == nil {
		t.Fatalf("not filled: %+v", rec)
	}
	open(clean)
	open(used)
	if r := &clean.record; r.RequestFrame+uint64(r.RTT)+uint64(r.LastRTT)+uint64(r.Resends)+uint64(r.Sum) != 0 || r.TimeKnown || r.Ambiguous || r.Late || r.Proven || r.Mark {
		t.Errorf("a message without a request has one: %+v", r)
	}
	rec.Length, rec.WireLength = 0, 0                                   // set when it is decoded
	rec.Sources, rec.Nodes, rec.Findings, rec.fields = nil, nil, nil, 0 // set when it is handed over
	if !reflect.DeepEqual(rec, &clean.record) {
		t.Errorf("%+v\nwant %+v", rec, &clean.record)
	}
}

// fill sets all exported values to others than zero.
func fill(v reflect.Value) {
	switch {
	case !v.CanSet():
		return
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("before")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Interface:
		v.Set(reflect.ValueOf("before"))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}

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

func TestShown(t *testing.T) {
	login := &Foreign{Login: func(b []byte) int { return min(4, len(b)) }}
	for _, c := range []struct {
		f          *Foreign
		text, want string
	}{
		{nil, "\xff\xff\xff\xffrcon hunter2 quit", "\xff\xff\xff\xffrcon*************"}, {nil, "RCON hunter2", "RCON********"},
		{nil, "x password\\hunter2\\y", "x passw*************"}, {nil, "connect 47 x", "connect ****"}, {nil, "connectResponse", "connectResponse"}, {nil, "rcon", "rcon"}, {nil, "", ""},
		{nil, "login pass=x pwd=y", "login pass=*******"}, {nil, "a&pwd=y", "a&pwd=*"}, {nil, "pass on", "pass on"}, {nil, "r\x00c\x00o\x00n\x00 \x00x\x00", "r\x00c\x00o\x00n\x00****"},
		{nil, "\x00R\x00C\x00O\x00N\x00x", "\x00R\x00C\x00O\x00N\x00*"}, {nil, "r\x00c\x00o\x00n", "r\x00c\x00o\x00n"}, {nil, "r\x00", "r\x00"},
		{login, "12345", "1234*"}, {login, "1234", "1234"}, {login, "", ""}, {login, "1rcon2", "1rco**"}, {login, "pwd=xy", "pwd=**"}, {login, "12345 rcon x", "1234********"},
	} {
		if got := string(c.f.Shown([]byte(c.text))); got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.text, got, c.want)
		}
		u := Unknown{Datagram: &Datagram{Payload: []byte(c.text)}, Foreign: c.f}
		if got := string(u.Shown(false)); got != c.want {
			t.Errorf("the payload %q is shown as %q, want %q", c.text, got, c.want)
		}
		if got := string(u.Shown(true)); got != c.text {
			t.Errorf("the payload %q is shown as %q though secrets are asked for", c.text, got)
		}
	}
}

// FuzzSecret: hiding changes no length and nothing before the secret, and what
// is borrowed stays as it is.
func FuzzSecret(f *testing.F) {
	for _, s := range []string{"\xff\xff\xff\xffrcon a b", "cdkey", "RcOn 1 1 1", "passw\x00", "ticketticket", "x_password y"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before, got := bytes.Clone(b), (*Foreign)(nil).Shown(b)
		if !bytes.Equal(b, before) || len(got) != len(b) {
			t.Fatalf("%q became %q", before, got)
		}
		at := nettext.SecretAt(b)
		if !bytes.Equal(got[:at], b[:at]) || strings.Trim(string(got[at:]), "*") != "" {
			t.Fatalf("%q is shown as %q", b, got)
		}
		if key, value, _ := strings.Cut(string(b), " "); nettext.SecretSetting(key, value) && !strings.Contains(strings.ToLower(key), "passw") {
			t.Fatalf("%q %q", key, value)
		}
	})
}

// TestChecksumOfNumbers: a client may number its requests, anywhere in the payload. Requests with
// different numbers are no copies of each other.
func TestChecksumOfNumbers(t *testing.T) {
	for size := range 2 * detectBytes {
		p := make([]byte, size)
		if short := checksum(p) != crc32.Checksum(p, castagnoli); short != (size >= 8 && size <= detectBytes) {
			t.Errorf("%d bytes: a hash %v", size, short)
		}
	}
	var sums [256]uint32
	for size := 8; size <= detectBytes; size++ {
		for at := 0; at+4 <= size; at++ {
			for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
				payload := make([]byte, size)
				for n := range sums {
					order.PutUint32(payload[at:], uint32(n))
					sums[n] = checksum(payload)
				}
				slices.Sort(sums[:])
				if n := len(slices.Compact(sums[:])); n < len(sums) {
					t.Errorf("%d numbers at %d of %d bytes, %v: %d checksums", len(sums), at, size, order, n)
				}
			}
		}
	}
}

// TestKeyed: a protocol with a key is shown payloads whose third byte fits the first, on any port, and nothing else; one without first
// bytes what comes from or goes to its ports; one with first bytes what begins with them.
func TestKeyed(t *testing.T) {
	var third [256]byte
	for i := range third {
		third[i] = byte(3 * i)
	}
	shown := 0
	protocol := func(change func(p *Protocol)) *Protocol {
		p := &Protocol{
			Name: "bare", Title: "Bare", Doc: "Nothing to know it by.", Source: "this test", Catalog: NewCatalog("bare"),
			Detect: func([]byte) Verdict { shown++; return No }, New: func() Decoder { return nil },
		}
		p.Catalog.Message(MessageType{Name: "any", Title: "any", Doc: "Any bytes.", Role: OneWay})
		change(p)
		return p
	}
	if protocol(func(*Protocol) {}).Validate() == nil {
		t.Error("a protocol without first bytes, a key and ports passes")
	}
	keyed := protocol(func(p *Protocol) { p.Keyed = &third })
	ported := protocol(func(p *Protocol) { p.Ports = []uint16{28786} })
	begins := protocol(func(p *Protocol) { p.Starts = []string{"s", "\xff\xffx"} })
	for _, c := range []struct {
		p        *Protocol
		src, dst uint16
		payload  string
		want     int
	}{
		{keyed, 40000, 9999, "\x01\x00\x03", 1}, {keyed, 40000, 9999, "\x80\x77\x80\x01", 1}, {keyed, 40000, 9999, "\xff\xff\xfd\xff\xff", 1},
		{keyed, 40000, 9999, "\x01\x00\x04", 0}, {keyed, 40000, 9999, "\x01\x03", 0}, {keyed, 40000, 9999, "\x01", 0}, {keyed, 40000, 9999, "", 0},
		{ported, 40000, 28786, "\x01\x02\x03", 1}, {ported, 28786, 40000, "\x01\x02\x03", 1}, {ported, 40000, 28786, "\x01", 1}, {ported, 28786, 40000, "\x01", 1},
		{ported, 40000, 28785, "\x01\x02\x03", 0}, {ported, 28722, 40000, "\x01\x02\x03", 0}, {ported, 40000, 28785, "\x01", 0}, {ported, 40000, 28786, "", 0},
		{begins, 40000, 9999, "s", 1}, {begins, 40000, 9999, "st", 1}, {begins, 40000, 9999, "t", 0}, {begins, 40000, 9999, "\xff\xffx", 1},
	} {
		shown = 0
		a, host := must.Get(New(Config{Protocols: []*Protocol{c.p}}, new(told)))(t), netip.MustParseAddr("192.0.2.1")
		a.Inner(core.Only{}).Recognise(netip.AddrPortFrom(host, c.src), netip.AddrPortFrom(host, c.dst), []byte(c.payload))
		if candidate := a.Inner(core.Only{}).Candidate(c.src, c.dst, []byte(c.payload)); shown != c.want || candidate != (c.want == 1) {
			t.Errorf("%d > %d, %q: shown %d times, want %d; a candidate: %v", c.src, c.dst, c.payload, shown, c.want, candidate)
		}
	}
}

// TestNobody: an analyzer without a handler is an error, not a panic at the first datagram.
func TestNobody(t *testing.T) {
	if _, err := New(Config{}, nil); err == nil {
		t.Error("New accepts no handler")
	}
}

// TestLimits: the numbers of docs/limits.md, said once more.
func TestLimits(t *testing.T) {
	if want := (Limits{
		Flows: 131072, Requests: 131072, Peers: 32768, Window: 5 * time.Second, Idle: 60 * time.Second, Parts: reassembly.Limits{Age: 10 * time.Second},
	}); DefaultLimits != want {
		t.Errorf("%+v", DefaultLimits)
	}
	if maxServers != 1024 || maxForeignFlows != 64 {
		t.Errorf("%d servers and %d flows are remembered", maxServers, maxForeignFlows)
	}
	if n := (Limits{Peers: 32768}).lists(); n != 4096 || pagesKept != 8 || socketsKept != 4 || oldPage != time.Hour {
		t.Errorf("%d clients of masters, %d pages of each over %d sockets, for %v", n, pagesKept, socketsKept, oldPage)
	}
	if maxBetween != 512 {
		t.Errorf("fragments without ports may answer one of %d requests", maxBetween)
	}
	if n := (Limits{Peers: 32768}).servers(); n != 8192 {
		t.Errorf("%d servers of which is remembered whether they answer", n)
	}
	if n := DefaultLimits.Bytes(); bits.UintSize == 64 && n != 59_719_680 {
		t.Errorf("%d bytes of state at these limits", n)
	}
	if maxHeld != 256 || maxPerFlow != 32 || nettext.MaxSummary != 1000 || nettext.MaxFinding != 300 {
		t.Errorf("%d datagrams wait until their protocol is clear, %d requests in a conversation; %d and %d bytes of text", maxHeld, maxPerFlow, nettext.MaxSummary, nettext.MaxFinding)
	}
}

// TestStated: a server that states any one thing about itself has stated something.
func TestStated(t *testing.T) {
	if new(Server).Stated() {
		t.Error("a server without facts states some")
	}
	for _, s := range []Server{{Name: Some("")}, {Map: Some("")}, {Game: Some("")}, {Version: Some("")}, {Players: Some(0)}, {MaxPlayers: Some(0)}, {Bots: Some(0)}, {Password: Some(false)}} {
		if !s.Stated() {
			t.Errorf("%+v states nothing", s)
		}
	}
}

// TestKindsOfICMP: what ICMP says by type and code, from code 0 on (RFC 792, 1812 and 4443).
func TestKindsOfICMP(t *testing.T) {
	short := map[kindOfError]rune{
		{}: '.', noNetwork: 'n', noHost: 'h', noService: 's', noPort: 'p', tooBig: 'b', prohibited: 'x', badHeader: 'd', incomplete: 'f', expired: 't',
		{core.Unreachable, "it does not take UDP"}: 'u', {core.Unreachable, "the address of the sender is of another scope"}: 'w',
	}
	for from, types := range map[string]map[uint8]string{
		"192.0.2.1":   {0: "...", 3: "nhupbnnhnxxssxxxh", 4: "..", 5: "..", 8: "..", 11: "tft", 12: "ddd"},
		"2001:db8::1": {0: "..", 1: "nxwhpxxddh", 2: "bb", 3: "tft", 4: "dddd", 128: ".."},
	} {
		for typ, want := range types {
			for code, kind := range want {
				e := ICMPError{From: netip.MustParseAddr(from), Type: typ, Code: uint8(code)}
				if k := e.kind(); short[k] != kind {
					t.Errorf("%s, type %d, code %d: %+v, want %c", from, typ, code, k, kind)
				}
			}
		}
	}
}

// TestMirrored: a capture has everything twice if eight datagrams or more came twice, and a third of all messages and parts.
func TestMirrored(t *testing.T) {
	for counts, want := range map[[3]uint64]bool{{7, 7, 0}: false, {8, 8, 0}: true, {8, 14, 10}: true, {8, 15, 10}: false, {8, 25, 0}: false, {9, 0, 27}: true} {
		a := &Analyzer{scratch: new(scratch)}
		a.stats.Duplicates, a.stats.Messages, a.stats.Parts = counts[0], counts[1], counts[2]
		if got := a.mirrored(); got != want {
			t.Errorf("duplicates, messages and parts %v: %v", counts, got)
		}
	}
}

// TestDiffer: parts differ if two of them state different totals; 0 states none.
func TestDiffer(t *testing.T) {
	for values, want := range map[[4]int]bool{{1, 1, 1, 1}: false, {1, 1, 1, 2}: true, {2, 1, 1, 1}: true, {0, 0, 3, 0}: false, {3, 0, 3, 0}: false, {0, 3, 0, 4}: true} {
		table := reassembly.NewParts(reassembly.NewBudget(0), reassembly.Limits{}, func(set *reassembly.Set, _ reassembly.Reason) {
			if got := differ(set, func(i int) int { return values[i] }); got != want {
				t.Errorf("%v: %v", values, got)
			}
		})
		for i := range values {
			table.Add(reassembly.Key{}, reassembly.Part{Index: i, Total: 9, Variant: 1}, []byte{byte(i)}, nil, time.Unix(1, 0), reassembly.Asked{}, nil)
		}
		table.Flush()
	}
}

// TestFamilies: a protocol and those of its family may answer for each other; those of no family are none.
func TestFamilies(t *testing.T) {
	x := []string{"x"}
	var s signatures
	s.fill([]*Protocol{{Family: "one", Starts: x}, {Family: "two", Starts: x}, {Family: "one", Starts: x}, {Starts: x}, {Starts: x}})
	if want := [...]uint64{0b101, 0b10, 0b101, 0b1000, 0b10000}; !slices.Equal(s.kin[:5], want[:]) {
		t.Errorf("%b, want %b", s.kin[:5], want)
	}
}
