import { text } from 'node:stream/consumers'
import { callKeychain } from '../credentials/keychain-items.ts'

/**
 * One call of the keychain in a process of its own, which can be killed while it blocks. The
 * request comes as JSON on stdin, so that a secret is never an argument; the answer goes to stdout.
 */
async function serve(): Promise<void> {
  const answer = await text(process.stdin)
    .then((request) => callKeychain(JSON.parse(request)))
    .then(
      (value) => ({ value }),
      (error: Error) => ({ error: error.message }),
    )
  process.stdout.end(JSON.stringify(answer))
}

void serve()
