package valvemaster

import (
	"strconv"

	"github.com/qdissect/qdissect/dissect"
)

func text(dst []byte, s string) []byte {
	return dissect.AppendText(dst, s, dissect.Guessed, dissect.NoStyle)
}

func quoted(dst []byte, s string) []byte {
	return dissect.AppendQuoted(dst, s, dissect.Guessed, dissect.NoStyle)
}

func count(dst []byte, n int, one, many string) []byte {
	dst = strconv.AppendInt(dst, int64(n), 10)
	dst = append(dst, ' ')
	if n == 1 {
		return append(dst, one...)
	}
	return append(dst, many...)
}

// AppendSummary gives the place to go on from, the region and the filter.
func (m *ServersRequest) AppendSummary(dst []byte) []byte {
	switch {
	case m.Cursor.OK && m.Cursor.Value == 0, m.Region.OK && page(m.Address) == 0 && m.Address.IsValid():
		dst = append(dst, "from the start"...)
	case m.Cursor.OK:
		dst = append(dst, "from number "...)
		dst = strconv.AppendUint(dst, uint64(m.Cursor.Value), 10)
	case m.Region.OK:
		dst = append(dst, "from "...)
		if m.Address.IsValid() {
			dst = m.Address.AppendTo(dst)
		} else {
			dst = quoted(dst, m.Seed)
		}
	default:
		return append(dst, "all"...)
	}
	if m.Region.OK {
		dst = append(dst, ", "...)
		if name := fRegion.NameOf(uint64(m.Region.Value)); name != "" {
			dst = append(dst, name...)
		} else {
			dst = append(dst, "region "...)
			dst = strconv.AppendUint(dst, uint64(m.Region.Value), 10)
		}
	}
	if m.Filter != "" {
		// As it stands: a backslash is a backslash here.
		dst = append(dst, ", "...)
		for i := 0; i < len(m.Filter); {
			j := i
			for j < len(m.Filter) && m.Filter[j] != '\\' {
				j++
			}
			dst = text(dst, m.Filter[i:j])
			if j < len(m.Filter) {
				dst = append(dst, '\\')
			}
			i = j + 1
		}
	}
	return dst
}

// AppendSummary gives the number of addresses, and whether there are more.
func (m *ServersReply) AppendSummary(dst []byte) []byte {
	dst = count(dst, len(m.Servers), "server", "servers")
	switch {
	case m.End:
		return append(dst, ", end of the list"...)
	case m.Cursor.OK:
		dst = append(dst, ", more from number "...)
		return strconv.AppendUint(dst, uint64(m.Cursor.Value), 10)
	}
	return append(dst, ", more to ask for"...)
}

// AppendSummary gives the number that Xash3D adds.
func (m *Join) AppendSummary(dst []byte) []byte {
	if m.Challenge.OK {
		dst = append(dst, "server challenge "...)
		dst = strconv.AppendInt(dst, int64(m.Challenge.Value), 10)
	}
	return dst
}

// AppendSummary gives the number.
func (m *Challenge) AppendSummary(dst []byte) []byte {
	dst = strconv.AppendInt(dst, int64(m.Challenge), 10)
	if m.ServerChallenge.OK {
		dst = append(dst, ", server challenge "...)
		dst = strconv.AppendInt(dst, int64(m.ServerChallenge.Value), 10)
	}
	return dst
}

// AppendSummary gives the engine, the game and the players.
func (m *Heartbeat) AppendSummary(dst []byte) []byte {
	start := len(dst)
	space := func() {
		if len(dst) > start {
			dst = append(dst, "  "...)
		}
	}
	dst = append(dst, m.Flavour...)
	if m.server.Stated() {
		space()
		dst = dissect.AppendServer(dst, &m.server)
	}
	if m.Challenge.OK {
		space()
		dst = append(dst, "challenge "...)
		dst = strconv.AppendInt(dst, int64(m.Challenge.Value), 10)
	}
	return dst
}

// AppendSummary gives the engine.
func (m *Quit) AppendSummary(dst []byte) []byte { return append(dst, m.Flavour...) }

// AppendSummary gives the version and the product, or the mod to go on from.
func (m *Request) AppendSummary(dst []byte) []byte {
	switch {
	case m.From != "":
		dst = append(dst, "from "...)
		return text(dst, m.From)
	case m.Version != "":
		dst = text(dst, m.Version)
		if m.Product != "" {
			dst = append(dst, ' ')
			dst = text(dst, m.Product)
		}
	}
	return dst
}

// AppendSummary gives the text.
func (m *Text) AppendSummary(dst []byte) []byte { return quoted(dst, m.Text) }

// AppendSummary gives the numbers of servers.
func (m *MastersReply) AppendSummary(dst []byte) []byte {
	if m.OutOfDate {
		return append(dst, "the client is out of date"...)
	}
	dst = count(dst, len(m.Auth), "auth server", "auth servers")
	dst = append(dst, ", "...)
	dst = count(dst, len(m.Directory), "directory server", "directory servers")
	dst = append(dst, ", "...)
	return count(dst, len(m.Masters), "master server", "master servers")
}

// AppendSummary gives the number of mods.
func (m *ModsReply) AppendSummary(dst []byte) []byte {
	dst = count(dst, len(m.Mods), "mod", "mods")
	if m.More {
		dst = append(dst, ", more to ask for"...)
	}
	return dst
}

// AppendSummary gives the letter.
func (m *Unknown) AppendSummary(dst []byte) []byte {
	if m.Type == 0 {
		return dst
	}
	dst = append(dst, "type 0x"...)
	return strconv.AppendUint(dst, uint64(m.Type), 16)
}
