import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { linkSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { removeQuietly, syncDirectory, temporaryPath } from '../../system/files/replace-file.ts'
import { ApiError } from '../api-error.ts'

/** In the data directory and not in the database, so that a backup or a dump does not contain it. */
const keyFile = 'second-factor.key'
const algorithm = 'aes-256-gcm'
const nonceLength = 12
const tagLength = 16

/** Encrypts the secrets of second factors, so that the database alone does not reveal codes. */
export class SecondFactorCipher {
  readonly #file: string
  #key: Buffer | undefined

  /** @param directory the data directory, where the key is created when it is first needed */
  constructor(directory: string) {
    this.#file = join(directory, keyFile)
  }

  /** @param userId bound to the secret, so that it cannot be used in the row of another user */
  encrypt(secret: string, userId: string): string {
    this.#key ??= readKey(this.#file, true)
    const nonce = randomBytes(nonceLength)
    const cipher = createCipheriv(algorithm, this.#key, nonce).setAAD(Buffer.from(userId))
    const encrypted = Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()])
    return encrypted.toString('base64url')
  }

  /** @param stored the result of `encrypt` @throws ApiError `internal_error` if the encryption key is missing */
  decrypt(stored: string, userId: string): string {
    try {
      // Does not create a key, because an admin may restore the missing one.
      this.#key ??= readKey(this.#file, false)
      const bytes = Buffer.from(stored, 'base64url')
      const decipher = createDecipheriv(algorithm, this.#key, bytes.subarray(0, nonceLength))
      decipher.setAAD(Buffer.from(userId)).setAuthTag(bytes.subarray(-tagLength))
      return (
        decipher.update(bytes.subarray(nonceLength, -tagLength), undefined, 'utf8') + decipher.final('utf8')
      )
    } catch (cause) {
      throw new ApiError(
        'internal_error',
        'The second factor cannot be checked because its encryption key is missing. Ask an admin to reset it',
        { cause },
      )
    }
  }
}

function readKey(file: string, createIfMissing: boolean): Buffer {
  try {
    const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64url')
    if (key.length === 32) return key
  } catch (error) {
    if (!createIfMissing || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    createKey(file)
    return readKey(file, false)
  }
  throw new Error(`${file} does not contain a key of 32 bytes`)
}

/** One of several processes creates the key, because a link, unlike a rename, never replaces a file. */
function createKey(file: string): void {
  const temporary = temporaryPath(file)
  const key = randomBytes(32).toString('base64url')
  try {
    writeFileSync(temporary, `${key}\n`, { flag: 'wx', mode: 0o600, flush: true })
    linkSync(temporary, file)
    syncDirectory(dirname(file))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    removeQuietly(temporary)
  }
}
