// Tests query libraries against captures of game servers. README.md shows how.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** qdissect is not installed, refuses its arguments, or cannot read a file. */
export class QdissectError extends Error {
  name = 'QdissectError'
}

/** A capture differs from its golden, or has none. */
export class DifferenceError extends Error {
  name = 'DifferenceError'
  code = 'ERR_ASSERTION' // test runners show it as a failed assertion
}

/** Answers as a server in the capture did, until close() or the end of the test t. */
export async function serve (capture, options = {}) {
  const servers = await serveAll(capture, options)
  return servers.values().next().value
}

/** Answers as all servers in the capture did. The map has them by their captured addresses. */
export async function serveAll (capture, options = {}) {
  const { t, server, delay = true, loss = 0, duplicate = 0, reorder = 0, truncate = 0, seed, arguments: more = [] } = options
  const after = t?.after ?? t?.onTestFinished // node:test; vitest
  if (t && !after) throw new TypeError('option t is not the context of a test: it has no after()')
  const args = ['serve', '--format', 'jsonl', '--until-eof', '--rate', '1000000']
  if (server !== undefined) args.push('--server', String(server))
  if (!delay) args.push('--no-delay')
  for (const [flag, value] of Object.entries({ loss, duplicate, reorder, truncate })) {
    if (value) args.push(`--${flag}`, String(value))
  }
  if (seed !== undefined) args.push('--seed', String(seed))
  const run = start([...args, ...more, '--', pathOf(capture)])

  const lines = createInterface({ input: run.child.stdout })
  const exchanges = []
  const first = await new Promise((resolve, reject) => {
    let started = false
    lines.on('line', (text) => {
      const line = JSON.parse(text)
      if (!started) {
        started = true
        resolve(line)
      } else if (line.type === 'exchange') {
        exchanges.push(line)
      }
    })
    run.ended.then(() => reject(new QdissectError(message(run.stderr))), reject)
  })

  // A test that forgets to close the server ends all the same, and serve with it.
  for (const handle of [run.child, run.child.stdin, run.child.stdout, run.child.stderr]) handle.unref()

  let closing
  const close = () => {
    closing ??= (async () => {
      for (const handle of [run.child, run.child.stdout, run.child.stderr]) handle.ref()
      run.child.stdin.end()
      const timer = setTimeout(() => run.child.kill('SIGKILL'), 10_000)
      await run.ended.finally(() => clearTimeout(timer))
      if (run.stderr) process.emitWarning(message(run.stderr), 'QdissectWarning')
    })()
    return closing
  }
  const servers = new Map()
  for (const { address, host, port, captured, protocols } of first.servers) {
    servers.set(captured, {
      address,
      host,
      port,
      captured,
      protocols,
      close,
      get exchanges () { return exchanges.filter((e) => e.to === address) },
      get log () { return this.exchanges.map((e) => e.text).join('\n') },
      ...(Symbol.asyncDispose && { [Symbol.asyncDispose]: close })
    })
  }
  after?.call(t, async () => {
    await close()
    if (t.error && t.diagnostic) { // node:test has it since 20.12
      t.diagnostic(`qdissect served ${capture} and received ${exchanges.length ? 'these requests:' : 'no request'}`)
      for (const text of folded(exchanges.map((e) => e.text))) t.diagnostic(text)
    }
  })
  return servers
}

/** Compares captures, or all captures of folders, with their goldens. */
export async function check (paths, options = {}) {
  const { ignore = [], relativeTime = false, strict = false } = options
  const update = options.update ?? !['', '0', 'false', undefined].includes(process.env.QDISSECT_UPDATE)
  const args = ['check']
  if (update) args.push('--update')
  if (relativeTime) args.push('--relative-time')
  if (strict) args.push('--strict')
  for (const path of ignore) args.push('--ignore', path)
  const run = start([...args, '--', ...[paths].flat().map(pathOf)])
  run.child.stdin.end()
  let out = ''
  run.child.stdout.setEncoding('utf8').on('data', (text) => { out += text })
  const status = await run.ended
  out = out.trim()
  if (status === 1) throw new DifferenceError(`${out}\nIf it is right as it is now: run the test with QDISSECT_UPDATE=1`)
  if (status !== 0) throw new QdissectError([out, message(run.stderr)].filter(Boolean).join('\n'))
}

function start (args) {
  const program = process.env.QDISSECT_BIN || 'qdissect'
  const child = spawn(program, args, { windowsHide: true })
  const run = { child, stderr: '' }
  child.stderr.setEncoding('utf8').on('data', (text) => { run.stderr += text })
  child.stdin.on('error', () => {}) // it has ended before
  const failed = once(child, 'error').then(([error]) => {
    throw new QdissectError(error.code === 'ENOENT' && !process.env.QDISSECT_BIN
      ? 'the program qdissect is not in PATH, and QDISSECT_BIN is not set; ' +
        'go install github.com/qdissect/qdissect/cmd/qdissect@latest installs it'
      : `${program}: ${error.message}`)
  })
  run.ended = Promise.race([once(child, 'close').then(([status]) => status), failed])
  run.ended.catch(() => {}) // whoever waits gets it
  return run
}

// Clients that take every reply for a challenge ask for ever.
function folded (texts) {
  const log = []
  let equal = 0
  texts.forEach((text, i) => {
    if (text === texts[i - 1]) equal++
    else log.push(text)
    if (equal && text !== texts[i + 1]) {
      log.push(`… ${equal} more like this`)
      equal = 0
    }
  })
  return log.length > 100 ? [...log.slice(0, 100), '… further requests are not shown'] : log
}

function pathOf (path) {
  return path instanceof URL ? fileURLToPath(path) : String(path)
}

function message (text) {
  return text.trim().replace(/^qdissect: /gm, '') || 'qdissect ended without a message'
}
