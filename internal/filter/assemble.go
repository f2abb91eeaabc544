package filter

import (
	"math/bits"

	"golang.org/x/net/bpf"
)

// program translates a graph into BPF instructions.
func (g *graph) program(snap uint32) (Program, error) {
	w := &writer{graph: g, arriving: map[*node]registers{}, start: map[*node]int{}}
	return bpf.Assemble(w.write(snap))
}

// A writer writes the nodes of a graph in order. It does not reload what a register
// holds on all paths to a node.
type writer struct {
	*graph
	arriving map[*node]registers
	pieces   []piece
	start    map[*node]int
	// now is the content of the registers at this point.
	now registers
}

// A piece is the instructions of one node.
type piece struct {
	node *node
	load []bpf.Instruction
	// The jump leads to node.yes or node.no, or the reverse if swapped.
	cond    bpf.JumpTest
	n       uint32
	swapped bool
	// far is set if the target is beyond the range of a conditional jump.
	far bool
}

// registers describes the content of A and X.
type registers struct {
	a    value
	mask uint32 // of a
	// head is the offset of the IPv4 header whose length X holds, if inX is set.
	head uint32
	inX  bool
}

func (w *writer) write(snap uint32) []bpf.Instruction {
	accept, reject := bpf.RetConstant{Val: snap}, bpf.RetConstant{Val: 0}
	switch w.root {
	case w.accept:
		return []bpf.Instruction{accept}
	case w.reject:
		return []bpf.Instruction{reject}
	}
	w.arriving[w.root] = registers{}
	for _, n := range w.order() {
		w.now = w.arriving[n]
		w.pieces = append(w.pieces, w.piece(n))
		w.arrive(n.yes)
		w.arrive(n.no)
	}
	w.place()
	var list []bpf.Instruction
	for i := range w.pieces {
		list = w.pieces[i].append(list, w.start)
	}
	return append(list, accept, reject)
}

// arrive records the registers on a path to a node, and keeps what all paths agree on.
func (w *writer) arrive(n *node) {
	before, ok := w.arriving[n]
	if !ok {
		w.arriving[n] = w.now
		return
	}
	if before.a != w.now.a || before.mask != w.now.mask {
		before.a, before.mask = value{}, 0
	}
	before.inX = before.inX && w.now.inX && before.head == w.now.head
	w.arriving[n] = before
}

// place computes the offset of each node.
func (w *writer) place() {
	for settled := false; !settled; {
		settled = true
		off := 0
		for i := range w.pieces {
			w.start[w.pieces[i].node] = off
			off += w.pieces[i].len()
		}
		w.start[w.accept], w.start[w.reject] = off, off+1
		for i := range w.pieces {
			p := &w.pieces[i]
			next := w.start[p.node] + len(p.load) + 1
			if !p.far && max(w.start[p.node.yes], w.start[p.node.no])-next > 0xff {
				p.far, settled = true, false
			}
		}
	}
}

func (p *piece) len() int {
	if p.far {
		return len(p.load) + 3
	}
	return len(p.load) + 1
}

// append adds the instructions of the piece and its jumps.
func (p *piece) append(list []bpf.Instruction, start map[*node]int) []bpf.Instruction {
	list = append(list, p.load...)
	yes, no := start[p.node.yes], start[p.node.no]
	if p.swapped {
		yes, no = no, yes
	}
	here := len(list) + 1
	jump := func(skipTrue, skipFalse int) bpf.Instruction {
		return bpf.JumpIf{Cond: p.cond, Val: p.n, SkipTrue: uint8(skipTrue), SkipFalse: uint8(skipFalse)}
	}
	if !p.far {
		return append(list, jump(yes-here, no-here))
	}
	return append(list, jump(0, 1), bpf.Jump{Skip: uint32(yes - here - 1)}, bpf.Jump{Skip: uint32(no - here - 2)})
}

// piece writes the instructions for a test.
func (w *writer) piece(n *node) piece {
	p := piece{node: n}
	t := &n.test
	p.cond = [...]bpf.JumpTest{bpf.JumpEqual, bpf.JumpGreaterThan, bpf.JumpGreaterOrEqual}[t.cmp]
	p.n = t.n
	switch {
	case t.cmp == equal && t.n == 0 && t.mask != allBits:
		p.cond, p.n, p.swapped = bpf.JumpBitsSet, t.mask, true
		p.load = w.masked(p.load, t.x, allBits)
	case t.cmp == equal && t.n == t.mask && bits.OnesCount32(t.mask) == 1:
		p.cond = bpf.JumpBitsSet
		p.load = w.masked(p.load, t.x, allBits)
	default:
		p.load = w.masked(p.load, t.x, t.mask)
	}
	return p
}

// masked loads the masked value into A unless it is there already.
func (w *writer) masked(list []bpf.Instruction, v value, mask uint32) []bpf.Instruction {
	if w.now.a == v && w.now.mask == mask {
		return list
	}
	if w.now.a != v || w.now.mask != allBits {
		list = w.load(list, v)
	}
	if mask != allBits {
		list = append(list, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask})
	}
	w.now.a, w.now.mask = v, mask
	return list
}

// load loads a value into A.
func (w *writer) load(list []bpf.Instruction, v value) []bpf.Instruction {
	switch v.kind {
	case valueLength:
		return append(list, bpf.LoadExtension{Num: bpf.ExtLen})
	case valueKernel:
		return append(list, bpf.LoadExtension{Num: bpf.Extension(v.k)})
	case valueAt:
		return append(list, bpf.LoadAbsolute{Off: v.k, Size: int(v.size)})
	}
	if !w.now.inX || w.now.head != v.head {
		list = append(list, bpf.LoadMemShift{Off: v.head})
		w.now.inX, w.now.head = true, v.head
	}
	return append(list, bpf.LoadIndirect{Off: v.k, Size: int(v.size)})
}
