package tables

import (
	"cmp"
	"encoding/binary"
	"io"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The limits of what is kept in memory: of a row group until it is written, in rows and in
// compressed bytes; of a page until it is compressed; of a dictionary.
const (
	groupRows  = 32 << 10
	groupBytes = 512 << 10
	pageBytes  = 64 << 10
	dictBytes  = 32 << 10
)

// A kind says what the values of a field are.
type kind byte

const (
	word kind = iota // text that repeats, with a dictionary
	text
	document // JSON
	flag
	signed64
	unsigned64
	unsigned32
	unsigned16
	nanoseconds // since 1970, in UTC
	group       // of fields
	list        // of the only field
)

// A field is a column or a group of columns.
type field struct {
	name   string
	kind   kind
	fields []field
}

// element returns the description of the field.
func (f *field) element(repetition format.FieldRepetitionType) format.SchemaElement {
	e := format.SchemaElement{Name: f.name, RepetitionType: thrift.New(repetition)}
	switch f.kind {
	case word, text:
		e.Type, e.LogicalType.Value, e.ConvertedType = thrift.New(format.ByteArray), new(format.StringType), thrift.New(deprecated.UTF8)
	case document:
		e.Type, e.LogicalType.Value, e.ConvertedType = thrift.New(format.ByteArray), new(format.JsonType), thrift.New(deprecated.Json)
	case flag:
		e.Type = thrift.New(format.Boolean)
	case signed64:
		e.Type, e.LogicalType.Value, e.ConvertedType = thrift.New(format.Int64), &format.IntType{BitWidth: 64, IsSigned: true}, thrift.New(deprecated.Int64)
	case unsigned64:
		e.Type, e.LogicalType.Value, e.ConvertedType = thrift.New(format.Int64), &format.IntType{BitWidth: 64}, thrift.New(deprecated.Uint64)
	case unsigned32:
		e.Type, e.LogicalType.Value, e.ConvertedType = thrift.New(format.Int32), &format.IntType{BitWidth: 32}, thrift.New(deprecated.Uint32)
	case unsigned16:
		e.Type, e.LogicalType.Value, e.ConvertedType = thrift.New(format.Int32), &format.IntType{BitWidth: 16}, thrift.New(deprecated.Uint16)
	case nanoseconds:
		e.Type, e.LogicalType.Value = thrift.New(format.Int64), &format.TimestampType{Unit: format.TimeUnit{Value: new(format.NanoSeconds)}}
	case group:
		e.NumChildren = thrift.New(int32(len(f.fields)))
	case list:
		e.NumChildren, e.LogicalType.Value, e.ConvertedType = thrift.New[int32](1), new(format.ListType), thrift.New(deprecated.List)
	}
	return e
}

// A column encodes the values of a column of a row group.
type column struct {
	kind                   kind
	physical               format.Type
	path                   []string
	definition, repetition byte // highest levels

	// The page: the levels of all values, and the values that are not absent. size is the
	// bytes that those would take if they were not encoded, pageBytes when the page is complete.
	definitions, repetitions []byte
	present, size            int
	text                     []byte
	numbers                  []int64
	indexes                  []int32 // in the dictionary
	flags                    []byte  // bits

	// The row group.
	rows          int64 // with levels; a row after them has no value
	values, nulls int64
	raw           int    // bytes before compression
	pages         []byte // compressed
	encodings     [format.RLEDictionary + 1]bool
	ranged        bool // least and most are those of numbers
	least, most   int64

	// The dictionary of the row group. When it is full, later pages have none.
	dict   []byte
	words  map[string]int32 // index
	places []int            // of the words in dict
	recent [32]recent       // words, by some of their bytes
	full   bool
}

// A recent is a word that was written not long ago, and its index. The text is in the dictionary.
type recent struct {
	from, to int // zero for none, because lengths come before the text
	index    int32
}

// levels adds the levels of a value of a row.
func (c *column) levels(row int64, repetition, definition byte) {
	if c.rows < row {
		c.catchUp(row)
	}
	c.rows = row + 1
	c.definitions = append(c.definitions, definition)
	if c.repetition > 0 {
		c.repetitions = append(c.repetitions, repetition)
	}
}

// catchUp adds the levels of the rows before row, which have no value.
func (c *column) catchUp(row int64) {
	n := int(row - c.rows)
	c.definitions = appendZeros(c.definitions, n)
	if c.repetition > 0 {
		c.repetitions = appendZeros(c.repetitions, n)
	}
	c.rows = row
}

func appendZeros(b []byte, n int) []byte {
	b = slices.Grow(b, n)[:len(b)+n]
	clear(b[len(b)-n:])
	return b
}

func (c *column) putText(s []byte) {
	if c.kind != word || c.full {
		c.text = appendPlain(c.text, s)
		c.size = len(c.text)
		return
	}
	c.indexes = append(c.indexes, c.index(s))
	c.size += 8
}

// index returns the index of a word in the dictionary.
func (c *column) index(s []byte) int32 {
	at := uint32(len(s))
	if at >= 4 {
		at += binary.LittleEndian.Uint32(s[at-4:])
	}
	r := &c.recent[at*0x9e3779b1>>16%uint32(len(c.recent))]
	if r.to > 0 && string(c.dict[r.from:r.to]) == string(s) {
		return r.index
	}
	i, ok := c.words[string(s)]
	if !ok {
		i = int32(len(c.words))
		c.words[string(s)] = i
		c.places = append(c.places, len(c.dict)+4)
		c.dict = appendPlain(c.dict, s)
		if len(c.dict) >= dictBytes {
			c.size = pageBytes
		}
	}
	from := c.places[i]
	*r = recent{from, from + len(s), i}
	return i
}

func (c *column) putNumber(n int64) {
	c.numbers = append(c.numbers, n)
	c.size += 16
}

func (c *column) putFlag(v bool) {
	bit := (c.present - 1) % 8
	if bit == 0 {
		c.flags = append(c.flags, 0)
	}
	if v {
		c.flags[len(c.flags)-1] |= 1 << bit
	}
}

// appendPlain appends text after its length.
func appendPlain(b, s []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}

// extend extends the range of numbers by those of the page.
func (c *column) extend() {
	for _, n := range c.numbers {
		less, more := n < c.least, n > c.most
		if c.kind == unsigned64 {
			less, more = uint64(n) < uint64(c.least), uint64(n) > uint64(c.most)
		}
		if less || !c.ranged {
			c.least = n
		}
		if more || !c.ranged {
			c.most = n
		}
		c.ranged = true
	}
}

// statistics describes the values of the row group. Readers skip row groups by it.
func (c *column) statistics() format.Statistics {
	s := format.Statistics{NullCount: c.nulls}
	switch {
	case c.ranged:
		s.MinValue = binary.LittleEndian.AppendUint64(nil, uint64(c.least))
		s.MaxValue = binary.LittleEndian.AppendUint64(nil, uint64(c.most))
		if c.physical == format.Int32 {
			s.MinValue, s.MaxValue = s.MinValue[:4], s.MaxValue[:4]
		}
	case len(c.words) > 0 && !c.full:
		words := slices.Collect(maps.Keys(c.words))
		s.MinValue, s.MaxValue = []byte(slices.Min(words)), []byte(slices.Max(words))
	}
	return s
}

// A table writes rows: each gives its values in the order of the columns.
type table struct {
	to      io.Writer
	err     error
	offset  int64 // in the file
	schema  []format.SchemaElement
	columns []column
	next    int  // column
	depth   byte // definition level of what is around the column

	rows, allRows int64  // in the row group, in the file
	held          int    // bytes of pages of the row group
	groups        int    // before it
	described     []byte // as the end of the file describes them

	page, part, packed []byte // scratch
	int32s             []int32
}

// newTable returns a table with columns for fields.
func newTable(to io.Writer, name string, fields []field) *table {
	t := &table{to: to, schema: []format.SchemaElement{{Name: name, NumChildren: thrift.New(int32(len(fields)))}}}
	t.declare(fields, nil, 0, 0, format.Optional)
	return t
}

const magic = "PAR1"

// declare adds fields to the schema. The levels are those of what is around them.
func (t *table) declare(fields []field, path []string, definition, repetition byte, how format.FieldRepetitionType) {
	if how == format.Optional {
		definition++
	}
	for i := range fields {
		f := &fields[i]
		path := append(path[:len(path):len(path)], f.name)
		e := f.element(how)
		t.schema = append(t.schema, e)
		switch f.kind {
		case group:
			t.declare(f.fields, path, definition, repetition, format.Optional)
		case list:
			t.schema = append(t.schema, format.SchemaElement{Name: "list", NumChildren: thrift.New[int32](1), RepetitionType: thrift.New(format.Repeated)})
			t.declare(f.fields, append(path, "list"), definition+1, repetition+1, format.Required)
		default:
			t.columns = append(t.columns, column{
				kind: f.kind, physical: e.Type.V, path: path, definition: definition, repetition: repetition, words: make(map[string]int32),
			})
		}
	}
}

// put begins a value of the next column.
func (t *table) put(repetition, definition byte) *column {
	c := &t.columns[t.next]
	if repetition == 0 && c.size >= pageBytes {
		c.catchUp(t.rows)
		t.endPage(c)
	}
	c.levels(t.rows, repetition, definition)
	c.present++
	return c
}

// value writes the only value of the next column.
func (t *table) value() *column {
	c := &t.columns[t.next]
	if c.rows < t.rows || c.size >= pageBytes || c.repetition > 0 {
		c = t.put(0, t.depth+1)
	} else { // as put does
		c.rows++
		c.definitions = append(c.definitions, t.depth+1)
		c.present++
	}
	t.next++
	return c
}

// null leaves out the next column. Its level is not added yet if nothing is around it.
func (t *table) null() {
	if t.depth > 0 {
		t.columns[t.next].levels(t.rows, 0, t.depth)
	}
	t.next++
}

// absent leaves out the n columns of a group.
func (t *table) absent(n int) { t.next += n }

// text writes text, which is absent if it is empty.
func (t *table) text(s []byte) {
	if len(s) == 0 {
		t.null()
	} else {
		t.value().putText(s)
	}
}

func (t *table) number(n uint64, is bool) {
	if is {
		t.value().putNumber(int64(n))
	} else {
		t.null()
	}
}

func (t *table) flag(v, is bool) {
	if is {
		t.value().putFlag(v)
	} else {
		t.null()
	}
}

// list writes a list of n values, which put writes. No values are no list.
func (t *table) list(n int, put func(*column)) {
	if n == 0 {
		t.null()
		return
	}
	for i := range n {
		put(t.put(byte(min(i, 1)), t.depth+2))
	}
	t.next++
}

// endRow ends a row, and the row group if it is large.
func (t *table) endRow() {
	t.next = 0
	t.rows++
	if t.rows >= groupRows || t.held >= groupBytes {
		t.endGroup()
	}
}

// endPage compresses the page of a column.
func (t *table) endPage(c *column) {
	all := len(c.definitions)
	if all == 0 {
		return
	}
	b := t.appendLevels(t.page[:0], c.repetitions, c.repetition)
	b = t.appendLevels(b, c.definitions, c.definition)
	encoding := format.Plain
	var err error
	switch {
	case len(c.numbers) > 0:
		encoding = format.DeltaBinaryPacked
		c.extend()
		if c.physical == format.Int64 {
			t.part, err = new(delta.BinaryPackedEncoding).EncodeInt64(t.part, c.numbers)
		} else {
			t.int32s = t.int32s[:0]
			for _, n := range c.numbers {
				t.int32s = append(t.int32s, int32(n))
			}
			t.part, err = new(delta.BinaryPackedEncoding).EncodeInt32(t.part, t.int32s)
		}
		b = append(b, t.part...)
	case len(c.indexes) > 0:
		encoding = format.RLEDictionary
		t.part, err = new(rle.DictionaryEncoding).EncodeInt32(t.part, c.indexes)
		b = append(b, t.part...)
	default:
		b = append(append(b, c.text...), c.flags...)
	}
	t.fail(err)
	t.page = b
	nulls := int64(all - c.present)
	before := len(c.pages)
	c.pages = t.appendPage(c.pages, c, format.PageHeader{
		Type: format.DataPage,
		DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: int32(all), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
			Statistics: format.Statistics{NullCount: nulls},
		}),
	}, b)
	t.held += len(c.pages) - before
	c.encodings[encoding] = true
	c.values += int64(all)
	c.nulls += nulls
	c.full = c.full || len(c.dict) >= dictBytes
	c.definitions, c.repetitions, c.present = c.definitions[:0], c.repetitions[:0], 0
	c.size, c.text, c.numbers, c.indexes, c.flags = 0, c.text[:0], c.numbers[:0], c.indexes[:0], c.flags[:0]
}

