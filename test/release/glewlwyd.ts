import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Program } from '../programs/keychain/session-bus.ts'
import { freePort } from '../support/free-port.ts'
import type { Sandbox } from '../support/sandbox.ts'

/** Glewlwyd, an authorization server, with one user and one public client. */
export interface Glewlwyd {
  /** The issuer, and the value of --auth-url. */
  url: string
  clientId: string
  /** The port of the redirect URI, which Glewlwyd compares exactly. */
  redirectPort: number
  /**
   * Acts as the browser of the user, who signs in and agrees.
   *
   * @param address the authorization URL
   * @returns where the browser is redirected
   */
  agree(address: URL): Promise<string>
  /** Enters the code of a sign-in on another device, and agrees. @returns the page that the browser shows */
  enterCode(code: { user_code: string; verification_uri: string }): Promise<string>
  close(): Promise<void>
}

const clientId = 'chatctl-test'
const scope = 'chat:write'
const user = { username: 'ada', password: 'password of Ada' }
/** The schema that the Debian package installs, with an administrator. */
const schema = '/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3'
const administrator = { username: 'admin', password: 'password' }

/** Starts Glewlwyd on loopback, with a database in the sandbox. It does not end with the test: close it. */
export async function startGlewlwyd({ home, env }: Sandbox): Promise<Glewlwyd> {
  const [port, redirectPort] = [await freePort(), await freePort()]
  const origin = `http://127.0.0.1:${port}`
  const configuration = join(home, 'glewlwyd.conf')
  writeFileSync(configuration, configure(port, createDatabase(home)))
  const program = new Program('glewlwyd', [`--config-file=${configuration}`], env)
  const close = () => program.end()
  const url = `${origin}/api/oidc`
  try {
    await program.until(() => program.stdout.includes('Glewlwyd started on port'))
    const send = await signIn(origin, administrator)
    await send('POST', '/scope/', { name: scope, display_name: 'Chat', password_required: true })
    await send('POST', '/mod/plugin/', {
      module: 'oidc',
      name: 'oidc',
      display_name: 'OAuth',
      enabled: true,
      parameters: pluginParameters(url),
    })
    await send('POST', '/client/', {
      client_id: clientId,
      name: 'chatctl',
      confidential: false,
      authorization_type: ['code', 'refresh_token', 'device_authorization'],
      redirect_uri: [`http://127.0.0.1:${redirectPort}/callback`],
      enabled: true,
    })
    await send('POST', '/user/', { ...user, name: 'Ada', scope: [scope], enabled: true })
  } catch (error) {
    await close()
    throw error
  }
  return {
    url,
    clientId,
    redirectPort,
    agree: async (address) => {
      const send = await signIn(origin, user)
      await send('PUT', `/auth/grant/${clientId}`, { scope })
      const { headers } = await send('GET', `${address.href.slice(`${origin}/api`.length)}&g_continue`)
      return headers.get('location') ?? ''
    },
    enterCode: async ({ user_code, verification_uri }) => {
      const send = await signIn(origin, user)
      await send('PUT', `/auth/grant/${clientId}`, { scope })
      const path = verification_uri.slice(`${origin}/api`.length)
      const { headers } = await send('GET', `${path}?code=${user_code}&g_continue`)
      return headers.get('location') ?? ''
    },
    close,
  }
}

type Send = (method: string, path: string, body?: object) => Promise<Response>

/** Signs in as a browser does, with the API that the pages of Glewlwyd use. */
async function signIn(origin: string, person: { username: string; password: string }): Promise<Send> {
  let cookie = ''
  const send: Send = async (method, path, body) => {
    const response = await fetch(`${origin}/api${path}`, {
      method,
      redirect: 'manual',
      headers: { cookie, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (response.status >= 400) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response
  }
  const { headers } = await send('POST', '/auth/', person)
  cookie = headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  return send
}

function createDatabase(home: string): string {
  const path = join(home, 'glewlwyd.db')
  const database = new DatabaseSync(path)
  database.exec(readFileSync(schema, 'utf8'))
  database.close()
  return path
}

function configure(port: number, database: string): string {
  const modules = { user: 'user', client: 'client', user_auth_scheme: 'scheme', plugin: 'plugin' }
  const paths = Object.entries(modules).map(
    ([name, directory]) => `${name}_module_path="/usr/lib/glewlwyd/${directory}"`,
  )
  return `port=${port}
bind_address="127.0.0.1"
external_url="http://127.0.0.1:${port}"
login_url="login.html"
api_prefix="api"
static_files_path="/usr/share/glewlwyd/webapp/"
log_mode="console"
log_level="INFO"
cookie_domain="127.0.0.1"
cookie_secure=0
admin_scope="g_admin"
profile_scope="g_profile"
${paths.join('\n')}
hash_algorithm="SHA512"
database = { type = "sqlite3" path = "${database}" };
`
}

function pluginParameters(issuer: string): object {
  const hour = 3_600
  return {
    iss: issuer,
    'jwt-type': 'sha',
    'jwt-key-size': '256',
    key: 'the key of the tokens',
    'allow-non-oidc': true,
    'auth-type-code-enabled': true,
    'auth-type-refresh-enabled': true,
    'auth-type-device-enabled': true,
    'code-duration': 60,
    'access-token-duration': hour,
    'refresh-token-duration': 24 * hour,
    'refresh-token-one-use': 'always',
    'pkce-allowed': true,
    'pkce-required': true,
    'introspection-revocation-allowed': true,
    'introspection-revocation-allow-target-client': true,
    'device-authorization-expiration': 600,
    'device-authorization-interval': 1,
  }
}
