package anonymize_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/anonymize"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
)

// verify returns what is left of one capture in another.
func verify(t *testing.T, in, out []byte) ([]anonymize.Leak, *anonymize.Witness) {
	t.Helper()
	w := anonymize.NewWitness(anonymize.Options{Analysis: dissect.Config{Protocols: all.Protocols()}})
	open := func(b []byte) capture.Source {
		r := must.Get(capture.NewReader(bytes.NewReader(b), "capture"))(t)
		return r
	}
	if err := w.Read(open(in)); err != nil && !hostile(t) {
		t.Fatal(err)
	}
	if out == nil {
		return nil, w
	}
	leaks, err := w.Search(open(out))
	if err != nil && !hostile(t) {
		t.Fatal(err)
	}
	return leaks, w
}

// TestVerified: nothing is found in anonymized captures, of the samples and of other projects, and much in the captures themselves.
func TestVerified(t *testing.T) {
	seen, told := 0, 0
	eachCapture(t, func(t *testing.T, name string) {
		if seen++; seen%must.Try(3, 1) > 0 {
			return
		}
		before := must.Get(os.ReadFile(name))(t)
		leaks, w := verify(t, before, treat(t, name).file)
		if hostile(t) {
			return // the same forged text is a name here and a word of the protocol there
		}
		if len(leaks) > 0 || w.Unchecked > 0 {
			t.Errorf("%d left, %d not looked for: %+v", w.Leaks, w.Unchecked, leaks)
		}
		if _, w := verify(t, before, before); w.Leaks > 0 {
			told++
		}
	})
	if told < must.Try(30, 100) {
		t.Errorf("something is left in %d captures that were not treated", told)
	}
}

// TestVerifyFinds: a name is found in other places and other writings.
func TestVerifyFinds(t *testing.T) {
	players := func(name string) []byte {
		return []byte("\xff\xff\xff\xffD\x01\x00" + name + "\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	}
	info := func(name, mapName string) []byte {
		return []byte("\xff\xff\xff\xffI\x11" + name + "\x00" + mapName + "\x00cstrike\x00Counter-Strike\x00\x0a\x00\x03\x10\x00dl\x00\x011.0.0.1\x00\x00")
	}
	wide := func(s string) (b string) {
		for _, u := range utf16.Encode([]rune(s)) {
			b += string([]byte{byte(u), byte(u >> 8)})
		}
		return b
	}
	file := func(second int64, payload []byte) []byte {
		var b bytes.Buffer
		mkpcap.NewWriter(&b, mkpcap.Options{}).UDP(time.Unix(1700000000+second, 0), outerA, outerB, payload)
		return b.Bytes()
	}
	for _, c := range []struct {
		name, what string
		out        []byte
		field      string
	}{
		{"short at its place", "Jo", file(0, players("jO")), "a2s.players.name"},
		{"in another writing at its place", "Ｄｏｆｆｙ", file(0, players("doffy\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")), "a2s.players.name"},
		{"elsewhere", "LongNameOfSomebody", file(9, info("at longnameofsomebody's", "x")), "a2s.info.name"},
		{"in full width", "LongNameOfSomebody", file(9, info("ＬｏｎｇＮａｍｅＯｆＳｏｍｅｂｏｄｙ", "x")), "a2s.info.name"},
		{"in a kept field", "LongNameOfSomebody", file(9, info("x", "longnameofsomebody")), "a2s.info.map"},
		{"in UTF-16", "LongNameOfSomebody", file(9, append(info("x", "y"), wide("LongNameOfSomebody")...)), "payload"},
		{"in Cyrillic", "Длинное имя", file(9, append(info("x", "y"), "Длинное имя"...)), "payload"},
		{"in Windows-1251", "Длинное имя", file(9, append(info("x", "y"), "\xc4\xeb\xe8\xed\xed\xee\xe5 \xe8\xec\xff"...)), "payload"},
		{"unrecognised", "LongNameOfSomebody", file(9, []byte("a datagram with LongNameOfSomebody")), "payload"},
	} {
		leaks, _ := verify(t, file(0, players(c.what)), c.out)
		found := false
		for _, l := range leaks {
			found = found || l.Field == c.field && l.Frame == 1
		}
		if !found {
			t.Errorf("%s: %+v", c.name, leaks)
		}
	}
	leaks, _ := verify(t, file(0, players("Jo")), file(0, players("Ka")))
	if len(leaks) != 2 || leaks[0].Field != "src" || leaks[1].Field != "dst" {
		t.Errorf("addresses: %+v", leaks)
	}
}

// TestVerifyCorpus: nothing is left of the recorded replies of other projects' tests.
func TestVerifyCorpus(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "corpus")
	if _, err := os.Stat(root); err != nil {
		t.Skip("the corpus is not beside the project")
	}
	files := 0
	err := filepath.WalkDir(root, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".md") {
			return err
		}
		payload, err := os.ReadFile(name)
		if err != nil || len(payload) == 0 || len(payload) > 60000 {
			return err
		}
		var b bytes.Buffer
		mkpcap.NewWriter(&b, mkpcap.Options{}).UDP(time.Unix(1700000000, 0), server, client, payload)
		in, err := capture.NewReader(bytes.NewReader(b.Bytes()), name)
		if err != nil {
			return err
		}
		files++
		out, _ := runOn(t, in, anonymize.Options{})
		if leaks, _ := verify(t, b.Bytes(), out); len(leaks) > 0 {
			t.Errorf("%s: %+v", filepath.Base(name), leaks)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d files, %v", files, err)
	}
}

// TestWitnessLimits: a witness keeps no more than docs/limits.md says, and counts the rest.
func TestWitnessLimits(t *testing.T) {
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{})
	const messages, each = 2110, 250
	for i := range messages {
		payload := []byte("\xff\xff\xff\xffD\xfa")
		for k := range each {
			payload = fmt.Appendf(payload, "\x00somebody-called-%c%c%c%c%c\x00\x00\x00\x00\x00\x00\x00\x00\x00", 'a'+i%26, 'a'+i/26%26, 'a'+i/676, 'a'+k%26, 'a'+k/26)
		}
		w.UDP(time.Unix(1700000000+int64(i), 0), server, client, payload)
	}
	_, witness := verify(t, b.Bytes(), nil)
	if want := messages*(each+2) - 524288 + 2*messages*each - 32768; witness.Unchecked != want {
		t.Errorf("%d values are not looked for, want %d", witness.Unchecked, want)
	}
}
