import { serviceCalls } from '../../support/command-lines.ts'
import { json, type ScriptedServer, startScriptedServer } from '../../support/scripted-server.ts'

/** A service that behaves as the interface documents, with token exchange, and has everything that a call asks for. */
export function startGoodService(): Promise<ScriptedServer> {
  return startScriptedServer({
    choose: ({ method, path, headers }) => {
      const asked = `${method} ${path.split('?')[0]}`
      const issuer = `http://${headers.host}`
      const endpoints = { token_endpoint: `${issuer}/token`, revocation_endpoint: `${issuer}/revoke` }
      if (path.startsWith('/.well-known/')) return json(200, { issuer, ...endpoints })
      if (path === '/token') return json(200, { access_token: 't', token_type: 'Bearer', expires_in: 3600 })
      return json(200, serviceCalls.find(({ endpoint }) => endpoint === asked)?.answer ?? {})
    },
  })
}
