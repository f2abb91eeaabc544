'use strict';
// Unpacks the program: base64 of an LZMA stream (as xz --format=lzma writes, with the size known). It makes the page a third smaller
// than gzip, which is all that browsers can undo by themselves.
const unpack = src => {
	const lc = src[0] % 9, lp = (src[0] / 9 | 0) % 5, pb = src[0] / 45 | 0;
	const size = new DataView(src.buffer).getUint32(5, true), out = new Uint8Array(size);
	// Probabilities: the offsets of their tables.
	const MATCH = 0, REP = 192, REP0 = 204, REP1 = 216, REP2 = 228, LONG = 240, SLOT = 432, SPECIAL = 688, ALIGN = 816, LENGTH = 832, REPLENGTH = 1346, LITERAL = 1860;
	const probs = new Uint16Array(LITERAL + (768 << lc + lp)).fill(1024);
	let range = 0xffffffff, code = new DataView(src.buffer).getUint32(14), from = 18, at = 0, state = 0;
	const reps = [0, 0, 0, 0];
	const bit = i => {
		const p = probs[i], bound = (range >>> 11) * p;
		let b = 0;
		if (code < bound) {
			range = bound;
			probs[i] = p + (2048 - p >> 5);
		} else {
			range -= bound;
			code -= bound;
			probs[i] = p - (p >> 5);
			b = 1;
		}
		if (range < 0x1000000) {
			range *= 256;
			code = code * 256 + src[from++];
		}
		return b;
	};
	const direct = n => {
		let v = 0;
		for (; n > 0; n--) {
			range = range >>> 1;
			v *= 2;
			if (code >= range) { code -= range; v++; }
			if (range < 0x1000000) {
				range *= 256;
				code = code * 256 + src[from++];
			}
		}
		return v;
	};
	const tree = (table, bits) => {
		let m = 1;
		for (let i = 0; i < bits; i++) m = m << 1 | bit(table + m);
		return m - (1 << bits);
	};
	const reversed = (table, bits) => {
		let m = 1, v = 0;
		for (let i = 0; i < bits; i++) {
			const b = bit(table + m);
			m = m << 1 | b;
			v |= b << i;
		}
		return v;
	};
	const length = (table, pos) => !bit(table) ? tree(table + 2 + (pos << 3), 3) : !bit(table + 1) ? 8 + tree(table + 130 + (pos << 3), 3) : 16 + tree(table + 258, 8);
	while (at < size) {
		const pos = at & (1 << pb) - 1;
		if (!bit(MATCH + (state << 4) + pos)) {
			const table = LITERAL + 768 * (((at & (1 << lp) - 1) << lc) + (at ? out[at - 1] >> 8 - lc : 0));
			let m = 1;
			if (state > 6) {
				let same = out[at - reps[0] - 1];
				do {
					const s = same >> 7 & 1, b = bit(table + (1 + s << 8) + m);
					same <<= 1;
					m = m << 1 | b;
					if (s !== b) break;
				} while (m < 256);
			}
			while (m < 256) m = m << 1 | bit(table + m);
			out[at++] = m;
			state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
			continue;
		}
		let n;
		if (bit(REP + state)) {
			if (!bit(REP0 + state)) {
				if (!bit(LONG + (state << 4) + pos)) {
					state = state < 7 ? 9 : 11;
					out[at] = out[at - reps[0] - 1];
					at++;
					continue;
				}
			} else {
				const k = !bit(REP1 + state) ? 1 : 2 + bit(REP2 + state);
				reps.unshift(...reps.splice(k, 1));
			}
			n = length(REPLENGTH, pos);
			state = state < 7 ? 8 : 11;
		} else {
			n = length(LENGTH, pos);
			state = state < 7 ? 7 : 10;
			let d = tree(SLOT + (Math.min(n, 3) << 6), 6);
			if (d > 3) {
				const more = (d >> 1) - 1, base = (2 | d & 1) * 2 ** more;
				d = d < 14 ? base + reversed(SPECIAL + base - d - 1 + 1, more) : base + direct(more - 4) * 16 + reversed(ALIGN, 4);
			}
			reps.unshift(d);
			reps.pop();
		}
		const back = reps[0] + 1;
		for (const end = Math.min(size, at + n + 2); at < end; at++) out[at] = out[at - back];
	}
	return out;
};
onmessage = async ({ data }) => {
	try {
		const text = atob(data), src = new Uint8Array(text.length);
		for (let i = 0; i < src.length; i++) src[i] = text.charCodeAt(i);
		postMessage({ module: await WebAssembly.compile(unpack(src)) });
	} catch (err) {
		postMessage({ error: err.message });
	}
	close();
};
