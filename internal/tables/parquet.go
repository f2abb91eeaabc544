package tables

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/qdissect/qdissect/internal/envelope"
)

// The columns, in the order in which rows are written; see [table].
var (
	placeColumns   = sharedColumns()
	serverColumns  = columnOf(envelope.Lookup("server"))
	findingColumns = slices.Concat(placeColumns, []field{
		{"message", word, nil}, {"icmp_frame", unsigned64, nil}, {"id", word, nil}, {"severity", word, nil}, {"text", text, nil},
		{"field", word, nil}, {"offset", unsigned32, nil}, {"length", unsigned32, nil},
	})
)

// ends are the names of the addresses of exchanges.
var ends = map[string]string{"src_ip": "client_ip", "src_port": "client_port", "dst_ip": "server_ip", "dst_port": "server_port"}

// exchangeColumns returns the columns of exchanges.
func exchangeColumns() (columns []field) {
	for _, f := range placeColumns {
		f.name = cmp.Or(ends[f.name], f.name)
		columns = append(columns, f)
	}
	columns = append(columns, field{"request", word, nil})
	return append(append(columns, columnsOf(envelope.Read(envelope.Exchange))...), serverColumns)
}

// columnsOf returns the columns of keys of the envelope.
func columnsOf(keys []*envelope.Key) (columns []field) {
	for _, k := range keys {
		columns = append(columns, columnOf(k))
	}
	return columns
}

// columnKinds are the types of the values of the envelope.
var columnKinds = map[envelope.Kind]kind{
	envelope.Frame: unsigned64, envelope.ID: unsigned64, envelope.Ordinal: unsigned32, envelope.Count: unsigned32, envelope.Signed: signed64,
	envelope.Nanoseconds: signed64, envelope.Flag: flag, envelope.Mark: flag, envelope.Moment: nanoseconds, envelope.Port: unsigned16, envelope.VLAN: unsigned16,
	envelope.Address: word, envelope.Word: word, envelope.Text: text, envelope.Hex: text, envelope.Object: group,
}

// columnOf returns the column of a key of the envelope.
func columnOf(k *envelope.Key) field {
	f := field{k.Name, columnKinds[k.Kind], nil}
	for i := range k.Fields {
		f.fields = append(f.fields, columnOf(&k.Fields[i]))
	}
	if k.List {
		f = field{k.Name, list, []field{{"element", f.kind, f.fields}}}
	}
	return f
}

// sharedColumns returns the columns that messages and findings share.
func sharedColumns() []field {
	keys := messageKeys()
	last := slices.IndexFunc(keys, func(k *envelope.Key) bool { return k.Name == "protocol" })
	return append([]field{{"file", word, nil}}, columnsOf(keys[:last+1])...)
}

// Names are the names of the files of a [Parquet].
var Names = [...]string{"messages.parquet", "exchanges.parquet", "findings.parquet"}

// A Parquet writes tables from the output of [NewRows].
type Parquet struct {
	messages, exchanges, findings *table
	in                            input
	file                          []byte
	files                         []file          // of the capture, of which this is the last
	scalars                       []*envelope.Key // numbers and marks of messages
	outcomes                      []*envelope.Key // words and numbers of exchanges
}

// A file is one of a series, with the number of its first frame.
type file struct {
	name  []byte
	first uint64
}

// NewParquet returns a writer of the files of [Names].
func NewParquet(files [len(Names)]io.Writer) *Parquet {
	messages := append(append([]field{{"file", word, nil}}, columnsOf(messageKeys())...), field{"fields", document, nil}, columnOf(envelope.Lookup("data")))
	return &Parquet{
		messages:  newTable(files[0], "messages", messages),
		exchanges: newTable(files[1], "exchanges", exchangeColumns()),
		findings:  newTable(files[2], "findings", findingColumns),
		scalars:   envelope.Read(envelope.Message | envelope.Answer),
		outcomes:  envelope.Read(envelope.Exchange),
	}
}

// Empty reports whether no capture has begun.
func (p *Parquet) Empty() bool { return p.file == nil }

