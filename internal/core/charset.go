package core

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A Charset is the encoding of text that is not valid UTF-8. Valid UTF-8 is always
// read as UTF-8: no protocol here forbids it, and modern servers of all of them send
// it.
type Charset uint8

const (
	// Guessed is Windows-1251 if the text looks Cyrillic and Windows-1252 otherwise.
	// No Valve document names an encoding; old servers send the code page of their
	// machine.
	Guessed Charset = iota
	// Latin1 is ISO 8859-1 as its users mean it: Windows-1252.
	Latin1
	// CP1251 is Windows-1251.
	CP1251
	// QuakeChars is the character set of the Quake engine: the lower half
	// holds digits, arrows and brackets where ASCII has control characters,
	// the upper half is the same in another colour.
	QuakeChars
	// CubeChars is the character set of the Cube engines: Latin and Cyrillic letters take
	// the place of control characters and of the upper half. On the wire each character is
	// a number, so that the bytes 0x80 and 0x81 have three bytes.
	CubeChars

	cubeUTF8 // UTF-8 in the numbers of the Cube engines
)

var charsetNames = [...]string{"guessed", "windows-1252", "windows-1251", "quake", "cube", "utf-8"}

func (c Charset) String() string { return charsetNames[c] }

// cp1252 holds the code points of bytes 0x80 to 0x9f; above, Windows-1252 is
// Latin-1. The five bytes it leaves undefined stay C1 controls.
var cp1252 = [...]rune{
	0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008d, 0x017d, 0x008f,
	0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178,
}

// cp1251 holds the code points of bytes 0x80 to 0xbf; above come the letters
// from U+0410 in order.
var cp1251 = [...]rune{
	0x0402, 0x0403, 0x201a, 0x0453, 0x201e, 0x2026, 0x2020, 0x2021, 0x20ac, 0x2030, 0x0409, 0x2039, 0x040a, 0x040c, 0x040b, 0x040f,
	0x0452, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x0098, 0x2122, 0x0459, 0x203a, 0x045a, 0x045c, 0x045b, 0x045f,
	0x00a0, 0x040e, 0x045e, 0x0408, 0x00a4, 0x0490, 0x00a6, 0x00a7, 0x0401, 0x00a9, 0x0404, 0x00ab, 0x00ac, 0x00ad, 0x00ae, 0x0407,
	0x00b0, 0x00b1, 0x0406, 0x0456, 0x0491, 0x00b5, 0x00b6, 0x00b7, 0x0451, 0x2116, 0x0454, 0x00bb, 0x0458, 0x0405, 0x0455, 0x0457,
}

// cubeLow holds the code points that CubeChars has for bytes 0 to 31, cubeHigh for bytes 0x7f
// to 0xff.
var (
	cubeLow  = []rune("\x00ÀÁÂÃÄÅÆÇ\t\n\v\f\rÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛ")
	cubeHigh = []rune("ÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿĄąĆćČčĎďĘęĚěĞğİıŁłŃńŇňŐőŒœŘřŚśŞşŠšŤťŮůŰűŸŹźŻżŽžЄБГДЖЗИЙЛПУФЦЧШЩЪЫЬЭЮЯбвгджзийклмнптфцчшщъыьэюяєҐґ")
)

// quakeLow holds what the Quake console font draws for bytes 0 to 31.
const quakeLow = "#....#.. .... >.[]0123456789.<=>"

// Resolve returns the encoding of s: c, or a guess if c is Guessed.
func (c Charset) Resolve(s []byte) Charset {
	switch c {
	case Guessed:
	case CubeChars:
		for i := 0; i < len(s); {
			r, n := cubeUTF8.next(nettext.View(s[i:]))
			if r == utf8.RuneError {
				return c
			}
			i += n
		}
		return cubeUTF8
	default:
		return c
	}
	// Cyrillic in Windows-1251 is runs of letters from 0xc0 up; accented
	// letters of Western names stand alone among ASCII.
	letters, runs := 0, 0
	for i, b := range s {
		if b >= 0xc0 || b == 0xa8 || b == 0xb8 {
			letters++
			if i > 0 && s[i-1] >= 0xc0 {
				runs++
			}
		}
	}
	return nettext.Either(letters >= 3 && runs*2 >= letters, CP1251, Latin1)
}

// IsUTF8 reports whether text in c is read as UTF-8, unchanged.
func (c Charset) IsUTF8(s []byte) bool {
	if c == CubeChars {
		for _, b := range s {
			if b < ' ' && cubeLow[b] != rune(b) || b == 0x7f {
				return false
			}
		}
	}
	return utf8.Valid(s)
}

// AppendUTF8 appends s as UTF-8: unchanged if it is valid UTF-8, decoded from c
// otherwise.
func (c Charset) AppendUTF8(dst, s []byte) []byte {
	if c.IsUTF8(s) {
		return append(dst, s...)
	}
	c = c.Resolve(s)
	if c < CubeChars {
		for len(s) > 0 {
			if c != QuakeChars {
				n := nettext.ASCIILen(s)
				if dst, s = append(dst, s[:n]...), s[n:]; len(s) == 0 {
					break
				}
			}
			dst, s = utf8.AppendRune(dst, c.rune(s[0])), s[1:]
		}
		return dst
	}
	for i := 0; i < len(s); {
		r, n := c.next(nettext.View(s[i:]))
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst
}

// next returns the first character of s, and of how many bytes it is. c is CubeChars or
// cubeUTF8.
func (c Charset) next(s string) (rune, int) {
	b, size := cubeByte(s)
	if c == CubeChars || b < 0x80 {
		switch {
		case b < ' ':
			return cubeLow[b], size
		case b < 0x7f:
			return rune(b), size
		}
		return cubeHigh[b-0x7f], size
	}
	var char [utf8.UTFMax]byte
	var ends [utf8.UTFMax]int
	n := 0
	for at := 0; n < len(char) && at < len(s); n++ {
		char[n], size = cubeByte(s[at:])
		at += size
		ends[n] = at
	}
	r, n := utf8.DecodeRune(char[:n])
	return r, ends[n-1]
}

// cubeByte returns the first byte of text in the numbers of the Cube engines, and of how
// many bytes the number is.
func cubeByte(s string) (byte, int) {
	switch {
	case s[0] == 0x80 && len(s) >= 3:
		return s[1], 3
	case s[0] == 0x81 && len(s) >= 5:
		return s[1], 5
	}
	return s[0], 1
}

func (c Charset) rune(b byte) rune {
	switch {
	case c == QuakeChars:
		b &= 0x7f
		if b < 32 {
			return rune(quakeLow[b])
		}
		return rune(b)
	case b < 0x80:
		return rune(b)
	case c == CP1251 && b >= 0xc0:
		return 0x0410 + rune(b-0xc0)
	case c == CP1251:
		return cp1251[b-0x80]
	case b < 0xa0:
		return cp1252[b-0x80]
	}
	return rune(b)
}

// AppendUTF16 appends text in UTF-16 as UTF-8.
func AppendUTF16(dst, s []byte, order binary.ByteOrder) []byte {
	for ; len(s) >= 2; s = s[2:] {
		c := rune(order.Uint16(s))
		if utf16.IsSurrogate(c) {
			low := rune(0)
			if len(s) >= 4 {
				low = rune(order.Uint16(s[2:]))
			}
			if c = utf16.DecodeRune(c, low); c != utf8.RuneError {
				s = s[2:]
			}
		}
		dst = utf8.AppendRune(dst, c)
	}
	return dst
}
