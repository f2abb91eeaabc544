package valvemaster

import (
	"net/netip"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// decodeMastersRequest reads type v: version and product of the client, each in its own
// line.
func (d *decoder) decodeMastersRequest(r *dissect.Reader, m *dissect.Message, _ byte) {
	q := &d.request
	*q = Request{Type: typeMastersRequest}
	m.Body = q
	skipLine(r)
	if r.More() {
		q.Version = line(r, fVersion)
	}
	if r.More() {
		q.Product = line(r, fProduct)
	}
	readNul(r)
}

const outOfDate = "outofdate"

// decodeMastersReply reads type w: three lists, each followed by FF FF FF FF.
func (d *decoder) decodeMastersReply(r *dissect.Reader, m *dissect.Message, _ byte) {
	p := &d.masters
	*p = MastersReply{Auth: p.Auth[:0], Directory: p.Directory[:0], Masters: p.Masters[:0]}
	m.Body = p
	r.Bytes(fNewLine, 1)
	if r.HasPrefix(outOfDate) {
		r.CString(fStatus)
		p.OutOfDate = true
		return
	}
	p.Auth = readMasters(r, fAuth, p.Auth)
	p.Directory = readMasters(r, fTitan, p.Directory)
	p.Masters = readMasters(r, fMasters, p.Masters)
}

func readMasters(r *dissect.Reader, f *dissect.Field, dst []netip.AddrPort) []netip.AddrPort {
	list := r.Begin(f)
	for r.More() && !r.HasPrefix(header) {
		mark := core.Here(r)
		a := readAddress(r, fMaster, entry4)
		if r.Failed() {
			core.Return(r, mark)
			break
		}
		dst = append(dst, a)
	}
	r.End(list)
	r.Bytes(fDivider, len(header))
	return dst
}

// decodeModsRequest reads types x, 2 and Q, three generations of the same request.
func (d *decoder) decodeModsRequest(r *dissect.Reader, m *dissect.Message, letter byte) {
	q := &d.request
	*q = Request{Type: letter}
	m.Body = q
	skipLine(r)
	q.From = r.CString(fFirstMod)
}

const (
	endOfList  = "end-of-list"
	moreInList = "more-in-list"
	endOfMod   = "end"
)

// decodeModsReply reads type y, with name, servers and players of each mod, and types F
// and P, with keys and values.
func (d *decoder) decodeModsReply(r *dissect.Reader, m *dissect.Message, letter byte) {
	p := &d.mods
	*p = ModsReply{Mods: p.Mods[:0]}
	m.Body = p
	skipLine(r)
	more := func() bool { return r.More() && !r.HasPrefix(endOfList+"\x00") && !r.HasPrefix(moreInList+"\x00") }
	p.Mods = wire.Records(r, fMods, fMod, p.Mods, more, func() (mod Mod) {
		if letter != typeModsReply {
			return d.readMod(r)
		}
		mod.Name = r.CString(fModName)
		mod.Servers, _ = nettext.ParseInt(r.CString(fModCount))
		mod.Players, _ = nettext.ParseInt(r.CString(fModUsers))
		return mod
	})
	p.More = r.CString(fModsEnd) == moreInList
}

// readMod reads the keys and values of a mod up to the word end, which is sent as a key
// and as a value.
func (d *decoder) readMod(r *dissect.Reader) (mod Mod) {
	pairs := d.pairs[:0]
	list := r.Begin(rules.List)
	for r.More() && !r.HasPrefix(endOfMod+"\x00") {
		pair := r.Begin(rules.Pair)
		pairs = append(pairs, dissect.KeyValue{Key: r.CString(rules.Key), Value: r.CString(rules.Value)})
		r.End(pair)
	}
	r.End(list)
	r.CString(fModEnd)
	r.CString(fModEnd)
	mod.Name = keyvalue.Text(pairs, "gamedir").Value
	mod.Servers = int64(keyvalue.Number(pairs, "is").Value)
	mod.Players = int64(keyvalue.Number(pairs, "ip").Value)
	d.pairs = pairs
	return mod
}