// Write takes whole rows.
func (p *Parquet) Write(b []byte) (int, error) {
	p.in = input{b: b}
	for len(p.in.b) > 0 {
		switch p.in.kind() {
		case aCapture:
			p.capture()
		case aMessage:
			p.message()
		case aFinding:
			p.finding()
		case anExchange:
			p.exchange()
		}
		if p.in.broken {
			return 0, errors.New("tables: a row is broken") // by a mistake of ours
		}
		if err := cmp.Or(p.messages.err, p.exchanges.err, p.findings.err); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// Close completes the files.
func (p *Parquet) Close() error {
	return errors.Join(p.messages.close(), p.exchanges.close(), p.findings.close())
}

// A place is the envelope of a message or a finding.
type place struct {
	frame            uint64
	timed            bool
	time             int64
	ports            bool
	src, dst, flow   []byte
	srcPort, dstPort uint64
	iface            []byte
	vlan             uint64
	protocol         []byte
}

// place reads an envelope.
func (in *input) place() (l place) {
	l.frame = in.number()
	if l.timed = in.flag(); l.timed {
		l.time = in.fixed()
	}
	if in.flag() {
		l.src, l.dst = in.text(), in.text()
		if l.ports = in.flag(); l.ports {
			l.srcPort, l.dstPort, l.flow = in.number(), in.number(), in.text()
		}
	}
	l.iface, l.vlan, l.protocol = in.text(), in.number(), in.text()
	return l
}

// place writes an envelope.
func (t *table) place(file []byte, l *place) {
	t.text(file)
	t.number(l.frame, true)
	t.number(uint64(l.time), l.timed)
	t.text(l.src)
	t.number(l.srcPort, l.ports)
	t.text(l.dst)
	t.number(l.dstPort, l.ports)
	t.text(l.flow)
	t.text(l.iface)
	t.number(l.vlan, l.vlan > 0)
	t.text(l.protocol)
}

var roles = [...][]byte{nil, []byte("request"), []byte("reply"), []byte("notice")}

// split writes how a message was split.
func (t *table) split(in *input) {
	if !in.flag() {
		t.absent(5)
		return
	}
	t.depth = 1
	t.text(in.text())
	t.number(in.number(), true)
	t.number(in.number(), true)
	t.flag(in.flag(), true)
	n := 0
	if in.flag() {
		n = int(in.number())
	}
	t.list(n, func(c *column) { c.putNumber(int64(in.number())) })
	t.depth = 0
}

// capture reads the beginning of a file.
func (p *Parquet) capture() {
	p.file = append([]byte{}, p.in.text()...)
	first := p.in.number()
	if first == 0 {
		p.files = p.files[:0]
	}
	p.files = append(p.files, file{p.file, first})
}

// fileOf returns the name of the file of a frame, nil if that has an output of its own.
func (p *Parquet) fileOf(frame uint64) []byte {
	for _, f := range slices.Backward(p.files) {
		if f.first <= frame {
			return f.name
		}
	}
	return nil
}

// message reads and writes a message.
func (p *Parquet) message() {
	in, t := &p.in, p.messages
	l := in.place()
	t.place(p.file, &l)
	name := in.text()
	t.text(name)
	t.text(roles[in.kind()])
	t.number(in.number(), true)
	t.number(in.number(), true)
	t.text(in.text())
	n := int(in.number())
	t.list(n, func(c *column) { c.putNumber(int64(in.number())) })
	t.split(in)
	for _, k := range p.scalars {
		t.scalar(in, k)
	}
	n = int(in.number())
	t.list(n, func(c *column) { c.putText(in.text()) })
	t.text(in.text())
	t.server(in)
	t.text(in.text())
	t.text(in.text())
	t.endRow()
	for n := in.number(); n > 0 && !in.broken; n-- {
		p.findingOf(&l, name, 0)
	}
}

// exchange reads and writes what became of a request.
func (p *Parquet) exchange() {
	in, t := &p.in, p.exchanges
	l := in.place()
	t.place(p.fileOf(l.frame), &l)
	t.text(in.text())
	for _, k := range p.outcomes {
		if k.WordOfExchange != nil {
			t.text(in.text())
		} else {
			t.scalar(in, k)
		}
	}
	t.server(in)
	t.endRow()
}

// finding reads and writes a finding that belongs to no message.
func (p *Parquet) finding() {
	l := p.in.place()
	p.findingOf(&l, nil, p.in.number())
}

// findingOf reads and writes a finding.
func (p *Parquet) findingOf(l *place, message []byte, icmp uint64) {
	in, t := &p.in, p.findings
	t.place(p.file, l)
	t.text(message)
	t.number(icmp, icmp > 0)
	t.text(in.text())
	t.text(in.text())
	t.text(in.text())
	t.text(in.text())
	at := in.flag()
	offset, length := uint64(0), uint64(0)
	if at {
		offset, length = in.number(), in.number()
	}
	t.number(offset, at)
	t.number(length, at)
	t.endRow()
}

// server copies what a reply states about its server.
func (t *table) server(in *input) {
	facts := serverColumns.fields
	if !in.flag() {
		t.absent(len(facts))
		return
	}
	t.depth = 1
	for i := range facts {
		switch {
		case !in.flag():
			t.null()
		case facts[i].kind == word:
			t.value().putText(in.text())
		case facts[i].kind == flag:
			t.flag(in.signed() != 0, true)
		default:
			t.value().putNumber(in.signed())
		}
	}
	t.depth = 0
}

// input reads rows.
type input struct {
	b      []byte
	broken bool
}

func (in *input) kind() byte {
	if len(in.b) == 0 {
		in.broken = true
		return 0
	}
	c := in.b[0]
	in.b = in.b[1:]
	return c
}

func (in *input) flag() bool { return in.kind() != 0 }

func (in *input) number() uint64 {
	if b := in.b; len(b) > 0 && b[0] < 0x80 { // as most are
		in.b = b[1:]
		return uint64(b[0])
	}
	return in.large()
}

// scalar writes a number or a mark that may be absent.
func (t *table) scalar(in *input, k *envelope.Key) {
	if v, ok := in.scalar(); k.Kind == envelope.Mark {
		t.flag(ok, ok)
	} else {
		t.number(v, ok)
	}
}

// scalar reads a number that may be absent.
func (in *input) scalar() (v uint64, ok bool) {
	if ok = in.flag(); ok {
		v = in.number()
	}
	return v, ok
}

func (in *input) large() uint64 {
	v, n := binary.Uvarint(in.b)
	in.skip(n)
	return v
}

func (in *input) signed() int64 {
	v, n := binary.Varint(in.b)
	in.skip(n)
	return v
}

// fixed reads a number of eight bytes.
func (in *input) fixed() int64 {
	if len(in.b) < 8 {
		in.b, in.broken = nil, true
		return 0
	}
	v := binary.LittleEndian.Uint64(in.b)
	in.b = in.b[8:]
	return int64(v)
}

func (in *input) skip(n int) {
	if n <= 0 {
		in.b, in.broken = nil, true
		return
	}
	in.b = in.b[n:]
}

func (in *input) text() []byte {
	n := in.number()
	if n > uint64(len(in.b)) {
		in.b, in.broken = nil, true
		return nil
	}
	s := in.b[:n:n]
	in.b = in.b[n:]
	return s
}
