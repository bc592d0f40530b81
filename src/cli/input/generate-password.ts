/** No characters that look alike, none that a shell or a form would take for its own. */
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789-_.'
const length = 24

/** 24 of 60 characters: about 141 bits. A digit, a capital and a mark for services that ask for them. */
export function generatePassword(): string {
  for (;;) {
    const password = Array.from({ length }, randomCharacter).join('')
    if ([/[0-9]/, /[A-Z]/, /[a-z]/, /[-_.]/].every((kind) => kind.test(password))) return password
  }
}

/** Bytes beyond the last whole multiple of the alphabet would favour its beginning. */
function randomCharacter(): string {
  const fair = 256 - (256 % alphabet.length)
  for (;;) {
    const [byte = 255] = crypto.getRandomValues(new Uint8Array(1))
    if (byte < fair) return alphabet.charAt(byte % alphabet.length)
  }
}
