package dissect_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/netip"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/dsnet/compress/bzip2"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
)

// An asked is a request and the parts of its reply.
type asked struct {
	request string
	parts   []string
}

// A talker makes the n-th exchange with a server; id is that of the split.
type talker func(n int, id uint32) asked

func ruleBytes(n, parts int) string {
	var b bytes.Buffer
	b.WriteString(single + "E\x00\x10")
	for i := 0; b.Len() < parts*1000; i++ {
		fmt.Fprintf(&b, "rule_%d_%d\x00%x\x00", n, i, crc32.ChecksumIEEE([]byte{byte(i), byte(n)}))
	}
	s := b.Bytes()
	binary.LittleEndian.PutUint16(s[5:], uint16((bytes.Count(s, []byte{0})-bytes.Count(s[5:7], []byte{0}))/2))
	return string(s)
}

// cutUp cuts a message into n pieces.
func cutUp(s string, n int) (pieces []string) {
	for i := range n {
		pieces = append(pieces, s[len(s)*i/n:len(s)*(i+1)/n])
	}
	return pieces
}

func splitID(id uint32) string {
	return "\xfe\xff\xff\xff" + string(binary.LittleEndian.AppendUint32(nil, id))
}

func sourceParts(n int, id uint32) (a asked) {
	total := 2 + n%19
	for i, p := range cutUp(ruleBytes(n, total), total) {
		a.parts = append(a.parts, splitID(id&^(1<<31))+string([]byte{byte(total), byte(i), 0xe0, 0x04})+p)
	}
	a.request = single + "V\x01\x02\x03\x04"
	return a
}

func goldSrcParts(n int, id uint32) (a asked) {
	total := 2 + n%14
	for i, p := range cutUp(ruleBytes(n, total), total) {
		a.parts = append(a.parts, splitID(id)+string([]byte{byte(i<<4 | total)})+p)
	}
	a.request = single + "V\x01\x02\x03\x04"
	return a
}

// packings are what packed has returned: the same replies are sent in all orders.
var packings = map[string]string{}

func packed(plain string) string {
	if packings[plain] == "" {
		var z bytes.Buffer
		w, _ := bzip2.NewWriter(&z, nil)
		w.Write([]byte(plain))
		w.Close()
		packings[plain] = z.String()
	}
	return packings[plain]
}

func packedParts(n int, id uint32) (a asked) {
	plain := ruleBytes(n, 8)
	z := packed(plain)
	total := 2 + n%4
	for i, p := range cutUp(z, total) {
		head := splitID(id|1<<31) + string([]byte{byte(total), byte(i)})
		if i == 0 {
			head += string(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(len(plain))), crc32.ChecksumIEEE([]byte(plain))))
		}
		a.parts = append(a.parts, head+p)
	}
	a.request = single + "V\x01\x02\x03\x04"
	return a
}

