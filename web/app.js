'use strict';
(() => {
	const $ = id => document.getElementById(id);
	const all = (q, of) => Array.from((of || document).querySelectorAll(q));
	const el = (tag, cls, text) => {
		const e = document.createElement(tag);
		if (cls) e.className = cls;
		if (text !== undefined) e.textContent = text;
		return e;
	};
	const number = n => n.toLocaleString('en-US');
	const { floor, max, min } = Math;
	const decoder = new TextDecoder();

	// The program, which each task runs anew: a task that is no longer wanted ends with its worker, and its memory.
	const source = id => URL.createObjectURL(new Blob([$(id).textContent], { type: 'text/javascript' }));
	const worker = source('worker');
	const module = new Promise((resolve, reject) => {
		const w = new Worker(source('unpack'));
		w.onmessage = e => e.data.module ? resolve(e.data.module) : reject(new Error(e.data.error));
		w.onerror = e => reject(new Error(e.message || 'this browser starts no workers here'));
		w.postMessage($('program').textContent);
		$('program').remove();
	});
	// A buffer of this size, which is never touched, lets browsers collect the text of the program, and what its unpacking left.
	module.then(() => { new ArrayBuffer(64 << 20); }, err => trouble('This browser cannot run the page: ' + err.message));
	let files = [], names = [];
	const run = (task, on = {}) => {
		let w, stopped = false;
		const done = module.then(m => new Promise((resolve, reject) => {
			if (stopped) return;
			w = new Worker(worker);
			w.onmessage = ({ data }) => {
				if (data.lines) on.lines(data.lines);
				else if (data.total !== undefined) on.progress && on.progress(data);
				else { w.terminate(); resolve({ ...data, out: new Map(data.out) }); }
			};
			w.onerror = e => reject(new Error(e.message));
			w.postMessage({ module: m, files, task: { ...task, Files: names } });
		}));
		return { done, send: text => { if (w) w.postMessage(text); }, stop() { stopped = true; if (w) w.terminate(); } };
	};
	const show = (id, text) => { $(id).textContent = text.trim(); $(id).hidden = !text.trim(); };
	const trouble = text => show('trouble', text);

	// The lines of the list, compressed in chunks; those that were looked at last are kept as text. Bounded, and what is beyond is counted.
	const mostRows = 1e6, mostBytes = 256 << 20;
	let store, looked = [];
	const fresh = () => ({ chunks: [], rows: 0, bytes: 0, beyond: 0, times: new Float64Array(mostRows), flags: new Uint8Array(mostRows), file: 0, time: 0, messages: 0 });
	const away = new MessageChannel();
	away.port2.close();
	const free = buffer => away.port1.postMessage(0, [buffer]); // at once: a collector comes late
	const through = async (stream, bytes) => {
		const w = stream.writable.getWriter();
		w.write(bytes);
		w.close();
		return new Uint8Array(await new Response(stream.readable).arrayBuffer());
	};
	const pack = async c => {
		const packed = await through(new CompressionStream('deflate-raw'), c.text);
		free(c.text.buffer);
		c.text = null;
		c.packed = packed;
	};
	const unpack = async c => decoder.decode(c.text || await through(new DecompressionStream('deflate-raw'), c.packed)).split('\n');
	const line = async i => {
		let lo = 0, hi = store.chunks.length;
		while (hi - lo > 1) {
			const mid = lo + hi >> 1;
			if (store.chunks[mid].first <= i) lo = mid; else hi = mid;
		}
		const c = store.chunks[lo], seen = looked.find(l => l.c === c) || { c, lines: unpack(c) };
		looked = [seen, ...looked.filter(l => l !== seen).slice(0, 3)];
		return (await seen.lines)[i - c.first];
	};
	// A row is a message (1), has a finding (2) of note or worse, or is about the capture after it (4).
	const look = (s, b, from, to) => {
		let i = from, flags = 0, at = 0;
		while (b[i] === 32) i++;
		const digits = i;
		while (b[i] >= 48 && b[i] <= 57) i++;
		if (i > digits && b[i] === 32) {
			while (b[i] === 32) i++;
			let whole = 0, part = 0, scale = 1;
			for (; b[i] >= 48 && b[i] <= 57; i++) whole = whole * 10 + b[i] - 48;
			if (b[i] === 46) {
				for (i++; b[i] >= 48 && b[i] <= 57; i++) { part = part * 10 + b[i] - 48; scale *= 10; }
				flags = 1;
				at = whole + part / scale;
			}
		} else if (b[from] === 61 && b[from + 1] === 61) {
			flags = 4;
			s.file++;
		}
		for (; i < to - 3; i++) if (b[i] === 32 && b[i + 1] === 32 && (b[i + 2] === 33 || b[i + 2] === 126) && (b[i + 3] === 32 || b[i + 3] === 33)) { flags |= 2; break; }
		if (flags & 1) { s.time = at; s.messages++; }
		return flags;
	};
	const add = (s, text) => {
		const first = s.rows;
		for (let from = 0; from < text.length;) {
			const end = text.indexOf(10, from), to = end < 0 ? text.length : end;
			const flags = look(s, text, from, to);
			if (s.rows < mostRows && s.bytes < mostBytes) {
				s.times[s.rows] = (origins[max(0, s.file - 1)] || 0) + s.time * 1000;
				s.flags[s.rows++] = flags;
			} else if (flags & 1) s.beyond++;
			from = to + 1;
		}
		if (s.rows === first) return;
		s.bytes += text.length;
		const c = { first, text };
		s.chunks.push(c);
		pack(c);
	};

	// The list shows the rows of the selected time, of which a few are elements.
	const list = $('list'), rows = $('rows'), rowHeight = 22, mostHeight = 8e6;
	let chosen = null, span = null, selected = -1, origins = [];
	const count = () => chosen ? chosen.length : store.rows;
	const row = k => chosen ? chosen[k] : k;
	const room = () => max(1, floor(list.clientHeight / rowHeight));
	const top = () => {
		const n = count(), height = n * rowHeight;
		return height <= mostHeight ? floor(list.scrollTop / rowHeight) : floor(list.scrollTop / (mostHeight - list.clientHeight) * max(0, n - room()));
	};
	let drawing = 0, again = false, drawn = '';
	const draw = () => { again = true; drawing = drawing || requestAnimationFrame(() => drawNow().finally(() => { drawing = 0; if (again) draw(); })); };
	const drawNow = async () => {
		again = false;
		if (!store || $('messages').hidden) return;
		const n = count(), first = min(top(), max(0, n - 1)), last = min(n, first + room() + 2), height = n * rowHeight, big = height > mostHeight;
		rows.style.height = min(height, mostHeight) + 'px';
		const s = store, out = [], whole = document.documentElement.dataset.ready !== undefined, key = [first, last, selected, big && list.scrollTop].join();
		const shown = whole || key !== drawn ? Array.from({ length: last - first }, (_, k) => row(first + k)) : [], texts = await Promise.all(shown.map(line));
		if (s !== store) return;
		for (let k = first; k < first + shown.length; k++) {
			const e = el('div', 'row'), i = shown[k - first], text = texts[k - first], at = text.search(/ {2}(!!?|~|\.) [a-z0-9_.]+: /);
			e.append(at < 0 ? text : text.slice(0, at));
			if (at >= 0) e.append(el(store.flags[i] & 2 ? 'b' : 'i', '', text.slice(at)));
			e.id = 'row-' + k;
			e.style.top = (big ? list.scrollTop + (k - first) * rowHeight : k * rowHeight) + 'px';
			for (const [name, v] of [['role', 'option'], ['aria-selected', k === selected], ['aria-setsize', n], ['aria-posinset', k + 1]]) e.setAttribute(name, v);
			e.onclick = () => { select(k); open(); };
			out.push(e);
		}
		if (out.length || key !== drawn) rows.replaceChildren(...out);
		drawn = key;
		if (selected >= first && selected < last) list.setAttribute('aria-activedescendant', 'row-' + selected);
		else list.removeAttribute('aria-activedescendant');
		const lines = s.messages - s.beyond;
		let text = number(lines) + (lines === 1 ? ' message' : ' messages');
		if (span) text = number(n) + ' of ' + number(s.rows) + ' lines, of the selected time';
		if (s.beyond) text = 'The first ' + text + '; ' + number(s.beyond) + ' more: use a filter to see them';
		$('count').textContent = text;
		$('before').disabled = $('next').disabled = n === 0;
	};
	const narrow = () => {
		chosen = null;
		if (span) {
			const keep = [];
			for (let i = 0; i < store.rows; i++) if (store.times[i] >= span[0] && store.times[i] < span[1]) keep.push(i);
			chosen = Uint32Array.from(keep);
		}
		$('time').hidden = !span;
		if (span) $('time').textContent = span.map(t => new Date(t).toISOString().slice(11, 19)).join(' \u2013 ') + ' UTC \xd7';
		draw();
	};
	list.onscroll = draw;
	addEventListener('resize', draw);
	const select = k => {
		const n = count();
		if (!n) return;
		selected = max(0, min(n - 1, k));
		const first = top();
		if (selected < first || selected >= first + room()) {
			const want = selected < first ? selected : selected - room() + 1;
			list.scrollTop = n * rowHeight <= mostHeight ? want * rowHeight : want / max(1, n - room()) * (mostHeight - list.clientHeight);
		}
		draw();
		if (!$('talk').hidden) open();
	};
	const finding = step => {
		for (let k = selected + step; k >= 0 && k < count(); k += step) if (store.flags[row(k)] & 2) return select(k);
	};

	// A message with its conversation: fields, bytes, and what came before and after.
	let talking, waiting;
	const fit = frame => new Promise(resolve => { frame.onload = () => resolve(frame.contentDocument); });
	const fill = async (frame, blob) => {
		const loaded = fit(frame);
		frame.srcdoc = await blob.text();
		const page = await loaded;
		page.addEventListener('keydown', keys);
		return page;
	};
	const open = () => {
		if (talking) talking.stop();
		clearTimeout(waiting);
		const i = row(selected);
		if (selected < 0 || !(store.flags[i] & 1)) return;
		let file = 0;
		if (names.length > 1) for (let k = 0; k < i; k++) file += store.flags[k] >> 2 & 1;
		waiting = setTimeout(async () => {
			let at = '';
			const m = /^ *(\d+) +[\d.]+ +(\S+) +[\u2192\u2190?-]+ +(\S+)/.exec(await line(i));
			if (!m || i !== row(selected)) return;
			talking = run({ Do: 'talk', File: max(0, file - 1), Frame: +m[1], Src: m[2], Dst: m[3] }, { lines: b => { at += decoder.decode(b); } });
			const r = await talking.done;
			show('wrong', r.errors);
			const html = r.out.get('talk.html');
			if (!html) return;
			$('talk').hidden = false;
			draw();
			const page = await fill($('talk'), html);
			all('details[data-m]', page).forEach(d => { d.open = d.dataset.m === '0,' + at.trim(); });
			const d = page.querySelector('details[data-m="0,' + at.trim() + '"]');
			if (d) d.scrollIntoView({ block: 'start' });
			document.documentElement.dataset.talk = m[1];
		}, 60);
	};
	const shut = () => { if (talking) talking.stop(); clearTimeout(waiting); $('talk').hidden = true; draw(); list.focus(); };

	// The SHA-256 of files, a line for each: browsers make only those of what is in memory as a whole.
	const root = (n, k) => n ** (1 / k) % 1 * 2 ** 32;
	const primes = [...Array(312).keys()].filter(n => n > 1 && ![2, 3, 5, 7, 11, 13, 17].some(d => d < n && n % d === 0));
	const table = Int32Array.from(primes, n => root(n, 3)), words = new Int32Array(64);
	const digest = (sum, view) => {
		for (let at = 0; at < view.byteLength; at += 64) {
			for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + 4 * i);
			for (let i = 16; i < 64; i++) {
				const a = words[i - 15], b = words[i - 2];
				words[i] = words[i - 16] + words[i - 7] + ((a >>> 7 | a << 25) ^ (a >>> 18 | a << 14) ^ a >>> 3) + ((b >>> 17 | b << 15) ^ (b >>> 19 | b << 13) ^ b >>> 10) | 0;
			}
			let a = sum[0], b = sum[1], c = sum[2], d = sum[3], e = sum[4], f = sum[5], g = sum[6], h = sum[7];
			for (let i = 0; i < 64; i++) {
				const t = h + ((e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)) + (e & f ^ ~e & g) + table[i] + words[i] | 0;
				const u = ((a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)) + (a & b ^ a & c ^ b & c) | 0;
				h = g; g = f; f = e; e = d + t | 0; d = c; c = b; b = a; a = t + u | 0;
			}
			sum[0] += a; sum[1] += b; sum[2] += c; sum[3] += d; sum[4] += e; sum[5] += f; sum[6] += g; sum[7] += h;
		}
	};
	const sums = async (files, job) => {
		let text = '';
		for (const file of files) {
			const sum = Int32Array.from(primes.slice(0, 8), n => root(n, 2));
			try {
				for (let at = 0, ended = false; !ended && !job.stopped; at += 1 << 20) {
					let piece = await file.slice(at, at + (1 << 20)).arrayBuffer();
					const n = piece.byteLength;
					if (ended = n < 1 << 20) { // the end: a bit, and the length in bits
						const last = new Uint8Array(n + 72 & ~63), v = new DataView(last.buffer);
						last.set(new Uint8Array(piece));
						last[n] = 128;
						v.setBigUint64(last.length - 8, BigInt(file.size) * 8n);
						piece = last.buffer;
					}
					digest(sum, new DataView(piece));
					free(piece);
				}
				text += [...sum].map(v => (v >>> 0).toString(16).padStart(8, '0')).join('');
			} catch { /* whoever reads the file says it */ }
			text += '\n';
		}
		return text;
	};

	// What is read.
	let listing, reading, expr = '', made = new Map(), page;
	const busy = (text, job) => {
		$('work').hidden = false;
		$('bar').removeAttribute('value');
		$('doing').textContent = text;
		$('stop').onclick = () => {
			job.stop();
			$('work').hidden = true;
			if (job !== reading) return;
			reading = null; // a filter waits for it
			show('wrong', 'Stopped: only the first messages were read.');
		};
		job.done.finally(() => { $('work').hidden = true; }).catch(() => {});
	};
	const progress = text => ({ read, total }) => {
		$('bar').value = total ? read / total : 1;
		$('doing').textContent = text + ': ' + floor(min(1, total ? read / total : 1) * 100) + ' %';
	};
	const begin = () => {
		store = fresh();
		drawn = '';
		selected = -1;
		chosen = null;
		list.scrollTop = 0;
		$('talk').hidden = true;
		delete document.documentElement.dataset.ready;
	};
	const end = () => { narrow(); document.documentElement.dataset.ready = expr; };
	const turn = to => {
		for (const id of ['report', 'messages']) {
			$(id).hidden = id !== to;
			$('tab-' + id).setAttribute('aria-selected', id === to);
			$('tab-' + id).tabIndex = id === to ? 0 : -1;
		}
		draw();
		if (to === 'messages') list.focus();
	};
	const load = async given => {
		files = Array.from(given);
		if (!files.length) return;
		const seen = new Map();
		names = files.map(f => { const n = (seen.get(f.name) || 0) + 1; seen.set(f.name, n); return n > 1 ? f.name + ' (' + n + ')' : f.name; });
		[listing, reading].forEach(j => j && j.stop());
		trouble('');
		show('wrong', '');
		expr = $('expr').value = '';
		span = null;
		origins = [];
		page = null;
		begin();
		$('start').hidden = true;
		$('again').hidden = $('tabs').hidden = false;
		$('saving').hidden = true;
		$('name').textContent = names[0] + (names.length > 1 ? ' and ' + (names.length - 1) + ' more' : '');
		document.title = names[0] + ' \u2013 qdissect';
		turn('messages');
		const s = store;
		reading = run({ Do: 'open' }, { lines: b => { if (store === s) { add(s, b); draw(); } }, progress: progress('Reading') });
		// At the same time the files are summed up, which the report waits for.
		const { stop, send } = reading, summing = { stopped: false };
		reading.stop = () => { stop(); summing.stopped = true; };
		sums(files, summing).then(text => module.then(() => send(text)));
		busy('Starting', reading);
		let r;
		try {
			r = await reading.done;
		} catch (err) {
			return trouble('The capture cannot be read: ' + err.message + '. It may be larger than the memory of the browser.');
		}
		trouble(r.errors);
		made = r.out;
		const json = made.get('report.json'), html = made.get('report.html');
		if (!json) return trouble(r.errors || 'Nothing was read.');
		origins = JSON.parse(await json.text()).made.files.map(f => Date.parse(f.first));
		let file = 0;
		for (let i = 0; i < s.rows; i++) {
			file += s.flags[i] >> 2 & 1;
			s.times[i] += origins[max(0, file - 1)] || 0;
		}
		$('saving').hidden = false;
		page = await fill($('page'), html);
		lead();
		if (store === s) end();
		turn('report');
	};
	const apply = async text => {
		if (listing) listing.stop();
		if (reading) await reading.done;
		const kept = document.documentElement.dataset.ready === undefined ? [] : [store, expr];
		expr = text.trim();
		begin();
		show('wrong', '');
		const s = store;
		draw();
		listing = run({ Do: 'list', Expr: expr }, { lines: b => { if (store === s) { add(s, b); draw(); } }, progress: progress('Filtering') });
		busy('Filtering', listing);
		const r = await listing.done;
		show('wrong', r.errors);
		if (store !== s) return;
		if (r.status && !s.rows && kept[0]) [store, expr] = kept; // the expression is wrong
		end();
	};
	const filter = text => { turn('messages'); $('expr').value = text; return apply(text); };

	// The report leads to messages: from its times, addresses and commands.
	const lead = () => {
		page.defaultView.addEventListener('time', e => { span = e.detail; if (store) { selected = -1; narrow(); } });
		all('th .addr, .facts .addr', page).forEach(a => {
			if (a.closest('a')) return;
			const b = page.createElement('button');
			b.type = 'button';
			b.className = 'sort';
			b.title = 'Its messages';
			a.replaceWith(b);
			b.append(a);
			b.onclick = () => filter('addr == ' + a.textContent);
		});
		all('.copyable code, .do dd', page).forEach(c => {
			const m = /\bqdissect [^']*-Y '([^']+)'/.exec(c.textContent);
			if (!m) return;
			const b = page.createElement('button');
			b.type = 'button';
			b.textContent = 'Show';
			b.onclick = () => filter(m[1]);
			(c.tagName === 'DD' ? c : c.parentNode).append(' ', b);
		});
	};

	// Completion, and what is wrong, while one types.
	let typing, thinking;
	$('expr').oninput = () => {
		clearTimeout(typing);
		typing = setTimeout(async () => {
			if (thinking) thinking.stop();
			const text = $('expr').value, at = max(...[...' (){},!&|=<>~"'].map(c => text.lastIndexOf(c))) + 1;
			let answer = '';
			thinking = run({ Do: 'expect', Expr: text, As: text.slice(0, at) }, { lines: b => { answer += decoder.decode(b); } });
			await thinking.done;
			const { Trouble, Words } = JSON.parse(answer), begun = text.slice(at);
			const fits = (Words || []).filter(w => w.startsWith(begun) && w !== begun).slice(0, 40);
			$('words').replaceChildren(...fits.map(w => { const o = el('option'); o.value = text.slice(0, at) + w; return o; }));
			show('wrong', text.trim() && !fits.length && Trouble || '');
		}, 200);
	};
	$('filter').onsubmit = e => { e.preventDefault(); apply($('expr').value); list.focus(); };
	$('clear').onclick = () => { $('expr').value = ''; span = null; apply(''); };
	$('time').onclick = () => { const b = page && page.getElementById('all'); if (b) b.click(); span = null; narrow(); };
	$('next').onclick = () => finding(1);
	$('before').onclick = () => finding(-1);
	$('help').onclick = () => { $('keys').hidden = !$('keys').hidden; $('help').setAttribute('aria-expanded', !$('keys').hidden); draw(); };
	$('tab-report').onclick = () => turn('report');
	$('tab-messages').onclick = () => turn('messages');
	$('tabs').onkeydown = e => {
		if (e.key !== 'ArrowLeft' && e.key !== 'ArrowRight') return;
		const to = $('report').hidden ? 'report' : 'messages';
		turn(to);
		$('tab-' + to).focus();
	};

	// Saving.
	const give = (name, blob) => {
		const a = el('a');
		a.href = URL.createObjectURL(blob);
		a.download = name;
		a.click();
		setTimeout(() => URL.revokeObjectURL(a.href), 60000);
	};
	const save = async as => {
		const [Since, Until] = span ? span.map(t => new Date(t).toISOString()) : [];
		const job = run({ Do: 'save', As: as, Expr: expr, Since, Until }, { progress: progress('Saving') });
		busy('Saving', job);
		const r = await job.done, list = [...r.out].filter(([, blob]) => blob.size);
		trouble(r.errors || (list.length ? '' : 'No message was chosen: nothing is saved.'));
		return list;
	};
	const saveAs = async as => (await save(as)).forEach(saved => give(...saved));
	$('saving').onclick = e => {
		const { as, made: name } = e.target.dataset;
		if (as) saveAs(as);
		if (name) give(name, made.get(name));
		if (as || name) $('saving').open = false;
	};

	// Keys, those of qdissect top.
	const keys = e => {
		if (e.ctrlKey || e.metaKey || e.altKey) return;
		const inFrame = e.target.ownerDocument !== document;
		if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) {
			if (e.key === 'Escape' && !inFrame) list.focus();
			return;
		}
		if (!store) return;
		const moves = { j: 1, k: -1, g: -1e9, G: 1e9 }, large = { ArrowDown: 1, ArrowUp: -1, PageDown: room() - 1, PageUp: 1 - room(), Home: -1e9, End: 1e9 };
		const by = moves[e.key] || (document.activeElement === list ? large[e.key] : 0);
		const acts = {
			n: () => finding(1), N: () => finding(-1), Escape: shut, '/': () => { turn('messages'); $('expr').focus(); }, w: () => saveAs('pcapng'), '?': $('help').onclick,
			e: () => made.get('report.html') && give('report.html', made.get('report.html')), 1: () => turn('report'), 2: () => turn('messages'),
		};
		if (e.key === 'Enter' && document.activeElement === list) open();
		else if (by && !$('messages').hidden) select(selected + by);
		else if (acts[e.key]) acts[e.key]();
		else return;
		e.preventDefault();
	};
	document.addEventListener('keydown', keys);

	// Files come from a button, are dropped, or are served with the page.
	all('input[type=file]').forEach(i => { i.onchange = () => { load(i.files); i.value = ''; }; });
	addEventListener('dragover', e => { e.preventDefault(); document.body.classList.add('over'); });
	addEventListener('dragleave', e => { if (!e.relatedTarget) document.body.classList.remove('over'); });
	addEventListener('drop', e => { e.preventDefault(); document.body.classList.remove('over'); load(e.dataTransfer.files); });
	const served = JSON.parse($('preload').textContent);
	if (served.length) {
		$('drop').hidden = true;
		Promise.all(served.map(async (name, i) => {
			const r = await fetch('capture/' + i);
			if (!r.ok) throw new Error(name + ': ' + r.statusText);
			return new File([await r.blob()], name);
		})).then(load).catch(err => trouble(err.message));
	}
	// For tests: the lines of the list, and what was made.
	globalThis.qdissect = { load, filter, select, save: async as => btoa(String.fromCharCode(...new Uint8Array(await (await save(as))[0][1].arrayBuffer()))), lines: async () => (await Promise.all(store.chunks.map(unpack))).flatMap(lines => lines.slice(0, -1)).slice(0, store.rows), made: name => made.get(name).text() };
})();
