/** A message as it is entered: one slash at its beginning would make it a command. */
export function asTyped(message: string): string {
  return message.startsWith('/') ? `/${message}` : message
}
