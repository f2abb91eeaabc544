package report

import (
	"encoding/binary"
	"math"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// appendFields appends the tree of a record: groups as objects, lists as arrays,
// leaves as values. Framing fields are left out with everything in them.
func (j *JSON) appendFields(b []byte, r *dissect.Record) []byte {
	kept := j.buf
	j.buf, j.nodes, j.sources = b, r.Nodes, r.Sources
	j.object(0, 0)
	b = j.buf
	j.buf, j.nodes, j.sources = kept, nil, nil
	return b
}

// object writes the nodes from i on that are not above a depth, and returns the number of the
// next one. A comma precedes each key; the first becomes the bracket.
func (j *JSON) object(i int, depth uint8) int {
	start := len(j.buf)
	for i < len(j.nodes) {
		n := &j.nodes[i]
		if n.Depth < depth {
			break
		}
		i++
		f := n.Field
		switch f.JSONForm() {
		case core.TextForm:
			if !j.putText(f, n) {
				j.buf = j.appendString(appendShort(j.buf, f.JSONKey()), n, j.sources[n.Source].Data, false)
			}
		case core.ObjectForm:
			j.buf = appendShort(j.buf, f.JSONKey())
			i = j.object(i, depth+1)
		case core.ArrayForm:
			j.buf = appendShort(j.buf, f.JSONKey())
			i = j.list(i, depth+1)
		case core.LeftOut:
			i = j.skip(i, n.Depth)
		case core.NumberForm:
			if !j.putNumber(f, n) {
				j.value(f, n)
			}
		case core.DecimalForm:
			if !j.putDecimal(f, n) {
				j.value(f, n)
			}
		default:
			j.value(f, n)
		}
	}
	j.enclose(start, '{', '}')
	return i
}

// list is the same for elements without keys.
func (j *JSON) list(i int, depth uint8) int {
	start := len(j.buf)
	for i < len(j.nodes) {
		n := &j.nodes[i]
		if n.Depth < depth {
			break
		}
		i++
		form := n.Field.JSONForm()
		if form == core.LeftOut {
			i = j.skip(i, n.Depth)
			continue
		}
		j.buf = append(j.buf, ',')
		switch form {
		case core.ObjectForm:
			i = j.object(i, depth+1)
		case core.ArrayForm:
			i = j.list(i, depth+1)
		default:
			j.buf = j.appendValue(j.buf, n, j.sources[n.Source].Data, true)
		}
	}
	j.enclose(start, '[', ']')
	return i
}

// skip returns the number of the first node from i on that is no deeper than depth.
func (j *JSON) skip(i int, depth uint8) int {
	for i < len(j.nodes) && j.nodes[i].Depth > depth {
		i++
	}
	return i
}

// enclose writes the brackets of a container whose content begins at start.
func (j *JSON) enclose(start int, first, last byte) {
	if len(j.buf) == start {
		j.buf = append(j.buf, first)
	}
	j.buf[start] = first
	j.buf = append(j.buf, last)
}

// value writes a key and any value.
func (j *JSON) value(f *dissect.Field, n *dissect.Node) {
	j.buf = j.appendValue(appendShort(j.buf, f.JSONKey()), n, j.sources[n.Source].Data, false)
}

// putNumber is putText for a whole number.
func (j *JSON) putNumber(f *dissect.Field, n *dissect.Node) bool {
	key, keySize := f.JSONKeyText()
	at := len(j.buf)
	b := j.buf[:cap(j.buf)]
	if keySize == 0 || len(b)-at < core.KeyRoom+nettext.ByteRoom {
		return false
	}
	*(*[core.KeyRoom]byte)(b[at : at+core.KeyRoom]) = *key
	at += keySize
	switch {
	case n.Num <= math.MaxUint8:
		j.buf = b[:at+nettext.PutByte(b[at:], uint8(n.Num))]
	case f.Kind == dissect.Int:
		j.buf = nettext.AppendInt(b[:at], n.Int())
	default:
		j.buf = nettext.AppendUint(b[:at], n.Num)
	}
	return true
}

// putDecimal is putText for a number that is text. It writes none but those of up to eight digits before other bytes.
func (j *JSON) putDecimal(f *dissect.Field, n *dissect.Node) bool {
	const (
		word  = 8
		zeros = 0x3030303030303030
		most  = 0x7f7f7f7f7f7f7f7f - 0x0909090909090909
	)
	key, keySize := f.JSONKeyText()
	data := j.sources[n.Source].Data
	from, size := n.Span()
	at := len(j.buf)
	b := j.buf[:cap(j.buf)]
	if size <= 0 || size > word || from+word > len(data) || keySize == 0 || len(b)-at < core.KeyRoom+word {
		return false
	}
	v := binary.LittleEndian.Uint64(data[from : from+word])
	digits := (v ^ zeros) << (8 * uint(word-size) & 63)
	if ((digits+most)|digits)&nettext.HighBits != 0 || byte(v) == '0' && size > 1 {
		return false
	}
	*(*[core.KeyRoom]byte)(b[at : at+core.KeyRoom]) = *key
	at += keySize
	binary.LittleEndian.PutUint64(b[at:at+word], v)
	j.buf = j.buf[:at+size]
	return true
}

// putText writes a key and a text whose bytes all stand for themselves, eight at a time. If one is special or there is not
// enough room, it returns false and has written nothing.
func (j *JSON) putText(f *dissect.Field, n *dissect.Node) bool {
	const word = 8
	key, keySize := f.JSONKeyText()
	data := j.sources[n.Source].Data
	from, size := n.Span()
	at := len(j.buf)
	b := j.buf[:cap(j.buf)]
	if len(b)-at < core.KeyRoom+size+word+2 || keySize == 0 || n.Wide {
		return false
	}
	*(*[core.KeyRoom]byte)(b[at : at+core.KeyRoom]) = *key
	at += keySize + len(`"`)
	var found uint64
	switch {
	case size >= word:
		k := 0
		for ; k < size-word; k += word {
			v := binary.LittleEndian.Uint64(data[from+k : from+k+word])
			found |= nettext.Special(v)
			binary.LittleEndian.PutUint64(b[at+k:at+k+word], v)
		}
		v := binary.LittleEndian.Uint64(data[from+size-word : from+size])
		found |= nettext.Special(v)
		binary.LittleEndian.PutUint64(b[at+size-word:at+size], v)
	case size > 0:
		v := uint64(0)
		if from+word <= len(data) {
			v = binary.LittleEndian.Uint64(data[from : from+word])
		} else {
			for k := size - 1; k >= 0; k-- {
				v = v<<8 | uint64(data[from+k])
			}
		}
		found = nettext.Special(v) << (8 * uint(word-size) & 63)
		binary.LittleEndian.PutUint64(b[at:at+word], v)
	}
	if found&nettext.HighBits != 0 {
		return false
	}
	b[at+size] = '"'
	j.buf = j.buf[:at+size+1]
	return true
}
