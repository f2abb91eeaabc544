package anonymize

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/thorough"
)

var styles = []dissect.Style{dissect.NoStyle, dissect.Quake3, core.Doom3, core.Minecraft, core.Unreal, core.UnrealWide, core.Armagetron, core.ZDoom, core.Cube}

// TestEveryCharacter: no character of any script survives in a text, be it assigned, for private use or reserved;
// nor does a byte of text that is not UTF-8.
func TestEveryCharacter(t *testing.T) {
	m := newMapping(keyOfTests)
	for r := rune(0x21); r <= unicode.MaxRune; r++ {
		if r == 0x7f || r >= 0x3400 && r < 0xd7ff && r%7 != 0 || r >= 0x20000 && r%61 != 0 || !utf8.ValidRune(r) {
			continue // ideographs and what is not assigned: samples
		}
		for _, text := range []string{string(r), "a" + string(r) + "-"} {
			b := []byte(text)
			m.text(b, dissect.NoStyle)
			if len(text) > utf8.RuneLen(r) && r < 0x80 && !unicode.In(r, unicode.L, unicode.N) {
				continue // punctuation beside a letter stays
			}
			if at := strings.IndexRune(text, r); strings.HasPrefix(string(b[at:]), string(r)) || !utf8.Valid(b) || len(b) != len(text) {
				t.Fatalf("U+%04X: %q becomes %q", r, text, b)
			}
		}
	}
	for c := 0x80; c <= 0xff; c++ {
		b := []byte{'a', byte(c), 'b'}
		if m.text(b, dissect.NoStyle); b[1] == byte(c) || b[1] < 0x80 {
			t.Errorf("byte %02x becomes %02x", c, b[1])
		}
	}
	for _, style := range styles {
		for _, text := range []string{"^1^2", "\\", "\"", "^^", ";", "\x01\x02", "§a", "\x1bJoe", "\x1b\xff\xfe\xfd", "§ё", "0x00ff00", "\fR", "\x1c[x]"} {
			b := []byte(text)
			if m.text(b, style); string(b) == text {
				t.Errorf("%v: %q stays", style, text)
			}
		}
	}
}

// blocks returns a short name from each 16 code points that have letters, digits, marks or symbols, so from each block of
// Unicode; of the blocks of thousands of ideographs, samples.
func blocks() (names []string) {
	for at := rune(0); at <= unicode.MaxRune; at += 0x10 {
		if large := at >= 0x3400 && at < 0xa000 || at >= 0xac00 && at < 0xd7a0 || at >= 0x17000 && at < 0x18d00 || at >= 0x20000; large && at%0x800 != 0 {
			continue
		}
		var name []rune
		for r := at; r < at+0x10 && len(name) < 6; r++ {
			if unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.S, unicode.Co) || r >= 0x80 && unicode.IsPunct(r) {
				name = append(name, r)
			}
		}
		if len(name) > 0 {
			names = append(names, string(name))
		}
	}
	return names
}

// TestEveryScript: a name in the characters of each block is replaced in each field that tells of a person or a server,
// in UTF-8, and in UTF-16 where the field may be wide.
func TestEveryScript(t *testing.T) {
	names := append(blocks(), "Ｄｏｆｆｙ", "Ⓓⓞⓕⓕⓨ", "⒟⒪⒡⒡⒴", "ｱｲｳｴ", "⠓⠑⠇⠇⠕", "╔═╗", "١٢٣٤", "१२३४", "\xc4\xeb\xe0", "\x83\x7b\x83\x43")
	if len(names) < 1500 {
		t.Fatalf("%d names", len(names))
	}
	w := newRewriter(&Options{Key: keyOfTests}, &Counts{addresses: map[uint64]struct{}{}})
	fields, keys := 0, []string{"name", "clan", "player", "hostname", "sv_hostname", "guid", "hash", "anything"}
	for _, p := range all.Protocols() {
		for _, f := range p.Catalog.Fields() {
			r := f.Privacy
			if f.Kind != dissect.String && f.Kind != dissect.Decimal {
				continue
			}
			list := []string{""}
			if r == core.Cell && kindOf(f.Key()).fact {
				continue // of the game
			}
			switch r {
			case dissect.PersonName, dissect.FreeText, dissect.ServerText, dissect.PersonID, core.Console, dissect.Address, core.HexAddress, dissect.Token, core.Cell:
			case dissect.Setting:
				if list = keys; f.Keyed != nil { // the words of filters and queries
					list = nil
					for k, r := range f.Keyed {
						if r != dissect.Public {
							list = append(list, k)
						}
					}
				}
			default:
				continue
			}
			fields++
			for _, k := range list {
				if b := []byte("x"); k == "name" || k == "clan" {
					if w.value(&dissect.Node{Field: f}, b, r, []byte(k)); string(b) == "x" {
						t.Fatalf("%s %s: a name of one letter stays", f.Path, k)
					}
				}
				for i, text := range names {
					if (fields+i)%thorough.Of(6, 1) > 0 { // each name in some fields
						continue
					}
					if (k == "anything" || r == core.Cell) && digits([]byte(text)) {
						continue // most settings are numbers
					}
					b := []byte(text)
					w.value(&dissect.Node{Field: f}, b, r, []byte(k))
					if left := survivor(text, string(b)); left != "" {
						t.Fatalf("%s %s: %q becomes %q: %s", f.Path, k, text, b, left)
					}
					if !utf8.ValidString(text) {
						continue
					}
					var wide []byte
					for _, u := range utf16.Encode([]rune(text)) {
						wide = binary.LittleEndian.AppendUint16(wide, u)
					}
					was := bytes.Clone(wide)
					w.value(&dissect.Node{Field: f, Wide: true}, wide, r, []byte(k))
					if bytes.Equal(was, wide) {
						t.Fatalf("%s %s: %q stays in UTF-16", f.Path, k, text)
					}
				}
			}
		}
	}
	if fields < 100 {
		t.Errorf("%d fields", fields)
	}
}

// survivor returns what of a text is left at its place.
func survivor(was, is string) string {
	if len(was) != len(is) || was == is {
		return "as a whole"
	}
	for i, r := range was {
		if r >= 0x80 && r != utf8.RuneError && strings.HasPrefix(is[i:], string(r)) {
			return fmt.Sprintf("U+%04X", r)
		}
	}
	return ""
}
