// Package keyvalue reads the text in which half of the protocols state what a
// server is set to: \key\value\key\value.
package keyvalue

import (
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Fields are the fields of a protocol's catalog that pairs are read into.
type Fields struct {
	List       *dissect.Field // of pairs
	Pair       *dissect.Field // the group of one
	Key, Value *dissect.Field
	Hidden     *dissect.Field // a value that is a password

	meaning func(key, value string) uint64
}

// Explained returns the fields with names of values: meaning returns the number
// of the name that a value of a key has, 0 for none.
func (f Fields) Explained(meaning func(key, value string) uint64, names dissect.Option) Fields {
	names(f.Value)
	f.meaning = meaning
	return f
}

// Declare adds the fields to a catalog under their shared names.
func Declare(c *dissect.Catalog, options ...dissect.Option) Fields {
	f := Fields{
		List:  c.Add("rules", dissect.List, "The settings."),
		Pair:  c.Add("rules.rule", dissect.Group, "One setting."),
		Key:   c.Add("rules.key", dissect.String, "Name of the setting.", options...),
		Value: c.Add("rules.value", dissect.String, "Value of the setting.", options...),
	}
	f.Hidden = f.Value.Hidden()
	return f
}

// Read reads the next n bytes as pairs, each element behind a backslash, and
// appends them to dst. It reports whether the last key has no value. Bytes
// before the first backslash are taken for a key without its backslash, as
// some servers begin.
func Read(r *dissect.Reader, f Fields, n int, dst []dissect.KeyValue) (pairs []dissect.KeyValue, odd bool) {
	list := r.Begin(f.List)
	end := r.Offset() + n
	for r.Offset() < end && r.More() {
		mark := r.Mark()
		pair := r.Begin(f.Pair)
		key := r.Element(f.Key, '\\', end)
		value := ""
		if odd = r.Offset() >= end; !odd {
			value = r.Element(f.Value, '\\', end)
			r.HideSetting(f.Hidden, key, value)
			if f.meaning != nil && r.Tree() {
				r.Explain(0, f.meaning(key, value))
			}
		}
		if r.End(pair); r.Failed() {
			r.Return(mark)
			odd = false
			break
		}
		dst = append(dst, dissect.KeyValue{Key: key, Value: value})
	}
	r.End(list)
	return dst, odd
}

// Get returns the value of a key, compared without case; "" and false if there
// is none.
func Get(pairs []dissect.KeyValue, key string) (string, bool) {
	for i := range pairs {
		if k := pairs[i].Key; len(k) == len(key) && k != "" && k[0]|0x20 == key[0]|0x20 && strings.EqualFold(k, key) {
			return pairs[i].Value, true
		}
	}
	return "", false
}

// Text returns the value of the first of keys that is there.
func Text(pairs []dissect.KeyValue, keys ...string) dissect.Opt[string] {
	for _, k := range keys {
		if v, ok := Get(pairs, k); ok {
			return dissect.Some(v)
		}
	}
	return dissect.Opt[string]{}
}

// Number returns the value of the first of keys that is there and a number.
func Number(pairs []dissect.KeyValue, keys ...string) dissect.Opt[int] {
	for _, k := range keys {
		if v, ok := Get(pairs, k); ok {
			if n, ok := nettext.ParseInt(v); ok {
				return dissect.Some(int(n))
			}
		}
	}
	return dissect.Opt[int]{}
}

// Flag returns the value of the first of keys that is there as yes or no.
func Flag(pairs []dissect.KeyValue, keys ...string) dissect.Opt[bool] {
	for _, k := range keys {
		if v, ok := Get(pairs, k); ok {
			switch {
			case v == "0" || v == "" || strings.EqualFold(v, "false") || strings.EqualFold(v, "no"), strings.EqualFold(v, "n"), strings.EqualFold(v, "off"):
				return dissect.Some(false)
			default:
				return dissect.Some(true)
			}
		}
	}
	return dissect.Opt[bool]{}
}
