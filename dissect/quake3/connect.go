package quake3

import (
	"bytes"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/internal/core"
)

// The third and fourth byte of a packed userinfo, after its length: the bits of a
// quotation mark and of a backslash, with which every userinfo begins.
const (
	packedQuote     = 0x44
	packedBackslash = 0x74
)

// decodeConnect reads connect. All but the oldest engines pack the userinfo (ioquake3,
// NET_OutOfBandData).
func (d *decoder) decodeConnect(r *dissect.Reader, m *dissect.Message) {
	c := &d.connect
	*c = Connect{Userinfo: c.Userinfo[:0]}
	m.Body = c
	words.LineWord(r)
	if !r.More() {
		r.Fail(fUserinfo, "missing")
		return
	}
	if isUserinfo(r.Peek()) {
		c.Userinfo = readUserinfo(r, c.Userinfo)
		words.Ending(r)
		return
	}
	at, packed := r.Offset(), r.Rest(fPacked)
	c.Packed = len(packed)
	unpacked, whole := d.tree.unpack(core.Buffer(r), packed)
	core.Keep(r, unpacked)
	if !isUserinfo(unpacked) {
		r.Find(connectPacked, fPacked, at, len(packed))
		return
	}
	if !whole {
		r.Find(connectCut, fPacked, at, len(packed))
	}
	r.Open("unpacked", unpacked)
	c.Userinfo = readUserinfo(r, c.Userinfo)
	words.Ending(r)
}

// isUserinfo reports whether b begins like a userinfo.
func isUserinfo(b []byte) bool {
	return bytes.HasPrefix(b, []byte(`"\`)) || bytes.HasPrefix(b, []byte(`\`))
}

// readUserinfo reads settings in quotation marks. Values of secret settings are hidden.
func readUserinfo(r *dissect.Reader, dst []dissect.KeyValue) []dissect.KeyValue {
	quoted := r.Next('"')
	if quoted {
		r.Bytes(words.Quote, 1)
	}
	limit := r.Offset() + quake.TextLen(r.Peek())
	if n := r.Until(`"`); quoted && n < r.Left() {
		limit = r.Offset() + n
	}
	list := r.Begin(fUserinfo)
	for r.More() && r.Offset() < limit {
		pair := r.BeginRecord(fSetting)
		kv := dissect.KeyValue{Key: core.Element(r, fKey, '\\', limit)}
		if r.Offset() == limit {
			r.Find(oddKey, fKey, limit-len(kv.Key), len(kv.Key), dissect.Str(kv.Key))
		} else if isSecret(kv.Key) {
			kv.Value = core.Element(r, fSecret, '\\', limit)
		} else {
			kv.Value = core.Element(r, fValue, '\\', limit)
		}
		if !r.EndRecord(pair) {
			break
		}
		dst = append(dst, kv)
	}
	r.End(list)
	if r.Next('"') {
		r.Bytes(words.Quote, 1)
	}
	return dst
}

// secrets are parts of the names of secret settings.
var secrets = []string{"pass", "cdkey", "cd_key", "ticket", "token", "secret", "auth", "guid"}

// isSecret reports whether a setting is secret: a password, a CD key, a ticket, or an
// identifier by which servers recognise admins.
func isSecret(key string) bool {
	for _, s := range secrets {
		for i := 0; i+len(s) <= len(key); i++ {
			if key[i]|0x20 == s[0] && strings.EqualFold(key[i:i+len(s)], s) {
				return true
			}
		}
	}
	return false
}
