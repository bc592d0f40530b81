import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { syncDirectory } from '../../system/files/replace-file.ts'
import { ApiError } from '../api-error.ts'

/** In the data directory and not in the database, so that a backup or a dump does not contain it. */
const keyFile = 'second-factor.key'
const algorithm = 'aes-256-gcm'
const nonceLength = 12
const tagLength = 16

/** Encrypts the secrets of second factors, so that the database alone does not reveal codes. */
export class SecondFactorCipher {
  readonly #file: string
  #known: { key: Buffer; id: string } | undefined

  /** @param directory the data directory, where the key is created when it is first needed */
  constructor(directory: string) {
    this.#file = join(directory, keyFile)
  }

  /** @param userId bound to the secret, so that it cannot be used in the row of another user */
  encrypt(secret: string, userId: string): string {
    this.#known ??= readKey(this.#file, true)
    const { key, id } = this.#known
    const nonce = randomBytes(nonceLength)
    const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(userId))
    const encrypted = Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()])
    return `${id}.${encrypted.toString('base64url')}`
  }

  /**
   * @param stored the result of `encrypt`
   * @throws ApiError `internal_error` if the encryption key is missing
   */
  decrypt(stored: string, userId: string): string {
    const [keyId = '', text = ''] = stored.split('.')
    try {
      // Does not create a key, because an administrator may restore the missing one.
      this.#known ??= readKey(this.#file, false)
      const { key, id } = this.#known
      if (keyId !== id) throw new Error(`${this.#file} is key ${id}, not ${keyId}`)
      const bytes = Buffer.from(text, 'base64url')
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceLength))
      decipher.setAAD(Buffer.from(userId)).setAuthTag(bytes.subarray(-tagLength))
      return (
        decipher.update(bytes.subarray(nonceLength, -tagLength), undefined, 'utf8') + decipher.final('utf8')
      )
    } catch (cause) {
      throw new ApiError(
        'internal_error',
        'The second factor cannot be checked because its encryption key is missing. Ask an administrator to reset it',
        { cause },
      )
    }
  }
}

function readKey(file: string, createIfMissing: boolean): { key: Buffer; id: string } {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (!createIfMissing || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    text = makeKey(file)
  }
  const key = Buffer.from(text.trim(), 'base64url')
  if (key.length !== 32) throw new Error(`${file} does not contain a key of 32 bytes`)
  return { key, id: createHash('sha256').update(key).digest('hex').slice(0, 12) }
}

/** One of several processes creates the key. The file is complete and flushed to disk before it gets its name. */
function makeKey(file: string): string {
  const aside = `${file}.${process.pid}.tmp`
  const descriptor = openSync(aside, 'w', 0o600)
  try {
    writeFileSync(descriptor, `${randomBytes(32).toString('base64url')}\n`)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  try {
    linkSync(aside, file)
    syncDirectory(join(file, '..'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(aside, { force: true })
  }
  return readFileSync(file, 'utf8')
}
