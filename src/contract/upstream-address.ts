import { Failure } from './failure.ts'
import { nearest } from './nearest-word.ts'

/** A model server at the address where it listens by default. */
export interface LocalModelServer {
  /** The value of the option. */
  upstream: string
  /** How a person is told of it. Other programs often listen on port 8080. */
  name: string
  url: string
}

export const localModelServers: readonly LocalModelServer[] = [
  { upstream: 'ollama', name: 'Ollama', url: 'http://127.0.0.1:11434/v1' },
  { upstream: 'llama.cpp', name: 'A model server on port 8080', url: 'http://127.0.0.1:8080/v1' },
  { upstream: 'lm-studio', name: 'LM Studio', url: 'http://127.0.0.1:1234/v1' },
]

/** Selects the built-in test program. */
export const noUpstream = 'none'

/** The names that stand for an address. */
export const upstreamNames: readonly string[] = [
  ...localModelServers.map(({ upstream }) => upstream),
  noUpstream,
]

/**
 * The base URL of a model server, by its name or as it is.
 *
 * @throws Failure `config` for anything else; the text is not repeated, because it may contain a password
 */
export function readUpstream(nameOrUrl: string): URL {
  const known = localModelServers.find(({ upstream }) => upstream === nameOrUrl)
  const text = known?.url ?? nameOrUrl.trim()
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash) {
    return url
  }
  const meant = nearest(nameOrUrl, upstreamNames)
  throw new Failure(
    'config',
    'The upstream must be an http:// or https:// URL without credentials or a query',
    { advice: [{ code: 'upstream_address', meant }] },
  )
}

/** `ollama (http://127.0.0.1:11434/v1)`, or the URL alone. */
export function describeUpstream(url: string): string {
  const known = localModelServers.find((server) => server.url === url)
  return known ? `${known.upstream} (${url})` : url
}

/** The model ID of the built-in test program of the embedded service. No model server has it. */
export const testProgramModel = 'offline'
