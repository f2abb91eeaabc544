package main

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// direct makes the jumps of a module direct that lead forward within a function, and counts them. It joins the data, which end the module. Go puts a function into a loop
// around nested blocks, one for each place where it continues after a jump or a wait. Each jump goes by way of the table of these places
// at the top of the loop, which processors predict badly: it takes a quarter of the time. A jump forward can leave the block of its
// target instead.
func direct(module []byte) (out []byte, jumps int) {
	at, size := 8, 0
	for ; module[at] != 10; at += size { // until the code
		size, at = number(module, at+1)
	}
	_, at = number(module, at+1)
	functions, at := number(module, at)
	for range functions {
		size, at = number(module, at)
		jumps += directIn(module[at:][:size])
		at += size
	}
	_, data := number(module, at+1)
	return append(module[:at+1:at+1], joined(module[data:])...), jumps
}

// directIn is direct for a function.
func directIn(b []byte) (jumps int) {
	locals, at := number(b, 0)
	for range locals {
		_, at = number(b, at)
		at++
	}
	for b[at] == 0x23 { // global.get, which local.set follows
		at += 4
	}
	blocks := 0 // in the loop
	for ; b[at] == 0x02 || b[at] == 0x03; at += 2 {
		if blocks++; b[at] == 0x03 {
			blocks = 0
		}
	}
	if blocks == 0 || !bytes.HasPrefix(b[at:], []byte{0x20, 0, 0x0e}) { // local.get 0, br_table
		return 0
	}
	places, at := number(b, at+3)
	table := make([]int, places+1)
	for i := range table {
		table[i], at = number(b, at)
	}
	depth, ended := 0, 0 // blocks within the current one, and blocks of the table that have ended
	for at < len(b) && ended <= blocks {
		from := at
		switch at = next(b, at); b[from] {
		case 0x02, 0x03, 0x04: // block, loop, if
			depth++
		case 0x0b: // end
			if depth--; depth < 0 {
				depth, ended = 0, ended+1
			}
		case 0x41: // i32.const
			if !bytes.HasPrefix(b[at:], []byte{0x21, 0, 0x0c}) { // local.set 0, br
				break
			}
			place, _ := number(b, from+1)
			to, end := number(b, at+3)
			if target := table[min(place, places)]; target >= ended && to == depth+blocks-ended {
				br := binary.AppendUvarint([]byte{0x0c}, uint64(depth+target-ended))
				copy(b[from:end], append(bytes.Repeat([]byte{0x01}, end-from-len(br)), br...)) // nop, br
				jumps++
			}
		}
	}
	return jumps
}

// next returns where the instruction after that at a place begins.
func next(b []byte, at int) int {
	numbers := 0 // that follow the operation
	switch op := b[at]; {
	case op == 0x0e: // br_table
		numbers, at = number(b, at+1)
		numbers, at = numbers+1, at-1
	case op == 0x43, op == 0x44: // f32.const, f64.const
		return at + 5 + int(op-0x43)*4
	case op == 0xfc: // memory.copy has two, memory.fill one, and conversions none
		numbers = 1 + map[byte]int{0x0a: 2, 0x0b: 1}[b[at+1]]
	case op == 0x11, op >= 0x28 && op <= 0x3e: // call_indirect, loads and stores
		numbers = 2
	case op >= 0x02 && op <= 0x04, op == 0x0c, op == 0x0d, op == 0x10, op >= 0x20 && op <= 0x24, op >= 0x3f && op <= 0x42:
		numbers = 1
	case op > 0xc4:
		panic(op)
	}
	for at++; numbers > 0; numbers-- {
		_, at = number(b, at)
	}
	return at
}

// joined returns the size and the content of a section of data with one segment: Go ends one wherever eight zeros stand, and browsers keep
// 32 bytes for each of the 100,000 that this makes.
func joined(b []byte) []byte {
	n, at := number(b, 0)
	first, place := number(b, at+2) // after 0, i32.const; the lowest
	head := append([]byte{1}, b[at:place+1]...)
	var data []byte
	for size := 0; n > 0; n-- {
		place, at = number(b, at+2)
		size, at = number(b, at+1)
		data = append(data, make([]byte, max(0, place-first+size-len(data)))...)
		copy(data[place-first:], b[at:][:size])
		at += size
	}
	head = binary.AppendUvarint(head, uint64(len(data)))
	return slices.Concat(binary.AppendUvarint(nil, uint64(len(head)+len(data))), head, data)
}

// number returns a number without a sign, and where it ends.
func number(b []byte, at int) (n, end int) {
	u, _ := binary.Uvarint(b[at:])
	return int(u), at + slices.IndexFunc(b[at:], func(c byte) bool { return c < 0x80 }) + 1
}
