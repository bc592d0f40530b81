import { text } from 'node:stream/consumers'
import { callKeychain } from '../auth/credentials/keychain-items.ts'

/**
 * Makes one keychain call in a separate process, which can be killed while it blocks. The request is JSON
 * on stdin, because arguments are visible to other processes. The result is JSON on stdout.
 */
async function serve(): Promise<void> {
  const result = await text(process.stdin)
    .then((request) => callKeychain(JSON.parse(request)))
    .then(
      (value) => ({ value }),
      ({ message, code }: NodeJS.ErrnoException) => ({ error: message, code }),
    )
  process.stdout.end(JSON.stringify(result))
}

void serve()
