// A small duckdb shell for tests, on @duckdb/node-api: duckdb [-init FILE] [-c SQL]... [DATABASE].
// Without -c it reads standard input. Each statement that returns rows prints them as arrays of JSON.
const fs = require('fs');
const { DuckDBInstance } = require(process.env.QDISSECT_DUCKDB);

async function main(args) {
	let name = ':memory:', scripts = [], commands = [];
	for (let i = 0; i < args.length; i++) {
		if (args[i] === '-init') scripts.push(fs.readFileSync(args[++i], 'utf8'));
		else if (args[i] === '-c') commands.push(args[++i]);
		else if (args[i].startsWith('-')) throw new Error('unknown option ' + args[i]);
		else name = args[i];
	}
	if (commands.length === 0) commands.push(fs.readFileSync(0, 'utf8'));
	const connection = await (await DuckDBInstance.create(name)).connect();
	for (const [k, sql] of scripts.concat(commands).entries()) {
		const statements = await connection.extractStatements(sql);
		for (let i = 0; i < statements.count; i++) {
			const result = await (await statements.prepare(i)).runAndReadAll();
			if (k >= scripts.length) process.stdout.write(JSON.stringify(result.getRowsJson()) + '\n');
		}
	}
	connection.closeSync();
}

main(process.argv.slice(2)).catch((err) => { console.error(err.message); process.exit(1); });
