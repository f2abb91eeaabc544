package games

import (
	_ "embed"
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
)

// The requests of clients, in the order in which they ask, as the captures of testdata have them: a protocol and a payload in a line, as
// in a string of Go. What stands in braces depends on the server: a challenge in either order of bytes, or one behind the rest if there is
// one, and the server's address.
//
//go:embed requests.tsv
var requests string

// A Request is a payload that a client sends.
type Request string

// Requests returns what clients of a protocol ask, nil if that is not known.
func Requests(protocol string) (list []Request) {
	for line := range strings.Lines(requests) {
		if name, payload, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t"); name == protocol {
			list = append(list, Request(payload))
		}
	}
	return list
}

// Challenged reports whether the payload depends on a challenge.
func (r Request) Challenged() bool {
	return strings.Contains(string(r), "{") && !strings.Contains(string(r), "{address}")
}

// To returns the payload for a server with the challenge that it gave, which is -1 as long as it gave none.
func (r Request) To(server netip.AddrPort, challenge int32) []byte {
	s, err := strconv.Unquote(`"` + string(r) + `"`)
	if err != nil {
		panic(err)
	}
	ip := server.Addr().As16()
	more := ""
	little := string(binary.LittleEndian.AppendUint32(nil, uint32(challenge)))
	if challenge != -1 {
		more = little
	}
	return []byte(strings.NewReplacer("{little}", little, "{big}", string(binary.BigEndian.AppendUint32(nil, uint32(challenge))), "{more}", more,
		"{address}", string(ip[12:])+string(binary.LittleEndian.AppendUint16(nil, server.Port()))).Replace(s))
}
