'use strict';
// A worker runs the program once, for one task. Its files are the captures, of which it reads the pieces that it needs, and what the
// program writes, in memory.
onmessage = async ({ data: { module, task, files } }) => {
	let arrived;
	const sums = new Promise(resolve => { arrived = resolve; });
	onmessage = ({ data }) => arrived(encoder.encode(data));
	const encoder = new TextEncoder(), decoder = new TextDecoder();
	const away = new MessageChannel(), empty = new Uint8Array();
	away.port2.close();
	const made = new Map([['/out', null], ['/tmp', null]]); // folders are null
	const open = [, , ,];
	let read = 0, told = 0, errors = '';
	const inputs = new Map(task.Files.map((name, i) => [name, files[i]]));
	const total = files.reduce((n, f) => n + f.size, 0);

	// What the program prints waits until there is enough of it. What is sent ends with a line.
	let text = new Uint8Array(1 << 19), used = 0, sent = performance.now();
	const flush = end => {
		if (!end) return;
		const lines = text.slice(0, end);
		postMessage({ lines }, [lines.buffer]);
		text.copyWithin(0, end, used);
		used -= end;
		sent = performance.now();
	};
	const print = (fd, b) => {
		if (fd === 2) errors += decoder.decode(b);
		else {
			if (used + b.length > text.length) {
				const larger = new Uint8Array(2 * (used + b.length));
				larger.set(text.subarray(0, used));
				text = larger;
			}
			text.set(b, used);
			used += b.length;
			if (used > 3 << 16 || performance.now() - sent > 100) flush(text.lastIndexOf(10, used - 1) + 1);
		}
		return b.length;
	};
	// The program makes a buffer for each piece that it reads or writes: more than is collected in time.
	const free = buffer => { if (buffer.buffer.transfer) buffer.buffer.transfer(0); };
	const fail = code => Object.assign(new Error(code), { code });
	const clean = path => path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
	const find = path => {
		path = clean(path);
		if (inputs.has(path)) return { file: inputs.get(path) };
		if (path === '/' || path === '.' || path === '' || made.get(path) === null) return { folder: true };
		if (made.has(path)) return made.get(path);
		throw fail('ENOENT');
	};
	let number = 0;
	const stat = e => {
		e.ino = e.ino || ++number;
		const zero = { dev: 1, nlink: 1, uid: 0, gid: 0, rdev: 0, blksize: 4096, blocks: 0, atimeMs: 0, mtimeMs: 0, ctimeMs: 0 };
		return { ...zero, ino: e.ino, mode: e.folder ? 0o40700 : 0o100600, size: e.file ? e.file.size : e.size || 0, isDirectory: () => !!e.folder };
	};
	const grow = (e, size) => {
		if (size > e.bytes.length) {
			const larger = new Uint8Array(Math.max(size, 2 * e.bytes.length));
			larger.set(e.bytes.subarray(0, e.size));
			e.bytes = larger;
		}
		e.size = size;
	};
	// A piece of a file comes from another process, which takes a while: it is asked for while the program works on the piece before it.
	const ask = (e, from) => {
		e.asked = from;
		e.next = e.file.slice(from, from + PIECE).arrayBuffer();
		e.next.catch(() => {}); // said when it is needed
	};
	const fetched = async (e, from) => {
		if (e.asked !== from) ask(e, from);
		const bytes = await e.next;
		if (e.piece) away.port1.postMessage(0, [e.piece.buffer]); // its memory is given back at once
		e.piece = new Uint8Array(bytes);
		e.from = from;
		ask(e, from + PIECE);
	};
	const of = fd => { if (!open[fd]) throw fail('EBADF'); return open[fd]; };
	const WRITE = 1, CREATE = 64, EXCLUSIVE = 128, TRUNCATE = 512, APPEND = 1024, PIECE = 1 << 20;
	const calls = {
		open(path, flags) {
			let e;
			try {
				e = find(path);
				if (flags & EXCLUSIVE) throw fail('EEXIST');
			} catch (err) {
				if (err.code !== 'ENOENT' || !(flags & CREATE)) throw err;
				made.set(clean(path), e = { bytes: new Uint8Array(1 << 12), size: 0 });
			}
			if (e.file && flags & 3) throw fail('EACCES');
			if (flags & TRUNCATE && !e.file) e.size = 0;
			return open.push({ e, at: flags & APPEND ? e.size : 0 }) - 1;
		},
		close(fd) { delete open[of(fd) && fd]; },
		read(fd, buffer, offset, length, position) {
			const f = of(fd), { e } = f, from = position === null ? f.at : position;
			if (e.folder) throw fail('EISDIR');
			const ended = e.file && from >= e.file.size;
			if (e.file && !ended && !(from >= e.from && from < e.from + e.piece.length)) return fetched(e, from).then(() => calls.read(fd, buffer, offset, length, position));
			if (position === null) {
				if (f.buffer) free(f.buffer); // of the last time, which the program has copied
				f.buffer = buffer;
			}
			let b = empty;
			if (e.file && !ended) {
				b = e.piece.subarray(from - e.from, from - e.from + length);
				if (from + b.length > (e.read || 0)) {
					read += from + b.length - (e.read || 0);
					e.read = from + b.length;
				}
				if (performance.now() - told > 100) postMessage({ read, total, passed: told = performance.now() });
			} else if (!e.file) b = e.bytes.subarray(from, Math.min(e.size, from + length));
			buffer.set(b, offset);
			if (position === null) f.at += b.length;
			return b.length;
		},
		write(fd, buffer, offset, length, position) {
			const b = buffer.subarray(offset, offset + length);
			if (fd < 3) print(fd, b);
			else {
				const f = of(fd), at = position === null ? f.at : position;
				if (at + length > f.e.size) grow(f.e, at + length);
				f.e.bytes.set(b, at);
				if (position === null) f.at += length;
			}
			free(buffer);
			return length;
		},
		ftruncate(fd, size) { const { e } = of(fd), was = e.size; grow(e, size); if (size > was) e.bytes.fill(0, was, size); },
		fstat: fd => stat(fd < 3 ? {} : of(fd).e),
		stat: path => stat(find(path)),
		lstat: path => stat(find(path)),
		mkdir(path) { if (made.has(clean(path))) throw fail('EEXIST'); made.set(clean(path), null); },
		readdir: path => [...made.keys()].filter(k => k.startsWith(clean(path) + '/')).map(k => k.slice(clean(path).length + 1)).filter(k => !k.includes('/')),
		rename(from, to) { made.set(clean(to), find(from)); made.delete(clean(from)); },
		unlink(path) { if (!made.delete(clean(path))) throw fail('ENOENT'); },
		rmdir(path) { made.delete(clean(path)); },
		fsync() {}, chmod() {}, fchmod() {}, chown() {}, utimes() {},
		readlink() { throw fail('EINVAL'); },
	};
	globalThis.fs = { constants: { O_WRONLY: WRITE, O_RDWR: 2, O_CREAT: CREATE, O_TRUNC: TRUNCATE, O_APPEND: APPEND, O_EXCL: EXCLUSIVE, O_DIRECTORY: -1 }, writeSync: print };
	for (const [name, call] of Object.entries(calls)) {
		globalThis.fs[name] = (...args) => {
			const back = args.pop();
			const answer = () => {
				let value;
				try {
					value = call(...args);
				} catch (err) {
					back(err.code ? err : fail('EIO'));
					return;
				}
				if (value instanceof Promise) value.then(v => back(null, v), () => back(fail('EIO')));
				else back(null, value);
			};
			// The page makes this file meanwhile.
			if (args[0] === '/sums') sums.then(bytes => { made.set('/sums', { bytes, size: bytes.length }); answer(); });
			else answer();
		};
	}
	/* wasm_exec.js */
	const go = new Go();
	go.argv = ['web', JSON.stringify(task)];
	go.env = { TMPDIR: '/tmp' };
	let status = 0;
	go.exit = code => { status = code; };
	try {
		await go.run(await WebAssembly.instantiate(module, go.importObject));
	} catch (err) {
		status = 2;
		errors += err.message;
	}
	flush(used);
	const out = [];
	for (const [name, e] of made) if (e && name.startsWith('/out/')) out.push([name.slice(5), new Blob([e.bytes.subarray(0, e.size)])]);
	postMessage({ status, errors, out });
	close();
};
