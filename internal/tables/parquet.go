package tables

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/parquet-go/parquet-go"
	snappyformat "github.com/parquet-go/parquet-go/compress/snappy"
)

// The columns. Their order is that in which rows are written; see [table].
type (
	placeColumns struct {
		File      string `parquet:"file,optional,dict"`
		Frame     uint64 `parquet:"frame,optional,delta"`
		Time      int64  `parquet:"time,optional,delta,timestamp(nanosecond:local)"`
		SrcIP     string `parquet:"src_ip,optional,dict"`
		SrcPort   uint32 `parquet:"src_port,optional,dict,uint(16)"`
		DstIP     string `parquet:"dst_ip,optional,dict"`
		DstPort   uint32 `parquet:"dst_port,optional,dict,uint(16)"`
		FlowID    string `parquet:"flow_id,optional"`
		Interface string `parquet:"interface,optional,dict"`
		VLAN      uint32 `parquet:"vlan,optional,dict,uint(16)"`
		Protocol  string `parquet:"protocol,optional,dict"`
	}
	serverColumns struct {
		Name       string `parquet:"name,optional,dict"`
		Map        string `parquet:"map,optional,dict"`
		Game       string `parquet:"game,optional,dict"`
		Version    string `parquet:"version,optional,dict"`
		Players    int64  `parquet:"players,optional"`
		MaxPlayers int64  `parquet:"max_players,optional"`
		Bots       int64  `parquet:"bots,optional"`
		Password   bool   `parquet:"password,optional"`
	}
	messageColumns struct {
		placeColumns
		Message    string   `parquet:"message,optional,dict"`
		Role       string   `parquet:"role,optional,dict"`
		Length     uint32   `parquet:"length,optional"`
		WireLength uint32   `parquet:"wire_length,optional"`
		Detect     string   `parquet:"detect,optional,dict"`
		Frames     []uint64 `parquet:"frames,optional,list"`
		Split      struct {
			Variant    string   `parquet:"variant,optional,dict"`
			ID         uint64   `parquet:"id,optional"`
			Parts      uint32   `parquet:"parts,optional"`
			Compressed bool     `parquet:"compressed,optional"`
			Missing    []uint32 `parquet:"missing,optional,list"`
		} `parquet:"split,optional"`
		RequestFrame uint64        `parquet:"request_frame,optional"`
		RTT          int64         `parquet:"rtt_ns,optional"`
		Ambiguous    bool          `parquet:"rtt_ambiguous,optional"`
		Alternatives []string      `parquet:"alternatives,optional,list"`
		Summary      string        `parquet:"summary,optional"`
		Server       serverColumns `parquet:"server,optional"`
		Fields       string        `parquet:"fields,optional,json"`
		Data         string        `parquet:"data,optional"`
	}
	findingColumns struct {
		placeColumns
		Message   string `parquet:"message,optional,dict"`
		ICMPFrame uint64 `parquet:"icmp_frame,optional"`
		ID        string `parquet:"id,optional,dict"`
		Severity  string `parquet:"severity,optional,dict"`
		Text      string `parquet:"text,optional"`
		Field     string `parquet:"field,optional,dict"`
		Offset    uint32 `parquet:"offset,optional"`
		Length    uint32 `parquet:"length,optional"`
	}
	exchangeColumns struct {
		File         string        `parquet:"file,optional,dict"`
		Frame        uint64        `parquet:"frame,optional,delta"`
		Time         int64         `parquet:"time,optional,delta,timestamp(nanosecond:local)"`
		ClientIP     string        `parquet:"client_ip,optional"`
		ClientPort   uint32        `parquet:"client_port,optional,dict,uint(16)"`
		ServerIP     string        `parquet:"server_ip,optional"`
		ServerPort   uint32        `parquet:"server_port,optional,dict,uint(16)"`
		FlowID       string        `parquet:"flow_id,optional"`
		Interface    string        `parquet:"interface,optional,dict"`
		VLAN         uint32        `parquet:"vlan,optional,dict,uint(16)"`
		Protocol     string        `parquet:"protocol,optional,dict"`
		Request      string        `parquet:"request,optional,dict"`
		Outcome      string        `parquet:"outcome,optional,dict"`
		Replies      uint32        `parquet:"replies,optional"`
		Reply        string        `parquet:"reply,optional,dict"`
		ReplyFrame   uint64        `parquet:"reply_frame,optional"`
		RTT          int64         `parquet:"rtt_ns,optional"`
		RequestBytes uint32        `parquet:"request_bytes,optional"`
		ReplyBytes   uint64        `parquet:"reply_bytes,optional"`
		Server       serverColumns `parquet:"server,optional"`
	}
)

// The limits of a row group, which is kept in memory until it is written.
const (
	groupRows  = 32 << 10
	groupBytes = 8 << 20
	pageBytes  = 64 << 10
)

// Names are the names of the files of a [Parquet].
var Names = [...]string{"messages.parquet", "exchanges.parquet", "findings.parquet"}

