import { serviceCalls } from '../../support/command-lines.ts'
import { endingWith, type SentEnd, sentEnds } from '../../support/reply-endings.ts'
import { json, type ScriptedServer, startScriptedServer } from '../../support/scripted-server.ts'

/** A service that behaves as the interface documents, with token exchange, and has everything that a call asks for. */
export function startGoodService(): Promise<ScriptedServer> {
  return startScriptedServer({
    choose: ({ method, path, headers, body }) => {
      const asked = `${method} ${path.split('?')[0]}`
      const issuer = `http://${headers.host}`
      const endpoints = { token_endpoint: `${issuer}/token`, revocation_endpoint: `${issuer}/revoke` }
      if (path.startsWith('/.well-known/')) return json(200, { issuer, ...endpoints })
      if (path === '/token') return json(200, { access_token: 't', token_type: 'Bearer', expires_in: 3600 })
      const end = endIn(body)
      if (end) return endingWith(end)
      return json(200, serviceCalls.find(({ endpoint }) => endpoint === asked)?.answer ?? {})
    },
  })
}

/** The end that the message of a request names, as in `wants length`. */
function endIn(body: string): SentEnd | undefined {
  const name = /\bwants (\w+)/.exec(body)?.[1]
  return Object.keys(sentEnds).find((end): end is SentEnd => end === name)
}
