import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { Failure } from '../../contract/failure.ts'
import { isRecord, tryParse } from '../../contract/notation/exact-json.ts'

/** The key of sealed plans, and its source for messages. */
export interface SealKey {
  bytes: Buffer
  /** A flag with its file, or a variable. */
  from: string
}

const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
const keyBytes = 32

/** A new key as text: 32 random bytes in base64. */
export function makeSealKey(): string {
  return randomBytes(keyBytes).toString('base64')
}

/** @throws Failure `refused`, which never quotes the text */
export function readSealKey(text: string, from: string): SealKey {
  const bytes = Buffer.from(text.trim(), 'base64')
  if (bytes.length === keyBytes && bytes.toString('base64') === text.trim()) return { bytes, from }
  throw new Failure('refused', `${from} is not a seal key: ${keyBytes} bytes in base64`, {
    advice: [{ code: 'make_seal_key' }],
  })
}

/** Identifies a key. It reveals nothing about the key, which is random. */
function idOf({ bytes }: SealKey): string {
  return createHash('sha256').update('seal-key:').update(bytes).digest('hex').slice(0, 16)
}

interface Envelope {
  /** The format of the plan. */
  kind: string
  key_id: string
  nonce: Buffer
  /** The ciphertext, then the authentication tag. */
  data: Buffer
}

const beginningOf = (kind: string) => `{"format":"chatctl-sealed-plan","v":1,"kind":"${kind}",`

/** What is authenticated besides the nonce and the ciphertext: all text before them. */
function headerOf({ kind, key_id }: Pick<Envelope, 'kind' | 'key_id'>): string {
  return `${beginningOf(kind)}"key_id":"${key_id}"`
}

function composeEnvelope({ nonce, data, ...header }: Envelope): string {
  return `${headerOf(header)},"nonce":"${nonce.toString('base64')}","data":"${data.toString('base64')}"}\n`
}

/** Whether a text begins like a sealed plan, which may be changed or truncated. */
export function isSealed(text: string, kind: string): boolean {
  return text.startsWith(beginningOf(kind))
}

export function sealPlan(plan: string, kind: string, key: SealKey): string {
  const header = { kind, key_id: idOf(key) }
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key.bytes, nonce, { authTagLength: tagBytes })
  cipher.setAAD(Buffer.from(headerOf(header)))
  const data = Buffer.concat([cipher.update(plan, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return composeEnvelope({ ...header, nonce, data })
}

/**
 * The plan in a sealed one.
 * @param name of the file
 * @throws Failure `refused`: with the code `sealed` without a key, with `wrong_seal_key` for another key, or if any
 *   byte was changed
 */
export function unsealPlan(
  { name, text }: { name: string; text: string },
  kind: string,
  key: SealKey | undefined,
): string {
  const refuse = (words: string, code?: string) =>
    new Failure('refused', `${name} ${words}`, { code, advice: code ? [{ code: 'give_seal_key' }] : [] })
  if (key === undefined) throw refuse('is sealed, and no key was given', 'sealed')
  const parsed = tryParse(text)
  const { key_id, ...found }: Record<string, unknown> = isRecord(parsed) ? parsed : {}
  const [nonce, data] = [found['nonce'], found['data']].map((base64) => Buffer.from(`${base64}`, 'base64'))
  const envelope = { kind, key_id, nonce, data } as Envelope
  // JSON and base64 have several notations of a value. Only the one that sealing writes is valid.
  const isExact = composeEnvelope(envelope) === text
  if (isExact && key_id !== idOf(key)) {
    throw refuse(`was sealed with another key than that of ${key.from}`, 'wrong_seal_key')
  }
  const plan = isExact ? decrypt(envelope, key) : undefined
  if (plan === undefined) throw refuse('was changed or truncated after it was sealed')
  return plan
}

/** @returns undefined if the envelope is not authentic */
function decrypt({ nonce, data, ...header }: Envelope, key: SealKey): string | undefined {
  try {
    const decipher = createDecipheriv(algorithm, key.bytes, nonce, { authTagLength: tagBytes })
    decipher.setAAD(Buffer.from(headerOf(header))).setAuthTag(data.subarray(-tagBytes))
    return decipher.update(data.subarray(0, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined
  }
}
