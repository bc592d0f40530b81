import { readFile } from 'node:fs/promises'
import { type Dispatcher, Pool } from 'undici'
import { isLoopback } from '../../contract/base-url.ts'
import { Failure } from '../../failure.ts'
import { resolvePreset } from './presets.ts'
import { refuseStatus, toRefusal } from './upstream-refusal.ts'

export interface UpstreamOptions {
  /** The base URL, `/v1` included where the server has it; or the name of a preset. */
  url: string
  /** The model server's own key. A caller's key never goes there. */
  key?: string | undefined
  /** A file that holds the key. */
  keyFile?: string | undefined
}

/** All in ms. */
export interface UpstreamTimeouts {
  connect: number
  /** To the head of a streamed answer: a model may have to be loaded first. */
  firstByte: number
  /** To the head of a whole answer: servers send it when the last token is there. */
  whole: number
  /** Between two pieces of a body. */
  idle: number
}

export const defaultTimeouts: UpstreamTimeouts = {
  connect: 10_000,
  firstByte: 300_000,
  whole: 600_000,
  idle: 120_000,
}

/** A connection to one model server, over which nothing but JSON and event streams goes. */
export interface ModelServer {
  /** The server's origin, where a caller may know it: on this machine. */
  shownAs: string | undefined
  /** @throws Refusal `upstream_error`, `upstream_timeout`, `model_not_found`; the signal's reason */
  get(path: string, signal: AbortSignal): Promise<Dispatcher.ResponseData>
  post(
    path: string,
    body: { stream: boolean; model: string },
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData>
  close(): Promise<void>
}

/** @throws Failure `config` or `refused` for a URL or a key that cannot be used */
export async function connectModelServer(
  options: UpstreamOptions,
  timeouts: UpstreamTimeouts,
): Promise<ModelServer> {
  const base = parseBase(resolvePreset(options.url))
  const key = options.key ?? (options.keyFile === undefined ? undefined : await readKey(options.keyFile))
  const local = isLoopback(base.hostname)
  if (key !== undefined && base.protocol === 'http:' && !local) {
    throw new Failure('refused', `The upstream key would leave unencrypted for ${base.host}`, {
      hint: 'Use an https:// URL for a model server on another machine',
    })
  }
  const shownAs = local ? base.origin : undefined
  const prefix = base.pathname.replace(/\/+$/, '')
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
  // The pool is large and only wanted here, so it is loaded only with an upstream.
  const pool = new Pool(base.origin, { connect: { timeout: timeouts.connect }, bodyTimeout: timeouts.idle })

  async function send(
    path: string,
    options: Pick<Dispatcher.RequestOptions, 'method' | 'headersTimeout'> & { body?: string; model?: string },
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { model, body, ...rest } = options
    const headers = {
      accept: 'application/json',
      ...authorization,
      ...(body && { 'content-type': 'application/json' }),
    }
    try {
      const answer = await pool.request({
        ...rest,
        path: `${prefix}${path}`,
        headers,
        body: body ?? null,
        signal,
      })
      if (answer.statusCode >= 200 && answer.statusCode < 300) return answer
      throw await refuseStatus(answer, model)
    } catch (error) {
      throw toRefusal(error, signal, shownAs)
    }
  }

  return {
    shownAs,
    get: (path, signal) => send(path, { method: 'GET', headersTimeout: timeouts.firstByte }, signal),
    post: (path, body, signal) =>
      send(
        path,
        {
          method: 'POST',
          headersTimeout: body.stream ? timeouts.firstByte : timeouts.whole,
          body: JSON.stringify(body),
          model: body.model,
        },
        signal,
      ),
    close: () => pool.destroy(),
  }
}

function parseBase(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash) {
    return url
  }
  throw new Failure(
    'config',
    'The upstream must be an http:// or https:// URL without credentials or a query',
    {
      hint: 'For example: --upstream http://127.0.0.1:11434/v1, or the preset --upstream ollama',
    },
  )
}

async function readKey(file: string): Promise<string> {
  let key: string
  try {
    key = (await readFile(file, 'utf8')).trim()
  } catch (cause) {
    throw new Failure('config', `The upstream key cannot be read from ${file}`, { cause })
  }
  // RFC 6750 section 2.1: what may stand behind "Bearer".
  if (/^[A-Za-z0-9\-._~+/]+=*$/.test(key)) return key
  throw new Failure('config', `${file} does not hold one key and nothing else`)
}
