'use strict';
// A page that is served shows what is new in place of what it had, but for what its reader has opened, and where they are.
{
	const all = q => Array.from(document.querySelectorAll(q)), one = q => document.querySelector(q);
	// A path leads to an element that was there before: by its name, or its place below one with a name.
	const path = e => {
		if (!e || e === document.body) return 'body';
		return e.id ? '#' + e.id : path(e.parentElement) + '>:nth-child(' + (Array.from(e.parentElement.children).indexOf(e) + 1) + ')';
	};
	const swap = next => {
		const is = document.activeElement, at = path(is), caret = is.type === 'search' ? is.selectionStart : null, y = scrollY;
		const details = all('details').map(d => [path(d), d.open]), shut = all('main > section').map(s => [s.id, s.classList.contains('shut')]);
		off.abort();
		['header', 'nav', 'main', '#data'].forEach(q => one(q).replaceWith(document.adoptNode(next.querySelector(q))));
		document.title = next.title;
		off = new AbortController();
		page(off);
		all('.all-verdicts button').forEach(b => { b.hidden = document.documentElement.classList.contains('verdicts'); });
		shut.forEach(([id, was]) => {
			const s = document.getElementById(id), b = s && s.querySelector(':scope > h2 .fold');
			if (b && s.classList.contains('shut') !== was) b.click();
		});
		details.forEach(([p, open]) => { const d = one(p); if (d && d.tagName === 'DETAILS') d.open = open; });
		const e = one(at);
		if (e && e !== document.body) e.focus({ preventScroll: true });
		if (e && caret !== null && e.type === 'search') e.setSelectionRange(caret, caret);
		scrollTo(0, y);
	};
	const say = text => { document.getElementById('live').textContent = text; };
	let held = false, asked = false, ended = false;
	const fresh = () => {
		if (asked) return;
		asked = true;
		const r = new XMLHttpRequest();
		r.open('GET', location.pathname + location.search);
		r.responseType = 'document';
		r.onload = () => { if (r.status === 200 && !held && getSelection().isCollapsed) swap(r.response); }; // not while something is dragged or marked
		r.onloadend = () => { asked = false; if (ended) say('the capture has ended'); };
		r.send();
	};
	addEventListener('pointerdown', () => { held = true; });
	['pointerup', 'pointercancel'].forEach(t => addEventListener(t, () => { held = false; }));
	const source = new EventSource('events' + location.search);
	source.onmessage = fresh;
	source.onopen = () => say('live');
	source.onerror = () => say('no connection');
	source.addEventListener('end', () => { ended = true; source.close(); say('the capture has ended'); });
}
