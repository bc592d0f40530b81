import { randomInt } from 'node:crypto'

/** No characters that look alike, none that a shell or a form would take for its own. */
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789-_.'
const length = 24

/** 24 of 60 characters: about 141 bits. A digit, a capital and a mark for services that ask for them. */
export function generatePassword(): string {
  for (;;) {
    const password = Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
    if (
      /[0-9]/.test(password) &&
      /[A-Z]/.test(password) &&
      /[a-z]/.test(password) &&
      /[-_.]/.test(password)
    ) {
      return password
    }
  }
}
