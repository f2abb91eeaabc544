// Tests of the module: node --test in this folder. They build the program of this
// checkout unless QDISSECT_BIN is set.
import assert from 'node:assert'
import { execFile, execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { check, DifferenceError, QdissectError, serve, serveAll } from './qdissect.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const pcaps = join(root, 'testdata', 'pcaps')
const source = join(pcaps, 'a2s', 'source.pcap')
const many = join(pcaps, 'quake3-master', 'q3-master-dpmaster.pcap')
const dir = mkdtempSync(join(tmpdir(), 'qdissect'))
const INFO = Buffer.from('\xff\xff\xff\xffTSource Engine Query\0', 'latin1')
const RULES = Buffer.from('\xff\xff\xff\xffV', 'latin1')

before(() => {
  delete process.env.QDISSECT_UPDATE
  if (process.env.QDISSECT_BIN) return
  process.env.QDISSECT_BIN = join(dir, 'qdissect.exe')
  execFileSync('go', ['build', '-o', process.env.QDISSECT_BIN, './cmd/qdissect'], { cwd: root, stdio: 'inherit' })
})
after(() => rmSync(dir, { recursive: true }))

// The function of a query library. It is also what the README's example imports.
const mylib = `
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
export async function info (host, port) {
  const socket = createSocket('udp4')
  const ask = async (request) => {
    socket.send(request, port, host)
    return (await once(socket, 'message', { signal: AbortSignal.timeout(10_000) }))[0]
  }
  const question = Buffer.from('ffffffff54536f7572636520456e67696e6520517565727900', 'hex')
  const challenge = await ask(question)
  const reply = await ask(Buffer.concat([question, challenge.subarray(5)]))
  socket.close()
  const [name, map] = reply.subarray(6).toString('latin1').split('\\0')
  return { name, map }
}
`

// ask sends a datagram and returns n replies.
async function ask (t, { host, port }, request, n) {
  const socket = createSocket('udp4')
  t.after(() => socket.close())
  const replies = []
  const done = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${replies.length} of ${n} replies`)), 10_000)
    socket.on('message', (b) => {
      if (replies.push(b) === n) {
        clearTimeout(timer)
        resolve()
      }
    })
  })
  socket.send(request, port, host)
  await done
  return replies
}

test('README', async () => {
  // The example runs as it is, in a project that has a copy of the module and has
  // installed it: npm makes a link.
  const project = join(dir, 'project')
  mkdirSync(join(project, 'testdata'), { recursive: true })
  mkdirSync(join(project, 'node_modules'), { recursive: true })
  mkdirSync(join(project, 'lib'), { recursive: true })
  const [, copied] = readFileSync(join(root, 'clients', 'node', 'README.md'), 'utf8').match(/Copy (.*?)\s+into a folder/s)
  for (const [, name] of copied.matchAll(/`(.*?)`/g)) copyFileSync(join(root, 'clients', 'node', name), join(project, 'lib', name))
  symlinkSync(join(project, 'lib'), join(project, 'node_modules', 'qdissect'), 'junction')
  copyFileSync(source, join(project, 'testdata', 'server.pcap'))
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
  writeFileSync(join(project, 'mylib.js'), mylib)
  const env = { ...process.env }
  delete env.NODE_TEST_CONTEXT
  const readme = 'clients/node/README.md'
  const run = (map) => {
    const blocks = [...readFileSync(join(root, readme), 'utf8').matchAll(/```js\n(.*?)```/gs)].map((m) => m[1]).filter((b) => b.includes("from 'qdissect'"))
    assert.equal(blocks.length, 1, readme)
    writeFileSync(join(project, 'info.test.js'), blocks[0].replace('ctf_2fort', map))
    return promisify(execFile)(process.execPath, ['--test', '--test-reporter=spec'], { cwd: project, env })
  }
  const { stdout } = await run('ctf_2fort')
  assert.match(stdout, /pass 1\n/)
  assert.doesNotMatch(stdout, /A2S/)
  await assert.rejects(run('de_dust'), ({ stdout }) =>
    /fail 1\n/.test(stdout) && /qdissect served testdata\/server\.pcap and received these requests:/.test(stdout) &&
    /A2S {2}info request {2}challenge -?\d+ → info reply/.test(stdout))
})

test('types', async (t) => {
  const tsc = process.env.QDISSECT_TSC
  if (!tsc) return t.skip('QDISSECT_TSC does not name a TypeScript compiler')
  writeFileSync(join(dir, 'types.ts'), `
    import { serve, serveAll, check, DifferenceError, type Server } from ${JSON.stringify(join(root, 'clients', 'node', 'qdissect.js'))}
    declare const t: { after(fn: () => void): void, name: string }
    const { host, port }: { host: string, port: number } = await serve('x.pcap', { t, duplicate: 1, server: 27015 })
    const all: Map<string, Server> = await serveAll(new URL('file:///x.pcap'))
    for (const e of all.get('x')!.exchanges) if (e.result === 'not_captured') console.log(e.text, host, port)
    await check(['a', 'b'], { ignore: ['rtt_ns'] }).catch((e: DifferenceError) => e.code)
    { await using one = await serve('x.pcap'); console.log(one.address) }
    // @ts-expect-error
    await serve('x.pcap', { duplicates: 1 })
    export {}
  `)
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({
    compilerOptions: { strict: true, noEmit: true, target: 'es2022', lib: ['es2022', 'dom'], module: 'nodenext', types: [] }, files: ['types.ts']
  }))
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  await promisify(execFile)(process.execPath, [tsc, '-p', dir]).catch((e) => assert.fail(e.stdout))
})

test('splits, duplicated', async (t) => {
  const server = await serve(join(pcaps, 'a2s', 'a2s-goldsrc-split.pcap'), { t, delay: false, duplicate: 1, seed: 1 })
  const [challenge, again] = await ask(t, server, Buffer.concat([RULES, Buffer.alloc(4, 0xff)]), 2)
  assert.deepEqual(challenge, again)
  const parts = await ask(t, server, Buffer.concat([RULES, challenge.subarray(5)]), 8)
  assert.deepEqual(parts.map((b) => b[8]), [0x04, 0x04, 0x14, 0x14, 0x24, 0x24, 0x34, 0x34])
  await server[Symbol.asyncDispose]()
  await server.close()
  assert.deepEqual(server.exchanges.map((e) => e.result), ['challenged', 'answered'])
  assert.match(server.log, /rules reply {2}149 rules/)
  assert.deepEqual(server.protocols, ['a2s', 'halflife'])
  const socket = createSocket('udp4').bind(server.port, server.host) // it has ended
  await once(socket, 'listening')
  socket.close()
})

test('several servers', async (t) => {
  const servers = await serveAll(pathToFileURL(many), { t, delay: false })
  assert.equal(servers.size, 9)
  const [reply] = await ask(t, servers.get('10.77.0.1:27960'), Buffer.from('\xff\xff\xff\xffgetinfo mine', 'latin1'), 1)
  assert.match(reply.toString('latin1'), /OA 27960/)
  const one = await serve(many, { server: '10.77.0.22:27962', arguments: ['--listen', '127.0.0.1'] })
  assert.equal(one.captured, '10.77.0.22:27962')
  await one.close()
})

test('a server that is not closed', async () => {
  const script = `import { serve } from ${JSON.stringify(pathToFileURL(join(root, 'clients', 'node', 'qdissect.js')))}
    console.log((await serve(${JSON.stringify(source)})).port)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { timeout: 20_000 })
  for (let i = 0; ; i++) { // serve ends with it
    const socket = createSocket('udp4').bind(Number(stdout), '127.0.0.1')
    const [error] = await Promise.race([once(socket, 'listening').then(() => []), once(socket, 'error')])
    if (!error) {
      socket.close()
      break
    }
    assert.ok(i < 100, 'serve outlives the program that started it')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
})

