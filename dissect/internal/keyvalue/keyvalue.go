// Package keyvalue reads settings in the form \key\value\key\value, which many
// protocols share.
package keyvalue

import (
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Fields has the fields of a protocol's catalog for settings.
type Fields struct {
	List       *dissect.Field // list of pairs
	Pair       *dissect.Field // group of one pair
	Key, Value *dissect.Field
	Hidden     *dissect.Field // value that is a password

	meaning func(key, value string) uint64
}

// Declare adds the fields to a catalog under their common names.
func Declare(c *dissect.Catalog, options ...dissect.Option) Fields {
	return declare(c, options, options)
}

// DeclareExplained is the same with names for values. meaning returns the number of the name
// for a key and a value, 0 for none.
func DeclareExplained(c *dissect.Catalog, meaning func(key, value string) uint64, names dissect.Option) Fields {
	f := declare(c, nil, []dissect.Option{names})
	f.meaning = meaning
	return f
}

func declare(c *dissect.Catalog, ofKey, ofValue []dissect.Option) Fields {
	f := Fields{
		List:  c.Add("rules", dissect.List, "The settings."),
		Pair:  c.Add("rules.rule", dissect.Group, "One setting."),
		Key:   c.Add("rules.key", dissect.String, "Name of the setting.", ofKey...),
		Value: c.Add("rules.value", dissect.String, "Value of the setting.", ofValue...),
	}
	f.Hidden = f.Value.Hidden()
	return f
}

// Read reads the next n bytes as pairs, in which a backslash precedes each key and
// value, and appends them to dst. odd reports whether the last key has no value. Text
// before the first backslash is a key, because some servers omit that backslash.
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

// Get returns the value of a key, compared without case, or "" and false if there is
// none.
func Get(pairs []dissect.KeyValue, key string) (string, bool) {
	for i := range pairs {
		if k := pairs[i].Key; len(k) == len(key) && k != "" && k[0]|0x20 == key[0]|0x20 && strings.EqualFold(k, key) {
			return pairs[i].Value, true
		}
	}
	return "", false
}

// Text returns the value of the first of keys that is present.
func Text(pairs []dissect.KeyValue, keys ...string) dissect.Opt[string] {
	for _, k := range keys {
		if v, ok := Get(pairs, k); ok {
			return dissect.Some(v)
		}
	}
	return dissect.Opt[string]{}
}

// Number returns the value of the first of keys that is present and a number.
func Number(pairs []dissect.KeyValue, keys ...string) dissect.Opt[int] {
	for _, k := range keys {
		if v, ok := Get(pairs, k); ok {
			if n := Int(v); n.OK {
				return n
			}
		}
	}
	return dissect.Opt[int]{}
}

// Int parses a value; see [dissect.ParseInt].
func Int(s string) dissect.Opt[int] {
	n, ok := nettext.ParseInt(s)
	return dissect.Opt[int]{Value: int(n), OK: ok}
}

// Flag returns the value of the first of keys that is present as a bool.
func Flag(pairs []dissect.KeyValue, keys ...string) dissect.Opt[bool] {
	for _, k := range keys {
		if v, ok := Get(pairs, k); ok {
			return dissect.Some(!slices.ContainsFunc(off[:], func(s string) bool { return strings.EqualFold(v, s) }))
		}
	}
	return dissect.Opt[bool]{}
}

// off are the values that mean no, compared without case.
var off = [...]string{"0", "", "false", "no", "n", "off"}
