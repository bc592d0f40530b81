import { readFileSync } from 'node:fs'

/** Keys in the keyring of the kernel (keyrings(7)) that the keychain module or chatctl may have created. */
export function kernelKeys(): string[] {
  return readFileSync('/proc/keys', 'utf8')
    .split('\n')
    .filter((line) => /chatctl|keyring-rs|keyring:/.test(line))
}
