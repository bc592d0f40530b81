import { type Behavior, failing, json, type ScriptedServer, startScriptedServer } from '../scripted-server.ts'

/** The owner of every live token. */
export const owner = {
  id: 'u1',
  email: 'ada@example.com',
  name: 'Ada',
  created_at: '2026-01-02T03:04:05Z',
  preferences: { language: 'en' },
}

const models = { data: [{ id: 'small', created: 1767323045, object: 'model', owned_by: 'us' }] }

/** Starts a service that accepts every token that is live at that moment, and sends 401 to all others. */
export async function startBearerService(
  isLive: (token: string) => boolean | Promise<boolean>,
): Promise<ScriptedServer> {
  const serve: Behavior = async (request, response, incoming) => {
    // RFC 6750 section 2.1.
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    const known = token !== undefined && (await isLive(token))
    const behavior = known
      ? json(200, request.path === '/api/user/profile' ? owner : models)
      : failing(401, 'invalid_token', 'The token is not valid')
    await behavior(request, response, incoming)
  }
  return startScriptedServer(serve)
}

/** The tokens that a service received, oldest first. */
export function tokensSeen({ requests }: ScriptedServer): string[] {
  return requests.map(({ headers }) => (headers.authorization ?? '').replace(/^Bearer /, ''))
}
