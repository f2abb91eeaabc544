'use strict';
// page makes the page work; off ends that.
const page = off => {
	const D = JSON.parse(document.getElementById('data').textContent);
	const $ = id => document.getElementById(id);
	const all = (q, of) => Array.from((of || document).querySelectorAll(q));
	const el = (tag, cls, text) => {
		const e = document.createElement(tag);
		if (cls) e.className = cls;
		if (text !== undefined) e.textContent = text;
		return e;
	};
	const set = (e, list) => Object.entries(list).forEach(a => e.setAttribute(...a));
	const root = document.documentElement, { floor, max, min } = Math;
	root.classList.add('js');

	const number = n => Math.round(n).toLocaleString('en-US');
	const decimal = f => f >= 999.5 ? number(f) : f >= 99.95 || f === Math.trunc(f) ? f.toFixed(0) : f >= 9.995 ? f.toFixed(1) : f.toFixed(2);
	const size = n => {
		let u = 0;
		while (n >= 999.5 && u < 5) { n /= 1000; u++; }
		return (u ? decimal(n) : number(n)) + '\u00a0' + ['B', 'kB', 'MB', 'GB', 'TB', 'PB'][u];
	};
	const span = ms => {
		let s = Math.round(ms / 1000);
		const parts = [];
		[[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']].forEach(([n, u]) => {
			if (s >= n) parts.push(floor(s / n) + '\u00a0' + u);
			s %= n;
		});
		return ms < 6e4 ? (ms < 1000 ? Math.round(ms) + '\u00a0ms' : decimal(ms / 1000) + '\u00a0s') : parts.slice(0, 2).join(' ');
	};
	const n = D.s[0] ? D.s[0].length : 0, end = D.t0 + n * D.w;
	const iso = (t, a, b) => new Date(t).toISOString().slice(a, b);
	const clock = t => (n * D.w >= 864e5 ? iso(t, 0, 10) + ' ' : '') + iso(t, 11, D.w * D.per < 1000 ? 23 : 19);
	const sum = (a, i, j) => { let s = 0; for (let k = i; k < j && k < a.length; k++) s += a[k]; return s; };

	const ticks = (a, b, most) => {
		const step = D.steps.find(s => b - a <= most * s) || 2e12, out = [];
		for (let t = Math.ceil(a / step) * step; t < b; t += step) if ((t - a) / (b - a) > .04 && (t - a) / (b - a) < .96) out.push(t);
		const text = t => step < 1000 ? iso(t, 11, 22) : step < 6e4 ? iso(t, 11, 19) : step < 864e5 ? iso(t, 11, 16) : new Date(t).toUTCString().slice(...step < 7e9 ? [5, 11] : [8, 16]);
		return [out, text];
	};

	// The selection, in intervals.
	const count = max(1, D.n), iw = D.w * D.per;
	const low = $('from'), high = $('to');
	let sel = [0, count];
	const whole = () => sel[0] === 0 && sel[1] === count;
	const from = () => max(D.t0, D.i0 + sel[0] * iw), to = () => min(end, D.i0 + sel[1] * iw);
	const bucket = t => max(0, min(n, Math.round((t - D.t0) / D.w)));

	// Curves.
	const kinds = [
		{ id: 'messages', at: 0, height: 236, f: decimal, total: number },
		{ id: 'volume', at: 5, height: 142, f: size, total: size },
	];
	kinds.forEach(k => { k.rows = all('[data-for=' + k.id + '] li'); });
	const css = name => getComputedStyle(root).getPropertyValue(name).trim();
	const font = () => '12px ' + getComputedStyle(document.body).fontFamily;
	const columns = k => {
		const a = bucket(from()), b = bucket(to()), range = (b - a) * D.w, g = max(1, Math.ceil(max(range / 250, min(1000, range / 40)) / D.w)), xs = [], ys = k.rows.map(() => []);
		for (let i = a - a % g, j; i < b; i = j) {
			j = i + 1.5 * g > n ? n : i + g;
			const t = D.t0 + i * D.w, seconds = max(D.w, min(D.to, D.t0 + j * D.w) - max(D.from, t)) / 1000;
			xs.push(t);
			k.rows.forEach((_, s) => ys[s].push(sum(D.s[k.at + s], i, j) / seconds));
		}
		xs.push(to()); // the last step has a width too
		ys.forEach(y => y.push(y[y.length - 1]));
		$('step').textContent = span(g * D.w);
		return [xs, ...ys];
	};
	const legend = (k, at) => k.rows.forEach((row, s) => {
		row.querySelector('output').textContent = at === null ? k.total(sum(D.s[k.at + s], bucket(from()), bucket(to()))) : k.f(k.data[s + 1][at]) + '/s';
	});
	const look = (row, s) => { // the line of the legend
		const c = getComputedStyle(row.querySelector('path:last-child'));
		return { stroke: c.stroke, width: parseFloat(c.strokeWidth), dash: c.strokeDasharray === 'none' ? [] : c.strokeDasharray.split(',').map(parseFloat), fill: s ? undefined : css('--area'), points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) };
	};
	const under = u => { // what was lost
		const c = u.ctx, box = u.bbox, x = t => max(box.left, min(box.left + box.width, u.valToPos(t, 'x', true)));
		c.save();
		c.fillStyle = css('--lost');
		c.globalAlpha = .22;
		D.lost.forEach(l => {
			const a = x(D.t0 + l[0] * D.w);
			c.fillRect(a, box.top, x(D.t0 + l[1] * D.w) - a, box.height);
		});
		c.restore();
	};
	const over = (u, k) => { // the axis
		const c = u.ctx, r = devicePixelRatio, at = (u.axes[1]._splits || []).filter(v => v > 0);
		c.save();
		c.font = 12 * r + 'px ' + font().slice(5);
		c.textAlign = 'left';
		c.textBaseline = 'alphabetic';
		c.lineWidth = 5 * r;
		c.lineJoin = 'round';
		c.strokeStyle = css('--bg');
		c.fillStyle = css('--soft');
		at.forEach((v, i) => {
			const y = u.valToPos(v, 'y', true) - 4 * r, text = k.f(v) + (i === at.length - 1 ? ' per second' : '');
			c.strokeText(text, u.bbox.left + 2 * r, y);
			c.fillText(text, u.bbox.left + 2 * r, y);
		});
		c.restore();
	};
	const draw = k => {
		const box = $(k.id);
		if (!box || !n || !window.uPlot) return;
		if (k.plot) k.plot.destroy();
		k.data = columns(k);
		const axis = { stroke: css('--soft'), font: font(), grid: { stroke: css('--rule'), width: 1 }, ticks: { show: false } };
		const most = max(2, min(8, floor(box.clientWidth / 70)));
		k.plot = new uPlot({
			width: box.clientWidth, height: k.height, padding: [14, 0, 0, 0], legend: { show: false },
			cursor: { sync: { key: 'time', setSeries: false }, y: false, points: { size: 6 }, drag: { x: true, y: false, setScale: false }, bind: { dblclick: () => () => { pick(0, count); return null; } } },
			scales: { x: { time: false, range: () => [from(), to()] }, y: { range: (u, lo, hi) => [0, hi > 0 ? hi * 1.06 : 1] } },
			axes: [
				Object.assign({ size: 24, gap: 6, splits: () => ticks(from(), to(), most)[0], values: (u, v) => v.map(ticks(from(), to(), most)[1]) }, axis),
				Object.assign({ size: 0, space: 42, values: (u, v) => v.map(() => '') }, axis),
			],
			series: [{}, ...k.rows.map((row, s) => Object.assign(look(row, s), { show: sum(D.s[k.at + s], 0, n) > 0 }))],
			hooks: {
				drawClear: [under],
				draw: [u => over(u, k)],
				init: [u => u.over.append(k.tip = el('span', 'tip'))],
				setCursor: [u => {
					const at = u.cursor.left >= 0 && u.cursor.idx !== null ? min(u.cursor.idx, k.data[0].length - 2) : null;
					legend(k, at);
					k.tip.textContent = at === null ? '' : clock(u.posToVal(u.cursor.left, 'x'));
					k.tip.style.left = min(u.cursor.left + 6, u.over.clientWidth - k.tip.offsetWidth) + 'px';
				}],
				setSelect: [u => {
					if (!u.select.width) return;
					const a = floor((u.posToVal(u.select.left, 'x') - D.i0) / iw), b = Math.ceil((u.posToVal(u.select.left + u.select.width, 'x') - D.i0) / iw);
					setTimeout(() => pick(a, b));
				}],
			},
		}, k.data, box);
		legend(k, null);
	};

	// Round trips: the same columns, nearer.
	const heat = $('heat'), heatAxis = $('heat-x');
	const heatHome = heat && heat.getAttribute('viewBox').split(' ').map(Number);
	const zoom = () => {
		if (!heat) return;
		const [h0, hw] = D.heat, a = whole() ? 0 : max(0, (from() - h0) / hw), b = whole() ? heatHome[2] : max(a + .1, min(heatHome[2], (to() - h0) / hw)); // nothing, if no reply came then
		heat.setAttribute('viewBox', [a, 0, b - a, heatHome[3]].join(' '));
		const t0 = h0 + a * hw, t1 = h0 + b * hw, [at, text] = ticks(t0, t1, max(2, min(8, floor(heat.ownerSVGElement.clientWidth / 70))));
		const y = Number(heat.getAttribute('y')), h = Number(heat.getAttribute('height'));
		heatAxis.textContent = '';
		at.forEach(t => {
			const x = 100 * (t - t0) / (t1 - t0) + '%', l = document.createElementNS(heat.namespaceURI, 'line'), s = document.createElementNS(heat.namespaceURI, 'text');
			set(l, { class: 'tick', x1: x, x2: x, y1: y, y2: y + h + 2 });
			set(s, { class: 'x', x: x, y: y + h + 16 });
			s.textContent = text(t);
			heatAxis.append(l, s);
		});
	};

	// Verdicts.
	const spans = () => all('.spans g').forEach(g => {
		const at = t => max(0, min(1, (t - from()) / (to() - from()))), a = at(g.dataset.a), b = at(g.dataset.b), [bar, text] = g.children, left = a <= .55;
		g.setAttribute('visibility', b > a ? 'visible' : 'hidden');
		set(bar, { x: 100 * a + '%', width: 100 * max(.003, b - a) + '%' });
		set(text, { class: left ? '' : 'end', x: 100 * (left ? a : b) + '%' });
	});

	// Tables: of the rows that are searched for, the first few or all; sums of the selected intervals; sorted by a column.
	const few = 20;
	const tabs = all('table[data-rows]').map(table => {
		const name = table.dataset.rows, body = table.tBodies[0], find = document.querySelector('.find[data-of=' + name + ']');
		return { name, body, by: Number(table.dataset.by), rows: [], rest: name === 'servers' ? D.rest : [], sort: 0, query: '', whole: false, find, heads: Array.from(table.tHead.rows[0].cells) };
	});
	const keepRow = (t, tr) => t.rows.push({ tr, i: t.rows.length, cells: all('[data-k]', tr).map(td => ({ td, was: Array.from(td.childNodes), v: td.dataset.v })) });
	tabs.forEach(t => { t.size = t.body.rows.length + t.rest.length; Array.from(t.body.rows).forEach(tr => keepRow(t, tr)); });
	const addRest = t => t.rest.splice(0).forEach(([address, name, protocol, ...v]) => { // requests, replies, unanswered, in, out, clients, round trip and its text, outcome
		const tr = t.rows[0].tr.cloneNode(true), c = tr.cells, put = (i, n, text) => { c[i].textContent = text; c[i].dataset.v = n; };
		tr.removeAttribute('id');
		c[0].replaceChildren(el('bdi', 'addr', address), name ? el('bdi', 'name', name) : '', el('span', 'sub', protocol));
		c[2].textContent = '';
		[1, 3, 4, 5, 6, 7].forEach((i, k) => put(i, v[k], (i === 5 || i === 6 ? size : number)(v[k])));
		put(8, v[6], v[7]);
		c[9].replaceChildren(el('span', 'sub', v[8]));
		keepRow(t, tr);
	});
	const worth = (tr, i) => i && tr.cells[i].dataset.v !== undefined ? Number(tr.cells[i].dataset.v) : tr.cells[i].textContent;
	const sorted = (t, a, b) => {
		const i = Math.abs(t.sort) - 1, x = worth(a.tr, i), y = worth(b.tr, i);
		return Math.sign(t.sort) * (typeof x === 'number' ? y - x : x.localeCompare(y, 'en', { numeric: true })) || a.i - b.i;
	};
	const show = t => {
		const data = D.rows[t.name] || [];
		if (t.sort || t.query || t.whole) addRest(t);
		const rows = t.rows.map(r => {
			const own = data[r.i], sums = (own instanceof Array ? own : D.rows.clients[own] || []).map(a => sum(a || [], sel[0], sel[1]));
			r.cells.forEach(c => {
				const k = Number(c.td.dataset.k), f = c.td.dataset.f, n = f === 'ratio' ? (sums[3] ? sums[4] / sums[3] : 0) : sums[k] || 0;
				if (whole()) c.td.replaceChildren(...c.was);
				else c.td.textContent = f === 'ratio' ? (sums[3] ? '×' + decimal(n) : '–') : (f === 'size' ? size : number)(n);
				c.td.dataset.v = whole() ? c.v : n;
			});
			all('.spark', r.tr).forEach(s => {
				all('.sel', s).forEach(x => x.remove());
				if (whole()) return;
				const box = document.createElementNS(s.namespaceURI, 'rect');
				set(box, { class: 'sel', x: sel[0], width: sel[1] - sel[0], height: 100 });
				s.prepend(box);
			});
			return { tr: r.tr, i: r.i, v: sums[t.by] || 0, is: (whole() || sums.some(v => v > 0)) && r.tr.textContent.toLowerCase().includes(t.query.toLowerCase()) };
		});
		rows.sort((a, b) => t.sort ? sorted(t, a, b) : whole() ? a.i - b.i : b.v - a.v || a.i - b.i);
		let n = 0;
		rows.forEach(r => { r.tr.hidden = !r.is || n >= few && !t.whole; n += r.is; });
		t.body.append(...rows.map(r => r.tr));
		t.heads.forEach((h, i) => {
			if (Math.abs(t.sort) === i + 1) h.setAttribute('aria-sort', t.sort > 0 === i > 0 ? 'descending' : 'ascending');
			else h.removeAttribute('aria-sort');
		});
		if (!t.find) return;
		const more = t.find.querySelector('button');
		if (!t.query && whole()) n = t.size;
		more.hidden = n <= few;
		more.textContent = t.whole ? 'Show ' + few : 'Show all ' + number(n);
		t.find.querySelector('[role=status]').textContent = t.query ? (n ? number(n) + ' of ' + number(t.size) : 'None of ' + number(t.size)) : '';
		t.find.querySelector('input').value = t.query;
	};
	const tables = () => tabs.forEach(show);

	// What was chosen stands in the address of the page, so that a link leads to it.
	const keep = () => {
		const p = new URLSearchParams();
		if (!whole()) p.set('time', [from(), to()].join('-'));
		tabs.forEach(t => [['sort', t.sort], ['find', t.query], ['all', t.whole ? 1 : 0]].forEach(([k, v]) => { if (v) p.set(t.name + '.' + k, v); }));
		try {
			history.replaceState(null, '', '#' + p);
		} catch (e) { /* in a frame without an address */ }
		dispatchEvent(new CustomEvent('time', { detail: whole() ? null : [from(), to()] })); // for the page around the frame
	};
	const kept = new URLSearchParams(location.hash.includes('=') ? location.hash.slice(1) : '');
	tabs.forEach(t => {
		const get = k => kept.get(t.name + '.' + k) || '', redo = () => { show(t); keep(); };
		t.sort = Math.abs(get('sort')) <= t.heads.length ? Math.trunc(get('sort')) : 0;
		t.heads.forEach((h, i) => {
			if (i && !h.classList.contains('num')) return;
			const b = el('button', 'sort', h.textContent);
			b.type = 'button';
			b.onclick = () => { t.sort = t.sort === i + 1 ? -i - 1 : t.sort === -i - 1 ? 0 : i + 1; redo(); };
			h.replaceChildren(b);
		});
		if (!t.find) return;
		t.query = get('find');
		t.whole = get('all') === '1';
		t.find.querySelector('input').oninput = e => { t.query = e.target.value.trim(); redo(); };
		t.find.querySelector('button').onclick = () => { t.whole = !t.whole; redo(); };
	});
	all('.all-verdicts button').forEach(b => { b.onclick = () => { root.classList.add('verdicts'); b.hidden = true; }; });

	// On a phone, sections open when their titles are touched.
	const phone = matchMedia('(max-width: 46rem)');
	const shut = (s, is) => {
		s.classList.toggle('shut', is);
		all(':scope > h2 button', s).forEach(b => b.setAttribute('aria-expanded', !is));
		if (!is) zoom();
	};
	const fold = () => all('main > section:not(#timeline)').forEach(s => {
		const h = s.querySelector(':scope > h2'), b = el('button', 'fold');
		if (!h) return;
		b.type = 'button';
		b.onclick = () => shut(s, !s.classList.contains('shut'));
		const text = h.textContent;
		if (phone.matches) b.textContent = text;
		h.replaceChildren(phone.matches ? b : text);
		shut(s, phone.matches);
	});
	// What a link leads to is made visible first.
	const reveal = id => {
		const e = $(id), tr = e && e.closest('tr'), s = e && e.closest('.shut'), d = e && e.closest('details');
		if (s) shut(s, false);
		if (d) d.open = true;
		if (tr && tr.hidden) {
			choose(0, count);
			tabs.forEach(t => { if (t.body.contains(tr)) Object.assign(t, { sort: 0, query: '' }); });
			tables();
		}
	};
	document.addEventListener('click', e => {
		const a = e.target.closest('a[href^="#"]');
		if (a) reveal(a.hash.slice(1));
	}, off);

	const chosen = () => clock(from()) + ' – ' + clock(to()) + ' UTC';
	const choose = (a, b) => {
		a = max(0, min(count - 1, a));
		sel = [a, max(a + 1, min(count, b))];
		if (low) {
			low.value = sel[0];
			high.value = sel[1] - 1;
			low.setAttribute('aria-valuetext', clock(from()) + ' UTC');
			high.setAttribute('aria-valuetext', clock(to()) + ' UTC');
			$('all').disabled = whole();
			$('selected').textContent = (whole() ? 'Everything: ' : 'Selected: ') + chosen() + ' (' + span(to() - from()) + ')';
		}
		root.classList.toggle('sel', !whole());
		all('.part').forEach(p => { p.hidden = whole(); });
		all('.chosen').forEach(p => { p.textContent = chosen(); });
		kinds.forEach(draw);
		zoom();
		spans();
		tables();
	};
	const pick = (a, b) => { choose(a, b); keep(); };
	if (n && low) {
		[low, high].forEach(r => { r.max = count - 1; });
		low.oninput = () => pick(+low.value, max(sel[1], +low.value + 1));
		high.oninput = () => pick(min(sel[0], +high.value), +high.value + 1);
		$('all').onclick = () => pick(0, count);
		low.form.onsubmit = () => false;
		if (count < 2) low.form.hidden = true;
		all('.show').forEach(b => {
			b.onclick = () => {
				pick(floor((b.dataset.from - D.i0) / iw), Math.ceil((b.dataset.to - D.i0) / iw));
				$('timeline').scrollIntoView();
			};
		});
		const time = (kept.get('time') || '').split('-').map(Number);
		if (time.length === 2 && time.every(Number.isFinite)) choose(Math.round((time[0] - D.i0) / iw), Math.round((time[1] - D.i0) / iw));
		else choose(0, count);
		let wide = innerWidth;
		addEventListener('resize', () => { if (innerWidth !== wide) { wide = innerWidth; kinds.forEach(draw); zoom(); } }, off);
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => kinds.forEach(draw), off);
		off.signal.addEventListener('abort', () => kinds.forEach(k => k.plot && k.plot.destroy()));
	}

	if (!n || !low) tables();
	fold();
	phone.addEventListener('change', fold, off);
	if (location.hash.length > 1 && $(location.hash.slice(1))) {
		reveal(location.hash.slice(1));
		$(location.hash.slice(1)).scrollIntoView();
	}

	// Copying.
	all('.copy').forEach(b => {
		b.onclick = async () => {
			const code = b.previousElementSibling, old = b.firstChild.data;
			try {
				await navigator.clipboard.writeText(code.textContent);
				b.firstChild.data = 'Copied';
			} catch (e) {
				getSelection().selectAllChildren(code);
				b.firstChild.data = 'Selected';
			}
			setTimeout(() => { b.firstChild.data = old; }, 1500);
		};
	});

	// The bytes of a message, each field underlined in its colour, beside the list of fields.
	const bytesOf = m => {
		const raw = (m.b.match(/../g) || []).map(h => parseInt(h, 16)), owner = new Array(raw.length).fill(-1), fields = m.f || [];
		fields.forEach((f, i) => { for (let k = f[0]; k < f[0] + f[1] && k < raw.length; k++) if (owner[k] < 0) owner[k] = i; });
		const box = el('div', 'bytes'), hex = el('div', 'hex'), list = el('ol', 'fields'), value = el('p', 'value');
		const per = innerWidth < 736 ? 8 : 16, where = f => ' (' + f[1] + (f[1] > 1 ? ' bytes at ' : ' byte at ') + f[0] + ')', label = f => f[2] + ' = ' + f[3] + where(f);
		set(hex, { role: 'group', 'aria-label': 'Bytes, by field. Arrow keys move between fields.' });
		list.tabIndex = 0;
		list.setAttribute('aria-label', 'Fields');
		value.setAttribute('role', 'status');
		const parts = fields.map(() => []), firsts = [];
		for (let row = 0; row < raw.length; row += per) {
			const line = el('div'), text = el('span', 'as');
			line.append(el('span', 'off', row.toString(16).padStart(4, '0')));
			const stop = min(raw.length, row + per);
			for (let i = row; i < stop;) {
				let j = i;
				while (j < stop && owner[j] === owner[i]) j++;
				const h = el('span', '', raw.slice(i, j).map(b => b.toString(16).padStart(2, '0')).join(' '));
				const t = el('span', '', raw.slice(i, j).map(b => b > 31 && b < 127 ? String.fromCharCode(b) : '.').join(''));
				const o = owner[i];
				if (o >= 0) {
					h.className = t.className = 'f c' + o % 6;
					h.title = t.title = label(fields[o]);
					h.dataset.i = t.dataset.i = o;
					if (!parts[o].length) {
						set(h, { role: 'button', 'aria-label': h.textContent + ': ' + label(fields[o]) });
						h.tabIndex = firsts.length ? -1 : 0;
						firsts.push(h);
					}
					parts[o].push(h, t);
				}
				line.append(h, j < stop ? ' ' : '   '.repeat(row + per - stop));
				text.append(t);
				i = j;
			}
			line.append(text);
			hex.append(line);
		}
		fields.forEach((f, i) => {
			const li = el('li', 'c' + i % 6), v = el('span');
			v.append(el('bdi', '', f[3]));
			li.append(el('span', 'fn', f[2]), v);
			li.dataset.i = i;
			parts[i].push(li);
			list.append(li);
		});
		const mark = i => {
			all('.on', box).forEach(x => x.classList.remove('on'));
			parts[i].forEach(x => x.classList.add('on'));
			value.replaceChildren(el('code', '', fields[i][2]), ' = ', el('bdi', '', fields[i][3]), where(fields[i]));
		};
		const at = e => e.target.closest('[data-i]');
		box.addEventListener('mouseover', e => at(e) && mark(+at(e).dataset.i));
		box.addEventListener('focusin', e => at(e) && mark(+at(e).dataset.i));
		box.addEventListener('click', e => at(e) && mark(+at(e).dataset.i));
		hex.addEventListener('keydown', e => {
			const i = firsts.indexOf(e.target), step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -i, End: firsts.length - 1 - i }[e.key];
			const next = step === undefined ? null : firsts[i + step];
			if (!next) return;
			e.preventDefault();
			e.target.tabIndex = -1;
			next.tabIndex = 0;
			next.focus();
		});
		value.textContent = (raw.length < m.n ? 'The first ' + raw.length + ' of ' : '') + number(m.n) + ' bytes. Point at a field, or use the arrow keys.';
		box.append(hex, list, value);
		return box;
	};
	const open = d => {
		if (d.querySelector('.bytes')) return;
		const [i, k] = d.dataset.m.split(',').map(Number);
		d.append(bytesOf(D.talks[i][k]));
	};
	all('details[data-m]').forEach(d => d.addEventListener('toggle', () => d.open && open(d)));
	const first = document.querySelector('.talk .odd details[data-m]') || document.querySelector('.talk details[data-m]');
	if (first) first.open = true;

	return whole;
};
let off = new AbortController(), whole = page(off);

// What is written again is read again, if nobody works with it.
const { every, live } = document.documentElement.dataset;
if (every && live === undefined) setInterval(() => { if (whole() && document.activeElement === document.body) location.reload(); }, +every);