// appendLevels appends levels of up to highest.
func (t *table) appendLevels(b, levels []byte, highest byte) []byte {
	if highest == 0 {
		return b
	}
	var err error
	t.part, err = (&rle.Encoding{BitWidth: bits.Len8(highest)}).EncodeLevels(t.part, levels)
	t.fail(err)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(t.part))), t.part...)
}

// appendPage appends a compressed page of a column after its header.
func (t *table) appendPage(b []byte, c *column, header format.PageHeader, page []byte) []byte {
	t.packed = s2.EncodeSnappy(t.packed[:cap(t.packed)], page)
	header.UncompressedPageSize, header.CompressedPageSize = int32(len(page)), int32(len(t.packed))
	h := t.marshal(&header)
	c.raw += len(h) + len(page)
	return append(append(b, h...), t.packed...)
}

// endGroup writes the row group.
func (t *table) endGroup() {
	if t.offset == 0 {
		t.write([]byte(magic))
	}
	if t.rows == 0 {
		return
	}
	g := format.RowGroup{NumRows: t.rows, FileOffset: t.offset, Ordinal: int16(min(t.groups, math.MaxInt16))}
	for i := range t.columns {
		c := &t.columns[i]
		c.catchUp(t.rows)
		t.endPage(c)
		m := format.ColumnMetaData{Type: c.physical, PathInSchema: c.path, Codec: format.Snappy, NumValues: c.values, Statistics: c.statistics()}
		start := t.offset
		if len(c.words) > 0 {
			m.DictionaryPageOffset = start
			c.encodings[format.Plain] = true
			t.page = t.appendPage(t.page[:0], c, format.PageHeader{
				Type:                 format.DictionaryPage,
				DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(len(c.words)), Encoding: format.Plain}),
			}, c.dict)
			t.write(t.page)
		}
		m.DataPageOffset = t.offset
		t.write(c.pages)
		c.encodings[format.RLE] = true
		for e, is := range c.encodings {
			if is {
				m.Encoding = append(m.Encoding, format.Encoding(e))
			}
		}
		m.TotalUncompressedSize, m.TotalCompressedSize = int64(c.raw), t.offset-start
		g.TotalByteSize += m.TotalUncompressedSize
		g.TotalCompressedSize += m.TotalCompressedSize
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: m})
		clear(c.words)
		c.rows, c.values, c.nulls, c.raw, c.pages, c.ranged = 0, 0, 0, 0, c.pages[:0], false
		c.dict, c.places, c.recent, c.full = c.dict[:0], c.places[:0], [len(c.recent)]recent{}, false
		clear(c.encodings[:])
	}
	t.described = append(t.described, t.marshal(&g)...)
	t.groups++
	t.allRows += t.rows
	t.rows, t.held = 0, 0
}

