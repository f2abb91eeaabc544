package golden

// A pair is one position of an alignment of two lists: the indexes of two matching
// elements, or of one element with -1 for the other.
type pair struct{ a, b int }

// same is the score of two equal elements. Other scores are lower; elements with a
// negative score never match.
const same = 1 << 12

// An aligner finds the matching elements of two lists.
type aligner struct {
	best, above []int32
	moves       []byte
	pairs       []pair
}

// align returns the alignment of lists of n and m elements with the highest sum of scores,
// in the order of both (Needleman and Wunsch). Equal elements at both ends are matched
// first; the rest takes n·m steps. The result is borrowed until the next call.
func (al *aligner) align(n, m int, score func(a, b int) int) []pair {
	al.pairs = al.pairs[:0]
	head := 0
	for head < n && head < m && score(head, head) == same {
		al.pairs = append(al.pairs, pair{head, head})
		head++
	}
	tail := 0
	for tail < n-head && tail < m-head && score(n-1-tail, m-1-tail) == same {
		tail++
	}
	al.middle(head, n-tail, head, m-tail, score)
	for ; tail > 0; tail-- {
		al.pairs = append(al.pairs, pair{n - tail, m - tail})
	}
	return al.pairs
}

// The moves of an alignment.
const (
	both byte = iota
	onlyA
	onlyB
)

func (al *aligner) middle(a0, a1, b0, b1 int, score func(a, b int) int) {
	n, m := a1-a0, b1-b0
	if n == 0 || m == 0 {
		for i := range n {
			al.pairs = append(al.pairs, pair{a0 + i, -1})
		}
		for i := range m {
			al.pairs = append(al.pairs, pair{-1, b0 + i})
		}
		return
	}
	// Fill the table from the end, so that the path is read from the beginning. Of several
	// best paths this finds the one that matches early.
	width := m + 1
	if cap(al.moves) < n*width {
		al.moves = make([]byte, n*width)
	}
	al.moves = al.moves[:n*width]
	if cap(al.best) < width {
		al.best, al.above = make([]int32, width), make([]int32, width)
	}
	row, below := al.best[:width], al.above[:width]
	clear(below)
	for i := n - 1; i >= 0; i-- {
		row[m] = 0
		moves := al.moves[i*width : (i+1)*width]
		moves[m] = onlyA
		for j := m - 1; j >= 0; j-- {
			best, move := below[j], onlyA
			if row[j+1] > best {
				best, move = row[j+1], onlyB
			}
			if s := score(a0+i, b0+j); s >= 0 && below[j+1]+int32(s) >= best {
				best, move = below[j+1]+int32(s), both
			}
			row[j], moves[j] = best, move
		}
		row, below = below, row
	}
	i, j := 0, 0
	for i < n || j < m {
		move := onlyB
		if i < n {
			move = al.moves[i*width+j]
		}
		switch move {
		case both:
			al.pairs = append(al.pairs, pair{a0 + i, b0 + j})
			i, j = i+1, j+1
		case onlyA:
			al.pairs = append(al.pairs, pair{a0 + i, -1})
			i++
		default:
			al.pairs = append(al.pairs, pair{-1, b0 + j})
			j++
		}
	}
}
