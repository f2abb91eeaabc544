package anonymize_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/anonymize"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
)

// FuzzRun: every frame is written with replaced addresses or left out.
func FuzzRun(f *testing.F) {
	f.Add([]byte(infoReply), []byte("\xff\xff\xff\xffconnect \x00\x12\"\\name\\x\""), false)
	f.Add([]byte("\xfe\xff\xff\xff\x01\x00\x00\x80\x01\x00\x10\x00\x00\x00\x01\x02\x03\x04BZh91AY&SY"), []byte("\x00\x01\x02\x03\x04splitnum\x00\x80\x00hostname\x00x\x00\x00"), false)
	f.Add([]byte("\\hostname\\x\\player_0\\y\\final\\\\queryid\\1.1"), []byte("EYE1\x04mta"), false)
	f.Add(frame(0x8100, []byte{0, 5, 8, 0, 0x45}), frame(0x86dd, []byte{0x60, 0, 0, 0, 0, 8, 44, 0}), true)
	f.Fuzz(func(t *testing.T, a, b []byte, raw bool) {
		if len(a)+len(b) > 3000 {
			return
		}
		var file bytes.Buffer
		w := mkpcap.NewWriter(&file, mkpcap.Options{MTU: 600})
		at := time.Unix(1700000000, 0)
		if raw {
			w.Frame(at, a)
			w.Frame(at, b)
		} else {
			w.UDP(at, client, server, a)
			w.UDP(at, server, client, b)
		}
		in := must.Get(capture.NewReader(bytes.NewReader(file.Bytes()), "fuzz"))(t)
		var out bytes.Buffer
		cw := capture.NewWriter(&out, capture.Pcapng)
		counts := must.Get(anonymize.Run(in, cw, anonymize.Options{Key: testKey, Analysis: dissect.Config{Protocols: all.Protocols()}}))(t)
		if counts.Written > counts.Frames || counts.Failed > 0 {
			t.Errorf("%+v", counts)
		}
	})
}

// mutant is a source that changes bytes of payloads.
type mutant struct {
	capture.Source
	r *rand.Rand
}

func (m *mutant) Next(f *capture.Frame) error {
	err := m.Source.Next(f)
	const headers = 42
	if err == nil && len(f.Data) > headers {
		for range m.r.IntN(4) {
			f.Data[headers+m.r.IntN(len(f.Data)-headers)] = byte(m.r.IntN(256))
		}
	}
	return err
}

// TestMutants: damaged messages are rebuilt.
func TestMutants(t *testing.T) {
	for i, name := range thorough.Captures(captures(t)) {
		if strings.HasSuffix(name, ".golden.jsonl") {
			continue
		}
		for seed := range thorough.Of[uint64](1, 3) {
			in, err := capture.Open(name)
			if err != nil {
				break // made so
			}
			w := capture.NewWriter(io.Discard, capture.Pcapng)
			counts, err := anonymize.Run(&mutant{in, rand.New(rand.NewPCG(seed, uint64(i)))}, w,
				anonymize.Options{Key: testKey, Analysis: dissect.Config{Protocols: all.Protocols()}})
			if err != nil && !strings.Contains(name, "hostile") || counts.Failed > 0 {
				t.Errorf("%s, seed %d: %v, %+v", name, seed, err, counts)
			}
			in.Close()
		}
	}
}