// close completes the file. Its end is a format.FileMetaData, whose row groups were encoded
// one by one: all of them would need too much memory in a file of many.
func (t *table) close() error {
	t.endGroup()
	const (
		anI32, anI64, aBinary, aList, aStruct = 5, 6, 8, 9, 12 // types of thrift's compact protocol
		next, nextButOne                      = 1 << 4, 2 << 4 // fields
	)
	appendList := func(b []byte, n int) []byte {
		return binary.AppendUvarint(append(b, next|aList, 15<<4|aStruct), uint64(n))
	}
	b := []byte{next | anI32, 2} // version 1
	b = appendList(b, len(t.schema))
	for i := range t.schema {
		b = append(b, t.marshal(&t.schema[i])...)
	}
	b = binary.AppendVarint(append(b, next|anI64), t.allRows)
	b = append(appendList(b, t.groups), t.described...)
	const by = "qdissect"
	b = append(append(b, nextButOne|aBinary, byte(len(by))), by...)
	b = appendList(b, len(t.columns))
	for range t.columns {
		b = append(b, t.marshal(&format.ColumnOrder{Value: new(format.TypeDefinedOrder)})...)
	}
	b = append(b, 0)
	t.write(append(binary.LittleEndian.AppendUint32(b, uint32(len(b))), magic...))
	return t.err
}

func (t *table) marshal(v any) []byte {
	b, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	t.fail(err)
	return b
}

func (t *table) write(b []byte) {
	n, err := t.to.Write(b)
	t.offset += int64(n)
	t.fail(err)
}

// fail keeps the first error.
func (t *table) fail(err error) { t.err = cmp.Or(t.err, err) }