test('trouble', async () => {
  await assert.rejects(serve('nowhere.pcap'), (e) => e instanceof QdissectError && /^nowhere\.pcap: /.test(e.message))
  await assert.rejects(serve(source, { server: '192.0.2.1:1' }), /no such server answers in the capture/)
  await assert.rejects(serve(source, { t: {} }), /option t is not the context of a test/)
  const { QDISSECT_BIN: program, PATH: path } = process.env
  try {
    process.env.QDISSECT_BIN = join(dir, 'none')
    await assert.rejects(check('x'), /none: /)
    process.env.QDISSECT_BIN = process.env.PATH = ''
    await assert.rejects(serve('x'), /not in PATH.*go install/)
  } finally {
    Object.assign(process.env, { QDISSECT_BIN: program, PATH: path })
  }
})

test('a damaged capture', async (t) => {
  const short = join(dir, 'short.pcap')
  writeFileSync(short, readFileSync(source).subarray(0, 1500))
  const warned = once(process, 'warning')
  const server = await serve(short, { delay: false })
  assert.equal((await ask(t, server, INFO, 1))[0][4], 0x41)
  await server.close()
  assert.match((await warned)[0].message, /cut short/)
})

test('check', async () => {
  const folder = join(dir, 'check')
  mkdirSync(folder)
  const capture = join(folder, 'x.pcap')
  copyFileSync(source, capture)
  await assert.rejects(check(folder), (e) => e instanceof DifferenceError && /no golden/.test(e.message))
  process.env.QDISSECT_UPDATE = '1'
  await check(folder)
  delete process.env.QDISSECT_UPDATE
  await check([capture], { strict: true })
  writeFileSync(capture, Buffer.from(readFileSync(source, 'latin1').replace('ctf_2fort', 'ctf_3fort'), 'latin1'))
  await assert.rejects(check(folder), /a2s\.map: "ctf_2fort" → "ctf_3fort"[^]*QDISSECT_UPDATE=1/)
  await check(folder, { ignore: ['**.map'], relativeTime: true })
  await assert.rejects(check([folder, 'nowhere']), (e) => e instanceof QdissectError && /nowhere/.test(e.message))
})
