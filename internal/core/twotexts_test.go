package core

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestPair compares pairs and settings that are read at once with those of which each text is read alone, as it is
// while the reads are counted: of any bytes, with few or none after them. It compares pairs that are read as a list with single ones.
func TestPair(t *testing.T) {
	c := NewCatalog("x")
	group, key, value := c.Add("pair", Group, "Pair."), c.Add("pair.key", String, "Key.", SettingName), c.Add("pair.value", String, "Value.", Setting)
	hidden := value.Hidden()
	rng := rand.New(rand.NewPCG(1, 2))
	const bytes = "\x00\x00\x01ab\x7f\x80\xc3\xa4\xff"
	words := []string{"password", "sv_hostname", "\xc3\xa4"}
	type read struct {
		pairs    []KeyValue
		nodes    []Node
		findings []Finding
		left     int
		failed   bool
	}
	atOnce, fromList := 0, 0
	none := func(*Reader) []KeyValue { return nil }
	for range 20000 {
		var data []byte
		for range rng.IntN(12) {
			if rng.IntN(3) > 0 {
				data = append(data, bytes[rng.IntN(len(bytes))])
			} else {
				data = append(data, words[rng.IntN(len(words))]...)
			}
		}
		if rng.IntN(2) > 0 {
			data = append(data, make([]byte, rng.IntN(12))...)
		}
		of := func(in *Inject, first func(r *Reader) []KeyValue, one func(r *Reader) (KeyValue, bool)) (got read) {
			r := Reader{inject: in}
			Reset(&r, data, 1, true)
			got.pairs = first(&r)
			for r.More() {
				kv, ok := one(&r)
				if !ok {
					break
				}
				got.pairs = append(got.pairs, kv)
			}
			got.nodes, got.findings, got.left, got.failed = r.nodes, r.findings, len(r.data)-r.off, r.Failed()
			return got
		}
		for name, one := range map[string]func(r *Reader) (KeyValue, bool){
			"Pair": func(r *Reader) (KeyValue, bool) { return ReadPair(r, group, key, value, hidden) },
			"Setting": func(r *Reader) (KeyValue, bool) {
				kv, ok := ReadSetting(r, group, key, value, hidden, 'a', len(data))
				if !ok {
					open := r.BeginRecord(group)
					kv.Key = Element(r, key, 'a', len(data))
					if r.More() {
						kv.Value = Element(r, value, 'a', len(data))
						HideSetting(r, hidden, kv.Key, kv.Value)
					}
					ok = r.EndRecord(open)
				}
				return kv, ok
			},
		} {
			if got, want := of(nil, none, one), of(&Inject{Read: 1 << 30}, none, one); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %q: %+v, want %+v", name, data, got, want)
			}
		}
		most := rng.IntN(8)
		several := func(r *Reader) []KeyValue {
			list := ReadPairs(r, group, key, value, hidden, most, nil)
			if len(list) > most {
				t.Fatalf("%q: %d pairs, at most %d were wanted", data, len(list), most)
			}
			fromList += len(list)
			return list
		}
		pair := func(r *Reader) (KeyValue, bool) { return ReadPair(r, group, key, value, hidden) }
		if got, want := of(nil, several, pair), of(nil, none, pair); !reflect.DeepEqual(got, want) {
			t.Fatalf("Pairs: %q: %+v, want %+v", data, got, want)
		}
		if _, end, _ := twoTexts(data, 0); end > 0 {
			atOnce++
		}
	}
	if atOnce < 1000 || fromList < 1000 {
		t.Errorf("only %d were read at once, %d as a list", atOnce, fromList)
	}
}
