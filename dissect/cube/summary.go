package cube

import "github.com/qdissect/qdissect/dissect/internal/summary"

// AppendSummary appends the player asked for, or the number of an unknown command.
func (q *Request) AppendSummary(dst []byte) []byte {
	switch {
	case q.Extended && q.Command > askTeams:
		dst = summary.Number(dst, "command ", q.Command)
	case q.Client.OK && q.Client.Value >= 0:
		dst = summary.Number(dst, "number ", q.Client.Value)
	}
	return dst
}

// AppendSummary appends the name, the map and the players, and how much AssaultCube was
// asked for besides.
func (p *Info) AppendSummary(dst []byte) []byte {
	dst = p.server.AppendSummary(dst)
	if n := len(p.Lines); n > 0 {
		dst = summary.Count(dst, "  ", n, "line of text", "lines of text")
	}
	if n := len(p.Rotation); n > 0 {
		dst = summary.Count(dst, "  rotation of ", n, "map", "maps")
	}
	return dst
}

// AppendSummary appends the time.
func (p *Uptime) AppendSummary(dst []byte) []byte {
	return append(summary.Number(dst, "", p.Seconds), " s"...)
}

// AppendSummary appends how many there are.
func (p *PlayerIDs) AppendSummary(dst []byte) []byte {
	return summary.Count(dst, "", len(p.IDs), "player", "players")
}

// AppendSummary appends the name, the team, the score and the ping.
func (p *Player) AppendSummary(dst []byte) []byte {
	dst = style.Quoted(dst, "", p.Name)
	if p.Team != "" {
		dst = style.Text(dst, "  ", p.Team)
	}
	return summary.Number(summary.Number(dst, "  score ", p.Frags), "  ping ", p.Ping)
}

// AppendSummary appends the scores.
func (p *Teams) AppendSummary(dst []byte) []byte {
	if p.None {
		return append(dst, "mode without teams"...)
	}
	start := len(dst)
	for i := range p.Teams {
		t := &p.Teams[i]
		dst = style.Quoted(summary.Gap(dst, start), "", t.Name)
		dst = summary.Number(dst, " ", t.Score)
	}
	return dst
}
