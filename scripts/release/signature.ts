import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The signatures of releases: `SHASUMS256.txt.sig`, which `ssh-keygen -Y sign` writes. */

/** Identity in the file of the public keys, and namespace of the signatures. */
const signer = 'chatctl-release'
const file = join(import.meta.dirname, 'allowed_signers')

/**
 * @param text content of scripts/release/allowed_signers
 * @returns the lines with public keys
 */
export function readSigners(text = readFileSync(file, 'utf8')): string {
  const lines = text.split('\n').filter((line) => line.startsWith(`${signer} `))
  if (lines.length === 0)
    throw new Error(
      'scripts/release/allowed_signers contains no key. CONTRIBUTING.md, "Signing key", says how to add one.',
    )
  return lines.join('\n')
}

/**
 * Writes `SHASUMS256.txt.sig`.
 *
 * @param directory contains SHASUMS256.txt
 * @param key private key
 * @param signers lines with public keys
 */
export function signRelease(directory: string, key: string, signers: string): void {
  const sums = readFileSync(join(directory, 'SHASUMS256.txt'))
  const temporary = mkdtempSync(join(tmpdir(), 'chatctl-sign-'))
  const path = (name: string, content: string | Buffer): string => {
    writeFileSync(join(temporary, name), content, { mode: 0o600 })
    return join(temporary, name)
  }
  const run = (...args: string[]) => execFileSync('ssh-keygen', args, { input: sums, stdio: 'pipe' })
  try {
    const signature = run('-Y', 'sign', '-n', signer, '-f', path('key', `${key.trim()}\n`))
    const verify = ['-Y', 'verify', '-n', signer, '-I', signer]
    run(...verify, '-f', path('signers', `${signers}\n`), '-s', path('signature', signature))
    writeFileSync(join(directory, 'SHASUMS256.txt.sig'), signature)
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: Buffer; stderr?: Buffer }
    const reason = `${stdout}${stderr}`.trim() || message
    throw new Error(`Cannot sign with a key of scripts/release/allowed_signers: ${reason}`)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}
