package filter

import (
	"errors"
	"math/bits"

	"golang.org/x/net/bpf"
)

// program translates a graph into BPF instructions.
func (g *graph) program(snap uint32) (*Program, error) {
	w := &writer{graph: g, arriving: map[*node]registers{}, start: map[*node]int{}}
	list, err := w.write(snap)
	if err != nil {
		return nil, err
	}
	raw, err := bpf.Assemble(list)
	if err != nil {
		return nil, err
	}
	return newProgram(raw)
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
	err error
}

// A piece is the instructions of one node.
type piece struct {
	node *node
	load []bpf.Instruction
	// The jump leads to node.yes or node.no, or the reverse if swapped.
	cond    bpf.JumpTest
	n       uint32
	x       bool // compare with X instead of n
	swapped bool
	// far is set if the target is beyond the range of a conditional jump.
	far bool
}

// registers describes the content of A and X.
type registers struct {
	a    *value
	mask uint32 // of a
	// head is the offset of the IPv4 header whose length X holds, if inX is set.
	head uint32
	inX  bool
}

func (w *writer) write(snap uint32) ([]bpf.Instruction, error) {
	accept, reject := bpf.RetConstant{Val: snap}, bpf.RetConstant{Val: 0}
	switch w.root {
	case w.accept:
		return []bpf.Instruction{accept}, nil
	case w.reject:
		return []bpf.Instruction{reject}, nil
	}
	w.arriving[w.root] = registers{}
	for _, n := range w.order() {
		w.now = w.arriving[n]
		w.pieces = append(w.pieces, w.piece(n))
		w.arrive(n.yes)
		w.arrive(n.no)
	}
	if w.err != nil {
		return nil, w.err
	}
	w.place()
	var list []bpf.Instruction
	for i := range w.pieces {
		list = w.pieces[i].append(list, w.start)
	}
	return append(list, accept, reject), nil
}

// arrive records the registers on a path to a node, and keeps what all paths agree on.
func (w *writer) arrive(n *node) {
	before, ok := w.arriving[n]
	if !ok {
		w.arriving[n] = w.now
		return
	}
	if before.a != w.now.a || before.mask != w.now.mask {
		before.a, before.mask = nil, 0
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
		if p.x {
			return bpf.JumpIfX{Cond: p.cond, SkipTrue: uint8(skipTrue), SkipFalse: uint8(skipFalse)}
		}
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
	case t.y != nil:
		p.x = true
		p.load = w.value(p.load, t.y, 0)
		p.load = append(p.load, bpf.StoreScratch{Src: bpf.RegA, N: 0})
		p.load = w.value(p.load, t.x, 1)
		p.load = append(p.load, bpf.LoadScratch{Dst: bpf.RegX, N: 0})
		w.now = registers{}
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
func (w *writer) masked(list []bpf.Instruction, v *value, mask uint32) []bpf.Instruction {
	if w.now.a == v && w.now.mask == mask {
		return list
	}
	if w.now.a != v || w.now.mask != allBits {
		list = w.value(list, v, 0)
	}
	if mask != allBits {
		list = append(list, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask})
	}
	w.now.a, w.now.mask = v, mask
	return list
}

// value loads a value into A. It may use scratch memory from the index free on.
func (w *writer) value(list []bpf.Instruction, v *value, free int) []bpf.Instruction {
	const scratch = 16
	if free == scratch {
		if w.err == nil {
			w.err = errors.New("filter: the arithmetic is nested too deeply for the kernel")
		}
		return list
	}
	switch v.kind {
	case valueConstant:
		return append(list, bpf.LoadConstant{Dst: bpf.RegA, Val: v.k})
	case valueLength:
		return append(list, bpf.LoadExtension{Num: bpf.ExtLen})
	case valueKernel:
		return append(list, bpf.LoadExtension{Num: bpf.Extension(v.k)})
	case valueAt:
		return append(list, bpf.LoadAbsolute{Off: v.k, Size: int(v.size)})
	case valueAfterHeader:
		if !w.now.inX || w.now.head != v.head {
			list = append(list, bpf.LoadMemShift{Off: v.head})
			w.now.inX, w.now.head = true, v.head
		}
		return append(list, bpf.LoadIndirect{Off: v.k, Size: int(v.size)})
	case valueAtX:
		list = w.value(list, v.x, free)
		w.now.inX = false
		return append(list, bpf.TAX{}, bpf.LoadIndirect{Off: v.k, Size: int(v.size)})
	case valueAfterHeaderX:
		list = w.value(list, v.x, free)
		w.now.inX = false
		return append(list, bpf.LoadMemShift{Off: v.head}, bpf.ALUOpX{Op: bpf.ALUOpAdd}, bpf.TAX{},
			bpf.LoadIndirect{Off: v.k, Size: int(v.size)})
	}
	op := operations[v.kind]
	if v.y.kind == valueConstant {
		list = w.value(list, v.x, free)
		return append(list, bpf.ALUOpConstant{Op: op, Val: v.y.k})
	}
	list = w.value(list, v.y, free)
	list = append(list, bpf.StoreScratch{Src: bpf.RegA, N: free})
	list = w.value(list, v.x, free+1)
	w.now.inX = false
	return append(list, bpf.LoadScratch{Dst: bpf.RegX, N: free}, bpf.ALUOpX{Op: op})
}

var operations = map[valueKind]bpf.ALUOp{
	valueAdd: bpf.ALUOpAdd, valueSubtract: bpf.ALUOpSub, valueMultiply: bpf.ALUOpMul, valueDivide: bpf.ALUOpDiv,
	valueModulo: bpf.ALUOpMod, valueAnd: bpf.ALUOpAnd, valueOr: bpf.ALUOpOr, valueXor: bpf.ALUOpXor,
	valueLeft: bpf.ALUOpShiftLeft, valueRight: bpf.ALUOpShiftRight,
}
