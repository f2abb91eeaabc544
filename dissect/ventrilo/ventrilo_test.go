package ventrilo

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const status = "NAME: A server\nCOMMENT: \nAUTH: 0\nMAXCLIENTS: 50\nUPTIME: 3600\nVERSION: 3.0.6\nCHANNELCOUNT: 2\nCHANNELFIELDS: CID,PID,PROT,NAME,COMM\n" +
	"CHANNEL: CID=1,PID=0,PROT=0,NAME=Lobby, the first,COMM=Come in\nCHANNEL: CID=2,PID=1,PROT=2,NAME=Private,COMM=\n" +
	"CLIENTCOUNT: 2\nCLIENTFIELDS: ADMIN,CID,PHAN,PING,SEC,NAME,COMM\n" +
	"CLIENT: ADMIN=1,CID=1,PHAN=0,PING=40,SEC=120,NAME=Anna,COMM=here, for now\nCLIENT: ADMIN=0,CID=0,PHAN=0,PING=80,SEC=5,NAME=Borje,COMM=\n\x00"

// whole is a message in one datagram.
func whole(command uint16, body string) string {
	return string(seal(command, 7, []byte(body), maxBody)[0])
}

func request(command uint16, password string) string {
	return whole(command, password+strings.Repeat("\x00", lenPassword-len(password)))
}

func samples() []dissecttest.Sample {
	const certain = dissect.Certain
	one := func(name, message, payload string, findings ...string) dissecttest.Sample {
		return dissecttest.One(name, message, certain, payload, findings...)
	}
	replied := func(name, body string) dissecttest.Sample { return one(name, "status_reply", whole(reply, body)) }
	parts := func(name, body string, size int) dissecttest.Sample {
		return dissecttest.Sample{Name: name, Message: "status_reply", Verdict: certain, Parts: seal(reply, 7, []byte(body), size)}
	}
	crc := one("wrong checksum", "status_reply", whole(reply, "NAME: a\n\x00"), "ventrilo.crc")
	crc.Parts[0][lenHeader+len("NAME: ")]++
	length := one("longer than it says", "status_reply", whole(reply, "NAME: a\n\x00")+"x", "ventrilo.length", "ventrilo.crc", "trailing")
	length.Verdict, length.Sound = dissect.Likely, []int{len(length.Parts[0]) - 1}
	later := parts("first part missing", status, 150)
	later.Parts, later.Message, later.Findings = later.Parts[1:], "part", []string{"ventrilo.part.missing", "ventrilo.part.first"}
	gap := parts("second part missing", status, 150)
	gap.Parts, gap.Findings = append(gap.Parts[:1:1], gap.Parts[2:]...), []string{"ventrilo.part.missing"}
	other := one("nothing of it", "unknown", "\x80\x01\x02 not of this protocol", "malformed")
	other.Verdict = dissect.No
	return []dissecttest.Sample{
		one("status request", "general_request", request(general, "")),
		one("detailed status request", "detail_request", request(detail, "")),
		one("request with a password", "detail_request", request(detail, "open sesame")),
		replied("status", status[:strings.Index(status, "CHANNELCOUNT")]),
		replied("odd lines", "NAME\nCOMMENT:a\nCHANNEL: PID=1,OTHER=2\nCLIENT: \nCLIENT: NAME=a,SEC=3\nMORE: 5\nAND MORE\n\x00"),
		replied("empty", ""),
		parts("parts", status, 150),
		later, gap, crc, length, other,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

// seal encrypts a body as the datagrams of a message: a request with command 1 or 2 and a
// password of 16 bytes, or a reply with command 3. size is the length of the body of a
// datagram, 492 on the wire. The keys are always the same.
func seal(command, id uint16, body []byte, size int) (datagrams [][]byte) {
	parts := max(1, (len(body)+size-1)/size)
	sum := uint16(checksum(body))
	for i := range parts {
		piece := body[i*size : min((i+1)*size, len(body))]
		at, step := byte(7*i+3), byte(5*i+9)
		b := []byte{at, step, 0, 0}
		for _, w := range [...]uint16{command, id, uint16(len(body)), uint16(len(piece)), uint16(parts), uint16(i), uint16(i)<<8 | 0x35, sum} {
			b = binary.BigEndian.AppendUint16(b, w)
		}
		for j := range b[lenKey:] {
			b[lenKey+j] += headTable[at] + byte(j%5)
			at += step
		}
		at = byte(i)
		for j, c := range piece {
			b = append(b, c+bodyTable[at]+byte(j%72))
			at += 0x35
		}
		datagrams = append(datagrams, b)
	}
	return datagrams
}
