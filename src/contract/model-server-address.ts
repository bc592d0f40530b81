import { Failure } from './failure.ts'
import { nearest } from './nearest-word.ts'

/** A model server at the address where it listens by default. */
export interface LocalModelServer {
  /** The value of the option. */
  id: string
  /** How a person is told of it. Other programs often listen on port 8080. */
  name: string
  url: string
}

export const localModelServers: readonly LocalModelServer[] = [
  { id: 'ollama', name: 'Ollama', url: 'http://127.0.0.1:11434/v1' },
  { id: 'llama.cpp', name: 'A model server on port 8080', url: 'http://127.0.0.1:8080/v1' },
  { id: 'lm-studio', name: 'LM Studio', url: 'http://127.0.0.1:1234/v1' },
]

/** Selects the built-in test program. */
export const noModelServer = 'none'

/** The names that can replace an address. */
export const modelServerNames: readonly string[] = [...localModelServers.map(({ id }) => id), noModelServer]

/**
 * The base URL of a model server, by its name or as it is.
 * @throws Failure `config` for anything else; the text is not repeated, because it may contain a password
 */
export function readModelServer(nameOrUrl: string): URL {
  const known = localModelServers.find(({ id }) => id === nameOrUrl)
  const text = known?.url ?? nameOrUrl.trim()
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash) {
    return url
  }
  const meant = nearest(nameOrUrl, modelServerNames)
  throw new Failure(
    'config',
    'The model server must be an http:// or https:// URL without credentials or a query',
    { advice: [{ code: 'model_server_address', meant }] },
  )
}

/** `ollama (http://127.0.0.1:11434/v1)`, or the URL alone. */
export function describeModelServer(url: string): string {
  const known = localModelServers.find((server) => server.url === url)
  return known ? `${known.id} (${url})` : url
}

/** The model ID of the built-in test program of the embedded service. No model server has it. */
export const testProgramModel = 'test-program'
