import { isLoopback } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import { maxSecretBytes, readNamedFile } from '../../system/read-named-file.ts'

export interface UpstreamOptions {
  /** The base URL, with `/v1` if the server has it, or the name of a preset. */
  url: string
  /** The key for the model server. The key of a client is never sent to it. */
  key?: string | undefined
  /** A file that holds the key. */
  keyFile?: string | undefined
}

/** The address of a model server, and the credential for it. */
export interface UpstreamAddress {
  base: URL
  key: string | undefined
  /** The key and the address, which servers and gateways quote in errors, and which clients must not see. */
  secrets: readonly string[]
}

/** @throws Failure `config` or `refused` for a URL or a key that cannot be used */
export function findUpstream(options: UpstreamOptions): UpstreamAddress {
  const base = parseBase(resolvePreset(options.url))
  const key = options.key ?? (options.keyFile === undefined ? undefined : readKey(options.keyFile))
  const local = isLoopback(base.hostname)
  if (key !== undefined && base.protocol === 'http:' && !local) {
    throw new Failure('refused', `The upstream key would be sent unencrypted to ${base.host}`, {
      hint: 'Use an https:// URL for a model server on another machine',
    })
  }
  const secrets = [key, base.host, base.hostname].filter((text) => text !== undefined)
  return { base, key, secrets }
}

function parseBase(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash) {
    return url
  }
  throw new Failure(
    'config',
    'The upstream must be an http:// or https:// URL without credentials or a query',
    { advice: [{ code: 'upstream_address' }] },
  )
}

function readKey(file: string): string {
  const name = `The upstream key file ${file}`
  const bytes = readNamedFile(file, { name, maxBytes: maxSecretBytes, isSecret: true, kind: 'config' })
  const key = bytes.toString('utf8').trim()
  // RFC 6750 section 2.1: the characters of a bearer token.
  if (/^[A-Za-z0-9\-._~+/]+=*$/.test(key)) return key
  throw new Failure('config', `${file} must contain exactly one key`)
}

/** Local model servers at their default ports. */
export const presets = {
  ollama: 'http://127.0.0.1:11434/v1',
  'llama.cpp': 'http://127.0.0.1:8080/v1',
  'lm-studio': 'http://127.0.0.1:1234/v1',
} as const

/** The base URL of a preset; any other text is returned as it is. */
export function resolvePreset(nameOrUrl: string): string {
  return Object.hasOwn(presets, nameOrUrl) ? presets[nameOrUrl as keyof typeof presets] : nameOrUrl
}
