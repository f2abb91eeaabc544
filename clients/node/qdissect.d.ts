/// <reference lib="esnext.disposable" />

/** The context of a test that ends the server: that of node:test, or of vitest. */
export interface TestContext {
  after?(fn: () => unknown): unknown
  onTestFinished?(fn: () => unknown): unknown
}

export interface ServeOptions {
  /** The server stops at the end of this test. Without it, call close(). */
  t?: TestContext
  /** The captured address of the server: "198.51.100.10:27015" or "27015". */
  server?: string | number
  /** false answers at once instead of after the captured time. */
  delay?: boolean
  /** Probabilities, from 0 to 1, that this happens to a datagram of a reply. */
  loss?: number
  duplicate?: number
  reorder?: number
  truncate?: number
  /** The same seed chooses the same datagrams. */
  seed?: number
  /** Further flags of qdissect serve. */
  arguments?: readonly string[]
}

/** A request with its outcome, as docs/serving-captures.md of qdissect describes it. */
export interface Exchange {
  type: 'exchange'
  from: string
  to: string
  protocol: string
  request: string
  result: 'answered' | 'challenged' | 'not_captured' | 'no_challenge' | 'withheld'
  reply?: string
  frame?: number
  datagrams: number
  bytes: number
  text: string
}

export interface Server {
  readonly host: string
  readonly port: number
  /** host:port. */
  readonly address: string
  /** The address in the capture. */
  readonly captured: string
  readonly protocols: string[]
  /** The requests so far; all of them after close(). */
  readonly exchanges: Exchange[]
  /** Their text. */
  readonly log: string
  /** Stops all servers of the capture. */
  close(): Promise<void>
  /** close(), for await using. Node.js 18.18 or newer. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Answers as a server in the capture did: the first one that answers in a known
 * protocol, or that of the option server.
 */
export function serve(capture: string | URL, options?: ServeOptions): Promise<Server>

/** Answers as all servers in the capture did. The map has them by their captured addresses. */
export function serveAll(capture: string | URL, options?: ServeOptions): Promise<Map<string, Server>>

export interface CheckOptions {
  /** Paths of values that may differ, such as "a2s.players[*].score". */
  ignore?: readonly string[]
  /** Counts times from the first packet. */
  relativeTime?: boolean
  /** Compares the wording as well. */
  strict?: boolean
  /** Writes the goldens; the default is the environment variable QDISSECT_UPDATE. */
  update?: boolean
}

/** Compares captures, or all captures of folders, with their goldens. */
export function check(paths: string | URL | readonly (string | URL)[], options?: CheckOptions): Promise<void>

/** qdissect is not installed, refuses its arguments, or cannot read a file. */
export class QdissectError extends Error {}

/** A capture differs from its golden, or has none. */
export class DifferenceError extends Error {
  code: 'ERR_ASSERTION'
}