func gameSpy1Parts(n int, id uint32) (a asked) {
	total := 2 + n%12
	for i := range total {
		s := fmt.Sprintf(`\hostname\server %d\player_%d\name %d`, n, i, i)
		if i > 0 {
			s = fmt.Sprintf(`\player_%d\name %d of %d`, i, i, n)
		}
		s += fmt.Sprintf(`\queryid\%d.%d`, id, i+1)
		if i == total-1 {
			s += `\final\`
		}
		a.parts = append(a.parts, s)
	}
	a.request = `\status\`
	return a
}

func gameSpy3Parts(n int, id uint32) (a asked) {
	session := string(binary.BigEndian.AppendUint32(nil, id&0x0f0f0f0f))
	total := 2 + n%6
	for i := range total {
		number := byte(i)
		if i == total-1 {
			number |= 0x80
		}
		body := fmt.Sprintf("\x00hostname\x00server %d\x00mapname\x00map\x00\x00", n)
		if i > 0 {
			body = fmt.Sprintf("\x01player_\x00%c", i-1)
			body += fmt.Sprintf("name %d of %d\x00\x00", i, n)
		}
		a.parts = append(a.parts, "\x00"+session+"splitnum\x00"+string([]byte{number})+body+"\x00")
	}
	a.request = "\xfe\xfd\x00" + session + "\xff\xff\xff\x01"
	return a
}

// counter counts what became of splits.
type counter struct {
	whole, partial, other int
	findings              map[string]int
	example               string
}

func (c *counter) note(id, text string) {
	c.findings[id]++
	if c.example == "" {
		c.example = text
	}
}

func (c *counter) Record(r *dissect.Record) {
	switch {
	case r.Split.Partial:
		c.partial++
	case r.Split.Parts > 0 && r.RequestFrame > 0:
		c.whole++
	case r.Type.Role == dissect.Reply:
		c.other++
	}
	for i := range r.Findings {
		c.note(r.Findings[i].Type.ID, string(r.Findings[i].AppendText(nil)))
	}
}
func (c *counter) Unknown(*dissect.Unknown) { c.other++ }
func (c *counter) Finding(f *dissect.FlowFinding) {
	c.note(f.Type.ID, fmt.Sprintf("frame %d: %s", f.Frame, f.AppendText(nil)))
}

// Captures on mirror ports and on the interface any hold every datagram twice,
// the copy up to 10 ms late, while clients already send their next request: no
// split reply is lost, and nothing false is said.
func TestDoubledCaptures(t *testing.T) {
	const perCase = 40
	talkers := map[string]talker{"source": sourceParts, "goldsrc": goldSrcParts, "packed": packedParts, "gamespy1": gameSpy1Parts, "gamespy3": gameSpy3Parts}
	ports := map[string]string{"gamespy1": "7778", "gamespy3": "29900"}
	ids := map[string]func(n int) (id uint32, content int){
		"ids that increment":                     func(n int) (uint32, int) { return uint32(n + 1), n },
		"ids that stay, other replies":           func(n int) (uint32, int) { return 7, n },
		"ids that stay, the same reply":          func(n int) (uint32, int) { return 7, 3 },
		"ids that stay, two replies by turns":    func(n int) (uint32, int) { return 7, 3 + n%2 },
		"ids that increment, the same reply":     func(n int) (uint32, int) { return uint32(n + 1), 3 },
		"each id twice, the same reply":          func(n int) (uint32, int) { return uint32(n/2 + 1), n / 2 },
		"ids that stay, replies of equal number": func(n int) (uint32, int) { return 7, n * 19 * 14 * 12 },
	}
	for name, talk := range talkers {
		for order, number := range ids {
			for _, path := range []struct {
				name     string
				rtt      time.Duration // and as much again, by chance
				late     time.Duration // copies, at most; 0 makes none
				requests bool          // are doubled as well
			}{
				{"far away, all twice", 12 * time.Millisecond, 10 * time.Millisecond, true},
				{"near, once", 300 * time.Microsecond, 0, false},
			} {
				if path.late == 0 && strings.Contains(order, "same") {
					continue // the same bytes again within a millisecond: nothing tells them from copies
				}
				t.Run(name+"/"+order+"/"+path.name, func(t *testing.T) {
					random := rand.New(rand.NewPCG(1, 2))
					type packet struct {
						at      time.Duration
						reply   bool
						payload string
					}
					var packets []packet
					send := func(at time.Duration, reply bool, payload string) {
						packets = append(packets, packet{at, reply, payload})
						if path.late > 0 && (reply || path.requests) {
							packets = append(packets, packet{at + 1 + time.Duration(random.Int64N(int64(path.late))), reply, payload})
						}
					}
					now := time.Duration(0)
					for n := range perCase {
						id, content := number(n)
						a := talk(content, id)
						send(now, false, a.request)
						now += path.rtt + time.Duration(random.Int64N(int64(path.rtt)))
						for _, p := range a.parts {
							now += 50 * time.Microsecond
							send(now, true, p)
						}
						now += 20 * time.Microsecond
					}
					sort.SliceStable(packets, func(i, j int) bool { return packets[i].at < packets[j].at })
					c := &counter{findings: map[string]int{}}
					a := must.Get(dissect.New(dissect.Config{Protocols: all.Protocols()}, c))(t)
					port := ports[name]
					if port == "" {
						port = "27015"
					}
					client, server := netip.MustParseAddrPort("192.0.2.1:40000"), netip.MustParseAddrPort("198.51.100.1:"+port)
					begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
					for i, p := range packets {
						d := dissect.Datagram{Frame: uint64(i + 1), Time: begin.Add(p.at), Src: client, Dst: server, Payload: []byte(p.payload)}
						if p.reply {
							d.Src, d.Dst = server, client
						}
						a.Datagram(&d)
					}
					a.Flush()
					// A client that asks twice and is answered twice looks the
					// same as long as nothing else came twice: the first few
					// copies can count as replies, of ambiguous time.
					start := 0
					if path.late > 0 {
						start = 12
					}
					if c.whole < perCase || c.whole > perCase+start || c.partial != 0 || c.other != 0 {
						t.Errorf("%d split replies of %d, %d partial, %d others; findings %v, first %q", c.whole, perCase, c.partial, c.other, c.findings, c.example)
					}
					for id, n := range c.findings {
						for _, bad := range []string{"noreply", "unrequested", "missing", "endless", "conflict", "totals", "sizes", "multi", "several", "guess", "unread", "contradiction", "truncated", "slow"} {
							if strings.Contains(id, bad) {
								t.Errorf("%s %d times, first %q", id, n, c.example)
							}
						}
					}
				})
			}
		}
	}
}
