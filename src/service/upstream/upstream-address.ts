import { isLoopback } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import { readUpstream } from '../../contract/upstream-address.ts'
import { maxSecretBytes, readNamedFile } from '../../system/files/read-named-file.ts'

export interface UpstreamOptions {
  /** The base URL, with `/v1` if the server has it, or a name that stands for one. */
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
  const base = readUpstream(options.url)
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

function readKey(file: string): string {
  const name = `The upstream key file ${file}`
  const bytes = readNamedFile(file, { name, maxBytes: maxSecretBytes, isSecret: true, kind: 'config' })
  const key = bytes.toString('utf8').trim()
  // RFC 6750 section 2.1: the characters of a bearer token.
  if (/^[A-Za-z0-9\-._~+/]+=*$/.test(key)) return key
  throw new Failure('config', `${file} must contain exactly one key`)
}
