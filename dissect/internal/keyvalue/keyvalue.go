// Package keyvalue reads settings in the form \key\value\key\value, which many
// protocols share.
package keyvalue

import (
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
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
		Key:   c.Add("rules.key", dissect.String, "Name of the setting.", append(slices.Clip(ofKey), dissect.SettingName)...),
		Value: c.Add("rules.value", dissect.String, "Value of the setting.", append(slices.Clip(ofValue), dissect.Setting)...),
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
	if n > 0 && n <= r.Left() && core.Skim(r, n/2+1) && core.Sound(r, n) {
		pairs, odd = split(core.PeekText(r), n, dst)
		core.Pass(r, len(pairs)-len(dst), n)
		return pairs, odd
	}
	for r.Offset() < end && r.More() {
		one, read := core.ReadSetting(r, f.Pair, f.Key, f.Value, f.Hidden, '\\', end)
		if !read {
			mark := core.Here(r)
			pair := r.Begin(f.Pair)
			one.Key = core.Element(r, f.Key, '\\', end)
			if odd = r.Offset() >= end; !odd {
				one.Value = core.Element(r, f.Value, '\\', end)
				core.HideSetting(r, f.Hidden, one.Key, one.Value)
			}
			if r.End(pair); r.Failed() {
				core.Return(r, mark)
				odd = false
				break
			}
		}
		if f.meaning != nil && !odd && core.Tree(r) {
			core.Explain(r, 0, f.meaning(one.Key, one.Value))
		}
		dst = append(dst, one)
	}
	r.End(list)
	return dst, odd
}

// ReadPairs is [Read] that reports odd, with the last key, if that has no value.
func ReadPairs(r *dissect.Reader, f Fields, n int, odd *dissect.FindingType, dst []dissect.KeyValue) []dissect.KeyValue {
	at := r.Offset()
	dst, single := Read(r, f, n, dst)
	if single {
		r.Find(odd, f.List, at, n, dissect.Str(dst[len(dst)-1].Key))
	}
	return dst
}

// split appends the pairs in the first n bytes of text; see [Read].
func split(text string, n int, dst []dissect.KeyValue) (pairs []dissect.KeyValue, odd bool) {
	for text = text[:n]; len(text) > 0; {
		if text[0] == '\\' {
			text = text[1:]
		}
		key := strings.IndexByte(text, '\\')
		if key < 0 {
			return append(dst, dissect.KeyValue{Key: text}), true
		}
		rest := text[key+1:]
		value := strings.IndexByte(rest, '\\')
		if value < 0 {
			value = len(rest)
		}
		dst = append(dst, dissect.KeyValue{Key: text[:key], Value: rest[:value]})
		text = rest[value:]
	}
	return dst, false
}

// Get returns the value of a key, compared without case, or "" and false if there is
// none.
func Get(pairs []dissect.KeyValue, key string) (string, bool) {
	for i := range pairs {
		if k := pairs[i].Key; len(k) == len(key) && k != "" && k[0]|0x20 == key[0]|0x20 && same(k, key) {
			return pairs[i].Value, true
		}
	}
	return "", false
}

// same compares keys without case. Most have the same.
func same(a, b string) bool { return a == b || strings.EqualFold(a, b) }

// Text returns the value of the first of keys that is present.
func Text(pairs []dissect.KeyValue, keys ...string) dissect.Opt[string] {
	return text(func(key string) (string, bool) { return Get(pairs, key) }, keys)
}

// Number returns the value of the first of keys that is present and a number.
func Number(pairs []dissect.KeyValue, keys ...string) dissect.Opt[int] {
	return number(func(key string) (string, bool) { return Get(pairs, key) }, keys)
}

// Flag returns the value of the first of keys that is present as a bool.
func Flag(pairs []dissect.KeyValue, keys ...string) dissect.Opt[bool] {
	return flag(func(key string) (string, bool) { return Get(pairs, key) }, keys)
}

// An Index finds settings as the functions of the same names do. It is for those who
// look for several.
type Index struct {
	pairs []dissect.KeyValue
	// at has 1 + the number of the first pair whose key has a hash, 0 if there is none.
	at [slots]uint16
}

const slots = 128

// slot hashes a key, which is not empty, without its case.
func slot(key string) int {
	n := len(key)
	return (n*37 + int(key[0]|0x20)*5 + int(key[n-1]|0x20)) % slots
}

// IndexOf returns the index of settings, of which a message has at most
// [dissect.MaxRecords].
func IndexOf(pairs []dissect.KeyValue) (x Index) {
	x.pairs = pairs
	for i := len(pairs) - 1; i >= 0; i-- {
		if key := pairs[i].Key; key != "" {
			x.at[slot(key)] = uint16(i + 1)
		}
	}
	return x
}

// Get returns the value of a key; see the function [Get].
func (x *Index) Get(key string) (string, bool) {
	i := int(x.at[slot(key)])
	if i == 0 {
		return "", false
	}
	if first := &x.pairs[i-1]; len(first.Key) == len(key) && same(first.Key, key) {
		return first.Value, true
	}
	return Get(x.pairs[i:], key)
}

// Text returns the value of the first of keys that is present.
func (x *Index) Text(keys ...string) dissect.Opt[string] { return text(x.Get, keys) }

// Number returns the value of the first of keys that is present and a number.
func (x *Index) Number(keys ...string) dissect.Opt[int] { return number(x.Get, keys) }

// Flag returns the value of the first of keys that is present as a bool.
func (x *Index) Flag(keys ...string) dissect.Opt[bool] { return flag(x.Get, keys) }

type getter func(key string) (string, bool)

func text(get getter, keys []string) dissect.Opt[string] {
	for _, k := range keys {
		if v, ok := get(k); ok {
			return dissect.Some(v)
		}
	}
	return dissect.Opt[string]{}
}

func number(get getter, keys []string) dissect.Opt[int] {
	for _, k := range keys {
		if v, ok := get(k); ok {
			if n := Int(v); n.OK {
				return n
			}
		}
	}
	return dissect.Opt[int]{}
}

func flag(get getter, keys []string) dissect.Opt[bool] {
	v := text(get, keys)
	return dissect.Opt[bool]{Value: v.OK && !slices.ContainsFunc(off[:], func(s string) bool { return strings.EqualFold(v.Value, s) }), OK: v.OK}
}

// Int parses a value; see [dissect.ParseInt].
func Int(s string) dissect.Opt[int] {
	n, ok := nettext.ParseInt(s)
	return dissect.Opt[int]{Value: int(n), OK: ok}
}

// off are the values that mean no, compared without case.
var off = [...]string{"0", "", "false", "no", "n", "off"}