// A Parquet writes tables from the output of [NewRows].
type Parquet struct {
	messages, exchanges, findings *table
	in                            input
	file                          []byte
	pending                       pending
}

// NewParquet returns a writer of the files of [Names].
func NewParquet(files [len(Names)]io.Writer) *Parquet {
	return &Parquet{
		messages:  newTable(files[0], parquet.SchemaOf(messageColumns{})),
		exchanges: newTable(files[1], parquet.SchemaOf(exchangeColumns{})),
		findings:  newTable(files[2], parquet.SchemaOf(findingColumns{})),
		pending:   pending{at: make(map[uint64]uint64), names: make(map[string][]byte)},
	}
}

// Empty reports whether no capture has begun.
func (p *Parquet) Empty() bool { return p.file == nil }

// Write takes whole rows.
func (p *Parquet) Write(b []byte) (int, error) {
	p.in = input{b: b}
	for len(p.in.b) > 0 {
		start := p.in.b
		switch p.in.kind() {
		case aCapture:
			p.file = append([]byte{}, p.in.text()...)
		case aMessage:
			p.message(start)
		case aFinding:
			p.finding()
		}
		if p.in.broken {
			return 0, errors.New("tables: a row is broken") // by a mistake of ours
		}
		// After a row and not after a Write, whose size depends on the workers.
		if err := errors.Join(p.exchangesOver(maxPending), p.messages.passSome(), p.findings.passSome()); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// Close completes the files.
func (p *Parquet) Close() error {
	err := p.exchangesOver(0)
	for _, t := range []*table{p.messages, p.exchanges, p.findings} {
		err = errors.Join(err, t.pass(), t.w.Close())
	}
	return err
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
		l.time = in.signed()
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
	t.small(l.srcPort, l.ports)
	t.text(l.dst)
	t.small(l.dstPort, l.ports)
	t.text(l.flow)
	t.text(l.iface)
	t.small(l.vlan, l.vlan > 0)
	t.text(l.protocol)
}

var roles = [...][]byte{nil, []byte("request"), []byte("reply"), []byte("notice")}

// message reads and writes a message, which begins at start.
func (p *Parquet) message(start []byte) {
	in, t := &p.in, p.messages
	l := in.place()
	t.begin()
	t.place(p.file, &l)
	name := in.text()
	role := in.kind()
	length, wire := in.number(), in.number()
	t.text(name)
	t.text(roles[role])
	t.small(length, true)
	t.small(wire, true)
	row := start[:len(start)-len(in.b)]
	t.text(in.text())
	n := int(in.number())
	t.list(n, 0, func() parquet.Value { return parquet.Int64Value(int64(in.number())) })
	inPart := false
	if in.flag() {
		t.depth = 1
		t.text(in.text())
		t.number(in.number(), true)
		t.small(in.number(), true)
		t.flag(in.flag(), true)
		if inPart = in.flag(); inPart {
			n = int(in.number())
		} else {
			n = 0
		}
		t.list(n, 1, func() parquet.Value { return parquet.Int32Value(int32(in.number())) })
		t.depth = 0
	} else {
		t.absent(5)
	}
	request := in.number()
	t.number(request, request > 0)
	rtt, known := uint64(0), in.flag()
	if known {
		rtt = in.number()
	}
	t.number(rtt, known)
	ambiguous := in.flag()
	t.flag(ambiguous, ambiguous)
	n = int(in.number())
	t.list(n, 0, func() parquet.Value { return t.keep(in.text()) })
	t.text(in.text())
	server := in.b
	t.server(in)
	server = server[:len(server)-len(in.b)]
	t.text(in.text())
	t.text(in.text())
	late, repeated := false, false
	for n := in.number(); n > 0 && !in.broken; n-- {
		id := p.findingOf(&l, name, 0)
		late = late || string(id) == "reply.late"
		repeated = repeated || string(id) == "request.retransmission"
	}
	if role == 1 {
		p.pending.add(p.file, l.frame, row, repeated)
	}
	if request > 0 {
		p.pending.reply(request, &reply{frame: l.frame, message: name, rtt: rtt, known: known, bytes: wire, server: server, late: late, inPart: inPart})
	}
}

// finding reads and writes a finding that belongs to no message.
func (p *Parquet) finding() {
	l := p.in.place()
	icmp, unanswered := p.in.number(), p.in.flag()
	p.findingOf(&l, nil, icmp)
	p.pending.found(l.frame, icmp > 0 && icmp != l.frame, unanswered)
}

// findingOf reads and writes a finding and returns its ID.
func (p *Parquet) findingOf(l *place, message []byte, icmp uint64) []byte {
	in, t := &p.in, p.findings
	t.begin()
	t.place(p.file, l)
	t.text(message)
	t.number(icmp, icmp > 0)
	id := in.text()
	t.text(id)
	t.text(in.text())
	t.text(in.text())
	t.text(in.text())
	at := in.flag()
	offset, length := uint64(0), uint64(0)
	if at {
		offset, length = in.number(), in.number()
	}
	t.small(offset, at)
	t.small(length, at)
	return id
}

// server copies what a reply states about its server.
func (t *table) server(in *input) {
	if !in.flag() {
		t.absent(8)
		return
	}
	t.depth = 1
	for range 4 {
		if in.flag() {
			t.value(t.keep(in.text()))
		} else {
			t.null()
		}
	}
	for range 3 {
		if in.flag() {
			t.value(parquet.Int64Value(in.signed()))
		} else {
			t.null()
		}
	}
	if in.flag() {
		t.flag(in.flag(), true)
	} else {
		t.null()
	}
	t.depth = 0
}

// A table writes rows column by column: each row gives its values in the order of the
// columns. Values wait until they are passed to the file.
type table struct {
	w       *parquet.GenericWriter[any]
	writers []*parquet.ColumnWriter
	columns []column
	next    int    // column
	depth   int    // definition level of what is around the column
	waiting int    // rows
	buf     []byte // their text
	rows    int    // in the row group
	bytes   int    // of text in the row group
	nulls   [256]parquet.Value
}

func newTable(to io.Writer, schema *parquet.Schema) *table {
	w := parquet.NewGenericWriter[any](to, schema, parquet.Compression(&snappy{}), parquet.PageBufferSize(pageBytes), parquet.CreatedBy("qdissect", "", ""))
	t := &table{w: w, writers: w.ColumnWriters()}
	t.columns = make([]column, len(t.writers))
	return t
}

// A column has the values of a column that wait. Most columns of most rows are absent:
// those at the end are only counted.
type column struct {
	values []parquet.Value
	absent int
}

func (t *table) begin() {
	t.next = 0
	t.waiting++
}

func (t *table) put(v parquet.Value, repetition, definition int) {
	c := &t.columns[t.next]
	for ; c.absent > 0; c.absent-- {
		c.values = append(c.values, parquet.Value{}.Level(0, 0, t.next))
	}
	c.values = append(c.values, v.Level(repetition, definition, t.next))
}

func (t *table) value(v parquet.Value) {
	t.put(v, 0, t.depth+1)
	t.next++
}

func (t *table) null() {
	if t.depth == 0 {
		t.columns[t.next].absent++
	} else {
		t.put(parquet.Value{}, 0, t.depth)
	}
	t.next++
}

// absent leaves out n columns.
func (t *table) absent(n int) {
	for range n {
		t.null()
	}
}

// text writes text, which is absent if it is empty.
func (t *table) text(s []byte) {
	if len(s) == 0 {
		t.null()
		return
	}
	t.value(t.keep(s))
}

// keep copies text.
func (t *table) keep(s []byte) parquet.Value {
	n := len(t.buf)
	t.buf = append(t.buf, s...)
	t.bytes += len(s)
	return parquet.ByteArrayValue(t.buf[n:len(t.buf):len(t.buf)])
}

// passSome passes the values if they are many.
func (t *table) passSome() error {
	if t.waiting < 256 && len(t.buf) < 128<<10 {
		return nil
	}
	return t.pass()
}

func (t *table) number(n uint64, is bool) {
	if is {
		t.value(parquet.Int64Value(int64(n)))
	} else {
		t.null()
	}
}

// small writes a number of up to 32 bits.
func (t *table) small(n uint64, is bool) {
	if is {
		t.value(parquet.Int32Value(int32(n)))
	} else {
		t.null()
	}
}

func (t *table) flag(v, is bool) {
	if is {
		t.value(parquet.BooleanValue(v))
	} else {
		t.null()
	}
}

// list writes the n values that next returns, in a group of this depth. No values are no
// list.
func (t *table) list(n, depth int, next func() parquet.Value) {
	if n == 0 {
		t.null()
		return
	}
	for i := range n {
		t.put(next(), min(i, 1), depth+2)
	}
	t.next++
}

// pass passes the values to the file, and ends the row group if it is large.
func (t *table) pass() error {
	for i, w := range t.writers {
		c := &t.columns[i]
		if len(c.values) > 0 {
			if _, err := w.WriteRowValues(c.values); err != nil {
				return err
			}
			clear(c.values)
			c.values = c.values[:0]
		}
		for c.absent > 0 {
			n := min(c.absent, len(t.nulls))
			if _, err := w.WriteRowValues(t.nulls[:n]); err != nil {
				return err
			}
			c.absent -= n
		}
	}
	t.rows += t.waiting
	t.waiting, t.buf = 0, t.buf[:0]
	if t.rows < groupRows && t.bytes < groupBytes {
		return nil
	}
	t.rows, t.bytes = 0, 0
	return t.w.Flush()
}

// snappy compresses pages. The codec of parquet-go searches longer and allocates for each
// page.
type snappy struct{ snappyformat.Codec }

func (*snappy) Encode(dst, src []byte) ([]byte, error) { return s2.EncodeSnappy(dst, src), nil }

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
	v, n := binary.Uvarint(in.b)
	in.skip(n)
	return v
}

func (in *input) signed() int64 {
	v, n := binary.Varint(in.b)
	in.skip(n)
	return v
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
