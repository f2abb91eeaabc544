package valvemaster

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/summary"
)

var style = summary.Style{Charset: dissect.Guessed}

// AppendSummary appends the place to go on from, the region and the filter.
func (m *ServersRequest) AppendSummary(dst []byte) []byte {
	switch {
	case m.Cursor.OK && m.Cursor.Value == 0, m.Region.OK && page(m.Address) == 0 && m.Address.IsValid():
		dst = append(dst, "from the start"...)
	case m.Cursor.OK:
		dst = summary.Number(dst, "from number ", m.Cursor.Value)
	case m.Region.OK:
		dst = append(dst, "from "...)
		if m.Address.IsValid() {
			dst = m.Address.AppendTo(dst)
		} else {
			dst = style.Quoted(dst, "", m.Seed)
		}
	default:
		return append(dst, "all"...)
	}
	if m.Region.OK {
		dst = append(dst, ", "...)
		if name := fRegion.NameOf(uint64(m.Region.Value)); name != "" {
			dst = append(dst, name...)
		} else {
			dst = summary.Number(dst, "region ", m.Region.Value)
		}
	}
	if m.Filter != "" {
		// A backslash is part of the filter and is not escaped.
		dst = append(dst, ", "...)
		for i := 0; i < len(m.Filter); {
			j := i
			for j < len(m.Filter) && m.Filter[j] != '\\' {
				j++
			}
			dst = style.Text(dst, "", m.Filter[i:j])
			if j < len(m.Filter) {
				dst = append(dst, '\\')
			}
			i = j + 1
		}
	}
	return dst
}

// AppendSummary appends the number of addresses, and whether there are more.
func (m *ServersReply) AppendSummary(dst []byte) []byte {
	dst = summary.Count(dst, "", len(m.Servers)+m.skimmed, "server", "servers")
	switch {
	case m.End:
		return append(dst, ", end of the list"...)
	case m.Cursor.OK:
		return summary.Number(dst, ", more from number ", m.Cursor.Value)
	}
	return append(dst, ", more to ask for"...)
}

// AppendSummary appends the number that Xash3D adds.
func (m *Join) AppendSummary(dst []byte) []byte {
	if m.Challenge.OK {
		dst = summary.Number(dst, "server challenge ", m.Challenge.Value)
	}
	return dst
}

// AppendSummary appends the number.
func (m *Challenge) AppendSummary(dst []byte) []byte {
	dst = summary.Number(dst, "", m.Challenge)
	if m.ServerChallenge.OK {
		dst = summary.Number(dst, ", server challenge ", m.ServerChallenge.Value)
	}
	return dst
}

// AppendSummary appends the engine, the game and the players.
func (m *Heartbeat) AppendSummary(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, m.Flavour...)
	if m.server.Stated() {
		dst = m.server.AppendSummary(summary.Gap(dst, start))
	}
	if m.Challenge.OK {
		dst = summary.Number(summary.Gap(dst, start), "challenge ", m.Challenge.Value)
	}
	return dst
}

// AppendSummary appends the engine.
func (m *Quit) AppendSummary(dst []byte) []byte { return append(dst, m.Flavour...) }

// AppendSummary appends the version and the product, or the mod to go on from.
func (m *Request) AppendSummary(dst []byte) []byte {
	switch {
	case m.From != "":
		return style.Text(dst, "from ", m.From)
	case m.Version != "":
		dst = style.Text(dst, "", m.Version)
		if m.Product != "" {
			dst = style.Text(dst, " ", m.Product)
		}
	}
	return dst
}

// AppendSummary appends the text.
func (m *Text) AppendSummary(dst []byte) []byte { return style.Quoted(dst, "", m.Text) }

// AppendSummary appends the numbers of servers.
func (m *MastersReply) AppendSummary(dst []byte) []byte {
	if m.OutOfDate {
		return append(dst, "the client is out of date"...)
	}
	dst = summary.Count(dst, "", len(m.Auth), "auth server", "auth servers")
	dst = summary.Count(dst, ", ", len(m.Directory), "directory server", "directory servers")
	return summary.Count(dst, ", ", len(m.Masters), "master server", "master servers")
}

// AppendSummary appends the number of mods.
func (m *ModsReply) AppendSummary(dst []byte) []byte {
	dst = summary.Count(dst, "", len(m.Mods), "mod", "mods")
	if m.More {
		dst = append(dst, ", more to ask for"...)
	}
	return dst
}

// AppendSummary appends the letter.
func (m *Unknown) AppendSummary(dst []byte) []byte {
	if m.Type == 0 {
		return dst
	}
	return summary.Hex(dst, "type ", m.Type)
}
